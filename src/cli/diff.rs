//! `diff`: what began, ended and was changed between two recordings.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use jiff::Timestamp;

use super::check::style;
use super::{Failure, print, source};
use crate::checks::CATALOGUE;
use crate::report::diff::Diff;
use crate::report::evaluate;

/// Options of `diff`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes:\n  0   no incident at warning or above began or became worse\n  \
                        1   such an incident began or became worse\n  \
                        2   unknown: one of the recordings has no verdict\n  \
                        64  bad usage or unreadable input")]
pub struct DiffArgs {
    /// Earlier recording, in any form that check --from reads
    #[arg(value_name = "OLD")]
    old: PathBuf,

    /// Later recording
    #[arg(value_name = "NEW")]
    new: PathBuf,

    /// Longhorn's namespace
    #[arg(long, short = 'n', default_value = source::NAMESPACE, env = "LONGHORN_HEALTH_NAMESPACE")]
    namespace: String,

    /// Output format
    #[arg(long, short = 'o', value_enum, default_value_t = DiffFormat::Table)]
    output: DiffFormat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DiffFormat {
    /// Human-readable text
    Table,
    /// JSON for programs; within schema v1, keys are only added
    Json,
}

/// Runs `diff`.
#[allow(clippy::disallowed_methods, reason = "the clock is read here and handed down")]
pub fn run(args: DiffArgs) -> Result<u8, Failure> {
    let wall = Timestamp::now();
    let look = |path| source::recording(path, &args.namespace, wall, None);
    let (old, new) = (look(&args.old)?, look(&args.new)?);
    let (before, after) = (evaluate(&CATALOGUE, &old).report, evaluate(&CATALOGUE, &new).report);
    if let (Some(from), Some(to)) = (before.cluster.now, after.cluster.now)
        && from > to
    {
        return Err(Failure::usage(anyhow!(
            "{} ({from}) is later than {} ({to}); name the earlier recording first",
            args.old.display(),
            args.new.display()
        )));
    }
    let diff = Diff::of((&old, &before), (&new, &after));
    let text = match args.output {
        DiffFormat::Table => {
            let mut text = Vec::new();
            diff.write(&mut text, style(clap::ColorChoice::Auto)).map_err(Failure::unknown)?;
            String::from_utf8_lossy(&text).into_owned()
        }
        DiffFormat::Json => serde_json::to_string_pretty(&diff).map_err(Failure::unknown)? + "\n",
    };
    print(&text)?;
    Ok(diff.exit_code())
}
