//! What to do about a manager that crash-loops, by cause.

use super::diagnosis::{CrashReason, Diagnosis};
use super::webhook_calls::CallFailed;
use super::{CONTAINER, causes, host, kubelet, manifest};
use crate::check::*;
use crate::facts::{eviction, installation, known_issues, looping, nodes, releases};
use crate::longhorn::{Pod, Release, WEBHOOK_LOCK};

/// The remedy for a diagnosis, with the names of this pod filled in.
pub fn remedy(cluster: &Cluster, pod: &Pod, diagnosis: &Diagnosis) -> Remedy {
    let (namespace, name) = (&cluster.namespace, &pod.metadata.name);
    let log = format!("kubectl -n {namespace} logs {name} -c {CONTAINER} --previous --tail=100");
    // the log that named the cause was read; where nothing did it comes first
    match diagnosis.cause == &causes::UNKNOWN {
        true => Remedy::new(
            "Cause unknown: read the last log of the container and look for the line with level=fatal or the one that begins with panic.",
        )
        .read(log)
        .read(format!("kubectl -n {namespace} describe pod {name}")),
        false => by_cause(cluster, pod, diagnosis).read(log),
    }
}

fn by_cause(cluster: &Cluster, pod: &Pod, diagnosis: &Diagnosis) -> Remedy {
    let (cause, release) = (diagnosis.cause, releases::release_of(cluster, pod));
    let namespace = cluster.namespace.as_str();
    match *cause {
        causes::OPEN_ISCSI_MISSING => host::install_open_iscsi(cluster, pod),
        causes::CONTAINER_CANNOT_START if diagnosis.source == EvidenceSource::Event => kubelet::without_hook(cluster, pod),
        causes::CONTAINER_CANNOT_START => cannot_start(namespace, pod),
        causes::WEBHOOK_SERVICE_UNREACHABLE | causes::WEBHOOK_UNSERVED | causes::WEBHOOK_NOT_READY => webhook(cluster, &pod.spec.node_name, diagnosis, release),
        causes::WEBHOOK_CALL_FAILED => failed_call(namespace, diagnosis),
        causes::WEBHOOK_DENIED if diagnosis.why == Some(CrashReason::Setting) => refused_setting(namespace, release),
        causes::WEBHOOK_DENIED => Remedy::new(
            "The line names the object and the rule. A refusal during a rollout passes on the next attempt; one that repeats needs \
             that object in order: compare it with the rule, change it or delete it if it is a leftover, with the previous \
             release if this one does not come up.",
        )
        .read(format!("kubectl -n {namespace} get nodes.longhorn.io -o yaml")),
        causes::WRITE_CONFLICT => conflict(cluster),
        causes::BACKING_IMAGE_EVICTION_PANIC => stop_evictions(cluster, release),
        causes::UPGRADE_PATH => match release.and_then(|to| Some((to, installation::refused_step(cluster, to)?))) {
            Some((to, installed)) => installation::back_to(cluster, installed, to),
            None => Remedy::new(
                "Put back the release that is set in current-longhorn-version: Longhorn upgrades one minor release at a time and never \
                 downgrades.",
            )
            .read(format!("kubectl -n {namespace} get settings.longhorn.io current-longhorn-version")),
        },
        causes::ENGINE_INCOMPATIBLE => Remedy::new(
            "Go back to the previous release, upgrade the engines of all volumes there, and upgrade again.",
        )
        .read(format!("kubectl -n {namespace} get engineimages.longhorn.io"))
        .read(format!("kubectl -n {namespace} get volumes.longhorn.io -o custom-columns=NAME:.metadata.name,IMAGE:.status.currentImage")),
        causes::OLD_MANAGERS_LINGERING => old_managers(cluster, pod),
        causes::CRD_MISMATCH => manifest::manifest(
            cluster,
            release,
            "The custom resource definitions are not those of the release that the manager runs.",
        ),
        causes::MANIFEST_STALE => manifest::manifest(
            cluster,
            release,
            "The image was changed without its manifest, or the manifest without its image.",
        ),
        causes::CACHE_SYNC_FAILED => Remedy::new(
            "A manager gives up on its caches only when something ends it: a probe, a node that drains, a person. See what it \
             waits for this time: the finding of manager_start_stuck, or the log of its present run. A right or a custom resource \
             definition that is missing keeps it waiting forever.",
        )
        .read("kubectl get customresourcedefinitions -o name | grep longhorn.io".to_owned())
        .read(format!(
            "kubectl auth can-i list volumes.longhorn.io -n {namespace} \
             --as system:serviceaccount:{namespace}:longhorn-service-account"
        )),
        causes::PORT_IN_USE => port_in_use(namespace, pod, diagnosis),
        causes::KNOWN_PANIC => match diagnosis.issue.zip(release) {
            Some((issue, release)) => Remedy::new(issue.advice(cluster, release)),
            None => Remedy::new("Upgrade Longhorn to a release in which the issue is fixed; the evidence names the issue."),
        },
        causes::PROBE_KILLED => kubelet::without(cluster, pod),
        causes::OOM_KILLED => out_of_memory(namespace, pod),
        causes::API_UNREACHABLE => Remedy::new(
            "Look at the API server and etcd first, then at the network between this node and them.",
        )
        .read("kubectl get --raw='/readyz?verbose'".to_owned())
        .read(format!("kubectl get node {} -o wide", pod.spec.node_name)),
        _ => Remedy::default(),
    }
}

