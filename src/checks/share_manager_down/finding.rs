//! What is told about a share manager.

use super::{Share, WINDOW, backend, causes};
use crate::check::*;
use crate::cluster::Readability;
use crate::facts::age::Age;
use crate::facts::{api, looping, nodes, not_started, pods, text};
use crate::longhorn::{ConditionStatus, Container, Pod, PodPhase, ShareManager, VolumeState, condition};

/// The volume is not served.
pub(super) fn down(cluster: &Cluster, share: &Share, age: &Age) -> Finding {
    let (manager, volume) = (share.manager, share.volume);
    let name = &manager.metadata.name;
    let cause = cause(cluster, share);
    let refused = share.refused(cluster).filter(|_| cause == &causes::POD_NOT_STARTED);
    let has_pod = [&causes::POD_FAILED, &causes::NOT_SERVING].contains(&cause);
    let unmounted = share.unmounted(cluster).filter(|_| has_pod);
    let way = refused.map(|refused| refused.way).or(unmounted.map(|(way, _)| way));
    let on = share.pod.filter(|_| cause == &causes::NOT_SERVING).map(|pod| pod.spec.node_name.as_str());
    let way = way.or_else(|| on.and_then(|node| multipath(cluster, node)).map(|_| &causes::MULTIPATHD));
    let missing = [&causes::POD_MISSING, &causes::POD_REJECTED].contains(&cause);
    let not_created = not_created(cluster, share).filter(|_| missing);
    let secret = not_created.and_then(missing_secret);
    let way = way.or(secret.map(|_| &causes::SECRET_MISSING));
    let way = way.or(not_created.and_then(not_started::way_of));
    let limit = share.pod.and_then(limited).filter(|_| cause == &causes::POD_FAILED);
    let way = way.or(limit.as_ref().map(|_| &causes::LIMITED));
    let why = way.map_or(cause.meaning, |way| way.briefly);
    let finding =
        about(cluster, share, cause, format!("RWX {} is unavailable: {why}", whose(cluster, share)))
            .way(way)
            .since(age.since)
            .impact("every pod that uses the claim hangs on reads and writes. New pods cannot start.");
    let owner = &manager.status.owner_id;
    let robustness = volume.status.robustness.as_str();
    let pod = match share.pod {
        None => api(format!("pod share-manager-{name} does not exist")),
        Some(pod) => {
            let why = pods::trouble(pod).unwrap_or_else(|| "Ready".to_owned());
            api(format!("pod share-manager-{name} on {}: {why}", pod.spec.node_name)).quoting(pods::said(pod))
        }
    };
    finding
        .fact(format!("share manager {name}: state {}, owner {owner}", manager.status.state.as_str()))
        .fact(format!("volume {name}: state {}, robustness {robustness}", volume.status.state.as_str()))
        .fact(pod)
        .facts((cause == &causes::SERVICE_MISSING).then(|| format!("Service {name} does not exist")))
        .facts(unmounted.map(|(_, line)| {
            EvidenceSource::Log.says(format!("the server's log says: {}", text::quoted(line))).quoting(line)
        }))
        .facts(not_created.map(|line| {
            EvidenceSource::Log
                .says(format!("the log of {owner}'s manager says: {}", text::quoted(line)))
                .quoting(line)
        }))
        .named(secret.map(|name| (Name::Key, name.to_owned())))
        .named(limit.map(|limit| (Name::Value, limit)))
        .facts(remounts(share))
        .facts(share.pod.and_then(|pod| nodes::down(cluster, &pod.spec.node_name)))
        .facts(share.pod.and_then(|pod| multipath(cluster, &pod.spec.node_name)))
        .facts(nodes::manager_not_ready(cluster, owner))
        .fact(age.evidence())
}

fn remounts(share: &Share) -> Option<Evidence> {
    let (times, since) = share.remounts?;
    let text = format!("Longhorn has requested {} of the volume since {since}", counted(times, "remount"));
    Some(EvidenceSource::Event.says(text))
}

