//! Probes of longhorn-manager as seconds against what its release waits for, slow starts, and
//! probes that fail now.
//!
//! Facts: readiness is a TCP connection to 9500 up to 1.4, an HTTPS request to 9501 from 1.5 to 1.9
//! and to 9502 from 1.10 on, always with Kubernetes' defaults (period 10 s, timeout 1 s, threshold
//! 3); no release has a startup or liveness probe (longhorn deploy/longhorn.yaml v1.3.3 to v1.12.1).
//! A manager waits 60 s (1.5.0 to 1.9.1) or 120 s (from 1.9.2) for its webhook and then exits
//! (longhorn-manager v1.5.4, v1.9.2 webhook/webhook.go).

mod causes;
mod config;
mod events;
mod gauges;
pub mod model;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use self::events::{Failing, ProbeFailure};
use self::model::{ProbeKind, Timing};
use crate::check::*;
use crate::facts::patience::LISTENS;
use crate::facts::releases::release_of;
use crate::facts::start::{self, Done, Lost, Starts};
use crate::facts::text::quoted;
use crate::longhorn::Resource::*;
use crate::longhorn::{Pod, Release, condition};

pub static CHECK: Check = check! {
    id: "manager_probes",
    title: "Manager probes and startup",
    summary: "A longhorn-manager's probe is misconfigured or keeps failing, or its startup takes longer than its release waits for the webhook.",
    needs: &[DaemonSets, Pods],
    uses: &[Events, Settings, Leases, KubeNodes],
    causes: causes::ALL,
    gauges: gauges::GAUGES,
    alerts: rules::ALERTS,
    panels: rules::PANELS,
};

/// A slow start is reported for a day; the gauge of the slowest start goes on.
const RECENT_START: SignedDuration = SignedDuration::from_hours(24);
/// A probe fails now if it failed within this time: two of the kubelet's event intervals.
const RECENT_FAILURE: SignedDuration = SignedDuration::from_mins(10);
/// Readiness that was lost for less than this is a blip.
const LOST_FOR: SignedDuration = SignedDuration::from_mins(1);
/// A difference of this many seconds is worth telling.
const NOTICEABLE: i64 = 10;
/// A kubelet writes 25 Events about an object at once, and then one in five minutes (kubelet v1.36.3, client-go
/// tools/record/events_cache.go); some of them are of other reasons.
const EVENT_BURST: u64 = 20;
/// Failures of readiness are part of a start for so long where the release does not say.
const START_WITHOUT_LIMIT: i64 = 120;

fn run(cluster: &Cluster, out: &mut Outcome) {
    config::judge(cluster, out);
    let starts = start::observe(cluster);
    let pods: Managers = cluster
        .manager_pods()
        .filter(|pod| !pod.metadata.is_deleting())
        .map(|pod| (pod.metadata.name.as_str(), pod))
        .collect();
    let failures =
        cluster.can_read(Resource::Events).then(|| events::failures(cluster.objects.events.iter(), &pods));
    // in a rollout managers of two releases start
    let limit = |start: &Done| release_of(cluster, start.pod).and_then(Release::webhook_wait);
    let was_started = |start: &Done| {
        let readiness = (start.pod.metadata.name.as_str(), ProbeKind::Readiness);
        let failing = failures.as_ref().and_then(|failures| failures.get(&readiness));
        failing.is_some_and(|failing| {
            let limit = || SignedDuration::from_secs(limit(start).unwrap_or(0));
            failing.paused(start.started, tolerance(start.pod), EVENT_BURST)
                || failing.lost_its_way(start.started, limit())
        })
    };
    let dated = || starts.done.iter().filter(|start| !node_was_away(cluster, start) && !was_started(start));
    if let Some(slowest) = dated().map(|start| start.total).max() {
        out.sample(&gauges::SLOWEST, &[], slowest.as_secs_f64());
    }
    let mut slow: BTreeMap<&str, SignedDuration> = BTreeMap::new();
    for lost in &starts.lost {
        out.ever("lost_readiness", &run_of(lost.pod), true);
    }
    for start in dated() {
        // one that was Ready before, and was not for a while, did not take that long to start
        if out.ever("lost_readiness", &run_of(start.pod), false) {
            continue;
        }
        let Some(limit) = limit(start).filter(|limit| is_slow(cluster, start, *limit)) else { continue };
        let node = slow.entry(start.pod.spec.node_name.as_str()).or_default();
        *node = start.total.max(*node);
        out.report(slow_start(cluster, start, limit));
    }
    for (node, total) in slow.into_iter().filter(|(node, _)| !node.is_empty()) {
        out.sample(&gauges::SLOW, &[node], total.as_secs_f64());
    }
    probe_failures(cluster, &starts, &pods, failures, out);
}

