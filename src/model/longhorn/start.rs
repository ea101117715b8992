//! What a release does while a manager starts: how long it waits for its webhooks, and whether it
//! queues for a Lease before.

use jiff::SignedDuration;

use super::Release;

/// Name of the Lease under which managers start their webhooks one node at a time; its holder
/// identity is the node's name (longhorn-manager v1.12.1 app/daemon.go startWebhooksByLeaderElection).
pub const WEBHOOK_LOCK: &str = "longhorn-manager-webhook-lock";

/// Name of the Lease under which managers upgrade objects, one at a time (longhorn-manager v1.12.1 upgrade/upgrade.go).
pub const UPGRADE_LOCK: &str = "longhorn-manager-upgrade-lock";

/// Name of the Lease of the manager that rotates the certificates of the webhook, in 1.11.3, 1.12.0 and later; its holder identity is the
/// node's name (longhorn-manager v1.11.3 and v1.12.1 webhook/cert/rotate.go, app/daemon.go).
pub const ROTATION_LOCK: &str = "longhorn-webhook-cert-rotation";
/// Its holder renews it every 10 s, each time for 30 s at most, and then gives up and says so (RenewDeadline, RetryPeriod; seen: 40 s
/// after the last renewal).
pub const ROTATION_LATE: SignedDuration = SignedDuration::from_secs(45);

/// Label (and value) which a manager puts on its own pod from 1.7 on, and by which the Service of the
/// admission webhook selects (longhorn-manager v1.12.1 types/types.go, app/daemon.go).
pub const ADMISSION_LABEL: (&str, &str) = ("longhorn.io/admission-webhook", "longhorn-admission-webhook");

impl Release {
    /// Seconds that a manager waits for its webhook, first on localhost and then again through the
    /// Service, before it exits with a fatal error. `None` up to 1.4, where the webhooks are
    /// Deployments of their own and the manager's init container waits without limit
    /// (longhorn-manager v1.5.0 app/webhook.go; v1.5.4, v1.9.1 and v1.9.2 webhook/webhook.go).
    pub fn webhook_wait(self) -> Option<i64> {
        if self.at_least(1, 9, 2) {
            Some(120)
        } else if self.at_least(1, 5, 0) {
            Some(60)
        } else {
            None
        }
    }

    /// True when a manager also waits until its webhook answers through the Service: from 1.5.4
    /// (longhorn-manager v1.5.4 webhook/webhook.go).
    pub fn waits_for_webhook_service(self) -> bool {
        self.at_least(1, 5, 4)
    }

    /// Seconds that the start of one manager may take before it gives up, two waits for each of its
    /// webhooks: the conversion webhook goes first from 1.5 to 1.9 (longhorn-manager v1.9.2 and v1.10.0
    /// app/daemon.go startWebhooksByLeaderElection).
    pub fn longest_start(self) -> Option<i64> {
        let waits = if self.waits_for_webhook_service() { 2 } else { 1 };
        let webhooks = if (self.major, self.minor) < (1, 10) { 2 } else { 1 };
        Some(self.webhook_wait()? * waits * webhooks)
    }

    /// True when managers queue for [`WEBHOOK_LOCK`]: 1.6.4, 1.7.3 and all from 1.8.0 on
    /// (longhorn-manager v1.6.4, v1.7.3, v1.8.0 app/daemon.go).
    pub fn has_webhook_lock(self) -> bool {
        self.has_fix(&[Release::new(1, 6, 4), Release::new(1, 7, 3), Release::new(1, 8, 0)])
    }

    /// True up to 1.4, where the webhooks run in Deployments of their own
    /// (longhorn v1.3.3 and v1.4.4 deploy/longhorn.yaml).
    pub fn has_webhook_deployments(self) -> bool {
        !self.at_least(1, 5, 0)
    }

    /// True from 1.7 on, where a Ready manager takes part in the admission Service only with
    /// [`ADMISSION_LABEL`] on its pod (longhorn v1.7.0 deploy/longhorn.yaml).
    pub fn labels_webhook_pods(self) -> bool {
        self.at_least(1, 7, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_start() {
        for (text, longest) in [
            ("v1.4.4", None),
            ("v1.5.3", Some(120)),
            ("v1.5.4", Some(240)),
            ("v1.9.1", Some(240)),
            ("v1.9.2", Some(480)),
            ("v1.10.0-rc1", Some(240)),
            ("v1.12.1", Some(240)),
        ] {
            assert_eq!(Release::parse(text).unwrap().longest_start(), longest, "{text}");
        }
    }

    #[test]
    fn release_edges_of_the_start() {
        for (text, wait, service, lock, label) in [
            ("v1.3.3", None, false, false, false),
            ("v1.4.4", None, false, false, false),
            ("v1.5.0", Some(60), false, false, false),
            ("v1.5.3", Some(60), false, false, false),
            ("v1.5.4", Some(60), true, false, false),
            ("v1.6.3", Some(60), true, false, false),
            ("v1.6.4", Some(60), true, true, false),
            ("v1.7.2", Some(60), true, false, true),
            ("v1.7.3", Some(60), true, true, true),
            ("v1.8.0", Some(60), true, true, true),
            ("v1.9.1", Some(60), true, true, true),
            ("v1.9.2", Some(120), true, true, true),
            ("v1.10.0", Some(120), true, true, true),
            ("v1.13.0-dev", Some(120), true, true, true),
        ] {
            let release = Release::parse(text).unwrap();
            assert_eq!(release.webhook_wait(), wait, "{text}");
            assert_eq!(release.waits_for_webhook_service(), service, "{text}");
            assert_eq!(release.has_webhook_lock(), lock, "{text}");
            assert_eq!(release.labels_webhook_pods(), label, "{text}");
            assert_eq!(release.has_webhook_deployments(), wait.is_none(), "{text}");
        }
    }
}
