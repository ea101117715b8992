//! What node-problem-detector reported lately, by node.
//!
//! Its Events pass client-go's correlator, which joins more than ten of a kind within ten minutes
//! into one and drops what exceeds a burst of 25 about one object (kubernetes/client-go
//! tools/record/events_cache.go). Counts are therefore lower bounds, while the last time of a joined
//! Event moves on.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::cluster::Cluster;
use crate::longhorn::{NodeEvent, NodeTrouble, Resource};

/// How far back Events count; the API server keeps them as long by default.
pub const RECENT: SignedDuration = SignedDuration::from_hours(1);
/// A shim that went this close to an iSCSI error of the node went with it.
pub const SAME_OUTAGE: SignedDuration = SignedDuration::from_mins(5);

pub struct IscsiReport<'a> {
    pub first: Timestamp,
    pub last: Timestamp,
    pub count: u64,
    pub message: &'a str,
    /// Read out of the logs of a node in a support bundle.
    pub from_bundle: bool,
}

/// What was reported about one node.
#[derive(Default)]
pub struct OfNode<'a> {
    pub iscsi: Vec<IscsiReport<'a>>,
    /// Only those near an iSCSI error.
    pub shims: Vec<IscsiReport<'a>>,
}

/// Nodes with iSCSI errors; a disconnected shim alone says nothing.
pub struct Reports<'a> {
    pub by_node: BTreeMap<&'a str, OfNode<'a>>,
}

impl<'a> Reports<'a> {
    /// Sorts the recent Events by node.
    pub fn of(cluster: &'a Cluster) -> Self {
        let mut by_node: BTreeMap<&str, OfNode> = BTreeMap::new();
        for event in cluster.objects.node_events.iter() {
            let node = node_of(event);
            let (Some(trouble), Some(last)) = (event.trouble(), event.last_seen()) else { continue };
            if cluster.age(last) > RECENT || node.is_empty() || is_not_longhorns(cluster, node) {
                continue;
            }
            let first = event.first_seen().unwrap_or(last).min(last);
            let report = IscsiReport {
                first,
                last,
                count: event.occurrences(),
                message: event.message.trim(),
                from_bundle: event.source.component == "support-bundle",
            };
            let of_node = by_node.entry(node).or_default();
            match trouble {
                NodeTrouble::IscsiConnError => of_node.iscsi.push(report),
                NodeTrouble::ShimDisconnected => of_node.shims.push(report),
            }
        }
        by_node.retain(|_, of_node| !of_node.iscsi.is_empty());
        by_node.values_mut().for_each(OfNode::keep_shims_near_errors);
        Reports { by_node }
    }
}

impl OfNode<'_> {
    fn keep_shims_near_errors(&mut self) {
        let mut errors: Vec<Timestamp> =
            self.iscsi.iter().flat_map(|report| [report.first, report.last]).collect();
        errors.sort();
        let near = |at: Timestamp| {
            let next = errors.partition_point(|error| *error < at);
            let around = [next.checked_sub(1), Some(next)];
            let mut around = around.into_iter().flatten().filter_map(|index| errors.get(index));
            around.any(|error| error.duration_since(at).abs() <= SAME_OUTAGE)
        };
        // of a joined Event only the first and the last moment are known
        self.shims.retain(|report| near(report.first) || near(report.last));
    }
}

/// First and last moment of some Events.
pub fn span(reports: &[IscsiReport]) -> Option<(Timestamp, Timestamp)> {
    let first = reports.iter().map(|report| report.first).min()?;
    Some((first, reports.iter().map(|report| report.last).max()?))
}

fn node_of(event: &NodeEvent) -> &str {
    match event.involved_object.name.as_str() {
        "" => &event.source.host,
        name => name,
    }
}

/// A node that Longhorn does not know has no volume attached.
fn is_not_longhorns(cluster: &Cluster, node: &str) -> bool {
    let nodes = &cluster.objects.longhorn_nodes;
    cluster.knows_all(Resource::LonghornNodes) && !nodes.is_empty() && nodes.get(node).is_none()
}
