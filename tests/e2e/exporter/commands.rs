//! Every kubectl command that a finding or a runbook prints is taken by the real kubectl and API server.
//!
//! Commands that change something run with `--dry-run=server`. There is no kubelet, so that of `kubectl logs` only the
//! pod and the container are proved; a column or a path that is in no recorded object fails.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use longhorn_health_exporter::source::Recording;
use regex::Regex;
use serde_json::Value;
use testing::evaluate;

use super::{NAMESPACE, bench, scenario, scenarios};
use crate::support::Bench;
use testing::scenario_files;

/// What cannot succeed here, by what kubectl says of it, and why that is no fault of the command.
const EXCUSED: &[(&str, &str)] = &[
    ("no preferred addresses found", "logs come from a kubelet"),
    ("Metrics API not available", "the metrics come from metrics-server"),
    ("pod is not running", "a port is forwarded by a kubelet"),
    ("timed out waiting for the condition", "nothing detaches a volume"),
    ("doesn't have a resource type \"helmchart\"", "the API server has no definitions of K3s"),
    ("no service port 9502 found", "no recording has the ports of the webhook's Service"),
    ("nodes \"value\" not found", "VALUE is another node there"),
    ("taint \"node.kubernetes.io/out-of-service\" not found", "the taint was not set"),
];

/// Kinds of which recordings have nothing, or only what a check reads, so that one of them may be missing.
const NOT_RECORDED: &[&str] = &[
    "settings.longhorn.io", "secrets", "persistentvolumes", "statefulsets", "volumeattachments.longhorn.io",
    "clusterrolebindings", "clusterroles", "configmaps", "daemonsets", "deployments", "jobs",
    "poddisruptionbudgets.policy", "leases.coordination.k8s.io", "cronjobs.batch",
    "networkpolicies.networking.k8s.io", "backups.longhorn.io", "systembackups.longhorn.io",
    "backingimagemanagers.longhorn.io", "backingimagedatasources.longhorn.io",
];

/// Fields of objects that are not recorded, or that recordings leave out. Those of Longhorn are in longhorn-manager v1.12.1
/// k8s/pkg/apis/longhorn/v1beta2 (engine.go, node.go, orphan.go, replica.go, volume.go).
const NOT_IN_RECORDINGS: &[&str] = &[
    ".data.ca\\.crt",
    ".data.tls\\.crt",
    ".data.tls\\.key",
    ".metadata.annotations",
    ".metadata.finalizers",
    ".spec.conversion.strategy",
    ".spec.dataSource",
    ".spec.disks.*.tags",
    ".spec.hostNetwork",
    ".spec.lastHealthyAt",
    ".spec.mountOptions",
    ".spec.nodeAffinity",
    ".spec.orphanType",
    ".spec.parameters.InstanceManager",
    ".spec.parameters.InstanceName",
    ".spec.persistentVolumeClaimRetentionPolicy.whenScaled",
    ".status.cloneStatus",
    ".status.diskStatus.default-disk-fd0100000.healthData",
    ".status.isExpanding",
    ".status.nodeInfo.architecture",
    ".status.purgeStatus",
    ".status.restoreStatus",
    ".status.storedVersions",
];

