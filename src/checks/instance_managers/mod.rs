//! What the four instance manager checks share: which instance managers are old, which instances
//! hold them, and whether their node and its longhorn-manager can act.
//!
//! The rules are those of longhorn-manager's controller/node_controller.go syncInstanceManagers,
//! read at the releases that each function names.

#[cfg(test)]
pub mod fixtures;

use std::collections::{BTreeMap, HashMap};

use jiff::{SignedDuration, Timestamp};

use crate::check::{Evidence, EvidenceSource};
use crate::cluster::Cluster;
use crate::cluster::known_issues::{manager_release, release_of};
use crate::longhorn::*;

/// Containers of an instance manager pod: one name since 1.5, two up to 1.4.
pub const CONTAINERS: [&str; 3] = ["instance-manager", "engine-manager", "replica-manager"];

/// What a longhorn-manager may take to come back when it is restarted.
const RESTART: SignedDuration = SignedDuration::from_mins(3);

/// All instance managers of a cluster with what it takes to judge them.
pub struct InstanceManagers<'a> {
    cluster: &'a Cluster,
    /// The release that the objects are written for, `None` when nothing tells.
    pub release: Option<Release>,
    default_image: &'a str,
    template_image: Option<&'a str>,
    manager_pods: HashMap<&'a str, &'a Pod>,
}

/// What an instance is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Engine of a volume.
    Engine,
    /// Replica of a volume.
    Replica,
    /// Initiator of a v2 volume, since 1.12.0.
    EngineFrontend,
    /// Shard or shard group of an erasure-coded volume, since 1.12.1.
    Shard,
}

impl Role {
    /// As in labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Engine => "engine",
            Role::Replica => "replica",
            Role::EngineFrontend => "engine_frontend",
            Role::Shard => "shard",
        }
    }
}

/// An instance with its name, which is the name of its object.
pub struct NamedInstance<'a> {
    /// Name of the instance and of its Engine, Replica or EngineFrontend.
    pub name: &'a str,
    /// What it is.
    pub role: Role,
    /// Its state.
    pub state: InstanceState,
}

impl<'a> InstanceManagers<'a> {
    /// Looks the shared facts up once.
    pub fn of(cluster: &'a Cluster) -> Self {
        let default_image =
            cluster.setting("default-instance-manager-image").map_or("", |setting| setting.value.trim());
        let mut manager_pods: HashMap<&str, &Pod> = HashMap::new();
        let rank = |pod: &Pod| (!pod.metadata.is_deleting(), pod.metadata.created());
        for pod in cluster.manager_pods() {
            let known = manager_pods.entry(&pod.spec.node_name).or_insert(pod);
            if rank(pod) > rank(known) {
                *known = pod;
            }
        }
        InstanceManagers {
            cluster,
            release: cluster.release(),
            default_image,
            template_image: cluster.manager_container().and_then(image_argument),
            manager_pods,
        }
    }

    /// The release of the manager on a node, which alone removes instance managers there, or of the one
    /// that would run there. While an upgrade rolls it differs from node to node.
    pub fn code_on(&self, node: &str) -> Option<Release> {
        match self.manager_pods.get(node) {
            Some(pod) => release_of(self.cluster, pod),
            None => manager_release(self.cluster),
        }
    }

    /// False without the setting that tells default from old.
    pub fn default_is_known(&self) -> bool {
        !self.default_image.is_empty()
    }

    /// True when Longhorn does not count this instance manager as a default one.
    ///
    /// Up to 1.10 the default image is the setting. From 1.11.0 on the `--instance-manager-image`
    /// of the manager that runs on the node counts as well, so that two images are default while
    /// an upgrade rolls (longhorn-manager v1.10.2 and v1.11.0 controller/node_controller.go
    /// syncInstanceManagers).
    pub fn is_old(&self, im: &InstanceManager) -> bool {
        if !self.default_is_known() || im.spec.image == self.default_image {
            return false;
        }
        let two_defaults = self.code_on(&im.spec.node_id).is_none_or(|release| release.at_least(1, 11, 0));
        !(two_defaults && self.argument_on(&im.spec.node_id) == Some(im.spec.image.as_str()))
    }

