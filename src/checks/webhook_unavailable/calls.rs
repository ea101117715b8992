//! What the API server says of its calls of Longhorn's webhooks: those that fail although a manager is Ready behind the Service.
//!
//! It says so to anyone who changes an object: to Longhorn, which repeats it to csi-attacher and in Events (Kubernetes
//! staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/errors.go ErrCallingWebhook).

use jiff::{SignedDuration, Timestamp};

use super::causes;
use super::impact;
use super::service::WebhookRole;
use crate::check::*;
use crate::facts::complaints;
use crate::facts::patience::DEFINITE;
use crate::facts::policies::{self, DROPPED};
use crate::facts::releases::manager_release;
use crate::facts::text::quoted;
use crate::facts::unreached;
use crate::longhorn::resource::VALIDATOR;
use crate::longhorn::{NetworkPolicy, Pod};

/// What is older is over.
const RECENT: SignedDuration = SignedDuration::from_mins(10);
/// Where a manager had been Ready for so long, a call that fails is no part of a rollout.
const SERVED: SignedDuration = SignedDuration::from_mins(3);

/// Calls that fail.
pub struct Failed<'a> {
    pub since: Timestamp,
    last: Timestamp,
    /// The newest error.
    pub said: &'a str,
    source: EvidenceSource,
}

impl Failed<'_> {
    pub fn evidence(&self) -> Evidence {
        let whose = match self.source {
            EvidenceSource::Event => "an Event",
            EvidenceSource::Log => "a manager's log",
            _ => "a VolumeAttachment",
        };
        self.source.says(format!("{whose} says: {}", quoted(self.said))).quoting(self.said)
    }
}

/// The calls that failed until lately and for some time, and whose error is one of these.
pub fn failed<'a>(cluster: &'a Cluster, is: impl Fn(&str) -> bool) -> Option<Failed<'a>> {
    let events = cluster.objects.events.iter().filter_map(|event| {
        Some((event.last_seen()?, event.first_seen()?, event.message.as_str(), EvidenceSource::Event))
    });
    let attachments = cluster.objects.csi_attachments.iter().filter(|csi| !csi.status.attached);
    let attachments = attachments.filter_map(|csi| {
        let error = &csi.status.attach_error;
        Some((error.time.get()?, csi.metadata.created()?, error.message.as_str(), EvidenceSource::Api))
    });
    // a node that loses packets loses some of its manager's calls: a log counts where a policy shuts out all
    let managers = cluster.manager_pods().filter(|_| policy(cluster).is_some());
    let managers = managers.flat_map(|pod| cluster.history.logs_of(pod));
    let lines = managers.flat_map(|log| log.text.lines()).filter_map(|line| {
        let failed = line.contains("failed calling webhook");
        let at = failed.then(|| complaints::written_at(line, cluster.now)).flatten()?;
        Some((at, at, line, EvidenceSource::Log))
    });
    let failed =
        |said: &str| said.contains("failed calling webhook") && said.contains(".longhorn.io") && is(said);
    let calls: Vec<_> =
        events.chain(attachments).chain(lines).filter(|(_, _, said, _)| failed(said)).collect();
    let (last, _, said, source) = *calls.iter().max_by_key(|(seen, ..)| *seen)?;
    let of_now =
        calls.iter().filter(|(seen, ..)| last.duration_since(*seen) <= SignedDuration::from_hours(1));
    let since = of_now.map(|(_, first, ..)| *first).min().unwrap_or(last);
    let lasts = last.duration_since(since) >= DEFINITE && cluster.age(last) <= RECENT;
    lasts.then_some(Failed { since, last, said, source })
}

