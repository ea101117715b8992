//! The Lease that Ready managers of 1.11.3 and later keep renewed.

use super::*;
use crate::history::CrashLog;
use crate::longhorn::Resource;

const SILENT: &str = "warning api_lost Lease longhorn-webhook-cert-rotation";
const STOPPED: &str = "info rotation_stopped Lease longhorn-webhook-cert-rotation";
/// As a 1.12.1 manager writes it 44 s after its packets were dropped, for every kind within a second.
const LOST: &str = "W0301 11:59:55.415803       1 reflector.go:578] \"Warning: watch ended with error\" \
    reflector=\"k8s.io/client-go/informers/factory.go:160\" type=\"*v1.Pod\" err=\"an error on the server (\\\"unable to decode an event \
    from the watch stream: http2: client connection lost\\\") has prevented the request from succeeding\"\n";

fn lease(holder: &str, renewed: &str) -> String {
    format!(
        "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {{name: longhorn-webhook-cert-rotation, namespace: {NAMESPACE}}}\n\
         spec: {{holderIdentity: '{holder}', leaseDurationSeconds: 60, acquireTime: '2026-03-01T09:00:00.000000Z', renewTime: '{renewed}'}}\n---\n"
    )
}

fn with_log(cluster: Cluster, node: &str, text: &str) -> Cluster {
    let mut cluster = cluster;
    cluster.history.add_current_log(CrashLog {
        exit_code: None,
        pod: format!("longhorn-manager-{node}"),
        container: "longhorn-manager".into(),
        pod_uid: String::new(),
        text: text.into(),
    });
    cluster
}

#[test]
fn a_lease_that_stands_still_while_managers_are_ready_is_found() {
    let young = ["node-1", "node-2", "node-3"].map(|name| node(name, "2026-03-01T11:58:30Z", 5)).concat();
    for (name, yaml, expected) in [
        ("renewed", three() + &lease("node-2", "2026-03-01T11:59:50.1Z"), &[][..]),
        ("a renewal is late", three() + &lease("node-2", "2026-03-01T11:58:31Z"), &[]),
        ("stands still", three() + &lease("node-2", "2026-03-01T11:58:30Z"), &[SILENT]),
        ("given back", three() + &lease("", "2026-03-01T11:50:00Z"), &[]),
        ("all were restarted", young + &lease("node-2", "2026-03-01T11:50:00Z"), &[]),
        ("a release without it", three(), &[]),
    ] {
        assert_eq!(causes(&cluster_at(NOW, &yaml)), expected, "{name}");
    }
    let finding = run(&CHECK, &cluster_at(NOW, &(three() + &lease("node-2", "2026-03-01T11:58:30Z"))))
        .report
        .findings
        .remove(0);
    assert!(finding.message.contains("node-2's or all of them"), "{}", finding.message);
    assert!(finding.remedy.commands.iter().all(|command| !command.changes));
}

#[test]
fn a_refused_certificate_is_named() {
    // as client-go of 1.12.1 writes it
    let expired = "E0301 11:59:55.184589       1 leaderelection.go:461] \"Error retrieving lease lock\" err=\"Get \\\"https://10.43.0.1:443/\
        apis/coordination.k8s.io/v1/namespaces/longhorn-system/leases/longhorn-webhook-cert-rotation\\\": tls: failed to verify certificate: \
        x509: certificate has expired or is not yet valid: current time 2026-03-01T11:59:55Z is after 2026-03-01T11:50:00Z\" lock=\"l\"\n";
    let yaml = three() + &lease("node-2", "2026-03-01T11:50:00Z");
    let said = |text: &str| {
        let found = run(&CHECK, &with_log(cluster_at(NOW, &yaml), "node-2", text)).report.findings.remove(0);
        (found.cause.id, found.message, found.remedy.commands[0].run.clone())
    };
    let (cause, message, first) = said(expired);
    assert_eq!(cause, "api_lost");
    assert!(first.starts_with("ssh node-2 ") && first.contains("-connect 10.43.0.1:443 "), "{first}");
    assert!(said(LOST).2.starts_with("kubectl -n longhorn-system logs "), "{}", said(LOST).2);
    assert!(
        message.contains("rejects the API server's certificate: it expired at 2026-03-01T11:50:00Z,"),
        "{message}"
    );
    assert!(said(LOST).1.contains("gets no answer from the API server"));
}

