use super::CHECK;
use crate::cluster::Readability;
use crate::longhorn::Resource;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";

fn manager(node: &str, since: &str) -> String {
    longhorn_manager(
        &format!("manager-{node}"),
        &format!("creationTimestamp: {since}"),
        &format!("spec: {{nodeName: {node}}}"),
    )
}

fn kube(node: &str) -> String {
    kube_node(node, "")
}

fn longhorn(node: &str, ready: &str) -> String {
    object("Node", node, &format!("status: {{conditions: [{ready}]}}"))
}

fn gone_since(time: &str) -> String {
    format!("{{type: Ready, status: 'False', reason: KubernetesNodeGone, lastTransitionTime: '{time}'}}")
}

const OLD: &str = "'2026-02-01T00:00:00Z'";

#[test]
fn a_manager_without_longhorn_node_is_found_after_the_longest_first_start() {
    let others = kube("node-1") + &kube("node-2") + &longhorn("node-2", "") + &manager("node-2", OLD);
    for (since, expected) in [
        (OLD, &["warning never_started Node node-1"][..]),
        ("'2026-03-01T11:50:00Z'", &["warning never_started Node node-1"]),
        ("'2026-03-01T11:50:01Z'", &[]),
        // age unknown: the persistent class
        ("null", &["warning never_started Node node-1"]),
    ] {
        let cluster = cluster_at(NOW, &(others.clone() + &manager("node-1", since)));
        assert_eq!(found(&CHECK, &cluster), expected, "{since}");
    }
    // the pod of a node that is no longer there
    assert!(found(&CHECK, &cluster_at(NOW, &(others + &manager("node-9", OLD)))).is_empty());
}

#[test]
fn incident_002_a_fresh_cluster_without_any_longhorn_node() {
    let yaml = kube("node-1") + &kube("node-2") + &manager("node-1", OLD) + &manager("node-2", OLD);
    let cluster = cluster_at(NOW, &yaml);
    assert_eq!(found(&CHECK, &cluster).len(), 2);
    let evaluation = run(&CHECK, &cluster);
    let count = |state| sample(&evaluation, "longhorn_health_nodes", &[state]);
    assert_eq!(
        [count("registered"), count("never_started"), count("node_gone")],
        [Some(0.0), Some(2.0), Some(0.0)]
    );
    // with instance managers it is the recording that is incomplete
    let im = "apiVersion: longhorn.io/v1beta2\nkind: InstanceManager\nmetadata: {name: im, namespace: longhorn-system}\n---\n";
    let report = run(&CHECK, &partial(&(yaml + im))).report;
    assert!(report.findings.is_empty());
    assert_eq!(report.unknown[0].reason, "nodes.longhorn.io are not recorded");
}

#[test]
fn a_node_that_left_kubernetes() {
    let replica = "apiVersion: longhorn.io/v1beta2\nkind: Replica\nmetadata: {name: r, namespace: longhorn-system}\n\
                   spec: {nodeID: node-1}\n---\n";
    let found_with =
        |ready: &str| found(&CHECK, &cluster_at(NOW, &(kube("node-2") + &longhorn("node-1", ready))));
    assert_eq!(
        found_with(&gone_since("2026-03-01T11:55:00Z")),
        ["warning node_gone nodes.longhorn.io node-1"]
    );
    assert!(found_with(&gone_since("2026-03-01T11:55:01Z")).is_empty());
    // Longhorn has not noticed, for its managers are down: the list of nodes decides
    assert_eq!(found_with(""), ["warning node_gone nodes.longhorn.io node-1"]);
    let cluster = cluster_at(NOW, &(kube("node-2") + &longhorn("node-1", "") + replica));
    let finding = &run(&CHECK, &cluster).report.findings[0];
    assert!(finding.impact.starts_with("1 replica on it"), "{}", finding.impact);
    assert!(
        finding.evidence().iter().any(|fact| fact.text.contains("the recording does not show since when"))
    );
    // the webhook refuses to delete a node that may be scheduled on
    let changes: Vec<_> =
        finding.remedy.commands.iter().filter(|c| c.changes).map(|c| c.run.as_str()).collect();
    assert_eq!(
        changes,
        [
            "kubectl -n longhorn-system patch nodes.longhorn.io node-1 --type merge -p '{\"spec\":{\"allowScheduling\":false}}'",
            "kubectl -n longhorn-system delete nodes.longhorn.io node-1"
        ]
    );
}

