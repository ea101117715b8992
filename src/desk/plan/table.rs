//! A plan on a screen: the answer, what stands against it with what to do, what is good to know, and the steps.

use std::io::{self, Write};

use super::{Part, Plan, Reason, Step, Verdict, Weight};
use crate::check::{Command, counted, plain};
use crate::facts::text::listed;
use crate::report::text::table::{INDENT, MARGIN};
use crate::report::text::{Style, scope_of, sentence};

/// How many reasons that weigh are shown where no one asked for all.
const MAX_REASONS: usize = 12;
/// How many notes are shown where no one asked for all.
const MAX_NOTES: usize = 8;
/// How many commands of a reason are shown then.
const MAX_COMMANDS: usize = 2;
/// How many facts of a reason are shown then.
const MAX_FACTS: usize = 3;

/// Writes the plan; with `all` every fact and note.
pub fn write(out: &mut dyn Write, plan: &Plan, style: Style, all: bool) -> io::Result<()> {
    let verdict = paint(style, plan.verdict, &format!("{:<8}", plan.verdict.said().to_uppercase()));
    style.hang(out, &format!("{verdict}  "), MARGIN, &plan.question)?;
    style.hang(out, "Answer    ", MARGIN, &sentence(&plan.answer))?;
    style.hang(out, "Cluster   ", MARGIN, &scope_of(&plan.cluster))?;
    for part in &plan.parts {
        writeln!(out)?;
        let word = paint(style, part.verdict, part.verdict.said());
        writeln!(out, "{}: {word}", style.bold(&plain(&part.subject)))?;
        write_part(out, part, style, all)?;
    }
    Ok(())
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

fn write_part(out: &mut dyn Write, part: &Part, style: Style, all: bool) -> io::Result<()> {
    let (notes, heavy): (Vec<&Reason>, Vec<&Reason>) =
        part.reasons.iter().partition(|reason| reason.weight == Weight::Note);
    let shown = if all { heavy.len() } else { MAX_REASONS };
    for reason in heavy.iter().take(shown) {
        write_reason(out, reason, style, all)?;
    }
    if heavy.len() > shown {
        writeln!(out, "{INDENT}and {} more reasons (-v)", heavy.len() - shown)?;
    }
    if !notes.is_empty() {
        writeln!(out, "  Good to know")?;
    }
    let shown = if all { notes.len() } else { MAX_NOTES };
    for note in notes.iter().take(shown) {
        let accepted = if note.accepted { " (accepted)" } else { "" };
        let fix = if note.fix.is_empty() { String::new() } else { format!(" {}", note.fix) };
        style.hang(out, "  -         ", INDENT, &format!("{}{accepted}{fix}", sentence(&note.text)))?;
        if all {
            write_facts(out, note, style, all)?;
            write_commands(out, &note.commands, style)?;
        }
    }
    if notes.len() > shown {
        writeln!(out, "{INDENT}and {} more (-v)", notes.len() - shown)?;
    }
    if !part.steps.is_empty() {
        writeln!(out, "  {}", style.bold("Steps"))?;
    }
    for (index, step) in part.steps.iter().enumerate() {
        write_step(out, index + 1, step, style)?;
    }
    Ok(())
}

fn write_reason(out: &mut dyn Write, reason: &Reason, style: Style, all: bool) -> io::Result<()> {
    let word = match reason.weight {
        Weight::No => "no",
        Weight::NotYet => "first",
        Weight::Unknown => "unknown",
        Weight::Note => "-",
    };
    style.hang(out, &format!("  {word:<10}"), INDENT, &sentence(&reason.text))?;
    if let Some(volumes) = volumes_line(reason) {
        style.wrap(out, INDENT, &volumes)?;
    }
    write_facts(out, reason, style, all)?;
    style.labelled(out, INDENT, "fix", &reason.fix)?;
    let shown = if all { reason.commands.len() } else { reason.commands.len().min(MAX_COMMANDS) };
    write_commands(out, reason.commands.get(..shown).unwrap_or_default(), style)?;
    if all {
        style.labelled(out, INDENT, "from", reason.source)?;
    }
    Ok(())
}

/// Who uses the volumes: by claim, at most five.
pub fn volumes_line(reason: &Reason) -> Option<String> {
    let names: Vec<&str> = reason.volumes.iter().map(|volume| volume.called()).collect();
    let more = reason.volumes_in_all.saturating_sub(names.len());
    let and = if more > 0 && names.len() <= 5 { format!(" and {more} more") } else { String::new() };
    let all = reason.volumes_in_all;
    match names.len() {
        0 => None,
        1..=5 => Some(format!("{}{and}", listed(&names))),
        _ => Some(format!("{}: {}", counted(all, "volume"), listed(&names))),
    }
}

fn write_facts(out: &mut dyn Write, reason: &Reason, style: Style, all: bool) -> io::Result<()> {
    let shown = if all { usize::MAX } else { MAX_FACTS };
    for fact in reason.evidence.iter().take(shown) {
        style.labelled(out, INDENT, "because", fact)?;
    }
    Ok(())
}

fn write_commands(out: &mut dyn Write, commands: &[Command], style: Style) -> io::Result<()> {
    for command in commands {
        write_command(out, command, style)?;
    }
    Ok(())
}

/// Never wrapped: it is to be copied.
fn write_command(out: &mut dyn Write, command: &Command, style: Style) -> io::Result<()> {
    let changes = if command.changes { "  # changes the cluster" } else { "" };
    for line in command.run.lines() {
        writeln!(out, "{INDENT}$ {}{}", plain(line), style.paint("2", changes))?;
    }
    Ok(())
}

fn write_step(out: &mut dyn Write, number: usize, step: &Step, style: Style) -> io::Result<()> {
    style.hang(out, &format!("  {number:<10}"), INDENT, &step.text)?;
    step.command.iter().try_for_each(|command| write_command(out, command, style))
}