/// What the names in capitals in runbooks stand for in the world of [`WORLD`].
const NAMES: &[(&str, &str)] = &[
    ("CLAIM-NAMESPACE", NAMESPACE),
    ("CHART-NAMESPACE", NAMESPACE),
    ("BACKING-IMAGE", "ubuntu-24-04"),
    ("CONTAINER", "longhorn-manager"),
    ("SERVICE", "longhorn-admission-webhook"),
    ("WEBHOOK", "validatingwebhookconfigurations/longhorn-webhook-validator"),
    ("KIND", "systembackups.longhorn.io"),
    ("INSTANCE-MANAGER", "instance-manager-11f5d8822ec3e69f67d5e1ca773cc88e"),
    ("ENGINE-IMAGE", "ei-71f011ef"),
    ("OTHER-NODE", "worker-2"),
    ("DEPLOYMENT", "csi-attacher"),
    ("PERCENT", "150"),
    ("OLD-VALUE", "old"),
    ("DISK-UUID", "fef2ec9f-b965-4375-ad1f-3b781b265ad8"),
    ("NAMESPACE", NAMESPACE),
    ("MANAGER", "longhorn-manager-52a73"),
    ("ATTACHMENT", "attachment"),
    ("RESOURCE", "volumes.longhorn.io"),
    ("WORKLOAD", "workload"),
    ("RELEASE", "v1.12.1"),
    ("SETTING", "taint-toleration"),
    ("ORPHAN", "orphan"),
    ("TICKET", "csi-attacher-pvc-1004"),
    ("NUMBER", "1"),
    ("VALUE", "value"),
    ("DISK", "default-disk-fd0100000"),
    ("NAME", "backup-s3"),
    ("KEY", "default-disk-fd0100000"),
    ("REPLICA", "pvc-7c1d2f60-9a3b-4f0e-8f1c-0d5b2a9e4c11-r-0361b765"),
    ("BACKUP", "backup-0a11"),
    ("SECRET", "backup-s3"),
    ("VOLUME", "pvc-1004"),
    ("CLASS", "longhorn-critical"),
    ("IMAGE", "ubuntu-24-04"),
    ("NODE", "worker-1"),
    ("JOB", "nightly"),
];

/// What stands for a name that means another thing in each command.
const IN_CONTEXT: &[(&str, &str)] = &[
    ("can-i VALUE", "can-i list pods"),
    ("'VALUE'", "'{}'"),
    ("\"selector\":VALUE", "\"selector\":{\"app\":\"longhorn-manager\"}"),
    (":VALUE}", ":3}"),
    ("orphans.longhorn.io KEY", "orphans.longhorn.io orphan"),
    ("INSTANCE-MANAGER VALUE", "INSTANCE-MANAGER"),
    ("-c WORKLOAD", "-c CONTAINER"),
    ("get VALUE", "get KIND"),
    ("-c longhorn-liveness-probe", "-c CONTAINER"),
    // of the recorded pods this one has the container
    ("-l app=longhorn-csi-plugin -c node-driver-registrar", "POD -c node-driver-registrar"),
];

/// What OBJECT stands for, by the kind or label before it.
const OBJECTS: &[(&[&str], &str)] = &[
    (&["instancemanagers.longhorn.io", "poddisruptionbudgets", "poddisruptionbudget"], "INSTANCE-MANAGER"),
    (&["pod", "pods", "logs", "exec", "--containers", "involvedObject.name"], "POD"),
    (&["node", "nodes", "nodes.longhorn.io", "cordon", "uncordon", "drain", "spec.nodeName"], "NODE"),
    (
        &[
            "volumes.longhorn.io", "longhornvolume", "backup-volume", "volumeattachments.longhorn.io",
            "share-manager-",
        ],
        "VOLUME",
    ),
    (&["lease"], "NAME"),
    (&["backuptargets.longhorn.io"], "default"),
    (&["backups.longhorn.io"], "BACKUP"),
    (&["replicas.longhorn.io"], "REPLICA"),
    (&["engineimages.longhorn.io"], "ENGINE-IMAGE"),
    (&["backingimages.longhorn.io"], "IMAGE"),
    (&["settings.longhorn.io"], "SETTING"),
    (&["deployment", "deploy", "app"], "DEPLOYMENT"),
    (&["cronjob", "recurring-job.longhorn.io", "recurringjobs.longhorn.io"], "JOB"),
    (&["service", "service-name"], "SERVICE"),
    (&["engine-image", "engine-image-"], "ENGINE-IMAGE"),
    (&["backingimagemanagers.longhorn.io", "backingimagedatasources.longhorn.io"], "IMAGE"),
    (&["KIND"], "NAME"),
];

/// Recorded clusters that together have all that runbooks name.
const WORLD: &[&str] = &["volumes-faulted", "storage-unavailable", "backups-failing", "healthy-1.12"];

/// And what no recording has.
const MORE: &str = r#"
apiVersion: v1
kind: Secret
metadata: {name: backup-s3, namespace: longhorn-system}
stringData: {tls.crt: x, tls.key: x}
---
apiVersion: v1
kind: Pod
metadata: {name: backing-image-ds-ubuntu-24-04, namespace: longhorn-system}
spec: {nodeName: worker-1, containers: [{name: backing-image-data-source, image: longhornio/backing-image-manager:v1.12.1}]}
---
apiVersion: v1
kind: Pod
metadata: {name: longhorn-driver-deployer, namespace: longhorn-system}
spec:
  nodeName: worker-1
  initContainers: [{name: wait-longhorn-manager, image: longhornio/longhorn-manager:v1.12.1}]
  containers: [{name: longhorn-driver-deployer, image: longhornio/longhorn-manager:v1.12.1}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: longhorn-health-exporter, namespace: longhorn-system}
