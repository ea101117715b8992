//! When a finding began, or between which moments: from its own times, and from what must have been so before.

use jiff::{SignedDuration, Timestamp};

use crate::check::{ChangedBy, Finding};
use crate::cluster::Cluster;
use crate::facts::nodes::cordoned_since;
use crate::longhorn::Resource;

/// What begins within so long is told in one line.
const TOGETHER: SignedDuration = SignedDuration::from_secs(5);

/// When something began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begin {
    pub at: Timestamp,
    /// It was then or later.
    pub or_later: bool,
}

impl Begin {
    /// As the finding or the objects that it is about say it.
    pub fn of(cluster: &Cluster, finding: &Finding) -> Option<Begin> {
        if let Some(at) = finding.since.filter(|since| Some(*since) != finding.not_before) {
            return Some(Begin { at, or_later: false });
        }
        // nothing about a pod holds before it is there
        let pod = finding.object.is(Resource::Pods).then(|| cluster.objects.pods.get(&finding.object.name));
        let made = pod.flatten().and_then(|pod| pod.metadata.created());
        let node = finding.node.as_deref();
        let lost = node.filter(|_| finding.object.is(Resource::InstanceManagers));
        let lost = lost.and_then(|node| healthy_until(cluster, node));
        let by_cordon = finding.cause.changed_by.contains(&ChangedBy::Cordon);
        let cordon = node.filter(|_| by_cordon).and_then(|node| cordoned_since(cluster, node));
        finding.not_before.max(made).max(lost).max(cordon).map(|at| Begin { at, or_later: true })
    }

    /// True where one line can tell of both.
    pub fn is_with(self, other: Begin) -> bool {
        self.or_later == other.or_later && self.at.duration_since(other.at).abs() <= TOGETHER
    }
}

/// Until when the instance managers of a node ran at least: a volume that was healthy had all its replicas, also that of this node.
fn healthy_until(cluster: &Cluster, node: &str) -> Option<Timestamp> {
    let disks = cluster.objects.longhorn_nodes.get(node)?.status.disk_status.values();
    let replicas = disks.flat_map(|disk| cluster.replicas_on_disk(&disk.disk_uuid));
    let until = replicas.filter_map(|replica| {
        let until = cluster.objects.volumes.get(&replica.spec.volume_name)?.status.last_degraded_at.get()?;
        let failed = replica.spec.failed_at.get();
        let was_there = replica.metadata.created()? < until && failed.is_none_or(|failed| failed >= until);
        was_there.then_some(until)
    });
    until.max()
}
