//! `check`: look once, or until healthy, print, end with an exit code.

pub(super) mod github;
mod junit;
mod output;
mod progress;
mod wait;
mod watch;

use anyhow::anyhow;
use clap::{Args, ColorChoice, ValueEnum};
use jiff::{SignedDuration, Timestamp};

pub use self::output::style;
use self::output::{OutputFormat, is_broken_pipe};
use self::wait::Waited;
use super::fleet::{self, FleetArgs};
use super::source::{SignatureArgs, Wanted, positive_duration};
use super::{Failure, SourceArgs};
use crate::check::{Check, Severity, counted};
use crate::checks::CATALOGUE;
use crate::cluster::Cluster;
use crate::report::text::table::Details;
use crate::report::{Acceptance, Evaluation, Report, ReportOptions, Selection, Status, evaluate_with};

/// Options of `check`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes:\n  0   no finding reaches --fail-on\n  1   a finding reaches --fail-on\n  2   unknown: needed data could not be read\n  \
                        64  bad usage or unreadable input\n  \
                        130 interrupted while waiting (143: terminated)"
)]
pub struct CheckArgs {
    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    signatures: SignatureArgs,

    #[command(flatten)]
    fleet: FleetArgs,

    /// Format of the report
    #[arg(long, short = 'o', value_enum, default_value_t = OutputFormat::Table, env = "LONGHORN_HEALTH_OUTPUT")]
    output: OutputFormat,

    /// Colour the table (auto: only on a terminal, unless NO_COLOR is set)
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN", env = "LONGHORN_HEALTH_COLOR")]
    color: ColorChoice,

    /// Show all evidence and commands of every incident, or of incident N
    #[arg(long, short = 'v', value_name = "N", num_args = 0..=1, default_missing_value = "all")]
    details: Option<Details>,

    /// Also list changes within this period, newest first: settings, nodes, images, pods that ended
    #[arg(long, value_name = "DURATION", value_parser = positive_duration)]
    since: Option<SignedDuration>,

    #[command(flatten)]
    shown: ShownArgs,

    /// Lowest severity that sets exit code 1 (never: only unreadable data sets an exit code)
    #[arg(long, value_enum, default_value_t = FailOn::Warning, value_name = "SEVERITY", env = "LONGHORN_HEALTH_FAIL_ON")]
    fail_on: FailOn,

    /// Run only these checks (comma-separated, for example manager_crash_loop,manager_probes)
    #[arg(long, value_name = "CHECK", value_delimiter = ',', value_parser = check_id, env = "LONGHORN_HEALTH_ONLY")]
    only: Vec<&'static str>,

    /// Time limit for reading a live cluster; kinds not listed by then count as unknown
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = positive_duration, env = "LONGHORN_HEALTH_TIMEOUT")]
    timeout: SignedDuration,

    /// Wait up to this long until nothing reaches --fail-on, is unknown or lacks a replica
    #[arg(long, value_name = "DURATION", value_parser = positive_duration, conflicts_with_all = ["demo", "from"], env = "LONGHORN_HEALTH_WAIT_HEALTHY")]
    wait_healthy: Option<SignedDuration>,

    /// Print the report again whenever it changes, until interrupted (in place on a terminal)
    #[arg(long, short = 'w', conflicts_with_all = ["demo", "from", "wait_healthy"])]
    watch: bool,
}

/// What of the report is shown.
#[derive(Debug, Args)]
#[command(next_help_heading = "Shown")]
struct ShownArgs {
    /// Only findings that affect this node; can be given several times
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    node: Vec<String>,

    /// Only findings that affect this Longhorn volume
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    volume: Vec<String>,

    /// Only findings that affect the volume of this claim
    #[arg(long, value_name = "NAMESPACE/NAME", value_delimiter = ',')]
    pvc: Vec<String>,

    /// Only findings that affect volumes of claims in this namespace
    #[arg(long, value_name = "NAMESPACE", value_delimiter = ',')]
    pvc_namespace: Vec<String>,

    /// Only incidents with at least this severity; the exit code stays the same
    #[arg(long, value_enum)]
    severity: Option<ShownFrom>,

    /// Ignore a check or one of its causes; matching findings are shown as accepted
    #[arg(long, value_name = "CHECK[/CAUSE]", value_delimiter = ',', value_parser = skip, env = "LONGHORN_HEALTH_SKIP")]
    skip: Vec<Acceptance>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ShownFrom {
    Info,
    Warning,
    Critical,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FailOn {
    Info,
    Warning,
    Critical,
    Never,
}

impl FailOn {
    /// The mildest severity that fails; none with `never`.
    fn severity(self) -> Option<Severity> {
        match self {
            FailOn::Info => Some(Severity::Info),
            FailOn::Warning => Some(Severity::Warning),
            FailOn::Critical => Some(Severity::Critical),
            FailOn::Never => None,
        }
    }
}

/// `check` or `check/cause` that is left out.
fn skip(text: &str) -> Result<Acceptance, String> {
    Acceptance::skip(&CATALOGUE, text)
}

fn check_id(text: &str) -> Result<&'static str, String> {
    CATALOGUE.named(text, None).map(|(check, _)| check.id)
}

/// A look: the report that was asked for, and the cluster it is of.
struct Answer {
    report: Report,
    cluster: Cluster,
}

/// Runs `check`.
#[allow(clippy::disallowed_methods, reason = "the clock is read here and handed down")]
pub fn run(args: CheckArgs) -> Result<u8, Failure> {
    let now = Timestamp::now();
    if let Some(sources) = args.fleet.sources(&args.source)? {
        return args.side_by_side(&sources, now);
    }
    let mut options = args.source.options(now)?;
    options.accepted.extend(args.shown.skip.iter().cloned());
    options.since = args.since;
    options.signatures = args.signatures.files().current();
    if args.watch {
        return args.watch(&options);
    }
    let answer = match args.source.recorded(now)? {
        Some(cluster) => args.answer(cluster, &options)?,
        None => match args.live_report(&options) {
            Ok(Waited::Report(answer)) => *answer,
            Ok(Waited::Interrupted(code)) => return Ok(code),
            Err(failure) => {
                args.print_failure(&failure, now, &options)?;
                return Err(failure);
            }
        },
    };
    args.has_incident(&answer.report)?;
    match args.print(&answer, now) {
        // a reader that went away (`| head`) has seen what it wanted
        Err(error) if is_broken_pipe(&error) => {}
        printed => printed.map_err(Failure::unknown)?,
    }
    Ok(answer.report.exit_code)
}

impl CheckArgs {
    fn wants(&self, check: &Check) -> bool {
        self.only.is_empty() || self.only.contains(&check.id)
    }

