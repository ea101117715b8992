//! A webhook that no one serves: a rollout, an outage, or managers that wait for each other.

use jiff::Timestamp;

use super::pods::{self, States};
use super::service::{ServiceEndpoints, WebhookRole};
use super::since::{LISTED, since};
use super::{NO_ENDPOINT, causes, configurations, impact, selector};
use crate::check::*;
use crate::cluster::Readability;
use crate::facts::patience::DEFINITE;
use crate::facts::probes::ForeignProbe;
use crate::facts::releases::manager_release;
use crate::facts::text::duration;
use crate::facts::{age, installation, looping, not_started, pods as words, probes, start, unreached};
use crate::longhorn::{Pod, Service, WEBHOOK_LOCK};

/// Makes the pods that serve it from 1.5 on.
const DAEMON_SET: &str = "longhorn-manager";

/// A webhook that no one serves, with what else may hold up those who should: each asked once, for cause, message, evidence and advice.
pub(super) struct Outage<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) webhook: WebhookRole,
    since: Option<Timestamp>,
    pub(super) states: States,
    /// What the managers do whatever serves this webhook: up to 1.4 that is not they.
    pub(super) managers: States,
    /// The holder of the start Lease, where it hangs for a reason of its own: the others wait for it, and another start ends in the
    /// same place.
    pub(super) holder: Option<&'a Pod>,
    /// A readiness probe by which no manager of this release becomes Ready.
    pub(super) probe: Option<ForeignProbe>,
    /// What keeps a manager from the Service, no matter what serves it.
    pub(super) unreached: Option<(&'a Pod, &'static Way)>,
}

/// What an outage is found to be.
struct Verdict {
    cause: &'static Cause,
    message: String,
    way: Option<&'static Way>,
    values: Vec<(Name, String)>,
    remedy: Remedy,
    evidence: Vec<Evidence>,
}

impl Verdict {
    fn of(cause: &'static Cause, message: String) -> Self {
        let (values, remedy, evidence) = (Vec::new(), Remedy::default(), Vec::new());
        Verdict { cause, message, way: None, values, remedy, evidence }
    }
}

/// Judges one webhook without a ready endpoint.
pub fn judge(cluster: &Cluster, webhook: WebhookRole, endpoints: ServiceEndpoints, out: &mut Outcome) {
    let starts = start::observe(cluster);
    let hanging = starts.hanging(cluster);
    let states = States::of(cluster, &hanging, webhook.pods(cluster), webhook.container(cluster));
    // pods that are Ready do not tell since when, and are never without for long: after an outage of the API server the
    // EndpointSlices come some seconds before the pods that explain them
    let begins = || states.ready > 0 && age::began_under_watch(cluster, cluster.now);
    let seen = out
        .first_seen(causes::NO_READY_ENDPOINT.id, webhook.service())
        .or_else(|| begins().then_some(cluster.now));
    let since = since(cluster, webhook, seen);
    let unready = |pod: &&Pod| !pod.is_ready();
    let live = |pod: &&Pod| !pod.metadata.is_deleting();
    let outage = Outage {
        cluster,
        webhook,
        since,
        states,
        managers: States::of(cluster, &hanging, cluster.manager_pods().filter(live), DAEMON_SET),
        holder: starts.stuck_holder(&hanging),
        probe: cluster.manager_pods().filter(unready).find_map(|pod| probes::foreign(cluster, pod)),
        unreached: unreached::named(cluster),
    };
    let verdict = outage.verdict();
    let mut finding =
        Finding::about(verdict.cause, cluster.object::<Service>(webhook.service()), verdict.message)
            .since(since)
            .impact(impact::of(cluster, webhook, manager_release(cluster)))
            .with(Name::Workload, webhook.container(cluster))
            .named(verdict.values)
            .way(verdict.way)
            .remedy(verdict.remedy)
            .facts(outage.evidence(endpoints))
            .facts(verdict.evidence);
    finding = match (since, seen) {
        (None, _) => finding.fact(
            EvidenceSource::History
                .says("the start of the outage is unknown, so it counts as longer than a rollout"),
        ),
        (Some(since), Some(seen)) if since == seen => finding.fact(EvidenceSource::History.says(format!(
            "{} has had no ready endpoint since {since}, as this exporter saw",
            webhook.service()
        ))),
        (Some(since), _) => {
            finding.fact(format!("{} has had no Ready pod since {since} or earlier", webhook.service()))
        }
    };
    out.report(finding);
}

