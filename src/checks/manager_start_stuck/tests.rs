mod turns;

use super::CHECK;
use crate::check::Finding;
use crate::cluster::{Cluster, Readability};
use crate::history::CrashLog;
use crate::longhorn::Resource;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";
const LABEL: &str = "longhorn.io/admission-webhook: longhorn-admission-webhook";
/// Lines as client-go prints them in longhorn-manager v1.12.1 and v1.9.2.
const NO_ROUTE: &str = "E0301 11:59:58.184589      12 leaderelection.go:461] \"Error retrieving lease lock\" err=\"Get \\\"https://10.43.0.1:443/apis/coordination.k8s.io/v1/namespaces/longhorn-system/leases/longhorn-manager-webhook-lock\\\": dial tcp 10.43.0.1:443: connect: no route to host\" lock=\"longhorn-system/longhorn-manager-webhook-lock\"\n";
const NO_CRD: &str = "E0301 11:59:50.000001      12 reflector.go:204] \"Failed to watch\" err=\"failed to list *v1beta2.SystemRestore: the server could not find the requested resource (get systemrestores.longhorn.io)\" logger=\"UnhandledError\" reflector=\"pkg/mod/k8s.io/client-go/tools/cache/reflector.go:290\" type=\"*v1beta2.SystemRestore\"\n";
const NO_RIGHT: &str = "E0301 11:59:55.000001       9 reflector.go:200] \"Failed to watch\" err=\"failed to list *v1.CSIDriver: csidrivers.storage.k8s.io is forbidden: User \\\"system:serviceaccount:longhorn-system:longhorn-service-account\\\" cannot list resource \\\"csidrivers\\\" in API group \\\"storage.k8s.io\\\" at the cluster scope\" logger=\"UnhandledError\"\n";
const WAITS: &str = "time=\"2026-03-01T11:59:58Z\" level=warning msg=\"Failed to check endpoint https://localhost:9502/v1/healthz\" error=\"Get \\\"https://localhost:9502/v1/healthz\\\": dial tcp 127.0.0.1:9502: connect: connection refused\"\n";
const CANDIDATE: &str = "I0301 11:55:00.000001       9 leaderelection.go:257] attempting to acquire leader lease longhorn-system/longhorn-manager-webhook-lock...\n";

/// A manager on a node, its release, when its container was started, and since when it is (not) Ready.
fn pod(node: &str, version: &str, started: &str, ready: bool, since: &str) -> String {
    let status = if ready { "True" } else { "False" };
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: longhorn-manager-{node}, namespace: longhorn-system, uid: uid-{node}, \
         labels: {{app: longhorn-manager, {LABEL}}}}}\n\
         spec: {{nodeName: {node}, containers: [{{name: longhorn-manager, image: 'docker.io/longhornio/longhorn-manager:{version}'}}]}}\n\
         status: {{phase: Running, conditions: [{{type: Ready, status: '{status}', lastTransitionTime: '{since}'}}], \
         containerStatuses: [{{name: longhorn-manager, ready: {ready}, restartCount: 0, state: {{running: {{startedAt: '{started}'}}}}}}]}}\n---\n"
    )
}

fn hanging(node: &str, version: &str, started: &str) -> String {
    pod(node, version, started, false, started)
}

fn lease(holder: &str, acquired: &str, renewed: &str) -> String {
    let seconds = if holder.is_empty() { 1 } else { 20 };
    format!(
        "apiVersion: coordination.k8s.io/v1\nkind: Lease\n\
         metadata: {{name: longhorn-manager-webhook-lock, namespace: longhorn-system}}\n\
         spec: {{holderIdentity: '{holder}', leaseDurationSeconds: {seconds}, acquireTime: '{acquired}', renewTime: '{renewed}'}}\n---\n"
    )
}

fn at(now: &str, yaml: &str, logs: &[(&str, &str)]) -> Cluster {
    let mut cluster = live_at(now, yaml);
    for (node, text) in logs {
        cluster.history.add_current_log(CrashLog {
            exit_code: None,
            pod: format!("longhorn-manager-{node}"),
            container: "longhorn-manager".into(),
            pod_uid: format!("uid-{node}"),
            text: (*text).to_owned(),
        });
    }
    cluster
}

