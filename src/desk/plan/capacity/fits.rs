//! Whether a new volume fits, and where its replicas go.

use schemars::JsonSchema;
use serde::Serialize;

use super::super::Found;
use super::super::scheduler::Spot;
use super::Room;
use crate::check::bytes;

/// How many disks say why they refuse.
pub const MAX_REFUSALS: usize = 50;

/// A disk of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Place {
    /// The Longhorn node.
    pub node: String,
    /// Name of the disk there.
    pub disk: String,
}

impl Place {
    /// Of a disk that takes a replica.
    pub fn of(spot: &Spot<'_>) -> Self {
        Place { node: spot.node.metadata.name.to_string(), disk: spot.disk.to_string() }
    }
}

/// Says which replica finds no disk, and why each disk refuses it.
pub fn does_not_fit(room: &Room<'_>, out: &mut Found) {
    let Some(wanted) = room.wanted else { return };
    if let Some(setting) = wanted.disabled(room.cluster) {
        out.say(format!("setting {setting} is false, so Longhorn rejects new volumes of that data engine"));
        return;
    }
    let (placed, refusals) = &room.placed;
    let (found, all) = (placed.len(), wanted.replicas());
    if found >= all {
        return;
    }
    let text = match found {
        0 => format!("no disk can take a replica of {}", bytes(wanted.size)),
        _ => format!("disks can take only {found} of {all} replicas"),
    };
    let reason = out.say(text);
    // what comes nearest to taking it is read first
    let mut refusals: Vec<_> = refusals.iter().collect();
    refusals.sort_by_key(|refusal| std::cmp::Reverse(refusal.obstacle));
    for refusal in refusals.iter().take(MAX_REFUSALS) {
        reason.fact(refusal.text.clone());
    }
    if let Some(more @ 1..) = refusals.len().checked_sub(MAX_REFUSALS) {
        reason.fact(format!("and {more} more"));
    }
}
