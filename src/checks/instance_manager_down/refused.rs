//! Why the node takes no pod of an instance manager. Longhorn presets `spec.nodeName`, so no scheduler is asked: the kubelet rejects
//! the pod, Longhorn deletes it and makes the next one within seconds (longhorn-manager v1.12.1
//! controller/instance_manager_controller.go createGenericManagerPodSpec, handlePod). All of them are one state.

use jiff::Timestamp;

use super::causes;
use crate::check::*;
use crate::facts::api;
use crate::facts::patience::NEXT_POD;
use crate::history::ends::foreign_taints;
use crate::longhorn::*;

/// Why, since when, and what says so.
pub struct Refusal {
    /// The taint that keeps the pods away, if one does.
    pub taint: Option<String>,
    /// What the node lacks, if that is it.
    pub way: Option<&'static Way>,
    pub since: Option<Timestamp>,
    pub evidence: Vec<Evidence>,
}

/// What a kubelet writes when its node lacks something (kubernetes v1.36 pkg/kubelet/lifecycle/predicate.go, pkg/kubelet/eviction/eviction_manager.go).
const LACKS: [(&str, &Way); 6] = [
    ("OutOfcpu", &causes::NO_CPU),
    ("resource: cpu", &causes::NO_CPU),
    ("hugepages", &causes::NO_HUGE_PAGES),
    ("OutOfpods", &causes::NO_SLOT),
    ("resource: pods", &causes::NO_SLOT),
    ("node had condition", &causes::PRESSURE),
];

/// What the kubelet of the node says about the pod that is there, or about those that were there until just now.
pub fn of(cluster: &Cluster, im: &InstanceManager, pod: Option<&Pod>) -> Option<Refusal> {
    if pod.is_some_and(Pod::has_run) {
        return None;
    }
    let name = &im.metadata.name;
    let rejected = pod.and_then(|pod| Some((pod.rejection()?, pod)));
    let mut gone = cluster.history.gone_pods().rev().filter(|gone| gone.last.metadata.name == *name);
    let before = gone.next().filter(|gone| gone.refused.is_some() && cluster.age(gone.at) < NEXT_POD);
    let last = before.and_then(|gone| gone.last.rejection());
    let (why, said) = match (rejected, last) {
        (Some((why, pod)), _) => {
            (why, format!("pod status: {}, \"{}\"", pod.status.reason, pod.status.message.trim()))
        }
        // one that is being made may be taken
        (None, Some(why)) if pod.is_none_or(|pod| pod.status.phase == PodPhase::Pending) => {
            (why, format!("the node rejected the last pod: {why}"))
        }
        _ => return None,
    };
    let of_before = before.and_then(|gone| gone.refused);
    let since = of_before.map(|(since, _)| since).or_else(|| said_since(cluster, name));
    let mut evidence = vec![api(said).quoting(why)];
    if let Some((since, times)) = of_before.filter(|(_, times)| *times > 1) {
        let text = format!("{times} of its pods were created and deleted since {since} without running");
        evidence.push(EvidenceSource::History.says(text));
    }
    let taints = taints_of(cluster, im);
    let taint = taints.into_iter().next().filter(|_| why.contains("TaintToleration"));
    let words = rejected
        .map_or(why.to_owned(), |(_, pod)| format!("{why} {} {}", pod.status.reason, pod.status.message));
    let way = LACKS.iter().find(|(part, _)| words.contains(part)).map(|(_, way)| *way);
    let since = since.or_else(|| rejected.and_then(|(_, pod)| pod.metadata.created()));
    Some(Refusal { taint, way, since, evidence })
}

/// Since when Events say that the kubelet rejects its pods, without a longer gap until now.
fn said_since(cluster: &Cluster, name: &str) -> Option<Timestamp> {
    const SAID: [&str; 3] = ["TaintToleration", "NodeAffinity", "UnexpectedAdmissionError"];
    let rejects = |event: &&Event| {
        let reason = event.reason.as_str();
        event.involved_object.kind == "Pod"
            && event.involved_object.name == name
            && (SAID.contains(&reason)
                || reason.starts_with("OutOf")
                || event.said().contains("node had condition"))
    };
    let mut said: Vec<_> = cluster.objects.events.iter().filter(rejects).collect();
    said.sort_by_key(|event| std::cmp::Reverse(event.last_seen()));
    let mut since = cluster.now;
    for event in said {
        let (Some(first), Some(last)) = (event.first_seen().or(event.last_seen()), event.last_seen()) else {
            break;
        };
        if since.duration_since(last) > NEXT_POD {
            break;
        }
        since = since.min(first);
    }
    (since < cluster.now).then_some(since)
}

/// Taints by which the pod has to leave the node and that Longhorn was not told to tolerate.
pub fn taints_of(cluster: &Cluster, im: &InstanceManager) -> Vec<String> {
    let Some(node) = cluster.objects.kube_nodes.get(&im.spec.node_id) else { return Vec::new() };
    let tolerated = cluster.setting("taint-toleration").map_or("", |setting| setting.value.as_str());
    let key = |taint: &str| taint.split(['=', ':']).next().unwrap_or_default().to_owned();
    let tolerated: Vec<String> = tolerated.split(';').map(|one| key(one.trim())).collect();
    let mut taints = foreign_taints(node);
    taints.retain(|taint| !tolerated.contains(&key(taint)));
    taints
}

/// The manager of the node was driven away by a taint as the instance manager was: no one is left there to make a pod.
pub fn driven_away(cluster: &Cluster, im: &InstanceManager) -> Option<Refusal> {
    let taints = taints_of(cluster, im);
    let manager = cluster.manager_pod_on(&im.spec.node_id).filter(|pod| !pod.metadata.is_deleting());
    if taints.is_empty() || manager.is_some() {
        return None;
    }
    let marked =
        |event: &&Event| event.is_taint_eviction() && event.involved_object.name == im.metadata.name.as_str();
    let marked = cluster.objects.events.iter().filter(marked).max_by_key(|event| event.last_seen());
    let mut evidence = vec![api(format!(
        "node {} has taint {}, and no longhorn-manager is running on it",
        im.spec.node_id,
        taints.join(", ")
    ))];
    evidence.extend(marked.map(|event| {
        let at = event.last_seen().map(|at| format!(" at {at}")).unwrap_or_default();
        EvidenceSource::Event.says(format!("event TaintManagerEviction{at}: {}", event.said()))
    }));
    let since = marked.and_then(|event| event.last_seen());
    Some(Refusal { taint: taints.into_iter().next(), way: None, since, evidence })
}