fn lines(yaml: &str, logs: &[(&str, &str)]) -> Vec<String> {
    found(&CHECK, &at(NOW, yaml, logs))
}

fn first(cluster: &Cluster) -> Finding {
    run(&CHECK, cluster).report.findings.remove(0)
}

#[test]
fn the_log_of_the_present_run_names_the_cause() {
    let yaml = release("v1.12.1") + &hanging("n1", "v1.12.1", "2026-03-01T11:58:50Z");
    for (log, expected) in [
        (NO_ROUTE, "critical api_unreachable Pod longhorn-manager-n1"),
        (NO_CRD, "critical crd_mismatch Pod longhorn-manager-n1"),
        (NO_RIGHT, "critical access_denied Pod longhorn-manager-n1"),
    ] {
        let text = CANDIDATE.to_owned() + &log.repeat(5);
        assert_eq!(lines(&yaml, &[("n1", &text)]), [expected]);
    }
    // its own webhook is no API server, and a minute is no long start
    assert_eq!(lines(&yaml, &[("n1", WAITS)]), Vec::<String>::new());
    let young = release("v1.12.1") + &hanging("n1", "v1.12.1", "2026-03-01T11:59:01Z");
    assert_eq!(lines(&young, &[("n1", NO_ROUTE)]), Vec::<String>::new());
}

#[test]
fn a_holder_that_is_ready_is_not_over_with_its_start() {
    let ready = pod("n1", "v1.9.2", "2026-03-01T11:50:00Z", true, "2026-03-01T11:50:05Z");
    let yaml = release("v1.9.2") + &ready + &lease("n1", "2026-03-01T11:50:02.5Z", "2026-03-01T11:59:58.1Z");
    let cluster = at(NOW, &yaml, &[("n1", NO_RIGHT)]);
    assert_eq!(found(&CHECK, &cluster), ["critical access_denied Pod longhorn-manager-n1"]);
    let finding = first(&cluster);
    assert!(finding.message.contains("although its pod is Ready"), "{}", finding.message);
    assert!(finding.message.contains("cannot list csidrivers.storage.k8s.io"), "{}", finding.message);
    assert!(finding.impact.contains("its share of all changes"), "{}", finding.impact);
    assert_eq!(finding.since, Some(time("2026-03-01T11:50:02.5Z")));
    let commands: Vec<_> = finding.remedy.commands.iter().map(|command| command.run.as_str()).collect();
    assert!(commands.contains(
        &"kubectl auth can-i list csidrivers.storage.k8s.io \
          --as=system:serviceaccount:longhorn-system:longhorn-service-account -n longhorn-system"
    ));
    // without the log
    assert_eq!(lines(&yaml, &[]), ["warning unknown Pod longhorn-manager-n1"]);
    // given back, or no longer renewed by one that is Ready
    for lease in [
        lease("", "2026-03-01T11:50:10.1Z", "2026-03-01T11:50:10.1Z"),
        lease("n1", "2026-03-01T11:50:02.5Z", "2026-03-01T11:59:30.1Z"),
    ] {
        assert_eq!(lines(&(release("v1.9.2") + &ready + &lease), &[]), Vec::<String>::new());
    }
    // a start that goes its way
    let young = release("v1.9.2") + &ready + &lease("n1", "2026-03-01T11:58:00Z", "2026-03-01T11:59:58Z");
    assert_eq!(lines(&young, &[("n1", WAITS)]), Vec::<String>::new());
}

