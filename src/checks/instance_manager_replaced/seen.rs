//! An end that the exporter saw. Its verdict is kept once it is settled.

use jiff::SignedDuration;

use super::aftermath::{self, Aftermath, Span};
use super::judge::{self, Judged, ReplacementScene, ReplacementVerdict};
use super::node::NodeStory;
use super::{CHECK, End, SETTLED, is_made_good, remember_hits};
use crate::check::*;
use crate::facts::instance_managers::{InstanceManagers, container_status_of};
use crate::history::{GonePod, Observation};
use crate::longhorn::Pod;

/// An end that was asked for longer ago than this is another one.
const LONGEST_END: SignedDuration = SignedDuration::from_mins(10);

/// Judges the end of a pod that is gone.
pub(super) fn end<'a>(
    cluster: &'a Cluster,
    fleet: &InstanceManagers<'a>,
    aftermath: &Aftermath<'a>,
    gone: &'a GonePod,
    out: &mut Outcome,
) -> End<'a> {
    let (name, uid, node) = (&gone.last.metadata.name, &gone.last.metadata.uid, &gone.last.spec.node_name);
    let born = gone.last.metadata.created();
    let successor = successor_of(cluster, gone);
    let ended = container_status_of(&gone.last).and_then(|status| status.state.terminated.as_ref());
    let events = aftermath.events_of(name, uid);
    let began = aftermath::asked_to_end(&gone.last, &events)
        .or_else(|| ended.and_then(|ended| ended.finished_at.get()))
        .filter(|began| gone.at.duration_since(*began) <= LONGEST_END);
    // a lost node dates the end of a container by its own return
    let away = gone.end.node.as_ref().filter(|node| node.is_away()).and_then(|node| node.since);
    let lost = aftermath::lost_since(&gone.last, &events).into_iter().chain(away).min();
    let lost = lost.filter(|lost| *lost <= gone.at && born.is_none_or(|born| born <= *lost));
    let end = lost.or(began).unwrap_or(gone.at).min(gone.at);
    let again = successor.and_then(|pod| pod.metadata.created()).unwrap_or(gone.at).max(gone.at);
    let exact = lost.is_none() && began.is_some();
    let mut hits = aftermath.hits(name, node, Span { end, again, exact });
    aftermath.add_dead_engines(name, &mut hits);
    remember_hits(cluster, uid, &mut hits, out);
    let im = cluster.objects.instance_managers.get(name);
    let scene = ReplacementScene {
        last: &gone.last,
        successor,
        end: &gone.end,
        retired: im.is_none_or(|im| im.metadata.is_deleting() || fleet.is_old(im)),
        setting: setting_that_replaces(cluster, successor),
        node: NodeStory::of(cluster, node, born, began.unwrap_or(gone.at), Some(&gone.end)),
        taint_manager: aftermath.taint_manager(name, began.unwrap_or(gone.at), born),
        events,
        events_reach_back: aftermath.reach_back(end),
        hits: &hits,
    };
    let mut judged = judge::judge(&scene);
    let settled = settled_verdict(cluster, uid);
    let verdict = settled.unwrap_or(judged.verdict);
    if judged.verdict != verdict {
        let cause = verdict.cause();
        let text =
            format!("the exporter found {cause} when it happened (the objects it read no longer exist)");
        judged = Judged::new(verdict, vec![EvidenceSource::History.says(text)]);
    }
    if settled.is_some() || cluster.age(gone.at) >= SETTLED {
        out.first_seen(verdict.as_str(), uid);
    }
    let text = format!("pod {name} with uid {uid} no longer existed at {}", gone.at);
    judged.evidence.push(EvidenceSource::History.says(text));
    let made_good = is_made_good(cluster, &judged, (uid, gone.at), &hits, out);
    End::of([name.as_str(), node.as_str()], judged, made_good, gone.at, successor, hits)
}

/// A setting for which Longhorn replaces instance managers that nothing runs in: one that waits to be applied, or an empty
/// priority-class beside a PriorityClass that the API server gives to every pod.
pub(super) fn setting_that_replaces(cluster: &Cluster, successor: Option<&Pod>) -> Option<String> {
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
        return Some(format!("setting {name} is pending (status.applied is false)"));
    }
    let class = cluster.objects.priority_classes.iter().find(|class| class.global_default)?;
    let given = successor?.spec.priority_class_name == class.metadata.name;
    let empty = cluster.setting("priority-class").is_some_and(|setting| setting.value.trim().is_empty());
    (given && empty).then(|| {
        format!(
            "setting priority-class is empty but PriorityClass {} is the cluster's default, so Longhorn replaces idle instance managers every hour",
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
        let key = Observation { check: CHECK.id, fact: verdict.as_str(), object: uid.into() };
        cluster.history.first_seen(&key).is_some()
    })
}
