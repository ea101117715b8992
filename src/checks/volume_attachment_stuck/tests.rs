mod ages;
mod fast_loops;
mod mounts;

use super::CHECK;
use crate::cluster::Cluster;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";

fn volume(name: &str, state: &str, spec: &str, current: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{name: {name}, namespace: {NAMESPACE}}}\n\
         spec: {{accessMode: rwo, {spec}}}\nstatus: {{robustness: unknown, state: {state}, currentNodeID: '{current}', \
         kubernetesStatus: {{pvcName: data, namespace: db}}}}\n---\n"
    )
}

fn engine(of: &str, node: &str, state: &str, more: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Engine\nmetadata: {{name: {of}-e-0, namespace: {NAMESPACE}}}\n\
         spec: {{volumeName: {of}, nodeID: {node}, desireState: running, active: true}}\nstatus: {{currentState: {state}{more}}}\n---\n"
    )
}

fn event(kind: &str, name: &str, reason: &str, count: u32, first: &str, last: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Event\nmetadata: {{name: e-{name}-{reason}, namespace: {NAMESPACE}}}\nreason: {reason}\ncount: {count}\n\
         involvedObject: {{kind: {kind}, name: {name}}}\nfirstTimestamp: '2026-03-01T{first}Z'\nlastTimestamp: '2026-03-01T{last}Z'\n---\n"
    )
}

/// Tickets of a volume: id, type, node, whether it is satisfied, since when.
fn tickets(volume: &str, all: &[(&str, &str, &str, bool, &str)]) -> String {
    let spec: Vec<String> = all
        .iter()
        .map(|(id, kind, node, ..)| format!("{id}: {{id: {id}, type: {kind}, nodeID: {node}}}"))
        .collect();
    let status = all.iter().map(|(id, _, _, satisfied, since)| {
        let condition = if *satisfied { "True" } else { "False" };
        format!("{id}: {{satisfied: {satisfied}, conditions: [{{type: Satisfied, status: '{condition}', lastTransitionTime: '{since}'}}]}}")
    });
    let status: Vec<String> = status.collect();
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: VolumeAttachment\nmetadata: {{name: {volume}, namespace: {NAMESPACE}}}\n\
         spec: {{attachmentTickets: {{{}}}}}\nstatus: {{attachmentTicketStatuses: {{{}}}}}\n---\n",
        spec.join(", "),
        status.join(", ")
    )
}

fn csi(name: &str, node: &str, created: &str) -> String {
    format!(
        "apiVersion: storage.k8s.io/v1\nkind: VolumeAttachment\nmetadata: {{name: {name}, creationTimestamp: '{created}'}}\n\
         spec: {{attacher: driver.longhorn.io, nodeName: {node}, source: {{persistentVolumeName: pv}}}}\n---\n"
    )
}

const OLD: &str = "2026-03-01T11:40:00Z";
const YOUNG: &str = "2026-03-01T11:51:00Z";

fn causes(cluster: &Cluster) -> Vec<String> {
    found(&CHECK, cluster)
}

fn recorded(yaml: &str) -> Vec<String> {
    causes(&cluster_at(NOW, yaml))
}

#[test]
fn what_longhorn_attaches_for_itself_is_as_old_as_its_ticket() {
    let since = |at| {
        let ticket = ("backup-controller-b", "backup-controller", "node-1", false, at);
        recorded(&(volume("vol", "attaching", "nodeID: node-1", "") + &tickets("vol", &[ticket])))
    };
    assert!(since(YOUNG).is_empty());
    assert_eq!(since(OLD), ["warning attaching Volume vol"]);
}