#[test]
fn without_a_word_in_the_log_the_wait_of_the_release_decides() {
    let of =
        |version: &str, started: &str| lines(&(release(version) + &hanging("n1", version, started)), &[]);
    let stuck = ["warning unknown Pod longhorn-manager-n1"];
    for (version, last_fine, first_stuck) in [
        ("v1.12.1", "2026-03-01T11:57:30Z", "2026-03-01T11:57:29Z"),
        ("v1.9.1", "2026-03-01T11:58:30Z", "2026-03-01T11:58:29Z"),
        // no limit of its own
        ("v1.4.4", "2026-03-01T11:55:30Z", "2026-03-01T11:55:29Z"),
    ] {
        assert_eq!(of(version, last_fine), Vec::<String>::new(), "{version}");
        assert_eq!(of(version, first_stuck), stuck, "{version}");
    }
    // while it waits for its webhook it gives up on its own
    let waits = release("v1.12.1") + &hanging("n1", "v1.12.1", "2026-03-01T11:57:00Z");
    assert_eq!(lines(&waits, &[("n1", WAITS)]), Vec::<String>::new());
    // one that was Ready before is another check's, and so is one on a node that is away
    let lost = pod("n1", "v1.12.1", "2026-03-01T09:00:00Z", false, "2026-03-01T11:00:00Z");
    assert_eq!(lines(&(release("v1.12.1") + &lost), &[]), Vec::<String>::new());
    let away = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {conditions: [{type: Ready, status: Unknown}]}\n---\n";
    let yaml = release("v1.12.1") + &hanging("n1", "v1.12.1", "2026-03-01T11:00:00Z") + away;
    assert_eq!(lines(&yaml, &[]), Vec::<String>::new());
}

#[test]
fn why_the_log_says_nothing_is_said() {
    let yaml = release("v1.12.1") + &hanging("n1", "v1.12.1", "2026-03-01T11:00:00Z");
    let said = |cluster: &Cluster| {
        first(cluster).evidence().iter().map(|fact| fact.text.clone()).collect::<Vec<_>>().join("\n")
    };
    assert!(said(&at(NOW, &yaml, &[("n1", WAITS)])).contains("shows no known reason and ends with: time="));
    assert!(said(&at(NOW, &yaml, &[("n1", "")])).contains("silent for the last two minutes"));
    let mut denied = at(NOW, &yaml, &[]);
    denied.history.set_crash_logs_denied(Some("forbidden"));
    assert!(said(&denied).contains("grant 'get' on 'pods/log'"));
    assert!(said(&cluster_at(NOW, &yaml)).contains("the recording has no log of its current run"));
    // a kind that we miss, too
    let mut cluster = at(NOW, &yaml, &[]);
    cluster.resources.entry(Resource::BackingImages).or_default().readability = Readability::NotServed;
    assert_eq!(found(&CHECK, &cluster), ["critical crd_mismatch Pod longhorn-manager-n1"]);
    // but not one that is younger than the release
    let old = release("v1.9.2") + &hanging("n1", "v1.9.2", "2026-03-01T11:00:00Z");
    let mut cluster = at(NOW, &old, &[]);
    cluster.resources.entry(Resource::EngineFrontends).or_default().readability = Readability::NotServed;
    assert_eq!(found(&CHECK, &cluster), ["warning unknown Pod longhorn-manager-n1"]);
}

