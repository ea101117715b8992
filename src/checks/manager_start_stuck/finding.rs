//! What is said about managers that hang or wait.

use super::{CONTAINER, Stuck, causes};
use crate::check::*;
use crate::facts::releases::release_of;
use crate::facts::start::UnderWay;
use crate::facts::text::{duration, listed, quoted};
use crate::longhorn::{ADMISSION_LABEL, Lease, Pod, Release, WEBHOOK_LOCK};

/// A manager that hangs.
pub fn stuck(cluster: &Cluster, start: &UnderWay, stuck: Stuck) -> Finding {
    let (pod, node) = (start.pod.metadata.name.as_str(), start.pod.spec.node_name.as_str());
    let (cause, what) = (stuck.cause, stuck.what);
    // those who give up were stuck in the run before, too; with a foreign probe from the first one on, no matter which has the Lease
    let always = cause == &causes::MANIFEST_STALE || !start.holds;
    let made = start.pod.status.start_time.get().filter(|_| gives_up(cause) && always);
    let since = made.unwrap_or_else(|| since(start));
    let long = duration(cluster.age(since));
    let message = match what.as_str() {
        "" => format!("longhorn-manager on {node} has been hanging for {long} (cause unknown)"),
        what => format!("longhorn-manager on {node} is hanging ({long}): {what}"),
    };
    let mut finding = Finding::about(cause, cluster.object::<Pod>(pod), message)
        .node(node)
        .since(Some(since))
        .impact(impact(cluster, start, cause))
        .fact(state(start))
        .way(stuck.way)
        .named(stuck.values)
        .remedy(stuck.remedy)
        .facts(stuck.evidence);
    if start.holds {
        finding = finding.fact(format!(
            "{node} has held and renewed Lease {WEBHOOK_LOCK} since {}, so its startup has not finished (a finished startup releases the Lease)",
            start.turn
        ));
    }
    finding
}

fn gives_up(cause: &Cause) -> bool {
    [&causes::MANIFEST_STALE, &causes::WEBHOOK_SERVICE_UNREACHABLE].contains(&cause)
}

/// Since when the start lasts for which this manager is accountable.
fn since(start: &UnderWay) -> jiff::Timestamp {
    if start.holds { start.turn } else { start.started }
}

fn state(start: &UnderWay) -> String {
    let ready = if start.pod.is_ready() { "and" } else { "but" };
    let not = if start.pod.is_ready() { "" } else { "not " };
    format!(
        "container {CONTAINER} has been running since {}, {ready} pod {} is {not}Ready",
        start.started, start.pod.metadata.name
    )
}

fn impact(cluster: &Cluster, start: &UnderWay, cause: &'static Cause) -> String {
    let node = &start.pod.spec.node_name;
    let half_served = start.pod.is_ready() && takes_admission_calls(cluster, start.pod);
    let then = match (start.holds, gives_up(cause)) {
        _ if half_served => "Some changes to Longhorn objects fail, too.",
        (true, _) => "Managers that start on other nodes are waiting for it.",
        (false, true) => "The manager will give up and start again.",
        (false, false) => "The manager does not recover by itself.",
    };
    format!("volumes owned by {node}'s manager cannot attach, detach, rebuild or be evicted. {then}")
}

/// True when the Service of the admission webhook selects the pod (longhorn deploy/longhorn.yaml: all
/// managers in 1.5 and 1.6, those with the label from 1.7 on).
fn takes_admission_calls(cluster: &Cluster, pod: &Pod) -> bool {
    let labels = release_of(cluster, pod).is_none_or(Release::labels_webhook_pods);
    !labels || pod.metadata.label(ADMISSION_LABEL.0) == Some(ADMISSION_LABEL.1)
}

/// Why the log of the present run does not name a cause.
pub fn why_log_says_nothing(cluster: &Cluster, start: &UnderWay) -> Evidence {
    let history = &cluster.history;
    if let Some(log) = history.current_log(start.pod, CONTAINER) {
        return match log.text.lines().rev().find(|line| !line.trim().is_empty()) {
            Some(last) => EvidenceSource::Log
                .says(format!("the manager's log shows no known reason and ends with: {}", quoted(last)))
                .quoting(last),
            None => EvidenceSource::Log.says("the manager's log has been silent for the last two minutes"),
        };
    }
    let text = match history.crash_logs_denied() {
        Some(reason) => format!(
            "the manager's log cannot be read ({reason}). Grant 'get' on 'pods/log' in namespace {} to learn the cause, perhaps {}",
            cluster.namespace,
            candidates(start)
        ),
        None if cluster.is_recorded() => format!(
            "the recording lacks the current run's log (POD.{CONTAINER}.log). The cause is unknown, perhaps {}",
            candidates(start)
        ),
        None => "the manager's log has not been read yet, or its node does not return it".to_owned(),
    };
    EvidenceSource::History.says(text)
}

/// Who renews the Lease gets answers, and who does not take it has not come to the kinds yet.
pub fn candidates(start: &UnderWay) -> &'static str {
    match (start.holds, start.free) {
        (true, _) => "a missing permission or CRD",
        (false, true) => "an unreachable API server or a missing permission",
        (false, false) => "an unreachable API server, a missing permission or CRD",
    }
}

// === waiting for a turn ===

/// Managers that wait while others have their turn.
pub fn queueing(cluster: &Cluster, waiting: &[&UnderWay]) -> Finding {
    let nodes: Vec<&str> = waiting.iter().map(|start| start.pod.spec.node_name.as_str()).collect();
    let since = waiting.iter().map(|start| start.started).min();
    let holder = crate::facts::leases::holder(cluster, WEBHOOK_LOCK);
    let now = match holder {
        Some(node) => format!("until {node}'s manager has started"),
        None => "(the start Lease has no holder)".to_owned(),
    };
    let mut finding = Finding::about(
        &causes::QUEUEING,
        cluster.object::<Lease>(WEBHOOK_LOCK),
        format!("{} waiting to start {now}", counted_waiting(nodes.len())),
    )
    .since(since)
    .impact(
        "volumes of the waiting managers cannot attach, detach or rebuild until those managers have started",
    );
    if let Some(pod) = holder.and_then(|node| cluster.manager_pod_on(node)) {
        finding = finding.with(Name::Pod, pod.metadata.name.to_string());
    }
    let lease = cluster.objects.leases.get(WEBHOOK_LOCK).map(|lease| &lease.spec);
    if let Some((node, lease)) = holder.zip(lease) {
        let acquired = lease.acquire_time.get().map(|at| format!(" since {at}")).unwrap_or_default();
        finding = finding.fact(format!("{node} has held Lease {WEBHOOK_LOCK}{acquired}"));
    }
    let oldest = since
        .map(|since| format!("the first of these managers has been waiting since {since}"))
        .unwrap_or_default();
    finding.fact(format!("nodes whose manager is waiting for the Lease: {}", listed(&nodes))).fact(oldest)
}

fn counted_waiting(number: usize) -> String {
    if number == 1 { "1 manager is".to_owned() } else { format!("{number} managers are") }
}
