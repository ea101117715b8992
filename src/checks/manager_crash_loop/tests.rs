//! Clusters with one manager that crashes; the themes are in files of their own.

mod causes;
mod kubelet;
mod logs;
mod remedies;

use super::{CHECK, rules};
use crate::check::When;
use crate::cluster::{Cluster, Readability};
use crate::history::CrashLog;
use crate::longhorn::Resource;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";

/// A manager pod on node-1 whose container status is given in YAML flow style. The other container
/// comes first, to punish reading by index.
fn manager(tag: &str, status: &str) -> String {
    longhorn_manager(
        "longhorn-manager-a",
        "uid: u1",
        &format!(
            "spec: {{nodeName: node-1, containers: [{{name: pre-pull-share-manager-image, image: s}}, \
             {{name: longhorn-manager, image: 'longhornio/longhorn-manager:{tag}', \
             command: [longhorn-manager, -d, daemon, --engine-image, e, --instance-manager-image, i, \
             --share-manager-image, s, --backing-image-manager-image, b, --support-bundle-manager-image, \
             k, --manager-image, m, --service-account, a, --upgrade-version-check], \
             env: [{{name: POD_NAME}}, {{name: POD_NAMESPACE}}, {{name: POD_IP}}, \
             {{name: NODE_NAME}}]}}]}}\n\
             status: {{containerStatuses: [{{name: pre-pull-share-manager-image, restartCount: 0, \
             state: {{running: {{startedAt: '2026-03-01T10:00:00Z'}}}}}}, {{name: longhorn-manager, \
             {status}}}]}}"
        ),
    )
}

/// In back-off after a run of this many seconds that ended a minute ago.
fn backing_off(exit_code: i64, seconds: i64) -> String {
    let end = time("2026-03-01T11:59:00Z");
    let start = end - jiff::SignedDuration::from_secs(seconds);
    format!(
        "restartCount: 12, state: {{waiting: {{reason: CrashLoopBackOff}}}}, lastState: {{terminated: \
         {{exitCode: {exit_code}, reason: Error, startedAt: '{start}', finishedAt: '{end}'}}}}"
    )
}

fn running(restarts: i64, last_run: i64, for_seconds: i64) -> String {
    let started = time(NOW) - jiff::SignedDuration::from_secs(for_seconds);
    let end = started - jiff::SignedDuration::from_secs(300);
    let start = end - jiff::SignedDuration::from_secs(last_run);
    format!(
        "restartCount: {restarts}, ready: true, state: {{running: {{startedAt: '{started}'}}}}, lastState: \
         {{terminated: {{exitCode: 1, startedAt: '{start}', finishedAt: '{end}'}}}}"
    )
}

fn node(name: &str) -> String {
    object("Node", name, "")
}

fn slice(ready: bool) -> String {
    endpoint_slice("longhorn-admission-webhook", &format!("{{conditions: {{ready: {ready}}}}}"))
}

fn cause_of(cluster: &Cluster) -> String {
    let findings = run(&CHECK, cluster).report.findings;
    findings.first().map(|finding| finding.cause.id.to_owned()).unwrap_or_default()
}

fn with_log(yaml: &str, log: &str) -> Cluster {
    let mut cluster = live_at(NOW, yaml);
    cluster.history.add_crash_log(CrashLog {
        exit_code: None,
        pod: "longhorn-manager-a".into(),
        container: "longhorn-manager".into(),
        pod_uid: "u1".into(),
        text: log.into(),
    });
    cluster
}

