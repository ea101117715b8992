//! Backups that Longhorn cannot delete in their store.
//!
//! A deleted Backup keeps its finalizer until its store has no such backup. From 1.8 on it goes from state Deleting to Error with the store's
//! answer in `status.messages`, and to Deleting again after a while (longhorn-manager v1.8.2 to v1.12.1 controller/backup_controller.go
//! handleBackupDeletionInBackupStore); before, only the manager's log tells (v1.3.3 to v1.7.3 reconcile).

use std::collections::BTreeMap;

use super::{BACKUP_DELETION_STUCK, RETAINED};
use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::patience::ERASED;
use crate::facts::{api, text};
use crate::longhorn::{Backup, BackupState, BackupTarget};

/// What object stores answer of an object under retention: MinIO, Ceph and S3, Azure, Google.
const RETENTION: [&str; 7] =
    ["worm", "object lock", "objectlock", "object is protected", "immutab", "retention", "legal hold"];

pub fn run(cluster: &Cluster, out: &mut Outcome) {
    let mut stuck: BTreeMap<&str, Vec<&Backup>> = BTreeMap::new();
    for backup in cluster.objects.backups.iter().filter(|backup| backup.metadata.is_deleting()) {
        let target = backup.metadata.label("backup-target").unwrap_or("default");
        let known = cluster.objects.backup_targets.get(target);
        // one that does not answer deletes nothing, and has a finding of its own
        if known.is_some_and(|target| target.status.available != Some(false)) {
            stuck.entry(target).or_default().push(backup);
        }
    }
    for (target, mut backups) in stuck {
        backups.sort_by_key(|backup| backup.metadata.deletion_timestamp.get());
        let since = backups.first().and_then(|backup| backup.metadata.deletion_timestamp.get());
        let age = observe(cluster, out, "backup_deletion", target, Begun::At(since));
        if !age.at_least(ERASED, Unknown::Counts) {
            continue;
        }
        let said = backups.iter().find_map(|backup| Some((&backup.metadata.name, failure(backup)?)));
        let lower = said.map(|(_, said)| said.to_ascii_lowercase()).unwrap_or_default();
        let way = RETENTION.iter().any(|part| lower.contains(part)).then_some(&RETAINED);
        let names: Vec<&str> = backups.iter().map(|backup| backup.metadata.name.as_str()).collect();
        // a store that takes no backup either has a finding of its own
        let fails = |one: &Backup| one.is_under_way_or_failed() && one.status.state == BackupState::Error;
        if way.is_none() && cluster.objects.backups.iter().any(fails) {
            continue;
        }
        let still = if backups.len() == 1 { "still exists" } else { "still exist" };
        let why = way.map_or(String::new(), |way| format!(": {}", way.briefly));
        let message = format!("{} on target {target} {still}{why}", counted(backups.len(), "deleted backup"));
        out.report(
            Finding::about(&BACKUP_DELETION_STUCK, cluster.object::<BackupTarget>(target), message)
                .way(way)
                .since(age.since)
                .impact("none for volumes and new backups. The backup store keeps growing.")
                .facts(
                    said.map(|(name, said)| {
                        api(format!("backup {name}: {}", text::quoted(said))).quoting(said)
                    }),
                )
                .fact(format!(
                    "these backups are being deleted, the earliest first: {}",
                    text::listed(&names)
                )),
        );
    }
}

fn failure(backup: &Backup) -> Option<&str> {
    let said = backup.status.messages.get("error").map(|said| said.as_str());
    said.filter(|said| said.starts_with("Failed to delete the backup"))
}
