use super::CHECK;
use crate::cluster::Cluster;
use crate::testing::*;

const NOW: &str = "2026-01-02T00:00:00Z";

fn volume_with(metadata: &str, spec: &str, status: &str) -> String {
    let rest = format!(
        "spec: {{numberOfReplicas: 1, nodeID: n, size: '20', {spec}}}\nstatus: {{state: attached, robustness: healthy, currentNodeID: n, {status}}}"
    );
    object_with("Volume", "v", metadata, &rest)
}

fn volume(spec: &str, status: &str) -> String {
    volume_with("creationTimestamp: '2026-01-01T23:00:00Z'", spec, status)
}

fn engine(status: &str) -> String {
    let rest = format!(
        "spec: {{volumeName: v, nodeID: n, active: true}}\nstatus: {{currentState: running, {status}}}"
    );
    object_with("Engine", "v-e-0", "labels: {longhornvolume: v}", &rest)
}

fn says(cluster: &Cluster) -> String {
    found(&CHECK, cluster).join(", ")
}

fn recorded(yaml: &str) -> String {
    says(&cluster_at(NOW, yaml))
}

/// What is found after the same was watched for these minutes.
fn watched(yaml: &str, minutes: i64) -> String {
    says(&later(live_at(NOW, yaml), minutes * 60))
}

/// The causes that only time can tell, in a recording.
fn noted(yaml: &str) -> Vec<&'static str> {
    let cluster = cluster_at(NOW, yaml);
    let mut out = crate::check::Outcome::new(&CHECK, &cluster);
    (CHECK.run)(&cluster, &mut out);
    out.time_tells.keys().copied().collect()
}

#[test]
fn an_expansion_fails_by_its_error_and_stalls_by_the_clock() {
    let due = volume("", "expansionRequired: true");
    let failed = due.clone()
        + &engine(
            "currentSize: '10', lastExpansionError: 'no space left', lastExpansionFailedAt: '2026-01-01T22:00:00Z'",
        );
    assert_eq!(recorded(&failed), "warning expansion_failed Volume v");
    let evidence = format!("{:?}", run(&CHECK, &cluster_at(NOW, &failed)).report.findings);
    assert!(evidence.contains("no space left"), "{evidence}");
    let slow = due + &engine("currentSize: '10', isExpanding: true");
    assert_eq!(recorded(&slow), "");
    assert_eq!(noted(&slow), ["expansion_stalled"]);
    assert_eq!(watched(&slow, 29), "");
    assert_eq!(watched(&slow, 30), "warning expansion_stalled Volume v");
    // held for done, or refused where room is short: nothing says that it is due
    let held = volume("", "") + &engine("currentSize: '10'");
    assert_eq!(noted(&held), ["expansion_stalled"]);
    assert_eq!(watched(&held, 30), "warning expansion_stalled Volume v");
    // a replica that another engine enlarged, and the header of an encrypted volume
    let larger =
        |error: &str| volume("", "") + &engine(&format!("currentSize: '50', lastExpansionError: '{error}'"));
    let enlarged = "the expected size 20 of engine e should not be smaller than the current size 50";
    assert_eq!(recorded(&larger(enlarged)), "warning expansion_failed Volume v");
    assert_eq!((recorded(&larger("")), noted(&larger(""))), (String::new(), vec![]));
    // an old error of an expansion that is done, and one that is tried again just now
    let done = volume("", "") + &engine("currentSize: '20', lastExpansionError: 'no space left'");
    assert_eq!(recorded(&done), "");
    let again = volume("", "expansionRequired: true")
        + &engine("isExpanding: true, lastExpansionError: 'no space left'");
    assert_eq!(recorded(&again), "");
}

