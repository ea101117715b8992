mod returned;

use super::CHECK;
use crate::cluster::Cluster;
use crate::longhorn::Resource;
use crate::testing::instance_managers::*;

const NOW: &str = "2026-01-02T12:00:00Z";

/// A default v1 instance manager `im-1` in this state.
fn default(state: &str, status: &str) -> String {
    im("im-1", NEW, "type: aio, dataEngine: v1", state, status)
}

fn pod(phase: &str, created: &str, status: &str) -> String {
    im_pod("im-1", "uid-1", created, phase, "", status)
}

fn base(version: &str) -> String {
    // a pod of another kind, so that pods count as recorded
    release(version) + &node() + &manager_pod(true, NEW)
}

fn terminated(at: &str) -> String {
    format!(
        "containerStatuses: [{{name: instance-manager, state: {{terminated: {{exitCode: 137, reason: Error, finishedAt: '{at}'}}}}}}]"
    )
}

fn recorded(yaml: &str) -> Vec<String> {
    let strip = |line: String| line.replace(" InstanceManager im-1", "");
    found(&CHECK, &cluster_at(NOW, &(base("v1.9.2") + yaml))).into_iter().map(strip).collect()
}

#[test]
fn what_each_state_means() {
    let running = pod("Running", "2026-01-01T00:00:00Z", "");
    let failed = |at: &str| pod("Failed", "2026-01-01T00:00:00Z", &terminated(at));
    let cases: Vec<(String, &[&str])> = vec![
        (default("running", "") + &running, &[]),
        (default("running", ""), &["critical pod_missing"]),
        (default("running", "") + &failed("2026-01-02T11:57:00Z"), &["critical pod_failed"]),
        (default("running", "") + &failed("2026-01-02T11:57:01Z"), &["warning pod_failed"]),
        (default("error", "") + &failed("2026-01-02T11:57:00Z"), &["critical pod_failed"]),
        (default("error", ""), &["critical pod_missing"]),
        (default("unknown", "") + &running, &["warning node_down"]),
        (default("starting", "") + &pod("Pending", "2026-01-02T11:55:00Z", ""), &["critical starting_stuck"]),
        (default("starting", "") + &pod("Pending", "2026-01-02T11:55:01Z", ""), &[]),
        (default("error", "") + &pod("Running", "2026-01-02T11:59:30Z", ""), &[]),
        // made just now: an ordinary start
        (default("", "").replace("2026-01-01T00:00:00Z", "2026-01-02T11:58:00Z"), &[]),
    ];
    for (yaml, expected) in cases {
        assert_eq!(recorded(&yaml), expected, "{yaml}");
    }
}

#[test]
fn conditions_of_1_11_tell_the_age_in_a_recording() {
    let since = |at: &str| {
        default(
            "error",
            &format!(
                "conditions: [{{type: PodReady, status: 'False', reason: NotFound, lastTransitionTime: '{at}'}}]"
            ),
        )
    };
    assert_eq!(recorded(&since("2026-01-02T11:58:00Z")), ["warning pod_missing"]);
    assert_eq!(recorded(&since("2026-01-02T11:50:00Z")), ["critical pod_missing"]);
}

#[test]
fn a_live_exporter_waits_until_it_knows_the_age() {
    let cluster = live_at(NOW, &(base("v1.9.2") + &default("error", "")));
    // an idle one has Longhorn's back-off for its next pod
    assert_eq!(found(&CHECK, &cluster), ["info pod_missing InstanceManager im-1"], "first look");
    let cluster = later(cluster, 119);
    assert_eq!(found(&CHECK, &cluster), ["info pod_missing InstanceManager im-1"]);
    let cluster = later(cluster, 1);
    assert_eq!(found(&CHECK, &cluster), ["warning pod_missing InstanceManager im-1"]);
    let cluster = later(cluster, 59);
    assert_eq!(found(&CHECK, &cluster), ["warning pod_missing InstanceManager im-1"]);
    assert_eq!(found(&CHECK, &later(cluster, 1)), ["critical pod_missing InstanceManager im-1"]);
}

