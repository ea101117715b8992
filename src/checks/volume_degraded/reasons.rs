//! Why a degraded volume does not recover.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;

use super::*;
use crate::facts::backing_images::Wait;
use crate::facts::patience::{REBUILD, RETRY, STANDS};
use crate::facts::{api, bursts, placement, volumes};
use crate::longhorn::{ConditionStatus, Engine, Event, InstanceManagerState, Replica, condition};

/// Longhorn tries one replica six times at most.
const MANY_TRIES: i64 = 3;
/// What the engine controller writes of a rebuild that failed.
const FAILED: &str = "FailedRebuilding";
/// How many disks are named.
const SHOWN: usize = 8;

/// What keeps a volume degraded.
pub(super) struct DegradedReason {
    pub cause: &'static Cause,
    pub way: Option<&'static Way>,
    pub why: String,
    pub evidence: Vec<Evidence>,
    pub node: String,
    /// The disk that receives the replica, where that may be to blame.
    pub disk: String,
    /// True while someone seems to work on the node.
    pub planned: bool,
    /// The replica that waits for the node without ever having held data, if that is it.
    pub never_started: String,
}

impl DegradedReason {
    fn new(cause: &'static Cause, why: impl Into<String>) -> Self {
        DegradedReason {
            cause,
            way: None,
            why: why.into(),
            evidence: Vec::new(),
            node: String::new(),
            disk: String::new(),
            planned: false,
            never_started: String::new(),
        }
    }

    fn because(mut self, fact: impl Into<Evidence>) -> Self {
        self.evidence.push(fact.into());
        self
    }

    /// With what replicas and the last Event say of rebuilds that failed.
    fn failed(mut self, cluster: &Cluster, volume: &Volume, event: Option<&Event>) -> Self {
        let mut said = event.map_or(String::new(), |event| event.message.to_ascii_lowercase());
        for replica in cluster.replicas_of(&volume.metadata.name) {
            let failed = condition(&replica.status.conditions, "RebuildFailed");
            let Some(failed) = failed.filter(|failed| failed.status == ConditionStatus::True) else {
                continue;
            };
            let (name, message) = (&replica.metadata.name, text::quoted(&failed.message));
            let text = format!("replica {name}: RebuildFailed, reason {}: {message}", failed.reason);
            self = self.because(api(text).quoting(&failed.message));
            said += &failed.message.to_ascii_lowercase();
        }
        let names = |parts: &[&str]| parts.iter().any(|part| part.split('…').all(|word| said.contains(word)));
        self.way = SIGNS.iter().find(|(parts, _)| names(parts)).map(|(_, way)| *way);
        if let Some(way) = self.way {
            way.briefly.clone_into(&mut self.why);
        }
        self
    }
}

/// What concerns all degraded volumes alike.
pub(super) struct ClusterContext<'a> {
    limit: Option<i64>,
    patience: SignedDuration,
    /// True while any volume is being rebuilt, behind which others may wait.
    rebuilding: bool,
    /// Events of failed rebuilds, by engine.
    failures: BTreeMap<&'a str, Vec<&'a Event>>,
    /// The node that takes part in all of them, if it is one.
    in_all: Option<&'a str>,
}

impl<'a> ClusterContext<'a> {
    pub(super) fn of(cluster: &'a Cluster) -> Self {
        let limit =
            cluster.setting_value("concurrent-replica-rebuild-per-node-limit", DataEngine::V1).parse().ok();
        let rebuilding = cluster.objects.engines.iter().any(|engine| volumes::rebuild(engine).is_some());
        let mut failures: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for event in cluster.objects.events.iter().filter(|event| event.reason == FAILED) {
            failures.entry(event.involved_object.name.as_str()).or_default().push(event);
        }
        let in_all = in_all(cluster, &failures);
        ClusterContext { limit, patience: patience(cluster), rebuilding, failures, in_all }
    }
}