#[test]
fn what_moves_for_ten_minutes_is_stuck() {
    for state in ["attaching", "detaching"] {
        let yaml = |created| {
            volume("vol", state, "nodeID: node-1", "")
                + &engine("vol", "node-1", "starting", "")
                + &tickets("vol", &[("csi-a", "csi-attacher", "node-1", false, "")])
                + &csi("csi-a", "node-1", created)
        };
        let expected = format!("warning {state} Volume vol");
        assert_eq!(recorded(&yaml(OLD)), std::slice::from_ref(&expected));
        assert!(recorded(&yaml(YOUNG)).is_empty(), "{state}");
        let cluster = live_at(NOW, &yaml(OLD));
        assert!(causes(&cluster).is_empty(), "an old attachment may have begun to move just now");
        let cluster = later(cluster, 599);
        assert!(causes(&cluster).is_empty());
        assert_eq!(causes(&later(cluster, 1)), [expected]);
    }
}

#[test]
fn a_backing_image_that_is_not_ready_is_named_with_and_without_the_condition() {
    let waits = |state: &str, conditions: &str| {
        let yaml = volume("vol", "attaching", "nodeID: node-1, backingImage: debian", "")
            .replace("status: {", &format!("status: {{conditions: [{conditions}], "))
            + &tickets("vol", &[("csi-a", "csi-attacher", "node-1", false, OLD)])
            + &csi("csi-a", "node-1", OLD)
            + &format!(
                "apiVersion: longhorn.io/v1beta2\nkind: BackingImage\nmetadata: {{name: debian}}\n\
                 status: {{diskFileStatusMap: {{disk-1: {{state: {state}}}}}}}\n---\n"
            );
        let findings = run(&CHECK, &cluster_at(NOW, &yaml)).report.findings;
        let said = findings[0].evidence().iter().map(|fact| fact.text.clone());
        said.filter(|text| text.contains("backing image debian")).collect::<Vec<_>>()
    };
    let condition = "{type: WaitForBackingImage, status: 'True', reason: Waiting, message: ''}";
    let expected = ["it waits for backing image debian: no replica has a ready copy"];
    assert_eq!(waits("starting", ""), expected);
    assert_eq!(waits("starting", condition), expected);
    let failed = condition.replace("''", "no such file");
    assert_eq!(waits("starting", &failed), ["it waits for backing image debian: no such file"]);
    assert!(waits("ready", "").is_empty());
}

#[test]
fn an_engine_that_fails_is_named_with_its_error() {
    let failing = |name: &str| {
        volume(name, "attaching", "nodeID: node-1", "")
            + &engine(
                name,
                "node-1",
                "error",
                ", conditions: [{type: InstanceCreation, status: 'False', message: iscsiadm exit status 21}]",
            )
            + &csi(&format!("csi-{name}"), "node-1", OLD)
            + &tickets(name, &[(&format!("csi-{name}"), "csi-attacher", "node-1", false, "")])
    };
    let cluster = cluster_at(NOW, &failing("vol"));
    assert_eq!(causes(&cluster), ["critical engine_cannot_start Volume vol"]);
    let finding = run(&CHECK, &cluster).report.findings.remove(0);
    assert!(
        finding.evidence().iter().any(|fact| fact.text.ends_with("iscsiadm exit status 21")),
        "{finding:?}"
    );
    // several on one node: it is the node
    let two = failing("vol") + &failing("vol-2") + &engine("other", "node-2", "running", "");
    let cluster = cluster_at(NOW, &two);
    assert_eq!(causes(&cluster), ["critical engine_cannot_start nodes.longhorn.io node-1"]);
    let evaluation = run(&CHECK, &cluster);
    assert_eq!(evaluation.report.findings[0].volumes.len(), 2);
    let cordons = |yaml: &str| {
        let findings = run(&CHECK, &cluster_at(NOW, yaml)).report.findings;
        let of_node = findings.into_iter().find(|finding| finding.object.name == "node-1").unwrap();
        let said = of_node.evidence().iter().any(|fact| fact.text.contains("the node is the cause"));
        let cordon = of_node.remedy.commands.iter().any(|command| command.changes);
        assert_eq!(said, cordon, "{of_node:?}");
        cordon
    };
    assert!(cordons(&two));
    // seen: no engine could be started anywhere, and those of before went on
    assert!(!cordons(&(two.clone() + &engine("here", "node-1", "running", ""))));
    let failing_there = |name: &str| failing(name).replace("node-1", "node-2");
    assert!(!cordons(&(two.clone() + &failing_there("vol-3") + &failing_there("vol-4"))));
    assert!(!cordons(&(failing("vol") + &failing("vol-2"))), "nothing runs anywhere");
    let labels = ["vol-2", "db", "data", "engine_cannot_start", "critical"];
    assert_eq!(sample(&evaluation, "longhorn_health_volume_attachment_stuck", &labels), Some(1.0));
}

