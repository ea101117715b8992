//! Instance manager pods that ended and were recreated, with the cause and the volumes affected.
//!
//! The generic restart alert is blind to them: the pod has restartPolicy Never, so it never
//! restarts in place; Longhorn makes a new pod of the same name with a new uid (longhorn-manager
//! v1.12.1 controller/instance_manager_controller.go handlePod). The exporter therefore remembers
//! the last state of every pod that vanished.

mod aftermath;
mod causes;
mod finding;
mod judge;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::check::*;
use crate::facts::api;
use crate::facts::instance_managers::{InstanceManagers, container_status_of};
use crate::facts::nodes;
use crate::history::{FactKey, GonePod};
use crate::longhorn::Resource::*;
use crate::longhorn::{DataEngine, InstanceManager, Pod, VolumeRobustness, condition};

use aftermath::{Aftermath, Hits, Span};
use judge::{ReplacementScene, ReplacementVerdict};

pub static CHECK: Check = Check {
    id: "instance_manager_replaced",
    title: "Instance managers replaced",
    summary: "The pod of an instance manager ended within the last 24 hours. All engines and replicas in it ended \
              with it. Severity info where Longhorn meant it (settings, clean-up, a drain that affected no volume), where a \
              lost node took only replicas along that are rebuilt, and where an exporter that just started finds a replacement without any trace of harm.",
    needs: &[InstanceManagers, Pods, Replicas],
    uses: &[Events, Volumes, Engines, Settings, DaemonSets, LonghornNodes, KubeNodes],
    causes: causes::ALL,
    gauges: GAUGES,
    alerts: &[REPLACED],
    panels: &[
        Panel {
            title: "Instance managers lost in 24 h",
            description: "Instance manager pods that ended unexpectedly. Each took all its engines and replicas along.",
            expr: "sum without (cause, expected) (max without ($without) \
                   (increase(longhorn_health_instance_manager_replacements_total{$job, expected=\"false\"}[24h])))",
            legend: "lost",
            steps: &[Step::at(0.0, "green"), Step::at(0.5, "orange")],
            no_data: "the exporter does not report",
            ..Panel::STAT
        },
        Panel {
            dashboard: Dashboard::InstanceManagers,
            title: "Instance manager pods that ended, by cause",
            description: "Pods that ended in an hour. settings_sync and stale_cleanup are Longhorn's own doing.",
            expr: "max by ($cluster cause, expected) \
                   (increase(longhorn_health_instance_manager_replacements_total{$job}[1h]))",
            legend: "{{cause}}",
            no_data: "the exporter does not report",
            ..Panel::TIME_SERIES
        },
        Panel {
            dashboard: Dashboard::InstanceManagers,
            title: "Last replacements",
            description: "Instance managers that were replaced in the last 24 hours.",
            unit: Unit::FromNow,
            columns: &["cause", "instance_manager", "node", "expected", "Value"],
            expr: "max without ($without) \
                   (longhorn_health_instance_manager_last_replacement_timestamp_seconds{$job}) * 1000",
            legend: "{{instance_manager}}",
            no_data: "no instance manager was replaced in 24 hours, or the exporter does not report",
            ..Panel::TABLE
        },
    ],
    run,
    ..Check::PLAIN
};

gauges! {
    REPLACEMENTS = Counter "longhorn_health_instance_manager_replacements_total" ["cause", "expected"]
        "Instance manager pods that ended since the exporter started, by cause and whether Longhorn or a drain meant it; counted a minute after the end.",
        absent "never; zero for a cause that was not seen",
        example "increase(longhorn_health_instance_manager_replacements_total{expected=\"false\"}[1h]) > 0";
    LAST = Gauge "longhorn_health_instance_manager_last_replacement_timestamp_seconds" ["instance_manager", "node", "cause", "expected"]
        "When the instance manager's pod was last recreated, or ended if there is no new one.",
        absent "the instance manager was not replaced in the last 24 hours",
        example "time() - longhorn_health_instance_manager_last_replacement_timestamp_seconds{expected=\"false\"} < 3600";
}

const REPLACED: Alert = Alert {
    name: "LonghornInstanceManagerReplaced",
    // the time of the new pod and not increase(): it names the instance manager, it outlives a restart of the
    // exporter (which a lost node may cause), and two exporters agree on it
    when: When::Promql {
        expr: "time() - max without ($without) \
           (longhorn_health_instance_manager_last_replacement_timestamp_seconds{$job, expected=\"false\"}) < $window",
        cases: include_str!("LonghornInstanceManagerReplaced.test.yaml"),
    },
    also: causes::ALL,
    thresholds: &[Threshold {
        name: "window",
        default: 3600.0,
        // shorter than an evaluation of the rules would be seen by chance
        least: 60.0,
        unit: "seconds",
        why: "an hour is enough to notify and to read, and events of the kubelet last as long",
    }],
    summary: "A Longhorn instance manager died and was replaced.",
    description: "Instance manager {{ $labels.instance_manager }}{{ with $labels.node }} on {{ . }}{{ end }} was \
                  replaced {{ $value | humanizeDuration }} ago, cause $cause. Its engines and replicas \
                  ended with it: look for faulted and degraded volumes first, then for the cause.",
    why: "One unexpected end takes down every volume that ran there, so there is nothing to wait for.",
    runbook: include_str!("LonghornInstanceManagerReplaced.md"),
    ..Alert::PLAIN
};

