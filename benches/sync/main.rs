//! What clusters of several sizes cost the exporter: memory, processor time until it is ready, the
//! page of metrics, scrapes. docs/performance.md says what came out. `cargo bench --bench sync`
//!
//! Three processes: the binary `serve` as it is shipped; an API server (this program started again)
//! that holds whole objects; and a plain reader of the same lists (this program once more), as
//! something to compare with on the same machine at the same moment.
//!
//! `LONGHORN_HEALTH_BENCH_BINARY` names another binary to measure, such as one of another commit.

mod evaluate;
mod objects;
mod process;
mod scrape;

use std::path::{Path, PathBuf};
use std::time::Duration;

use fake_apiserver::{FakeApiServer, ResourceDef};
use longhorn_health_exporter::longhorn::{Resource, Scope};
use longhorn_health_exporter::source::connect::Connection;
use objects::Shape;
use process::{Exporter, Helper};
use serde_json::Value;

const SERVER: &str = "--as-api-server";
const EVALUATE: &str = "--evaluate";
/// Every replica is a finding, and there are no backups.
const EVICTING: &str = "--evicting";
const READER: &str = "--as-plain-reader";

/// Measured with kube-state-metrics and its custom resource state on a cluster of the largest
/// shape, on two cores.
const OTHERS: (f64, f64, f64, f64, f64) = (760.0, 10.6, 67.0, 143.0, 395.0);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        [SERVER, volumes, down, more @ ..] => {
            let shape = shape(volumes.parse().expect("a number"), down.parse().expect("a number"));
            let evicting = more.contains(&EVICTING);
            let backups = if evicting { 0 } else { shape.backups };
            runtime().block_on(serve(Shape { evicting, backups, ..shape }));
        }
        [EVALUATE, volumes, down, rounds] => {
            let number = |text: &str| text.parse().expect("a number");
            let evaluations = evaluate::Evaluations::new(Shape::new(number(volumes), number(down)));
            for _ in 0..number(rounds) {
                evaluations.change();
                println!("{:?} bytes", evaluations.page());
            }
        }
        [READER, kubeconfig] => runtime().block_on(read(Path::new(kubeconfig))),
        // cargo adds an argument of its own
        _ => measure_all(),
    }
}

/// Its backups are an hour old by the clock that the exporter goes by.
#[allow(clippy::disallowed_methods, reason = "a bench measures")]
fn shape(volumes: usize, down: usize) -> Shape {
    Shape {
        newest: jiff::Timestamp::now() - jiff::SignedDuration::from_hours(1),
        ..Shape::new(volumes, down)
    }
}

fn runtime() -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime")
}

fn measure_all() {
    println!("healthy clusters");
    for volumes in [100, 1000] {
        measure(shape(volumes, 0));
    }
    let (peak, cpu, page, p50, p99) = measure(shape(5000, 0));
    let (other_peak, other_cpu, other_page, other_p50, other_p99) = OTHERS;
    println!(
        "\nkube-state-metrics with custom resource state needs {:.1} times the memory, {:.1} times the CPU, \
         {:.0} times the page, {:.0} times the time to scrape (p50; p99 {:.0} times)",
        other_peak / peak,
        other_cpu / cpu,
        other_page / page,
        other_p50 / p50,
        other_p99 / p99
    );
    println!("\na fifth of the nodes down");
    measure(shape(5000, 100));
}

/// Measures one shape: peak MB, CPU seconds, page MB, scrapes p50 and p99 in ms.
fn measure(shape: Shape) -> (f64, f64, f64, f64, f64) {
    let server = Helper::start(&[SERVER, &shape.volumes.to_string(), &shape.down.to_string()]);
    let kubeconfig = Kubeconfig::write(&server.answer.replace('\t', "\n"));
    let program = std::env::var("LONGHORN_HEALTH_BENCH_BINARY")
        .unwrap_or_else(|_| env!("CARGO_BIN_EXE_longhorn-health-exporter").to_owned());
    let exporter = Exporter::start(&program, &kubeconfig.0, objects::NAMESPACE);
    let wall = exporter.wait_ready();
    let (cpu, peak) = (exporter.cpu_seconds(), exporter.memory("VmHWM"));
    println!(
        "\n{} volumes, {} replicas, {} instance managers, {} nodes",
        shape.volumes, shape.replicas, shape.instance_managers, shape.nodes
    );
    println!(
        "  ready      {cpu:7.2} CPU-s, {:.2} s; {peak:.1} MB peak, now {}",
        wall.as_secs_f64(),
        parts(&exporter)
    );
    let reader = Helper::start(&[READER, &kubeconfig.0.to_string_lossy()]).answer.clone();
    println!("  the same objects as plain trees of JSON: {reader}");

    let page = pages(&exporter, &shape);
    // a second apart: each needs an evaluation of its own, as Prometheus would see it
    let (p50, p99) = scrapes(&exporter);
    idle(&exporter);
    let peak = exporter.memory("VmHWM");
    println!("  at the end {peak:7.1} MB peak, now {}", parts(&exporter));
    (peak, cpu, page, p50, p99)
}

/// What it holds, and what of its binary is in memory.
fn parts(exporter: &Exporter) -> String {
    format!("{:.1} MB and {:.1} MB of files", exporter.memory("RssAnon"), exporter.memory("RssFile"))
}

