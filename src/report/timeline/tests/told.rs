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
            finding("eviction_stalled", "drain_blocked", "worker-2", &message, Some("2026-03-01T11:30:00Z"));
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

#[test]
fn what_has_no_time_stands_before_what_followed_from_it_and_after_what_it_takes() {
    let replaced = |since| {
        finding(
            "instance_manager_replaced",
            "unknown",
            "worker-2",
            "the instance manager on worker-2 was replaced",
            since,
        )
    };
    let errors = |since| {
        finding(
            "node_iscsi_errors",
            "iscsi_conn_error",
            "worker-2",
            "worker-2 lost 24 connections",
            Some(since),
        )
    };
    let findings = [replaced(None), errors("2026-03-01T11:40:00Z")];
    let then = "11:40:00Z [1] then: worker-2 lost 24 connections";
    assert_eq!(
        told(&cluster_at(NOW, ""), &findings),
        ["before 11:40:00Z [1] began: The instance manager on worker-2 was replaced", then]
    );
    let bounded = [findings[0].clone().not_before(Some(time("2026-03-01T11:35:00Z"))), findings[1].clone()];
    assert_eq!(
        told(&cluster_at(NOW, ""), &bounded),
        ["between 11:35:00Z and 11:40:00Z [1] began: The instance manager on worker-2 was replaced", then]
    );
    // it is at that moment, if nothing is between the bounds
    let exact = [findings[0].clone().not_before(Some(time("2026-03-01T11:40:00Z"))), findings[1].clone()];
    assert_eq!(
        told(&cluster_at(NOW, ""), &exact)[0],
        "11:40:00Z [1] began: The instance manager on worker-2 was replaced"
    );
    let mut text = Vec::new();
    let mut incidents = crate::incidents::of(&checks::CATALOGUE, &bounded, 3);
    let mut report = report(&cluster_at(NOW, ""));
    report.timeline = super::super::of(&cluster_at(NOW, ""), &bounded, &mut incidents, DAY);
    crate::text::timeline::write(&mut text, &report, DAY, crate::text::Style::DEFAULT).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("\n2026-03-01            between 11:35:00Z and 11:40:00Z: [1] began:"), "{text}");
}

#[test]
fn an_instance_manager_ran_while_its_volumes_were_healthy_and_is_not_missed_before_a_cordon() {
    let missing = |cause, cluster: &Cluster| {
        let mut found = finding(
            "instance_manager_down",
            cause,
            "worker-1",
            "the instance manager on worker-1 has no pod",
            None,
        );
        found.object = cluster.object_of(Resource::InstanceManagers, "im-1");
        found
    };
    let lines = |failed: &str| {
        let yaml = format!(
            "apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {{name: worker-1, namespace: longhorn-system}}\nstatus: {{diskStatus: \
             {{d: {{diskUUID: disk-1}}}}}}\n---\napiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{name: v, namespace: \
             longhorn-system}}\nstatus: {{lastDegradedAt: '2026-03-01T11:30:00Z'}}\n---\napiVersion: longhorn.io/v1beta2\nkind: Replica\n\
             metadata: {{name: r, namespace: longhorn-system, creationTimestamp: '2026-01-01T00:00:00Z'}}\nspec: {{volumeName: v, nodeID: \
             worker-1, diskID: disk-1, failedAt: '{failed}'}}\n---\n"
        );
        let cluster = cluster_at(NOW, &yaml);
        told(&cluster, &[missing("pod_missing", &cluster)])
    };
    let said = "[1] began: The instance manager on worker-1 has no pod";
    assert_eq!(lines(""), [format!("11:30:00Z or later {said}")]);
    assert_eq!(lines("2026-03-01T11:20:00Z"), [format!("at an unknown time {said}")]);
    let cordoned = "unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule, timeAdded: \
                    '2026-03-01T11:30:01Z'}]";
    let cluster = cluster_at(NOW, &node("worker-1", "", cordoned));
    assert_eq!(
        told(&cluster, &[missing("node_cordoned", &cluster).severity(Severity::Warning)]),
        ["11:30:01Z worker-1 was cordoned".to_owned(), format!("11:30:01Z or later {said}")]
    );
}

