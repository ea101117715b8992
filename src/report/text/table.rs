//! The story in a screen: what was looked at, whose data is hurt, what to do first, and what follows.

use std::io::{self, Write};
use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};

use super::timeline::before;
use super::{Style, accepted, details, follows, plain, reasons, scope, sentence, waits};
use crate::check::{Severity, counted};
use crate::facts::text;
use crate::incidents::Incident;
use crate::{Report, Status};

/// Where the text of an incident begins.
pub const INDENT: &str = "            ";
/// Where the text beside a word in the margin begins.
pub const MARGIN: &str = "          ";
/// How much of the incidents is shown.
#[derive(Debug, Clone, Copy)]
struct Room {
    /// Incidents with fix and first command.
    first: usize,
    /// How many of these say what follows.
    follows: usize,
    /// Others, with the headline alone.
    then: usize,
    /// Lines of such a headline.
    lines: usize,
}

/// From all that is good to read down to what a terminal of 24 lines has room for. Where none fits, the last.
const ROOMS: [Room; 8] = [
    Room { first: 4, follows: 4, then: 4, lines: 2 },
    Room { first: 4, follows: 4, then: 4, lines: 1 },
    Room { first: 3, follows: 3, then: 3, lines: 1 },
    Room { first: 3, follows: 1, then: 2, lines: 1 },
    Room { first: 2, follows: 2, then: 3, lines: 1 },
    Room { first: 2, follows: 1, then: 1, lines: 1 },
    Room { first: 1, follows: 1, then: 1, lines: 1 },
    Room { first: 1, follows: 0, then: 0, lines: 1 },
];
/// How many notes are named where nothing else is on the screen.
const MAX_NOTES: usize = 3;
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

impl FromStr for Details {
    type Err = String;

    /// Incidents are counted from 1.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "all" => Ok(Details::All),
            Ok(number) if number > 0 => Ok(Details::Of(number)),
            _ => Err("use an incident's number, 1 or higher, or no number for all incidents".to_owned()),
        }
    }
}

/// Writes the report.
pub fn write(out: &mut dyn Write, report: &Report, style: Style, shown: Details) -> io::Result<()> {
    if shown == Details::Brief {
        return out.write_all(&fitting(report, style)?);
    }
    head(out, report, style)?;
    match shown {
        Details::Brief => Ok(()),
        Details::All => {
            for incident in &report.incidents {
                details::incident(out, report, incident, style)?;
            }
            unknown(out, report, style)?;
            details::rest(out, report, style)
        }
        Details::Of(number) => match report.incidents.iter().find(|incident| incident.number == number) {
            Some(incident) => details::incident(out, report, incident, style),
            None => writeln!(
                out,
                "There is no incident {number}: {}.",
                counted(report.incidents.len(), "incident")
            ),
        },
    }
}

/// The screen, with as much of the incidents as the terminal has lines for: its head must not scroll away.
fn fitting(report: &Report, style: Style) -> io::Result<Vec<u8>> {
    let mut screen = Vec::new();
    for room in ROOMS {
        screen.clear();
        head(&mut screen, report, style)?;
        brief(&mut screen, report, style, room)?;
        unknown(&mut screen, report, style)?;
        let changes = changing(&screen, style);
        footer(&mut screen, report, style, changes)?;
        let lines: usize = String::from_utf8_lossy(&screen)
            .lines()
            .map(|line| seen(line).div_ceil(style.width.max(1)).max(1))
            .sum();
        // a line is left for the prompt
        if style.rows.is_none_or(|rows| lines < rows) {
            break;
        }
    }
    Ok(screen)
}

/// How many columns a line takes: colours take none.
fn seen(line: &str) -> usize {
    let mut columns = 0;
    let mut in_colour = false;
    for c in line.chars() {
        match (in_colour, c) {
            (false, '\u{1b}') => in_colour = true,
            (false, _) => columns += 1,
            (true, 'm') => in_colour = false,
            (true, _) => {}
        }
    }
    columns
}