/// Judges calls that fail on the way; those refused for a certificate are another finding.
pub fn judge(cluster: &Cluster, out: &mut Outcome) {
    let Some(calls) = failed(cluster, |said| !said.contains("x509: ")) else { return };
    let mut ready = cluster.manager_pods().filter_map(Pod::ready_since);
    if !ready.any(|since| calls.last.duration_since(since) >= SERVED) {
        return;
    }
    let meshed = cluster.manager_pods().find_map(mesh);
    let way = unreached::of_call(calls.said).filter(|_| meshed.is_none());
    // what is dropped ends in a timeout
    let dropped = DROPPED.iter().any(|part| calls.said.contains(part));
    let policy = policy(cluster).filter(|_| dropped);
    let restricting = restricting(cluster).filter(|_| dropped && meshed.is_none() && policy.is_none());
    let why = match (meshed, policy, way) {
        _ if restricting.is_some() => causes::RESTRICTED.briefly,
        (Some(_), ..) => causes::MESH.briefly,
        (None, Some(_), _) => causes::POLICY.briefly,
        (None, None, Some(way)) => way.briefly,
        (None, None, None) => "managers are Ready",
    };
    let object = cluster.object_of(Resource::ValidatingWebhookConfigurations, VALIDATOR);
    out.report(
        Finding::about(
            &causes::CALLS_FAIL,
            object,
            format!("calls to Longhorn's admission webhook fail: {why}"),
        )
        .since(Some(calls.since))
        .impact(impact::of(cluster, WebhookRole::Admission, manager_release(cluster)))
        .fact(calls.evidence())
        .facts(meshed.map(|mesh| format!("the managers' pods are in a service mesh ({mesh})")))
        .facts(policy.map(|policy| {
            policies::fact(
                cluster,
                policy,
                "selects the managers' pods, and no policy admits the API server's nodes",
            )
        }))
        .facts(
            restricting
                .map(|policy| policies::fact(cluster, policy, "restricts who reaches the managers' pods")),
        )
        .facts(policy.and_then(|_| unmounted(cluster)))
        .with(Name::Value, policy.or(restricting).map_or("", |policy| &policy.metadata.name))
        .named(policy.map(|policy| (Name::Reason, policies::source(policy))))
        .way(match restricting {
            Some(_) => Some(&causes::RESTRICTED),
            None => meshed.map(|_| &causes::MESH).or_else(|| policy.map(|_| &causes::POLICY)),
        }),
    );
}

/// The newest policy beside Longhorn's own that admits some to the managers by address, which may be read otherwise than it was meant.
fn restricting(cluster: &Cluster) -> Option<&NetworkPolicy> {
    let guards = cluster.manager_policies().into_iter();
    let some = guards.filter(|policy| !policy.is_longhorns() && policy.admits_by_address());
    some.max_by_key(|policy| policy.metadata.created())
}

/// A policy that selects the managers where none lets in the API server, which is no pod of the namespace.
fn policy(cluster: &Cluster) -> Option<&NetworkPolicy> {
    let guards = cluster.manager_policies();
    let shut = !guards.iter().any(|policy| policy.admits_api_server());
    // of those that only add, the one that shuts
    let first = guards.iter().find(|policy| policy.spec.ingress.is_empty()).or(guards.first());
    first.copied().filter(|_| shut)
}

/// What the CSI plugin says of NFS servers that the nodes do not reach either.
fn unmounted(cluster: &Cluster) -> Option<Evidence> {
    let mut servers =
        cluster.objects.pods.iter().filter(|pod| pod.metadata.name.starts_with("share-manager-"));
    servers.find(|pod| policies::shuts_out(cluster, pod).is_some())?;
    let logs = cluster.pods_of("longhorn-csi-plugin").flat_map(|pod| cluster.history.logs_of(pod));
    let mut lines = logs.flat_map(|log| log.text.lines().rev());
    let line = lines.find(|line| line.contains("mount.nfs: ") && line.contains("imed out"))?;
    let text = format!("nodes cannot mount RWX volumes either. The CSI plugin's log says: {}", quoted(line));
    Some(EvidenceSource::Log.says(text).quoting(line))
}

/// The mesh that takes over the pod's connections, by its proxy or by what the ambient mesh notes at the pod.
fn mesh(pod: &Pod) -> Option<&'static str> {
    let has = |name: &str| pod.spec.container(name).is_some() || pod.container_status(name).is_some();
    match () {
        () if pod.metadata.annotations.ambient_redirection == "enabled" => Some("Istio, ambient"),
        () if has("istio-proxy") => Some("Istio"),
        () if has("linkerd-proxy") => Some("Linkerd"),
        () => None,
    }
}