#[test]
fn the_node_explains_more_than_the_pod() {
    let down = base("v1.9.2").replace(&node(), &node_down());
    for state in ["error", "starting", "unknown"] {
        let yaml = down.clone() + &default(state, "");
        assert_eq!(found(&CHECK, &cluster(&yaml)), ["warning node_down InstanceManager im-1"], "{state}");
    }
    let cordoned = base("v1.9.2")
        .replace("metadata: {name: node-1}\n", "metadata: {name: node-1}\nspec: {unschedulable: true}\n");
    for state in ["error", "stopped"] {
        let yaml = cordoned.clone() + &default(state, "");
        assert_eq!(found(&CHECK, &cluster(&yaml)), ["info node_cordoned InstanceManager im-1"], "{state}");
    }
}

/// However many volumes and instance managers a node has, they are said once.
#[test]
fn what_stands_still_with_a_node_is_said_once() {
    let volumes: String = (0..10).map(|number| volume(&format!("v{number}"), "engine:new")).collect();
    let elsewhere = volume("w", "engine:new").replace("currentNodeID: node-1", "currentNodeID: node-2");
    let detached = volume("x", "engine:new").replace("state: attached", "state: detached");
    let managers = default("unknown", "") + &im("im-2", NEW, "type: aio, dataEngine: v2", "unknown", "");
    let down = base("v1.9.2").replace(&node(), &node_down());
    let yaml = down + &managers + &volumes + &elsewhere + &detached;
    let findings = run(&CHECK, &cluster(&yaml)).report.findings;
    let messages: Vec<&str> = findings.iter().map(|finding| &*finding.message).collect();
    assert_eq!(
        messages,
        [
            "the instance manager on node-1 cannot be reached because its node is down; 10 volumes attached there have stalled I/O",
            "the instance manager on node-1 cannot be reached because its node is down",
        ]
    );
    let names: Vec<&str> = findings[0].volumes.iter().map(|volume| &*volume.name).collect();
    assert_eq!(names, ["v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9"]);
    // one that is back has what was attached there for itself
    let back = base("v1.9.2") + &default("unknown", "") + &volumes;
    assert!(!headline(&cluster(&back)).contains("stand still"));
}

#[test]
fn what_waits_or_is_switched_off_is_not_down() {
    let v2 = |name: &str, image: &str, state: &str| im(name, image, "type: aio, dataEngine: v2", state, "");
    let pod = im_pod("im-old", "u", "2026-01-01T00:00:00Z", "Running", "", "");
    let waiting = base("v1.12.1") + &v2("im-old", OLD, "running") + &pod + &v2("im-1", NEW, "stopped");
    assert!(found(&CHECK, &cluster(&waiting)).is_empty());
    let alone = base("v1.12.1") + &v2("im-1", NEW, "stopped");
    assert_eq!(found(&CHECK, &cluster_at(NOW, &alone)), ["critical pod_missing InstanceManager im-1"]);
    assert!(found(&CHECK, &cluster(&(alone + &setting("v2-data-engine", "false")))).is_empty());
    // an old one that does not run is the business of instance_manager_stale
    assert!(
        found(&CHECK, &cluster(&(base("v1.9.2") + &im("im-1", OLD, "type: aio", "error", "")))).is_empty()
    );
}

