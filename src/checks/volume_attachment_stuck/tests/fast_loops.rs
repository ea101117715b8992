//! An engine that dies every two seconds, as a real longhorn-manager 1.9.2 played it whose instance managers had no engine binary:
//! state and robustness change with each step, the Events count up to 25, and client-go holds them still from then on.

use std::collections::BTreeMap;

use super::*;
use crate::check::Severity;
use crate::volume_faulted;

const BEGIN: &str = "2026-03-01T12:00:00Z";

/// The volume in one of the four steps of a round.
fn step(name: &str, second: i64, ever_up: bool) -> String {
    let (state, robustness, engine_state) = [
        ("attaching", "unknown", "starting"),
        ("attaching", "faulted", "error"),
        ("detaching", "faulted", "stopping"),
        ("detached", "unknown", "stopped"),
    ][usize::try_from(second % 4).unwrap()];
    let created = match engine_state {
        "error" => {
            ", conditions: [{type: InstanceCreation, status: 'False', reason: InstanceCreationFailure, \
                    message: 'exec: /engine-binaries/longhorn: no such file or directory'}]"
        }
        _ => "",
    };
    let up = if ever_up { ", healthyAt: '2026-02-01T00:00:00Z'" } else { "" };
    let at = time(BEGIN) + jiff::SignedDuration::from_secs(second);
    let volume = volume(name, state, "nodeID: node-1", "")
        .replace("robustness: unknown", &format!("robustness: {robustness}, remountRequestedAt: '{at}'"));
    let replica = format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Replica\nmetadata: {{name: {name}-r-1, namespace: {NAMESPACE}}}\n\
         spec: {{volumeName: {name}, nodeID: node-1, active: true{up}}}\nstatus: {{currentState: running}}\n---\n"
    );
    // one round takes two seconds
    let (rounds, last) = (1 + second / 2, at.min(time("2026-03-01T12:00:48Z")));
    let last = last.strftime("%H:%M:%S").to_string();
    let count = u32::try_from(rounds.min(25)).unwrap();
    volume
        + &engine(name, "node-1", engine_state, created)
        + &replica
        + &event("Volume", name, "DetachedUnexpectedly", count, "12:00:00", &last)
        + &event("Engine", &format!("{name}-e-0"), "Start", count, "12:00:00", &last)
}

fn criticals(cluster: &Cluster) -> Vec<String> {
    let both = |check: &crate::check::Check| check.id == CHECK.id || check.id == volume_faulted::CHECK.id;
    let report = crate::testing::evaluate_only(cluster, both).report;
    let critical = report.findings.iter().filter(|finding| finding.severity == Severity::Critical);
    critical.map(|finding| format!("{}/{} {}", finding.check, finding.cause, finding.object)).collect()
}

/// The instance manager of the node, whose pod was replaced half a minute after the loop had begun.
fn manager(second: i64) -> String {
    let (uid, made) = if second < 30 { ("u1", "11:00:00") } else { ("u2", "12:00:30") };
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: InstanceManager\nmetadata: {{name: im, namespace: {NAMESPACE}}}\nspec: {{nodeID: node-1}}\n---\n\
         apiVersion: v1\nkind: Pod\nmetadata: {{name: im, uid: {uid}, namespace: {NAMESPACE}, creationTimestamp: '2026-03-01T{made}Z', \
         labels: {{longhorn.io/component: instance-manager}}}}\nspec: {{nodeName: node-1}}\n---\n"
    )
}

/// Since which second each critical finding was there, and how often one went.
fn played(ever_up: bool) -> (BTreeMap<String, i64>, usize, Cluster) {
    let at = |second| step("a", second, ever_up) + &step("b", second, ever_up) + &manager(second);
    let mut cluster = live_at(BEGIN, &at(0));
    let (mut begun, mut before, mut gone) = (BTreeMap::new(), Vec::new(), 0);
    for second in 0..420 {
        let now = criticals(&cluster);
        gone += before.iter().filter(|finding| !now.contains(finding)).count();
        now.iter().for_each(|finding| {
            begun.entry(finding.clone()).or_insert(second);
        });
        before = now;
        cluster = next(cluster, 1, &at(second + 1));
    }
    (begun, gone, cluster)
}

#[test]
fn new_volumes_whose_engine_has_no_binary_have_lost_nothing() {
    let (begun, gone, cluster) = played(false);
    let node = "volume_attachment_stuck/engine_cannot_start nodes.longhorn.io node-1".to_owned();
    assert_eq!(begun, BTreeMap::from([(node, 4)]), "the second since which it is there");
    assert_eq!(gone, 0, "it does not come and go");
    for finding in crate::testing::evaluate(&cluster).report.findings {
        let remedy = format!("{} {:?}", finding.remedy.fix, finding.remedy.commands);
        for destructive in ["delete ", "Delete", "restore", "Restore", "salvage", "scale"] {
            let spared = remedy.contains("nothing has to be deleted");
            assert!(spared || !remedy.contains(destructive), "{} advises: {remedy}", finding.cause);
        }
    }
}

#[test]
fn volumes_with_data_that_lose_their_engine_every_two_seconds_are_in_a_loop() {
    let (begun, gone, _) = played(true);
    let of = |name| (format!("volume_attachment_stuck/attach_loop Volume {name}"), 4);
    assert_eq!((begun, gone), (BTreeMap::from([of("a"), of("b")]), 0));
}

#[test]
fn the_minute_as_a_recording_tells_the_same_in_each_of_its_steps() {
    for second in 60..64 {
        let at = (time(BEGIN) + jiff::SignedDuration::from_secs(second)).to_string();
        let seen = |ever_up| criticals(&cluster_at(&at, &step("a", second, ever_up)));
        assert_eq!(seen(false), ["volume_attachment_stuck/engine_cannot_start Volume a"]);
        assert!(seen(true).contains(&"volume_attachment_stuck/attach_loop Volume a".to_owned()), "{at}");
    }
}

#[test]
fn a_loop_is_over_once_the_engine_stays() {
    let healthy = volume("a", "attached", "nodeID: node-1", "node-1")
        .replace("robustness: unknown", "robustness: healthy, remountRequestedAt: '2026-03-01T12:00:48Z'")
        + &engine("a", "node-1", "running", "")
        + &event("Volume", "a", "DetachedUnexpectedly", 25, "12:00:00", "12:00:48")
        + &event("Engine", "a-e-0", "Start", 25, "12:00:00", "12:00:48");
    assert!(!criticals(&cluster_at("2026-03-01T12:01:40Z", &healthy)).is_empty(), "it may go on");
    assert!(criticals(&cluster_at("2026-03-01T12:01:50Z", &healthy)).is_empty());
}

#[test]
fn one_death_after_others_started_the_engine_is_no_loop() {
    // the workload moved three times within the hour, and then the engine died once
    let yaml = volume("a", "attaching", "nodeID: node-1", "")
        + &engine("a", "node-1", "starting", "")
        + &event("Volume", "a", "DetachedUnexpectedly", 5, "12:00:00", "12:00:10")
        + &event("Engine", "a-e-0", "Start", 4, "11:20:00", "12:00:20");
    assert!(criticals(&cluster_at("2026-03-01T12:00:30Z", &yaml)).is_empty());
}
