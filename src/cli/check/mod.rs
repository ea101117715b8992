//! `check`: look once, or until healthy, print, end with an exit code.

mod junit;
mod progress;
pub mod table;
mod wait;

use std::io::{self, IsTerminal, Write};

use clap::{Args, ValueEnum};
use jiff::{SignedDuration, Timestamp};

use self::table::Style;
use self::wait::Waited;
use super::source::positive_duration;
use super::{Failure, SourceArgs, exit};
use crate::check::{Check, Severity};
use crate::checks;
use crate::cluster::Cluster;
use crate::did_you_mean;
use crate::report::{Report, evaluate_only};

/// Options of `check`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes:\n  0   nothing reaches --fail-on\n  1   something does\n  \
                        2   the verdict is unknown: what it needs could not be read\n  \
                        64  bad usage or unreadable input\n  \
                        130 interrupted while waiting (143: terminated)")]
pub struct CheckArgs {
    #[command(flatten)]
    source: SourceArgs,

    /// How to print the report
    #[arg(long, short = 'o', value_enum, default_value_t = Format::Table, env = "LONGHORN_HEALTH_OUTPUT")]
    output: Format,

    /// Mildest severity that makes the exit code 1
    #[arg(long, value_enum, default_value_t = FailOn::Warning, value_name = "SEVERITY", env = "LONGHORN_HEALTH_FAIL_ON")]
    fail_on: FailOn,

    /// Run these checks only (comma-separated, for example manager_crash_loop,manager_probes)
    #[arg(long, value_name = "CHECK", value_delimiter = ',', value_parser = check_id, env = "LONGHORN_HEALTH_ONLY")]
    only: Vec<&'static str>,

    /// Time to list a live cluster; what has not answered by then is unknown
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = positive_duration, env = "LONGHORN_HEALTH_TIMEOUT")]
    timeout: SignedDuration,

    /// Look again until nothing reaches --fail-on and nothing is unknown, at most so long
    #[arg(long, value_name = "DURATION", value_parser = positive_duration, conflicts_with_all = ["demo", "from"], env = "LONGHORN_HEALTH_WAIT_HEALTHY")]
    wait_healthy: Option<SignedDuration>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// For people
    Table,
    /// The documented schema v1 (docs/report.schema.json)
    Json,
    /// JUnit XML for CI systems
    Junit,
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
    if let Some(check) = checks::by_id(text) {
        return Ok(check.id);
    }
    let ids: Vec<_> = checks::ALL.iter().map(|check| check.id).collect();
    Err(format!("no such check; {}", did_you_mean::hint(text, &ids)))
}

/// Runs `check`.
#[allow(clippy::disallowed_methods, reason = "the clock is read here and handed down")]
pub fn run(args: CheckArgs) -> Result<u8, Failure> {
    let fail_on = args.fail_on.into();
    let report = match args.source.recorded(Timestamp::now())? {
        Some(cluster) => args.report(&cluster),
        None => match args.live_report(fail_on)? {
            Waited::Report(report) => *report,
            Waited::Interrupted(code) => return Ok(code),
        },
    };
    match args.print(&report, fail_on) {
        // a reader that went away (`| head`) has seen what it wanted
        Err(error) if is_broken_pipe(&error) => {}
        printed => printed.map_err(Failure::unknown)?,
    }
    Ok(exit_code(&report, fail_on))
}

impl CheckArgs {
    fn wants(&self, check: &Check) -> bool {
        self.only.is_empty() || self.only.contains(&check.id)
    }

    /// The report on the live cluster, at once or when it is healthy.
    fn live_report(&self, fail_on: Severity) -> Result<Waited, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(Failure::unknown)?.block_on(async {
            match self.wait_healthy {
                Some(limit) => wait::until_healthy(self, limit.unsigned_abs(), fail_on).await,
                None => {
                    let cluster = self.source.look(self.timeout.unsigned_abs()).await?;
                    Ok(Waited::Report(Box::new(self.report(&cluster))))
                }
            }
        })
    }

    fn report(&self, cluster: &Cluster) -> Report {
        evaluate_only(cluster, |check| self.wants(check)).report
    }

    fn print(&self, report: &Report, fail_on: Severity) -> anyhow::Result<()> {
        let stdout = io::stdout();
        let colours = stdout.is_terminal() && super::colours_wanted();
        let mut out = io::BufWriter::new(stdout.lock());
        match self.output {
            Format::Table => {
                let style = Style { colours, width: width(), details_from: fail_on.min(Severity::Warning) };
                table::write(&mut out, report, style)?;
            }
            Format::Json => {
                serde_json::to_writer_pretty(&mut out, report)?;
                writeln!(out)?;
            }
            Format::Junit => {
                let checks: Vec<_> = checks::ALL.iter().copied().filter(|check| self.wants(check)).collect();
                out.write_all(&junit::render(report, &checks, fail_on)?)?;
            }
        }
        out.flush()?;
        Ok(())
    }
}

/// Columns for text: those of the terminal, if it is one and narrower than is good to read.
fn width() -> usize {
    let terminal = terminal_size::terminal_size_of(io::stdout());
    terminal.map_or(WIDEST, |(width, _)| usize::from(width.0).clamp(NARROWEST, WIDEST))
}

const WIDEST: usize = 100;
const NARROWEST: usize = 40;

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

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let json = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        io.or(json) == Some(io::ErrorKind::BrokenPipe)
    })
}
