//! From a crash to its cause: by the last log where it can be read, else by exit code and run time
//! together with a fact of the API.
//!
//! A fatal log call of longhorn-manager ends the process with exit code 1, a Go panic with 2. Which
//! start-up step ends it shows in the run time: the environment check comes first, the webhook
//! Service is waited for 60 s (1.5.0 to 1.9.1) or 120 s (1.9.2 and later), old managers 600 s
//! (longhorn-manager app/daemon.go and webhook/webhook.go per tag, upgrade/upgrade.go).

use jiff::SignedDuration;

use super::causes;
use super::facts;
use super::signatures::{LastWord, last_word, of_panicking_goroutine, panicking_function};
use crate::check::{Cause, Evidence, EvidenceSource, counted};
use crate::cluster::Cluster;
use crate::facts::known_issues::{self, KnownIssue, Trigger};
use crate::facts::looping::Loop;
use crate::facts::{releases, stale_copies, text};
use crate::longhorn::{Pod, Release};

/// A cause with what it rests on.
#[derive(Debug, Clone)]
pub struct Diagnosis {
    /// The cause.
    pub cause: &'static Cause,
    /// `log` when the log named it, else `fingerprint`.
    pub source: EvidenceSource,
    /// The facts.
    pub evidence: Vec<Evidence>,
    /// The bug of Longhorn that it is, when it is a known one.
    pub issue: Option<&'static KnownIssue>,
}

/// The first step of a start takes no longer than this.
const FIRST_STEP_SECONDS: i64 = 10;
/// What ends within this time has not waited for anything.
const EARLY_SECONDS: i64 = 30;

/// What a crash is judged by.
struct Case<'a> {
    cluster: &'a Cluster,
    pod: &'a Pod,
    node: &'a str,
    release: Option<Release>,
    evidence: Vec<Evidence>,
    issue: Option<&'static KnownIssue>,
}

/// Finds the cause of a crash loop.
pub fn diagnose(cluster: &Cluster, pod: &Pod, crash: &Loop<'_>) -> Diagnosis {
    let release = releases::release_of(cluster, pod);
    let node = pod.spec.node_name.as_str();
    let mut case = Case { cluster, pod, node, release, evidence: Vec::new(), issue: None };
    case.add(EvidenceSource::Api, describe(crash));
    if crash.end.is_some_and(|end| end.reason == "OOMKilled") {
        return case.is(&causes::OOM_KILLED, EvidenceSource::Fingerprint);
    }
    if let Some(found) = case.by_log() {
        return case.is(found, EvidenceSource::Log);
    }
    let found = case.by_fingerprint(crash);
    case.is(found, EvidenceSource::Fingerprint)
}

fn describe(crash: &Loop<'_>) -> String {
    let restarts = counted(crash.restarts, "restart");
    let Some(end) = crash.end else {
        return format!("{restarts}; the kubelet wrote no last state");
    };
    let run = match crash.run() {
        Some(run) => format!("after {} s", run.as_secs()),
        None => "after an unknown time".to_owned(),
    };
    let reason = if end.reason.is_empty() { "without reason" } else { &end.reason };
    // Longhorn writes no termination message; the container runtime does when it cannot start a container
    let message = match end.message.trim() {
        "" => String::new(),
        message => format!(": {}", shortened(message)),
    };
    format!("{restarts}; the last run ended with exit code {} ({reason}) {run}{message}", end.exit_code)
}

