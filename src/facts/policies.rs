//! Which NetworkPolicy cuts pods of Longhorn off. A policy alone proves nothing, as some pod networks (Flannel) enforce none: the pods must
//! say that they get no answer since it was created, and none of them may have got one.

use jiff::{SignedDuration, Timestamp};

use super::complaints::{self, Lacks};
use super::text;
use super::ways::{CUT_OFF, REPLICAS_SHUT_OUT};
use crate::check::{Evidence, EvidenceSource, Finding, Name};
use crate::cluster::Cluster;
use crate::longhorn::{NetworkPolicy, Pod};

const MANAGER: &str = "longhorn-manager";
/// For so long connections from before may last.
const LASTS: SignedDuration = SignedDuration::from_mins(2);
/// How a packet that is dropped ends.
pub const DROPPED: [&str; 4] = ["i/o timeout", "deadline exceeded", "imed out", "Client.Timeout"];

/// The policy that cuts pods off, with what one of them says.
pub struct Cut<'a> {
    policy: &'a NetworkPolicy,
    since: Timestamp,
    line: &'a str,
}

/// The policy that keeps the pods of this `app` from the API server.
pub fn cut_off<'a>(cluster: &'a Cluster, app: &str) -> Option<Cut<'a>> {
    let labels = &cluster.pods_of(app).next()?.metadata.labels;
    let confining = cluster.objects.network_policies.iter().filter(|policy| policy.confines(labels));
    let confining: Vec<&NetworkPolicy> = confining.collect();
    let policy = *confining.iter().max_by_key(|policy| policy.metadata.created())?;
    let since = policy.metadata.created()?;
    let control_plane = cluster.objects.kube_nodes.iter().filter(|node| node.is_control_plane());
    let addresses: Vec<&str> = control_plane.flat_map(|node| node.internal_addresses()).collect();
    let open = confining.iter().any(|policy| policy.lets_out_to(&addresses));
    let lasting = since.checked_add(LASTS).ok().filter(|_| !open)?;
    if cluster.pods_of(app).any(|pod| got_through(cluster, pod, lasting)) {
        return None;
    }
    // what ran before may have kept its connections; what has not started since has written nothing then
    let started = cluster.pods_of(app).flat_map(|pod| &pod.status.container_statuses);
    let old = started.filter_map(|status| status.running_since()).all(|at| at < since);
    if app == MANAGER && old && written(cluster, |at| at > lasting).is_some() {
        return None;
    }
    let mut logs = cluster.pods_of(app).flat_map(|pod| cluster.history.logs_of(pod));
    let line = logs.find_map(|log| {
        let line = match app {
            MANAGER => complaints::newest(&log.text).filter(|one| one.lacks == Lacks::Api)?.line,
            _ => log.text.lines().rfind(|line| line.contains("https://"))?,
        };
        let later = complaints::written_at(line, cluster.now).is_none_or(|at| at >= since);
        (later && DROPPED.iter().any(|part| line.contains(part))).then_some(line)
    })?;
    Some(Cut { policy, since, line })
}

/// True for a pod that the API server has answered later than that: a manager is Ready only then, and renews the Leases that it holds.
fn got_through(cluster: &Cluster, pod: &Pod, since: Timestamp) -> bool {
    let status = pod.container_status(MANAGER).filter(|status| status.ready);
    let started = status.and_then(|status| status.running_since());
    let name = &pod.metadata.name;
    let mut leases = cluster.objects.leases.iter().filter(|lease| lease.spec.holder_identity == *name);
    started.is_some_and(|at| at > since)
        || leases.any(|lease| lease.spec.renew_time.get().is_some_and(|at| at > since))
}

/// Something that only managers write, so late.
pub fn written(cluster: &Cluster, later: impl Fn(Timestamp) -> bool) -> Option<String> {
    let by_event = cluster.objects.events.iter().find_map(|event| {
        let by_manager =
            event.source.component.starts_with("longhorn-") && event.involved_object.kind != "Pod";
        let at = event.last_seen().filter(|at| by_manager && later(*at))?;
        Some(format!("Event {} of {} at {at}", event.reason, event.source.component))
    });
    by_event.or_else(|| {
        cluster.objects.longhorn_nodes.iter().find_map(|node| {
            let changed = node.status.conditions.iter().filter_map(|one| one.last_transition_time.get());
            let at = changed.filter(|at| later(*at)).max()?;
            Some(format!("a condition of nodes.longhorn.io {} at {at}", node.metadata.name))
        })
    })
}

