//! Two figures that make a trend: how full the fullest disk is, and how large a replica still finds a place. They stay a few series however
//! many disks there are.
//!
//! Both are a greatest or n-th greatest of figures that change slowly, so they do not jump when another disk or node takes the lead.

use super::{FULLEST, ROOM};
use crate::check::*;
use crate::facts::placement::{DiskSpace, Rules, Taken, answers};
use crate::longhorn::{LonghornNode, Resource, Volume};

/// For so many nodes the room is counted: Longhorn's default is three replicas, each on its own node.
const NODES: [&str; 3] = ["1", "2", "3"];

pub(super) fn run(cluster: &Cluster, out: &mut Outcome) {
    let nodes = &cluster.objects.longhorn_nodes;
    let disks = nodes.iter().flat_map(|node| node.status.disk_status.iter());
    let measured = disks.filter(|(_, disk)| disk.storage_maximum.0 > 0);
    let used = measured.map(|(_, disk)| {
        let maximum = disk.storage_maximum.0;
        maximum.saturating_sub(disk.storage_available.0) as f64 / maximum as f64
    });
    if let Some(most) = used.max_by(f64::total_cmp) {
        out.sample(&FULLEST, &[], most.clamp(0.0, 1.0));
    }
    if !cluster.can_read(Resource::Settings) {
        return;
    }
    let any = Volume::default();
    let rules = Rules::in_figures(cluster, &any);
    let mut rooms: Vec<i64> = nodes.iter().map(|node| room(node, &any, &rules)).collect();
    rooms.sort_unstable_by(|one, other| other.cmp(one));
    let rooms = rooms.into_iter().chain(std::iter::repeat(0));
    for (nodes, room) in NODES.into_iter().zip(rooms) {
        out.sample(&ROOM, &[nodes], room as f64);
    }
}

/// The largest replica that a disk of the node takes, in bytes; 0 where none does.
fn room(node: &LonghornNode, any: &Volume, rules: &Rules) -> i64 {
    let taken = Taken::default();
    let open = answers(node, any, rules, &taken).filter(|answer| answer.refusal.is_none());
    let rooms = open.filter_map(|answer| {
        let disk = answer.disk?;
        let space = rules.space(node.spec.disks.get(disk)?, node.status.disk_status.get(disk)?);
        space.as_ref().map(DiskSpace::left)
    });
    rooms.max().unwrap_or(0)
}