#[test]
fn those_who_wait_for_their_turn_do_not_hang_whoever_has_it() {
    let waits = ["info queueing Lease longhorn-manager-webhook-lock"];
    let two = release("v1.12.1")
        + &hanging("n1", "v1.12.1", "2026-03-01T11:50:00Z")
        + &hanging("n2", "v1.12.1", "2026-03-01T11:50:00Z");
    for (name, lease) in [
        ("n3 has its turn", lease("n3", "2026-03-01T11:59:00Z", "2026-03-01T11:59:58Z")),
        ("n3 has just given it back", lease("", "2026-03-01T11:59:58Z", "2026-03-01T11:59:58Z")),
        ("no one has taken it for a minute", lease("", "2026-03-01T11:59:00Z", "2026-03-01T11:59:00Z")),
        ("n3 vanished with it", lease("n3", "2026-03-01T11:50:00Z", "2026-03-01T11:58:40Z")),
    ] {
        assert_eq!(lines(&(two.clone() + &lease), &[("n1", CANDIDATE)]), waits, "{name}");
    }
    // one of them has its turn for some seconds
    let turn = two.clone() + &lease("n1", "2026-03-01T11:59:50Z", "2026-03-01T11:59:58Z");
    assert_eq!(lines(&turn, &[]), waits);
    // no one has taken it for longer: those who run do not even try, or in vain
    for free in [
        lease("", "2026-03-01T11:57:29Z", "2026-03-01T11:57:29Z"),
        lease("n3", "2026-03-01T11:50:00Z", "2026-03-01T11:57:09Z"),
    ] {
        let cluster = at(NOW, &(two.clone() + &free), &[]);
        let both = ["warning unknown Pod longhorn-manager-n1", "warning unknown Pod longhorn-manager-n2"];
        assert_eq!(found(&CHECK, &cluster), both);
        assert!(
            first(&cluster).evidence().iter().any(|fact| fact.text.contains("no one holds the start Lease"))
        );
    }
    // one that had it, lost it to a slow API server and starts on
    let lost = release("v1.12.1")
        + &hanging("n1", "v1.12.1", "2026-03-01T11:58:30Z")
        + &lease("n1", "2026-03-01T11:58:31Z", "2026-03-01T11:58:39Z");
    assert_eq!(lines(&lost, &[]), Vec::<String>::new());
    // one that does not reach the API server does not wait for its turn
    let other = two + &lease("n3", "2026-03-01T11:59:00Z", "2026-03-01T11:59:58Z");
    let both = ["critical api_unreachable Pod longhorn-manager-n1", waits[0]];
    assert_eq!(lines(&other, &[("n1", NO_ROUTE), ("n2", CANDIDATE)]), both);
    // no such queue in 1.7.2
    let old = other.replace("v1.12.1", "v1.7.2");
    assert_eq!(lines(&old, &[]).len(), 2);
}

#[test]
fn a_manager_that_gives_up_again_and_again_crash_loops() {
    let looping = hanging("n1", "v1.12.1", "2026-03-01T11:57:00Z").replace(
        "restartCount: 0,",
        "restartCount: 4, lastState: {terminated: {exitCode: 1, startedAt: '2026-03-01T11:52:00Z', \
         finishedAt: '2026-03-01T11:55:30Z'}},",
    );
    let yaml = release("v1.12.1") + &looping;
    assert_eq!(lines(&yaml, &[("n1", WAITS)]), Vec::<String>::new());
    // unless its log says that it hangs this time
    assert_eq!(lines(&yaml, &[("n1", NO_ROUTE)]), ["critical api_unreachable Pod longhorn-manager-n1"]);
    // longer than any start may last
    let long = yaml.replace("2026-03-01T11:57:00Z", "2026-03-01T11:54:59Z");
    assert_eq!(lines(&long, &[("n1", WAITS)]), ["warning unknown Pod longhorn-manager-n1"]);
}