#[test]
fn repeated_failures_to_start_tell_before_ten_minutes_do() {
    let yaml = |count| {
        volume("vol", "attaching", "nodeID: node-1", "")
            + &engine("vol", "node-1", "stopped", "")
            + &event("Engine", "vol-e-0", "FailedStarting", count, "11:57:00", "11:59:00")
    };
    assert_eq!(causes(&live_at(NOW, &yaml(3))), ["critical engine_cannot_start Volume vol"]);
    assert!(causes(&live_at(NOW, &yaml(2))).is_empty());
}

#[test]
fn three_crashes_in_an_hour_are_a_loop_and_old_ones_are_over() {
    let yaml = |count, first, last| {
        volume("vol", "attached", "nodeID: node-1", "node-1")
            + &event("Volume", "vol", "DetachedUnexpectedly", count, first, last)
    };
    assert_eq!(recorded(&yaml(3, "11:20:00", "11:59:00")), ["critical attach_loop Volume vol"]);
    assert!(recorded(&yaml(2, "11:20:00", "11:59:00")).is_empty(), "Longhorn gets over a crash");
    assert!(recorded(&yaml(9, "11:20:00", "11:44:00")).is_empty(), "it has ended");
    assert!(recorded(&yaml(9, "01:00:00", "11:59:00")).is_empty(), "not once an hour");
    assert_eq!(recorded(&yaml(90, "01:00:00", "11:59:00")), ["critical attach_loop Volume vol"]);
    let before_1_5 = yaml(3, "11:20:00", "11:59:00").replace("DetachedUnexpectedly", "DetachedUnexpectly");
    assert_eq!(recorded(&before_1_5), ["critical attach_loop Volume vol"]);
    // played on 1.12.1: a node that was off and a taint a minute later, each with some Events for one death
    let other = |first, last| {
        event("Volume", "vol", "DetachedUnexpectedly", 3, first, last).replace("name: e-vol-", "name: other-")
    };
    assert!(recorded(&(yaml(2, "11:57:35", "11:57:36") + &other("11:58:59", "11:59:00"))).is_empty());
    let three = yaml(2, "11:57:35", "11:58:36") + &other("11:58:59", "11:59:30");
    assert_eq!(recorded(&three), ["critical attach_loop Volume vol"]);
}

#[test]
fn a_node_that_was_away_explains_the_last_death() {
    let yaml = |back: &str, ready: &str| {
        volume("vol", "attached", "nodeID: node-1", "node-1")
            + &event("Volume", "vol", "DetachedUnexpectedly", 9, "11:50:00", "11:57:00")
            + &format!(
                "apiVersion: v1\nkind: Node\nmetadata: {{name: node-1}}\nstatus: {{conditions: [{{type: Ready, status: '{ready}', \
                 lastTransitionTime: '2026-03-01T{back}Z'}}]}}\n---\n"
            )
    };
    let looping = ["critical attach_loop Volume vol"];
    assert!(recorded(&yaml("11:58:30", "True")).is_empty());
    assert!(recorded(&yaml("11:57:40", "False")).is_empty());
    assert_eq!(recorded(&yaml("11:56:00", "True")), looping, "it died again since");
    assert_eq!(recorded(&yaml("11:40:00", "False")), looping);
}

