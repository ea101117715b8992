//! pint, and the checkers of other rulers where the machine has them: those cannot be built as Go modules.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::files;
use crate::built;
use crate::promtool::RULES;

/// What the program says, if it is there.
fn judged(program: &str, arguments: &[&str], files: &[PathBuf]) -> Option<String> {
    Some(said(&built::on_path(program)?, arguments, files))
}

fn said(program: &Path, arguments: &[&str], files: &[PathBuf]) -> String {
    let output = Command::new(program).args(arguments).args(files).output().unwrap();
    let said =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success(), "{}: {said}", program.display());
    said
}

#[test]
fn thanos_accepts_the_rules() {
    let rules: Vec<PathBuf> =
        files("", ".rules.yaml").iter().map(|file| format!("--rules={}", file.display()).into()).collect();
    if let Some(said) = judged("thanos", &["tools", "rules-check"], &rules) {
        assert_eq!(said.matches("result=SUCCESS").count(), rules.len(), "{said}");
    }
}

#[test]
fn mimir_accepts_the_rules_and_the_alertmanager_example() {
    judged("mimirtool", &["rules", "check"], &files("", ".rules.yaml"));
    judged(
        "mimirtool",
        &["alertmanager", "verify"],
        &[PathBuf::from(RULES).join("alertmanager.example.yaml")],
    );
}

#[test]
fn pint_has_nothing_to_say() {
    let Some(pint) = built::lint("pint") else { return };
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/rules/pint.hcl");
    let arguments = ["--offline", "--no-color", "--config", config, "lint", "--min-severity", "info"];
    let said = said(&pint, &arguments, &files("", ".rules.yaml"));
    assert!(said.contains("entries=") && !said.contains("roblem"), "{said}");
}
