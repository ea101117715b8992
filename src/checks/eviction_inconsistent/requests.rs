//! Nodes and disks whose requests contradict what Longhorn can do about them.

use super::causes;
use jiff::SignedDuration;

use super::{Candidate, Reporter};
use crate::check::*;
use crate::facts::eviction::*;
use crate::facts::kubectl::quoted;
use crate::facts::nodes::{is_down, is_ready, manager_not_ready, ready_since};
use crate::longhorn::{LonghornNode, Resource, SharedText, condition};

pub fn look(cluster: &Cluster, found: &mut Reporter) {
    let images = images_by_disk(cluster);
    for disk in evicting_disks(cluster) {
        let copies = images.get(disk.uuid()).map_or(0, Vec::len);
        found.extend(suspended(cluster, &disk, copies));
        found.extend(hidden(cluster, &disk));
    }
    for node in cluster.objects.longhorn_nodes.iter() {
        scheduling_allowed(cluster, node, found);
        found.extend(disk_keys(cluster, node));
        found.extend(auto_evicting(cluster, node));
    }
}

fn object(cluster: &Cluster, node: &LonghornNode) -> ObjectRef {
    cluster.object::<LonghornNode>(&node.metadata.name)
}

/// longhorn-manager v1.12.1 controller/node_controller.go shouldEvictReplica: no replica of a node
/// that is down is asked to leave.
fn suspended(cluster: &Cluster, disk: &EvictingDisk, copies: usize) -> Option<Candidate> {
    let name = disk.node.metadata.name.as_str();
    let replicas = disk.replicas(cluster);
    if !disk.request.is_manual() || !is_down(disk.node) || replicas.len() + copies == 0 {
        return None;
    }
    let ready = condition(&disk.node.status.conditions, "Ready")?;
    let message = format!("eviction of disk {} on {name} is suspended: the node is down", disk.name);
    let left = format!(
        "the disk still holds {} and {}",
        counted(replicas.len(), "replica"),
        counted(copies, "backing image copy")
    );
    Some(
        Candidate::new(&causes::SUSPENDED_NODE_DOWN, object(cluster, disk.node), message)
            .at(name, disk.name)
            .volumes(volumes(cluster, &replicas))
            .fact(left)
            .fact(format!("node {name}: condition Ready is False, reason {}", ready.reason))
            .fact(format!("evictionRequested is true on {}", requests(disk.node)))
            .impact("replicas stay on the disk, and Longhorn reports no error. Removing the node or disk now loses them")
            .not_before(ready.last_transition_time.get()),
    )
}

/// longhorn-manager v1.12.1 controller/node_controller.go updateDiskStatusSchedulableCondition.
fn hidden(cluster: &Cluster, disk: &EvictingDisk) -> Option<Candidate> {
    let replicas = disk.replicas(cluster);
    if is_down(disk.node) || !disk.hides_replicas() || replicas.is_empty() {
        return None;
    }
    let name = disk.node.metadata.name.as_str();
    let ready = disk.status.and_then(|status| condition(&status.conditions, "Ready"));
    let message = format!(
        "disk {} on {name} looks empty but still holds {}",
        disk.name,
        counted(replicas.len(), "replica")
    );
    Some(
        Candidate::new(&causes::DISK_NOT_READY_HIDES_REPLICAS, object(cluster, disk.node), message)
            .at(name, disk.name)
            .volumes(volumes(cluster, &replicas))
            .fact(format!(
                "status.diskStatus of {}: Ready is {} ({}), scheduledReplica is empty (replicas are counted by spec.diskID)",
                disk.name,
                ready.map_or("absent", |ready| ready.status.as_str()),
                ready.map_or("", |ready| ready.reason.as_str()),
            ))
            .impact("the disk's replicas stay on it, although its status lists no replicas")
            .with(Name::Key, disk.uuid())
            .not_before(
                ready.and_then(|ready| ready.last_transition_time.get()).max(ready_since(cluster, name)),
            ),
    )
}

