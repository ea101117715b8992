mod certificates;
mod configurations;
mod lease;
mod releases;
mod selector;

use super::CHECK;
use crate::cluster::{Cluster, Readability};
use crate::longhorn::{Release, Resource};
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";
const LONG_AGO: &str = "2026-03-01T09:00:00Z";
const RECENTLY: &str = "2026-03-01T11:58:30Z";
const LABEL: &str = "longhorn.io/admission-webhook: longhorn-admission-webhook";
const DOWN: &str = "critical no_ready_endpoint Service longhorn-admission-webhook";
const DEADLOCK: &str = "critical deadlock Service longhorn-admission-webhook";
const ROLLOUT: &str = "info rollout Service longhorn-admission-webhook";
const RUNNING: &str = "state: {running: {startedAt: '2026-03-01T11:59:00Z'}}";
/// Between two tries, after 120 s of waiting.
const LOOPING: &str = "state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, \
                       startedAt: '2026-03-01T11:56:00Z', finishedAt: '2026-03-01T11:58:00Z'}}";
/// open-iscsi is missing.
const ISCSI: &str = "state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, \
                     startedAt: '2026-03-01T11:58:00Z', finishedAt: '2026-03-01T11:58:01Z'}}";
const NO_IMAGE: &str = "state: {waiting: {reason: ImagePullBackOff}}";
const INIT: &str = "state: {waiting: {reason: PodInitializing}}";

fn daemon_set(desired: u32) -> String {
    object_with(
        "DaemonSet",
        "longhorn-manager",
        "creationTimestamp: '2026-01-01T00:00:00Z'",
        &format!("status: {{desiredNumberScheduled: {desired}}}"),
    )
}

/// An EndpointSlice; each endpoint is `pod=true`, `pod=false` or `pod=` for an absent condition.
fn slice(name: &str, service: &str, endpoints: &[&str]) -> String {
    let endpoint = |text: &&str| {
        let (pod, ready) = text.split_once('=').unwrap();
        let ready = if ready.is_empty() { String::new() } else { format!("ready: {ready}") };
        format!("{{conditions: {{{ready}}}, targetRef: {{kind: Pod, name: '{pod}'}}}}")
    };
    let endpoints: Vec<_> = endpoints.iter().map(endpoint).collect();
    format!(
        "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {{name: {name}, namespace: longhorn-system, \
         labels: {{kubernetes.io/service-name: {service}}}}}\nendpoints: [{}]\n---\n",
        endpoints.join(", ")
    )
}

fn admission(endpoints: &[&str]) -> String {
    slice("a", "longhorn-admission-webhook", endpoints) + &object("Service", "longhorn-admission-webhook", "")
}

/// A pod of an app on a node of the same name, its Ready condition since when, its container state.
fn pod(app: &str, node: &str, labels: &str, ready: &str, since: &str, state: &str) -> String {
    object_with(
        "Pod",
        &format!("{app}-{node}"),
        &format!("labels: {{app: {app}, {labels}}}"),
        &format!(
            "spec: {{nodeName: {node}}}\n\
             status: {{conditions: [{{type: Ready, status: '{ready}', lastTransitionTime: '{since}'}}], \
             containerStatuses: [{{name: pre-pull-share-manager-image, state: {{running: {{}}}}}}, \
             {{name: {app}, {state}}}]}}"
        ),
    )
}

fn manager(node: &str, ready: &str, since: &str, state: &str) -> String {
    pod("longhorn-manager", node, LABEL, ready, since, state)
}

fn at_now(yaml: &str) -> Cluster {
    let configurations = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\n\
                          metadata: {name: longhorn-webhook-validator}\nwebhooks: [{name: validator.longhorn.io}]\n---\n\
                          apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\n\
                          metadata: {name: longhorn-webhook-mutator}\nwebhooks: [{name: mutator.longhorn.io}]\n---\n";
    live_at(NOW, &(yaml.to_owned() + configurations))
}

/// The same for an exporter that has just come.
fn at_first(yaml: &str) -> Cluster {
    let mut cluster = at_now(yaml);
    cluster.history.started = Some(cluster.now);
    cluster
}

