//! Volumes that are attached and cannot be mounted.

use super::*;
const RUNS: &str = ", instanceManagerName: im, replicaModeMap: {r: RW}";

fn attached(claim_status: &str) -> String {
    let volume = volume("v", "attached", "nodeID: n1", "n1")
        .replace("kubernetesStatus: {", &format!("kubernetesStatus: {{pvName: pv, {claim_status}"));
    let csi = csi("csi-v", "n1", "2026-03-01T11:00:00Z").trim_end_matches("---\n").to_owned();
    volume + &engine("v", "n1", "running", RUNS) + &csi + "status: {attached: true}\n---\n"
}

fn failed_mount(pv: &str, error: &str, count: u32, first: &str, last: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Event\nmetadata: {{name: e1, namespace: db}}\nreason: FailedMount\ncount: {count}\n\
         message: 'MountVolume.MountDevice failed for volume \"{pv}\" : rpc error: {error}'\nsource: {{component: kubelet, host: n2}}\n\
         involvedObject: {{kind: Pod, name: db-0, namespace: db}}\nfirstTimestamp: '2026-03-01T{first}Z'\nlastTimestamp: '2026-03-01T{last}Z'\n---\n"
    )
}

fn recorded(objects: &str) -> Vec<String> {
    found(&CHECK, &cluster_at(NOW, objects))
}

#[test]
fn what_the_kubelet_fails_to_mount_for_ten_minutes_is_found() {
    let failing = |count, first, last| {
        recorded(&(attached("") + &failed_mount("pv", "missing passphrase", count, first, last)))
    };
    assert_eq!(failing(9, "11:30:00", "11:59:00"), ["warning mount_failing Volume v"]);
    assert_eq!(failing(9, "11:50:00", "11:59:00"), ["warning mount_failing Volume v"]);
    for (what, found) in [
        ("on its way", failing(9, "11:50:01", "11:59:00")),
        ("over", failing(9, "11:10:00", "11:45:00")),
        ("a race", failing(2, "11:30:00", "11:59:00")),
    ] {
        assert!(found.is_empty(), "{what}: {found:?}");
    }
}

#[test]
fn what_stands_still_for_another_reason_is_not_called_a_failing_mount() {
    let event = |pv| failed_mount(pv, "x", 9, "11:30:00", "11:59:00");
    assert!(recorded(&(attached("") + &event("another"))).is_empty());
    let about_node = event("pv").replace("kind: Pod", "kind: Node");
    assert!(recorded(&(attached("") + &about_node)).is_empty());
    for (what, from, to) in [
        ("deleted", "metadata: {name: v,", "metadata: {name: v, deletionTimestamp: '2026-03-01T11:00:00Z',"),
        ("restored", "state: attached", "restoreRequired: true, state: attached"),
        ("its engine is dead", "currentState: running", "currentState: error"),
        ("its NFS server is away", "accessMode: rwo", "accessMode: rwx"),
    ] {
        let share = "apiVersion: longhorn.io/v1beta2\nkind: ShareManager\nmetadata: {name: v, namespace: longhorn-system}\n\
                     status: {state: starting}\n---\n";
        let objects = attached("").replace(from, to) + share + &event("pv");
        let found = recorded(&objects);
        assert!(found.iter().all(|line| !line.contains("mount_failing")), "{what}: {found:?}");
    }
}

#[test]
fn known_errors_have_their_own_advice() {
    for (error, advice) in [
        ("/dev/longhorn/v already mounted or mount point busy.", "multipathd"),
        ("Cannot use device /dev/longhorn/v which is in use", "multipathd"),
        ("missing passphrase for encrypted volume v", "nodeStageSecretRef"),
        ("missing passphrase for encrypted volume v", "Retain"),
        ("failed to run cryptsetup args: [luksOpen]", "dm_crypt"),
        ("UNEXPECTED INCONSISTENCY; RUN fsck MANUALLY.", "backup or a snapshot before"),
        ("Output: mount.nfs: Protocol not supported", "NFS 4.1"),
        ("staging path is no longer valid for volume v", "Scale the workload to 0"),
        ("something else", "longhorn-csi-plugin"),
    ] {
        let objects = attached("") + &failed_mount("pv", error, 9, "11:30:00", "11:59:00");
        let finding = &run(&CHECK, &cluster_at(NOW, &objects)).report.findings[0];
        assert!(finding.remedy.fix.contains(advice), "{error}: {}", finding.remedy.fix);
        assert!(finding.remedy.commands.iter().all(|command| !command.changes));
    }
}

#[test]
fn a_pod_that_stays_pending_is_context_for_who_watches() {
    let pending = attached("workloadsStatus: [{podName: db-0, podStatus: Pending}], ");
    assert!(recorded(&pending).is_empty(), "a recording does not tell since when");
    let first = live_at(NOW, &pending);
    assert!(found(&CHECK, &first).is_empty());
    let next = later(first, 899);
    assert!(found(&CHECK, &next).is_empty());
    assert_eq!(found(&CHECK, &later(next, 1)), ["info mount_failing Volume v"]);
    let other_runs =
        pending.replace("podStatus: Pending}", "podStatus: Pending}, {podName: db-1, podStatus: Running}");
    assert!(found(&CHECK, &later(live_at(NOW, &other_runs), 1_000)).is_empty());
    let not_attached = pending.replace("attached: true", "attached: false");
    assert!(found(&CHECK, &later(live_at(NOW, &not_attached), 500)).is_empty());
}

#[test]
fn a_pod_that_runs_was_mounted_since() {
    let failing = |pod: &str, status: &str| {
        let pods = format!("workloadsStatus: [{{podName: {pod}, podStatus: {status}}}], ");
        recorded(&(attached(&pods) + &failed_mount("pv", "volume is not ready", 9, "11:30:00", "11:50:00")))
    };
    assert_eq!(failing("db-0", "Running"), Vec::<String>::new());
    assert_eq!(failing("db-0", "Pending"), ["warning mount_failing Volume v"]);
    assert_eq!(failing("db-1", "Running"), ["warning mount_failing Volume v"], "another of its pods");
}