    /// The report again and again.
    fn watch(&self, options: &ReportOptions) -> Result<u8, Failure> {
        if !matches!(self.output, OutputFormat::Table | OutputFormat::Wide) {
            return Err(Failure::usage(anyhow!("--watch needs -o table or -o wide")));
        }
        super::runtime()?.block_on(watch::until_interrupted(self, options))
    }

    /// The report on the live cluster, at once or when it is healthy.
    fn live_report(&self, options: &ReportOptions) -> Result<Waited, Failure> {
        super::runtime()?.block_on(async {
            match self.wait_healthy {
                Some(limit) => wait::until_healthy(self, limit.unsigned_abs(), options).await,
                None => {
                    let cluster = self.source.look(&Wanted::by_checks(), self.timeout.unsigned_abs()).await?;
                    Ok(Waited::Report(Box::new(self.answer(cluster, options)?)))
                }
            }
        })
    }

    /// Several clusters: of each what is worst.
    fn side_by_side(&self, sources: &[SourceArgs], now: Timestamp) -> Result<u8, Failure> {
        let as_json = match self.output {
            _ if self.wait_healthy.is_some() || self.watch => {
                return Err(Failure::usage(anyhow!(
                    "--wait-healthy and --watch need a single cluster; use one --context"
                )));
            }
            OutputFormat::Table | OutputFormat::Wide => false,
            OutputFormat::Json => true,
            _ => return Err(Failure::usage(anyhow!("several clusters need -o table or -o json"))),
        };
        let rows =
            fleet::rows(sources, &Wanted::by_checks(), self.timeout.unsigned_abs(), |source, cluster| {
                let mut options = source.options(now)?;
                options.accepted.extend(self.shown.skip.iter().cloned());
                options.signatures = self.signatures.files().current();
                let report = self.shown(&self.evaluate(cluster, &options).report);
                let first = report.incidents.first().map(|incident| incident.title.clone());
                let count = report.incidents.len();
                let answer = match (first, report.unknown.first()) {
                    (Some(first), _) if count > 1 => {
                        format!("{first}; {}", counted(count - 1, "incident") + " more")
                    }
                    (Some(first), _) => first,
                    (None, Some(unknown)) => format!("{}: {}", unknown.check, unknown.reason),
                    (None, None) => report.data.line.clone(),
                };
                Ok(fleet::Row {
                    context: source.context().unwrap_or_default().to_owned(),
                    exit_code: report.exit_code,
                    word: report.status.as_str().to_owned(),
                    answer,
                    rank: u8::from(report.status != Status::Critical),
                    report: Some(report),
                })
            })?;
        fleet::show(&rows, as_json)
    }

    fn evaluate(&self, cluster: &Cluster, options: &ReportOptions) -> Evaluation {
        evaluate_with(&CATALOGUE, cluster, |check| self.wants(check), options)
    }

    /// The part of the report that is asked for, with its exit code.
    fn answer(&self, cluster: Cluster, options: &ReportOptions) -> Result<Answer, Failure> {
        let report = self.evaluate(&cluster, options).report;
        match self.shown.selection(None).unknown_name(&cluster, &report) {
            Some(message) => Err(Failure::usage(anyhow!(message))),
            None => Ok(Answer { report: self.shown(&report), cluster }),
        }
    }

    fn shown(&self, report: &Report) -> Report {
        let places = self.shown.selection(None);
        let mut part = report.select(&places);
        let exit_code = part.exit_code_from(self.fail_on.severity());
        if let Some(severity) = self.shown.severity {
            part = report.select(&self.shown.selection(Some(severity)));
        }
        part.exit_code = exit_code;
        part
    }

    /// An incident that is asked for must be there, unless there is none at all.
    fn has_incident(&self, report: &Report) -> Result<(), Failure> {
        let count = report.incidents.len();
        match self.details {
            Some(Details::Of(number)) if count > 0 && number > count => {
                Err(Failure::usage(anyhow!("no incident {number}: there are {count}")))
            }
            _ => Ok(()),
        }
    }

    fn details(&self) -> Details {
        self.details.unwrap_or(Details::Brief)
    }
}

impl ShownArgs {
    fn selection(&self, severity: Option<ShownFrom>) -> Selection {
        Selection {
            nodes: self.node.clone(),
            volumes: self.volume.clone(),
            pvcs: self.pvc.clone(),
            namespaces: self.pvc_namespace.clone(),
            checks: Vec::new(),
            severity: severity.map(|severity| match severity {
                ShownFrom::Info => Severity::Info,
                ShownFrom::Warning => Severity::Warning,
                ShownFrom::Critical => Severity::Critical,
            }),
        }
    }
}