#[test]
fn a_restore_fails_by_its_error_and_stalls_without_progress() {
    let failed =
        engine("restoreStatus: {'tcp://1:10000': {isRestoring: false, error: 'cannot find backup'}}");
    let running = engine("restoreStatus: {'tcp://1:10000': {isRestoring: true, progress: 0}}");
    let moved = engine("restoreStatus: {'tcp://1:10000': {isRestoring: true, progress: 7}}");
    let (restored, standby) = (volume("", "restoreRequired: true"), volume("", "isStandby: true"));
    assert_eq!(recorded(&(restored.clone() + &failed)), "warning restore_failed Volume v");
    assert_eq!(recorded(&(standby.clone() + &failed)), "warning restore_failed Volume v");
    assert_eq!(recorded(&(volume("", "") + &failed)), "", "one that is done with");
    let faulted = restored.replace("robustness: healthy", "robustness: faulted");
    assert_eq!(recorded(&(faulted + &failed)), "", "volume_faulted says so");
    // created an hour ago, and not a percent
    assert_eq!(recorded(&(restored.clone() + &running)), "warning restore_stalled Volume v");
    assert_eq!(recorded(&(restored.clone() + &moved)), "");
    assert_eq!(noted(&(restored.clone() + &moved)), ["restore_stalled"]);
    assert_eq!(noted(&(standby + &running)), ["restore_stalled"], "it was made long ago");
    assert_eq!(watched(&(restored.clone() + &moved), 60), "warning restore_stalled Volume v");
    let cluster = later(live_at(NOW, &(restored.clone() + &moved)), 3_600);
    let on = next(
        cluster,
        60,
        &(restored + &engine("restoreStatus: {'tcp://1:10000': {isRestoring: true, progress: 8}}")),
    );
    assert_eq!(says(&on), "");
}

#[test]
fn a_purge_that_failed_is_context_and_one_that_stalls_is_not() {
    let with =
        |purge: &str| volume("", "") + &engine(&format!("purgeStatus: {{'tcp://1:10000': {{{purge}}}}}"));
    assert_eq!(recorded(&with("isPurging: false, error: 'failed to merge'")), "info purge_failed Volume v");
    assert_eq!(recorded(&with("isPurging: false, state: complete, progress: 100")), "");
    let slow = with("isPurging: true, progress: 30");
    assert_eq!((recorded(&slow), noted(&slow)), (String::new(), vec!["purge_stalled"]));
    assert_eq!(
        (watched(&slow, 59), watched(&slow, 60)),
        (String::new(), "warning purge_stalled Volume v".to_owned())
    );
}

#[test]
fn a_clone_ends_completed() {
    let clone =
        |state: &str| volume("dataSource: 'vol://source'", &format!("cloneStatus: {{state: '{state}'}}"));
    assert_eq!(recorded(&clone("completed")), "");
    assert_eq!(
        recorded(&(clone("failed") + &engine("cloneStatus: {a: {error: 'no replica'}}"))),
        "warning clone_failed Volume v"
    );
    assert_eq!(recorded(&clone("initiated")), "warning clone_stalled Volume v");
    assert_eq!(
        recorded(&(clone("initiated") + &engine("cloneStatus: {a: {isCloning: true, progress: 12}}"))),
        ""
    );
    let young = clone("").replace("23:00:00", "23:30:00");
    assert_eq!((recorded(&young), noted(&young)), (String::new(), vec!["clone_stalled"]));
    assert_eq!(recorded(&volume("", "cloneStatus: {state: ''}")), "", "no clone at all");
}

