//! Volumes between two states, and engines that do not start or do not stay.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::engine_error;
use super::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::backing_images::Wait;
use crate::facts::bursts::{SHORTEST_ROUND, rounds};
use crate::facts::patience::{ATTACH, NEXT_LOOK};
use crate::facts::releases::manager_release;
use crate::facts::{api, nodes, text, volumes, ways};
use crate::longhorn::{
    ConditionStatus, CsiAttachment, Engine, Event, InstanceState, LonghornNode, Volume, VolumeRobustness,
    VolumeState, condition,
};

/// What happened longer ago is over.
const RECENT: SignedDuration = SignedDuration::from_mins(15);
/// A loop goes on within it.
const HOUR: SignedDuration = SignedDuration::from_hours(1);
/// This many in an hour are a loop. One is a crash, from which Longhorn recovers.
const LOOP_AT: i64 = 3;
/// A node that was restarted, or lost its power for a moment, is Ready again so long after.
const NODE_RETURNS: SignedDuration = SignedDuration::from_mins(5);
/// client-go lets 25 Events about an object through at once, and then one in five minutes: from about here on, the time of the last one
/// may stand still while the loop goes on (client-go v0.33 tools/record/events_cache.go defaultSpamBurst, defaultSpamQPS). Others
/// about the volume count too.
const FLOOD: i64 = 15;
/// The engine is started so long before its first death.
const FIRST_START: SignedDuration = SignedDuration::from_mins(2);
/// How long the time of the last Event may stand still then.
const HELD_BACK: SignedDuration = SignedDuration::from_mins(6);
/// The next pod of an instance manager is created this soon after, or before, its engines are found dead.
const WITH_MANAGER: SignedDuration = SignedDuration::from_mins(1);

/// Events about volumes and engines that speak for a loop, by name of the object: how many, and the last.
pub(super) struct Events<'a> {
    detached: BTreeMap<&'a str, EventTally<'a>>,
    failed: BTreeMap<&'a str, EventTally<'a>>,
    /// Starts of engines: one for each round of a loop (controller/instance_handler.go createInstance, v1.3.3 to v1.12.1).
    started: BTreeMap<&'a str, EventTally<'a>>,
    /// The uids of all pods of a name that are known within the hour, of instance managers.
    lives: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// When Kubernetes last asked to attach or to detach a persistent volume.
    asked: BTreeMap<&'a str, Timestamp>,
}

/// Events of one reason about one object within the last hour.
#[derive(Clone, Copy)]
struct EventTally<'a> {
    count: i64,
    /// As many of them as each Event alone had the time for.
    rounds: i64,
    first: Timestamp,
    last: Timestamp,
    /// The message of one.
    said: &'a str,
}

impl EventTally<'_> {
    /// How often an engine can have died: as often as it was started, or by the time from the first Event to the last. Two Events of a
    /// second each are two deaths, however far they are apart.
    fn deaths(self, starts: i64) -> i64 {
        self.count.min(rounds(self.first, self.last).min(self.rounds).max(starts))
    }

    /// How long after the last death the next one is overdue.
    fn cooldown(self, volume: &Volume, deaths: i64) -> SignedDuration {
        let spread = self.last.duration_since(self.first).as_secs();
        let round = (spread / (deaths - 1).max(1)).max(SHORTEST_ROUND.as_secs());
        let usual = SignedDuration::from_secs(round.saturating_mul(2));
        // for others the time of the remount goes on
        if self.count >= FLOOD && volume.is_shared() { usual.max(HELD_BACK) } else { usual }
    }
}

