//! What is told about an end: message, impact and what to do.

use crate::check::*;
use crate::facts::text::{self, users_of};
use crate::longhorn::InstanceManager;

use super::judge::ReplacementVerdict;
use super::{End, LOOP, causes, is_whole};

/// The finding about one instance manager; `others` are further ends within the day.
pub(super) fn finding(cluster: &Cluster, end: End, others: &[End]) -> Finding {
    let volumes: Vec<VolumeRef> = end.hits.volumes.iter().map(|volume| cluster.volume_ref(volume)).collect();
    let fate = if end.successor.is_some() { "was replaced" } else { "ended" };
    let which = match end.node {
        "" => format!("instance manager {}", end.manager),
        node => format!("the instance manager on {node}"),
    };
    let message = format!("{which} {fate}: {}", what(&end));
    let object = cluster.object::<InstanceManager>(end.manager);
    let (cause, message) = match end.kills >= LOOP {
        true => {
            let times = counted(end.kills, "time");
            (&causes::LIVENESS_LOOP, format!("{message} ({times} within an hour)"))
        }
        false => (end.verdict.cause(), message),
    };
    let again = |other: &End| {
        EvidenceSource::History.says(format!("it also ended at {}: {}", other.at, other.verdict.cause()))
    };
    let storage = cluster.setting("storage-network").map_or("", |setting| setting.value.trim());
    let way = match end.way {
        Some(&causes::UNREACHABLE) if !storage.is_empty() => Some(&causes::UNREACHABLE_STORAGE),
        way => way,
    };
    let hits = &end.hits.facts;
    Finding::about(cause, object, message)
        .way(way)
        .with(Name::Value, storage)
        .node(end.node)
        .since(Some(end.at))
        .impact(impact(cluster, &end, &volumes))
        .volumes(volumes)
        .facts(end.evidence)
        .facts(text::first_ten(hits, "failure", String::clone))
        .facts(others.iter().rev().take(10).map(again))
}

fn what(end: &End) -> String {
    let detail = end.detail.as_deref();
    let with = |text: &str, sign: &str| match detail {
        Some(detail) => format!("{text}{sign}{detail}"),
        None => text.to_owned(),
    };
    match end.verdict {
        ReplacementVerdict::LivenessProbe => {
            with("the kubelet killed it because its liveness probe failed", ", ")
        }
        ReplacementVerdict::OomKilled => "OOM-killed".into(),
        ReplacementVerdict::Evicted => with("evicted", " "),
        ReplacementVerdict::Drained if !end.hits.volumes.is_empty() || end.hits.deleted => {
            "evicted by a drain, with only replicas in it".into()
        }
        ReplacementVerdict::Drained => "evicted by a drain, no volume affected".into(),
        ReplacementVerdict::NodeLost => "its node went down or rebooted".into(),
        ReplacementVerdict::Tainted | ReplacementVerdict::TaintedIdle => {
            format!("{} removed it from its node, which was Ready", detail.unwrap_or("a NoExecute taint"))
        }
        ReplacementVerdict::SandboxLost => {
            "its kubelet stopped it because its sandbox was lost; it was not deleted, and its probe had not failed".into()
        }
        ReplacementVerdict::Panic => "its process panicked".into(),
        ReplacementVerdict::SettingsSync => "Longhorn applied settings while it was idle".into(),
        ReplacementVerdict::StaleCleanup => "Longhorn removed it because it is no longer needed".into(),
        ReplacementVerdict::Deleted => with("its pod was deleted while volumes ran in it", ", "),
        ReplacementVerdict::DeletedIdle => "its pod was deleted while idle (by whom is unknown)".into(),
        ReplacementVerdict::Unknown | ReplacementVerdict::Stopped => with("cause unknown", ": "),
        ReplacementVerdict::StoppedIdle => with("nothing ran in it; cause unknown", ": "),
    }
}

fn impact(cluster: &Cluster, end: &End, volumes: &[VolumeRef]) -> String {
    match (volumes.is_empty(), end.verdict.is_expected()) {
        (true, true) if end.hits.deleted => {
            "none now: the volumes whose replicas ended are deleted".to_owned()
        }
        (true, true) => "none: it was idle".to_owned(),
        (true, false) => {
            "every engine and replica in it ended; no volume shows a sign of it now, or nothing ran in it"
                .into()
        }
        (false, _)
            if matches!(end.verdict, ReplacementVerdict::SettingsSync | ReplacementVerdict::StaleCleanup) =>
        {
            format!("none: it held only replicas of {}, which nothing used", users_of(volumes))
        }
        (false, _) if end.severity == Severity::Info => {
            let whole = end.hits.volumes.iter().all(|volume| is_whole(cluster, volume));
            let then = if whole {
                "all replicas are back"
            } else {
                "their replicas are being rebuilt or return with the node"
            };
            format!("only replicas in it ended: {} did not stop, and {then}", users_of(volumes))
        }
        (false, _) => format!(
            "every engine and replica in it ended; affected: {} (I/O errors until reattached, or degraded until rebuilt)",
            users_of(volumes)
        ),
    }
}
