//! Series about the webhooks.

use crate::check::Gauge;

const fn of_webhook(
    name: &'static str,
    help: &'static str,
    example: &'static str,
) -> Gauge<[&'static str; 1]> {
    Gauge {
        name,
        help,
        labels: ["webhook"],
        absent: "this Longhorn release has no such Service; the conversion webhook ended with 1.9",
        example,
        ..Gauge::PLAIN
    }
}

/// Ready endpoints.
pub static READY: Gauge<[&str; 1]> = of_webhook(
    "longhorn_health_webhook_ready_endpoints",
    "Pods that take requests of this Longhorn Service, by its EndpointSlices.",
    "longhorn_health_webhook_ready_endpoints{webhook=\"admission\"} == 0",
);

/// Endpoints that are listed but not ready.
pub static NOT_READY: Gauge<[&str; 1]> = of_webhook(
    "longhorn_health_webhook_not_ready_endpoints",
    "Pods that the EndpointSlices of this Longhorn Service list as not ready.",
    "longhorn_health_webhook_not_ready_endpoints > 0",
);

/// Endpoints that there should be.
pub static EXPECTED: Gauge<[&str; 1]> = of_webhook(
    "longhorn_health_webhook_expected_endpoints",
    "Pods that should serve this Longhorn Service: managers from 1.5 on, replicas of its Deployment before.",
    "longhorn_health_webhook_ready_endpoints < longhorn_health_webhook_expected_endpoints",
);

/// Who holds the Lease.
pub static LOCK_ACQUIRED: Gauge<[&str; 1]> = Gauge {
    name: "longhorn_health_webhook_lock_acquired_timestamp_seconds",
    help: "Unix time since which this node holds the Lease under which managers start their webhooks one after the other.",
    labels: ["node"],
    absent: "no one holds the Lease, or the release has none",
    example: "time() - longhorn_health_webhook_lock_acquired_timestamp_seconds > 250",
    ..Gauge::PLAIN
};

/// Whether the webhook configurations are there.
pub static CONFIGURED: Gauge<[&str; 1]> = Gauge {
    name: "longhorn_health_webhook_configuration_present",
    help: "1 when Longhorn's webhook configuration exists and lists a webhook, 0 when not.",
    labels: ["configuration"],
    absent: "webhook configurations cannot be read (an optional cluster-wide right) or were not recorded",
    example: "longhorn_health_webhook_configuration_present == 0",
    ..Gauge::PLAIN
};