#[test]
fn live_a_gone_node_ages_before_it_is_found() {
    let mut cluster = live_at(NOW, &(kube("node-2") + &longhorn("node-1", "")));
    for _ in 0..2 {
        assert!(found(&CHECK, &cluster).is_empty());
        cluster = later(cluster, 200);
    }
    assert!(!found(&CHECK, &cluster).is_empty());
}

#[test]
fn without_kubernetes_nodes_longhorns_word_counts() {
    let mut cluster = live_at(
        NOW,
        &(longhorn("node-1", &gone_since("2026-03-01T11:00:00Z"))
            + &longhorn("node-2", "")
            + &manager("node-3", OLD)),
    );
    cluster.resources.entry(Resource::KubeNodes).or_default().readability = Readability::Forbidden;
    assert_eq!(
        found(&CHECK, &cluster),
        ["warning never_started Node node-3", "warning node_gone nodes.longhorn.io node-1"]
    );
}

#[test]
fn unreadable_longhorn_nodes_are_unknown() {
    let mut cluster = live_at(NOW, &(kube("node-1") + &manager("node-1", OLD)));
    cluster.resources.entry(Resource::LonghornNodes).or_default().readability = Readability::Forbidden;
    let evaluation = run(&CHECK, &cluster);
    assert!(evaluation.report.findings.is_empty());
    assert_eq!(evaluation.report.unknown[0].reason, "nodes.longhorn.io are forbidden");
    assert_eq!(sample(&evaluation, "longhorn_health_nodes", &["registered"]), None);
}

fn ready_node(node: &str) -> String {
    kube_node(node, "status: {conditions: [{type: Ready, status: 'True'}]}") + &longhorn(node, "")
}

/// A manager pod with this status.
fn manager_with(node: &str, since: &str, status: &str) -> String {
    manager(node, since).replace("\n---\n", &format!("\nstatus: {{{status}}}\n---\n"))
}

fn container(state: &str) -> String {
    format!("phase: Running, containerStatuses: [{{name: longhorn-manager, {state}}}]")
}

const MISSING: &[&str] = &["warning manager_missing nodes.longhorn.io node-1"];

#[test]
fn a_registered_node_needs_a_manager_that_runs() {
    let base = ready_node("node-1") + &ready_node("node-2") + &manager("node-2", OLD);
    let crashed = "restartCount: 7, lastState: {terminated: {exitCode: 2}}, ";
    for (status, expected) in [
        (container("state: {running: {}}"), &[][..]),
        (container("state: {waiting: {reason: ImagePullBackOff}}"), MISSING),
        (container("state: {waiting: {reason: ContainerCreating}}"), MISSING),
        // what crashes is found by manager_crash_loop
        (container(&format!("{crashed}state: {{waiting: {{reason: CrashLoopBackOff}}}}")), &[]),
        (container(&format!("{crashed}state: {{terminated: {{exitCode: 2}}}}")), &[]),
        (container(&format!("{crashed}state: {{waiting: {{reason: CreateContainerError}}}}")), MISSING),
        ("phase: Pending".to_owned(), MISSING),
        ("phase: Failed, reason: Evicted".to_owned(), MISSING),
        // says nothing
        ("phase: Running".to_owned(), &[]),
        (String::new(), &[]),
    ] {
        let yaml = base.clone() + &manager_with("node-1", OLD, &status);
        assert_eq!(found(&CHECK, &cluster_at(NOW, &yaml)), expected, "{status}");
        assert_eq!(found(&CHECK, &live_at(NOW, &yaml)), expected, "{status}");
    }
    let waits = container("state: {waiting: {reason: ImagePullBackOff}}");
    let slow = container("state: {waiting: {reason: ContainerCreating}}");
    for (status, since, expected) in [
        // what an object refuses does not pass with time
        (&waits, "'2026-03-01T11:58:00Z'", MISSING),
        (&waits, "'2026-03-01T11:58:01Z'", &[]),
        (&slow, "'2026-03-01T11:50:00Z'", MISSING),
        (&slow, "'2026-03-01T11:50:01Z'", &[]),
    ] {
        let yaml = base.clone() + &manager_with("node-1", since, status);
        assert_eq!(found(&CHECK, &cluster_at(NOW, &yaml)), expected, "{status} {since}");
    }
    let cluster = cluster_at(NOW, &(base + &manager_with("node-1", OLD, &waits)));
    let evaluation = run(&CHECK, &cluster);
    let finding = &evaluation.report.findings[0];
    assert_eq!(
        finding.message,
        "no longhorn-manager runs on node node-1: image of container longhorn-manager cannot be pulled (ImagePullBackOff)"
    );
    assert_eq!(sample(&evaluation, "longhorn_health_nodes", &["manager_missing"]), Some(1.0));
    assert_eq!(sample(&evaluation, "longhorn_health_nodes", &["registered"]), Some(1.0));
}