#[test]
fn live_it_has_to_stand_still_before_the_eyes_of_the_exporter() {
    // after an outage of the API server managers need a moment to renew it
    let live = live_at(NOW, &(three() + &lease("node-2", "2026-03-01T11:50:00Z")));
    assert!(causes(&live).is_empty());
    let live = later(live, 20);
    assert!(causes(&live).is_empty());
    assert_eq!(causes(&later(later(live, 20), 20)), [SILENT]);
    // played on 1.12.1: the certificate of the API server had run out, for managers and exporter alike, and was renewed after 100 s
    let error = |mut cluster: Cluster, error: Option<&str>| {
        cluster.resources.entry(Resource::Leases).or_default().error = error.map(Into::into);
        cluster
    };
    let yaml = three() + &lease("node-2", "2026-03-01T11:59:50Z");
    let expired = |cluster: Cluster, seconds| error(later(cluster, seconds), Some("certificate expired"));
    let away = expired(expired(error(live_at(NOW, &yaml), Some("certificate expired")), 60), 50);
    let back = later(error(later(away, 25), None), 10);
    assert!(causes(&back).is_empty());
    let back = later(back, 15);
    assert!(causes(&back).is_empty(), "managers try again at most a minute later");
    assert_eq!(causes(&later(back, 25)), [SILENT], "it is not their pause any more");
}

#[test]
fn what_managers_write_later_tells_a_stopped_rotation_from_an_outage() {
    let yaml = three() + &lease("node-2", "2026-03-01T11:30:00Z");
    let event = |component: &str, at: &str| {
        format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: e, namespace: {NAMESPACE}}}\nreason: Attached\nlastTimestamp: '{at}'\n\
             source: {{component: {component}}}\ninvolvedObject: {{kind: Volume, name: vol}}\n---\n"
        )
    };
    for (event, expected) in [
        (event("longhorn-volume-controller", "2026-03-01T11:45:00Z"), STOPPED),
        (event("longhorn-volume-controller", "2026-03-01T11:31:00Z"), SILENT),
        (event("attachdetach-controller", "2026-03-01T11:45:00Z"), SILENT),
    ] {
        assert_eq!(causes(&cluster_at(NOW, &(yaml.clone() + &event))), [expected], "{event}");
    }
}

#[test]
fn a_log_names_the_manager() {
    let stale = three() + &lease("node-2", "2026-03-01T11:58:00Z");
    let named = with_log(cluster_at(NOW, &stale), "node-2", &LOST.repeat(3));
    assert_eq!(causes(&named), ["warning api_lost Pod longhorn-manager-node-2"]);
    let well = with_log(cluster_at(NOW, &stale), "node-2", "time=\"x\" level=info msg=\"Synced volume\"\n");
    assert_eq!(causes(&well), [SILENT]);
    // another one took the Lease: who complains for longer than a log reaches back has lost the API server
    let taken = three() + &lease("node-3", "2026-03-01T11:59:59Z");
    let mut taken = with_log(live_at(NOW, &taken), "node-2", &LOST.repeat(3));
    for seconds in [10, 100, 45] {
        assert!(causes(&taken).is_empty(), "{}", taken.now);
        taken = later(taken, seconds);
    }
    taken = later(taken, 10);
    assert_eq!(
        causes(&next(taken, 1, &(three() + &lease("node-3", "2026-03-01T12:02:40Z")))),
        ["warning api_lost Pod longhorn-manager-node-2"]
    );
}

/// What the manager of 1.12.1 that held the Lease wrote last, 80 s after it was cut off, of its own and of a controller.
const CUT_OFF: &str = concat!(
    r#"E1123 08:02:21.896237       1 leaderelection.go:323] "error retrieving resource lock" err="Get \"https://10.96.0.1:443/apis/coordination.k8s.io/v1/namespaces/longhorn-system/leases/longhorn-webhook-cert-rotation?timeout=15m0s\": context deadline exceeded - error from a previous attempt: http2: client connection lost" lock="longhorn-system/longhorn-webhook-cert-rotation""#,
    "\n",
    r#"time="2026-11-23T08:02:21.896263737Z" level=info msg="Webhook cert rotation leader lost: node-3" func=cert.RotateLoop.func2 file="rotate.go:56""#,
    "\n"
);
const STILL_CUT_OFF: &str = r#"time="2026-11-23T08:02:30.384408858Z" level=error msg="Failed to sync Longhorn node" func=controller.handleReconcileErrorLogging file="utils.go:181" LonghornNode=longhorn-system/node-3 controller=longhorn-node error="failed to sync node for longhorn-system/node-3: Put \"https://10.96.0.1:443/apis/longhorn.io/v1beta2/namespaces/longhorn-system/nodes/node-3/status\": dial tcp 10.96.0.1:443: i/o timeout" node=node-3
"#;
const WELL: &str = "time=\"2026-11-23T08:02:42.530452412Z\" level=info msg=\"Webhook cert rotation leader changed: node-2\"\n";

