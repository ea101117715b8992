//! `completion`: a script that completes this command line in a shell.

use clap::Args;
use clap_complete::Shell;

use super::{Failure, exit, print};

/// Options of `completion`.
#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// Shell that the script is for
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs `completion`.
pub fn run(args: CompletionArgs) -> Result<u8, Failure> {
    let mut command = super::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(exit::OK)
}
