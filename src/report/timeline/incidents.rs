//! When incidents began, spread and were over, and what was changed before them.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::begin::Begin;
use crate::check::{ChangedBy, Finding, Severity};
use crate::cluster::Cluster;
use crate::facts::looping::{last_end, looping};
use crate::facts::text::shortened;
use crate::happened::{Entry, What};
use crate::history::changes::Past;
use crate::incidents::{Incident, title};
use crate::longhorn::{ContainerStatus, Resource};

/// A change that brings something about does so within so long.
pub const BOUND: SignedDuration = SignedDuration::from_hours(1);

/// Findings of an incident's root whose cause a change can bring about, with their begin.
fn caused<'a>(
    cluster: &Cluster,
    findings: &'a [Finding],
    incident: &Incident,
) -> Vec<(&'a Finding, Timestamp)> {
    let roots = incident.parts().0.iter().filter_map(|place| findings.get(*place));
    roots
        .filter(|root| !root.cause.changed_by.is_empty())
        .filter_map(|root| Some((root, Begin::of(cluster, root)?.at)))
        .collect()
}

/// From when on changes have to be known, to name those that come before the incidents.
pub fn earliest(cluster: &Cluster, findings: &[Finding], told: &[Incident]) -> Option<Timestamp> {
    let begun =
        told.iter().flat_map(|incident| caused(cluster, findings, incident)).map(|(_, since)| since).min()?;
    begun.checked_sub(BOUND).ok()
}

/// Tells incidents what was changed shortly before them: of the object that the cause names, in a way that can bring it about.
pub fn explain(cluster: &Cluster, findings: &[Finding], told: &mut [Incident], changes: &[Entry]) {
    for incident in told {
        let mut named: Vec<Entry> = Vec::new();
        for (root, since) in caused(cluster, findings, incident) {
            let before = |entry: &&Entry| {
                let known = entry
                    .at
                    .filter(|_| !entry.or_earlier && matches!(entry.what, What::Changed | What::Added));
                known.is_some_and(|at| at <= since && since.duration_since(at) <= BOUND)
            };
            let brings = |entry: &&Entry| root.cause.changed_by.iter().any(|by| brings(by, entry, root));
            let newest = changes.iter().filter(before).filter(brings).max_by_key(|entry| entry.at);
            named.extend(newest.filter(|entry| !named.contains(entry)).cloned());
        }
        named.truncate(MAX_NAMED);
        incident.changed = named;
    }
}

/// Two traces of one event differ by no more.
pub const SAME: SignedDuration = SignedDuration::from_secs(60);
/// How many lines an incident's begin takes; the last of them tells of all others.
const MAX_LINES: usize = 8;
/// A title may quote a machine.
const LONGEST: usize = 200;
/// How many changes are named.
const MAX_NAMED: usize = 3;

fn brings(by: &ChangedBy, entry: &Entry, finding: &Finding) -> bool {
    let Some((subject, field)) = entry.subject() else { return false };
    let after = entry.edit.as_ref().and_then(|edit| edit.after.as_deref());
    let is = |kind: &str, name: &str| subject.strip_prefix(kind).is_some_and(|rest| rest == name);
    let name = &finding.object.name;
    match by {
        ChangedBy::Setting(setting) => is("setting ", setting) && field.is_empty(),
        ChangedBy::OwnSetting => {
            finding.object.is(Resource::Settings) && is("setting ", name) && field.is_empty()
        }
        ChangedBy::Rollout => subject == "longhorn-manager" && matches!(field, "manifest" | "image"),
        ChangedBy::OwnTarget => {
            finding.object.is(Resource::BackupTargets)
                && is("backup target ", name)
                && matches!(field, "URL" | "credential secret")
        }
        ChangedBy::Policy => {
            let is_named = |text: &str| text.strip_prefix(subject).is_some_and(|rest| rest.starts_with(' '));
            subject.starts_with("NetworkPolicy ") && finding.evidence().iter().any(|one| is_named(&one.text))
        }
        ChangedBy::Cordon => {
            let node = finding.node.as_deref().unwrap_or_default();
            !node.is_empty() && is("node ", node) && field == "cordoned" && after == Some("yes")
        }
    }
}

/// The incidents that last, and those that an exporter saw end.
pub fn of(cluster: &Cluster, findings: &[Finding], told: &[Incident], from: Option<Timestamp>) -> Vec<Entry> {
    let mut entries = Vec::new();
    for incident in told {
        entries.extend(lasting(cluster, findings, incident, from));
    }
    for past in cluster.history.incidents() {
        let Past { check, cause, title, .. } = past;
        let severity = Severity::ALL.into_iter().find(|severity| severity.as_str() == past.severity);
        let Some(ended) = past.ended else { continue };
        let title = shortened(title, LONGEST);
        let is = |what, at, word: &str| {
            let (check, cause) = (Some(check.clone()), Some(cause.clone()));
            Entry { check, cause, severity, ..Entry::new(what, Some(at), format!("{word}: {title}")) }
        };
        entries.push(is(What::IncidentBegan, past.began, "began"));
        entries.push(is(What::IncidentOver, ended, "over"));
    }
    entries
}

