//! A recording of a small cluster, healthy but for the facts of a case.

#[path = "cluster/managers.rs"]
mod managers;
#[path = "cluster/services.rs"]
mod services;
#[path = "cluster/volumes.rs"]
mod volumes;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use longhorn_health_exporter::longhorn::resource::TABLE;
use serde::Deserialize;

use super::Case;
use managers::managers;
use services::*;

/// The moment of every recording.
const NOW: &str = "2026-03-01T12:00:00Z";
const NODES: [&str; 2] = ["node-1", "node-2"];
const NS: &str = "namespace: longhorn-system";

/// What a case says of its cluster. What it leaves out is as in a healthy cluster of the release.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// True for an installation in which no manager has finished a start yet.
    fresh: bool,
    /// True for a cluster of node-1 only.
    alone: bool,
    /// `current-longhorn-version`, if another release than that of the image.
    installed: Option<String>,
    /// How the managers are; of a healthy cluster without it.
    manager: Option<Manager>,
    /// The last log of the manager on node-1.
    log: String,
    /// The log of its present run.
    current_log: String,
    /// How the driver deployer is; there is none without it.
    deployer: Option<Deployer>,
    /// Flags of the managers, instead of those of the release.
    flags: Option<Vec<String>>,
    /// Environment variables of the managers, instead of those of the release.
    variables: Option<Vec<String>>,
    /// Port of the readiness probe, instead of that of the release.
    probe_port: Option<u16>,
    /// Image of the system of the nodes.
    os: Option<String>,
    /// Kinds that are not in the recording.
    without: Vec<String>,
    /// Objects of a healthy cluster that are not there, as `Pod/instance-manager-aio-node-1`.
    gone: Vec<String>,
    /// Volumes, attached and healthy but for what is said of them.
    volumes: BTreeMap<String, volumes::VolumeFacts>,
    /// How many orphans a node has.
    orphans: BTreeMap<String, usize>,
    /// Changes to objects, by `longhorn/Node/node-1`.
    change: BTreeMap<String, serde_json::Value>,
    /// Further objects, as YAML documents; `metadata` needs no namespace.
    objects: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Manager {
    /// True when only the manager on node-1 is like this.
    one: bool,
    /// True when there is no such pod.
    absent: bool,
    /// Exit code of the last run.
    exit: i64,
    /// Seconds of the last run.
    ran: i64,
    /// Reason of the last end.
    reason: Option<String>,
    /// Message of the last end or of the wait.
    message: String,
    restarts: i64,
    /// Reason of the wait; `CrashLoopBackOff` unless it says something else.
    waiting: Option<String>,
    /// True when the pod was Ready in its last run.
    was_ready: bool,
    /// How far the starts got: `nothing`, `lease`, `listener`, `service` or `upgrade`.
    reached: Reached,
    /// Minutes since the pods were made.
    age: Option<i64>,
    /// Minutes for which the container has been running again, Ready.
    runs: Option<i64>,
    /// Minutes for which the container has been running, not Ready.
    hangs: Option<i64>,
    /// The node that has held the webhook Lease for as long, and renews it.
    holder: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reached {
    #[default]
    Nothing,
    Lease,
    Listener,
    Service,
    Upgrade,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Deployer {
    /// True in its init container.
    waits: bool,
    /// Minutes since it was made.
    age: i64,
    /// Its last log.
    log: String,
}

impl Facts {
    pub fn has_log(&self) -> bool {
        !self.log.is_empty()
            || !self.current_log.is_empty()
            || self.deployer.as_ref().is_some_and(|deployer| !deployer.log.is_empty())
    }
}

/// A fresh installation in which only the manager on the first node has trouble.
fn others_started(case: &Case) -> bool {
    case.cluster.manager.as_ref().is_some_and(|manager| manager.one)
}

/// The nodes of the cluster.
fn nodes_of(case: &Case) -> &'static [&'static str] {
    if case.cluster.alone { &NODES[..1] } else { &NODES }
}

fn minor(release: &str) -> u32 {
    release.split('.').nth(1).unwrap().parse().unwrap()
}

/// Whether managers of the release queue for the webhook Lease.
fn queues(release: &str) -> bool {
    minor(release) >= 8 || ["v1.6.4", "v1.7.3", "v1.7.4"].contains(&release)
}

fn before(seconds: i64) -> String {
    let now: jiff::Timestamp = NOW.parse().unwrap();
    (now - jiff::SignedDuration::from_secs(seconds)).to_string()
}

/// Writes the recording of a case.
pub fn write(case: &Case, directory: &Path, with_log: bool) {
    let facts = &case.cluster;
    let mut yaml = String::new();
    for part in [nodes(case), settings(case), manager_set(case), managers(case), webhooks(case), leases(case)]
    {
        yaml += &part;
    }
    yaml += &instance_managers(case);
    yaml += &deployer(case);
    yaml += &refused_probes(case);
    yaml += &volumes::volumes(case);
    yaml += &volumes::orphans(case);
    yaml += &now();
    let mut documents: Vec<String> =
        yaml.split("---\n").filter(|text| !text.trim().is_empty()).map(str::to_owned).collect();
    for own in facts.objects.split("---\n").filter(|text| !text.trim().is_empty()) {
        let key = key_of(own);
        documents.retain(|document| key_of(document) != key);
        documents.push(own.to_owned());
    }
    for (key, change) in &facts.change {
        let is_it = |document: &&mut String| {
            let (kind, name) = key_of(document);
            format!("{kind}/{name}") == *key
        };
        let document =
            documents.iter_mut().find(is_it).unwrap_or_else(|| panic!("{}: no {key}", case.report));
        let mut object: serde_json::Value = serde_yaml::from_str(document).unwrap();
        volumes::merge(&mut object, change);
        *document = format!("{object}\n");
    }
    documents.retain(|document| {
        let (kind, name) = key_of(document);
        !facts.without.contains(&kind) && !facts.gone.contains(&format!("{kind}/{name}"))
    });
    std::fs::write(directory.join("cluster.yaml"), format!("---\n{}", documents.join("---\n"))).unwrap();
    write_empty(case, &documents, directory);
    if with_log && !facts.log.is_empty() {
        std::fs::write(directory.join("longhorn-manager-1.longhorn-manager.previous.log"), &facts.log)
            .unwrap();
    }
    if with_log && !facts.current_log.is_empty() {
        std::fs::write(directory.join("longhorn-manager-1.longhorn-manager.log"), &facts.current_log)
            .unwrap();
    }
    let of_deployer =
        facts.deployer.as_ref().map(|deployer| &deployer.log).filter(|log| with_log && !log.is_empty());
    if let Some(log) = of_deployer {
        let name = "longhorn-driver-deployer-1.longhorn-driver-deployer.previous.log";
        std::fs::write(directory.join(name), log).unwrap();
    }
}

/// What `record` writes of kinds that have no objects.
fn write_empty(case: &Case, documents: &[String], directory: &Path) {
    let present: Vec<_> = documents.iter().map(|document| key_of(document).0).collect();
    for kind in TABLE {
        let group = if kind.group == "longhorn.io" { "longhorn/" } else { "" };
        let name = format!("{group}{}", kind.kind);
        let since = kind.since.map_or(0, minor);
        if minor(&case.release) >= since && !present.contains(&name) && !case.cluster.without.contains(&name)
        {
            let file = directory.join(format!("{}.yaml", kind.resource));
            std::fs::write(file, "apiVersion: v1\nkind: List\nitems: []\n").unwrap();
        }
    }
}

/// Kind (with its group for Longhorn's own) and name of a document.
fn key_of(document: &str) -> (String, String) {
    let value: serde_json::Value =
        serde_yaml::from_str(document).unwrap_or_else(|error| panic!("{error}\n{document}"));
    let kind = value["kind"].as_str().unwrap();
    let group =
        if value["apiVersion"].as_str().unwrap().starts_with("longhorn.io") { "longhorn/" } else { "" };
    (format!("{group}{kind}"), value["metadata"]["name"].as_str().unwrap().to_owned())
}

fn now() -> String {
    format!(
        "apiVersion: v1\nkind: Event\nmetadata: {{name: clock, {NS}}}\nreason: Pulled\nlastTimestamp: '{NOW}'\n\
         involvedObject: {{kind: Pod, name: longhorn-ui}}\n---\n"
    )
}

fn nodes(case: &Case) -> String {
    let os = case.cluster.os.as_deref().unwrap_or("Ubuntu 24.04.2 LTS");
    let mut yaml = String::new();
    for node in nodes_of(case) {
        write!(
            yaml,
            "apiVersion: v1\nkind: Node\nmetadata: {{name: {node}, creationTimestamp: '2026-01-01T00:00:00Z'}}\n\
             status: {{conditions: [{{type: Ready, status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z'}}], \
             allocatable: {{cpu: '8'}}, nodeInfo: {{osImage: '{os}', kernelVersion: 6.8.0, kubeletVersion: v1.32.5, architecture: amd64}}}}\n---\n"
        )
        .unwrap();
        if !case.cluster.fresh || others_started(case) && *node != NODES[0] {
            write!(
                yaml,
                "apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {{name: {node}, {NS}}}\n\
                 spec: {{name: {node}, allowScheduling: true, disks: {{d: {{allowScheduling: true, path: /var/lib/longhorn}}}}}}\n\
                 status: {{conditions: [{{type: Ready, status: 'True'}}, {{type: Schedulable, status: 'True'}}, \
                 {{type: MountPropagation, status: 'True'}}], diskStatus: {{d: {{diskUUID: uuid-{node}, \
                 conditions: [{{type: Ready, status: 'True'}}, {{type: Schedulable, status: 'True'}}]}}}}}}\n---\n"
            )
            .unwrap();
        }
    }
    yaml
}

fn settings(case: &Case) -> String {
    if case.cluster.fresh && !others_started(case) {
        return String::new();
    }
    let installed = case.cluster.installed.as_deref().unwrap_or(&case.release);
    let image = format!("longhornio/longhorn-instance-manager:{installed}");
    let values = [
        ("current-longhorn-version", installed),
        ("crd-api-version", "longhorn.io/v1beta2"),
        ("default-instance-manager-image", &image),
        ("default-engine-image", "longhornio/longhorn-engine:e"),
        ("priority-class", "longhorn-critical"),
    ];
    let setting = |(name, value): &(&str, &str)| {
        format!(
            "apiVersion: longhorn.io/v1beta2\nkind: Setting\nmetadata: {{name: {name}, {NS}}}\nvalue: '{value}'\n---\n"
        )
    };
    values.iter().map(setting).collect()
}

/// Container `longhorn-manager` as the published manifest of the release has it.
fn container(case: &Case) -> String {
    let minor = minor(&case.release);
    let mut flags: Vec<String> = [
        "--engine-image", "--instance-manager-image", "--share-manager-image",
        "--backing-image-manager-image", "--manager-image", "--service-account",
    ]
    .map(str::to_owned)
    .to_vec();
    if minor >= 4 {
        flags.push("--support-bundle-manager-image".to_owned());
    }
    if minor >= 6 {
        flags.push("--upgrade-version-check".to_owned());
    }
    let flags = case.cluster.flags.clone().unwrap_or(flags);
    let registry = if minor >= 10 { "docker.io/" } else { "" };
    let im = format!("longhornio/longhorn-instance-manager:{}", case.release);
    let words: Vec<String> = flags
        .iter()
        .map(|flag| match flag.as_str() {
            "--upgrade-version-check" => flag.clone(),
            "--instance-manager-image" => format!("{flag}, '{im}'"),
            _ => format!("{flag}, x"),
        })
        .collect();
    let all = ["POD_NAME", "POD_NAMESPACE", "POD_IP", "NODE_NAME"].map(str::to_owned).to_vec();
    let variables = case.cluster.variables.clone().unwrap_or(all);
    let variables: Vec<_> = variables.iter().map(|name| format!("{{name: {name}}}")).collect();
    let port = case.cluster.probe_port.unwrap_or(if minor >= 10 { 9502 } else { 9501 });
    let probe = match minor {
        ..=4 => "tcpSocket: {port: 9500}".to_owned(),
        _ => format!("httpGet: {{path: /v1/healthz, port: {port}, scheme: HTTPS}}"),
    };
    format!(
        "{{name: longhorn-manager, image: '{registry}longhornio/longhorn-manager:{}', command: [longhorn-manager, -d, daemon, {}], \
         env: [{}], readinessProbe: {{{probe}}}}}",
        case.release,
        words.join(", "),
        variables.join(", ")
    )
}

fn manager_set(case: &Case) -> String {
    format!(
        "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {{name: longhorn-manager, {NS}, creationTimestamp: '2026-02-01T00:00:00Z'}}\n\
         spec: {{template: {{spec: {{containers: [{1}]}}}}}}\n\
         status: {{desiredNumberScheduled: {0}, updatedNumberScheduled: {0}, numberReady: {2}}}\n---\n",
        nodes_of(case).len(),
        container(case),
        nodes_of(case).iter().filter(|node| !is_bad(case, node)).count()
    )
}

fn is_bad(case: &Case, node: &str) -> bool {
    case.cluster.manager.as_ref().is_some_and(|manager| !manager.one || node == NODES[0])
}