#[test]
fn what_waits_in_vain_is_told_before_it_has_failed_twice() {
    let attempt = |error: &str| {
        format!(
            "time=\"2026-03-01T11:59:58Z\" level=warning msg=\"Failed to check endpoint \
             https://longhorn-admission-webhook.longhorn-system.svc:9502/v1/healthz\" error=\"Get \\\"https://longhorn-admission-\
             webhook.longhorn-system.svc:9502/v1/healthz\\\": {error}\"\n"
        )
    };
    let dns = attempt(
        "dial tcp: lookup longhorn-admission-webhook.longhorn-system.svc on 10.43.0.10:53: no such host",
    );
    let refused = attempt("dial tcp 10.43.1.1:9502: connect: connection refused");
    let made = |yaml: String| {
        yaml.replace(
            "status: {phase: Running,",
            "status: {phase: Running, startTime: '2026-03-01T11:58:50Z',",
        )
    };
    let young = release("v1.12.1") + &made(hanging("n1", "v1.12.1", "2026-03-01T11:58:50Z"));
    assert_eq!(
        lines(&young, &[("n1", &dns)]),
        ["critical webhook_service_unreachable Pod longhorn-manager-n1"]
    );
    // its own turn to become Ready
    assert_eq!(lines(&young, &[("n1", &refused)]), Vec::<String>::new());
    let finding = first(&at(NOW, &young, &[("n1", &dns)]));
    assert!(finding.remedy.fix.contains("DNS"), "{}", finding.remedy.fix);
    assert_eq!(finding.since, Some(time("2026-03-01T11:58:50Z")));
    // up to 1.9 the holder of the Lease is Ready meanwhile
    let ready = pod("n1", "v1.9.2", "2026-03-01T11:58:50Z", true, "2026-03-01T11:58:55Z");
    let holder =
        release("v1.9.2") + &made(ready) + &lease("n1", "2026-03-01T11:58:52.5Z", "2026-03-01T11:59:58.1Z");
    assert_eq!(
        lines(&holder, &[("n1", &dns)]),
        ["critical webhook_service_unreachable Pod longhorn-manager-n1"]
    );
    // the readiness probe of another release
    let probed = |version: &str, port: u16| {
        made(hanging("n1", version, "2026-03-01T11:58:50Z")).replace(
            "image: 'docker",
            &format!("readinessProbe: {{httpGet: {{path: /v1/healthz, port: {port}, scheme: HTTPS}}}}, image: 'docker"),
        )
    };
    let stale = ["critical manifest_stale Pod longhorn-manager-n1"];
    assert_eq!(lines(&(release("v1.12.1") + &probed("v1.12.1", 9501)), &[]), stale);
    assert_eq!(lines(&(release("v1.9.2") + &probed("v1.9.2", 9502)), &[]), stale);
    assert_eq!(lines(&(release("v1.12.1") + &probed("v1.12.1", 9502)), &[]), Vec::<String>::new());
    // and in the moment between its first two runs
    let ended = |seconds: u32| {
        let start = "startedAt: '2026-03-01T11:57:50Z'";
        let end = format!("terminated: {{exitCode: 1, {start}, finishedAt: '2026-03-01T11:59:{seconds}Z'}}");
        let pod = probed("v1.12.1", 9501).replace("11:58:50", "11:57:50");
        release("v1.12.1") + &pod.replace(&format!("running: {{{start}}}"), &end)
    };
    assert_eq!(lines(&ended(51), &[]), stale);
    assert_eq!(first(&at(NOW, &ended(51), &[])).since, Some(time("2026-03-01T11:57:50Z")));
    assert_eq!(lines(&ended(40), &[]), Vec::<String>::new());
    let commands = first(&at(NOW, &(release("v1.12.1") + &probed("v1.12.1", 9501)), &[])).remedy.commands;
    assert!(commands.iter().any(|command| command.changes && command.run.contains("\"port\":9502")));
}

#[test]
fn remedies_fit_the_source_of_the_installation() {
    let yaml = release("v1.12.1") + &hanging("n1", "v1.12.1", "2026-03-01T11:50:00Z");
    let set = |labels: &str| {
        format!(
            "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {{name: longhorn-manager, namespace: longhorn-system, \
             labels: {{{labels}}}}}\nspec: {{template: {{spec: {{containers: [{{name: longhorn-manager, \
             image: 'longhornio/longhorn-manager:v1.12.1'}}]}}}}}}\n---\n"
        )
    };
    let changes = |yaml: &str, log: &str| {
        let finding = first(&at(NOW, yaml, &[("n1", log)]));
        finding
            .remedy
            .commands
            .into_iter()
            .filter(|command| command.changes)
            .map(|c| c.run)
            .collect::<Vec<_>>()
    };
    let manifest = "https://raw.githubusercontent.com/longhorn/longhorn/v1.12.1/deploy/longhorn.yaml";
    let plain = yaml.clone() + &set("app.kubernetes.io/name: longhorn");
    assert_eq!(
        changes(&plain, NO_CRD),
        [format!("kubectl apply --server-side --force-conflicts -f {manifest}")]
    );
    assert_eq!(changes(&plain, NO_RIGHT), [format!("kubectl auth reconcile -f {manifest}")]);
    assert_eq!(changes(&plain, NO_ROUTE), Vec::<String>::new());
    let helm = yaml + &set("app.kubernetes.io/managed-by: Helm");
    assert_eq!(
        changes(&helm, NO_CRD),
        [
            "helm upgrade longhorn longhorn/longhorn -n longhorn-system --version 1.12.1 --reset-then-reuse-values"
        ]
    );
}

