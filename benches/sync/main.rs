//! What a large cluster costs: the memory and time until everything is listed, and of an evaluation.
//!
//! The API server runs in a process of its own (this program started again), so that the figures
//! are the exporter's alone. `cargo bench --bench sync`

mod objects;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fake_apiserver::{FakeApiServer, ResourceDef};
use jiff::Timestamp;
use longhorn_health_exporter::longhorn::Resource;
use longhorn_health_exporter::report::evaluate;
use longhorn_health_exporter::source::connect::Connection;
use longhorn_health_exporter::source::{Live, LiveOptions, Source};

const SERVER: &str = "--as-api-server";
/// Measured with kube-state-metrics and its custom resource state on a cluster of this shape.
const OTHERS_MB: f64 = 760.0;
const OTHERS_CPU: f64 = 10.6;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    if std::env::args().any(|argument| argument == SERVER) {
        runtime.block_on(serve());
    } else {
        runtime.block_on(measure());
    }
}

/// Serves the cluster until standard input ends.
async fn serve() {
    let server = FakeApiServer::start().await;
    server.serve_builtin();
    for info in Resource::all().map(Resource::info).filter(|info| info.resource.is_longhorn()) {
        server.serve(ResourceDef::custom("longhorn.io/v1beta2", info.plural, info.kind));
    }
    server.load(objects::all());
    println!("{}", server.kubeconfig_yaml().replace('\n', "\t"));
    let wait = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()));
    let _ended = wait.await;
}

#[allow(clippy::disallowed_methods, reason = "a bench measures")]
async fn measure() {
    let (mut server, kubeconfig) = start_server();
    let path = std::env::temp_dir().join(format!("longhorn-health-bench-{}.yaml", std::process::id()));
    std::fs::write(&path, kubeconfig).expect("a kubeconfig");
    let connection = Connection::open(Some(&path), None).await;
    let _best_effort = std::fs::remove_file(&path);
    let client = connection.unwrap_or_else(|error| panic!("{error}")).client();
    println!("before   {:6.1} MB RSS", memory("VmRSS"));

    let (cpu, begun) = (cpu_seconds(), Instant::now());
    let live = Live::start(client, LiveOptions::new(objects::NAMESPACE, Timestamp::now));
    live.synced().await;
    let (cpu, wall) = (cpu_seconds() - cpu, begun.elapsed());
    let cluster = live.snapshot(Timestamp::now());
    assert_eq!(cluster.objects.volumes.len(), objects::VOLUMES);
    drop(cluster);
    println!(
        "synced   {:6.1} MB RSS, {:.1} MB peak, {cpu:.2} CPU-s, {:.2} s",
        memory("VmRSS"),
        memory("VmHWM"),
        wall.as_secs_f64()
    );

    let mut times: Vec<_> = (0..20).map(|_| evaluation(&live)).collect();
    times.sort();
    println!("evaluate {:6.1} ms p50, {:.1} ms max", millis(times[10]), millis(times[19]));
    let peak = memory("VmHWM");
    println!("end      {:6.1} MB RSS, {peak:.1} MB peak", memory("VmRSS"));
    println!(
        "against kube-state-metrics: 1/{:.1} of the memory, 1/{:.1} of the CPU",
        OTHERS_MB / peak,
        OTHERS_CPU / cpu
    );
    live.stop().await;
    drop(server.stdin.take());
    let _ended = server.wait();
}

#[allow(clippy::disallowed_methods, reason = "a bench measures")]
fn evaluation(live: &Live) -> Duration {
    let begun = Instant::now();
    let cluster = live.snapshot(Timestamp::now());
    let evaluation = evaluate(&cluster);
    let took = begun.elapsed();
    live.keep_facts(evaluation.facts, &evaluation.blind, cluster.now);
    took
}

fn start_server() -> (Child, String) {
    let program = std::env::current_exe().expect("the path of this program");
    let mut server = Command::new(program)
        .arg(SERVER)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a server");
    let mut line = String::new();
    let stdout = server.stdout.take().expect("its output");
    BufReader::new(stdout).read_line(&mut line).expect("a kubeconfig");
    (server, line.trim_end().replace('\t', "\n"))
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// A size of this process in megabytes, as /proc tells it.
fn memory(what: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(':'));
    let kilobytes = line.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or(f64::NAN) / 1024.0
}

/// Processor time of this process so far; ticks are hundredths of a second.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = after_name.split_whitespace().skip(11).take(2).filter_map(|text| text.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}
