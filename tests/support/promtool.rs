//! What the tests of the generated files share.

#![allow(dead_code, reason = "each test uses a part")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The committed rules.
pub const RULES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/rules");

/// promtool in every version at hand.
pub fn promtools() -> Vec<PathBuf> {
    let first = std::env::var_os("PROMTOOL").unwrap_or_else(|| "promtool".into());
    let second = std::env::var_os("PROMTOOL_3");
    [Some(first), second].into_iter().flatten().map(PathBuf::from).collect()
}

/// Runs a program; what it printed is the error.
pub fn run<A: AsRef<OsStr>>(program: &Path, args: impl IntoIterator<Item = A>) -> Result<(), String> {
    let output = Command::new(program).args(args).output();
    let output = output.unwrap_or_else(|error| {
        panic!("{}: {error}; install Debian's prometheus and prometheus-alertmanager", program.display())
    });
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{}{}", text(&output.stdout), text(&output.stderr))),
    }
}
