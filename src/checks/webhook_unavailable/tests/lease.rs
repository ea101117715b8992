//! Who holds the Lease, and who waits for it.

use super::*;

fn lease(holder: &str, acquired: &str, renewed: &str) -> String {
    format!(
        "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {{name: longhorn-manager-webhook-lock, \
         namespace: longhorn-system}}\nspec: {{holderIdentity: '{holder}', leaseDurationSeconds: 20, \
         acquireTime: '{acquired}', renewTime: '{renewed}'}}\n---\n"
    )
}

#[test]
fn the_lease_is_stuck_if_no_manager_of_its_holder_can_give_it_back() {
    let managers = manager("n1", "False", LONG_AGO, LOOPING) + &manager("n2", "True", LONG_AGO, RUNNING);
    let base = modern(&managers, &["longhorn-manager-n2=true"]);
    let alive = "2026-03-01T11:59:55.123456Z";
    let away = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {conditions: [{type: Ready, status: Unknown}]}\n---\n";
    let stuck = ["warning lock_stuck Lease longhorn-manager-webhook-lock"];
    for (name, yaml, expected) in [
        ("by a node without manager", lease("n9", "2026-03-01T11:55:49Z", alive), &stuck[..]),
        ("held for 250 s", lease("n9", "2026-03-01T11:55:50Z", alive), &[]),
        ("by a node that is gone", lease("n9", LONG_AGO, LONG_AGO), &[]),
        ("by a node that is away", lease("n1", LONG_AGO, alive) + away, &stuck),
        // the crash loop, or the start that hangs, is the finding
        ("by a manager that crash-loops", lease("n1", LONG_AGO, alive), &[]),
        ("by a manager that is Ready", lease("n2", LONG_AGO, alive), &[]),
        ("by no one", lease("", LONG_AGO, alive), &[]),
        ("without times", lease("n9", "", ""), &[]),
    ] {
        assert_eq!(found(&CHECK, &at_now(&(base.clone() + &yaml))), expected, "{name}");
    }
    let held = at_now(&(base + &lease("n1", LONG_AGO, alive)));
    let family = "longhorn_health_webhook_lock_acquired_timestamp_seconds";
    assert_eq!(sample(&run(&CHECK, &held), family, &["n1"]), Some(time(LONG_AGO).as_second() as f64));
}

#[test]
fn up_to_1_9_a_manager_that_holds_the_lease_is_no_endpoint() {
    let managers = manager("n1", "True", LONG_AGO, RUNNING) + &manager("n2", "True", LONG_AGO, RUNNING);
    let ready = ["longhorn-manager-n1=true", "longhorn-manager-n2=true"];
    let held = lease("n1", "2026-03-01T11:50:00Z", "2026-03-01T11:59:55Z");
    for (version, served) in [("v1.9.2", 1.0), ("v1.8.0", 1.0), ("v1.10.0", 2.0), ("v1.7.2", 2.0)] {
        let yaml = release(version)
            + &daemon_set(2)
            + &managers
            + &admission(&ready)
            + &slice("c", "longhorn-conversion-webhook", &ready)
            + &held;
        let cluster = at_now(&yaml);
        assert_eq!(ready_sample(&cluster, "admission"), Some(served), "{version}");
        assert_eq!(ready_sample(&cluster, "conversion"), Some(2.0), "{version}");
        assert_eq!(found(&CHECK, &cluster), Vec::<String>::new(), "{version}");
    }
    // the only one
    let yaml = release("v1.9.2")
        + &daemon_set(1)
        + &manager("n1", "True", LONG_AGO, RUNNING)
        + &admission(&ready[..1])
        + &slice("c", "longhorn-conversion-webhook", &ready[..1])
        + &held;
    assert_eq!(found(&CHECK, &at_first(&yaml)), [DOWN]);
}

/// Crashed three times after 20 s, and is Ready now since its start.
fn crashing(node: &str, started: &str) -> String {
    let state = format!(
        "restartCount: 3, state: {{running: {{startedAt: '{started}'}}}}, lastState: {{terminated: {{exitCode: 1, \
         startedAt: '2026-03-01T11:58:40Z', finishedAt: '2026-03-01T11:59:00Z'}}}}"
    );
    manager(node, "True", started, &state)
}

