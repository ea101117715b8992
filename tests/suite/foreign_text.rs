//! Names and messages come from the cluster: whatever characters they have, none of them hides, turns the
//! direction of reading or steers a terminal, in any output for people, and none of them becomes markup, a
//! line or a series of its own.

use crate::scenario;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use longhorn_health_exporter::check::is_hidden;
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_longhorn-health-exporter");
/// One of each sort: direction (two ways), no width, a tag, a separator of lines, escape (two ways).
const HOSTILE: &str = "\u{202e}\u{2066}\u{200b}\u{e0041}\u{2028}\u{1b}[31m\u{9b}";

/// What breaks out of a page, a report, an exposition or a line where it is not escaped there. The forged
/// parts are all called so.
const BREAKING_OUT: &[&str] = &[
    "<script>forged()</script>",
    "\" onmouseover=\"forged()\" x=\"",
    "'><img src=x onerror=forged()>",
    "&lt;forged&gt;&#60;forged&#62;",
    "]]></system-out><forged/><!--",
    "\nforged{check=\"a\"} 1\n# TYPE forged gauge\n",
    "\"} 1\nforged{a=\"",
    "\\\nforged\\",
    "\r\ntime=2026-01-01T00:00:00Z level=error msg=forged\r\n",
    "`|[forged](javascript:forged())|`\n\n# forged\n",
    "{{ forged }}${forged}$(forged);forged",
    "nul\0forged",
    "\n::error::forged\n##[error]forged\n",
    // wherever a line is wrapped
    " ::error::forged ::error::forged ::error::forged ::error::forged ::error::forged ::error::forged ::error::forged ",
];

/// A recording whose nodes are called strange names wherever they are named, and whose conditions say so.
fn hostile(strange: &str) -> tempfile::TempDir {
    let objects = scenario::files::objects(&scenario::root().join("storage-unavailable"));
    let text = json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string();
    let escaped = serde_json::to_string(strange).unwrap();
    let escaped = &escaped[1..escaped.len() - 1];
    let text = text.replace("worker", &format!("work{escaped}er"));
    let text = text.replace("\"message\":\"", &format!("\"message\":\"{escaped}"));
    // and an object that does not decode, which is warned of
    let broken = json!({"apiVersion": "longhorn.io/v1beta2", "kind": "Volume", "spec": 1,
        "metadata": {"name": format!("bro{strange}ken"), "namespace": "longhorn-system"}});
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("cluster.json"), text).unwrap();
    std::fs::write(directory.path().join("broken.json"), broken.to_string()).unwrap();
    directory
}

fn assert_harmless(what: &str, text: &str) {
    // of a name that is none
    assert!(text.contains('\u{fffd}') || text.contains("work__"), "{what} names none of it: {text}");
    let hidden = text.char_indices().find(|(_, c)| is_hidden(*c) && *c != '\n' && *c != '\t');
    let around = |at: usize| text[..at].lines().last().unwrap_or_default().to_owned();
    assert_eq!(hidden.map(|(at, c)| (around(at), c)), None, "{what}");
}

#[test]
fn nothing_hides_in_what_check_prints() {
    let recording = hostile(HOSTILE);
    for format in ["table", "wide", "markdown", "html", "junit"] {
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
    let recording = hostile(HOSTILE);
    for (path, answer) in served(recording.path(), &["/", "/metrics", "/report.txt"]) {
        assert_harmless(&path, &answer);
    }
}

/// The bodies that `serve` answers with.
fn served(recording: &Path, paths: &[&str]) -> Vec<(String, String)> {
    let mut serve = Command::new(PROGRAM)
        .args(["serve", "--web.listen-address=127.0.0.1:0", "--from"])
        .arg(recording)
        .env_clear()
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(serve.stderr.take().unwrap());
    let mut said = String::new();
    let address = loop {
        let mut line = String::new();
        assert_ne!(log.read_line(&mut line).unwrap(), 0, "serve ended before it listened: {said}");
        said.push_str(&line);
        if let Some((_, address)) = line.split_once("msg=listening address=") {
            break address.trim().to_owned();
        }
    };
    let get = |path: &&str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        ((*path).to_owned(), text.split_once("\r\n\r\n").unwrap().1.to_owned())
    };
    let answers = paths.iter().map(get).collect();
    serve.kill().unwrap();
    serve.wait().unwrap();
    answers
}