/// What its manager logged last of a pod that it could not create: no object says so (longhorn-manager v1.3.3 to v1.12.1
/// controller/share_manager_controller.go syncShareManagerPod).
fn not_created<'a>(cluster: &'a Cluster, share: &Share) -> Option<&'a str> {
    let log = cluster
        .history
        .current_log(cluster.manager_pod_on(&share.manager.status.owner_id)?, "longhorn-manager")?;
    let tells = |line: &&str| {
        line.contains("failed to create pod for share manager")
            && line.contains(&*share.manager.metadata.name)
    };
    log.text.lines().rfind(tells)
}

/// The Secret with the passphrase of an encrypted volume, where the API server has none of that name: `secrets "NAME" not found`, with
/// quotes that the log escapes.
fn missing_secret(line: &str) -> Option<&str> {
    let mut quoted = line.split_once("secrets ")?.1.splitn(3, '"');
    let (name, rest) = (quoted.nth(1)?, quoted.next()?);
    rest.starts_with(" not found").then_some(name.trim_end_matches('\\'))
}

/// That multipathd may hold the device that the server is to mount (from 1.6 on; Longhorn's KB troubleshooting-volume-with-multipath).
fn multipath(cluster: &Cluster, node: &str) -> Option<String> {
    let node = cluster.objects.longhorn_nodes.get(node)?;
    let seen = condition(&node.status.conditions, "Multipathd")?;
    (seen.status == ConditionStatus::False).then(|| {
        format!(
            "multipathd is running on {}, so it probably holds the device if the log says `already mounted or mount point busy`",
            node.metadata.name
        )
    })
}

/// The memory limit at which the server was OOM-killed. Longhorn sets none (longhorn-manager v1.3.3 to v1.12.1
/// controller/share_manager_controller.go createPodManifest), so that it is from a LimitRange or policy.
fn limited(pod: &Pod) -> Option<String> {
    let mut ends = pod.status.container_statuses.iter().filter_map(looping::last_end);
    let limit = pod.spec.containers.iter().find_map(Container::memory_limit)?;
    ends.any(looping::is_oom_killed).then(|| limit.to_owned())
}

/// Replaced so often within [`WINDOW`], every five minutes, its clients hardly work any more: each time they wait for a minute or two.
const CONSTANTLY: usize = 6;

/// The volume is served, but not for long.
pub(super) fn restarting(cluster: &Cluster, share: &Share) -> Finding {
    let name = &share.manager.metadata.name;
    let times = format!("{} in {}", counted(share.replaced, "time"), text::duration(WINDOW));
    let whose = whose(cluster, share);
    let its = |gone: &&crate::history::GonePod| gone.last.metadata.name == format!("share-manager-{name}");
    let last = cluster.history.gone_pods().rfind(its);
    let limit = share.pod.and_then(limited).or_else(|| limited(&last?.last));
    let backend = backend::unsteady(cluster).filter(|_| limit.is_none());
    let message = match share.remounts {
        _ if let Some(limit) = &limit => {
            format!("the NFS server of {whose} keeps being OOM-killed at {limit}")
        }
        Some(_) => format!("the NFS server of {whose} keeps failing and being replaced"),
        None => format!("the NFS server of {whose} was replaced {times}"),
    };
    let cause = if limit.is_some() { &causes::OOM_KILLED } else { &causes::RESTARTING };
    let (source, seen) = match last {
        Some(_) => (EvidenceSource::History, "was replaced"),
        None => (EvidenceSource::Event, "was started and disappeared"),
    };
    let mut finding = about(cluster, share, cause, message)
        .impact("at each replacement, pods that use the claim hang for 1 to 2 min, and some restart")
        .fact(match remounts(share) {
            Some(remounts) => remounts,
            None => source.says(format!("pod share-manager-{name} {seen} {times}")),
        });
    if share.replaced < CONSTANTLY {
        finding = finding.severity(Severity::Warning);
    }
    let taken = share.pod.filter(|_| limit.is_none()).and_then(|pod| multipath(cluster, &pod.spec.node_name));
    finding = finding.way(taken.as_ref().map(|_| &causes::DEVICE_TAKEN)).facts(taken);
    if let Some(backend) = backend {
        finding = finding
            .way(backend.way)
            .with(Name::Release, backend.release.to_string())
            .fact(backend.fact)
            .fact(
                "the recovery backend, which the NFS server needs for every client, was restarted meanwhile",
            );
    }
    if let Some(last) = last {
        let why = pods::trouble(&last.last)
            .unwrap_or_else(|| "Ready until its end, so the pod was deleted or its lease expired".to_owned());
        finding = finding.fact(
            EvidenceSource::History
                .says(format!("the last replaced pod, on {}: {why}", last.last.spec.node_name)),
        );
    }
    if let Some(limit) = limit {
        let fact = format!(
            "a container of the server's pod was OOM-killed. Its memory limit, which Longhorn did not set, is {limit}, file cache included"
        );
        return finding.with(Name::Value, limit).fact(fact);
    }
    match share.pod.and_then(|pod| pod.spec.containers.iter().find_map(Container::memory_limit)) {
        Some(limit) => finding
            .fact(format!("the server's pod has a memory limit of {limit}, which includes its file cache")),
        None => finding,
    }
}

