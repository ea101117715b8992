//! The driver deployer waits or crashes, so the CSI driver is not (re)deployed.
//!
//! Its init container `wait-longhorn-manager` asks `http://longhorn-backend:9500/v1` every two
//! seconds until a manager answers (longhorn v1.12.1 deploy/longhorn.yaml), so `Init:0/1` is never a
//! cause: either no manager is there to answer, or the name or the network does not lead to one.
//! The container itself ends with a fatal error when mounts do not propagate or Kubernetes is too old
//! (longhorn-manager v1.12.1 app/driver.go deployDriver).

mod causes;
mod follows;
#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};

use crate::check::*;
use crate::cluster::{Cluster, Readability};
use crate::facts::looping;
use crate::longhorn::{ConditionStatus, Pod, Release, Resource, status};

const INIT: &str = "wait-longhorn-manager";
const MAIN: &str = "longhorn-driver-deployer";
const BACKEND: &str = "longhorn-backend";

/// So long the wait is a normal part of an installation: managers queue for the webhook lease.
const NORMAL_WAIT: SignedDuration = SignedDuration::from_mins(5);
/// The oldest Kubernetes that the deployer accepts
/// (longhorn-manager v1.12.1 types/types.go KubernetesMinVersion).
const OLDEST_KUBERNETES: Release = Release::new(1, 18, 0);

/// The check.
pub static CHECK: Check = Check {
    id: "driver_deployer_blocked",
    title: "Driver deployer blocked",
    summary: "The pod longhorn-driver-deployer waits in its init container or crash-loops, so the CSI driver is not \
              deployed. Init:0/1 is a consequence; the cause says of what.",
    needs: &[Resource::Pods],
    uses: &[Resource::EndpointSlices, Resource::LonghornNodes, Resource::KubeNodes],
    causes: causes::ALL,
    follows: follows::FOLLOWS,
    gauges: &[],
    alerts: &[Alert {
        name: "LonghornDriverDeployerBlocked",
        when: When::FoundBut { causes: causes::ALL, severity: None, without: &["object"] },
        hold: "10m",
        summary: "Longhorn's driver deployer is blocked.",
        description: "longhorn-driver-deployer{{ with $labels.node }} on node {{ . }}{{ end }} cannot deploy the CSI \
                      driver, cause {{ $labels.cause }}. Its Init:0/1 is a consequence: look at the managers first, \
                      then at DNS.",
        why: "The finding begins after five minutes of waiting. Ten more let an installation on slow \
              nodes finish, and let the alert on the managers, which are the usual cause, come first.",
        runbook: include_str!("LonghornDriverDeployerBlocked.md"),
        ..Alert::PLAIN
    }],
    panels: &[Panel {
        dashboard: Dashboard::Managers,
        title: "Driver deployer blocked",
        description: "The driver deployer waits or crashes. Cause managers_down is a consequence of the managers' own \
                      trouble; dns_suspected means that managers are ready and yet not reached.",
        queries: &[Query {
            expr: "max by ($cluster severity, cause, object_kind, object, node) (longhorn_health_finding{$job, check=\"driver_deployer_blocked\"}) == 1",
            legend: "{{cause}}",
        }],
        no_data: "the driver deployer is not blocked, or the exporter does not report",
        ..Panel::TABLE
    }],
    run,
    ..Check::PLAIN
};

/// What blocks the deployer.
struct Block {
    cause: &'static Cause,
    since: Option<Timestamp>,
    message: String,
    evidence: Vec<Evidence>,
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    let deployer = |pod: &&Pod| pod.metadata.label("app") == Some(MAIN) && !pod.metadata.is_deleting();
    for pod in cluster.objects.pods.iter().filter(deployer) {
        let Some(block) = waiting(cluster, pod).or_else(|| crashing(cluster, pod)) else { continue };
        let name = &pod.metadata.name;
        let mut finding = Finding::new(block.cause, ObjectRef::new("Pod", &cluster.namespace, name), block.message)
            .node(&pod.spec.node_name)
            .since(block.since)
            .impact("the CSI driver is not deployed or updated; where it was never deployed no volume can be made or mounted")
            .remedy(remedy(cluster, pod, block.cause));
        finding.evidence = block.evidence;
        out.find(finding);
    }
}

/// The init container still asks for a manager.
fn waiting(cluster: &Cluster, pod: &Pod) -> Option<Block> {
    let init = pod.status.init_container_statuses.iter().find(|status| status.name == INIT)?;
    let running = init.state.running.as_ref()?;
    let since = running.started_at.get().or(pod.status.start_time.get()).or(pod.metadata.created());
    if since.is_some_and(|since| cluster.age(since) < NORMAL_WAIT) {
        return None;
    }
    let name = &pod.metadata.name;
    let waits = match since {
        Some(since) => format!("init container {INIT} of {name} waits since {since}"),
        None => format!("init container {INIT} of {name} waits; since when is not known"),
    };
    let (answers, endpoints) = backend(cluster);
    let (cause, message) = match answers {
        true => (
            &causes::DNS_SUSPECTED,
            format!(
                "{name} waits for {BACKEND} although managers are ready: DNS or the network is suspected"
            ),
        ),
        false => (&causes::MANAGERS_DOWN, format!("{name} waits for {BACKEND} because no manager is ready")),
    };
    let fact = |text| Evidence { source: EvidenceSource::Api, text };
    Some(Block { cause, since, message, evidence: vec![fact(waits), fact(endpoints)] })
}

