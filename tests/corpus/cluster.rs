//! A recording of a small cluster, healthy but for what a case says.

#[path = "cluster/managers.rs"]
mod managers;
#[path = "cluster/services.rs"]
mod services;
#[path = "cluster/volumes.rs"]
mod volumes;

use std::collections::{BTreeMap, BTreeSet};

use longhorn_health_exporter::longhorn::resource::TABLE;
use serde::Deserialize;
use serde_json::{Value, json};
use testing::fixture::{Fixture, minor};

use super::Case;
use managers::{manager_set, managers};
use services::*;

/// The day and the moment of every recording.
const DAY: &str = "2026-03-01";
const NOW: &str = "2026-03-01T12:00:00Z";
const NODES: [&str; 5] = ["node-1", "node-2", "node-3", "node-4", "node-5"];

/// What a case says of its cluster. What it leaves out is as in a healthy cluster of the release.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// True for an installation in which no manager has finished a start yet.
    fresh: bool,
    /// How many nodes there are, two without it.
    nodes: Option<usize>,
    /// True with the CSI plugin on each node.
    csi: bool,
    /// `current-longhorn-version`, if another release than that of the image.
    installed: Option<String>,
    /// How the managers are; of a healthy cluster without it.
    manager: Option<Manager>,
    /// The last log of the manager on node-1.
    log: String,
    /// The log of its present run.
    current_log: String,
    /// The last logs of other pods, by pod.
    crash_logs: BTreeMap<String, String>,
    /// The logs of their present runs.
    logs: BTreeMap<String, String>,
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
    /// Values of settings.
    settings: BTreeMap<String, String>,
    /// How many orphans a node has.
    orphans: BTreeMap<String, usize>,
    /// Its Events, a line for each.
    events: Vec<String>,
    /// Objects that are written out, as YAML documents.
    objects: String,
    /// `KIND NAME`: what differs from this cluster (src/testing/fixture.rs). `volume NAME` are all objects of a volume, attached and
    /// healthy but for what is said of them.
    #[serde(flatten)]
    differences: BTreeMap<String, Value>,
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
            || !self.crash_logs.is_empty()
            || !self.logs.is_empty()
            || self.deployer.as_ref().is_some_and(|deployer| !deployer.log.is_empty())
    }
}

/// A fresh installation in which only the manager on the first node has trouble.
fn others_started(case: &Case) -> bool {
    case.cluster.manager.as_ref().is_some_and(|manager| manager.one)
}

/// The nodes of the cluster.
fn nodes_of(case: &Case) -> &'static [&'static str] {
    &NODES[..case.cluster.nodes.unwrap_or(2)]
}

fn is_bad(case: &Case, node: &str) -> bool {
    case.cluster.manager.as_ref().is_some_and(|manager| !manager.one || node == NODES[0])
}

/// Whether managers of the release queue for the webhook Lease.
fn queues(release: &str) -> bool {
    minor(release) >= 8 || ["v1.6.4", "v1.7.3", "v1.7.4"].contains(&release)
}

fn before(seconds: i64) -> String {
    let now: jiff::Timestamp = NOW.parse().unwrap();
    (now - jiff::SignedDuration::from_secs(seconds)).to_string()
}

/// The cluster of a case.
pub fn fixture(case: &Case) -> Fixture {
    let facts = &case.cluster;
    let installed = facts.installed.as_deref().unwrap_or(&case.release);
    let is_volume = |(head, facts): (_, _)| Some((str::strip_prefix(head, "volume ")?, facts));
    let volumes = facts.differences.iter().map(|(head, facts)| (head.as_str(), facts)).filter_map(is_volume);
    let mut cluster = Fixture::new(&case.release, installed, DAY);
    nodes(case, &mut cluster);
    settings(case, installed, &mut cluster);
    manager_set(case, &mut cluster);
    managers(case, &mut cluster);
    webhooks(case, &mut cluster);
    leases(case, &mut cluster);
    instance_managers(case, &mut cluster);
    deployer(case, &mut cluster);
    refused_probes(case, &mut cluster);
    csi(case, &mut cluster);
    for (name, facts) in volumes {
        let volume: volumes::VolumeFacts = serde_json::from_value(facts.clone()).unwrap();
        volume.write(name, &nodes_of(case)[..nodes_of(case).len().min(2)], &mut cluster);
    }
    for (node, count) in &facts.orphans {
        for at in 0..*count {
            cluster.with(
                &format!("lh/Orphan orphan-{node}-{at}"),
                json!({"node": node, "data": format!("pvc-{at}-a")}),
            );
        }
    }
    cluster.event("12:00:00Z Normal Pulled Pod/longhorn-ui: Successfully pulled image");
    for document in facts.objects.split("---\n").filter(|text| !text.trim().is_empty()) {
        cluster.put(serde_yaml::from_str(document).unwrap());
    }
    facts.events.iter().for_each(|line| cluster.event(line));
    for (name, value) in &facts.settings {
        cluster.with(&format!("lh/Setting {name}"), json!({ "value": value }));
    }
    for (head, difference) in facts.differences.iter().filter(|(head, _)| !head.starts_with("volume ")) {
        cluster.with(head, difference.clone());
    }
    cluster.retain(|head| !facts.without.iter().any(|kind| head.starts_with(&format!("{kind} "))));
    cluster
}

