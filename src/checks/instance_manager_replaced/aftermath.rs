//! What the end of an instance manager leaves behind: failed replicas, detached volumes and the
//! kubelet's events.

use std::collections::BTreeSet;

use foldhash::HashMap;
use jiff::{SignedDuration, Timestamp};

use crate::cluster::Cluster;
use crate::facts::instance_managers::container_status_of;
use crate::facts::volumes;
use crate::longhorn::{Engine, Event, InstanceState, Pod, Replica, condition};

/// Failures up to this long before the end was seen belong to it, where nothing tells when it began.
const BEFORE: SignedDuration = SignedDuration::from_mins(2);
/// Clocks of a node and of managers may differ by this where it is known when the end began.
const CLOCKS: SignedDuration = SignedDuration::from_secs(5);
/// A pod that the taint manager deletes goes within its grace, or when its kubelet is back.
const TAINTED: SignedDuration = SignedDuration::from_mins(10);
/// Failures up to this long after the new pod came belong to it.
pub const AFTER: SignedDuration = SignedDuration::from_mins(5);

/// The aftermath of all instance managers, looked up once.
pub struct Aftermath<'a> {
    cluster: &'a Cluster,
    failed: HashMap<&'a str, Vec<(Timestamp, &'a Replica)>>,
    /// Unexpected detachments, by each node and each instance manager that the volume is of.
    detached: HashMap<&'a str, Vec<(Timestamp, &'a str)>>,
    /// Volumes whose engine died, by the same; unlike Events this stays written.
    remounted: HashMap<&'a str, Vec<(Timestamp, &'a str)>>,
    pod_events: HashMap<&'a str, Vec<&'a Event>>,
    dead_engines: HashMap<&'a str, Vec<&'a Engine>>,
    /// Events were kept since then.
    kept_since: Option<Timestamp>,
}

/// Volumes that one end hit, with the facts that say so.
#[derive(Default)]
pub struct Hits<'a> {
    pub volumes: BTreeSet<&'a str>,
    /// Others were, and have been deleted since.
    pub deleted: bool,
    pub facts: Vec<String>,
    /// An engine died with it: a workload lost its volume.
    pub engines: bool,
    /// One of the volumes is attached, or its state is not known.
    pub in_use: bool,
}

impl<'a> Hits<'a> {
    /// Notes a volume whose engine died.
    fn engine_of(&mut self, volume: &'a str) {
        self.volumes.insert(volume);
        self.engines = true;
    }
}

/// When it happened: from the end of the old pod to the beginning of the new one.
#[derive(Clone, Copy)]
pub struct Span {
    pub end: Timestamp,
    pub again: Timestamp,
    /// True when the end did not begin before `end`.
    pub exact: bool,
}

/// Since when the node had not been there for a pod that went along with it: a container that is gone when its runtime comes back
/// ends at that moment, and one that lives on is ended then; the pod had not been Ready since the node was lost.
pub fn lost_since(pod: &Pod, events: &[&Event]) -> Option<Timestamp> {
    const TAKEN: [&str; 2] = ["DeletionByTaintManager", "DeletionByPodGC"];
    let ended = container_status_of(pod).and_then(|status| status.state.terminated.as_ref());
    let lost = ended.is_some_and(|end| end.exit_code == 255 || end.reason == "ContainerStatusUnknown");
    let target = condition(&pod.status.conditions, "DisruptionTarget");
    let taken = target.is_some_and(|target| TAKEN.contains(&target.reason.as_str()));
    if !lost && !taken {
        return None;
    }
    let ready = condition(&pod.status.conditions, "Ready").filter(|_| lost);
    let not_ready = ready.and_then(|ready| ready.last_transition_time.get());
    let missed = events.iter().filter(|event| event.reason == "NodeNotReady");
    not_ready.into_iter().chain(missed.filter_map(|event| event.last_seen())).min()
}

/// When the end of a pod was asked for, as the kubelet or its deletion tells.
pub fn asked_to_end(pod: &Pod, events: &[&Event]) -> Option<Timestamp> {
    // what is written is the moment until which the pod may take, by default 30 s later
    const GRACE: SignedDuration = SignedDuration::from_secs(30);
    let killing =
        events.iter().filter(|event| event.reason == "Killing").filter_map(|event| event.first_seen()).min();
    let deleted = || pod.metadata.deletion_timestamp.get()?.checked_sub(GRACE).ok();
    // a kubelet whose watch comes back late hears later of it than Longhorn, which marks the replicas at once
    killing.into_iter().chain(deleted()).min()
}