#[test]
fn missing_labels_stop_the_node_before_the_fix_and_end_the_instance_manager_after_it() {
    let pod = pod("Running", "2026-01-01T00:00:00Z", "");
    let bare = default("running", "").replace("longhorn.io/node: node-1, ", "") + &pod;
    for (version, removed) in [
        ("v1.5.5", false),
        ("v1.6.2", false),
        ("v1.6.3", true),
        ("v1.7.1", false),
        ("v1.7.2", true),
        ("v1.8.0", true),
        ("v1.12.1", true),
    ] {
        let cluster = cluster(&(base(version) + &bare));
        assert_eq!(found(&CHECK, &cluster), ["warning label_missing InstanceManager im-1"], "{version}");
        let finding = run(&CHECK, &cluster).report.findings.remove(0);
        assert_eq!(finding.impact.contains("removes it"), removed, "{version} {}", finding.impact);
        assert_eq!(finding.evidence()[0].text.contains("removes such"), removed, "{version}");
        assert!(finding.remedy.fix.contains("or upgrade before"), "{version}");
    }
    // the data engine became a label in 1.6
    let no_engine = default("running", "").replace(", longhorn.io/data-engine: v1", "") + &pod;
    assert!(found(&CHECK, &cluster(&(base("v1.5.5") + &no_engine))).is_empty());
    assert_eq!(found(&CHECK, &cluster(&(base("v1.6.0") + &no_engine))).len(), 1);
    // the upgrade that writes the setting adds the label; the manager that runs decides what happens without
    let running = |version: &str| {
        let image = format!("{{name: longhorn-manager, image: 'longhorn-manager:{version}', ");
        manager_pod(true, NEW).replace("{name: longhorn-manager, ", &image)
    };
    assert!(found(&CHECK, &cluster(&(base("v1.5.5") + &running("v1.6.0") + &no_engine))).is_empty());
    for (setting, code, removed) in [("v1.7.1", "v1.7.2", true), ("v1.7.2", "v1.7.1", false)] {
        let cluster = cluster(&(base(setting) + &running(code) + &no_engine));
        let finding = run(&CHECK, &cluster).report.findings.remove(0);
        assert_eq!(finding.impact.contains("removes it"), removed, "{setting} {code}");
        assert!(finding.evidence()[0].text.contains(&format!("; {code} ")), "{:?}", finding.evidence());
    }
}

#[test]
fn volumes_are_named_by_engines_that_died_there() {
    let yaml = base("v1.9.2")
        + &default("error", "")
        + &volume("v", "engine:new")
        + &instance("Engine", "v-e-0", "v", "im-1", "error", "running", "");
    let evaluation = run(&CHECK, &cluster(&yaml));
    assert_eq!(evaluation.report.findings[0].volumes[0].name, "v");
    assert!(evaluation.report.findings[0].impact.contains("claim shop/data-v"));
    assert_eq!(sample(&evaluation, "longhorn_health_instance_managers", &["error"]), Some(1.0));
    assert_eq!(sample(&evaluation, "longhorn_health_instance_managers", &["running"]), Some(0.0));
}

#[test]
fn what_was_not_read_is_unknown() {
    let odd = default("melting", "");
    let report = run(&CHECK, &cluster(&(base("v1.9.2") + &odd))).report;
    assert_eq!((report.findings.len(), report.unknown.len()), (0, 1));
    // without any recorded pod nothing can be said about one that does not run
    let report = run(&CHECK, &partial(&(release("v1.9.2") + &default("error", "")))).report;
    // the report itself says that a recording without pods tells nothing of managers
    assert_eq!((report.findings.len(), report.unknown.len()), (0, 2));
    let empty = "apiVersion: longhorn.io/v1beta2\nkind: InstanceManager\nmetadata: {name: im-1, namespace: longhorn-system}\n---\n";
    run(&CHECK, &cluster(&(base("v1.6.0") + empty)));
}

#[test]
fn a_pod_that_is_being_deleted_is_given_its_time() {
    // Longhorn says error as soon as the deletion is asked for: settings being applied, a drain
    let leaving = |at: &str| {
        let meta = format!("metadata: {{name: im-1, deletionTimestamp: '{at}',");
        default("error", "")
            + &pod("Running", "2025-12-01T00:00:00Z", "conditions: [{type: Ready, status: 'True'}]")
                .replace("metadata: {name: im-1,", &meta)
    };
    assert_eq!(recorded(&leaving("2026-01-02T11:57:01Z")), Vec::<String>::new());
    // the deletion timestamp lies ahead by the grace period
    assert_eq!(recorded(&leaving("2026-01-02T12:00:30Z")), Vec::<String>::new());
    assert_eq!(recorded(&leaving("2026-01-02T11:57:00Z")), ["critical pod_terminating"]);
    let cordoned = base("v1.9.2")
        .replace("metadata: {name: node-1}\n", "metadata: {name: node-1}\nspec: {unschedulable: true}\n")
        + &leaving("2026-01-02T12:00:30Z");
    assert_eq!(found(&CHECK, &cluster_at(NOW, &cordoned)), ["info node_cordoned InstanceManager im-1"]);
}

