use super::CHECK;
use crate::testing::*;

const NOW: &str = "2026-03-10T12:00:00Z";
const LONG_AGO: &str = "2026-03-10T10:00:00Z";
const JUST_NOW: &str = "2026-03-10T11:55:00Z";

fn target(available: bool, since: &str, message: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: BackupTarget\nmetadata: {{name: default, namespace: longhorn-system}}\n\
         spec: {{backupTargetURL: 's3://b@r/', credentialSecret: s3}}\nstatus: {{available: {available}, conditions: \
         [{{type: Unavailable, status: 'True', message: '{message}', lastTransitionTime: '{since}'}}]}}\n---\n"
    )
}

fn volume(status: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{name: vol-1, namespace: longhorn-system, creationTimestamp: \
         '2026-01-01T00:00:00Z', labels: {{recurring-job-group.longhorn.io/default: enabled, x: z}}}}\n\
         status: {{{status}, kubernetesStatus: {{pvcName: data, namespace: db}}}}\n---\n"
    )
}

fn backed_up(at: &str) -> String {
    volume(&format!("state: attached, robustness: healthy, lastBackupAt: '{at}'"))
}

fn backup(name: &str, created: &str, status: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Backup\nmetadata: {{name: {name}, namespace: longhorn-system, creationTimestamp: '{created}', \
         labels: {{backup-volume: vol-1}}}}\nspec: {{snapshotName: snap}}\nstatus: {{{status}}}\n---\n"
    )
}

fn job(task: &str, cron: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: RecurringJob\nmetadata: {{name: nightly, namespace: longhorn-system, creationTimestamp: \
         '2026-01-01T00:00:00Z'}}\nspec: {{task: {task}, cron: '{cron}', groups: [default]}}\n---\n"
    )
}

fn cron_job(last: &str, suspend: bool) -> String {
    format!(
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: nightly, namespace: longhorn-system, creationTimestamp: \
         '2026-01-01T00:00:00Z'}}\nspec: {{schedule: x, suspend: {suspend}}}\nstatus: {{lastScheduleTime: '{last}', active: [{{name: nightly-1}}]}}\n---\n"
    )
}

fn nightly(last: &str) -> String {
    job("backup", "0 2 * * *") + &cron_job(last, false)
}

#[test]
fn a_target_that_does_not_answer_is_told_with_its_error() {
    let denied =
        target(false, LONG_AGO, "failed to list: AccessDenied: Access Denied.") + &backed_up(LONG_AGO);
    let report = run(&CHECK, &cluster_at(NOW, &denied)).report;
    let finding = &report.findings[0];
    assert_eq!((finding.cause.id, finding.object.name.as_str()), ("target_unavailable", "default"));
    assert!(finding.evidence()[0].text.contains("AccessDenied"));
    assert!(finding.remedy.fix.starts_with("Compare the target's secret"), "{}", finding.remedy.fix);
    for (message, words) in [
        ("AWS Error: RequestTimeTooSkewed The difference is too large. 403", "Correct the clocks"),
        ("dial tcp: lookup minio: no such host", "Make the target's name"),
        ("x509: certificate signed by unknown authority", "Add the target's certificate"),
        ("dial tcp 10.0.0.1:9000: i/o timeout", "Check that the target runs"),
        ("cannot mount nfs 10.0.0.1:/backup: mount.nfs: access denied by server", "Check that the share"),
        ("something else", "Read the error"),
    ] {
        let report = run(&CHECK, &cluster_at(NOW, &target(false, LONG_AGO, message))).report;
        assert!(
            report.findings[0].remedy.fix.starts_with(words),
            "{message}: {}",
            report.findings[0].remedy.fix
        );
    }
}

#[test]
fn a_target_that_answers_is_new_or_not_wanted_is_not_found() {
    for yaml in [
        target(true, LONG_AGO, ""),
        target(false, JUST_NOW, "i/o timeout"),
        target(false, LONG_AGO, "backup target URL is empty").replace("s3://b@r/", ""),
        target(false, LONG_AGO, "").replace("available: false", "available: null"),
    ] {
        assert_eq!(found(&CHECK, &cluster_at(NOW, &yaml)), Vec::<String>::new(), "{yaml}");
    }
}

/// The next question gets the same answer, so the minute is only for a target and its secret that are applied one after the other.
#[test]
fn a_target_that_answers_and_refuses_is_found_after_a_minute() {
    for message in ["SignatureDoesNotMatch", "NoSuchBucket", "RequestTimeTooSkewed"] {
        let at = |since| found(&CHECK, &cluster_at(NOW, &target(false, since, message))).len();
        assert_eq!((at("2026-03-10T11:59:01Z"), at("2026-03-10T11:59:00Z")), (0, 1), "{message}");
    }
}

