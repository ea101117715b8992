//! Series about the webhooks.

use crate::check::gauges;

const NO_SERVICE: &str =
    "this Longhorn release has no such Service (the conversion webhook was removed after 1.9)";

gauges! {
    READY = Gauge "longhorn_health_webhook_ready_endpoints" ["webhook"]
        "Pods that are ready endpoints of this webhook's Service, according to its EndpointSlices.",
        absent NO_SERVICE,
        example "longhorn_health_webhook_ready_endpoints{webhook=\"admission\"} == 0";
    EXPECTED = Gauge "longhorn_health_webhook_expected_endpoints" ["webhook"]
        "Pods that should serve this webhook's Service: its Deployment's replicas (up to 1.4) or the managers (from 1.5 on).",
        absent NO_SERVICE,
        example "longhorn_health_webhook_ready_endpoints < longhorn_health_webhook_expected_endpoints";
    LOCK_ACQUIRED = Gauge "longhorn_health_webhook_lock_acquired_timestamp_seconds" ["node"]
        "Unix time when the node took the start Lease. Managers take it one by one to start their webhooks.",
        absent "no node holds the Lease, or the release has no such Lease",
        example "time() - longhorn_health_webhook_lock_acquired_timestamp_seconds > 250";
    CONFIGURED = Gauge "longhorn_health_webhook_configuration_present" ["configuration"]
        "1 if Longhorn's webhook configuration exists and lists a webhook, otherwise 0.",
        absent "webhook configurations cannot be read (an optional cluster-wide right) or were not recorded",
        example "longhorn_health_webhook_configuration_present == 0";
}
