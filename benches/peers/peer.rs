//! A program under measurement beside others, and the API server that it burdens.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::objects::NAMESPACE;
use crate::process::{cpu_seconds, memory};
use crate::scrape;
use crate::support::port;

/// No start takes longer.
const PATIENCE: Duration = Duration::from_secs(300);
/// A program that has used no processor time for so long has read everything.
const QUIET: Duration = Duration::from_secs(3);
const SCRAPES: usize = 60;

/// The kube-apiserver that the programs read.
pub struct ApiServer {
    pid: String,
    /// Where it keeps its objects.
    pub etcd: String,
}

impl ApiServer {
    /// The one of this kubeconfig, found by its port among the processes of this machine.
    pub fn of(kubeconfig: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(kubeconfig)?;
        let port = text.split("127.0.0.1:").nth(1).context("no server")?;
        let port: String = port.chars().take_while(char::is_ascii_digit).collect();
        for process in std::fs::read_dir("/proc")?.flatten() {
            let arguments = std::fs::read_to_string(process.path().join("cmdline")).unwrap_or_default();
            let mut arguments = arguments.split('\0');
            let is_server = arguments.next().is_some_and(|program| program.ends_with("/kube-apiserver"));
            let arguments: Vec<_> = arguments.collect();
            if is_server && arguments.contains(&format!("--secure-port={port}").as_str()) {
                let etcd = arguments.iter().find_map(|argument| argument.strip_prefix("--etcd-servers="));
                let pid = process.file_name().to_string_lossy().into_owned();
                return Ok(ApiServer { pid, etcd: etcd.context("no store")?.to_owned() });
            }
        }
        anyhow::bail!("no kube-apiserver listens on port {port}")
    }
}

/// A program that reads the cluster and serves a page of metrics.
pub struct Peer {
    name: &'static str,
    /// Its path.
    pub program: PathBuf,
    arguments: Vec<String>,
    address: String,
    /// What its page has once it reads. Before, it may use no processor time either.
    sign: &'static str,
}

impl Peer {
    /// kube-state-metrics with five kinds of Longhorn, where it is on PATH.
    pub fn kube_state_metrics(kubeconfig: &Path) -> Option<Self> {
        const PROGRAM: &str = "kube-state-metrics";
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|folder| folder.join(PROGRAM).is_file())?;
        let (port, other) = (port::free().expect("a port"), port::free().expect("a port"));
        let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/kube-state-metrics.yaml");
        let arguments = vec![
            format!("--kubeconfig={}", kubeconfig.display()),
            "--custom-resource-state-only".to_owned(),
            format!("--custom-resource-state-config-file={}", config.display()),
            "--host=127.0.0.1".to_owned(),
            format!("--port={port}"),
            "--telemetry-host=127.0.0.1".to_owned(),
            format!("--telemetry-port={other}"),
        ];
        let address = format!("127.0.0.1:{port}");
        let (program, sign) = (PROGRAM.into(), "\nlonghorn_volume_info{");
        Some(Peer { name: PROGRAM, program, arguments, address, sign })
    }

    /// This exporter, or the binary that `LONGHORN_HEALTH_BENCH_BINARY` names.
    pub fn exporter(kubeconfig: &Path) -> Self {
        let program = std::env::var_os("LONGHORN_HEALTH_BENCH_BINARY")
            .map_or_else(|| env!("CARGO_BIN_EXE_longhorn-health-exporter").into(), PathBuf::from);
        let address = format!("127.0.0.1:{}", port::free().expect("a port"));
        let arguments = vec![
            "serve".to_owned(),
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--namespace={NAMESPACE}"),
            format!("--web.listen-address={address}"),
        ];
        Peer { name: "this exporter", program, arguments, address, sign: "\nlonghorn_health_checks{" }
    }

    /// Starts it, waits until it has read everything, and scrapes it once a second while objects change.
    pub fn measure(&self, server: &ApiServer, change: impl Fn()) -> Result<Figures> {
        let before = cpu_seconds(&server.pid);
        let process = Running::start(self)?;
        process.wait_until_it_reads(self)?;
        let ready = process.wait_until_quiet()?;
        let (ready_cpu, ready_memory) = (cpu_seconds(&process.id), memory(&process.id, "VmHWM"));
        let server_cpu = cpu_seconds(&server.pid) - before;

        // what following the changes costs is not the scrape's
        let follow = |scrapes: bool| -> (f64, Vec<Duration>, f64) {
            let (before, mut times, mut page) = (cpu_seconds(&process.id), Vec::new(), 0.0);
            for _ in 0..SCRAPES {
                change();
                std::thread::sleep(Duration::from_millis(1010));
                if scrapes {
                    let (time, answer) = scrape::metrics(&self.address);
                    assert_eq!(answer.status, 200, "{}", self.name);
                    times.push(time);
                    page = answer.body.len() as f64 / 1e6;
                }
            }
            (cpu_seconds(&process.id) - before, times, page)
        };
        // the first changes after a quiet time are judged at once; what is asked for is how it goes on
        follow(false);
        let (following, _, _) = follow(false);
        let (both, times, _) = follow(true);
        let page = scrape::get(&self.address, "/metrics", "").body;
        ensure!(page.len() > 10_000, "{} shows {} bytes", self.name, page.len());
        let (p50, worst) = scrape::percentiles(times);
        Ok(Figures {
            name: self.name,
            ready,
            ready_cpu,
            server_cpu,
            ready_memory,
            memory: memory(&process.id, "VmHWM"),
            page: page.len() as f64 / 1e6,
            p50,
            worst,
            scrape_cpu: (both - following).max(0.0) * 1000.0 / SCRAPES as f64,
            following: following * 1000.0 / SCRAPES as f64,
        })
    }
}