impl Span {
    fn contains(self, time: Timestamp) -> bool {
        time.duration_since(self.end) >= -(if self.exact { CLOCKS } else { BEFORE })
            && time.duration_since(self.again) <= AFTER
    }
}

impl<'a> Aftermath<'a> {
    /// Sorts the aftermath by node and pod.
    pub fn of(cluster: &'a Cluster) -> Self {
        let (mut failed, mut pod_events): (HashMap<_, Vec<_>>, HashMap<_, Vec<_>>) = Default::default();
        let mut detached: HashMap<_, Vec<_>> = HashMap::default();
        // Longhorn deletes an instance manager while such a volume is tried again and again, and nothing of it is there to be harmed
        let was_up = |volume: &str| {
            let volume = cluster.objects.volumes.get(volume);
            volume.is_none_or(|volume| !volumes::was_never_up(cluster, volume))
        };
        for replica in cluster.objects.replicas.iter() {
            // a rebuild empties failedAt
            let failed_at = replica.spec.failed_at.get().or(replica.spec.last_failed_at.get());
            if let Some(at) = failed_at.filter(|_| was_up(&replica.spec.volume_name)) {
                failed.entry(replica.spec.node_id.as_str()).or_default().push((at, replica));
            }
        }
        let attached = attached(cluster);
        for event in cluster.objects.events.iter() {
            let object = &event.involved_object;
            match (object.kind.as_str(), event.reason.as_str()) {
                ("Pod", _) => pod_events.entry(object.name.as_str()).or_default().push(event),
                ("Volume", reason) if volumes::is_unexpected_detach(reason) && was_up(&object.name) => {
                    let Some(at) = event.last_seen() else { continue };
                    for place in places(cluster, &attached, &object.name, at) {
                        detached.entry(place).or_default().push((at, object.name.as_str()));
                    }
                }
                _ => {}
            }
        }
        let mut remounted: HashMap<_, Vec<_>> = HashMap::default();
        for volume in cluster.objects.volumes.iter() {
            let Some(at) = volumes::remounted(volume).filter(|_| was_up(&volume.metadata.name)) else {
                continue;
            };
            for place in places(cluster, &attached, &volume.metadata.name, at) {
                remounted.entry(place).or_default().push((at, volume.metadata.name.as_str()));
            }
        }
        let mut dead_engines: HashMap<_, Vec<_>> = HashMap::default();
        for engine in cluster.objects.engines.iter() {
            if engine.status.current_state == InstanceState::Error && was_up(&engine.spec.volume_name) {
                dead_engines.entry(engine.status.instance_manager_name.as_str()).or_default().push(engine);
            }
        }
        let kept_since = cluster.objects.events.iter().filter_map(|event| event.last_seen()).min();
        Aftermath { cluster, failed, detached, remounted, pod_events, dead_engines, kept_since }
    }