/// Managers that are not being deleted, by the names of their pods.
type Managers<'a> = BTreeMap<&'a str, &'a Pod>;

/// How long the readiness probe of a manager may fail before the pod is not Ready any more.
fn tolerance(pod: &Pod) -> SignedDuration {
    let container = pod.spec.container("longhorn-manager");
    let probe = container.and_then(|container| ProbeKind::Readiness.of(container)).map(Timing::of);
    SignedDuration::from_secs(probe.map_or(30, Timing::tolerance))
}

/// The present run of a manager.
fn run_of(pod: &Pod) -> String {
    let started = pod.container_status("longhorn-manager").and_then(|status| status.running_since());
    format!("{} {}", pod.metadata.name, started.map_or(0, |started| started.as_second()))
}

fn is_slow(cluster: &Cluster, start: &Done, limit: i64) -> bool {
    cluster.age(start.ready) <= RECENT_START && start.own > SignedDuration::from_secs(limit)
}

/// True where the node became Ready again after the container had been started: pods of a node that is away are not Ready, and are
/// again with it (kubelet v1.36.3, recorded), so that the pod does not tell when its start was over.
fn node_was_away(cluster: &Cluster, start: &Done) -> bool {
    let node = cluster.objects.kube_nodes.get(&start.pod.spec.node_name);
    let ready = node.and_then(|node| condition(&node.status.conditions, "Ready"));
    let since = ready.and_then(|ready| ready.last_transition_time.get());
    since.is_some_and(|since| since.duration_since(start.started) > LOST_FOR)
}

fn slow_start(cluster: &Cluster, start: &Done, limit: i64) -> Finding {
    let (pod, node) = (start.pod.metadata.name.as_str(), start.pod.spec.node_name.as_str());
    let (own, total) = (start.own.as_secs(), start.total.as_secs());
    let message = format!("manager pod {pod} took {own} s to start (limit {limit} s)");
    let mut finding = of_pod(cluster, &causes::SLOW_START, pod, node, message)
        .since(Some(start.started))
        .impact(
            "none now. Without another Ready manager, this manager would have failed to start and crash-looped.",
        )
        .fact(format!("container longhorn-manager was started at {}", start.started))
        .fact(format!("the pod has been Ready since {}", start.ready));
    if own < total {
        let text = format!(
            "the startup took {total} s after the first {} s, while another manager was starting",
            total - own
        );
        finding = finding.fact(text);
    }
    for (name, late) in started_later(start) {
        let text = format!(
            "the pod could not be Ready before its container {name} started, {late} s after the manager"
        );
        finding = finding.fact(text);
    }
    finding
}

/// Other containers of the pod, from 1.7 on that which pulls the share manager's image, and by how many
/// seconds they were started later.
fn started_later<'a>(start: &Done<'a>) -> impl Iterator<Item = (&'a str, i64)> {
    let started = start.started;
    start.pod.status.container_statuses.iter().filter_map(move |status| {
        let running = status.running_since()?;
        let late = running.duration_since(started).as_secs();
        (status.name != "longhorn-manager" && late > NOTICEABLE).then_some((status.name.as_str(), late))
    })
}

