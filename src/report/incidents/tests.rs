use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::*;
use crate::check::{Link, Relation, Same};
use crate::source::recording::RecordedFile;
use crate::source::{Recording, demo};
use crate::testing::{scenario_files, time};

#[test]
fn no_cause_follows_from_itself() {
    let mut parents: BTreeMap<(&str, &str), BTreeSet<(&str, &str)>> = BTreeMap::new();
    for relation in checks::CATALOGUE.relations {
        for cause in relation.causes {
            let roots = relation.roots.iter();
            let roots = roots.flat_map(|(check, causes)| causes.iter().map(|cause| (check.id, cause.id)));
            parents.entry((relation.check.id, cause.id)).or_default().extend(roots);
        }
    }
    type Cause = (&'static str, &'static str);
    fn walk(parents: &BTreeMap<Cause, BTreeSet<Cause>>, at: Cause, path: &mut Vec<Cause>) {
        assert!(!path.contains(&at), "{path:?} → {at:?}");
        path.push(at);
        for parent in parents.get(&at).into_iter().flatten() {
            walk(parents, *parent, path);
        }
        path.pop();
    }
    for cause in parents.keys() {
        walk(&parents, *cause, &mut Vec::new());
    }
}

/// The findings of every recorded scenario and of the demo.
static RECORDED: LazyLock<Vec<(String, Vec<Finding>)>> = LazyLock::new(|| {
    let root = std::path::Path::new(crate::testing::ROOT).join("tests/scenarios");
    let scenarios = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let mut all = Vec::new();
    for path in scenarios.filter(|path| path.join("cluster.yaml").exists()) {
        let file = |(name, text): (String, String)| RecordedFile { name, content: text.into() };
        let files = scenario_files::files(&path).into_iter().map(file);
        let recording = Recording::from_files(files, "longhorn-system", Timestamp::MAX).unwrap();
        let report =
            crate::evaluate(&checks::CATALOGUE, &recording.into_cluster("longhorn-system", None)).report;
        all.push((path.file_name().unwrap().to_string_lossy().into_owned(), report.findings));
    }
    let demo = demo::cluster(time("2026-01-01T12:00:00Z")).unwrap();
    all.push(("demo".to_owned(), crate::evaluate(&checks::CATALOGUE, &demo).report.findings));
    all
});

#[test]
fn every_relation_occurs_in_a_scenario() {
    // those that only the screen knows are played by the corpus
    let mutes = |relation: &&Relation| relation.link != Link::ShownWith && !is_played(relation);
    let mut unused: Vec<_> = checks::CATALOGUE.relations.iter().filter(mutes).collect();
    for (_, findings) in RECORDED.iter() {
        unused.retain(|relation| {
            let mut consequences = findings.iter().filter(|finding| relation.explains(finding));
            !consequences.any(|finding| {
                findings.iter().any(|other| {
                    let mut roots = relation.roots.iter();
                    roots.any(|(check, causes)| check.id == other.check && causes.contains(&other.cause))
                        && group::have_in_common(finding, other, relation.same)
                })
            })
        });
    }
    let unused: Vec<_> = unused.into_iter().map(key).collect();
    assert!(unused.is_empty(), "{unused:#?}");
}

fn is_played(relation: &Relation) -> bool {
    let (check, causes) = key(relation);
    PLAYED.iter().any(|played| (played.0, played.1) == (check, causes.as_slice()))
}

fn key(relation: &Relation) -> (&'static str, Vec<&'static str>) {
    (relation.check.id, relation.causes.iter().map(|cause| cause.id).collect())
}

/// Relations of states that last for seconds: no recording holds them, the tests of the check play them.
const PLAYED: &[(&str, &[&str])] = &[("volume_faulted", &["never_up"])];

#[test]
fn every_finding_is_in_exactly_one_incident() {
    for (name, findings) in RECORDED.iter() {
        let incidents = of(&checks::CATALOGUE, findings, 4);
        let mut told: Vec<usize> = incidents.iter().flat_map(|incident| incident.findings.clone()).collect();
        told.sort_unstable();
        assert_eq!(told, (0..findings.len()).collect::<Vec<_>>(), "{name}");
        for incident in &incidents {
            let of: usize = incident.consequences.iter().map(|consequence| consequence.count).sum();
            assert_eq!(incident.count + of, incident.findings.len(), "{name}: {}", incident.title);
        }
    }
}

