//! The Lease that Ready managers of 1.11.3 and later keep renewed.

use super::*;
use crate::history::CrashLog;

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
    assert!(finding.message.contains("that of node node-2, or all of them"), "{}", finding.message);
    assert!(finding.remedy.commands.iter().all(|command| !command.changes));
}

#[test]
fn live_it_has_to_stand_still_before_the_eyes_of_the_exporter() {
    // after an outage of the API server managers need a moment to renew it
    let live = live_at(NOW, &(three() + &lease("node-2", "2026-03-01T11:50:00Z")));
    assert!(causes(&live).is_empty());
    let live = later(live, 20);
    assert!(causes(&live).is_empty());
    assert_eq!(causes(&later(later(live, 20), 20)), [SILENT]);
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
