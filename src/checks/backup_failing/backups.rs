//! The newest backup of each volume, where it failed or stands still.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{causes, store, target};
use crate::check::*;
use crate::facts::age::{Begun, observe};
use crate::facts::patience::{PERCENT, SLOWEST_PERCENT};
use crate::facts::{api, standstill, text};
use crate::longhorn::{Backup, BackupState, Volume};

/// When a backup of each volume was last restored, and into which volume.
pub(super) type Restores<'a> = BTreeMap<&'a str, (Timestamp, &'a str)>;

/// Finds them; returns the volumes.
pub(super) fn run<'a>(cluster: &'a Cluster, out: &mut Outcome, restores: &Restores) -> BTreeSet<&'a str> {
    let mut newest: BTreeMap<&str, &Backup> = BTreeMap::new();
    for backup in incomplete(cluster) {
        let known = newest.entry(backup.volume()).or_insert(backup);
        if known.metadata.created() < backup.metadata.created() {
            *known = backup;
        }
    }
    let full = if newest.is_empty() { Vec::new() } else { store::full_claims(cluster) };
    let mut hurt = BTreeSet::new();
    for (name, backup) in newest {
        // of a volume that is gone there is nothing to back up
        let Some(volume) = cluster.objects.volumes.get(name) else { continue };
        let finding = match backup.status.state {
            BackupState::Unset | BackupState::Pending | BackupState::InProgress => {
                stuck(cluster, out, volume, backup, restores)
            }
            _ => failed(cluster, volume, backup, &full, restores),
        };
        if let Some(finding) = finding {
            hurt.insert(volume.metadata.name.as_str());
            out.report(finding);
        }
    }
    hurt
}

/// Backups of this cluster that are not complete, without those that are being deleted.
pub(super) fn incomplete(cluster: &Cluster) -> impl Iterator<Item = &Backup> {
    cluster.objects.backups.iter().filter(|backup| backup.is_under_way_or_failed())
}

/// Volumes of which a backup is being written.
pub(super) fn written(cluster: &Cluster) -> BTreeSet<&str> {
    incomplete(cluster)
        .filter(|backup| backup.status.state == BackupState::InProgress)
        .map(Backup::volume)
        .collect()
}

/// Volumes of which a backup is being written, and no other is there.
pub(super) fn first_ones(cluster: &Cluster) -> BTreeSet<&str> {
    let others = incomplete(cluster).filter(|backup| backup.status.state != BackupState::InProgress);
    &written(cluster) - &others.map(Backup::volume).collect()
}

fn failed(
    cluster: &Cluster,
    volume: &Volume,
    backup: &Backup,
    full: &[String],
    restores: &Restores,
) -> Option<Finding> {
    let created = backup.metadata.created();
    // a later one succeeded
    if volume.status.last_backup_at.get() > created {
        return None;
    }
    let whose = whose(cluster, volume);
    let way = target::way_of_backup(&backup.status.error);
    let full = if way == Some(&causes::STORE_FULL) { full } else { &[] };
    let suspect = store::holder(cluster, volume, backup, full)
        .or_else(|| store::deleter(cluster, volume, backup))
        .or_else(|| store::denied(cluster, backup));
    let (way, why, culprit, fact) = match suspect {
        Some((way, why, culprit, fact)) => (Some(way), format!(": {why}"), Some(culprit), Some(fact)),
        None => (way, way.map_or(String::new(), |way| format!(": {}", way.briefly)), None, None),
    };
    // a replica writes the backup, and signs it with the time of its node (longhorn-engine pkg/sync/backup.go CreateBackup)
    let node = match volume.status.current_node_id.as_str() {
        "" => "the node",
        node => node,
    };
    let error = match backup.status.error.trim() {
        "" => " gives no message".to_owned(),
        error => format!(": \"{}\"", text::both_ends(error, 600)),
    };
    Some(
        about(
            cluster,
            volume,
            backup,
            &causes::BACKUP_FAILED,
            format!("the newest backup of {whose} failed{why}"),
        )
        .since(created)
        .way(way)
        // of two values of a name, the first counts
        .named(culprit)
        .named(way.map(|_| (Name::Node, node.to_owned())))
        .fact(
            api(format!("backup {} (state {}){error}", backup.metadata.name, backup.status.state.as_str()))
                .quoting(&backup.status.error),
        )
        .facts(fact)
        .fact(last_good(cluster, volume, restores)),
    )
}

