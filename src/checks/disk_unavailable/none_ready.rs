//! None of the nodes that Longhorn stores data on is Ready.
//!
//! Many machines rarely fail at once; what they share does. The node controller says Unknown of each of them when their kubelets
//! no longer reach the API server, while pods and volumes may go on; it then calls their pods not Ready, removes its NoExecute
//! taints and evicts nothing (kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go tryUpdateNodeHealth,
//! processPod, handleDisruption: "master disruption mode").

use std::collections::{BTreeMap, BTreeSet};

use super::causes;
use crate::check::*;
use crate::facts::{nodes, text};
use crate::longhorn::{Condition, DaemonSet, LonghornNode, VolumeState};

/// Different words of nodes that are reported.
const MOST: usize = 3;

/// Judges all nodes together. `away` are those that have not been Ready for long enough, with their condition.
pub(super) fn run(cluster: &Cluster, out: &mut Outcome, away: &[(&LonghornNode, &Condition)]) {
    let Some((first, _)) = away.first() else { return };
    let names: BTreeSet<&str> = away.iter().map(|(node, _)| node.metadata.name.as_str()).collect();
    let storing = nodes::storing(cluster);
    let is_away = |node: &&LonghornNode| {
        let name = node.metadata.name.as_str();
        names.contains(name) || nodes::is_gone(cluster, name)
    };
    if !storing.iter().all(is_away) {
        return;
    }
    let message = match storing.len() {
        1 => format!("node {} is not Ready: it is the only node with Longhorn data", first.metadata.name),
        2 => "neither node with Longhorn data is Ready".to_owned(),
        count => format!("none of the {count} nodes with Longhorn data is Ready"),
    };
    let object = cluster.object::<DaemonSet>("longhorn-manager");
    let finding = Finding::about(&causes::NO_NODE_READY, object, message)
        .since(away.iter().filter_map(|(_, ready)| ready.last_transition_time.get()).max())
        .impact(impact(cluster))
        .with(Name::Node, first.metadata.name.as_str())
        .facts(words(away))
        .facts(times(away))
        .facts(others(cluster));
    out.report(finding);
}

fn impact(cluster: &Cluster) -> String {
    let volumes = &cluster.objects.volumes;
    let attached = volumes.iter().filter(|volume| volume.status.state == VolumeState::Attached).count();
    let now = "no volume can attach, detach or rebuild. Longhorn's objects are outdated";
    match attached {
        0 => now.to_owned(),
        some => format!(
            "{now}: only the machines show whether I/O of {} continues",
            counted(some, "attached volume")
        ),
    }
}

/// What is said of the nodes, the commonest first.
fn words(away: &[(&LonghornNode, &Condition)]) -> Vec<String> {
    let mut by_words: BTreeMap<(&str, &str, &str), Vec<&str>> = BTreeMap::new();
    for (node, ready) in away {
        let said = (ready.status.as_str(), ready.reason.as_str(), ready.message.trim());
        by_words.entry(said).or_default().push(&node.metadata.name);
    }
    let mut said: Vec<_> = by_words.into_iter().collect();
    said.sort_by_key(|(_, nodes)| std::cmp::Reverse(nodes.len()));
    said.into_iter()
        .take(MOST)
        .map(|((status, reason, message), nodes)| {
            let reason = if reason.is_empty() { String::new() } else { format!(", reason {reason}") };
            let message = match message {
                "" => String::new(),
                message => format!(": \"{}\"", text::both_ends(message, 300)),
            };
            format!("{}: Ready is {status}{reason}{message}", text::listed(&nodes))
        })
        .collect()
}

/// Whether they went together.
fn times(away: &[(&LonghornNode, &Condition)]) -> Option<String> {
    let times = || away.iter().filter_map(|(_, ready)| ready.last_transition_time.get());
    let (first, last) = (times().min()?, times().max()?);
    (away.len() > 1).then(|| match first == last {
        true => format!("no node has been Ready since {first}"),
        false => format!("the first node became not Ready at {first}, the last at {last}"),
    })
}

/// The nodes of the cluster that Longhorn has nothing on: where these are Ready, the reason is none of the whole cluster.
fn others(cluster: &Cluster) -> Option<String> {
    let is_other =
        |name: &str| cluster.objects.longhorn_nodes.get(name).is_none_or(|node| node.spec.disks.is_empty());
    let others = || cluster.objects.kube_nodes.iter().filter(|node| is_other(&node.metadata.name));
    let ready = others().filter(|node| node.is_ready()).count();
    let count = others().count();
    (count > 0).then(|| format!("nodes without Longhorn disks: {ready} of {count} are Ready"))
}
