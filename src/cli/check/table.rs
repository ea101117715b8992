//! A report as text for a person: every finding with what to do, worst first, and the verdict at the
//! end, where a terminal stands.

use std::io::{self, Write};

use jiff::Timestamp;

use crate::check::{Finding, Severity, VolumeRef, capitalised, counted};
use crate::report::{Report, Status, Unknown};

/// How text is dressed for the place it is written to.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// ANSI colours.
    pub colours: bool,
    /// Columns to fill; text is wrapped at words.
    pub width: usize,
    /// Findings milder than this are told in a line or two.
    pub details_from: Severity,
}

/// Names more volumes than this only by number.
const MAX_VOLUMES: usize = 5;
/// Where the text of a finding begins.
const INDENT: &str = "          ";

/// Writes the report.
pub fn write(out: &mut dyn Write, report: &Report, style: Style) -> io::Result<()> {
    write_head(out, report, style)?;
    let (detailed, short): (Vec<_>, Vec<_>) =
        report.findings.iter().partition(|finding| finding.severity >= style.details_from);
    for finding in detailed {
        write_finding(out, finding, report.cluster.now, style)?;
        writeln!(out)?;
    }
    for finding in &short {
        write_short(out, finding, style)?;
    }
    if !short.is_empty() {
        let worst = short.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Info);
        writeln!(out, "{INDENT}(--fail-on={worst} or -o json tells more)\n")?;
    }
    write_unknown(out, report, style)?;
    write_facts(out, report, style)?;
    write_verdict(out, report, style)
}

/// What was looked at, and whose data is hurt.
fn write_head(out: &mut dyn Write, report: &Report, style: Style) -> io::Result<()> {
    let cluster = &report.cluster;
    let release = cluster.longhorn_version.as_deref().unwrap_or("of unknown release");
    let recorded = if cluster.recorded { " (recorded)" } else { "" };
    let moment = cluster
        .now
        .map_or("an unknown time".to_owned(), |now| now.strftime("%Y-%m-%d %H:%M:%SZ").to_string());
    writeln!(
        out,
        "Longhorn {release} in {} at {moment}{recorded}: {}, {}, {}",
        cluster.namespace,
        counted(cluster.nodes, "node"),
        counted(cluster.volumes, "volume"),
        counted(cluster.instance_managers, "instance manager")
    )?;
    style.wrap(out, "", &format!("data: {}", report.data.line))?;
    writeln!(out)
}

fn write_facts(out: &mut dyn Write, report: &Report, style: Style) -> io::Result<()> {
    for fact in &report.facts {
        style.wrap(out, "", &format!("fact: {}", sentence(&fact.text)))?;
    }
    if report.facts.is_empty() { Ok(()) } else { writeln!(out) }
}

fn write_short(out: &mut dyn Write, finding: &Finding, style: Style) -> io::Result<()> {
    let severity = style.severity(finding.severity);
    writeln!(out, "{severity}  {}: {}", finding.check, finding.cause)?;
    style.wrap(out, INDENT, &sentence(&finding.message))
}

fn write_finding(
    out: &mut dyn Write,
    finding: &Finding,
    now: Option<Timestamp>,
    style: Style,
) -> io::Result<()> {
    let severity = style.severity(finding.severity);
    writeln!(out, "{severity}  {}", style.bold(&format!("{}: {}", finding.check, finding.cause)))?;
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
    style.labelled(out, "impact", &sentence(&finding.impact))?;
    style.labelled(out, "volumes", &volumes(&finding.volumes))?;
    for fact in &finding.evidence {
        style.labelled(out, "because", &sentence(&fact.text))?;
    }
    style.labelled(out, "remedy", &finding.remedy.text)?;
    for command in &finding.remedy.commands {
        // commands are copied, so they are never wrapped, and what they do stands in a comment
        if command.changes {
            writeln!(out, "{INDENT}  {}", style.paint("33", "# changes the cluster:"))?;
        }
        for line in command.run.lines() {
            writeln!(out, "{INDENT}  {}", plain(line))?;
        }
    }
    Ok(())
}

fn write_unknown(out: &mut dyn Write, report: &Report, style: Style) -> io::Result<()> {
    for (reason, checks) in by_reason(&report.unknown) {
        for (index, line) in style.lines(INDENT, &checks.join(", ")).iter().enumerate() {
            let margin = if index == 0 { style.paint("35", "unknown   ") } else { INDENT.to_owned() };
            writeln!(out, "{margin}{}", style.bold(line))?;
        }
        style.wrap(out, INDENT, &sentence(reason))?;
        writeln!(out)?;
    }
    Ok(())
}

/// A kind that cannot be read is the reason of many checks.
fn by_reason(unknown: &[Unknown]) -> Vec<(&str, Vec<&str>)> {
    let mut grouped: Vec<(&str, Vec<&str>)> = Vec::new();
    for Unknown { check, reason } in unknown {
        match grouped.iter_mut().find(|(known, _)| known == reason) {
            Some((_, checks)) => checks.push(check),
            None => grouped.push((reason, vec![check])),
        }
    }
    grouped
}

fn write_verdict(out: &mut dyn Write, report: &Report, style: Style) -> io::Result<()> {
    if !report.not_recorded.is_empty() {
        style.wrap(out, "", &format!("not recorded, taken as empty: {}", report.not_recorded.join(", ")))?;
    }
    let count = |severity| report.findings.iter().filter(|finding| finding.severity == severity).count();
    let counts = format!(
        "{} critical, {} warning, {} info, {} unknown",
        count(Severity::Critical),
        count(Severity::Warning),
        count(Severity::Info),
        report.unknown.len()
    );
    let colour = match report.status {
        Status::Healthy => "32",
        Status::Info => "36",
        Status::Warning => "33",
        Status::Critical => "1;31",
        Status::Unknown => "35",
    };
    writeln!(out, "status: {} ({counts})", style.paint(colour, report.status.as_str()))
}