impl<'a> Outage<'a> {
    /// A Service that is missing, a selector by which no manager serves, or pods that the API server refuses: those are none of a rollout.
    fn refused(&self) -> Option<Verdict> {
        let (cluster, webhook) = (self.cluster, self.webhook);
        if self.is_without_service() {
            let message = format!("Service {} is missing", webhook.service());
            let verdict = Verdict::of(&causes::NO_READY_ENDPOINT, message);
            return Some(Verdict { way: Some(&causes::SERVICE_MISSING), ..verdict });
        }
        if let Some(wrong) = selector::wrong(cluster, webhook) {
            let (values, evidence) = (vec![(Name::Value, wrong.patch())], vec![wrong.evidence()]);
            let message = wrong.message(webhook, &self.states);
            return Some(Verdict { values, evidence, ..Verdict::of(&causes::SELECTOR_WRONG, message) });
        }
        if webhook.pods(cluster).next().is_some() {
            return None;
        }
        let (who, refused, way) = match webhook.has_deployment(cluster) {
            true => {
                let refused = not_started::refused_deployment(cluster, webhook.service())?;
                ("pod", refused, Some(&causes::REPLICA_SETS_REFUSED))
            }
            false => ("longhorn-manager", not_started::refused(cluster, DAEMON_SET)?, None),
        };
        let message = format!("no {who} is serving {}: {}", webhook.service(), refused.text);
        Some(Verdict {
            way: way.or(Some(refused.way)),
            evidence: refused.evidence,
            ..Verdict::of(&causes::NO_READY_ENDPOINT, message)
        })
    }

    fn is_without_service(&self) -> bool {
        let readable = self.cluster.readability(Resource::Services) == Readability::Readable;
        readable && !self.webhook.exists(self.cluster)
    }

    /// True where pods are new and have not ended yet: those of a rollout.
    fn is_rollout(&self) -> bool {
        let (cluster, container) = (self.cluster, self.webhook.container(self.cluster));
        let ended = |pod: &Pod| pod.container_status(container).and_then(looping::last_end).is_some();
        let is_new = |pod: &Pod| pod.metadata.created().is_some_and(|made| cluster.age(made) < NO_ENDPOINT);
        self.webhook.told_to_go(cluster).is_some()
            || self.webhook.pods(cluster).any(is_new) && !self.webhook.pods(cluster).any(ended)
    }

    fn verdict(&self) -> Verdict {
        if let Some(refused) = self.refused() {
            return refused;
        }
        let (cluster, webhook) = (self.cluster, self.webhook);
        let service = webhook.service();
        let age =
            self.since.map(|since| format!(" for {}", duration(cluster.age(since)))).unwrap_or_default();
        let none = format!("{service} has{} no ready endpoint", if age.is_empty() { "" } else { " had" });
        let (way, values) = self.way();
        let verdict = |cause, message| Verdict { way, values, ..Verdict::of(cause, message) };
        // no pod of a rollout whose image no node can pull becomes Ready
        let mut pods = webhook.pods(cluster).peekable();
        let refused =
            pods.peek().is_some() && pods.all(|pod| not_started::said_by_kubelet(cluster, pod).is_some());
        let patience = if refused { DEFINITE } else { NO_ENDPOINT };
        if self.since.is_some_and(|since| cluster.age(since) < patience) {
            return verdict(
                &causes::ROLLOUT,
                match self.states.ending() {
                    0 if self.is_rollout() => {
                        format!("{service} has no ready endpoint, as expected in a rollout")
                    }
                    _ => format!("{none}{age}: {}", self.states.most()),
                },
            );
        }
        let undeployed = webhook.is_undeployed(cluster);
        let mut verdict = if self.is_deadlock() {
            let message = match webhook.has_deployment(cluster) {
                true => format!("{none}{age}, and managers are waiting (deadlock)"),
                false => {
                    format!("no longhorn-manager has been Ready{age}: each is waiting for another (deadlock)")
                }
            };
            let mut deadlock = verdict(&causes::DEADLOCK, message);
            if impact::rejects_nodes(manager_release(cluster)) {
                deadlock.way = Some(&causes::NODES_REJECTED);
            }
            deadlock.values.extend(self.first_to_go().map(|pod| (Name::Pod, pod.metadata.name.to_string())));
            deadlock
        } else {
            let missing = webhook.not_listed(cluster, LISTED).is_some_and(|missing| missing > 0);
            let cause = if missing { &causes::NOT_LISTED } else { &causes::NO_READY_ENDPOINT };
            let message = match undeployed {
                true => format!("{none}: its Deployment is missing"),
                false => none + &self.why(&age),
            };
            verdict(cause, message)
        };
        if undeployed && verdict.way.is_none() {
            let reason = "This recreates the Deployment that managers need.";
            let look = format!("kubectl -n {} get deployments", cluster.namespace);
            verdict.remedy = installation::to_release(cluster, manager_release(cluster), false, reason);
            verdict.remedy.commands.insert(0, Command { run: look, changes: false });
        }
        verdict
    }