#[test]
fn a_manager_pod_that_is_missing_or_does_not_end() {
    let base = ready_node("node-1") + &ready_node("node-2") + &manager("node-2", OLD);
    assert_eq!(found(&CHECK, &cluster_at(NOW, &base)), MISSING, "age unknown: the persistent class");
    let live = live_at(NOW, &base);
    assert!(found(&CHECK, &live).is_empty());
    let live = later(live, 599);
    assert!(found(&CHECK, &live).is_empty());
    assert_eq!(found(&CHECK, &later(live, 1)), MISSING);
    for (deleted, expected) in [("11:50:00", MISSING), ("11:50:01", &[])] {
        let pod = manager("node-1", OLD)
            .replace("labels:", &format!("deletionTimestamp: '2026-03-01T{deleted}Z', labels:"));
        assert_eq!(found(&CHECK, &cluster_at(NOW, &(base.clone() + &pod))), expected, "{deleted}");
        // the next one runs already
        let both = base.clone() + &pod + &manager("node-1", OLD).replace("manager-node-1", "manager-next");
        assert!(found(&CHECK, &cluster_at(NOW, &both)).is_empty());
    }
}

#[test]
fn no_manager_is_missed_where_the_node_is_down_or_longhorn_goes() {
    let others = ready_node("node-2") + &manager("node-2", OLD);
    let down = kube("node-1") + &longhorn("node-1", "");
    assert!(found(&CHECK, &cluster_at(NOW, &(others.clone() + &down))).is_empty(), "not Ready");
    for (reason, expected) in [
        ("KubernetesNodeNotReady", &[][..]),
        ("KubernetesNodePressure", MISSING),
        ("ManagerPodMissing", MISSING),
    ] {
        let ready = format!("conditions: [{{type: Ready, status: 'False', reason: {reason}}}]");
        let told = others.clone() + &ready_node("node-1").replace("conditions: []", &ready);
        assert_eq!(found(&CHECK, &cluster_at(NOW, &told)), expected, "{reason}");
    }
    let leaves = ready_node("node-1").replace(
        "{name: node-1, namespace",
        "{deletionTimestamp: '2026-03-01T11:00:00Z', name: node-1, namespace",
    );
    assert!(found(&CHECK, &cluster_at(NOW, &(others.clone() + &leaves))).is_empty());
    let set = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: longhorn-manager, namespace: longhorn-system, \
               deletionTimestamp: '2026-03-01T11:00:00Z'}\n---\n";
    let all = others + &ready_node("node-1");
    assert!(found(&CHECK, &cluster_at(NOW, &(all.clone() + set))).is_empty(), "uninstalled");
    let none = ready_node("node-1") + &ready_node("node-2");
    assert!(found(&CHECK, &cluster_at(NOW, &none)).is_empty(), "the whole report is unknown");
    let mut blind = live_at(NOW, &all);
    blind.resources.entry(Resource::KubeNodes).or_default().readability = Readability::Forbidden;
    assert_eq!(found(&CHECK, &later(blind, 600)), MISSING);
}

fn event(kind: &str, name: &str, reason: &str, message: &str, last: &str) -> String {
    object_with(
        "Event",
        &format!("e-{}", reason.to_lowercase()),
        "",
        &format!(
            "reason: {reason}\nmessage: '{message}'\nlastTimestamp: '{last}'\ninvolvedObject: {{kind: {kind}, name: {name}}}"
        ),
    )
}

fn message_of(yaml: &str) -> Option<String> {
    let findings = run(&CHECK, &cluster_at(NOW, yaml)).report.findings;
    findings.into_iter().next().map(|finding| finding.message)
}

