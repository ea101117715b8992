//! Programs of others that judge what we publish: those that tests/e2e/tools builds, and those that a machine may have.

#![allow(dead_code, reason = "each test uses a part")]

use std::path::{Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Of a program that is not there, said on standard error; with LHE_E2E=required a failure.
fn built(variable: &str, default: &str, name: &str) -> Option<PathBuf> {
    let directory = std::env::var_os(variable).map_or_else(|| Path::new(ROOT).join(default), PathBuf::from);
    let path = directory.join(name);
    if path.is_file() {
        return Some(path);
    }
    assert_ne!(std::env::var("LHE_E2E").as_deref(), Ok("required"), "{} is missing", path.display());
    eprintln!("!! {name} is not there ({}): NOT tested", path.display());
    None
}

/// One of tests/e2e/tools/go.mod.
pub fn kubernetes(name: &str) -> Option<PathBuf> {
    built("LHE_E2E_BIN", "target/e2e-bin", &format!("current/{name}"))
}

/// One of tests/e2e/tools/lint/go.mod.
pub fn lint(name: &str) -> Option<PathBuf> {
    built("LHE_LINT_BIN", "target/lint-bin", name)
}

/// One that takes too long to build for every run of the tests.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|directory| directory.join(name)).find(|path| path.is_file());
    if found.is_none() {
        eprintln!("!! {name} is not on PATH: what it would say is NOT tested");
    }
    found
}
