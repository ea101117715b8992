//! Images that have not reached nodes which are Ready.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{FIRST_START, causes, images_of};
use crate::check::*;
use crate::facts::age::{Age, Begun, Unknown, observe};
use crate::facts::{api, nodes, not_started, pods, text};
use crate::longhorn::{
    ConditionStatus, DataEngine, EngineImage, Event, LonghornNode, Owner, Pod, Volume, status,
};

/// The pods of engine images, by image and node.
type Pods<'a> = BTreeMap<(&'a str, &'a str), &'a Pod>;
/// Volumes by image and node on which they are attached, are to be, or have a replica.
type Users<'a> = BTreeMap<(&'a str, &'a str), BTreeSet<&'a str>>;

pub(super) fn run<'a>(
    cluster: &'a Cluster,
    out: &mut Outcome,
    images: impl Iterator<Item = &'a EngineImage>,
) {
    let default = cluster.setting_value("default-engine-image", DataEngine::V1);
    let ready: Vec<&LonghornNode> =
        cluster.objects.longhorn_nodes.iter().filter(|node| is_ready(cluster, node)).collect();
    let in_use = |image: &&EngineImage| image.spec.image == default || image.status.ref_count.0 > 0;
    let is_missing = |image: &EngineImage, node: &LonghornNode| {
        image.status.node_deployment_map.get(&node.metadata.name) != Some(&true)
    };
    let images: Vec<&EngineImage> =
        images.filter(in_use).filter(|image| ready.iter().any(|node| is_missing(image, node))).collect();
    if images.is_empty() {
        return;
    }
    let (pods, users) = (pods_of(cluster), users_of(cluster));
    for image in images {
        let mut missing = Vec::new();
        for node in ready.iter().filter(|node| is_missing(image, node)) {
            let pod = pods.get(&(image.metadata.name.as_str(), node.metadata.name.as_str())).copied();
            // the map is late where the manager that owns the image does not run
            if pod.is_some_and(Pod::is_ready) {
                continue;
            }
            let object = format!("{}/{}", image.metadata.name, node.metadata.name);
            let begun = Begun::NotBefore(began(cluster, image, node, pod));
            let age = observe(cluster, out, "missing", &object, begun);
            if age.at_least(FIRST_START, Unknown::Counts) {
                let not_executable = not_executable(cluster, pod);
                missing.push(Missing { node: &node.metadata.name, pod, not_executable, age });
            }
        }
        match missing.as_slice() {
            [] => {}
            // the only node that is left in an outage is not the only one that the cluster has
            all if all.len() == ready.len()
                && (ready.len() > 1 || cluster.objects.longhorn_nodes.len() == 1) =>
            {
                out.report(nowhere(cluster, image, all, &users))
            }
            some => some.iter().for_each(|missing| out.report(on_node(cluster, image, missing, &users))),
        }
    }
}

/// An image that is not on a node.
struct Missing<'a> {
    node: &'a str,
    pod: Option<&'a Pod>,
    /// What its probe says of an engine that the host does not let run.
    not_executable: Option<&'a str>,
    age: Age,
}

fn is_ready(cluster: &Cluster, node: &LonghornNode) -> bool {
    let ready = status(&node.status.conditions, "Ready") == ConditionStatus::True;
    ready && !node.metadata.is_deleting() && nodes::kube_ready(cluster, &node.metadata.name) != Some(false)
}

/// The youngest of what must be there before an image can be.
fn began(
    cluster: &Cluster,
    image: &EngineImage,
    node: &LonghornNode,
    pod: Option<&Pod>,
) -> Option<Timestamp> {
    let back = nodes::ready_since(cluster, &node.metadata.name);
    let pod = pod.and_then(pods::since);
    [image.metadata.created(), node.metadata.created(), back, pod].into_iter().flatten().max()
}

fn pods_of(cluster: &Cluster) -> Pods<'_> {
    let mut found: Pods = BTreeMap::new();
    for pod in cluster.objects.pods.iter().filter(|pod| !pod.metadata.is_deleting()) {
        if let Some(image) = pod.metadata.label("longhorn.io/engine-image") {
            found.insert((image, &pod.spec.node_name), pod);
        }
    }
    found
}

fn users_of(cluster: &Cluster) -> Users<'_> {
    let mut users: Users = BTreeMap::new();
    for volume in cluster.objects.volumes.iter() {
        let name = volume.metadata.name.as_str();
        let waiting = wanted_on(cluster, volume);
        for image in images_of(volume) {
            let replicas = cluster.replicas_of(name).map(|replica| replica.spec.node_id.as_str());
            let nodes = replicas.chain([volume.spec.node_id.as_str()]).chain(waiting.iter().copied());
            for node in nodes.filter(|node| !node.is_empty()) {
                users.entry((image, node)).or_default().insert(name);
            }
        }
    }
    users
}

/// The nodes on which a workload asks for a volume: Longhorn attaches it only where the image is, and up to then it may have no ticket
/// (longhorn-manager v1.5.5 to v1.12.1 manager/volume.go Attach). A shared volume is attached on one node for all.
fn wanted_on<'a>(cluster: &'a Cluster, volume: &'a Volume) -> Vec<&'a str> {
    if volume.is_shared() {
        return Vec::new();
    }
    let objects = &cluster.objects;
    let csi = objects.csi_attachments.of(Owner::PersistentVolume, volume.persistent_volume());
    let attachment = objects.volume_attachments.get(&volume.metadata.name).into_iter();
    let tickets = attachment.flat_map(|attachment| attachment.spec.attachment_tickets.values());
    let tickets = tickets.map(|ticket| ticket.node_id.as_str());
    csi.map(|csi| csi.spec.node_name.as_str()).chain(tickets).collect()
}

