//! A recording that lost something says what, and is never healthy in silence.

use super::error::some_of;
use super::*;

const SETTING: &str =
    "- apiVersion: longhorn.io/v1beta2\n  kind: Setting\n  metadata: {name: a, namespace: longhorn-system}\n";
const PODS: &str =
    "apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: p, namespace: longhorn-system}\n";

/// What is said of a file beside one that is whole, and how three kinds can be read: one of that file, one
/// that is whole elsewhere, one that is nowhere.
fn read(name: &str, text: &str) -> (String, [Readability; 3]) {
    let file = |name: &str, text: &str| RecordedFile { name: name.to_owned(), content: text.into() };
    let files = [file("pods.yaml", PODS), file(name, text)];
    let recording = Recording::from_files(files, "longhorn-system", Timestamp::MAX).unwrap();
    let said = recording.warnings.join("\n");
    let kinds = [Resource::Settings, Resource::Pods, Resource::Volumes];
    (said, kinds.map(|kind| recording.status(kind).readability))
}

use Readability::{Incomplete, NotInstalled, NotRecorded, Readable};

const ANYTHING: [Readability; 3] = [Incomplete, Readable, Incomplete];

#[test]
fn what_lost_its_kind_may_have_held_anything() {
    let list = format!("apiVersion: v1\nitems:\n{SETTING}");
    let page = format!("apiVersion: v1\nmetadata: {{continue: abc}}\nitems:\n{SETTING}kind: List\n");
    for (text, words) in [
        (list.clone(), "a.yaml:1: a list without kind, which kubectl prints last"),
        (list + "kind: List", "a.yaml:6: does not end with a line break"),
        ("apiVersion: v1\nitems: {}\nkind: List\n".to_owned(), "a list whose items are no list"),
        ("apiVersion: v1\nkind: List\n".to_owned(), "a list without items"),
        ("apiVersion: v1\nkind: Table\nrows: []\n".to_owned(), "a Table, which does not hold the objects"),
        (format!("apiVersion: v1\nobjects:\n{SETTING}kind_: List\n"), "an object without kind"),
        (format!("objects:\n{SETTING}"), "a list under the key \"objects\" instead of items"),
        (SETTING.to_owned(), "a list without head"),
        ("<html><body>Log in</body></html>\n".to_owned(), "is HTML or XML"),
        ("NAME   STATUS\nnode-1 Ready\n".to_owned(), "is text, not objects: NAME STATUS node-1 Ready"),
        ("error: You must be logged in\n".to_owned(), "a.yaml:1: error: You must be logged in"),
        (
            format!("apiVersion: v1\nitems:\n{SETTING}kind: List\nerror: timed out\n"),
            "a.yaml:7: error: timed out",
        ),
        (String::new(), "is empty: the command that was to write it failed"),
        ("---\n".to_owned(), "is empty"),
        (
            "apiVersion: v1\nkind: Status\nmessage: no\ncode: 500\n".to_owned(),
            "a refusal of the API server: no",
        ),
    ] {
        let (said, mut states) = read("a.yaml", &text);
        assert!(said.contains(words), "{text:?}: {said}");
        if text.ends_with("kind: List") || text.contains("kind: List\nerror") {
            assert_eq!(states[0], Readable, "the list itself is whole");
            states[0] = Incomplete;
        }
        assert_eq!(states, ANYTHING, "{text:?}");
    }
    let (said, states) = read("a.yaml", &page);
    assert!(said.contains("one page of a list; the next ones are missing"), "{said}");
    assert_eq!(states, [Incomplete, Readable, NotRecorded]);
}

#[test]
fn what_names_its_kind_lost_that_alone() {
    let refused =
        "apiVersion: v1\nkind: Status\nmessage: no\ndetails: {group: longhorn.io, kind: settings}\n";
    let words = "Error from server (Forbidden): settings.longhorn.io is forbidden: User \"a\" cannot list\n";
    let version = "kind: Setting\nmetadata: {name: a, namespace: longhorn-system}\n";
    let page = "apiVersion: longhorn.io/v1beta2\nkind: SettingList\nitems: 7\n";
    for text in [refused, words, version, page] {
        assert_eq!(read("a.yaml", text).1, [Incomplete, Readable, NotRecorded], "{text}");
    }
}

