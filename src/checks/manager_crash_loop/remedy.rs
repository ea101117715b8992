//! What to do about a manager that crash-loops, where objects of this cluster have to be named that no template names.

use super::diagnosis::CrashedManager;
use super::{CONTAINER, causes, facts, kubelet};
use crate::check::*;
use crate::facts::{endpoints, eviction, installation, known_issues, nodes};
use crate::longhorn::{Container, Pod, Release};

/// The remedy of a cause in this cluster; what it leaves out is that of the way or the cause.
pub(super) fn remedy(case: &CrashedManager, cause: &Cause, source: EvidenceSource) -> Remedy {
    let (cluster, pod, release) = (case.cluster, case.pod, case.release);
    match *cause {
        causes::CONTAINER_CANNOT_START if source == EvidenceSource::Event => kubelet::without_hook(cluster),
        causes::BACKING_IMAGE_EVICTION_PANIC => stop_evictions(cluster, release),
        causes::UPGRADE_PATH => release
            .and_then(|to| Some(installation::back_to(cluster, installation::refused_step(cluster, to)?, to)))
            .unwrap_or_default(),
        causes::CRD_MISMATCH => {
            causes::to_one_release(cluster, pod, true, "CRDs and manager are from different releases.")
        }
        causes::MANIFEST_STALE => {
            causes::to_one_release(cluster, pod, false, "Image and manifest are from different releases.")
        }
        causes::KNOWN_PANIC => {
            let remedy = case.issue.zip(release).map(|(issue, release)| issue.remedy(cluster, release));
            remedy.map_or_else(Remedy::default, |remedy| {
                let (namespace, name) = (&cluster.namespace, &pod.metadata.name);
                remedy
                    .read(format!("kubectl -n {namespace} logs {name} -c {CONTAINER} --previous --tail=100"))
            })
        }
        causes::PROBE_KILLED => kubelet::without(cluster, pod),
        causes::OOM_KILLED => without_limit(cluster, pod),
        _ => Remedy::default(),
    }
}

/// What templates name of managers of another release. Old are the pods whose image is not that of the DaemonSet; by force goes
/// what a node that is away cannot end any more.
pub(super) fn old_managers(cluster: &Cluster, pod: &Pod) -> Vec<(Name, String)> {
    let image = |pod: &Pod| pod.spec.container(CONTAINER).map(|container| container.image.clone());
    let wanted = cluster.manager_container().map(|container| container.image.clone()).or_else(|| image(pod));
    let old = cluster.manager_pods().filter(|other| image(other) != wanted);
    let named = old.map(|old| {
        let away =
            old.metadata.is_deleting() || nodes::kube_ready(cluster, &old.spec.node_name) == Some(false);
        (if away { Name::Pod } else { Name::Manager }, old.metadata.name.to_string())
    });
    named.collect()
}

/// 1.10 reads both forms, so neither way loses a value.
pub fn plain_settings(cluster: &Cluster) -> Remedy {
    let namespace = &cluster.namespace;
    let remedy = Remedy::new(
        "Continue the upgrade to 1.10 or later, whose settings have one value per data engine. To stay on this release, set each to its v1 \
         value. Repeat rejected patches.",
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
    if cluster.manager_container().is_some_and(|container| container.memory_limit().is_none()) {
        let namespace = &cluster.namespace;
        return Remedy::new(format!(
            "Remove the LimitRange or policy that limits longhorn-manager's memory ({limit}). Then restart the managers: existing pods keep the limit. \
             Until then, do not restart instance managers or drain nodes."
        ))
        .read(format!("kubectl -n {namespace} get limitranges -o yaml"))
        .change(format!("kubectl -n {namespace} rollout restart daemonset longhorn-manager"));
    }
    let text = format!(
        "Raise or remove the memory limit of container longhorn-manager ({limit}): Longhorn ships none."
    );
    installation::change_managers(
        cluster,
        &text,
        &serde_json::json!({ "resources": { "limits": { "memory": null } } }),
    )
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
        "Cancel every eviction (repeat rejected patches). Request evictions again only while every copy in a backing image's status is also in its \
         spec.{upgrade}"
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