/// Ends with this value.
struct Running {
    child: Child,
    id: String,
    begun: Instant,
}

#[allow(clippy::disallowed_methods, reason = "a bench measures")]
impl Running {
    fn start(peer: &Peer) -> Result<Self> {
        let mut command = Command::new(&peer.program);
        command.args(&peer.arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let begun = Instant::now();
        let child = command.spawn().with_context(|| format!("{} does not start", peer.program.display()))?;
        Ok(Running { id: child.id().to_string(), child, begun })
    }

    /// Its pages are small until it does.
    fn wait_until_it_reads(&self, peer: &Peer) -> Result<()> {
        loop {
            ensure!(self.begun.elapsed() < PATIENCE, "{} reads nothing", peer.name);
            std::thread::sleep(Duration::from_millis(50));
            let listens = std::net::TcpStream::connect(&peer.address).is_ok();
            if listens
                && String::from_utf8_lossy(&scrape::get(&peer.address, "/metrics", "").body)
                    .contains(peer.sign)
            {
                return Ok(());
            }
        }
    }

    /// The time until it had read everything, to a tenth of a second: seen by the processor time that it
    /// uses no more, as asking for a page of many megabytes again and again would cost more than reading.
    fn wait_until_quiet(&self) -> Result<Duration> {
        let (mut used, mut since) = (cpu_seconds(&self.id), Instant::now());
        while since.elapsed() < QUIET {
            ensure!(self.begun.elapsed() < PATIENCE, "not ready in time");
            std::thread::sleep(Duration::from_millis(100));
            let now = cpu_seconds(&self.id);
            // a tick or two in a second is no reading
            if now - used > 0.025 {
                (used, since) = (now, Instant::now());
            }
        }
        Ok(since - self.begun)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// What came out.
pub struct Figures {
    /// The program.
    pub name: &'static str,
    ready: Duration,
    ready_cpu: f64,
    server_cpu: f64,
    ready_memory: f64,
    memory: f64,
    page: f64,
    p50: f64,
    worst: f64,
    scrape_cpu: f64,
    following: f64,
}

impl Figures {
    /// The names of the columns.
    pub const HEADER: &str = "                     ready  CPU-s  API CPU-s  MiB ready  MiB end  page MB  scrape p50  worst ms  CPU ms each  CPU ms a second of changes";

    /// What is drawn, with its place among the values.
    pub const CHARTED: [(&str, usize); 4] = [
        ("seconds until ready", 0),
        ("MiB after scrapes", 4),
        ("CPU ms per scrape", 8),
        ("API server CPU-s", 2),
    ];

    /// In the order of the columns.
    pub fn values(&self) -> [f64; 10] {
        [
            self.ready.as_secs_f64(),
            self.ready_cpu,
            self.server_cpu,
            self.ready_memory,
            self.memory,
            self.page,
            self.p50,
            self.worst,
            self.scrape_cpu,
            self.following,
        ]
    }

    /// What the other needs for each unit that this one needs.
    pub fn ratios(&self, other: &Figures) -> String {
        let ratio = |(own, other): (f64, f64)| format!("{:>9.1}", other / own);
        let ratios: Vec<_> = self.values().into_iter().zip(other.values()).map(ratio).collect();
        format!("{:18}{}", "times", ratios.join(" "))
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<_> = self.values().iter().map(|value| format!("{value:>9.2}")).collect();
        write!(f, "{:18}{}", self.name, values.join(" "))
    }
}