#[test]
fn a_target_that_has_just_got_its_url_says_what_was_before() {
    let asked = |at: &str| {
        let spec = format!("backupTargetURL: 's3://b@r/', syncRequestedAt: '{at}'");
        target(false, LONG_AGO, "backup target URL is empty").replace("backupTargetURL: 's3://b@r/'", &spec)
    };
    assert!(asked(JUST_NOW).contains("syncRequestedAt"), "the spec is as it was");
    assert!(found(&CHECK, &cluster_at(NOW, &asked(JUST_NOW))).is_empty());
    assert_eq!(found(&CHECK, &cluster_at(NOW, &asked(LONG_AGO))).len(), 1, "it was never asked");
    // an exporter sees how long it lasts, whenever Longhorn asks again
    let live = live_at(NOW, &asked(JUST_NOW));
    assert!(found(&CHECK, &live).is_empty());
    assert_eq!(found(&CHECK, &later(live, 600)).len(), 1);
}

#[test]
fn the_newest_backup_of_a_volume_counts() {
    let error = |name: &str, created: &str| backup(name, created, "state: Error, error: 'no space left'");
    for (yaml, expected) in [
        (backed_up("2026-03-09T02:00:00Z") + &error("b1", LONG_AGO), Some("backup_failed")),
        (volume("state: detached") + &error("b1", LONG_AGO), Some("backup_failed")),
        // a later one succeeded
        (backed_up(JUST_NOW) + &error("b1", LONG_AGO), None),
        // a later one is under way
        (
            backed_up("2026-03-09T02:00:00Z")
                + &error("b1", LONG_AGO)
                + &backup("b2", JUST_NOW, "state: InProgress, progress: 0"),
            None,
        ),
        // its volume is gone
        (error("b1", LONG_AGO), None),
        // found in the backup store, taken by another cluster
        (
            backed_up("2026-03-09T02:00:00Z")
                + &error("b1", LONG_AGO).replace("snapshotName: snap", "snapshotName: ''"),
            None,
        ),
        (backed_up("2026-03-09T02:00:00Z") + &backup("b1", LONG_AGO, "state: Completed"), None),
        (backed_up("2026-03-09T02:00:00Z") + &backup("b1", LONG_AGO, "state: Deleting"), None),
    ] {
        let expected: Vec<_> =
            expected.map(|cause| format!("warning {cause} Volume vol-1")).into_iter().collect();
        assert_eq!(found(&CHECK, &cluster_at(NOW, &yaml)), expected, "{yaml}");
    }
}

#[test]
fn a_backup_without_progress_is_stuck_and_a_slow_one_is_not() {
    let with = |created: &str, status: &str| {
        cluster_at(NOW, &(volume("state: attached") + &backup("b1", created, status)))
    };
    let stuck = ["warning backup_stuck Volume vol-1"];
    assert_eq!(found(&CHECK, &with(LONG_AGO, "state: InProgress, progress: 0")), stuck);
    assert_eq!(
        found(&CHECK, &with(LONG_AGO, "state: Pending, messages: {info: 'waiting for the engine'}")),
        stuck
    );
    assert_eq!(found(&CHECK, &with(LONG_AGO, "")), stuck, "not even begun");
    // in a recording no pace is known, but this one would take three months
    assert_eq!(found(&CHECK, &with("2026-02-24T00:00:00Z", "state: InProgress, progress: 15")), stuck);
    for (created, status) in [
        (JUST_NOW, "state: InProgress, progress: 0"),
        // it has advanced; when is unknown from one look
        ("2026-03-01T00:00:00Z", "state: InProgress, progress: 40"),
    ] {
        assert!(found(&CHECK, &with(created, status)).is_empty(), "{status}");
    }
    // watched for hours: silent while it advances, found when it stands still
    let at = |progress: u8| {
        volume("state: attached")
            + &backup("b1", LONG_AGO, &format!("state: InProgress, progress: {progress}"))
            + MANAGER
    };
    let mut live = later(live_at(NOW, &at(1)), 3000);
    for progress in 2..5 {
        live.objects.backups.insert(cluster(&at(progress)).objects.backups.get("b1").unwrap().clone());
        assert!(found(&CHECK, &live).is_empty(), "{progress}");
        live = later(live, 3000);
    }
    assert!(found(&CHECK, &live).is_empty());
    assert_eq!(found(&CHECK, &later(live, 700)), stuck);
}

