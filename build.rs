//! Tells the binary what built it: `rustc --version`, and the revision if the builder names it in
//! `LONGHORN_HEALTH_REVISION`. Asks nothing else, so that equal inputs give equal binaries.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=LONGHORN_HEALTH_REVISION");
    let revision = std::env::var("LONGHORN_HEALTH_REVISION").unwrap_or_default();
    println!("cargo::rustc-env=LONGHORN_HEALTH_BUILD_REVISION={}", or_unknown(revision.trim()));
    println!("cargo::rustc-env=LONGHORN_HEALTH_BUILD_RUSTC={}", or_unknown(&rustc_version()));
}

/// `1.91.0` from `rustc 1.91.0 (…)`.
fn rustc_version() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.split_whitespace().nth(1).unwrap_or_default().to_owned()
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "unknown" } else { text }
}
