//! PodDisruptionBudgets of instance managers on cordoned nodes, with the reason why Longhorn keeps
//! them, computed as Longhorn does (longhorn-manager v1.12.1
//! controller/instance_manager_controller.go canDeleteInstanceManagerPDB; datastore/longhorn.go
//! ListVolumePDBProtectedHealthyReplicasRO).

use super::causes;
use std::collections::{HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};

use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::drain::{Blocker, Budgets};
use crate::facts::eviction::*;
use crate::facts::nodes::{cordoned_since, manager_not_ready};
use crate::facts::patience::{DRAIN, NEXT_LOOK};
use crate::facts::releases::manager_release;
use crate::facts::text::{claims_of, listed};
use crate::facts::volumes::is_attached_by_hand;
use crate::longhorn::{
    DataLocality, InstanceManager, InstanceManagerState, KubeNode, PodDisruptionBudget, Replica,
};

const DRAIN_WAITS: &str =
    "a drain cannot evict the instance manager's pod, so the node cannot be upgraded or rebooted";
/// Who keeps a node cordoned for longer drains nothing.
const KEPT: SignedDuration = SignedDuration::from_hours(24);
/// Taints by which others announce that they drain a node.
const DRAIN_TAINTS: &[&str] = &[
    "ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "karpenter.sh/disruption",
    "kubevirt.io/drain",
];

/// Why a budget stays, what to do about it, and the volumes that it is about.
type Reason = (String, &'static Way, Vec<VolumeRef>);

/// The cordoned nodes and what is needed to judge them.
struct DrainView<'a> {
    cluster: &'a Cluster,
    budgets: Budgets<'a>,
    /// Where every node is cordoned, the one to begin with.
    uncordon_first: Option<&'a str>,
}

pub fn look(cluster: &Cluster, out: &mut Outcome) {
    let readable = [Resource::KubeNodes, Resource::PodDisruptionBudgets, Resource::InstanceManagers];
    let cordoned: HashMap<&str, &KubeNode> = cluster
        .objects
        .kube_nodes
        .iter()
        .filter(|node| node.spec.unschedulable)
        .map(|node| (node.metadata.name.as_str(), node))
        .collect();
    if cordoned.is_empty() || !readable.into_iter().all(|resource| cluster.can_read(resource)) {
        return;
    }
    for (budget, node) in misdirected(cluster, &cordoned) {
        out.report(misdirected_finding(cluster, budget, node));
    }
    let view = DrainView::new(cluster);
    for manager in cluster.objects.instance_managers.iter() {
        let Some(node) = cordoned.get(manager.spec.node_id.as_str()) else { continue };
        // of one that does not run, Longhorn leaves the budget alone
        let runs = manager.status.current_state == InstanceManagerState::Running;
        if runs && cluster.objects.pod_disruption_budgets.get(&manager.metadata.name).is_some() {
            view.judge(out, manager, node);
        }
    }
}

/// Budgets of instance managers of other nodes that select the pods of a cordoned one, which nothing removes: up to 1.3.2
/// and in 1.4.0 and 1.4.1 the manager that recreated one put its own node in (longhorn-manager v1.4.1
/// controller/instance_manager_controller.go generateInstanceManagerPDBManifest).
fn misdirected<'a>(
    cluster: &'a Cluster,
    cordoned: &HashMap<&str, &'a KubeNode>,
) -> Vec<(&'a PodDisruptionBudget, &'a KubeNode)> {
    let each = cluster.objects.pod_disruption_budgets.iter().filter_map(|budget| {
        let selects = &budget.spec.selector.match_labels;
        let node = cordoned.get(selects.get("longhorn.io/node")?.as_str())?;
        let manager = cluster.objects.instance_managers.get(&budget.metadata.name)?;
        (manager.spec.node_id != node.metadata.name).then_some((budget, *node))
    });
    each.collect()
}

fn misdirected_finding(cluster: &Cluster, budget: &PodDisruptionBudget, node: &KubeNode) -> Finding {
    let (name, node) = (budget.metadata.name.as_str(), node.metadata.name.as_str());
    let object = cluster.object::<PodDisruptionBudget>(name);
    let message = format!("drain of {node} is blocked by another node's PodDisruptionBudget");
    let cordoned = cordoned_since(cluster, node);
    let lasting = cordoned.is_none_or(|since| cluster.age(since) >= DRAIN);
    Finding::about(&causes::DRAIN_BLOCKED, object, message)
        .node(node)
        .since(cordoned)
        .severity(if lasting { Severity::Warning } else { Severity::Info })
        .impact(DRAIN_WAITS)
        .fact(format!(
            "the PodDisruptionBudget selects node {node}, but instance manager {name} is on another node"
        ))
        .way(&causes::OF_ANOTHER_NODE)
}

