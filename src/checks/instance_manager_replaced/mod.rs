//! Instance manager pods that ended and were recreated, with the cause and the volumes affected.
//!
//! The generic restart alert is blind to them: the pod has restartPolicy Never, so it never
//! restarts in place; Longhorn makes a new pod of the same name with a new uid (longhorn-manager
//! v1.12.1 controller/instance_manager_controller.go handlePod). The exporter therefore remembers
//! the last state of every pod that vanished.

mod aftermath;
mod causes;
mod deletion;
mod finding;
mod judge;
mod kubelet;
mod node;
mod seen;
#[cfg(test)]
mod tests;
mod unseen;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::check::*;
use crate::facts::instance_managers::{InstanceManagers, container_of};
use crate::facts::patience::NODE_AWAY;
use crate::facts::volumes;
use crate::history::{GonePod, Observation};
use crate::longhorn::Resource::*;
use crate::longhorn::{Pod, VolumeRobustness};

use aftermath::{Aftermath, Hits};
use judge::{Judged, ReplacementVerdict};

pub static CHECK: Check = check! {
    id: "instance_manager_replaced",
    title: "Instance managers replaced",
    summary: "An instance manager's pod ended within the last 24 hours, with all engines and replicas in it. The finding has severity info if \
    Longhorn itself ended it (settings, clean-up), or if no volume was affected.",
    needs: &[InstanceManagers, Pods, Replicas],
    uses: &[Events, Volumes, Engines, Settings, DaemonSets, LonghornNodes, KubeNodes, NodeEvents],
    causes: causes::ALL,
    ways: &[causes::WAYS],
    gauges: GAUGES,
    alerts: &[LOOPING, REPLACED],
    panels: &[
        Panel {
            title: "Instance managers lost in 24 h",
            description: "Instance manager pods that ended unexpectedly. All their engines and replicas ended too.",
            expr: "sum without (cause, expected) (max without ($without) \
                   (increase(longhorn_health_instance_manager_replacements_total{$job, planned=\"false\"}[24h])))",
            legend: "lost",
            steps: &[Step::at(0.0, "green"), Step::at(0.5, "orange")],
            no_data: "the exporter is not reporting",
            ..Panel::STAT
        },
        Panel {
            dashboard: Dashboard::InstanceManagers,
            title: "Ended instance managers",
            description: "Instance manager pods that ended per hour. Causes settings_sync and cleanup come from Longhorn itself.",
            expr: "max by ($cluster cause, expected) \
                   (increase(longhorn_health_instance_manager_replacements_total{$job}[1h]))",
            legend: "{{cause}}",
            no_data: "the exporter is not reporting",
            ..Panel::TIME_SERIES
        },
        Panel {
            dashboard: Dashboard::InstanceManagers,
            title: "Last replacements",
            description: "Instance managers that were replaced in the last 24 hours.",
            unit: Unit::FromNow,
            columns: &["cause", "instance_manager", "node", "planned", "Value"],
            no_data: "no instance manager was replaced in 24 hours, or the exporter is not reporting",
            ..Panel::TABLE.of(&LAST)
        },
    ],
    of_the_past: true,
};

gauges! {
    REPLACEMENTS = Counter "longhorn_health_instance_manager_replacements_total" ["cause", "planned"]
        "Instance manager pods that ended since the exporter started; planned means by Longhorn or a drain.",
        absent "never (unseen causes are 0)",
        example "increase(longhorn_health_instance_manager_replacements_total{planned=\"false\"}[1h]) > 0";
    LAST = Gauge "longhorn_health_instance_manager_last_replacement_timestamp_seconds" ["instance_manager", "node", "cause", "planned"]
        "Unix time when an instance manager's pod was last recreated or ended.",
        absent "that is over 24 h ago",
        example "time() - longhorn_health_instance_manager_last_replacement_timestamp_seconds{planned=\"false\"} < 3600";
}

const LOOPING: Alert = alert! { "LonghornInstanceManagerProbeLoop",
    when: When::Found(&[&causes::LIVENESS_LOOP]),
    for_: "1m",
    summary: "A liveness probe keeps killing a Longhorn instance manager.",
    description: "The liveness probe keeps killing instance manager {{ $labels.object }}{{ with $labels.node }} on {{ . }}{{ end }}, with all its \
                  engines and replicas. If several nodes are affected, check the pod network. Otherwise take load off the node.",
    why: "The check counts three kills within an hour as a loop. The alert waits 1 min more to ignore a single outlier.",
};