/// Played on 1.12.1 with engines that die at once: between two starts a volume is on no node, and the other one is.
#[test]
fn new_volumes_whose_engines_die_at_once_are_told_by_their_node_all_the_time() {
    let new = |name: &str, state: &str, spec: &str| {
        let replica = format!("spec: {{volumeName: {name}, nodeID: node-2, healthyAt: '', failedAt: ''}}");
        volume(name, state, spec, "")
            + &object("Replica", &format!("{name}-r-0"), &replica)
            + &tickets(name, &[("longhorn-ui", "longhorn-api", "node-1", false, "")])
            + &event("Volume", name, "DetachedUnexpectedly", 12, "11:57:00", "11:59:59")
    };
    let yaml = new("n1", "detached", "nodeID: ''") + &new("n2", "attaching", "nodeID: node-1");
    let acute = |at: &str, yaml: &str| {
        let mut found = causes(&cluster_at(at, yaml));
        found.retain(|one| !one.starts_with("info "));
        found
    };
    assert_eq!(acute(NOW, &yaml), ["critical engine_cannot_start nodes.longhorn.io node-1"]);
    // up at last: those were no deaths
    let up = |healthy: &str| {
        let yaml = new("n1", "attached", "nodeID: node-1")
            .replace("healthyAt: ''", &format!("healthyAt: '{healthy}'"))
            + &engine("n1", "node-1", "running", "");
        let found = acute("2026-03-01T12:00:05Z", &yaml);
        // seen: one of its replicas is still being built
        let built = "spec: {volumeName: n1, nodeID: node-1, healthyAt: '', failedAt: ''}";
        assert_eq!(acute("2026-03-01T12:00:05Z", &(yaml + &object("Replica", "n1-r-1", built))), found);
        found
    };
    assert!(up("2026-03-01T12:00:01Z").is_empty());
    // one Event counts failed starts and deaths: which it was, only time tells
    assert!(up("2026-03-01T11:58:00Z").is_empty());
}

/// Played on 1.12.1: the engine binary was missing at first, and five minutes after it was there a taint took the instance manager.
#[test]
fn failed_starts_are_no_deaths_of_an_engine_that_was_up_later() {
    let at = |count: u32, last: &str| {
        volume("n1", "attaching", "nodeID: node-1", "")
            + &object(
                "Replica",
                "n1-r-0",
                "spec: {volumeName: n1, nodeID: node-2, healthyAt: '2026-03-01T11:51:50Z', failedAt: ''}",
            )
            + &engine("n1", "node-1", "error", "")
            + &event("Volume", "n1", "DetachedUnexpectedly", count, "11:50:00", last)
    };
    let loops = |cluster: &Cluster| causes(cluster).iter().any(|one| one.starts_with("critical attach_loop"));
    assert!(!loops(&cluster_at("2026-03-01T11:57:00Z", &at(26, "11:56:40"))));
    let mut cluster = live_at("2026-03-01T11:56:40Z", &at(25, "11:51:45"));
    for (count, last, expected) in [(26, "11:56:40", false), (27, "11:57:40", false), (28, "11:58:40", true)]
    {
        cluster = next(cluster, 30, &at(count, last));
        assert_eq!(loops(&cluster), expected, "{count}");
        cluster = later(cluster, 30);
        assert_eq!(loops(&cluster), expected, "{count}");
    }
}