#[test]
fn a_job_is_overdue_after_its_longest_pause_and_not_before() {
    let overdue =
        |task: &str, cron: &str, last: &str| cluster_at(NOW, &(job(task, cron) + &cron_job(last, false)));
    let line = ["warning recurring_job_overdue RecurringJob nightly"];
    assert_eq!(found(&CHECK, &overdue("backup", "0 2 * * *", "2026-03-09T02:00:00Z")), line);
    assert_eq!(found(&CHECK, &overdue("snapshot", "*/5 * * * *", "2026-03-10T11:40:00Z")), line);
    for (cron, last) in [
        ("0 2 * * *", "2026-03-10T02:00:00Z"),
        // a zone of its own, and the switch of its clocks
        ("0 2 * * *", "2026-03-09T11:00:00Z"),
        ("*/5 * * * *", "2026-03-10T11:50:00Z"),
        // 10 March 2026 is a Tuesday
        ("0 2 * * 0", "2026-03-08T02:00:00Z"),
        // a schedule that no one can read
        ("whenever", "2020-01-01T00:00:00Z"),
    ] {
        assert!(found(&CHECK, &overdue("backup", cron, last)).is_empty(), "{cron} {last}");
    }
    let suspended = job("backup", "0 2 * * *") + &cron_job("2026-01-01T02:00:00Z", true);
    assert_eq!(
        found(&CHECK, &cluster_at(NOW, &suspended)),
        ["info recurring_job_suspended RecurringJob nightly"]
    );
    // a recording may have left the CronJobs out; a live cluster has not
    assert!(found(&CHECK, &cluster_at(NOW, &job("backup", "0 2 * * *"))).is_empty());
    let live = live_at(NOW, &(job("backup", "0 2 * * *") + MANAGER));
    assert_eq!(found(&CHECK, &later(later(live, 10), 600)), line);
}

#[test]
fn what_hangs_is_told() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: nightly-1-x, namespace: longhorn-system, labels: {recurring-job.longhorn.io: nightly}}\n\
        status: {conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: '0/3 nodes are available'}]}\n---\n";
    let yaml = nightly("2026-03-08T02:00:00Z") + pod + &backed_up("2026-03-08T02:10:00Z");
    let report = run(&CHECK, &cluster_at(NOW, &yaml)).report;
    assert_eq!(report.findings.len(), 1, "the age of the backups is explained by the job");
    let texts: Vec<_> = report.findings[0].evidence().iter().map(|fact| fact.text.as_str()).collect();
    assert!(texts.iter().any(|text| text.starts_with("nightly-1 has not finished")), "{texts:?}");
    assert!(texts.iter().any(|text| text.contains("no node can take it (Unschedulable)")), "{texts:?}");
    assert_eq!(report.findings[0].volumes[0].pvc.as_deref(), Some("db/data"));
}

#[test]
fn a_job_that_is_still_writing_is_late_but_not_lost() {
    let run = nightly("2026-03-08T02:00:00Z") + &backed_up("2026-03-08T02:10:00Z");
    let written = |at: &str| backup("b", at, "state: InProgress, progress: 40");
    for (more, severity) in [
        (String::new(), "warning"),
        (written("2026-03-10T11:50:00Z"), "info"),
        (written("2026-03-10T11:50:00Z").replace("state: InProgress", "state: Error"), "warning"),
    ] {
        let found = found(&CHECK, &cluster_at(NOW, &(run.clone() + &more)));
        assert!(
            found.contains(&format!("{severity} recurring_job_overdue RecurringJob nightly")),
            "{found:?}"
        );
    }
}