/// longhorn-manager v1.3.3 and later webhook/resources/node/validator.go refuses this.
fn scheduling_allowed(cluster: &Cluster, node: &LonghornNode, found: &mut Reporter) {
    let name = node.metadata.name.as_str();
    let own = (node.spec.eviction_requested && node.spec.allow_scheduling).then_some("");
    let disks = node.spec.disks.iter().filter(|(_, disk)| disk.eviction_requested && disk.allow_scheduling);
    for disk in own.into_iter().chain(disks.map(|(name, _)| name.as_str())) {
        let what = if disk.is_empty() { format!("node {name}") } else { format!("disk {disk} on {name}") };
        let off = match disk {
            "" => serde_json::json!({ "spec": { "allowScheduling": false } }),
            disk => serde_json::json!({ "spec": { "disks": { disk: { "allowScheduling": false } } } }),
        };
        found.push(
            Candidate::new(
                &causes::SCHEDULING_STILL_ALLOWED,
                object(cluster, node),
                format!("{what} is being evicted but still accepts new replicas"),
            )
            .at(name, disk)
            .fact(format!(
                "{what}: evictionRequested and allowScheduling are both true. The webhook rejects that, so the request is older than the webhook or \
                     bypassed it"
            ))
            .impact("replicas leave and return, so eviction may never end. The webhook may reject node updates that new instance managers need")
            .with(Name::Value, quoted(&off))
            .after(SignedDuration::from_mins(1)),
        );
    }
}

/// longhorn-manager v1.4.4 and later webhook/resources/node/validator.go isNodeDiskSpecAndStatusSynced. A disk that was just added
/// has its status after the next round of the disk monitor, within half a minute (controller/node_controller.go
/// syncDiskStatus).
fn disk_keys(cluster: &Cluster, node: &LonghornNode) -> Option<Candidate> {
    let (spec, status) = (&node.spec.disks, &node.status.disk_status);
    let only =
        |names: Vec<&SharedText>| names.into_iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    let new = only(spec.keys().filter(|name| !status.contains_key(name)).collect());
    let old = only(status.keys().filter(|name| !spec.contains_key(name)).collect());
    if (new.is_empty() && old.is_empty()) || is_down(node) {
        return None;
    }
    let name = node.metadata.name.as_str();
    let works = is_ready(cluster, name) && manager_not_ready(cluster, name).is_none();
    let list = |disks: &str| if disks.is_empty() { "none".to_owned() } else { disks.to_owned() };
    Some(
        Candidate::new(
            &causes::DISK_KEYS_DIFFER,
            object(cluster, node),
            format!("{name}'s spec and status list different disks, so the webhook rejects its changes"),
        )
        .at(name, "")
        .fact(format!("disks only in spec.disks: {}. Only in status.diskStatus: {}", list(&new), list(&old)))
        .passes(works && spec.keys().any(|name| status.contains_key(name)))
        .maybe(manager_not_ready(cluster, name))
        .impact("eviction on this node cannot be requested or cancelled")
        .not_before(node.metadata.created()),
    )
}

/// longhorn-manager v1.12.1 controller/node_controller.go syncReplicaEvictionRequested sets it again
/// in every round.
fn auto_evicting(cluster: &Cluster, node: &LonghornNode) -> Option<Candidate> {
    let name = node.metadata.name.as_str();
    let kube = cluster.objects.kube_nodes.get(name)?;
    if !node.status.auto_evicting || kube.spec.unschedulable || !cluster.can_read(Resource::KubeNodes) {
        return None;
    }
    Some(
        Candidate::new(
            &causes::AUTO_EVICTING_STALE,
            object(cluster, node),
            format!("node {name} reports automatic eviction, but it is no longer cordoned"),
        )
        .at(name, "")
        .fact("the Longhorn node's status.autoEvicting is true, but the Kubernetes node's spec.unschedulable is not")
        .maybe(manager_not_ready(cluster, name))
        .impact("evictions may continue although the node is no longer cordoned: its manager is not working"),
    )
}