/// Words of kubelet, scheduler and DaemonSet controller 1.36.3.
#[test]
fn the_headline_says_why_a_manager_does_not_start() {
    const SOON: &str = "'2026-03-01T11:57:00Z'";
    let base = ready_node("node-1") + &ready_node("node-2") + &manager("node-2", OLD);
    let creating = container("state: {waiting: {reason: ContainerCreating}}");
    let mount = "MountVolume.SetUp failed for volume \"v\" : hostPath type check failed: /etc/timezone-missing is not a file";
    let pod_event =
        |reason: &str, message: &str| event("Pod", "manager-node-1", reason, message, "2026-03-01T11:59:00Z");
    let init = "phase: Pending, initContainerStatuses: [{name: init, restartCount: 12, state: {waiting: {reason: CrashLoopBackOff, \
                message: back-off}}, lastState: {terminated: {exitCode: 1}}}], \
                containerStatuses: [{name: longhorn-manager, state: {waiting: {reason: PodInitializing}}}]";
    let pull = "rpc error: code = NotFound desc = failed to pull and unpack image \"docker.io/longhornio/longhorn-manager:v9\": not found";
    let backing_off =
        container("state: {waiting: {reason: ImagePullBackOff, message: Back-off pulling image}}");
    for (status, events, words) in [
        (creating.clone(), pod_event("FailedMount", mount), "/etc/timezone-missing is not a file"),
        (init.to_owned(), String::new(), "init container init ends with exit code 1"),
        (backing_off, pod_event("Failed", &format!("Failed to pull image: {pull}")), "code = NotFound"),
        (
            "phase: Failed, reason: OutOfcpu, message: 'Pod was rejected: not enough cpu'".to_owned(),
            String::new(),
            "the kubelet cannot take the pod (OutOfcpu: Pod was rejected: not enough cpu)",
        ),
        (
            "phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: 2 Insufficient cpu.}]"
                .to_owned(),
            String::new(),
            "no node can take the pod (Unschedulable: 2 Insufficient cpu.)",
        ),
    ] {
        let message = message_of(&(base.clone() + &manager_with("node-1", SOON, &status) + &events));
        assert!(message.as_ref().is_some_and(|message| message.contains(words)), "{words}: {message:?}");
    }
    // the other container fetches the image of share managers, and its tries are later ones (1.7.0 to 1.12.1)
    let tries =
        [("pre-pull-share-manager-image", "59:30"), ("longhorn-manager", "59:00")].map(|(name, at)| {
            let message = format!("Failed to pull image \"longhornio/{name}:v9\": not found");
            event("Pod", "manager-node-1", "Failed", &message, &format!("2026-03-01T11:{at}Z"))
                .replace("kind: Pod", &format!("fieldPath: 'spec.containers{{{name}}}', kind: Pod"))
                .replace("metadata: {name: ", &format!("metadata: {{name: {name}-"))
        });
    let waits = container("state: {waiting: {reason: ImagePullBackOff, message: Back-off pulling image}}");
    let message = message_of(&(base.clone() + &manager_with("node-1", SOON, &waits) + &tries.concat()));
    assert!(
        message.as_ref().is_some_and(|message| message.contains("longhornio/longhorn-manager:v9")),
        "{message:?}"
    );
    // what passes with time, or is noise of a pod's end
    let noise = "MountVolume.SetUp failed for volume \"kube-api-access\" : object \"longhorn-system\"/\"kube-root-ca.crt\" not registered";
    for events in [String::new(), pod_event("FailedMount", noise), pod_event("Pulling", "Pulling image")] {
        assert_eq!(
            message_of(&(base.clone() + &manager_with("node-1", SOON, &creating) + &events)),
            None,
            "{events}"
        );
    }
}

