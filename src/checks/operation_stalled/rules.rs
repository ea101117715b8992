//! Its alert and panel.

use super::causes::*;
use crate::check::*;

pub(super) const ALERTS: &[Alert] = &[alert! { "LonghornOperationStalled",
    when: When::Found(&[
        &EXPANSION_FAILED, &EXPANSION_STALLED, &RESTORE_FAILED, &RESTORE_STALLED, &PURGE_STALLED,
        &CLONE_FAILED, &CLONE_STALLED, &SYSTEM_BACKUP_FAILED, &SYSTEM_BACKUP_STALLED, &SYSTEM_RESTORE_FAILED,
        &SYSTEM_RESTORE_STALLED, &BACKING_IMAGE_STALLED, &BACKING_IMAGE_FAILED,
    ]),
    runbook_only: &[&PURGE_FAILED],
    for_: "10m",
    summary: "A Longhorn operation has failed or stalled.",
    description: "An operation on {{ $labels.object }} has failed or stalled (expansion, restore, purge, clone, system backup, system restore or backing \
                  image). Its result cannot be used yet. Run the command below to find the cause.",
    why: "If Longhorn reports no error, the check waits 30 min or more. The alert waits 10 min more for Longhorn to retry.",
}];

pub(super) const PANELS: &[Panel] = &[Panel {
    dashboard: Dashboard::Volumes,
    title: "Stalled operations",
    description: "Failed or stalled expansions, restores, purges, clones, system backups, system restores and backing images. Each needs a fix.",
    columns: &["operation", "Value"],
    expr: "max by ($cluster operation) (longhorn_health_unfinished_operations{$job}) > 0",
    legend: "{{operation}}",
    no_data: "no operation has failed or stalled, or the exporter is not reporting",
    ..Panel::TABLE
}];