#[test]
fn one_death_is_written_many_times_and_an_engine_that_stays_up_ends_a_loop() {
    let died = |state: &str, engine: &str, first, last| {
        let engine = object(
            "Engine",
            "vol-e-0",
            &format!(
                "spec: {{volumeName: vol, nodeID: node-1, desireState: running}}\nstatus: {{currentState: {engine}}}"
            ),
        );
        volume("vol", state, "nodeID: node-1", "node-1")
            + &engine
            + &event("Volume", "vol", "DetachedUnexpectedly", 23, first, last)
    };
    assert!(
        recorded(&died("attached", "running", "11:58:57", "11:59:48")).is_empty(),
        "23 Events in 51 seconds"
    );
    let looping = ["critical attach_loop Volume vol"];
    assert_eq!(recorded(&died("attached", "running", "11:54:00", "11:59:30")), looping);
    assert!(recorded(&died("attached", "running", "11:53:00", "11:58:30")).is_empty(), "it stays up");
    assert_eq!(recorded(&died("attaching", "error", "11:53:00", "11:58:30")), looping);
    assert_eq!(recorded(&died("attached", "running", "11:20:00", "11:50:00")).len(), 0, "a minute a round");
}

#[test]
fn a_death_with_its_instance_manager_is_told_there() {
    let manager = |made: &str| {
        format!(
            "apiVersion: longhorn.io/v1beta2\nkind: InstanceManager\nmetadata: {{name: im, namespace: {NAMESPACE}}}\n\
             spec: {{nodeID: node-1}}\n---\n\
             apiVersion: v1\nkind: Pod\nmetadata: {{name: im, namespace: {NAMESPACE}, uid: last, creationTimestamp: '2026-03-01T{made}Z', \
             labels: {{longhorn.io/component: instance-manager}}}}\nspec: {{nodeName: node-1}}\n---\n"
        )
    };
    let started = |uid: &str| {
        let event = event("Pod", "im", "Started", 1, "11:30:00", "11:30:00");
        event
            .replace("name: e-im", &format!("name: e-{uid}"))
            .replace("name: im}", &format!("name: im, uid: {uid}}}"))
    };
    let died = volume("vol", "attached", "nodeID: node-1", "node-1")
        + &event("Volume", "vol", "DetachedUnexpectedly", 26, "11:54:37", "11:59:39");
    let looping = ["critical attach_loop Volume vol"];
    assert_eq!(recorded(&(died.clone() + &manager("11:57:00"))), looping, "a pod of before");
    let with = died + &manager("11:59:38");
    assert!(recorded(&with).is_empty());
    assert!(recorded(&(with.clone() + &started("a") + &started("b"))).is_empty());
    assert_eq!(
        recorded(&(with + &started("a") + &started("b") + &started("c"))),
        looping,
        "it ends again and again"
    );
}

#[test]
fn a_workload_that_waits_for_a_volume_elsewhere_is_told() {
    let yaml = |since, satisfied| {
        volume("vol", "attached", "nodeID: node-1", "node-1")
            + &csi("csi-a", "node-1", "2026-01-01T00:00:00Z")
            + &csi("csi-b", "node-2", since)
            + &tickets(
                "vol",
                &[
                    ("csi-a", "csi-attacher", "node-1", true, ""),
                    ("csi-b", "csi-attacher", "node-2", satisfied, since),
                ],
            )
    };
    assert_eq!(recorded(&yaml(OLD, false)), ["warning ticket_waits Volume vol"]);
    assert!(recorded(&yaml(YOUNG, false)).is_empty());
    assert!(recorded(&yaml(OLD, true)).is_empty());
    // RWX volumes wait for their share manager
    assert!(recorded(&yaml(OLD, false).replace("accessMode: rwo", "accessMode: rwx")).is_empty());
    // work of Longhorn's own waits for its turn
    assert!(
        recorded(&yaml(OLD, false).replace("csi-b, type: csi-attacher", "csi-b, type: backup-controller"))
            .is_empty()
    );
}