impl Case<'_> {
    fn add(&mut self, source: EvidenceSource, text: impl Into<String>) {
        self.evidence.push(Evidence { source, text: text.into() });
    }

    fn is(self, cause: &'static Cause, source: EvidenceSource) -> Diagnosis {
        Diagnosis { cause, source, evidence: self.evidence, issue: self.issue }
    }

    // === by log ===

    /// The cause as the log tells it; otherwise notes why it does not.
    fn by_log(&mut self) -> Option<&'static Cause> {
        let cluster = self.cluster;
        let uid = self.pod.metadata.uid.as_str();
        let log = cluster.history.crash_log(&self.pod.metadata.name, super::CONTAINER);
        let Some(log) = log.filter(|log| log.pod_uid.is_empty() || uid.is_empty() || log.pod_uid == uid)
        else {
            self.add(EvidenceSource::History, self.why_no_log());
            return None;
        };
        let which = match self.unread() {
            None => "the last log",
            Some(why) => {
                let text = format!(
                    "the log of the last run could not be read ({why}); this is that of an earlier one"
                );
                self.add(EvidenceSource::History, text);
                "the log of an earlier run"
            }
        };
        match last_word(&log.text) {
            Some(LastWord::Known(found, line)) => {
                self.add(EvidenceSource::Log, format!("{which} ends with: {}", shortened(line)));
                Some(found)
            }
            Some(LastWord::Panic(line, stack)) => {
                let place = panicking_function(stack).unwrap_or("a function that the log does not show");
                self.add(EvidenceSource::Log, format!("{} in {place}", shortened(line)));
                self.panic_in(line, stack)
            }
            Some(LastWord::Fatal(line)) if self.is_known_issue(line) => {
                self.add(EvidenceSource::Log, format!("{which} ends with: {}", shortened(line)));
                Some(&causes::KNOWN_PANIC)
            }
            Some(LastWord::Fatal(line)) => {
                self.add(
                    EvidenceSource::Log,
                    format!("{which} ends with a line that is not known: {}", shortened(line)),
                );
                Some(&causes::UNKNOWN)
            }
            None => {
                self.add(EvidenceSource::Log, format!("{which} has no fatal line and no panic"));
                None
            }
        }
    }

    fn unread(&self) -> Option<&str> {
        let meta = &self.pod.metadata;
        self.cluster.history.why_crash_log_unread(&meta.name, &meta.uid)
    }

    fn why_no_log(&self) -> String {
        let namespace = &self.cluster.namespace;
        match self.cluster.history.crash_logs_denied() {
            Some(reason) => format!(
                "crash logs cannot be read ({reason}): with the right 'get' on 'pods/log' in namespace \
                 {namespace} the cause would come from the log"
            ),
            None if self.cluster.is_recorded() => {
                "the recording has no previous log of this container".to_owned()
            }
            None => match self.unread() {
                Some(why) => format!("the previous log of this container could not be read ({why})"),
                None => "the previous log of this container has not been read yet".to_owned(),
            },
        }
    }

    /// The cause of a panic whose stack trace can be read.
    fn panic_in(&mut self, line: &str, stack: &str) -> Option<&'static Cause> {
        let stack = of_panicking_goroutine(stack);
        if stack.contains("syncBackingImageEvictionRequested") {
            return Some(&causes::BACKING_IMAGE_EVICTION_PANIC);
        }
        if self.is_known_issue(stack) || self.is_known_issue(line) {
            return Some(&causes::KNOWN_PANIC);
        }
        self.add(
            EvidenceSource::Log,
            match self.release {
                Some(_) => "no known issue of this release has this stack trace",
                None => "the release is not known, and with it whether this is a known issue",
            },
        );
        Some(&causes::UNKNOWN)
    }

    /// Notes the issue of this release that shows in the manager's last words, if one does.
    fn is_known_issue(&mut self, last_words: &str) -> bool {
        let Some(release) = self.release else { return false };
        let found = known_issues::ALL.iter().find(|one| one.affects(release) && one.shows_in(last_words));
        if let Some(issue) = found {
            self.issue = Some(issue);
            let text = format!("this is Longhorn issue {}: {}", issue.number, issue.effect);
            self.add(EvidenceSource::Log, text);
        }
        found.is_some()
    }

    // === by fingerprint ===

    fn by_fingerprint(&mut self, crash: &Loop<'_>) -> &'static Cause {
        let Some(end) = crash.end else {
            self.candidates("nothing but the number of restarts is known");
            return &causes::UNKNOWN;
        };
        match end.exit_code {
            1 => self.fatal_exit(crash.run()),
            2 => self.panic_exit(),
            // told to end, a manager ends with 0 (longhorn-manager v1.12.1 app/daemon.go startManager)
            0 | 137 | 143 => {
                let probes = facts::killing_probes(self.cluster);
                self.candidates(match probes {
                    true => {
                        "the process was ended from outside; the DaemonSet has a liveness or startup probe, \
                         which no Longhorn release ships and which can do that"
                    }
                    false => "the process was ended from outside, by the kernel or by a person",
                });
                &causes::UNKNOWN
            }
            code => {
                self.candidates(&format!(
                    "longhorn-manager itself never ends with exit code {code}: it comes from the container runtime or \
                     from a signal"
                ));
                &causes::UNKNOWN
            }
        }
    }

    fn fatal_exit(&mut self, run: Option<SignedDuration>) -> &'static Cause {
        let Some(run) = run else {
            self.candidates("exit code 1 is a fatal error; the run time is not known");
            return &causes::UNKNOWN;
        };
        // Facts that stop any start, whatever the run time.
        let standing = facts::missing_in_manifest(self.cluster, self.pod, self.release)
            .map(|fact| (&causes::MANIFEST_STALE, fact))
            .or_else(|| self.after_webhooks(run));
        if let Some((found, fact)) = standing {
            self.add(EvidenceSource::Api, fact);
            return found;
        }
        let timeout = facts::webhook_timeout(self.release);
        let seconds = run.as_secs();
        if seconds < EARLY_SECONDS {
            return self.early_exit(seconds);
        }
        if (590..900).contains(&seconds) {
            self.candidates("a start that ends after 600 s waits for managers of the old release (old_managers_lingering)");
            return &causes::UNKNOWN;
        }
        match timeout {
            Some(timeout) if seconds + 2 >= timeout => self.webhook_exit(timeout),
            _ => {
                self.candidates("exit code 1 is a fatal error at start; the run time fits no known step");
                &causes::UNKNOWN
            }
        }
    }

    /// Steps after the webhooks: the upgrade checks and the wait for old managers.
    fn after_webhooks(&self, run: SignedDuration) -> Option<(&'static Cause, String)> {
        let upgrade = || Some((&causes::UPGRADE_PATH, facts::upgrade_gap(self.cluster, self.pod)?));
        let engine =
            || Some((&causes::ENGINE_INCOMPATIBLE, facts::incompatible_engine(self.cluster, self.pod)?));
        let crds = || Some((&causes::CRD_MISMATCH, facts::missing_kind(self.cluster, self.release)?));
        let lingering = || match run.as_secs() >= 590 {
            true => {
                Some((&causes::OLD_MANAGERS_LINGERING, facts::other_manager_image(self.cluster, self.pod)?))
            }
            false => None,
        };
        crds().or_else(lingering).or_else(upgrade).or_else(engine)
    }

    fn early_exit(&mut self, seconds: i64) -> &'static Cause {
        let packages = facts::iscsi_condition(self.cluster, self.node);
        let unregistered = facts::unregistered(self.cluster, self.node);
        match packages.or(unregistered).filter(|_| seconds < FIRST_STEP_SECONDS) {
            Some(fact) => {
                self.add(EvidenceSource::Api, fact);
                self.add(
                    EvidenceSource::Fingerprint,
                    "exit code 1 within seconds fits the very first step of a start, the check for iscsiadm",
                );
                &causes::OPEN_ISCSI_MISSING
            }
            None => {
                self.candidates(
                    "exit code 1 within seconds fits open_iscsi_missing, manifest_stale, cache_sync_failed, \
                     port_in_use and api_unreachable; no fact of the API speaks for one of them",
                );
                &causes::UNKNOWN
            }
        }
    }

    fn webhook_exit(&mut self, timeout: i64) -> &'static Cause {
        let fingerprint =
            format!("exit code 1 after {timeout} s or more is the time a start waits for the webhook");
        if let Some(fact) = facts::no_webhook_endpoint(self.cluster) {
            self.add(EvidenceSource::Fingerprint, fingerprint);
            self.add(EvidenceSource::Api, fact);
            // 1.5.0 to 1.5.3 wait for their own listener only
            let service = self.release.is_none_or(Release::waits_for_webhook_service);
            return if service { &causes::WEBHOOK_SERVICE_UNREACHABLE } else { &causes::WEBHOOK_NOT_READY };
        }
        if let Some(event) = facts::readiness_failure(self.cluster, self.pod) {
            self.add(EvidenceSource::Fingerprint, fingerprint);
            self.add(EvidenceSource::Event, event);
            return &causes::WEBHOOK_NOT_READY;
        }
        self.candidates(&format!(
            "{fingerprint}: candidates are webhook_service_unreachable (DNS, firewall or hairpin traffic from \
             this node, as the Service has ready endpoints or could not be read) and webhook_not_ready"
        ));
        &causes::UNKNOWN
    }

    fn panic_exit(&mut self) -> &'static Cause {
        let Some(release) = self.release else {
            self.candidates("exit code 2 is a panic; the release is not known");
            return &causes::UNKNOWN;
        };
        self.add(EvidenceSource::Fingerprint, "exit code 2 is a Go panic");
        let copies = stale_copies::all(self.cluster);
        if let Some(copy) = copies.iter().find(|copy| copy.node_name() == self.node && copy.is_hit()) {
            self.add(EvidenceSource::Api, copy.to_string());
            return &causes::BACKING_IMAGE_EVICTION_PANIC;
        }
        let panics = || known_issues::ALL.iter().filter(|issue| issue.panics && issue.affects(release));
        let met = panics().find_map(|issue| match issue.trigger(self.cluster) {
            // the node that is hit was looked at above
            Trigger::Met(fact) if !issue.frames.contains(&"syncBackingImageEvictionRequested") => Some((
                issue,
                format!("release {release} has issue {}: {}; {fact}", issue.number, issue.effect),
            )),
            _ => None,
        });
        if let Some((issue, fact)) = met {
            self.issue = Some(issue);
            self.add(EvidenceSource::Api, fact);
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

    fn candidates(&mut self, text: &str) {
        self.add(EvidenceSource::Fingerprint, text);
    }
}

/// A log line as evidence.
fn shortened(line: &str) -> String {
    text::shortened(line, 400)
}