/// What a cluster must not be able to change: the elements and attributes of the page and of JUnit, the series
/// of the exposition, the findings of the report, and which lines begin at the left.
#[derive(Debug, PartialEq)]
struct Skeleton {
    page: Vec<String>,
    junit: Vec<String>,
    series: Vec<String>,
    findings: usize,
    forged_lines: Vec<String>,
}

impl Skeleton {
    fn of(strange: &str) -> Self {
        let recording = hostile(strange);
        let check = |format: &str| {
            let mut check = Command::new(PROGRAM);
            check.args(["check", "--details", "-o", format, "--from"]).arg(recording.path()).env_clear();
            let Output { stdout, stderr, .. } = check.output().unwrap();
            (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
        };
        let [(_, page), (_, metrics), (_, report)] =
            served(recording.path(), &["/", "/metrics", "/api/v1/report"]).try_into().unwrap();
        let report: Value = serde_json::from_str(&report).unwrap();
        let lines =
            ["table", "wide", "markdown", "junit"].map(check).map(|(out, warnings)| out + &warnings).concat();
        Skeleton {
            page: elements(&page),
            junit: elements(&check("junit").0),
            // the first page does not know how long it takes, and one is written before anybody asks
            series: metrics.lines().filter(|line| !line.contains("_render_duration_")).map(series).collect(),
            findings: report["findings"].as_array().unwrap().len(),
            forged_lines: lines.lines().filter(|line| begins_forged(line)).map(str::to_owned).collect(),
        }
    }
}

/// Elements by their names and those of their attributes, in order.
fn elements(markup: &str) -> Vec<String> {
    // a quote stands only where the headline does not say it already, which names decide
    let markup = &regex::Regex::new(r#"<p class="more">[^<]*</p>"#).unwrap().replace_all(markup, "");
    let element = regex::Regex::new(r#"<(/?[A-Za-z!?][^\s>"]*)((?:[^>"]|"[^"]*")*)>"#).unwrap();
    let attribute = regex::Regex::new(r#"([A-Za-z-]+)(?:="[^"]*")?"#).unwrap();
    let shape = |found: regex::Captures<'_>| {
        let names =
            attribute.captures_iter(&found[2]).map(|name| format!(" {}", &name[1])).collect::<String>();
        format!("{}{names}", &found[1])
    };
    element.captures_iter(markup).map(shape).collect()
}

/// A line of an exposition as far as it names what it is about.
fn series(line: &str) -> String {
    let words = if line.starts_with('#') { 3 } else { 1 };
    line.split([' ', '{']).take(words).collect::<Vec<_>>().join(" ")
}

fn begins_forged(line: &str) -> bool {
    let commands = ["::", "##["].iter().any(|start| line.trim_start().starts_with(start));
    commands || ["forged", "time=", "# forged", "# TYPE"].iter().any(|start| line.starts_with(start))
}

#[test]
fn nothing_breaks_out_of_any_output() {
    let plain = Skeleton::of("plain");
    assert!(plain.findings > 0 && plain.forged_lines.is_empty() && plain.page.len() > 50, "{plain:?}");
    let long = ["x".repeat(253), "x".repeat(60_000)];
    for strange in BREAKING_OUT.iter().copied().chain(long.iter().map(String::as_str)) {
        let odd = Skeleton::of(strange);
        let at = odd.page.iter().zip(&plain.page).position(|(odd, plain)| odd != plain).unwrap_or_default();
        let around =
            |page: &[String]| page.iter().skip(at.saturating_sub(8)).take(16).cloned().collect::<Vec<_>>();
        assert_eq!(around(&odd.page), around(&plain.page), "{:.60}", strange);
        assert_eq!(odd, plain, "{:.60}", strange);
    }
}