/// The policy that shuts nodes out of a pod, with since when.
pub fn shuts_out<'a>(cluster: &'a Cluster, pod: &Pod) -> Option<&'a NetworkPolicy> {
    let labels = &pod.metadata.labels;
    let guards = || cluster.objects.network_policies.iter().filter(|policy| policy.guards(labels));
    let newest = guards().max_by_key(|policy| policy.metadata.created());
    newest.filter(|_| !guards().any(NetworkPolicy::admits_nodes))
}

/// A policy that lets nothing reach the managers, where no other lets anything in.
pub fn isolates_managers(cluster: &Cluster) -> Option<&NetworkPolicy> {
    let policies = cluster.manager_policies();
    let shut = policies.iter().all(|policy| policy.spec.ingress.is_empty());
    policies.first().copied().filter(|_| shut)
}

/// The policy that shuts nodes out of managers none of which is Ready, as a kubelet that is shut out sees them: with what a fix and an incident name of it.
pub fn guards_managers(cluster: &Cluster, pod: &Pod) -> Option<(Evidence, [(Name, String); 2])> {
    let policy = shuts_out(cluster, pod).filter(|_| !cluster.manager_pods().any(Pod::is_ready))?;
    let fact = fact(cluster, policy, "selects the managers, and no policy lets nodes in");
    Some((fact, values(policy)))
}

/// The policy beside Longhorn's own that selects the instance managers of a volume's replicas, where trouble came within a day of it.
pub fn guards_replicas<'a>(
    cluster: &'a Cluster,
    volume: &str,
    since: Option<Timestamp>,
) -> Option<&'a NetworkPolicy> {
    const TOGETHER: SignedDuration = SignedDuration::from_hours(24);
    let mut managers = cluster.replicas_of(volume).map(|replica| &replica.status.instance_manager_name);
    let labels = &managers.find_map(|manager| cluster.objects.pods.get(manager))?.metadata.labels;
    let guards = || cluster.objects.network_policies.iter().filter(|policy| policy.guards(labels));
    let others = guards().filter(|policy| !policy.is_longhorns());
    let newest = others.max_by_key(|policy| policy.metadata.created())?;
    if guards().any(|policy| policy.admits_pods(labels)) {
        return None;
    }
    let (made, since) = newest.metadata.created().zip(since)?;
    (since >= made && since.duration_since(made) < TOGETHER).then_some(newest)
}

/// Says so in a finding.
pub fn tell_replicas(cluster: &Cluster, policy: &NetworkPolicy, finding: Finding) -> Finding {
    let fact = fact(cluster, policy, "selects the instance managers");
    finding.way(&REPLICAS_SHUT_OUT).named(values(policy)).fact(fact)
}

/// What a fix names of a policy.
pub fn values(policy: &NetworkPolicy) -> [(Name, String); 2] {
    [(Name::Value, policy.metadata.name.to_string()), (Name::Reason, source(policy))]
}

/// Who applies a policy: what deletes it there brings it back otherwise.
pub fn source(policy: &NetworkPolicy) -> String {
    let label = |key: &str| policy.metadata.label(key).filter(|value| !value.is_empty());
    let argocd = label("argocd.argoproj.io/instance");
    match (label("kustomize.toolkit.fluxcd.io/name"), label("helm.toolkit.fluxcd.io/name"), argocd) {
        (Some(name), ..) => format!("Flux Kustomization {name}"),
        (_, Some(name), _) => format!("Flux HelmRelease {name}"),
        (.., Some(name)) => format!("Argo CD Application {name}"),
        _ => label("app.kubernetes.io/managed-by").unwrap_or("Git, Argo CD").to_owned(),
    }
}

/// What a policy does, as a fact: it begins with the policy, by which an incident finds it among the changes.
pub fn fact(cluster: &Cluster, policy: &NetworkPolicy, does: &str) -> Evidence {
    let age = policy.metadata.created().map(|at| text::age(cluster.age(at)));
    let age = age.map_or(String::new(), |age| format!(" (created {age} ago, from {})", source(policy)));
    EvidenceSource::Api.says(format!("NetworkPolicy {}{age} {does}", policy.metadata.name))
}

impl Cut<'_> {
    /// Since when nothing passes.
    pub fn since(&self) -> Timestamp {
        self.since
    }

    pub fn values(&self) -> [(Name, String); 2] {
        values(self.policy)
    }

    pub fn evidence(&self, cluster: &Cluster) -> [Evidence; 2] {
        let line =
            EvidenceSource::Log.says(format!("an affected pod's log says: {}", text::quoted(self.line)));
        let does = "selects the affected pods, and no policy allows their connections to the API server";
        [line.quoting(self.line), fact(cluster, self.policy, does)]
    }

    /// A finding that follows from it.
    pub fn tell(&self, cluster: &Cluster, finding: Finding) -> Finding {
        finding.way(&CUT_OFF).named(self.values()).facts(self.evidence(cluster))
    }
}
