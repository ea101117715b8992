//! What the node had to do with the end of a pod on it.

use jiff::{SignedDuration, Timestamp};

use crate::check::*;
use crate::facts::{api, nodes};
use crate::history::ends::{EndSeen, NodeSeen, foreign_taints};
use crate::longhorn::{Event, KubeNode, condition};

/// A node may be away for as long after the end of a pod that it took along.
const REBOOT_GRACE: SignedDuration = SignedDuration::from_mins(10);
/// What a node's return has to do with the end of a pod shows within this time: the kubelet tidies up at once, and Longhorn makes
/// the next pod after a back-off of up to two minutes (longhorn-manager v1.12.1 controller/utils.go).
const RETURNED: SignedDuration = SignedDuration::from_mins(3);
/// Clocks of a node and of the control plane may differ by this.
const CLOCKS: SignedDuration = SignedDuration::from_secs(5);
/// A kubelet that is back ends what was to be ended in its first seconds.
const FIRST_ACT: SignedDuration = SignedDuration::from_secs(30);
/// A kubelet says so late that its node was cordoned (recorded with 1.36.3: 8 to 10 s), and a drain evicts at once.
const CORDON_TOLD: SignedDuration = SignedDuration::from_secs(15);
/// A node is made, and Ready for the first time, within this time.
const JOINED: SignedDuration = SignedDuration::from_mins(5);

/// The node of a pod about the time of its end.
pub struct NodeStory<'a> {
    pub name: &'a str,
    node: Option<&'a KubeNode>,
    /// It does not answer, or came back about then.
    pub trouble: Option<Evidence>,
    /// That its kernel killed an instance manager about then.
    pub out_of_memory: Option<Evidence>,
    /// Since when it has been Ready, where it is.
    returned: Option<Timestamp>,
    seen: Option<&'a EndSeen>,
    /// When its kubelet said that it was cordoned, and that it was uncordoned.
    cordons: Vec<(Timestamp, bool)>,
}

/// When a node was cordoned (true) and uncordoned, as its kubelet said.
pub fn cordons(cluster: &Cluster, node: &str) -> impl Iterator<Item = (Timestamp, bool)> {
    let told = cluster.events_about_node(node);
    told.filter_map(|event| Some((event.last_seen()?, event.cordons()?)))
}

impl<'a> NodeStory<'a> {
    /// Looks at the node of a pod that was born then and ended about `end`.
    pub fn of(
        cluster: &'a Cluster,
        name: &'a str,
        born: Option<Timestamp>,
        end: Timestamp,
        seen: Option<&'a EndSeen>,
    ) -> Self {
        let node = cluster.objects.kube_nodes.get(name);
        let ready = node.and_then(|node| condition(&node.status.conditions, "Ready"));
        let changed = ready.and_then(|ready| ready.last_transition_time.get());
        let returned = changed.filter(|_| node.is_some_and(KubeNode::is_ready));
        let near = |moment: Timestamp| {
            let later = moment.duration_since(end);
            -RETURNED <= later && later <= REBOOT_GRACE && born.is_none_or(|born| moment >= born)
        };
        // a node that has just joined takes none along
        let made = node.and_then(|node| node.metadata.created());
        let joined = |moment: Timestamp| {
            made.is_some_and(|made| {
                moment.duration_since(made) < JOINED && born.is_none_or(|born| born >= made)
            })
        };
        let back = || {
            let changed = changed.filter(|changed| near(*changed) && !joined(*changed))?;
            Some(api(format!("node {name} became Ready at {changed}, about when the pod ended")))
        };
        let rebooted = || {
            let mut reboots = cluster.events_about_node(name).filter(|event| event.is_reboot());
            let event = reboots.find(|event| event.last_seen().is_some_and(near))?;
            Some(EvidenceSource::Event.says(format!("event Rebooted: \"{}\"", event.message)))
        };
        // Longhorn makes the next pod after a back-off of up to two minutes
        let shortly = |moment: Timestamp| {
            let before = end.duration_since(moment);
            -CLOCKS <= before && before <= RETURNED && born.is_none_or(|born| moment >= born)
        };
        let killed = cluster
            .events_about_node(name)
            .find(|event| event.is_oom_of_instance_manager() && event.last_seen().is_some_and(shortly));
        let out_of_memory =
            killed.map(|event| EvidenceSource::Event.says(format!("event SystemOOM: \"{}\"", event.message)));
        let trouble = nodes::down(cluster, name).or_else(rebooted).or_else(back);
        let cordons = cordons(cluster, name).collect();
        NodeStory { name, node, trouble, out_of_memory, returned, seen, cordons }
    }

