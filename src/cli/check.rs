//! `check`: look once, print, end with an exit code.

use std::io::{IsTerminal, Write};

use clap::{Args, ValueEnum};
use jiff::Timestamp;

use super::{Failure, SourceArgs, exit, table};
use crate::check::Severity;
use crate::checks;
use crate::report::{Report, evaluate_only};

/// Options of `check`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 nothing reaches --fail-on; 1 something does; 2 the verdict is unknown; \
                        64 bad usage or unreadable input."
)]
pub struct CheckArgs {
    #[command(flatten)]
    source: SourceArgs,

    /// How to print the report
    #[arg(long, short = 'o', value_enum, default_value_t = Format::Table)]
    output: Format,

    /// Mildest severity that makes the exit code 1
    #[arg(long, value_enum, default_value_t = FailOn::Warning, value_name = "SEVERITY")]
    fail_on: FailOn,

    /// Run these checks only
    #[arg(long, value_name = "CHECK", value_delimiter = ',', value_parser = check_id)]
    only: Vec<&'static str>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Table,
    Json,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FailOn {
    Info,
    Warning,
    Critical,
}

impl From<FailOn> for Severity {
    fn from(fail_on: FailOn) -> Self {
        match fail_on {
            FailOn::Info => Severity::Info,
            FailOn::Warning => Severity::Warning,
            FailOn::Critical => Severity::Critical,
        }
    }
}

fn check_id(text: &str) -> Result<&'static str, String> {
    checks::by_id(text).map(|check| check.id).ok_or_else(|| {
        let ids: Vec<_> = checks::ALL.iter().map(|check| check.id).collect();
        format!("no such check; the checks are {}", ids.join(", "))
    })
}

/// Runs `check`.
pub fn run(args: CheckArgs) -> Result<u8, Failure> {
    let Some(cluster) = args.source.recorded(Timestamp::now()).map_err(Failure::usage)? else {
        return Err(Failure::usage(anyhow::anyhow!("give --demo or --from PATH")));
    };
    let report =
        evaluate_only(&cluster, |check| args.only.is_empty() || args.only.contains(&check.id)).report;
    print(&report, args.output).map_err(Failure::unknown)?;
    Ok(exit_code(&report, args.fail_on.into()))
}

/// A known problem wins over not knowing.
fn exit_code(report: &Report, fail_on: Severity) -> u8 {
    if report.worst().is_some_and(|worst| worst >= fail_on) {
        exit::FINDINGS
    } else if !report.unknown.is_empty() {
        exit::UNKNOWN
    } else {
        exit::OK
    }
}

fn print(report: &Report, format: Format) -> anyhow::Result<()> {
    let stdout = std::io::stdout();
    let colours = stdout.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mut out = stdout.lock();
    match format {
        Format::Table => table::write(&mut out, report, colours)?,
        Format::Json => {
            serde_json::to_writer_pretty(&mut out, report)?;
            writeln!(out)?;
        }
    }
    Ok(())
}
