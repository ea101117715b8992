//! The cause of a crash without its log: by exit code and run time, and by what the start left behind in the API. A run
//! time alone is no cause, and a fact that stands for long does not beat a run time that fits another step.

use super::causes;
use super::diagnosis::CrashedManager;
use super::{facts, panics};
use crate::check::*;
use crate::facts::known_issues::{self, KnownIssue, Trigger};
use crate::facts::looping::Loop;
use crate::facts::start::marks;
use crate::facts::{probes, stale_copies};
use crate::longhorn::Release;

/// Flags, variables and the check for iscsiadm: measured 0.4 s, which the kubelet writes as 0 or 1, and a slow host as 2.
const FIRST_STEP_SECONDS: i64 = 2;
/// The same on a very slow host, where Longhorn itself says that iscsiadm is missing.
const SLOW_FIRST_STEP_SECONDS: i64 = 5;
/// A manager ends a moment after a wait is over; longer waits have waited for their turn before.
const AFTER_WAIT_SECONDS: i64 = 10;
/// How long a start waits for managers of another release (longhorn-manager v1.12.1 upgrade/upgrade.go).
const OLD_MANAGERS_SECONDS: i64 = 590;

impl CrashedManager<'_> {
    pub(super) fn by_fingerprint(&mut self, crash: &Loop<'_>) -> &'static Cause {
        let Some(end) = crash.end else {
            self.candidates("only the number of restarts is known");
            return &causes::UNKNOWN;
        };
        match end.exit_code {
            1 => self.fatal_exit(crash),
            2 => self.panic_exit(),
            // asked to end, a manager ends with 0 (longhorn-manager v1.12.1 app/daemon.go startManager)
            0 | 137 | 143 => {
                let probes = facts::killing_probes(self.cluster);
                self.candidates(match probes {
                    true => {
                        "the process was killed from outside, perhaps by the DaemonSet's liveness or startup probe, which no Longhorn release ships"
                    }
                    false => "the process was killed from outside, by the kernel or a person",
                });
                &causes::UNKNOWN
            }
            code => {
                self.candidates(&format!(
                    "longhorn-manager never exits with code {code}, so the container runtime or a signal ended it"
                ));
                &causes::UNKNOWN
            }
        }
    }

    fn fatal_exit(&mut self, crash: &Loop<'_>) -> &'static Cause {
        let Some(seconds) = crash.run().map(|run| run.as_secs()) else {
            self.candidates("exit code 1 is a fatal error (run time unknown)");
            return &causes::UNKNOWN;
        };
        let wait = facts::webhook_timeout(self.release);
        let waited = wait.is_some_and(|wait| seconds + 2 >= wait);
        let just_waited = waited && wait.is_some_and(|wait| seconds <= wait + AFTER_WAIT_SECONDS);
        if let Some((found, fact)) = self.standing(seconds, waited, just_waited, crash) {
            if *found == causes::KNOWN_PANIC {
                self.issue =
                    self.release.and_then(|release| self.stops_starts(release)).map(|(issue, _)| issue);
            } else if *found == causes::UPGRADE_PATH {
                self.headline = facts::upgrade_gap(self.cluster, self.pod).map(|(headline, _)| headline);
            }
            self.add(EvidenceSource::Api, fact);
            return found;
        }
        let listener = marks::stopped_at_listener(self.cluster, self.pod, self.release);
        if let Some(fact) = listener.filter(|_| !waited) {
            self.add(EvidenceSource::Api, fact);
            return &causes::PORT_IN_USE;
        }
        match wait {
            _ if seconds < SLOW_FIRST_STEP_SECONDS => self.early_exit(seconds),
            Some(wait) if waited && seconds < OLD_MANAGERS_SECONDS => self.webhook_exit(wait, crash),
            _ => self.late_exit(seconds),
        }
    }

    /// Facts that stop any start at a step which the run time fits.
    fn standing(
        &self,
        seconds: i64,
        waited: bool,
        just_waited: bool,
        crash: &Loop<'_>,
    ) -> Option<(&'static Cause, String)> {
        let (cluster, pod, release) = (self.cluster, self.pod, self.release);
        if seconds < SLOW_FIRST_STEP_SECONDS
            && let Some(fact) = facts::missing_in_manifest(cluster, pod, release)
        {
            return Some((&causes::MANIFEST_STALE, fact));
        }
        // up to 1.4 nothing waits, and the probe only says when the pod is Ready
        if waited
            && !marks::was_ready(pod, crash)
            && let Some(fact) = probes::foreign(cluster, pod)
        {
            return Some((&causes::MANIFEST_STALE, fact.to_string()));
        }
        if seconds >= OLD_MANAGERS_SECONDS
            && let Some(fact) = facts::other_manager_image(cluster, pod)
        {
            return Some((&causes::OLD_MANAGERS_LINGERING, fact));
        }
        // what comes after the wait for the Service is not reached by a run that ended with it
        let reached = marks::reached_services(pod, release);
        if reached == Some(false) || just_waited {
            return None;
        }
        let upgrade = || Some((&causes::UPGRADE_PATH, facts::upgrade_gap(cluster, pod)?.1));
        let engine = || Some((&causes::ENGINE_INCOMPATIBLE, facts::incompatible_engine(cluster, pod)?));
        // whole seconds do not tell the first step from those after it, a mark that the pod left behind does. Without one, what ends every
        // start is asked still, unless something speaks for the first step
        if seconds <= FIRST_STEP_SECONDS && !marks::was_ready(pod, crash) {
            let passed = marks::found_iscsiadm(cluster, pod).is_some();
            if self.lacks_iscsi(seconds, passed).is_some() {
                return None;
            }
            if !passed {
                return upgrade().or_else(engine);
            }
        }
        let crds = || Some((&causes::CRD_MISMATCH, facts::missing_kind(cluster, release)?));
        let called = || {
            let fact = facts::foreign_configuration(cluster)
                .or_else(|| self.failed_call.get_or_init(|| facts::failed_call(cluster)).clone())
                .or_else(|| marks::stopped_at_first_write(cluster))?;
            Some((&causes::WEBHOOK_CALL_FAILED, fact))
        };
        let denied = || Some((&causes::WEBHOOK_DENIED, facts::unsynced_disks(cluster, pod)?));
        let issue = || {
            let (issue, fact) = self.stops_starts(release?)?;
            let text = of_issue(issue, &fact);
            Some((&causes::KNOWN_PANIC, text))
        };
        crds().or_else(upgrade).or_else(engine).or_else(called).or_else(issue).or_else(denied)
    }

    /// An issue by which a start ends with a fatal error, and which this cluster meets.
    fn stops_starts(&self, release: Release) -> Option<(&'static KnownIssue, String)> {
        self.met(release, |issue| !issue.panics() && issue.ends_the_manager())
    }

    /// What speaks for the check for iscsiadm as the step that ended it; `passed` if a mark tells that iscsiadm was found.
    fn lacks_iscsi(&self, seconds: i64, passed: bool) -> Option<String> {
        let (cluster, node) = (self.cluster, self.node);
        let first = seconds <= FIRST_STEP_SECONDS && !passed;
        facts::iscsi_condition(cluster, node).or_else(|| facts::unregistered(cluster, node).filter(|_| first))
    }

    fn early_exit(&mut self, seconds: i64) -> &'static Cause {
        let passed = marks::found_iscsiadm(self.cluster, self.pod);
        if let Some(fact) = self.lacks_iscsi(seconds, passed.is_some()) {
            self.add(EvidenceSource::Api, fact);
            self.add(
                EvidenceSource::Fingerprint,
                "exit code 1 within a second fits the first startup step, the check for iscsiadm",
            );
            return &causes::OPEN_ISCSI_MISSING;
        }
        let past = passed.is_some() || seconds > FIRST_STEP_SECONDS;
        if let Some(passed) = passed {
            self.add(EvidenceSource::Api, format!("the check for iscsiadm passed: {passed}"));
        }
        match past {
            true => self.among(
                "exit code 1 came some seconds after the start, later than the check for iscsiadm",
                "a port in use, an unreachable or rejecting webhook, a conflict, or a missing CRD",
            ),
            false => self.among(
                "exit code 1 came within a second of the start",
                "open-iscsi is missing, the manifest is from another release, or a port is in use",
            ),
        }
        &causes::UNKNOWN
    }

    fn webhook_exit(&mut self, wait: i64, crash: &Loop<'_>) -> &'static Cause {
        let fingerprint =
            format!("exit code 1 after {wait} s or more fits a startup that waited for the webhook");
        // 1.5.0 to 1.5.3 wait for their own listener only
        let service = self.release.is_none_or(Release::waits_for_webhook_service);
        let served = marks::served_locally(self.cluster, self.pod, self.release);
        // the label may be of an earlier life: where others serve the Service and this pod was not Ready in its last run, most likely
        // its own listener did not answer
        let own_listener =
            marks::was_never_ready(self.pod, crash) && facts::no_webhook_endpoint(self.cluster).is_none();
        if served == Some(true) && service && !own_listener {
            self.add(EvidenceSource::Fingerprint, fingerprint);
            let text = "the pod has the label that a manager sets once its own listener answers, so the manager waited for the Service";
            self.add(EvidenceSource::Api, text);
            if let Some(fact) = facts::no_webhook_endpoint(self.cluster) {
                self.add(EvidenceSource::Api, fact);
            }
            return &causes::WEBHOOK_UNSERVED;
        }
        // Ready up to 1.9 is the conversion webhook's own listener
        if served.is_none() && service && marks::was_ready(self.pod, crash) {
            self.add(EvidenceSource::Fingerprint, fingerprint);
            let text = "the pod was Ready in that run, so its own listener answered and the manager waited for the Service";
            self.add(EvidenceSource::Api, text);
            return &causes::WEBHOOK_UNSERVED;
        }
        // the kubelet asks the same listener as the manager, so in a pod that was never Ready perhaps none answered; from
        // 1.7 on its label tells
        let untold = self.release.is_some_and(|release| service && !release.labels_webhook_pods());
        // where the kubelet is refused in a pod that was never Ready, nothing listened for the whole run; a timeout may be the network
        let event = facts::readiness_failure(self.cluster, self.pod);
        let event = event.filter(|event| !untold || event.contains("connection refused"));
        let endpoint = facts::no_webhook_endpoint(self.cluster).filter(|_| !untold);
        match (endpoint, event) {
            (Some(fact), _) if served.is_none() => {
                self.add(EvidenceSource::Fingerprint, fingerprint);
                self.add(EvidenceSource::Api, fact);
                if service { &causes::WEBHOOK_UNSERVED } else { &causes::WEBHOOK_NOT_READY }
            }
            (_, Some(event)) => {
                self.add(EvidenceSource::Fingerprint, fingerprint);
                self.add(EvidenceSource::Event, event);
                &causes::WEBHOOK_NOT_READY
            }
            (_, None) => {
                let which =
                    "DNS, firewall or hairpin traffic, no manager behind the webhook, or its own listener";
                self.among(&fingerprint, which);
                &causes::UNKNOWN
            }
        }
    }

    fn late_exit(&mut self, seconds: i64) -> &'static Cause {
        if (OLD_MANAGERS_SECONDS..900).contains(&seconds) {
            self.among(
                "a startup that ends after 600 s was waiting for managers of the old release",
                "the old release's managers have not ended",
            );
        } else if marks::reached_services(self.pod, self.release) == Some(false) {
            self.among(
                "exit code 1 came before the manager reached the webhooks' Services",
                "a port in use, or no answer from the API server",
            );
        } else {
            self.among(
                "exit code 1 is a fatal startup error, and the run time fits the upgrade of objects or a later step",
                "an unreachable or rejecting webhook, a conflict, a missing CRD, or a port in use",
            );
        }
        &causes::UNKNOWN
    }

    fn panic_exit(&mut self) -> &'static Cause {
        let Some(release) = self.release else {
            self.candidates("exit code 2 is a Go panic (the manager's release is unknown)");
            return &causes::UNKNOWN;
        };
        self.add(EvidenceSource::Fingerprint, "exit code 2 is a Go panic");
        let copies = stale_copies::all(self.cluster);
        if let Some(copy) = copies.iter().find(|copy| copy.node_name() == self.node && copy.is_hit()) {
            self.add(EvidenceSource::Api, copy.to_string());
            return &causes::BACKING_IMAGE_EVICTION_PANIC;
        }
        let panics = || known_issues::ALL.iter().filter(|issue| issue.panics() && issue.affects(release));
        let met = self.met(release, |issue| {
            // the node that is affected was looked at above
            issue.panics() && !issue.frames.contains(&"syncBackingImageEvictionRequested")
        });
        let met = met.map(|(issue, fact)| (issue, of_issue(issue, &fact)));
        if let Some((issue, fact)) = met {
            self.issue = Some(issue);
            self.add(EvidenceSource::Api, fact);
            return &causes::KNOWN_PANIC;
        }
        if let Some((issue, fact)) = panics::waiting(self.cluster, self.node, release) {
            self.issue = Some(issue);
            let text = of_issue(issue, &fact);
            self.add(EvidenceSource::Api, text);
            return &causes::KNOWN_PANIC;
        }
        let known: Vec<_> = panics()
            .filter(|issue| issue.trigger(self.cluster) != Trigger::Absent)
            .map(|issue| issue.number.to_string())
            .collect();
        self.candidates(&match known.is_empty() {
            true => format!("no known panic of {release} fits this cluster"),
            false => format!(
                "known panics of {release} whose trigger the API does not show: issues {}",
                known.join(", ")
            ),
        });
        &causes::UNKNOWN
    }

    /// An issue of the release whose trigger this cluster meets.
    fn met(
        &self,
        release: Release,
        wanted: impl Fn(&KnownIssue) -> bool,
    ) -> Option<(&'static KnownIssue, String)> {
        let issues = known_issues::ALL.iter().filter(|issue| issue.affects(release) && wanted(issue));
        issues.into_iter().find_map(|issue| match issue.trigger(self.cluster) {
            Trigger::Met(fact) => Some((issue, fact)),
            _ => None,
        })
    }

    /// Causes that fit, of which no fact of the API speaks for one.
    fn among(&mut self, text: &str, which: &str) {
        self.candidates(&format!("{text}. Possible causes (none confirmed by the API): {which}"));
    }

    fn candidates(&mut self, text: &str) {
        self.add(EvidenceSource::Fingerprint, text);
    }
}

/// What a bug of the release and the fact that triggers it say together.
fn of_issue(issue: &KnownIssue, fact: &str) -> String {
    format!("the release has Longhorn issue {} ({}). Here, {fact}", issue.number, issue.effect)
}