/// One that lasts: when it began, on each node at its own time, and what followed from it.
fn lasting(
    cluster: &Cluster,
    findings: &[Finding],
    incident: &Incident,
    from: Option<Timestamp>,
) -> Vec<Entry> {
    let (roots, rest) = incident.parts();
    let at = |places: &[usize]| -> Vec<&Finding> {
        places
            .iter()
            .filter_map(|place| findings.get(*place))
            .filter(|finding| !finding.hypothetical)
            .collect()
    };
    let mut begins = Line::of(cluster, at(roots));
    let late: Vec<Option<Timestamp>> = begins.iter().map(|line| line.ended(cluster)).collect();
    let mut by_cause: BTreeMap<(&str, &str), Vec<&Finding>> = BTreeMap::new();
    for finding in at(rest) {
        by_cause.entry((finding.check, finding.cause.id)).or_default().push(finding);
    }
    let mut follows: Vec<Line> = by_cause.into_values().flat_map(|all| Line::of(cluster, all)).collect();
    follows.retain(|line| line.begin.is_some());
    if let Some(begin) = begins.first_mut().and_then(|line| line.begin.as_mut()) {
        // the first trace of a root may be in what follows from it
        let trace = |line: &Line| line.begin.filter(|other| !other.or_later).map(|other| other.at);
        let near = |at: &Timestamp| *at < begin.at && begin.at.duration_since(*at) <= SAME;
        begin.at = follows.iter().filter_map(trace).filter(near).min().unwrap_or(begin.at);
    }
    let first = begins.first().and_then(|line| line.begin).map(|begin| begin.at);
    // since when a note holds is mostly unknown, and no news; that a change is pending is
    begins.retain(|line| line.begin.is_some() || incident.severity > Severity::Info || line.is_of_change);
    // what has no time of its own was there before what followed from it
    let next = follows
        .iter()
        .filter_map(|line| line.begin)
        .filter(|begin| !begin.or_later)
        .map(|begin| begin.at)
        .min();
    let mut entries: Vec<Entry> = Vec::new();
    for (line, ended) in begins.into_iter().zip(late) {
        let begin = line.begin;
        let open = begin.is_none_or(|begin| begin.or_later);
        let bound = next
            .into_iter()
            .chain(ended)
            .min()
            .filter(|bound| open && begin.is_none_or(|begin| begin.at <= *bound));
        let mut entry = line.entry(incident, from, What::IncidentBegan, "began");
        if entry.what == What::IncidentBegan {
            // bounds that one line would tell of are a moment
            let is_exact = bound.zip(begin).is_some_and(|(at, begin)| begin.is_with(Begin { at, ..begin }));
            entry.not_after = bound.filter(|_| !is_exact);
            entry.or_later &= bound.is_none();
        }
        entries.push(entry);
    }
    for mut line in follows {
        let early = line.begin.zip(first).is_some_and(|(begin, first)| begin.at < first);
        let word = match line.begin.as_mut() {
            // it cannot have followed before
            Some(begin) if early && begin.or_later => {
                begin.at = first.unwrap_or(begin.at);
                "then"
            }
            _ if early => "already",
            _ => "then",
        };
        entries.push(line.entry(incident, from, What::IncidentSpread, word));
    }
    entries
}

/// What is told in one line: findings of one cause that began together.
struct Line<'a> {
    begin: Option<Begin>,
    findings: Vec<&'a Finding>,
    severity: Severity,
    /// A change can bring it about.
    is_of_change: bool,
    /// When the last crash of a loop was, with its exit code.
    crash: Option<(Timestamp, i64)>,
}

impl<'a> Line<'a> {
    /// The findings of a cause; those of nodes at different times apart, the first in front and those without a time last.
    fn of(cluster: &Cluster, findings: Vec<&'a Finding>) -> Vec<Line<'a>> {
        let mut dated: Vec<_> =
            findings.into_iter().map(|finding| (Begin::of(cluster, finding), finding)).collect();
        dated.sort_by_key(|(begin, _)| begin.map_or(Timestamp::MAX, |begin| begin.at));
        let mut lines: Vec<(Option<Begin>, Vec<&Finding>)> = Vec::new();
        for (begin, finding) in dated {
            let is_full = lines.len() >= MAX_LINES;
            let joins = |known: &Option<Begin>| match (known, begin) {
                (Some(known), Some(begin)) => known.is_with(begin) || finding.node.is_none(),
                (known, begin) => known.is_none() == begin.is_none(),
            };
            match lines.last_mut().filter(|(known, _)| is_full || joins(known)) {
                Some((_, findings)) => findings.push(finding),
                None => lines.push((begin, vec![finding])),
            }
        }
        lines.into_iter().map(|(begin, findings)| Line::new(cluster, begin, findings)).collect()
    }

    fn new(cluster: &Cluster, begin: Option<Begin>, findings: Vec<&'a Finding>) -> Self {
        let severity = findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Info);
        let is_of_change = findings.iter().any(|finding| !finding.cause.changed_by.is_empty());
        let ends = findings.iter().filter_map(|finding| crash_of(cluster, finding));
        let ends = ends.filter_map(last_end);
        let crash = ends.filter_map(|end| Some((end.finished_at.get()?, end.exit_code))).max();
        Line { begin, findings, severity, is_of_change, crash }
    }