#[test]
fn an_attachment_that_longhorn_was_never_asked_for_is_told() {
    let yaml = |release_of: &str, since, tickets_of: &[(&str, &str, &str, bool, &str)]| {
        release(release_of)
            + &volume("vol", "detached", "nodeID: ''", "")
            + &csi("csi-a", "node-1", since)
                .replace("---", "status: {attached: false, attachError: {message: no route}}\n---")
            + &tickets("vol", tickets_of)
    };
    let stuck = ["warning ticket_waits Volume vol"];
    let asked = [("csi-a", "csi-attacher", "node-1", true, OLD)];
    let cluster = |text: String| cluster_at(NOW, &text.replace("pvcName: data", "pvName: pv, pvcName: data"));
    let finding = run(&CHECK, &cluster(yaml("v1.12.1", OLD, &[]))).report.findings.remove(0);
    assert!(finding.evidence().iter().any(|fact| fact.text.contains("no route")), "{:?}", finding.evidence());
    assert_eq!(causes(&cluster(yaml("v1.12.1", OLD, &[]))), stuck);
    assert!(causes(&cluster(yaml("v1.12.1", YOUNG, &[]))).is_empty(), "the attacher may pause");
    assert!(causes(&cluster(yaml("v1.12.1", OLD, &asked))).is_empty(), "asked");
    assert!(causes(&cluster(yaml("v1.4.4", OLD, &[]))).is_empty(), "no tickets yet");
}

/// The ticket goes first; up to 1.4 the attachment stays until the volume is detached.
#[test]
fn a_detachment_is_as_old_as_the_deletion_of_its_attachment() {
    let yaml = |deleted: &str| {
        let leaving = format!("name: csi-a, deletionTimestamp: '{deleted}'");
        volume("vol", "detaching", "nodeID: ''", "node-1").replace("pvcName", "pvName: pv, pvcName")
            + &csi("csi-a", "node-1", "2026-01-01T00:00:00Z").replace("name: csi-a", &leaving)
    };
    assert_eq!(recorded(&yaml(OLD)), ["warning detaching Volume vol"]);
    assert!(recorded(&yaml("2026-03-01T11:59:00Z")).is_empty());
}

#[test]
fn a_clone_is_attached_when_its_data_is_there() {
    let yaml = |state: &str| {
        volume("vol", "attached", "dataSource: 'vol://origin'", "node-1")
            .replace("pvcName", "pvName: pv, pvcName")
            .replace("robustness:", &format!("cloneStatus: {{state: {state}}}, robustness:"))
            + &tickets("vol", &[("c", "volume-clone-controller", "node-1", true, OLD)])
            + &csi("csi-a", "node-2", OLD)
            + &object("Setting", "current-longhorn-version", "value: v1.9.2")
    };
    assert!(recorded(&yaml("initiated")).is_empty());
    assert_eq!(recorded(&yaml("completed")), ["warning ticket_waits Volume vol"]);
}

#[test]
fn a_ticket_without_attachment_is_left_over() {
    let yaml = |waits: bool| {
        let mut all = vec![("csi-a", "csi-attacher", "node-1", true, OLD)];
        let mut more = csi("csi-other", "node-3", OLD);
        if waits {
            all.push(("csi-b", "csi-attacher", "node-2", false, OLD));
            more += &csi("csi-b", "node-2", OLD);
        }
        volume("vol", "attached", "nodeID: node-1", "node-1") + &tickets("vol", &all) + &more
    };
    assert_eq!(recorded(&yaml(false)), ["info ticket_left_over Volume vol"]);
    // the other one waits for this, and nothing else is to be done
    assert_eq!(recorded(&yaml(true)), ["warning ticket_left_over Volume vol"]);
    // attachments that were not recorded are not missing
    let unknown = volume("vol", "attached", "nodeID: node-1", "node-1")
        + &tickets("vol", &[("csi-a", "csi-attacher", "node-1", true, OLD)]);
    assert!(recorded(&unknown).is_empty());
}

