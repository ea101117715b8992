//! What the four instance manager checks share: which instance managers are old, which instances
//! hold them, and whether their node and its longhorn-manager can act.
//!
//! The rules are those of longhorn-manager's controller/node_controller.go syncInstanceManagers,
//! read at the releases that each function names.

use std::collections::BTreeMap;

use crate::cluster::Cluster;
use crate::longhorn::*;
use crate::releases::release_on;
use crate::word_enum::word_enum;

/// Containers of an instance manager pod: one name since 1.5, two up to 1.4.
pub const CONTAINERS: [&str; 3] = ["instance-manager", "engine-manager", "replica-manager"];

/// The flag of a manager that names the image of instance managers.
const IMAGE: &str = "--instance-manager-image";

/// All instance managers of a cluster with what it takes to judge them.
pub struct InstanceManagers<'a> {
    cluster: &'a Cluster,
    /// The release that the objects are written for, `None` when nothing tells.
    pub release: Option<Release>,
    default_image: &'a str,
    template_image: Option<&'a str>,
}

word_enum! {
    /// What an instance is.
    pub enum Role {
        /// Engine of a volume.
        Engine = "engine",
        /// Replica of a volume.
        Replica = "replica",
        /// Initiator of a v2 volume, since 1.12.0.
        EngineFrontend = "engine_frontend",
    }
}

/// An instance with its name, which is the name of its object.
pub struct NamedInstance<'a> {
    /// Name of the instance and of its Engine, Replica or EngineFrontend.
    pub name: &'a str,
    pub role: Role,
    pub state: InstanceState,
}

impl<'a> InstanceManagers<'a> {
    /// Looks the shared facts up once.
    pub fn of(cluster: &'a Cluster) -> Self {
        let default_image =
            cluster.setting("default-instance-manager-image").map_or("", |setting| setting.value.trim());
        InstanceManagers {
            cluster,
            release: cluster.release(),
            default_image,
            template_image: cluster.manager_container().and_then(|container| container.flag(IMAGE)),
        }
    }

    /// The release of the manager on a node, which alone removes instance managers there, or of the one
    /// that would run there. While an upgrade rolls it differs from node to node.
    pub fn code_on(&self, node: &str) -> Option<Release> {
        release_on(self.cluster, node)
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
        let container =
            self.cluster.manager_pod_on(node).and_then(|pod| pod.spec.container("longhorn-manager"));
        container.and_then(|container| container.flag(IMAGE)).or(self.template_image)
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
        };
        volume.map(SharedText::as_str).filter(|volume| !volume.is_empty())
    }

    /// The pod of an instance manager, which has its name.
    pub fn pod_of(&self, im: &InstanceManager) -> Option<&'a Pod> {
        self.cluster.objects.pods.get(&im.metadata.name)
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

/// The container of an instance manager pod.
pub fn container_of(pod: &Pod) -> Option<&Container> {
    CONTAINERS.iter().find_map(|name| pod.spec.container(name))
}

/// That something gave the pod a limit of memory. Longhorn does so for the v2 data engine alone, where CPUs are pinned (longhorn-manager
/// v1.12.1 controller/instance_manager_controller.go).
pub fn memory_limit(im: &InstanceManager, pod: &Pod) -> Option<String> {
    let limit = container_of(pod)?.memory_limit()?;
    Some(match im.spec.data_engine.or_v1() {
        DataEngine::V2 => format!("the instance manager's memory limit is {limit}"),
        _ => format!(
            "the instance manager's memory limit is {limit}. Longhorn sets no limit, so probably a LimitRange or cluster policy set it"
        ),
    })
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
        "longhorn.io/component", "longhorn.io/managed-by", "longhorn.io/node",
        "longhorn.io/instance-manager-type", "longhorn.io/instance-manager-image",
    ];
    let since_1_6 = release.is_some_and(|release| release.at_least(1, 6, 0));
    let data_engine = since_1_6.then_some("longhorn.io/data-engine");
    let missing = |key: &&str| im.metadata.label(key).is_none_or(str::is_empty);
    always.into_iter().chain(data_engine).filter(missing).collect()
}
