//! What pods of the manager, and Events, tell of changes: rollouts, an installation, instance managers that were stopped, reboots.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::changes::{Collect, INSTALLED, LONGEST, SAME, cordon, thing};
use crate::cluster::Cluster;
use crate::edits::Edit;
use crate::facts::text::shortened;
use crate::happened::{Entry, What};
use crate::longhorn::{Event, Release};

/// Its DaemonSet and its container.
const MANAGER: &str = "longhorn-manager";

/// Adds them to the other changes.
pub fn add(cluster: &Cluster, collect: &mut Collect<'_>) {
    node_events(cluster, collect);
    rollouts(cluster, collect);
    stopped(cluster, collect);
}

/// Rollouts and the installation of the manager, as its pods tell of them: those of one template have one generation, and share an image.
fn rollouts(cluster: &Cluster, collect: &mut Collect<'_>) {
    let made = cluster.manager_daemon_set().and_then(|set| set.metadata.created());
    let mut first: BTreeMap<(u64, &str), Timestamp> = BTreeMap::new();
    for pod in cluster.manager_pods() {
        let (Some(container), Some(at)) = (pod.spec.container(MANAGER), pod.metadata.created()) else {
            continue;
        };
        let generation = pod.metadata.label("pod-template-generation").and_then(|text| text.parse().ok());
        let known = first.entry((generation.unwrap_or_default(), container.image.as_str())).or_insert(at);
        *known = at.min(*known);
    }
    let deleted = |at: Timestamp| {
        let events = cluster.events_about(MANAGER).filter(|event| event.reason == "SuccessfulDelete");
        let mut ends = events.filter_map(Event::last_seen);
        ends.any(|deleted| at.duration_since(deleted).abs() <= SAME)
    };
    let is_first = first.keys().all(|(generation, _)| *generation == 1);
    if let Some(made) = made.filter(|made| collect.is_of_interest(*made)) {
        installed(cluster, collect, made, is_first);
    }
    let installed = cluster.release();
    for ((generation, image), at) in first {
        let is_old = made.is_some_and(|made| at.duration_since(made) > INSTALLED);
        let is_rollout = generation > 1 || deleted(at);
        if !(is_old || is_rollout) || !collect.is_of_interest(at) {
            continue;
        }
        let after = Some(image.to_owned());
        if !is_rollout {
            let text = format!("the oldest longhorn-manager pod of image {image} was created");
            let edit = Edit { subject: MANAGER.into(), field: "oldest pod".into(), before: None, after };
            collect.push(Entry { edit: Some(edit), ..Entry::new(What::Added, Some(at), text) });
            continue;
        }
        let other = installed.filter(|release| Release::from_image(image) != Some(*release));
        let other = other.map(|release| format!(" (installed: {release})")).unwrap_or_default();
        let text = format!("{MANAGER} was rolled out: managers now run {image}{other}");
        let edit = Edit { subject: MANAGER.into(), field: "image".into(), before: None, after };
        collect.add(Entry { edit: Some(edit), ..Entry::new(What::Changed, Some(at), text) });
    }
}

/// The DaemonSet is new. Longhorn is, too, unless its settings are older.
fn installed(cluster: &Cluster, collect: &mut Collect<'_>, made: Timestamp, is_first: bool) {
    let settings = cluster.objects.settings.iter().filter_map(|setting| setting.metadata.created());
    let text = match settings.min() {
        Some(oldest) if made.duration_since(oldest) <= SAME => match cluster.release().filter(|_| is_first) {
            Some(release) => format!("Longhorn {release} was installed"),
            None => "Longhorn was installed".to_owned(),
        },
        _ => format!("DaemonSet {MANAGER} was created"),
    };
    let edit = thing(format!("DaemonSet {MANAGER}"));
    collect.push(Entry { edit: Some(edit), ..Entry::new(What::Added, Some(made), text) });
}

/// Instance managers that the kubelet stopped, as for an eviction, a drain or a failed probe: of their pods nothing else may be left.
fn stopped(cluster: &Cluster, collect: &mut Collect<'_>) {
    for event in cluster.objects.events.iter().filter(|event| event.reason == "Killing") {
        let (pod, host) = (&event.involved_object.name, &event.source.host);
        let Some(at) = event.last_seen().filter(|at| collect.is_of_interest(*at)) else { continue };
        if event.involved_object.kind != "Pod" || !pod.starts_with("instance-manager-") {
            continue;
        }
        let on = if host.is_empty() { String::new() } else { format!(" on {host}") };
        let why = match event.said() {
            said if said.starts_with("Stopping container") => String::new(),
            said => format!(" (\"{}\")", shortened(said, LONGEST)),
        };
        let text = format!("the kubelet stopped pod {pod}{on}{why}");
        let edit = Edit { subject: format!("pod {pod}"), field: "stopped".into(), before: None, after: None };
        collect.push(Entry { edit: Some(edit), ..Entry::new(What::PodEnded, Some(at), text) });
    }
}

/// Reboots, nodes that Kubernetes lost, and cordons that are over; the API server forgets them after an hour.
fn node_events(cluster: &Cluster, collect: &mut Collect<'_>) {
    let mut newest: BTreeMap<(&str, bool), Timestamp> = BTreeMap::new();
    for event in cluster.objects.node_events.iter() {
        let Some(at) = event.last_seen().filter(|at| collect.is_of_interest(*at)) else { continue };
        let node = event.involved_object.name.as_str();
        if let Some(cordons) = event.cordons() {
            let known = newest.entry((node, cordons)).or_insert(at);
            *known = at.max(*known);
        }
        let (what, field, text) = match event.occurrences() {
            _ if event.is_reboot() => (What::Rebooted, "rebooted", format!("node {node} was rebooted")),
            _ if !event.is_lost() => continue,
            1 => (What::NodeNotReady, "not ready", format!("node {node} went NotReady")),
            many => {
                let since = event.first_seen().map_or(String::new(), |first| format!(" since {first:.0}"));
                (What::NodeNotReady, "not ready", format!("node {node} went NotReady {many} times{since}"))
            }
        };
        let edit = Edit { subject: format!("node {node}"), field: field.into(), before: None, after: None };
        collect.push(Entry { edit: Some(edit), ..Entry::new(what, Some(at), text) });
    }
    for ((node, cordons), at) in newest {
        collect.add(cordon(node, Some(at), cordons, None));
    }
}
