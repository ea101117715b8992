//! A plan on a screen: the answer, a table of its parts, what stands against it with what to do, and the steps once nothing does.

use std::io::{self, Write};

use jiff::Timestamp;

use super::groups::{Shown, alike, shown};
use super::{Loss, Part, Plan, Reason, Step, Verdict, Weight};
use crate::check::{Command, VolumeRef, counted, plain};
use crate::facts::text::{age, listed};
use crate::report::text::table::{INDENT, MARGIN};
use crate::report::text::{Style, scope_of, sentence};

/// How many reasons that weigh are shown where no one asked for all.
const MAX_REASONS: usize = 6;
/// How many commands of a reason are shown then.
const MAX_COMMANDS: usize = 2;
/// How many facts of a reason are shown then.
const MAX_FACTS: usize = 2;
/// How many places with which something is lost are shown then.
const MAX_LOSSES: usize = 12;

/// Writes the plan; with `all` every part with every fact, note and step.
pub fn write(out: &mut dyn Write, plan: &Plan, style: Style, all: bool) -> io::Result<()> {
    let verdict = paint(style, plan.verdict, &format!("{:<8}", plan.word().to_uppercase()));
    style.hang(out, &format!("{verdict}  "), MARGIN, &sentence(&plan.answer))?;
    // a go repeats what was asked
    if plan.verdict != Verdict::Go {
        style.hang(out, "Question  ", MARGIN, &plan.question)?;
    }
    let one = match plan.parts.as_slice() {
        [part] => Some(part),
        _ => None,
    };
    style.hang(out, "Cluster   ", MARGIN, &scope_of(&plan.cluster))?;
    losses(out, plan, style, all)?;
    if let Some(capacity) = &plan.capacity {
        super::capacity::table::write(out, capacity, style, all)?;
    }
    if one.is_none() {
        writeln!(out)?;
        parts(out, &plan.parts, style)?;
    }
    match one {
        _ if all => plan.parts.iter().try_for_each(|part| whole(out, part, style, one.is_none())),
        Some(part) => brief(out, part, style),
        None => together(out, &plan.parts, style),
    }
}

fn paint(style: Style, verdict: Verdict, text: &str) -> String {
    let code = match verdict {
        Verdict::No => "1;31",
        Verdict::NotYet => "33",
        Verdict::Unknown => "35",
        Verdict::Go => "32",
    };
    style.paint(code, text)
}

/// One line a place: what is lost with it.
fn losses(out: &mut dyn Write, plan: &Plan, style: Style, all: bool) -> io::Result<()> {
    if plan.losses.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let shown = if all { plan.losses.len() } else { MAX_LOSSES };
    let width = plan.losses.iter().take(shown).map(|loss| loss.called().chars().count()).max().unwrap_or(0);
    for loss in plan.losses.iter().take(shown) {
        let names = loss.names(plan.cluster.now);
        let names = if all { names.join(", ") } else { listed(&names) };
        let margin = format!("  {:<width$}  ", plain(&loss.called()));
        let volumes = counted(loss.volumes.len(), "volume");
        style.hang(out, &margin, &" ".repeat(width + 4), &format!("{volumes}: {names}"))?;
    }
    let more = plan.losses.len().saturating_sub(shown);
    if more > 0 { writeln!(out, "  and {} (-v)", counted(more, "more place")) } else { Ok(()) }
}

impl Loss {
    /// What is lost, each with what its backup would bring back: `db/data (backup 26 h old, one was restored 3 d ago)`.
    pub fn names(&self, now: Option<Timestamp>) -> Vec<String> {
        let restored = |volume: &VolumeRef| match (self.restores.get(&volume.name), now) {
            (None, _) => String::new(),
            (Some(at), Some(now)) => format!(", one was restored {} ago", age(now.duration_since(*at))),
            (Some(at), None) => format!(", one was restored at {at}"),
        };
        let backup = |volume: &VolumeRef| match (self.backups.get(&volume.name), now) {
            (None, _) => "never backed up".to_owned(),
            (Some(at), Some(now)) => {
                format!("backup {} old{}", age(now.duration_since(*at)), restored(volume))
            }
            (Some(at), None) => format!("backup of {at}{}", restored(volume)),
        };
        self.volumes.iter().map(|volume| format!("{} ({})", volume.called(), backup(volume))).collect()
    }