#[test]
fn a_volume_that_two_runs_left_out_is_found() {
    let ran = nightly("2026-03-10T02:00:00Z");
    let old = "2026-03-07T02:10:00Z";
    let written = backup("b", "2026-03-10T02:00:10Z", "state: InProgress, progress: 40");
    for (volume, expected) in [
        (backed_up(old), Some("warning volume_backup_old")),
        (volume("state: attached"), Some("warning volume_backup_old")),
        (backed_up("2026-03-10T02:10:00Z"), None),
        // one run was missed
        (backed_up("2026-03-09T02:10:00Z"), None),
        (volume(&format!("state: detached, lastBackupAt: '{old}'")), Some("info detached_not_backed_up")),
        (volume(&format!("state: detached, lastBackupAt: '{old}', restoreRequired: true")), None),
        (volume(&format!("state: attached, robustness: faulted, lastBackupAt: '{old}'")), None),
        (
            backed_up(old)
                .replace("recurring-job-group.longhorn.io/default", "recurring-job-group.longhorn.io/other"),
            None,
        ),
        (volume("state: attached").replace("2026-01-01", "2026-03-09"), None),
        // the first backup copies everything; that of a volume with an old one is late all the same
        (volume("state: attached") + &written, None),
        (
            volume("state: attached") + &written + &backup("a", "2026-03-09T02:00:10Z", "state: Error"),
            Some("warning volume_backup_old"),
        ),
        (backed_up(old) + &written, Some("warning volume_backup_old")),
        // another finding says why
        (backed_up(old) + &target(false, LONG_AGO, "i/o timeout"), Some("warning target_unavailable")),
    ] {
        let cluster = cluster_at(NOW, &(ran.clone() + &volume));
        let lines: Vec<String> = found(&CHECK, &cluster)
            .iter()
            .filter_map(|line| Some(line.rsplit_once(' ')?.0.rsplit_once(' ')?.0.to_owned()))
            .collect();
        assert_eq!(lines, expected.map(str::to_owned).into_iter().collect::<Vec<_>>(), "{volume}");
    }
    let evaluation = run(&CHECK, &cluster_at(NOW, &(ran + &backed_up(old))));
    let at = time(old).as_second() as f64;
    assert_eq!(
        sample(&evaluation, "longhorn_health_volume_last_backup_timestamp_seconds", &["vol-1"]),
        Some(at)
    );
}

#[test]
fn a_volume_that_was_just_attached_gets_a_run_first() {
    let yaml = nightly("2026-03-10T02:00:00Z") + &backed_up("2026-03-07T02:10:00Z") + MANAGER;
    let live = later(live_at(NOW, &yaml), 3600);
    assert!(found(&CHECK, &live).is_empty());
}

#[test]
fn complete_backups_are_not_held() {
    let many: String =
        (0..50).map(|number| backup(&format!("b{number}"), LONG_AGO, "state: Completed")).collect();
    let cluster =
        cluster_at(NOW, &(volume("state: attached") + &many + &backup("c", JUST_NOW, "state: InProgress")));
    assert_eq!(cluster.objects.backups.len(), 1);
    assert_eq!(sample(&run(&CHECK, &cluster), "longhorn_health_backups", &["in_progress"]), Some(1.0));
}

/// Weeks ago it was detached, and no run has come since it was attached again.
#[test]
fn a_volume_that_was_just_attached_again_has_its_next_run_before_it() {
    let csi = |at: &str| {
        format!(
            "apiVersion: storage.k8s.io/v1\nkind: VolumeAttachment\nmetadata: {{name: a, creationTimestamp: '{at}'}}\n\
             spec: {{attacher: driver.longhorn.io, nodeName: n1, source: {{persistentVolumeName: pv-1}}}}\n---\n"
        )
    };
    let old =
        backed_up("2026-02-01T02:00:00Z").replace("kubernetesStatus: {", "kubernetesStatus: {pvName: pv-1, ");
    let at = |attached: &str, run: &str| {
        found(&CHECK, &cluster_at(NOW, &(old.clone() + &csi(attached) + &nightly(run))))
    };
    let told = ["warning volume_backup_old RecurringJob nightly"];
    assert_eq!(at("2026-03-10T09:00:00Z", "2026-03-10T02:00:00Z"), Vec::<String>::new());
    assert_eq!(at("2026-03-09T22:00:00Z", "2026-03-10T11:30:00Z"), Vec::<String>::new(), "a run goes on");
    assert_eq!(at("2026-03-09T22:00:00Z", "2026-03-10T02:00:00Z"), told, "a run left it out");
    assert_eq!(at("2026-03-01T00:00:00Z", "2026-03-10T02:00:00Z"), told);
}

#[test]
fn a_percent_of_what_is_very_large_takes_longer() {
    let stuck = |size: &str, created: &str| {
        let volume = backed_up("2026-03-10T02:00:00Z")
            .replace("status: {", &format!("spec: {{size: '{size}'}}\nstatus: {{"));
        found(&CHECK, &cluster_at(NOW, &(volume + &backup("b", created, "state: InProgress"))))
    };
    let told = ["warning backup_stuck Volume vol-1"];
    assert_eq!(stuck("500000000000", "2026-03-10T11:00:00Z"), told);
    assert_eq!(stuck("2000000000000", "2026-03-10T10:00:00Z"), Vec::<String>::new());
    assert_eq!(stuck("2000000000000", "2026-03-10T09:00:00Z"), told);
}