/// Whether anything can answer behind the Service, and how that is known.
fn backend(cluster: &Cluster) -> (bool, String) {
    let slices = cluster
        .objects
        .endpoint_slices
        .iter()
        .filter(|slice| slice.metadata.label("kubernetes.io/service-name") == Some(BACKEND));
    let endpoints: Vec<_> = slices.flat_map(|slice| &slice.endpoints).collect();
    if cluster.readability(Resource::EndpointSlices) == Readability::Readable {
        let ready = endpoints.iter().filter(|endpoint| endpoint.conditions.ready != Some(false)).count();
        return (ready > 0, format!("Service {BACKEND} has {ready} ready endpoints"));
    }
    let serves = |pod: &&Pod| pod.is_ready() && !pod.metadata.is_deleting();
    let ready = cluster.manager_pods().filter(serves).count();
    (ready > 0, format!("{ready} manager pods are Ready; the endpoints of {BACKEND} could not be read"))
}

/// The deployer itself ends again and again.
fn crashing(cluster: &Cluster, pod: &Pod) -> Option<Block> {
    let crash = looping::looping(pod.container_status(MAIN)?, cluster.now)?;
    let name = &pod.metadata.name;
    let (cause, source, fact) = by_log(cluster, pod).or_else(|| by_api(cluster)).unwrap_or_else(|| {
        let code =
            crash.end.map_or("an unknown code".to_owned(), |end| format!("exit code {}", end.exit_code));
        (&causes::UNKNOWN, EvidenceSource::Fingerprint, format!("the last run ended with {code}"))
    });
    Some(Block {
        cause,
        since: crash.end.and_then(|end| end.started_at.get()),
        message: format!(
            "{name} crash-loops ({}) and deploys no CSI driver",
            counted(crash.restarts, "restart")
        ),
        evidence: vec![Evidence { source, text: fact }],
    })
}

fn by_log(cluster: &Cluster, pod: &Pod) -> Option<(&'static Cause, EvidenceSource, String)> {
    let log = cluster.history.crash_log(&pod.metadata.name, MAIN)?;
    let is_fatal = |line: &&str| line.contains("level=fatal") || line.contains("\"level\":\"fatal\"");
    let fatal = log.text.lines().rev().find(is_fatal)?;
    let cause = if fatal.contains("MountPropagation is not set") {
        &causes::MOUNT_PROPAGATION
    } else if fatal.contains("failed Kubernetes version check") {
        &causes::KUBERNETES_VERSION
    } else {
        &causes::UNKNOWN
    };
    let line: String = fatal.trim().chars().take(400).collect();
    Some((cause, EvidenceSource::Log, format!("the last log ends with: {line}")))
}

fn by_api(cluster: &Cluster) -> Option<(&'static Cause, EvidenceSource, String)> {
    let mut nodes = cluster.objects.longhorn_nodes.iter();
    let no_propagation =
        nodes.find(|node| status(&node.status.conditions, "MountPropagation") == ConditionStatus::False);
    if let Some(node) = no_propagation {
        let fact = format!("condition MountPropagation of nodes.longhorn.io {} is False", node.metadata.name);
        return Some((&causes::MOUNT_PROPAGATION, EvidenceSource::Api, fact));
    }
    let version =
        |text: &str| Release::parse(text).map(|release| Release::new(release.major, release.minor, 0));
    let mut nodes = cluster.objects.kube_nodes.iter();
    let old = nodes.find(|node| {
        version(&node.status.node_info.kubelet_version).is_some_and(|found| found < OLDEST_KUBERNETES)
    })?;
    let kubelet = &old.status.node_info.kubelet_version;
    Some((
        &causes::KUBERNETES_VERSION,
        EvidenceSource::Api,
        format!("node {} runs Kubernetes {kubelet}", old.metadata.name),
    ))
}

fn remedy(cluster: &Cluster, pod: &Pod, cause: &'static Cause) -> Remedy {
    let (namespace, name) = (&cluster.namespace, &pod.metadata.name);
    let log = |container: &str| format!("kubectl -n {namespace} logs {name} -c {container} --tail=20");
    match *cause {
        causes::MANAGERS_DOWN => Remedy::new("Mend the managers; the deployer goes on by itself. See manager_crash_loop and webhook_unavailable.")
            .read(format!("kubectl -n {namespace} get pods -l app=longhorn-manager -o wide"))
            .read(format!("kubectl -n {namespace} get endpointslices -l kubernetes.io/service-name={BACKEND}")),
        causes::DNS_SUSPECTED => Remedy::new(
            "Look at CoreDNS and at the network between this node and the managers. A DNS that answers from \
             outside for every name, by a search domain, is a known trap.",
        )
        .read(log(INIT))
        .read("kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide".to_owned())
        .read(format!("kubectl -n {namespace} exec {name} -c {INIT} -- curl -m 2 -sv http://{BACKEND}:9500/v1 -o /dev/null"))
        // its name differs, as on RKE2, its label does not
        .change("kubectl -n kube-system rollout restart deployment -l k8s-app=kube-dns".to_owned()),
        causes::MOUNT_PROPAGATION => Remedy::new(
            "Let mounts of the node propagate (systemd: MountFlags=shared for the container run time, or \
             mount --make-rshared /), then restart the manager there.",
        )
        .read(format!("kubectl -n {namespace} get nodes.longhorn.io -o yaml | grep -B6 MountPropagation"))
        .read(format!("{} --previous", log(MAIN))),
        causes::KUBERNETES_VERSION => Remedy::new("Upgrade Kubernetes, or install a Longhorn release that supports this one.")
            .read("kubectl version".to_owned())
            .read(format!("{} --previous", log(MAIN))),
        _ => Remedy::new("Read the last log of the deployer.").read(format!("{} --previous", log(MAIN))),
    }
}