fn probe_failures<'a>(
    cluster: &Cluster,
    starts: &Starts,
    pods: &Managers<'a>,
    failures: Option<BTreeMap<(&'a str, ProbeKind), Failing>>,
    out: &mut Outcome,
) {
    match &failures {
        Some(failures) => sample_failures(failures, out),
        None => {
            out.unknown("events cannot be read, so failing probes are found only if a manager is not Ready")
        }
    }
    let failures = failures.unwrap_or_default();
    let mut ends: BTreeMap<&str, Option<Timestamp>> = BTreeMap::new();
    ends.extend(starts.done.iter().map(|start| (start.pod.metadata.name.as_str(), Some(start.ready))));
    ends.extend(starts.under_way.iter().map(|start| (start.pod.metadata.name.as_str(), None)));
    for (&name, pod) in pods {
        let lost = starts.lost.iter().find(|lost| lost.pod.metadata.name == name);
        // who lost readiness had come to the end of its start, by when its probe began to fail
        let had_ended = lost.and_then(|lost| lost.since.checked_sub(tolerance(pod)).ok());
        let latest = || {
            let latest = latest_start_end(cluster, pod);
            latest.map(|latest| had_ended.map_or(latest, |ended| ended.min(latest)))
        };
        let start_end = ends.get(name).copied().unwrap_or_else(latest);
        let lost = lost.filter(|lost| cluster.age(lost.since) >= LOST_FOR && !is_young(cluster, pod));
        let failing: Vec<_> = ProbeKind::ALL
            .into_iter()
            .filter_map(|kind| {
                let failing = failures.get(&(name, kind))?;
                Some((kind, failing, fails_since(cluster, pod, kind, failing, start_end)?))
            })
            .collect();
        if lost.is_some() || !failing.is_empty() {
            out.report(probe_failing(cluster, pod, lost, &failing));
        }
    }
}

fn sample_failures(failures: &BTreeMap<(&str, ProbeKind), Failing>, out: &mut Outcome) {
    let mut counts: BTreeMap<(ProbeKind, ProbeFailure), u64> = BTreeMap::new();
    for ((_, kind), failing) in failures {
        for (failure, occurrences) in &failing.occurrences {
            let count = counts.entry((*kind, *failure)).or_default();
            *count = count.saturating_add(*occurrences);
        }
    }
    for ((kind, failure), count) in counts {
        out.sample(&gauges::FAILURES, &[kind.as_str(), failure.as_str()], count as f64);
    }
}

/// True in the first minute of a container: its webhooks do not listen yet.
fn is_young(cluster: &Cluster, pod: &Pod) -> bool {
    let running = pod.container_status("longhorn-manager").and_then(|status| status.running_since());
    running.is_some_and(|since| cluster.age(since) < LISTENS)
}

/// When a start was over at the latest, where the pod does not tell when it was.
fn latest_start_end(cluster: &Cluster, pod: &Pod) -> Option<Timestamp> {
    let running = pod.container_status("longhorn-manager")?.state.running.as_ref()?;
    let limit = release_of(cluster, pod).and_then(Release::webhook_wait).unwrap_or(START_WITHOUT_LIMIT);
    running.started_at.get()?.checked_add(SignedDuration::from_secs(limit)).ok()
}

/// From when on failures of a probe count: for readiness after the start, during which they are expected. `None` where there were not
/// lately as many of them since as the probe bears, and where the container does not run, which is another check's.
fn fails_since(
    cluster: &Cluster,
    pod: &Pod,
    kind: ProbeKind,
    failing: &Failing,
    start_end: Option<Timestamp>,
) -> Option<Timestamp> {
    let running = pod.container_status("longhorn-manager").and_then(|status| status.state.running.as_ref());
    let started = running?.started_at.get()?;
    if is_over(cluster, pod, kind, failing, started) {
        return None;
    }
    let from = match kind {
        // a probe that kills may have been the reason for the present start
        ProbeKind::Startup | ProbeKind::Liveness => Timestamp::MIN,
        ProbeKind::Readiness if is_young(cluster, pod) => return None,
        ProbeKind::Readiness => {
            // the second of the start is still that of the run before, whose listener was gone
            let run = started.checked_add(SignedDuration::from_secs(1)).unwrap_or(started);
            start_end.unwrap_or(Timestamp::MAX).max(over_since(cluster, pod, failing)).max(run)
        }
    };
    let probe = pod.spec.container("longhorn-manager").and_then(|container| kind.of(container));
    let threshold = probe.map_or(3, |probe| probe.threshold());
    (failing.lately(cluster.now, RECENT_FAILURE, from) >= threshold as f64).then_some(from)
}

