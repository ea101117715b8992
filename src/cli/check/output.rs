//! How the answer of `check` is written to standard output.

use std::io::{self, IsTerminal, Write};

use clap::{ColorChoice, ValueEnum};
use jiff::Timestamp;

use super::{Answer, CheckArgs, github, junit};
use crate::checks::CATALOGUE;
use crate::cli::{Failure, colours_wanted, exit};
use crate::cluster::{Cluster, ResourceStatus};
use crate::exporter::Seen;
use crate::history::History;
use crate::http::report_file;
use crate::longhorn::{Objects, Resource};
use crate::report::text::{Style, markdown, table, timeline, wide};
use crate::report::{EVERY_CHECK, ReportOptions, Unknown};

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum OutputFormat {
    /// Human-readable: the incidents and fixes on one screen
    Table,
    /// One line per finding, for grep and awk
    Wide,
    /// Markdown for CI summaries, tickets and chats
    Markdown,
    /// The page that serve shows, as a single HTML file for tickets and CI jobs
    Html,
    /// JSON in the documented schema v1 (docs/report.schema.json)
    Json,
    /// JUnit XML for CI systems
    Junit,
    /// GitHub Actions annotations, one per incident
    Github,
}

impl CheckArgs {
    pub(super) fn print(&self, answer: &Answer, now: Timestamp) -> anyhow::Result<()> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        self.write(&mut out, answer, now)?;
        out.flush()?;
        Ok(())
    }

    /// The report in the format that is asked for.
    pub(super) fn write(
        &self,
        mut out: &mut impl Write,
        Answer { report, cluster }: &Answer,
        now: Timestamp,
    ) -> anyhow::Result<()> {
        let style = style(self.color);
        match self.output {
            OutputFormat::Table => {
                table::write(&mut out, report, style, self.details())?;
                if let Some(since) = self.since {
                    timeline::write(&mut out, report, since, style)?;
                }
            }
            OutputFormat::Wide => wide::write(&mut out, report)?,
            OutputFormat::Markdown => markdown::write(&mut out, report)?,
            OutputFormat::Html => {
                let seen = Seen::of(cluster, &CATALOGUE.kinds(), Vec::new());
                writeln!(out, "{}", report_file(report, &seen, self.since, now))?;
            }
            OutputFormat::Github => github::write(&mut out, report)?,
            OutputFormat::Json => {
                serde_json::to_writer_pretty(&mut out, report)?;
                writeln!(out)?;
            }
            OutputFormat::Junit => {
                let checks: Vec<_> =
                    report.catalogue.checks.iter().copied().filter(|check| self.wants(check)).collect();
                out.write_all(&junit::render(report, &checks, self.fail_on.severity())?)?;
            }
        }
        Ok(())
    }

    /// A cluster that could not be looked at, for readers that parse: an empty file would be an error of theirs.
    pub(super) fn print_failure(
        &self,
        failure: &Failure,
        now: Timestamp,
        options: &ReportOptions,
    ) -> Result<(), Failure> {
        if failure.code == exit::UNKNOWN && matches!(self.output, OutputFormat::Github) {
            return github::write_failure(&mut io::stdout().lock(), &failure.error.to_string())
                .map_err(Failure::unknown);
        }
        let parsed = matches!(self.output, OutputFormat::Html | OutputFormat::Json | OutputFormat::Junit);
        if failure.code != exit::UNKNOWN || !parsed {
            return Ok(());
        }
        let resources = Resource::all().map(|resource| (resource, ResourceStatus::default())).collect();
        let (namespace, objects) = (self.source.namespace.clone(), Objects::default());
        let mut cluster = Cluster::new(namespace, now, objects, History::starting(now), resources);
        cluster.one_look = true;
        let mut report = self.shown(&self.evaluate(&cluster, options).report);
        report.exit_code = failure.code;
        report.unknown.retain(|unknown| unknown.check != EVERY_CHECK);
        report
            .unknown
            .insert(0, Unknown { check: EVERY_CHECK, reason: failure.error.to_string(), forbidden: false });
        self.print(&Answer { report, cluster }, now).map_err(Failure::unknown)
    }
}

/// How text is printed to standard output.
pub fn style(color: ColorChoice) -> Style {
    let colours = match color {
        ColorChoice::Auto => colours_wanted(io::stdout().is_terminal()),
        ColorChoice::Always => true,
        ColorChoice::Never => false,
    };
    let (width, rows) = room();
    Style { colours, width, rows }
}

/// Columns and lines for text: those of the terminal, if it is one.
fn room() -> (usize, Option<usize>) {
    match terminal_size::terminal_size_of(io::stdout()) {
        Some((width, height)) => (usize::from(width.0).max(NARROWEST), Some(usize::from(height.0))),
        None => (Style::DEFAULT.width, None),
    }
}

const NARROWEST: usize = 40;

pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let json = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        io.or(json) == Some(io::ErrorKind::BrokenPipe)
    })
}
