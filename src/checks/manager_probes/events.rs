//! Reading the kubelet's `Unhealthy` events: which probe failed, and how.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::model::ProbeKind;
use crate::longhorn::{Event, Pod};
use crate::word_enum::word_enum;

word_enum! {
    /// How a probe failed.
    pub enum ProbeFailure {
        /// No answer in time: the listener or the node is too slow.
        Timeout = "timeout",
        /// Nothing listens on the port.
        Refused = "refused",
        /// The pod's address cannot be reached.
        Unreachable = "unreachable",
        /// The connection was cut.
        Reset = "reset",
        /// Certificate or handshake.
        Tls = "tls",
        /// An answer with a bad HTTP status.
        Status = "status",
        /// Anything else.
        Other = "other",
    }
}

/// Words that tell a failure; the first that occurs wins, so that a timeout during the TLS handshake
/// is a timeout.
const SIGNS: &[(&str, ProbeFailure)] = &[
    ("timeout", ProbeFailure::Timeout),
    ("timed out", ProbeFailure::Timeout),
    ("deadline exceeded", ProbeFailure::Timeout),
    ("connection refused", ProbeFailure::Refused),
    ("no route to host", ProbeFailure::Unreachable),
    ("host is unreachable", ProbeFailure::Unreachable),
    ("network is unreachable", ProbeFailure::Unreachable),
    ("connection reset", ProbeFailure::Reset),
    ("broken pipe", ProbeFailure::Reset),
    ("server closed", ProbeFailure::Reset),
    ("tls:", ProbeFailure::Tls),
    ("x509:", ProbeFailure::Tls),
    ("certificate", ProbeFailure::Tls),
    ("http response to https client", ProbeFailure::Tls),
    ("statuscode:", ProbeFailure::Status),
];

/// Which probe failed and how, from the message of an `Unhealthy` event; `None` for anything else,
/// such as a probe warning.
pub fn classify(message: &str) -> Option<(ProbeKind, ProbeFailure)> {
    let message = message.trim_start().to_ascii_lowercase();
    let (word, rest) = message.split_once(' ')?;
    let probe = ProbeKind::ALL.into_iter().find(|kind| kind.as_str() == word)?;
    let rest = rest.trim_start().strip_prefix("probe")?.trim_start();
    let rest = rest.strip_prefix("failed").or_else(|| rest.strip_prefix("errored"))?;
    let sign = SIGNS.iter().find(|(sign, _)| rest.contains(sign)).map(|(_, failure)| *failure);
    let eof = || rest.trim_end().ends_with(": eof").then_some(ProbeFailure::Reset);
    Some((probe, sign.or_else(eof).unwrap_or(ProbeFailure::Other)))
}

/// Failures of one probe of one manager pod, as its events tell them.
#[derive(Debug, Clone, Default)]
pub struct Failing {
    /// Occurrences by kind of failure.
    pub occurrences: BTreeMap<ProbeFailure, u64>,
    /// Events: when the first and the last occurrence was, how many there were, and of which kind.
    spans: Vec<(Timestamp, Timestamp, u64, ProbeFailure)>,
    /// When the last one was seen.
    pub last: Option<Timestamp>,
    /// What the kubelet wrote last.
    pub message: String,
}

impl Failing {
    /// About how many occurrences there were in the last minutes of each event that goes on `now`, none
    /// of them before `from`. An event says no more than the first and the last of them, so those
    /// between are taken to be spread evenly.
    pub fn lately(&self, now: Timestamp, minutes: SignedDuration, from: Timestamp) -> f64 {
        let late = |(first, last, count, _): &(Timestamp, Timestamp, u64, ProbeFailure)| {
            let begin = last.checked_sub(minutes).unwrap_or(*last).max(from).max(*first);
            let (all, part) = (last.duration_since(*first), last.duration_since(begin));
            match all.is_positive() {
                _ if *last < from || now.duration_since(*last) > minutes => 0.0,
                false => *count as f64,
                true => (*count as f64 * part.as_secs_f64() / all.as_secs_f64()).max(1.0),
            }
        };
        self.spans.iter().map(late).sum()
    }

    /// True where nothing failed for longer than the probe bears before it failed once more, and the kubelet had not written so many
    /// Events that it may have kept quiet: the probe succeeded in between, so the container was Ready and lost that.
    pub fn paused(&self, started: Timestamp, tolerance: SignedDuration, burst: u64) -> bool {
        let mut spans: Vec<_> = self.spans.iter().filter(|(_, last, ..)| *last >= started).collect();
        spans.sort_by_key(|(first, ..)| *first);
        let (mut until, mut written) = (started, 0_u64);
        spans.into_iter().any(|(first, last, count, _)| {
            let pause = first.duration_since(until) > tolerance && written < burst;
            until = until.max(*last);
            written = written.saturating_add(*count);
            pause
        })
    }

    /// True where nothing answered after so long although the port no longer refused, as that of a manager does until it serves: the way
    /// to it was lost, or it hung, and that is not how long it took to start.
    pub fn lost_its_way(&self, started: Timestamp, within: SignedDuration) -> bool {
        let last = |of: &[ProbeFailure]| {
            let since = self.spans.iter().filter(|(_, last, _, kind)| *last >= started && of.contains(kind));
            since.map(|(_, last, ..)| *last).max()
        };
        let refused = last(&[ProbeFailure::Refused]).unwrap_or(started);
        let lost = last(&[ProbeFailure::Timeout, ProbeFailure::Unreachable]);
        refused.duration_since(started) < within
            && lost.is_some_and(|lost| lost.duration_since(started) > within)
    }