    /// What holds it up, as far as one of those who should serve it says.
    fn why(&self, age: &str) -> String {
        if let Some(pod) = self.holder {
            return format!("{age}: {}'s manager hangs", pod.spec.node_name);
        }
        match (self.unreached, self.states.ready) {
            (Some((_, way)), _) => format!(": {}", way.briefly),
            (None, 0) => format!("{age}: {}", self.states.most()),
            (None, ready) => format!("{age} although {ready} pods are Ready"),
        }
    }

    /// What has to be fixed first, with what its templates name.
    fn way(&self) -> (Option<&'static Way>, Vec<(Name, String)>) {
        let (cluster, webhook) = (self.cluster, self.webhook);
        let loops = || pods::crash_looping(cluster, webhook.pods(cluster), webhook.container(cluster)) > 0;
        let new = self.since.is_some_and(|since| cluster.age(since) < NO_ENDPOINT);
        let mut values = Vec::new();
        let way = if let Some(pod) = self.holder {
            values.push((Name::Manager, pod.metadata.name.to_string()));
            &causes::HOLDER_HANGS
        } else if self.probe.is_some() {
            &causes::PROBE_FOREIGN
        } else if let Some((pod, way)) = self.unreached {
            values.push((Name::Service, webhook.service().to_owned()));
            values.push((Name::Node, pod.spec.node_name.to_string()));
            way
        } else if new && loops() {
            &causes::CRASH_LOOPS
        } else if self.states.hanging > 0 {
            &causes::POD_HANGS
        } else if webhook.pods(cluster).any(pods::is_refused) {
            &causes::RUNTIME_REFUSES
        } else {
            return (None, values);
        };
        (Some(way), values)
    }

    fn evidence(&self, endpoints: ServiceEndpoints) -> Vec<String> {
        let (cluster, webhook) = (self.cluster, self.webhook);
        let service = webhook.service();
        let mut facts = Vec::new();
        if self.is_without_service() {
            facts.push(format!("Service {service} does not exist"));
        }
        let (ready, not_ready) = (endpoints.ready, endpoints.not_ready);
        facts.push(if !endpoints.from_pods && ready + not_ready == 0 {
            format!("EndpointSlices of {service} list no endpoint")
        } else if endpoints.from_pods {
            format!("the recording lacks EndpointSlices, and no pod that Service {service} selects is Ready")
        } else {
            format!("EndpointSlices of {service}: {ready} ready, {not_ready} not ready")
        });
        if endpoints.unsteady > 0 {
            facts.push("the Ready pods crash-loop and have not outlived their previous run yet".to_owned());
        }
        if webhook == WebhookRole::Admission && configurations::nobody_is_asked(cluster) {
            facts.push("neither of Longhorn's webhook configurations exists".to_owned());
        }
        facts.extend(self.probe.map(|probe| probe.to_string()));
        let expected = webhook.expected(cluster);
        facts.push(format!("pods behind {service} ({expected} expected): {}", self.states));
        if webhook.has_deployment(cluster) {
            facts.push(format!("longhorn-manager pods: {}", self.managers));
        }
        let container = webhook.container(cluster);
        for pod in webhook.pods(cluster).take(5) {
            let end = pod.container_status(container).and_then(looping::last_end);
            let times = end.and_then(|end| Some((end, end.started_at.get()?, end.finished_at.get()?)));
            if let Some((end, started, finished)) = times {
                let ran = finished.duration_since(started).as_secs();
                let (name, code) = (&pod.metadata.name, end.exit_code);
                facts.push(format!(
                    "{name}: the last run of container {container} ended with exit code {code} after {ran} s"
                ));
            } else if pod.container_status(container).is_none_or(|status| status.state.waiting.is_some()) {
                facts.extend(words::trouble(pod).map(|trouble| format!("{}: {trouble}", pod.metadata.name)));
            }
        }
        if let Some(lease) = cluster.objects.leases.get(WEBHOOK_LOCK)
            && !lease.spec.holder_identity.is_empty()
        {
            facts.push(format!("Lease {WEBHOOK_LOCK} is held by {}", lease.spec.holder_identity));
        }
        facts
    }
}
