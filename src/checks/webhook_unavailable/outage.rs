//! A webhook that no one serves: a rollout, an outage, or managers that wait for each other.

use jiff::{SignedDuration, Timestamp};

use super::pods::{self, States};
use super::service::{ServiceEndpoints, WebhookRole};
use super::{HOLD, causes, configurations, selector};
use crate::check::*;
use crate::cluster::Readability;
use crate::facts::probes::ForeignProbe;
use crate::facts::releases::manager_release;
use crate::facts::text::duration;
use crate::facts::{age, installation, looping, not_started, pods as words, probes, starts, unreached};
use crate::longhorn::{Pod, Release, Service, Suffix, WEBHOOK_LOCK};

/// Makes the pods that serve it from 1.5 on.
const DAEMON_SET: &str = "longhorn-manager";

/// A pod that becomes Ready is listed in the EndpointSlices within moments.
const LISTED: SignedDuration = SignedDuration::from_secs(60);

/// Judges one webhook without a ready endpoint.
pub fn judge(cluster: &Cluster, webhook: WebhookRole, endpoints: ServiceEndpoints, out: &mut Outcome) {
    let states = States::of(cluster, webhook.pods(cluster), webhook.container(cluster));
    // pods that are Ready do not tell since when, and are never without for long: after an outage of the API server the
    // EndpointSlices come some seconds before the pods that explain them
    let begins = || states.ready > 0 && age::began_under_watch(cluster, cluster.now);
    let seen = out
        .first_seen(causes::NO_READY_ENDPOINT.id, webhook.service())
        .or_else(|| begins().then_some(cluster.now));
    let since = since(cluster, webhook, seen);
    let selector = selector::wrong(cluster, webhook);
    // those that are refused are none of a rollout
    let refused = match webhook.has_deployment(cluster) {
        _ if webhook.pods(cluster).next().is_some() => None,
        true => not_started::refused_deployment(cluster, webhook.service()),
        false => not_started::refused(cluster, DAEMON_SET),
    };
    let cause = match since {
        _ if selector.is_some() => &causes::SELECTOR_WRONG,
        _ if refused.is_some() => &causes::NO_READY_ENDPOINT,
        Some(since) if cluster.age(since) < HOLD => &causes::ROLLOUT,
        _ if is_deadlock(cluster, webhook, &states) => &causes::DEADLOCK,
        _ if webhook.not_listed(cluster, LISTED).is_some_and(|missing| missing > 0) => &causes::NOT_LISTED,
        _ => &causes::NO_READY_ENDPOINT,
    };
    let object = cluster.object::<Service>(webhook.service());
    let (message, remedy) = match (&selector, &refused) {
        (Some(wrong), _) => (wrong.message(webhook, &states), Remedy::default()),
        (None, Some(refused)) if webhook.has_deployment(cluster) => (
            format!("there is no pod to serve {}: {}", webhook.service(), refused.text),
            Remedy::new(
                "Change what the refusal names, often the webhook of another product that no one serves; the controller tries again \
                 within minutes.",
            )
            .read(format!("kubectl -n {} describe replicasets -l app={}", cluster.namespace, webhook.service()))
            .read("kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations"),
        ),
        (None, Some(refused)) => (
            format!("there is no longhorn-manager to serve {}: {}", webhook.service(), refused.text),
            not_started::remedy(cluster, DAEMON_SET, None, None, refused.obstacle),
        ),
        (None, None) => (message(cluster, webhook, cause, since, &states), remedy(cluster, webhook, cause)),
    };
    let mut finding = Finding::about(cause, object, message)
        .since(since)
        .impact(impact(cluster, webhook, manager_release(cluster)))
        .with(Name::Workload, webhook.container(cluster))
        .with(Name::Value, selector.as_ref().map(selector::WrongSelector::patch).unwrap_or_default())
        .remedy(remedy);
    if let Some(pod) = first_to_go(cluster, webhook).filter(|_| cause == &causes::DEADLOCK) {
        finding = finding.with(Name::Pod, pod.metadata.name.to_string());
    }
    finding = finding
        .facts(evidence(cluster, webhook, endpoints, &states))
        .facts(refused.into_iter().flat_map(|refused| refused.evidence));
    finding = match (since, seen) {
        (None, _) => finding.fact(
            EvidenceSource::History
                .says("how long it has been down is unknown; assumed longer than a rollout takes"),
        ),
        (Some(since), Some(seen)) if since == seen => finding.fact(
            EvidenceSource::History
                .says(format!("nothing has served it since {since}, as this exporter saw")),
        ),
        (Some(since), _) => finding.fact(format!("no pod behind it has been Ready since {since} or earlier")),
    };
    out.report(finding);
}