#[test]
fn a_loop_is_seen_between_two_crashes_and_ends_when_the_last_life_is_outlived() {
    let crash_loop =
        |status: &str| !run(&CHECK, &live_at(NOW, &manager("v1.9.2", status))).report.findings.is_empty();
    for (status, expected) in [
        (backing_off(1, 2), true),
        // running for a minute after dying young for the twelfth time
        (running(12, 130, 60), true),
        // 120 s starts look healthy for 119 s, but not longer than the longest back-off
        (running(12, 130, 299), true),
        (running(12, 130, 300), false),
        // a life of four minutes needs eight to be outlived
        (running(12, 240, 400), true),
        (running(12, 240, 480), false),
        // one restart is no loop, nor is a crash after a long life
        (running(1, 130, 60), false),
        (running(12, 86_400, 60), false),
        // first start of a new pod; being pulled; nothing known
        ("restartCount: 0, state: {running: {startedAt: '2026-03-01T11:59:50Z'}}".into(), false),
        ("restartCount: 9, state: {waiting: {reason: ImagePullBackOff}}".into(), false),
        ("restartCount: 3".into(), false),
        // between a crash and the back-off: not the first time, and the first time
        (
            "restartCount: 1, state: {terminated: {exitCode: 1, startedAt: '2026-03-01T11:59:57Z', \
             finishedAt: '2026-03-01T11:59:59Z'}}"
                .into(),
            true,
        ),
        (
            "restartCount: 0, state: {terminated: {exitCode: 1, startedAt: '2026-03-01T11:59:57Z', \
             finishedAt: '2026-03-01T11:59:59Z'}}"
                .into(),
            false,
        ),
        // started at an unknown time after a short life
        (
            "restartCount: 5, state: {running: {}}, lastState: {terminated: {exitCode: 1, \
             startedAt: '2026-03-01T11:50:57Z', finishedAt: '2026-03-01T11:50:59Z'}}"
                .into(),
            true,
        ),
        // the node was restarted twice within minutes: the container did not end on its own
        (running(12, 130, 60).replace("exitCode: 1", "exitCode: 255, reason: Unknown"), false),
        (running(12, 130, 60).replace("exitCode: 1", "exitCode: 255, reason: Error"), true),
        // the kubelet says so and nothing more
        ("restartCount: 4, state: {waiting: {reason: CrashLoopBackOff}}".into(), true),
    ] {
        assert_eq!(crash_loop(&status), expected, "{status}");
    }
}

#[test]
fn another_container_in_a_loop_is_not_the_manager() {
    let yaml = manager("v1.9.2", "restartCount: 0, state: {running: {}}").replace(
        "name: pre-pull-share-manager-image, restartCount: 0, state: {running: {startedAt: '2026-03-01T10:00:00Z'}}",
        "name: pre-pull-share-manager-image, restartCount: 40, state: {waiting: {reason: CrashLoopBackOff}}",
    );
    assert!(yaml.contains("restartCount: 40"));
    assert!(found(&CHECK, &cluster(&yaml)).is_empty());
}

#[test]
fn samples_for_managers() {
    let healthy = manager(
        "v1.9.2",
        "restartCount: 2, ready: true, state: {running: {startedAt: '2026-02-01T00:00:00Z'}}",
    )
    .replace("longhorn-manager-a", "longhorn-manager-b")
    .replace("nodeName: node-1", "nodeName: node-2");
    let set = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: longhorn-manager, namespace: longhorn-system}\n\
               status: {desiredNumberScheduled: 3}\n---\n";
    let volume = "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {name: v, namespace: longhorn-system}\n\
                  status: {ownerID: node-1, robustness: degraded, kubernetesStatus: {pvcName: data, namespace: shop}}\n---\n";
    let cluster = live_at(NOW, &(manager("v1.9.2", &backing_off(1, 2)) + &healthy + set + volume));
    let evaluation = run(&CHECK, &cluster);
    let count = |state| sample(&evaluation, "longhorn_health_managers", &[state]);
    assert_eq!(
        [count("desired"), count("running"), count("ready"), count("crash_looping")],
        [Some(3.0), Some(1.0), Some(1.0), Some(1.0)]
    );
    assert_eq!(sample(&evaluation, "longhorn_health_manager_restarts_total", &["node-2"]), Some(2.0));
    assert_eq!(sample(&evaluation, "longhorn_health_manager_last_run_seconds", &["node-1"]), Some(2.0));
    assert_eq!(sample(&evaluation, "longhorn_health_manager_last_run_seconds", &["node-2"]), None);
    assert_eq!(sample(&evaluation, "longhorn_health_manager_last_exit_code", &["node-1"]), Some(1.0));
    let finding = &evaluation.report.findings[0];
    assert!(finding.impact.contains("shop/data"), "{}", finding.impact);
    assert_eq!(finding.volumes.len(), 1);
}

#[test]
fn a_pod_that_is_being_deleted_gives_way_to_its_successor() {
    let old = manager("v1.9.2", &backing_off(1, 2))
        .replace("longhorn-manager-a,", "longhorn-manager-z, deletionTimestamp: '2026-03-01T11:59:00Z', ");
    let new = manager("v1.9.2", "restartCount: 0, ready: true, state: {running: {}}");
    let cluster = live_at(NOW, &(old + &new));
    assert!(found(&CHECK, &cluster).is_empty());
    assert_eq!(
        sample(&run(&CHECK, &cluster), "longhorn_health_manager_restarts_total", &["node-1"]),
        Some(0.0)
    );
    // played on 1.10.2: an uninstallation three minutes after a crash loop was over
    let ran = manager("v1.10.2", &running(4, 8, 170).replace("ready: true", "ready: false"));
    let ending =
        ran.replace("longhorn-manager-a,", "longhorn-manager-a, deletionTimestamp: '2026-03-01T11:59:58Z', ");
    assert_eq!(found(&CHECK, &live_at(NOW, &ran)).len(), 1);
    assert!(found(&CHECK, &live_at(NOW, &ending)).is_empty());
}