#[test]
fn who_complains_after_another_took_the_lease_is_cut_off() {
    let now = "2026-11-23T08:02:47Z";
    let taken = three()
        + &lease("node-2", "2026-11-23T08:02:37.57Z")
            .replace("2026-03-01T09:00:00.000000Z", "2026-11-23T08:02:27.552040Z");
    let logs = |of_node_3: &str, of_node_2: Option<&str>, of_node_1: Option<&str>| {
        let mut cluster = with_log(cluster_at(now, &taken), "node-3", of_node_3);
        for (node, log) in [("node-2", of_node_2), ("node-1", of_node_1)] {
            cluster = match log {
                Some(log) => with_log(cluster, node, log),
                None => cluster,
            };
        }
        causes(&cluster)
    };
    let both = CUT_OFF.to_owned() + STILL_CUT_OFF;
    let all = STILL_CUT_OFF;
    assert_eq!(
        logs(&both, Some(WELL), Some(WELL)),
        ["warning api_lost Pod longhorn-manager-node-3"],
        "as it was recorded"
    );
    assert!(logs(CUT_OFF, Some(WELL), Some(WELL)).is_empty(), "it complained before that");
    assert!(logs(&both, None, None).is_empty(), "nothing says that another got an answer");
    assert!(logs(&both, Some(all), Some(all)).is_empty(), "left of an outage of all");
    assert!(logs(WELL, Some(all), Some(WELL)).is_empty(), "the one that took it got an answer");
    let quiet = both + &WELL.repeat(20);
    assert!(logs(&quiet, Some(WELL), Some(WELL)).is_empty(), "it went on");
}

#[test]
fn who_does_not_hold_the_lease_is_told_by_its_own_attempts() {
    // played on 1.12.1: cut at 11:59:11; every watch ends at once, then attempts fail every 30 s; another manager renews the Lease
    let said = |time: &str| LOST.replace("W0301 11:59:55", time);
    let (ended, again) = (said("W0301 12:03:55").repeat(3), said("W0301 12:04:25"));
    let holds = |renewed: &str| three() + &lease("node-1", renewed);
    let watched = |yaml: fn(&str) -> String, log: &str, others: &str| {
        let mut cluster = live_at(NOW, &yaml("2026-03-01T11:59:55Z"));
        for seconds in [120, 120, 35] {
            cluster = later(cluster, seconds);
        }
        cluster = with_log(with_log(cluster, "node-3", others), "node-2", log);
        cluster = next(cluster, 1, &yaml("2026-03-01T12:04:30Z"));
        causes(&cluster)
    };
    let both = ended.clone() + &again;
    let told = ["warning api_lost Pod longhorn-manager-node-2"];
    let with: fn(&str) -> String = |renewed| three() + &lease("node-1", renewed);
    // up to 1.11.2 there is no Lease
    let without: fn(&str) -> String = |_| three();
    for yaml in [with, without] {
        assert_eq!(watched(yaml, &both, ""), told);
        assert!(watched(yaml, &ended, "").is_empty(), "a connection that was lost and made again");
        assert!(watched(yaml, &(both.clone() + WELL), "").is_empty(), "it gets answers again");
        assert!(watched(yaml, &both, &both).is_empty(), "nothing says that another got an answer");
        let long_ago = said("W0301 12:02:05") + &said("W0301 12:02:35");
        assert!(watched(yaml, &long_ago, "").is_empty(), "it has stopped to complain");
    }
    let mut back = live_at(NOW, &holds("2026-03-01T12:03:50Z"));
    back.resources.entry(Resource::Leases).or_default().error = Some("no answer".into());
    let mut back = with_log(later(later(back, 120), 110), "node-3", "");
    back.resources.entry(Resource::Leases).or_default().error = None;
    let back = with_log(later(back, 40), "node-2", &both);
    assert!(causes(&later(back, 1)).is_empty(), "the API server has answered for less than a minute");
}

