mod borne;
mod starts;

use super::CHECK;
use crate::cluster::{Cluster, Readability};
use crate::longhorn::Resource;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";
const STOCK: [&str; 2] = ["readiness_timeout", "startup_and_liveness_probe"];
const HTTPS: &str = "readinessProbe: {httpGet: {path: /v1/healthz, port: 9502, scheme: HTTPS}}";
const TCP: &str = "readinessProbe: {tcpSocket: {port: 9500}}";
const PATCHED: &str = "\
                       startupProbe: {httpGet: {port: 9502}, failureThreshold: 30, periodSeconds: 10, timeoutSeconds: 5}, \
                       livenessProbe: {httpGet: {port: 9502}, failureThreshold: 3, periodSeconds: 30, timeoutSeconds: 5}, \
                       readinessProbe: {httpGet: {port: 9502}, timeoutSeconds: 5}";

fn daemon_set(probes: &str) -> String {
    object(
        "DaemonSet",
        "longhorn-manager",
        &format!(
            "spec: {{template: {{spec: {{containers: [{{name: pre-pull-share-manager-image}}, \
             {{name: longhorn-manager, {probes}}}]}}}}}}"
        ),
    )
}

/// A manager pod: its node, when its container started, its Ready condition and since when.
fn pod(node: &str, started: &str, ready: &str, since: &str) -> String {
    let container_ready = ready == "True";
    longhorn_manager(
        &format!("longhorn-manager-{node}"),
        &format!("uid: uid-{node}"),
        &format!(
            "spec: {{nodeName: {node}, containers: [{{name: longhorn-manager, {HTTPS}}}]}}\n\
             status: {{phase: Running, conditions: [{{type: Ready, status: '{ready}', \
             lastTransitionTime: '{since}'}}], containerStatuses: [{{name: pre-pull-share-manager-image, \
             ready: true, state: {{running: {{}}}}}}, {{name: longhorn-manager, \
             ready: {container_ready}, state: {{running: {{startedAt: '{started}'}}}}}}]}}"
        ),
    )
}

fn unhealthy(node: &str, number: u32, count: u32, last: &str, message: &str) -> String {
    object(
        "Event",
        &format!("e-{node}-{number}"),
        &format!(
            "involvedObject: {{kind: Pod, name: longhorn-manager-{node}, namespace: longhorn-system, \
             uid: uid-{node}, fieldPath: 'spec.containers{{longhorn-manager}}'}}\n\
             reason: Unhealthy\n\
             type: Warning\n\
             count: {count}\n\
             lastTimestamp: '{last}'\n\
             message: '{message}'"
        ),
    )
}

const TIMEOUT: &str =
    "Readiness probe failed: Get \"https://10.42.3.33:9502/v1/healthz\": context deadline exceeded";
const REFUSED: &str = "Readiness probe failed: dial tcp 10.42.3.33:9502: connect: connection refused";

fn at_now(yaml: &str) -> Cluster {
    live_at(NOW, yaml)
}

#[test]
fn stock_releases_have_facts_and_no_finding() {
    for (version, probe, expected) in [
        ("v1.3.3", TCP, &STOCK[1..]),
        ("v1.4.4", TCP, &STOCK[1..]),
        ("v1.5.5", HTTPS, &STOCK[..]),
        ("v1.9.2", HTTPS, &STOCK[..]),
        ("v1.12.1", HTTPS, &STOCK[..]),
    ] {
        let yaml = release(version)
            + &daemon_set(probe)
            + &pod("n1", "2026-03-01T11:00:00Z", "True", "2026-03-01T11:00:12Z");
        assert_eq!(found(&CHECK, &at_now(&yaml)), Vec::<String>::new(), "{version}");
        assert_eq!(stated(&CHECK, &at_now(&yaml)), expected, "{version}");
    }
}

#[test]
fn readiness_is_found_where_it_gives_up_sooner_than_any_stock_release() {
    let worse = ["info readiness_timeout_short DaemonSet longhorn-manager"];
    for (timing, expected) in [
        ("failureThreshold: 1", &worse[..]),
        ("periodSeconds: 5", &worse[..]),
        ("periodSeconds: 15, failureThreshold: 2", &[]),
        ("failureThreshold: 1, timeoutSeconds: 5", &[]),
    ] {
        let probe = HTTPS.replace("scheme: HTTPS}", &format!("scheme: HTTPS}}, {timing}"));
        let cluster = at_now(&(release("v1.10.2") + &daemon_set(&probe)));
        assert_eq!(found(&CHECK, &cluster), expected, "{timing}");
    }
}

