//! What in the same cluster is probably to blame for a backup that failed.

use super::{backups, causes, jobs, target};
use crate::check::*;
use crate::longhorn::{Backup, BackupState, Replica, Volume};

/// The way, why for a headline, what the fix calls the culprit, and a fact.
type Suspect = (&'static Way, String, (Name, String), String);

/// The claims of full volumes, as far as Longhorn sees it.
pub(super) fn full_claims(cluster: &Cluster) -> Vec<String> {
    let full = cluster.objects.volumes.iter().filter(|volume| volume.is_full());
    full.filter_map(|volume| cluster.volume_ref(&volume.metadata.name).pvc).collect()
}

/// The recurring job that deleted the snapshot of a backup before it was made: task snapshot-delete keeps the newest of all snapshots of a
/// volume, while others delete only their own, and snapshot-cleanup none that was asked for (longhorn-manager v1.3.3 to v1.8.2
/// app/recurring_job.go, v1.9.2 to v1.12.1 app/recurringjob/volume.go listSnapshotNamesToCleanup).
pub(super) fn deleter(cluster: &Cluster, volume: &Volume, backup: &Backup) -> Option<Suspect> {
    let runs = |job: &str| cluster.objects.cron_jobs.get(job).is_none_or(|cron| !cron.spec.suspend);
    let mut jobs = cluster.objects.recurring_jobs.iter().filter(|job| {
        let there = job.metadata.created() < backup.metadata.created() && runs(&job.metadata.name);
        there && job.spec.task == "snapshot-delete" && jobs::covers(job)(&volume)
    });
    let job = jobs.next().filter(|_| backup.status.lacked_snapshot())?;
    let (job, cron) = (&job.metadata.name, &job.spec.cron);
    let fact = format!(
        "recurring job {job} (snapshot-delete, schedule {cron}) covers the volume and probably deleted the snapshot"
    );
    let why = format!("job {job} deleted its snapshot");
    Some((&causes::SNAPSHOT_DELETED, why, (Name::Workload, job.to_string()), fact))
}

/// Of a full store: a claim of this cluster that is full as well, and whose name or namespace is that of the store, as of a MinIO that runs on
/// its own Longhorn: of an object store only its Secret tells the endpoint.
pub(super) fn holder(
    cluster: &Cluster,
    volume: &Volume,
    backup: &Backup,
    full: &[String],
) -> Option<Suspect> {
    let target = cluster.objects.backup_targets.get(target::target_of(&volume.spec.backup_target_name));
    let minio = backup.status.error.contains("XMinio").then_some(("minio", "minio"));
    let (service, namespace) = target.and_then(|target| target.spec.service()).or(minio)?;
    let is_of = |claim: &&String| claim.contains(service) || claim.starts_with(&format!("{namespace}/"));
    let claim = full.iter().find(is_of)?;
    let fact = format!("claim {claim} has filled its volume and probably holds the backup store");
    let why = format!("its store {claim} is full");
    Some((&causes::STORE_CLAIM_FULL, why, (Name::Claim, claim.clone()), fact))
}

/// The node that the NFS server does not let in: the replica that writes a backup mounts the share itself, in the instance manager of its node
/// (longhorn-engine pkg/sync/backup.go CreateBackup). What nfs-utils' mount.nfs writes of an export that leaves the client out.
pub(super) fn denied(cluster: &Cluster, backup: &Backup) -> Option<Suspect> {
    let node = refused_node(cluster, backup)?;
    let failed = backups::incomplete(cluster).filter(|other| other.status.state == BackupState::Error);
    let nodes: Vec<Option<&str>> = failed.map(|one| refused_node(cluster, one)).collect();
    // an export that leaves out several is not about one node
    if nodes.iter().flatten().any(|other| *other != node) {
        return None;
    }
    let here = nodes.iter().flatten().count();
    let fact =
        format!("the NFS server rejected {node} in {here} of {}", counted(nodes.len(), "failed backup"));
    Some((
        &causes::NODE_NOT_EXPORTED,
        format!("the NFS server rejects {node}"),
        (Name::Node, node.to_owned()),
        fact,
    ))
}

fn refused_node<'a>(cluster: &'a Cluster, backup: &Backup) -> Option<&'a str> {
    let status = &backup.status;
    let address = status.replica_address.split_once("://")?.1.rsplit_once(':')?.0;
    let writes = |replica: &&Replica| replica.status.storage_ip == *address;
    let mut replicas = cluster.replicas_of(backup.volume());
    replicas
        .find(writes)
        .filter(|_| status.error.contains("access denied by server"))
        .map(|replica| replica.spec.node_id.as_str())
}