#[test]
fn last_attempts_after_an_outage_of_all_are_not_a_cut() {
    // played on 1.12.1: one manager takes the Lease as soon as the API server is back, another fails once more after that
    let held = |renewed: &str| {
        three() + &lease("node-1", renewed).replace("2026-03-01T09:00:00.000000Z", "2026-11-23T17:39:13.5Z")
    };
    let said = |time: &str| LOST.replace("W0301 11:59:55", time);
    let with = |time: &str| {
        let mut cluster = live_at("2026-11-23T17:39:12Z", &held("2026-11-23T17:39:13.5Z"));
        for seconds in [28, 60] {
            cluster = later(cluster, seconds);
        }
        let cluster = next(cluster, 10, &held("2026-11-23T17:40:43Z"));
        with_log(with_log(cluster, "node-3", &said(time)), "node-1", WELL)
    };
    let told = ["warning api_lost Pod longhorn-manager-node-3"];
    assert!(causes(&with("W1123 17:39:19")).is_empty());
    assert_eq!(causes(&with("W1123 17:40:30")), told);
    // played on 1.12.1: the API server goes away again, for the exporter as well
    let no_answer = |mut cluster: Cluster| {
        cluster.resources.entry(Resource::Leases).or_default().error = Some("refused".into());
        causes(&later(cluster, 1))
    };
    assert!(no_answer(with("W1123 17:39:19")).is_empty());
    assert_eq!(no_answer(later(with("W1123 17:40:30"), 1)), told, "known before");
}

/// What the manager of 1.11.3 that held the Lease wrote when it gave up, 40 s after its last renewal.
const GAVE_UP: &str = r#"E1123 13:06:33.425368       1 leaderelection.go:452] "Error retrieving lease lock" err="context deadline exceeded" lock="longhorn-system/longhorn-webhook-cert-rotation"
I1123 13:06:33.425386       1 leaderelection.go:299] "Failed to renew lease" lock="longhorn-system/longhorn-webhook-cert-rotation" err="context deadline exceeded"
"#;

#[test]
fn a_holder_that_gave_up_is_told_before_another_takes_the_lease_and_until_its_log_says_more() {
    const FOUND: [&str; 1] = ["warning api_lost Pod longhorn-manager-node-2"];
    let held = |holder: &str, acquired: &str, renewed: &str| {
        three() + &lease(holder, renewed).replace("2026-03-01T09:00:00.000000Z", acquired)
    };
    let before = held("node-2", "2026-11-23T12:03:23.002354Z", "2026-11-23T13:05:53.411753Z");
    let seen = |fails: bool, logs: &[(&str, &str)]| {
        let mut cluster = live_at("2026-11-23T13:05:55Z", &before);
        if fails {
            cluster.resources.entry(Resource::Leases).or_default().error = Some("refused".into());
        }
        cluster = later(cluster, 40);
        cluster.resources.entry(Resource::Leases).or_default().error = None;
        cluster = logs.iter().fold(cluster, |cluster, (node, text)| with_log(cluster, node, text));
        later(cluster, 4)
    };
    let told = [("node-2", GAVE_UP), ("node-1", ""), ("node-3", "")];
    let late = later(seen(false, &told), 1);
    assert_eq!(causes(&late), FOUND, "47 s after the last renewal");
    assert!(causes(&later(seen(true, &told), 1)).is_empty(), "the exporter had no answer either");
    assert!(causes(&later(seen(false, &told[..1]), 1)).is_empty(), "no other is known to get an answer");
    let all = told.map(|(node, _)| (node, GAVE_UP));
    assert!(causes(&later(seen(false, &all), 1)).is_empty(), "all say so");
    let other = [("node-1", GAVE_UP), ("node-2", ""), ("node-3", "")];
    assert!(causes(&later(seen(false, &other), 1)).is_empty(), "another than its holder");
    // its successor has it, and what it says itself is read later
    let after = held("node-1", "2026-11-23T13:06:57.379205Z", "2026-11-23T13:06:57.379205Z");
    let taken = next(late, 20, &after);
    assert_eq!(causes(&taken), FOUND);
    let renewed = held("node-1", "2026-11-23T13:06:57.379205Z", "2026-11-23T13:08:58Z");
    assert!(causes(&next(taken, 120, &renewed)).is_empty(), "it says nothing more");
}

