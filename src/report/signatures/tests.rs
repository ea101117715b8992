use std::collections::BTreeSet;

use super::*;
use crate::longhorn::{Release, Resource, Volume};

fn kinds() -> BTreeSet<Resource> {
    Resource::all().collect()
}

fn read(yaml: &str) -> Result<Signatures, Vec<String>> {
    parse(&kinds(), "a.yaml", yaml)
}

/// A file with one signature in which this stands for `where`.
fn with(place: &str) -> String {
    format!("signatures:\n- {{name: a, title: T, severity: info, fix: F, where: {place}}}\n")
}

const FIELD: &str = "{object: {kind: Volume, fields: [{path: PATH, equals: x}]}}";

#[test]
fn what_is_wrong_is_told_with_its_place_and_what_is_accepted() {
    let of_path = |path: &str| with(&FIELD.replace("PATH", path));
    let bomb = with("{log: {matches: '(((a{100}){100}){100}){100}'}}");
    let many = "- {name: a, title: T, severity: info, fix: F, releases: 1.6.0}\n".repeat(201);
    let long = format!("signatures:\n- {{name: a, title: {}}}\n", "x".repeat(MAX_BYTES));
    let twice = "- {name: a, title: T, severity: info, fix: F, releases: 1.6.0}\n".repeat(2);
    for (yaml, part) in [
        (bomb, "a.yaml: signatures[0] a: where.log.matches: too large a regular expression"),
        (with("{log: {matches: '(a'}}"), "where.log.matches: not a regular expression (unclosed group)"),
        (
            with(&format!("{{log: {{matches: '{}'}}}}", "a".repeat(501))),
            "matches: expected one line of 1 to 500",
        ),
        (with(&format!("{{log: {{matches: '{}'}}}}", "(".repeat(200))), "not a regular expression"),
        (long, "a.yaml: larger than 1 MiB"),
        (format!("signatures: {}", "[".repeat(100_000)), "a.yaml:1: signatures: recursion limit exceeded"),
        (format!("signatures:\n- {{{}: 1}}\n", "k".repeat(900_000)), "a.yaml:2: signatures[0].kkk"),
        (
            with("{log: {matches: a}}").replace("name: a", &format!("name: {}", "n".repeat(900_000))),
            "name: expected 1 to 60",
        ),
        (
            format!("a: &a [x, x]\nb: &b [{0}]\nc: &c [{0}]\nsignatures: *c\n", "*a, ".repeat(1000)),
            "a.yaml:1: a: unknown key a",
        ),
        (with("{log: {matches: a}}") + "- {<<: *none}\n", "a.yaml:"),
        (format!("signatures:\n{many}"), "201 signatures; at most 200 are accepted"),
        (format!("signatures:\n{twice}"), "another signature has this name"),
        ("signatures: 7".to_owned(), "a.yaml:1: signatures:"),
        (with("{log: 7}"), "signatures[0].where.log: expected keys with values"),
        (with("{log: {matches: [a]}}"), "signatures[0].where.log.matches: expected a string"),
        (with("{log: {match: a}}"), "unknown key match; did you mean matches?"),
        (
            with("{log: {matches: a}, event: {reason: a}}"),
            "where: expected exactly one of log, event and object",
        ),
        (with("{event: {kind: Pod}}"), "where.event: expected reason, matches or both"),
        (
            with("{object: {kind: Volum, fields: []}}"),
            "no kind Volum is read; did you mean volumes.longhorn.io?",
        ),
        (
            with("{object: {kind: VolumeAttachment, fields: []}}"),
            "use volumeattachments.longhorn.io or volumeattachments.storage.k8s.io",
        ),
        (with("{object: {kind: Volume, fields: []}}"), "where.object.fields: expected at least one field"),
        (
            of_path("status.robustnes"),
            "fields[0].path: no field robustnes is read there; did you mean robustness?",
        ),
        (of_path("status.conditions.reason"), "conditions is a list; use [*] or [type=Ready] behind it"),
        (of_path("'status.conditions[kind=Ready].reason'"), "no field kind is read there"),
        (of_path("metadata.labels"), "no field labels is read there"),
        (of_path("status"), "leads to no single value"),
        (of_path("status.robustness.x"), "robustness has nothing below it"),
        (of_path("'status..x'"), "expected names and dots"),
        (
            with(&FIELD.replace("PATH, equals: x", "spec.numberOfReplicas, exists: true")),
            "exists: works on texts",
        ),
        (
            with(&FIELD.replace("PATH, equals: x", "status.robustness")),
            "expected exactly one of equals, matches and exists",
        ),
        (
            with("{log: {matches: a}}").replace("name: a", "name: A b"),
            "name: expected 1 to 60 of a-z, 0-9, _ and -",
        ),
        (
            with("{log: {matches: a}}").replace("title: T", "title: \"a\\e[31m\""),
            "title: expected one line of 1 to 90",
        ),
        (with("{log: {matches: a}}").replace("info", "bad"), "expected one of info, warning, critical"),
        (
            with("{log: {matches: a}}").replace("fix: F", "fix: F, link: 'http://x'"),
            "link: expected a URL that begins with https://",
        ),
        (
            with("{log: {matches: a}}").replace("fix: F", "fix: F, releases: '>=new'"),
            "releases: expected releases such as",
        ),
        (
            with("{log: {matches: a}}").replace("fix: F", "fix: <pod>"),
            "fix: no value for <pod>; valid: namespace, kind",
        ),
        (
            with("{log: {matches: a}}")
                .replace("fix: F", "fix: F, steps: [{read: kubectl -n x delete pod y}]"),
            "steps[0].read: takes something away; write it as change",
        ),
        ("signatures:\n- {name: a, title: T, severity: info, fix: F}\n".to_owned(), "where: missing"),
    ] {
        let errors = read(&yaml).unwrap_err();
        assert!(errors.join("\n").contains(part), "{part}\n{errors:?}");
        assert!(errors.iter().all(|error| error.len() < 400 && error.lines().count() == 1), "{errors:?}");
    }
    assert_eq!(read("").unwrap().iter().count(), 0);
}