    /// `node n1`, `disk d of n1`, `zone a`.
    pub fn called(&self) -> String {
        let of = self.node.as_ref().map(|node| format!(" of {node}")).unwrap_or_default();
        format!("{} {}{of}", self.place, self.name)
    }
}

/// One line a part: its verdict, and the first reason as far as the line goes.
fn parts(out: &mut dyn Write, parts: &[Part], style: Style) -> io::Result<()> {
    let width = parts.iter().map(|part| part.subject.chars().count()).max().unwrap_or(0);
    for part in parts {
        let why = if part.verdict == Verdict::Go { String::new() } else { part.why() };
        let room = style.width.saturating_sub(width + 14).max(20);
        let why = match why.chars().count() > room {
            true => format!("{}…", why.chars().take(room.saturating_sub(1)).collect::<String>().trim_end()),
            false => why,
        };
        let word = paint(style, part.verdict, &format!("{:<8}", part.verdict.said()));
        let line = format!("  {:<width$}  {word}  {}", plain(&part.subject), plain(&why));
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// All that is known of a part.
fn whole(out: &mut dyn Write, part: &Part, style: Style, named: bool) -> io::Result<()> {
    writeln!(out)?;
    if named {
        let word = paint(style, part.verdict, part.verdict.said());
        writeln!(out, "{}: {word}", style.bold(&plain(&part.subject)))?;
    }
    let (notes, heavy): (Vec<&Reason>, Vec<&Reason>) =
        part.reasons.iter().partition(|reason| reason.weight == Weight::Note);
    heavy.iter().try_for_each(|reason| write_reason(out, reason, "", style, true))?;
    if !notes.is_empty() {
        writeln!(out, "  Good to know")?;
    }
    for note in notes {
        let accepted = if note.accepted { " (accepted)" } else { "" };
        let fix = if note.fix.is_empty() { String::new() } else { format!(" {}", note.fix) };
        style.hang(
            out,
            "  -         ",
            INDENT,
            &format!("{}{fix}", sentence(&format!("{}{accepted}", note.text))),
        )?;
        write_facts(out, note, style, true)?;
        write_commands(out, &note.commands)?;
    }
    if !part.steps.is_empty() {
        writeln!(out, "  {}", style.bold("Steps"))?;
    }
    for (index, step) in part.steps.iter().enumerate() {
        style.hang(out, &format!("  {:<10}", index + 1), INDENT, &step.text)?;
        step.command.iter().try_for_each(|command| write_command(out, command))?;
    }
    Ok(())
}

/// The only part: what stands against it, or the steps, with what is good to know in one line.
fn brief(out: &mut dyn Write, part: &Part, style: Style) -> io::Result<()> {
    let reasons: Vec<Shown<'_>> = shown(&part.reasons);
    if !reasons.is_empty() {
        writeln!(out)?;
    }
    write_shown(out, &reasons, style)?;
    // steps leave less room
    notes(out, &part.reasons, if part.steps.is_empty() { 2 } else { 1 }, style)?;
    match part.verdict {
        Verdict::Go => part.steps.iter().try_for_each(|step| write_step(out, step, style)),
        _ if part.steps.is_empty() => Ok(()),
        _ => writeln!(out, "  steps     add -v to list them"),
    }
}

fn write_shown(out: &mut dyn Write, reasons: &[Shown<'_>], style: Style) -> io::Result<()> {
    for one in reasons.iter().take(MAX_REASONS) {
        write_reason(out, one.reason, &one.beside, style, false)?;
    }
    let more = reasons.len().saturating_sub(MAX_REASONS);
    if more > 0 { writeln!(out, "{INDENT}and {} (-v)", counted(more, "more reason")) } else { Ok(()) }
}

fn notes(out: &mut dyn Write, reasons: &[Reason], most: usize, style: Style) -> io::Result<()> {
    let notes: Vec<&Reason> = reasons.iter().filter(|reason| reason.weight == Weight::Note).collect();
    let hidden = notes.len().saturating_sub(most);
    for (index, note) in notes.iter().take(most).enumerate() {
        let accepted = if note.accepted { " (accepted)" } else { "" };
        let is_last = hidden > 0 && index + 1 == most;
        let more =
            if is_last { format!(" (and {}: -v)", counted(hidden, "more note")) } else { String::new() };
        style.hang(out, "  note      ", INDENT, &sentence(&format!("{}{accepted}{more}", note.text)))?;
    }
    Ok(())
}

/// Several parts: each reason once, with the parts that have it.
fn together(out: &mut dyn Write, parts: &[Part], style: Style) -> io::Result<()> {
    let reasons = alike(parts);
    if !reasons.is_empty() {
        writeln!(out)?;
    }
    write_shown(out, &reasons, style)?;
    if parts.iter().any(|part| !part.steps.is_empty()) {
        writeln!(out, "  steps     add -v to list them")
    } else {
        Ok(())
    }
}

fn write_reason(
    out: &mut dyn Write,
    reason: &Reason,
    beside: &str,
    style: Style,
    all: bool,
) -> io::Result<()> {
    let word = match reason.weight {
        Weight::No => "no",
        Weight::NotYet => "first",
        Weight::Unknown => "unknown",
        Weight::Note => "note",
    };
    let text = if all { reason.text.clone() } else { named(reason) };
    let text = sentence(&format!("{text}{beside}"));
    style.hang(out, &format!("  {word:<10}"), INDENT, &text)?;
    if let Some(volumes) = volumes_line(reason).filter(|_| all) {
        style.wrap(out, INDENT, &volumes)?;
    }
    write_facts(out, reason, style, all)?;
    style.labelled(out, INDENT, "fix", &reason.fix)?;
    let shown = if all { reason.commands.len() } else { reason.commands.len().min(MAX_COMMANDS) };
    write_commands(out, reason.commands.get(..shown).unwrap_or_default())?;
    if all { style.labelled(out, INDENT, "from", reason.source) } else { Ok(()) }
}

/// The reason with the names of its volumes.
pub fn named(reason: &Reason) -> String {
    let mut words = reason.text.split(|c: char| c.is_whitespace() || ",:()".contains(c));
    let first = reason.volumes.first().map_or("", |volume| volume.called());
    match volumes_line(reason) {
        Some(line) if !words.any(|word| word == first) => match reason.text.contains(": ") {
            true => format!("{} ({line})", reason.text),
            false => format!("{}: {line}", reason.text),
        },
        _ => reason.text.clone(),
    }
}

/// Who uses the volumes: by claim, the first five.
fn volumes_line(reason: &Reason) -> Option<String> {
    let names: Vec<&str> = reason.volumes.iter().map(|volume| volume.called()).collect();
    (!names.is_empty()).then(|| listed(&names))
}

fn write_facts(out: &mut dyn Write, reason: &Reason, style: Style, all: bool) -> io::Result<()> {
    let shown = if all { usize::MAX } else { MAX_FACTS };
    for fact in reason.evidence.iter().take(shown) {
        style.labelled(out, INDENT, "because", fact)?;
    }
    Ok(())
}

fn write_commands(out: &mut dyn Write, commands: &[Command]) -> io::Result<()> {
    commands.iter().try_for_each(|command| write_command(out, command))
}

/// Never wrapped: it is to be copied.
fn write_command(out: &mut dyn Write, command: &Command) -> io::Result<()> {
    let mark = if command.changes { "!" } else { "$" };
    command.run.lines().try_for_each(|line| writeln!(out, "{INDENT}{mark} {}", plain(line)))
}

/// A command says itself what it does.
fn write_step(out: &mut dyn Write, step: &Step, style: Style) -> io::Result<()> {
    match &step.command {
        Some(command) => write_command(out, command),
        None => style.hang(out, INDENT, INDENT, &step.text),
    }
}
