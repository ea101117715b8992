//! Ends of which the kubelet itself says why, in the words of kubelet 1.36.3.

use super::super::{CHECK, causes};
use super::*;

/// An Event of the kubelet about the manager's container.
fn event(reason: &str, message: &str, first: &str, last: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Event\nmetadata: {{name: {}, namespace: longhorn-system}}\nreason: {reason}\nmessage: {message}\ncount: 6\n\
         firstTimestamp: '{first}'\nlastTimestamp: '{last}'\n\
         involvedObject: {{kind: Pod, name: longhorn-manager-a, uid: u1, fieldPath: 'spec.containers{{longhorn-manager}}'}}\n---\n",
        first.replace(':', "-").to_lowercase()
    )
}

fn killing(probe: &str) -> String {
    let message = format!("Container longhorn-manager failed {probe} probe, will be restarted");
    // its Events stop being written while the kills go on
    event("Killing", &message, "2026-03-01T11:20:00Z", "2026-03-01T11:25:00Z")
}

#[test]
fn what_the_kubelet_says_it_killed_was_killed_by_a_probe() {
    let m = |code| manager("v1.12.1", &backing_off(code, 20)) + &node("node-1");
    for (name, yaml, expected) in [
        ("liveness, ends with 0", m(0) + &killing("liveness"), causes::PROBE_KILLED.id),
        ("liveness, SIGTERM ignored", m(137) + &killing("liveness"), causes::PROBE_KILLED.id),
        ("liveness, ended by SIGTERM", m(143) + &killing("liveness"), causes::PROBE_KILLED.id),
        ("startup", m(0) + &killing("startup"), causes::PROBE_KILLED.id),
        ("nothing is said", m(0), causes::UNKNOWN.id),
        (
            "it was told to stop",
            m(0) + &event(
                "Killing", "Stopping container longhorn-manager", "2026-03-01T11:58:59Z",
                "2026-03-01T11:58:59Z",
            ),
            causes::UNKNOWN.id,
        ),
        ("of another pod", m(0) + &killing("liveness").replace("uid: u1", "uid: u0"), causes::UNKNOWN.id),
        (
            "of another container",
            m(0) + &killing("liveness").replace("{longhorn-manager}", "{pre-pull}"),
            causes::UNKNOWN.id,
        ),
        (
            "written after the last end",
            m(0) + &killing("liveness").replace("T11:2", "T11:59:2").replace(":00Z'", "Z'"),
            causes::UNKNOWN.id,
        ),
        ("a panic is a panic", m(2) + &killing("liveness"), causes::UNKNOWN.id),
        ("a fatal error long after the kill", m(1) + &killing("liveness"), causes::UNKNOWN.id),
        (
            "a fatal error of a start that was told to end",
            m(1) + &killing("startup").replace("T11:25:00Z", "T11:58:58Z"),
            causes::PROBE_KILLED.id,
        ),
        (
            "a postStart hook",
            m(0) + &event(
                "FailedPostStartHook", "PostStartHook failed", "2026-03-01T11:20:00Z", "2026-03-01T11:50:00Z",
            ),
            causes::CONTAINER_CANNOT_START.id,
        ),
    ] {
        assert_eq!(cause_of(&cluster_at(NOW, &yaml)), expected, "{name}");
    }
    let finding = run(&CHECK, &cluster_at(NOW, &(m(0) + &killing("liveness")))).report.findings.remove(0);
    assert!(
        finding.evidence().iter().any(|fact| fact.text.contains("failed liveness probe, will be restarted"))
    );
    assert!(
        finding.remedy.commands[0].run.contains("{\"livenessProbe\":null,\"name\":\"longhorn-manager\"}")
    );
}

#[test]
fn a_container_that_never_ran_ran_for_no_time() {
    let status = "restartCount: 12, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 128, \
                  reason: StartError, message: 'exec: no such file', startedAt: '1970-01-01T00:00:00Z', finishedAt: '2026-03-01T11:59:00Z'}}";
    let finding = run(&CHECK, &cluster_at(NOW, &manager("v1.12.1", status))).report.findings.remove(0);
    assert_eq!(finding.cause.id, causes::CONTAINER_CANNOT_START.id);
    let text = format!("{finding:?}");
    assert!(text.contains("after an unknown time") && !text.contains("1970"), "{text}");
}

#[test]
fn only_exit_code_137_is_an_end_by_lack_of_memory() {
    for (code, expected) in [(137, causes::OOM_KILLED.id), (0, causes::UNKNOWN.id), (143, causes::UNKNOWN.id)]
    {
        let killed = backing_off(code, 40).replace("reason: Error", "reason: OOMKilled");
        let yaml = manager("v1.12.1", &killed) + &node("node-1");
        assert_eq!(cause_of(&cluster_at(NOW, &yaml)), expected, "{code}");
        // on a node where memory ran out once, a probe still kills
        let probed = if code == 137 { expected } else { causes::PROBE_KILLED.id };
        assert_eq!(cause_of(&cluster_at(NOW, &(yaml + &killing("liveness")))), probed, "{code}");
    }
}

#[test]
fn one_exit_is_no_loop() {
    let first = |seconds: i64| {
        let end = time(NOW) - jiff::SignedDuration::from_secs(seconds);
        let status = format!(
            "restartCount: 0, state: {{waiting: {{reason: CrashLoopBackOff}}}}, lastState: {{terminated: {{exitCode: 1, \
             reason: Error, startedAt: '2026-03-01T11:40:00Z', finishedAt: '{end}'}}}}"
        );
        found(&CHECK, &cluster_at(NOW, &(manager("v1.9.2", &status) + &node("node-1"))))
    };
    assert!(first(20).is_empty());
    assert_eq!(first(300).len(), 1, "the kubelet does not start it again");
}