    /// When the first one was seen.
    pub fn first(&self) -> Option<Timestamp> {
        self.spans.iter().map(|(first, ..)| *first).min()
    }

    /// How often it failed, of all kinds together.
    pub fn total(&self) -> u64 {
        self.occurrences.values().fold(0, |all, count| all.saturating_add(*count))
    }

    /// The kinds of failure that went on since the start and in the last minutes, most frequent first; all where none did. What a
    /// start met says nothing of now.
    pub fn kinds(&self, since: Timestamp) -> String {
        let mut lately: BTreeMap<ProbeFailure, u64> = BTreeMap::new();
        for (_, _, count, kind) in self.spans.iter().filter(|(_, last, ..)| *last >= since) {
            let all = lately.entry(*kind).or_default();
            *all = all.saturating_add(*count);
        }
        let kinds = if lately.is_empty() { &self.occurrences } else { &lately };
        let mut kinds: Vec<_> = kinds.iter().collect();
        kinds.sort_by_key(|(kind, count)| (std::cmp::Reverse(**count), **kind));
        let kinds: Vec<_> =
            kinds.iter().map(|(kind, count)| format!("{} {count} times", kind.as_str())).collect();
        kinds.join(", ")
    }

    fn add(&mut self, failure: ProbeFailure, event: &Event) {
        let count = self.occurrences.entry(failure).or_default();
        *count = count.saturating_add(event.occurrences());
        if let Some(last) = event.last_seen() {
            self.spans.push((event.first_seen().unwrap_or(last), last, event.occurrences(), failure));
        }
        if self.last.is_none() || event.last_seen() >= self.last {
            self.last = event.last_seen();
            self.message = event.message.to_string();
        }
    }
}

/// Probe failures by pod name and probe. Only pods in `pods` count, distinguished from their
/// predecessors of the same name by uid where the event carries one.
pub fn failures<'a>(
    events: impl Iterator<Item = &'a Event>,
    pods: &BTreeMap<&'a str, &'a Pod>,
) -> BTreeMap<(&'a str, ProbeKind), Failing> {
    let mut failures: BTreeMap<_, Failing> = BTreeMap::new();
    for event in events {
        let about = &event.involved_object;
        if event.reason != "Unhealthy" || about.kind != "Pod" {
            continue;
        }
        let Some((name, pod)) = pods.get_key_value(about.name.as_str()) else { continue };
        let other_pod =
            !about.uid.is_empty() && !pod.metadata.uid.is_empty() && about.uid != pod.metadata.uid;
        let other_container =
            !about.field_path.is_empty() && !about.field_path.contains("{longhorn-manager}");
        if other_pod || other_container {
            continue;
        }
        if let Some((probe, failure)) = classify(&event.message) {
            failures.entry((*name, probe)).or_default().add(failure, event);
        }
    }
    failures
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_of_the_kubelet() {
        const GET: &str = "probe failed: Get \"https://10.42.3.33:9502/v1/healthz\":";
        use ProbeFailure::*;
        use ProbeKind::*;
        for (message, expected) in [
            (
                format!(
                    "Readiness {GET} context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
                ),
                (Readiness, Timeout),
            ),
            (
                format!(
                    "Readiness {GET} net/http: request canceled (Client.Timeout exceeded while awaiting headers)"
                ),
                (Readiness, Timeout),
            ),
            (format!("Liveness {GET} net/http: TLS handshake timeout"), (Liveness, Timeout)),
            (format!("Readiness {GET} dial tcp 10.42.3.33:9502: i/o timeout"), (Readiness, Timeout)),
            (
                format!("Startup {GET} dial tcp 10.42.3.33:9502: connect: connection refused"),
                (Startup, Refused),
            ),
            (
                format!("Readiness {GET} dial tcp 10.42.3.33:9502: connect: no route to host"),
                (Readiness, Unreachable),
            ),
            (
                format!(
                    "Readiness {GET} read tcp 10.0.0.1:3->10.42.3.33:9502: read: connection reset by peer"
                ),
                (Readiness, Reset),
            ),
            (format!("Readiness {GET} EOF"), (Readiness, Reset)),
            (format!("Readiness {GET} remote error: tls: internal error"), (Readiness, Tls)),
            (format!("Readiness {GET} http: server gave HTTP response to HTTPS client"), (Readiness, Tls)),
            ("Readiness probe failed: HTTP probe failed with statuscode: 503".into(), (Readiness, Status)),
            (
                "Readiness probe failed: dial tcp 10.42.3.33:9500: connect: connection refused".into(),
                (Readiness, Refused),
            ),
            ("Readiness probe errored: something new".into(), (Readiness, Other)),
        ] {
            assert_eq!(classify(&message), Some(expected), "{message}");
        }
        for message in
            ["", "Readiness", "Readiness probe warning: Probe terminated redirects", "Back-off restarting"]
        {
            assert_eq!(classify(message), None, "{message}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC*") {
            classify(&text);
        }

        #[test]
        fn whatever_follows_the_probe_is_named(
            kind in prop::sample::select(ProbeKind::ALL.to_vec()), rest in "[^\\n]*",
        ) {
            let name = kind.as_str();
            let message = format!("{}{} probe failed: {rest}", name[..1].to_uppercase(), &name[1..]);
            let (probe, failure) = classify(&message).unwrap();
            prop_assert_eq!(probe, kind);
            prop_assert!(ProbeFailure::ALL.contains(&failure));
        }
    }
}
