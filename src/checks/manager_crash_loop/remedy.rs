//! What to do about a manager that crash-loops, by cause.

use super::diagnosis::Diagnosis;
use super::{CONTAINER, causes, host};
use crate::check::{Cause, Remedy};
use crate::cluster::Cluster;
use crate::facts::{eviction, known_issues, nodes, releases};
use crate::longhorn::{Pod, Release, Suffix, WEBHOOK_LOCK};

/// The remedy for a diagnosis, with the names of this pod filled in.
pub fn remedy(cluster: &Cluster, pod: &Pod, diagnosis: &Diagnosis) -> Remedy {
    let (cause, release) = (diagnosis.cause, releases::release_of(cluster, pod));
    let namespace = cluster.namespace.as_str();
    let name = pod.metadata.name.as_str();
    let log = format!("kubectl -n {namespace} logs {name} -c {CONTAINER} --previous --tail=100");
    let with_log = |text: &str| Remedy::new(text).read(log.clone());
    match *cause {
        causes::OPEN_ISCSI_MISSING => host::install_open_iscsi(cluster, pod, with_log("")),
        causes::WEBHOOK_SERVICE_UNREACHABLE | causes::WEBHOOK_NOT_READY => webhook(namespace, cause, release, log),
        causes::BACKING_IMAGE_EVICTION_PANIC => stop_evictions(cluster, release, log),
        causes::UPGRADE_PATH => with_log(
            "Install the release that is set in current-longhorn-version again, or one patch or minor release \
             after it; Longhorn upgrades one minor release at a time and never downgrades.",
        )
        .read(format!("kubectl -n {namespace} get settings.longhorn.io current-longhorn-version"))
        .read(format!("kubectl -n {namespace} get daemonset longhorn-manager -o jsonpath='{{..image}}'")),
        causes::ENGINE_INCOMPATIBLE => with_log(
            "Go back to the previous release, upgrade the engines of all volumes there, and upgrade again.",
        )
        .read(format!("kubectl -n {namespace} get engineimages.longhorn.io"))
        .read(format!("kubectl -n {namespace} get volumes.longhorn.io -o custom-columns=NAME:.metadata.name,IMAGE:.status.currentImage")),
        causes::OLD_MANAGERS_LINGERING => old_managers(cluster, pod, with_log("")),
        causes::CRD_MISMATCH => manifest(
            cluster,
            release,
            with_log("The custom resource definitions are not those of the release that the manager runs."),
        ),
        causes::MANIFEST_STALE => manifest(
            cluster,
            release,
            with_log("The image was changed without its manifest, or the manifest without its image."),
        ),
        causes::CACHE_SYNC_FAILED => with_log(
            "The manager may not list one of its kinds, or a custom resource definition is missing. Compare the \
             definitions and the ClusterRole with those of the release.",
        )
        .read("kubectl get customresourcedefinitions -o name | grep longhorn.io".to_owned())
        .read(format!(
            "kubectl auth can-i list volumes.longhorn.io -n {namespace} \
             --as system:serviceaccount:{namespace}:longhorn-service-account"
        )),
        causes::PORT_IN_USE => with_log(
            "Find what else listens on the ports 9500 to 9503 in the pod; with host networking, on the node.",
        )
        .read(format!("kubectl -n {namespace} get daemonset longhorn-manager -o jsonpath='{{.spec.template.spec.hostNetwork}}'")),
        causes::KNOWN_PANIC => match diagnosis.issue.zip(release) {
            Some((issue, release)) => with_log(&format!("{} See known_bad_release.", issue.advice(release))),
            None => with_log("Upgrade Longhorn to a release in which the issue is fixed; the evidence names the issue."),
        },
        causes::OOM_KILLED => out_of_memory(namespace, pod, with_log("")),
        causes::API_UNREACHABLE => with_log(
            "Look at the API server and etcd first, then at the network between this node and them.",
        )
        .read("kubectl get --raw='/readyz?verbose'".to_owned())
        .read(format!("kubectl get node {} -o wide", pod.spec.node_name)),
        _ => with_log(
            "Read the last log of the container and look for the line with level=fatal or the one that begins \
             with panic.",
        )
        .read(format!("kubectl -n {namespace} describe pod {name}")),
    }
}