/// The reason, if the volume has had its time.
pub(super) fn look(
    cluster: &Cluster,
    out: &mut Outcome,
    volume: &Volume,
    age: &Age,
    wide: &ClusterContext,
) -> Option<DegradedReason> {
    let engine = volumes::current_engine(cluster, volume);
    let rebuild = engine.and_then(|engine| running(cluster, out, volume, engine, age));
    // Longhorn always writes the time
    let advances = matches!(rebuild, Some(RunningRebuild::Advances));
    // what fails again and again does not wait for a replica to come back
    if age.at_least(RECONCILE.min(wide.patience), Unknown::Waits)
        && let Some(looping) = looping(cluster, volume, engine, age, wide, advances)
    {
        return Some(looping);
    }
    if !age.at_least(wide.patience, Unknown::Waits) {
        if age.is_unknown() {
            out.time_tells(&NOT_REBUILDING, &volume.metadata.name);
        }
        return None;
    }
    match rebuild {
        Some(RunningRebuild::Stalled(reason)) => return Some(reason),
        Some(RunningRebuild::Advances) => return None,
        None => {}
    }
    if wide.limit == Some(0) {
        let text = "setting concurrent-replica-rebuild-per-node-limit is 0";
        return Some(DegradedReason::new(&REBUILD_DISABLED, "rebuilds are disabled").because(text));
    }
    blocked(volume, engine)
        .or_else(|| unschedulable(cluster, volume, age))
        .or_else(|| waits_for_node(cluster, volume, age))
        .or_else(|| not_rebuilding(cluster, out, volume, age, wide))
}

enum RunningRebuild {
    Advances,
    Stalled(DegradedReason),
}

/// Whether the rebuild that runs advances. Its progress is part of the fact, which so begins again with each change.
fn running(
    cluster: &Cluster,
    out: &mut Outcome,
    volume: &Volume,
    engine: &Engine,
    age: &Age,
) -> Option<RunningRebuild> {
    let rebuild = volumes::rebuild(engine)?;
    let name = &volume.metadata.name;
    if let Some(least) = rebuild.progress.iter().min() {
        out.sample(&PROGRESS, &volumes::labels(volume), *least as f64 / 100.0);
    }
    let percent: Vec<String> = rebuild.progress.iter().map(i64::to_string).collect();
    let percent = percent.join(", ");
    let key = format!("{name} {} {percent}", rebuild.replicas.join(" "));
    let unchanged = observe(cluster, out, "progress", &key, Begun::At(None));
    let at =
        if percent.is_empty() { "without reported progress".to_owned() } else { format!("at {percent} %") };
    let of = match rebuild.replicas.as_slice() {
        [] => "a replica".to_owned(),
        names => format!("replica {}", text::listed(names)),
    };
    let receives = |replica: &&Replica| match rebuild.replicas.as_slice() {
        [] => !volumes::is_healthy(replica),
        names => names.contains(&replica.metadata.name.as_str()),
    };
    let node = cluster.replicas_of(name).find(receives).map(|replica| replica.spec.node_id.to_string());
    let stalled = |why: String| {
        let reason =
            DegradedReason::new(&REBUILD_STALLED, why).because(format!("the rebuild of {of} is {at}"));
        DegradedReason { node: node.clone().unwrap_or_default(), ..reason }
    };
    if unchanged.is_unknown() && age.at_least(REBUILD, Unknown::Waits) {
        let why = "rebuild progress is unknown".to_owned();
        return Some(RunningRebuild::Stalled(stalled(why)));
    }
    if unchanged.is_unknown() {
        out.time_tells(&REBUILD_STALLED, name);
    }
    let Some(since) = unchanged.since.filter(|_| unchanged.at_least(STANDS, Unknown::Waits)) else {
        return Some(RunningRebuild::Advances);
    };
    let mut reason = stalled(format!("its rebuild is stalled {at}"));
    let text = format!("progress has been the same since {since}");
    reason.evidence.push(EvidenceSource::History.says(text));
    Some(RunningRebuild::Stalled(reason))
}

