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
        return style.wrap(out, "  ", nothing(report));
    }
    for entry in report.timeline.iter().take(MAX_PRINTED) {
        style.hang(out, &format!("{:22}", when(entry)), INDENT, &said(entry))?;
    }
    match report.timeline.len().checked_sub(MAX_PRINTED) {
        Some(more) if more > 0 => writeln!(out, "{INDENT}and {more} more (-o json)"),
        _ => Ok(()),
    }
}

/// Where there is nothing to tell. What could not be read may show one.
pub fn nothing(report: &Report) -> &'static str {
    match report.unknown.is_empty() {
        true => "No object and no Event shows a change.",
        false => "No change is known: some objects or Events could not be read.",
    }
}

/// `What changed in the last 24 h`.
pub fn heading(since: SignedDuration) -> String {
    format!("What changed in the last {}", age(since))
}

/// The time to the second, in UTC.
pub fn when(entry: &Entry) -> String {
    entry.at.map_or("at an unknown time".to_owned(), |at| at.strftime("%Y-%m-%d %H:%M:%SZ").to_string())
}

/// What happened, in a sentence.
pub fn said(entry: &Entry) -> String {
    let earlier = if entry.or_earlier { " (then or earlier)" } else { "" };
    format!("{}{earlier}", plain(&entry.text))
}

/// What was changed before an incident, for its place: `setting x: now 0, by kubectl-patch, 4 min before`.
pub fn before(incident: &Incident) -> Vec<String> {
    incident.changed.iter().filter_map(|entry| Some(ago(entry, incident.since?))).collect()
}

fn ago(entry: &Entry, since: Timestamp) -> String {
    let before = entry.at.map(|at| since.duration_since(at)).filter(|before| !before.is_negative());
    match before {
        Some(before) if before < SignedDuration::from_secs(1) => {
            format!("{}, just before", plain(&entry.text))
        }
        Some(before) => format!("{}, {} before", plain(&entry.text), age(before)),
        None => plain(&entry.text).into_owned(),
    }
}
