//! Failures of probes that a manager has borne, and those of the run before.

use super::*;

/// Seen on 1.12.1: nodes short of CPU, whose managers were told for ten minutes although they stayed Ready.
#[test]
fn failures_that_a_manager_has_borne_are_over_a_moment_later() {
    let v = release("v1.12.1") + &daemon_set(HTTPS);
    let told = |ready: &str, since: &str, count: u32, last: &str| {
        let pod = pod("n1", "2026-03-01T11:00:00Z", ready, since);
        let event = repeated(count, "2026-03-01T11:55:00Z", last, TIMEOUT);
        !found(&CHECK, &at_now(&(v.clone() + &pod + &event))).is_empty()
    };
    let long = "2026-03-01T11:00:12Z";
    assert!(told("True", long, 5, "2026-03-01T11:59:31Z"), "the next probe may fail as well");
    assert!(!told("True", long, 5, "2026-03-01T11:59:30Z"), "two periods and some seconds without a failure");
    assert!(told("True", long, 20, "2026-03-01T11:59:30Z"), "the kubelet may keep quiet");
    assert!(told("False", "2026-03-01T11:58:00Z", 5, "2026-03-01T11:59:30Z"), "it lost readiness");
}

#[test]
fn a_liveness_probe_that_killed_nothing_is_over_as_soon() {
    let v = release("v1.12.1") + &daemon_set(PATCHED);
    let told = |started: &str| {
        let pod = pod("n1", started, "True", "2026-03-01T11:57:10Z");
        let message = TIMEOUT.replace("Readiness", "Liveness");
        let event = repeated(3, "2026-03-01T11:56:00Z", "2026-03-01T11:57:00Z", &message);
        !found(&CHECK, &at_now(&(v.clone() + &pod + &event))).is_empty()
    };
    assert!(!told("2026-03-01T11:00:00Z"), "its container has borne it");
    assert!(told("2026-03-01T11:57:01Z"), "it was restarted");
}

/// Seen on 1.12.1: "refused 5 times" of a crash loop, told of the run after it.
#[test]
fn refusals_before_the_present_container_are_not_those_of_its_run() {
    let v = release("v1.12.1") + &daemon_set(HTTPS);
    let hung = pod("n1", "2026-03-01T11:58:41Z", "False", "2026-03-01T11:59:10Z");
    let events = repeated(5, "2026-03-01T11:58:20Z", "2026-03-01T11:58:41Z", REFUSED)
        + &repeated(4, "2026-03-01T11:59:00Z", "2026-03-01T11:59:50Z", TIMEOUT)
            .replace("name: e-n1-1", "name: e-n1-2");
    let finding = run(&CHECK, &at_now(&(v + &hung + &events))).report.findings.remove(0);
    assert!(finding.message.ends_with("fails: timeout 4 times"), "{}", finding.message);
}