/// How far back findings go.
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// After this time the judgement over an end is final and counted: by then Longhorn has written
/// which replicas failed, and later the kubelet's events expire.
const SETTLED: SignedDuration = SignedDuration::from_secs(60);
/// A pod that is this much younger than its instance manager is not its first.
const WELL_AFTER: SignedDuration = SignedDuration::from_mins(10);
/// The same where something else tells of an end, too.
const AFTER_FIRST: SignedDuration = SignedDuration::from_mins(2);
/// An end that was asked for longer ago than this is another one.
const LONGEST_END: SignedDuration = SignedDuration::from_mins(10);
/// A container may take 30 s to end, and Longhorn makes the next pod some seconds later.
const RECREATED: SignedDuration = SignedDuration::from_secs(45);
/// A node whose Ready condition changed this close to the end took the pod along.
const NODE_CHANGE: SignedDuration = SignedDuration::from_mins(10);

/// One end of a pod, judged.
struct End<'a> {
    manager: &'a str,
    node: &'a str,
    verdict: ReplacementVerdict,
    severity: Severity,
    /// When it ended, or the nearest that is known.
    at: Timestamp,
    successor: Option<&'a Pod>,
    evidence: Vec<Evidence>,
    hits: Hits<'a>,
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    let fleet = InstanceManagers::of(cluster);
    let aftermath = Aftermath::of(cluster);
    let mut ends: BTreeMap<&str, Vec<End>> = BTreeMap::new();
    for gone in cluster.history.gone_pods().filter(|gone| gone.last.is_instance_manager()) {
        let of_manager = ends.entry(&gone.last.metadata.name).or_default();
        if cluster.age(gone.at) < DAY {
            of_manager.push(seen_end(cluster, &fleet, &aftermath, gone, out));
        }
    }
    for im in cluster.objects.instance_managers.iter() {
        if !ends.contains_key(im.metadata.name.as_str())
            && let Some(end) = unseen_end(cluster, &fleet, &aftermath, im, out)
        {
            ends.insert(&im.metadata.name, vec![end]);
        }
    }
    for (_, mut ends) in ends {
        // the newest unexpected one speaks for all of them
        ends.sort_by_key(|end| (end.severity, end.at));
        if let Some(end) = ends.pop() {
            report(cluster, end, &ends, out);
        }
    }
    for verdict in ReplacementVerdict::ALL {
        let labels = [verdict.cause().id, expected_label(verdict)];
        out.sample(&REPLACEMENTS, &labels, out.begun(verdict.as_str()) as f64);
    }
}

fn expected_label(verdict: ReplacementVerdict) -> &'static str {
    if verdict.is_expected() { "true" } else { "false" }
}

fn severity_of(verdict: ReplacementVerdict) -> Severity {
    if verdict.is_expected() { Severity::Info } else { Severity::Warning }
}