/// Progress is reported in percent. Without any, the age of the backup says how long; else this exporter remembers. Where it
/// does not, in a recording, a backup has stalled that is older than all of its percents may take.
fn stuck(
    cluster: &Cluster,
    out: &mut Outcome,
    volume: &Volume,
    backup: &Backup,
    restores: &Restores,
) -> Option<Finding> {
    let (name, status) = (&backup.metadata.name, &backup.status);
    let progress = status.progress.0;
    let key = format!("{name} {} {progress}", status.state.as_str());
    let age = observe(cluster, out, "progress", &key, Begun::At(None));
    let allowed = SLOWEST_PERCENT.checked_mul(i32::try_from(progress.max(0)).unwrap_or(i32::MAX))?;
    let created = backup.metadata.created().and_then(|created| created.checked_add(allowed).ok());
    let created = created.filter(|_| progress == 0 || age.is_unknown());
    let since: Option<Timestamp> = [age.since, created].into_iter().flatten().min();
    let copied = match volume.status.actual_size.0 {
        0 => volume.spec.size.0,
        actual => actual,
    };
    let patience = standstill::a_percent(copied, PERCENT);
    let Some(since) = since.filter(|since| cluster.age(*since) >= patience) else {
        if age.is_unknown() && progress > 0 {
            out.time_tells(&causes::BACKUP_STALLED, &volume.metadata.name);
        }
        return None;
    };
    let volume_name = &volume.metadata.name;
    let stands = match status.state {
        BackupState::InProgress => format!("in progress at {progress} %"),
        BackupState::Pending => "pending".to_owned(),
        _ => "not started".to_owned(),
    };
    let stalled = match age.since {
        None if progress > 0 => format!("has stalled at {progress} %"),
        _ => format!("has made no progress for {}", text::duration(cluster.age(since))),
    };
    let mut finding = about(
        cluster,
        volume,
        backup,
        &causes::BACKUP_STALLED,
        format!("the newest backup of {} {stalled}", whose(cluster, volume)),
    )
    .since(Some(since))
    .fact(match (age.since, backup.metadata.created()) {
        (None, Some(created)) => format!("backup {name} of {created} is {stands}"),
        _ => format!("backup {name} has been {stands} since {since}"),
    });
    let robustness = volume.status.robustness.as_str();
    finding = finding.fact(format!(
        "volume {volume_name}: state {}, robustness {robustness}",
        volume.status.state.as_str()
    ));
    let messages = status.messages.iter().map(|(kind, message)| {
        api(format!("the backup's message ({kind}): \"{}\"", text::both_ends(message, 300))).quoting(message)
    });
    Some(finding.facts(messages.take(3)).fact(last_good(cluster, volume, restores)))
}

fn whose(cluster: &Cluster, volume: &Volume) -> String {
    text::claims_of(&[cluster.volume_ref(&volume.metadata.name)])
}

fn about(
    cluster: &Cluster,
    volume: &Volume,
    backup: &Backup,
    cause: &'static Cause,
    message: String,
) -> Finding {
    let name = &volume.metadata.name;
    Finding::about(cause, cluster.object::<Volume>(name), message)
        .volumes(vec![cluster.volume_ref(name)])
        .impact(
            "everything written since the last good backup is unprotected: it is lost if the volume is lost",
        )
        .with(Name::Backup, backup.metadata.name.as_str())
}

/// When the last good backup of a volume was.
pub(super) fn last_good(cluster: &Cluster, volume: &Volume, restores: &Restores) -> String {
    let last = volume.status.last_backup_at.get();
    let Some(last) = last else { return "the volume has no completed backup".to_owned() };
    let ago = |at| text::duration(cluster.age(at));
    let restored = restores.get(volume.metadata.name.as_str()).map(|(at, into)| {
        format!(". One of its backups was restored at {at}, {} ago into volume {into}", ago(*at))
    });
    let restored = restored.unwrap_or_default();
    format!("the volume's last good backup was taken at {last}, {} ago{restored}", ago(last))
}
