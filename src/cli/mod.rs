//! The command line: one file a subcommand.

mod check;
mod completion;
mod diff;
mod explain;
mod fleet;
mod generate;
#[cfg(feature = "lint-rules")]
mod lint_rules;
mod lint_signatures;
pub(crate) mod listen;
mod logging;
mod man;
#[cfg(feature = "mcp")]
mod mcp;
mod plan;
mod record;
mod runbook;
mod serve;
pub(crate) mod source;
mod state;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::builder::{BoolishValueParser, Resettable, TypedValueParser};
use clap::{Arg, ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};

use tokio::runtime::{Builder, Runtime};

use crate::check::plain;
use crate::checks::CATALOGUE;
use crate::generate::Declared;
pub use source::{SourceArgs, SourceError};

/// What files are generated from.
pub static DECLARED: Declared = Declared::new(&CATALOGUE);

/// Longhorn health from the Kubernetes API alone.
#[derive(Debug, Parser)]
#[command(name = "longhorn-health-exporter", version, about, max_term_width = 100, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Watch the cluster and serve metrics, a page and a report over HTTP
    Serve(serve::ServeArgs),
    /// Check the cluster once, print what is wrong, and set the exit code
    Check(check::CheckArgs),
    /// Compare two recordings: what began, ended and changed between them
    Diff(diff::DiffArgs),
    /// Check in advance whether an upgrade, drain, outage or new volume would be safe
    Plan(plan::PlanArgs),
    /// Find queries in your own rules and dashboards that fail on a Longhorn release
    #[cfg(feature = "lint-rules")]
    LintRules(lint_rules::LintArgs),
    /// Check your own signature files, explain each signature, and test it on a recording
    LintSignatures(lint_signatures::LintSignaturesArgs),
    /// Record the cluster into a directory or an archive, for check --from
    Record(record::RecordArgs),
    /// Print the runbook of an alert
    Runbook(runbook::RunbookArgs),
    /// Print what a check finds, its causes and their fixes
    Explain(explain::ExplainArgs),
    /// Write rules, dashboards, mixin, deploy files and docs, or check that they are current
    Generate(generate::GenerateArgs),
    /// Let an AI model query the cluster, read-only, over standard input and output (MCP)
    #[cfg(feature = "mcp")]
    Mcp(mcp::McpArgs),
    /// Print a shell completion script: source <(longhorn-health-exporter completion bash)
    Completion(completion::CompletionArgs),
    /// Write a manual page for each subcommand
    #[command(hide = true)]
    Man(man::ManArgs),
}

/// Exit codes of every subcommand. A contract.
pub mod exit {
    pub use crate::report::exit::{FINDINGS, OK, UNKNOWN};

    /// Bad usage or unreadable input.
    pub const USAGE: u8 = 64;

    /// Ended by a signal: what shells say of a process that does not handle it.
    pub fn by_signal(number: i32) -> u8 {
        u8::try_from(number).map_or(u8::MAX, |number| number.saturating_add(128))
    }
}

/// The whole command line, for its reference.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Parses the command line and runs it.
pub fn main() -> ExitCode {
    let cli = match parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print(); // nothing is left to do when even this fails
            return ExitCode::from(if error.use_stderr() { exit::USAGE } else { exit::OK });
        }
    };
    let result = match cli.command {
        Task::Serve(args) => serve::run(args),
        Task::Check(args) => check::run(args),
        Task::Diff(args) => diff::run(args),
        Task::Plan(args) => plan::run(args),
        #[cfg(feature = "lint-rules")]
        Task::LintRules(args) => lint_rules::run(args),
        Task::LintSignatures(args) => lint_signatures::run(args),
        Task::Record(args) => record::run(args),
        Task::Runbook(args) => runbook::run(args),
        Task::Explain(args) => explain::run(args),
        Task::Generate(args) => generate::run(args),
        #[cfg(feature = "mcp")]
        Task::Mcp(args) => mcp::run(args),
        Task::Completion(args) => completion::run(args),
        Task::Man(args) => man::run(args),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            let said = format!("{:#}", failure.error);
            // names in it may be foreign: a line of their own would look like one of ours
            let lines: Vec<_> = said.lines().map(plain).collect();
            eprintln!("error: {}", lines.join(" "));
            ExitCode::from(failure.code)
        }
    }
}

/// For commands that ask and then end: on one thread, since all that they wait for is the network.
fn runtime() -> Result<Runtime, Failure> {
    Builder::new_current_thread().enable_all().build().map_err(Failure::unknown)
}

/// How kubectl calls it, which finds plugins by the name of the file: a dash of the command is an underscore there.
const PLUGIN: &str = "kubectl-longhorn_health";

/// What a person types to call this program.
fn called() -> &'static str {
    let path = std::env::args_os().next().map(std::path::PathBuf::from);
    let name = path.as_deref().and_then(std::path::Path::file_stem);
    if name.is_some_and(|name| name == PLUGIN) {
        "kubectl longhorn-health"
    } else {
        "longhorn-health-exporter"
    }
}

fn parse() -> Result<Cli, clap::Error> {
    let command =
        Cli::command().mut_subcommands(|command| command.mut_args(without_idle_variable)).bin_name(called());
    Cli::from_arg_matches(&command.try_get_matches()?)
}

/// A variable that is empty counts as not set, and a flag that its variable turns off as not given:
/// manifests set such variables, and clap would see a missing value or a conflict with other flags.
fn without_idle_variable(arg: Arg) -> Arg {
    let Some(value) = arg.get_env().and_then(std::env::var_os) else { return arg };
    let off = matches!(arg.get_action(), ArgAction::SetTrue)
        && BoolishValueParser::new().parse_ref(&clap::Command::default(), None, &value).is_ok_and(|on| !on);
    if value.is_empty() || off { arg.env(Resettable::Reset) } else { arg }
}

/// Writes to standard output. A reader that went away (`| head`) has seen what it wanted.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::unknown(error)),
        _ => Ok(()),
    }
}

/// An error with the exit code it ends in.
#[derive(Debug)]
pub struct Failure {
    /// One of [`exit`].
    pub code: u8,
    /// What happened, and what to do.
    pub error: anyhow::Error,
}

impl Failure {
    /// Bad usage or unreadable input.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Failure { code: exit::USAGE, error: error.into() }
    }

    /// Could not look.
    pub fn unknown(error: impl Into<anyhow::Error>) -> Self {
        Failure { code: exit::UNKNOWN, error: error.into() }
    }
}

/// On a terminal that has colours, unless `NO_COLOR` is set, see no-color.org; and wherever `CLICOLOR_FORCE` or
/// `FORCE_COLOR` is, see bixense.com/clicolors.
fn colours_wanted(is_terminal: bool) -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
    match () {
        () if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) => false,
        () if is_set("CLICOLOR_FORCE") || is_set("FORCE_COLOR") => true,
        () => is_terminal && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb"),
    }
}
