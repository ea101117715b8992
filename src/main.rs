//! The life of the process: parse, run, end with an exit code.

use std::process::ExitCode;

/// Reading and judging allocate all the time, which musl's own allocator makes dear.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    longhorn_health_exporter::cli::main()
}
