//! `record` against the real API server: what it writes is judged as the cluster that it was.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{ACCOUNT, NAMESPACE, RBAC, SOON, bench, scenario, scenarios};
use crate::support::{Kubelet, port};

const PROGRAM: &str = env!("CARGO_BIN_EXE_longhorn-health-exporter");
/// All managers crash in it, and their logs say why.
const SCENARIO: &str = "incident-004-webhook-deadlock";
const LOG: &str = "time=\"2026-03-01T11:56:11Z\" level=fatal msg=\"Error starting manager: environment check failed: failed to \
    execute: nsenter [iscsiadm --version]: exit status 127\"\n";
const SECRET: &str = "a-word-that-is-in-no-recording";

#[tokio::test]
async fn a_recording_is_judged_as_the_live_cluster() -> Result<()> {
    let Some(bench) = bench("record").await? else { return Ok(()) };
    let objects = scenarios::load(&bench, &scenario(SCENARIO)).await?;
    let kubelet = Kubelet::start(port::free()?).await?;
    let text =
        |object: &Value, at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
    for pod in objects.iter().filter(|object| text(object, "/metadata/labels/app") == "longhorn-manager") {
        if pod["kind"] == "Pod" {
            kubelet.take(&bench, &text(pod, "/spec/nodeName")).await?;
            kubelet.set_log(&text(pod, "/metadata/name"), "longhorn-manager", LOG);
        }
    }
    let token = bench.service_account_token(NAMESPACE, ACCOUNT).await?;
    let kubeconfig = bench.kubeconfig("recorder", &token)?;
    let directory = tempfile::tempdir()?;
    let volumes = objects.iter().filter(|object| object["kind"] == "Volume").count();
    let live = live(&kubeconfig, volumes).await?;
    ensure!(live.to_string().contains("open_iscsi_missing"), "the logs were read: {live}");

    // a person sees what is being read, a pipe does not
    let folder = directory.path().join("folder");
    let command = format!("{PROGRAM} record --kubeconfig={} -o {}", kubeconfig.display(), folder.display());
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &command, "/dev/null"]).env("TERM", "xterm");
    let watched = output(terminal).await?;
    let shown = String::from_utf8_lossy(&watched.stdout).into_owned();
    ensure!(shown.contains("\r\u{1b}[2Kreading pods") && shown.contains("logs recorded"), "{shown}");
    let archive = directory.path().join("archive.tar.gz");
    let piped = run(&["record", "-o", &archive.display().to_string()], &kubeconfig).await?;
    let told = String::from_utf8_lossy(&piped.stderr).into_owned();
    ensure!(!told.contains("\u{1b}") && told.contains("logs recorded"), "{told}");
    for recording in [&folder, &archive] {
        let recorded =
            verdict(&Command::new(PROGRAM).args(["check", "-o", "json", "--from"]).arg(recording).output()?)?;
        ensure!(recorded == live, "{}\nlive: {live:#}\nrecorded: {recorded:#}", recording.display());
    }
    // the commands for people who have kubectl alone, word by word
    let page = include_str!("../../../docs/recording.md");
    let (_, block) = page.split_once("## With kubectl alone").context("no section")?;
    let commands = block.split("```console\n").nth(1).and_then(|rest| rest.split("```").next());
    let mut shell = bench.command(Path::new("sh"))?;
    shell.args(["-c", commands.context("no commands")?]).current_dir(&directory);
    let tools = bench.tools().kubectl.parent().context("no directory")?.display().to_string();
    shell.env("PATH", format!("{tools}:{}", std::env::var("PATH")?));
    let typed = output(shell).await?;
    let told = String::from_utf8_lossy(&typed.stderr).into_owned();
    let report = Command::new(PROGRAM)
        .args(["check", "-o", "json", "--from"])
        .arg(directory.path().join("recording"))
        .output()?;
    ensure!(verdict(&report)? == live, "{told}\nlive: {live:#}\nrecorded: {:#}", verdict(&report)?);
    // nothing is overwritten
    ensure!(
        run(&["record", "-o", &archive.display().to_string()], &kubeconfig).await?.status.code() == Some(64)
    );
    Ok(())
}

#[tokio::test]
async fn what_may_not_be_read_is_named_and_secrets_are_not_asked_for() -> Result<()> {
    let Some(bench) = bench("record-rights").await? else { return Ok(()) };
    scenarios::load(&bench, &scenario("healthy-1.12")).await?;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"word": SECRET},
        "metadata": {"name": "backup-s3", "namespace": NAMESPACE}});
    bench.apply_value(&secret).await?;
    let directory = tempfile::tempdir()?;

    // a user who may read everything records no more
    let whole = directory.path().join("whole");
    let mut admin = bench.command(Path::new(PROGRAM))?;
    let output = admin.args(["record", "-o"]).arg(&whole).output()?;
    ensure!(output.status.code() == Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let files = files(&whole)?;
    ensure!(files.len() > 20, "{files:?}");
    for file in &files {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        ensure!(!name.contains("secret") && !std::fs::read_to_string(file)?.contains(SECRET), "{name}");
    }

    bench.delete(RBAC, "ClusterRoleBinding", NAMESPACE, "longhorn-health-exporter").await?;
    let token = bench.service_account_token(NAMESPACE, ACCOUNT).await?;
    let kubeconfig = bench.kubeconfig("recorder", &token)?;
    let part = directory.path().join("part.tar.gz");
    let output = run(&["record", "-o", &part.display().to_string()], &kubeconfig).await?;
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.code() == Some(2) && told.contains("warning: not recorded: nodes: "), "{told}");
    let report = Command::new(PROGRAM).args(["check", "-o", "json", "--from"]).arg(&part).output()?;
    let report: Value = serde_json::from_slice(&report.stdout)?;
    ensure!(report["unknown"].to_string().contains("nodes"), "{}", report["unknown"]);
    Ok(())
}

async fn run(args: &[&str], kubeconfig: &Path) -> Result<Output> {
    let mut command = Command::new(PROGRAM);
    command.args(args).arg(format!("--kubeconfig={}", kubeconfig.display()));
    output(command).await
}

/// Runs a program to its end; meanwhile the kubelet answers on this thread.
async fn output(mut command: Command) -> Result<Output> {
    Ok(tokio::task::spawn_blocking(move || command.output()).await??)
}

/// Status, exit code and every finding with what it is about.
/// What a look says that sees all volumes: caches of the API server may lack, for a moment, what was just created.
async fn live(kubeconfig: &Path, volumes: usize) -> Result<Value> {
    let began = Instant::now();
    loop {
        let output = run(&["check", "-o", "json"], kubeconfig).await?;
        let report: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
        if report["cluster"]["volumes"] == volumes || began.elapsed() > SOON {
            return verdict(&output);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

fn verdict(output: &Output) -> Result<Value> {
    let report: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let findings = report["findings"].as_array().context("no findings")?.iter();
    let findings: BTreeSet<String> = findings
        .map(|finding| {
            format!("{} {} {} {}", finding["severity"], finding["check"], finding["cause"], finding["object"])
        })
        .collect();
    Ok(json!({"status": report["status"], "exit": output.status.code(), "findings": findings}))
}

fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    std::fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect()
}