/// Since when no one serves it, at the latest. `None` is unknown and must not be taken for new.
fn since(cluster: &Cluster, webhook: WebhookRole, seen: Option<Timestamp>) -> Option<Timestamp> {
    let by_pods =
        pods::none_ready_since(cluster, webhook.pods(cluster), webhook.container(cluster)).or_else(|| {
            // pods that became Ready a moment ago may not be in the EndpointSlices yet
            let newest =
                webhook.pods(cluster).filter(|pod| pod.is_ready()).filter_map(pods::ready_changed).max();
            newest.filter(|newest| cluster.age(*newest) < LISTED)
        });
    // no pods at all: an installation has just begun
    let set = cluster.manager_daemon_set().filter(|_| webhook.pods(cluster).next().is_none());
    let installed = set.and_then(|set| set.metadata.created()).filter(|made| cluster.age(*made) < HOLD);
    // the last lives of a loop that is older than a rollout make it look like one
    let by_pods =
        by_pods.filter(|since| cluster.age(*since) >= HOLD || !pods::all_loop_for_long(cluster, webhook));
    // every pod was told to go, as by a change of the DaemonSet, and those that follow are not there yet
    let replaced = webhook.told_to_go(cluster).filter(|told| set.is_some() && cluster.age(*told) < HOLD);
    let told = by_pods.into_iter().chain(installed).chain(replaced).min();
    match told {
        // however short the pods say it is: it holds at least since then
        Some(told) => Some(seen.map_or(told, |seen| seen.min(told))),
        None => seen.filter(|seen| age::began_under_watch(cluster, *seen)),
    }
}

/// True when several who should serve it run or loop and none becomes Ready, and neither log nor object names another reason. Managers
/// that end before they come to their webhook, or whose node is away, are no part of it. Where the holder of the start Lease
/// hangs for a reason of its own, they wait for that one and not for each other; where the readiness probe asks a port
/// that their release does not serve, no wait helps.
///
/// Up to 1.4 the webhook's own Deployment is meant, and managers that wait for it in their init
/// container (longhorn v1.4.4 deploy/longhorn.yaml).
fn is_deadlock(cluster: &Cluster, webhook: WebhookRole, states: &States) -> bool {
    let other = starts::stuck_holder(cluster).is_some()
        || misprobed(cluster).is_some()
        || unreached::named(cluster).is_some();
    if states.ready > 0 || states.trying() == 0 || other || all_are_new(cluster, webhook) {
        return false;
    }
    match webhook.has_deployment(cluster) {
        true => managers(cluster).init > 0,
        // one alone waits for no other
        false => states.trying() > 1,
    }
}

/// True when every pod behind it was made a moment ago, as after its manifest was put right: they start, and do not wait for
/// each other yet.
fn all_are_new(cluster: &Cluster, webhook: WebhookRole) -> bool {
    let mut pods = webhook.pods(cluster).peekable();
    let is_new = |pod: &Pod| {
        let begun = pod.status.start_time.get().or(pod.metadata.created());
        begun.is_some_and(|begun| cluster.age(begun) < HOLD)
    };
    pods.peek().is_some() && pods.all(is_new)
}

/// A readiness probe by which no manager of this release becomes Ready.
fn misprobed(cluster: &Cluster) -> Option<ForeignProbe> {
    cluster.manager_pods().filter(|pod| !pod.is_ready()).find_map(|pod| probes::foreign(cluster, pod))
}

fn managers(cluster: &Cluster) -> States {
    States::of(cluster, cluster.manager_pods().filter(|pod| !pod.metadata.is_deleting()), "longhorn-manager")
}