fn looping(
    cluster: &Cluster,
    volume: &Volume,
    engine: Option<&Engine>,
    age: &Age,
    wide: &ClusterContext,
    advances: bool,
) -> Option<DegradedReason> {
    let tries = |replica: &&Replica| (replica.spec.rebuild_retry_count.0, !volumes::is_healthy(replica));
    let worst = cluster.replicas_of(&volume.metadata.name).max_by_key(tries)?;
    let failures = engine.and_then(|engine| wide.failures.get(engine.metadata.name.as_str()));
    let failures = failures.map_or(&[][..], Vec::as_slice);
    let newest = failures.iter().copied().max_by_key(|event| event.last_seen());
    let last = newest.and_then(Event::last_seen);
    // those of before belong to a rebuild that came to its end, and one that advances has come through
    let over = last.is_some_and(|last| {
        age.since.is_some_and(|since| last < since) || advances && cluster.age(last) > RETRY
    });
    let events = if over { 0 } else { bursts::times(failures.iter().copied()) };
    let retries = worst.spec.rebuild_retry_count.0;
    if retries < MANY_TRIES && events < MANY_TRIES {
        return None;
    }
    let node = &worst.spec.node_id;
    let mut reason = DegradedReason::new(&REBUILD_LOOPING, "its rebuild keeps failing");
    if retries > 0 {
        let replica = &worst.metadata.name;
        reason = reason.because(format!("replica {replica} on {node}: rebuildRetryCount is {retries}"));
        reason.node = node.to_string();
    }
    if events > 0 {
        let said = newest.map(|event| event.message.trim()).filter(|said| !said.is_empty());
        let said = said.map(|said| format!(": {}", text::quoted(said))).unwrap_or_default();
        let count = counted(usize::try_from(events).unwrap_or(0), "Event");
        let text = format!("{count} {FAILED} of the engine{said}");
        let words = newest.map(|event| event.message.as_str()).unwrap_or_default();
        reason.evidence.push(EvidenceSource::Event.says(text).quoting(words));
    }
    let mut reason = reason.failed(cluster, volume, newest);
    if reason.way == Some(&TOO_SLOW)
        && age.since.is_some_and(|since| cluster.age(since) < call_timeout(cluster))
    {
        (reason.way, reason.why) = (Some(&UNREACHED), UNREACHED.briefly.to_owned());
    }
    Some(match wide.in_all.filter(|_| reason.way == Some(&UNREACHED)) {
        Some(node) => by_one_node(cluster, reason, node, newest, wide.failures.len()),
        None => by_replica(reason, cluster, volume, worst),
    })
}

/// The same node takes part in every rebuild that fails: nothing reaches it, or packets are lost on the way.
fn by_one_node(
    cluster: &Cluster,
    reason: DegradedReason,
    node: &str,
    newest: Option<&Event>,
    volumes: usize,
) -> DegradedReason {
    let said = newest.map_or("", |event| event.message.as_str());
    // where even a connection does not come about, its size is not to blame
    let cut_off = ["no route to host", "unreachable"].iter().any(|part| said.contains(part))
        || said.contains("i/o timeout") && said.contains("dial");
    let other = other_network(cluster, node);
    let (way, why) = match other {
        Some(address) => (&OTHER_NETWORK, format!("{node} is in another network ({address})")),
        None => (if cut_off { &ONE_CUT_OFF } else { &ONE_NODE }, format!("rebuilds from and to {node} fail")),
    };
    let text = format!("every failing rebuild (of {volumes} volumes) involves {node}");
    DegradedReason { way: Some(way), why, node: node.to_owned(), ..reason.because(text) }
}

/// The InternalIP of a node that has nothing in common with those of all others, which begin alike: k3s takes the address of a VPN, for example.
fn other_network<'a>(cluster: &'a Cluster, node: &str) -> Option<&'a str> {
    fn begin(address: &str) -> Option<[u8; 2]> {
        let [one, two, ..] = address.parse::<std::net::Ipv4Addr>().ok()?.octets();
        Some([one, two])
    }
    let nodes = &cluster.objects.kube_nodes;
    let its = nodes.get(node)?.internal_addresses().find(|address| begin(address).is_some())?;
    let others = nodes.iter().filter(|other| other.metadata.name != *node);
    let others: BTreeSet<_> = others.flat_map(|other| other.internal_addresses().filter_map(begin)).collect();
    let others = Some(others).filter(|others| others.len() == 1)?;
    let apart = others.first().zip(begin(its)).is_some_and(|(other, its)| other[0] != its[0]);
    apart.then_some(its)
}

