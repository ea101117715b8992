//! Names and messages come from the cluster: whatever characters they have, none of them hides, turns the
//! direction of reading or steers a terminal, in any output for people.

#[path = "support/scenario.rs"]
mod scenario;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use longhorn_health_exporter::check::is_hidden;
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_longhorn-health-exporter");
/// One of each sort: direction (two ways), no width, a tag, a separator of lines, escape (two ways).
const HOSTILE: &str = "\u{202e}\u{2066}\u{200b}\u{e0041}\u{2028}\u{1b}[31m\u{9b}";

/// A recording whose nodes are called strange names wherever they are named, and whose conditions say so.
fn hostile() -> tempfile::TempDir {
    let text = std::fs::read_to_string(scenario::root().join("storage-unavailable/cluster.yaml")).unwrap();
    let documents = text.split("\n---\n");
    let objects: Vec<Value> = documents.map(|document| serde_yaml::from_str(document).unwrap()).collect();
    let text = json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string();
    let escaped = serde_json::to_string(HOSTILE).unwrap();
    let text = text.replace("worker", &format!("work{}er", escaped.trim_matches('"')));
    let text = text.replace("\"message\":\"", &format!("\"message\":\"{}", escaped.trim_matches('"')));
    // and an object that does not decode, which is warned of
    let broken = json!({"apiVersion": "longhorn.io/v1beta2", "kind": "Volume", "spec": 1,
        "metadata": {"name": format!("bro{HOSTILE}ken"), "namespace": "longhorn-system"}});
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("cluster.json"), text).unwrap();
    std::fs::write(directory.path().join("broken.json"), broken.to_string()).unwrap();
    directory
}

fn assert_harmless(what: &str, text: &str) {
    assert!(text.contains('\u{fffd}'), "{what} names none of it: {text}");
    let hidden = text.char_indices().find(|(_, c)| is_hidden(*c) && *c != '\n' && *c != '\t');
    let around = |at: usize| text[..at].lines().last().unwrap_or_default().to_owned();
    assert_eq!(hidden.map(|(at, c)| (around(at), c)), None, "{what}");
}

#[test]
fn nothing_hides_in_what_check_prints() {
    let recording = hostile();
    for format in ["table", "wide", "markdown", "junit"] {
        let Output { stdout, stderr, .. } = Command::new(PROGRAM)
            .args(["check", "--details", "-o", format, "--from"])
            .arg(recording.path())
            .env_clear()
            .output()
            .unwrap();
        assert_harmless(format, &String::from_utf8(stdout).unwrap());
        assert_harmless("warnings", &String::from_utf8(stderr).unwrap());
    }
    std::fs::write(recording.path().join(format!("a{HOSTILE}.yaml")), "a: [").unwrap();
    let output = Command::new(PROGRAM).args(["check", "--from"]).arg(recording.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    assert_harmless("the error", &String::from_utf8(output.stderr).unwrap());
}

#[test]
fn nothing_hides_in_what_serve_answers() {
    let recording = hostile();
    let mut serve = Command::new(PROGRAM)
        .args(["serve", "--web.listen-address=127.0.0.1:0", "--from"])
        .arg(recording.path())
        .env_clear()
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let log = BufReader::new(serve.stderr.take().unwrap());
    let line = log.lines().map(Result::unwrap).find(|line| line.contains("msg=listening")).unwrap();
    let address = line.rsplit_once("address=").unwrap().1.trim();
    let answers = ["/", "/metrics", "/report.txt"].map(|path| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        (path, text)
    });
    serve.kill().unwrap();
    serve.wait().unwrap();
    for (path, text) in answers {
        assert_harmless(path, text.split_once("\r\n\r\n").unwrap().1);
    }
}
