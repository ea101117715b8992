//! What keeps the PodDisruptionBudget of an instance manager on a cordoned node, computed as Longhorn does
//! (longhorn-manager v1.12.1 controller/instance_manager_controller.go canDeleteInstanceManagerPDB; datastore/longhorn.go
//! ListVolumePDBProtectedHealthyReplicasRO; the same in v1.3.3 and v1.5.5 but for the policies that came with 1.5.4).

use std::collections::{BTreeSet, HashMap};

use super::nodes::is_gone;
use crate::cluster::Cluster;
use crate::longhorn::{
    DataEngine, Engine, InstanceManager, InstanceManagerState, InstanceManagerType, InstanceState, Owner,
    Replica,
};

/// What the setting is when it is not there (longhorn-manager v1.12.1 types/setting.go).
const DEFAULT_POLICY: &str = "block-if-contains-last-replica";

/// Why Longhorn keeps a budget.
pub enum Blocker<'a> {
    /// Engines or their frontends still run on the node.
    Attached(Vec<&'a str>),
    /// The policy wants every replica gone first.
    Replicas(Vec<&'a Replica>),
    /// These healthy replicas are on nodes that Kubernetes does not have, at which Longhorn's look ends with an error.
    OnUnknownNode(Vec<&'a Replica>),
    /// These replicas have no healthy one on another node that a budget protects.
    Unprotected(Vec<&'a Replica>),
    /// Nothing; the manager just has not removed it.
    Nothing,
}

/// The rule of budgets, with some nodes taken as cordoned beside those that are.
pub struct Budgets<'a> {
    cluster: &'a Cluster,
    /// The setting node-drain-policy.
    pub policy: String,
    managers: HashMap<&'a str, Vec<&'a InstanceManager>>,
    leaving: BTreeSet<&'a str>,
}

impl<'a> Budgets<'a> {
    /// With the nodes that are cordoned.
    pub fn new(cluster: &'a Cluster) -> Self {
        let mut managers: HashMap<_, Vec<_>> = HashMap::new();
        for manager in cluster.objects.instance_managers.iter() {
            managers.entry(manager.spec.node_id.as_str()).or_default().push(manager);
        }
        let policy = cluster.setting_value("node-drain-policy", DataEngine::V1);
        let policy = if policy.is_empty() { DEFAULT_POLICY.to_owned() } else { policy };
        Budgets { cluster, policy, managers, leaving: BTreeSet::new() }
    }

    /// The same, as if these nodes were cordoned too.
    pub fn without(self, leaving: impl IntoIterator<Item = &'a str>) -> Self {
        Budgets { leaving: leaving.into_iter().collect(), ..self }
    }

    /// Instance managers of a node.
    pub fn managers_of(&self, node: &str) -> impl Iterator<Item = &'a InstanceManager> {
        self.managers.get(node).into_iter().flatten().copied()
    }

    /// Why the budget of this instance manager stays.
    pub fn blocker(&self, manager: &'a InstanceManager) -> Blocker<'a> {
        let attached = self.attached(manager);
        if !attached.is_empty() {
            return Blocker::Attached(attached);
        }
        self.blocker_once_detached(manager)
    }

    /// The same when no engine runs on the node any more.
    pub fn blocker_once_detached(&self, manager: &'a InstanceManager) -> Blocker<'a> {
        if self.lets_all_go() || manager.spec.kind == InstanceManagerType::Engine {
            return Blocker::Nothing;
        }
        let here: Vec<_> = self.cluster.objects.replicas.of(Owner::Node, &manager.spec.node_id).collect();
        if self.policy == "block-for-eviction" {
            return if here.is_empty() { Blocker::Nothing } else { Blocker::Replicas(here) };
        }
        let stopped = |replica: &&Replica| {
            self.policy == "allow-if-replica-is-stopped"
                && replica.spec.desire_state == InstanceState::Stopped
                && replica.status.current_state == InstanceState::Stopped
        };
        let unused =
            |replica: &&Replica| !replica.spec.healthy_at.is_set() && !replica.spec.failed_at.is_set();
        let mut alone = here;
        alone.retain(|replica| !stopped(replica));
        let lost: Vec<&Replica> = alone.iter().flat_map(|replica| self.on_unknown_nodes(replica)).collect();
        if !lost.is_empty() {
            return Blocker::OnUnknownNode(lost);
        }
        alone.retain(|replica| !unused(replica) && !self.is_protected_elsewhere(replica));
        if alone.is_empty() { Blocker::Nothing } else { Blocker::Unprotected(alone) }
    }

    /// Replicas of the same volume that never failed, on nodes that Kubernetes does not have: those of a volume that was detached when
    /// the node left (datastore/kubernetes.go IsKubeNodeUnschedulable returns the error; issue 10833).
    fn on_unknown_nodes(&self, replica: &Replica) -> impl Iterator<Item = &'a Replica> {
        let all = self.cluster.replicas_of(&replica.spec.volume_name);
        all.filter(|other| other.spec.healthy_at.is_set() && !other.spec.failed_at.is_set())
            .filter(|other| is_gone(self.cluster, &other.spec.node_id))
    }

    /// Engine processes of a node that belong to no Engine object there: Longhorn counts them like any other, and nothing stops them
    /// (issues 6764 and 11605). One that is being stopped has its Engine still, which names no node and is not stopped yet.
    pub fn left_over_engines(&self, node: &str) -> Vec<(&'a InstanceManager, &'a str)> {
        let engines = &self.cluster.objects.engines;
        let elsewhere = |manager: &InstanceManager, engine: &str| {
            engines.get(engine).is_none_or(|engine| {
                let is = engine.spec.node_id.as_str();
                let other = engine.status.instance_manager_name != manager.metadata.name;
                other && (is_stopped(engine) || !is.is_empty() && is != node)
            })
        };
        let running =
            self.managers_of(node).filter(|one| one.status.current_state == InstanceManagerState::Running);
        let processes = running.flat_map(|manager| {
            let old = (manager.spec.kind == InstanceManagerType::Engine).then_some(&manager.status.instances);
            let maps = [&manager.status.instance_engines].into_iter().chain(old);
            maps.flat_map(|map| map.keys()).map(move |name| (manager, name.as_str()))
        });
        processes.filter(|(manager, name)| elsewhere(manager, name)).collect()
    }

    /// True where an instance manager lists engines that are stopped, and nothing else. A process without an Engine may serve a pod still.
    pub fn serves_nothing(&self, manager: &InstanceManager) -> bool {
        let engines = &self.cluster.objects.engines;
        let mut names = manager.status.all_instances().map(|(name, _)| name).peekable();
        names.peek().is_some() && names.all(|name| engines.get(name).is_some_and(is_stopped))
    }

    /// True where the settings let every drain through.
    pub fn lets_all_go(&self) -> bool {
        self.policy == "always-allow"
            || self.cluster.setting_is_on("allow-node-drain-with-last-healthy-replica", false)
    }

    /// Engines and frontends that run on the node; a budget of an engine manager of 1.4 only waits
    /// for its own.
    fn attached(&self, manager: &'a InstanceManager) -> Vec<&'a str> {
        let own = manager.spec.kind == InstanceManagerType::Engine;
        let all = self.managers_of(&manager.spec.node_id);
        let counted = all.filter(|other| !own || other.metadata.name == manager.metadata.name);
        counted
            .flat_map(|other| {
                let old = (other.spec.kind == InstanceManagerType::Engine).then_some(&other.status.instances);
                let maps = [&other.status.instance_engines, &other.status.instance_engine_frontends];
                maps.into_iter().chain(old).flat_map(|map| map.keys()).map(|text| text.as_str())
            })
            .collect()
    }

    /// True when a healthy replica of the same volume is on another node that is not cordoned, in a
    /// running instance manager with a budget.
    pub fn is_protected_elsewhere(&self, replica: &Replica) -> bool {
        let objects = &self.cluster.objects;
        self.cluster.replicas_of(&replica.spec.volume_name).any(|other| {
            let node = other.spec.node_id.as_str();
            let healthy = other.spec.healthy_at.is_set() && !other.spec.failed_at.is_set();
            let schedulable = objects.kube_nodes.get(node).is_some_and(|node| !node.spec.unschedulable)
                && !self.leaving.contains(node);
            let guards = |manager: &InstanceManager| {
                manager.spec.kind != InstanceManagerType::Engine
                    && manager.status.current_state == InstanceManagerState::Running
                    && manager.spec.data_engine.or_v1() == other.spec.data_engine.or_v1()
                    && objects.pod_disruption_budgets.get(&manager.metadata.name).is_some()
            };
            node != replica.spec.node_id && healthy && schedulable && self.managers_of(node).any(guards)
        })
    }
}

/// Longhorn expects the process of such an engine in no instance manager (longhorn-manager v1.9.0 to v1.12.1
/// controller/instance_manager_controller.go isInstanceOrphanedInInstanceManager).
fn is_stopped(engine: &Engine) -> bool {
    let stopped = InstanceState::Stopped;
    engine.spec.desire_state == stopped && engine.status.current_state == stopped
}