/// Names the replica that is read or written, and its disk, where the error does not speak of the network between them.
fn by_replica(
    mut reason: DegradedReason,
    cluster: &Cluster,
    volume: &Volume,
    worst: &Replica,
) -> DegradedReason {
    let node = &worst.spec.node_id;
    if reason.way == Some(&SOURCE_UNREADABLE) {
        let mut healthy =
            cluster.replicas_of(&volume.metadata.name).filter(|replica| volumes::is_healthy(replica));
        if let (Some(source), None) = (healthy.next(), healthy.next()) {
            reason.node = source.spec.node_id.to_string();
            reason.why = format!("the one on {} cannot be read", reason.node);
        }
        return reason;
    }
    if let Some(said) = disk_errors(cluster, worst).filter(|_| reason.way.is_none()) {
        (reason.way, reason.why) = (Some(&DISK_ERRORS), DISK_ERRORS.briefly.to_owned());
        reason.evidence.push(said);
    }
    // neither the network nor the source is to blame
    let receives =
        [None, Some(&NO_SPACE), Some(&DISK_ERRORS)].contains(&reason.way) && !volumes::is_healthy(worst);
    if [Some(&UNREACHED), Some(&DISK_ERRORS)].contains(&reason.way) && !volumes::is_healthy(worst) {
        reason.node = node.to_string();
    }
    if let Some(disk) = cluster.disk(&worst.spec.disk_id).filter(|_| receives) {
        (reason.node, reason.disk) = (node.to_string(), disk.name.to_owned());
        if reason.way == Some(&DISK_ERRORS) {
            reason.why = format!("disk {} on {node} has errors", disk.name);
        }
    }
    reason
}

/// How long the call that syncs the files of a rebuild may take: before 1.7.0 a day (longhorn-engine v1.6.2 pkg/replica/client/client.go
/// GRPCServiceLongTimeout).
fn call_timeout(cluster: &Cluster) -> SignedDuration {
    let seconds = cluster.setting_value("long-grpc-timeout", DataEngine::V1).parse().unwrap_or(86_400);
    SignedDuration::from_secs(seconds)
}

/// The only node that takes part in every rebuild that fails, of two volumes and more, with several on the other side.
fn in_all<'a>(cluster: &'a Cluster, failures: &BTreeMap<&str, Vec<&Event>>) -> Option<&'a str> {
    let pair = |engine: &&str| {
        let engine = cluster.objects.engines.get(engine)?;
        let failed =
            |replica: &&Replica| !volumes::is_healthy(replica) && replica.spec.rebuild_retry_count.0 > 0;
        let receiver = cluster.replicas_of(&engine.spec.volume_name).find(failed)?;
        Some([engine.spec.node_id.as_str(), receiver.spec.node_id.as_str()])
    };
    let pairs: Vec<[&str; 2]> = failures.keys().filter_map(pair).collect();
    let all: BTreeSet<&str> = pairs.iter().flatten().copied().collect();
    let mut common = all.iter().copied().filter(|node| pairs.iter().all(|pair| pair.contains(node)));
    let first = common.next().filter(|_| common.next().is_none());
    first.filter(|_| pairs.len() >= 2 && all.len() >= 3)
}