/// The value of a setting that the chart or a person gave.
fn refused_setting(namespace: &str, release: Option<Release>) -> Remedy {
    let mut text = "The line names the setting and the rule. Where ConfigMap longhorn-default-setting (the chart's defaultSettings) gives \
                    the value, give the one that Longhorn has, or none: settings of the danger zone are refused while volumes are attached."
        .to_owned();
    if release.is_some_and(|release| !release.at_least(1, 3, 1)) {
        text.push_str(" From 1.3.1 on a manager starts without a value that is refused.");
    }
    Remedy::new(text)
        .read(format!("kubectl -n {namespace} get configmap longhorn-default-setting -o yaml"))
        .read(format!("kubectl -n {namespace} get settings.longhorn.io"))
}

/// Something else listens in the pod's network, which is that of the node with host networking.
fn port_in_use(namespace: &str, pod: &Pod, diagnosis: &Diagnosis) -> Remedy {
    let (name, node) = (&pod.metadata.name, &pod.spec.node_name);
    let (ports, filter) = match diagnosis.why {
        Some(CrashReason::Listener(port)) => (format!("port {port}"), format!("sport = :{port}")),
        _ => ("one of the ports 9500 to 9503".to_owned(), "sport >= :9500 and sport <= :9503".to_owned()),
    };
    let text = format!(
        "Find out what else listens on {ports} in the pod, for example a container that was added to the DaemonSet; with host \
         networking, on node {node}. Move that to another port: those of the manager cannot be changed."
    );
    Remedy::new(text)
        .read(format!(
            "kubectl -n {namespace} get pod {name} -o jsonpath='{{.spec.hostNetwork}}{{\"\\n\"}}{{.spec.containers[*].name}}{{\"\\n\"}}'"
        ))
        .read(format!("ssh {node} \"sudo ss -lntp '{filter}'\""))
}

/// A container without a limit of its own is killed when its node has no memory left.
fn out_of_memory(namespace: &str, pod: &Pod) -> Remedy {
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
    let remedy = Remedy::new(text);
    match limit {
        Some(_) => remedy
            .change(format!(
                "kubectl -n {namespace} patch daemonset longhorn-manager -p '{{\"spec\":{{\"template\":{{\"spec\":{{\
                 \"containers\":[{{\"name\":\"{CONTAINER}\",\"resources\":{{\"limits\":{{\"memory\":null}}}}}}]}}}}}}}}'"
            )),
        None => remedy.read(format!("kubectl describe node {}", pod.spec.node_name)).read("kubectl top node"),
    }
}

/// A manager that waited for its own webhook in vain.
fn webhook(cluster: &Cluster, node: &str, diagnosis: &Diagnosis, release: Option<Release>) -> Remedy {
    let namespace = &cluster.namespace;
    let (webhook, why) = match diagnosis.why {
        Some(CrashReason::Reached(webhook, why)) => (webhook.unwrap_or("admission"), why),
        _ => ("admission", None),
    };
    if let Some(why) = why.filter(|_| diagnosis.cause != &causes::WEBHOOK_NOT_READY) {
        return why.mend(cluster, webhook, node);
    }
    let text = match diagnosis.cause == &causes::WEBHOOK_NOT_READY {
        true => {
            "Find out why the manager's own webhook server is too slow or cannot start: the CPU of the node, the secrets \
             longhorn-webhook-ca and longhorn-webhook-tls, a missing webhook configuration."
        }
        false => {
            "Bring one manager to Ready behind the Service. If it has ready endpoints, look at DNS, firewall and hairpin traffic from this \
             node. A longer startup probe does not help: the manager gives up on its own."
        }
    };
    let mut remedy = Remedy::new(text).read(format!(
        "kubectl -n {namespace} get endpointslices -l kubernetes.io/service-name=longhorn-{webhook}-webhook -o yaml"
    ));
    if release.is_none_or(Release::has_webhook_lock) {
        remedy = remedy.read(format!("kubectl -n {namespace} get lease {WEBHOOK_LOCK} -o yaml"));
    }
    remedy
        .read("kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide")
        .read(format!("kubectl -n {namespace} get secrets longhorn-webhook-ca longhorn-webhook-tls"))
}