/// An end that the exporter saw. Its verdict is kept once it is settled.
fn seen_end<'a>(
    cluster: &'a Cluster,
    fleet: &InstanceManagers<'a>,
    aftermath: &Aftermath<'a>,
    gone: &'a GonePod,
    out: &mut Outcome,
) -> End<'a> {
    let (name, uid, node) = (&gone.last.metadata.name, &gone.last.metadata.uid, &gone.last.spec.node_name);
    let successor = successor_of(cluster, gone);
    let ended = container_status_of(&gone.last).and_then(|status| status.state.terminated.as_ref());
    let events = aftermath.events(name, Some(uid), "");
    let began = ended
        .and_then(|ended| ended.finished_at.get())
        .or_else(|| aftermath::asked_to_end(&gone.last, &events));
    let began = began.filter(|began| gone.at.duration_since(*began) <= LONGEST_END);
    let end = began.unwrap_or(gone.at).min(gone.at);
    let again = successor.and_then(|pod| pod.metadata.created()).unwrap_or(gone.at).max(gone.at);
    let mut hits = aftermath.hits(name, node, Span { end, again, exact: began.is_some() });
    aftermath.add_dead_engines(name, &mut hits);
    remember_hits(cluster, uid, &mut hits, out);
    let im = cluster.objects.instance_managers.get(name);
    let scene = ReplacementScene {
        last: &gone.last,
        successor,
        retired: im.is_none_or(|im| im.metadata.is_deleting() || fleet.is_old(im)),
        setting: setting_that_replaces(cluster, successor),
        node_trouble: node_trouble(cluster, node, gone.last.metadata.created(), end),
        events,
        events_reach_back: aftermath.reach_back(end),
        hits: &hits,
    };
    let (now_judged, mut evidence) = judge::judge(&scene);
    let settled = settled_verdict(cluster, uid);
    let verdict = settled.unwrap_or(now_judged);
    if verdict != now_judged {
        let cause = verdict.cause();
        let text = format!("judged as {cause} when it happened; the objects that it rested on are gone");
        evidence = vec![EvidenceSource::History.says(text)];
    }
    if settled.is_some() || cluster.age(gone.at) >= SETTLED {
        out.first_seen(verdict.as_str(), uid);
    }
    let text = format!("pod {name} with uid {uid} was gone at {}", gone.at);
    evidence.push(EvidenceSource::History.says(text));
    End {
        manager: name,
        node,
        verdict,
        severity: if is_made_good(cluster, verdict, &hits) { Severity::Info } else { severity_of(verdict) },
        at: gone.at,
        successor,
        evidence,
        hits,
    }
}

/// Keeps what an end hit: a rebuild clears `failedAt`, and events expire.
fn remember_hits<'a>(cluster: &'a Cluster, uid: &str, hits: &mut Hits<'a>, out: &mut Outcome) {
    const HIT: &str = "hit";
    const ENGINES: &str = "engines";
    let engines = FactKey { check: CHECK.id, fact: ENGINES, object: uid.into() };
    hits.engines |= cluster.history.first_seen(&engines).is_some();
    if hits.engines {
        out.first_seen(ENGINES, uid);
    }
    let of_end = format!("{uid}/");
    for (name, seen) in cluster.history.first_seen_of(CHECK.id, HIT, &of_end) {
        let volume = cluster.objects.volumes.get(name).map(|volume| volume.metadata.name.as_str());
        if let Some(name) = volume.filter(|name| hits.volumes.insert(name)) {
            hits.facts.push(format!("volume {name} was seen affected at {seen}"));
        }
    }
    for name in hits.volumes.iter().filter(|name| cluster.objects.volumes.get(name).is_some()) {
        out.first_seen(HIT, &format!("{of_end}{name}"));
    }
}

/// A setting for which Longhorn replaces instance managers that nothing runs in: one that waits to be applied, or an empty
/// priority-class beside a PriorityClass that the API server gives to every pod.
fn setting_that_replaces(cluster: &Cluster, successor: Option<&Pod>) -> Option<String> {
    const COMPARED: [&str; 5] = [
        "guaranteed-instance-manager-cpu",
        "priority-class",
        "storage-network",
        "system-managed-components-node-selector",
        "taint-toleration",
    ];
    let waits =
        |name: &&&str| cluster.setting(name).is_some_and(|setting| setting.status.applied == Some(false));
    if let Some(name) = COMPARED.iter().find(waits) {
        return Some(format!("setting {name} waits to be applied (status.applied is false)"));
    }
    let class = cluster.objects.priority_classes.iter().find(|class| class.global_default)?;
    let given = successor?.spec.priority_class_name == class.metadata.name;
    let empty = cluster.setting("priority-class").is_some_and(|setting| setting.value.trim().is_empty());
    (given && empty).then(|| {
        format!(
            "setting priority-class is empty while PriorityClass {} is the default of the cluster: Longhorn replaces idle instance \
             managers every hour for that",
            class.metadata.name
        )
    })
}

/// The pod that came right after this one, which may itself be gone by now: what a later one was made
/// for says nothing about this end.
fn successor_of<'a>(cluster: &'a Cluster, gone: &'a GonePod) -> Option<&'a Pod> {
    let (name, uid) = (&gone.last.metadata.name, &gone.last.metadata.uid);
    let lives = cluster.objects.pods.get(name).filter(|pod| pod.metadata.uid != *uid);
    let next = gone.replaced_by.as_str();
    if next.is_empty() || lives.is_some_and(|pod| pod.metadata.uid == next) {
        return lives;
    }
    let ended = cluster.history.gone_pods().find(|other| other.last.metadata.uid == next);
    ended.map(|other| &*other.last).or(lives)
}

/// How this end was judged when it was fresh.
fn settled_verdict(cluster: &Cluster, uid: &str) -> Option<ReplacementVerdict> {
    ReplacementVerdict::ALL.into_iter().find(|verdict| {
        let key = FactKey { check: CHECK.id, fact: verdict.as_str(), object: uid.into() };
        cluster.history.first_seen(&key).is_some()
    })
}

