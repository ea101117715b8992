//! The life of the process: parse, run, end with an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    longhorn_health_exporter::cli::main()
}