impl<'a> DrainView<'a> {
    fn new(cluster: &'a Cluster) -> Self {
        DrainView { cluster, budgets: Budgets::new(cluster), uncordon_first: uncordon_first(cluster) }
    }

    fn judge(&self, out: &mut Outcome, manager: &'a InstanceManager, node: &KubeNode) {
        let name = manager.metadata.name.as_str();
        let node_name = node.metadata.name.as_str();
        let wanted = self.wanted(node);
        let blocker = self.budgets.blocker(manager);
        // the cordon tells since when at most; a budget that nothing keeps goes within a minute
        let cordoned = cordoned_since(self.cluster, node_name);
        let age = observe(self.cluster, out, "pdb", name, Begun::NotBefore(cordoned));
        let idle = matches!(blocker, Blocker::Nothing);
        if idle && wanted.is_none() && cordoned.is_some_and(|since| self.cluster.age(since) < NEXT_LOOK) {
            return;
        }
        let idle = idle.then(|| observe(self.cluster, out, "pdb_without_reason", name, Begun::At(None)));
        let left = cordoned
            .is_some_and(|since| self.cluster.age(since) >= DRAIN && self.cluster.age(since) < KEPT)
            && idle.is_some_and(|age| age.at_least(NEXT_LOOK, Unknown::Counts));
        // an eviction that advances takes as long as its copies do, and one that stalls has a finding of its own
        let advances = match &blocker {
            Blocker::Replicas(here) | Blocker::Unprotected(here) if self.evicts(node) => {
                super::progress::leaving(self.cluster, out, here)
            }
            _ => false,
        };
        let blocks = wanted.is_some() && age.at_least(DRAIN, Unknown::Counts) && !advances;
        // a cordon alone asks for no drain, and one that has just begun is not held up yet
        let verb = match (&wanted, blocks || left) {
            (_, true) => "is blocked by",
            (Some(_), false) => "is delayed by",
            (None, false) => "would be blocked by",
        };
        let mut finding = self.finding(manager, &blocker, verb).since(age.since_or_later());
        finding = finding.hypothetical(wanted.is_none() && !(blocks || left));
        let text = match &wanted {
            Some(text) => text.clone(),
            None => "the node is only cordoned, and nothing requests a drain".to_owned(),
        };
        finding = finding
            .fact(text)
            .facts(cordoned.map(|since| format!("the node has been cordoned since {since}")));
        if age.since.is_some() || cordoned.is_none() {
            finding = finding.fact(age.evidence());
        }
        if advances {
            finding = finding
                .fact("replicas are moving off the node: a copy is running, or the last replica moved within half an hour");
        }
        let severity = if blocks || left { Severity::Warning } else { Severity::Info };
        out.report(finding.severity(severity));
    }

    /// Whether the replicas of the node are asked to leave, by a person or by the policy.
    fn evicts(&self, node: &KubeNode) -> bool {
        let name = node.metadata.name.as_str();
        self.cluster.objects.longhorn_nodes.get(name).is_some_and(is_requested)
            || automatic_request(self.cluster, name).is_some()
    }

    /// What needs the budget gone, beyond the cordon.
    fn wanted(&self, node: &KubeNode) -> Option<String> {
        let name = node.metadata.name.as_str();
        let longhorn = self.cluster.objects.longhorn_nodes.get(name);
        if let Some(longhorn) = longhorn.filter(|node| is_requested(node)) {
            return Some(format!("evictionRequested is true on {}", requests(longhorn)));
        }
        if automatic_request(self.cluster, name).is_some() {
            return Some(format!(
                "the node is cordoned, and node-drain-policy {} evicts its replicas during a drain",
                self.budgets.policy
            ));
        }
        if node.metadata.annotations.drain_requested == "true" {
            return Some("Harvester has requested a drain (harvesterhci.io/drain-requested)".to_owned());
        }
        if !node.metadata.annotations.kured_reboot.is_empty() {
            return Some("kured reboots the node (weave.works/kured-reboot-in-progress)".to_owned());
        }
        let taint = node.spec.taints.iter().find(|taint| DRAIN_TAINTS.contains(&taint.key.as_str()));
        taint.map(|taint| format!("the node has the taint {}", taint.key)).or_else(|| self.emptied(name))
    }

