//! A report as annotations of a run of GitHub Actions: workflow commands, one per incident and per reason why something
//! is unknown, and a last line with the verdict.

use std::io::{self, Write};

use crate::check::{Severity, plain};
use crate::report::Report;
use crate::report::text::{follows, scope};

/// Writes the annotations.
pub fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    for incident in &report.incidents {
        let level = match incident.severity {
            Severity::Critical => "error",
            Severity::Warning => "warning",
            Severity::Info => "notice",
        };
        let mut message = incident.title.clone();
        let follows = follows(incident);
        let quote = incident.quote().unwrap_or_default();
        let lines = [("", quote.as_str()), ("follows: ", follows.as_str()), ("fix: ", incident.fix.as_str())];
        for (head, line) in lines.into_iter().filter(|(_, line)| !line.is_empty()) {
            message.push_str(&format!("\n{head}{line}"));
        }
        if let Some(first) = &incident.first {
            message.push_str(&format!("\n{}", first.run));
        }
        let title = format!("{} {}/{}", incident.severity, incident.check, incident.cause);
        writeln!(out, "::{level} title={}::{}", property(&title), data(&message))?;
    }
    for unknown in &report.unknown {
        let title = property(&format!("unknown {}", unknown.check));
        writeln!(out, "::warning title={title}::{}", data(&unknown.reason))?;
    }
    let line = format!("{} · {} · {}", report.status.as_str(), scope(report), report.data.line);
    writeln!(out, "{}", plain(&line))
}

/// The annotation of a look that failed.
pub fn write_failure(out: &mut impl Write, error: &str) -> io::Result<()> {
    writeln!(out, "::error title=unknown::{}", data(error))
}

/// The text of a command: a line break would end it (actions/toolkit packages/core/src/command.ts escapeData). Other
/// control characters have no place in it.
pub fn data(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(plain).collect();
    lines.join("\n").replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property of a command (escapeProperty there).
pub fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::demo;
    use proptest::prelude::*;

    #[test]
    fn a_look_that_failed_is_one_error() {
        let mut out = Vec::new();
        write_failure(&mut out, "cannot reach it\nat all").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "::error title=unknown::cannot reach it%0Aat all\n");
    }

    #[test]
    fn every_incident_of_the_demo_is_one_annotation_of_its_severity() {
        let report =
            crate::testing::evaluate(&demo::cluster("2026-01-01T12:00:00Z".parse().unwrap()).unwrap()).report;
        let mut text = Vec::new();
        write(&mut text, &report).unwrap();
        let text = String::from_utf8(text).unwrap();
        let of =
            |level: &str| text.lines().filter(|line| line.starts_with(&format!("::{level} title="))).count();
        let count =
            |severity| report.incidents.iter().filter(|incident| incident.severity == severity).count();
        assert_eq!(of("error"), count(Severity::Critical));
        assert_eq!(of("warning"), count(Severity::Warning) + report.unknown.len());
        assert_eq!(of("notice"), count(Severity::Info));
        assert!(of("error") > 1 && text.contains("%0A"), "{text}");
        assert!(
            text.lines().last().unwrap().starts_with("critical · cluster") || text.contains("critical · "),
            "{text}"
        );
    }

    proptest! {
        #[test]
        fn no_text_ends_its_command_or_begins_another(text in any::<String>()) {
            let (data, property) = (data(&text), property(&text));
            prop_assert!(!data.contains(['\n', '\r']));
            prop_assert!(!property.contains(['\n', '\r', ':', ',']));
        }
    }
}