#[test]
fn an_old_pod_that_stopped_being_ready_just_now_is_not_stuck() {
    let pod = |ready: &str, since: &str| {
        let status =
            format!("conditions: [{{type: Ready, status: '{ready}', lastTransitionTime: '{since}'}}]");
        default("starting", "") + &pod("Running", "2025-12-01T00:00:00Z", &status)
    };
    assert_eq!(recorded(&pod("False", "2026-01-02T11:59:00Z")), Vec::<String>::new());
    assert_eq!(recorded(&pod("False", "2026-01-02T11:55:00Z")), ["critical starting_stuck"]);
    // the pod is ready and Longhorn has not written it down yet: only watching tells for how long
    let cluster = live_at(NOW, &(base("v1.9.2") + &pod("True", "2025-12-01T00:00:00Z")));
    assert!(found(&CHECK, &cluster).is_empty());
    let cluster = later(cluster, 299);
    assert!(found(&CHECK, &cluster).is_empty());
    assert_eq!(found(&CHECK, &later(cluster, 1)), ["critical starting_stuck InstanceManager im-1"]);
}

#[test]
fn an_unknown_state_on_a_node_that_answers_points_at_the_manager() {
    let yaml = base("v1.9.2").replace(&manager_pod(true, NEW), &manager_pod(false, NEW));
    let finding = run(&CHECK, &cluster(&(yaml + &default("unknown", "")))).report.findings.remove(0);
    assert!(finding.message.ends_with("although the node is up again"), "{}", finding.message);
    assert!(
        finding.evidence().iter().any(|fact| fact.text.contains("longhorn-manager-1 on node-1 is not Ready"))
    );
}

/// As an upgrade from 1.9.2 to 1.10.2 may have it: managers take longer to start than the node was NotReady.
#[test]
fn an_unknown_state_waits_for_a_manager_that_starts() {
    let (info, warning) =
        (["info node_down InstanceManager im-1"], ["warning node_down InstanceManager im-1"]);
    let with = |ready: bool, since: &str| {
        let pod = manager_pod(ready, NEW)
            .replace("type: Ready,", &format!("type: Ready, lastTransitionTime: '{since}',"));
        let yaml = base("v1.10.2").replace(&manager_pod(true, NEW), &pod);
        found(&CHECK, &cluster_at(NOW, &(yaml + &default("unknown", ""))))
    };
    assert_eq!(with(false, "2026-01-02T11:57:01Z"), info);
    assert_eq!(with(false, "2026-01-02T11:57:00Z"), warning, "longer than a restart takes");
    assert_eq!(with(true, "2026-01-02T11:59:31Z"), info, "it has just begun to work");
    assert_eq!(with(true, "2026-01-02T11:59:30Z"), warning);
    // a node that is down is no matter of its manager
    let away = base("v1.10.2").replace(&node(), &node_down()).replace(
        &manager_pod(true, NEW),
        &manager_pod(false, NEW)
            .replace("type: Ready,", "type: Ready, lastTransitionTime: '2026-01-02T11:59:00Z',"),
    );
    assert_eq!(found(&CHECK, &cluster_at(NOW, &(away + &default("unknown", "")))), warning);
}

/// Played on 1.12.1: the API server was away three times within a minute, Kubernetes called the nodes down in between, and they ran.
#[test]
fn an_outage_of_the_api_server_makes_no_node_stay_away_longer() {
    let down = node_down()
        .replace("status: Unknown}", "status: Unknown, lastTransitionTime: '2026-01-02T11:59:47Z'}");
    let yaml = base("v1.12.1").replace(&node(), &down)
        + &default("unknown", "")
        + &volume("v", NEW)
        + &engine("v-e-0", "v", "im-1");
    let with = |answered: Option<&str>| {
        let mut cluster = live_at(NOW, &yaml);
        if let Some(answered) = answered {
            let status = cluster.resources.entry(Resource::KubeNodes).or_default();
            (status.error, status.last_success) = (Some("refused".into()), Some(time(answered)));
        }
        found(&CHECK, &cluster)
    };
    assert_eq!(with(None), ["warning node_down InstanceManager im-1"]);
    assert_eq!(with(Some("2026-01-02T11:59:56Z")), ["info node_down InstanceManager im-1"]);
    assert_eq!(
        with(Some("2026-01-02T11:59:57Z")),
        ["warning node_down InstanceManager im-1"],
        "known before"
    );
}

