//! The story in a screen: what was looked at, whose data is hurt, what to do first, and what follows.

use std::io::{self, Write};

use super::{Style, accepted, details, follows, plain, reasons, scope, sentence, waits};
use crate::check::{Severity, counted};
use crate::incidents::Incident;
use crate::report::Report;

/// Where the text of an incident begins.
pub const INDENT: &str = "            ";
/// Where the text beside a word in the margin begins.
const MARGIN: &str = "          ";
/// The number of incidents that are shown with their consequences and first command.
const MAX_FIRST: usize = 4;
/// The number of others that get a line each.
const MAX_THEN: usize = 4;
/// The number of reasons for an unknown verdict that are shown.
const MAX_REASONS: usize = 4;

/// How much is told of each incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Details {
    /// A few lines.
    Brief,
    /// Everything.
    All,
    /// Everything about the incident with this number.
    Of(usize),
}

/// Writes the report.
pub fn write(out: &mut dyn Write, report: &Report, style: Style, shown: Details) -> io::Result<()> {
    head(out, report, style)?;
    match shown {
        Details::Brief => {
            brief(out, report, style)?;
            unknown(out, report, style)?;
            footer(out, report, style)
        }
        Details::All => {
            for (index, incident) in report.incidents.iter().enumerate() {
                details::incident(out, report, incident, index + 1, style)?;
            }
            unknown(out, report, style)?;
            details::rest(out, report, style)
        }
        Details::Of(number) => match number.checked_sub(1).and_then(|index| report.incidents.get(index)) {
            Some(incident) => details::incident(out, report, incident, number, style),
            None => writeln!(
                out,
                "There is no incident {number}: {}.",
                counted(report.incidents.len(), "incident")
            ),
        },
    }
}

fn head(out: &mut dyn Write, report: &Report, style: Style) -> io::Result<()> {
    style.hang(out, &format!("{}  ", style.status(report.status)), MARGIN, &scope(report))?;
    style.hang(out, "Data      ", MARGIN, &report.data.line)?;
    if let Some(line) = report.not_listed_line() {
        style.hang(out, "Also      ", MARGIN, &line)?;
    }
    if let Some(selected) = &report.selected {
        let elsewhere = match selected.left_out {
            0 => String::new(),
            number => format!("; {} elsewhere", counted(number, "finding")),
        };
        style.hang(out, "Shown     ", MARGIN, &format!("{}{elsewhere}", selected.by))?;
    }
    writeln!(out)
}

fn brief(out: &mut dyn Write, report: &Report, style: Style) -> io::Result<()> {
    let urgent: Vec<(usize, &Incident)> =
        report.incidents.iter().enumerate().filter(|(_, one)| one.severity > Severity::Info).collect();
    let worst = urgent.iter().map(|(_, incident)| incident.severity).max();
    let first = urgent.iter().take_while(|(_, one)| Some(one.severity) == worst).count().min(MAX_FIRST);
    let (first, then) = urgent.split_at(first);
    if !first.is_empty() {
        writeln!(out, "{}", style.bold("Do first"))?;
    }
    for (index, incident) in first {
        told(out, incident, index + 1, style)?;
    }
    if !then.is_empty() {
        writeln!(out, "{}", style.bold("Then"))?;
    }
    for (index, incident) in then.iter().take(MAX_THEN) {
        let line = style.one_line(INDENT, &short_names(&with_consequences(incident)));
        writeln!(out, "{}{line}", margin(index + 1, incident, style))?;
    }
    match then.len().checked_sub(MAX_THEN) {
        Some(more) if more > 0 => writeln!(out, "{INDENT}and {more} more (-v)"),
        _ => Ok(()),
    }
}

/// Names that end in a long hash or UUID take the room of what matters: `instance-manager-7190e478…`.
fn short_names(text: &str) -> String {
    const KEPT: usize = 8;
    let short = |word: &str| {
        let hash =
            |from: &usize| word.get(*from..).is_some_and(|rest| rest.len() >= 3 * KEPT && is_hash(rest));
        let start = (0..word.len()).find(hash)?;
        Some(format!("{}…", word.get(..start + KEPT)?))
    };
    text.split(' ').map(|word| short(word).unwrap_or_else(|| word.to_owned())).collect::<Vec<_>>().join(" ")
}