#[test]
fn what_cannot_be_read_is_unknown() {
    let yaml = release("v1.12.1") + &hanging("n1", "v1.12.1", "2026-03-01T11:59:30Z");
    let mut cluster = at(NOW, &yaml, &[]);
    cluster.resources.entry(Resource::Leases).or_default().readability = Readability::Forbidden;
    assert_eq!(run(&CHECK, &cluster).report.unknown.len(), 1);
    cluster.resources.entry(Resource::Pods).or_default().readability = Readability::Forbidden;
    assert_eq!(found(&CHECK, &cluster), Vec::<String>::new());
}

#[test]
fn who_leaves_a_free_lease_alone_hangs() {
    let free = |since: &str| {
        let waits = release("v1.11.2") + &hanging("n1", "v1.11.2", "2026-03-01T11:58:00Z");
        waits + &lease("", since, since)
    };
    let hangs = ["warning unknown Pod longhorn-manager-n1"];
    assert_eq!(lines(&free("2026-03-01T11:58:20Z"), &[]), hangs);
    assert!(lines(&free("2026-03-01T11:59:00Z"), &[]).is_empty(), "its log has a minute to tell why");
    assert_eq!(
        found(&CHECK, &cluster_at(NOW, &free("2026-03-01T11:59:00Z"))),
        hangs,
        "a recording gets no other log"
    );
    let gave_up = hanging("n2", "v1.11.2", "2026-03-01T11:59:50Z");
    assert_eq!(
        lines(&(free("2026-03-01T11:58:20Z") + &gave_up), &[]),
        hangs,
        "one that has just been started does not"
    );
}

#[test]
fn what_a_manager_complained_about_before_it_had_the_lease_is_over() {
    let start = release("v1.12.1") + &hanging("n1", "v1.12.1", "2026-03-01T11:50:00Z");
    let hangs = ["critical api_unreachable Pod longhorn-manager-n1"];
    let mut before = at(
        "2026-03-01T11:59:40Z",
        &(start.clone() + &lease("n2", "2026-03-01T11:59:00Z", "2026-03-01T11:59:39Z")),
        &[("n1", NO_ROUTE)],
    );
    assert_eq!(found(&CHECK, &before), hangs);
    // it is reached again, takes the Lease, and gives it back before it is Ready
    for (moment, lease, expected) in [
        ("2026-03-01T11:59:50Z", lease("n1", "2026-03-01T11:59:45Z", "2026-03-01T11:59:49Z"), &[][..]),
        ("2026-03-01T12:00:00Z", lease("", "2026-03-01T11:59:58Z", "2026-03-01T11:59:58Z"), &[]),
        ("2026-03-01T12:01:40Z", lease("", "2026-03-01T11:59:58Z", "2026-03-01T11:59:58Z"), &hangs),
    ] {
        let mut cluster = at(moment, &(start.clone() + &lease), &[("n1", NO_ROUTE)]);
        let facts = run(&CHECK, &before).observed;
        cluster.history = std::mem::take(&mut before.history);
        cluster.history.keep_observed(facts, &Default::default(), before.now);
        cluster.history.add_current_log(CrashLog {
            exit_code: None,
            pod: "longhorn-manager-n1".into(),
            container: "longhorn-manager".into(),
            pod_uid: "uid-n1".into(),
            text: NO_ROUTE.to_owned(),
        });
        assert_eq!(found(&CHECK, &cluster), expected, "{moment}");
        before = cluster;
    }
}