fn message(
    cluster: &Cluster,
    webhook: WebhookRole,
    cause: &'static Cause,
    since: Option<Timestamp>,
    states: &States,
) -> String {
    let service = webhook.service();
    let age = since.map(|since| format!(" for {}", duration(cluster.age(since)))).unwrap_or_default();
    match *cause {
        causes::ROLLOUT if states.ending() > 0 => {
            format!("Service {service} has had no ready endpoint{age}: pods behind it are {states}")
        }
        causes::ROLLOUT => format!("Service {service} has had no ready endpoint{age}, as in a rollout"),
        causes::DEADLOCK if !webhook.has_deployment(cluster) => {
            format!("no longhorn-manager has been Ready{age}: webhook deadlock, each waits for another")
        }
        causes::DEADLOCK => {
            format!(
                "Service {service} has had no ready endpoint{age}, and the managers wait for it (deadlock)"
            )
        }
        _ if webhook.is_undeployed(cluster) => {
            format!("Service {service} has had no ready endpoint{age}: its Deployment does not exist")
        }
        _ => {
            let why = match (starts::stuck_holder(cluster), unreached::named(cluster)) {
                (Some(pod), _) => {
                    format!("the manager of node {} holds the start Lease and hangs", pod.spec.node_name)
                }
                (None, Some((pod, why))) => {
                    format!(
                        "the manager of node {} does not get through to it, {}",
                        pod.spec.node_name, why.briefly
                    )
                }
                (None, None) if states.ready > 0 => {
                    return format!(
                        "Service {service} has had no ready endpoint{age}, although pods behind it are {states}"
                    );
                }
                // why, as far as one of them says
                (None, None) => {
                    let refused = webhook.pods(cluster).find(|pod| pods::is_refused(pod));
                    format!("pods behind it are {states}{}", words::brief(refused))
                }
            };
            format!("Service {service} has had no ready endpoint{age}: {why}")
        }
    }
}

/// What is rejected while no one answers: the webhooks have failurePolicy Fail
/// (longhorn-manager webhook/server/validation.go per release).
pub fn impact(cluster: &Cluster, webhook: WebhookRole, release: Option<Release>) -> String {
    if webhook == WebhookRole::Conversion {
        return "Longhorn objects cannot be converted between API versions, so requests for them may fail"
            .to_owned();
    }
    if configurations::nobody_is_asked(cluster) {
        return "nothing is rejected, because no webhook configuration exists yet: Longhorn objects are accepted \
                unchecked; managers that start wait for this Service"
            .to_owned();
    }
    let mut impact =
        "every create and update of a Longhorn object is rejected: no attach, detach, snapshot, \
                      rebuild or new volume"
            .to_owned();
    if release.is_none_or(|release| release.at_least(1, 8, 0)) {
        impact.push_str(
            "; so is every update of any PersistentVolumeClaim in the cluster, whatever its StorageClass",
        );
        if release.is_none() {
            impact.push_str(" (from Longhorn 1.8 on)");
        }
    }
    // removed again by v1.11.0-hotfix-1 and v1.11.1 (longhorn issue 12578)
    if release.is_some_and(|r| (r.major, r.minor, r.patch) == (1, 11, 0) && r.suffix == Suffix::None) {
        impact.push_str("; in v1.11.0 so is every update of a Kubernetes Node, so new nodes do not join");
    }
    impact
}