/// The root that a person looks at first.
#[test]
fn scenarios_name_their_root_first() {
    for (scenario, root) in [
        // the holder of the start Lease hangs, and the others wait for it
        ("demo", "manager_start_stuck/access_denied"),
        ("incident-000-instance-manager-restarted", "instance_manager_replaced/liveness_probe"),
        ("incident-001-old-instance-manager-held", "instance_manager_old/reattach_pending"),
        ("incident-002-open-iscsi-missing", "manager_crash_loop/open_iscsi_missing"),
        ("incident-003-backing-image-eviction-crash", "backing_image_eviction_crash/at_risk"),
        ("incident-003-before-the-crash", "backing_image_eviction_crash/at_risk"),
        ("incident-004-webhook-deadlock", "webhook_unavailable/deadlock"),
    ] {
        let (_, findings) = RECORDED.iter().find(|(name, _)| name == scenario).unwrap();
        let incidents = of(&checks::CATALOGUE, findings, 4);
        assert_eq!(format!("{}/{}", incidents[0].check, incidents[0].cause), root, "{scenario}");
    }
}

fn finding(check: &str, cause: &str, node: &str) -> Finding {
    let check = checks::CATALOGUE.by_id(check).unwrap();
    let cause = check.cause(cause).unwrap();
    let object = crate::testing::cluster("").object::<crate::longhorn::Pod>(&format!("pod-{node}"));
    let mut finding = Finding::about(cause, object, format!("{cause} of {node}")).node(node);
    finding.check = check.id;
    finding
}

#[test]
fn what_happens_elsewhere_is_not_tied() {
    let loops = finding("manager_crash_loop", "open_iscsi_missing", "a");
    let same =
        of(&checks::CATALOGUE, &[loops.clone(), finding("node_unregistered", "never_started", "a")], 2);
    assert_eq!(same.len(), 1);
    assert_eq!(same[0].consequences[0].text, "node not registered");
    let elsewhere = of(&checks::CATALOGUE, &[loops, finding("node_unregistered", "never_started", "b")], 2);
    assert_eq!(elsewhere.len(), 2);
    assert!(elsewhere.iter().all(|incident| incident.consequences.is_empty()));
}

#[test]
fn a_consequence_whose_root_was_not_found_stands_alone() {
    let alone = of(&checks::CATALOGUE, &[finding("manager_crash_loop", "webhook_unserved", "a")], 2);
    assert_eq!((alone.len(), alone[0].check), (1, "manager_crash_loop"));
    let with_root = [
        finding("manager_crash_loop", "webhook_unserved", "a"),
        finding("webhook_unavailable", "deadlock", ""),
        finding("driver_deployer_blocked", "managers_down", "b"),
    ];
    let told = of(&checks::CATALOGUE, &with_root, 2);
    assert_eq!((told.len(), told[0].check), (1, "webhook_unavailable"));
    assert_eq!(told[0].findings, [1, 0, 2]);
}

#[test]
fn many_objects_with_one_cause_are_one_incident() {
    let nodes: Vec<String> = (1..=320).map(|number| format!("worker-{number}")).collect();
    let mut findings: Vec<_> =
        nodes.iter().map(|node| finding("manager_crash_loop", "open_iscsi_missing", node)).collect();
    findings.extend(nodes.iter().map(|node| finding("node_unregistered", "never_started", node)));
    let told = of(&checks::CATALOGUE, &findings, 320);
    assert_eq!(
        (told.len(), told[0].count, told[0].nodes.len(), told[0].objects.len()),
        (1, 320, 320, MAX_LISTED)
    );
    assert_eq!(told[0].consequences[0].count, 320);
    assert!(
        told[0].title.ends_with("; also on 319 nodes (worker-2, -3, -4 and 316 more)"),
        "{}",
        told[0].title
    );
}

