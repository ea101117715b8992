//! Which incident is told first: the worst; among those the one with data at stake, then the one that
//! reaches furthest, then the oldest.

use std::cmp::Reverse;

use jiff::Timestamp;

use super::group::Group;
use crate::check::{Finding, Severity};
use crate::longhorn::VolumeHealth;

/// Sorts incidents.
pub type Key = (Reverse<Severity>, Reverse<bool>, Reverse<usize>, Reverse<usize>, Timestamp, usize);

/// The key of a group. `nodes` is how far something reaches that is bound to no node.
pub fn key(findings: &[Finding], group: &Group, nodes: usize) -> Key {
    let members = || group.roots.iter().chain(&group.consequences).filter_map(|place| findings.get(*place));
    let severity = members().map(|finding| finding.severity).max().unwrap_or(Severity::Info);
    let hurt = |health: VolumeHealth| {
        let mut names: Vec<&str> = members()
            .flat_map(|finding| &finding.volumes)
            .filter(|volume| volume.robustness == Some(health))
            .map(|volume| volume.name.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    };
    let faulted = hurt(VolumeHealth::Faulted);
    let mut places: Vec<&str> = members().filter_map(|finding| finding.node.as_deref()).collect();
    places.sort_unstable();
    places.dedup();
    let roots = || group.roots.iter().filter_map(|place| findings.get(*place));
    let reach = if roots().any(|root| root.node.is_none()) { nodes.max(places.len()) } else { places.len() };
    let since = roots().filter_map(|root| root.since).min().unwrap_or(Timestamp::MAX);
    let place = group.roots.first().copied().unwrap_or(usize::MAX);
    let degraded = hurt(VolumeHealth::Degraded);
    (Reverse(severity), Reverse(faulted > 0), Reverse(reach), Reverse(faulted + degraded), since, place)
}