const REPLACED: Alert = alert! { "LonghornInstanceManagerReplaced",
    // the time of the new pod and not increase(): it names the instance manager, it outlives a restart of the
    // exporter (which a lost node may cause), and two exporters agree on it
    when: When::Promql {
        expr: "time() - max without ($without) \
           (longhorn_health_instance_manager_last_replacement_timestamp_seconds{$job, planned=\"false\"}) < $window",
        cases: include_str!("LonghornInstanceManagerReplaced.test.yaml"),
    },
    runbook_only: causes::ALL,
    thresholds: &[Threshold {
        name: "window",
        default: 3600.0,
        // shorter than an evaluation of the rules would be seen by chance
        least: 60.0,
        unit: "seconds",
        is_range: false,
        why: "An hour is enough to notify someone, and Kubernetes keeps the kubelet's Events for that long.",
    }],
    summary: "A Longhorn instance manager died and was replaced.",
    description: "Instance manager {{ $labels.instance_manager }}{{ with $labels.node }} on {{ . }}{{ end }} was replaced {{ $value | \
                  humanizeDuration }} ago. Its engines and replicas ended with it. Check for faulted and degraded volumes, then find out why it \
                  died.",
    why: "One unexpected exit affects every volume in the instance manager, so the alert fires at once.",
};

/// How far back findings go.
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// After this time the judgement over an end is final and counted: by then Longhorn has written
/// which replicas failed, and later the kubelet's events expire.
const SETTLED: SignedDuration = SignedDuration::from_secs(60);

/// From so many kills within an hour on it is a loop.
const LOOP: usize = 3;
/// After this time without another one it is over: a start, the patience of the probe and a back-off take minutes.
const GOES_ON: SignedDuration = SignedDuration::from_mins(20);

/// What came back by itself has done so by then.
const RECOVERED: SignedDuration = SignedDuration::from_mins(15);

/// One end of a pod, judged.
struct End<'a> {
    manager: &'a str,
    node: &'a str,
    verdict: ReplacementVerdict,
    /// What the cause alone does not say.
    detail: Option<String>,
    way: Option<&'static Way>,
    /// How often its probe ended it within the hour, where that goes on.
    kills: usize,
    severity: Severity,
    /// When it ended, or the nearest that is known.
    at: Timestamp,
    successor: Option<&'a Pod>,
    evidence: Vec<Evidence>,
    hits: Hits<'a>,
}

impl<'a> End<'a> {
    /// The end of a pod of this instance manager on this node, as judged; one that is harmless is context.
    fn of(
        [manager, node]: [&'a str; 2],
        judged: Judged,
        harmless: bool,
        at: Timestamp,
        successor: Option<&'a Pod>,
        hits: Hits<'a>,
    ) -> Self {
        let Judged { verdict, detail, evidence, way } = judged;
        let severity = if harmless { Severity::Info } else { severity_of(verdict) };
        End { manager, node, verdict, detail, way, kills: 0, severity, at, successor, evidence, hits }
    }
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    let fleet = InstanceManagers::of(cluster);
    let aftermath = Aftermath::of(cluster);
    let mut ends: BTreeMap<&str, Vec<End>> = BTreeMap::new();
    // nothing was in a pod that never ran: instance_manager_down says why
    let ended = |gone: &&GonePod| gone.last.is_instance_manager() && gone.last.has_run();
    for gone in cluster.history.gone_pods().filter(ended) {
        let of_manager = ends.entry(&gone.last.metadata.name).or_default();
        if cluster.age(gone.at) < DAY {
            of_manager.push(seen::end(cluster, &fleet, &aftermath, gone, out));
        }
    }
    for im in cluster.objects.instance_managers.iter() {
        if !ends.contains_key(im.metadata.name.as_str())
            && let Some(end) = unseen::end(cluster, &fleet, &aftermath, im, out)
        {
            ends.insert(&im.metadata.name, vec![end]);
        }
    }
    for (_, mut ends) in ends {
        // the newest unexpected one speaks for all of them
        ends.sort_by_key(|end| (end.severity, end.at));
        if let Some(mut end) = ends.pop() {
            end.kills = kills(cluster, &aftermath, &end, &ends);
            report(cluster, end, &ends, out);
        }
    }
    let mut counts: BTreeMap<[&str; 2], f64> = BTreeMap::new();
    for verdict in ReplacementVerdict::ALL {
        let labels = [verdict.cause().id, expected_label(verdict)];
        *counts.entry(labels).or_default() += out.begun(verdict.as_str()) as f64;
    }
    for (labels, count) in counts {
        out.sample(&REPLACEMENTS, &labels, count);
    }
}

/// How often the probe of an instance manager ended it within the last hour: as it was seen, or by the Events of its pods.
fn kills(cluster: &Cluster, aftermath: &Aftermath, newest: &End, others: &[End]) -> usize {
    if newest.verdict != ReplacementVerdict::LivenessProbe || cluster.age(newest.at) > GOES_ON {
        return 0;
    }
    let hour = SignedDuration::from_hours(1);
    let recent = |end: &&End| end.verdict == ReplacementVerdict::LivenessProbe && cluster.age(end.at) <= hour;
    let probe =
        newest.successor.and_then(container_of).and_then(|container| container.liveness_probe.as_deref());
    let told = kubelet::probe_kills(aftermath.events_but(newest.manager, ""), probe)
        .filter(|at| cluster.age(*at) <= hour);
    others.iter().filter(recent).count().saturating_add(1).max(told.count())
}

fn expected_label(verdict: ReplacementVerdict) -> &'static str {
    if verdict.is_expected() { "true" } else { "false" }
}

