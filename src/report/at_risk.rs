//! What is lost with what, counted at each evaluation; `/plan/loss` says the rest.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::check::VolumeRef;
use crate::cluster::Cluster;
use crate::longhorn::{Resource, VolumeHealth};
use crate::redundancy::{Shared, is_promised_otherwise, shared, zones};
use crate::word_enum::word_enum;

/// This many volumes of each line are listed in the report.
const MAX_LISTED: usize = 20;

/// What has to be read.
const NEEDS: &[Resource] =
    &[Resource::Volumes, Resource::Replicas, Resource::LonghornNodes, Resource::Settings];

word_enum! {
    /// With what all healthy copies of a volume are lost, the narrowest of it.
    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Place {
        /// There is one copy.
        Copy = "copy",
        /// Several on one disk.
        Disk = "disk",
        /// Several on one node.
        Node = "node",
        /// Several in one zone, where others are.
        Zone = "zone",
    }
}

impl Place {
    /// Where copies are together.
    pub fn with(self) -> &'static str {
        match self {
            Place::Copy => "in one",
            Place::Disk => "on one disk",
            Place::Node => "on one node",
            Place::Zone => "in one zone",
        }
    }
}

/// Volumes that are lost with one of something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AtRisk {
    /// With one of what.
    pub place: Place,
    /// True where volume or settings promise that this is not so: more copies are asked for, or the copies may not be together. False
    /// where it was chosen.
    pub promised: bool,
    /// How many volumes.
    pub count: usize,
    /// What they hold, in bytes (status.actualSize).
    pub bytes: i64,
    /// The first 20 of them where something is promised; none otherwise.
    pub volumes: Vec<VolumeRef>,
}

