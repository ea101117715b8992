//! Whether a pod has run, and whether it is over.

use super::{ContainerState, ContainerStatus, Pod, PodPhase, Terminated};
use crate::longhorn::condition;

impl Pod {
    /// True when no container of it will run any more: the pod says so a second or two later than its containers.
    pub fn is_over(&self) -> bool {
        let statuses = &self.status.container_statuses;
        matches!(self.status.phase, PodPhase::Failed | PodPhase::Succeeded)
            || (!statuses.is_empty() && statuses.iter().all(|status| status.state.terminated.is_some()))
    }

    /// Why its kubelet did not take it, if it did not: a taint, pressure, not enough of something, a node selector. Such a pod is
    /// Failed from the start. A kubelet that starts may also reject pods that run; [`Pod::has_run`] tells.
    pub fn rejection(&self) -> Option<&str> {
        const PREFIX: &str = "Pod was rejected: ";
        let (reason, message) = (self.status.reason.as_str(), self.status.message.trim());
        if self.status.phase != PodPhase::Failed {
            return None;
        }
        if let Some(why) = message.strip_prefix(PREFIX) {
            return Some(why);
        }
        // kubelets before that prefix; an eviction of a running pod says of what the node was short
        let by_reason = reason.starts_with("OutOf")
            || ["TaintToleration", "NodeAffinity", "UnexpectedAdmissionError"].contains(&reason)
            || (reason == "Evicted" && message.contains("node had condition"));
        by_reason.then_some(if message.is_empty() { reason } else { message })
    }

    /// False for a pod that is known never to have run: one that is Pending, that its kubelet rejected, or whose container could
    /// not be started. A kubelet that does not find a container calls it ContainerStatusUnknown, whether there was one or not.
    pub fn has_run(&self) -> bool {
        let statuses = &self.status.container_statuses;
        let ran = |state: &ContainerState| {
            state.running.is_some() || state.terminated.as_ref().is_some_and(|end| end.ran_since().is_some())
        };
        if statuses.iter().any(|status| ran(&status.state) || ran(&status.last_state)) {
            return true;
        }
        match self.status.phase {
            PodPhase::Pending => false,
            PodPhase::Failed => {
                let never = |status: &ContainerStatus| {
                    let ended = status.state.terminated.as_ref();
                    status.state.waiting.is_some() || ended.is_some_and(Terminated::never_started)
                };
                // a pod for a node that is not there is removed before any kubelet took it
                let unseen = statuses.is_empty()
                    && !self.status.start_time.is_set()
                    && condition(&self.status.conditions, "DisruptionTarget")
                        .is_some_and(|target| target.reason == "DeletionByPodGC");
                self.rejection().is_none()
                    && !unseen
                    && !statuses.iter().any(never)
                    && !self.was_lost_before_it_ran()
            }
            _ => true,
        }
    }

    /// True for a pod that was deleted before its container ran, as Longhorn does when a second setting changes a second after the
    /// first: the kubelet looks for a container that never was. The pod has not been Ready since the kubelet took it.
    fn was_lost_before_it_ran(&self) -> bool {
        let unknown = |status: &ContainerStatus| {
            status.state.terminated.as_ref().is_some_and(|end| end.reason == "ContainerStatusUnknown")
        };
        let never_ready = self
            .status
            .start_time
            .get()
            .zip(self.unready_since())
            .is_some_and(|(start, since)| since.as_second() <= start.as_second().saturating_add(1));
        self.metadata.is_deleting() && never_ready && self.status.container_statuses.iter().any(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_that_was_deleted_before_its_container_ran_has_not_run() {
        // played with 1.9.2: made at 02:07:05, deleted within the second, gone at 02:07:07
        let ran = |not_ready_since: &str, deleted: &str| {
            let json = format!(
                r#"{{"metadata":{{"name":"im"{deleted}}},"status":{{"phase":"Failed","startTime":"2026-11-24T02:07:05Z",
                   "conditions":[{{"type":"Ready","status":"False","lastTransitionTime":"2026-11-24T02:07:{not_ready_since}Z"}}],
                   "containerStatuses":[{{"name":"instance-manager","state":{{"terminated":{{"exitCode":137,"reason":"ContainerStatusUnknown"}}}}}}]}}}}"#
            );
            serde_json::from_str::<Pod>(&json).unwrap().has_run()
        };
        let deleted = r#","deletionTimestamp":"2026-11-24T02:07:36Z""#;
        assert!(!ran("05", deleted));
        assert!(ran("07", deleted), "it was Ready for a moment");
        assert!(ran("05", ""), "a kubelet lost it, as far as is known");
    }
}