fn modern(managers: &str, endpoints: &[&str]) -> String {
    release("v1.12.1") + &daemon_set(2) + managers + &admission(endpoints)
}

fn ready_sample(cluster: &Cluster, webhook: &str) -> Option<f64> {
    sample(&run(&CHECK, cluster), "longhorn_health_webhook_ready_endpoints", &[webhook])
}

#[test]
fn releases_with_webhook_deployments() {
    let deployments = ["longhorn-admission-webhook", "longhorn-conversion-webhook"]
        .map(|name| object("Service", name, "") + &object("Deployment", name, "spec: {replicas: 2}"))
        .concat();
    let base = release("v1.4.4") + &daemon_set(1) + &deployments;
    let conversion = slice("c", "longhorn-conversion-webhook", &["c1=true"]);
    let up = slice("a", "longhorn-admission-webhook", &["a1=true"]);
    let down = slice("a", "longhorn-admission-webhook", &["a1=false"]);
    let webhook = |state| pod("longhorn-admission-webhook", "n1", "", "False", LONG_AGO, state);
    let waiting = pod("longhorn-manager", "n1", "", "False", LONG_AGO, INIT);
    let running = pod("longhorn-manager", "n1", "", "True", LONG_AGO, RUNNING);
    for (name, yaml, expected) in [
        ("healthy", up.clone() + &running, vec![]),
        // a manager that is Ready does not make up for the Deployment
        ("webhook down", down.clone() + &webhook(RUNNING) + &running, vec![DOWN]),
        ("managers wait in init", down.clone() + &webhook(RUNNING) + &waiting, vec![DEADLOCK]),
        ("webhook has no image", down.clone() + &webhook(NO_IMAGE) + &waiting, vec![DOWN]),
    ] {
        assert_eq!(found(&CHECK, &at_now(&(base.clone() + &conversion + &yaml))), expected, "{name}");
    }
    let both = at_now(&(base.clone() + &down + &webhook(RUNNING) + &running));
    let conversion_down = "critical no_ready_endpoint Service longhorn-conversion-webhook";
    assert_eq!(found(&CHECK, &both), [DOWN, conversion_down], "two Deployments, two findings");
    let expected = "longhorn_health_webhook_expected_endpoints";
    assert_eq!(sample(&run(&CHECK, &both), expected, &["admission"]), Some(2.0));
    let deleted =
        release("v1.4.4") + &daemon_set(1) + &object("Service", "longhorn-admission-webhook", "") + &waiting;
    let other = object("Deployment", "longhorn-ui", "");
    let finding = run(&CHECK, &at_now(&(deleted.clone() + &other))).report.findings.remove(0);
    assert!(finding.message.ends_with("its Deployment is missing"), "{}", finding.message);
    assert_eq!(finding.remedy.commands[0].run, "kubectl -n longhorn-system get deployments");
    let uninstalled = deleted.replace(
        "metadata: {name: longhorn-manager,",
        "metadata: {deletionTimestamp: '2026-03-01T11:00:00Z', name: longhorn-manager,",
    );
    assert!(found(&CHECK, &at_now(&(uninstalled + &other))).is_empty(), "an uninstallation ends with it");
}

#[test]
fn a_recording_without_slices_is_judged_by_its_pods() {
    let pods = release("v1.12.1") + &daemon_set(2);
    let up = pods.clone() + &manager("n1", "True", LONG_AGO, RUNNING);
    assert_eq!(found(&CHECK, &cluster_at(NOW, &up)), Vec::<String>::new());
    let down = ["n1", "n2"].map(|node| manager(node, "False", LONG_AGO, LOOPING)).concat();
    let down = pods.clone() + &down;
    assert_eq!(found(&CHECK, &cluster_at(NOW, &down)), [DEADLOCK]);
    let unlabelled = pods + &pod("longhorn-manager", "n1", "", "True", LONG_AGO, RUNNING);
    let label = "warning label_missing Pod longhorn-manager-n1";
    assert_eq!(found(&CHECK, &cluster_at(NOW, &unlabelled)), [DOWN, label]);
    assert_eq!(
        found(&CHECK, &cluster_at(NOW, &release("v1.12.1"))),
        Vec::<String>::new(),
        "no managers at all"
    );
}

