//! Volumes whose chain of snapshots is at its limit, or near.
//!
//! Facts: an engine has at most 250 snapshots, from 1.6 on at most `spec.snapshotMaxCount` of the volume, which defaults to the setting
//! snapshot-max-count (longhorn-manager v1.6.4 and v1.12.1 types/setting.go MaxSnapshotNum). At the limit it refuses every further one:
//! backups and recurring snapshots fail, and a volume that has to take one in order to rebuild may fault (longhorn/longhorn issue
//! 10308). `status.snapshots` of the engine counts the head of the volume, too; Longhorn's own condition TooManySnapshots does not,
//! and is True from 100 on (v1.3.3 to v1.11.3 controller/volume_controller.go; v1.12.1 makes that a setting). A replica opens no chain of
//! more than 250 files, the head among them, so that a volume with 250 snapshots does not attach again (longhorn-engine v1.3.2 to v1.12.1
//! pkg/replica/replica.go openLiveChain). The status of an engine that stops keeps its list (v1.7.2 and v1.12.1
//! controller/engine_controller.go sets it, and nothing empties it).

#[cfg(test)]
mod tests;

use crate::check::*;
use crate::facts::{text, volumes};
use crate::longhorn::Resource::*;
use crate::longhorn::{
    ConditionStatus, DataEngine, Engine, InstanceState, Volume, VolumeRobustness, VolumeState, condition,
};

causes! {
    CANNOT_OPEN = critical "cannot_open"
        "the volume cannot attach, because no replica can open its snapshot chain of more than 250 files"
        fix "Scale the workload to 0 and pause the volume's recurring jobs. Restore the newest backup as a new volume, or ask Longhorn's maintainers (issue \
             10308). Do not delete replicas." [
            read "kubectl -n <namespace> get backups.longhorn.io -l backup-volume=<volume>",
            read "kubectl -n <namespace> logs -l longhorn.io/component=instance-manager --tail=-1 --prefix | grep 'chain is too long'",
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhornvolume=<volume> -o wide",
        ] proven "the volume cannot attach, so that no workload runs on it; a restore creates another volume, and the replicas are kept";
    AT_LIMIT = warning "at_limit"
        "the volume has reached its snapshot limit, so backups and recurring snapshots fail"
        fix "Delete unneeded snapshots of <claim> (in Longhorn's UI, or as Snapshot objects), or lower retain in its recurring jobs. Existing \
             backups are not affected." [
            read "kubectl -n <namespace> get snapshots.longhorn.io -l longhornvolume=<volume> --sort-by=.status.creationTime",
            read "kubectl -n <namespace> get recurringjobs.longhorn.io -o \
                custom-columns='NAME:.metadata.name,TASK:.spec.task,RETAIN:.spec.retain,GROUPS:.spec.groups'",
        ] proven "the fix asks for what is not needed; backups are not touched"
        way OPENS_NO_MORE "its replicas cannot reopen its snapshot chain"
            fix "Delete unneeded snapshots of <claim> now, while it is attached. Then lower retain in its recurring jobs. Once \
                 detached, its replicas cannot open a chain of over 250 files.";
    NEAR_LIMIT = warning "near_limit"
        "the volume is close to its snapshot limit" but "info if the limit was set low for this volume"
        fix "Delete unneeded snapshots of <claim>. Then find out who takes them: recurring jobs with a high retain, or a backup tool \
             that keeps its snapshots." [
            read "kubectl -n <namespace> get snapshots.longhorn.io -l longhornvolume=<volume> --sort-by=.status.creationTime",
            read "kubectl -n <namespace> get recurringjobs.longhorn.io -o \
                custom-columns='NAME:.metadata.name,TASK:.spec.task,RETAIN:.spec.retain,GROUPS:.spec.groups'",
        ] proven "the fix asks for what is not needed; backups are not touched";
    MANY = info "many"
        "Longhorn reports that the volume has too many snapshots, which slow down reads and rebuilds"
        fix "Set retain in the volume's recurring jobs to a lower number if you need fewer snapshots. This is not urgent." [
            read "kubectl -n <namespace> get snapshots.longhorn.io -l longhornvolume=<volume> --sort-by=.status.creationTime",
        ];
}

