//! What people and Longhorn change in a cluster, as values that can be compared.

use std::collections::{BTreeMap, BTreeSet};

use super::Edit;
use crate::cluster::Cluster;
use crate::longhorn::{LonghornNode, Objects, Resource, Volume};

/// Values by the kind's place in the output, by subject and by field. A thing itself is the empty field.
type Key = (usize, String, &'static str);

/// What [`state`] reads, in the order of the output.
pub const KINDS: [Resource; 8] = [
    Resource::Settings,
    Resource::KubeNodes,
    Resource::LonghornNodes,
    Resource::EngineImages,
    Resource::Volumes,
    Resource::BackupTargets,
    Resource::RecurringJobs,
    Resource::DaemonSets,
];

/// The values of a thing by field.
type Fields = Vec<(&'static str, String)>;

/// A thing that has no value of its own.
const HERE: (&str, String) = ("", String::new());

/// The values of these kinds.
pub fn state(cluster: &Cluster, kinds: &BTreeSet<Resource>) -> BTreeMap<Key, String> {
    let mut state = BTreeMap::new();
    for (place, kind) in KINDS.into_iter().enumerate().filter(|(_, kind)| kinds.contains(kind)) {
        for (subject, fields) in things(cluster, kind) {
            state.extend(fields.into_iter().map(|(field, value)| ((place, subject.clone(), field), value)));
        }
    }
    state
}

fn things(cluster: &Cluster, kind: Resource) -> Vec<(String, Fields)> {
    let objects = &cluster.objects;
    match kind {
        Resource::Settings => {
            let settings = objects.settings.iter();
            settings
                .map(|one| (format!("setting {}", one.metadata.name), vec![("", one.value.to_string())]))
                .collect()
        }
        Resource::KubeNodes => kube_nodes(objects),
        Resource::LonghornNodes => {
            objects.longhorn_nodes.iter().flat_map(|node| longhorn_node(node)).collect()
        }
        Resource::EngineImages => {
            let images = objects.engine_images.iter();
            images.map(|one| (format!("engine image {}", one.spec.image), vec![HERE])).collect()
        }
        Resource::Volumes => objects.volumes.iter().map(|one| volume(cluster, one)).collect(),
        Resource::BackupTargets => backup_targets(objects),
        Resource::RecurringJobs => recurring_jobs(objects),
        _ => {
            let image = cluster.manager_container().map(|container| container.image.to_string());
            image.map(|image| ("longhorn-manager".to_owned(), vec![("image", image)])).into_iter().collect()
        }
    }
}

fn said(wanted: bool) -> String {
    if wanted { "yes" } else { "no" }.to_owned()
}

fn kube_nodes(objects: &Objects) -> Vec<(String, Fields)> {
    let nodes = objects.kube_nodes.iter().map(|node| {
        let taints: Vec<_> =
            node.spec.taints.iter().map(|taint| format!("{}:{}", taint.key, taint.effect)).collect();
        let fields = vec![
            HERE,
            ("cordoned", said(node.spec.unschedulable)),
            ("taints", taints.join(" ")),
            ("kubelet", node.status.node_info.kubelet_version.to_string()),
            ("kernel", node.status.node_info.kernel_version.to_string()),
        ];
        (format!("node {}", node.metadata.name), fields)
    });
    nodes.collect()
}

/// A node of Longhorn and its disks.
fn longhorn_node(node: &LonghornNode) -> Vec<(String, Fields)> {
    let name = &node.metadata.name;
    let wanted = |scheduling: bool, eviction: bool| {
        [("scheduling", said(scheduling)), ("eviction requested", said(eviction))]
    };
    let mut fields = vec![HERE];
    fields.extend(wanted(node.spec.allow_scheduling, node.spec.eviction_requested));
    let mut things = vec![(format!("Longhorn node {name}"), fields)];
    for (disk, spec) in node.spec.disks.iter() {
        let mut fields = vec![HERE, ("path", spec.path.to_string())];
        fields.extend(wanted(spec.allow_scheduling, spec.eviction_requested));
        things.push((format!("disk {disk} of node {name}"), fields));
    }
    things
}

/// Named without how it is: that is what incidents say.
fn volume(cluster: &Cluster, volume: &Volume) -> (String, Fields) {
    let name = &volume.metadata.name;
    let claim = cluster.volume_ref(name).pvc.map_or(String::new(), |claim| format!(" (claim {claim})"));
    let fields = vec![
        HERE,
        ("replicas", volume.spec.number_of_replicas.0.to_string()),
        ("size in bytes", volume.spec.size.0.to_string()),
        ("engine image", volume.spec.wanted_image().to_owned()),
    ];
    (format!("volume {name}{claim}"), fields)
}

fn backup_targets(objects: &Objects) -> Vec<(String, Fields)> {
    let targets = objects.backup_targets.iter().map(|target| {
        let fields = vec![
            HERE,
            ("URL", target.spec.backup_target_url.to_string()),
            ("credential secret", target.spec.credential_secret.to_string()),
        ];
        (format!("backup target {}", target.metadata.name), fields)
    });
    targets.collect()
}

fn recurring_jobs(objects: &Objects) -> Vec<(String, Fields)> {
    let jobs = objects.recurring_jobs.iter().map(|job| {
        let fields = vec![HERE, ("task", job.spec.task.to_string()), ("cron", job.spec.cron.to_string())];
        (format!("recurring job {}", job.metadata.name), fields)
    });
    jobs.collect()
}

/// What differs; of what was added or removed only that.
pub fn edits(before: &BTreeMap<Key, String>, after: &BTreeMap<Key, String>) -> Vec<Edit> {
    let keys: BTreeSet<&Key> = before.keys().chain(after.keys()).collect();
    let came_or_went = |(place, subject, field): &Key| {
        let thing = (*place, subject.clone(), "");
        !field.is_empty() && before.contains_key(&thing) != after.contains_key(&thing)
    };
    let differ = keys.into_iter().filter(|key| before.get(*key) != after.get(*key) && !came_or_went(key));
    let edit = |key: &Key| Edit {
        subject: key.1.clone(),
        field: key.2,
        before: before.get(key).cloned(),
        after: after.get(key).cloned(),
    };
    differ.map(edit).collect()
}
