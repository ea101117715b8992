//! The Lease of the rotation, where it changes hands without end.
//!
//! A manager takes part in the election once in its life: who ends gives it back, who could not renew it for 30 s never takes it again
//! (longhorn-manager v1.11.3 and v1.12.1 webhook/cert/rotate.go RotateLoop, which RunOrDie leaves for good). So every transition is a
//! manager that ended or lost the API server: one a node in a rolling restart, one for the holder's reboot. Its number over the age of the
//! Lease keeps what the restart counts of new pods do not.

use jiff::SignedDuration;

use super::LEASE_UNSTEADY;
use crate::check::*;
use crate::facts::text::duration;
use crate::longhorn::{Lease, ROTATION_LOCK};

/// In less a few rollouts weigh too much.
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// A nightly restart of every node makes one for each manager.
const A_DAY: i64 = 2;

pub(super) fn judge(cluster: &Cluster, out: &mut Outcome) {
    let lease = cluster.objects.leases.get(ROTATION_LOCK).filter(|_| cluster.can_read(Resource::Leases));
    let managers = i64::try_from(cluster.manager_pods().count()).unwrap_or(i64::MAX);
    let Some((lease, created)) = lease.and_then(|lease| Some((lease, lease.metadata.created()?))) else {
        return;
    };
    let (age, transitions) = (cluster.age(created), lease.spec.lease_transitions.0);
    let normal = age.as_secs().saturating_mul(A_DAY).saturating_mul(managers) / DAY.as_secs();
    if managers == 0 || age < DAY || transitions <= normal {
        return;
    }
    let long = duration(age);
    let message = format!(
        "the webhook certificate Lease changed hands {transitions} times in {long} ({})",
        counted(managers, "manager")
    );
    out.report(
        Finding::about(&LEASE_UNSTEADY, cluster.object::<Lease>(ROTATION_LOCK), message)
            .impact("while a manager is down, its volumes cannot attach or rebuild. Running I/O continues.")
            .fact(format!("the Lease has leaseTransitions {transitions} and creationTimestamp {created}"))
            .fact("each manager process takes the Lease at most once"),
    );
}
