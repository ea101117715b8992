use super::CHECK;
use crate::testing::*;

const NOW: &str = "2026-03-01T12:00:00Z";
const LONG_AGO: &str = "2026-03-01T11:00:00Z";
const JUST_NOW: &str = "2026-03-01T11:55:00Z";
const IMAGE: &str = "longhornio/longhorn-engine:v1.9.2";

fn image(map: &str, status: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: EngineImage\nmetadata: {{name: ei-1, namespace: longhorn-system, creationTimestamp: '{LONG_AGO}'}}\n\
         spec: {{image: '{IMAGE}'}}\nstatus: {{nodeDeploymentMap: {{{map}}}, refCount: 2, {status}}}\n---\n"
    )
}

fn node(name: &str, ready: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {{name: {name}, namespace: longhorn-system, creationTimestamp: '{LONG_AGO}'}}\n\
         status: {{conditions: [{{type: Ready, status: '{ready}'}}]}}\n---\n"
    )
}

fn nodes() -> String {
    node("n1", "True") + &node("n2", "True")
}

fn pod(node: &str, ready: &str, since: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: engine-image-ei-1-{node}, namespace: longhorn-system, creationTimestamp: '{LONG_AGO}', \
         labels: {{longhorn.io/component: engine-image, longhorn.io/engine-image: ei-1}}}}\nspec: {{nodeName: {node}}}\n\
         status: {{conditions: [{{type: Ready, status: '{ready}', lastTransitionTime: '{since}'}}], containerStatuses: \
         [{{name: c, state: {{waiting: {{reason: ImagePullBackOff, message: no such image}}}}}}]}}\n---\n"
    )
}

fn volume(name: &str, node: &str, spec: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{name: {name}, namespace: longhorn-system}}\n\
         spec: {{nodeID: '{node}', {spec}}}\nstatus: {{kubernetesStatus: {{pvcName: data, namespace: db}}}}\n---\n"
    )
}

fn on(node: &str) -> String {
    volume("vol-1", node, &format!("image: '{IMAGE}'"))
}

#[test]
fn a_pod_that_cannot_start_makes_its_node_lack_the_image() {
    let yaml = image("n1: true, n2: false", "state: deploying")
        + &nodes()
        + &pod("n2", "False", LONG_AGO)
        + &on("n2");
    let report = run(&CHECK, &cluster_at(NOW, &yaml)).report;
    let finding = &report.findings[0];
    assert_eq!((finding.cause.id, finding.node.as_deref()), ("missing_on_node", Some("n2")));
    assert_eq!(finding.volumes[0].pvc.as_deref(), Some("db/data"));
    assert!(
        finding.evidence()[1].text.ends_with("container c waits with ImagePullBackOff: no such image"),
        "{:?}",
        finding.evidence()
    );
}

#[test]
fn what_is_being_rolled_out_or_down_is_not_found() {
    for yaml in [
        image("n1: true, n2: true", "state: deployed"),
        // a rolling upgrade: the pod of a node has just been replaced
        image("n1: true, n2: false", "state: deploying") + &pod("n2", "False", JUST_NOW),
        // a cluster that is being installed
        image("", "").replace(LONG_AGO, JUST_NOW),
        // the manager that owns the image does not run, so the map is late
        image("n1: true, n2: false", "state: deploying") + &pod("n2", "True", LONG_AGO),
        // an old image that nothing uses
        image("n1: false, n2: false", "state: deploying").replace("refCount: 2", "refCount: 0"),
    ] {
        assert_eq!(
            found(&CHECK, &cluster_at(NOW, &(yaml.clone() + &nodes()))),
            Vec::<String>::new(),
            "{yaml}"
        );
    }
    let down = image("n1: true, n2: false", "state: deployed") + &node("n1", "True") + &node("n2", "False");
    assert!(found(&CHECK, &cluster_at(NOW, &down)).is_empty(), "a node that is down needs no image");
    let back = "apiVersion: v1\nkind: Node\nmetadata: {name: n2}\nstatus: {conditions: [{type: Ready, status: 'True', \
        lastTransitionTime: '2026-03-01T11:58:00Z'}]}\n---\n";
    let rebooted = image("n1: true, n2: false", "state: deploying") + &nodes() + back;
    assert!(found(&CHECK, &cluster_at(NOW, &rebooted)).is_empty(), "it has just come back");
}