impl Share<'_> {
    /// The node whose manager looks after it.
    fn owner(&self) -> &str {
        let owner = self.manager.status.owner_id.as_str();
        if owner.is_empty() { "its node" } else { owner }
    }
}

fn whose(cluster: &Cluster, share: &Share) -> String {
    text::claims_of(&[cluster.volume_ref(&share.manager.metadata.name)])
}

fn about(cluster: &Cluster, share: &Share, cause: &'static Cause, message: String) -> Finding {
    let name = &share.manager.metadata.name;
    let node = share.pod.map_or(share.manager.status.owner_id.as_str(), |pod| &pod.spec.node_name);
    Finding::about(cause, cluster.object::<ShareManager>(name), message)
        .node(node)
        .volumes(vec![cluster.volume_ref(name)])
        .with(Name::Pod, share.pod.map_or("", |pod| pod.metadata.name.as_str()))
        .with(Name::Owner, share.owner())
}

/// Its Service, named as the volume, is created only with its pod (longhorn-manager v1.3.3 to v1.12.1
/// controller/share_manager_controller.go createShareManagerPod).
pub(super) fn lacks_service(cluster: &Cluster, share: &Share) -> bool {
    let has_service = cluster.objects.services.get(&share.manager.metadata.name).is_some();
    let lacks = share.manager.lacks_endpoint() && !has_service && share.pod.is_some_and(Pod::is_ready);
    lacks && cluster.readability(Resource::Services) == Readability::Readable
}

pub(super) fn cause(cluster: &Cluster, share: &Share) -> &'static Cause {
    let attached = share.volume.status.state == VolumeState::Attached;
    let Some(pod) = share.pod else {
        let on = &share.manager.status.owner_id;
        return match nodes::down(cluster, on) {
            Some(_) => &causes::NODE_DOWN,
            // its volume is attached for it, once it is there
            None if not_created(cluster, share).and_then(not_started::way_of).is_some() => {
                &causes::POD_REJECTED
            }
            None if !attached => &causes::VOLUME_NOT_ATTACHED,
            None => &causes::POD_MISSING,
        };
    };
    if nodes::down(cluster, &pod.spec.node_name).is_some() {
        return &causes::NODE_DOWN;
    }
    if lacks_service(cluster, share) {
        return &causes::SERVICE_MISSING;
    }
    match pod.status.phase {
        PodPhase::Failed | PodPhase::Succeeded => &causes::POD_FAILED,
        PodPhase::Pending => &causes::POD_NOT_STARTED,
        _ if !attached => &causes::VOLUME_NOT_ATTACHED,
        _ => &causes::NOT_SERVING,
    }
}