    /// A server of NFS is not restarted: its claim was without it when it had ended.
    fn ended(&self, cluster: &Cluster) -> Option<Timestamp> {
        let servers = self.findings.iter().map(|finding| format!("share-manager-{}", finding.object.name));
        let pods = servers.filter_map(|name| cluster.objects.pods.get(&name));
        let ends = pods.flat_map(|pod| pod.status.container_statuses.iter()).filter_map(last_end);
        ends.filter_map(|end| end.finished_at.get()).min()
    }

    fn entry(self, incident: &Incident, from: Option<Timestamp>, what: What, word: &str) -> Entry {
        let begin = self.begin.map(|begin| begin.at);
        let title = shortened(&title(&self.findings), LONGEST);
        let title = if begin.is_some() { without_span(&title) } else { title };
        // what began before the time that is asked for and goes on is told by its last crash
        let goes_on = self.crash.filter(|(at, _)| begin < from && Some(*at) >= from);
        let (what, at, text) = match (goes_on, self.crash) {
            (Some((at, code)), _) => (What::PodEnded, Some(at), format!("still: {title}; exit code {code}")),
            (None, Some((at, code))) => {
                let day = |at: Timestamp| at.strftime("%Y-%m-%d").to_string();
                let form = if begin.map(day) == Some(day(at)) { "%H:%M:%SZ" } else { "%Y-%m-%d %H:%M:%SZ" };
                let crash = format!("last crash at {}, exit code {code}", at.strftime(form));
                (what, begin, format!("{word}: {title}; {crash}"))
            }
            (None, None) => (what, begin, format!("{word}: {title}")),
        };
        let id =
            |id: fn(&Finding) -> &'static str| self.findings.first().map(|finding| id(finding).to_owned());
        Entry {
            or_later: goes_on.is_none() && self.begin.is_some_and(|begin| begin.or_later),
            incident: Some(incident.number),
            check: id(|finding| finding.check),
            cause: id(|finding| finding.cause.id),
            severity: Some(if what == What::IncidentBegan { incident.severity } else { self.severity }),
            ..Entry::new(what, at, text)
        }
    }
}

/// The container in a crash loop that a finding about a pod tells of.
fn crash_of<'a>(cluster: &'a Cluster, finding: &Finding) -> Option<&'a ContainerStatus> {
    let pod = finding.object.is(Resource::Pods).then(|| cluster.objects.pods.get(&finding.object.name))??;
    // one that ended before what is told, such as a hang, is an event of its own
    let begin = Begin::of(cluster, finding).map(|begin| begin.at);
    let ended = |status: &ContainerStatus| last_end(status).and_then(|end| end.finished_at.get());
    let loops = |status: &&ContainerStatus| looping(status, cluster.now).is_some() && ended(status) >= begin;
    pod.status.container_statuses.iter().find(loops)
}

/// Ends of which an incident tells, by pod and field: those of a crash loop, and that of an instance manager near a time.
pub fn told_ends(
    cluster: &Cluster,
    findings: &[Finding],
    told: &[Incident],
) -> BTreeMap<(String, String), Option<Timestamp>> {
    let places = told.iter().flat_map(|incident| &incident.findings);
    let mut ends = BTreeMap::new();
    for finding in places.filter_map(|place| findings.get(*place)) {
        let mut tells = |field: &str, near| {
            ends.insert((format!("pod {}", finding.object.name), field.to_owned()), near);
        };
        if let Some(status) = crash_of(cluster, finding) {
            tells(status.name.as_str(), None);
        } else if finding.object.is(Resource::InstanceManagers) && finding.since.is_some() {
            if finding.message.contains("OOM-killed") {
                tells("instance-manager", finding.since);
            }
            if !finding.message.contains("unknown") {
                tells("stopped", finding.since);
            }
        }
    }
    ends
}

/// A title beside a time, without how long it has been so: `is hanging (30 min): …` is `is hanging: …`.
pub(super) fn without_span(title: &str) -> String {
    let own = title.find('"').unwrap_or(title.len());
    for (start, end) in [(" (", ")"), (" for ", "")] {
        for (place, _) in title.get(..own).unwrap_or_default().match_indices(start) {
            let after = title.get(place + start.len()..).unwrap_or_default();
            let digits = after.chars().take_while(char::is_ascii_digit).count();
            let rest = after.get(digits..).unwrap_or_default();
            let units = [" s", " min", " h", " days"].into_iter().filter(|_| digits > 0);
            let mut units = units.filter_map(|unit| rest.strip_prefix(unit)?.strip_prefix(end));
            let whole = |rest: &&str| !rest.starts_with(char::is_alphanumeric);
            if let Some(rest) = units.find(whole) {
                return format!("{}{rest}", title.get(..place).unwrap_or_default());
            }
        }
    }
    title.to_owned()
}
