//! From a crash to its cause: by the last log where it can be read, else by exit code and run time
//! together with a fact of the API.
//!
//! A fatal log call of longhorn-manager ends the process with exit code 1, a Go panic with 2. Which
//! start-up step ends it shows in the run time: the environment check comes first, the webhook
//! Service is waited for 60 s (1.5.0 to 1.9.1) or 120 s (1.9.2 and later), old managers 600 s
//! (longhorn-manager app/daemon.go and webhook/webhook.go per tag, upgrade/upgrade.go).

use std::cell::OnceCell;

use jiff::SignedDuration;

use super::{causes, host, kubelet, remedy};
use crate::check::*;
use crate::facts::known_issues::KnownIssue;
use crate::facts::looping::{self, Loop};
use crate::facts::text::quoted;
use crate::facts::{api, policies, releases, ways};
use crate::history::CrashLog;
use crate::longhorn::{Pod, Release};

/// A cause with what it rests on.
#[derive(Debug, Clone)]
pub struct Diagnosis {
    pub cause: &'static Cause,
    /// `log` when the log named it, else `fingerprint`.
    pub source: EvidenceSource,
    pub evidence: Vec<Evidence>,
    /// The bug of Longhorn that it is, when it is a known one.
    pub issue: Option<&'static KnownIssue>,
    /// What this case says that its cause leaves open: a step, a port, the words of who refuses something.
    pub headline: Option<String>,
    /// The way in which the cause came about.
    pub way: Option<&'static Way>,
    pub values: Vec<(Name, String)>,
    /// What the objects of this cluster ask for, where that is more than templates say.
    pub remedy: Remedy,
    /// The node whose manager ended in the same way and has a log that tells the cause.
    pub twin: Option<String>,
}

impl Diagnosis {
    /// Takes over what the log of another manager tells, where this one's cannot be read.
    pub fn take_over(&mut self, twin: &Diagnosis, node: &str) {
        let text = format!(
            "the manager on {node} ended with the same exit code after the same time, so the cause in its log probably applies here too"
        );
        self.evidence.push(EvidenceSource::Log.says(text));
        let (evidence, source) = (std::mem::take(&mut self.evidence), self.source);
        *self = Diagnosis { evidence, source, twin: Some(node.to_owned()), ..twin.clone() };
    }

    /// Calls that time out because a NetworkPolicy shuts the nodes out of the managers say so.
    pub fn blame_policy(&mut self, cluster: &Cluster, pod: &Pod) {
        let timed_out = self.way == Some(&ways::TIMEOUT);
        if let Some((fact, values)) = timed_out.then(|| policies::guards_managers(cluster, pod)).flatten() {
            self.way = Some(&causes::GUARDED);
            self.headline = Some(causes::GUARDED.briefly.to_owned());
            (self.issue, self.twin) = (None, None);
            self.evidence.push(fact);
            self.values.extend(values);
        }
    }
}

/// What a crash is judged by.
pub(super) struct CrashedManager<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) pod: &'a Pod,
    pub(super) node: &'a str,
    pub(super) release: Option<Release>,
    pub(super) issue: Option<&'static KnownIssue>,
    pub(super) evidence: Vec<Evidence>,
    pub(super) headline: Option<String>,
    pub(super) way: Option<&'static Way>,
    pub(super) values: Vec<(Name, String)>,
    pub(super) remedy: Remedy,
    /// What Events say of calls of the webhook; the same for all managers, and all Events are looked at for it.
    pub(super) failed_call: &'a OnceCell<Option<String>>,
}

/// Finds the cause of a crash loop.
pub fn diagnose(
    cluster: &Cluster,
    pod: &Pod,
    crash: &Loop<'_>,
    failed_call: &OnceCell<Option<String>>,
) -> Diagnosis {
    let release = releases::release_of(cluster, pod);
    let node = pod.spec.node_name.as_str();
    let mut case = CrashedManager {
        failed_call,
        cluster,
        pod,
        node,
        release,
        issue: None,
        evidence: Vec::new(),
        headline: None,
        way: None,
        values: Vec::new(),
        remedy: Remedy::default(),
    };
    let ended = crash.end.map_or("", |end| end.message.trim());
    case.evidence.push(api(describe(crash)).quoting(ended));
    if let Some((reason, message)) = pod.container_status(super::CONTAINER).and_then(looping::cannot_start) {
        let message = if message.is_empty() { "the kubelet gives no further reason" } else { message };
        // the last end may have told it
        if ended != message.trim() {
            case.evidence.push(api(format!("{reason}: {}", quoted(message))).quoting(message));
        }
        case.headline = Some("its container cannot be started".to_owned());
        if message.contains("not a shared mount") {
            case.is_way(&causes::NOT_SHARED);
        } else if message.contains("exec: ") && message.contains("permission denied") {
            case.is_way(&causes::NO_EXEC);
        }
        return case.is(&causes::CONTAINER_CANNOT_START, EvidenceSource::Api);
    }
    if crash.end.is_some_and(looping::is_oom_killed) {
        return case.is(&causes::OOM_KILLED, EvidenceSource::Fingerprint);
    }
    if let Some((found, word)) = kubelet::word(cluster, pod, crash) {
        case.evidence.push(word);
        return case.is(found, EvidenceSource::Event);
    }
    if crash.end.is_some_and(|end| end.reason == "OOMKilled") {
        let text =
            "OOMKilled without exit code 137 means only that one process of the container was killed earlier";
        case.add(EvidenceSource::Api, text);
    }
    if let Some(found) = case.by_log(crash) {
        return case.is(found, EvidenceSource::Log);
    }
    let found = case.by_fingerprint(crash);
    if found == &causes::UNKNOWN && case.is_being_read(crash) {
        case.is_way(&causes::READING);
    }
    case.is(found, EvidenceSource::Fingerprint)
}

