//! A real Prometheus scrapes the exporter and evaluates its rules, a real Alertmanager shows the
//! alert with its text.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use kube::{Client, Config};
use serde_json::{Value, json};

use super::{Exporter, bench, scenario, scenarios};
use crate::support::{port, process::Process, tools::Tools};

/// Starts of two servers, two scrapes and a few evaluations, on a busy machine.
const LIMIT: Duration = Duration::from_secs(90);
const ALERT: &str = "LonghornManagerCrashLoopBackOff";
/// As users shorten it, with `generate --config`.
const CONFIG: &str = "alerts:\n  LonghornManagerCrashLoopBackOff: {for: 1s, labels: {team: storage}}\n";

#[tokio::test]
async fn an_alert_reaches_alertmanager_with_its_text() -> Result<()> {
    let Some(bench) = bench("monitoring").await? else { return Ok(()) };
    scenarios::load(&bench, &scenario("incident-004-webhook-deadlock")).await?;
    let exporter = Exporter::start(&bench, "exporter", &[]).await?;
    let began = Instant::now();
    let directory = tempfile::tempdir()?;
    let rules = rules(directory.path())?;
    let alertmanager = alertmanager(bench.tools(), directory.path())?;
    let (tools, target) = (bench.tools(), exporter.address());
    let prometheus = prometheus(tools, directory.path(), &rules, &alertmanager.address, target)?;

    let alerts = wait_for(&alertmanager, "/api/v2/alerts", |alerts| {
        let firing = alerts.as_array().into_iter().flatten();
        firing.filter(|alert| alert["labels"]["alertname"] == ALERT).count() == 3
    })
    .await?;
    println!("alerts in Alertmanager {:.1?} after the start of Prometheus", began.elapsed());
    for alert in alerts.as_array().into_iter().flatten().filter(|alert| alert["labels"]["alertname"] == ALERT)
    {
        let text = |of: &str, field: &str| alert[of][field].as_str().unwrap_or_default().to_owned();
        let node = text("labels", "node");
        assert!(node.starts_with("worker-"), "{alert}");
        assert_eq!(text("labels", "cause"), "", "a changed cause must not start the alert over");
        assert_eq!(text("labels", "severity"), "critical");
        assert_eq!(text("labels", "team"), "storage");
        let description = text("annotations", "description");
        let rendered = format!("longhorn-manager on {node} is crash-looping. ");
        assert!(description.starts_with(&rendered), "{description}");
        let more = format!("check --node {node}");
        assert!(description.ends_with(&more), "{description}");
    }
    let rules = wait_for(&prometheus, "/api/v1/rules?type=alert", |rules| !groups(rules).is_empty()).await?;
    let evaluated: Vec<&Value> =
        groups(&rules).iter().flat_map(|group| group["rules"].as_array().into_iter().flatten()).collect();
    ensure!(evaluated.len() > 10, "only {} rules", evaluated.len());
    let sick: Vec<_> = evaluated.iter().filter(|rule| rule["health"] == "err").collect();
    assert!(sick.is_empty(), "{sick:#?}");
    Ok(())
}

fn groups(rules: &Value) -> &[Value] {
    rules["data"]["groups"].as_array().map_or(&[], Vec::as_slice)
}

/// The rules as a user with this configuration makes them.
fn rules(directory: &Path) -> Result<PathBuf> {
    let config = directory.join("config.yaml");
    std::fs::write(&config, CONFIG)?;
    let mut generate = Command::new(env!("CARGO_BIN_EXE_longhorn-health-exporter"));
    generate.args(["generate", "rules", "--config"]).arg(&config).arg("--out").arg(directory);
    let output = generate.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(directory.join("rules/longhorn-health.rules.yaml"))
}

/// A program on a port, and a way to ask it.
struct Server {
    process: Process,
    address: String,
    client: Client,
}

fn alertmanager(tools: &Tools, directory: &Path) -> Result<Server> {
    let config = directory.join("alertmanager.yaml");
    std::fs::write(&config, "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")?;
    let address = format!("127.0.0.1:{}", port::free()?);
    let args = [
        format!("--config.file={}", config.display()),
        format!("--storage.path={}", directory.join("alertmanager").display()),
        format!("--web.listen-address={address}"),
        "--cluster.listen-address=".to_owned(),
    ];
    let process = Process::start(&tools.alertmanager, args, &[], &directory.join("alertmanager.log"))?;
    Server::new(process, address)
}

fn prometheus(
    tools: &Tools,
    directory: &Path,
    rules: &Path,
    alertmanager: &str,
    target: &str,
) -> Result<Server> {
    let config = json!({
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [rules],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [alertmanager]}]}]},
        "scrape_configs": [{
            "job_name": "longhorn-health-exporter",
            "static_configs": [{"targets": [target]}],
        }],
    });
    let file = directory.join("prometheus.yaml");
    std::fs::write(&file, config.to_string())?;
    let address = format!("127.0.0.1:{}", port::free()?);
    let args = [
        format!("--config.file={}", file.display()),
        format!("--storage.tsdb.path={}", directory.join("prometheus").display()),
        format!("--web.listen-address={address}"),
    ];
    let process = Process::start(&tools.prometheus, args, &[], &directory.join("prometheus.log"))?;
    Server::new(process, address)
}

impl Server {
    fn new(process: Process, address: String) -> Result<Self> {
        let client = Client::try_from(Config::new(format!("http://{address}").parse()?))?;
        Ok(Self { process, address, client })
    }
}

/// Asks until the answer shows something.
async fn wait_for(server: &Server, path: &str, shows: impl Fn(&Value) -> bool) -> Result<Value> {
    let began = Instant::now();
    loop {
        let request = http::Request::get(path).body(Vec::new())?;
        let answer = server.client.request::<Value>(request).await;
        match answer {
            Ok(value) if shows(&value) => return Ok(value),
            last if began.elapsed() > LIMIT => {
                bail!(server.process.describe(&format!("does not show it: {last:?}")))
            }
            _ => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}
