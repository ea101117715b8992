//! What people and Longhorn change in a cluster, as values that can be compared.

use std::any::Any;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::longhorn::*;

/// A value that is different, or a thing that was added or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Edit {
    /// What it is about, as `setting auto-salvage` or `node worker-1`.
    pub subject: String,
    /// The field; left out where the thing itself was added or removed.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub field: Cow<'static, str>,
    /// The value before; left out for what was added, empty for a thing that has no value of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The value now; left out for what was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// What is read, in the order of the output.
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
pub type Fields = Vec<(&'static str, String)>;

/// Values by the kind's place in the output, by subject and by field. A thing itself is the empty field.
pub type Values = BTreeMap<(usize, String, &'static str), String>;

/// A thing that has no value of its own.
const HERE: (&str, String) = ("", String::new());

/// The values of an object: its own, and those of the things in it.
pub fn things<T: Kind>(object: &T) -> Vec<(String, Fields)> {
    let any = object as &dyn Any;
    let name = &object.meta().name;
    if let Some(setting) = any.downcast_ref::<Setting>() {
        return vec![(format!("setting {name}"), vec![("", setting.value.to_string())])];
    }
    if let Some(node) = any.downcast_ref::<KubeNode>() {
        return vec![(format!("node {name}"), kube_node(node))];
    }
    if let Some(node) = any.downcast_ref::<LonghornNode>() {
        return longhorn_node(node);
    }
    if let Some(image) = any.downcast_ref::<EngineImage>() {
        return vec![(format!("engine image {}", image.spec.image), vec![HERE])];
    }
    if let Some(volume) = any.downcast_ref::<Volume>() {
        return vec![self::volume(volume)];
    }
    if let Some(target) = any.downcast_ref::<BackupTarget>() {
        let fields = vec![
            HERE,
            ("URL", target.spec.backup_target_url.to_string()),
            ("credential secret", target.spec.credential_secret.to_string()),
        ];
        return vec![(format!("backup target {name}"), fields)];
    }
    if let Some(job) = any.downcast_ref::<RecurringJob>() {
        let fields = vec![HERE, ("task", job.spec.task.to_string()), ("cron", job.spec.cron.to_string())];
        return vec![(format!("recurring job {name}"), fields)];
    }
    any.downcast_ref::<DaemonSet>().and_then(manager).into_iter().collect()
}

/// The values of these kinds.
pub fn values(objects: &Objects, kinds: &BTreeSet<Resource>) -> Values {
    struct Collect<'a>(&'a Objects, &'a BTreeSet<Resource>, Values);

    impl KindVisitor for Collect<'_> {
        fn visit<T: Kind>(&mut self) {
            let place = KINDS.iter().position(|kind| *kind == T::RESOURCE);
            let Some(place) = place.filter(|_| self.1.contains(&T::RESOURCE)) else { return };
            for object in T::store(self.0).iter() {
                add(&mut self.2, place, object);
            }
        }
    }

    let mut collect = Collect(objects, kinds, Values::new());
    visit_kinds(&mut collect);
    collect.2
}

fn add<T: Kind>(values: &mut Values, place: usize, object: &T) {
    for (subject, fields) in things(object) {
        values.extend(fields.into_iter().map(|(field, value)| ((place, subject.clone(), field), value)));
    }
}

/// What differs between two versions of an object, of which one may be missing.
pub fn between<T: Kind>(before: Option<&T>, after: Option<&T>) -> Vec<Edit> {
    let [before, after] = [before, after].map(|object| {
        let mut values = Values::new();
        if let Some(object) = object {
            add(&mut values, 0, object);
        }
        values
    });
    edits(&before, &after)
}

/// What differs; of what was added or removed only that.
pub fn edits(before: &Values, after: &Values) -> Vec<Edit> {
    let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let came_or_went = |(place, subject, field): &(usize, String, &'static str)| {
        let thing = (*place, subject.clone(), "");
        !field.is_empty() && before.contains_key(&thing) != after.contains_key(&thing)
    };
    let differ = keys.into_iter().filter(|key| before.get(*key) != after.get(*key) && !came_or_went(key));
    let edit = |key: &(usize, String, &'static str)| Edit {
        subject: key.1.clone(),
        field: key.2.into(),
        before: before.get(key).cloned(),
        after: after.get(key).cloned(),
    };
    differ.map(edit).collect()
}

fn said(wanted: bool) -> String {
    if wanted { "yes" } else { "no" }.to_owned()
}

fn kube_node(node: &KubeNode) -> Fields {
    let taints = node.spec.taints.iter().map(|taint| format!("{}:{}", taint.key, taint.effect));
    vec![
        HERE,
        ("cordoned", said(node.spec.unschedulable)),
        ("taints", taints.collect::<Vec<_>>().join(" ")),
        ("kubelet", node.status.node_info.kubelet_version.to_string()),
        ("kernel", node.status.node_info.kernel_version.to_string()),
    ]
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
fn volume(volume: &Volume) -> (String, Fields) {
    let status = &volume.status.kubernetes_status;
    let claim = match status.pvc_name.as_str() {
        "" => String::new(),
        claim => format!(" (claim {}/{claim})", status.namespace),
    };
    let fields = vec![
        HERE,
        ("replicas", volume.spec.number_of_replicas.0.to_string()),
        ("size in bytes", volume.spec.size.0.to_string()),
        ("engine image", volume.spec.wanted_image().to_owned()),
    ];
    (format!("volume {}{claim}", volume.metadata.name), fields)
}

/// Longhorn's own release.
fn manager(set: &DaemonSet) -> Option<(String, Fields)> {
    let name = &set.metadata.name;
    let container =
        set.spec.template.spec.container("longhorn-manager").filter(|_| *name == "longhorn-manager");
    container.map(|container| (name.to_string(), vec![("image", container.image.to_string())]))
}