    /// That it was cordoned when its kubelet was asked to stop the pod, by what the kubelet said or as it still is: so it is in a drain.
    pub fn cordoned_at(&self, stopped: Timestamp) -> Option<Evidence> {
        let told = stopped.checked_add(CORDON_TOLD).ok()?;
        let last =
            self.cordons.iter().filter(|(at, cordoned)| *at <= if *cordoned { told } else { stopped }).max();
        let still = self.node.is_some_and(|node| node.spec.unschedulable);
        match last {
            Some((at, true)) => {
                let text = format!(
                    "event NodeNotSchedulable at {at}: node {} was cordoned then, probably for a drain",
                    self.name
                );
                Some(EvidenceSource::Event.says(text))
            }
            None if still && self.cordons.is_empty() => {
                Some(api(format!("node {} is cordoned, probably for a drain", self.name)))
            }
            _ => None,
        }
    }

    /// Whether it was Ready at a moment, as far as what was seen or its condition tells.
    pub fn was_ready(&self, moment: Timestamp) -> Option<bool> {
        if let Some(then) = self.then() {
            return Some(then.ready);
        }
        match (self.node, self.returned) {
            (Some(_), Some(since)) => Some(since <= moment),
            (Some(node), None) => Some(node.is_ready()),
            (None, _) => None,
        }
    }

    /// How it was when the end of the pod was seen.
    pub fn then(&self) -> Option<&'a NodeSeen> {
        self.seen?.node.as_ref()
    }

    /// That its kubelet was away when the end of the pod was seen: one that is there ends a pod only where it is asked to.
    pub fn was_away(&self) -> Option<Evidence> {
        self.then().filter(|then| then.is_away())?;
        self.was_not_ready()
    }

    /// That it was not Ready when the end of the pod was seen.
    pub fn was_not_ready(&self) -> Option<Evidence> {
        let then = self.then().filter(|then| !then.ready)?;
        let since = then.since.map(|since| format!(", since {since},")).unwrap_or_default();
        let text = format!("node {} was not Ready{since} when the end of the pod was seen", self.name);
        Some(EvidenceSource::History.says(text))
    }

    /// What it was short of when the end of the pod was seen: a kubelet evicts for that, and the kernel kills for lack of memory.
    pub fn was_short(&self) -> Option<Evidence> {
        let then = self.then().filter(|then| !then.pressure.is_empty())?;
        let text =
            format!("node {} had {} when the end of the pod was seen", self.name, then.pressure.join(", "));
        Some(EvidenceSource::History.says(text))
    }

    /// That it was cordoned when the end of the pod was seen: a drain deletes pods where it is asked not to evict them.
    pub fn was_cordoned(&self) -> Option<Evidence> {
        self.then().filter(|then| then.cordoned)?;
        let text = format!("node {} was cordoned when the deletion of the pod was seen", self.name);
        Some(EvidenceSource::History.says(text))
    }

    /// That its kubelet came back just before it stopped the pod, after the node had been away.
    pub fn came_back(&self, stopped: Timestamp, events: &[&Event]) -> Option<Evidence> {
        let returned = self.returned?;
        let away = events.iter().find(|event| event.reason == "NodeNotReady")?;
        let lost = away.last_seen().filter(|lost| *lost < returned)?;
        // what is asked of it afterwards, as by a drain, is no act of its return
        let cordoned = self.cordons.iter().any(|(at, cordoned)| *cordoned && *at >= returned);
        let first_act = stopped.duration_since(returned).abs() <= FIRST_ACT && !cordoned;
        first_act.then(|| {
            let text = format!(
                "node {} was not Ready from {lost} until {returned}, when its kubelet stopped the pod",
                self.name
            );
            EvidenceSource::Event.says(text)
        })
    }

    /// True where no such taint is left.
    pub fn taint_is_gone(&self) -> bool {
        self.node.is_some_and(|node| foreign_taints(node).is_empty())
    }

    /// The taints by which pods have to leave the node, as they were seen then or are now.
    pub fn taints(&self) -> Vec<String> {
        let then = self.then().map(|then| then.taints.clone());
        let now = || self.node.map(foreign_taints).unwrap_or_default();
        then.filter(|taints| !taints.is_empty()).unwrap_or_else(now)
    }
}
