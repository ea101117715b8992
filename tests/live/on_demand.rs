//! What only a plan of an upgrade reads is asked for when someone wants that plan, once for all who do.

use fake_apiserver::{FakeApiServer, Fault, Verb};
use longhorn_health_exporter::checks;
use longhorn_health_exporter::cluster::Readability;
use longhorn_health_exporter::longhorn::Resource;
use longhorn_health_exporter::source::{OnDemand, Source, on_demand};
use serde_json::json;

use crate::support::*;

const CLASSES: &str = "storageclasses.storage.k8s.io";
const POLICIES: &str = "networkpolicies.networking.k8s.io";

fn lists(server: &FakeApiServer, kind: &str) -> u64 {
    server.request_counts().get(&(kind.to_owned(), Verb::List)).copied().unwrap_or_default()
}

#[tokio::test]
async fn kinds_of_plans_are_listed_once_for_all_who_ask_and_never_followed() {
    let server = server().await;
    server.put(CLASSES, json!({"metadata": {"name": "longhorn"}, "provisioner": "driver.longhorn.io"}));
    server.fault(POLICIES, Fault::Forbid);
    let live = synced(&server).await;
    assert_eq!((lists(&server, CLASSES), lists(&server, POLICIES)), (0, 0));
    let before = lists(&server, VOLUMES);

    let on_demand = OnDemand::new(connection(&server).await, options());
    let (one, other) = within("two looks", async { tokio::join!(on_demand.look(), on_demand.look()) }).await;
    let again = within("a third look", on_demand.look()).await;
    assert_eq!((one.now, other.now), (again.now, again.now));
    assert_eq!((lists(&server, CLASSES), lists(&server, VOLUMES)), (1, before));
    assert!(server.request_counts().keys().all(|(kind, verb)| kind != CLASSES || *verb == Verb::List));

    let mut cluster = live.snapshot(now());
    assert!(!cluster.can_read(Resource::StorageClasses));
    cluster.adopt(&again, on_demand::beside(&checks::CATALOGUE.kinds()));
    assert!(cluster.can_read(Resource::StorageClasses));
    assert_eq!(cluster.objects.storage_classes.len(), 1);
    assert!(is(&cluster, Resource::NetworkPolicies, Readability::Forbidden));
    assert!(is(&cluster, Resource::Volumes, Readability::Readable));
    assert!(cluster.api_server.is_some());
}

#[tokio::test]
async fn an_api_server_that_is_away_makes_those_kinds_unknown() {
    let server = server().await;
    let connection = connection(&server).await;
    drop(server);
    let seen = within("a look", OnDemand::new(connection, options()).look()).await;
    assert!(on_demand::beside(&checks::CATALOGUE.kinds()).all(|kind| !seen.can_read(kind)));
    assert_eq!(seen.api_server, None);
}

#[test]
fn what_checks_read_is_not_asked_for_again() {
    let kinds: Vec<_> = on_demand::beside(&checks::CATALOGUE.kinds()).collect();
    assert!(kinds.contains(&Resource::StorageClasses) && kinds.contains(&Resource::HelmReleases));
    assert!(kinds.iter().all(|kind| !checks::CATALOGUE.kinds().contains(kind)));
}
