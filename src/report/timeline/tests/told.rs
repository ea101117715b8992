//! In which order, and with which times, incidents are told.

use super::*;

fn finding(check: &str, cause: &str, node: &str, message: &str, since: Option<&str>) -> Finding {
    let check = checks::CATALOGUE.by_id(check).unwrap();
    let cause = check.causes.iter().find(|one| one.id == cause).unwrap();
    let object = cluster_at(NOW, "").object_of(Resource::LonghornNodes, node);
    let mut found = Finding::about(cause, object, message).node(node).since(since.map(time));
    found.check = check.id;
    found
}

/// The lines about what was changed, without those about incidents.
fn changes(yaml: &str) -> Vec<String> {
    lines(&cluster_at(NOW, yaml)).into_iter().filter(|line| !line.contains('[')).collect()
}

/// The lines about these findings, oldest first.
fn told(cluster: &Cluster, findings: &[Finding]) -> Vec<String> {
    let mut told = crate::incidents::of(&checks::CATALOGUE, findings, 3);
    let entries = super::super::of(cluster, findings, &mut told, DAY);
    let line = |entry: &Entry| {
        let when = crate::text::timeline::when(entry).replace("2026-03-01 ", "");
        format!("{when} {}", crate::text::timeline::said(entry))
    };
    entries.iter().rev().map(line).collect()
}

fn manager(node: &str, created: &str, generation: u8, image: &str, status: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: longhorn-manager-{node}, namespace: longhorn-system, creationTimestamp: '{created}', \
         labels: {{app: longhorn-manager, pod-template-generation: '{generation}'}}}}\nspec: {{nodeName: {node}, containers: [{{name: \
         longhorn-manager, image: 'longhornio/longhorn-manager:{image}'}}]}}\nstatus: {{{status}}}\n---\n"
    )
}

fn daemon_set(created: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {{name: longhorn-manager, namespace: longhorn-system, creationTimestamp: \
         '{created}'}}\n---\n"
    )
}

/// A manager that crash-loops, with its last end.
fn looping(node: &str, ended: &str) -> String {
    let status = format!(
        "containerStatuses: [{{name: longhorn-manager, restartCount: 3, state: {{waiting: {{reason: CrashLoopBackOff}}}}, lastState: \
         {{terminated: {{exitCode: 1, reason: Error, startedAt: '2026-03-01T11:40:00Z', finishedAt: '{ended}'}}}}}}]"
    );
    manager(node, "2026-03-01T11:30:00Z", 1, "v1.9.2", &status)
}

fn crash_loop(cluster: &Cluster, node: &str, cause: &str) -> Finding {
    let message = format!("longhorn-manager on {node} crash-loops (3 restarts): it fails");
    let mut found = finding("manager_crash_loop", cause, node, &message, None);
    found.object = cluster.object_of(Resource::Pods, &format!("longhorn-manager-{node}"));
    found
}

#[test]
fn a_consequence_never_reads_as_older_than_its_root() {
    let cluster = cluster_at(NOW, "");
    let replaced = finding(
        "instance_manager_replaced",
        "unknown",
        "worker-2",
        "the instance manager on worker-2 was replaced",
        Some("2026-03-01T11:50:16Z"),
    );
    let errors = |since| {
        finding(
            "node_iscsi_errors",
            "iscsi_conn_error",
            "worker-2",
            "worker-2 lost 24 connections",
            Some(since),
        )
    };
    for (since, expected) in [
        // the same moment, as another clock saw it
        (
            "2026-03-01T11:50:02Z",
            [
                "11:50:02Z [1] began: The instance manager on worker-2 was replaced",
                "11:50:02Z [1] then: worker-2 lost 24 connections",
            ],
        ),
        (
            "2026-03-01T11:40:00Z",
            [
                "11:40:00Z [1] already: worker-2 lost 24 connections",
                "11:50:16Z [1] began: The instance manager on worker-2 was replaced",
            ],
        ),
        (
            "2026-03-01T11:51:00Z",
            [
                "11:50:16Z [1] began: The instance manager on worker-2 was replaced",
                "11:51:00Z [1] then: worker-2 lost 24 connections",
            ],
        ),
    ] {
        assert_eq!(told(&cluster, &[replaced.clone(), errors(since)]), expected, "{since}");
    }
}