#[test]
fn a_node_without_pod_and_volume_is_context() {
    let yaml = image("n1: true, n2: false", "state: deploying") + &nodes();
    assert_eq!(found(&CHECK, &cluster_at(NOW, &yaml)), ["info missing_on_node EngineImage ei-1"]);
    assert_eq!(
        found(&CHECK, &cluster_at(NOW, &(yaml.clone() + &on("n1")))),
        ["info missing_on_node EngineImage ei-1"]
    );
    assert_eq!(
        found(&CHECK, &cluster_at(NOW, &(yaml + &on("n2")))),
        ["warning missing_on_node EngineImage ei-1"]
    );
}

#[test]
fn an_image_on_no_node_is_critical_and_told_once() {
    let yaml = image("n1: false, n2: false", "state: deploying") + &nodes() + &on("n1");
    assert_eq!(found(&CHECK, &cluster_at(NOW, &yaml)), ["critical deployed_nowhere EngineImage ei-1"]);
    assert_eq!(
        sample(&run(&CHECK, &cluster_at(NOW, &yaml)), "longhorn_health_engine_images", &["deploying"]),
        Some(1.0)
    );
}

#[test]
fn a_live_cluster_watches_before_it_warns() {
    let yaml = image("n1: true, n2: false", "state: deploying") + &nodes() + &on("n2") + MANAGER;
    let live = live_at(NOW, &yaml);
    assert!(found(&CHECK, &live).is_empty(), "how long is unknown");
    let live = later(later(live, 10), 580);
    assert!(found(&CHECK, &live).is_empty());
    assert_eq!(found(&CHECK, &later(live, 25)), ["warning missing_on_node EngineImage ei-1"]);
}

#[test]
fn images_that_nobody_has_and_that_are_too_old() {
    let deployed = image("n1: true, n2: true", "state: deployed") + &nodes();
    let old = volume("vol-1", "n1", "image: 'longhornio/longhorn-engine:v1.2.0'");
    assert_eq!(
        found(&CHECK, &cluster_at(NOW, &(deployed.clone() + &old))),
        ["warning image_unknown EngineImage longhornio/longhorn-engine:v1.2.0"]
    );
    // volumes of the v2 data engine name an instance manager's image
    let v2 = volume("vol-1", "n1", "image: 'longhornio/longhorn-instance-manager:v1.9.2', dataEngine: v2");
    assert!(found(&CHECK, &cluster_at(NOW, &(deployed + &v2))).is_empty());
    // no object at all: not recorded, or a cluster that is being installed
    assert!(found(&CHECK, &cluster_at(NOW, &(nodes() + &old))).is_empty());
    for status in ["state: incompatible", "state: deployed, incompatible: true"] {
        let yaml = image("n1: true, n2: true", status) + &nodes() + &on("n1");
        assert_eq!(found(&CHECK, &cluster_at(NOW, &yaml)), ["warning incompatible EngineImage ei-1"]);
        let unused = yaml.replace("refCount: 2", "refCount: 0");
        assert!(found(&CHECK, &cluster_at(NOW, &unused)).is_empty());
    }
}

/// A volume that is to change its image, and one new replica of it.
fn upgrading(volume: &str, replica: &str) -> String {
    object(
        "Volume",
        "vol-1",
        &format!(
            "spec: {{nodeID: n1, image: '{IMAGE}', numberOfReplicas: 1}}\nstatus: {{state: attached, robustness: healthy, \
             currentNodeID: n1, currentImage: 'longhornio/longhorn-engine:v1.8.2'{volume}}}"
        ),
    ) + &object(
        "Replica",
        "vol-1-r-1",
        "spec: {volumeName: vol-1, nodeID: n1, active: true, image: 'longhornio/longhorn-engine:v1.8.2'}\nstatus: {currentState: running}",
    ) + &object_with(
        "Replica",
        "vol-1-r-2",
        &format!("creationTimestamp: '{LONG_AGO}'"),
        &format!(
            "spec: {{volumeName: vol-1, nodeID: n1, active: false, image: '{IMAGE}'}}\nstatus: {{currentState: {replica}}}"
        ),
    )
}

