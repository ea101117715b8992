//! One line a finding, for `grep` and `awk`: never wrapped, no colours.

use std::io::{self, Write};

use super::{plain, scope};
use crate::Report;

/// Writes two lines about the cluster, then a line for each finding and for each check without verdict.
pub fn write(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    writeln!(out, "{}  {}", report.status.as_str().to_uppercase(), plain(&scope(report)))?;
    writeln!(out, "data  {}", plain(&report.data.line))?;
    for finding in &report.findings {
        let cause = finding.cause.id;
        writeln!(
            out,
            "{}  {}  {}/{cause}  {}/{}  {}",
            finding.severity,
            plain(finding.node.as_deref().unwrap_or("-")),
            finding.check,
            finding.object.kind,
            plain(&finding.object.name),
            plain(&finding.message)
        )?;
    }
    for unknown in &report.unknown {
        writeln!(out, "unknown  -  {}  -  {}", unknown.check, plain(&unknown.reason))?;
    }
    for one in &report.accepted {
        writeln!(
            out,
            "accepted  {}  {}/{}  {}/{}  {}",
            plain(one.node.as_deref().unwrap_or("-")),
            one.check,
            one.cause,
            one.object.kind,
            plain(&one.object.name),
            plain(&one.reason)
        )?;
    }
    Ok(())
}
