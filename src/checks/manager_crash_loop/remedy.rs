//! What to do about a manager that crash-loops, by cause.

use super::{CONTAINER, cause};
use crate::check::Remedy;
use crate::cluster::Cluster;
use crate::cluster::known_issues::{self, KnownIssue};
use crate::longhorn::{Pod, Release};

/// The remedy for a cause, with the names of this pod filled in.
pub fn remedy(cluster: &Cluster, pod: &Pod, cause: &str, release: Option<Release>) -> Remedy {
    let namespace = cluster.namespace.as_str();
    let name = pod.metadata.name.as_str();
    let log = format!("kubectl -n {namespace} logs {name} -c {CONTAINER} --previous --tail=100");
    let with_log = |text: &str| Remedy::new(text).read(log.clone());
    match cause {
        cause::OPEN_ISCSI_MISSING => install_open_iscsi(cluster, pod, with_log("")),
        cause::WEBHOOK_SERVICE_UNREACHABLE | cause::WEBHOOK_NOT_READY => webhook(namespace, cause, log),
        cause::BACKING_IMAGE_EVICTION_PANIC => stop_evictions(cluster, release, log),
        cause::UPGRADE_PATH => with_log(
            "Install the release that is set in current-longhorn-version again, or one patch or minor release \
             after it; Longhorn upgrades one minor release at a time and never downgrades.",
        )
        .read(format!("kubectl -n {namespace} get settings.longhorn.io current-longhorn-version"))
        .read(format!("kubectl -n {namespace} get daemonset longhorn-manager -o jsonpath='{{..image}}'")),
        cause::ENGINE_INCOMPATIBLE => with_log(
            "Go back to the previous release, upgrade the engines of all volumes there, and upgrade again.",
        )
        .read(format!("kubectl -n {namespace} get engineimages.longhorn.io"))
        .read(format!("kubectl -n {namespace} get volumes.longhorn.io -o custom-columns=NAME:.metadata.name,IMAGE:.status.currentImage")),
        cause::OLD_MANAGERS_LINGERING => old_managers(cluster, pod, with_log("")),
        cause::CRD_MISMATCH => manifest(
            namespace,
            release,
            with_log("Apply the custom resource definitions of the release that the manager runs. Helm upgrades them with the chart."),
        ),
        cause::MANIFEST_STALE => manifest(
            namespace,
            release,
            with_log(
                "The image was changed without its manifest. Apply the whole manifest or chart of the release, \
                 not only the image.",
            ),
        ),
        cause::CACHE_SYNC_FAILED => with_log(
            "The manager may not list one of its kinds, or a custom resource definition is missing. Compare the \
             definitions and the ClusterRole with those of the release.",
        )
        .read("kubectl get customresourcedefinitions -o name | grep longhorn.io".to_owned())
        .read(format!(
            "kubectl auth can-i list volumes.longhorn.io -n {namespace} \
             --as system:serviceaccount:{namespace}:longhorn-service-account"
        )),
        cause::PORT_IN_USE => with_log(
            "Find what else listens on the ports 9500 to 9503 in the pod; with host networking, on the node.",
        )
        .read(format!("kubectl -n {namespace} get daemonset longhorn-manager -o jsonpath='{{.spec.template.spec.hostNetwork}}'")),
        cause::KNOWN_PANIC => upgrade(release, with_log("")),
        cause::OOM_KILLED => with_log(
            "Raise or remove the memory limit of container longhorn-manager; Longhorn ships none.",
        )
        .read(format!(
            "kubectl -n {namespace} get daemonset longhorn-manager \
             -o jsonpath='{{.spec.template.spec.containers[?(@.name==\"{CONTAINER}\")].resources}}'"
        ))
        .change(format!(
            "kubectl -n {namespace} set resources daemonset longhorn-manager -c {CONTAINER} --limits=memory=0"
        )),
        cause::API_UNREACHABLE => with_log(
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

/// Commands for a node whose operating system is known, else for every supported one.
fn install_open_iscsi(cluster: &Cluster, pod: &Pod, remedy: Remedy) -> Remedy {
    const APT: &str = "sudo apt-get update && sudo apt-get install -y open-iscsi";
    const DNF: &str = "sudo dnf install -y iscsi-initiator-utils";
    const ZYPPER: &str = "sudo zypper install -y open-iscsi";
    const SYSTEMS: [(&str, &str); 12] = [
        ("ubuntu", APT),
        ("debian", APT),
        ("red hat", DNF),
        ("rocky", DNF),
        ("centos", DNF),
        ("fedora", DNF),
        ("alma", DNF),
        ("oracle", DNF),
        ("amazon", DNF),
        ("suse", ZYPPER),
        ("sle", ZYPPER),
        ("arch", "sudo pacman -S --noconfirm open-iscsi"),
    ];
    let (namespace, node) = (&cluster.namespace, pod.spec.node_name.as_str());
    let os = cluster.objects.kube_nodes.get(node).map(|node| node.status.node_info.os_image.to_lowercase());
    let os = os.unwrap_or_default();
    let mut remedy = Remedy {
        text: "Install open-iscsi (iscsi-initiator-utils on RPM systems) on the node and start iscsid. On Talos \
               add the system extension iscsi-tools instead. The manager starts by itself at its next try."
            .to_owned(),
        ..remedy
    };
    remedy = remedy.read(format!("ssh {node} 'command -v iscsiadm; systemctl is-active iscsid'"));
    let known = SYSTEMS.iter().find(|(name, _)| os.contains(name)).map(|(_, command)| *command);
    let commands: Vec<&str> = known.map_or_else(|| vec![APT, DNF, ZYPPER], |command| vec![command]);
    for install in commands {
        remedy = remedy.change(format!("ssh {node} '{install} && sudo systemctl enable --now iscsid'"));
    }
    remedy.change(format!("kubectl -n {namespace} delete pod {}", pod.metadata.name))
}

fn webhook(namespace: &str, cause: &str, log: String) -> Remedy {
    let text = if cause == cause::WEBHOOK_NOT_READY {
        "The manager's own webhook server is too slow or cannot start: look at the CPU of the node, at the \
         secrets longhorn-webhook-ca and longhorn-webhook-tls, and at webhook_unavailable."
    } else {
        "See webhook_unavailable for the endpoints. If the Service has ready endpoints, look at DNS, firewall and \
         hairpin traffic from this node. A longer startup probe does not help: the manager gives up by itself."
    };
    Remedy::new(text)
        .read(log)
        .read(format!(
            "kubectl -n {namespace} get endpointslices -l kubernetes.io/service-name=longhorn-admission-webhook -o yaml"
        ))
        .read(format!("kubectl -n {namespace} get lease longhorn-manager-webhook-lock -o yaml"))
        .read(format!("kubectl -n {namespace} get secrets longhorn-webhook-ca longhorn-webhook-tls"))
        .read("kubectl -n kube-system get pods -l k8s-app=kube-dns".to_owned())
}

/// The way around of Longhorn's knowledge base: take every eviction request back, wait until no
/// copy is in status without being in spec, and ask again.
fn stop_evictions(cluster: &Cluster, release: Option<Release>, log: String) -> Remedy {
    let namespace = &cluster.namespace;
    let fixed = release.and_then(|release| {
        way_out(release, |issue| issue.frames.contains(&"syncBackingImageEvictionRequested"))
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
    let mut patches = Vec::new();
    for node in cluster.objects.longhorn_nodes.iter() {
        let name = &node.metadata.name;
        let patch = |what: String| {
            format!(
                "kubectl -n {namespace} patch nodes.longhorn.io {name} --type merge -p '{{\"spec\":{what}}}'"
            )
        };
        if node.spec.eviction_requested {
            patches.push(patch("{\"evictionRequested\":false}".to_owned()));
        }
        for (disk, _) in node.spec.disks.iter().filter(|(_, disk)| disk.eviction_requested) {
            patches.push(patch(format!("{{\"disks\":{{\"{disk}\":{{\"evictionRequested\":false}}}}}}")));
        }
    }
    for patch in patches {
        remedy = remedy.change(patch);
    }
    remedy
}

fn old_managers(cluster: &Cluster, pod: &Pod, remedy: Remedy) -> Remedy {
    let namespace = &cluster.namespace;
    let image = |pod: &Pod| pod.spec.container(CONTAINER).map(|container| container.image.clone());
    let mut remedy = Remedy {
        text:
            "Manager pods of the old release are still there, usually on a node that is down. Bring the node \
               back or, if it is gone for good, delete the pods there by force."
                .to_owned(),
        ..remedy
    }
    .read(format!("kubectl -n {namespace} get pods -l app=longhorn-manager -o wide"));
    for old in cluster.manager_pods().filter(|other| image(other) != image(pod)) {
        let name = &old.metadata.name;
        remedy = remedy.change(format!("kubectl -n {namespace} delete pod {name} --force --grace-period=0"));
    }
    remedy
}

fn manifest(namespace: &str, release: Option<Release>, remedy: Remedy) -> Remedy {
    let remedy = remedy.read(format!("kubectl -n {namespace} get daemonset longhorn-manager -o yaml"));
    match release {
        Some(release) => remedy.change(format!(
            "kubectl apply --server-side --force-conflicts -f \
             https://raw.githubusercontent.com/longhorn/longhorn/{release}/deploy/longhorn.yaml"
        )),
        None => remedy,
    }
}

fn upgrade(release: Option<Release>, remedy: Remedy) -> Remedy {
    let fixed = release.and_then(|release| way_out(release, |issue| issue.panics));
    let text = match fixed {
        Some(fixed) => format!(
            "Upgrade Longhorn to {fixed} or later; the evidence names the issue. See known_bad_release for what keeps it away until then."
        ),
        None => "Upgrade Longhorn to a release in which the issue is fixed; the evidence names the issue."
            .to_owned(),
    };
    Remedy { text, ..remedy }
}

/// The earliest release after this one that has none of the bugs meant.
fn way_out(release: Release, meant: impl Fn(&KnownIssue) -> bool) -> Option<Release> {
    let issues = known_issues::ALL.iter().filter(|issue| meant(issue) && issue.affects(release));
    issues.filter_map(|issue| issue.way_out(release)).max()
}