impl<'a> Events<'a> {
    pub(super) fn of(cluster: &'a Cluster) -> Self {
        let mut events = Events {
            detached: BTreeMap::new(),
            failed: BTreeMap::new(),
            started: BTreeMap::new(),
            lives: BTreeMap::new(),
            asked: BTreeMap::new(),
        };
        for csi in cluster.objects.csi_attachments.iter() {
            let Some(at) = asked_by(csi) else { continue };
            let known = events.asked.entry(&csi.spec.source.persistent_volume_name).or_insert(at);
            *known = at.max(*known);
        }
        let gone = cluster.history.gone_pods().filter(|gone| cluster.age(gone.at) < HOUR);
        for pod in gone.map(|gone| &*gone.last).chain(cluster.objects.pods.iter()) {
            if pod.is_instance_manager() {
                events.lives.entry(&pod.metadata.name).or_default().insert(&pod.metadata.uid);
            }
        }
        for event in cluster.objects.events.iter() {
            let object = &event.involved_object;
            if let Some(lives) = events.lives.get_mut(object.name.as_str()).filter(|_| object.kind == "Pod") {
                lives.extend(Some(object.uid.as_str()).filter(|uid| !uid.is_empty()));
            }
            let seen = match (event.reason.as_str(), event.involved_object.kind.as_str()) {
                (reason, "Volume") if volumes::is_unexpected_detach(reason) => &mut events.detached,
                ("FailedStarting", "Engine") => &mut events.failed,
                ("Start", "Engine") => &mut events.started,
                _ => continue,
            };
            let Some(last) = event.last_seen().filter(|last| cluster.age(*last) < HOUR) else { continue };
            let begin = event.first_seen().unwrap_or(last).max(cluster.now.checked_sub(HOUR).unwrap_or(last));
            let new = EventTally { count: 0, rounds: 0, first: begin, last, said: &event.message };
            let entry = seen.entry(&event.involved_object.name).or_insert(new);
            let count = within_the_hour(cluster, event, last);
            entry.count = entry.count.saturating_add(count);
            entry.rounds = entry.rounds.saturating_add(count.min(rounds(begin, last)));
            (entry.first, entry.last) = (entry.first.min(begin), entry.last.max(last));
        }
        events
    }

    /// True when the last death of the engine is that of an instance manager on its node, which a check of its own tells: its
    /// next pod was made then, it has not ended so often that this is the loop, and the engine was not started so much more often.
    fn explained_by_instance_manager(
        &self,
        cluster: &Cluster,
        node: &str,
        last: Timestamp,
        starts: i64,
    ) -> bool {
        let mut managers = cluster.instance_managers_on(node).map(|manager| manager.metadata.name.as_str());
        managers.any(|name| {
            let made = cluster.objects.pods.get(name).and_then(|pod| pod.metadata.created());
            let then = made.is_some_and(|made| last.duration_since(made).abs() <= WITH_MANAGER);
            // of a pod that went before the exporter looked no uid is known
            let lives = self.lives.get(name).map_or(0, |lives| lives.len() as i64);
            then && (1..=LOOP_AT).contains(&lives) && starts <= 2 * lives.max(2)
        })
    }
}

/// How many of an Event's repetitions fall into the last hour, taking them as evenly spread.
fn within_the_hour(cluster: &Cluster, event: &Event, last: Timestamp) -> i64 {
    let count = event.count.0.max(event.series.as_ref().map_or(0, |series| series.count.0)).max(1);
    let spread = event.first_seen().map_or(0, |first| last.duration_since(first).as_secs());
    let ago = cluster.age(last).as_secs();
    let window = HOUR.as_secs().saturating_sub(ago);
    if spread <= window { count } else { (count.saturating_mul(window) / spread.max(1)).max(1) }
}

/// A volume that does not attach, detach or stay attached, with what is known of it.
struct StuckVolume<'a> {
    cause: &'static Cause,
    volume: &'a Volume,
    node: &'a str,
    why: String,
    since: Option<Timestamp>,
    /// False where only a recording says it, and what would tell since when was not recorded.
    dated: bool,
    /// True where its engine dies again and again.
    loops: bool,
    /// What its engine says.
    failure: Option<&'static Way>,
    evidence: Vec<Evidence>,
}

pub(super) fn look(cluster: &Cluster, out: &mut Outcome, events: &Events) {
    let mut cannot_start: BTreeMap<&str, Vec<StuckVolume>> = BTreeMap::new();
    for volume in cluster.objects.volumes.iter() {
        if volume.metadata.is_deleting() {
            continue;
        }
        let Some(stuck) = diagnose(cluster, out, volume, events) else { continue };
        // a faulted volume is not attached, and has a check of its own; but in a loop it is called so each time its engine is dead
        if volume.status.robustness == VolumeRobustness::Faulted && !stuck.loops {
            continue;
        }
        if !stuck.dated {
            out.report(finding(cluster, stuck).severity(Severity::Info));
            continue;
        }
        let [name, namespace, claim] = volumes::labels(volume);
        out.sample(&STUCK, &[name, namespace, claim, stuck.cause.id, stuck.cause.severity.as_str()], 1.0);
        match stuck.cause {
            cause if cause == &ENGINE_CANNOT_START => cannot_start.entry(stuck.node).or_default().push(stuck),
            _ => out.report(finding(cluster, stuck)),
        }
    }
    let mut running: BTreeMap<&str, usize> = BTreeMap::new();
    if !cannot_start.is_empty() {
        let engines = cluster.objects.engines.iter();
        let engines = engines.filter(|engine| engine.status.current_state == InstanceState::Running);
        engines.for_each(|engine| *running.entry(&engine.spec.node_id).or_default() += 1);
    }
    let everywhere: usize = running.values().sum();
    let one = cannot_start.len() == 1;
    for (node, all) in cannot_start {
        match <[StuckVolume; 1]>::try_from(all) {
            Ok([one]) => out.report(finding(cluster, one)),
            Err(all) => {
                let here = running.get(node).copied().unwrap_or_default();
                let of_node = one && here == 0 && everywhere > 0;
                out.report(one_node(cluster, node, &all, if of_node { everywhere } else { 0 }));
            }
        }
    }
}