#[test]
fn the_headline_says_why_there_is_no_manager_pod() {
    let gone = "{type: Ready, status: 'False', reason: ManagerPodMissing, lastTransitionTime: '2026-03-01T11:57:00Z'}";
    let taint = "spec: {taints: [{key: dedicated, value: gpu, effect: NoExecute}]}\n";
    let node = |spec: &str| {
        kube_node("node-1", &format!("{spec}status: {{conditions: [{{type: Ready, status: 'True'}}]}}"))
            + &longhorn("node-1", gone)
    };
    let others = ready_node("node-2") + &manager("node-2", OLD);
    let set = |tolerations: &str| {
        object(
            "DaemonSet",
            "longhorn-manager",
            &format!("spec: {{template: {{spec: {{tolerations: [{tolerations}]}}}}}}"),
        )
    };
    let selects =
        object("DaemonSet", "longhorn-manager", "spec: {template: {spec: {nodeSelector: {lh: 'yes'}}}}");
    let labelled = node("").replacen("name: node-1", "labels: {lh: 'yes'}, name: node-1", 1);
    let refused = |at: &str, why: &str| {
        let message = format!("Error creating: pods \"longhorn-manager-fhq2p\" is forbidden: {why}");
        event("DaemonSet", "longhorn-manager", "FailedCreate", &message, at)
    };
    let (now, before) = ("2026-03-01T11:59:00Z", "2026-03-01T11:50:00Z");
    let quota = "exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0";
    let security = "violates PodSecurity \"baseline:latest\": privileged";
    for (name, yaml, words) in [
        ("a quota", node("") + &set("") + &refused(now, quota), Some("exceeded quota: q")),
        ("PodSecurity", node("") + &set("") + &refused(now, security), Some("PodSecurity")),
        (
            "a taint",
            node(taint) + &set(""),
            Some("does not tolerate the node's taint dedicated=gpu:NoExecute"),
        ),
        ("a taint that is tolerated", node(taint) + &set("{key: dedicated}"), None),
        ("all taints are tolerated", node(taint) + &set("{}"), None),
        ("another effect", node(&taint.replace("NoExecute", "PreferNoSchedule")) + &set(""), None),
        ("a label", node("") + &selects, Some("label lh=yes, which this node lacks")),
        ("a label that it has", labelled + &selects, None),
        ("a refusal of another time", node("") + &set("") + &refused(before, quota), None),
        ("nothing is said", node("") + &set(""), None),
    ] {
        let message = message_of(&(others.clone() + &yaml));
        let named = words.map(|words| message.as_ref().is_some_and(|message| message.contains(words)));
        assert!(named.unwrap_or(message.is_none()), "{name}: {message:?}");
    }
    let finding = |why: &str| {
        let yaml = others.clone() + &node("") + &set("") + &refused(now, why);
        run(&CHECK, &cluster_at(NOW, &yaml)).report.findings.remove(0)
    };
    assert!(
        finding(security).remedy.commands[0].run.contains("pod-security.kubernetes.io/enforce=privileged")
    );
    assert!(finding(quota).remedy.commands.iter().all(|command| !command.changes));
}

#[test]
fn a_node_that_is_being_deleted_is_not_to_be_deleted() {
    let left = longhorn("node-1", &gone_since("2026-03-01T11:00:00Z"));
    let leaves = left.replace("{name: node-1,", "{deletionTimestamp: '2026-03-01T11:43:00Z', name: node-1,");
    assert_eq!(found(&CHECK, &cluster_at(NOW, &(kube("node-2") + &left))).len(), 1);
    assert!(found(&CHECK, &cluster_at(NOW, &(kube("node-2") + &leaves))).is_empty());
}

#[test]
fn nodes_that_an_uninstaller_deleted_did_start() {
    let managers = kube("node-1") + &kube("node-2") + &manager("node-1", OLD);
    let confirmed = setting("deleting-confirmation-flag", "true");
    let im = |metadata: &str| object_with("InstanceManager", "im", metadata, "spec: {nodeID: node-1}");
    let leaves = im("deletionTimestamp: '2026-03-01T11:00:00Z', finalizers: [foregroundDeletion]");
    let uninstaller = |created: &str| {
        let metadata = format!("creationTimestamp: '{created}', labels: {{job-name: longhorn-uninstall}}");
        object_with("Pod", "longhorn-uninstall-x", &metadata, "spec: {nodeName: node-1}")
    };
    let started = "2026-03-01T11:40:00Z";
    let image = object("EngineImage", "ei", "status: {state: deployed}");
    let node = longhorn("node-2", "");
    let (going, never) =
        (["info uninstalling DaemonSet longhorn-manager"], ["warning never_started Node node-1"]);
    for (name, yaml, expected) in [
        ("its pod runs", uninstaller(started), going),
        ("its Job gave up", confirmed.clone() + &leaves, going),
        ("it was not allowed to begin", leaves.clone(), never),
        ("the flag was set long ago", confirmed.clone() + &im(""), never),
        ("it did not come so far", confirmed.clone() + &leaves + &image, never),
        ("another node is registered", uninstaller(started) + &confirmed + &leaves + &node, never),
        ("the installation before this one", uninstaller("2026-01-31T00:00:00Z"), never),
        ("a fresh cluster where it may begin", confirmed.clone(), never),
    ] {
        assert_eq!(found(&CHECK, &cluster_at(NOW, &(managers.clone() + &yaml))), expected, "{name}");
    }
    let mut blind = cluster_at(NOW, &(managers + &confirmed + &leaves));
    blind.resources.entry(Resource::EngineImages).or_default().readability = Readability::Forbidden;
    assert_eq!(found(&CHECK, &blind), never, "engine images may be there");
}