fn is_hash(text: &str) -> bool {
    const LONG: usize = 24;
    let begins = text.chars().next().is_some_and(|c| c.is_ascii_hexdigit());
    begins && text.len() >= LONG && text.chars().take(LONG).all(|c| c.is_ascii_hexdigit() || c == '-')
}

/// Number and severity, as wide as the indent.
pub fn margin(number: usize, incident: &Incident, style: Style) -> String {
    let gap = if number < 10 { "  " } else { " " };
    format!("{number} {}{gap}", style.severity(incident.severity))
}

fn with_consequences(incident: &Incident) -> String {
    match incident.consequences.is_empty() {
        true => incident.title.clone(),
        false => format!("{}; then {}", incident.title, follows(incident)),
    }
}

fn told(out: &mut dyn Write, incident: &Incident, number: usize, style: Style) -> io::Result<()> {
    let margin = margin(number, incident, style);
    let title = style.lines(INDENT, &incident.title);
    for (index, line) in title.iter().enumerate() {
        writeln!(out, "{}{}", if index == 0 { margin.as_str() } else { INDENT }, style.bold(line))?;
    }
    if !incident.consequences.is_empty() {
        style.labelled(out, INDENT, "follows", &follows(incident))?;
    }
    if let Some(waits) = waits(incident) {
        return writeln!(out, "{INDENT}{waits}");
    }
    let Some(command) = &incident.first else {
        return style.wrap(out, INDENT, &incident.remedy);
    };
    let mark = if command.changes { style.paint("33", "!") } else { "$".to_owned() };
    // commands are copied, so they are never wrapped
    let mut lines = command.run.lines();
    writeln!(out, "{INDENT}{mark} {}", plain(lines.next().unwrap_or_default()))?;
    for line in lines {
        writeln!(out, "{INDENT}  {}", plain(line))?;
    }
    match incident.count.saturating_sub(1) {
        0 => Ok(()),
        more => writeln!(out, "{INDENT}and the same for {more} more (--details {number})"),
    }
}

fn unknown(out: &mut dyn Write, report: &Report, style: Style) -> io::Result<()> {
    let reasons = reasons(report);
    for (reason, checks) in reasons.iter().take(MAX_REASONS) {
        let who = match checks.as_slice() {
            [crate::report::EVERY_CHECK] => String::new(),
            [one] => format!("{one}: "),
            many => format!("{}: ", counted(many.len(), "check")),
        };
        let margin = style.paint("35", "Unknown   ");
        style.hang(out, &margin, MARGIN, &format!("{who}{}", sentence(reason)))?;
    }
    match reasons.len().checked_sub(MAX_REASONS) {
        Some(more) if more > 0 => {
            writeln!(out, "{MARGIN}and {} more (-o json lists them)", counted(more, "reason"))
        }
        _ => Ok(()),
    }
}

fn footer(out: &mut dyn Write, report: &Report, style: Style) -> io::Result<()> {
    let notes = report.incidents.iter().filter(|incident| incident.severity == Severity::Info).count();
    let mut kept = Vec::new();
    if notes > 0 {
        kept.push(counted(notes, "note"));
    }
    if !report.facts.is_empty() {
        kept.push(counted(report.facts.len(), "fact"));
    }
    kept.extend(accepted(report));
    let mut parts = Vec::new();
    if !kept.is_empty() {
        parts.push(format!("{} (-v)", kept.join(", ")));
    }
    let told = || report.incidents.iter().filter(|incident| incident.severity > Severity::Info);
    if told().any(|incident| incident.first.as_ref().is_some_and(|command| command.changes)) {
        parts.push("\"!\" changes the cluster".to_owned());
    }
    if told().next().is_some() {
        parts.push("evidence and all commands: --details 1".to_owned());
    }
    if parts.is_empty() { Ok(()) } else { style.wrap(out, INDENT, &parts.join(" · ")) }
}