/// Seen on 1.12.1: the alarm was disarmed at 23:44:32, and the renewal that began before was given up 9 s after.
#[test]
fn a_renewal_that_met_a_full_etcd_is_no_manager_that_is_cut_off() {
    let attempt = |time: &str, error: &str| {
        format!(
            "E1123 {time}       1 leaderelection.go:497] \"Failed to update lease\" err=\"{error}\" lock=\"l\"\n"
        )
    };
    let (full, lost) = ("etcdserver: mvcc: database space exceeded", "context deadline exceeded");
    let held = |holder: &str, acquired: &str, renewed: &str| {
        three() + &lease(holder, renewed).replace("2026-03-01T09:00:00.000000Z", acquired)
    };
    let before = held("node-2", "2026-11-23T12:03:23.002354Z", "2026-11-23T13:05:53.411753Z");
    let told = |log: String| {
        let mut cluster = later(live_at("2026-11-23T13:05:55Z", &before), 40);
        for (node, text) in [("node-2", log.as_str()), ("node-1", ""), ("node-3", "")] {
            cluster = with_log(cluster, node, text);
        }
        cluster = later(later(cluster, 4), 1);
        cluster.last_write = Some("2026-11-23T13:06:34Z".parse().unwrap());
        causes(&cluster)
    };
    let found = ["warning api_lost Pod longhorn-manager-node-2"];
    assert!(told(attempt("13:06:23.1", full) + GAVE_UP).is_empty(), "etcd takes writes again");
    assert_eq!(told(attempt("13:06:23.1", lost) + GAVE_UP), found);
    assert_eq!(told(attempt("13:01:23.1", full) + GAVE_UP), found, "that was another renewal");
}

#[test]
fn what_a_manager_began_before_it_stood_still_says_nothing_of_now() {
    // recorded: a holder of 1.12.1 was stopped for 200 s and Ready again at 16:58:00; another had taken the Lease meanwhile
    let taken = ["node-1", "node-2", "node-3"]
        .map(|name| {
            node(name, if name == "node-2" { "2026-11-23T16:58:00Z" } else { "2026-11-23T16:48:23Z" }, 5)
        })
        .concat()
        + &lease("node-1", "2026-11-23T16:59:53.6Z")
            .replace("2026-03-01T09:00:00.000000Z", "2026-11-23T16:55:43.281255Z");
    let said_at = |time: &str| {
        let cluster = with_log(
            cluster_at("2026-11-23T17:00:01Z", &taken),
            "node-2",
            &GAVE_UP.replace("13:06:33", time),
        );
        causes(&with_log(cluster, "node-1", WELL))
    };
    assert!(said_at("16:58:24").is_empty());
    assert_eq!(said_at("16:59:10"), ["warning api_lost Pod longhorn-manager-node-2"]);
}

/// What controllers of 1.12.1 wrote for as long as etcd was full, without a word of client-go.
const FULL: &str = r#"time="2026-03-01T11:58:48.549116028Z" level=error msg="Failed to sync Longhorn node" func=controller.handleReconcileErrorLogging file="utils.go:181" LonghornNode=longhorn-system/node-1 controller=longhorn-node error="failed to sync node for longhorn-system/node-1: etcdserver: mvcc: database space exceeded" node=node-1
E0301 11:58:48.612175       1 node_controller.go:371] "Unhandled Error" err="failed to sync node for longhorn-system/node-1: etcdserver: mvcc: database space exceeded" logger="UnhandledError"
"#;