    /// The instance manager image with which the manager on a node was started.
    fn argument_on(&self, node: &str) -> Option<&'a str> {
        let container = self.manager_pods.get(node).and_then(|pod| pod.spec.container("longhorn-manager"));
        container.and_then(image_argument).or(self.template_image)
    }

    /// The instances that Longhorn looks at before it removes an old instance manager, whatever
    /// their state: `instances` up to 1.10, engines and replicas since 1.5, engine frontends since
    /// 1.12.0; shards of 1.12.1 are not among them. Each name counts once.
    pub fn counted_instances<'b>(&self, im: &'b InstanceManager) -> Vec<NamedInstance<'b>>
    where
        'a: 'b,
    {
        let release = self.code_on(&im.spec.node_id);
        let at_least = |minor| release.is_none_or(|release| release.at_least(1, minor, 0));
        let up_to_1_10 = release.is_none_or(|release| !release.at_least(1, 11, 0));
        let mut union: BTreeMap<&str, NamedInstance> = BTreeMap::new();
        let mut add = |map: &'b Map<Instance>, role: Option<Role>| {
            for (name, instance) in map {
                let role = role.unwrap_or_else(|| self.legacy_role(im, name, instance));
                let state = instance.status.state;
                union.insert(name, NamedInstance { name, role, state });
            }
        };
        if up_to_1_10 {
            add(&im.status.instances, None);
        }
        if at_least(5) {
            add(&im.status.instance_engines, Some(Role::Engine));
            add(&im.status.instance_replicas, Some(Role::Replica));
        }
        if at_least(12) {
            add(&im.status.instance_engine_frontends, Some(Role::EngineFrontend));
        }
        union.into_values().collect()
    }

    /// The running or starting instances of the union: those that keep an old instance manager.
    pub fn holders<'b>(&self, im: &'b InstanceManager) -> Vec<NamedInstance<'b>>
    where
        'a: 'b,
    {
        let mut instances = self.counted_instances(im);
        instances.retain(|instance| instance.state.is_active());
        instances
    }

    /// Role of an instance in the map without roles that 1.3 to 1.10 write.
    fn legacy_role(&self, im: &InstanceManager, name: &str, instance: &Instance) -> Role {
        match (instance.status.kind.as_str(), im.spec.kind) {
            ("engine", _) => Role::Engine,
            ("replica", _) => Role::Replica,
            (_, InstanceManagerType::Engine) => Role::Engine,
            (_, InstanceManagerType::Replica) => Role::Replica,
            _ if self.cluster.objects.engines.get(name).is_some() => Role::Engine,
            _ => Role::Replica,
        }
    }

    /// The volume of an instance by its object; names are not taken apart.
    pub fn volume_of(&self, role: Role, name: &str) -> Option<&'a str> {
        let objects = &self.cluster.objects;
        let volume = match role {
            Role::Engine => objects.engines.get(name).map(|engine| &engine.spec.volume_name),
            Role::Replica => objects.replicas.get(name).map(|replica| &replica.spec.volume_name),
            Role::EngineFrontend => {
                objects.engine_frontends.get(name).map(|frontend| &frontend.spec.volume_name)
            }
            Role::Shard => objects.volumes.get(name).map(|volume| &volume.metadata.name),
        };
        volume.map(String::as_str).filter(|volume| !volume.is_empty())
    }

    /// The pod of an instance manager, which has its name.
    pub fn pod_of(&self, im: &InstanceManager) -> Option<&'a Pod> {
        self.cluster.objects.pods.get(&im.metadata.name)
    }

    /// Why a node counts as down, if it does: Longhorn says so, or Kubernetes.
    pub fn node_down(&self, node: &str) -> Option<Evidence> {
        let objects = &self.cluster.objects;
        let ready = objects.longhorn_nodes.get(node).and_then(|n| condition(&n.status.conditions, "Ready"));
        if let Some(ready) = ready
            && ready.status == ConditionStatus::False
            && ["KubernetesNodeGone", "KubernetesNodeNotReady"].contains(&ready.reason.as_str())
        {
            return Some(api(format!("nodes.longhorn.io {node}: Ready is False, reason {}", ready.reason)));
        }
        match objects.kube_nodes.get(node) {
            Some(kube) if !kube.is_ready() => Some(api(format!("node {node}: Ready is not True"))),
            // an empty store may be one that was not recorded
            None if !node.is_empty() && !objects.kube_nodes.is_empty() => {
                Some(api(format!("node {node} does not exist in Kubernetes")))
            }
            _ => None,
        }
    }

    /// True when Kubernetes' node is cordoned; Longhorn then makes no instance manager pod there.
    pub fn is_cordoned(&self, node: &str) -> bool {
        let objects = &self.cluster.objects;
        let by_longhorn = || {
            let node = objects.longhorn_nodes.get(node)?;
            let schedulable = condition(&node.status.conditions, "Schedulable")?;
            Some(
                schedulable.reason == "KubernetesNodeCordoned"
                    && schedulable.status == ConditionStatus::False,
            )
        };
        match objects.kube_nodes.get(node) {
            Some(kube) => kube.spec.unschedulable,
            None => by_longhorn().unwrap_or(false),
        }
    }

    /// Why the longhorn-manager of a node cannot tidy up there, if that shows. Only the manager on
    /// the node itself removes instance managers of the node; it does so under pressure on the node, too
    /// (longhorn-manager v1.12.1 controller/node_controller.go syncNode). One that has been away for
    /// moments only is being restarted, as all are at once in an upgrade.
    pub fn manager_trouble(&self, node: &str) -> Option<Evidence> {
        let lasts = |since: Option<Timestamp>| since.is_none_or(|since| self.cluster.age(since) >= RESTART);
        let ready = self.cluster.objects.longhorn_nodes.get(node);
        let ready = ready.and_then(|node| condition(&node.status.conditions, "Ready"));
        if let Some(ready) = ready
            && ready.status == ConditionStatus::False
            && ready.reason != "KubernetesNodePressure"
            && lasts(ready.last_transition_time.get())
        {
            return Some(api(format!("nodes.longhorn.io {node}: Ready is False, reason {}", ready.reason)));
        }
        match self.manager_pods.get(node) {
            Some(pod) if !pod.is_ready() => {
                let changed = condition(&pod.status.conditions, "Ready");
                let changed = changed.and_then(|ready| ready.last_transition_time.get());
                let text =
                    || api(format!("longhorn-manager pod {} on {node} is not Ready", pod.metadata.name));
                lasts(changed.max(pod.metadata.created())).then(text)
            }
            // without any manager pod the pods were probably not recorded
            None if !self.manager_pods.is_empty() => {
                Some(api(format!("there is no longhorn-manager pod on {node}")))
            }
            _ => None,
        }
    }

    /// False when the setting switches the data engine of this instance manager off; Longhorn then
    /// neither makes nor visits it (settings since 1.5 for v2 and 1.6 for v1).
    pub fn engine_is_enabled(&self, im: &InstanceManager) -> bool {
        let name = match im.spec.data_engine.or_v1() {
            DataEngine::V2 => "v2-data-engine",
            _ => "v1-data-engine",
        };
        self.cluster.setting(name).is_none_or(|setting| setting.value.trim() != "false")
    }
}