/// Played on 1.12.1: a taint that had driven both away is taken off.
#[test]
fn a_missing_pod_waits_for_a_manager_that_starts() {
    let with = |ready: bool, since: &str| {
        let pod = manager_pod(ready, NEW)
            .replace("type: Ready,", &format!("type: Ready, lastTransitionTime: '{since}',"));
        let yaml = base("v1.12.1").replace(&manager_pod(true, NEW), &pod);
        let gone = "conditions: [{type: PodReady, status: 'False', reason: NotFound, lastTransitionTime: '2026-01-02T11:58:00Z'}]";
        found(&CHECK, &cluster_at(NOW, &(yaml + &default("error", gone))))
    };
    assert_eq!(with(false, "2026-01-02T11:59:57Z"), ["info pod_missing InstanceManager im-1"]);
    assert_eq!(with(true, "2026-01-02T11:59:00Z"), ["warning pod_missing InstanceManager im-1"]);
}

/// Seen on 1.12.1: settings are applied as soon as the engines have stopped, while the last volume is still being detached.
#[test]
fn a_pod_that_went_with_a_volume_that_is_detached_has_its_seconds() {
    let inside = "conditions: [{type: PodReady, status: 'False', reason: NotFound, lastTransitionTime: '2026-01-02T11:59:58Z'}], \
                  instanceReplicas: {v-r-1: {spec: {name: v-r-1}, status: {state: running, type: replica}}}";
    let with = |state: &str| {
        let volume = volume("v", NEW).replace("state: attached", &format!("state: {state}"));
        let replica = instance("Replica", "v-r-1", "v", "im-1", "running", "running", "");
        found(&CHECK, &cluster_at(NOW, &(base("v1.12.1") + &default("error", inside) + &volume + &replica)))
    };
    assert_eq!(with("detaching"), ["info pod_missing InstanceManager im-1"]);
    assert_eq!(with("attached"), ["warning pod_missing InstanceManager im-1"]);
}

#[test]
fn an_instance_manager_without_node_leaves_no_holes() {
    let yaml = base("v1.9.2") + &default("error", "").replace("nodeID: node-1, ", "");
    let finding = run(&CHECK, &cluster_at(NOW, &yaml)).report.findings.remove(0);
    assert_eq!(finding.message, "instance manager im-1 is down: it has no pod");
    assert!(finding.remedy.commands.iter().all(|command| !command.run.contains("nodeName=")));
}