pub static CHECK: Check = check! {
    id: "snapshot_chain_long",
    title: "Snapshot chains at their limit",
    summary: "A volume is at or near its snapshot limit. At the limit, its backups and rebuilds fail.",
    needs: &[Volumes, Engines],
    uses: &[Settings],
    causes: ALL,
    ways: &[WAYS],
    gauges: GAUGES,
    alerts: &[alert! { "LonghornSnapshotChainLong",
        when: When::Found(&[&AT_LIMIT, &NEAR_LIMIT]),
        runbook_only: &[&MANY, &CANNOT_OPEN],
        only: Some(Severity::Warning),
        for_: "10m",
        summary: "A Longhorn volume is at or near its snapshot limit.",
        description: "Volume {{ $labels.object }} is at or near its snapshot limit. At the limit, its backups and rebuilds fail. Delete unneeded snapshots.",
        why: "The alert waits 10 min for a recurring job, which deletes old snapshots right after it takes a new one.",
    }],
    panels: &[Panel {
        dashboard: Dashboard::Volumes,
        title: "Longest snapshot chains",
        description: "Snapshots of attached volumes at or near their limit. At the limit, backups and rebuilds fail.",
        no_data: "no volume is near its limit, or the exporter is not reporting",
        ..Panel::TABLE.of(&SNAPSHOTS)
    }],
};

gauges! {
    SNAPSHOTS = Gauge "longhorn_health_volume_snapshots" ["volume", "pvc_namespace", "pvc"]
        "Snapshots of a volume at or near its snapshot limit.",
        absent "it has fewer or is not attached",
        example "longhorn_health_volume_snapshots > 240";
}

/// No engine takes more.
const MOST: i64 = 250;

fn run(cluster: &Cluster, out: &mut Outcome) {
    let by_setting = cluster.setting_value("snapshot-max-count", DataEngine::V1).parse().unwrap_or(MOST);
    for volume in cluster.objects.volumes.iter().filter(|volume| !volume.metadata.is_deleting()) {
        let engine = volumes::current_engine(cluster, volume);
        let count = engine.map_or(0, |engine| engine.status.snapshots.0);
        let count = i64::try_from(count).unwrap_or(i64::MAX).saturating_sub(1);
        let own = volume.spec.snapshot_max_count.0;
        let limit = if own > 0 { own } else { by_setting }.clamp(1, MOST);
        if count >= MOST && engine.is_some_and(|engine| is_shut(volume, engine)) {
            found(cluster, out, volume, &CANNOT_OPEN, Severity::Critical, count, limit);
        } else if count >= limit {
            found(cluster, out, volume, &AT_LIMIT, Severity::Warning, count, limit);
        } else if count >= limit - limit / 10 && count > 1 {
            // a limit that someone set low is meant to be reached
            let severity = if limit < MOST / 2 { Severity::Info } else { Severity::Warning };
            found(cluster, out, volume, &NEAR_LIMIT, severity, count, limit);
        } else if condition(&volume.status.conditions, "TooManySnapshots")
            .is_some_and(|many| many.status == ConditionStatus::True)
        {
            found(cluster, out, volume, &MANY, Severity::Info, count, limit);
        }
    }
}

/// Whether its engine does not run although it should, or died.
fn is_shut(volume: &Volume, engine: &Engine) -> bool {
    let wanted =
        volume.status.state != VolumeState::Detached || volume.status.robustness == VolumeRobustness::Faulted;
    wanted && engine.status.current_state != InstanceState::Running
}

fn found(
    cluster: &Cluster,
    out: &mut Outcome,
    volume: &Volume,
    cause: &'static Cause,
    severity: Severity,
    count: i64,
    limit: i64,
) {
    let users = vec![cluster.volume_ref(&volume.metadata.name)];
    let whose = text::claims_of(&users);
    let (has, counted) = match count {
        // the engine of a detached volume reports none
        ..1 => (
            "has reached Longhorn's snapshot warning threshold".to_owned(),
            "the detached volume's engine lists no snapshots now".to_owned(),
        ),
        count => {
            let has = match cause == &CANNOT_OPEN {
                true => format!("cannot attach: {count} snapshots, and replicas open at most 249"),
                false => format!("has {count} snapshots, limit {limit}"),
            };
            out.sample(&SNAPSHOTS, &volumes::labels(volume), count as f64);
            (has, format!("the volume's engine lists {count} snapshots, not counting the volume head"))
        }
    };
    let impact = match () {
        () if cause == &CANNOT_OPEN => {
            "the volume cannot attach: its engine exits at every start. The replicas keep its data"
        }
        () if cause == &AT_LIMIT => {
            "backups and recurring snapshots of the volume fail, and Longhorn may be unable to rebuild a failed replica"
        }
        () if cause == &NEAR_LIMIT => "none yet: at the limit, backups and recurring snapshots fail",
        () => "reads and rebuilds take longer",
    };
    let mut finding = Finding::about(cause, volumes::object(cluster, volume), format!("{whose} {has}"))
        .severity(severity)
        .volumes(users)
        .impact(impact)
        .way(Some(&OPENS_NO_MORE).filter(|_| cause == &AT_LIMIT && count >= MOST))
        .fact(counted);
    if let Some(many) = condition(&volume.status.conditions, "TooManySnapshots") {
        finding = finding.since(many.last_transition_time.get());
        if !many.message.is_empty() {
            finding = finding.fact(format!("condition TooManySnapshots: {}", text::quoted(&many.message)));
        }
    }
    out.report(finding);
}