/// What others than Longhorn say of the disk where a replica does not come up, which Longhorn calls ready as long as it can read its
/// configuration there: the replica's own last error, and node-problem-detector (config/kernel-monitor.json, ReadonlyFilesystem).
fn disk_errors(cluster: &Cluster, replica: &Replica) -> Option<Evidence> {
    let (name, node) = (&replica.metadata.name, &replica.spec.node_id);
    let managers = cluster.instance_managers_on(node).map(|manager| &manager.metadata.name);
    let pods = managers.filter_map(|name| cluster.objects.pods.get(name));
    let lines = pods.flat_map(|pod| cluster.history.logs_of(pod)).flat_map(|log| log.text.lines());
    let error = |line: &&str| line.contains(name.as_str()) && DISK.iter().any(|part| line.contains(part));
    if let Some(line) = lines.filter(error).last() {
        return Some(
            EvidenceSource::Log.says(format!("replica {name}: {}", text::quoted(line))).quoting(line),
        );
    }
    let kube = cluster.objects.kube_nodes.get(node)?;
    let read_only = condition(&kube.status.conditions, "ReadonlyFilesystem")?;
    (read_only.status == ConditionStatus::True).then(|| {
        let text = format!("node {node}: ReadonlyFilesystem: {}", text::quoted(&read_only.message));
        api(text).quoting(&read_only.message)
    })
}

fn blocked(volume: &Volume, engine: Option<&Engine>) -> Option<DegradedReason> {
    let (wanted, current) = (&volume.spec.migration_node_id, &volume.status.current_migration_node_id);
    if !wanted.is_empty() || !current.is_empty() {
        let text =
            format!("spec.migrationNodeID is '{wanted}', status.currentMigrationNodeID is '{current}'");
        return Some(DegradedReason::new(&REBUILD_BLOCKED, "it is migrating to another node").because(text));
    }
    if let Some(engine) = engine.filter(|engine| volumes::is_oversized(volume, engine)) {
        let (size, wanted) = (engine.status.current_size.0, volume.spec.size.0);
        return Some(
            DegradedReason::new(&REBUILD_BLOCKED, "its engine's size exceeds the volume's")
                .because(format!(
                    "the volume's spec.size is {wanted}, and its engine's currentSize is {size}"
                ))
                .because(text::with_quote(
                    "lastExpansionError".to_owned(),
                    &engine.status.last_expansion_error,
                )),
        );
    }
    let expands = engine.is_some_and(|engine| engine.status.is_expanding);
    expands.then(|| {
        DegradedReason::new(&REBUILD_BLOCKED, "it is being expanded")
            .because("the engine's status.isExpanding is true")
    })
}

/// True while the node is cordoned and that for less than an hour, as far as the volume tells.
fn is_planned(cluster: &Cluster, node: &str, age: &Age) -> bool {
    nodes::is_cordoned(cluster, node) && age.since.is_some_and(|since| cluster.age(since) < MAINTENANCE)
}

fn failed_on(cluster: &Cluster, volume: &Volume, wanted: impl Fn(&str) -> bool) -> Option<String> {
    let failed = cluster.replicas_of(&volume.metadata.name).filter(|replica| replica.spec.failed_at.is_set());
    failed.map(|replica| replica.spec.node_id.to_string()).find(|node| !node.is_empty() && wanted(node))
}

fn unschedulable(cluster: &Cluster, volume: &Volume, age: &Age) -> Option<DegradedReason> {
    let scheduled = condition(&volume.status.conditions, "Scheduled")?;
    if scheduled.status != ConditionStatus::False {
        return None;
    }
    let mut reason = DegradedReason::new(&UNSCHEDULABLE, "no disk can take another").because(
        text::with_quote(format!("condition Scheduled is False ({})", scheduled.reason), &scheduled.message),
    );
    for refusal in placement::refusals(cluster, volume).unwrap_or_default().iter().take(SHOWN) {
        reason = reason.because(refusal.text.clone());
    }
    if let Some(node) = failed_on(cluster, volume, |node| is_planned(cluster, node, age)) {
        reason.why = format!("only {node} has room, but is cordoned");
        (reason.node, reason.planned) = (node, true);
    }
    Some(reason)
}