#[test]
fn each_node_has_the_time_that_is_true_of_it() {
    let cluster = cluster_at(NOW, "");
    let on = |node: &str, since| {
        let message =
            format!("longhorn-manager on {node} is hanging (20 min): the API server is not answering");
        finding("manager_start_stuck", "api_unreachable", node, &message, since)
    };
    let findings = [
        on("worker-1", Some("2026-03-01T11:40:00Z")),
        on("worker-2", Some("2026-03-01T11:30:00Z")),
        on("worker-3", Some("2026-03-01T11:30:04Z")),
        on("worker-4", None),
    ];
    assert_eq!(
        told(&cluster, &findings),
        [
            "at an unknown time [1] began: longhorn-manager on worker-4 is hanging (20 min): the API server is not answering",
            "11:30:00Z [1] began: longhorn-manager on worker-2 is hanging: the API server is not answering; also on worker-3",
            "11:40:00Z [1] began: longhorn-manager on worker-1 is hanging: the API server is not answering",
        ]
    );
}

#[test]
fn a_crash_loop_is_one_line_with_its_last_crash_and_not_before_its_pod() {
    let cluster = cluster_at(
        NOW,
        &(looping("node-1", "2026-03-01T11:55:30Z") + &looping("node-2", "2026-03-01T11:55:20Z")),
    );
    let both = ["node-1", "node-2"].map(|node| crash_loop(&cluster, node, "upgrade_path"));
    assert_eq!(
        told(&cluster, &both),
        [
            "11:30:00Z or later [1] began: longhorn-manager on node-1 crash-loops (3 restarts): it fails; also on node-2; last crash at \
             11:55:30Z, exit code 1"
        ]
    );
    // what began before the time that is asked for is told by what happened in it
    let mut incidents = crate::incidents::of(&checks::CATALOGUE, &both, 3);
    let last = super::super::of(&cluster, &both, &mut incidents, SignedDuration::from_mins(10));
    let last: Vec<_> = last.iter().map(|entry| (entry.at, entry.text.as_str())).collect();
    assert_eq!(
        last,
        [(
            Some(time("2026-03-01T11:55:30Z")),
            "still: longhorn-manager on node-1 crash-loops (3 restarts): it fails; also on node-2; exit code 1"
        )]
    );
    // a crash of which no incident tells has a line of its own
    let own = told(&cluster, &both[..1]);
    assert_eq!(
        own[1],
        "11:55:20Z container longhorn-manager of pod longhorn-manager-node-2 on node-2 ended with exit code 1"
    );
    // what follows is not told as older than what it follows from
    let image = finding(
        "backing_image_eviction_crash", "at_risk", "node-1", "eviction of node-1 crashes its manager", None,
    );
    let image = image.not_before(Some(time("2026-03-01T11:48:11Z")));
    let panics = crash_loop(&cluster, "node-1", "backing_image_eviction_panic");
    let lines = told(&cluster, &[image, panics]);
    assert_eq!(lines[0], "11:48:11Z or later [1] began: Eviction of node-1 crashes its manager");
    assert!(
        lines[1].starts_with("11:48:11Z or later [1] then: longhorn-manager on node-1 crash-loops"),
        "{lines:?}"
    );
}

#[test]
fn a_rollout_is_proven_by_its_pods_and_an_installation_is_none() {
    let version = setting("current-longhorn-version", "v1.8.0", "uid: a")
        .replace("2026-01-01T00:00:00Z", "2026-03-01T11:45:59Z");
    let of = |set: &str, created: &str, generation, image| {
        changes(
            &[daemon_set(set), manager("node-1", created, generation, image, ""), version.clone()].concat(),
        )
    };
    let (new, old) = ("2026-03-01T11:45:38Z", "2026-01-01T00:00:00Z");
    let rolled_out = "2026-03-01 11:54:52Z longhorn-manager was rolled out: managers now run longhornio/longhorn-manager:v1.10.1 (installed: \
                      v1.8.0)";
    assert_eq!(
        of(new, "2026-03-01T11:54:52Z", 3, "v1.10.1"),
        [rolled_out, "2026-03-01 11:45:38Z Longhorn was installed"]
    );
    assert_eq!(of(new, new, 1, "v1.8.0"), ["2026-03-01 11:45:38Z Longhorn v1.8.0 was installed"]);
    assert_eq!(of(old, "2026-03-01T11:54:52Z", 3, "v1.10.1"), [rolled_out]);
    // its template is the first, so that was a new pod and no rollout
    assert_eq!(
        of(old, "2026-03-01T11:54:52Z", 1, "v1.8.0"),
        [
            "2026-03-01 11:54:52Z the oldest longhorn-manager pod of image longhornio/longhorn-manager:v1.8.0 was created"
        ]
    );
}