#[test]
fn an_outage_does_not_end_because_a_manager_is_ready_until_it_crashes() {
    let ready = ["longhorn-manager-n1=true"];
    let at = |started: &str| at_now(&modern(&crashing("n1", started), &ready));
    let cluster = at("2026-03-01T11:59:50Z");
    assert_eq!(found(&CHECK, &cluster), [ROLLOUT]);
    assert_eq!(ready_sample(&cluster, "admission"), Some(1.0), "the series are what the API says");
    let finding = run(&CHECK, &cluster).report.findings.remove(0);
    // not since the last of its moments, and no promise
    assert_eq!(finding.since, Some(time("2026-03-01T11:58:40Z")));
    assert!(finding.remedy.fix.contains("do not recover by themselves"), "{}", finding.remedy.fix);
    // the age goes on from one look to the next
    let mut next = cluster;
    for _ in 0..4 {
        next = later(next, 30);
    }
    assert_eq!(run(&CHECK, &next).report.findings.len(), 0, "it has outlived its last life");
    // one that lives longer than the last time serves
    assert_eq!(found(&CHECK, &at("2026-03-01T11:59:30Z")), Vec::<String>::new());
    // and so does another
    let both = crashing("n1", "2026-03-01T11:59:50Z") + &manager("n2", "True", LONG_AGO, RUNNING);
    let yaml = modern(&both, &["longhorn-manager-n1=true", "longhorn-manager-n2=true"]);
    assert_eq!(found(&CHECK, &at_now(&yaml)), Vec::<String>::new());
}

#[test]
fn who_hangs_or_was_never_started_waits_for_nobody() {
    let down = ["longhorn-manager-n1=false"];
    let of = |state: &str| {
        let two = ["n1", "n2"].map(|node| manager(node, "False", LONG_AGO, state)).concat();
        modern(&two, &down)
    };
    assert_eq!(found(&CHECK, &at_now(&of(LOOPING))), [DEADLOCK]);
    let start_error = LOOPING.replace("exitCode: 1", "exitCode: 128, reason: StartError");
    assert_eq!(found(&CHECK, &at_now(&of(&start_error))), [DOWN]);
    // neither Ready nor over for longer than any wait
    let hangs = of("state: {running: {startedAt: '2026-03-01T11:00:00Z'}}")
        .replace(&format!("lastTransitionTime: '{LONG_AGO}'"), "lastTransitionTime: '2026-03-01T11:00:00Z'");
    let cluster = at_now(&hangs);
    assert_eq!(found(&CHECK, &cluster), [DOWN]);
    let finding = run(&CHECK, &cluster).report.findings.remove(0);
    assert!(finding.message.contains("hanging"), "{}", finding.message);
}

#[test]
fn a_holder_that_hangs_for_a_reason_of_its_own_is_no_deadlock_and_is_not_deleted() {
    let old = RUNNING.replace("11:59:00", "11:40:00");
    let managers = manager("n1", "False", LONG_AGO, &old) + &manager("n2", "False", LONG_AGO, LOOPING);
    let base = modern(&managers, &["longhorn-manager-n1=false", "longhorn-manager-n2=false"]);
    let held = |acquired: &str| base.clone() + &lease("n1", acquired, "2026-03-01T11:59:55.123456Z");
    // in its turn it waits as the others do
    assert_eq!(found(&CHECK, &at_now(&held("2026-03-01T11:59:00.1Z"))), [DEADLOCK]);
    let right = "E0301 11:59:55.000001       9 reflector.go:200] \"Failed to watch\" err=\"failed to list *v1.CSIDriver: \
                 csidrivers.storage.k8s.io is forbidden: User \\\"system:serviceaccount:longhorn-system:longhorn-service-account\\\" \
                 cannot list resource \\\"csidrivers\\\" in API group \\\"storage.k8s.io\\\" at the cluster scope\"\n";
    let mut named = at_now(&held("2026-03-01T11:58:59.1Z"));
    named.history.add_current_log(crate::history::CrashLog {
        exit_code: None,
        pod: "longhorn-manager-n1".to_owned(),
        container: "longhorn-manager".into(),
        pod_uid: String::new(),
        text: right.repeat(3),
    });
    // no start lasts so long
    for cluster in [named, at_now(&held("2026-03-01T11:50:00.1Z"))] {
        assert_eq!(found(&CHECK, &cluster)[0], DOWN);
        let finding = run(&CHECK, &cluster).report.findings.remove(0);
        assert!(finding.message.contains("n1's manager hangs"), "{}", finding.message);
        assert!(finding.remedy.commands.iter().all(|command| !command.changes), "{:?}", finding.remedy);
    }
}

#[test]
fn managers_that_leave_a_free_lease_alone_are_no_deadlock_and_are_not_deleted() {
    let old = RUNNING.replace("11:59:00", "11:40:00");
    let managers = manager("n1", "False", LONG_AGO, &old) + &manager("n2", "False", LONG_AGO, &old);
    let base = modern(&managers, &["longhorn-manager-n1=false", "longhorn-manager-n2=false"]);
    let given_back = |at: &str| at_now(&(base.clone() + &lease("", at, at)));
    // a moment later one of them takes it
    assert_eq!(found(&CHECK, &given_back("2026-03-01T11:59:50Z")), [DEADLOCK]);
    let cluster = given_back("2026-03-01T11:58:20Z");
    assert_eq!(found(&CHECK, &cluster), [DOWN]);
    let finding = run(&CHECK, &cluster).report.findings.remove(0);
    assert!(finding.message.contains("2 pods are hanging"), "{}", finding.message);
    assert!(finding.remedy.commands.iter().all(|command| !command.changes), "{:?}", finding.remedy);
}

