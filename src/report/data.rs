//! Whose data is hurt: the second line of every output.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::check::{VolumeRef, counted};
use crate::cluster::Cluster;
use crate::longhorn::{Resource, VolumeHealth};

/// This many faulted and this many degraded volumes are listed in the report.
const MAX_LISTED: usize = 100;
/// The number of volumes that are named in a line.
const MAX_NAMED: usize = 5;

/// Volumes whose data is at stake. The counts are under `cluster.volumes_by_robustness`.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Data {
    /// False where volumes cannot be read: nothing is known about data then.
    pub known: bool,
    /// Faulted volumes, at most 100.
    pub faulted: Vec<VolumeRef>,
    /// Degraded volumes, at most 100.
    pub degraded: Vec<VolumeRef>,
    /// One sentence about all volumes, the hurt ones by claim.
    pub line: String,
}

/// Volumes by how they are; every word is there, also with none.
pub type Counts = BTreeMap<&'static str, usize>;

/// How the data of the cluster is.
pub fn of(cluster: &Cluster) -> (Counts, Data) {
    let mut counts: Counts = VolumeHealth::ALL.map(|health| (health.as_str(), 0)).into();
    let (mut faulted, mut degraded) = (Vec::new(), Vec::new());
    for volume in cluster.objects.volumes.iter() {
        let health = volume.status.health();
        *counts.entry(health.as_str()).or_default() += 1;
        let list = match health {
            VolumeHealth::Faulted => &mut faulted,
            VolumeHealth::Degraded => &mut degraded,
            _ => continue,
        };
        if list.len() < MAX_LISTED {
            list.push(cluster.volume_ref(&volume.metadata.name));
        }
    }
    let known = cluster.can_read(Resource::Volumes) && cluster.absence().is_none();
    let line = if known { line(&counts, &faulted, &degraded) } else { NOT_KNOWN.to_owned() };
    (counts, Data { known, faulted, degraded, line })
}

const NOT_KNOWN: &str = "not known: volumes could not be read";

fn line(counts: &Counts, faulted: &[VolumeRef], degraded: &[VolumeRef]) -> String {
    let count = |health: VolumeHealth| counts.get(health.as_str()).copied().unwrap_or_default();
    let mut parts = Vec::new();
    for (health, volumes) in [(VolumeHealth::Faulted, faulted), (VolumeHealth::Degraded, degraded)] {
        let number = count(health);
        if number > 0 {
            let what = if parts.is_empty() { counted(number, "volume") } else { number.to_string() };
            parts.push(format!("{what} {}: {}", health.as_str(), named(volumes, number)));
        }
    }
    if !parts.is_empty() {
        return parts.join(" · ");
    }
    let rest = [VolumeHealth::Healthy, VolumeHealth::Detached, VolumeHealth::Unknown];
    for health in rest.into_iter().filter(|health| count(*health) > 0) {
        let number = count(health);
        let what = if parts.is_empty() { counted(number, "volume") } else { number.to_string() };
        parts.push(format!("{what} {}", health.as_str()));
    }
    if parts.is_empty() { "no volumes".to_owned() } else { parts.join(", ") }
}

fn named(volumes: &[VolumeRef], number: usize) -> String {
    let mut names: Vec<&str> = volumes.iter().map(VolumeRef::called).collect();
    names.sort_unstable();
    names.truncate(MAX_NAMED);
    let more = number.saturating_sub(names.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    names.join(", ") + &more
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MANAGER, cluster};

    fn volume(name: &str, claim: &str, state: &str, robustness: &str) -> String {
        format!(
            "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{name: {name}, namespace: longhorn-system}}\n\
             status: {{state: {state}, robustness: {robustness}, kubernetesStatus: {{namespace: db, pvcName: {claim}}}}}\n---\n"
        )
    }

    fn line_of(volumes: &[String]) -> String {
        of(&cluster(&(MANAGER.to_owned() + &volumes.concat()))).1.line
    }

    #[test]
    fn hurt_claims_are_named_and_the_faulted_ones_come_first() {
        let hurt = [
            volume("a", "wal", "attached", "degraded"),
            volume("b", "data", "detached", "faulted"),
            volume("c", "logs", "attached", "healthy"),
        ];
        assert_eq!(line_of(&hurt), "1 volume faulted: db/data · 1 degraded: db/wal");
    }

    #[test]
    fn a_detached_volume_is_called_detached() {
        let quiet = [volume("a", "x", "attached", "healthy"), volume("b", "z", "detached", "unknown")];
        assert_eq!(line_of(&quiet), "1 volume healthy, 1 detached");
        assert_eq!(line_of(&[]), "no volumes");
    }

    #[test]
    fn many_are_counted() {
        let many: Vec<_> = (0..8)
            .map(|number| volume(&format!("v{number}"), &format!("c{number}"), "attached", "degraded"))
            .collect();
        assert_eq!(line_of(&many), "8 volumes degraded: db/c0, db/c1, db/c2, db/c3, db/c4 and 3 more");
    }

    #[test]
    fn volumes_that_cannot_be_read_are_not_known() {
        let (_, data) = of(&cluster(""));
        assert!(!data.known);
        assert_eq!(data.line, NOT_KNOWN);
    }
}