/// The node of the volume; of one that has none at this moment, as between two starts of its engine, that of its tickets.
fn wanted_on<'a>(cluster: &'a Cluster, volume: &'a Volume) -> &'a str {
    let own = [&volume.spec.node_id, &volume.status.current_node_id];
    let attachment = cluster.objects.volume_attachments.get(&volume.metadata.name);
    let tickets = attachment.into_iter().flat_map(|one| one.spec.attachment_tickets.values());
    let mut nodes = own.into_iter().chain(tickets.map(|ticket| &ticket.node_id));
    nodes.find(|node| !node.is_empty()).map_or("", |node| node)
}

fn diagnose<'a>(
    cluster: &'a Cluster,
    out: &mut Outcome,
    volume: &'a Volume,
    events: &Events<'a>,
) -> Option<StuckVolume<'a>> {
    let node = wanted_on(cluster, volume);
    let moves = moves(cluster, out, volume, node, events);
    dies(cluster, out, volume, node, events).or(moves)
}

/// At least so many times within the hour, and lately.
fn recent<'a>(cluster: &Cluster, found: Option<&EventTally<'a>>) -> Option<EventTally<'a>> {
    found.copied().filter(|seen| seen.count >= LOOP_AT && cluster.age(seen.last) < RECENT)
}

/// A volume whose engine dies again and again, by its Events. The states between change every few seconds and tell nothing.
fn dies<'a>(
    cluster: &'a Cluster,
    out: &mut Outcome,
    volume: &'a Volume,
    node: &'a str,
    events: &Events<'a>,
) -> Option<StuckVolume<'a>> {
    let name = volume.metadata.name.as_str();
    let mut seen = recent(cluster, events.detached.get(name))?;
    let told = seen.last;
    if seen.count >= FLOOD {
        seen.last = volumes::remounted(volume).map_or(told, |at| at.max(told).min(cluster.now));
    }
    let engine = volumes::current_engine(cluster, volume);
    let works = volume.status.state == VolumeState::Attached
        && engine.is_some_and(|engine| engine.status.current_state == InstanceState::Running);
    // starts of before belong to a workload that moved
    let starts = engine
        .and_then(|engine| events.started.get(engine.metadata.name.as_str()))
        .filter(|starts| seen.first.duration_since(starts.first) <= FIRST_START);
    let starts = starts.map_or(0, |starts| starts.count);
    // one that is being rebuilt has no such time yet
    let first_up = cluster.replicas_of(name).filter_map(|replica| replica.spec.healthy_at.get()).min();
    let deaths = match first_up.filter(|at| *at > seen.first) {
        // one Event counts its failed starts and, later, its deaths
        Some(up) => deaths_watched(out, name, up, told),
        None => seen.deaths(starts),
    };
    let over = cluster.age(seen.last) > seen.cooldown(volume, deaths) && works;
    // an engine that came up for the first time after its last death did not die but did not start
    let over = over || works && first_up.is_some_and(|at| at > seen.last);
    if deaths < LOOP_AT
        || over
        || died_with_node(cluster, node, told)
        || events.explained_by_instance_manager(cluster, node, told, starts)
    {
        return None;
    }
    let text =
        format!("Event DetachedUnexpectedly: {} times within the last hour, last at {told}", seen.count);
    let evidence = vec![EvidenceSource::Event.says(text)];
    let failed = engine.and_then(|engine| events.failed.get(engine.metadata.name.as_str()));
    let said = engine_error::texts(cluster, engine).into_iter().chain(failed.map(|failed| failed.said));
    let never_up = volumes::was_never_up(cluster, volume);
    // one of v2 that ran has no sign that tells a start from a death
    let failure =
        engine_error::failure(volume, said).filter(|way| never_up || *way != &engine_error::V2_INITIATOR);
    let stuck = |cause, why: String, since, evidence| StuckVolume {
        cause,
        volume,
        node,
        why,
        since,
        dated: true,
        loops: true,
        failure,
        evidence,
    };
    if !never_up {
        let why = "it keeps losing its engine (3 or more deaths in 1 h)".to_owned();
        let exits = engine_error::texts(cluster, engine).iter().any(|said| said.contains("exit status"));
        let failure = failure.or(exits.then_some(&engine_error::EXITS));
        return Some(StuckVolume { failure, ..stuck(&ATTACH_LOOP, why, None, evidence) });
    }
    let mut evidence: Vec<Evidence> = engine.and_then(start_error).into_iter().chain(evidence).collect();
    evidence.push(api("no replica of the volume was ever healthy, so no data is lost"));
    let why = format!("it cannot attach to {node}{}", briefly(failure));
    Some(stuck(&ENGINE_CANNOT_START, why, Some(seen.first), evidence))
}