/// The API server answers, and cannot call the webhook.
fn failed_call(namespace: &str, diagnosis: &Diagnosis) -> Remedy {
    let why = match diagnosis.why {
        Some(CrashReason::Called(why)) => why,
        _ => CallFailed::Unknown,
    };
    let configurations = "kubectl get validatingwebhookconfigurations longhorn-webhook-validator \
                          -o jsonpath='{.webhooks[*].clientConfig.service}'";
    let remedy = Remedy::new(why.remedy()).read(configurations).read(format!(
        "kubectl -n {namespace} get endpointslices -l kubernetes.io/service-name=longhorn-admission-webhook -o wide"
    ));
    if !why.is_configuration() {
        return remedy;
    }
    remedy.change(
        "kubectl delete validatingwebhookconfigurations/longhorn-webhook-validator \
         mutatingwebhookconfigurations/longhorn-webhook-mutator",
    )
}

/// Managers that start at the same time read a setting, change it and find that another one was faster.
fn conflict(cluster: &Cluster) -> Remedy {
    let namespace = &cluster.namespace;
    let text = "Wait for the next attempt: managers that start together overwrite each other's changes, and the one that comes later \
                succeeds. If it repeats for minutes, let the managers start one after the other: delete one pod, wait until it \
                is Ready, then the next."
        .to_owned();
    Remedy::new(text)
        .read(format!("kubectl -n {namespace} get pods -l app=longhorn-manager -o wide"))
        .read(format!("kubectl -n {namespace} get configmap longhorn-default-setting -o yaml"))
}

/// Nothing of Longhorn runs, so only the node and the runtime matter.
fn cannot_start(namespace: &str, pod: &Pod) -> Remedy {
    let (name, node) = (&pod.metadata.name, &pod.spec.node_name);
    let said =
        pod.container_status(CONTAINER).and_then(looping::cannot_start).map_or("", |(_, message)| message);
    let describe = format!("kubectl -n {namespace} describe pod {name}");
    if said.contains("not a shared mount") {
        return Remedy::new(
            "Make the mounts of the node shared, which Longhorn needs for bidirectional mount propagation, and let its start-up do \
             so (systemd does; OpenRC, LXC and container images as nodes do not). Nodes that are containers (k3d, kind, Docker \
             Desktop) need the data path mounted with :shared.",
        )
        .change(format!("ssh {node} 'sudo mount --make-rshared /'"))
        .read(format!("ssh {node} 'findmnt -o TARGET,PROPAGATION / /var/lib/longhorn'"))
        .read(describe);
    }
    if said.contains("exec: ") && said.contains("permission denied") {
        return Remedy::new(
            "The node does not let the runtime execute what is in the container: the filesystem of the runtime is mounted with noexec \
             (/var on hardened systems), or SELinux denies it. Mount it with exec, also in /etc/fstab.",
        )
        .read(describe)
        .read(format!("ssh {node} 'findmnt -O noexec -o TARGET,OPTIONS'"))
        .change(format!("ssh {node} 'sudo mount -o remount,exec /var'"));
    }
    Remedy::new(
        "The container runtime of the node says why it cannot create or start the container: fix that on the node (paths to \
         mount, /proc, seccomp or AppArmor, the runtime itself). The kubelet tries again by itself.",
    )
    .read(describe)
    .read(format!("kubectl describe node {node}"))
}

/// The way around of Longhorn's knowledge base: take every eviction request back, wait until no
/// copy is in status without being in spec, and ask again.
fn stop_evictions(cluster: &Cluster, release: Option<Release>) -> Remedy {
    let namespace = &cluster.namespace;
    let fixed = release.and_then(|release| {
        let meant = |issue: &&known_issues::KnownIssue| issue.shows_in("syncBackingImageEvictionRequested");
        let issues = known_issues::ALL.iter().filter(meant).filter(|issue| issue.affects(release));
        issues.filter_map(|issue| issue.way_out(cluster, release)).max()
    });
    let upgrade = fixed.map_or_else(String::new, |fixed| format!(" Then upgrade to {fixed} or later."));
    let mut remedy = Remedy::new(format!(
        "Cancel every eviction request, wait until the commands list no copy that is in the status only \
         too, and only then ask for eviction again. A refused patch means that no manager is serving the webhook at the moment: repeat it.{upgrade}"
    ));
    let copies = format!(
        "kubectl -n {namespace} get backingimages.longhorn.io -o json | jq -r '.items[] | .metadata.name as $n | \
         ((.status.diskFileStatusMap // {{}} | keys) - (.spec.diskFileSpecMap // {{}} | keys))[] | \"\\($n) \\(.)\"'"
    );
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
    remedy.read(copies)
}

/// Old are the pods whose image is not that of the DaemonSet; by force goes what a node that is away
/// cannot end any more.
fn old_managers(cluster: &Cluster, pod: &Pod) -> Remedy {
    let namespace = &cluster.namespace;
    let image = |pod: &Pod| pod.spec.container(CONTAINER).map(|container| container.image.clone());
    let wanted = cluster.manager_container().map(|container| container.image.clone()).or_else(|| image(pod));
    let mut remedy = Remedy::new(
        "Bring back the node on which manager pods of the old release are left or, if it is gone for good, delete the pods there by force.",
    )
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