#[test]
fn configured_probes_are_judged_and_sampled() {
    let evaluation = run(&CHECK, &at_now(&(release("v1.10.2") + &daemon_set(HTTPS))));
    for (family, labels, value) in [
        ("longhorn_health_manager_probe_period_seconds", &["readiness"][..], Some(10.0)),
        ("longhorn_health_manager_probe_timeout_seconds", &["readiness"], Some(1.0)),
        ("longhorn_health_manager_probe_failure_threshold", &["readiness"], Some(3.0)),
        ("longhorn_health_manager_probe_tolerance_seconds", &["readiness"], Some(30.0)),
        ("longhorn_health_manager_probe_period_seconds", &["startup"], None),
        ("longhorn_health_manager_start_limit_seconds", &[], Some(120.0)),
        ("longhorn_health_manager_probe_failures", &["readiness", "timeout"], Some(0.0)),
        ("longhorn_health_manager_probe_failures", &["liveness", "timeout"], None),
    ] {
        assert_eq!(sample(&evaluation, family, labels), value, "{family} {labels:?}");
    }
    let patched = at_now(&(release("v1.10.2") + &daemon_set(PATCHED)));
    assert_eq!(found(&CHECK, &patched), Vec::<String>::new());
    let tolerance = "longhorn_health_manager_probe_tolerance_seconds";
    assert_eq!(sample(&run(&CHECK, &patched), tolerance, &["startup"]), Some(300.0));
}

#[test]
fn windows_below_300_s_are_short() {
    let short = "info startup_window_short DaemonSet longhorn-manager";
    for (probes, expected) in [
        ("startupProbe: {failureThreshold: 29, periodSeconds: 10}", true),
        ("startupProbe: {failureThreshold: 30, periodSeconds: 10}", false),
        ("startupProbe: {failureThreshold: 29, periodSeconds: 10, initialDelaySeconds: 10}", false),
        // a liveness probe alone kills too
        ("livenessProbe: {failureThreshold: 3, periodSeconds: 30}", true),
        ("livenessProbe: {failureThreshold: 3, periodSeconds: 30, initialDelaySeconds: 300}", false),
        // behind a wide startup probe it does not kill a start
        ("startupProbe: {failureThreshold: 60}, livenessProbe: {failureThreshold: 3}", false),
    ] {
        let findings = found(&CHECK, &at_now(&(release("v1.10.2") + &daemon_set(probes))));
        assert_eq!(findings.contains(&short.to_owned()), expected, "{probes}");
    }
}

#[test]
fn the_limit_of_the_release_decides_what_is_slow() {
    // 90 s from start to Ready
    for (version, limit, slow) in [
        ("v1.4.4", None, false),
        ("v1.5.0", Some(60.0), true),
        ("v1.9.1", Some(60.0), true),
        ("v1.9.2", Some(120.0), false),
    ] {
        let yaml = release(version)
            + &daemon_set(HTTPS)
            + &pod("n1", "2026-03-01T11:00:00Z", "True", "2026-03-01T11:01:30Z");
        let cluster = at_now(&yaml);
        let expected: &[&str] = if slow { &["info slow_start Pod longhorn-manager-n1"] } else { &[] };
        assert_eq!(found(&CHECK, &cluster), expected, "{version}");
        let evaluation = run(&CHECK, &cluster);
        assert_eq!(sample(&evaluation, "longhorn_health_manager_start_limit_seconds", &[]), limit);
        assert_eq!(
            sample(&evaluation, "longhorn_health_manager_start_to_ready_max_seconds", &[]),
            Some(90.0)
        );
        let of_node = sample(&evaluation, "longhorn_health_manager_start_to_ready_seconds", &["n1"]);
        assert_eq!(of_node, slow.then_some(90.0), "{version}");
    }
}

