//! Series about the webhooks.

use crate::check::gauges;

const NO_SERVICE: &str = "this release has no such Service";

gauges! {
    READY = Gauge "longhorn_health_webhook_ready_endpoints" ["webhook"]
        "Pods that are ready endpoints of this webhook's Service.",
        absent NO_SERVICE,
        example "longhorn_health_webhook_ready_endpoints{webhook=\"admission\"} == 0";
    EXPECTED = Gauge "longhorn_health_webhook_expected_endpoints" ["webhook"]
        "Pods that should serve this webhook: the managers (up to 1.4: its Deployment's pods).",
        absent NO_SERVICE,
        example "longhorn_health_webhook_ready_endpoints < longhorn_health_webhook_expected_endpoints";
    LOCK_ACQUIRED = Gauge "longhorn_health_webhook_lock_acquired_timestamp_seconds" ["node"]
        "Unix time when the node took the Lease to start its webhook.",
        absent "no node holds it",
        example "time() - longhorn_health_webhook_lock_acquired_timestamp_seconds > 250";
    CONFIGURED = Gauge "longhorn_health_webhook_configuration_present" ["configuration"]
        "1 if Longhorn's webhook configuration exists and lists a webhook, otherwise 0.",
        absent "it cannot be read (this needs an optional cluster-wide permission)",
        example "longhorn_health_webhook_configuration_present == 0";
}