fn severity_of(verdict: ReplacementVerdict) -> Severity {
    if verdict.is_expected() { Severity::Info } else { Severity::Warning }
}

/// Keeps what an end hit: a rebuild clears `failedAt`, and events expire.
fn remember_hits<'a>(cluster: &'a Cluster, uid: &str, hits: &mut Hits<'a>, out: &mut Outcome) {
    const HIT: &str = "hit";
    const ENGINES: &str = "engines";
    let engines = Observation { check: CHECK.id, fact: ENGINES, object: uid.into() };
    hits.engines |= cluster.history.first_seen(&engines).is_some();
    if hits.engines {
        out.first_seen(ENGINES, uid);
    }
    let of_end = format!("{uid}/");
    for (name, seen) in cluster.history.first_seen_of(CHECK.id, HIT, &of_end) {
        let Some(volume) = cluster.objects.volumes.get(name) else {
            out.first_seen(HIT, &format!("{of_end}{name}"));
            hits.deleted = true;
            continue;
        };
        if hits.volumes.insert(&volume.metadata.name) {
            hits.facts.push(format!("volume {name} was seen affected at {seen}"));
        }
    }
    for name in hits.volumes.iter().filter(|name| cluster.objects.volumes.get(name).is_some()) {
        out.first_seen(HIT, &format!("{of_end}{name}"));
    }
}

/// A node that took no engine along hit no workload, and its replicas are rebuilt: the volumes are or will be as before. One that did took the
/// workloads along, and what came back has settled. What someone asked of a kubelet, a drain most of all, is good where it took no engine along
/// and no one saw the request. Once so, it stays so while the kinds that tell are unknown.
fn is_made_good(
    cluster: &Cluster,
    judged: &Judged,
    (uid, at): (&str, Timestamp),
    hits: &Hits,
    out: &mut Outcome,
) -> bool {
    const MADE_GOOD: &str = "made_good";
    const OVER: &str = "over";
    if !matches!(judged.verdict, ReplacementVerdict::NodeLost | ReplacementVerdict::Stopped) {
        return false;
    }
    let good = match [Events, Engines, Volumes, Replicas].into_iter().all(|kind| cluster.knows_all(kind)) {
        true if hits.engines => {
            // who stopped the pod of a workload's engine is still to be found out
            judged.verdict == ReplacementVerdict::NodeLost
                && cluster.age(at) >= RECOVERED
                && hits.volumes.iter().all(|name| is_settled(cluster, name))
        }
        // rebuilds wait for each other, and for a node that reboots
        true => {
            let is_away = judged.verdict == ReplacementVerdict::NodeLost && cluster.age(at) < NODE_AWAY;
            let rebuilds = is_away || hits.volumes.iter().any(|name| is_rebuilt(cluster, name));
            hits.volumes.iter().all(|name| is_whole(cluster, name, rebuilds))
        }
        false => {
            let key = Observation { check: CHECK.id, fact: MADE_GOOD, object: uid.into() };
            cluster.history.first_seen(&key).is_some()
        }
    };
    if good {
        out.first_seen(MADE_GOOD, uid);
    }
    // what breaks later is of another end
    out.ever(OVER, uid, good && cluster.age(at) >= aftermath::AFTER) || good
}

/// True where a volume is there and has all of its replicas, or gets the last of them now or after others.
fn is_whole(cluster: &Cluster, volume: &str, rebuilds: bool) -> bool {
    cluster.objects.volumes.get(volume).is_some_and(|one| match one.status.robustness {
        VolumeRobustness::Degraded => rebuilds || is_rebuilt(cluster, volume),
        robustness => robustness != VolumeRobustness::Faulted,
    })
}

fn is_rebuilt(cluster: &Cluster, volume: &str) -> bool {
    let volume = cluster.objects.volumes.get(volume);
    let engine = volume.and_then(|volume| volumes::current_engine(cluster, volume));
    engine.is_some_and(|engine| volumes::rebuild(engine).is_some())
}

/// True where a volume whose engine died is attached again and whole. A virtual machine may still have the errors of the time between.
fn is_settled(cluster: &Cluster, volume: &str) -> bool {
    cluster.objects.volumes.get(volume).is_some_and(|volume| {
        volume.status.robustness == VolumeRobustness::Healthy && !volume.spec.migratable
    })
}

fn report(cluster: &Cluster, end: End, others: &[End], out: &mut Outcome) {
    let made = end.successor.and_then(|pod| pod.metadata.created()).unwrap_or(end.at);
    // an end of which nothing is known but that it did no harm is neither
    if end.severity == severity_of(end.verdict) {
        let labels = [end.manager, end.node, end.verdict.cause().id, expected_label(end.verdict)];
        out.sample(&LAST, &labels, made.as_second() as f64);
    }
    let severity = if end.kills >= LOOP { causes::LIVENESS_LOOP.severity } else { end.severity };
    out.report(finding::finding(cluster, end, others).severity(severity));
}
