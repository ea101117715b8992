//! What is different between two looks at a cluster: incidents that began, ended or changed, and what was changed meanwhile
//! in settings, nodes, disks, volumes and backups.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;

use crate::check::{Finding, ObjectRef, Severity, counted};
use crate::cluster::Cluster;
use crate::edits::{self, Edit, edits, values};
use crate::happened;
use crate::incidents::Incident;
use crate::longhorn::Resource;
use crate::text::{Style, moment, sentence};
use crate::{Report, Status, exit};

/// Lines of one kind that are printed; the JSON has all.
const MAX_PRINTED: usize = 20;

/// What `diff -o json` prints. Within v1 keys are only added.
#[derive(Debug, Clone, Serialize)]
pub struct Diff {
    /// Version of this shape: `v1`.
    pub schema: &'static str,
    /// The moment of the first look, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// The moment of the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    /// How the cluster was, and how it is.
    pub status: [Status; 2],
    /// Incidents whose root was not there before.
    pub began: Vec<Change>,
    /// Incidents whose root is no longer there.
    pub ended: Vec<Change>,
    /// Incidents with another severity, cause or number of objects than before.
    pub changed: Vec<Change>,
    /// What someone or Longhorn changed.
    pub cluster: Vec<Edit>,
    /// Kinds that one of the looks could not read: nothing is said of them.
    pub not_compared: Vec<String>,
}

/// An incident that is different.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Its severity; of one that ended, what it was.
    pub severity: Severity,
    /// The severity before, if that was another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity_before: Option<Severity>,
    /// Id of the root's check.
    pub check: &'static str,
    /// Cause of the root.
    pub cause: &'static str,
    /// What is wrong, in one sentence.
    pub title: String,
    /// Since when, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Objects of the root.
    pub count: usize,
    /// Objects of the root before; 0 for one that began.
    pub count_before: usize,
}

/// A finding, whatever its cause: on the same object, of the same check.
type Place<'a> = (&'static str, &'a ObjectRef, Option<&'a str>);

impl Diff {
    /// Compares two looks, each with the report on it.
    pub fn of(before: (&Cluster, &Report), after: (&Cluster, &Report)) -> Diff {
        let (old, new) = (Index::of(before.1), Index::of(after.1));
        let compared = |kind: &Resource| before.0.knows_all(*kind) && after.0.knows_all(*kind);
        let (kinds, not_compared): (BTreeSet<_>, BTreeSet<_>) = edits::KINDS.into_iter().partition(compared);
        let ended = before.1.incidents.iter().filter(|incident| new.matching(before.1, incident).is_empty());
        let (mut began, mut changed) = (Vec::new(), Vec::new());
        for incident in &after.1.incidents {
            let known = old.matching(after.1, incident);
            let severity = known.iter().map(|finding| finding.severity).max();
            let change = Change { count_before: known.len(), ..Change::of(incident) };
            match severity {
                None => began.push(change),
                Some(severity) => {
                    let root = after.1.findings.get(incident.findings.first().copied().unwrap_or_default());
                    let root = root.map_or(incident.severity, |root| root.severity);
                    let another_cause = known.iter().all(|finding| finding.cause.id != incident.cause);
                    let severity_before = Some(severity).filter(|before| *before != root);
                    if another_cause || severity_before.is_some() || known.len() != incident.count {
                        changed.push(Change { severity_before, ..change });
                    }
                }
            }
        }
        Diff {
            schema: "v1",
            from: before.1.cluster.now,
            to: after.1.cluster.now,
            status: [before.1.status, after.1.status],
            began,
            ended: ended
                .map(|incident| Change { count: 0, count_before: incident.count, ..Change::of(incident) })
                .collect(),
            changed,
            cluster: edits(&values(&before.0.objects, &kinds), &values(&after.0.objects, &kinds)),
            not_compared: not_compared.into_iter().map(Resource::label).collect(),
        }
    }

    /// 1 where something of at least a warning began or became worse, 2 where one of the looks has no verdict, else 0.
    pub fn exit_code(&self) -> u8 {
        let worse = self.changed.iter().filter(|change| {
            change.severity_before.is_some_and(|before| before < change.severity)
                || change.count > change.count_before
        });
        if self.began.iter().chain(worse).any(|change| change.severity >= Severity::Warning) {
            exit::FINDINGS
        } else if self.status.contains(&Status::Unknown) {
            exit::UNKNOWN
        } else {
            exit::OK
        }
    }

    /// Prints it for people.
    pub fn write(&self, out: &mut dyn Write, style: Style) -> io::Result<()> {
        let [before, after] = self.status.map(|status| status.as_str());
        let [from, to] = [self.from, self.to].map(|time| time.map_or("?".to_owned(), moment));
        writeln!(out, "{from} to {to}: {before} → {after}")?;
        for (heading, changes) in [("Began", &self.began), ("Changed", &self.changed), ("Ended", &self.ended)]
        {
            if changes.is_empty() {
                continue;
            }
            writeln!(out, "\n{}", style.bold(heading))?;
            for change in changes {
                let margin = format!("{}  ", style.severity(change.severity));
                style.hang(out, &margin, "          ", &change.text())?;
            }
        }
        if self.began.is_empty() && self.changed.is_empty() && self.ended.is_empty() {
            writeln!(out, "\nNo incident began, changed or ended.")?;
        }
        if !self.cluster.is_empty() {
            writeln!(out, "\n{}", style.bold("What was changed"))?;
            for edit in self.cluster.iter().take(MAX_PRINTED) {
                style.hang(out, "  ", "    ", &happened::said(edit))?;
            }
            if let Some(more @ 1..) = self.cluster.len().checked_sub(MAX_PRINTED) {
                writeln!(out, "  and {more} more (-o json)")?;
            }
        }
        if !self.not_compared.is_empty() {
            style.wrap(
                out,
                "",
                &format!(
                    "\nnot compared, because one of the two could not be read: {}",
                    self.not_compared.join(", ")
                ),
            )?;
        }
        Ok(())
    }
}

impl Change {
    fn of(incident: &Incident) -> Change {
        Change {
            severity: incident.severity,
            severity_before: None,
            check: incident.check,
            cause: incident.cause,
            title: incident.title.clone(),
            since: incident.since,
            count: incident.count,
            count_before: 0,
        }
    }

    fn text(&self) -> String {
        let mut notes = Vec::new();
        if let Some(before) = self.severity_before {
            notes.push(format!("{before} before"));
        }
        if self.count > 0 && self.count_before > 0 && self.count != self.count_before {
            notes.push(format!("{}, {} before", counted(self.count, "object"), self.count_before));
        }
        if let (Some(since), true) = (self.since, self.count_before == 0) {
            notes.push(format!("since {}", moment(since)));
        }
        let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
        format!("{}{notes}", sentence(&self.title))
    }
}

/// Findings by their place.
struct Index<'a>(BTreeMap<Place<'a>, &'a Finding>);

impl<'a> Index<'a> {
    fn of(report: &'a Report) -> Self {
        Index(report.findings.iter().map(|finding| (place(finding), finding)).collect())
    }

    /// Those that are about the same as the root of an incident of another report.
    fn matching(&self, report: &Report, incident: &Incident) -> Vec<&'a Finding> {
        let (root, _) = incident.parts();
        let places = root.iter().filter_map(|index| report.findings.get(*index)).map(place);
        places.filter_map(|(check, object, disk)| self.0.get(&(check, object, disk)).copied()).collect()
    }
}

fn place(finding: &Finding) -> Place<'_> {
    (finding.check, &finding.object, finding.disk.as_deref())
}
