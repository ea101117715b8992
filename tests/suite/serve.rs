//! `serve` from outside: the process, and the server with sources that behave as a test wants.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use longhorn_health_exporter::cluster::Cluster;
use longhorn_health_exporter::exporter::Evaluator;
use longhorn_health_exporter::history::Observation;
use longhorn_health_exporter::http::{self, Access, Limits, Links, Router, Transport};
use longhorn_health_exporter::longhorn::Resource;
use longhorn_health_exporter::source::{Source, demo};

/// No test waits longer for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

fn request(address: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
    stream
}

fn response(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

fn get(address: SocketAddr, path: &str) -> String {
    response(request(address, path))
}

// === the process ===

struct Serve {
    process: Child,
    address: SocketAddr,
    /// Keeps the pipe open; the log goes on while the process runs.
    log: BufReader<std::process::ChildStderr>,
    /// What the log said before it listened.
    before: String,
}

fn exporter(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longhorn-health-exporter"));
    command.arg("serve").args(arguments).env_clear().stderr(Stdio::piped()).stdout(Stdio::null());
    command
}

impl Serve {
    fn start(arguments: &[&str]) -> Self {
        let mut process = exporter(arguments).spawn().unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let (mut line, mut before) = (String::new(), String::new());
        let address = loop {
            before.push_str(&line);
            line.clear();
            assert_ne!(log.read_line(&mut line).unwrap(), 0, "serve ended before it listened");
            if line.contains("msg=listening") {
                let (_, address) = line.rsplit_once("address=").unwrap();
                break address.trim().parse().unwrap();
            }
        };
        Serve { process, address, log, before }
    }

    fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn the_demo_is_served_and_a_signal_ends_it_in_good_order() {
    for signal in ["TERM", "INT"] {
        let mut serve = Serve::start(&["--demo", "--web.listen-address=127.0.0.1:0"]);
        let metrics = get(serve.address, "/metrics");
        assert!(metrics.starts_with("HTTP/1.1 200 OK\r\n"), "{metrics}");
        assert!(metrics.contains("\nlonghorn_health_finding{"));
        assert!(get(serve.address, "/").contains("<!DOCTYPE html>"));
        assert!(get(serve.address, "/readyz").ends_with("\r\n\r\nok\n"));
        serve.signal(signal);
        assert!(serve.process.wait().unwrap().success());
        let mut log = String::new();
        serve.log.read_to_string(&mut log).unwrap();
        assert!(log.contains(&format!("msg=stopping reason=SIG{signal}")), "{log}");
    }
}

/// As the kubelet mounts a ConfigMap: the file is a link into a directory that is exchanged as a whole.
#[test]
fn signatures_of_a_config_map_are_served_as_theirs_and_hide_nothing() {
    let mounted = tempfile::tempdir().unwrap();
    let yaml = "signatures:\n- {name: ours, title: A volume is odd, severity: critical, fix: Look at <object>., where: {object: {kind: Volume, \
                fields: [{path: metadata.name, exists: true}]}}}\n";
    std::fs::create_dir(mounted.path().join("..1")).unwrap();
    std::fs::write(mounted.path().join("..1/signatures.yaml"), yaml).unwrap();
    std::os::unix::fs::symlink("..1", mounted.path().join("..data")).unwrap();
    let file = mounted.path().join("signatures.yaml");
    std::os::unix::fs::symlink("..data/signatures.yaml", &file).unwrap();
    let demo = ["--demo", "--web.listen-address=127.0.0.1:0"];
    let findings = |more: &[&str]| -> (Vec<String>, Vec<serde_json::Value>, String) {
        let serve = Serve::start(&[&demo[..], more].concat());
        let report = get(serve.address, "/api/v1/report");
        let report: serde_json::Value =
            serde_json::from_str(report.split_once("\r\n\r\n").unwrap().1).unwrap();
        let (theirs, built_in): (Vec<_>, Vec<_>) = report["findings"]
            .as_array()
            .unwrap()
            .iter()
            .cloned()
            .partition(|one| one["signature"].is_string());
        let said = |one: &serde_json::Value| format!("{} {} {}", one["check"], one["cause"], one["object"]);
        (built_in.iter().map(said).collect(), theirs, get(serve.address, "/metrics"))
    };
    let (before, none, _) = findings(&[]);
    let (after, theirs, metrics) = findings(&["--signatures", file.to_str().unwrap()]);
    assert_eq!((before.is_empty(), none.is_empty(), &after), (false, true, &before));
    assert!(!theirs.is_empty());
    for one in &theirs {
        assert_eq!((&one["check"], &one["signature"]), (&"signature_matched".into(), &"ours".into()));
        assert!(one["message"].as_str().unwrap().ends_with("(your signature ours)"), "{one}");
    }
    let series = metrics
        .lines()
        .find(|line| line.starts_with("longhorn_health_signature_matches{") && line.contains("ours"));
    let count: usize = series.unwrap().rsplit_once(' ').unwrap().1.parse().unwrap();
    assert!(count >= theirs.len(), "{count}");
}

#[test]
fn a_credentials_plugin_that_hangs_keeps_nothing_but_the_api_waiting() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    let text = "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
        clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n\
        contexts: [{name: a, context: {cluster: c, user: u}}]\n\
        users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/sh, \
        args: [-c, sleep 600], interactiveMode: Never}}}]\n";
    std::fs::write(&kubeconfig, text).unwrap();
    let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
    let mut serve = Serve::start(&[&kubeconfig, "--web.listen-address=127.0.0.1:0"]);
    assert!(get(serve.address, "/livez").ends_with("\r\n\r\nok\n"));
    assert!(get(serve.address, "/readyz").contains("waiting for volumes.longhorn.io"));
    assert!(get(serve.address, "/metrics").contains("longhorn_health_exporter_resource_unreadable{"));
    serve.signal("TERM");
    assert!(serve.process.wait().unwrap().success());
    assert!(serve.before.contains("waiting for credentials"), "{}", serve.before);
}

