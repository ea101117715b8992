//! The checkers of other rulers and of pint, where the machine has them: each takes minutes to build.

use std::path::PathBuf;
use std::process::Command;

use super::files;
use crate::built;
use crate::promtool::RULES;

/// What the program says, if it is there.
fn judged(program: &str, arguments: &[&str], files: &[PathBuf]) -> Option<String> {
    let path = built::on_path(program)?;
    let output = Command::new(path).args(arguments).args(files).output().unwrap();
    let said =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success(), "{program}: {said}");
    Some(said)
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
    if let Some(said) = judged("pint", &["--offline", "--no-color", "lint"], &files("", ".rules.yaml")) {
        assert!(!said.contains("Warning") && !said.contains("problem"), "{said}");
    }
}