/// All volumes whose healthy copies are lost with one of something. A volume that is attached and asks for more than its one copy is left
/// out: how it recovers is told with the hurt ones. `None` where what decides could not be read.
pub fn of(cluster: &Cluster) -> Option<Vec<AtRisk>> {
    if NEEDS.iter().any(|kind| !cluster.can_read(*kind) || !cluster.decoded_all(*kind))
        || cluster.absence().is_some()
    {
        return None;
    }
    let zones = zones(cluster);
    let mut found: BTreeMap<(bool, Place), AtRisk> = BTreeMap::new();
    for volume in cluster.objects.volumes.iter() {
        let Some(shared) = shared(cluster, &zones, volume) else { continue };
        let promised = is_promised_otherwise(cluster, volume, shared);
        let place = match shared {
            Shared::Copy(_) if promised && volume.status.health() != VolumeHealth::Detached => continue,
            Shared::Copy(_) => Place::Copy,
            Shared::Disk(_) => Place::Disk,
            Shared::Node(_) => Place::Node,
            Shared::Zone(_) => Place::Zone,
        };
        let none = || AtRisk { place, promised, count: 0, bytes: 0, volumes: Vec::new() };
        let alike = found.entry((!promised, place)).or_insert_with(none);
        alike.count += 1;
        alike.bytes = alike.bytes.saturating_add(volume.status.actual_size.0.max(0));
        if promised && alike.volumes.len() < MAX_LISTED {
            alike.volumes.push(cluster.volume_ref(&volume.metadata.name));
        }
    }
    Some(found.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MANAGER, cluster};

    const NODES: &str = "apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {name: n1, namespace: longhorn-system}\nstatus: {zone: a}\n---\n\
         apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {name: n2, namespace: longhorn-system}\nstatus: {zone: a}\n---\n\
         apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {name: n3, namespace: longhorn-system}\nstatus: {zone: b}\n---\n";

    fn setting(name: &str, value: &str) -> String {
        format!(
            "apiVersion: longhorn.io/v1beta2\nkind: Setting\nmetadata: {{name: {name}, namespace: longhorn-system}}\n\
             value: '{value}'\n---\n"
        )
    }

    /// A volume that asks for so many copies, with healthy ones on these disks, as `node/disk`.
    fn volume(name: &str, wanted: usize, state: &str, copies: &[&str]) -> String {
        let robustness = if state == "detached" { "unknown" } else { "healthy" };
        let mut text = format!(
            "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{name: {name}, namespace: longhorn-system}}\n\
             spec: {{numberOfReplicas: {wanted}}}\n\
             status: {{state: {state}, robustness: {robustness}, actualSize: '10', \
             kubernetesStatus: {{namespace: db, pvcName: {name}}}}}\n---\n"
        );
        for (number, copy) in copies.iter().enumerate() {
            let (node, disk) = copy.split_once('/').unwrap();
            text += &format!(
                "apiVersion: longhorn.io/v1beta2\nkind: Replica\nmetadata: {{name: {name}-{number}, namespace: longhorn-system}}\n\
                 spec: {{volumeName: {name}, nodeID: {node}, diskID: {disk}, active: true, healthyAt: '2026-01-01T00:00:00Z'}}\n---\n"
            );
        }
        text
    }

    /// `place promised count`, of each line.
    fn lines(objects: &[String]) -> Vec<String> {
        let usual = setting("replica-soft-anti-affinity", "false");
        let found = of(&cluster(&(MANAGER.to_owned() + NODES + &usual + &objects.concat()))).unwrap();
        let line =
            |one: &AtRisk| format!("{} {} {} {}", one.place.as_str(), one.promised, one.count, one.bytes);
        found.iter().map(line).collect()
    }

    #[test]
    fn copies_that_are_apart_are_no_risk() {
        assert!(lines(&[volume("a", 2, "attached", &["n1/d1", "n3/d3"])]).is_empty());
        // two zones are there, and a third copy is in the other
        assert!(lines(&[volume("a", 3, "attached", &["n1/d1", "n2/d2", "n3/d3"])]).is_empty());
        // a volume without a healthy copy is faulted, or was never up: told elsewhere
        assert!(lines(&[volume("a", 2, "detached", &[])]).is_empty());
    }

    #[test]
    fn what_is_shared_is_told_with_what_was_promised() {
        let together = [
            volume("disk", 2, "attached", &["n1/d1", "n1/d1"]),
            volume("node", 2, "attached", &["n1/d1", "n1/d2"]),
            volume("node-of-three", 3, "attached", &["n1/d1", "n1/d2", "n1/d1"]),
            volume("zone", 2, "attached", &["n1/d1", "n2/d2"]),
        ];
        assert_eq!(lines(&together), ["disk true 1 10", "node true 2 20", "zone false 1 10"]);
        let soft = [
            setting("replica-soft-anti-affinity", "true"),
            setting("replica-disk-soft-anti-affinity", "false"),
            setting("replica-zone-soft-anti-affinity", "false"),
        ];
        let chosen: Vec<String> = soft.into_iter().chain(together).collect();
        assert_eq!(lines(&chosen), ["disk true 1 10", "zone true 1 10", "node false 2 20"]);
    }

    #[test]
    fn a_volume_decides_for_itself() {
        let own = volume("node", 2, "attached", &["n1/d1", "n1/d2"])
            .replace("numberOfReplicas: 2", "numberOfReplicas: 2, replicaSoftAntiAffinity: enabled");
        assert_eq!(lines(&[own]), ["node false 1 10"]);
    }

    #[test]
    fn one_copy_counts_by_what_is_asked_for_and_once() {
        let volumes = [
            volume("chosen", 1, "attached", &["n1/d1"]),
            volume("asleep", 3, "detached", &["n1/d1"]),
            // attached, it is one of the hurt ones
            volume("degraded", 3, "attached", &["n1/d1"]),
        ];
        assert_eq!(lines(&volumes), ["copy true 1 10", "copy false 1 10"]);
    }

    #[test]
    fn without_what_decides_nothing_is_known() {
        assert_eq!(of(&cluster("")), None);
        let mut blind =
            cluster(&(MANAGER.to_owned() + NODES + &volume("a", 2, "attached", &["n1/d1", "n1/d1"])));
        for kind in NEEDS {
            let status = blind.resources.entry(*kind).or_default();
            let before = std::mem::replace(&mut status.readability, crate::cluster::Readability::Forbidden);
            assert_eq!(of(&blind), None, "{kind}");
            blind.resources.entry(*kind).or_default().readability = before;
        }
    }
}
