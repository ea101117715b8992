//! Starts the binary and asks it over HTTP, as a scraper does.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use kube::{Client, Config};
use serde_json::Value;

use super::page::Page;
use super::{ACCOUNT, NAMESPACE};
use crate::support::{Bench, port, process::Process};

/// How long a first sync may take on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(240);

/// A running `longhorn-health-exporter serve`.
pub struct Exporter {
    process: Process,
    client: Client,
    address: String,
    log: PathBuf,
}

impl Exporter {
    /// Starts one under the service account of the deploy files and waits for its first sync.
    pub async fn start(bench: &Bench, name: &str, args: &[&str]) -> Result<Self> {
        let token = bench.service_account_token(NAMESPACE, ACCOUNT).await?;
        let kubeconfig = bench.kubeconfig(name, &token)?;
        let address = format!("127.0.0.1:{}", port::free()?);
        let log = kubeconfig.with_extension("log");
        let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
        let listen = format!("--web.listen-address={address}");
        let fixed = ["serve", &kubeconfig, &listen];
        let program = Path::new(env!("CARGO_BIN_EXE_longhorn-health-exporter"));
        let process = Process::start(program, fixed.iter().chain(args), &[], &log)?;
        let client = Client::try_from(Config::new(format!("http://{address}").parse()?))?;
        let mut exporter = Self { process, client, address, log };
        let began = Instant::now();
        while exporter.get("/readyz").await.is_err() {
            exporter.process.ensure_running().map_err(|error| anyhow!(error))?;
            if began.elapsed() > START_LIMIT {
                bail!(exporter.process.describe("is not ready"));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(exporter)
    }

    /// Host and port it listens on.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What it logged so far.
    pub fn log(&self) -> Result<String> {
        Ok(std::fs::read_to_string(&self.log)?)
    }

    /// What probes of the pod ask.
    pub async fn is_ready(&self) -> bool {
        self.get("/readyz").await.is_ok() && self.get("/livez").await.is_ok()
    }

    /// One scrape.
    pub async fn page(&self) -> Result<Page> {
        Ok(Page(self.get("/metrics").await?))
    }

    /// The report of this moment.
    pub async fn report(&self) -> Result<Value> {
        Ok(serde_json::from_str(&self.get("/api/v1/report").await?)?)
    }

    /// Scrapes until the page shows something; the time that took.
    pub async fn until(
        &self,
        what: &str,
        limit: Duration,
        shows: impl Fn(&Page) -> bool,
    ) -> Result<Duration> {
        let began = Instant::now();
        loop {
            let page = self.page().await?;
            if shows(&page) {
                return Ok(began.elapsed());
            }
            if began.elapsed() > limit {
                bail!("waited {limit:?} in vain for {what}\n{}\n{}", own(&page), self.log()?);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// SIGTERM, and the wait for the end.
    pub async fn stop(self) -> Result<()> {
        let process = self.process;
        Ok(tokio::task::spawn_blocking(move || process.stop()).await??)
    }

    async fn get(&self, path: &str) -> Result<String> {
        let request = http::Request::get(path).body(Vec::new())?;
        self.client.request_text(request).await.with_context(|| format!("GET {path}"))
    }
}

/// The lines that tell how the exporter fares, for errors.
fn own(page: &Page) -> String {
    let telling = |line: &&str| {
        [
            "longhorn_health_finding{",
            "longhorn_health_exporter_resource_unreadable{",
            "longhorn_health_exporter_api_errors_total{",
        ]
        .iter()
        .any(|family| line.starts_with(family))
            && !line.ends_with(" 0")
    };
    page.0.lines().filter(telling).collect::<Vec<_>>().join("\n")
}