#[test]
fn a_label_is_not_missing_before_the_start_is_over() {
    let ready = pod("longhorn-manager", "n1", "", "True", "2026-03-01T11:58:00Z", RUNNING);
    let other = manager("n2", "True", LONG_AGO, RUNNING);
    let yaml =
        release("v1.9.2") + &daemon_set(2) + &ready + &other + &admission(&["longhorn-manager-n2=true"]);
    let missing = "warning label_missing Pod longhorn-manager-n1".to_owned();
    for (name, lease, expected) in [
        ("it holds the Lease", lease("n1", "2026-03-01T11:57:55Z", "2026-03-01T11:59:59Z"), false),
        (
            "it has not renewed it for a while",
            lease("n1", "2026-03-01T11:57:55Z", "2026-03-01T11:59:20Z"),
            false,
        ),
        ("it was given back a moment ago", lease("", "2026-03-01T11:59:55Z", "2026-03-01T11:59:55Z"), false),
        ("it was given back", lease("", "2026-03-01T11:59:45Z", "2026-03-01T11:59:45Z"), true),
        ("another one has it", lease("n2", "2026-03-01T11:59:00Z", "2026-03-01T11:59:59Z"), true),
    ] {
        assert_eq!(
            found(&CHECK, &live_at(NOW, &(yaml.clone() + &lease))).contains(&missing),
            expected,
            "{name}"
        );
    }
}

#[test]
fn a_manager_that_is_over_its_crash_loop_is_none() {
    let state = "restartCount: 3, state: {running: {startedAt: '2026-03-01T11:57:50Z'}}, lastState: {terminated: \
                 {exitCode: 1, startedAt: '2026-03-01T11:57:00Z', finishedAt: '2026-03-01T11:57:40Z'}}";
    let ready = manager("n1", "True", "2026-03-01T11:59:10Z", state);
    let node = |status: &str| {
        object("Node", "n1", &format!("status: {{conditions: [{{type: Ready, status: '{status}'}}]}}"))
    };
    let down = release("v1.12.1") + &daemon_set(1) + &ready + &admission(&["longhorn-manager-n1=false"]);
    for (status, text) in
        [("True", "Wait: a rollout"), ("False", "pods behind the Service, and fix the crash")]
    {
        let cluster = at_now(&(down.clone() + &node(status)));
        let finding = run(&CHECK, &cluster).report.findings.remove(0);
        assert_eq!(finding.cause.id, "rollout");
        assert!(finding.remedy.fix.contains(text), "{status}: {}", finding.remedy.fix);
    }
}

#[test]
fn a_log_that_names_dns_or_the_network_is_no_deadlock() {
    let two = ["n1", "n2"].map(|node| manager(node, "False", LONG_AGO, LOOPING)).concat();
    let yaml = modern(&two, &["longhorn-manager-n1=false", "longhorn-manager-n2=false"]);
    let attempt = |error: &str| {
        format!(
            "level=warning msg=\"Failed to check endpoint https://longhorn-admission-webhook.longhorn-system.svc:9502/v1/healthz\" \
             error=\"Get: {error}\"\n"
        )
    };
    for (error, cause, words) in [
        ("dial tcp: lookup longhorn-admission-webhook.longhorn-system.svc: no such host", DOWN, "DNS"),
        ("dial tcp 10.43.1.1:9502: connect: no route to host", DOWN, "no network route"),
        ("dial tcp 10.43.1.1:9502: i/o timeout", DOWN, "packets to the webhook are lost"),
        // so it looks to each of several that wait for one another
        ("dial tcp 10.43.1.1:9502: connect: connection refused", DEADLOCK, "each is waiting for another"),
    ] {
        let mut cluster = at_now(&yaml);
        cluster.history.add_crash_log(crate::history::CrashLog {
            exit_code: None,
            pod: "longhorn-manager-n2".to_owned(),
            container: "longhorn-manager".into(),
            pod_uid: String::new(),
            text: attempt(error),
        });
        assert_eq!(found(&CHECK, &cluster), [cause], "{error}");
        let finding = run(&CHECK, &cluster).report.findings.remove(0);
        assert!(finding.message.contains(words), "{}", finding.message);
        let changes = finding.remedy.commands.iter().any(|command| command.changes);
        assert_eq!(changes, cause == DEADLOCK, "{:?}", finding.remedy);
    }
}
