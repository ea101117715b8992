//! deploy/integrations and action.yml: their commands are those of this program.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use longhorn_health_exporter::cli;
use serde_json::{Value, json};

fn yaml(path: &str) -> Value {
    serde_yaml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn exporter(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longhorn-health-exporter"));
    command.args(arguments).env_clear();
    command
}

/// The command line is understood; what it would do is another matter.
fn assert_known(arguments: &[&str]) {
    let parsed = cli::command().try_get_matches_from([&["longhorn-health-exporter"], arguments].concat());
    assert!(parsed.is_ok(), "{arguments:?}: {}", parsed.unwrap_err());
}

#[test]
fn the_tools_of_holmesgpt_are_commands_of_ours() {
    let toolset = yaml("deploy/integrations/holmesgpt-toolset.yaml");
    let tools = toolset["toolsets"]["longhorn/health"]["tools"].as_array().unwrap();
    assert!(tools.len() > 5);
    let placeholder = regex::Regex::new(r"\{\{ (\w+) \}\}").unwrap();
    for tool in tools {
        let command = tool["command"].as_str().unwrap().trim_end_matches("; true");
        let filled = placeholder.replace_all(command, |found: &regex::Captures| match &found[1] {
            "release" => "v1.10.2",
            "check_id" => "manager_probes",
            _ => "name",
        });
        let words: Vec<&str> = filled.split(' ').collect();
        assert_eq!(words[0], "longhorn-health-exporter");
        assert_known(&words[1..]);
    }
}

#[test]
fn the_pod_of_a_support_bundle_runs_a_command_of_ours_and_its_log_is_what_is_analysed() {
    let bundle = yaml("deploy/integrations/troubleshoot.yaml");
    let pod = &bundle["spec"]["collectors"][0]["runPod"];
    let arguments: Vec<&str> = pod["podSpec"]["containers"][0]["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|argument| argument.as_str().unwrap())
        .collect();
    assert_known(&arguments);
    // of a collector without a collectorName: NAME/NAME.log (replicatedhq/troubleshoot pkg/collect/run_pod.go)
    let name = pod["name"].as_str().unwrap();
    let report = exporter(&["check", "--demo", "--details", "all", "--since", "24h"]).output().unwrap();
    let report = String::from_utf8(report.stdout).unwrap();
    let judged: Vec<bool> = bundle["spec"]["analyzers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|analyzer| {
            let analyzer = &analyzer["textAnalyze"];
            assert_eq!(analyzer["fileName"], format!("{name}/{name}.log"));
            regex::Regex::new(analyzer["regex"].as_str().unwrap()).unwrap().is_match(&report)
        })
        .collect();
    assert_eq!(judged, [true, true], "the demo can be read, and has incidents");
}

#[test]
fn the_default_of_the_action_is_a_command_of_ours() {
    let action = yaml("action.yml");
    let command = action["inputs"]["command"]["default"].as_str().unwrap();
    for format in ["github", "markdown"] {
        assert_known(&[command, "-o", format]);
    }
    assert_known(&["plan", "upgrade", "v1.10.2", "-o", "markdown"]);
}

/// As a desktop client does it: starts the program, speaks lines of JSON, and ends it by closing its input.
#[test]
fn a_client_of_mcp_lists_the_tools_and_asks() {
    let mut server =
        exporter(&["mcp", "--demo"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut ask = |question: Value| {
        writeln!(input, "{question}").unwrap();
        if question.get("id").is_none() {
            return Value::Null;
        }
        let answer: Value = serde_json::from_str(&output.next().unwrap().unwrap()).unwrap();
        assert_eq!(answer["id"], question["id"], "{answer}");
        answer["result"].clone()
    };
    let client = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    let known = ask(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}));
    assert_eq!(known["serverInfo"]["name"], "longhorn-health-exporter");
    assert_eq!(known["capabilities"], json!({"tools": {}}));
    ask(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let tools = ask(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}));
    let tools = tools["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 5);
    assert!(tools.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true), "{tools:?}");
    let mut id = 2;
    let mut call = |name: &str, arguments: Value| {
        id += 1;
        let params = json!({"name": name, "arguments": arguments});
        let result = ask(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
        (result["isError"] == true, result["content"][0]["text"].as_str().unwrap().to_owned())
    };
    for (name, arguments, is_error, said) in [
        ("report", json!({}), false, "CRITICAL  cluster demo"),
        (
            "report",
            json!({"node": ["worker-5"], "details": 2}),
            false,
            "manager_crash_loop/open_iscsi_missing",
        ),
        ("report", json!({"node": "worker-55"}), true, "did you mean worker-5?"),
        ("report", json!({"nod": "worker-5"}), true, "did you mean node?"),
        (
            "explain",
            json!({"subject": "manager_crash_loop/open_iscsi_missing"}),
            false,
            "open-iscsi is missing",
        ),
        ("runbook", json!({"alert": "LonghornVolumeFaulted", "volume": "pvc-7"}), false, "pvc-7"),
        ("runbook", json!({"alert": "../metrics"}), true, "no such runbook"),
        ("plan", json!({"what": "drain", "node": "worker-1"}), false, "Can node worker-1 be drained?"),
        ("plan", json!({"what": "delete"}), true, "no such plan"),
        ("timeline", json!({}), false, "What changed in the last 3 days"),
        ("delete_volume", json!({"name": "pvc-7"}), true, "no tool \"delete_volume\"; valid: report, "),
    ] {
        let (failed, text) = call(name, arguments.clone());
        assert!(failed == is_error && text.contains(said), "{name} {arguments}: {failed} {text}");
    }
    drop(input);
    assert!(server.wait().unwrap().success());
}
