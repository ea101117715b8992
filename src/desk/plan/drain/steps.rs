//! The order in which it is done, and the answer in a sentence.

use super::super::{Part, Step, Verdict};
use super::{Asked, Draining, Intent};
use crate::facts::kubectl::patch;
use crate::longhorn::Owner;
use serde_json::json;

fn done(intent: Intent) -> &'static str {
    match intent {
        Intent::Drain => "drained",
        Intent::Evict => "evicted",
        Intent::Reboot => "drained and restarted",
        Intent::Remove => "removed permanently",
    }
}

pub fn question(nodes: &[&str], asked: &Asked, each_alone: bool) -> String {
    let what = done(asked.intent);
    match (each_alone, nodes) {
        (true, _) => format!("Which nodes can be {what}, one at a time?"),
        (false, [node]) => format!("Can node {node} be {what}?"),
        (false, nodes) => format!("Can nodes {} be {what} at the same time?", nodes.join(", ")),
    }
}

pub fn answer(parts: &[Part], asked: &Asked, each_alone: bool) -> String {
    let what = done(asked.intent);
    let named = |verdict: Verdict| -> Vec<&str> {
        parts.iter().filter(|part| part.verdict == verdict).map(|part| part.subject.as_str()).collect()
    };
    match parts {
        [] => return "Longhorn has no node that this plan can read".to_owned(),
        [part] if !each_alone && part.verdict == Verdict::Go => {
            return format!("node {} can be {what}: {}", part.subject, part.why());
        }
        [part] if !each_alone => return part.why(),
        _ if named(Verdict::Go).len() == parts.len() => {
            let how = if each_alone { "one at a time" } else { "at the same time" };
            return format!("every node can be {what}, {how}");
        }
        _ if each_alone && named(Verdict::NotYet).len() == parts.len() => {
            return format!("no node can be {what} yet");
        }
        _ => {}
    }
    let all = [Verdict::NotYet, Verdict::No, Verdict::Unknown, Verdict::Go];
    let said = all.into_iter().filter(|verdict| !named(*verdict).is_empty()).map(|verdict| {
        let names = named(verdict);
        let names = names.join(if names.len() == 2 { " and " } else { ", " });
        match verdict {
            Verdict::NotYet => format!("{names} cannot be {what} yet"),
            Verdict::No => format!("{names} must not be {what}"),
            Verdict::Unknown => format!("Whether {names} can be {what} is unknown"),
            Verdict::Go => format!("{names} can be {what}"),
        }
    });
    said.collect::<Vec<_>>().join(". ")
}

pub fn of(draining: &Draining<'_>, verdict: Verdict) -> Vec<Step> {
    let (namespace, node) = (draining.cluster.namespace.as_str(), draining.node);
    let set = |spec: serde_json::Value| patch(namespace, "nodes.longhorn.io", node, &json!({ "spec": spec }));
    let drain = || {
        [
            Step::said(
                "Check workloads' PodDisruptionBudgets (not read by this plan): the drain waits for them.",
            ),
            Step::change(
                "Drain the node. Longhorn removes its instance managers' PodDisruptionBudgets once the node is cordoned and its volumes are \
                 detached. Ignore a dry run before the cordon: it always fails.",
                format!("kubectl drain {node} --ignore-daemonsets --delete-emptydir-data --timeout=30m"),
            ),
        ]
    };
    let mut steps = Vec::new();
    if verdict != Verdict::Go {
        steps.push(Step::said("Fix what is listed above. Then run this plan again."));
    }
    if draining.is_down() {
        // replicas are deleted there: only once it is proven that no volume needs them
        if verdict != Verdict::Go {
            return steps;
        }
        steps.extend(away(draining, set(json!({ "allowScheduling": false }))));
        return steps;
    }
    if draining.intent.empties() {
        steps.push(Step::change(
            "Disable the node's scheduling and request its eviction.",
            set(json!({ "allowScheduling": false, "evictionRequested": true })),
        ));
        steps.push(Step::read(
            "Wait until no replica is left on the node. Longhorn attaches detached volumes while it copies them.",
            format!("kubectl -n {namespace} get replicas.longhorn.io -l longhornnode={node} --watch"),
        ));
        steps.push(Step::said("Continue only when the list of replicas is empty."));
    }
    match draining.intent {
        Intent::Evict => {
            steps.push(Step::change(
                "Enable the node's scheduling again when your work is done.",
                set(json!({ "allowScheduling": true, "evictionRequested": false })),
            ));
            return steps;
        }
        Intent::Remove => {
            steps.extend(drain());
            steps.push(Step::change("Delete the node in Kubernetes.", format!("kubectl delete node {node}")));
            let text = "Delete the node in Longhorn, unless Longhorn has already done so.";
            steps.push(Step::change(
                text,
                format!("kubectl -n {namespace} delete nodes.longhorn.io {node} --ignore-not-found"),
            ));
            return steps;
        }
        Intent::Reboot => {
            steps.extend(drain());
            steps.push(Step::said("Restart the node. Then wait until Kubernetes reports it as Ready."));
        }
        Intent::Drain => {
            steps.extend(drain());
            steps.push(Step::said("Do your work on the node."));
        }
    }
    steps.push(Step::change("Uncordon the node.", format!("kubectl uncordon {node}")));
    steps.push(Step::read(
        "Wait until every volume has all its replicas again before you drain the next node.",
        "longhorn-health-exporter check --only volume_faulted,volume_degraded --fail-on info --wait-healthy 2h",
    ));
    steps
}

/// The order in which Longhorn lets a node go that Kubernetes has lost: it deletes none that takes replicas, or has any (longhorn-manager
/// v1.3.3 manager/node.go DeleteNode, v1.12.1 webhook/resources/node/validator.go).
fn away(draining: &Draining<'_>, no_scheduling: String) -> Vec<Step> {
    let (namespace, node) = (draining.cluster.namespace.as_str(), draining.node);
    match draining.intent {
        Intent::Drain | Intent::Evict => Vec::new(),
        Intent::Reboot => {
            vec![Step::said("Restart the node. Then wait until Kubernetes reports it as Ready.")]
        }
        Intent::Remove => {
            let mut steps = vec![Step::change("Disable the node's scheduling.", no_scheduling)];
            if draining.cluster.objects.replicas.of(Owner::Node, node).next().is_some() {
                steps.push(Step::change(
                    "Delete the replicas left on the node: their volumes are healthy without them.",
                    format!("kubectl -n {namespace} delete replicas.longhorn.io -l longhornnode={node}"),
                ));
            }
            if draining.cluster.objects.kube_nodes.get(node).is_some() {
                steps.push(Step::change(
                    "Make sure that the machine is off. Then delete the node in Kubernetes.",
                    format!("kubectl delete node {node}"),
                ));
            }
            steps.push(Step::change(
                "Delete the node in Longhorn.",
                format!("kubectl -n {namespace} delete nodes.longhorn.io {node} --ignore-not-found"),
            ));
            steps
        }
    }
}
