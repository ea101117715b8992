//! When incidents began, spread and were over, and what was changed before them.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::check::{ChangedBy, Finding, Severity};
use crate::cluster::Cluster;
use crate::facts::text::shortened;
use crate::happened::{Entry, What};
use crate::history::changes::Past;
use crate::incidents::Incident;
use crate::longhorn::Resource;

/// A change that brings something about does so within so long.
pub const BOUND: SignedDuration = SignedDuration::from_hours(1);

/// Findings of an incident's root whose cause a change can bring about, with their begin.
fn caused<'a>(findings: &'a [Finding], incident: &Incident) -> Vec<(&'a Finding, Timestamp)> {
    let roots = incident.parts().0.iter().filter_map(|place| findings.get(*place));
    roots
        .filter(|root| !root.cause.changed_by.is_empty())
        .filter_map(|root| Some((root, root.since?)))
        .collect()
}

/// From when on changes have to be known, to name those that come before the incidents.
pub fn earliest(findings: &[Finding], incidents: &[Incident]) -> Option<Timestamp> {
    let begun =
        incidents.iter().flat_map(|incident| caused(findings, incident)).map(|(_, since)| since).min()?;
    begun.checked_sub(BOUND).ok()
}

/// Tells incidents what was changed shortly before them: of the object that the cause names, in a way that can bring it about.
pub fn explain(findings: &[Finding], incidents: &mut [Incident], changes: &[Entry]) {
    for incident in incidents {
        let mut named: Vec<Entry> = Vec::new();
        for (root, since) in caused(findings, incident) {
            let before = |entry: &&Entry| {
                let known = entry.at.filter(|_| !entry.or_earlier && entry.what == What::Changed);
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
        ChangedBy::Cordon => {
            let node = finding.node.as_deref().unwrap_or_default();
            !node.is_empty() && is("node ", node) && field == "cordoned" && after == Some("yes")
        }
    }
}

/// The incidents that last, and those that an exporter saw end.
pub fn of(cluster: &Cluster, findings: &[Finding], incidents: &[Incident]) -> Vec<Entry> {
    let mut entries = Vec::new();
    // since when a note holds is mostly unknown, and no news
    let is_news = |incident: &&Incident| incident.since.is_some() || incident.severity > Severity::Info;
    for incident in incidents.iter().filter(is_news) {
        let of = (incident.check, incident.cause);
        entries.push(entry(
            What::IncidentBegan,
            incident.since,
            &incident.title,
            of,
            Some(incident.severity),
        ));
        entries.extend(spread(findings, incident));
    }
    for past in cluster.history.incidents() {
        let Past { check, cause, title, .. } = past;
        let severity = Severity::ALL.into_iter().find(|severity| severity.as_str() == past.severity);
        let Some(ended) = past.ended else { continue };
        entries.push(entry(What::IncidentBegan, Some(past.began), title, (check, cause), severity));
        entries.push(entry(What::IncidentOver, Some(ended), title, (check, cause), severity));
    }
    entries
}

/// When each thing that follows began, where that is known.
fn spread(findings: &[Finding], incident: &Incident) -> Vec<Entry> {
    let mut first: BTreeMap<(&str, &str), (Timestamp, &Finding)> = BTreeMap::new();
    for finding in incident.parts().1.iter().filter_map(|place| findings.get(*place)) {
        let Some(since) = finding.since else { continue };
        let known = first.entry((finding.check, finding.cause.id)).or_insert((since, finding));
        if since < known.0 {
            *known = (since, finding);
        }
    }
    let entries = first.into_iter().map(|((check, cause), (since, finding))| {
        let title = crate::check::capitalised(&finding.message);
        entry(What::IncidentSpread, Some(since), &title, (check, cause), Some(finding.severity))
    });
    entries.collect()
}

fn entry(
    what: What,
    at: Option<Timestamp>,
    title: &str,
    (check, cause): (&str, &str),
    severity: Option<Severity>,
) -> Entry {
    let title = shortened(title, LONGEST);
    let text = match what {
        What::IncidentOver => format!("over: {title}"),
        What::IncidentSpread => format!("then: {title}"),
        _ => format!("began: {title}"),
    };
    let (check, cause) = (Some(check.to_owned()), Some(cause.to_owned()));
    Entry { check, cause, severity, ..Entry::new(what, at, text) }
}