#[test]
fn an_etcd_without_space_is_told_by_any_log() {
    // the moment of a recording is the last write before etcd was full
    let fresh = three() + &lease("node-2", "2026-03-01T11:58:40Z");
    let full = with_log(cluster_at(NOW, &fresh), "node-1", FULL);
    assert_eq!(causes(&full), ["warning api_lost Pod longhorn-manager-node-1"]);
    let finding = run(&CHECK, &full).report.findings.remove(0);
    assert!(finding.message.contains("like everything else in the cluster: etcd has no space left"));
    assert!(finding.remedy.fix.contains("etcdctl alarm disarm"), "{}", finding.remedy.fix);
    assert!(finding.remedy.commands.iter().all(|command| !command.changes));
    // seen: disarmed, any manager renews the Lease, and the logs of the others are silent because the cluster is idle
    let over = three() + &lease("node-2", "2026-03-01T11:58:49Z");
    assert!(causes(&with_log(cluster_at(NOW, &over), "node-1", FULL)).is_empty());
    // so does any Event
    let event = "apiVersion: v1\nkind: Event\nmetadata: {name: e, namespace: longhorn-system}\nreason: Start\n\
                 involvedObject: {kind: Engine, name: e}\nlastTimestamp: '2026-03-01T11:58:49Z'\n---\n";
    assert!(causes(&with_log(cluster_at(NOW, &(fresh.clone() + event)), "node-1", FULL)).is_empty());
    // and any write that the watch sees, such as the heartbeat of a node, of which nothing is kept
    let seen = |at: &str| {
        let mut cluster = with_log(cluster_at(NOW, &fresh), "node-1", FULL);
        cluster.last_write = Some(at.parse().unwrap());
        causes(&cluster)
    };
    assert!(seen("2026-03-01T11:58:49Z").is_empty());
    assert_eq!(seen("2026-03-01T11:58:48Z").len(), 1);
    let all = ["node-1", "node-2", "node-3"];
    let full = all.iter().fold(cluster_at(NOW, &fresh), |cluster, node| with_log(cluster, node, FULL));
    let finding = run(&CHECK, &full).report.findings.remove(0);
    assert!(finding.message.ends_with("etcd has no space left"), "{}", finding.message);
    let slow = FULL.replace("mvcc: database space exceeded", "request timed out");
    assert!(causes(&with_log(cluster_at(NOW, &fresh), "node-1", &slow)).is_empty(), "that may pass");
}

#[test]
fn a_lease_that_changes_hands_more_often_than_restarts_explain_is_a_note() {
    let lease = |created: &str, transitions: i64| {
        let taken = format!("leaseTransitions: {transitions}, holderIdentity");
        lease("node-2", "2026-03-01T11:59:50.1Z")
            .replace("rotation, namespace", &format!("rotation, creationTimestamp: '{created}', namespace"))
            .replace("holderIdentity", &taken)
    };
    // three managers, ten days
    for (created, transitions, expected) in [
        ("2026-02-19T12:00:00Z", 60, &[][..]),
        ("2026-02-19T12:00:00Z", 61, &["info lease_unsteady Lease longhorn-webhook-cert-rotation"]),
        ("2026-02-28T12:00:01Z", 500, &[]),
        ("2025-03-01T12:00:00Z", 117, &[]),
        ("2026-02-28T12:00:00Z", i64::MAX, &["info lease_unsteady Lease longhorn-webhook-cert-rotation"]),
        ("1970-01-01T00:00:00Z", i64::MIN, &[]),
    ] {
        let cluster = cluster_at(NOW, &(three() + &lease(created, transitions)));
        assert_eq!(causes(&cluster), expected, "{created} {transitions}");
    }
}

/// Seen on 1.12.1: the holder was cut off alone, and a fresh look 63 s later said nothing.
#[test]
fn one_look_tells_a_holder_that_is_cut_off_alone() {
    let renewed = "2026-03-01T11:58:55.7Z";
    let logs = |renewed: &str, of_holder: &str, of_other: Option<&str>| {
        let yaml = three() + &lease("node-2", renewed);
        let cluster = with_log(cluster_at(NOW, &yaml), "node-2", of_holder);
        causes(&match of_other {
            Some(log) => with_log(cluster, "node-3", log),
            None => cluster,
        })
    };
    let well = "time=\"2026-03-01T11:59:20Z\" level=info msg=\"Synced volume\"\n";
    let told = ["warning api_lost Pod longhorn-manager-node-2"];
    assert_eq!(logs(renewed, LOST, Some(well)), told);
    assert!(logs("2026-03-01T11:59:01Z", LOST, Some(well)).is_empty(), "others may not have noticed yet");
    assert!(logs(renewed, LOST, None).is_empty(), "nothing says that another got an answer");
    assert!(logs(renewed, well, Some(well)).is_empty(), "the renewal may be late");
    // an outage of all that is over: who got on has said so before
    let got_on =
        LOST.to_owned() + "W0301 11:59:57.000000       1 warnings.go:70] v1 Endpoints is deprecated\n";
    assert!(logs(renewed, LOST, Some(&got_on)).is_empty());
    let before = LOST.replace("11:59:55", "11:40:55") + well;
    assert_eq!(logs(renewed, LOST, Some(&before)), told, "that was another outage");
}