#[test]
fn what_holds_another_up_is_named_and_both_stay_incidents() {
    let told = of(
        &checks::CATALOGUE,
        &[
            finding("instance_manager_down", "pod_failed", "a"),
            finding("manager_crash_loop", "webhook_unserved", "a"),
            finding("webhook_unavailable", "deadlock", ""),
        ],
        3,
    );
    assert_eq!(told.len(), 2);
    assert_eq!((told[0].check, told[1].waits_for.first()), ("webhook_unavailable", Some(&1)));
}

#[test]
fn relations_to_what_happens_at_the_same_time_are_refused() {
    let (here, there) = (
        finding("node_iscsi_errors", "iscsi_conn_error", "a"),
        finding("node_iscsi_errors", "iscsi_conn_error", "b"),
    );
    assert!(group::have_in_common(&here, &there, Same::Cluster));
    for same in [Same::Node, Same::Object, Same::Disk, Same::Volume] {
        assert!(!group::have_in_common(&here, &there, same), "{same:?}");
    }
}

#[test]
fn data_at_stake_is_told_before_reach() {
    let volume = |health| VolumeRef {
        name: "v".to_owned(),
        pvc: None,
        robustness: Some(health),
        state: None,
        workloads: Vec::new(),
    };
    let wide = finding("webhook_unavailable", "deadlock", "");
    let narrow = |health| finding("instance_manager_down", "pod_failed", "a").volumes(vec![volume(health)]);
    let first = |findings: &[Finding]| of(&checks::CATALOGUE, findings, 9)[0].check;
    assert_eq!(first(&[wide.clone(), narrow(VolumeHealth::Faulted)]), "instance_manager_down");
    assert_eq!(first(&[narrow(VolumeHealth::Degraded), wide]), "webhook_unavailable");
}

#[test]
fn what_people_feel_is_told_first_and_notes_on_the_release_last() {
    let told = of(
        &checks::CATALOGUE,
        &[
            finding("known_bad_release", "issue_10019", "").severity(Severity::Warning),
            finding("disk_unavailable", "disk_full", "b").severity(Severity::Warning),
            finding("volume_attachment_stuck", "mount_failing", "a").severity(Severity::Warning),
        ],
        3,
    );
    let told: Vec<&str> = told.iter().map(|incident| incident.check).collect();
    assert_eq!(told, ["volume_attachment_stuck", "disk_unavailable", "known_bad_release"]);
}

/// The alert of the root may come later, or not at all.
#[test]
fn what_is_only_shown_with_a_root_is_not_muted_by_it() {
    let (shown, caused) = (
        [
            finding("csi_plugin_down", "plugin_missing", "a"),
            finding("node_unregistered", "manager_missing", "a"),
        ],
        [
            finding("node_unregistered", "never_started", "a"),
            finding("manager_crash_loop", "open_iscsi_missing", "a"),
        ],
    );
    assert_eq!((of(&checks::CATALOGUE, &shown, 2).len(), muted(&checks::CATALOGUE, &shown).len()), (1, 0));
    assert_eq!((of(&checks::CATALOGUE, &caused, 2).len(), muted(&checks::CATALOGUE, &caused).len()), (1, 1));
}

#[test]
fn nodes_that_are_numbered_alike_are_told_by_their_numbers() {
    let told = |names: &[&str]| places(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    assert_eq!(told(&["worker-1", "worker-3", "worker-10"]), "worker-1, -3, -10");
    assert_eq!(told(&["a-1", "b-2", "b-c"]), "a-1, b-2, b-c");
    assert_eq!(
        told(&["ip-10-0-0-1.internal", "ip-10-0-0-2.internal"]),
        "ip-10-0-0-1.internal, ip-10-0-0-2.internal"
    );
    assert_eq!(told(&[]), "");
}

#[test]
fn names_are_sorted_as_people_do() {
    let mut names = ["n10", "n2", "n1", "m", "n2a"];
    names.sort_by_key(|name| natural(name));
    assert_eq!(names, ["m", "n1", "n2", "n2a", "n10"]);
}
