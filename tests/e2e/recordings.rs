//! kubectl's own printer: what it makes of strings that look like something else is read as what they were.

use std::process::Command;

use jiff::Timestamp;
use longhorn_health_exporter::source::recording::{RecordedFile, Recording};
use serde_json::{Value, json};

use crate::support::tools::Tools;

/// Strings that goyaml prints without quotes and other parsers take for something else, or that need them.
/// Without U+007F, and U+0085 in a key: such objects kubectl does not print at all.
const NASTY: &[&str] = &[
    "", " ", "~", "null", "Null", "nUll", "nULL", "NuLl", "true", "tRue", "True", "yes", "yEs", "no", "nO",
    "on", "oN", "off", "oFf", "y", "Y", "n", "N", "=", "<<", "7558e98742", "12e03", "1e400", "1.e400",
    "1E+400", "-1e400", "1.7976931348623159e308", "0x1F", "0xg", "0o17", "017", "08", "0b11", "-0b1",
    "1_000", "_1", "1__0", "1:30", "190:20:30", ".inf", ".iNf", "-.INF", "+.iNf", ".nan", ".nAn", "+12", "-",
    "--", "---", "...", "- a", "a: b", "a:", ": a", "a #b", "#a", "&a", "*a", "!a", "!!str a", "|", ">",
    "%a", "@a", "`a", "'a'", "\"a\"", "[a]", "{a}", "a, b", "2026-03-01", "2026-3-1", "2026-03-01T00:00:00Z",
    "2026-03-01 00:00:00", "1.10", "1.", ".5", "e5", "0", "-0", "+.5", "18446744073709551616",
    "9223372036854775808", "a\nb", "a\n", "\na", "\n", "a\n\nb\n\n", " a\nb", "\ta\nb", "a\tb", "a\r\nb",
    "a\rb", "a ", " a", "\u{feff}a", "a\u{feff}", "\u{a0}", "é", "\u{1f980}", "\u{1b}[31m", "a\u{0}b",
    "a\u{2028}b", "? a", "?", "a\\b", "\\", "\u{202e}a", "\u{d7ff}", "\u{e000}", "\u{fffd}",
];

/// More of them, out of the characters that matter; the same in each run.
fn more() -> Vec<String> {
    const PARTS: &[&str] = &[
        "0", "1", "9", "e", "E", ".", "+", "-", "_", ":", "x", "o", "b", "n", "y", "f", "t", "~", "=", "<<",
        ">", "|", "&", "*", "!", "%", "#", "'", "\"", ",", "[", "]", "{", "}", "\n", "\t", " ", "é",
        "\u{1f980}", "null", "true", "inf",
    ];
    let mut state = 8_u64;
    let mut next = |limit: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        usize::try_from(state >> 33).unwrap() % limit
    };
    (0..2000).map(|_| (0..=next(8)).map(|_| PARTS[next(PARTS.len())]).collect()).collect()
}

/// Objects that have a string as value, as name and as key.
fn objects(text: &str, number: usize) -> Vec<Value> {
    let setting = json!({
        "apiVersion": "longhorn.io/v1beta2", "kind": "Setting", "value": text,
        "metadata": { "name": format!("s{number}"), "namespace": "longhorn-system" },
    });
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": format!("p{number}"), "namespace": "longhorn-system", "labels": { "k": text, text: "v" } },
        "spec": { "nodeName": text, "containers": [{ "name": text, "image": text, "command": [text] }] },
        "status": { "conditions": [{ "type": "Ready", "status": "False", "reason": text, "message": text }] },
    });
    let named = json!({
        "apiVersion": "longhorn.io/v1beta2", "kind": "Replica",
        "metadata": { "name": text, "namespace": "longhorn-system" }, "spec": { "nodeID": text, "volumeName": text },
    });
    if text.is_empty() { vec![setting, pod] } else { vec![setting, pod, named] }
}

fn read(name: &str, content: Vec<u8>) -> String {
    let file = RecordedFile { name: name.to_owned(), content };
    let recording = Recording::from_files([file], "longhorn-system", Timestamp::MAX).unwrap();
    assert_eq!(recording.warnings, Vec::<String>::new());
    format!("{:#?}", recording.into_cluster("longhorn-system", None).objects)
}

#[test]
fn yaml_of_kubectl_is_read_as_the_json_it_was() {
    let Some(tools) = Tools::find() else { return };
    let texts: Vec<String> = NASTY.iter().map(|text| (*text).to_owned()).chain(more()).collect();
    let items: Vec<Value> =
        texts.iter().enumerate().flat_map(|(number, text)| objects(text, number)).collect();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("list.json");
    std::fs::write(&path, &list).unwrap();
    let output = Command::new(&tools.kubectl)
        .args(["annotate", "--local", "read=never", "--output=yaml", "--kubeconfig=/dev/null", "--filename"])
        .arg(&path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (json, yaml) = (read("list.json", list.into_bytes()), read("list.yaml", output.stdout));
    if json != yaml {
        let differences = similar::TextDiff::from_lines(&json, &yaml);
        panic!("{}", differences.unified_diff().context_radius(8).header("JSON", "YAML of kubectl"));
    }
}
