//! Managers that leave their turn to others.

use super::*;

/// The kubelet's word about a readiness probe, last at a moment.
fn unhealthy(node: &str, last: &str, why: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Event\nmetadata: {{name: probe-{node}, namespace: longhorn-system}}\nreason: Unhealthy\n\
         message: 'Readiness probe failed: Get \"https://10.42.1.13:9501/v1/healthz\": {why}'\nlastTimestamp: '{last}'\n\
         involvedObject: {{kind: Pod, name: longhorn-manager-{node}}}\n---\n"
    )
}

const REFUSED: &str = "dial tcp 10.42.1.13:9501: connect: connection refused";
const CUT_OFF: [&str; 1] = ["critical api_unreachable Pod longhorn-manager-n1"];

/// Three nodes: n1 waits for its turn, n2 has long been done, n3 came later and has the Lease.
fn overtaken() -> [String; 5] {
    [
        release("v1.9.2") + &hanging("n1", "v1.9.2", "2026-03-01T11:56:00Z"),
        pod("n2", "v1.9.2", "2026-03-01T11:00:00Z", true, "2026-03-01T11:00:10Z"),
        hanging("n3", "v1.9.2", "2026-03-01T11:59:40Z"),
        lease("n3", "2026-03-01T11:57:50Z", "2026-03-01T11:59:58Z"),
        unhealthy("n1", "2026-03-01T11:59:50Z", REFUSED),
    ]
}

fn with(part: usize, other: &str) -> String {
    let mut parts = overtaken();
    parts[part] = other.to_owned();
    parts.concat()
}

#[test]
fn one_that_a_later_manager_overtook_gets_no_answer() {
    let yaml = overtaken().concat();
    assert_eq!(lines(&yaml, &[]), CUT_OFF);
    let finding = first(&at(NOW, &yaml, &[]));
    assert!(finding.message.contains("probably no answer"), "{}", finding.message);
    let why: Vec<&str> = finding.evidence().iter().map(|fact| fact.text.as_str()).collect();
    assert!(why.iter().any(|text| text.contains("the manager of n3, started later, took it")), "{why:?}");
    let waits = ["info queueing Lease longhorn-manager-webhook-lock"];
    for (name, yaml) in [
        ("the holder was there before", with(2, &hanging("n3", "v1.9.2", "2026-03-01T11:55:00Z"))),
        (
            "it took the Lease at once",
            with(0, &(release("v1.9.2") + &hanging("n1", "v1.9.2", "2026-03-01T11:57:25Z"))),
        ),
        (
            "up to 1.9 a Ready manager may have had the Lease",
            with(1, &pod("n2", "v1.9.2", "2026-03-01T11:50:00Z", true, "2026-03-01T11:50:10Z")),
        ),
        ("so may another one that waits", with(1, &hanging("n2", "v1.9.2", "2026-03-01T11:55:30Z"))),
        ("nothing tells that it serves nothing", with(4, "")),
        (
            "it answers, but slowly",
            with(4, &unhealthy("n1", "2026-03-01T11:59:50Z", "context deadline exceeded")),
        ),
        ("it was refused long ago", with(4, &unhealthy("n1", "2026-03-01T11:58:30Z", REFUSED))),
    ] {
        assert_eq!(lines(&yaml, &[]), waits, "{name}");
    }
    // its own log knows better
    assert_eq!(lines(&yaml, &[("n1", CANDIDATE)]), waits);
    // from 1.10 on readiness is the end of a start
    let young = pod("n2", "v1.10.1", "2026-03-01T11:50:00Z", true, "2026-03-01T11:50:10Z");
    assert_eq!(lines(&with(1, &young).replace("v1.9.2", "v1.10.1"), &[]), CUT_OFF);
}

#[test]
fn one_that_does_not_follow_another_gets_no_answer() {
    let start = release("v1.11.2") + &hanging("n1", "v1.11.2", "2026-03-01T11:57:00Z");
    let probe = unhealthy("n1", "2026-03-01T11:59:55Z", REFUSED);
    let given = |at: &str| lease("", at, at);
    let yaml = start.clone() + &given("2026-03-01T11:57:10Z") + &probe;
    assert_eq!(lines(&yaml, &[]), CUT_OFF);
    // it had its turn itself, and is not Ready because its probe does not come through: no start hangs
    let slow = unhealthy("n1", "2026-03-01T11:59:55Z", "Readiness probe failed: context deadline exceeded");
    let served = at(NOW, &(start.clone() + &given("2026-03-01T11:57:10Z") + &slow), &[]);
    assert!(found(&CHECK, &served).is_empty());
    // nor when the kubelet, after many of its Events, keeps quiet for minutes (played on 1.12.1)
    let quiet = unhealthy("n1", "2026-03-01T11:58:00Z", "Readiness probe failed: context deadline exceeded");
    let quiet = at(NOW, &(start.clone() + &given("2026-03-01T11:57:10Z") + &quiet), &[]);
    assert!(found(&CHECK, &quiet).is_empty());
    let probes = crate::ALL.iter().find(|check| check.id == "manager_probes").unwrap();
    let told = found(probes, &(served)).into_iter().filter(|one| one.starts_with("warning")).count();
    assert_eq!(told, 1);
    // given back before it came: the right may have gone since
    let before = start.clone() + &given("2026-03-01T11:56:50Z") + &probe;
    let unknown = ["warning unknown Pod longhorn-manager-n1"];
    assert_eq!(lines(&before, &[]), unknown);
    let said = |cluster: &Cluster| {
        let finding = first(cluster);
        finding
            .evidence()
            .iter()
            .map(|fact| fact.text.clone())
            .chain([finding.remedy.fix.clone()])
            .collect::<String>()
    };
    let text = said(&cluster_at(NOW, &before));
    assert!(text.contains("perhaps no answer of the API server, or a missing right"), "{text}");
    assert!(text.contains("Deleting the pod does not help"), "{text}");
    // another manager is Ready and does not write that this one is not
    let ready = pod("n2", "v1.11.2", "2026-03-01T11:00:00Z", true, "2026-03-01T11:00:10Z");
    let node = |status: &str| {
        object("Node", "n1", &format!("status: {{conditions: [{{type: Ready, status: '{status}'}}]}}"))
    };
    let shared = "check what all of them share";
    assert!(said(&at(NOW, &(before.clone() + &ready + &node("True")), &[])).contains(shared));
    assert!(!said(&at(NOW, &(before.clone() + &ready + &node("False")), &[])).contains(shared));
    assert!(!said(&at(NOW, &(before + &node("True")), &[])).contains(shared));
}

#[test]
fn one_that_crashed_before_hangs_all_the_same_with_a_free_lease() {
    let looping = hanging("n1", "v1.12.1", "2026-03-01T11:57:00Z").replace(
        "restartCount: 0,",
        "restartCount: 4, lastState: {terminated: {exitCode: 137, startedAt: '2026-03-01T11:56:00Z', \
         finishedAt: '2026-03-01T11:56:50Z'}},",
    );
    let yaml = release("v1.12.1") + &looping + &lease("", "2026-03-01T11:56:40Z", "2026-03-01T11:56:40Z");
    let cluster = at(NOW, &yaml, &[]);
    assert_eq!(found(&CHECK, &cluster), ["warning unknown Pod longhorn-manager-n1"]);
    let crashes = crate::ALL.iter().find(|check| check.id == "manager_crash_loop").unwrap();
    assert_eq!(found(crashes, &cluster), Vec::<String>::new());
}