#[test]
fn an_empty_node_that_was_taken_out_of_kubernetes_is_context() {
    let gone = |since: &str, more: &str| {
        let other = "apiVersion: v1\nkind: Node\nmetadata: {name: node-2}\n---\n";
        let node = object(
            "Node",
            "node-1",
            &format!(
                "spec: {{}}\nstatus: {{conditions: [{{type: Ready, status: 'False', reason: KubernetesNodeGone, lastTransitionTime: '{since}'}}]}}"
            ),
        );
        let yaml =
            release("v1.9.2") + &manager_pod(true, NEW) + &node + other + &default("unknown", "") + more;
        found(&CHECK, &cluster_at(NOW, &yaml))
    };
    let (info, warning) =
        (["info node_down InstanceManager im-1"], ["warning node_down InstanceManager im-1"]);
    assert_eq!(gone("2026-01-02T11:55:01Z", ""), info);
    // however long ago: node_unregistered warns of the node
    assert_eq!(gone("2026-01-01T11:55:00Z", ""), info);
    let replica = instance("Replica", "v-r-1", "v", "im-1", "unknown", "running", "");
    assert_eq!(gone("2026-01-02T11:55:01Z", &replica), warning);
    let engine = instance("Engine", "v-e-0", "v", "im-1", "unknown", "running", "");
    assert_eq!(gone("2026-01-02T11:55:01Z", &engine), warning);
    // one that is still there is down from its first minute on
    let here = "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\nstatus: {conditions: [{type: Ready, status: Unknown}]}\n---\n";
    assert_eq!(gone("2026-01-02T11:59:00Z", here), warning);
    // unless no volume is attached on it: a reboot takes minutes, and disk_unavailable tells of the node after as many; cordoned
    let cordoned = |since: &str, more: &str| {
        let away = format!("status: Unknown, lastTransitionTime: '{since}'");
        let node = here
            .replace("status: Unknown", &away)
            .replace("\nstatus:", "\nspec: {unschedulable: true}\nstatus:");
        gone(since, &(node + more))
    };
    assert_eq!(cordoned("2026-01-02T11:55:01Z", &replica), info);
    assert_eq!(cordoned("2026-01-02T11:55:00Z", ""), warning);
    assert_eq!(cordoned("2026-01-02T11:55:01Z", &engine), warning);
    // or not
    let away = |since: &str, more: &str| {
        let node = here.replace("Unknown", &format!("Unknown, lastTransitionTime: '{since}'"));
        gone(since, &(node + more))
    };
    assert_eq!(away("2026-01-02T11:55:01Z", &replica), info);
    assert_eq!(away("2026-01-02T11:55:00Z", &replica), warning);
    // played with an etcd that was full for minutes: nodes that are well are NotReady for 2 to 4 s when it takes writes again
    let just = |since: &str| {
        let node = here.replace("Unknown", &format!("Unknown, lastTransitionTime: '{since}'"));
        gone(since, &(node + &engine))
    };
    assert_eq!(just("2026-01-02T11:59:51Z"), info);
    assert_eq!(just("2026-01-02T11:59:50Z"), warning);
    // played with a node that was off for a minute: its manager starts before it looks at the instance manager
    let back = |since: &str| {
        gone(since, &here.replace("Unknown", &format!("'True', lastTransitionTime: '{since}'")))
    };
    assert_eq!(back("2026-01-02T11:59:31Z"), info);
    assert_eq!(back("2026-01-02T11:59:30Z"), warning);
}

/// A pod that the kubelet did not take, as it writes it.
fn rejected(reason: &str, why: &str) -> String {
    pod("Failed", "2026-01-02T11:59:58Z", &format!("reason: {reason}, message: \"Pod was rejected: {why}\""))
}

const UNTOLERATED: &str = "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate";

fn headline(cluster: &Cluster) -> String {
    let finding = run(&CHECK, cluster).report.findings.remove(0);
    format!("{} {}: {}", finding.severity, finding.cause, finding.message)
}