/// A container without a limit of its own is killed when its node has no memory left.
fn out_of_memory(namespace: &str, pod: &Pod, remedy: Remedy) -> Remedy {
    let container = pod.spec.container(CONTAINER);
    let limit = container.and_then(|container| container.resources.limits.get("memory"));
    let text = match limit {
        Some(limit) => format!(
            "Raise or remove the memory limit of {} of container longhorn-manager; Longhorn ships none.",
            limit.0
        ),
        None => "The container has no memory limit, so the node had no memory left: find out what takes it."
            .to_owned(),
    };
    let remedy = Remedy { text, ..remedy };
    match limit {
        Some(_) => remedy
            .read(format!(
                "kubectl -n {namespace} get daemonset longhorn-manager \
                 -o jsonpath='{{.spec.template.spec.containers[?(@.name==\"{CONTAINER}\")].resources}}'"
            ))
            .change(format!(
                "kubectl -n {namespace} patch daemonset longhorn-manager -p '{{\"spec\":{{\"template\":{{\"spec\":{{\
                 \"containers\":[{{\"name\":\"{CONTAINER}\",\"resources\":{{\"limits\":{{\"memory\":null}}}}}}]}}}}}}}}'"
            )),
        None => remedy.read(format!("kubectl describe node {}", pod.spec.node_name)).read("kubectl top node"),
    }
}

fn webhook(namespace: &str, cause: &Cause, release: Option<Release>, log: String) -> Remedy {
    let text = if cause == &causes::WEBHOOK_NOT_READY {
        "The manager's own webhook server is too slow or cannot start: look at the CPU of the node, at the \
         secrets longhorn-webhook-ca and longhorn-webhook-tls, and at webhook_unavailable."
    } else {
        "See webhook_unavailable for the endpoints. If the Service has ready endpoints, look at DNS, firewall and \
         hairpin traffic from this node. A longer startup probe does not help: the manager gives up by itself."
    };
    let mut remedy = Remedy::new(text).read(log).read(format!(
        "kubectl -n {namespace} get endpointslices -l kubernetes.io/service-name=longhorn-admission-webhook -o yaml"
    ));
    if release.is_none_or(Release::has_webhook_lock) {
        remedy = remedy.read(format!("kubectl -n {namespace} get lease {WEBHOOK_LOCK} -o yaml"));
    }
    remedy
        .read(format!("kubectl -n {namespace} get secrets longhorn-webhook-ca longhorn-webhook-tls"))
        .read("kubectl -n kube-system get pods -l k8s-app=kube-dns".to_owned())
}

/// The way around of Longhorn's knowledge base: take every eviction request back, wait until no
/// copy is in status without being in spec, and ask again.
fn stop_evictions(cluster: &Cluster, release: Option<Release>, log: String) -> Remedy {
    let namespace = &cluster.namespace;
    let fixed = release.and_then(|release| {
        let meant = |issue: &&known_issues::KnownIssue| issue.shows_in("syncBackingImageEvictionRequested");
        let issues = known_issues::ALL.iter().filter(meant).filter(|issue| issue.affects(release));
        issues.filter_map(|issue| issue.way_out(release)).max()
    });
    let upgrade = fixed.map_or_else(String::new, |fixed| format!(" Then upgrade to {fixed} or later."));
    let mut remedy = Remedy::new(format!(
        "Take every eviction request back, wait until every copy in the status of a backing image is in its spec \
         too, and only then ask for eviction again. A refused patch means that no manager serves the webhook just \
         now: repeat it.{upgrade}"
    ))
    .read(log)
    .read(format!(
        "kubectl -n {namespace} get backingimages.longhorn.io -o json | jq -r '.items[] | .metadata.name as $n | \
         ((.status.diskFileStatusMap // {{}} | keys) - (.spec.diskFileSpecMap // {{}} | keys))[] | \"\\($n) \\(.)\"'"
    ));
    for node in cluster.objects.longhorn_nodes.iter().filter(|node| eviction::is_requested(node)) {
        let (name, disks) = (&node.metadata.name, eviction::requested_disks(node));
        remedy = remedy.change(eviction::patch_requests(
            namespace,
            name,
            node.spec.eviction_requested,
            &disks,
            false,
        ));
    }
    remedy
}

