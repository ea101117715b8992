//! A plan as Markdown, for summaries of CI, tickets and chats.

use std::io::{self, Write};

use super::capacity::Capacity;
use super::capacity::table::HEAD;
use super::table::named;
use super::{Plan, Reason, Weight};
use crate::check::Command;
use crate::facts::text::listed;
use crate::report::text::markdown::{escaped, fenced};
use crate::report::text::{scope_of, sentence};

/// Writes the plan.
pub fn write(out: &mut dyn Write, plan: &Plan) -> io::Result<()> {
    writeln!(out, "### {} {}", escaped(&plan.word().to_uppercase()), escaped(&sentence(&plan.answer)))?;
    writeln!(out, "{}\n\n{}\n", escaped(&plan.question), escaped(&scope_of(&plan.cluster)))?;
    for loss in &plan.losses {
        let names = listed(&loss.names(plan.cluster.now));
        writeln!(out, "- {}: {}", escaped(&loss.called()), escaped(&names))?;
    }
    if let Some(capacity) = &plan.capacity {
        write_disks(out, capacity)?;
    }
    for part in &plan.parts {
        let word = if plan.parts.len() == 1 { plan.word() } else { part.verdict.said() };
        writeln!(out, "**{}: {word}**\n", escaped(&part.subject))?;
        for reason in &part.reasons {
            write_reason(out, reason)?;
        }
        for (index, step) in part.steps.iter().enumerate() {
            writeln!(out, "{}. {}", index + 1, escaped(&step.text))?;
            write_command(out, step.command.as_ref())?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_disks(out: &mut dyn Write, capacity: &Capacity) -> io::Result<()> {
    for sum in capacity.sums() {
        writeln!(out, "- {}", escaped(&sum))?;
    }
    writeln!(out, "\n| {} |\n|{}", HEAD.join(" | "), "---|".repeat(HEAD.len()))?;
    for disk in &capacity.disks {
        let refusal = disk.refusal.as_ref().map(|refusal| format!(": {refusal}")).unwrap_or_default();
        let row = disk.row().map(|cell| escaped(&cell)).join(" | ");
        writeln!(out, "| {row}{} |", escaped(&refusal))?;
    }
    writeln!(out)
}

fn write_reason(out: &mut dyn Write, reason: &Reason) -> io::Result<()> {
    let word = match reason.weight {
        Weight::No => "**no** ",
        Weight::NotYet => "**first** ",
        Weight::Unknown => "**unknown** ",
        Weight::Note if reason.accepted => "accepted: ",
        Weight::Note => "",
    };
    let text = format!("{} {}", sentence(&named(reason)), reason.fix);
    writeln!(out, "- {word}{}", escaped(&text).trim_end())?;
    if reason.weight != Weight::Note {
        write_command(out, reason.commands.first())?;
    }
    Ok(())
}

fn write_command(out: &mut dyn Write, command: Option<&Command>) -> io::Result<()> {
    let Some(command) = command else { return Ok(()) };
    fenced(out, "  ", if command.changes { " (changes the cluster)" } else { "" }, command)
}