/// Seen with `kubectl delete -f` of the manifest of 1.12.1: the nodes went beneath managers that were Ready.
#[test]
fn nodes_that_went_with_their_definition_did_start() {
    let volume = |state: &str| object("Volume", "v", &format!("status: {state}"));
    let managers = kube("node-1") + &kube("node-2") + &manager("node-1", OLD) + &longhorn("node-2", "");
    let without = |state: &str, kinds: &[Resource]| {
        let mut cluster = live_at(NOW, &(managers.clone() + &volume(&format!("{{state: {state}}}"))));
        for kind in kinds {
            cluster.resources.entry(*kind).or_default().readability = Readability::NotServed;
        }
        found(&CHECK, &cluster)
    };
    let gone = [Resource::BackingImages, Resource::Backups];
    let never = ["warning never_started Node node-1"];
    assert_eq!(without("detached", &gone), ["info uninstalling DaemonSet longhorn-manager"]);
    assert_eq!(without("attached", &gone), never, "a volume is in use: no one wants that");
    assert_eq!(without("detached", &gone[..1]), never, "one definition may be lost otherwise");
    assert_eq!(
        without("detached", &[Resource::SystemBackups, Resource::VolumeAttachments]),
        never,
        "younger kinds"
    );
}

/// A node that is off may be deleted from Longhorn, and is registered again when it is back; its pods keep their times.
#[test]
fn a_node_that_comes_back_has_a_first_start_before_it() {
    let kube = |status: &str, since: &str| {
        kube_node(
            "node-1",
            &format!(
                "status: {{conditions: [{{type: Ready, status: '{status}', lastTransitionTime: '{since}'}}]}}"
            ),
        )
    };
    let others = self::kube("node-2") + &longhorn("node-2", "") + &manager("node-2", OLD);
    let unknown =
        |kube: String| found(&CHECK, &cluster_at(NOW, &(others.clone() + &kube + &manager("node-1", OLD))));
    assert_eq!(unknown(kube("Unknown", "2026-02-20T00:00:00Z")), Vec::<String>::new(), "it is off");
    assert_eq!(unknown(kube("True", "2026-03-01T11:58:00Z")), Vec::<String>::new(), "back for two minutes");
    assert_eq!(unknown(kube("True", "2026-03-01T11:50:00Z")), ["warning never_started Node node-1"]);

    let waits = longhorn_manager(
        "manager-node-1",
        "creationTimestamp: '2026-02-01T00:00:00Z'",
        "spec: {nodeName: node-1}\nstatus: {phase: Running, conditions: [{type: Ready, status: 'False', lastTransitionTime: \
         '2026-03-01T09:00:00Z'}], containerStatuses: [{name: longhorn-manager, state: {waiting: {reason: PodInitializing}}}]}",
    );
    let missing = |since: &str| {
        let yaml = others.clone() + &kube("True", since) + &longhorn("node-1", "") + &waits;
        found(&CHECK, &cluster_at(NOW, &yaml))
    };
    assert_eq!(missing("2026-03-01T11:59:00Z"), Vec::<String>::new());
    assert_eq!(missing("2026-03-01T11:50:00Z"), ["warning manager_missing nodes.longhorn.io node-1"]);
}

/// It was switched off half an hour before it was deleted, and Longhorn changes only the reason then.
#[test]
fn a_node_that_was_off_before_it_left_has_the_time_of_any_other() {
    let gone = kube("node-2") + &longhorn("node-1", &gone_since("2026-03-01T11:30:00Z"));
    let cluster = live_at(NOW, &gone);
    assert_eq!(found(&CHECK, &cluster), Vec::<String>::new());
    assert_eq!(found(&CHECK, &later(cluster, 300)), ["warning node_gone nodes.longhorn.io node-1"]);
    // a single look does not see when
    assert_eq!(found(&CHECK, &one_look_at(NOW, &gone)).len(), 1);
}