#[test]
fn odd_objects_and_unreadable_pods() {
    let odd = "apiVersion: v1\nkind: Pod\nmetadata: {name: pod-x, namespace: longhorn-system, labels: {app: longhorn-manager}}\n---\n\
               apiVersion: v1\nkind: Pod\nmetadata: {name: pod-y, namespace: longhorn-system, labels: {app: longhorn-manager}}\n\
               spec: {nodeName: node-n}\nstatus: {containerStatuses: [{name: longhorn-manager, state: {waiting: {reason: CrashLoopBackOff}}}]}\n---\n";
    assert_eq!(found(&CHECK, &cluster(odd)), ["critical unknown Pod pod-y"]);
    let mut blind = live_at(NOW, &manager("v1.9.2", &backing_off(1, 2)));
    blind.resources.entry(Resource::Pods).or_default().readability = Readability::Forbidden;
    let report = run(&CHECK, &blind).report;
    assert!(report.findings.is_empty());
    assert_eq!(report.unknown[0].reason, "pods are forbidden");
}

#[test]
fn alerts_cover_every_cause_and_have_twins_without_the_exporter() {
    let covered: Vec<_> =
        rules::ALERTS.iter().flat_map(|alert| alert.causes().map(|cause| &cause.id)).collect();
    let causes: Vec<_> = super::causes::ALL.iter().map(|cause| &cause.id).collect();
    assert_eq!(covered, causes);
    for (own, twin) in rules::ALERTS.iter().zip(CHECK.without_exporter) {
        assert_eq!(own.name, twin.name);
        let When::Promql { expr, .. } = twin.when else { panic!("{}", twin.name) };
        assert!(expr.contains("container=\"longhorn-manager\"") && expr.contains("$namespace"));
        assert!(own.runbook.contains("## Meaning") && own.runbook.contains("## Mitigation"));
    }
}

#[test]
fn a_fatal_start_is_over_a_minute_after_the_place_where_it_ended() {
    let synced = object("Node", "node-1", "status: {conditions: [{type: Ready, status: 'True'}]}");
    let lease = |holder: &str| {
        format!(
            "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {{name: longhorn-manager-webhook-lock, namespace: \
             longhorn-system}}\nspec: {{holderIdentity: '{holder}', leaseDurationSeconds: 20, acquireTime: '2026-03-01T11:58:30Z', \
             renewTime: '2026-03-01T11:59:59Z'}}\n---\n"
        )
    };
    let pod = |code: i64, last: i64, ready: &str| {
        let status = running(7, last, 90).replace("exitCode: 1", &format!("exitCode: {code}"));
        let conditions = format!(
            "conditions: [{{type: Ready, status: '{ready}', lastTransitionTime: '2026-03-01T11:58:40Z'}}], "
        );
        manager("v1.9.2", &status)
            .replace("status: {containerStatuses", &format!("status: {{{conditions}containerStatuses"))
    };
    let loops = |yaml: String| !run(&CHECK, &live_at(NOW, &yaml)).report.findings.is_empty();
    assert!(!loops(pod(1, 3, "True") + &synced + &lease("")), "past the place where it ended");
    assert!(loops(pod(1, 40, "True") + &synced + &lease("")), "not yet a minute longer than the last time");
    assert!(
        !loops(pod(1, 122, "True") + &synced + &lease("")),
        "it waited for its webhook, and has the Lease behind it"
    );
    assert!(loops(pod(1, 122, "True") + &synced + &lease("node-1")), "it waits for its webhook again");
    assert!(loops(pod(1, 3, "True") + &synced + &lease("node-1")), "its start is not over");
    assert!(loops(pod(1, 3, "False") + &synced + &lease("")), "not Ready");
    assert!(loops(pod(1, 3, "True") + &lease("")), "Longhorn does not know its node");
    // `kubectl delete -f` takes the definitions first, and the nodes with them
    let mut torn_down = live_at(NOW, &(pod(1, 3, "True") + &lease("")));
    for kind in [Resource::BackingImages, Resource::Backups] {
        assert!(!run(&CHECK, &torn_down).report.findings.is_empty(), "before {kind} are gone");
        torn_down.resources.entry(kind).or_default().readability = Readability::NotServed;
    }
    assert!(run(&CHECK, &torn_down).report.findings.is_empty(), "what had ended stays ended");
    assert!(loops(pod(2, 3, "True") + &synced + &lease("")), "a panic comes at any time");
    // sooner where it waits for no other manager that upgrades objects
    let turn = |holder: &str| lease(holder).replace("webhook-lock", "upgrade-lock");
    let ready =
        |since: &str| pod(1, 75, "True").replace("2026-03-01T11:58:40Z", since) + &synced + &lease("");
    assert!(!loops(ready("2026-03-01T11:59:45Z") + &turn("")), "no one has the turn");
    assert!(loops(ready("2026-03-01T11:59:46Z") + &turn("")), "not Ready for long enough");
    assert!(loops(ready("2026-03-01T11:59:45Z") + &turn("node-2")), "another has it");
    let longer = pod(1, 76, "True") + &synced + &lease("") + &turn("");
    assert!(loops(longer), "not yet a quarter of a minute longer than the last time");
}

