//! What the tests of the generated files share: promtool, and cases for it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

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

pub fn yaml(path: &Path) -> Value {
    serde_yaml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The same cases in files that load no rule but those that a case names, and what these read: promtool evaluates every rule
/// at each moment of each case, which takes it fifteen times as long.
pub fn with_their_own_rules(tests: &[PathBuf], directory: &Path) -> Vec<PathBuf> {
    let mut written = Vec::new();
    for test in tests {
        let content = yaml(test);
        let files = content["rule_files"].as_array().unwrap().iter();
        let files = files.map(|file| yaml(&test.parent().unwrap().join(file.as_str().unwrap())));
        let groups: Vec<Value> = files.flat_map(|file| file["groups"].as_array().unwrap().clone()).collect();
        let mut by_rules: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
        for case in content["tests"].as_array().unwrap() {
            by_rules.entry(needed(&groups, case).to_string()).or_default().push(case);
        }
        for (groups, cases) in by_rules {
            let path = directory.join(format!("{}.test.yaml", written.len()));
            let rules = path.with_extension("rules");
            std::fs::write(&rules, format!("{{\"groups\": {groups}}}")).unwrap();
            let mut file = content.clone();
            (file["rule_files"], file["tests"]) = (json!([rules]), json!(cases));
            std::fs::write(&path, file.to_string()).unwrap();
            written.push(path);
        }
    }
    written
}

/// The groups with the rules alone that a case names, and those that they name.
fn needed(groups: &[Value], case: &Value) -> Value {
    let name = |rule: &Value| rule["alert"].as_str().or(rule["record"].as_str()).unwrap().to_owned();
    let mut kept = json!([]);
    loop {
        let text = format!("{case}{kept}");
        let mut more = groups.to_vec();
        for group in &mut more {
            group["rules"].as_array_mut().unwrap().retain(|rule| text.contains(&name(rule)));
        }
        more.retain(|group| group["rules"] != json!([]));
        if kept == json!(more) {
            return kept;
        }
        kept = json!(more);
    }
}