#[test]
fn pods_that_the_node_does_not_take_are_one_state() {
    let tainted = base("v1.12.1").replace(
        "metadata: {name: node-1}\n",
        "metadata: {name: node-1}\nspec: {taints: [{key: key, value: value, effect: NoExecute}]}\n",
    );
    let young = |pod: &str| headline(&cluster_at(NOW, &(tainted.clone() + &default("error", "") + pod)));
    assert_eq!(
        young(&rejected("TaintToleration", UNTOLERATED)),
        "warning pod_rejected: the instance manager on node-1 is down: its node rejects its pods: taint key=value:NoExecute"
    );
    // played on 1.12.1: nothing of a volume that waits for the node is in an instance manager
    let waiting = volume("v", NEW)
        .replace("spec: {", "spec: {nodeID: node-1, ")
        .replace("state: attached, robustness: healthy", "state: attaching, robustness: unknown")
        .replace("currentNodeID: node-1", "currentNodeID: ''");
    let yaml = tainted.clone() + &default("error", "") + &rejected("TaintToleration", UNTOLERATED);
    let finding = run(&CHECK, &cluster_at(NOW, &(yaml + &waiting))).report.findings.remove(0);
    assert!(finding.impact.contains("shop/data-v"), "{}", finding.impact);
    let pressure = young(&rejected("Evicted", "The node had condition: [DiskPressure]. "));
    assert!(pressure.ends_with("rejects its pods: The node had condition: [DiskPressure]"), "{pressure}");
    let cpu = "Node didn't have enough resource: cpu, requested: 64000, used: 100, capacity: 2000";
    assert!(young(&rejected("OutOfcpu", cpu)).ends_with(cpu));
    // Longhorn deletes each and makes the next one; the state goes on, whatever is there just now
    let gone = |second: &str| format!("2026-01-02T11:5{second}Z");
    for now in ["", &pod("Pending", "2026-01-02T11:59:59Z", ""), &rejected("TaintToleration", UNTOLERATED)] {
        let mut cluster = live_at(NOW, &(tainted.clone() + &default("error", "") + now));
        for (number, at) in ["6:30", "8:00", "9:30"].into_iter().enumerate() {
            let yaml = rejected("TaintToleration", UNTOLERATED).replace("uid-1", &format!("uid-{at}"));
            let Cluster { mut objects, .. } = crate::testing::cluster(&yaml);
            let last = objects.pods.remove("im-1").unwrap();
            cluster.history.pod_gone(last, "", time(&gone(at)));
            assert_eq!(cluster.history.gone_pods().count(), 1, "{number}");
        }
        let said = headline(&cluster);
        assert!(
            said.starts_with("critical pod_rejected") && said.ends_with("taint key=value:NoExecute"),
            "{said}"
        );
        // after Longhorn's longest back-off it is another state
        let said = found(&CHECK, &later(cluster, 180));
        assert_eq!(said.iter().any(|one| one.contains("pod_rejected")), now.contains("Failed"), "{said:?}");
    }
}

#[test]
fn a_taint_that_drove_the_manager_away_too_is_named() {
    let node = node().replace(
        "metadata: {name: node-1}\n",
        "metadata: {name: node-1}\nspec: {taints: [{key: key, value: value, effect: NoExecute}]}\n",
    );
    let marked = "apiVersion: v1\nkind: Event\nmetadata: {name: e, namespace: longhorn-system}\n\
                  involvedObject: {kind: Pod, name: im-1, namespace: longhorn-system}\nreason: TaintManagerEviction\n\
                  message: Marking for deletion Pod longhorn-system/im-1\ncount: 1\nlastTimestamp: '2026-01-02T11:55:00Z'\n---\n";
    let elsewhere = manager_pod(true, NEW).replace("nodeName: node-1", "nodeName: node-2");
    let yaml = release("v1.12.1") + &node + &elsewhere + &default("error", "") + marked;
    let finding = run(&CHECK, &cluster_at(NOW, &yaml)).report.findings.remove(0);
    assert_eq!((finding.cause.id, finding.severity.as_str()), ("pod_rejected", "critical"));
    assert!(finding.message.ends_with("taint key=value:NoExecute"), "{}", finding.message);
    assert!(
        finding
            .evidence()
            .iter()
            .any(|fact| fact.text.contains("Marking for deletion Pod longhorn-system/im-1"))
    );
    // tolerated, or with a manager there that would make the pod: another state
    let tolerated = yaml.clone() + &setting("taint-toleration", "key=value:NoExecute");
    assert_eq!(found(&CHECK, &cluster_at(NOW, &tolerated)), ["critical pod_missing InstanceManager im-1"]);
    let managed = yaml.replace("nodeName: node-2", "nodeName: node-1");
    assert_eq!(found(&CHECK, &cluster_at(NOW, &managed)), ["critical pod_missing InstanceManager im-1"]);
}

#[test]
fn only_an_end_with_137_is_an_oom_kill() {
    for (code, cause) in [(137, "oom_killed"), (0, "pod_failed"), (1, "pod_failed")] {
        let ended = terminated("2026-01-02T11:50:00Z")
            .replace("exitCode: 137, reason: Error", &format!("exitCode: {code}, reason: OOMKilled"));
        let yaml = default("error", "") + &pod("Failed", "2026-01-01T00:00:00Z", &ended);
        assert_eq!(recorded(&yaml), [format!("critical {cause}")]);
    }
}
