//! Who holds a Lease.

use jiff::SignedDuration;

use crate::cluster::Cluster;
use crate::longhorn::Lease;

/// True when others may take the Lease: its holder has not renewed it for its duration. Longhorn's own last 20 s;
/// implausible durations are ignored.
pub fn is_expired(cluster: &Cluster, lease: &Lease) -> bool {
    let spec = &lease.spec;
    let duration = SignedDuration::from_secs(spec.lease_duration_seconds.0.clamp(20, 600));
    let renewed = spec.renew_time.get().or(spec.acquire_time.get());
    renewed.is_none_or(|renewed| cluster.age(renewed) > duration)
}

/// Who holds a Lease now and renews it: for Longhorn's Leases the name of a node.
pub fn holder<'a>(cluster: &'a Cluster, name: &str) -> Option<&'a str> {
    let lease = cluster.objects.leases.get(name)?;
    let holder = lease.spec.holder_identity.as_str();
    (!holder.is_empty() && !is_expired(cluster, lease)).then_some(holder)
}