fn evidence(
    cluster: &Cluster,
    webhook: WebhookRole,
    endpoints: ServiceEndpoints,
    states: &States,
) -> Vec<String> {
    let service = webhook.service();
    let mut facts = Vec::new();
    let services = cluster.readability(Resource::Services);
    if services == Readability::Readable && !webhook.exists(cluster) {
        facts.push(format!("Service {service} does not exist"));
    }
    facts.push(if endpoints.from_pods {
        format!("EndpointSlices were not recorded; no pod that Service {service} selects is Ready")
    } else {
        format!("EndpointSlices of {service}: {} ready, {} not ready", endpoints.ready, endpoints.not_ready)
    });
    if endpoints.unsteady > 0 {
        facts.push("those that are ready crash-loop and have not lived longer than the last time".to_owned());
    }
    if webhook == WebhookRole::Admission && configurations::nobody_is_asked(cluster) {
        facts.push("neither webhook configuration of Longhorn exists".to_owned());
    }
    facts.extend(misprobed(cluster).map(|probe| probe.to_string()));
    facts.push(format!("pods behind it ({} expected): {states}", webhook.expected(cluster)));
    if webhook.has_deployment(cluster) {
        facts.push(format!("longhorn-manager pods: {}", managers(cluster)));
    }
    let container = webhook.container(cluster);
    for pod in webhook.pods(cluster).take(5) {
        let end = pod.container_status(container).and_then(looping::last_end);
        let times = end.and_then(|end| Some((end, end.started_at.get()?, end.finished_at.get()?)));
        if let Some((end, started, finished)) = times {
            let ran = finished.duration_since(started).as_secs();
            let (name, code) = (&pod.metadata.name, end.exit_code);
            facts.push(format!(
                "{name}: container {container} ended last with exit code {code} after {ran} s"
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

/// What depends on more than the cause: where something else holds it up, that has to be fixed.
fn remedy(cluster: &Cluster, webhook: WebhookRole, cause: &'static Cause) -> Remedy {
    let app = webhook.container(cluster);
    if let Some(pod) = starts::stuck_holder(cluster) {
        let (namespace, name) = (&cluster.namespace, &pod.metadata.name);
        return Remedy::new(
            "This does not end on its own: the holder of the start Lease hangs, and the others wait for it. Fix what its \
             log names (the finding of manager_start_stuck); it goes on on its own then. Deleting its pod does not help: the \
             next one hangs in the same place.",
        )
        .read(format!("kubectl -n {namespace} logs {name} -c {app} --tail=50"))
        .read(format!("kubectl -n {namespace} get pods -l app={app} -o wide --show-labels"));
    }
    if misprobed(cluster).is_some() {
        return Remedy::new(
            "This does not end on its own: the readiness probe asks a port that the release does not serve. Apply the manifest of \
             the release (the finding of cause manifest_stale).",
        );
    }
    if let Some((pod, why)) = unreached::named(cluster) {
        return why.remedy(|name| match name {
            Name::Namespace => Some(cluster.namespace.as_str().into()),
            Name::Service => Some(webhook.service().into()),
            Name::Node => Some(pod.spec.node_name.as_str().into()),
            _ => None,
        });
    }
    if cause == &causes::ROLLOUT && pods::crash_looping(cluster, webhook.pods(cluster), app) > 0 {
        return Remedy::new(
            "This does not end on its own: pods behind the Service crash-loop. Follow the finding of manager_crash_loop.",
        );
    }
    if States::of(cluster, webhook.pods(cluster), app).hanging > 0 {
        return Remedy::new(
            "This does not end on its own: a pod behind the Service hangs in its start. Follow the finding of \
             manager_start_stuck.",
        );
    }
    if webhook.pods(cluster).any(pods::is_refused) {
        return Remedy::new(
            "Change what the runtime's refusal names, often the security profile of the cluster or a policy that sets runAsNonRoot; the \
             kubelet tries again on its own.",
        )
        .read(format!("kubectl -n {} describe pods -l app={app}", cluster.namespace))
        .read(format!("kubectl -n {} get pods -l app={app} -o yaml", cluster.namespace));
    }
    match webhook.is_undeployed(cluster) && cause != &causes::ROLLOUT {
        true => {
            let mut remedy = installation::to_release(
                cluster,
                manager_release(cluster),
                false,
                "It creates the Deployment again; the managers wait for it and go on on their own.",
            );
            let look = format!("kubectl -n {} get deployments", cluster.namespace);
            remedy.commands.insert(0, Command { run: look, changes: false });
            remedy
        }
        false => Remedy::default(),
    }
}

/// The pod whose back-off is worth ending: that of the start Lease's holder where there is one.
fn first_to_go(cluster: &Cluster, webhook: WebhookRole) -> Option<&Pod> {
    let holder = cluster.objects.leases.get(WEBHOOK_LOCK).map(|lease| lease.spec.holder_identity.as_str());
    let of_holder = webhook.pods(cluster).find(|pod| holder == Some(pod.spec.node_name.as_str()));
    of_holder.or_else(|| webhook.pods(cluster).find(|pod| !pods::is_away(cluster, pod)))
}
