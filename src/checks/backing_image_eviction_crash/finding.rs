//! What is said about a copy, and what to do.

use super::causes;
use std::collections::BTreeMap;

use crate::check::*;
use crate::facts::eviction::{patch_requests, requested_disks, requests};
use crate::facts::stale_copies::{Exposure, StaleCopy};
use crate::longhorn::BackingImage;

/// What all findings of one evaluation share.
pub struct Words<'a> {
    cluster: &'a Cluster,
    /// Volumes that the manager of a node looks after, for the nodes with such a copy.
    owned: BTreeMap<&'a str, Vec<VolumeRef>>,
    /// How many such copies a node has.
    copies: BTreeMap<&'a str, usize>,
}

impl<'a> Words<'a> {
    /// Collects what is said about the nodes of these copies.
    pub fn new(cluster: &'a Cluster, pairs: &[StaleCopy<'a>]) -> Self {
        let mut copies = BTreeMap::new();
        let mut owned: BTreeMap<&str, Vec<VolumeRef>> = BTreeMap::new();
        for pair in pairs {
            *copies.entry(pair.node_name()).or_default() += 1;
            if pair.is_hit() {
                owned.entry(pair.node_name()).or_default();
            }
        }
        for volume in cluster.objects.volumes.iter() {
            if let Some(volumes) = owned.get_mut(volume.status.owner_id.as_str()) {
                volumes.push(cluster.volume_ref(&volume.metadata.name));
            }
        }
        Words { cluster, owned, copies }
    }

    /// The manager panics now, or at its next start.
    pub fn at_risk(&self, pair: &StaleCopy) -> Finding {
        let (node, image) = (pair.node_name(), pair.image.metadata.name.as_str());
        let volumes = self.owned.get(node).cloned().unwrap_or_default();
        let message =
            format!("eviction of {node} crashes its manager: backing image {image} has a stale copy");
        let impact = match volumes.len() {
            0 => format!("none yet: {node}'s manager keeps crashing but owns no volume"),
            _ => format!(
                "{} owned by {node}'s manager, which keeps crashing, cannot attach, detach, rebuild or be evicted. \
                 Running I/O continues",
                count(&volumes)
            ),
        };
        let mut finding =
            self.start(&causes::AT_RISK, pair, message).impact(impact).remedy(self.workaround(pair));
        finding.volumes = volumes;
        finding = finding.fact(format!(
            "nodes.longhorn.io {node}: evictionRequested is true on {}",
            requests(pair.place.node)
        ));
        match self.crashes(node) {
            Some(text) => finding.fact(text),
            None => finding,
        }
    }

    /// Nothing happens until someone requests eviction.
    pub fn latent(&self, pair: &StaleCopy) -> Finding {
        let (node, image) = (pair.node_name(), pair.image.metadata.name.as_str());
        let message = format!(
            "backing image {image} has a stale copy on disk {} of {node}: eviction would crash longhorn-manager",
            pair.place.name
        );
        self.start(&causes::LATENT, pair, message)
            .hypothetical(true)
            .impact("none until eviction is requested. Then the node's manager would keep crashing")
    }

    /// The normal moment between the two steps of removing a copy.
    pub fn transient(&self, pair: &StaleCopy) -> Finding {
        let (node, image) = (pair.node_name(), pair.image.metadata.name.as_str());
        let message = format!(
            "backing image {image} is removing its copy on disk {} of {node}: do not request eviction yet",
            pair.place.name
        );
        self.start(&causes::TRANSIENT, pair, message).impact("none")
    }

    fn start(&self, cause: &'static Cause, pair: &StaleCopy, message: String) -> Finding {
        let (node, image) = (pair.node_name(), pair.image.metadata.name.as_str());
        let object = self.cluster.object::<BackingImage>(image);
        let left = self.copies.get(node).copied().unwrap_or_default();
        Finding::about(cause, object, message)
            .node(node)
            .disk(pair.place.name)
            .with(Name::Value, scope(pair))
            .with(Name::Key, pair.uuid)
            .fact(format!(
                "backingimages.longhorn.io {image}: disk {} is in status.diskFileStatusMap (state {}) \
                     but not in spec.diskFileSpecMap",
                pair.uuid,
                pair.copy.state.as_str()
            ))
            .fact(release_fact(pair))
            .fact(format!(
                "do not evict {node} before this count is 0: {left} backing image {} in status but not in spec",
                if left == 1 { "copy on its disks is" } else { "copies on its disks are" }
            ))
    }

    /// Clears the requests that hit, waits, and sets the same requests again.
    fn workaround(&self, pair: &StaleCopy) -> Remedy {
        let (node, namespace) = (pair.place.node, self.cluster.namespace.as_str());
        let name = pair.node_name();
        let on_node = node.spec.eviction_requested;
        let disks: Vec<&str> = match pair.exposure() {
            Exposure::AnyDisk => requested_disks(node),
            _ => requested_disks(node).into_iter().filter(|disk| *disk == pair.place.name).collect(),
        };
        let list = causes::STATUS_ONLY.replace("<namespace>", namespace);
        let disks_of_node = node.status.disk_status.values().map(|disk| disk.disk_uuid.as_str());
        let uuids: Vec<_> = disks_of_node.filter(|uuid| !uuid.is_empty()).collect();
        Remedy::default()
        .change(patch_requests(namespace, name, on_node, &disks, false))
        // only the disks of this node count, and a list that fails is not an empty one
        .read(format!(
            "until copies=$({list}) && ! echo \"$copies\" | grep -E '{}'; do sleep 5; done; echo safe to resume",
            uuids.join("|")
        ))
        .change(patch_requests(namespace, name, on_node, &disks, true))
    }

    /// What the manager's pod shows of it.
    fn crashes(&self, node: &str) -> Option<String> {
        let pod = self.cluster.manager_pod_on(node)?;
        let container = pod.container_status("longhorn-manager")?;
        let terminated = container.state.terminated.as_ref().or(container.last_state.terminated.as_ref())?;
        let (name, code) = (&pod.metadata.name, terminated.exit_code);
        let panic = if code == 2 { " (a panic)" } else { "" };
        let ended = format!("pod {name}: container longhorn-manager ended with exit code {code}{panic}");
        Some(format!("{ended} after {}", counted(container.restart_count.0, "restart")))
    }
}

