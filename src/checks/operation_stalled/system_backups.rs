//! System backups, and the backups of backing images that are part of them.

use jiff::{SignedDuration, Timestamp};

use super::causes::*;
use crate::check::*;
use crate::facts::patience::{PERCENT, STEP, TRIED_FOR_A_DAY};
use crate::facts::standstill::Work;
use crate::facts::{api, text};
use crate::longhorn::{BackupState, Resource, SystemBackupState, condition};

pub(super) fn run(cluster: &Cluster, out: &mut Outcome) {
    system_backups(cluster, out);
    for backup in cluster.objects.backup_backing_images.iter() {
        let (meta, status) = (&backup.metadata, &backup.status);
        if meta.is_deleting() {
            continue;
        }
        let object = Object { kind: Resource::BackupBackingImages, name: &meta.name };
        let words = format!("the state is {} at {} %", status.state.as_str(), status.progress.0);
        if status.state == BackupState::Error {
            let error = text::quoted(&status.error);
            let said = api(format!("{words}: {error}")).quoting(&status.error);
            out.report(object.failed(cluster, meta.created()).fact(said));
        } else if status.state.is_under_way() {
            let (fact, progress) = ("backing_image_backup", status.progress.0);
            let work = Work {
                fact,
                object: &meta.name,
                mark: words.clone(),
                progress,
                size: 0,
                begun: meta.created(),
                patience: PERCENT,
            };
            object.stalled(cluster, out, &work, &words);
        }
    }
}

/// An old one that failed is history once a later one is there. One that has stalled is reported also while it is being deleted: a person
/// who saw that wanted it gone, and it stays (longhorn issue 6631).
fn system_backups(cluster: &Cluster, out: &mut Outcome) {
    let all = || cluster.objects.system_backups.iter();
    let ready = all().filter(|backup| backup.status.state == SystemBackupState::Ready);
    let last_ready: Option<Timestamp> = ready.filter_map(|backup| backup.metadata.created()).max();
    for backup in all() {
        let (meta, state) = (&backup.metadata, backup.status.state);
        let object = Object { kind: Resource::SystemBackups, name: &meta.name };
        let (patience, before) = match state {
            SystemBackupState::Ready | SystemBackupState::Deleting | SystemBackupState::Unrecognized => {
                continue;
            }
            SystemBackupState::Error if meta.is_deleting() || meta.created() < last_ready => continue,
            SystemBackupState::Error => {
                let mut finding = object.failed(cluster, meta.created());
                if let Some(error) = condition(&backup.status.conditions, "Error") {
                    let message = text::quoted(&error.message);
                    let text = format!("condition Error has reason {}: {message}", error.reason);
                    finding = finding.fact(api(text).quoting(&error.message));
                }
                out.report(finding);
                continue;
            }
            SystemBackupState::Unset => (STEP, SignedDuration::ZERO),
            SystemBackupState::CreatingVolumeBackups => (TRIED_FOR_A_DAY, SignedDuration::ZERO),
            SystemBackupState::CreatingBackingImageBackups => (TRIED_FOR_A_DAY, TRIED_FOR_A_DAY),
            SystemBackupState::Generating | SystemBackupState::Uploading | SystemBackupState::Syncing => {
                (STEP, SignedDuration::from_hours(2 * TRIED_FOR_A_DAY.as_hours()))
            }
        };
        // what came before it may have taken its time
        let begun = meta.created().and_then(|created| created.checked_add(before).ok());
        let mark = state.as_str().to_owned();
        let work =
            Work { fact: "system_backup", object: &meta.name, mark, progress: 0, size: 0, begun, patience };
        object.stalled(cluster, out, &work, &format!("the state is {}", state.as_str()));
    }
}

struct Object<'a> {
    kind: Resource,
    name: &'a str,
}

impl Object<'_> {
    fn failed(&self, cluster: &Cluster, created: Option<Timestamp>) -> Finding {
        let message = format!("{} {} has failed", self.kind.info().kind, self.name);
        self.finding(cluster, &SYSTEM_BACKUP_FAILED, message).since(created)
    }

    fn stalled(&self, cluster: &Cluster, out: &mut Outcome, work: &Work<'_>, words: &str) {
        if let Some(still) = work.stands(cluster, out, &SYSTEM_BACKUP_STALLED) {
            let long = text::duration(cluster.age(still.since));
            let message = format!("{} {} has been stalled for {long}", self.kind.info().kind, self.name);
            let finding = self
                .finding(cluster, &SYSTEM_BACKUP_STALLED, message)
                .since(Some(still.since))
                .facts([api(words), still.evidence]);
            out.report(finding);
        }
    }

    fn finding(&self, cluster: &Cluster, cause: &'static Cause, message: String) -> Finding {
        Finding::about(cause, cluster.object_of(self.kind, self.name), message)
            .impact("Longhorn's objects cannot be restored from this backup. Volumes and their backups are not affected.")
            .with(Name::Kind, self.kind.label())
    }
}