spec:
  selector: {matchLabels: {app: exporter}}
  template: {metadata: {labels: {app: exporter}}, spec: {containers: [{name: exporter, image: exporter}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: longhorn-health-exporter, namespace: longhorn-system, labels: {app: exporter}}
spec: {nodeName: worker-1, containers: [{name: exporter, image: exporter}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: workload, namespace: longhorn-system}
spec:
  serviceName: workload
  selector: {matchLabels: {app: workload}}
  template: {metadata: {labels: {app: workload}}, spec: {containers: [{name: workload, image: workload}]}}
---
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: attachment}
spec: {attacher: driver.longhorn.io, nodeName: worker-1, source: {persistentVolumeName: pvc-1004}}
---
apiVersion: longhorn.io/v1beta2
kind: Orphan
metadata: {name: orphan, namespace: longhorn-system}
"#;

#[tokio::test]
async fn every_command_of_every_finding_is_accepted() -> Result<()> {
    let Some(bench) = bench("finding-commands").await? else { return Ok(()) };
    let mut runs = Runs::new()?;
    for path in scenarios::all()? {
        let name = path.file_name().and_then(|name| name.to_str()).context("no name")?.to_owned();
        let commands = commands_of(&path)?;
        let loaded = scenarios::load(&bench, &path).await.with_context(|| name.clone())?;
        let names: BTreeSet<&str> = loaded
            .iter()
            .filter_map(|object| object.pointer("/metadata/name").and_then(Value::as_str))
            .collect();
        for command in &commands {
            runs.run(&bench, &name, command, &names)?;
        }
        bench.delete_all(&loaded).await?;
    }
    runs.finish(100, Vec::new())
}

#[tokio::test]
async fn every_command_of_every_runbook_is_accepted() -> Result<()> {
    let Some(bench) = bench("runbook-commands").await? else { return Ok(()) };
    bench.load_recorded(&world()?).await?;
    bench.apply(MORE).await?;
    let mut runs = Runs::new()?;
    for (runbook, command) in runbook_commands()? {
        let command = match named(&command, &runs.capitals) {
            Ok(command) => command,
            Err(error) => {
                runs.wrong.push(format!("{runbook}: {command}\n  {error}"));
                continue;
            }
        };
        for setting in settings(&command) {
            bench.apply(&setting_object(&setting)).await?;
        }
        runs.run(&bench, &runbook, &command, &BTreeSet::new())?;
    }
    runs.finish(80, Vec::new())
}

/// Commands that were run, and what came of them.
pub struct Runs {
    /// Commands without the names of objects: one of each kind is enough.
    shapes: BTreeSet<String>,
    /// Paths of columns and of jsonpath.
    fields: BTreeSet<String>,
    wrong: Vec<String>,
    field: Regex,
    capitals: Regex,
}

impl Runs {
    pub fn new() -> Result<Self> {
        Ok(Runs {
            shapes: BTreeSet::new(),
            fields: BTreeSet::new(),
            wrong: Vec::new(),
            field: Regex::new(r"-o (?:custom-columns=(?<columns>'[^']+'|\S+)|jsonpath='(?<paths>[^']+)')")?,
            capitals: Regex::new(r"(?:^|[^A-Za-z-])(?<name>[A-Z][A-Z-]{2,})(?:[^A-Za-z:-]|$)")?,
        })
    }

    /// True for a kind of command that has not been run yet.
    pub fn is_new(&self, command: &str, names: &BTreeSet<&str>) -> bool {
        !self.shapes.contains(&shape(command, names))
    }

    pub fn run(&mut self, bench: &Bench, of: &str, command: &str, names: &BTreeSet<&str>) -> Result<()> {
        if let Some(found) = self.field.captures(command) {
            let columns = found.name("columns").map_or("", |columns| columns.as_str());
            let columns = columns.trim_matches('\'').split(',').filter_map(|column| column.split_once(':'));
            self.fields.extend(columns.map(|(_, path)| path.to_owned()));
            let paths = found.name("paths").map_or("", |paths| paths.as_str());
            let paths = paths.split('{').filter_map(|part| part.split_once('}'));
            self.fields.extend(paths.map(|(path, _)| path.to_owned()).filter(|path| path.starts_with('.')));
        }
        // a manifest from the internet
        if command.contains("https://") {
            return Ok(());
        }
        if !self.shapes.insert(shape(command, names)) {
            return Ok(());
        }
        let mut shell = bench.command(Path::new("sh"))?;
        let tools = bench.tools().kubectl.parent().context("kubectl without a directory")?.to_owned();
        let path = std::env::var("PATH").unwrap_or_default();
        shell
            .env("KUBE_EDITOR", "true")
            .env("PATH", format!("{}:{path}", tools.display()))
            .args(["-c", "exec timeout 60 sh -c \"$0\""])
            .arg(dry(command));
        let output = shell.output()?;
        let (told, out) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
        // a right that is not there is an answer, too
        let answered = command.contains(" auth can-i ") && matches!(out.trim(), "yes" | "no");
        if !output.status.success() && !answered && !is_excused(command, &told) {
            self.wrong.push(format!("{of}: {command}\n  {}", told.trim()));
            return Ok(());
        }
        Ok(())
    }

    pub fn finish(self, least: usize, mut objects: Vec<Value>) -> Result<()> {
        for path in scenarios::all()? {
            objects.extend(scenarios::ending_now(&path)?);
        }
        let known = |field: &&String| {
            let field = field.trim_start_matches(".items[*]");
            NOT_IN_RECORDINGS.contains(&field) || objects.iter().any(|object| has(object, field))
        };
        let unknown: Vec<_> = self.fields.iter().filter(|field| !known(field)).collect();
        println!("{} kinds of commands, {} columns and paths", self.shapes.len(), self.fields.len());
        ensure!(self.wrong.is_empty(), "{} refused:\n{}", self.wrong.len(), self.wrong.join("\n"));
        ensure!(unknown.is_empty(), "no object has {unknown:?}");
        ensure!(self.shapes.len() >= least, "only {} commands were found", self.shapes.len());
        Ok(())
    }
}

/// Whether the object has what a path leads to, as far as the path is plain.
fn has(object: &Value, path: &str) -> bool {
    let plain = path.split('[').next().unwrap_or_default().trim_start_matches('.');
    let mut steps = plain.split('.').filter(|step| !step.is_empty());
    path.starts_with("..") || steps.try_fold(object, |at, step| at.get(step)).is_some()
}

fn is_excused(command: &str, told: &str) -> bool {
    // workloads are not recorded, nor are their namespaces
    let of_workload = command.contains(" -n ") && !command.contains(&format!(" -n {NAMESPACE} "));
    let missing = |kind: &&str| told.contains(&format!("(NotFound): {kind}")) && told.contains("not found");
    of_workload && told.contains("(NotFound)")
        || EXCUSED.iter().any(|(says, _)| told.contains(says))
        || NOT_RECORDED.iter().any(missing)
}

/// The command without the names of recorded objects.
fn shape(command: &str, names: &BTreeSet<&str>) -> String {
    let word = |word: &str| if names.contains(word) { "NAME".to_owned() } else { word.to_owned() };
    command.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// The command so that it changes nothing. A restart knows no dry run, and its Deployment is thrown away.
fn dry(command: &str) -> String {
    const CHANGING: [&str; 8] =
        [" delete ", " patch ", " taint ", " cordon ", " uncordon ", " scale ", " drain ", " label "];
    let command = &command.replace("--timeout=5m", "--timeout=1s");
    match CHANGING.iter().any(|verb| command.contains(verb)) {
        true => format!("{command} --dry-run=server"),
        false => command.to_owned(),
    }
}

/// What the findings of a scenario print.
fn commands_of(path: &Path) -> Result<BTreeSet<String>> {
    Ok(printed(scenarios::recording(scenario_files::files(path))?))
}

/// What the findings of a recording print.
pub fn printed(recording: Recording) -> BTreeSet<String> {
    let findings = evaluate(&recording.into_cluster(NAMESPACE, None)).report.findings;
    let lines = findings.iter().flat_map(|finding| finding.remedy.commands.iter());
    lines.flat_map(|command| kubectl(&command.run)).collect()
}

/// The objects of all recordings of [`WORLD`]; of two with one name the first.
fn world() -> Result<Vec<Value>> {
    let mut objects: BTreeMap<String, Value> = BTreeMap::new();
    for name in WORLD {
        for object in scenarios::ending_now(&scenario(name))? {
            let names = ["/apiVersion", "/kind", "/metadata/name"].map(|at| object.pointer(at).cloned());
            objects.entry(format!("{names:?}")).or_insert(object);
        }
    }
    Ok(objects.into_values().collect())
}

/// What the runbooks print, in code blocks and within sentences.
fn runbook_commands() -> Result<Vec<(String, String)>> {
    let spans = Regex::new(r"`(kubectl [^`]+ [^`]+)`")?;
    let mut found = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/runbooks");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(root)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.sort();
    for file in files {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let text = std::fs::read_to_string(&file)?;
        let mut code = false;
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                code = !code;
            } else if code {
                found.extend(kubectl(line).into_iter().map(|command| (name.clone(), command)));
            }
        }
        for span in spans.captures_iter(&text) {
            found.extend(kubectl(&span[1]).into_iter().map(|command| (name.clone(), command)));
        }
    }
    Ok(found)
}

/// The calls of kubectl in a line of shell, without what they are piped into.
fn kubectl(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find("kubectl ") {
        let call = &rest[at..];
        let mut quote = None;
        let end = call.char_indices().find(|(place, c)| match quote {
            Some(open) if *c == open => {
                quote = None;
                false
            }
            Some(_) => false,
            None if matches!(c, '\'' | '"') => {
                quote = Some(*c);
                false
            }
            None => {
                matches!(c, '|' | '&' | ';' | ')')
                    || [" #", " 2>"].iter().any(|end| call[*place..].starts_with(end))
            }
        });
        let end = end.map_or(call.len(), |(place, _)| place);
        found.push(call[..end].trim().to_owned());
        rest = &call[end..];
    }
    found
}

/// The command with the names of objects that exist.
fn named(command: &str, capitals: &Regex) -> Result<String> {
    let pod = match command {
        _ if command.contains("csi-plugin") || command.contains("node-driver-registrar") => {
            "longhorn-csi-plugin-worker-1"
        }
        _ if command.contains("-c longhorn-driver-deployer")
            || command.contains("-c wait-longhorn-manager") =>
        {
            "longhorn-driver-deployer"
        }
        _ => "longhorn-manager-52a73",
    };
    // what a finding is about is of the kind that the word before it names
    let asked = |word: &str| OBJECTS.iter().find(|(kinds, _)| kinds.contains(&word)).map(|(_, name)| *name);
    let mut filled = String::new();
    let mut rest = command;
    while let Some((before, after)) = rest.split_once("OBJECT") {
        let word = before
            .trim_end_matches([' ', '=', '/', '\''])
            .rsplit([' ', ',', '(', '=', '/'])
            .next()
            .unwrap_or_default();
        let object = asked(word).with_context(|| format!("no stand-in for OBJECT behind {word:?}"))?;
        filled = filled + before + object;
        rest = after;
    }
    let command =
        IN_CONTEXT.iter().fold(filled + rest, |command, (name, value)| command.replace(name, value));
    let known = NAMES.iter().copied().chain([("POD", pod)]);
    let named = known.fold(command, |command, (name, object)| command.replace(name, object));
    let left = capitals.captures(&named).map(|found| found["name"].to_owned());
    ensure!(left.is_none(), "nothing stands for {}", left.unwrap_or_default());
    Ok(named)
}

/// Settings that the command names. Recordings have those that a check reads.
fn settings(command: &str) -> Vec<String> {
    let Some((_, names)) = command.split_once("settings.longhorn.io ") else { return Vec::new() };
    names.split(' ').take_while(|word| !word.starts_with('-')).map(str::to_owned).collect()
}

fn setting_object(name: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Setting\nmetadata: {{name: {name}, namespace: {NAMESPACE}}}\nvalue: ''\n"
    )
}