/// Recorded while Longhorn was being deleted: releases up to then wrote no reason.
#[test]
fn a_definition_that_is_gone_is_not_served_and_lost_nothing() {
    let details = "details: {group: longhorn.io, kind: settings}\n";
    for said in ["message: '404: '\n", "message: 'list failed: 404: not found'\nreason: NotServed\n"] {
        let refused = format!("apiVersion: v1\nkind: Status\n{said}{details}");
        let nothing = String::new();
        assert_eq!(read("a.yaml", &refused), (nothing, [NotInstalled, Readable, NotRecorded]), "{said}");
    }
}

#[test]
fn an_answer_without_objects_is_an_answer() {
    let empty = "apiVersion: v1\nitems: []\nkind: List\nmetadata: {resourceVersion: ''}\n";
    for (name, text) in [
        ("a.json", "{\"apiVersion\": \"longhorn.io/v1beta2\", \"kind\": \"SettingList\", \"items\": []}"),
        ("a.yaml", "apiVersion: longhorn.io/v1beta2\nkind: SettingList\nitems: null\n"),
        ("settings.longhorn.io.yaml", empty),
        ("settings.yaml", empty),
        ("yamls/namespaced/longhorn-system/longhorn.io/v1beta2/settings.yaml", empty),
    ] {
        assert_eq!(read(name, text), (String::new(), [Readable, Readable, NotRecorded]), "{name}");
    }
    let slices = RecordedFile { name: "endpointslices.yaml".to_owned(), content: empty.into() };
    let recording = Recording::from_files([slices], "longhorn-system", Timestamp::MAX).unwrap();
    assert_eq!(recording.status(Resource::EndpointSlices).readability, Readable);
    assert_eq!(state_of("volumeattachments.yaml", empty), [NotRecorded; 2], "of two groups");
    assert_eq!(state_of("volumeattachments.storage.k8s.io.yaml", empty), [NotRecorded, Readable]);
    assert_eq!(
        state_of("yamls/cluster/storage.k8s.io/v1/volumeattachments.yaml", empty),
        [NotRecorded, Readable]
    );
    assert_eq!(
        state_of("yamls/namespaced/a/longhorn.io/v1beta2/volumeattachments.yaml", empty),
        [Readable, NotRecorded]
    );
    // no one knows what was asked for; nor does it say that something is missing
    assert_eq!(read("a.yaml", empty).1, [NotRecorded, Readable, NotRecorded]);
    assert_eq!(read("a.yaml", "No resources found in longhorn-system namespace.\n").1[0], Incomplete);
    // what is not of Kubernetes is no one's loss
    assert_eq!(read("metadata.yaml", "bundlename: x\nissueurl: ''\n").0, "");
}

fn state_of(name: &str, text: &str) -> [Readability; 2] {
    let file = RecordedFile { name: name.to_owned(), content: text.into() };
    let recording = Recording::from_files([file], "longhorn-system", Timestamp::MAX).unwrap();
    [Resource::VolumeAttachments, Resource::CsiAttachments].map(|kind| recording.status(kind).readability)
}

#[test]
fn nodes_of_longhorn_and_of_kubernetes_are_told_apart_by_their_path() {
    let state = |name: &str, kind| {
        let empty = "apiVersion: v1\nitems: []\nkind: List\n";
        let file = RecordedFile { name: name.to_owned(), content: empty.into() };
        Recording::from_files([file], "longhorn-system", Timestamp::MAX).unwrap().status(kind).readability
    };
    for (name, longhorn, kubernetes) in [
        ("nodes.yaml", NotRecorded, Readable),
        ("yamls/cluster/v1/nodes.yaml", NotRecorded, Readable),
        ("nodes.longhorn.io.yaml", Readable, NotRecorded),
        ("yamls/namespaced/longhorn-system/longhorn.io/v1beta2/nodes.yaml", Readable, NotRecorded),
    ] {
        assert_eq!(state(name, Resource::LonghornNodes), longhorn, "{name}");
        assert_eq!(state(name, Resource::KubeNodes), kubernetes, "{name}");
    }
}

#[test]
fn two_clusters_are_an_error_that_names_both() {
    let setting = |name: &str, uid: &str| RecordedFile {
        name: name.to_owned(),
        content: format!(
            "apiVersion: longhorn.io/v1beta2\nkind: Setting\n\
             metadata: {{name: a, namespace: longhorn-system, uid: {uid}}}\n"
        )
        .into(),
    };
    let read = |second: RecordedFile| {
        Recording::from_files([setting("one/a.yaml", "u1"), second], "longhorn-system", Timestamp::MAX)
    };
    assert_eq!(
        read(setting("two/a.yaml", "u2")).unwrap_err().to_string(),
        "two clusters in one recording: Setting a is u1 in one/a.yaml, but u2 in two/a.yaml; give one of them"
    );
    assert!(read(setting("again.yaml", "u1")).is_ok());
}

