//! Volumes between two states, and engines that do not start or do not stay.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::events::{EventTally, Events, FLOOD, LOOP_AT, asked_by, deaths_watched, died_with_node, recent};
use super::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::backing_images::Wait;
use crate::facts::patience::{ATTACH, NEXT_LOOK};
use crate::facts::releases::manager_release;
use crate::facts::{api, nodes, policies, text, volumes, ways};
use crate::longhorn::{
    ConditionStatus, Engine, InstanceState, LonghornNode, Volume, VolumeRobustness, VolumeState, condition,
};

/// The engine is started so long before its first death.
const FIRST_START: SignedDuration = SignedDuration::from_mins(2);
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
    let remounts = events.remounts.get(name).copied().unwrap_or(0);
    // the spam filter of Events soon drops those of a quick loop
    let asked = if volume.is_shared() { 0 } else { remounts };
    if seen.count >= FLOOD || asked >= LOOP_AT {
        seen.last = volumes::remounted(volume).map_or(told, |at| at.max(told).min(cluster.now));
    }
    let engine = volumes::current_engine(cluster, volume);
    let works = volume.status.state == VolumeState::Attached
        && engine.is_some_and(|engine| engine.status.current_state == InstanceState::Running);
    // starts of before belong to a workload that moved
    let starts = engine
        .and_then(|engine| events.started.get(engine.metadata.name.as_str()))
        .filter(|starts| seen.first.duration_since(starts.first) <= FIRST_START);
    // one remount is asked for after each death; starts of long before are counted with those of now
    let starts = starts.map_or(0, |starts| starts.count).max(asked);
    // one that is being rebuilt has no such time yet
    let first_up = cluster.replicas_of(name).filter_map(|replica| replica.spec.healthy_at.get()).min();
    let deaths = match first_up.filter(|at| *at > seen.first) {
        // one Event counts its failed starts and, later, its deaths
        Some(up) => deaths_watched(out, name, up, told),
        None => seen.deaths(starts, events.remounts.get(name)),
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
    let mut evidence = vec![EvidenceSource::Event.says(text)];
    let failed = engine.and_then(|engine| events.failed.get(engine.metadata.name.as_str()));
    let texts = engine_error::texts(cluster, engine);
    let logged = engine_error::logged(cluster, engine);
    let said = texts.iter().copied().chain(failed.map(|failed| failed.said)).chain(logged);
    evidence.extend(logged.map(engine_error::of_log));
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
        let why = format!("it keeps losing its engine (3+ times in 1 h){}", briefly(failure));
        let exits = texts.iter().any(|said| said.contains("exit status"));
        let failure = failure.or(exits.then_some(&engine_error::EXITS));
        return Some(StuckVolume { failure, ..stuck(&ATTACH_LOOP, why, None, evidence) });
    }
    let mut evidence: Vec<Evidence> = engine.and_then(start_error).into_iter().chain(evidence).collect();
    evidence.push(api("no replica of the volume was ever healthy, so no data is lost"));
    let why = format!("it cannot attach to {node}{}", briefly(failure));
    Some(stuck(&ENGINE_CANNOT_START, why, Some(seen.first), evidence))
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
    let logged = engine_error::logged(cluster, engine);
    let said = texts.into_iter().chain(failed.map(|failed| failed.said)).chain(logged);
    let failure = engine_error::failure(stuck.volume, said);
    evidence.extend(logged.map(engine_error::of_log));
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
    let unknown = cause == &ATTACH_LOOP && failure.is_none_or(|way| way == &engine_error::EXITS);
    let policy = unknown.then(|| policies::guards_replicas(cluster, name, Some(cluster.now))).flatten();
    let kernel = (unknown && policy.is_none()).then(|| nodes::other_kernel(cluster, node)).flatten();
    let failure = if kernel.is_some() { Some(&engine_error::OTHER_KERNEL) } else { failure };
    let why = match policy.map(|_| &ways::REPLICAS_SHUT_OUT).or(kernel.and(failure)) {
        Some(way) => format!("it keeps losing its engine: {}", way.briefly),
        None => why,
    };
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
        .facts(evidence);
    if cause != &DETACHING {
        finding = finding.facts(said::by_others(cluster, volume));
    }
    if let Some(policy) = policy {
        finding = policies::tell_replicas(cluster, policy, finding);
    }
    finding = finding.facts(
        kernel.map(|(its, others)| format!("node {node} runs kernel {its}, all other nodes run {others}")),
    );
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
    let says_why = finding.evidence().iter().any(|fact| fact.said().is_some());
    let silent = cause == &ENGINE_CANNOT_START && !node.is_empty() && !says_why;
    if let Some(failure) = failure.or(silent.then_some(&SILENT)).filter(|_| policy.is_none()) {
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