    /// A drain evicts what DaemonSets do not own, Longhorn's Deployments too: where none of their pods is left, and one was
    /// created elsewhere soon after the cordon, someone drains.
    fn emptied(&self, node: &str) -> Option<String> {
        let since = cordoned_since(self.cluster, node)?;
        let of_deployments = || {
            let pods = self.cluster.objects.pods.iter();
            pods.filter(|pod| pod.metadata.label("pod-template-hash").is_some() && !pod.is_over())
        };
        if of_deployments().any(|pod| pod.spec.node_name == *node) {
            return None;
        }
        let soon = |at: Timestamp| at >= since && at.duration_since(since) < DRAIN;
        let moved = of_deployments().find(|pod| pod.metadata.created().is_some_and(soon))?;
        let (name, now_on) = (&moved.metadata.name, &moved.spec.node_name);
        Some(format!(
            "all Deployment pods have left the node, and {name} was created on {now_on} soon after the cordon. Probably a drain is under way"
        ))
    }

    fn reason(&self, manager: &InstanceManager, blocker: &Blocker) -> Reason {
        let cluster = self.cluster;
        match blocker {
            Blocker::Attached(instances) => self.running_engines(manager, instances),
            Blocker::Replicas(left) => {
                let (policy, last) = (&self.budgets.policy, left.len() == 1);
                let which = if last { "the last replica has" } else { &format!("{} replicas have", left.len()) };
                let text = format!("node-drain-policy {policy} keeps the PodDisruptionBudget until {which} left");
                (text, &causes::REPLICAS_LEAVE, volumes(cluster, left))
            }
            Blocker::OnUnknownNode(lost) => {
                let [count, names] = named(lost);
                let why = "on a node that is missing from Kubernetes";
                (format!("Longhorn stops looking for protected copies because of {count} {why}: {names}"), &causes::ON_UNKNOWN_NODE, volumes(cluster, lost))
            }
            Blocker::Unprotected(left) => {
                let ([count, names], policy) = (named(left), &self.budgets.policy);
                let why = "without a healthy, protected copy on another node";
                let text = format!("node-drain-policy {policy} keeps the PodDisruptionBudget because of {count} {why}: {names}");
                (text, &causes::UNPROTECTED, volumes(cluster, left))
            }
            Blocker::Nothing => (
                "Longhorn has nothing left to wait for, so it should remove the PodDisruptionBudget within a minute"
                    .to_owned(),
                &causes::NOTHING_LEFT,
                Vec::new(),
            ),
        }
    }

    fn running_engines(&self, manager: &InstanceManager, instances: &[&str]) -> Reason {
        let node = manager.spec.node_id.as_str();
        let left = self.budgets.left_over_engines(node);
        let which = listed(instances);
        if !self.cluster.knows_all(Resource::Engines)
            || !instances.iter().all(|one| left.iter().any(|(_, name)| name == one))
        {
            let by_hand = |one: &VolumeRef| {
                let volume = self.cluster.objects.volumes.get(&one.name);
                volume.is_some_and(|volume| is_attached_by_hand(self.cluster, volume, node))
            };
            let mut volumes = self.volumes_of_instances(instances);
            volumes.sort_by_key(|volume| !by_hand(volume));
            let way = if volumes.first().is_some_and(by_hand) { &causes::BY_HAND } else { &causes::ATTACHED };
            return (format!("engines are still running on the node: {which}"), way, volumes);
        }
        let (text, way) = match self.budgets.serves_nothing(manager) {
            true => (
                format!("{} still lists {which}, although the Engine is stopped", manager.metadata.name),
                &causes::ENGINE_STOPPED,
            ),
            false => (
                format!("process {which} runs in this instance manager, but no Engine on the node owns it"),
                &causes::ENGINE_LEFT_OVER,
            ),
        };
        (text, way, Vec::new())
    }

