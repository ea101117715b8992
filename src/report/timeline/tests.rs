mod told;

use super::*;
use crate::edits::Edit;
use crate::history::changes::{Edited, Past};
use crate::incidents::Incident;
use crate::longhorn::Resource;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";

fn managed(manager: &str, at: &str, fields: &str) -> String {
    format!("managedFields: [{{manager: {manager}, operation: Update, time: '{at}', fieldsV1: {fields}}}]")
}

fn setting(name: &str, value: &str, managed: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Setting\nmetadata: {{name: {name}, namespace: longhorn-system, creationTimestamp: \
         '2026-01-01T00:00:00Z', {managed}}}\nvalue: '{value}'\n---\n"
    )
}

fn node(name: &str, meta: &str, spec: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, creationTimestamp: '2026-01-01T00:00:00Z'{meta}}}\nspec: {{{spec}}}\n---\n"
    )
}

/// A target that has not answered since a moment.
fn target(name: &str, since: &str, managed: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: BackupTarget\nmetadata: {{name: {name}, namespace: longhorn-system, creationTimestamp: \
         '2026-01-01T00:00:00Z', {managed}}}\nspec: {{backupTargetURL: 's3://new@eu/'}}\nstatus: {{available: false, conditions: [{{type: \
         Unavailable, status: 'True', reason: x, message: NoSuchBucket, lastTransitionTime: '{since}'}}]}}\n---\n"
    )
}

fn report(cluster: &Cluster) -> crate::Report {
    crate::evaluate(&checks::CATALOGUE, cluster).report
}

fn lines(cluster: &Cluster) -> Vec<String> {
    let line = |entry: &Entry| {
        format!("{} {}", crate::text::timeline::when(entry), crate::text::timeline::said(entry))
    };
    report(cluster).timeline.iter().map(line).collect()
}

fn changed(incidents: &[Incident], cause: &str) -> Vec<String> {
    let incident = incidents.iter().find(|incident| incident.cause == cause);
    crate::text::timeline::before(incident.unwrap_or_else(|| panic!("no incident {cause}")))
}

const VALUE: &str = "{'f:value': {}}";
const URL: &str = "{'f:spec': {'f:backupTargetURL': {}}}";

#[test]
fn what_was_changed_stands_there_with_time_and_manager_newest_first() {
    let yaml = [
        setting("auto-salvage", "false", &managed("kubectl-edit", "2026-03-01T11:00:00Z", VALUE)),
        // annotations move with a ConfigMap, too
        setting(
            "storage-network",
            "",
            &managed("longhorn-manager", "2026-03-01T10:00:00Z", "{'f:metadata': {'f:annotations': {}}, 'f:value': {}}"),
        ),
        setting("old", "1", &managed("kubectl-edit", "2026-02-27T11:00:00Z", VALUE)),
        setting("as-made", "1", &managed("longhorn-manager", "2026-01-01T00:00:01Z", VALUE)),
        node(
            "worker-1",
            &format!(", {}", managed("kubectl-cordon", "2026-03-01T11:30:00Z", "{'f:spec': {'f:unschedulable': {}}}")),
            "unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule, timeAdded: '2026-03-01T11:30:01Z'}]",
        ),
        "apiVersion: v1\nkind: Node\nmetadata: {name: worker-9, creationTimestamp: '2026-03-01T09:00:00Z'}\n---\n".to_owned(),
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: longhorn-system}\nspec: {nodeName: worker-1}\nstatus: \
         {containerStatuses: [{name: c, lastState: {terminated: {exitCode: 137, reason: OOMKilled, finishedAt: \
         '2026-03-01T08:00:00Z'}}}, {name: d, lastState: {terminated: {exitCode: 0, reason: Completed, finishedAt: \
         '2026-03-01T08:00:00Z'}}}]}\n---\n"
            .to_owned(),
    ];
    assert_eq!(
        lines(&cluster_at(NOW, &yaml.concat())),
        [
            "2026-03-01 11:30:01Z worker-1 was cordoned, by kubectl-cordon",
            "2026-03-01 11:00:00Z setting auto-salvage: now false, by kubectl-edit",
            "2026-03-01 10:00:00Z setting storage-network: now unset, by longhorn-manager (then or earlier)",
            "2026-03-01 09:00:00Z node worker-9: added",
            "2026-03-01 08:00:00Z container c of pod p on worker-1 ended with exit code 137 (OOMKilled)",
        ]
    );
}