#[test]
fn several_addresses_another_path_and_quiet_about_itself() {
    let serve = Serve::start(&[
        "--demo", "--web.listen-address=127.0.0.1:0", "--web.listen-address=[::1]:0",
        "--web.telemetry-path=/m", "--web.disable-exporter-metrics",
    ]);
    assert!(get(serve.address, "/metrics").starts_with("HTTP/1.1 404 Not Found\r\n"));
    let metrics = get(serve.address, "/m");
    assert!(metrics.contains("longhorn_health_exporter_build_info{"));
    assert!(!metrics.contains("process_") && !metrics.contains("duration_seconds"));
}

#[test]
fn options_come_from_the_environment_too() {
    let output =
        exporter(&["--demo"]).env("LONGHORN_HEALTH_WEB_LISTEN_ADDRESS", "nonsense").output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    assert!(String::from_utf8_lossy(&output.stderr).contains(":10945"));
}

#[test]
fn a_port_in_use_is_told_in_one_line_that_says_what_to_do() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let output = exporter(&["--demo", &format!("--web.listen-address={address}")]).output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        said.trim_end(),
        format!(
            "error: cannot listen on {address}: the port is in use; stop the process that uses it, or set another port with \
             --web.listen-address"
        )
    );
}

#[test]
fn a_recording_that_cannot_be_read_ends_serve_before_it_listens() {
    let output = exporter(&["--from", "/nonexistent", "--web.listen-address=127.0.0.1:0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1);
}

// === the server ===

/// The demo through a gate: while it is shut, a snapshot waits.
struct Gated {
    open: Mutex<bool>,
    opened: Condvar,
    snapshots: AtomicUsize,
    waiting_for: Vec<Resource>,
}

impl Gated {
    fn new(open: bool, waiting_for: Vec<Resource>) -> Arc<Self> {
        let (open, opened, snapshots) = (Mutex::new(open), Condvar::new(), AtomicUsize::new(0));
        Arc::new(Gated { open, opened, snapshots, waiting_for })
    }

    fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    fn wait_for_a_snapshot(&self) {
        let begin = Instant::now();
        while self.snapshots.load(Ordering::SeqCst) == 0 {
            assert!(begin.elapsed() < PATIENCE);
            std::thread::yield_now();
        }
    }
}

impl Source for Gated {
    fn snapshot(&self, now: Timestamp) -> Cluster {
        self.snapshots.fetch_add(1, Ordering::SeqCst);
        let open = self.open.lock().unwrap();
        let (open, timeout) = self.opened.wait_timeout_while(open, PATIENCE, |open| !*open).unwrap();
        assert!(!timeout.timed_out());
        drop(open);
        demo::cluster(now).unwrap()
    }

    fn generation(&self) -> u64 {
        7
    }

    fn keep_observed(&self, _holding: Vec<Observation>, _blind: &BTreeSet<&'static str>, _now: Timestamp) {}

    fn waiting_for(&self) -> Vec<Resource> {
        self.waiting_for.clone()
    }
}

struct Server {
    address: SocketAddr,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    ended: Option<tokio::task::JoinHandle<()>>,
    runtime: tokio::runtime::Runtime,
}

impl Server {
    fn start(source: Arc<dyn Source>, max_requests: usize, drain: Duration) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new(
            &longhorn_health_exporter::cli::DECLARED,
            Arc::new(Evaluator::new(&longhorn_health_exporter::checks::CATALOGUE, source, now, false)),
            Access::open(),
            Links::own("/metrics"),
            max_requests,
        );
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let limits = Limits { drain, ..Limits::default() };
        let stopped = async move { drop(stopped.await) };
        let ended = runtime.spawn(http::run(vec![listener], Transport::Plain, router, limits, stopped));
        Server { address, stop: Some(stop), ended: Some(ended), runtime }
    }

    fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    fn wait(&mut self) {
        let ended = self.ended.take().unwrap();
        self.runtime.block_on(ended).unwrap();
    }
}

#[test]
fn a_running_scrape_is_finished_before_the_server_ends() {
    let source = Gated::new(false, Vec::new());
    let mut server = Server::start(source.clone(), 0, PATIENCE);
    let idle = TcpStream::connect(server.address).unwrap();
    let scrape = request(server.address, "/metrics");
    source.wait_for_a_snapshot();
    server.stop();
    // the listener closes at once, the scrape goes on
    let begin = Instant::now();
    while TcpStream::connect(server.address).is_ok() {
        assert!(begin.elapsed() < PATIENCE);
    }
    source.open();
    let text = response(scrape);
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.contains("\nlonghorn_health_checks{"), "{text}");
    server.wait();
    drop(idle);
}

#[test]
fn a_request_that_does_not_end_is_dropped_after_the_drain_limit() {
    let source = Gated::new(false, Vec::new());
    let mut server = Server::start(source.clone(), 0, Duration::from_millis(10));
    let scrape = request(server.address, "/metrics");
    source.wait_for_a_snapshot();
    server.stop();
    server.wait();
    source.open();
    drop(scrape);
}

#[test]
fn concurrent_scrapes_share_one_evaluation_and_more_than_allowed_get_503() {
    let source = Gated::new(false, Vec::new());
    let mut server = Server::start(source.clone(), 3, PATIENCE);
    let first = request(server.address, "/metrics");
    source.wait_for_a_snapshot();
    // three go to the first who come, and of the four others at least two are refused
    let others: Vec<_> =
        ["/metrics", "/", "/api/v1/report", "/metrics"].map(|path| request(server.address, path)).into();
    assert!(get(server.address, "/livez").starts_with("HTTP/1.1 200 OK\r\n"));
    let answers = std::thread::scope(|scope| {
        let readers: Vec<_> = others.into_iter().map(|stream| scope.spawn(|| response(stream))).collect();
        let begin = Instant::now();
        while readers.iter().filter(|reader| reader.is_finished()).count() < 2 {
            assert!(begin.elapsed() < PATIENCE);
            std::thread::yield_now();
        }
        source.open();
        readers.into_iter().map(|reader| reader.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(response(first).starts_with("HTTP/1.1 200 OK\r\n"));
    let refused =
        answers.iter().filter(|answer| answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n")).count();
    assert_eq!(refused, 2, "{answers:?}");
    assert!(get(server.address, "/metrics").starts_with("HTTP/1.1 200 OK\r\n"));
    assert_eq!(source.snapshots.load(Ordering::SeqCst), 1);
    server.stop();
    server.wait();
}

#[test]
fn before_the_first_sync_there_is_no_verdict_and_readiness_names_what_is_missing() {
    let source = Gated::new(true, vec![Resource::Volumes, Resource::Pods]);
    let mut server = Server::start(source, 0, PATIENCE);
    let ready = get(server.address, "/readyz");
    assert!(ready.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{ready}");
    assert!(ready.ends_with("\r\n\r\nwaiting for volumes.longhorn.io\nwaiting for pods\n"), "{ready}");
    assert!(get(server.address, "/livez").starts_with("HTTP/1.1 200 OK\r\n"));
    let metrics = get(server.address, "/metrics");
    assert!(metrics.contains("\nlonghorn_health_exporter_objects "));
    for verdict in ["longhorn_health_finding", "longhorn_health_check_unknown", "longhorn_health_volumes"] {
        assert!(!metrics.lines().any(|line| line.starts_with(verdict)), "{verdict}");
    }
    assert!(get(server.address, "/").contains("<h1>Not synced yet</h1>"));
    server.stop();
    server.wait();
}
