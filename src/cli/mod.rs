//! The command line: one file a subcommand.

mod check;
mod generate;
mod listen;
mod logging;
mod serve;
mod source;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

pub use source::{SourceArgs, SourceError};

/// Longhorn health from the Kubernetes API alone.
#[derive(Debug, Parser)]
#[command(name = "longhorn-health-exporter", version, about, max_term_width = 100, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Watch the cluster and serve metrics, a page and a report over HTTP
    Serve(serve::ServeArgs),
    /// Look at the cluster once, print what is wrong and end with a meaningful exit code
    Check(check::CheckArgs),
    /// Make rule files and references from the checks, or see that those at hand are up to date
    Generate(generate::GenerateArgs),
}

/// Exit codes of every subcommand. A contract.
pub mod exit {
    /// Nothing reaches the threshold.
    pub const OK: u8 = 0;
    /// Something reaches the threshold.
    pub const FINDINGS: u8 = 1;
    /// Could not read what the verdict needs.
    pub const UNKNOWN: u8 = 2;
    /// Bad usage or unreadable input.
    pub const USAGE: u8 = 64;
}

/// The whole command line, for its reference.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Parses the command line and runs it.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print(); // nothing is left to do when even this fails
            return ExitCode::from(if error.use_stderr() { exit::USAGE } else { exit::OK });
        }
    };
    let result = match cli.command {
        Command::Serve(args) => serve::run(args),
        Command::Check(args) => check::run(args),
        Command::Generate(args) => generate::run(args),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            eprintln!("error: {:#}", failure.error);
            ExitCode::from(failure.code)
        }
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

/// False with `NO_COLOR` set, see no-color.org.
fn colours_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
