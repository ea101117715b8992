//! What is said about managers that hang or wait.

use super::{CONTAINER, StuckReason, causes};
use crate::check::*;
use crate::facts::installation;
use crate::facts::releases::release_of;
use crate::facts::starts::UnderWay;
use crate::facts::text::{duration, listed, shortened};
use crate::facts::unreached;
use crate::longhorn::{ADMISSION_LABEL, Pod, Release, WEBHOOK_LOCK};

/// A manager that hangs.
pub fn stuck(cluster: &Cluster, start: &UnderWay, cause: &'static Cause, reason: StuckReason) -> Finding {
    let (pod, node) = (start.pod.metadata.name.as_str(), start.pod.spec.node_name.as_str());
    let about = reason.about.join(", ");
    let what = match *cause {
        causes::API_UNREACHABLE if about.is_empty() => {
            "most likely it gets no answer from the Kubernetes API server".to_owned()
        }
        causes::API_UNREACHABLE => format!("it gets no answer from the Kubernetes API server ({about})"),
        causes::ACCESS_DENIED => format!("it cannot {about}"),
        causes::CRD_MISMATCH => format!("the API server does not serve {about}"),
        causes::MANIFEST_STALE => {
            "its readiness probe asks a port that its release does not serve".to_owned()
        }
        causes::WEBHOOK_SERVICE_UNREACHABLE => format!(
            "it does not reach Service longhorn-{}-webhook",
            reason.about.first().map_or("admission", String::as_str)
        ),
        _ if start.free => {
            "it never takes the start Lease: the API server does not answer it, or a right is missing"
                .to_owned()
        }
        _ => format!("cause unknown, candidates: {}", candidates(start)),
    };
    // those who give up were stuck in the run before, too; with a foreign probe from the first one on, whoever has the Lease
    let always = cause == &causes::MANIFEST_STALE || !start.holds;
    let made = start.pod.status.start_time.get().filter(|_| gives_up(cause) && always);
    let since = made.unwrap_or_else(|| since(start));
    let ready = if start.pod.is_ready() { ", although its pod is Ready" } else { "" };
    let message =
        format!("longhorn-manager on {node} hangs ({}{ready}): {what}", duration(cluster.age(since)));
    let mut finding = Finding::new(cause, ObjectRef::new("Pod", &cluster.namespace, pod), message)
        .node(node)
        .since(Some(since))
        .impact(impact(cluster, start, cause))
        .fact(state(start));
    finding.evidence.extend(reason.evidence);
    if start.holds {
        finding = finding.fact(format!(
            "Lease {WEBHOOK_LOCK} has been held and renewed by {node} since {}; a finished start releases it",
            start.turn
        ));
    }
    let remedy = match *cause {
        causes::API_UNREACHABLE => unreachable(cluster, start),
        causes::ACCESS_DENIED => denied(cluster, start, &reason.about),
        causes::CRD_MISMATCH => missing(cluster, start, &reason.about),
        causes::MANIFEST_STALE => stale(cluster, start, &reason.about),
        causes::WEBHOOK_SERVICE_UNREACHABLE => unserved(cluster, start),
        _ => unknown(cluster, start),
    };
    finding.remedy(remedy)
}

fn gives_up(cause: &Cause) -> bool {
    [&causes::MANIFEST_STALE, &causes::WEBHOOK_SERVICE_UNREACHABLE].contains(&cause)
}

/// Since when the start lasts for which this manager is accountable.
fn since(start: &UnderWay) -> jiff::Timestamp {
    if start.holds { start.turn } else { start.started }
}

fn state(start: &UnderWay) -> String {
    let ready = if start.pod.is_ready() { "Ready" } else { "not Ready" };
    format!(
        "container {CONTAINER} has been running since {}, pod {} is {ready}",
        start.started, start.pod.metadata.name
    )
}

