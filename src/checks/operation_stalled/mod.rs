//! What Longhorn does in the background and does not end: expansions, restores, purges, clones, system backups, system
//! restores and backing images.
//!
//! Facts (longhorn-manager v1.12.1, the fields the same from v1.3.3 on unless said otherwise):
//! - The engine reports `isExpanding`, and why the last expansion failed in `lastExpansionError`, which is emptied once the size is as
//!   wanted; `status.expansionRequired` of the volume stays until then. While an expansion is due nothing else of the engine goes on
//!   (controller/engine_controller.go refresh).
//! - `restoreStatus`, `purgeStatus` and `cloneStatus` of the engine hold progress and error by replica; a restore that failed is tried
//!   again (controller/engine_controller.go handleRestoreError).
//! - A clone ends in `completed` or `failed` (k8s/pkg/apis/longhorn/v1beta2/volume.go VolumeCloneState).
//! - A system backup gives each step an hour, the backups of volumes and of backing images a day (datastore/datastore.go); it may
//!   stand where its controller does not come to that.
//! - A system restore is the work of a Job, which gives each kind of object a day (controller/system_rollout_controller.go restore) and
//!   ends as Completed or Error; where the Job has given up, no one brings it further.
//! - A backing image is prepared by its data source until `spec.fileTransferred`, then copied by a backing image manager per disk
//!   (controller/backing_image_data_source_controller.go, controller/backing_image_manager_controller.go).

mod backing_images;
mod causes;
mod rules;
mod system_backups;
mod system_restores;
mod volumes;

use crate::check::*;
use crate::longhorn::Resource::*;

pub static CHECK: Check = check! {
    id: "operation_stalled",
    title: "Operations that do not finish",
    summary: "An expansion, restore, purge, clone, system backup, system restore or backing image has failed or stalled.",
    needs: &[Volumes, Engines],
    uses: &[
        SystemBackups, SystemRestores, BackupBackingImages, BackingImages, BackingImageDataSources,
        BackingImageManagers, Pods, Events, Replicas, LonghornNodes, CsiAttachments, VolumeAttachments,
    ],
    causes: causes::ALL,
    ways: &[causes::WAYS],
    gauges: GAUGES,
    alerts: rules::ALERTS,
    panels: rules::PANELS,
};

gauges! {
    OPERATIONS = Gauge "longhorn_health_unfinished_operations" ["operation"]
        "Operations that have failed or stalled: expansion, restore, purge, clone, system_backup, system_restore, backing_image.",
        absent "there is none",
        example "longhorn_health_unfinished_operations > 0";
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    let before = out.findings.len();
    volumes::run(cluster, out);
    system_backups::run(cluster, out);
    system_restores::run(cluster, out);
    backing_images::run(cluster, out);
    let mut counts = [
        ("expansion", 0_u32),
        ("restore", 0),
        ("purge", 0),
        ("clone", 0),
        ("system_backup", 0),
        ("system_restore", 0),
        ("backing_image", 0),
    ];
    for finding in out.findings.iter().skip(before) {
        let operation = operation(finding.cause);
        counts.iter_mut().filter(|(name, _)| *name == operation).for_each(|(_, count)| *count += 1);
    }
    counts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .for_each(|(name, count)| out.sample(&OPERATIONS, &[name], f64::from(count)));
}

/// What a cause is about.
fn operation(cause: &Cause) -> &'static str {
    use causes::*;
    let of = |causes: &[&Cause]| causes.contains(&cause);
    match () {
        () if of(&[&EXPANSION_FAILED, &EXPANSION_STALLED]) => "expansion",
        () if of(&[&RESTORE_FAILED, &RESTORE_STALLED]) => "restore",
        () if of(&[&PURGE_FAILED, &PURGE_STALLED]) => "purge",
        () if of(&[&CLONE_FAILED, &CLONE_STALLED]) => "clone",
        () if of(&[&SYSTEM_BACKUP_FAILED, &SYSTEM_BACKUP_STALLED]) => "system_backup",
        () if of(&[&SYSTEM_RESTORE_FAILED, &SYSTEM_RESTORE_STALLED]) => "system_restore",
        () => "backing_image",
    }
}
