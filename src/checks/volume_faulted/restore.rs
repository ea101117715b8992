//! What Longhorn says of a restore that failed.

use crate::check::*;
use crate::facts::{api, text};
use crate::longhorn::{Condition, Event, Volume, condition};

/// Whether the restore itself failed: the condition has an error beside the words that it gets whenever a standby volume is faulted
/// (longhorn-manager v1.3.3 to v1.12.1 controller/volume_controller.go closeVolumeDependentResources).
pub fn failed_in_restore(volume: &Volume) -> bool {
    let said = condition(&volume.status.conditions, "Restore").map_or("", |restore| restore.message.trim());
    !said.is_empty() && !said.starts_with("All replica restore failed")
}

/// Whether the store no longer has the backup itself: it was deleted while the volume was to be restored from it (seen on 1.12.1: `cannot find
/// backupstore/volumes/…/backup_NAME.cfg in backupstore`).
pub fn backup_missing(cluster: &Cluster, volume: &Volume) -> bool {
    failures(cluster, volume)
        .any(|event| event.said().contains("cannot find") && event.said().contains(".cfg"))
}

/// What each replica met, which the condition keeps to itself where all fail (longhorn-manager v1.3.3 to v1.12.1
/// controller/volume_controller.go ReconcileEngineReplicaState: `replica NAME failed the restore: ERROR`).
fn failures<'a>(cluster: &'a Cluster, volume: &Volume) -> impl Iterator<Item = &'a Event> {
    cluster.events_about(&volume.metadata.name).filter(|event| event.reason == "FailedRestore")
}

/// All errors of the restore.
pub fn said<'a>(cluster: &'a Cluster, volume: &'a Volume) -> impl Iterator<Item = &'a str> {
    let restore = condition(&volume.status.conditions, "Restore").map(|restore| restore.message.as_str());
    failures(cluster, volume).map(Event::said).chain(restore)
}

/// Whether the store lacks a block that the backup names. Blocks are shared by the backups of a volume and have a suffix of their own
/// (longhorn/backupstore deltablock.go); the rest is what S3, Azure and a file system answer.
pub fn blocks_missing(cluster: &Cluster, volume: &Volume) -> bool {
    const ABSENT: [&str; 5] =
        ["NoSuchKey", "StatusCode: 404", "BlobNotFound", "no such file or directory", "does not exist"];
    said(cluster, volume).any(|said| said.contains(".blk") && ABSENT.iter().any(|part| said.contains(part)))
}

/// The condition, and the last failure of a replica.
pub fn evidence(cluster: &Cluster, volume: &Volume, restore: &Condition) -> Vec<Evidence> {
    let last = failures(cluster, volume).max_by_key(|event| event.last_seen());
    let last = last.map(|event| {
        let text = format!("event FailedRestore: {}", text::quoted(event.said()));
        EvidenceSource::Event.says(text).quoting(event.said())
    });
    let text = format!("condition Restore ({}): {}", restore.reason, text::quoted(&restore.message));
    last.into_iter().chain([api(text).quoting(&restore.message)]).collect()
}