fn impact(cluster: &Cluster, start: &UnderWay, cause: &'static Cause) -> String {
    let node = &start.pod.spec.node_name;
    let how = if gives_up(cause) {
        "it will give up and start again"
    } else {
        "it does not exit and does not come up by itself"
    };
    let mut text =
        format!("{how}: nothing attaches, detaches, rebuilds or evicts what the manager of {node} owns");
    if start.holds {
        text.push_str("; managers of other nodes that start wait for it");
    }
    if start.pod.is_ready() && takes_admission_calls(cluster, start.pod) {
        text.push_str(
            "; the admission Service counts its pod as ready and nothing listens there, so its share of all changes of \
             Longhorn objects fails",
        );
    }
    text
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
        let text = match log.text.lines().rev().find(|line| !line.trim().is_empty()) {
            Some(last) => {
                format!("its log names no known reason and ends with: {}", shortened(last.trim(), 400))
            }
            None => "its log has said nothing in the last two minutes".to_owned(),
        };
        return EvidenceSource::Log.says(text);
    }
    let text = match history.crash_logs_denied() {
        Some(reason) => format!(
            "its log cannot be read ({reason}): with the right 'get' on 'pods/log' in namespace {} the cause would come \
             from there; candidates are {}",
            cluster.namespace,
            candidates(start)
        ),
        None if cluster.is_recorded() => format!(
            "the recording has no log of its present run (POD.{CONTAINER}.log); candidates are {}",
            candidates(start)
        ),
        None => "its log has not been read yet, or the node does not give it".to_owned(),
    };
    EvidenceSource::History.says(text)
}

/// Who renews the Lease gets answers, and who does not take it has not come to the kinds yet.
fn candidates(start: &UnderWay) -> &'static str {
    match (start.holds, start.free) {
        (true, _) => "access_denied and crd_mismatch",
        (false, true) => "api_unreachable and access_denied",
        (false, false) => "api_unreachable, access_denied and crd_mismatch",
    }
}

// === remedies ===

fn logs(cluster: &Cluster, start: &UnderWay) -> String {
    let (namespace, pod) = (&cluster.namespace, &start.pod.metadata.name);
    format!("kubectl -n {namespace} logs {pod} -c {CONTAINER} --tail=50")
}

fn unreachable(cluster: &Cluster, start: &UnderWay) -> Remedy {
    let node = &start.pod.spec.node_name;
    Remedy::new(format!(
        "Restore the way from pods on node {node} to the API server: CNI and kube-proxy there, firewall rules, the \
         address and certificate in the log line. If every node is affected, look at the API server and etcd. \
         The manager continues as soon as it gets answers; deleting the pod does not help."
    ))
    .read(format!("kubectl get pods -A -o wide --field-selector spec.nodeName={node}"))
    .read("kubectl get endpointslices -n default -l kubernetes.io/service-name=kubernetes -o wide".to_owned())
    .read(format!("kubectl describe node {node}"))
    .read(logs(cluster, start))
}

fn denied(cluster: &Cluster, start: &UnderWay, about: &[String]) -> Remedy {
    let namespace = &cluster.namespace;
    let mut remedy = Remedy::new(
        "Restore the right: apply the ClusterRole longhorn-role and the ClusterRoleBinding longhorn-bind of this \
         release, and find out who changed them (GitOps, policy engines, a cleanup). Once the right is \
         back, the manager continues within a minute; deleting the pod does not help. The last command changes roles and bindings only, and \
         prints an error for every other object of the file.",
    )
    .read(logs(cluster, start));
    for right in about.iter().take(5).filter(|right| right.contains(' ') && *right != "be authenticated") {
        let account = format!("system:serviceaccount:{namespace}:longhorn-service-account");
        remedy = remedy.read(format!("kubectl auth can-i {right} --as={account} -n {namespace}"));
    }
    let remedy = remedy.read("kubectl describe clusterrolebinding longhorn-bind".to_owned());
    match installation::published(cluster, release_of(cluster, start.pod)) {
        Some(manifest) => remedy.change(format!("kubectl auth reconcile -f {manifest}")),
        None => remedy,
    }
}

fn missing(cluster: &Cluster, start: &UnderWay, about: &[String]) -> Remedy {
    let reason = format!(
        "Missing: {}. The manager then continues within a minute; deleting its pod does not help. If a definition was deleted, its \
         objects are gone with it: restore them from a backup of the cluster.",
        listed(about)
    );
    installation::to_release(cluster, release_of(cluster, start.pod), &reason)
        .read(logs(cluster, start))
        .read("kubectl get crd -o name | grep longhorn.io".to_owned())
}

