//! What is told about an end: message, impact and what to do.

use crate::check::*;
use crate::facts::api;
use crate::facts::text::users_of;

use super::judge::ReplacementVerdict;
use super::{End, LOOP, causes};

/// How many facts about hit volumes are listed.
const SHOWN: usize = 10;

/// The finding about one instance manager; `others` are further ends within the day.
pub(super) fn finding(cluster: &Cluster, end: End, others: &[End]) -> Finding {
    let volumes: Vec<VolumeRef> = end.hits.volumes.iter().map(|volume| cluster.volume_ref(volume)).collect();
    let fate = if end.successor.is_some() { "was replaced" } else { "ended" };
    let which = match end.node {
        "" => format!("instance manager {}", end.manager),
        node => format!("the instance manager on {node}"),
    };
    let message = format!("{which} {fate}: {}", what(end.verdict, end.detail.as_deref()));
    let object = ObjectRef::new("InstanceManager", &cluster.namespace, end.manager);
    let (cause, message) = match end.kills >= LOOP {
        true => {
            let times = counted(end.kills, "time");
            (&causes::LIVENESS_LOOP, format!("{message}, {times} within the hour"))
        }
        false => (end.verdict.cause(), message),
    };
    let mut finding = Finding::new(cause, object, message)
        .node(end.node)
        .since(Some(end.at))
        .impact(impact(&end, &volumes))
        .remedy(remedy(cluster, &end))
        .volumes(volumes);
    finding.evidence = end.evidence;
    finding.evidence.extend(end.hits.facts.iter().take(SHOWN).map(api));
    if let Some(more) = end.hits.facts.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        finding.evidence.push(api(format!("{more} more replicas or volumes failed then")));
    }
    for other in others.iter().rev().take(SHOWN) {
        let text = format!("it also ended at {}: {}", other.at, other.verdict.cause());
        finding = finding.because(EvidenceSource::History, text);
    }
    finding
}

fn what(verdict: ReplacementVerdict, detail: Option<&str>) -> String {
    let with = |text: &str, sign: &str| match detail {
        Some(detail) => format!("{text}{sign}{detail}"),
        None => text.to_owned(),
    };
    match verdict {
        ReplacementVerdict::LivenessProbe => {
            with("the kubelet killed it because its liveness probe failed", ", ")
        }
        ReplacementVerdict::OomKilled => "it was OOM-killed".into(),
        ReplacementVerdict::Evicted => with("it was evicted", " "),
        ReplacementVerdict::Drained => "a drain evicted it and no volume was affected".into(),
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
        ReplacementVerdict::Deleted => "its pod was deleted while volumes ran in it".into(),
        ReplacementVerdict::DeletedIdle => "its pod was deleted while idle, by whom is not known".into(),
        ReplacementVerdict::Unknown => with("cause unknown", ": "),
        ReplacementVerdict::StoppedIdle => with("nothing ran in it; cause unknown", ": "),
    }
}

fn impact(end: &End, volumes: &[VolumeRef]) -> String {
    match (volumes.is_empty(), end.verdict.is_expected()) {
        (true, true) => "none; it was idle".to_owned(),
        (true, false) => {
            "every engine and replica in it ended; no volume shows a trace of it any longer, or nothing ran in it".into()
        }
        (false, _) if end.severity == Severity::Info => {
            format!("only replicas in it ended; {} did not stop and is not degraded any longer", users_of(volumes))
        }
        (false, _) => format!(
            "every engine and replica in it ended; affected: {} (I/O errors until reattached, or degraded until rebuilt)",
            users_of(volumes)
        ),
    }
}

fn remedy(cluster: &Cluster, end: &End) -> Remedy {
    let (ns, name, node) = (&cluster.namespace, end.manager, end.node);
    let first = |text: &str| {
        Remedy::new(text)
            .read(format!("kubectl -n {ns} get volumes.longhorn.io"))
            .read(format!("kubectl -n {ns} get events --field-selector involvedObject.name={name}"))
    };
    let usage = |remedy: Remedy| {
        remedy
            .read(format!("kubectl describe node {node}"))
            .read(format!("kubectl -n {ns} top pod --containers {name}"))
    };
    match end.verdict {
        ReplacementVerdict::LivenessProbe if end.unreachable => {
            let network = cluster.setting("storage-network").map_or("", |setting| setting.value.trim());
            let storage = match network {
                "" => String::new(),
                network => format!(" The setting storage-network is {network}."),
            };
            first(&format!(
                "Look at the network between the node and its pods: the probe could not connect from the kubelet of the same node, so \
                 neither load nor the instance manager is the cause. On several nodes at once it is the CNI plugin, a firewall or the \
                 storage network.{storage}"
            ))
            .read(format!("kubectl -n {ns} get pods -o wide --field-selector spec.nodeName={node}"))
        }
        ReplacementVerdict::LivenessProbe => usage(first(
            "Make sure that the volumes come back. Then relieve the node: the instance manager was too busy to answer its \
             own probe. Spread replicas (setting replica-auto-balance), raise guaranteed-instance-manager-cpu, and run a \
             release whose probe tolerates 66 s (1.9.2, 1.10 and later); before it was 30 s, and 15 s before 1.6.4 and 1.7.3.",
        )),
        ReplacementVerdict::OomKilled => usage(first(
            "Make sure that the volumes come back. Then find what fills the memory of the node or, where a limit was set on \
             the pod, remove it: Longhorn sets none.",
        )),
        ReplacementVerdict::Panic => first(
            "Make sure that the volumes come back. Keep the log of the instance manager for a report; a panic in a rebuild \
             storm (issue 13087) is fixed in 1.11.3 and 1.12.0.",
        )
        .read(format!("kubectl -n {ns} logs {name} --tail=200")),
        ReplacementVerdict::Evicted | ReplacementVerdict::NodeLost => usage(first(
            "Make sure that the volumes come back. Then look at the node: memory or disk pressure, taints, a reboot, a drain \
             that did not wait for Longhorn's PodDisruptionBudget.",
        )),
        ReplacementVerdict::Deleted => first(
            "Make sure that the volumes come back, and find out who or what deletes pods in Longhorn's namespace.",
        )
        .read(format!("kubectl -n {ns} get poddisruptionbudgets {name}")),
        ReplacementVerdict::Tainted => first(
            "Make sure that the volumes come back. The node takes no instance manager while the taint is there: remove the taint, or \
             let Longhorn tolerate it (setting taint-toleration, with all volumes detached).",
        )
        .read(format!("kubectl describe node {node}")),
        ReplacementVerdict::SandboxLost => first(
            "Make sure that the volumes come back. Then look in the log of containerd on the node for `shim disconnected` and for \
             what ended the pause process.",
        )
        .read(format!("kubectl describe node {node}")),
        ReplacementVerdict::Unknown => usage(first(
            "Make sure that the volumes come back. Look in the logs of kubelet, containerd and kernel on the node for \
             liveness probe failures, `shim disconnected` and out of memory.",
        )),
        ReplacementVerdict::Drained
        | ReplacementVerdict::TaintedIdle
        | ReplacementVerdict::SettingsSync
        | ReplacementVerdict::StaleCleanup
        | ReplacementVerdict::DeletedIdle
        | ReplacementVerdict::StoppedIdle => {
            Remedy::new("Nothing to do.").read(format!("kubectl -n {ns} get pods -l longhorn.io/component=instance-manager"))
        }
    }
}