#[test]
fn what_an_exporter_saw_is_told_with_the_value_before_and_once() {
    let mut cluster = live_at(
        NOW,
        &setting("auto-salvage", "false", &managed("kubectl-edit", "2026-03-01T11:00:00Z", VALUE)),
    );
    let edit = Edit {
        subject: "setting auto-salvage".into(),
        field: "".into(),
        before: Some("true".into()),
        after: Some("false".into()),
    };
    let (at, by) = (time("2026-03-01T11:00:00Z"), "kubectl-edit".to_owned());
    cluster.history.add_edits([Edited { at, edit, by, or_earlier: false }]);
    let past = |cause: &str, ended: Option<&str>| Past {
        check: "volume_faulted".into(),
        cause: cause.into(),
        severity: "critical".into(),
        title: "Claim db/data is faulted".into(),
        began: time("2026-03-01T09:00:00Z"),
        ended: ended.map(time),
    };
    cluster.history.keep_incidents(vec![past("no_data", None)], |_| true, at);
    cluster.history.keep_incidents(Vec::new(), |_| false, time("2026-03-01T09:30:00Z"));
    assert_eq!(
        lines(&cluster),
        [
            "2026-03-01 11:00:00Z setting auto-salvage: true → false, by kubectl-edit",
            "2026-03-01 09:30:00Z over: Claim db/data is faulted",
            "2026-03-01 09:00:00Z began: Claim db/data is faulted",
        ]
    );
}

#[test]
fn an_incident_names_the_change_of_its_object_that_came_before() {
    let since = "2026-03-01T11:30:00Z";
    for (is, other, edited, named) in [
        ("four minutes before", false, "2026-03-01T11:26:00Z", true),
        ("in the same second", false, since, true),
        ("after the begin", false, "2026-03-01T11:31:00Z", false),
        ("long before", false, "2026-03-01T10:29:00Z", false),
        ("of another target", true, "2026-03-01T11:26:00Z", false),
    ] {
        let edit = managed("kubectl-edit", edited, URL);
        let yaml = match other {
            true => target("default", since, "uid: a") + &target("other", "2026-03-01T11:59:59Z", &edit),
            false => target("default", since, &edit),
        };
        let said = changed(&report(&cluster_at(NOW, &yaml)).incidents, "target_unavailable");
        assert_eq!(!said.is_empty(), named, "{is}: {said:?}");
        if edited == "2026-03-01T11:26:00Z" && named {
            assert_eq!(
                said,
                ["backup target default, URL: now s3://new@eu/, by kubectl-edit, 4 min before it began"]
            );
        }
    }
    // it is unknown which of the fields was changed
    let both = managed(
        "longhorn-manager",
        "2026-03-01T11:26:00Z",
        "{'f:spec': {'f:backupTargetURL': {}, 'f:pollInterval': {}}}",
    );
    let said =
        changed(&report(&cluster_at(NOW, &target("default", since, &both))).incidents, "target_unavailable");
    assert!(said.is_empty(), "{said:?}");
}

#[test]
fn a_setting_that_a_cause_names_is_told_and_no_other() {
    let volume = "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {name: v, namespace: longhorn-system, creationTimestamp: \
         '2026-01-01T00:00:00Z'}\nspec: {numberOfReplicas: 3}\nstatus: {state: attached, robustness: degraded, currentNodeID: worker-1, \
         lastDegradedAt: '2026-03-01T11:00:00Z'}\n---\n";
    for (name, named) in [("concurrent-replica-rebuild-per-node-limit", true), ("auto-salvage", false)] {
        let limit = "concurrent-replica-rebuild-per-node-limit";
        let edit = managed("kubectl-patch", "2026-03-01T10:50:00Z", VALUE);
        let plain = if name == limit { String::new() } else { setting(limit, "0", "uid: a") };
        let yaml = format!("{volume}{plain}{}", setting(name, "0", &edit));
        let said = changed(&report(&cluster_at(NOW, &yaml)).incidents, "rebuild_disabled");
        assert_eq!(!said.is_empty(), named, "{name}: {said:?}");
    }
}