fn stale(cluster: &Cluster, start: &UnderWay, about: &[String]) -> Remedy {
    let namespace = &cluster.namespace;
    let port = about.first().map_or("9502", String::as_str);
    let reason = "The image was changed without its manifest, or the manifest without its image. Until then the port alone lets managers \
                  become Ready; the change restarts all of them.";
    installation::to_release(cluster, release_of(cluster, start.pod), reason)
        .change(format!(
            "kubectl -n {namespace} patch daemonset longhorn-manager -p '{{\"spec\":{{\"template\":{{\"spec\":{{\"containers\":\
             [{{\"name\":\"{CONTAINER}\",\"readinessProbe\":{{\"httpGet\":{{\"port\":{port}}}}}}}]}}}}}}}}'"
        ))
        .read(logs(cluster, start))
}

fn unserved(cluster: &Cluster, start: &UnderWay) -> Remedy {
    match unreached::waiting(cluster, start) {
        Some(waiting) => {
            waiting.why.mend(cluster, waiting.webhook, &start.pod.spec.node_name).read(logs(cluster, start))
        }
        None => unknown(cluster, start),
    }
}

fn unknown(cluster: &Cluster, start: &UnderWay) -> Remedy {
    let namespace = &cluster.namespace;
    let remedy = match start.free {
        true => Remedy::new(
            "Read its log from the end, and ask for the right to take the Lease. If the service account has it, the way from the pod to \
             the API server is the trouble: CNI and kube-proxy on the node, firewall rules. Deleting the pod does not help: the next one \
             hangs in the same place.",
        )
        .read(logs(cluster, start))
        .read(format!(
            "kubectl auth can-i update leases.coordination.k8s.io \
             --as=system:serviceaccount:{namespace}:longhorn-service-account -n {namespace}"
        )),
        false => Remedy::new(
            "Read its log from the end: what is repeated there is what it waits for (the API server, a right, a kind, its own webhook). \
             If nothing is repeated, see whether the node is short of CPU or memory. Keep the log before anyone deletes the pod.",
        )
        .read(logs(cluster, start)),
    };
    let remedy = match release_of(cluster, start.pod).is_none_or(Release::has_webhook_lock) {
        true => remedy.read(format!("kubectl -n {namespace} get lease {WEBHOOK_LOCK} -o yaml")),
        false => remedy,
    };
    remedy.read(format!("kubectl describe node {}", start.pod.spec.node_name))
}

// === waiting for a turn ===

/// Managers that wait while others have their turn.
pub fn queueing(cluster: &Cluster, waiting: &[&UnderWay]) -> Finding {
    let namespace = &cluster.namespace;
    let nodes: Vec<&str> = waiting.iter().map(|start| start.pod.spec.node_name.as_str()).collect();
    let since = waiting.iter().map(|start| start.started).min();
    let holder = crate::facts::leases::holder(cluster, WEBHOOK_LOCK);
    let now = match holder {
        Some(node) => format!("node {node} has its turn"),
        None => "no one holds the Lease now".to_owned(),
    };
    let stuck = "Wait while the holder changes. If it does not, the trouble is on the holder's node: its manager hangs \
                 (a finding of manager_start_stuck) or crash-loops (manager_crash_loop).";
    let mut remedy =
        Remedy::new(stuck).read(format!("kubectl -n {namespace} get lease {WEBHOOK_LOCK} -o yaml"));
    if let Some(pod) = holder.and_then(|node| cluster.manager_pod_on(node)) {
        let name = &pod.metadata.name;
        remedy = remedy.read(format!("kubectl -n {namespace} logs {name} -c {CONTAINER} --tail=50"));
    }
    let mut finding = Finding::new(
        &causes::QUEUEING,
        ObjectRef::new("Lease", namespace, WEBHOOK_LOCK),
        format!("{} for their turn to start: {}; {now}", counted_waiting(nodes.len()), listed(&nodes)),
    )
    .since(since)
    .impact("what the managers of these nodes own is not managed until it is their turn")
    .remedy(remedy);
    let lease = cluster.objects.leases.get(WEBHOOK_LOCK).map(|lease| &lease.spec);
    if let Some((node, lease)) = holder.zip(lease) {
        let acquired = lease.acquire_time.get().map(|at| format!(" since {at}")).unwrap_or_default();
        finding = finding.fact(format!("Lease {WEBHOOK_LOCK} is held by {node}{acquired}"));
    }
    let oldest = since.map(|since| format!("the longest has been waiting since {since}")).unwrap_or_default();
    finding.fact(oldest)
}

fn counted_waiting(number: usize) -> String {
    if number == 1 { "1 manager waits".to_owned() } else { format!("{number} managers wait") }
}