fn nowhere(cluster: &Cluster, image: &EngineImage, missing: &[Missing], users: &Users) -> Finding {
    let of = image.spec.image.as_str();
    let volumes: BTreeSet<&str> = users
        .iter()
        .filter(|((image, _), _)| *image == of)
        .flat_map(|(_, volumes)| volumes)
        .copied()
        .collect();
    let why = brief(cluster, missing.first().and_then(|missing| missing.pod));
    let finding = Finding::about(
        &causes::DEPLOYED_NOWHERE,
        cluster.object::<EngineImage>(&image.metadata.name),
        format!("image {} is missing on all Ready nodes{why}", super::short(of)),
    );
    told(cluster, image, finding, missing, volumes)
        .impact("volumes that need this image cannot attach, and their replicas cannot start. Running volumes continue")
}

fn on_node(cluster: &Cluster, image: &EngineImage, missing: &Missing, users: &Users) -> Finding {
    let (of, node) = (image.spec.image.as_str(), missing.node);
    let volumes: BTreeSet<&str> = users.get(&(of, node)).into_iter().flatten().copied().collect();
    let by_design = missing.pod.is_none() && volumes.is_empty();
    let finding = Finding::about(
        &causes::MISSING_ON_NODE,
        cluster.object::<EngineImage>(&image.metadata.name),
        format!("image {} is missing on {node}{}", super::short(of), why(cluster, missing)),
    )
    .severity(if by_design { Severity::Info } else { Severity::Warning })
    .node(node);
    let impact = match volumes.len() {
        0 => "none yet: no volume needs the image on this node".to_owned(),
        count => format!(
            "{} cannot attach or start a replica on this node. Running volumes continue",
            counted(count, "volume")
        ),
    };
    told(cluster, image, finding, std::slice::from_ref(missing), volumes).impact(impact)
}

/// Why it is not on the node, to end a headline with.
fn why(cluster: &Cluster, missing: &Missing) -> String {
    match (missing.pod, missing.not_executable) {
        (None, _) if nodes::taints(cluster, missing.node).is_some() => {
            ": its taint is not tolerated".to_owned()
        }
        (_, Some(_)) => format!(": {}", causes::NOT_EXECUTABLE.briefly),
        (pod, None) => brief(cluster, pod),
    }
}

/// The probe that runs the engine's binary, where the host forbids that (longhorn-manager v1.3.3 to v1.12.1
/// controller/engine_image_controller.go createEngineImageDaemonSetSpec).
fn not_executable<'a>(cluster: &'a Cluster, pod: Option<&Pod>) -> Option<&'a str> {
    let pod = pod?;
    let of_pod = |event: &&Event| {
        event.reason == "Unhealthy"
            && event.involved_object.uid == pod.metadata.uid
            && event.message.contains("ermission denied")
    };
    let last = cluster.objects.events.iter().filter(of_pod).max_by_key(|event| event.last_seen());
    last?.message.lines().map(str::trim).find(|line| line.contains("ermission denied"))
}

/// Why its pod does not run, to end a headline with.
fn brief(cluster: &Cluster, pod: Option<&Pod>) -> String {
    match pod.and_then(|pod| not_started::said_by_kubelet(cluster, pod)) {
        Some(why) => format!(": {}", why.way.briefly),
        None => pods::brief(pod),
    }
}

fn told(
    cluster: &Cluster,
    image: &EngineImage,
    finding: Finding,
    missing: &[Missing],
    volumes: BTreeSet<&str>,
) -> Finding {
    let name = &image.metadata.name;
    let nodes: Vec<&str> = missing.iter().map(|missing| missing.node).collect();
    let mut finding = finding.volumes(volumes.into_iter().map(|volume| cluster.volume_ref(volume)).collect());
    finding = finding.fact(format!(
        "engine image {name} is in state {}, and nodeDeploymentMap is not true for {}",
        image.status.state.as_str(),
        text::listed(&nodes)
    ));
    if let Some(first) = missing.first() {
        finding.since = first.age.since;
        finding = finding.fact(match first.pod {
            Some(pod) => {
                let why = pods::trouble(pod).unwrap_or_else(|| "not Ready (cause unknown)".to_owned());
                api(format!("pod {} on {}: {why}", pod.metadata.name, first.node)).quoting(pods::said(pod))
            }
            None => api(format!(
                "the engine image has no pod on {}, probably because of a taint, the node selector, or a deleted DaemonSet",
                first.node
            )),
        });
        if let Some((pod, why)) =
            first.pod.and_then(|pod| Some((pod, not_started::said_by_kubelet(cluster, pod)?)))
        {
            finding = finding
                .facts(why.beyond(pods::said(pod)))
                .way(Some(why.way))
                .with(Name::Pod, pod.metadata.name.as_str());
        }
        if let Some(said) = first.not_executable {
            let event =
                EvidenceSource::Event.says(format!("event Unhealthy: {}", text::quoted(said))).quoting(said);
            finding = finding.fact(event).way(&causes::NOT_EXECUTABLE);
        }
        let tainted = first.pod.is_none().then(|| nodes::taints(cluster, first.node)).flatten();
        if tainted.is_some() && finding.cause == &causes::MISSING_ON_NODE {
            finding = finding.way(&causes::TAINTED);
        }
        finding = finding.facts(tainted).fact(first.age.evidence());
    }
    finding
}