#[test]
fn fields_of_objects_are_found_by_path() {
    let volume: Volume = serde_json::from_value(serde_json::json!({
        "metadata": {"name": "v"},
        "spec": {"numberOfReplicas": 3, "frontend": ""},
        "status": {"robustness": "degraded", "conditions": [
            {"type": "Scheduled", "status": "False", "reason": "ReplicaSchedulingFailure"},
            {"type": "Restore", "status": "False"},
        ]},
    }))
    .unwrap();
    for (field, holds) in [
        ("path: status.robustness, equals: degraded", true),
        ("path: status.robustness, equals: degrade", false),
        ("path: status.robustness, matches: '^deg'", true),
        ("path: spec.numberOfReplicas, equals: '3'", true),
        ("path: 'status.conditions[type=Scheduled].reason', equals: ReplicaSchedulingFailure", true),
        ("path: 'status.conditions[type=Restore].reason', equals: ReplicaSchedulingFailure", false),
        ("path: 'status.conditions[type=Restore].reason', exists: false", true),
        ("path: 'status.conditions[*].reason', exists: true", true),
        ("path: status.conditions, exists: true", true),
        ("path: metadata.deletionTimestamp, exists: false", true),
    ] {
        let file = read(&with(&format!("{{object: {{kind: Volume, fields: [{{{field}}}]}}}}"))).unwrap();
        let Place::Object { fields, .. } = &file.iter().next().unwrap().place else { panic!("{field}") };
        assert_eq!(fields[0].holds(&volume), holds, "{field}");
    }
}

#[test]
fn ranges_hold_releases() {
    for (range, release, holds) in [
        (">=1.6.0 <1.6.3", "v1.6.2", true),
        (">=1.6.0 <1.6.3", "v1.6.3", false),
        (">1.6.0 <=1.6.3", "v1.6.0", false),
        (">=1.6.0 <1.6.3 || 1.7.0", "v1.7.0", true),
        ("=1.7.0", "v1.7.0-hotfix-1", false),
    ] {
        let releases = Releases::parse(range).unwrap();
        assert_eq!(releases.contain(Release::parse(release).unwrap()), holds, "{range} {release}");
    }
    for wrong in ["", "|| 1.6.0", "1.6.x", "~1.6", ">= 1.6.0"] {
        assert!(Releases::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_signature_says_what_it_looks_for() {
    let yaml =
        with(&FIELD.replace("PATH", "status.robustness")).replace("fix: F", "fix: F, releases: '<1.6.3'");
    let said = read(&yaml).unwrap().iter().next().unwrap().to_string();
    assert_eq!(
        said,
        "a (info): reports each of volumes.longhorn.io in which status.robustness is \"x\", on Longhorn <1.6.3."
    );
}