#[test]
fn one_time_far_ahead_does_not_move_the_moment() {
    let pods = |times: &[&str]| {
        let pod = |(at, time): (usize, &&str)| {
            format!(
                "apiVersion: v1\nkind: Pod\nmetadata: {{name: p{at}, namespace: longhorn-system, creationTimestamp: {time}}}\n---\n"
            )
        };
        let content: String = times.iter().enumerate().map(pod).collect();
        let file = RecordedFile { name: "a.yaml".to_owned(), content: content.into() };
        Recording::from_files([file], "longhorn-system", Timestamp::MAX).unwrap()
    };
    let mut times = vec!["2026-03-01T00:00:00Z"; 12];
    times[3] = "2026-03-09T00:00:00Z";
    let recording = pods(&times);
    assert_eq!(recording.newest().unwrap().to_string(), "2026-03-01T00:00:00Z");
    assert!(recording.warnings[0].contains("Pod p3 has the time 2026-03-09T00:00:00Z, far ahead"));
    // two that agree, one that is not so far ahead, and few objects, are evidence
    times[4] = "2026-03-09T00:00:01Z";
    assert_eq!(pods(&times).newest().unwrap().to_string(), "2026-03-09T00:00:01Z");
    let near = [vec!["2026-03-01T00:00:00Z"; 12], vec!["2026-03-01T05:00:00Z"]].concat();
    assert_eq!(pods(&near).newest().unwrap().to_string(), "2026-03-01T05:00:00Z");
    let few = ["2026-03-01T00:00:00Z", "2026-03-09T00:00:00Z"];
    assert_eq!(pods(&few).newest().unwrap().to_string(), "2026-03-09T00:00:00Z");
}

#[test]
fn directories_are_read_with_their_links_and_without_waiting() {
    use std::os::unix::fs::symlink;
    let directory = tempfile::tempdir().unwrap();
    let (inside, outside) = (directory.path().join("in"), directory.path().join("out"));
    std::fs::create_dir(&inside).unwrap();
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("pods.yaml"), PODS).unwrap();
    symlink(&outside, inside.join("linked")).unwrap();
    symlink(&inside, outside.join("loop")).unwrap();
    let read = || Recording::read(&inside, "longhorn-system", Timestamp::MAX);
    assert_eq!(read().unwrap().objects.count(Resource::Pods), 1);
    let pipe = std::process::Command::new("mkfifo").arg(inside.join("pipe.yaml")).status().unwrap();
    assert!(pipe.success());
    assert!(read().unwrap_err().to_string().ends_with("pipe.yaml: not a regular file"));
}

#[test]
fn what_is_wrong_in_json_is_named_by_line() {
    let error = |text: &str| {
        let file = RecordedFile { name: "a.json".to_owned(), content: text.into() };
        Recording::from_files([file], "longhorn-system", Timestamp::MAX).unwrap_err().to_string()
    };
    let twice = error("{\"kind\": \"Pod\"}\n{\n\"a\": 1,\n\"a\": 2\n}\n");
    assert_eq!(
        twice,
        "a.json:5: not valid YAML or JSON: the key \"a\" is there twice in the map that ends here"
    );
    assert!(error("{\"a\": \"\u{0}\"}").starts_with("a.json:1: "));
    let file = RecordedFile { name: "a.yaml".to_owned(), content: b"a: b\nc: \xff\n".to_vec() };
    let bytes = Recording::from_files([file], "longhorn-system", Timestamp::MAX).unwrap_err().to_string();
    assert_eq!(bytes, "a.yaml:2: not valid YAML or JSON: not UTF-8");
}

#[test]
fn an_error_names_a_few_files_of_many() {
    let losses: Vec<String> = (0..60_000).map(|number| format!("f{number}.yaml")).collect();
    assert_eq!(some_of(&losses), "; f0.yaml; f1.yaml; f2.yaml; f3.yaml; f4.yaml; and 59995 more");
    assert_eq!(some_of(&losses[..5]), "; f0.yaml; f1.yaml; f2.yaml; f3.yaml; f4.yaml");
}