/// True where the failures never were as many in a row as the probe bears, and the next probes would have failed by now: a pod that
/// stayed Ready, or a container that was not restarted, has borne them.
fn is_over(cluster: &Cluster, pod: &Pod, kind: ProbeKind, failing: &Failing, started: Timestamp) -> bool {
    let probe = pod.spec.container("longhorn-manager").and_then(|container| kind.of(container));
    let quiet = probe.map_or(10, |probe| probe.period()).saturating_mul(2).saturating_add(10);
    let ended = failing.last.is_some_and(|last| cluster.age(last).as_secs() >= quiet);
    let borne = match kind {
        ProbeKind::Readiness => over_since(cluster, pod, failing) > Timestamp::MIN,
        // one that kills writes its last failure before the container starts again
        ProbeKind::Startup | ProbeKind::Liveness => {
            failing.total() < EVENT_BURST && failing.first().is_some_and(|first| first > started)
        }
    };
    ended && borne
}

/// Since when a readiness probe has succeeded for as long as it failed before it counted: what failed before is over. Not where so
/// many failures were written that the kubelet may keep quiet about later ones.
fn over_since(cluster: &Cluster, pod: &Pod, failing: &Failing) -> Timestamp {
    let tolerance = tolerance(pod);
    let over =
        pod.ready_since().filter(|since| cluster.age(*since) >= tolerance && failing.total() < EVENT_BURST);
    over.unwrap_or(Timestamp::MIN)
}

fn probe_failing(
    cluster: &Cluster,
    pod: &Pod,
    lost: Option<&Lost>,
    failing: &[(ProbeKind, &Failing, Timestamp)],
) -> Finding {
    let (name, node) = (pod.metadata.name.as_str(), pod.spec.node_name.as_str());
    let recent = cluster.now.checked_sub(RECENT_FAILURE).unwrap_or(Timestamp::MIN);
    let message = match failing.first() {
        Some((kind, failing, since)) => {
            format!(
                "the {} probe of manager pod {name} is failing: {}",
                kind.as_str(),
                failing.kinds(recent.max(*since))
            )
        }
        None => format!("the readiness probe of manager pod {name} is failing"),
    };
    let kills = failing.iter().any(|(kind, ..)| *kind != ProbeKind::Readiness);
    let impact = if kills {
        "the kubelet restarts the manager. Meanwhile, the manager's volumes cannot attach, detach or rebuild."
    } else {
        "the manager drops out of the webhook and API Services whenever the probe reaches its failure threshold"
    };
    let mut finding = of_pod(cluster, &causes::PROBE_FAILING, name, node, message)
        .since(lost.map(|lost| lost.since))
        .impact(impact);
    if let Some(lost) = lost {
        let text =
            format!("the pod has not been Ready since {}, although its container is running", lost.since);
        finding = finding.fact(text);
    }
    for (kind, failing, since) in failing {
        let text = format!(
            "{} probe: {}, the last one: {}",
            kind.as_str(),
            failing.kinds(recent.max(*since)),
            quoted(&failing.message)
        );
        finding = finding.fact(EvidenceSource::Event.says(text).quoting(&failing.message));
    }
    finding
}

fn of_pod(cluster: &Cluster, cause: &'static Cause, pod: &str, node: &str, message: String) -> Finding {
    Finding::about(cause, cluster.object::<Pod>(pod), message).node(node)
}