/// True when the last death of the engine is that of its node, which was not Ready for some minutes afterwards: it came back later than that,
/// or went about then.
fn died_with_node(cluster: &Cluster, node: &str, last: Timestamp) -> bool {
    let Some(changed) = nodes::not_ready_since(cluster, node) else { return false };
    let after = changed.duration_since(last);
    match nodes::kube_ready(cluster, node) {
        Some(true) => after > SignedDuration::ZERO && after <= NODE_RETURNS,
        Some(false) => after.abs() <= NODE_RETURNS,
        None => false,
    }
}

/// How often the engine of a volume died since it was up for the first time, as far as this exporter saw it: each death is later than
/// the first sight of the one before.
fn deaths_watched(out: &mut Outcome, volume: &str, up: Timestamp, last: Timestamp) -> i64 {
    let mut after = Some(up);
    let mut deaths = 0;
    for fact in ["died", "died_twice", "died_thrice"] {
        let holds = after.is_some_and(|after| last.duration_since(after) >= SHORTEST_ROUND);
        if !out.ever(fact, volume, holds) {
            break;
        }
        deaths += 1;
        after = out.first_seen(fact, volume);
    }
    deaths
}

/// A volume that is on its way for too long.
fn moves<'a>(
    cluster: &'a Cluster,
    out: &mut Outcome,
    volume: &'a Volume,
    node: &'a str,
    events: &Events<'a>,
) -> Option<StuckVolume<'a>> {
    let name = volume.metadata.name.as_str();
    let (fact, cause) = match volume.status.state {
        VolumeState::Attaching => ("attaching", &ATTACHING),
        VolumeState::Detaching => ("detaching", &DETACHING),
        _ => return None,
    };
    let engine = volumes::current_engine(cluster, volume);
    // an engine that died is detached, and the volume attached again
    let died = events.detached.get(name).map(|seen| seen.last);
    let asked = asked(cluster, volume, events);
    let begun = Begun::NotBefore(asked.max(died));
    let age = observe(cluster, out, fact, &format!("{name} {node}"), begun);
    let since = age.since_or_later().at;
    let (why, dated, loops, evidence) = (String::new(), true, false, Vec::new());
    let stuck = StuckVolume { cause, volume, node, why, since, dated, loops, failure: None, evidence };
    let failed = engine.and_then(|engine| recent(cluster, events.failed.get(engine.metadata.name.as_str())));
    // those of before belong to a start that is over
    let failed = failed.filter(|failed| asked.is_none_or(|asked| failed.last >= asked));
    let error = engine.filter(|engine| engine.status.current_state == InstanceState::Error);
    if cause == &ATTACHING
        && (failed.is_some() || error.is_some() && age.at_least(NEXT_LOOK, Unknown::Counts))
    {
        return Some(cannot_start(cluster, stuck, engine, failed, error));
    }
    // a node that is gone is told as a ticket that is left over
    if !age.at_least(ATTACH, Unknown::Counts) || tickets::attaches_to_gone_node(cluster, volume) {
        return None;
    }
    let mut evidence: Vec<Evidence> = engine.map(wanted_and_is).into_iter().collect();
    let busy =
        cluster.replicas_of(name).filter(|replica| replica.spec.desire_state != replica.status.current_state);
    evidence.extend(busy.take(3).map(|replica| {
        let (wanted, current) = (replica.spec.desire_state.as_str(), replica.status.current_state.as_str());
        let (name, node) = (&replica.metadata.name, &replica.spec.node_id);
        api(format!("replica {name} on {node}: desireState {wanted}, currentState {current}"))
    }));
    evidence.push(age.evidence());
    // the ticket of a detaching volume is gone, and from 1.5 on its attachment in Kubernetes goes with it, not with the engine
    // (csi/controller_server.go ControllerUnpublishVolume): a single look at a scaled-down workload is no different from a stuck one
    let dated = cause != &DETACHING || since.is_some();
    let why = since.map(|since| format!("it has been {fact} for {}", text::duration(cluster.age(since))));
    let mut why = why.unwrap_or_else(|| format!("it is stuck {fact} (start time unknown)"));
    let mut since = since;
    if let Some(wait) = Wait::of(cluster, volume).filter(|_| cause == &ATTACHING) {
        (why, since) = (wait.text(), since.into_iter().chain(wait.since).min());
    }
    Some(StuckVolume { why, since, dated, evidence, ..stuck })
}

