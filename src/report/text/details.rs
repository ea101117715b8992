//! Everything about an incident: what each finding rests on, and all commands.

use std::io::{self, Write};

use jiff::Timestamp;

use super::table::INDENT;
use super::{Style, duration, plain, sentence, volume, waits};
use crate::check::{Finding, VolumeRef};
use crate::incidents::Incident;
use crate::report::Report;

/// Names more volumes than this only by number.
const MAX_VOLUMES: usize = 5;
/// The number of findings with the same cause that are written out.
const MAX_ALIKE: usize = 3;

/// Writes an incident with all its findings.
pub fn incident(
    out: &mut dyn Write,
    report: &Report,
    incident: &Incident,
    number: usize,
    style: Style,
) -> io::Result<()> {
    let margin = super::table::margin(number, incident, style);
    style.hang(out, &margin, INDENT, &sentence(&incident.title))?;
    if let Some(waits) = waits(incident) {
        writeln!(out, "{INDENT}{waits}")?;
    }
    let findings: Vec<&Finding> =
        incident.findings.iter().filter_map(|place| report.findings.get(*place)).collect();
    let mut alike: Vec<(&str, &str, usize)> = Vec::new();
    for (index, one) in findings.iter().enumerate() {
        let cause: &str = one.cause.id;
        if index == incident.count && !incident.consequences.is_empty() {
            writeln!(out, "\n{INDENT}{}", style.bold("What follows"))?;
        }
        let seen = match alike.iter_mut().find(|(check, known, _)| *check == one.check && *known == cause) {
            Some((.., seen)) => seen,
            None => {
                alike.push((one.check, cause, 0));
                match alike.last_mut() {
                    Some((.., seen)) => seen,
                    None => continue,
                }
            }
        };
        *seen += 1;
        if *seen <= MAX_ALIKE {
            writeln!(out)?;
            finding(out, one, report.cluster.now, style)?;
        } else {
            let node = one.node.as_deref().map(|node| format!(" on {node}")).unwrap_or_default();
            style.wrap(out, INDENT, &format!("{}/{cause}: {}{node}, the same", one.check, one.object))?;
        }
    }
    writeln!(out)
}

fn finding(out: &mut dyn Write, finding: &Finding, now: Option<Timestamp>, style: Style) -> io::Result<()> {
    let cause = finding.cause.id;
    writeln!(
        out,
        "  {}  {}",
        style.severity(finding.severity),
        style.bold(&format!("{}/{cause}", finding.check))
    )?;
    let mut place = finding.object.to_string();
    // a node is where it is
    let node = finding.node.as_ref().filter(|node| **node != finding.object.name);
    for (word, name) in [("node", node), ("disk", finding.disk.as_ref())] {
        if let Some(name) = name {
            place += &format!(", {word} {name}");
        }
    }
    if let (Some(since), Some(now)) = (finding.since, now) {
        place += &format!(", for {}", duration(now.duration_since(since).as_secs()));
    }
    style.wrap(out, INDENT, &place)?;
    style.wrap(out, INDENT, &sentence(&finding.message))?;
    style.labelled(out, INDENT, "impact", &sentence(&finding.impact))?;
    style.labelled(out, INDENT, "volumes", &volumes(&finding.volumes))?;
    for fact in &finding.evidence {
        style.labelled(out, INDENT, "because", &sentence(&fact.text))?;
    }
    style.labelled(out, INDENT, "fix", &finding.remedy.fix)?;
    for command in &finding.remedy.commands {
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
    if let Some(runbook) = finding.runbook {
        writeln!(out, "{INDENT}runbook: {runbook} (longhorn-health-exporter runbook {runbook})")?;
    }
    Ok(())
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
            "{}/{} if it lasts, which one look cannot tell: {}{more}",
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