fn describe(crash: &Loop<'_>) -> String {
    let restarts = counted(crash.restarts, "restart");
    let Some(end) = crash.end else {
        return format!("the container has {restarts}, and the kubelet recorded no last state");
    };
    let run = match crash.run() {
        Some(run) => format!("after {} s", run.as_secs()),
        None => "after an unknown time".to_owned(),
    };
    let reason = if end.reason.is_empty() { "without reason" } else { &end.reason };
    // Longhorn writes no termination message; the container runtime does when it cannot start a container
    let message = match end.message.trim() {
        "" => String::new(),
        message => format!(": {}", quoted(message)),
    };
    let code = end.exit_code;
    format!(
        "the container has {restarts}; its last run ended with exit code {code} ({reason}) {run}{message}"
    )
}

impl<'c> CrashedManager<'c> {
    pub(super) fn add(&mut self, source: EvidenceSource, text: impl Into<String>) {
        self.evidence.push(source.says(text));
    }

    pub(super) fn quote(&mut self, which: &str, line: &str) {
        let fact = EvidenceSource::Log.says(format!("{which}: {}", quoted(line)));
        self.evidence.push(fact.quoting(line));
    }

    fn is(mut self, cause: &'static Cause, source: EvidenceSource) -> Diagnosis {
        match *cause {
            causes::OLD_MANAGERS_LINGERING => self.values = remedy::old_managers(self.cluster, self.pod),
            causes::OPEN_ISCSI_MISSING => self.way = host::packages(self.cluster, self.node),
            // the log may name another
            causes::WEBHOOK_UNSERVED => {
                if self.values.is_empty() {
                    self.is_of(Name::Service, "longhorn-admission-webhook");
                }
                self.is_served();
            }
            causes::PORT_IN_USE if self.values.is_empty() => self.is_of(Name::Value, "ports 9500 to 9503"),
            _ if self.way == Some(&causes::NEXT_START) => {}
            _ if self.remedy.is_empty() => self.remedy = remedy::remedy(&self, cause, source),
            _ => {}
        }
        Diagnosis {
            cause,
            source,
            evidence: self.evidence,
            issue: self.issue,
            headline: self.headline,
            way: self.way,
            values: self.values,
            remedy: self.remedy,
            twin: None,
        }
    }

    pub(super) fn is_way(&mut self, way: &'static Way) {
        (self.way, self.headline) = (Some(way), Some(way.briefly.to_owned()));
    }

    /// What templates mean by a name.
    pub(super) fn is_of(&mut self, name: Name, value: impl Into<String>) {
        self.values.push((name, value.into()));
    }

    pub(super) fn unread(&self) -> Option<&str> {
        let meta = &self.pod.metadata;
        self.cluster.history.why_crash_log_unread(&meta.name, &meta.uid)
    }

    /// The log of its last run; until it is there, that of one before which ended in the same way stands in for it.
    pub(super) fn log(&self, crash: &Loop<'_>) -> Option<&'c CrashLog> {
        let (cluster, uid) = (self.cluster, self.pod.metadata.uid.as_str());
        let log = cluster.history.crash_log(&self.pod.metadata.name, super::CONTAINER)?;
        let alike = log.exit_code.zip(crash.end).is_none_or(|(code, end)| code == end.exit_code);
        let same_pod = log.pod_uid.is_empty() || uid.is_empty() || log.pod_uid == uid;
        (alike && same_pod).then_some(log)
    }

    /// True where its log comes within seconds, and with it most likely the cause.
    fn is_being_read(&self, crash: &Loop<'_>) -> bool {
        const SECONDS: SignedDuration = SignedDuration::from_secs(30);
        self.cluster.is_watched()
            && self.log(crash).is_none()
            && self.cluster.history.crash_logs_denied().is_none()
            && self.unread().is_none()
            && crash.ended().is_some_and(|ended| self.cluster.age(ended) < SECONDS)
    }

    pub(super) fn why_no_log(&self) -> String {
        let namespace = &self.cluster.namespace;
        match self.cluster.history.crash_logs_denied() {
            Some(reason) => format!(
                "crash logs cannot be read ({reason}): grant 'get' on 'pods/log' in namespace {namespace} to learn the cause"
            ),
            None if self.cluster.is_recorded() => {
                "the recording lacks this container's previous log".to_owned()
            }
            None => match self.unread() {
                Some(why) => format!("the previous log of this container could not be read ({why})"),
                None => "the previous log of this container has not been read yet".to_owned(),
            },
        }
    }
}