#[test]
fn nothing_is_missed_while_longhorn_is_uninstalled_or_just_begins() {
    let deleting = daemon_set(2)
        .replace("creationTimestamp:", "deletionTimestamp: '2026-03-01T11:50:00Z', creationTimestamp:");
    let left = manager("n1", "False", LONG_AGO, LOOPING);
    let yaml = release("v1.12.1") + &deleting + &left + &admission(&[]);
    assert_eq!(found(&CHECK, &live_at(NOW, &yaml)), Vec::<String>::new());
    // the DaemonSet is there, its pods are not yet
    let new = release("v1.12.1") + &daemon_set(2).replace("2026-01-01T00:00:00Z", RECENTLY) + &admission(&[]);
    assert_eq!(found(&CHECK, &at_now(&new)), [ROLLOUT]);
}

#[test]
fn the_impact_depends_on_the_release() {
    let of = |version: &str| {
        super::impact::of(&at_now(""), super::WebhookRole::Admission, Release::parse(version))
    };
    for (version, claims, nodes) in [
        ("v1.7.3", false, false),
        ("v1.8.0", true, false),
        ("v1.10.2", true, false),
        ("v1.11.0", true, true),
        ("v1.11.0-hotfix-1", true, false),
        ("v1.11.1", true, false),
        ("v1.12.1", true, false),
        ("master-head", true, false),
    ] {
        let impact = of(version);
        assert_eq!(impact.contains("PersistentVolumeClaim"), claims, "{version}");
        assert_eq!(impact.contains("Kubernetes Node"), nodes, "{version}");
    }
}

#[test]
fn odd_objects_do_not_matter() {
    let yaml = "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: s}\n---\n\
                apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {app: longhorn-manager}}\n---\n\
                apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: longhorn-manager-webhook-lock}\n---\n\
                apiVersion: v1\nkind: Service\nmetadata: {name: longhorn-admission-webhook}\n---\n";
    assert_eq!(found(&CHECK, &at_now(yaml)), [DOWN]);
    let deleting = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {app: longhorn-manager}, \
                    deletionTimestamp: '2026-03-01T11:59:00Z'}\n---\n";
    assert_eq!(found(&CHECK, &at_now(deleting)), Vec::<String>::new());
}

#[test]
fn endpoints_that_go_before_the_pods_do_begin_a_rollout() {
    let managers = manager("n1", "True", LONG_AGO, RUNNING) + &manager("n2", "True", LONG_AGO, RUNNING);
    let up = modern(&managers, &["longhorn-manager-n1=true", "longhorn-manager-n2=true"]);
    let down = modern(&managers, &["longhorn-manager-n1=false", "longhorn-manager-n2=false"]);
    let only = |cluster: &Cluster| {
        let lines = found(&CHECK, cluster).into_iter();
        lines.filter(|line| line.ends_with("longhorn-admission-webhook")).collect::<Vec<_>>()
    };
    let cluster = next(at_now(&up), 600, &down);
    assert_eq!(only(&cluster), [ROLLOUT], "at the first look");
    let cluster = later(cluster, 60);
    assert_eq!(only(&cluster), [ROLLOUT]);
    assert_eq!(only(&later(cluster, 180)), [DOWN], "no rollout takes so long");
    assert_eq!(only(&at_first(&down)), [DOWN], "there when the exporter came");
}

/// The nodes were switched off for the night, and no one writes the times of their pods again in the morning.
#[test]
fn managers_of_nodes_that_have_just_come_back_are_in_a_rollout() {
    let node = |back: &str| {
        kube_node(
            "n1",
            &format!(
                "status: {{conditions: [{{type: Ready, status: 'True', lastTransitionTime: '{back}'}}]}}"
            ),
        )
    };
    let managers = manager("n1", "False", LONG_AGO, RUNNING);
    let at = |back: &str| {
        found(&CHECK, &at_first(&(modern(&managers, &["longhorn-manager-n1=false"]) + &node(back))))
    };
    assert_eq!(at("2026-03-01T11:58:50Z"), [ROLLOUT]);
    assert_eq!(at(LONG_AGO), [DOWN]);
}
