//! The chart on the way of a release: packed, pushed, kept as an OCI layout, and installed on a real apiserver with
//! every set of values that we publish.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::accepted::{foreign_definitions, restricted};
use super::*;
use crate::support::port;
use crate::support::process::Process;

const VERSION: &str = "1.2.3";
const ADDRESS: &str = "REPOSITORY=https://github.com/acme/storage\nIMAGE=registry.example/acme/exporter\nDOCS=https://docs.example\n";

/// An empty registry on loopback.
async fn registry(crane: &Path, directory: &Path) -> Result<(Process, String)> {
    let address = format!("127.0.0.1:{}", port::free()?);
    let args = ["registry", "serve", "--address", &address];
    let mut process = Process::start(crane, args, &[], &directory.join("registry.log"))?;
    let start = Instant::now();
    while std::net::TcpStream::connect(&address).is_err() {
        process.ensure_running().map_err(anyhow::Error::msg)?;
        ensure!(start.elapsed() < Duration::from_secs(30), "no registry");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok((process, address))
}

/// The chart of a release in an OCI layout, as `helm push` makes it.
async fn layout(tools: &Tools, crane: &Path, directory: &Path) -> Result<PathBuf> {
    let address = directory.join("address.env");
    std::fs::write(&address, ADDRESS)?;
    let package = Command::new(repository().join("scripts/release/chart"))
        .arg(VERSION)
        .arg(directory)
        .env("HELM", &tools.helm)
        .env("ADDRESS", &address)
        .output()?;
    let package = success(package)?;
    let (_process, registry) = registry(crane, directory).await?;
    let mut push = Command::new(&tools.helm);
    push.env("HOME", directory).args([
        "push",
        package.trim(),
        &format!("oci://{registry}/charts"),
        "--plain-http",
    ]);
    success(push.output()?)?;
    let layout = directory.join("layout");
    let name = format!("{registry}/charts/longhorn-health-exporter:{VERSION}");
    success(Command::new(crane).args(["pull", "--insecure", "--format=oci", &name]).arg(&layout).output()?)?;
    ensure!(layout.join("index.json").is_file() && layout.join("oci-layout").is_file());
    Ok(layout)
}

/// Values in files and in the pages of docs/platforms, by place.
fn published() -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(chart().join("ci"))? {
        let path = entry?.path();
        found.push((path.display().to_string(), std::fs::read_to_string(path)?));
    }
    for entry in std::fs::read_dir(repository().join("docs/platforms"))? {
        let path = entry?.path();
        let text = std::fs::read_to_string(&path)?;
        let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
        let values = blocks.filter(|block| block.starts_with("# values.yaml"));
        found.extend(values.map(|block| (path.display().to_string(), block.to_owned())));
    }
    Ok(found)
}

#[tokio::test]
async fn the_published_chart_installs_with_every_published_set_of_values() -> Result<()> {
    let Some(crane) = built::lint("crane") else { return Ok(()) };
    let Some(bench) = Bench::start("deploy-published").await? else { return Ok(()) };
    for namespace in ["longhorn-system", NAMESPACE] {
        bench.apply_value(&restricted(namespace)).await?;
    }
    // of Rancher, which looks for dashboards there
    bench.namespace("cattle-dashboards").await?;
    foreign_definitions(&bench).await?;

    let directory = tempfile::tempdir()?;
    let layout = layout(bench.tools(), &crane, directory.path()).await?;
    let (_process, registry) = registry(&crane, directory.path()).await?;
    let name = format!("{registry}/mirror/longhorn-health-exporter");
    success(
        Command::new(&crane)
            .args(["push", "--insecure"])
            .arg(&layout)
            .arg(format!("{name}:{VERSION}"))
            .output()?,
    )?;

    let published = published()?;
    ensure!(published.len() >= 10, "only {} sets", published.len());
    for (place, values) in published {
        let file = directory.path().join("values.yaml");
        std::fs::write(&file, values)?;
        let helm = |args: &[&str]| {
            let mut helm = bench.command(&bench.tools().helm)?;
            success(helm.args(args).args(["--namespace", NAMESPACE]).output()?).with_context(|| place.clone())
        };
        let values = file.to_str().context("a path that is no text")?;
        let chart = format!("oci://{name}");
        helm(&["install", "health", &chart, "--version", VERSION, "--plain-http", "--values", values])?;
        let manifest = helm(&["get", "manifest", "health"])?;
        let (there, _) = kubectl(&bench, &["get", "--no-headers", "-o", "name"], &manifest)?;
        assert_eq!(there.lines().count(), objects(&manifest)?.len(), "{place}: {there}");
        println!("{place}: {} objects", there.lines().count());
        helm(&["uninstall", "health"])?;
    }
    Ok(())
}
