//! Everything about an incident: what each finding rests on, and all commands.

use std::io::{self, Write};

use jiff::Timestamp;

use super::table::INDENT;
use super::timeline::before;
use super::{Style, plain, sentence, volume, waits};
use crate::Report;
use crate::check::{Finding, VolumeRef};
use crate::facts::text::age;
use crate::incidents::Incident;

/// Names more volumes than this only by number.
const MAX_VOLUMES: usize = 5;
/// The number of objects with the same cause that are listed.
const MAX_LISTED: usize = 20;

/// Writes an incident: a block for each cause, with a table of the objects that have it.
pub fn incident(out: &mut dyn Write, report: &Report, incident: &Incident, style: Style) -> io::Result<()> {
    let margin = super::table::margin(incident, style);
    style.hang(out, &margin, INDENT, &sentence(&incident.title))?;
    if let Some(waits) = waits(incident) {
        writeln!(out, "{INDENT}{waits}")?;
    }
    for change in before(incident) {
        style.labelled(out, INDENT, "changed", &change)?;
    }
    let (roots, consequences) = incident.parts();
    causes(out, report, roots, style)?;
    if !consequences.is_empty() {
        writeln!(out, "\n{INDENT}{}", style.bold("What follows"))?;
        causes(out, report, consequences, style)?;
    }
    writeln!(out)
}

fn causes(out: &mut dyn Write, report: &Report, places: &[usize], style: Style) -> io::Result<()> {
    report.by_cause(places).iter().try_for_each(|block| cause(out, block, report.cluster.now, style))
}

/// The worst object of a cause in full, and all of them in a table.
fn cause(out: &mut dyn Write, alike: &[&Finding], now: Option<Timestamp>, style: Style) -> io::Result<()> {
    let Some(worst) = alike.first() else { return Ok(()) };
    let title = style.bold(&format!("{}/{}", worst.check, worst.cause));
    writeln!(out, "\n  {}  {title}", style.severity(worst.severity))?;
    objects(out, alike, now)?;
    style.wrap(out, INDENT, &sentence(&worst.message))?;
    style.labelled(out, INDENT, "impact", &sentence(&worst.impact))?;
    style.labelled(out, INDENT, "volumes", &volumes(&worst.volumes))?;
    for evidence in worst.evidence() {
        style.labelled(out, INDENT, "because", &sentence(&evidence.text))?;
    }
    style.labelled(out, INDENT, "fix", &worst.remedy.fix)?;
    for command in &worst.remedy.commands {
        // commands are copied, so they are never wrapped, and what they do stands in a comment
        if command.changes {
            writeln!(
                out,
                "{INDENT}  {}",
                style.paint("33", "# changes the cluster, needs an administrator:")
            )?;
        }
        for line in command.run.lines() {
            writeln!(out, "{INDENT}  {}", plain(line))?;
        }
    }
    if let Some(runbook) = worst.runbook {
        writeln!(out, "{INDENT}runbook: {runbook} (longhorn-health-exporter runbook {runbook})")?;
    }
    Ok(())
}

/// Which objects, where, and for how long; a column that says nothing is left out.
fn objects(out: &mut dyn Write, alike: &[&Finding], now: Option<Timestamp>) -> io::Result<()> {
    let row = |finding: &&Finding| {
        let age = finding.since.zip(now).map(|(since, now)| age(now.duration_since(since)));
        // a node is where it is
        let node = finding.node.clone().filter(|node| *node != finding.object.name);
        let object = plain(&finding.object.to_string()).into_owned();
        [object, node.unwrap_or_default(), finding.disk.clone().unwrap_or_default(), age.unwrap_or_default()]
    };
    let mut rows = vec![["object", "node", "disk", "for"].map(str::to_owned)];
    rows.extend(alike.iter().take(MAX_LISTED).map(row));
    let widths: Vec<usize> = (0..4)
        .map(|column| {
            let cells =
                || rows.iter().skip(1).filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
            let head = rows.first().and_then(|row| row.get(column)).map_or(0, |head| head.chars().count());
            cells().max().filter(|widest| *widest > 0).map_or(0, |widest| widest.max(head))
        })
        .collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).filter(|(_, width)| **width > 0);
        let line: String = cells.map(|(cell, width)| format!("{:<width$}  ", plain(cell))).collect();
        writeln!(out, "{INDENT}{}", line.trim_end())?;
    }
    match alike.len().saturating_sub(MAX_LISTED) {
        0 => Ok(()),
        more => writeln!(out, "{INDENT}and {more} more"),
    }
}

/// What belongs to no incident: accepted findings, facts of the release, kinds that were not recorded.
pub fn rest(out: &mut dyn Write, report: &Report, style: Style) -> io::Result<()> {
    for one in &report.accepted {
        let until = one.until.map(|until| format!(", until {until}")).unwrap_or_default();
        let text = format!("{} ({}{until}): {}", one.name(), one.reason, sentence(&one.message));
        style.hang(out, "accepted    ", INDENT, &text)?;
    }
    for fact in &report.facts {
        style.hang(out, "fact        ", INDENT, &sentence(&fact.text))?;
        style.wrap(out, INDENT, &fact.advice)?;
    }
    for waits in &report.time_tells {
        let more = waits.count.saturating_sub(waits.objects.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let text = format!(
            "{}/{} if it lasts (one check alone cannot tell): {}{more}",
            waits.check,
            waits.cause,
            waits.objects.join(", ")
        );
        style.hang(out, "time tells  ", INDENT, &text)?;
    }
    if !report.not_recorded.is_empty() {
        let kinds = format!("not in this recording, treated as empty: {}", report.not_recorded.join(", "));
        style.wrap(out, "", &kinds)?;
    }
    Ok(())
}

fn volumes(volumes: &[VolumeRef]) -> String {
    let mut names: Vec<_> = volumes.iter().take(MAX_VOLUMES).map(volume).collect();
    if volumes.len() > MAX_VOLUMES {
        names.push(format!("and {} more", volumes.len() - MAX_VOLUMES));
    }
    names.join("; ")
}