#[test]
fn a_timeline_is_bounded_in_count_and_age() {
    let many = (0..500)
        .map(|number| setting(&format!("s-{number}"), "1", &managed("helm", "2026-03-01T11:00:00Z", VALUE)));
    let cluster = cluster_at(NOW, &many.collect::<String>());
    assert_eq!(report(&cluster).timeline.len(), MAX_ENTRIES - MAX_TIMELESS);
    let of = |hours| of(&cluster, &[], &mut [], SignedDuration::from_hours(hours)).len();
    assert_eq!([of(2), of(0)], [MAX_ENTRIES - MAX_TIMELESS, 0]);
    assert!(report(&cluster_at("1970-01-01T00:00:00Z", "")).timeline.is_empty());
}

#[test]
fn a_cause_is_brought_about_by_what_it_declares_of_its_object_and_by_nothing_else() {
    let (begin, at) = (time("2026-03-01T11:30:00Z"), time("2026-03-01T11:20:00Z"));
    let finding = |check: &str, cause: &str, kind: Resource, name: &str, node: &str| {
        let causes = checks::CATALOGUE.by_id(check).unwrap().causes;
        let cause = causes.iter().find(|one| one.id == cause).unwrap();
        let finding =
            Finding::about(cause, cluster_at(NOW, "").object_of(kind, name), "m").since(Some(begin));
        if node.is_empty() { finding } else { finding.node(node) }
    };
    use Resource::*;
    let blocked = || finding("eviction_stalled", "drain_blocked", PodDisruptionBudgets, "im", "worker-1");
    let pending = || finding("danger_zone_pending", "storage_network", Settings, "storage-network", "");
    let path = || finding("manager_crash_loop", "upgrade_path", Pods, "longhorn-manager-a", "worker-1");
    let full = || finding("replica_unschedulable", "over_provisioned", Volumes, "v", "");
    let waits = || {
        finding("volume_attachment_stuck", "ticket_waits", Volumes, "v", "worker-1").fact(
            "NetworkPolicy default-deny selects the managers' pods, and no policy admits traffic to them",
        )
    };
    let silent = || finding("manager_crash_loop", "oom_killed", Pods, "longhorn-manager-a", "worker-1");
    for (finding, subject, field, after, named) in [
        (blocked(), "node worker-1", "cordoned", "yes", true),
        (blocked(), "node worker-1", "cordoned", "no", false),
        (blocked(), "node worker-2", "cordoned", "yes", false),
        (blocked(), "node worker-1", "taints", "a:NoSchedule", false),
        (pending(), "setting storage-network", "", "kube-system/x", true),
        (pending(), "setting storage-network-for-rwx-volume-enabled", "", "true", false),
        (path(), "longhorn-manager", "image", "longhorn-manager:v1.10.0", true),
        (path(), "longhorn-manager", "manifest", "", true),
        (path(), "Deployment longhorn-ui", "manifest", "", false),
        (path(), "longhorn-manager", "oldest pod", "longhorn-manager:v1.10.0", false),
        (full(), "setting storage-over-provisioning-percentage", "", "100", true),
        (full(), "setting storage-minimal-available-percentage", "", "25", false),
        (silent(), "longhorn-manager", "manifest", "", false),
        (waits(), "NetworkPolicy default-deny", "", "", true),
        (waits(), "NetworkPolicy default", "", "", false),
        (waits(), "PodDisruptionBudget default-deny", "", "", false),
    ] {
        let edit = Edit {
            subject: subject.into(),
            field: field.into(),
            before: (!field.is_empty()).then(|| "x".into()),
            after: Some(after.into()),
        };
        let findings = [finding];
        let mut told = crate::incidents::of(&checks::CATALOGUE, &findings, 1);
        incidents::explain(
            &cluster_at(NOW, ""),
            &findings,
            &mut told,
            &[Entry::edited(Some(at), edit, None)],
        );
        assert_eq!(
            told[0].changed.len(),
            usize::from(named),
            "{subject} {field} {after}: {}",
            findings[0].cause
        );
    }
}

#[test]
fn a_pod_that_a_drain_evicted_says_so() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: im, namespace: longhorn-system, uid: u}\nspec: {nodeName: worker-1}\n\
         status: {conditions: [{type: DisruptionTarget, status: 'True', reason: EvictionByEvictionAPI}]}\n---\n";
    let mut cluster = live_at(NOW, pod);
    let gone = cluster.objects.pods.get_shared("im").unwrap();
    cluster.history.pod_gone(gone, "", time("2026-03-01T11:00:00Z"));
    assert_eq!(
        lines(&cluster),
        ["2026-03-01 11:00:00Z pod im on worker-1 was evicted through the API, as a drain does"]
    );
}
