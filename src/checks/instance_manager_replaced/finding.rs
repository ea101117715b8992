//! What is told about an end: message, impact and what to do.

use crate::check::*;
use crate::facts::api;
use crate::facts::instance_managers::memory_limit;
use crate::facts::text::{self, users_of};
use crate::longhorn::InstanceManager;

use super::judge::ReplacementVerdict;
use super::{End, LOOP, causes, is_whole};

/// Reboots within the hour that an API server keeps Events: maintenance takes one, or two.
const REBOOTS: u64 = 3;

/// The finding about one instance manager; `others` are further ends within the day.
pub(super) fn finding(cluster: &Cluster, end: End, others: &[End]) -> Finding {
    let volumes: Vec<VolumeRef> = end.hits.volumes.iter().map(|volume| cluster.volume_ref(volume)).collect();
    let fate = if end.successor.is_some() { "was replaced" } else { "ended" };
    let which = match end.node {
        "" => format!("instance manager {}", end.manager),
        node => format!("the instance manager on {node}"),
    };
    let message = format!("{which} {fate}{}", what(&end));
    let manager = cluster.objects.instance_managers.get(end.manager).zip(end.successor);
    let limit = manager.and_then(|(im, pod)| memory_limit(im, pod));
    let limit = limit.filter(|_| end.verdict == ReplacementVerdict::Unknown);
    let object = cluster.object::<InstanceManager>(end.manager);
    let (cause, message) = match end.kills >= LOOP {
        true => {
            let times = counted(end.kills, "time");
            (&causes::LIVENESS_LOOP, format!("{which} {fate} {times}: its liveness probe failed"))
        }
        false if limit.is_some() => {
            (end.verdict.cause(), format!("{which} {fate}: probably OOM-killed (memory limit)"))
        }
        false => (end.verdict.cause(), message),
    };
    let other = |other: &End| {
        EvidenceSource::History.says(format!(
            "the instance manager also ended at {}: {}",
            other.at,
            other.verdict.cause()
        ))
    };
    let storage = cluster.setting("storage-network").map_or("", |setting| setting.value.trim());
    let reboots = cluster.events_about_node(end.node).filter(|event| event.is_reboot());
    let reboots = reboots.map(|event| event.occurrences()).sum::<u64>();
    let again = cause == &causes::NODE_LOST && reboots >= REBOOTS;
    let message = if again { format!("{which} {fate}: its node keeps rebooting") } else { message };
    let way = match end.way {
        None if again => Some(&causes::REBOOTS),
        Some(&causes::UNREACHABLE) if !storage.is_empty() => Some(&causes::UNREACHABLE_STORAGE),
        None if limit.is_some() => Some(&causes::LIMITED),
        way => way,
    };
    let hits = &end.hits.facts;
    let told = |detail: &&String| end.evidence.iter().any(|fact| fact.text.contains(detail.as_str()));
    let detail = end.detail.as_ref().filter(|detail| !told(detail)).cloned();
    Finding::about(cause, object, message)
        .way(way)
        .with(Name::Value, if again { reboots.to_string() } else { storage.to_owned() })
        .node(end.node)
        .since(Some(end.at))
        .impact(impact(cluster, &end, &volumes))
        .volumes(volumes)
        .facts(end.evidence)
        .facts(detail)
        .facts(limit.map(api))
        .facts(text::first_ten(hits, "failure", String::clone))
        .facts(others.iter().rev().take(10).map(other))
}

/// In a few words, behind what happened.
fn what(end: &End) -> &'static str {
    match end.verdict {
        ReplacementVerdict::LivenessProbe if end.way == Some(&causes::NO_PROCESS) => {
            ": its probe could not start a process"
        }
        ReplacementVerdict::LivenessProbe => ": its liveness probe failed",
        ReplacementVerdict::OomKilled => ": OOM-killed",
        ReplacementVerdict::Evicted if end.way == Some(&causes::PREEMPTED) => {
            ": preempted by a higher PriorityClass"
        }
        ReplacementVerdict::Evicted => ": evicted",
        ReplacementVerdict::Drained if !end.hits.volumes.is_empty() || end.hits.deleted => {
            ": evicted by a drain (only replicas ran)"
        }
        ReplacementVerdict::Drained => ": evicted by a drain, no volume affected",
        ReplacementVerdict::NodeLost => ": its node went down or rebooted",
        ReplacementVerdict::Tainted | ReplacementVerdict::TaintedIdle => ": evicted by a NoExecute taint",
        ReplacementVerdict::SandboxLost => ": its kubelet lost its sandbox",
        ReplacementVerdict::Panic => ": its process panicked",
        ReplacementVerdict::SettingsSync => ": Longhorn applied settings while it was idle",
        ReplacementVerdict::Cleanup => ": Longhorn no longer needed it",
        ReplacementVerdict::Deleted => ": its pod was deleted while in use",
        ReplacementVerdict::DeletedIdle => ": its pod was deleted while idle",
        ReplacementVerdict::Unknown | ReplacementVerdict::Stopped => " (cause unknown)",
        ReplacementVerdict::StoppedIdle => " (cause unknown, nothing ran in it)",
    }
}

fn impact(cluster: &Cluster, end: &End, volumes: &[VolumeRef]) -> String {
    match (volumes.is_empty(), end.verdict.is_expected()) {
        (true, true) if end.hits.deleted => {
            "none now: the volumes of its replicas have been deleted".to_owned()
        }
        (true, true) => "none: the instance manager was idle".to_owned(),
        (true, false) => "none visible: no volume shows damage".into(),
        (false, _)
            if matches!(end.verdict, ReplacementVerdict::SettingsSync | ReplacementVerdict::Cleanup) =>
        {
            format!("none: it held only replicas of {}, which no workload used", users_of(volumes))
        }
        (false, _) if end.severity == Severity::Info => {
            let whole = end.hits.volumes.iter().all(|volume| is_whole(cluster, volume, false));
            let then = if whole { "all are back" } else { "they are being rebuilt or return with the node" };
            format!("{} stayed attached: only replicas ended, and {then}", users_of(volumes))
        }
        (false, _) => {
            let (get, are) = if volumes.len() == 1 { ("gets", "is") } else { ("get", "are") };
            let users = users_of(volumes);
            format!("{users} either {get} I/O errors until reattached, or {are} degraded until rebuilt")
        }
    }
}