#[test]
fn starts_that_are_not_slow() {
    let v = release("v1.10.2") + &daemon_set(HTTPS);
    for (name, yaml) in [
        ("exactly the limit", pod("n1", "2026-03-01T11:00:00Z", "True", "2026-03-01T11:02:00Z")),
        ("days ago", pod("n1", "2026-02-26T11:00:00Z", "True", "2026-02-26T11:05:00Z")),
        // the node was away, or a probe failed: Ready changed long after the start
        ("ready again", pod("n1", "2026-03-01T09:00:00Z", "True", "2026-03-01T11:30:00Z")),
        (
            "ready with its node, which was away",
            pod("n1", "2026-03-01T11:00:00Z", "True", "2026-03-01T11:07:10Z")
                + "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {conditions: [{type: Ready, status: 'True', \
                   lastTransitionTime: '2026-03-01T11:07:09Z'}]}\n---\n",
        ),
        ("still starting", pod("n1", "2026-03-01T11:58:30Z", "False", "2026-03-01T11:58:20Z")),
        ("ready before its start", pod("n1", "2026-03-01T11:30:00Z", "True", "2026-03-01T11:20:00Z")),
        ("odd times", pod("n1", "", "True", "yesterday")),
        (
            "one after the other under the Lease",
            pod("n1", "2026-03-01T11:00:00Z", "True", "2026-03-01T11:01:40Z")
                + &pod("n2", "2026-03-01T11:00:00Z", "True", "2026-03-01T11:03:20Z")
                + &pod("n3", "2026-03-01T11:00:00Z", "True", "2026-03-01T11:05:00Z"),
        ),
    ] {
        assert_eq!(found(&CHECK, &at_now(&(v.clone() + &yaml))), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn a_start_on_a_node_that_came_back_with_it_may_be_slow() {
    let node = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {conditions: [{type: Ready, status: 'True', \
                lastTransitionTime: '2026-03-01T11:00:20Z'}]}\n---\n";
    let pod = pod("n1", "2026-03-01T11:00:00Z", "True", "2026-03-01T11:07:10Z");
    let yaml = release("v1.10.2") + &daemon_set(HTTPS) + &pod + node;
    assert_eq!(found(&CHECK, &at_now(&yaml)), ["info slow_start Pod longhorn-manager-n1"]);
}

/// Seen on 1.12.1: the port of the probe was blocked for 298 s, and the manager had served since its start.
#[test]
fn a_port_that_stopped_refusing_in_time_was_cut_off_and_did_not_start_slowly() {
    let pod = pod("n1", "2026-03-01T11:00:00Z", "True", "2026-03-01T11:05:00Z");
    let event = |number: u8, first: &str, last: &str, message: &str| {
        repeated(9, first, last, message).replace("name: e-n1-1", &format!("name: e-n1-{number}"))
    };
    let found_with = |events: String| {
        let yaml = release("v1.10.2") + &daemon_set(HTTPS) + &pod + &events;
        found(&CHECK, &at_now(&yaml))
    };
    let slow = ["info slow_start Pod longhorn-manager-n1"];
    let (begin, end) = ("2026-03-01T11:00:02Z", "2026-03-01T11:03:30Z");
    let cut = event(2, begin, end, TIMEOUT);
    assert_eq!(found_with(cut.clone()), Vec::<String>::new());
    let refused = |first: &str, last: &str| event(3, first, last, REFUSED);
    assert_eq!(found_with(cut.clone() + &refused(begin, "2026-03-01T11:00:12Z")), Vec::<String>::new());
    let before = refused("2026-03-01T10:59:30Z", "2026-03-01T10:59:50Z");
    assert_eq!(found_with(cut.clone() + &before), Vec::<String>::new(), "of the run before");
    // it refuses until it serves
    assert_eq!(found_with(cut + &refused(begin, "2026-03-01T11:04:50Z")), slow);
    // a few that were late in a start that took its time
    assert_eq!(found_with(event(2, begin, "2026-03-01T11:01:30Z", TIMEOUT)), slow);
}

#[test]
fn a_start_that_is_not_over_is_no_slow_start() {
    let pods = pod("n1", "2026-03-01T11:50:00Z", "False", "2026-03-01T11:50:00Z");
    let yaml = release("v1.10.2") + &daemon_set(HTTPS) + &pods;
    assert_eq!(found(&CHECK, &at_now(&yaml)), Vec::<String>::new());
}

#[test]
fn probes_that_fail_after_the_start() {
    let v = release("v1.10.2") + &daemon_set(HTTPS);
    let ready = pod("n1", "2026-03-01T11:00:00Z", "True", "2026-03-01T11:00:12Z");
    let event = |count, last, message| unhealthy("n1", 1, count, last, message);
    let failing = ["warning probe_failing Pod longhorn-manager-n1"];
    for (name, yaml, expected) in [
        ("now", event(3, "2026-03-01T11:59:50Z", TIMEOUT), &failing[..]),
        ("fewer than the threshold", event(2, "2026-03-01T11:59:50Z", TIMEOUT), &[]),
        ("ten minutes and more ago", event(30, "2026-03-01T11:49:59Z", TIMEOUT), &[]),
        ("only while it started", event(9, "2026-03-01T11:02:00Z", REFUSED), &[]),
        (
            "of the pod before",
            event(9, "2026-03-01T11:59:50Z", TIMEOUT).replace("uid: uid-n1", "uid: other"),
            &[],
        ),
        (
            "of another container",
            event(9, "2026-03-01T11:59:50Z", TIMEOUT).replace("{longhorn-manager}", "{other}"),
            &[],
        ),
        (
            "of another pod",
            event(9, "2026-03-01T11:59:50Z", TIMEOUT).replace("longhorn-manager-n1", "x"),
            &[],
        ),
        ("no probe at all", event(9, "2026-03-01T11:59:50Z", "Back-off"), &[]),
        (
            "in two kinds",
            event(1, "2026-03-01T11:59:50Z", TIMEOUT)
                + &unhealthy("n1", 2, 2, "2026-03-01T11:59:55Z", REFUSED),
            &failing,
        ),
    ] {
        assert_eq!(found(&CHECK, &at_now(&(v.clone() + &ready + &yaml))), expected, "{name}");
    }
    let starting = pod("n1", "2026-03-01T11:58:50Z", "False", "2026-03-01T11:58:40Z");
    let yaml = v + &starting + &event(6, "2026-03-01T11:59:55Z", REFUSED);
    assert_eq!(found(&CHECK, &at_now(&yaml)), Vec::<String>::new(), "a start of 65 s");
    let failures = "longhorn_health_manager_probe_failures";
    assert_eq!(sample(&run(&CHECK, &at_now(&yaml)), failures, &["readiness", "refused"]), Some(6.0));
}

#[test]
fn a_manager_that_hung_and_is_ready_again_fails_no_more() {
    let v = release("v1.10.2") + &daemon_set(HTTPS);
    let found_after = |count: u32, failed: &str, ready: &str| {
        let pod = pod("n1", "2026-03-01T11:00:00Z", "True", ready);
        let event = repeated(count, "2026-03-01T11:58:00Z", failed, TIMEOUT);
        !found(&CHECK, &at_now(&(v.clone() + &pod + &event))).is_empty()
    };
    assert!(!found_after(7, "2026-03-01T11:59:20Z", "2026-03-01T11:59:30Z"));
    assert!(found_after(7, "2026-03-01T11:59:21Z", "2026-03-01T11:59:31Z"), "not yet for three periods");
    assert!(found_after(7, "2026-03-01T11:59:50Z", "2026-03-01T11:59:00Z"), "it fails again");
    assert!(found_after(20, "2026-03-01T11:59:20Z", "2026-03-01T11:59:30Z"), "the kubelet may keep quiet");
}

/// Seen on 1.12.1: a manager refused while it started, and five minutes later it hung.
#[test]
fn what_a_start_met_is_not_counted_with_what_fails_now() {
    let v = release("v1.12.1") + &daemon_set(HTTPS);
    let hung = pod("n1", "2026-03-01T11:53:00Z", "False", "2026-03-01T11:58:40Z");
    let start = repeated(5, "2026-03-01T11:53:05Z", "2026-03-01T11:53:25Z", REFUSED);
    let fails = repeated(4, "2026-03-01T11:58:20Z", "2026-03-01T11:59:50Z", TIMEOUT)
        .replace("name: e-n1-1", "name: e-n1-2");
    let finding = run(&CHECK, &at_now(&(v + &hung + &start + &fails))).report.findings.remove(0);
    assert_eq!(
        finding.message,
        "the readiness probe of manager pod longhorn-manager-n1 fails: timeout 4 times"
    );
}

/// Seen on 1.12.1: stopped four seconds after it was Ready for the first time.
#[test]
fn a_manager_that_hangs_soon_after_its_start_is_told_as_soon() {
    let v = release("v1.12.1") + &daemon_set(HTTPS);
    let after = |lost: &str| {
        let hung = pod("n1", "2026-03-01T11:58:52Z", "False", lost);
        let fails = repeated(4, "2026-03-01T11:59:06Z", "2026-03-01T11:59:56Z", TIMEOUT);
        found(&CHECK, &at_now(&(v.clone() + &hung + &fails)))
    };
    assert_eq!(after("2026-03-01T11:59:26Z"), ["warning probe_failing Pod longhorn-manager-n1"]);
    assert!(after("2026-03-01T11:58:53Z").is_empty(), "not Ready yet");
}

#[test]
fn a_manager_that_hung_was_not_slow_to_start() {
    // recorded: 1.12.1, started at 16:48:17 and Ready at once, stopped at 16:54:32, Ready again at 16:58:00
    let v = release("v1.12.1") + &daemon_set(HTTPS);
    let pod = pod("n1", "2026-03-01T11:10:17Z", "True", "2026-03-01T11:20:00Z");
    let start = repeated(2, "2026-03-01T11:10:21Z", "2026-03-01T11:10:22Z", REFUSED);
    let hung = |first: &str| {
        repeated(10, first, "2026-03-01T11:19:51Z", TIMEOUT).replace("name: e-n1-1", "name: e-n1-2")
    };
    let slow = ["info slow_start Pod longhorn-manager-n1"];
    let found_with = |events: &str| found(&CHECK, &at_now(&(v.clone() + &pod + events)));
    assert_eq!(found_with(&(start.clone() + &hung("2026-03-01T11:16:41Z"))), Vec::<String>::new());
    // without a pause it was not Ready in between, but its port had been there
    assert_eq!(found_with(&(start.clone() + &hung("2026-03-01T11:10:31Z"))), Vec::<String>::new());
    assert_eq!(found_with(&start), slow);
    // after so many the kubelet writes one in five minutes
    let many = repeated(25, "2026-03-01T11:10:21Z", "2026-03-01T11:14:22Z", REFUSED);
    assert_eq!(found_with(&(many + &hung("2026-03-01T11:19:22Z"))), slow);
}

#[test]
fn what_a_start_met_long_ago_is_not_said_of_now() {
    let v = release("v1.10.2") + &daemon_set(HTTPS);
    let ready = pod("n1", "2026-03-01T11:00:00Z", "True", "2026-03-01T11:00:12Z");
    let events = unhealthy("n1", 1, 2, "2026-03-01T11:00:05Z", REFUSED)
        + &unhealthy("n1", 2, 3, "2026-03-01T11:59:50Z", TIMEOUT);
    let finding = run(&CHECK, &at_now(&(v + &ready + &events))).report.findings.remove(0);
    assert!(finding.message.ends_with("fails: timeout 3 times"), "{}", finding.message);
}

/// An event with its first occurrence, too.
fn repeated(count: u32, first: &str, last: &str, message: &str) -> String {
    let last = format!("lastTimestamp: '{last}'");
    unhealthy("n1", 1, count, "LAST", message)
        .replace("lastTimestamp: 'LAST'", &format!("firstTimestamp: '{first}'\n{last}"))
}

#[test]
fn failures_of_a_start_and_single_ones_do_not_add_up() {
    let v = release("v1.10.2") + &daemon_set(HTTPS);
    let ready = pod("n1", "2026-03-01T11:00:00Z", "True", "2026-03-01T11:00:12Z");
    let failing = ["warning probe_failing Pod longhorn-manager-n1"];
    for (name, yaml, expected) in [
        // the event of the start counts on when the same happens again
        ("start and one more", repeated(7, "2026-03-01T11:00:01Z", "2026-03-01T11:59:50Z", REFUSED), &[][..]),
        (
            "one every twenty minutes",
            repeated(30, "2026-03-01T02:00:00Z", "2026-03-01T11:59:50Z", TIMEOUT),
            &[],
        ),
        (
            "one every three minutes",
            repeated(20, "2026-03-01T11:00:30Z", "2026-03-01T11:58:00Z", TIMEOUT),
            &failing,
        ),
        ("three in a row", repeated(3, "2026-03-01T11:59:30Z", "2026-03-01T11:59:50Z", TIMEOUT), &failing),
    ] {
        assert_eq!(found(&CHECK, &at_now(&(v.clone() + &ready + &yaml))), expected, "{name}");
    }
    // of another kind, and over
    let over = unhealthy("n1", 2, 5, "2026-03-01T11:20:00Z", REFUSED)
        + &unhealthy("n1", 3, 1, "2026-03-01T11:59:50Z", TIMEOUT);
    assert_eq!(found(&CHECK, &at_now(&(v.clone() + &ready + &over))), Vec::<String>::new());
    // a rollout: n1 waited 200 s for its turn, its listener refused meanwhile; n2 went before
    let queued = pod("n1", "2026-03-01T11:50:00Z", "True", "2026-03-01T11:53:20Z")
        + &pod("n2", "2026-03-01T11:50:00Z", "True", "2026-03-01T11:51:50Z")
        + &repeated(20, "2026-03-01T11:50:05Z", "2026-03-01T11:53:15Z", REFUSED);
    assert_eq!(found(&CHECK, &at_now(&(v.clone() + &queued))), Vec::<String>::new(), "queued");
    // and one that still waits
    let lease = "apiVersion: coordination.k8s.io/v1\nkind: Lease\n\
                 metadata: {name: longhorn-manager-webhook-lock, namespace: longhorn-system}\n\
                 spec: {holderIdentity: n2, leaseDurationSeconds: 20, acquireTime: '2026-03-01T11:57:00.000000Z', \
                 renewTime: '2026-03-01T11:59:55.000000Z'}\n---\n";
    let waits = pod("n1", "2026-03-01T11:56:00Z", "False", "2026-03-01T11:55:00Z")
        + &repeated(22, "2026-03-01T11:56:05Z", "2026-03-01T11:59:55Z", REFUSED);
    assert_eq!(found(&CHECK, &at_now(&(v + lease + &waits))), Vec::<String>::new(), "still waits");
}

#[test]
fn each_manager_is_measured_by_the_release_that_it_runs() {
    // the setting has the release before until the upgrade is done
    let slow = pod("n1", "2026-03-01T11:00:00Z", "True", "2026-03-01T11:01:30Z");
    let runs = |tag: &str| {
        slow.replace(
            "{name: longhorn-manager, read",
            &format!("{{name: longhorn-manager, image: 'r:5000/longhorn-manager:{tag}', read"),
        )
    };
    assert!(runs("v1.9.2").contains("v1.9.2"));
    let of = |tag: &str| found(&CHECK, &at_now(&(release("v1.9.1") + &daemon_set(HTTPS) + &runs(tag))));
    assert_eq!(of("v1.9.1"), ["info slow_start Pod longhorn-manager-n1"]);
    assert_eq!(of("v1.9.2"), Vec::<String>::new());
}

#[test]
fn a_slow_start_names_the_container_that_held_it_up() {
    let slow = pod("n1", "2026-03-01T11:00:00Z", "True", "2026-03-01T11:03:20Z").replace(
        "ready: true, state: {running: {}}",
        "ready: true, state: {running: {startedAt: '2026-03-01T11:03:18Z'}}",
    );
    let cluster = at_now(&(release("v1.10.2") + &daemon_set(HTTPS) + &slow));
    let finding =
        run(&CHECK, &cluster).report.findings.into_iter().find(|one| one.cause.id == "slow_start").unwrap();
    let said = |part: &str| finding.evidence().iter().any(|fact| fact.text.contains(part));
    assert!(
        said("container pre-pull-share-manager-image of the pod started 198 s after"),
        "{:?}",
        finding.evidence()
    );
}

#[test]
fn an_unknown_release_is_not_said_to_wait_without_limit() {
    let text = |version: &str| {
        let facts = run(&CHECK, &at_now(&(release(version) + &daemon_set(HTTPS)))).report.facts;
        facts.into_iter().find(|one| one.fact == STOCK[1]).unwrap().text
    };
    assert!(text("v1.4.4").contains("without limit"));
    assert!(text("master-head").contains("the release is unknown"));
}

#[test]
fn a_probe_that_killed_counts_although_the_container_is_new() {
    let message =
        "Liveness probe failed: Get \"https://10.42.3.33:9502/v1/healthz\": context deadline exceeded";
    let yaml = release("v1.10.2")
        + &daemon_set(PATCHED)
        + &pod("n1", "2026-03-01T11:59:00Z", "True", "2026-03-01T11:59:10Z")
        + &unhealthy("n1", 1, 3, "2026-03-01T11:58:58Z", message);
    let cluster = at_now(&yaml);
    assert_eq!(found(&CHECK, &cluster), ["warning probe_failing Pod longhorn-manager-n1"]);
    let finding = run(&CHECK, &cluster).report.findings.remove(0);
    assert_eq!(
        finding.message,
        "the liveness probe of manager pod longhorn-manager-n1 fails: timeout 3 times"
    );
    assert!(finding.impact.contains("restarts the manager"));
}

#[test]
fn readiness_that_was_lost_shows_without_events() {
    let v = release("v1.10.2") + &daemon_set(HTTPS);
    let lost = |since: &str| v.clone() + &pod("n1", "2026-03-01T09:00:00Z", "False", since);
    assert_eq!(found(&CHECK, &at_now(&lost("2026-03-01T11:59:30Z"))), Vec::<String>::new());
    let mut cluster = at_now(&lost("2026-03-01T11:59:00Z"));
    cluster.resources.entry(Resource::Events).or_default().readability = Readability::Forbidden;
    assert_eq!(found(&CHECK, &cluster), ["warning probe_failing Pod longhorn-manager-n1"]);
    let evaluation = run(&CHECK, &cluster);
    assert_eq!(evaluation.report.unknown.len(), 1);
    assert_eq!(
        sample(&evaluation, "longhorn_health_manager_probe_failures", &["readiness", "timeout"]),
        None
    );
    // the container itself is ready: something else keeps the pod from being Ready
    let other = lost("2026-03-01T11:00:00Z").replace("ready: false", "ready: true");
    assert_eq!(found(&CHECK, &at_now(&other)), Vec::<String>::new());
}

#[test]
fn what_cannot_be_read_is_unknown() {
    for kind in [Resource::DaemonSets, Resource::Pods] {
        let mut cluster = at_now(&(release("v1.10.2") + &daemon_set(HTTPS) + MANAGER));
        cluster.resources.entry(kind).or_default().readability = Readability::Forbidden;
        let report = run(&CHECK, &cluster).report;
        assert!(report.findings.is_empty());
        assert_eq!(report.unknown.len(), 1, "{kind}");
    }
}

#[test]
fn odd_objects_do_not_matter() {
    let yaml = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: longhorn-manager}\n---\n\
                apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {app: longhorn-manager}}\n---\n\
                apiVersion: v1\nkind: Event\nmetadata: {name: e}\nreason: Unhealthy\n";
    assert_eq!(found(&CHECK, &cluster(yaml)), Vec::<String>::new());
    let extreme = daemon_set(
        "readinessProbe: {httpGet: {}, periodSeconds: 9223372036854775807, failureThreshold: 9223372036854775807}, \
         startupProbe: {periodSeconds: -1, failureThreshold: 0, timeoutSeconds: null, initialDelaySeconds: -5}",
    );
    // 10 s × 3: Kubernetes' defaults in place of numbers that cannot be
    let startup = "info startup_window_short DaemonSet longhorn-manager";
    assert!(found(&CHECK, &at_now(&extreme)).contains(&startup.to_owned()));
}

/// Seen on 1.12.1: port 9502 was blocked in one pod, whose manager had started again, worked, and was never Ready.
#[test]
fn a_manager_that_serves_and_is_never_ready_fails_its_probe() {
    let started = pod("n1", "2026-03-01T11:53:30Z", "False", "2026-03-01T11:53:31Z");
    let lease = |holder: &str, renewed: &str| {
        object(
            "Lease",
            "longhorn-manager-webhook-lock",
            &format!(
                "spec: {{holderIdentity: '{holder}', leaseDurationSeconds: 20, acquireTime: '{renewed}', renewTime: '{renewed}'}}"
            ),
        )
    };
    let judged = |message: &str, lease: &str| {
        let probe = unhealthy("n1", 1, 30, "2026-03-01T11:59:50Z", message);
        found(&CHECK, &at_now(&(release("v1.12.1") + &daemon_set(HTTPS) + &started + &probe + lease)))
    };
    let given = lease("", "2026-03-01T11:53:35Z");
    assert_eq!(judged(TIMEOUT, &given), ["warning probe_failing Pod longhorn-manager-n1"]);
    for (why, message, lease) in [
        ("nothing listens", REFUSED, given),
        ("it has its turn", TIMEOUT, lease("n1", "2026-03-01T11:59:55Z")),
        ("another has its turn", TIMEOUT, lease("n2", "2026-03-01T11:59:55Z")),
        ("the Lease was given back before it started", TIMEOUT, lease("", "2026-03-01T11:53:20Z")),
        ("just now", TIMEOUT, lease("", "2026-03-01T11:57:31Z")),
    ] {
        assert!(judged(message, &lease).is_empty(), "{why}");
    }
}
