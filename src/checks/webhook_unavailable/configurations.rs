//! Longhorn's two webhook configurations: whether they are there, and whom they name.
//!
//! A manager writes them when it starts its admission webhook, after the environment check, with its own
//! namespace (longhorn-manager v1.5.5 to v1.12.1 webhook/server/server.go runAdmissionWebhookListenAndServe).

use super::{NO_ENDPOINT, causes, certificates, gauges};
use crate::check::*;
use crate::cluster::Readability;
use crate::facts::age;
use crate::longhorn::WebhookService;

/// Longhorn's two webhook configurations, where they may be read.
pub fn judge(cluster: &Cluster, admission_down: bool, out: &mut Outcome) {
    let recorded = |(kind, ..): &(Resource, _, _)| cluster.readability(*kind) == Readability::Readable;
    let configurations = cluster.webhook_configurations();
    let any_recorded = configurations.iter().any(recorded);
    let (mut trusted, mut told) = (Vec::new(), false);
    for (kind, name, webhooks) in configurations {
        match cluster.readability(kind) {
            Readability::Readable => {}
            // a recording has both or neither; if neither is there, neither was asked for
            Readability::NotRecorded if any_recorded => {}
            Readability::NotRecorded => continue,
            state => {
                let state = state.as_str().replace('_', " ");
                out.unknown(format!("{kind} is {state}, so whether {name} exists is unknown"));
                continue;
            }
        }
        let present = webhooks.is_some_and(|webhooks| !webhooks.is_empty());
        out.sample(
            &gauges::CONFIGURED,
            &[name.trim_start_matches("longhorn-webhook-")],
            f64::from(u8::from(present)),
        );
        let installed = cluster.manager_daemon_set().is_some_and(|set| !set.metadata.is_deleting());
        // managers of a new installation write them when they come so far, and where no manager pod was ever made it has not begun
        let new = (admission_down || cluster.manager_pods().next().is_none())
            && cluster.can_read(Resource::LonghornNodes)
            && cluster.objects.longhorn_nodes.is_empty();
        // one that cannot be decoded is not missing
        let known = webhooks.is_some() || cluster.decoded_all(kind);
        if !present && installed && !new && known {
            missing(cluster, kind, name, webhooks.is_some(), out);
        }
        if let Some(service) = webhooks
            .unwrap_or_default()
            .iter()
            .find_map(|webhook| webhook.foreign_service(&cluster.namespace))
        {
            told = true;
            out.report(foreign_configuration(cluster, kind, name, service));
        } else if webhooks.unwrap_or_default().iter().any(|webhook| webhook.trusts_nobody()) {
            told = true;
            out.report(untrusted(cluster, kind, name));
        } else {
            trusted.push((kind, name, webhooks.unwrap_or_default()));
        }
    }
    certificates::judge(cluster, &trusted, told, out);
}

/// True when the API server is known not to ask: no configuration lists a webhook.
pub fn nobody_is_asked(cluster: &Cluster) -> bool {
    cluster.webhook_configurations().into_iter().all(|(kind, _, webhooks)| {
        cluster.readability(kind) == Readability::Readable && webhooks.unwrap_or_default().is_empty()
    })
}

fn foreign_configuration(
    cluster: &Cluster,
    kind: Resource,
    name: &'static str,
    service: &WebhookService,
) -> Finding {
    let (namespace, there, service) = (&cluster.namespace, &service.namespace, &service.name);
    Finding::about(
        &causes::CONFIGURATION_FOREIGN,
        cluster.object_of(kind, name),
        format!("{name} calls namespace {there}, but Longhorn is in {namespace}"),
    )
    .impact(
        format!("if Service {there}/{service} does not answer, no Longhorn object can be created or updated. Managers then fail \
                 during startup."),
    )
    .fact(format!("webhooks[].clientConfig.service is {there}/{service}, but managers write their own namespace there"),
    )
    .with(Name::Value, there.to_string())
    .with(Name::Webhook, format!("{}/{name}", kind.info().plural))
    .with(Name::Manager, one_to_restart(cluster))
}

/// A manager writes the CA of its Secret (longhorn-manager v1.5.5 to v1.12.1 webhook/server/server.go: ClientConfig.CABundle), which no host
/// trusts on its own.
fn untrusted(cluster: &Cluster, kind: Resource, name: &'static str) -> Finding {
    let kind_name = kind.info().kind;
    Finding::about(
        &causes::CONFIGURATION_UNTRUSTED,
        cluster.object_of(kind, name),
        format!("Longhorn's {kind_name} {name} has no CA bundle"),
    )
    .impact("every create and update of a Longhorn object is rejected (x509: certificate signed by unknown authority)")
    .fact("webhooks[].clientConfig names a Service, and its caBundle is empty")
    .with(Name::Webhook, format!("{}/{name}", kind.info().plural))
    .with(Name::Manager, one_to_restart(cluster))
}

/// Any manager writes them in its start.
pub fn one_to_restart(cluster: &Cluster) -> String {
    let pod = cluster.manager_pods().find(|pod| !pod.metadata.is_deleting());
    pod.map(|pod| pod.metadata.name.to_string()).unwrap_or_default()
}

fn missing(cluster: &Cluster, kind: Resource, name: &'static str, exists: bool, out: &mut Outcome) {
    // seen for the first time it has only begun, unless the exporter itself has
    let seen = out.first_seen(causes::CONFIGURATION_MISSING.id, name).unwrap_or(cluster.now);
    let seen = Some(seen).filter(|seen| age::began_under_watch(cluster, *seen));
    // managers create them while they start, so a new installation is without for a moment
    let installed = cluster.manager_daemon_set().and_then(|set| set.metadata.created());
    let since = seen.or(installed.filter(|created| cluster.age(*created) < NO_ENDPOINT));
    let cause = if since.is_some_and(|since| cluster.age(since) < NO_ENDPOINT) {
        &causes::ROLLOUT
    } else {
        &causes::CONFIGURATION_MISSING
    };
    let what = if exists { "lists no webhook" } else { "is missing" };
    out.report(
        Finding::about(
            cause,
            cluster.object_of(kind, name),
            format!("Longhorn's {} {name} {what}", kind.info().kind),
        )
        .since(since)
        .impact(
            "Longhorn objects are accepted unchecked and without required defaults. From 1.9.2 on, a starting manager exits after 120 s.",
        )
        .fact(format!("{name} {what}"))
        .with(Name::Manager, one_to_restart(cluster)),
    );
}