#[test]
fn a_system_backup_is_bad_until_a_later_one_is_good() {
    let backup = |name: &str, day: &str, state: &str| {
        let status = format!(
            "status: {{state: '{state}', conditions: [{{type: Error, status: 'True', reason: Upload, message: 'no such bucket'}}]}}"
        );
        object_with("SystemBackup", name, &format!("creationTimestamp: '{day}T12:00:00Z'"), &status)
    };
    let base = volume("", "");
    let with = |backups: String| base.clone() + &backups;
    assert_eq!(
        recorded(&with(backup("a", "2026-01-01", "Error"))),
        "warning system_backup_failed SystemBackup a"
    );
    assert_eq!(recorded(&with(backup("a", "2025-12-31", "Error") + &backup("b", "2026-01-01", "Ready"))), "");
    assert_eq!(
        recorded(&with(backup("a", "2026-01-01", "Error") + &backup("b", "2025-12-31", "Ready"))),
        "warning system_backup_failed SystemBackup a"
    );
    assert_eq!(recorded(&with(backup("a", "2026-01-01", "CreatingVolumeBackups"))), "", "has a day");
    assert_eq!(
        recorded(&with(backup("a", "2025-12-31", "CreatingVolumeBackups"))),
        "warning system_backup_stalled SystemBackup a"
    );
    assert_eq!(recorded(&with(backup("a", "2026-01-01", "Uploading"))), "");
    assert_eq!(
        watched(&with(backup("a", "2026-01-01", "Uploading")), 90),
        "warning system_backup_stalled SystemBackup a"
    );
    assert_eq!(
        recorded(&with(backup("a", "2025-12-29", "Generating"))),
        "warning system_backup_stalled SystemBackup a"
    );
    let image = |state: &str| {
        let rest = format!(
            "spec: {{userCreated: true, backingImage: i}}\nstatus: {{state: '{state}', error: 'denied', progress: 0}}"
        );
        object_with("BackupBackingImage", "i", "creationTimestamp: '2026-01-01T12:00:00Z'", &rest)
    };
    assert_eq!(recorded(&with(image("Error"))), "warning system_backup_failed BackupBackingImage i");
    assert_eq!(recorded(&with(image("InProgress"))), "warning system_backup_stalled BackupBackingImage i");
    assert_eq!(recorded(&with(image("Completed"))), "");
}

/// Longhorn issue of an image whose only copy had no state for two hours, and of one that was ready for transfer as long.
#[test]
fn a_backing_image_without_usable_copy_is_found_once_it_stands_still() {
    let image = |created: &str, copies: &str| {
        object_with(
            "BackingImage",
            "i",
            &format!("creationTimestamp: '2026-01-01T{created}Z'"),
            &format!("status: {{diskFileStatusMap: {{{copies}}}}}"),
        )
    };
    let source = |status: &str, transferred: bool, kind: &str| {
        object(
            "BackingImageDataSource",
            "i",
            &format!(
                "spec: {{nodeID: n, fileTransferred: {transferred}, sourceType: {kind}}}\nstatus: {{{status}}}"
            ),
        )
    };
    let disk = |uuid: &str| format!("disk-{uuid}: {{diskUUID: {uuid}}}");
    let node = object("Node", "n", &format!("status: {{diskStatus: {{{}, {}}}}}", disk("d"), disk("e")));
    let waits = volume("backingImage: i", "") + &node;
    let cluster = |parts: &[String]| waits.clone() + &parts.concat();
    let stalled = "warning backing_image_stalled BackingImage i";
    let empty = source("currentState: ''", false, "download");
    assert_eq!(recorded(&cluster(&[image("22:00:00", ""), empty.clone()])), stalled);
    assert_eq!(recorded(&cluster(&[image("23:45:00", ""), empty])), "");
    let transfer = source("currentState: ready-for-transfer, progress: 100", false, "download");
    let manager = object(
        "BackingImageManager",
        "m",
        "spec: {nodeID: n, backingImages: {i: u}}\nstatus: {currentState: starting}",
    );
    let there =
        cluster(&[image("22:00:00", "d: {state: ready-for-transfer, progress: 100}"), transfer, manager]);
    assert_eq!((recorded(&there), noted(&there)), (String::new(), vec!["backing_image_stalled"]));
    assert_eq!(watched(&there, 30), stalled);
    let dated = there.replace(
        "state: ready-for-transfer, progress: 100}}",
        "state: ready-for-transfer, lastStateTransitionTime: '2026-01-01T22:30:00Z'}}",
    );
    assert_eq!(recorded(&dated), stalled, "its copy says since when");
    let evidence = format!("{:?}", run(&CHECK, &later(live_at(NOW, &there), 1_800)).report.findings);
    assert!(evidence.contains("backing image manager m on n is starting"), "{evidence}");
    for (what, parts) in [
        (
            "one copy is ready",
            [image("22:00:00", "d: {state: ready}, e: {state: unknown}"), source("", true, "download")],
        ),
        (
            "it moves",
            [
                image("22:00:00", "d: {state: in-progress, progress: 40}"),
                source("currentState: in-progress, progress: 40", false, "download"),
            ],
        ),
        ("it is not made yet", [image("22:00:00", ""), String::new()]),
    ] {
        assert_eq!(recorded(&cluster(&parts)), "", "{what}");
    }
    let lost = [image("22:00:00", "d: {state: unknown}, e: {state: failed}"), source("", true, "download")];
    assert_eq!(recorded(&cluster(&lost)), "", "no copy is left to wait for, which another check says");
    let elsewhere = [image("22:00:00", "gone: {state: unknown}"), source("", true, "download")];
    assert_eq!(recorded(&cluster(&elsewhere)), "", "no node lists the disk, which another check says");
    let upload = image("22:00:00", "") + &source("currentState: pending", false, "upload");
    assert_eq!(
        recorded(&(volume("", "") + &upload)),
        "info backing_image_stalled BackingImage i",
        "someone has to upload it"
    );
}