#[test]
fn what_ends_with_its_node_is_one_line_with_the_reboot() {
    let pod = |name: &str, node: &str, code: u8, at: &str| {
        let reason = if code == 255 { "Unknown" } else { "Error" };
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: longhorn-system}}\nspec: {{nodeName: {node}}}\nstatus: \
             {{containerStatuses: [{{name: c-{name}, lastState: {{terminated: {{exitCode: {code}, reason: {reason}, finishedAt: '{at}'}}}}}}]}}\n---\n"
        )
    };
    let lost = ["a", "b", "c"].map(|name| pod(name, "node-1", 255, "2026-03-01T11:30:00Z")).concat();
    let failed = ["x", "y", "z"].map(|name| pod(name, "node-2", 1, "2026-03-01T11:40:00Z")).concat();
    let others =
        pod("e", "node-1", 255, "2026-03-01T11:50:00Z") + &pod("f", "node-3", 255, "2026-03-01T11:30:00Z");
    let boot = |at: &str| {
        format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: e, namespace: default}}\ninvolvedObject: {{kind: Node, name: node-1}}\nreason: \
             Rebooted\nmessage: Node node-1 has been rebooted\nlastTimestamp: '{at}'\n---\n"
        )
    };
    let alone = "2026-03-01 11:30:00Z 3 containers on node-1 ended with exit code 255 (Unknown): the node or its container runtime was restarted";
    let rest = [
        "2026-03-01 11:50:00Z container c-e of pod e on node-1 ended with exit code 255 (Unknown)",
        "2026-03-01 11:40:00Z 3 containers on node-2 ended with exit code 1: c-x, c-y, c-z",
        "2026-03-01 11:30:00Z container c-f of pod f on node-3 ended with exit code 255 (Unknown)",
    ];
    let of = |boot: &str| changes(&(lost.clone() + &failed + &others + boot));
    assert_eq!(of(""), [rest[0], rest[1], alone, rest[2]]);
    assert_eq!(
        of(&boot("2026-03-01T11:30:03Z")),
        [
            rest[0],
            rest[1],
            "2026-03-01 11:30:03Z node node-1 was rebooted: 3 containers ended because of it",
            rest[2]
        ]
    );
    let lost = boot("2026-03-01T11:55:00Z").replace("Rebooted", "NodeNotReady");
    assert_eq!(of(&lost)[0], "2026-03-01 11:55:00Z node node-1 went NotReady");
    let often =
        lost.replace("lastTimestamp", "count: 3\nfirstTimestamp: '2026-03-01T11:45:00Z'\nlastTimestamp");
    assert_eq!(
        of(&often)[0],
        "2026-03-01 11:55:00Z node node-1 went NotReady 3 times since 2026-03-01T11:45:00Z"
    );
    // that was another boot
    assert_eq!(of(&boot("2026-03-01T11:10:00Z"))[4], "2026-03-01 11:10:00Z node node-1 was rebooted");
}

#[test]
fn objects_that_came_after_longhorn_are_told_and_its_own_are_not() {
    let of = |kind: &str, api: &str, name: &str, at: &str, rest: &str| {
        let spec = if kind == "NetworkPolicy" { "spec: {podSelector: {}}\n" } else { rest };
        format!(
            "apiVersion: {api}\nkind: {kind}\nmetadata: {{name: {name}, namespace: longhorn-system, creationTimestamp: '{at}'}}\n{spec}---\n"
        )
    };
    let (new, old) = ("2026-03-01T11:26:00Z", "2026-01-01T00:02:00Z");
    let yaml = [
        setting("auto-salvage", "true", "uid: a"),
        of("NetworkPolicy", "networking.k8s.io/v1", "default-deny", new, ""),
        of("NetworkPolicy", "networking.k8s.io/v1", "longhorn-manager", old, ""),
        of("PodDisruptionBudget", "policy/v1", "instance-manager-1", new, ""),
        of("PodDisruptionBudget", "policy/v1", "all", new, ""),
        of("StorageClass", "storage.k8s.io/v1", "fast", new, "provisioner: driver.longhorn.io\n"),
        of("PriorityClass", "scheduling.k8s.io/v1", "high", new, ""),
    ];
    assert_eq!(
        changes(&yaml.concat()),
        ["NetworkPolicy default-deny", "PodDisruptionBudget all", "PriorityClass high", "StorageClass fast"]
            .map(|added| format!("2026-03-01 11:26:00Z {added}: added"))
    );
}