/// What eviction must not be requested of.
fn scope(pair: &StaleCopy) -> String {
    let node = pair.node_name();
    match pair.exposure() {
        Exposure::AnyDisk => format!("node {node} or any of its disks"),
        _ => format!("node {node} or its disk {}", pair.place.name),
    }
}

fn release_fact(pair: &StaleCopy) -> String {
    let release = pair.release.map(|release| release.to_string()).unwrap_or_default();
    match pair.exposure() {
        Exposure::AnyDisk => format!(
            "longhorn-manager {release} panics on backing image copies that spec lacks once eviction of their node or any disk there is \
             requested. Fixed in 1.7.4, 1.8.2, 1.9.1 and 1.10.0"
        ),
        _ => format!(
            "longhorn-manager {release} panics on backing image copies that spec lacks once eviction of their disk or node is requested. \
             Fixed in 1.8.2, 1.9.1 and 1.10.0, but not in 1.8.1, although announced"
        ),
    }
}

fn count(volumes: &[VolumeRef]) -> String {
    let noun = if volumes.len() == 1 { "volume" } else { "volumes" };
    let claims: Vec<_> = volumes.iter().filter_map(|volume| volume.pvc.as_deref()).collect();
    let named = claims.iter().take(3).copied().collect::<Vec<_>>().join(", ");
    match claims.len() {
        0 => format!("{} {noun}", volumes.len()),
        1..=3 => format!("{} {noun} (claims {named})", volumes.len()),
        more => format!("{} {noun} (claims {named} and {} more)", volumes.len(), more - 3),
    }
}