    fn finding(&self, manager: &InstanceManager, blocker: &Blocker, verb: &str) -> Finding {
        let cluster = self.cluster;
        let (name, node) = (manager.metadata.name.as_str(), manager.spec.node_id.as_str());
        let (why, way, volumes) = self.reason(manager, blocker);
        let one_copy = matches!(blocker, Blocker::Unprotected(left) if left.iter().all(|replica| has_one_copy(cluster, replica)));
        let uncordon = self.uncordon_first.filter(|_| !matches!(blocker, Blocker::Nothing));
        let way = match uncordon {
            Some(_) => &causes::ALL_CORDONED,
            None if one_copy => &causes::ONE_COPY,
            None => way,
        };
        let object = cluster.object::<PodDisruptionBudget>(name);
        let message = match volumes.as_slice() {
            [only] if way == &causes::ONE_COPY => {
                let whose = claims_of(std::slice::from_ref(only));
                format!("drain of {node} {}: it has the only copy of {whose}", verb.trim_end_matches(" by"))
            }
            _ => format!("drain of {node} {verb} a PodDisruptionBudget: {}", way.briefly),
        };
        let first = volumes.first().map(|volume| volume.name.clone()).unwrap_or_default();
        let whose = volumes.first().map(|volume| volume.called().to_owned()).unwrap_or_default();
        let mut finding = Finding::about(&causes::DRAIN_BLOCKED, object, message).node(node).volumes(volumes);
        finding = finding
            .impact(DRAIN_WAITS)
            .way(way)
            .fact(why)
            .fact(format!("the node is cordoned and PodDisruptionBudget {name} exists"));
        finding = finding.with(Name::Volume, first).with(Name::Claim, whose);
        if let Some(node) = uncordon {
            finding = finding.with(Name::Value, node);
        } else if way == &causes::UNPROTECTED && self.may_evict() {
            finding = finding
                .with(Name::Setting, "node-drain-policy")
                .with(Name::Value, "block-for-eviction-if-contains-last-replica");
        }
        finding
            .named(cluster.manager_pod_on(node).map(|pod| (Name::Manager, pod.metadata.name.to_string())))
            .facts(manager_not_ready(cluster, node))
    }

    /// True where another policy would let Longhorn move the replicas.
    fn may_evict(&self) -> bool {
        !self.budgets.policy.starts_with("block-for-eviction")
            && evicts_for_drains(manager_release(self.cluster))
    }

    fn volumes_of_instances(&self, instances: &[&str]) -> Vec<VolumeRef> {
        let objects = &self.cluster.objects;
        let volume = |name: &&str| {
            let engine = objects.engines.get(name).map(|engine| engine.spec.volume_name.as_str());
            engine.or_else(|| {
                objects.engine_frontends.get(name).map(|frontend| frontend.spec.volume_name.as_str())
            })
        };
        self.cluster.volume_refs(instances.iter().filter_map(volume))
    }
}

/// Where every node is cordoned, the one to begin with: one whose instance manager does not run.
fn uncordon_first(cluster: &Cluster) -> Option<&str> {
    let objects = &cluster.objects;
    let nodes =
        || objects.longhorn_nodes.iter().filter_map(|node| objects.kube_nodes.get(&node.metadata.name));
    if nodes().count() < 2 || !nodes().all(|node| node.spec.unschedulable) {
        return None;
    }
    let running = objects
        .instance_managers
        .iter()
        .filter(|one| one.status.current_state == InstanceManagerState::Running);
    let running: HashSet<&str> = running.map(|one| one.spec.node_id.as_str()).collect();
    let first =
        nodes().find(|node| !running.contains(node.metadata.name.as_str())).or_else(|| nodes().next())?;
    Some(first.metadata.name.as_str())
}

/// True for a replica of a volume that is to have one only, and may have two.
fn has_one_copy(cluster: &Cluster, replica: &Replica) -> bool {
    let volume = cluster.objects.volumes.get(&replica.spec.volume_name);
    volume.is_some_and(|volume| {
        volume.spec.number_of_replicas.0 == 1 && volume.spec.data_locality != DataLocality::StrictLocal
    })
}

/// How many replicas, and their names.
fn named(replicas: &[&Replica]) -> [String; 2] {
    let names: Vec<&str> = replicas.iter().map(|replica| replica.metadata.name.as_str()).collect();
    [counted(names.len(), "replica"), listed(&names)]
}