/// Old are the pods whose image is not that of the DaemonSet; by force goes what a node that is away
/// cannot end any more.
fn old_managers(cluster: &Cluster, pod: &Pod, remedy: Remedy) -> Remedy {
    let namespace = &cluster.namespace;
    let image = |pod: &Pod| pod.spec.container(CONTAINER).map(|container| container.image.clone());
    let wanted = cluster.manager_container().map(|container| container.image.clone()).or_else(|| image(pod));
    let mut remedy = Remedy {
        text: "Manager pods of the old release are still there, usually on a node that is down. Bring the node back or, if \
               it is gone for good, delete the pods there by force."
            .to_owned(),
        ..remedy
    }
    .read(format!("kubectl -n {namespace} get pods -l app=longhorn-manager -o wide"));
    for old in cluster.manager_pods().filter(|other| image(other) != wanted) {
        let name = &old.metadata.name;
        let away =
            old.metadata.is_deleting() || nodes::kube_ready(cluster, &old.spec.node_name) == Some(false);
        let force = if away { " --force --grace-period=0" } else { "" };
        remedy = remedy.change(format!("kubectl -n {namespace} delete pod {name}{force}"));
    }
    remedy
}

/// The published manifest fits only where it was what Longhorn was installed from: it has a namespace,
/// images, default settings and a StorageClass of its own, which it would put over those that are there.
fn manifest(cluster: &Cluster, release: Option<Release>, remedy: Remedy) -> Remedy {
    let namespace = &cluster.namespace;
    let set = cluster.manager_daemon_set();
    let label = |key| set.and_then(|set| set.metadata.label(key));
    let remedy = remedy.read(format!("kubectl -n {namespace} get daemonset longhorn-manager -o yaml"));
    let say = |text: &str, remedy: Remedy| Remedy { text: format!("{} {text}", remedy.text), ..remedy };
    if label("app.kubernetes.io/managed-by") == Some("Helm") {
        let name = label("app.kubernetes.io/instance").unwrap_or("longhorn");
        return say(
            "Upgrade the Helm release to the chart of this release, with the values that it has.",
            remedy,
        )
        .read(format!("helm -n {namespace} history {name}"))
        .read(format!("helm -n {namespace} get values {name}"));
    }
    let image = cluster.manager_container().map(|container| container.image.as_str()).unwrap_or_default();
    let published = namespace == "longhorn-system" && image.starts_with("longhornio/");
    match release.filter(|release| published && release.suffix == Suffix::None) {
        Some(release) => {
            let manifest =
                format!("https://raw.githubusercontent.com/longhorn/longhorn/{release}/deploy/longhorn.yaml");
            say(
                "Apply the whole manifest of the release. It brings default settings and a StorageClass: look at the \
                 difference first.",
                remedy,
            )
            .read(format!("kubectl diff --server-side --force-conflicts -f {manifest}"))
            .change(format!("kubectl apply --server-side --force-conflicts -f {manifest}"))
        }
        None => say(
            "Apply the whole manifest of this release from the source that Longhorn was installed from; the published one \
             has another namespace or other images.",
            remedy,
        ),
    }
}
