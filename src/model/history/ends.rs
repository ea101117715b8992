//! What a watch sees of the end of a pod, which its last state does not tell.
//!
//! A deletion gives a pod its deletionTimestamp while its container runs. A container that ends otherwise (its probe, a lost
//! sandbox, its own process) has ended before: Longhorn deletes the ended pod, and then both are there. The kubelet writes the
//! same Event for most of them, and sets the deletionTimestamp again when it is done, so that the last version of the pod does not
//! tell them apart either (kubelet v1.36.3, recorded).
//!
//! The node of that moment is kept with it: a later look finds one that is Ready, without pressure, taint or cordon. It is read from
//! the Node, which is watched anyway, and not from its Lease in kube-node-lease. The Lease would date the loss of a node closer, by
//! the 40 s for which the node controller waits, but a kubelet renews it every 10 s: a write per node that would wake the exporter,
//! and a right in one more namespace. And it is the condition Ready by which Longhorn fails engines and replicas over
//! (longhorn-manager v1.12.1 datastore/longhorn.go IsNodeDownOrDeleted), so what the loss did begins with that. The Leases in
//! Longhorn's own namespace are those of managers, and tell nothing of instance managers.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::History;
use crate::longhorn::{ConditionStatus, KubeNode, Pod, SharedText, condition};

/// How many ends that are under way are kept.
const MAX_ENDING: usize = 256;
/// Longhorn makes the next pod within seconds, from 1.10 on with a back-off of up to two minutes (longhorn-manager v1.12.1
/// controller/utils.go): pods that did not run and went in shorter steps went for one reason.
pub(super) const SAME_REFUSAL: SignedDuration = SignedDuration::from_mins(5);
/// Shortages that a kubelet writes as conditions of its node.
const PRESSURES: [&str; 3] = ["MemoryPressure", "DiskPressure", "PIDPressure"];
/// Taints that the node controller sets for a node that does not answer.
const OWN_TAINTS: &str = "node.kubernetes.io/";

/// The end of a pod as the watch saw it; empty where no one watched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, expecting = "an object")]
pub struct EndSeen {
    /// When its deletion was first seen, with a container still running.
    pub deleted: Option<Timestamp>,
    /// When its containers were first seen ended, without a deletion before.
    pub ended: Option<Timestamp>,
    /// Its node at that moment; also where the order of the two was not seen.
    pub node: Option<NodeSeen>,
}

/// How a node was at a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, expecting = "an object")]
pub struct NodeSeen {
    /// Its condition Ready was True.
    pub ready: bool,
    /// It was False, as its kubelet itself writes it: the node is not Ready and there. Where a kubelet is away it is Unknown.
    pub answers: bool,
    /// Since when that condition was as it was.
    pub since: Option<Timestamp>,
    /// Its conditions of shortage that were True.
    pub pressure: Vec<String>,
    pub cordoned: bool,
    /// Taints with the effect NoExecute that someone else than the node controller had set.
    pub taints: Vec<String>,
}

impl NodeSeen {
    /// True where it was not Ready and its kubelet did not say so itself.
    pub fn is_away(&self) -> bool {
        !self.ready && !self.answers
    }

    /// How a node is.
    pub fn of(node: &KubeNode) -> Self {
        let conditions = &node.status.conditions;
        let is_true = |kind: &&str| {
            condition(conditions, kind).is_some_and(|found| found.status == ConditionStatus::True)
        };
        let ready = condition(conditions, "Ready");
        NodeSeen {
            ready: node.is_ready(),
            answers: ready.is_some_and(|ready| ready.status == ConditionStatus::False),
            since: ready.and_then(|ready| ready.last_transition_time.get()),
            pressure: PRESSURES.iter().filter(|kind| is_true(kind)).map(|kind| (*kind).to_owned()).collect(),
            cordoned: node.spec.unschedulable,
            taints: foreign_taints(node),
        }
    }
}

/// Taints of a node by which pods have to leave it, but for those that its own condition gives it.
pub fn foreign_taints(node: &KubeNode) -> Vec<String> {
    let foreign = node
        .spec
        .taints
        .iter()
        .filter(|taint| taint.effect == "NoExecute" && !taint.key.starts_with(OWN_TAINTS));
    foreign.map(|taint| taint.to_string()).collect()
}

/// Ends that are under way, by uid of the pod.
pub(super) type Ending = Arc<BTreeMap<SharedText, EndSeen>>;

impl History {
    /// Notes how far the end of one of Longhorn's bare pods is, by each version of it that is seen.
    pub fn pod_seen(&mut self, pod: &Pod, node: Option<&KubeNode>, at: Timestamp) {
        let uid = &pod.metadata.uid;
        let (deleting, over) = (pod.metadata.is_deleting(), pod.is_over());
        if !deleting && !over || uid.is_empty() || pod.metadata.label("longhorn.io/component").is_none() {
            return;
        }
        if self.ending.contains_key(uid) || self.gone_pods.iter().any(|gone| gone.last.metadata.uid == *uid) {
            return; // what came first was noted
        }
        // where both are there at the first sight, their order is unknown
        let (deleted, ended) = ((deleting && !over).then_some(at), (over && !deleting).then_some(at));
        self.restore_end(uid.clone(), EndSeen { deleted, ended, node: node.map(NodeSeen::of) });
    }

    /// Takes over what was seen before a restart.
    pub(super) fn restore_end(&mut self, uid: SharedText, seen: EndSeen) {
        let ending = Arc::make_mut(&mut self.ending);
        while ending.len() >= MAX_ENDING {
            let moment = |seen: &EndSeen| seen.deleted.or(seen.ended);
            let Some(oldest) = ending.iter().min_by_key(|(_, seen)| moment(seen)).map(|(uid, _)| uid.clone())
            else {
                return;
            };
            ending.remove(&oldest);
        }
        ending.entry(uid).or_insert(seen);
    }

    /// What was seen of the end of a pod that is still there.
    pub fn end_seen(&self, uid: &str) -> Option<&EndSeen> {
        self.ending.get(uid)
    }

    /// The same of one that is gone by now, which is kept with it.
    pub(super) fn take_end(&mut self, uid: &str) -> EndSeen {
        if !self.ending.contains_key(uid) {
            return EndSeen::default();
        }
        Arc::make_mut(&mut self.ending).remove(uid).unwrap_or_default()
    }
}