#[test]
fn a_live_upgrade_ends_within_half_an_hour() {
    let stuck = ["warning upgrade_stuck Volume vol-1"];
    let at = |yaml: &str| found(&CHECK, &cluster_at(NOW, &(release("v1.9.2") + yaml)));
    assert_eq!(at(&upgrading("", "stopped")), stuck);
    assert_eq!(at(&upgrading("", "stopped").replace(LONG_AGO, "2026-03-01T11:31:00Z")), [""; 0]);
    // up to 1.5 the image is in another field
    assert_eq!(at(&upgrading("", "stopped").replace("image: 'long", "engineImage: 'long")), stuck);
    // rebuilt first, detached, already of the new image, or not begun: images of one commit
    for (from, to) in [
        ("robustness: healthy", "robustness: degraded"),
        ("state: attached", "state: detached"),
        (
            "currentImage: 'longhornio/longhorn-engine:v1.8.2'",
            "currentImage: 'longhornio/longhorn-engine:v1.9.2'",
        ),
        ("active: false", "active: true"),
    ] {
        assert_eq!(at(&upgrading("", "stopped").replace(from, to)), [""; 0], "{to}");
    }
    // a rebuild does not take a day
    let degraded = upgrading("", "stopped").replace("robustness: healthy", "robustness: degraded");
    assert_eq!(at(&degraded.replace(LONG_AGO, "2026-02-28T12:00:00Z")), stuck);
    assert_eq!(at(&degraded.replace(LONG_AGO, "2026-02-28T12:00:01Z")), [""; 0]);
}

/// A replica of the old image that is gone leaves its new one in the way of a rebuild.
#[test]
fn a_degraded_volume_between_two_images_is_rebuilt_nowhere() {
    let at = |yaml: &str| found(&CHECK, &cluster_at(NOW, &(release("v1.5.3") + yaml)));
    let healthy = "active: true, healthyAt: '2026-01-01T00:00:00Z',";
    let degraded = upgrading("", "running")
        .replace("robustness: healthy", "robustness: degraded")
        .replace("active: true,", healthy)
        .replace(LONG_AGO, "2026-03-01T11:30:00Z");
    let replica = |name: &str, spec: &str| {
        object_with(
            "Replica",
            name,
            "creationTimestamp: '2026-03-01T11:30:00Z'",
            &format!("spec: {{volumeName: vol-1, nodeID: n2, {spec}}}\nstatus: {{currentState: running}}"),
        )
    };
    let new = replica("vol-1-r-3", &format!("active: false, image: '{IMAGE}'"));
    assert_eq!(at(&(degraded.clone() + &new)), ["warning upgrade_stuck Volume vol-1"]);
    let young = (degraded.clone() + &new).replace("T11:30:00Z", "T11:31:00Z");
    assert_eq!(at(&young), [""; 0]);
    // every new one has its counterpart, or a replica is being built
    assert_eq!(at(&degraded), [""; 0]);
    let built = replica("vol-1-r-4", "active: true, image: 'longhornio/longhorn-engine:v1.8.2'");
    assert_eq!(at(&(degraded + &new + &built)), [""; 0]);
}

#[test]
fn a_live_upgrade_that_hangs_says_why() {
    let told = |version: &str, yaml: &str| {
        let report = run(&CHECK, &cluster_at(NOW, &(release(version) + yaml))).report;
        let finding = &report.findings[0];
        let facts: Vec<_> = finding.evidence().iter().map(|fact| fact.text.clone()).collect();
        let change =
            finding.remedy.commands.iter().find(|command| command.changes).map(|command| command.run.clone());
        (facts.join("\n"), finding.remedy.fix.clone(), change)
    };
    let (facts, words, change) = told("v1.9.2", &upgrading("", "stopped"));
    assert!(facts.contains("do not run: vol-1-r-2 on n1 is stopped"), "{facts}");
    assert!(words.starts_with("Find out why the new replicas do not run") && change.is_none(), "{words}");
    let second = object(
        "Replica",
        "vol-1-r-3",
        "spec: {volumeName: vol-1, nodeID: n2, active: true}\nstatus: {currentState: running}",
    );
    let surplus = upgrading("", "running") + &second;
    for (version, waits) in [
        ("v1.3.3", true),
        ("v1.9.2", true),
        ("v1.9.3", false),
        ("v1.10.0", true),
        ("v1.10.1", false),
        ("v1.12.1", false),
    ] {
        let (_, words, change) = told(version, &surplus);
        assert_eq!(words.starts_with("Raise numberOfReplicas"), waits, "{version} {words}");
        assert_eq!(change.is_some_and(|change| change.contains("numberOfReplicas\":2}")), waits, "{version}");
    }
}