    /// What an end of this instance manager hit.
    pub fn hits(&self, manager: &str, node: &str, span: Span) -> Hits<'a> {
        let mut hits = Hits::default();
        // a volume that was created afterwards had nothing in it, whatever ends its engines now
        let was_there = |volume: &str| {
            let made = self.cluster.objects.volumes.get(volume).and_then(|volume| volume.metadata.created());
            made.is_none_or(|made| made <= span.end)
        };
        for (at, replica) in self.failed.get(node).into_iter().flatten() {
            if span.contains(*at) && was_there(&replica.spec.volume_name) {
                hits.volumes.insert(&replica.spec.volume_name);
                hits.facts.push(format!("replica {} failed at {at}", replica.metadata.name));
            }
        }
        let here = [node, manager].into_iter().filter(|place| !place.is_empty());
        let of = |deaths: &HashMap<&str, Vec<(Timestamp, &'a str)>>| -> BTreeSet<(Timestamp, &'a str)> {
            let known = here.clone().filter_map(|place| deaths.get(place)).flatten();
            known.copied().filter(|(at, volume)| span.contains(*at) && was_there(volume)).collect()
        };
        for (at, volume) in of(&self.detached) {
            hits.facts.push(format!("event DetachedUnexpectedly on volume {volume} at {at}"));
            hits.engine_of(volume);
        }
        for (at, volume) in of(&self.remounted) {
            hits.facts.push(format!("volume {volume}: its engine had died, and remountRequestedAt is {at}"));
            hits.engine_of(volume);
        }
        hits.volumes.remove("");
        hits.in_use = !hits.volumes.iter().all(|name| volumes::is_leaving(self.cluster, name));
        hits
    }

    /// Engines that died in this instance manager and have not been started again.
    pub fn add_dead_engines(&self, manager: &str, hits: &mut Hits<'a>) {
        for engine in self.dead_engines.get(manager).into_iter().flatten() {
            hits.volumes.insert(&engine.spec.volume_name);
            hits.engines = true;
            hits.facts.push(format!("engine {} is in state error there", engine.metadata.name));
        }
    }

    /// True when an Event of that moment would still be there.
    pub fn reach_back(&self, moment: Timestamp) -> bool {
        self.kept_since.is_some_and(|since| since < moment)
    }

    /// Events about this pod, and about no other of its name.
    pub fn events_of(&self, name: &str, uid: &str) -> Vec<&'a Event> {
        let of = self.pod_events.get(name).into_iter().flatten().copied();
        of.filter(|event| event.involved_object.uid == uid).collect()
    }

    /// Events about all pods of this name but one.
    pub fn events_but(&self, name: &str, uid: &str) -> impl Iterator<Item = &'a Event> {
        let of = self.pod_events.get(name).into_iter().flatten().copied();
        of.filter(move |event| event.involved_object.uid != uid)
    }

    /// That the taint manager deleted a pod of this name shortly before the end. It names no uid, and one Event may stand for
    /// several pods.
    pub fn taint_manager(&self, name: &str, end: Timestamp, born: Option<Timestamp>) -> Option<&'a Event> {
        let near = |event: &&&Event| {
            let asked = [event.first_seen(), event.last_seen()].into_iter().flatten();
            let mut asked = asked.filter(|at| born.is_none_or(|born| *at >= born));
            let before = |at: Timestamp| end.duration_since(at);
            event.is_taint_eviction() && asked.any(|at| -CLOCKS <= before(at) && before(at) <= TAINTED)
        };
        let events = self.pod_events.get(name)?;
        events.iter().find(near).copied()
    }
}

/// When each volume was attached, and where (longhorn-manager v1.3.3 to v1.12.1 controller/volume_controller.go).
fn attached(cluster: &Cluster) -> HashMap<&str, Vec<(Timestamp, &str)>> {
    let mut attached: HashMap<&str, Vec<_>> = HashMap::default();
    for event in cluster.objects.events.iter().filter(|event| event.reason == "Attached") {
        let Some((_, node)) = event.message.split_once(" has been attached to ") else { continue };
        let times = [event.first_seen(), event.last_seen()].into_iter().flatten();
        let of_volume = attached.entry(event.involved_object.name.as_str()).or_default();
        of_volume.extend(times.map(|at| (at, node.trim())));
    }
    attached
}

/// The node that a volume was attached to last before that moment; where no Event tells, the nodes and instance managers that it or its
/// engines are of now.
fn places<'a>(
    cluster: &'a Cluster,
    attached: &HashMap<&'a str, Vec<(Timestamp, &'a str)>>,
    volume: &'a str,
    moment: Timestamp,
) -> BTreeSet<&'a str> {
    let known = || attached.get(volume).into_iter().flatten();
    let before = known().filter(|(at, _)| *at <= moment).max_by_key(|(at, _)| *at);
    // one that was being detached is not attached again, and no one lost it
    let used = known().any(|(at, _)| *at > moment) || !volumes::is_leaving(cluster, volume);
    if let Some((_, node)) = before.filter(|_| used) {
        return BTreeSet::from([*node]);
    }
    let node = cluster.objects.volumes.get(volume).map(|volume| volume.status.current_node_id.as_str());
    let engines = cluster.engines_of(volume);
    let of_engines = engines.flat_map(|engine| [&engine.status.instance_manager_name, &engine.spec.node_id]);
    node.into_iter().chain(of_engines.map(|name| name.as_str())).collect()
}