#[test]
fn a_backing_image_that_fails_at_each_try_is_as_old_as_itself() {
    let image = |created: &str, state: &str, message: &str| {
        let copy = format!(
            "status: {{diskFileStatusMap: {{d: {{state: {state}, message: '{message}', lastStateTransitionTime: '2026-01-01T23:59:55Z'}}}}}}"
        );
        object_with("BackingImage", "i", &format!("creationTimestamp: '2026-01-01T{created}Z'"), &copy)
            + &object("Node", "n", "status: {diskStatus: {d: {diskUUID: d}}}")
            + &object(
                "BackingImageDataSource",
                "i",
                &format!("spec: {{nodeID: n, sourceType: download}}\nstatus: {{currentState: {state}}}"),
            )
    };
    let failed = "warning backing_image_failed BackingImage i";
    let (reset, checksum) = ("connection reset by peer", "the expected checksum a doesn''t match b");
    for (created, message, expected) in [
        ("23:50:00", reset, failed),
        ("23:50:01", reset, ""),
        ("23:59:00", checksum, failed),
        ("23:59:01", checksum, ""),
        ("23:50:01", "got 404 Not Found", failed),
    ] {
        assert_eq!(recorded(&image(created, "failed-and-cleanup", message)), expected, "{created} {message}");
    }
    // between two tries, and once a try goes on for longer than Longhorn ever waits
    let first = live_at(NOW, &image("22:00:00", "failed", checksum));
    let again = next(first, 90, &image("22:00:00", "in-progress, progress: 40", ""));
    assert_eq!(says(&again), failed);
    assert_eq!(says(&later(again, 600)), "");
    let ready = next(live_at(NOW, &image("22:00:00", "failed", "")), 30, &image("22:00:00", "ready", ""));
    assert_eq!(says(&ready), "");
    let used = image("22:00:00", "failed", checksum) + &volume("backingImage: i", "actualSize: '5'");
    let fix = |yaml: &str| run(&CHECK, &cluster_at(NOW, yaml)).report.findings[0].remedy.fix.clone();
    assert!(fix(&used).contains("Do not delete the image"), "{}", fix(&used));
    assert!(fix(&image("22:00:00", "failed", checksum)).contains("create them again"));
}

