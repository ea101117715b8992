//! Standby volumes that no longer follow the backups of another cluster.

use std::collections::BTreeSet;

use super::{causes, target};
use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::patience::FOLLOWS;
use crate::facts::text;
use crate::longhorn::{BackupTarget, Volume};

/// Finds targets that answer, but that no one asks any more: a standby volume restores the last backup that Longhorn knows, and learns of
/// others only when its target is polled. An interval of 0 stops that (longhorn-manager v1.8.2 to v1.12.1
/// controller/backup_target_controller.go reconcile; before, setting backupstore-poll-interval is copied into the target, v1.3.3 to v1.7.3
/// controller/setting_controller.go).
pub(super) fn run(cluster: &Cluster, out: &mut Outcome, unavailable: &BTreeSet<&str>) {
    for target in cluster.objects.backup_targets.iter() {
        let name = target.metadata.name.as_str();
        let is_of = |volume: &Volume| target::target_of(&volume.spec.backup_target_name) == name;
        let volumes =
            cluster.objects.volumes.iter().filter(|volume| volume.status.is_standby && is_of(volume));
        let standby: Vec<&str> = volumes.map(|volume| volume.metadata.name.as_str()).collect();
        let known = target.status.last_synced_at.get().zip(target.spec.interval());
        let Some((synced, interval)) = known.filter(|_| !standby.is_empty()) else { continue };
        let age = observe(cluster, out, "polled", name, Begun::At(Some(synced)));
        let is_due = age.at_least(FOLLOWS, Unknown::Waits) && cluster.age(synced) >= interval * 3;
        if !is_due || unavailable.contains(name) {
            continue;
        }
        let long = text::age(cluster.age(synced));
        let are = if standby.len() == 1 { "is" } else { "are" };
        let why = if interval.is_zero() { "has poll interval 0" } else { "is not polled" };
        let count = counted(standby.len(), "standby volume");
        let message = format!("{count} {are} {long} behind: target {name} {why}");
        let every = &target.spec.poll_interval;
        out.report(
            Finding::about(&causes::STANDBY_STALE, cluster.object::<BackupTarget>(name), message)
                .since(Some(synced))
                .impact(format!("a failover to these volumes loses everything written in the last {long}"))
                .volumes(cluster.volume_refs(standby))
                .fact(format!("backup target {name}: pollInterval is {every}, lastSyncedAt {synced}")),
        );
    }
}