#[test]
fn a_broken_migration_attaches_nowhere() {
    let yaml = volume("vol", "detached", "migratable: true", "")
        + &csi("csi-a", "node-1", OLD)
        + &csi("csi-b", "node-2", OLD)
        + &tickets(
            "vol",
            &[
                ("csi-a", "csi-attacher", "node-1", false, OLD),
                ("csi-b", "csi-attacher", "node-2", false, OLD),
            ],
        );
    assert_eq!(recorded(&yaml), ["warning migration_broke Volume vol"]);
    // up to 1.6 the first ticket has it
    let release = |version: &str| object("Setting", "current-longhorn-version", &format!("value: {version}"));
    assert_eq!(recorded(&(release("v1.6.4") + &yaml)), ["warning ticket_waits Volume vol"]);
    assert_eq!(recorded(&(release("v1.7.0") + &yaml)), ["warning migration_broke Volume vol"]);
    assert_eq!(
        recorded(&yaml.replace("migratable: true", "migratable: false")),
        ["warning ticket_waits Volume vol"]
    );
}

/// The ticket of the target is satisfied as soon as its engine runs there.
#[test]
fn a_migration_that_does_not_get_ready_is_told_as_one() {
    let yaml = volume("vol", "attached", "migratable: true", "node-1")
        .replace("currentNodeID:", "currentMigrationNodeID: node-2, currentNodeID:")
        + &csi("csi-a", "node-1", "2026-01-01T00:00:00Z")
        + &csi("csi-b", "node-2", OLD)
        + &tickets(
            "vol",
            &[("csi-a", "csi-attacher", "node-1", true, ""), ("csi-b", "csi-attacher", "node-2", false, OLD)],
        );
    let finding = run(&CHECK, &cluster_at(NOW, &yaml)).report.findings.remove(0);
    assert!(
        finding.message.ends_with("its migration from node node-1 to node-2 does not become ready"),
        "{}",
        finding.message
    );
    let ready = yaml.replace("csi-b: {satisfied: false", "csi-b: {satisfied: true");
    assert!(recorded(&ready).is_empty());
}

#[test]
fn what_in_the_objects_keeps_a_volume_from_being_attached_is_told() {
    let waits = volume("vol", "detached", "", "")
        + &csi("csi-a", "node-1", OLD)
        + &tickets("vol", &[("csi-a", "csi-attacher", "node-1", false, OLD)]);
    let told = |yaml: &str| {
        let finding = run(&CHECK, &cluster_at(NOW, yaml)).report.findings.remove(0);
        (finding.evidence()[0].text.clone(), finding.remedy.fix)
    };
    let (fact, words) = told(&waits);
    assert!(fact.starts_with("ticket csi-a") && words.ends_with("nothing else holds it."), "{fact} {words}");
    let (fact, words) = told(&waits.replace("state: detached", "state: detached, pendingNodeID: node-2"));
    assert!(
        fact.contains("pendingNodeID is node-2") && words.starts_with("Clear the field"),
        "{fact} {words}"
    );
    let second = engine("vol", "node-1", "stopped", "").replace("vol-e-0", "vol-e-1");
    let one = engine("vol", "node-1", "stopped", "");
    let (fact, _) = told(&(waits.clone() + &one + &second));
    assert!(fact.starts_with("engines vol-e-0"), "{fact}");
    let inactive = second.replace("active: true", "active: false");
    assert!(told(&(waits.clone() + &one + &inactive)).0.starts_with("ticket csi-a"));
    // it gets the volume when its data is there
    assert!(recorded(&waits.replace("state: detached", "state: detached, restoreRequired: true")).is_empty());
}

#[test]
fn faulted_deleted_and_resting_volumes_are_left_alone() {
    let attaching = volume("vol", "attaching", "nodeID: node-1", "");
    assert_eq!(recorded(&attaching).len(), 1, "recorded for a reason");
    assert!(recorded(&attaching.replace("robustness: unknown", "robustness: faulted")).is_empty());
    assert!(
        recorded(&attaching.replace("name: vol,", "name: vol, deletionTimestamp: '2026-03-01T11:00:00Z',"))
            .is_empty()
    );
    for state in ["attached", "detached", "creating", "mauve"] {
        assert!(recorded(&volume("vol", state, "nodeID: node-1", "node-1")).is_empty(), "{state}");
    }
}