#[test]
fn what_only_would_be_so_and_spans_beside_a_time_are_left_out() {
    let cluster = cluster_at(NOW, "");
    let drain = |verb: &str| {
        let message =
            format!("drain of worker-2 {verb} by a PodDisruptionBudget: volumes are still attached");
        let finding =
            finding("eviction_stalled", "pdb_blocks", "worker-2", &message, Some("2026-03-01T11:30:00Z"));
        finding.hypothetical(verb.contains("would"))
    };
    assert!(told(&cluster, &[drain("would be blocked")]).is_empty());
    assert_eq!(told(&cluster, &[drain("is blocked")]).len(), 1);
    for (title, without) in [
        ("x has had no ready endpoint for 30 min: y", "x has had no ready endpoint: y"),
        ("x is hanging (2 min)", "x is hanging"),
        ("x crash-loops (5 restarts): y", "x crash-loops (5 restarts): y"),
        ("x waits for 3 minutes", "x waits for 3 minutes"),
        ("x says: \"retry (2 s)\"", "x says: \"retry (2 s)\""),
    ] {
        assert_eq!(incidents::without_span(title), without);
    }
}

#[test]
fn a_pending_setting_is_told_without_a_time() {
    let setting = finding(
        "danger_zone_pending",
        "priority_class",
        "",
        "setting priority-class is not applied yet",
        None,
    );
    let note = finding("webhook_unavailable", "rollout", "", "x has no ready endpoint", None);
    assert_eq!(
        told(&cluster_at(NOW, ""), &[setting, note]),
        ["at an unknown time [1] began: Setting priority-class is not applied yet"]
    );
}

#[test]
fn ends_that_must_not_be_are_told_and_a_recording_without_managed_fields_says_so() {
    let ended = |name: &str, code: u8| {
        format!(
            "containerStatuses: [{{name: {name}, lastState: {{terminated: {{exitCode: {code}, reason: Error, finishedAt: \
             '2026-03-01T11:55:30Z'}}}}}}]"
        )
    };
    let of = |name: &str, code| {
        changes(&manager("node-1", "2026-01-01T00:00:00Z", 1, "v1.9.2", &ended(name, code)))
    };
    let is = |name: &str, how: &str| {
        vec![format!(
            "2026-03-01 11:55:30Z container {name} of pod longhorn-manager-node-1 on node-1 ended with exit code {how}"
        )]
    };
    assert_eq!(of("longhorn-manager", 0), is("longhorn-manager", "0, although it must always be running"));
    assert_eq!(of("longhorn-manager", 137), is("longhorn-manager", "137 (killed, not OOM)"));
    assert!(of("job", 0).is_empty());
    let killed = "apiVersion: v1\nkind: Event\nmetadata: {name: e, namespace: longhorn-system}\ninvolvedObject: {kind: Pod, name: \
                  instance-manager-1}\nreason: Killing\nmessage: Stopping container instance-manager\nsource: {host: node-1}\n\
                  lastTimestamp: '2026-03-01T11:55:30Z'\n---\n";
    assert_eq!(
        changes(killed),
        ["2026-03-01 11:55:30Z the kubelet stopped pod instance-manager-1 on node-1"]
    );
    let says = |managed: &str| {
        let mut text = Vec::new();
        let report = report(&cluster_at(NOW, &setting("auto-salvage", "false", managed)));
        crate::text::timeline::write(&mut text, &report, DAY, crate::text::Style::DEFAULT).unwrap();
        String::from_utf8(text).unwrap().contains("cannot be dated")
    };
    assert_eq!(
        [says("uid: a"), says(&managed("kubectl-edit", "2026-03-01T11:00:00Z", VALUE))],
        [true, false]
    );
}
