//! What to do about a manager that crash-loops, where that depends on more than its cause.

use super::diagnosis::{CrashReason, Diagnosis};
use super::{CONTAINER, causes, facts, host, kubelet};
use crate::check::*;
use crate::facts::{
    certificates, complaints, endpoints, eviction, installation, known_issues, looping, nodes, releases,
};
use crate::longhorn::{Container, Pod, Release};

/// The remedy for a diagnosis; what it leaves out is that of the cause.
pub fn remedy(cluster: &Cluster, pod: &Pod, diagnosis: &Diagnosis) -> Remedy {
    let (namespace, node) = (cluster.namespace.as_str(), pod.spec.node_name.as_str());
    let release = releases::release_of(cluster, pod);
    match (diagnosis.cause, diagnosis.why) {
        (_, Some(CrashReason::Reached(webhook, Some(why)))) if why.is_root() => {
            why.remedy(cluster, webhook.unwrap_or("admission"), node).read(last_log(namespace, pod))
        }
        (_, Some(CrashReason::Called(why))) => {
            why.remedy(cluster, "admission", node).read(last_log(namespace, pod))
        }
        (&causes::WEBHOOK_DENIED, Some(CrashReason::Setting)) => {
            refused_setting(namespace, release).read(last_log(namespace, pod))
        }
        (&causes::WEBHOOK_DENIED, Some(CrashReason::NoRoute)) => Remedy::new(
            "Leave the object that the refusal names as it is: a manager of another release answered the webhook, and has no rule for its \
             kind. It passes once all managers run one release. Where the rollout stands still, see which manager still runs the other \
             one, and whether the definitions could be applied.",
        )
        .read(format!(
            "kubectl -n {namespace} get pods -l app=longhorn-manager -o \
             'custom-columns=NODE:.spec.nodeName,POD:.metadata.name,IMAGE:.spec.containers[*].image'"
        ))
        .read(last_log(namespace, pod)),
        (&causes::UNKNOWN, Some(CrashReason::Reading)) => {
            Remedy::new("Look again in half a minute: its log is being read, and most likely names the cause.")
                .read(format!("kubectl -n {namespace} describe pod {}", pod.metadata.name))
        }
        (&causes::OPEN_ISCSI_MISSING, _) => host::install_open_iscsi(cluster, pod),
        (&causes::CONTAINER_CANNOT_START, _) if diagnosis.source == EvidenceSource::Event => {
            kubelet::without_hook(cluster)
        }
        (&causes::CONTAINER_CANNOT_START, _) if diagnosis.source == EvidenceSource::Log => {
            for_other_machines(pod).read(last_log(namespace, pod))
        }
        (&causes::CONTAINER_CANNOT_START, _) => cannot_start(namespace, pod),
        (&causes::BACKING_IMAGE_EVICTION_PANIC, _) => stop_evictions(cluster, release),
        (&causes::UPGRADE_PATH, Some(CrashReason::NewerSettings)) => plain_settings(cluster),
        (&causes::UPGRADE_PATH, _) => release
            .and_then(|to| Some(installation::back_to(cluster, installation::refused_step(cluster, to)?, to)))
            .unwrap_or_default(),
        (&causes::CRD_MISMATCH, _) => causes::to_one_release(
            cluster,
            pod,
            true,
            "The custom resource definitions are not those of the release that the manager runs.",
        ),
        (&causes::MANIFEST_STALE, _) => causes::to_one_release(
            cluster,
            pod,
            false,
            "The image was changed without its manifest, or the manifest without its image.",
        ),
        (&causes::KNOWN_PANIC, _) => {
            let issue = diagnosis.issue.zip(release);
            issue
                .map(|(issue, release)| issue.remedy(cluster, release).read(last_log(namespace, pod)))
                .unwrap_or_default()
        }
        (&causes::PROBE_KILLED, _) => kubelet::without(cluster, pod),
        (&causes::OOM_KILLED, _) => without_limit(cluster, pod),
        _ => Remedy::default(),
    }
}