fn wanted_and_is(engine: &Engine) -> Evidence {
    let (wanted, current) = (engine.spec.desire_state.as_str(), engine.status.current_state.as_str());
    api(format!("engine {}: desireState {wanted}, currentState {current}", engine.metadata.name))
}

fn cannot_start<'a>(
    cluster: &Cluster,
    stuck: StuckVolume<'a>,
    engine: Option<&Engine>,
    failed: Option<EventTally>,
    error: Option<&Engine>,
) -> StuckVolume<'a> {
    let mut evidence: Vec<Evidence> = engine.and_then(start_error).into_iter().collect();
    let texts = engine_error::texts(cluster, engine);
    let told = texts.iter().find(|said| !evidence.iter().any(|fact| fact.text.contains(**said)));
    evidence.extend(told.map(|said| api(format!("instance manager: {}", text::quoted(said))).quoting(said)));
    let failure =
        engine_error::failure(stuck.volume, texts.into_iter().chain(failed.map(|failed| failed.said)));
    if let Some(EventTally { count, last, said, .. }) = failed {
        let text = format!(
            "Event FailedStarting of the engine, {count} times within the last hour, last at {last}: {}",
            text::quoted(said)
        );
        evidence.push(EvidenceSource::Event.says(text).quoting(said));
    }
    evidence
        .extend(error.map(|engine| api(format!("engine {}: currentState is error", engine.metadata.name))));
    let why = format!("it cannot attach to {}{}", stuck.node, briefly(failure));
    StuckVolume { cause: &ENGINE_CANNOT_START, why, failure, evidence, ..stuck }
}

/// What its error adds to a headline.
fn briefly(failure: Option<&Way>) -> String {
    failure.map_or(String::new(), |way| format!(": {}", way.briefly))
}

/// When the volume was asked for, or to be let go, at the earliest: by its attachments in Kubernetes, found by its tickets, which a
/// detachment takes away first, or by its persistent volume; by tickets that wait, which were satisfied before; and by its last
/// return from a death of its engine.
fn asked(cluster: &Cluster, volume: &Volume, events: &Events) -> Option<Timestamp> {
    let name = &volume.metadata.name;
    let attachment = cluster.objects.volume_attachments.get(name);
    let wishes = attachment.iter().flat_map(|attachment| attachment.spec.attachment_tickets.keys());
    let by_ticket = wishes.filter_map(|ticket| asked_by(cluster.objects.csi_attachments.get(ticket)?)).max();
    let statuses =
        attachment.iter().flat_map(|attachment| attachment.status.attachment_ticket_statuses.values());
    let waits = statuses.filter(|ticket| !ticket.satisfied);
    let waiting =
        waits.filter_map(|ticket| condition(&ticket.conditions, "Satisfied")?.last_transition_time.get());
    by_ticket
        .max(events.asked.get(volume.persistent_volume()).copied())
        .max(waiting.min())
        .max(volumes::came_back(volume))
}

fn asked_by(csi: &CsiAttachment) -> Option<Timestamp> {
    csi.metadata.deletion_timestamp.get().max(csi.metadata.created())
}

fn start_error(engine: &Engine) -> Option<Evidence> {
    let created = condition(&engine.status.conditions, "InstanceCreation")?;
    let said = created.status == ConditionStatus::False && !created.message.is_empty();
    let text = || format!("engine {}: {}", engine.metadata.name, text::quoted(&created.message));
    said.then(|| api(text()).quoting(&created.message))
}

