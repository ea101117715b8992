//! Exporters, Prometheus and Alertmanager as processes on loopback, gone when the test ends.

#![allow(dead_code, reason = "each test uses a part")]

#[path = "../e2e/support/port.rs"]
mod port;
#[path = "../e2e/support/process.rs"]
mod process;

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use longhorn_health_exporter::cli::DECLARED;
use longhorn_health_exporter::exporter::INHIBITOR;
use longhorn_health_exporter::generate::INCIDENTS;
use longhorn_health_exporter::generate::alertmanager::EXPORTER_DOWN;
use serde_json::Value;

use process::Process;

/// No test waits longer for what must come.
const PATIENCE: Duration = Duration::from_secs(90);

/// Alerts go on for so long after their cause, so that the exporter's absence leaves something to mute.
const KEEP_FIRING_FOR: &str = "10m";

/// Repeats `look` until it gives something.
pub fn wait<T>(what: &str, mut look: impl FnMut() -> Result<T, String>) -> T {
    let start = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(error) if start.elapsed() > PATIENCE => panic!("waited in vain for {what}: {error}"),
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// Something that listens on loopback.
#[derive(Debug, Clone)]
pub struct Address(pub String);

impl Address {
    pub fn free() -> Self {
        Address(format!("127.0.0.1:{}", port::free().unwrap()))
    }

    /// Body of a successful answer.
    pub fn get(&self, path: &str) -> Result<String, String> {
        self.request(&format!("GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.0))
    }

    pub fn json(&self, path: &str) -> Result<Value, String> {
        serde_json::from_str(&self.get(path)?).map_err(|error| error.to_string())
    }

    pub fn post(&self, path: &str, body: &Value) -> Result<String, String> {
        let body = body.to_string();
        self.request(&format!(
            "POST {path} HTTP/1.0\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.0,
            body.len()
        ))
    }

    /// HTTP/1.0, so that the end of the connection is the end of the body.
    fn request(&self, request: &str) -> Result<String, String> {
        let answer = || {
            let mut stream = TcpStream::connect(&self.0)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.write_all(request.as_bytes())?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer)?;
            Ok::<_, std::io::Error>(String::from_utf8_lossy(&answer).into_owned())
        };
        let answer = answer().map_err(|error| format!("{}: {error}", self.0))?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or("no HTTP")?;
        match head.split(' ').nth(1) {
            Some("200") => Ok(body.to_owned()),
            _ => Err(format!("{}\n{body}", head.lines().next().unwrap_or_default())),
        }
    }
}

/// A process and where it listens.
pub struct Server {
    _process: Process,
    pub address: Address,
}

/// `serve` with these options.
pub fn exporter(directory: &Path, options: &[&str], address: Address) -> Server {
    let program = Path::new(env!("CARGO_BIN_EXE_longhorn-health-exporter"));
    let listen = format!("--web.listen-address={}", address.0);
    let args = ["serve"].into_iter().chain(options.iter().copied()).chain([listen.as_str()]);
    start(directory, program, args, address, "/readyz")
}

/// Prometheus with this configuration.
pub fn prometheus(directory: &Path, config: &str) -> Server {
    let file = directory.join("prometheus.yaml");
    std::fs::write(&file, config).unwrap();
    let address = Address::free();
    let args = [
        format!("--config.file={}", file.display()),
        format!("--storage.tsdb.path={}", directory.join("prometheus").display()),
        format!("--web.listen-address={}", address.0),
        "--web.enable-lifecycle".to_owned(),
    ];
    start(directory, Path::new("prometheus"), args, address, "/-/ready")
}

/// Alertmanager with this configuration.
pub fn alertmanager(directory: &Path, config: &Path) -> Server {
    let address = Address::free();
    let args = [
        format!("--config.file={}", config.display()),
        format!("--storage.path={}", directory.join("alertmanager").display()),
        format!("--web.listen-address={}", address.0),
        "--cluster.listen-address=".to_owned(),
    ];
    // Debian's name, and that of everybody else
    let path = std::env::var_os("PATH").unwrap_or_default();
    let of_debian = std::env::split_paths(&path).any(|place| place.join("prometheus-alertmanager").is_file());
    let program = if of_debian { "prometheus-alertmanager" } else { "alertmanager" };
    start(directory, Path::new(program), args, address, "/-/ready")
}

/// A server that answers at `ready` once it can be used.
pub fn start<A: AsRef<std::ffi::OsStr>>(
    directory: &Path,
    program: &Path,
    args: impl IntoIterator<Item = A>,
    address: Address,
    ready: &str,
) -> Server {
    let name = program.file_name().unwrap().to_string_lossy();
    let log = directory.join(format!("{name}-{}.log", address.0.replace(':', "-")));
    let mut process = Process::start(program, args, &[], &log).unwrap();
    wait(&format!("{name} to be ready"), || {
        if let Err(ended) = process.ensure_running() {
            panic!("{ended}\nis it installed? (Debian's prometheus and prometheus-alertmanager)");
        }
        address.get(ready)
    });
    Server { _process: process, address }
}

impl Server {
    /// Prometheus' answer to an instant query.
    pub fn query(&self, expr: &str) -> Result<Vec<Value>, String> {
        let answer = self.address.json(&format!("/api/v1/query?query={}", encoded(expr)))?;
        Ok(answer["data"]["result"].as_array().cloned().unwrap_or_default())
    }

    /// Waits until every rule was evaluated after this moment.
    pub fn wait_for_rules(&self) {
        let since = now();
        wait("the rules to be evaluated", || {
            let answer = self.address.json("/api/v1/rules")?;
            let groups = answer["data"]["groups"].as_array().cloned().unwrap_or_default();
            let rules = groups.iter().flat_map(|group| group["rules"].as_array().into_iter().flatten());
            let mut number = 0;
            for rule in rules {
                let last: jiff::Timestamp =
                    rule["lastEvaluation"].as_str().unwrap_or_default().parse().map_err(|_| "never")?;
                if last <= since {
                    return Err(format!("{} was not evaluated yet", rule["name"]));
                }
                assert_eq!(rule["health"], "ok", "{rule}");
                number += 1;
            }
            if number > 0 { Ok(()) } else { Err("no rules".to_owned()) }
        });
    }
}

/// Prometheus and Alertmanager have no other clock either.
#[allow(clippy::disallowed_methods, reason = "the clock of real servers")]
pub fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

/// As it stands in the query of an address.
pub fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        let _ = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => write!(encoded, "{}", char::from(byte)),
            _ => write!(encoded, "%{byte:02X}"),
        };
    }
    encoded
}

/// Our rules without their patience, made as a user would: with `generate rules --config`.
pub fn impatient_rules(directory: &Path) -> PathBuf {
    rules_without(directory, &[])
}

/// The same with these alerts switched off.
pub fn rules_without(directory: &Path, off: &[&str]) -> PathBuf {
    let mut config = "alerts:\n".to_owned();
    for name in DECLARED.alerts().chain(INCIDENTS.alerts).map(|alert| alert.name) {
        let keep = if [EXPORTER_DOWN, INHIBITOR].contains(&name) {
            String::new()
        } else {
            format!(", keep_firing_for: {KEEP_FIRING_FOR}")
        };
        let enabled = !off.contains(&name);
        let _ = writeln!(config, "  {name}: {{enabled: {enabled}, for: 0s{keep}}}");
    }
    let file = directory.join("generate.yaml");
    std::fs::write(&file, config).unwrap();
    let out = directory.join("generated");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_longhorn-health-exporter"))
        .args(["generate", "rules", "--config"])
        .args([&file, Path::new("--out"), &out])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    out.join("rules/longhorn-health.rules.yaml")
}
