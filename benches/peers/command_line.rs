//! What the commands cost that end, beside kubectl: `check`, the plans and `record` live, `check --from` of what was written.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::objects::NAMESPACE;
use crate::process::{cpu_seconds, memory};

/// The kinds that a person would ask kubectl for.
const KINDS: &str = "volumes.longhorn.io,engines.longhorn.io,replicas.longhorn.io,instancemanagers.longhorn.io,nodes.longhorn.io,\
                     settings.longhorn.io,pods,endpointslices";
/// How often a running command is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// Prints a line for each command.
pub fn measure(exporter: &Path, kubectl: &Path, kubeconfig: &Path) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let path = |name: &str| directory.path().join(name).to_string_lossy().into_owned();
    let (whole, packed, listed) = (path("recording"), path("recording.tar.gz"), path("kubectl.json"));
    let kubeconfig = kubeconfig.to_string_lossy().into_owned();
    let live = ["--kubeconfig", &kubeconfig, "--namespace", NAMESPACE];
    println!("{:34}   wall s    CPU s      MiB   written MB", "command");
    let own = |name: &str, arguments: &[&str], more: &[&str], written: &str| {
        let mut command = Command::new(exporter);
        command.args(arguments).args(more);
        line(name, command, None, written)
    };
    own("check", &["check"], &live, "")?;
    own("plan upgrade", &["plan", "upgrade"], &live, "")?;
    own("plan drain of all nodes", &["plan", "drain", "--all"], &live, "")?;
    own("plan loss", &["plan", "loss"], &live, "")?;
    own("record to a directory", &["record", "-o", &whole], &live, &whole)?;
    own("record to a tar.gz", &["record", "-o", &packed], &live, &packed)?;
    let get = |kinds: &str, to: &str| {
        let mut command = Command::new(kubectl);
        command.args(["--kubeconfig", &kubeconfig, "-n", NAMESPACE, "get", kinds, "-o", "json"]);
        line(&format!("kubectl get {} -o json", short(kinds)), command, Some(to), to)
    };
    get(KINDS, &listed)?;
    get("volumes.longhorn.io", &path("volumes.json"))?;
    own("check --from the directory", &["check", "--from", &whole], &[], "")?;
    own("check --from the tar.gz", &["check", "--from", &packed], &[], "")?;
    own("check --from kubectl's JSON", &["check", "--from", &listed], &[], "")?;
    Ok(())
}

fn short(kinds: &str) -> String {
    match kinds.split(',').count() {
        1 => kinds.split('.').next().unwrap_or(kinds).to_owned(),
        many => format!("{many} kinds"),
    }
}

/// Runs a command to its end. A finding is no failure of it.
#[allow(clippy::disallowed_methods, reason = "a bench measures")]
fn line(name: &str, mut command: Command, output: Option<&str>, written: &str) -> Result<()> {
    let stdout = match output {
        Some(path) => Stdio::from(File::create(path)?),
        None => Stdio::null(),
    };
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::null()).spawn()?;
    let id = child.id().to_string();
    let mut peak = 0.0_f64;
    // once it has ended it stays in the table of processes, with its processor time, until it is waited for
    while !has_ended(&id) {
        peak = peak.max(memory(&id, "VmHWM"));
        std::thread::sleep(LOOK);
    }
    let wall = begun.elapsed().as_secs_f64();
    let cpu = cpu_seconds(&id);
    let status = child.wait()?;
    let code = status.code().with_context(|| format!("{name} was ended by a signal"))?;
    anyhow::ensure!(code <= 2, "{name} ended with {code}");
    let size = size(Path::new(written)) / 1e6;
    let size = if size > 0.0 { format!("{size:.1}") } else { "–".to_owned() };
    println!("{name:34} {wall:8.2} {cpu:8.2} {peak:8.0} {size:>10}");
    Ok(())
}

fn has_ended(id: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with('Z'))
}

/// Of a file, or of all files of a directory.
fn size(path: &Path) -> f64 {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| size(&entry.path())).sum(),
        Err(_) => std::fs::metadata(path).map_or(0.0, |found| found.len() as f64),
    }
}