/// The page of metrics; its size in MB.
fn pages(exporter: &Exporter, shape: &Shape) -> f64 {
    let (_, zipped) = scrape::metrics(&exporter.address);
    std::thread::sleep(Duration::from_millis(1100));
    let page = scrape::get(&exporter.address, "/metrics", "").body;
    let text = String::from_utf8_lossy(&page);
    // figures of a part of the cluster would be worth nothing
    let held = |how: &str| scrape::value(&text, &format!("longhorn_health_volumes{{robustness=\"{how}\"}}"));
    assert_eq!(held("healthy") + held("degraded"), shape.volumes as f64);
    assert!(
        scrape::value(&text, "longhorn_health_exporter_objects") > (shape.volumes + shape.replicas) as f64
    );
    println!("  page       {:7.1} kB, {:.1} kB with gzip", kilo(&page), kilo(&zipped.body));
    println!(
        "  its own    {:7.1} ms evaluation, {:.1} ms rendering",
        scrape::value(&text, "longhorn_health_exporter_last_evaluation_duration_seconds") * 1000.0,
        scrape::value(&text, "longhorn_health_exporter_last_render_duration_seconds") * 1000.0
    );
    kilo(&page) / 1000.0
}

fn kilo(bytes: &[u8]) -> f64 {
    bytes.len() as f64 / 1000.0
}

fn scrapes(exporter: &Exporter) -> (f64, f64) {
    let before = exporter.cpu_seconds();
    let (p50, p99) = scrape::in_turn(&exporter.address, 20, Duration::from_millis(1010));
    let cpu = (exporter.cpu_seconds() - before) * 1000.0 / 20.0;
    println!("  scrapes    {p50:7.1} ms p50, {p99:.1} ms p99 a second apart; {cpu:.1} ms CPU each");
    let (p50, p99) = scrape::in_turn(&exporter.address, 200, Duration::ZERO);
    println!("             {p50:7.1} ms p50, {p99:.1} ms p99 of 200 one after the other");
    let (burst50, burst99) = scrape::at_once(&exporter.address, 20, 5);
    println!("             {burst50:7.1} ms p50, {burst99:.1} ms p99 of 20 at once, 5 times");
    (p50, p99)
}

/// Processor time of a minute in which no one asks and nothing changes.
fn idle(exporter: &Exporter) {
    let before = exporter.cpu_seconds();
    std::thread::sleep(Duration::from_secs(20));
    println!("  idle       {:7.0} ms CPU a minute", (exporter.cpu_seconds() - before) * 3000.0);
}

/// Serves the cluster until standard input ends.
async fn serve(shape: Shape) {
    let server = FakeApiServer::start().await;
    server.serve_builtin();
    for info in Resource::all().map(Resource::info).filter(|info| info.resource.is_longhorn()) {
        server.serve(ResourceDef::custom("longhorn.io/v1beta2", info.plural, info.kind));
    }
    server.load(shape.objects());
    println!("{}", server.kubeconfig_yaml().replace('\n', "\t"));
    let wait = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()));
    let _ended = wait.await;
}

/// Lists every kind in pages and keeps it as trees of JSON; says what that cost.
async fn read(kubeconfig: &Path) {
    let connection = Connection::open(Some(kubeconfig), None, Duration::from_secs(30)).await;
    let client = connection.unwrap_or_else(|error| panic!("{error}")).client();
    let before = process::cpu_seconds("self");
    let mut kept: Vec<Value> = Vec::new();
    for info in Resource::all().map(Resource::info) {
        let prefix = if info.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", info.group) };
        let place = match info.scope {
            Scope::Namespaced => format!("namespaces/{}/", objects::NAMESPACE),
            Scope::InNamespace { namespace, .. } => format!("namespaces/{namespace}/"),
            Scope::Cluster | Scope::ClusterNamed(_) | Scope::ClusterLabelled(_) => String::new(),
        };
        let list = format!("{prefix}/{}/{place}{}?limit=500", info.version, info.plural);
        let mut url = list.clone();
        loop {
            let request = http::Request::get(url).body(Vec::new()).expect("a request");
            let mut page: Value = match client.request(request).await {
                Ok(page) => page,
                // such as cert-manager's
                Err(kube::Error::Api(status)) if status.code == 404 => break,
                Err(error) => panic!("{error}"),
            };
            if let Value::Array(items) = page["items"].take() {
                kept.extend(items);
            }
            match page["metadata"]["continue"].as_str().filter(|token| !token.is_empty()) {
                Some(token) => {
                    url = format!("{list}&continue={}", token.replace('=', "%3D").replace('/', "%2F"))
                }
                None => break,
            }
        }
    }
    println!(
        "{} objects, {:.2} CPU-s, {:.1} MB peak",
        kept.len(),
        process::cpu_seconds("self") - before,
        process::memory("self", "VmHWM")
    );
}

/// A kubeconfig for as long as it is needed.
struct Kubeconfig(PathBuf);

impl Kubeconfig {
    fn write(text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("longhorn-health-bench-{}.yaml", std::process::id()));
        std::fs::write(&path, text).expect("a kubeconfig");
        Kubeconfig(path)
    }
}

impl Drop for Kubeconfig {
    fn drop(&mut self) {
        let _best_effort = std::fs::remove_file(&self.0);
    }
}
