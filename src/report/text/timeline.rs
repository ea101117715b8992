//! What happened, as lines.

use std::io::{self, Write};

use jiff::{SignedDuration, Timestamp};

use super::{Style, plain};
use crate::Report;
use crate::facts::text::age;
use crate::happened::Entry;
use crate::incidents::Incident;

/// How many lines are printed.
const MAX_PRINTED: usize = 60;
/// As wide as a time with two blanks.
const INDENT: &str = "                      ";

/// Writes the timeline, newest first, with a heading.
pub fn write(out: &mut dyn Write, report: &Report, since: SignedDuration, style: Style) -> io::Result<()> {
    writeln!(out, "\n{}", style.bold(&heading(since)))?;
    if report.timeline.is_empty() {
        style.wrap(out, "  ", nothing(report))?;
    }
    for entry in report.timeline.iter().take(MAX_PRINTED) {
        let when = when(entry);
        // the column takes one time, or the day
        let (when, rest) = match entry.not_after.map(|before| before.strftime("%Y-%m-%d ").to_string()) {
            Some(day) => (day.clone(), format!("{}: ", when.replace(&day, ""))),
            None if entry.or_later => {
                (when.trim_end_matches(" or later").to_owned(), "or later: ".to_owned())
            }
            None => (when, String::new()),
        };
        style.hang(out, &format!("{when:22}"), INDENT, &format!("{rest}{}", said(entry)))?;
    }
    match report.timeline.len().checked_sub(MAX_PRINTED) {
        Some(more) if more > 0 => writeln!(out, "{INDENT}and {more} more (-o json)")?,
        _ => {}
    }
    undated(report).map_or(Ok(()), |undated| style.wrap(out, "", undated))
}

/// Where there is nothing to tell. What could not be read may show one.
pub fn nothing(report: &Report) -> &'static str {
    match report.unknown.is_empty() {
        true => "No object and no Event shows a change.",
        false => "No change is known: some objects or Events could not be read.",
    }
}

/// What a timeline lacks that a recording has no times of.
pub fn undated(report: &Report) -> Option<&'static str> {
    const UNDATED: &str = "Changes of settings and manifests cannot be dated: the recording has no managed fields (kubectl get \
                           --show-managed-fields, or record).";
    report.lacks_writes.then_some(UNDATED)
}

/// `What changed in the last 24 h`.
pub fn heading(since: SignedDuration) -> String {
    format!("What changed in the last {}", age(since))
}

/// The time to the second, in UTC.
pub fn when(entry: &Entry) -> String {
    let full = |at: Timestamp| at.strftime("%Y-%m-%d %H:%M:%SZ").to_string();
    match (entry.at, entry.not_after) {
        (Some(at), Some(before)) => format!("between {} and {}", full(at), full(before)),
        (None, Some(before)) => format!("before {}", full(before)),
        (Some(at), None) if entry.or_later => format!("{} or later", full(at)),
        (Some(at), None) => full(at),
        (None, None) => "at an unknown time".to_owned(),
    }
}

/// What happened, in a sentence.
pub fn said(entry: &Entry) -> String {
    let earlier = if entry.or_earlier { " (then or earlier)" } else { "" };
    let number = entry.incident.map(|number| format!("[{number}] ")).unwrap_or_default();
    format!("{number}{}{earlier}", plain(&entry.text))
}

/// What was changed before an incident, for its place: `setting x: now 0, by kubectl-patch, 4 min before it began`.
pub fn before(incident: &Incident) -> Vec<String> {
    incident.changed.iter().map(|entry| ago(entry, incident.since)).collect()
}

fn ago(entry: &Entry, since: Option<Timestamp>) -> String {
    let before = since.zip(entry.at).map(|(since, at)| since.duration_since(at));
    let before = before.filter(|before| !before.is_negative());
    match before {
        // it is by the change that the beginning is known
        Some(before) if before < SignedDuration::from_secs(1) => {
            format!("{} at {}", plain(&entry.text), when(entry))
        }
        Some(before) => format!("{}, {} before it began", plain(&entry.text), age(before)),
        None => plain(&entry.text).into_owned(),
    }
}