/// The recording of a case: the objects, what `record` writes of kinds that have none, and the logs.
pub fn files(case: &Case, with_log: bool) -> Vec<(String, String)> {
    let facts = &case.cluster;
    let cluster = fixture(case);
    let mut text = String::new();
    for object in cluster.objects() {
        text += &format!("---\n{object}\n");
    }
    let mut files = vec![("cluster.yaml".to_owned(), text)];
    let present: BTreeSet<&str> = cluster.heads().filter_map(|head| head.split(' ').next()).collect();
    for kind in TABLE {
        let name =
            if kind.group == "longhorn.io" { format!("lh/{}", kind.kind) } else { kind.kind.to_owned() };
        let known = minor(&case.release) >= kind.since.map_or(0, minor);
        if known && !present.contains(name.as_str()) && !facts.without.contains(&name) {
            files.push((
                format!("{}.yaml", kind.resource),
                "apiVersion: v1\nkind: List\nitems: []\n".to_owned(),
            ));
        }
    }
    let of_deployer = facts.deployer.as_ref().map(|deployer| deployer.log.as_str()).unwrap_or_default();
    let logs = [
        ("longhorn-manager-1.longhorn-manager.previous.log", facts.log.as_str()),
        ("longhorn-manager-1.longhorn-manager.log", &facts.current_log),
        ("longhorn-driver-deployer-1.longhorn-driver-deployer.previous.log", of_deployer),
    ];
    let logs = logs.map(|(name, log)| (name.to_owned(), log.to_owned())).into_iter();
    let logs = logs.chain(by_pod(&facts.crash_logs, ".previous")).chain(by_pod(&facts.logs, ""));
    files.extend(logs.filter(|(_, log)| with_log && !log.is_empty()));
    files
}

/// Files of logs of pods, each of the container that its pod is named after.
fn by_pod<'a>(logs: &'a BTreeMap<String, String>, which: &'a str) -> impl Iterator<Item = (String, String)> {
    logs.iter().map(move |(pod, log)| {
        let container = match pod.starts_with("instance-manager") {
            true => "instance-manager",
            false => pod.rsplit_once('-').map_or(pod.as_str(), |(workload, _)| workload),
        };
        (format!("{pod}.{container}{which}.log"), log.clone())
    })
}

fn nodes(case: &Case, cluster: &mut Fixture) {
    for node in nodes_of(case) {
        let os = case.cluster.os.as_ref().map_or(json!({}), |os| json!({ "os": os }));
        cluster.with(&format!("Node {node}"), os);
        if !case.cluster.fresh || others_started(case) && *node != NODES[0] {
            cluster.with(&format!("lh/Node {node}"), json!({}));
        }
    }
}

fn settings(case: &Case, installed: &str, cluster: &mut Fixture) {
    if case.cluster.fresh && !others_started(case) {
        return;
    }
    let image = format!("longhornio/longhorn-instance-manager:{installed}");
    let values = [
        ("current-longhorn-version", installed),
        ("crd-api-version", "longhorn.io/v1beta2"),
        ("default-instance-manager-image", &image),
        ("default-engine-image", "longhornio/longhorn-engine:e"),
        ("priority-class", "longhorn-critical"),
    ];
    for (name, value) in values {
        cluster.with(&format!("lh/Setting {name}"), json!({ "value": value }));
    }
}
