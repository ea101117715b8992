//! The command line from outside: what ends it, how long that takes, and what it says.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longhorn-health-exporter"));
    command.args(arguments).env_clear().env("PATH", "/usr/bin:/bin").output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), content).unwrap();
        self.path(name).display().to_string()
    }

    fn kubeconfig(&self, server: &str, user: &str) -> String {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{{name: c, cluster: {{server: '{server}'}}}}]\n\
             users: [{{name: u, user: {user}}}]\ncontexts: [{{name: a, context: {{cluster: c, user: u}}}}]\n"
        );
        self.write("kubeconfig", text)
    }
}

/// Where no one listens.
const NOBODY: &str = "http://127.0.0.1:1";

#[test]
fn a_credentials_plugin_that_hangs_is_given_up_in_time() {
    let place = Place::new();
    for script in ["sleep 600", "sleep 600 & sleep 600"] {
        let exec = format!(
            "{{exec: {{apiVersion: client.authentication.k8s.io/v1, command: /bin/sh, args: [-c, '{script}'], \
             interactiveMode: Never}}}}"
        );
        let kubeconfig = place.kubeconfig(NOBODY, &exec);
        let recording = place.path("recording").display().to_string();
        for arguments in [
            &["check", "--kubeconfig", &kubeconfig, "--timeout", "1s"][..],
            &["check", "--kubeconfig", &kubeconfig, "--timeout", "1s", "--wait-healthy", "10m"],
            &["record", "-o", &recording, "--kubeconfig", &kubeconfig, "--timeout", "1s"],
        ] {
            let begin = Instant::now();
            let output = run(arguments);
            assert!(begin.elapsed() < Duration::from_secs(300), "{arguments:?}");
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", said(&output));
            assert!(
                said(&output).contains("no credentials from '/bin/sh': no answer within 1s"),
                "{}",
                said(&output)
            );
        }
    }
}

#[test]
fn no_kubeconfig_is_more_than_a_line() {
    let place = Place::new();
    let forged = "apiVersion: v1\nkind: Config\ncontexts: [{name: \"c\\nerror: forged\", context: {cluster: x, user: y}}]\n";
    for content in [
        &b"\xff\xfe\x00"[..],
        b"\xfe\xff\x00",
        b"\xff\xfe",
        b"\xff",
        b"\0",
        b"",
        forged.as_bytes(),
        b"[1",
        b"- a",
    ] {
        let kubeconfig = place.write("k", content);
        for command in [&["check"][..], &["serve"], &["record", "-o", "/nowhere"]] {
            let output = run(&[command, &["--kubeconfig", &kubeconfig]].concat());
            let said = said(&output);
            assert_eq!(output.status.code(), Some(64), "{command:?} {content:?}: {said}");
            let errors = said.lines().filter(|line| line.starts_with("error: ")).count();
            assert!(errors == 1 && said.lines().next_back().unwrap().starts_with("error: "), "{said}");
        }
    }
}

#[test]
fn a_member_of_an_archive_cannot_forge_a_line() {
    let place = Place::new();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file("a\nerror: forged line\n.yaml", zip::write::SimpleFileOptions::default()).unwrap();
    zip.write_all(b"[1").unwrap();
    let path = place.write("r.zip", zip.finish().unwrap().into_inner());
    let said = said(&run(&["check", "--from", &path]));
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn readers_that_parse_get_a_document_when_the_api_cannot_be_reached() {
    let kubeconfig = Place::new();
    let kubeconfig = kubeconfig.kubeconfig(NOBODY, "{}");
    let check = |format: &str| {
        let output = run(&["check", "--kubeconfig", &kubeconfig, "--since", "24h", "-o", format]);
        assert_eq!(output.status.code(), Some(2));
        assert!(
            said(&output).contains("error: cannot reach the Kubernetes API at http://127.0.0.1:1"),
            "{output:?}"
        );
        String::from_utf8(output.stdout).unwrap()
    };
    let report: serde_json::Value = serde_json::from_str(&check("json")).unwrap();
    assert_eq!((report["status"].as_str(), report["exit_code"].as_u64()), (Some("unknown"), Some(2)));
    assert!(
        report["unknown"].to_string().contains("cannot reach the Kubernetes API"),
        "{}",
        report["unknown"]
    );
    assert_eq!(report["cluster"]["recorded"].as_bool(), Some(false), "nobody recorded it");
    let html = check("html");
    for (part, stands) in [
        ("<h1>Unknown</h1>", true),
        ("annot reach the Kubernetes API", true),
        ("No change is known:", true),
        ("shows a change", false),
        (", recorded ", false),
    ] {
        assert_eq!(html.contains(part), stands, "{part}: {html}");
    }
    let junit = check("junit");
    assert!(
        junit.starts_with("<?xml") && junit.contains("<error") && junit.contains("cannot reach"),
        "{junit}"
    );
    assert_eq!(check("wide"), "");
}

#[test]
fn waiting_outlives_an_api_server_that_is_away() {
    let place = Place::new();
    let begin = Instant::now();
    let output = run(&["check", "--kubeconfig", &place.kubeconfig(NOBODY, "{}"), "--wait-healthy", "5s"]);
    assert!(begin.elapsed() > Duration::from_secs(2), "{}", said(&output));
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains("waiting for an answer of the Kubernetes API")
            || said(&output).contains("an answer of the Kubernetes API")
    );
    assert!(said(&output).contains("error: cannot reach"), "{}", said(&output));
}

