//! Markdown, for summaries of CI, tickets and chats.

use std::io::{self, Write};

use super::timeline::before;
use super::{follows, plain, reasons, scope, sentence, waits};
use crate::Report;
use crate::check::{Command, Severity, capitalised};

/// Writes the incidents that are more than notes, each with its first command.
pub fn write(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    writeln!(out, "### Longhorn: {}", report.status.as_str())?;
    writeln!(out, "**Data:** {}\n\n{}\n", escaped(&report.data.line), escaped(&scope(report)))?;
    for incident in &report.incidents {
        if incident.severity == Severity::Info {
            continue;
        }
        writeln!(
            out,
            "{}. **{}** {}",
            incident.number,
            incident.severity,
            escaped(&sentence(&incident.title))
        )?;
        if let Some(quote) = incident.quote() {
            writeln!(out, "   {}", escaped(&capitalised(&quote)))?;
        }
        if !incident.consequences.is_empty() {
            writeln!(out, "   Follows: {}.", escaped(&follows(incident)))?;
        }
        for change in before(incident) {
            writeln!(out, "   Changed: {}", escaped(&change))?;
        }
        if let Some(waits) = waits(incident) {
            writeln!(out, "   It {waits}.")?;
            continue;
        }
        if !incident.fix.is_empty() {
            writeln!(out, "   Fix: {}", escaped(&incident.fix))?;
        }
        if let Some(command) = &incident.first {
            let note = if command.changes { " (changes the cluster)" } else { "" };
            fenced(out, "   ", &format!("First{note}:"), command)?;
        }
    }
    for (reason, checks) in reasons(report) {
        writeln!(out, "- **unknown** {}: {}", escaped(&checks.join(", ")), escaped(&sentence(&reason)))?;
    }
    for one in &report.accepted {
        let until = one.until.map(|until| format!(" until {until}")).unwrap_or_default();
        writeln!(out, "- accepted{until}: {} ({})", escaped(&one.name()), escaped(&one.reason))?;
    }
    Ok(())
}

/// A command to copy, below a line that says what it is.
pub fn fenced(out: &mut dyn Write, indent: &str, heading: &str, command: &Command) -> io::Result<()> {
    writeln!(out, "{indent}{heading}\n\n{indent}```sh")?;
    command.run.lines().try_for_each(|line| writeln!(out, "{indent}{}", plain(line)))?;
    writeln!(out, "{indent}```")
}

/// Text in which nothing is markup.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in plain(text).chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#') {
            escaped.push('\\');
        }
        if c.is_alphanumeric()
            && escaped.ends_with('@')
            && !escaped.trim_end_matches('@').ends_with(char::is_alphanumeric)
        {
            // it calls no one
            escaped.push_str("<!-- -->");
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_one_is_called_by_what_an_object_says() {
        let image = "registry/image@sha256:1";
        assert_eq!(super::escaped("@team, @@team"), "@<!-- -->team, @@<!-- -->team");
        assert_eq!(super::escaped(image), image);
    }
}
