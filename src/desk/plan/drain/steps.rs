//! The order in which it is done, and the answer in a sentence.

use super::super::{Part, Step, Verdict};
use super::{Asked, Draining, Intent};
use crate::facts::kubectl::patch;
use crate::longhorn::Owner;
use serde_json::json;

pub fn question(nodes: &[&str], asked: &Asked, each_alone: bool) -> String {
    let what = match asked.intent {
        Intent::Drain => "drained",
        Intent::Evict => "evicted",
        Intent::Reboot => "drained and restarted",
        Intent::Remove => "removed permanently",
    };
    match (each_alone, nodes) {
        (true, _) => format!("Which nodes may be {what}, one at a time?"),
        (false, [node]) => format!("May node {node} be {what}?"),
        (false, nodes) => format!("May nodes {} be {what} at the same time?", nodes.join(", ")),
    }
}

pub fn answer(parts: &[Part], each_alone: bool) -> String {
    let named = |verdict: Verdict| -> Vec<&str> {
        parts.iter().filter(|part| part.verdict == verdict).map(|part| part.subject.as_str()).collect()
    };
    if !each_alone && let [part] = parts {
        return format!("{}: {}", part.verdict.said(), part.why());
    }
    let all = [Verdict::Go, Verdict::NotYet, Verdict::No, Verdict::Unknown];
    let said = all.into_iter().filter(|verdict| !named(*verdict).is_empty());
    let said: Vec<String> =
        said.map(|verdict| format!("{}: {}", verdict.said(), named(verdict).join(", "))).collect();
    if said.is_empty() { "no node of Longhorn can be seen".to_owned() } else { said.join("; ") }
}

pub fn of(draining: &Draining<'_>, verdict: Verdict) -> Vec<Step> {
    let (namespace, node) = (draining.cluster.namespace.as_str(), draining.node);
    let set = |spec: serde_json::Value| patch(namespace, "nodes.longhorn.io", node, &json!({ "spec": spec }));
    let drain = || {
        Step::change(
            "Drain it. Longhorn removes the budgets of its instance managers once the node is cordoned and its volumes are detached. A dry run \
             before the cordon is always rejected, and proves nothing.",
            format!("kubectl drain {node} --ignore-daemonsets --delete-emptydir-data --timeout=30m"),
        )
    };
    let mut steps = Vec::new();
    if verdict != Verdict::Go {
        steps.push(Step::said("Do what the reasons say, and ask again."));
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
            "Request its eviction.",
            set(json!({ "allowScheduling": false, "evictionRequested": true })),
        ));
        steps.push(Step::read(
            "Wait until no replica is left on it. Longhorn attaches detached volumes while it copies them.",
            format!("kubectl -n {namespace} get replicas.longhorn.io -l longhornnode={node} --watch"),
        ));
    }
    match draining.intent {
        Intent::Evict => {
            steps.push(Step::change(
                "Afterwards, enable scheduling on the node again.",
                set(json!({ "allowScheduling": true, "evictionRequested": false })),
            ));
            return steps;
        }
        Intent::Remove => {
            steps.push(drain());
            steps.push(Step::change("Remove it from Kubernetes.", format!("kubectl delete node {node}")));
            let text = "Remove it from Longhorn, unless Longhorn has done so itself.";
            steps.push(Step::change(
                text,
                format!("kubectl -n {namespace} delete nodes.longhorn.io {node} --ignore-not-found"),
            ));
            return steps;
        }
        Intent::Reboot => {
            steps.push(drain());
            steps.push(Step::said("Restart it, and wait until Kubernetes reports it as Ready."));
        }
        Intent::Drain => {
            steps.push(drain());
            steps.push(Step::said("Do your work on the node."));
        }
    }
    steps.push(Step::change("Let it accept pods again.", format!("kubectl uncordon {node}")));
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
        Intent::Reboot => vec![Step::said("Restart it, and wait until Kubernetes calls it Ready.")],
        Intent::Remove => {
            let mut steps = vec![Step::change("Switch scheduling off.", no_scheduling)];
            if draining.cluster.objects.replicas.of(Owner::Node, node).next().is_some() {
                steps.push(Step::change(
                    "Delete the replicas that are left on it: their volumes are healthy without them.",
                    format!("kubectl -n {namespace} delete replicas.longhorn.io -l longhornnode={node}"),
                ));
            }
            if draining.cluster.objects.kube_nodes.get(node).is_some() {
                steps.push(Step::change(
                    "Make sure that the machine is off, and remove it from Kubernetes.",
                    format!("kubectl delete node {node}"),
                ));
            }
            steps.push(Step::change(
                "Remove it from Longhorn.",
                format!("kubectl -n {namespace} delete nodes.longhorn.io {node} --ignore-not-found"),
            ));
            steps
        }
    }
}