#[test]
fn a_server_without_tls_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 64]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let place = Place::new();
    let said = said(&run(&["check", "--kubeconfig", &place.kubeconfig(&format!("https://{address}"), "{}")]));
    assert!(
        said.contains(&format!(
            "at https://{address} answers without TLS; check whether the kubeconfig needs http://"
        )),
        "{said}"
    );
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let place = Place::new();
    let pipe = place.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let pipe = pipe.display().to_string();
    for (arguments, part) in [
        (&["check", "--demo", "-n", "nope"][..], "has no namespace nope, only longhorn-system"),
        (&["serve", "--demo", "-n", "nope"], "has no namespace nope, only longhorn-system"),
        (&["check", "--demo", "--details", "99"], "no incident 99: there are "),
        (&["check", "--demo", "--details", "0"], "use an incident's number, 1 or higher"),
        (&["check", "--demo", "--accepted", &pipe], "a named pipe; use a file"),
        (&["serve", "--demo", "--accepted", &pipe], "a named pipe; use a file"),
        (&["serve", "--demo", "--stale-after", "30s"], "must be at least 90s"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(64), "{arguments:?}");
        assert!(said(&output).contains(part), "{arguments:?}: {}", said(&output));
    }
    for arguments in [&["check", "--demo", "--details", "1"][..], &["check", "--demo", "-v", "-o", "table"]] {
        assert_eq!(run(arguments).status.code(), Some(1), "{arguments:?}");
    }
}

#[test]
fn record_follows_no_link_that_somebody_left() {
    let place = Place::new();
    let victim = place.write("victim", "precious");
    symlink(&victim, place.path("r.tar.gz.unfinished")).unwrap();
    // one that answers everything with an empty list
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let body = r#"{"items":[],"metadata":{"resourceVersion":"1"}}"#;
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}",
                body.len()
            );
            let _ = write!(stream, "{head}\r\n\r\n{body}");
        }
    });
    let kubeconfig = place.kubeconfig(&format!("http://{address}"), "{}");
    let archive = place.path("r.tar.gz").display().to_string();
    let record = |output: &str| run(&["record", "-o", output, "--kubeconfig", &kubeconfig]);
    let refused = record(&archive);
    assert_eq!(refused.status.code(), Some(64), "{}", said(&refused));
    assert!(
        said(&refused).contains("r.tar.gz.unfinished already exists; remove it first"),
        "{}",
        said(&refused)
    );
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    std::fs::remove_file(place.path("r.tar.gz.unfinished")).unwrap();
    let written = record(&archive);
    assert_eq!(written.status.code(), Some(0), "{}", said(&written));
    assert!(Path::new(&archive).is_file());
}

/// An API server that answers, one that does not, and an address where no one listens.
#[tokio::test(flavor = "multi_thread")]
async fn several_clusters_are_one_table_and_a_dead_one_delays_nobody() {
    let server = fake_apiserver::FakeApiServer::start().await;
    server.serve_builtin();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Place::new();
    let of = |name: &str, server: &str| {
        format!("{{name: {name}, cluster: {{server: '{server}', insecure-skip-tls-verify: true}}}}")
    };
    let clusters = [
        of("a", &format!("http://{}", silent.local_addr().unwrap())),
        of("b", NOBODY),
        of("c", &server.url()),
    ];
    let contexts =
        ["a", "b", "c"].map(|name| format!("{{name: {name}, context: {{cluster: {name}, user: u}}}}"));
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{}]\ncontexts: [{}]\nusers: [{{name: u, user: {{token: t}}}}]\n",
        clusters.join(", "),
        contexts.join(", ")
    );
    let kubeconfig = place.write("fleet", text);
    for command in [&["check"][..], &["plan", "loss"], &["plan", "upgrade", "v1.12.1"]] {
        let begin = Instant::now();
        let arguments =
            [command, &["--kubeconfig", &kubeconfig, "--all-contexts", "--timeout", "5s"]].concat();
        let output = run(&arguments);
        let table = String::from_utf8(output.stdout.clone()).unwrap();
        assert!(begin.elapsed() < Duration::from_secs(300), "{arguments:?}: {:?}", begin.elapsed());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {table}{}", said(&output));
        let first: Vec<&str> =
            table.lines().map(|line| line.split_whitespace().next().unwrap_or_default()).collect();
        assert_eq!(first, ["UNKNOWN", "UNKNOWN", "UNKNOWN"], "{table}");
        assert!(table.contains("cannot reach the Kubernetes API at http://127.0.0.1:1:"), "{table}");
        assert!(table.contains("this cluster has no Longhorn"), "{table}");
    }
    let two = ["--kubeconfig", &kubeconfig, "--context", "b", "--context", "c", "--timeout", "60s"];
    let json = run(&[&["check", "-o", "json"], &two[..]].concat());
    let fleet: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&fleet["exit_code"], fleet["clusters"].as_array().unwrap().len()), (&2.into(), 2));
    for wrong in [
        &["check", "--kubeconfig", &kubeconfig, "--context", "a", "--context", "x"][..],
        &["check", "--kubeconfig", &kubeconfig, "--all-contexts", "-o", "junit"],
        &["check", "--kubeconfig", &kubeconfig, "--all-contexts", "--wait-healthy", "1m"],
        &["check", "--demo", "--all-contexts"],
        &["serve", "--kubeconfig", &kubeconfig, "--context", "a", "--context", "b"],
    ] {
        assert_eq!(run(wrong).status.code(), Some(64), "{wrong:?}");
    }
    server.stop().await;
}

#[test]
fn runbook_lists_the_alerts_and_prints_one_without_its_head() {
    let stdout = |arguments: &[&str]| String::from_utf8(run(arguments).stdout).unwrap();
    let list = stdout(&["runbook"]);
    assert!(list.lines().any(|line| line.starts_with("LonghornVolumeFaulted ")), "{list}");
    for line in list.lines() {
        let name = line.split(' ').next().unwrap();
        assert!(stdout(&["runbook", name]).starts_with(&format!("# {name}\n")), "{line}");
    }
}
