//! Objects on which a manager ends again at each start, for known panics whose trigger is too common to warn of it
//! beforehand: only beside exit code 2 they tell.

use crate::cluster::Cluster;
use crate::facts::known_issues::{self, KnownIssue};
use crate::longhorn::{DataEngine, InstanceState, Release, Replica};

/// The panicking function works on this object as soon as the manager of the node starts again.
type Work = fn(&Cluster, &str) -> Option<String>;

const WORK: [(u32, Work); 3] = [(6264, backup_to_watch), (11169, support_bundle), (12233, replica_to_start)];

/// The known panic of a release whose work waits on this node. Two that wait are none: nothing tells between them.
pub fn waiting(cluster: &Cluster, node: &str, release: Release) -> Option<(&'static KnownIssue, String)> {
    let mut found = WORK.iter().filter_map(|(number, work)| {
        let mut issues = known_issues::ALL.iter();
        let issue = issues.find(|issue| issue.number == *number && issue.affects(release))?;
        Some((issue, work(cluster, node)?))
    });
    found.next().filter(|_| found.next().is_none())
}

/// A replica of the first data engine is started by the manager of its node (longhorn-manager v1.10.1
/// controller/replica_controller.go CreateInstance).
fn replica_to_start(cluster: &Cluster, node: &str) -> Option<String> {
    let waits = |replica: &&Replica| {
        replica.spec.node_id == node
            && replica.spec.data_engine != DataEngine::V2
            && replica.spec.desire_state == InstanceState::Running
            && matches!(replica.status.current_state, InstanceState::Stopped | InstanceState::Starting)
            && !replica.metadata.is_deleting()
    };
    let replica = cluster.objects.replicas.iter().find(waits)?;
    Some(format!("replica {} on {node} should be running but has not started", replica.metadata.name))
}

/// A backup that is under way is watched again after a start (longhorn-manager v1.5.0 controller/backup_controller.go
/// checkMonitor).
fn backup_to_watch(cluster: &Cluster, _: &str) -> Option<String> {
    let backup = cluster.objects.backups.iter().find(|backup| backup.status.state.is_under_way())?;
    Some(format!("backup {} is in progress", backup.metadata.name))
}

/// The Deployment of a support bundle lives as long as the bundle (longhorn-manager v1.8.1
/// controller/support_bundle_controller.go).
fn support_bundle(cluster: &Cluster, _: &str) -> Option<String> {
    const PREFIX: &str = "longhorn-support-bundle-manager-";
    let mut pods = cluster.objects.pods.iter();
    let pod = pods.find(|pod| pod.metadata.name.starts_with(PREFIX))?;
    Some(format!("pod {} is creating a support bundle", pod.metadata.name))
}
