//! `man`: a page for each subcommand, for the archives of a release.

use std::path::PathBuf;

use clap::Args;

use super::{Failure, exit};

/// Options of `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Directory for the pages
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Runs the subcommand.
pub fn run(args: ManArgs) -> Result<u8, Failure> {
    let place = |error| Failure::usage(anyhow::anyhow!("{}: {error}", args.out.display()));
    std::fs::create_dir_all(&args.out).map_err(place)?;
    // what the environment of the build sets does not belong in the pages
    let command =
        super::command().mut_subcommands(|command| command.mut_args(|arg| arg.hide_env_values(true)));
    clap_mangen::generate_to(command, &args.out).map_err(place)?;
    Ok(exit::OK)
}