fn volumes(volumes: &[VolumeRef]) -> String {
    let mut names: Vec<_> = volumes.iter().take(MAX_VOLUMES).map(volume).collect();
    if volumes.len() > MAX_VOLUMES {
        names.push(format!("and {} more", volumes.len() - MAX_VOLUMES));
    }
    names.join("; ")
}

fn volume(volume: &VolumeRef) -> String {
    let mut text = volume.name.clone();
    if let Some(robustness) = volume.robustness {
        text += &format!(" {}", robustness.as_str());
    }
    if let Some(pvc) = &volume.pvc {
        text += &format!(" (PVC {pvc})");
    }
    if !volume.workloads.is_empty() {
        text += &format!(" used by {}", volume.workloads.join(", "));
    }
    text
}

/// A duration in its two largest units: `3m20s`, `5h12m`, `11d4h`.
pub fn duration(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match () {
        () if days > 0 => format!("{days}d{}h", hours % 24),
        () if hours > 0 => format!("{hours}h{}m", minutes % 60),
        () if minutes > 0 => format!("{minutes}m{}s", seconds % 60),
        () => format!("{seconds}s"),
    }
}

/// Messages are fragments; printed on their own they begin with a capital and end with a stop.
fn sentence(text: &str) -> String {
    let mut text = capitalised(text);
    if !text.is_empty() && !text.ends_with(['.', '!', '?', ':']) {
        text.push('.');
    }
    text
}

/// Logs and messages come from elsewhere, and must not be able to steer the terminal.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        if self.colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn severity(self, severity: Severity) -> String {
        let code = match severity {
            Severity::Critical => "1;31",
            Severity::Warning => "33",
            Severity::Info => "36",
        };
        self.paint(code, &format!("{severity:<8}"))
    }

    fn labelled(self, out: &mut dyn Write, label: &str, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.wrap(out, INDENT, &format!("{label}: {text}"))
    }

    fn wrap(self, out: &mut dyn Write, indent: &str, text: &str) -> io::Result<()> {
        self.lines(indent, text).iter().try_for_each(|line| writeln!(out, "{indent}{line}"))
    }

    /// The lines that a text takes beside this indent; one at least.
    fn lines(self, indent: &str, text: &str) -> Vec<String> {
        let room = self.width.saturating_sub(indent.len()).max(20);
        let (mut lines, mut line) = (Vec::new(), String::new());
        for word in text.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&plain(word));
        }
        lines.push(line);
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MANAGER, cluster, cluster_at, partial};

    #[test]
    fn durations_have_two_units() {
        assert_eq!(duration(-3), "0s");
        assert_eq!(duration(59), "59s");
        assert_eq!(duration(200), "3m20s");
        assert_eq!(duration(18_720), "5h12m");
        assert_eq!(duration(11 * 86_400 + 4 * 3_600), "11d4h");
    }

    #[test]
    fn sentences_end() {
        assert_eq!(sentence("setting x waits"), "Setting x waits.");
        assert_eq!(sentence("Really?"), "Really?");
        assert_eq!(sentence(""), "");
    }

    #[test]
    fn a_log_cannot_steer_the_terminal() {
        let mut out = Vec::new();
        let style = Style { colours: false, width: 40, details_from: Severity::Info };
        style.wrap(&mut out, "", "bad \x1b[2J \u{7}news").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "bad \u{fffd}[2J \u{fffd}news\n");
    }

    #[test]
    fn checks_without_a_verdict_are_told_once_a_reason_and_fit_the_width() {
        let setting = "apiVersion: longhorn.io/v1beta2\nkind: Setting\nmetadata: {name: a, namespace: longhorn-system}\n";
        let report = crate::report::evaluate(&partial(setting)).report;
        let mut out = Vec::new();
        let style = Style { colours: false, width: 60, details_from: Severity::Info };
        write_unknown(&mut out, &report, style).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("unknown   cluster\n          The recording has no pods, "), "{text}");
        assert!(
            text.contains(
                "\nunknown   manager_crash_loop, manager_start_stuck,\n          manager_half_alive, webhook_unavailable,"
            ),
            "{text}"
        );
        assert_eq!(text.matches("\n          Pods is not recorded.\n").count(), 1, "{text}");
        assert!(text.lines().all(|line| line.len() <= 60), "{text}");
    }

    #[test]
    fn a_recording_without_times_has_no_moment() {
        let printed = |cluster: &crate::cluster::Cluster| {
            let report = crate::report::evaluate(cluster).report;
            let mut out = Vec::new();
            write(&mut out, &report, Style { colours: false, width: 80, details_from: Severity::Info })
                .unwrap();
            let json = serde_json::to_value(&report).unwrap();
            (String::from_utf8(out).unwrap(), json["cluster"].get("now").cloned())
        };
        let (text, now) = printed(&cluster(MANAGER));
        assert!(text.contains("in longhorn-system at an unknown time (recorded): "), "{text}");
        assert_eq!(now, None);
        let (text, now) = printed(&cluster_at("2026-01-01T00:00:00Z", MANAGER));
        assert!(text.contains("at 2026-01-01 00:00:00Z (recorded): "), "{text}");
        assert_eq!(now, Some("2026-01-01T00:00:00Z".into()));
    }

    #[test]
    fn long_text_is_wrapped_and_commands_are_not() {
        let style = Style { colours: false, width: 40, details_from: Severity::Info };
        let mut out = Vec::new();
        style.wrap(&mut out, INDENT, &"word ".repeat(20)).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.len() <= 40), "{text}");
    }
}