#[test]
fn operations_are_counted() {
    let failed = volume("", "expansionRequired: true") + &engine("lastExpansionError: 'no space left'");
    let evaluation = run(&CHECK, &cluster_at(NOW, &failed));
    assert_eq!(sample(&evaluation, "longhorn_health_unfinished_operations", &["expansion"]), Some(1.0));
    assert_eq!(sample(&evaluation, "longhorn_health_unfinished_operations", &["restore"]), None);
}

#[test]
fn a_system_restore_stands_still_without_a_pod_or_after_the_day_that_a_kind_has() {
    let restore = |created: &str, status: &str| {
        let metadata = format!("creationTimestamp: '{created}'");
        volume("", "") + &object_with("SystemRestore", "r", &metadata, &format!("status: {{{status}}}"))
    };
    let pod = |phase: &str| {
        let metadata = "labels: {job-name: longhorn-system-rollout-r}";
        object_with("Pod", "longhorn-system-rollout-r-x", metadata, &format!("status: {{phase: {phase}}}"))
    };
    let stalled = "warning system_restore_stalled SystemRestore r";
    let (hour, day) = ("2026-01-01T23:00:00Z", "2025-12-31T22:00:00Z");
    for (name, yaml, expected) in [
        ("works", restore(hour, "state: Restoring") + &pod("Running"), ""),
        ("a kind has a day", restore(day, "state: Restoring") + &pod("Running"), stalled),
        ("no pod is left", restore(hour, "state: Restoring"), stalled),
        ("its pod gave up", restore(hour, "state: Pending") + &pod("Failed"), stalled),
        ("its pod does not start", restore(hour, "state: Pending") + &pod("Pending"), ""),
        ("for hours", restore("2026-01-01T22:00:00Z", "state: Pending") + &pod("Pending"), stalled),
        ("just created", restore("2026-01-01T23:45:00Z", "state: Pending"), ""),
        ("no manager took it up", restore(hour, "state: ''"), ""),
        ("it ended", restore(day, "state: Completed"), ""),
        ("it goes", restore(day, "state: Deleting"), ""),
    ] {
        assert_eq!(recorded(&yaml), expected, "{name}");
    }
    let works = restore(hour, "state: Restoring") + &pod("Running");
    assert_eq!(noted(&works), ["system_restore_stalled"]);
    assert_eq!(watched(&works, 25 * 60 - 61), "");
    let finding = run(&CHECK, &cluster_at(NOW, &restore(hour, "state: Restoring"))).report.findings.remove(0);
    assert!(finding.message.ends_with(", and its Job has no pod"), "{}", finding.message);
    assert!(finding.remedy.commands[0].run.contains("job-name=longhorn-system-rollout-r "), "{finding:?}");
    assert!(finding.remedy.commands.iter().all(|command| !command.changes));
    let failed = |at: &str| {
        let error = format!(
            "{{type: Error, status: 'True', reason: Restore, message: 'no such volume', lastTransitionTime: '{at}'}}"
        );
        recorded(&restore("2025-12-01T00:00:00Z", &format!("state: Error, conditions: [{error}]")))
    };
    assert_eq!(failed("2026-01-01T00:00:01Z"), "warning system_restore_failed SystemRestore r");
    assert_eq!(failed("2026-01-01T00:00:00Z"), "info system_restore_failed SystemRestore r");
}

#[test]
fn a_restore_begins_again_with_its_engine() {
    let restored = |started: &str| {
        let event = format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: e, namespace: longhorn-system}}\nreason: Start\nlastTimestamp: '{started}'\n\
             involvedObject: {{kind: Engine, name: v-e-0}}\n---\n"
        );
        let volume = volume_with("creationTimestamp: '2026-01-01T18:00:00Z'", "", "restoreRequired: true");
        recorded(&(volume + &engine("restoreStatus: {r: {isRestoring: true, progress: 0}}") + &event))
    };
    assert_eq!(restored("2026-01-01T23:30:00Z"), "");
    assert_eq!(restored("2026-01-01T23:00:00Z"), "warning restore_stalled Volume v");
}