fn head(out: &mut dyn Write, report: &Report, style: Style) -> io::Result<()> {
    let scope = match report.status {
        Status::Info => format!("{} · {}", counted(notes(report), "note"), scope(report)),
        _ => scope(report),
    };
    style.hang(out, &format!("{}  ", style.status(report.status)), MARGIN, &scope)?;
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

fn brief(out: &mut dyn Write, report: &Report, style: Style, room: Room) -> io::Result<()> {
    let urgent: Vec<&Incident> =
        report.incidents.iter().filter(|incident| incident.severity > Severity::Info).collect();
    let worst = urgent.iter().map(|incident| incident.severity).max();
    let worst_behind = urgent.iter().rposition(|incident| Some(incident.severity) == worst);
    let first = worst_behind.map_or(0, |place| place + 1).min(room.first);
    let (first, then) = urgent.split_at(first);
    if !first.is_empty() {
        writeln!(out, "{}", style.bold("Do first"))?;
    }
    for (place, incident) in first.iter().enumerate() {
        let follows = place < room.follows;
        write_incident(out, incident, style, follows, report.cluster.now)?;
    }
    if !then.is_empty() {
        writeln!(out, "{}", style.bold("Then"))?;
    }
    for incident in then.iter().take(room.then) {
        headline(out, incident, style, room.lines)?;
    }
    if let Some(more) = then.len().checked_sub(room.then).filter(|more| *more > 0) {
        let rest = then.iter().skip(room.then);
        let critical = rest.filter(|incident| incident.severity == Severity::Critical).count();
        let critical = if critical > 0 { format!(", {critical} critical") } else { String::new() };
        writeln!(out, "{INDENT}and {more} more{critical} (-v)")?;
    }
    if urgent.is_empty() { notes_by_name(out, report, style) } else { Ok(()) }
}

/// The notes, where nothing else is on the screen: an empty one would hide what is known.
fn notes_by_name(out: &mut dyn Write, report: &Report, style: Style) -> io::Result<()> {
    for incident in report.incidents.iter().take(MAX_NOTES) {
        headline(out, incident, style, 2)?;
    }
    match report.incidents.len().checked_sub(MAX_NOTES) {
        Some(more) if more > 0 => writeln!(out, "{INDENT}and {more} more (-v)"),
        _ => Ok(()),
    }
}

/// Title and consequences, cut where they take more lines than there are.
fn headline(out: &mut dyn Write, incident: &Incident, style: Style, most: usize) -> io::Result<()> {
    let mut lines = style.lines(INDENT, &short_names(&with_consequences(incident)));
    if lines.len() > most {
        lines = style.lines(INDENT, &short_names(&incident.title));
    }
    if lines.len() > most {
        let cut = lines.split_off(most.saturating_sub(1)).join(" ");
        lines.push(style.one_line(INDENT, &cut));
    }
    for (index, line) in lines.iter().enumerate() {
        writeln!(out, "{}{line}", if index == 0 { margin(incident, style) } else { INDENT.to_owned() })?;
    }
    Ok(())
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
pub fn margin(incident: &Incident, style: Style) -> String {
    let number = incident.number;
    let gap = if number < 10 { "  " } else { " " };
    format!("{number} {}{gap}", style.severity(incident.severity))
}

fn with_consequences(incident: &Incident) -> String {
    match incident.consequences.is_empty() {
        true => incident.title.clone(),
        false => format!("{}; then {}", incident.title, follows(incident)),
    }
}

/// For how long it has lasted, where its title says nothing of it.
fn lasting(incident: &Incident, now: Option<Timestamp>) -> Option<String> {
    let age = now?.duration_since(incident.since?);
    let mut words = incident.title.split_whitespace();
    let is_said =
        words.any(|word| ["s", "min", "h", "days"].contains(&word.trim_end_matches([':', ',', ')'])));
    (age >= SignedDuration::from_mins(2) && !is_said).then(|| format!(" · {}", text::age(age)))
}

fn write_incident(
    out: &mut dyn Write,
    incident: &Incident,
    style: Style,
    says_what_follows: bool,
    now: Option<Timestamp>,
) -> io::Result<()> {
    let margin = margin(incident, style);
    let mut title = style.lines(INDENT, &incident.title);
    if let (Some(last), Some(age)) = (title.last_mut(), lasting(incident, now))
        && INDENT.len() + last.chars().count() + age.chars().count() <= style.width
    {
        last.push_str(&age);
    }
    for (index, line) in title.iter().enumerate() {
        writeln!(out, "{}{}", if index == 0 { margin.as_str() } else { INDENT }, style.bold(line))?;
    }
    if let Some(quote) = incident.quote() {
        style.wrap(out, INDENT, &quote)?;
    }
    if !incident.consequences.is_empty() && says_what_follows {
        style.labelled(out, INDENT, "follows", &follows(incident))?;
    }
    for change in before(incident) {
        style.labelled(out, INDENT, "changed", &change)?;
    }
    if let Some(waits) = waits(incident) {
        return writeln!(out, "{INDENT}{waits}");
    }
    // whole: what makes a step safe may stand in its last sentence
    if !incident.fix.is_empty() {
        style.labelled(out, INDENT, "fix", &incident.fix)?;
    }
    let Some(command) = &incident.first else { return Ok(()) };
    let mark = mark(command.changes, style);
    // commands are copied, so they are never wrapped
    let mut lines = command.run.lines();
    writeln!(out, "{INDENT}{mark} {}", plain(lines.next().unwrap_or_default()))?;
    for line in lines {
        writeln!(out, "{INDENT}  {}", plain(line))?;
    }
    // a command that does not name the object is for all of them
    let of_first =
        incident.objects.first().map(|object| &object.name).into_iter().chain(incident.nodes.first());
    let is_of_one = of_first.into_iter().any(|name| command.run.contains(name.as_str()));
    match incident.count.saturating_sub(1) {
        more if more > 0 && is_of_one => {
            writeln!(out, "{INDENT}and the same for {more} more (--details {})", incident.number)
        }
        _ => Ok(()),
    }
}

fn unknown(out: &mut dyn Write, report: &Report, style: Style) -> io::Result<()> {
    let reasons = reasons(report);
    for (reason, checks) in reasons.iter().take(MAX_REASONS) {
        let who = match checks.as_slice() {
            [crate::EVERY_CHECK] => String::new(),
            [one] => format!("{one}: "),
            many => format!("{}: ", counted(many.len(), "check")),
        };
        let margin = style.paint("35", "Unknown   ");
        style.hang(out, &margin, MARGIN, &format!("{who}{}", sentence(reason)))?;
    }
    match reasons.len().checked_sub(MAX_REASONS) {
        Some(more) if more > 0 => {
            let reasons = if more == 1 { "reason" } else { "reasons" };
            writeln!(out, "{MARGIN}and {more} more {reasons} (-o json lists them)")
        }
        _ => Ok(()),
    }
}

/// Incidents that only inform.
fn notes(report: &Report) -> usize {
    report.incidents.iter().filter(|incident| incident.severity == Severity::Info).count()
}

/// Whether a command on the screen is marked as one that changes the cluster.
fn changing(screen: &[u8], style: Style) -> bool {
    let marked = format!("{INDENT}{} ", mark(true, style));
    String::from_utf8_lossy(screen).lines().any(|line| line.starts_with(&marked))
}

fn mark(changes: bool, style: Style) -> String {
    if changes { style.paint("33", "!") } else { "$".to_owned() }
}

fn footer(out: &mut dyn Write, report: &Report, style: Style, changes: bool) -> io::Result<()> {
    let mut kept = Vec::new();
    if notes(report) > 0 {
        kept.push(counted(notes(report), "note"));
    }
    if !report.facts.is_empty() {
        kept.push(counted(report.facts.len(), "fact"));
    }
    kept.extend(accepted(report));
    let mut parts = Vec::new();
    if !kept.is_empty() {
        parts.push(format!("{} (-v)", kept.join(", ")));
    }
    if changes {
        parts.push("\"!\" changes the cluster".to_owned());
    }
    if report.incidents.iter().any(|incident| incident.severity > Severity::Info) {
        parts.push("evidence and all commands: --details 1".to_owned());
    }
    if parts.is_empty() { Ok(()) } else { style.wrap(out, INDENT, &parts.join(" · ")) }
}