/// A replacement that happened before the exporter watched, as far as timestamps tell: the pod is
/// much younger than its instance manager.
fn unseen_end<'a>(
    cluster: &'a Cluster,
    fleet: &InstanceManagers<'a>,
    aftermath: &Aftermath<'a>,
    im: &'a InstanceManager,
    out: &mut Outcome,
) -> Option<End<'a>> {
    let (name, node) = (&im.metadata.name, &im.spec.node_id);
    let pod = fleet.pod_of(im)?;
    let (made, began) = (pod.metadata.created()?, im.metadata.created()?);
    let watched = cluster.history.started.is_some_and(|started| made >= started);
    let age = made.duration_since(began);
    // so it is with nearly all of them
    if watched || age < AFTER_FIRST.min(WELL_AFTER) || cluster.age(made) >= DAY {
        return None;
    }
    let mut hits = aftermath.hits(name, node, Span { end: made, again: made, exact: false });
    // a first pod is made within seconds, and nothing can have run in an earlier one then
    let mut events = aftermath.events(name, None, &pod.metadata.uid);
    // an earlier pod than the last one may have ended for another reason
    events.retain(|event| event.last_seen().is_some_and(|seen| made.duration_since(seen).abs() <= RECREATED));
    let traced = !hits.facts.is_empty() || !events.is_empty();
    let least = if traced { AFTER_FIRST } else { WELL_AFTER };
    if age < least {
        return None;
    }
    // a default v2 instance manager gets its first pod when the old one has gone
    if im.spec.data_engine == DataEngine::V2 && hits.facts.is_empty() {
        return None;
    }
    remember_hits(cluster, &pod.metadata.uid, &mut hits, out);
    let stranger = Pod { metadata: pod.metadata.clone(), ..Pod::default() };
    let setting = setting_that_replaces(cluster, Some(pod)).filter(|_| hits.facts.is_empty());
    let scene = ReplacementScene {
        last: &stranger,
        successor: None,
        retired: false,
        setting,
        node_trouble: node_trouble(cluster, node, Some(began), made),
        events,
        events_reach_back: aftermath.reach_back(made),
        hits: &hits,
    };
    let (verdict, mut evidence) = judge::judge(&scene);
    evidence.push(api(format!("the pod was created at {made}, long after its instance manager ({began})")));
    evidence.push(api("the end of the previous pod was not observed; the cause is inferred"));
    let harmless = verdict == ReplacementVerdict::Unknown && hits.facts.is_empty() && cluster.is_watched();
    let harmless = harmless || is_made_good(cluster, verdict, &hits);
    let severity = if harmless { Severity::Info } else { severity_of(verdict) };
    Some(End { manager: name, node, verdict, severity, at: made, successor: Some(pod), evidence, hits })
}

/// A node that took no engine along hit no workload, and its replicas were rebuilt: the volumes are as before.
fn is_made_good(cluster: &Cluster, verdict: ReplacementVerdict, hits: &Hits) -> bool {
    let hurt = [VolumeRobustness::Degraded, VolumeRobustness::Faulted];
    let volume = |name: &&str| cluster.objects.volumes.get(name);
    let whole = |name| volume(name).is_some_and(|volume| !hurt.contains(&volume.status.robustness));
    let told = cluster.knows_all(Events) && cluster.knows_all(Engines);
    verdict == ReplacementVerdict::NodeLost && told && !hits.engines && hits.volumes.iter().all(whole)
}

/// The node does not answer, or its Ready condition changed about when the pod ended. Not before the pod
/// was made: a node that has just joined takes none along.
fn node_trouble(cluster: &Cluster, node: &str, born: Option<Timestamp>, end: Timestamp) -> Option<Evidence> {
    if let Some(down) = nodes::down(cluster, node) {
        return Some(down);
    }
    let ready = condition(&cluster.objects.kube_nodes.get(node)?.status.conditions, "Ready")?;
    let changed = ready.last_transition_time.get()?;
    let near = changed.duration_since(end).abs() <= NODE_CHANGE && born.is_none_or(|born| changed >= born);
    near.then(|| api(format!("node {node} became Ready at {changed}, about when the pod ended")))
}

fn report(cluster: &Cluster, end: End, others: &[End], out: &mut Outcome) {
    let made = end.successor.and_then(|pod| pod.metadata.created()).unwrap_or(end.at);
    // an end of which nothing is known but that it did no harm is neither
    if end.severity == severity_of(end.verdict) {
        let labels = [end.manager, end.node, end.verdict.cause().id, expected_label(end.verdict)];
        out.sample(&LAST, &labels, made.as_second() as f64);
    }
    let (severity, finding) = (end.severity, finding::finding(cluster, end, others));
    out.find(finding.severity(severity));
}
