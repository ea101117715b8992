//! Who serves a Service, by its EndpointSlices.

use std::collections::BTreeMap;

use crate::cluster::Cluster;
use crate::longhorn::{EndpointSlice, Resource};

/// Label by which an EndpointSlice names its Service (Kubernetes discovery.k8s.io/v1).
const SERVICE_OF_SLICE: &str = "kubernetes.io/service-name";

/// The Service of Longhorn's API, which the CSI driver, the UI and the driver deployer ask.
pub const BACKEND: &str = "longhorn-backend";

/// True where it does not exist, although the other Services of Longhorn do.
pub fn lacks_backend(cluster: &Cluster) -> bool {
    let services = &cluster.objects.services;
    let known = cluster.knows_all(Resource::Services) && services.iter().next().is_some();
    known && services.get(BACKEND).is_none()
}

/// How many endpoints a Service has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Endpoints {
    /// Those that take requests.
    pub ready: usize,
    /// Those that are listed and do not.
    pub not_ready: usize,
}

/// The endpoints of a Service; `None` where it has no EndpointSlice. Whether EndpointSlices could be read is
/// for the caller to ask.
pub fn of(cluster: &Cluster, service: &str) -> Option<Endpoints> {
    let endpoints = each(cluster, service)?;
    let ready = endpoints.iter().filter(|(_, ready)| *ready).count();
    Some(Endpoints { ready, not_ready: endpoints.len() - ready })
}

/// Each endpoint: the name of its pod, empty for what is none, and whether it takes requests. A pod that is
/// listed once for each address family counts once.
pub fn each<'a>(cluster: &'a Cluster, service: &str) -> Option<Vec<(&'a str, bool)>> {
    let of_service = |slice: &&EndpointSlice| slice.metadata.label(SERVICE_OF_SLICE) == Some(service);
    let mut pods: BTreeMap<(&str, &str, usize), bool> = BTreeMap::new();
    let mut listed = false;
    for slice in cluster.objects.endpoint_slices.iter().filter(of_service) {
        listed = true;
        for (index, endpoint) in slice.endpoints.iter().enumerate() {
            let key = match endpoint.target_ref.name.as_str() {
                "" => ("", slice.metadata.name.as_str(), index),
                pod => (pod, "", 0),
            };
            // absent means unknown, which those who send requests take for ready
            *pods.entry(key).or_default() |= endpoint.conditions.ready.unwrap_or(true);
        }
    }
    listed.then(|| pods.into_iter().map(|((pod, ..), ready)| (pod, ready)).collect())
}