/// What the templates of the cause name.
pub fn values(cluster: &Cluster, pod: &Pod, diagnosis: &Diagnosis, mut finding: Finding) -> Finding {
    match (diagnosis.cause, diagnosis.why) {
        (&causes::WEBHOOK_UNSERVED, why) => {
            let webhook = match why {
                Some(CrashReason::Reached(Some(webhook), _)) => webhook,
                _ => "admission",
            };
            finding.with(Name::Service, format!("longhorn-{webhook}-webhook"))
        }
        (&causes::PORT_IN_USE, Some(CrashReason::Listener(port))) => {
            finding.with(Name::Value, format!("port {port}"))
        }
        (&causes::PORT_IN_USE, _) => finding.with(Name::Value, "one of the ports 9500 to 9503"),
        (&causes::API_CERTIFICATE, _) => {
            let log = cluster.history.crash_log(&pod.metadata.name, CONTAINER);
            let line = log.and_then(|log| log.text.lines().rev().find(|line| line.contains("x509: ")));
            match line.and_then(certificates::asked) {
                Some(address) => finding.with(Name::Value, address),
                None => finding,
            }
        }
        (&causes::ACCESS_DENIED, _) => {
            let log = cluster.history.crash_log(&pod.metadata.name, CONTAINER);
            let about = log.and_then(|log| complaints::newest(&log.text)).map(|complaint| complaint.about);
            causes::lacking(cluster, pod, &about.unwrap_or_default(), finding)
        }
        // old are the pods whose image is not that of the DaemonSet; by force goes what a node that is away cannot end any more
        (&causes::OLD_MANAGERS_LINGERING, _) => {
            let image = |pod: &Pod| pod.spec.container(CONTAINER).map(|container| container.image.clone());
            let wanted =
                cluster.manager_container().map(|container| container.image.clone()).or_else(|| image(pod));
            for old in cluster.manager_pods().filter(|other| image(other) != wanted) {
                let away = old.metadata.is_deleting()
                    || nodes::kube_ready(cluster, &old.spec.node_name) == Some(false);
                let name = if away { Name::Pod } else { Name::Manager };
                finding = finding.with(name, old.metadata.name.to_string());
            }
            finding
        }
        _ => finding,
    }
}

fn last_log(namespace: &str, pod: &Pod) -> String {
    format!("kubectl -n {namespace} logs {} -c {CONTAINER} --previous --tail=100", pod.metadata.name)
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

/// 1.10 reads both forms, so neither way loses a value.
fn plain_settings(cluster: &Cluster) -> Remedy {
    let namespace = &cluster.namespace;
    let remedy = Remedy::new(
        "Managers of 1.10 or later were here and wrote these settings. Where 1.10 is the aim, go on with the upgrade: it reads them, and \
         these managers serve their webhook between two ends. To stay on this release, give each the plain value that it has for v1 (a \
         refused patch means that no manager is serving the webhook at the moment: repeat it).",
    )
    .read(format!("kubectl -n {namespace} get settings.longhorn.io"));
    facts::by_engine(cluster).fold(remedy, |remedy, (name, value)| {
        let patch = serde_json::json!({ "value": value });
        remedy.change(format!(
            "kubectl -n {namespace} patch settings.longhorn.io {name} --type merge -p '{patch}'"
        ))
    })
}

/// A container without a limit of its own is killed when its node has no memory left.
fn without_limit(cluster: &Cluster, pod: &Pod) -> Remedy {
    let Some(limit) = pod.spec.container(CONTAINER).and_then(Container::memory_limit) else {
        return Remedy::default();
    };
    let text = format!(
        "Raise or remove the memory limit of {limit} of container longhorn-manager; Longhorn ships none."
    );
    installation::change_managers(
        cluster,
        &text,
        &serde_json::json!({ "resources": { "limits": { "memory": null } } }),
    )
}

/// The one refusal that only the log has: the image has a program for another processor.
fn for_other_machines(pod: &Pod) -> Remedy {
    let node = &pod.spec.node_name;
    Remedy::new(format!(
        "The image holds a program for another processor than that of node {node}: give the registry images for both, as Longhorn's own \
         tags have, and take care with digests and mirrors of one platform. Where the node has the wrong one in its cache, remove it there.",
    ))
    .read(format!("kubectl get node {node} -o jsonpath='{{.status.nodeInfo.architecture}}'"))
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
        .read(format!("ssh {node} 'findmnt -O noexec -o TARGET,OPTIONS'"))
        .read(describe)
        .change(format!("ssh {node} 'sudo mount -o remount,exec /var'"));
    }
    Remedy::default()
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
    // no patch is taken before a manager serves the webhook
    if endpoints::of(cluster, "longhorn-admission-webhook").is_some_and(|endpoints| endpoints.ready == 0) {
        remedy = remedy.read(format!("kubectl -n {namespace} get pods -l app=longhorn-manager -o wide"));
    }
    for node in cluster.objects.longhorn_nodes.iter().filter(|node| eviction::is_requested(node)) {
        let (name, disks) = (&node.metadata.name, eviction::requested_disks(node));
        remedy = remedy
            .change(eviction::patch_requests(namespace, name, node.spec.eviction_requested, &disks, false));
    }
    remedy.read(copies)
}
