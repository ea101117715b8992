//! `man`: a page for each subcommand, for the archives of a release.

use std::path::{Path, PathBuf};

use clap::{Args, Command};

use super::{Failure, exit};

/// Options of `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Directory to write the manual pages into
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
    let mut command = command.disable_help_subcommand(true);
    command.build();
    write(&command, &args.out).map_err(place)?;
    Ok(exit::OK)
}

/// Writes the page of a command and those of its subcommands, which end in the program's name and release.
fn write(command: &Command, out: &Path) -> std::io::Result<()> {
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        write(subcommand, out)?;
    }
    let program = concat!("longhorn-health-exporter ", env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(command.clone()).source(program).generate_to(out).map(drop)
}