fn waits_for_node(cluster: &Cluster, volume: &Volume, age: &Age) -> Option<DegradedReason> {
    let away = |node: &str| nodes::down(cluster, node).is_some() || nodes::is_cordoned(cluster, node);
    let Some(node) = failed_on(cluster, volume, away) else { return never_started(cluster, volume) };
    let down = nodes::down(cluster, &node);
    let how = if down.is_some() { "down" } else { "cordoned" };
    let mut reason = DegradedReason::new(&WAITS_FOR_NODE, format!("its failed replica is on {node} ({how})"));
    reason.way = match &down {
        _ if nodes::is_gone(cluster, &node) => Some(&NODE_GONE),
        None => Some(&NODE_CORDONED),
        Some(_) => None,
    };
    reason.evidence.extend(down);
    reason.planned = is_planned(cluster, &node, age);
    reason.node = node;
    Some(reason)
}

/// A replica that never started on a node that is down counts as one to come, so that no other is made: up to 1.12.1 only replicas of
/// volumes that are not attached, or of nodes that were deleted, are marked as failed there (longhorn-manager v1.12.1
/// controller/volume_controller.go openVolumeDependentResources; issue 13571).
fn never_started(cluster: &Cluster, volume: &Volume) -> Option<DegradedReason> {
    let replica = cluster.replicas_of(&volume.metadata.name).find(|replica| {
        volumes::never_started(replica) && nodes::down(cluster, &replica.spec.node_id).is_some()
    })?;
    let (name, node) = (&replica.metadata.name, &replica.spec.node_id);
    let why = format!("one replica never started on {node} (down)");
    let mut reason = DegradedReason::new(&WAITS_FOR_NODE, why).because(format!(
        "replica {name}: desireState is running, currentState is stopped, healthyAt and failedAt are empty"
    ));
    reason.evidence.extend(nodes::down(cluster, node));
    reason.way = Some(if nodes::is_gone(cluster, node) { &NODE_GONE } else { &NEVER_STARTED });
    reason.node = node.to_string();
    reason.never_started = name.to_string();
    Some(reason)
}

fn not_rebuilding(
    cluster: &Cluster,
    out: &mut Outcome,
    volume: &Volume,
    age: &Age,
    wide: &ClusterContext,
) -> Option<DegradedReason> {
    // an obstacle may have gone just now
    let begun = Begun::NotBefore(volume.status.last_degraded_at.get());
    let idle = observe(cluster, out, "idle", &volume.metadata.name, begun);
    let queued = cluster.replicas_of(&volume.metadata.name).find(|replica| volumes::is_to_come(replica));
    if queued.is_some() && wide.rebuilding && !age.at_least(REBUILD, Unknown::Waits) {
        return None; // behind others: a node rebuilds few at a time
    }
    if !idle.at_least(RECONCILE, Unknown::Counts) {
        return None;
    }
    let waits = Wait::of(cluster, volume);
    let unknown = DegradedReason::new(&NOT_REBUILDING, "no active rebuild (cause unknown)");
    let mut reason = unknown.failed(cluster, volume, None);
    // what is missing now comes before how an earlier rebuild failed
    if let Some(wait) = &waits {
        (reason.why, reason.way) = (wait.text(), Some(&COPY_MISSING));
        if let Some(disk) = &wait.corrupt {
            (reason.way, reason.disk) = (Some(&COPY_CORRUPT), disk.name.to_string());
            reason.node = disk.node.metadata.name.to_string();
        }
        reason.evidence.extend(wait.facts(cluster));
    }
    let runs_none = |node: &str| {
        let mut managers = cluster.instance_managers_on(node);
        managers.all(|manager| manager.status.current_state != InstanceManagerState::Running)
    };
    if let Some(node) = failed_on(cluster, volume, runs_none).filter(|_| waits.is_none()) {
        (reason.why, reason.way) = (format!("no instance manager is running on {node}"), None);
        reason.node = node;
    }
    if let Some(replica) = queued {
        let (name, node) = (&replica.metadata.name, &replica.spec.node_id);
        let state = replica.status.current_state.as_str();
        reason = reason.because(format!("replica {name} on {node} is {state} and has never been in sync"));
        reason.node = node.to_string();
    }
    Some(reason)
}