/// A fact of the API.
pub fn api(text: impl Into<String>) -> Evidence {
    Evidence { source: EvidenceSource::Api, text: text.into() }
}

/// The container of an instance manager pod.
pub fn container_of(pod: &Pod) -> Option<&Container> {
    CONTAINERS.iter().find_map(|name| pod.spec.container(name))
}

/// How the container of an instance manager pod is.
pub fn container_status_of(pod: &Pod) -> Option<&ContainerStatus> {
    CONTAINERS.iter().find_map(|name| pod.container_status(name))
}

/// The labels by which Longhorn finds its instance managers, those that this one lacks
/// (longhorn-manager v1.12.1 types/types.go GetInstanceManagerLabels; the data engine is one of
/// them since 1.6).
pub fn missing_labels(im: &InstanceManager, release: Option<Release>) -> Vec<&'static str> {
    let always = [
        "longhorn.io/component",
        "longhorn.io/managed-by",
        "longhorn.io/node",
        "longhorn.io/instance-manager-type",
        "longhorn.io/instance-manager-image",
    ];
    let since_1_6 = release.is_some_and(|release| release.at_least(1, 6, 0));
    let data_engine = since_1_6.then_some("longhorn.io/data-engine");
    let missing = |key: &&str| im.metadata.label(key).is_none_or(str::is_empty);
    always.into_iter().chain(data_engine).filter(missing).collect()
}

fn image_argument(container: &Container) -> Option<&str> {
    const FLAG: &str = "--instance-manager-image";
    let mut words = container.command.iter().chain(&container.args).map(String::as_str);
    while let Some(word) = words.next() {
        match word.strip_prefix(FLAG) {
            Some("") => return words.next(),
            Some(rest) if rest.starts_with('=') => return rest.get(1..),
            _ => {}
        }
    }
    None
}

/// Names joined for a sentence, at most five and then how many more.
pub fn listed<T: AsRef<str>>(names: &[T]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<&str> = names.iter().take(SHOWN).map(AsRef::as_ref).collect();
    match names.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => format!("{} and {more} more", shown.join(", ")),
        _ => shown.join(", "),
    }
}

/// Who uses these volumes, for a sentence: claims where bound, else volume names.
pub fn users_of(volumes: &[crate::check::VolumeRef]) -> String {
    let names: Vec<String> = volumes
        .iter()
        .map(|volume| match (&volume.pvc, volume.workloads.first()) {
            (Some(pvc), Some(workload)) => format!("claim {pvc} ({workload})"),
            (Some(pvc), None) => format!("claim {pvc}"),
            (None, _) => format!("volume {}", volume.name),
        })
        .collect();
    listed(&names)
}
