//! The recovery backend, where the NFS servers keep what they know of their clients: managers serve it, up to 1.4 a Deployment.

use super::{WINDOW, causes};
use crate::check::*;
use crate::facts::releases::manager_release;
use crate::facts::text;
use crate::longhorn::{Pod, Release};

const SERVICE: &str = "longhorn-recovery-backend";
/// From here on a server survives a backend that does not answer (longhorn issue 8345); before 1.4 there is none.
const FIXED: [Release; 2] = [Release::new(1, 5, 5), Release::new(1, 6, 2)];

/// What of the backend was restarted or is not Ready, in a release whose servers end with the first request that gets no answer.
pub(super) struct Unsteady {
    pub release: Release,
    pub way: &'static Way,
    pub fact: String,
}

pub(super) fn unsteady(cluster: &Cluster) -> Option<Unsteady> {
    let ends_with_it = |release: &Release| release.at_least(1, 4, 0) && !release.has_fix(&FIXED);
    let release = manager_release(cluster).filter(ends_with_it)?;
    let (app, way) = match release.has_webhook_deployments() {
        true => (SERVICE, &causes::BACKEND_RESTARTS),
        false => ("longhorn-manager", &causes::MANAGERS_RESTART),
    };
    let lately = |pod: &&Pod| {
        let started = pod.container_status(app).and_then(|status| status.running_since());
        !pod.is_ready() || started.is_some_and(|at| cluster.age(at) < WINDOW)
    };
    let pods: Vec<&str> = cluster.pods_of(app).filter(lately).map(|pod| pod.metadata.name.as_str()).collect();
    let (count, window, names) = (counted(pods.len(), "pod"), text::duration(WINDOW), text::listed(&pods));
    let fact = format!(
        "{count} behind {SERVICE} started in the last {window} or {} not Ready: {names}",
        if pods.len() == 1 { "is" } else { "are" }
    );
    (!pods.is_empty()).then_some(Unsteady { release, way, fact })
}
