//! A report as text for a person.

use std::io::{self, Write};

use crate::check::{Finding, Severity};
use crate::report::Report;

/// Writes the report; colours are ANSI.
pub fn write(out: &mut dyn Write, report: &Report, colours: bool) -> io::Result<()> {
    for finding in &report.findings {
        write_finding(out, finding, colours)?;
    }
    Ok(())
}

fn write_finding(out: &mut dyn Write, finding: &Finding, colours: bool) -> io::Result<()> {
    let severity = paint(finding.severity, colours);
    writeln!(out, "{severity}  {}/{}  {}", finding.check, finding.cause, finding.object)?;
    writeln!(out, "          {}", finding.message)
}

fn paint(severity: Severity, colours: bool) -> String {
    let code = match severity {
        Severity::Critical => "1;31",
        Severity::Warning => "33",
        Severity::Info => "36",
    };
    if colours { format!("\x1b[{code}m{severity:<8}\x1b[0m") } else { format!("{severity:<8}") }
}