/// One sentence of what begins with "it": `claim db/data has been attaching for 20 min`.
pub(super) fn headline(whose: &str, why: &str) -> String {
    match why.strip_prefix("it ") {
        Some(rest) => format!("{whose} {rest}"),
        None => format!("{whose}: {why}"),
    }
}

fn finding(cluster: &Cluster, stuck: StuckVolume) -> Finding {
    let StuckVolume { cause, volume, node, why, since, failure, evidence, .. } = stuck;
    let name = &volume.metadata.name;
    let users = vec![cluster.volume_ref(name)];
    let whose = text::claims_of(&users);
    let (now, wanted, current) = (&volume.status, &volume.spec.node_id, &volume.status.current_node_id);
    let [state, robustness] = [now.state.as_str(), now.robustness.as_str()];
    let mut finding = Finding::about(cause, volumes::object(cluster, volume), headline(&whose, &why))
        .node(node)
        .since(since)
        .impact(match cause == &DETACHING {
            true => format!("{whose} cannot attach to another node until the detach ends"),
            false => format!("{whose} is unavailable: its pods cannot start or have lost the device"),
        })
        .volumes(users)
        .fact(format!(
            "volume {name}: state {state}, robustness {robustness}, spec.nodeID '{wanted}', status.currentNodeID '{current}'"
        ))
        .with(Name::Owner, if now.owner_id.is_empty() { "its node" } else { &now.owner_id })
        .facts(evidence);
    if cause != &DETACHING {
        finding = finding.facts(said::by_others(cluster, volume));
    }
    finding = match said::Twins::of(cluster, volume).filter(|_| cause == &ATTACHING) {
        Some(twins) => finding
            .fact(twins.fact())
            .way(&TWINS)
            .with(Name::Node, twins.node)
            .with(Name::InstanceManager, twins.names[0])
            .with(Name::Value, twins.names[1]),
        None if node.is_empty() => finding.with(Name::Value, "its node"),
        None => finding.with(Name::Value, node),
    };
    if let Some(failure) = failure {
        finding = finding.way(failure);
    }
    if let Some(wait) = Wait::of(cluster, volume).filter(|_| cause == &ATTACHING) {
        finding = finding.way(&ways::WAITS_FOR_IMAGE).with(Name::BackingImage, wait.image);
    }
    // its manifests bring policies that forget the node's own connections (longhorn issue 13802)
    let policies = manager_release(cluster)
        .is_some_and(|release| (release.major, release.minor, release.patch) == (1, 12, 1));
    if policies && cause != &ATTACH_LOOP {
        finding = finding.fact(
            "the 1.12.1 chart's NetworkPolicies can block a node from port 3260 of its instance manager (networkPolicies.restrictInternalTraffic)",
        );
    }
    finding
        .facts(nodes::down(cluster, node))
        .facts(nodes::manager_not_ready(cluster, &volume.status.owner_id))
}

/// Several volumes whose engines fail on one node. It is the node where engines run on others alone, `elsewhere`: no object dates their
/// start, and those that were started before say nothing of new ones.
fn one_node(cluster: &Cluster, node: &str, all: &[StuckVolume], elsewhere: usize) -> Finding {
    let users: Vec<VolumeRef> = all.iter().map(|one| cluster.volume_ref(&one.volume.metadata.name)).collect();
    let whose = text::claims_of(&users);
    let of_node = elsewhere > 0;
    let way_of = |one: &StuckVolume| one.failure;
    let way = all.first().and_then(way_of).filter(|way| all.iter().all(|one| way_of(one) == Some(way)));
    let told = format!(
        "{} on other nodes and none here are running, so the node is the cause",
        counted(elsewhere, "engine")
    );
    Finding::about(
        &ENGINE_CANNOT_START,
        cluster.object::<LonghornNode>(node),
        format!("engines of {} cannot start on {node}{}", counted(all.len(), "volume"), briefly(way)),
    )
    .node(node)
    .since(all.iter().filter_map(|one| one.since).min())
    .impact(format!("pods on {node} cannot start, because these volumes cannot attach: {whose}"))
    .volumes(users)
    .facts(of_node.then_some(told))
    .way(way.unwrap_or(if of_node { &OF_THE_NODE } else { &SEVERAL }))
    .facts(all.iter().flat_map(|one| &one.evidence).take(8).cloned())
}
