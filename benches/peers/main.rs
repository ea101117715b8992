//! The exporter beside kube-state-metrics on one real kube-apiserver, in one run: `make bench-peers`.
//!
//! For each size the programs that serve a page, then the commands that end, beside kubectl. Needs the programs of tests/e2e;
//! kube-state-metrics is measured where it is on PATH. The cluster is written to etcd, so that filling it takes seconds; backups are
//! left out, as kube-state-metrics is not asked for them. A twentieth of the nodes is down, three of ten instance managers are of the
//! release before, and seven objects change a second.
//! What repeats on a busy machine are processor times and memory, and the ratios of a run; wall times do not.

mod chart;
mod command_line;
#[path = "../sync/objects/mod.rs"]
mod objects;
mod peer;
#[path = "../sync/process.rs"]
#[allow(dead_code, reason = "shared with the bench of the exporter alone")]
mod process;
#[path = "../sync/scrape.rs"]
#[allow(dead_code, reason = "shared with the bench of the exporter alone")]
mod scrape;
#[path = "../../tests/e2e/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "shared with the end-to-end tests")]
mod support;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::Client;
use kube::config::Config;
use longhorn_health_exporter::longhorn::Resource;
use objects::Shape;
use peer::{Figures, Peer};
use serde_json::{Value, json};
use support::Bench;

/// Objects that etcd takes in one transaction.
const TRANSACTION: usize = 100;

#[tokio::main]
async fn main() -> Result<()> {
    // cargo adds an argument of its own
    let sizes =
        std::env::var("LONGHORN_HEALTH_BENCH_VOLUMES").unwrap_or_else(|_| "1000 5000 20000".to_owned());
    let mut runs = Vec::new();
    for size in sizes.split_whitespace() {
        let volumes = size.parse().context("LONGHORN_HEALTH_BENCH_VOLUMES holds no numbers")?;
        // a twentieth of the nodes is down, and an upgrade is not through
        let shape = Shape {
            backups: 0,
            newest: hour_ago(),
            half_upgraded: true,
            ..Shape::new(volumes, volumes / 200)
        };
        runs.push((volumes, compare(shape).await?));
    }
    if let Some(path) = std::env::var_os("LONGHORN_HEALTH_BENCH_CHART") {
        std::fs::write(path, chart::svg(&runs))?;
    }
    Ok(())
}

/// What was backed up then is not found.
#[allow(clippy::disallowed_methods, reason = "a bench measures")]
fn hour_ago() -> jiff::Timestamp {
    jiff::Timestamp::now() - jiff::SignedDuration::from_hours(1)
}

async fn compare(shape: Shape) -> Result<Vec<Figures>> {
    let Some(bench) = Bench::start("peers").await? else {
        return Ok(Vec::new());
    };
    bench.load_crds().await?;
    let kubeconfig = bench.kubeconfig("peers", "e2e-admin")?;
    let server = peer::ApiServer::of(&kubeconfig)?;
    let etcd = Client::try_from(Config::new(server.etcd.parse()?))?;
    write(&etcd, &shape.objects()).await?;
    warm(&bench, &shape).await?;

    println!("\n{} volumes, {} nodes, {} of them down", shape.volumes, shape.nodes, shape.down);
    let mut all = Vec::new();
    let (theirs, own) = (Peer::kube_state_metrics(&kubeconfig), Peer::exporter(&kubeconfig));
    let program = own.program.clone();
    if theirs.is_none() {
        println!("kube-state-metrics is not on PATH and left out");
    }
    println!("{}", Figures::HEADER);
    for peer in theirs.into_iter().chain([own]) {
        let figures = tokio::task::block_in_place(|| peer.measure(&server, || change(&etcd, &shape)))?;
        println!("{figures}");
        all.push(figures);
    }
    if let [theirs, ours] = all.as_slice() {
        println!("{}", ours.ratios(theirs));
    }
    let kubectl = support::tools::Tools::find().context("the programs of tests/e2e are gone")?.kubectl;
    tokio::task::block_in_place(|| command_line::measure(&program, &kubectl, &kubeconfig))?;
    Ok(all)
}

/// Changes an object of each kind, without waiting for more than the store.
fn change(etcd: &Client, shape: &Shape) {
    static TURN: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let turn = TURN.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let objects = shape.one_of_each(turn * 7);
    let written = tokio::runtime::Handle::current().block_on(write(etcd, &objects));
    written.expect("etcd takes a change");
}

/// Writes objects as the API server keeps them.
async fn write(etcd: &Client, objects: &[Value]) -> Result<()> {
    let encode = |text: &[u8]| {
        use base64::Engine;
        base64::engine::general_purpose::STANDARD.encode(text)
    };
    for some in objects.chunks(TRANSACTION) {
        let puts: Vec<_> = some
            .iter()
            .map(|object| {
                let value = encode(object.to_string().as_bytes());
                json!({"requestPut": {"key": encode(key(object).as_bytes()), "value": value}})
            })
            .collect();
        let request =
            http::Request::post("/v3/kv/txn").body(serde_json::to_vec(&json!({"success": puts}))?)?;
        let answer: Value = etcd.request(request).await?;
        ensure!(answer["succeeded"] == true, "etcd refused: {answer}");
    }
    Ok(())
}

/// The key of an object: built-in kinds without their group, others with it, and two old names.
fn key(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let kind = Resource::of(text("/apiVersion"), text("/kind")).expect("a known kind").info();
    let folder = match (kind.group, kind.plural) {
        ("", "nodes") => "minions".to_owned(),
        ("", "services") => "services/specs".to_owned(),
        ("longhorn.io", plural) => format!("longhorn.io/{plural}"),
        (_, plural) => plural.to_owned(),
    };
    match text("/metadata/namespace") {
        "" => format!("/registry/{folder}/{}", text("/metadata/name")),
        namespace => format!("/registry/{folder}/{namespace}/{}", text("/metadata/name")),
    }
}

/// Waits until the API server has every kind in memory, so that no peer pays for that: in a cluster the
/// managers of Longhorn watch all of them.
async fn warm(bench: &Bench, shape: &Shape) -> Result<()> {
    let longhorn = format!("/apis/longhorn.io/v1beta2/namespaces/{}", objects::NAMESPACE);
    let numbers = [("replicas", shape.replicas), ("engines", shape.volumes), ("volumes", shape.volumes)];
    for kind in Resource::all().filter(|kind| kind.is_longhorn()).map(|kind| kind.info().plural) {
        let wanted = numbers.iter().find(|(numbered, _)| *numbered == kind).map(|(_, number)| *number);
        let mut tries = 0;
        loop {
            let request =
                http::Request::get(format!("{longhorn}/{kind}?resourceVersion=0")).body(Vec::new())?;
            let list: std::result::Result<Value, _> = bench.admin().request(request).await;
            let held = list.ok().and_then(|list| Some(list["items"].as_array()?.len()));
            if held.is_some_and(|held| wanted.is_none_or(|wanted| held == wanted)) {
                break;
            }
            tries += 1;
            ensure!(tries < 300, "the API server holds {held:?} of {wanted:?} {kind}");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
    Ok(())
}