/// Played on 1.12.1: a manager of a fresh installation called the webhook of another one, which had just ended and was still listed.
#[test]
fn a_call_that_no_one_answers_while_all_start_is_not_critical_yet() {
    let line = "level=fatal msg=\"Error starting manager: Internal error occurred: failed calling webhook \\\"validator.longhorn.io\\\": failed to \
                call webhook: Post \\\"https://longhorn-admission-webhook.longhorn-system.svc:9502/v1/webhook/validation?timeout=10s\\\": dial tcp \
                10.78.2.2:9502: connect: connection refused\"";
    for (started, expected) in [("11:58:30", "info"), ("11:57:30", "critical")] {
        let status = backing_off(1, 6).replace("restartCount: 12", "restartCount: 1");
        let pod = manager("v1.12.1", &status)
            .replace("status: {", &format!("status: {{startTime: '2026-03-01T{started}Z', "));
        assert!(pod.contains("startTime"), "{pod}");
        let cluster = with_log(&(pod + &node("node-1")), line);
        assert_eq!(
            found(&CHECK, &cluster),
            [format!("{expected} webhook_call_failed Pod longhorn-manager-a")]
        );
    }
}

/// Played on 1.12.1 with a real kubelet: a manager that had lost a conflict in its first minute was killed once, two minutes later.
#[test]
fn one_kill_after_one_exit_is_no_loop_and_has_no_log_of_another_run() {
    let looping =
        |status: &str| !run(&CHECK, &live_at(NOW, &manager("v1.12.1", status))).report.findings.is_empty();
    for exit_code in [0, 137, 143] {
        let status = |restarts| {
            backing_off(exit_code, 115).replace("restartCount: 12", &format!("restartCount: {restarts}"))
        };
        assert!(!looping(&status(1)), "{exit_code}");
        assert!(looping(&status(2)), "{exit_code}");
        let runs =
            |restarts| running(restarts, 115, 20).replace("exitCode: 1,", &format!("exitCode: {exit_code},"));
        assert!(!looping(&runs(2)), "{exit_code}");
        assert!(looping(&runs(3)), "{exit_code}");
    }
    let conflict = "level=fatal msg=\"Error starting manager: Operation cannot be fulfilled on settings.longhorn.io \\\"a\\\": the object has been modified\"\n";
    let cause = |exit_code| {
        let mut cluster = live_at(NOW, &manager("v1.12.1", &backing_off(exit_code, 115)));
        cluster.history.add_crash_log(CrashLog {
            exit_code: Some(1),
            pod: "longhorn-manager-a".into(),
            container: "longhorn-manager".into(),
            pod_uid: "u1".into(),
            text: conflict.into(),
        });
        cause_of(&cluster)
    };
    assert_eq!([cause(1), cause(137)], ["write_conflict", "unknown"]);
}

#[test]
fn a_conflict_is_critical_only_when_it_repeats() {
    let line = "level=fatal msg=\"Error starting manager: Operation cannot be fulfilled on settings.longhorn.io \\\"priority-class\\\": \
                the object has been modified; please apply your changes to the latest version and try again\"";
    for (restarts, expected) in [(4, "warning"), (5, "critical")] {
        let status = backing_off(1, 6).replace("restartCount: 12", &format!("restartCount: {restarts}"));
        let cluster = with_log(&(manager("v1.12.1", &status) + &node("node-1")), line);
        assert_eq!(found(&CHECK, &cluster), [format!("{expected} write_conflict Pod longhorn-manager-a")]);
    }
}
