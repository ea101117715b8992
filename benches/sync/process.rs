//! A process under measurement, and what /proc tells about it.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use crate::scrape;

/// No step takes longer, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// This program started again in another role, which answers with one line.
pub struct Helper {
    process: Child,
    /// Its end is the signal to end.
    stdin: Option<ChildStdin>,
    /// The line.
    pub answer: String,
}

impl Helper {
    pub fn start(arguments: &[&str]) -> Self {
        let mut process = Command::new(std::env::current_exe().expect("the path of this program"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let mut answer = String::new();
        let stdout = process.stdout.take().expect("its output");
        BufReader::new(stdout).read_line(&mut answer).expect("a line");
        Helper { stdin: process.stdin.take(), process, answer: answer.trim_end().to_owned() }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ended = self.process.wait();
    }
}

/// `serve`, as it is shipped.
pub struct Exporter {
    process: Child,
    pub address: String,
}

impl Exporter {
    pub fn start(program: &str, kubeconfig: &Path, namespace: &str) -> Self {
        let mut process = Command::new(program)
            .args(["serve", "--web.listen-address=127.0.0.1:0", "--namespace", namespace, "--kubeconfig"])
            .arg(kubeconfig)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the exporter");
        let mut log = BufReader::new(process.stderr.take().expect("its log"));
        let mut line = String::new();
        let address = loop {
            line.clear();
            assert_ne!(log.read_line(&mut line).expect("a line"), 0, "serve ended before it listened");
            if let Some((_, address)) = line.rsplit_once("msg=listening address=") {
                break address.trim().to_owned();
            }
        };
        // the pipe must not fill up
        std::thread::spawn(move || log.read_to_end(&mut Vec::new()));
        Exporter { process, address }
    }

    /// Waits until it is ready; how long that took.
    #[allow(clippy::disallowed_methods, reason = "a bench measures")]
    pub fn wait_ready(&self) -> Duration {
        let begun = Instant::now();
        while scrape::get(&self.address, "/readyz", "").status != 200 {
            assert!(begun.elapsed() < PATIENCE, "not ready in time");
            std::thread::sleep(Duration::from_millis(100));
        }
        begun.elapsed()
    }

    /// A size in megabytes: `VmRSS` now, `VmHWM` at its highest.
    pub fn memory(&self, what: &str) -> f64 {
        memory(&self.process.id().to_string(), what)
    }

    /// Processor time so far.
    pub fn cpu_seconds(&self) -> f64 {
        cpu_seconds(&self.process.id().to_string())
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _ended = self.process.wait();
    }
}

/// A size of a process in megabytes.
pub fn memory(process: &str, what: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(':'));
    let kilobytes = line.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or(f64::NAN) / 1024.0
}

/// Processor time of a process so far; Linux tells it in hundredths of a second.
pub fn cpu_seconds(process: &str) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = after_name.split_whitespace().skip(11).take(2).filter_map(|text| text.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}
