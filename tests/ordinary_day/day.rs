//! The cluster of the day: objects on an API server, followed by the watches of the exporter, and a clock that the test moves.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use fake_apiserver::{FakeApiServer, ResourceDef};
use jiff::{SignedDuration, Timestamp};
use longhorn_health_exporter::check::Severity;
use longhorn_health_exporter::checks;
use longhorn_health_exporter::longhorn::Resource;
use longhorn_health_exporter::longhorn::resource::TABLE;
use longhorn_health_exporter::source::connect::Connection;
use longhorn_health_exporter::source::{Live, LiveOptions, Source};
use serde_json::{Value, json};
use testing::evaluate;

use testing::scenario_files;

pub const NAMESPACE: &str = "longhorn-system";
pub const NODES: [&str; 3] = ["worker-1", "worker-2", "worker-3"];
/// The volume of the recording that is attached all day.
pub const VOLUME: &str = "pvc-7c1d2f60-9a3b-4f0e-8f1c-0d5b2a9e4c11";

thread_local! {
    /// Minutes since midnight. Each test has a thread, and the exporter's tasks run on it.
    static MINUTE: Cell<i64> = const { Cell::new(0) };
}

/// The clock of the exporter.
fn clock() -> Timestamp {
    let midnight: Timestamp = "2026-03-02T00:00:00Z".parse().unwrap();
    midnight + SignedDuration::from_mins(MINUTE.get())
}

/// What was found of one cause.
pub struct Found {
    pub severity: Severity,
    pub minutes: Vec<i64>,
    pub example: String,
}

pub struct Day {
    pub minute: i64,
    pub json: BTreeMap<(Resource, String), Value>,
    /// What the upgrade brings.
    pub next: Vec<Value>,
    /// By check and cause.
    pub found: BTreeMap<String, Found>,
    pub unknown: BTreeSet<String>,
    pub minutes_degraded: i64,
    server: FakeApiServer,
    live: Live,
    /// Changes that the watch of each kind has to bring.
    sent: BTreeMap<Resource, u64>,
}

impl Day {
    /// Longhorn 1.9 and an exporter that has watched it for twelve hours.
    pub async fn begin() -> Self {
        MINUTE.set(-12 * 60);
        let server = FakeApiServer::start().await;
        server.serve_builtin();
        for info in TABLE.iter().filter(|info| info.resource.is_longhorn()) {
            let version = format!("{}/{}", info.group, info.version);
            server.serve(ResourceDef::custom(&version, info.plural, info.kind));
        }
        let mut objects = healthy("1.9");
        objects.push(csi("csi-1ddd4c28", VOLUME, "worker-1", "2026-03-01T08:00:00Z"));
        server.load(objects.clone());
        let json = objects.into_iter().map(|object| (key(&object), object)).collect();
        let directory = tempfile::tempdir().unwrap();
        let kubeconfig = directory.path().join("kubeconfig");
        std::fs::write(&kubeconfig, server.kubeconfig_yaml()).unwrap();
        let connection =
            Connection::open(Some(&kubeconfig), None, std::time::Duration::from_secs(10)).await.unwrap();
        let live =
            Live::start(connection.client(), LiveOptions::new(NAMESPACE, clock, checks::CATALOGUE.kinds()));
        live.synced().await;
        let mut day = Day {
            minute: 0,
            json,
            next: healthy("1.10"),
            found: BTreeMap::new(),
            unknown: BTreeSet::new(),
            minutes_degraded: 0,
            server,
            live,
            sent: BTreeMap::new(),
        };
        day.look().await;
        assert!(
            day.found.values().all(|found| found.severity == Severity::Info),
            "the day begins in good order"
        );
        day
    }

    pub fn at(&mut self, minute: i64) {
        self.minute = minute;
        MINUTE.set(minute);
    }

    pub fn now(&self) -> Timestamp {
        clock()
    }

    pub fn put(&mut self, object: Value) {
        let key = key(&object);
        self.server.put(&key.0.to_string(), object.clone());
        *self.sent.entry(key.0).or_default() += 1;
        self.json.insert(key, object);
    }

    pub fn edit(&mut self, resource: Resource, name: &str, change: impl FnOnce(&mut Value)) {
        let object = self.json.get(&(resource, name.to_owned()));
        let mut object = object.unwrap_or_else(|| panic!("no {resource} {name}")).clone();
        change(&mut object);
        self.put(object);
    }

    pub fn remove(&mut self, resource: Resource, name: &str) {
        let object = self.json.remove(&(resource, name.to_owned()));
        let object = object.unwrap_or_else(|| panic!("no {resource} {name}"));
        assert!(self.server.delete(&resource.to_string(), text(&object, "/metadata/namespace"), name));
        *self.sent.entry(resource).or_default() += 1;
    }

    pub fn names(&self, resource: Resource, wanted: impl Fn(&Value) -> bool) -> Vec<String> {
        let all = self.json.iter().filter(|((of, _), object)| *of == resource && wanted(object));
        all.map(|((_, name), _)| name.clone()).collect()
    }

    pub fn on_node(&self, resource: Resource, node: &str, label: &str) -> Vec<String> {
        self.names(resource, |pod| {
            text(pod, "/spec/nodeName") == node && pod["metadata"]["labels"].to_string().contains(label)
        })
    }

    /// Judges the cluster once every change of the minute has arrived, as the exporter does, and notes what it finds.
    pub async fn look(&mut self) {
        self.arrive().await;
        let now = self.now();
        let evaluation = evaluate(&self.live.snapshot(now));
        for finding in &evaluation.report.findings {
            let entry =
                self.found.entry(format!("{}/{}", finding.check, finding.cause)).or_insert_with(|| Found {
                    severity: finding.severity,
                    minutes: Vec::new(),
                    example: finding.message.clone(),
                });
            entry.severity = entry.severity.max(finding.severity);
            entry.minutes.push(self.minute);
        }
        for unknown in &evaluation.report.unknown {
            self.unknown.insert(format!("minute {}: {}: {}", self.minute, unknown.check, unknown.reason));
        }
        self.minutes_degraded += i64::from(evaluation.report.cluster.volumes_by_robustness["degraded"] > 0);
        self.live.keep_observed(evaluation.observed, &evaluation.blind, now);
    }

    /// A watch counts an event as it takes it in, on this thread.
    async fn arrive(&self) {
        let all_here = || {
            let totals = self.live.totals();
            self.sent.iter().all(|(resource, sent)| totals[resource].events >= *sent)
        };
        let waiting = async {
            while !all_here() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), waiting).await;
        assert!(waited.is_ok(), "minute {}: changes did not arrive: {:?}", self.minute, self.sent);
    }

    /// The free space of disks in use changes all the time, but that of a node whose manager hangs.
    pub fn disks_fill(&mut self, hanging: Option<&str>) {
        let minute = self.minute;
        for (number, node) in (1..).zip(NODES).filter(|(_, node)| hanging != Some(node)) {
            self.edit(Resource::LonghornNodes, node, |node| {
                for disk in node["status"]["diskStatus"].as_object_mut().unwrap().values_mut() {
                    disk["storageAvailable"] = json!(180_000_000_000_i64 - minute * 4096 * number);
                }
            });
        }
    }

    pub fn is_cordoned(&self, node: &str) -> bool {
        self.json[&(Resource::KubeNodes, node.to_owned())]["spec"]["unschedulable"] == true
    }
}

fn healthy(release: &str) -> Vec<Value> {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    scenario_files::objects(&scenarios.join(format!("healthy-{release}")))
}

fn key(object: &Value) -> (Resource, String) {
    let resource = Resource::of(text(object, "/apiVersion"), text(object, "/kind")).unwrap();
    (resource, text(object, "/metadata/name").to_owned())
}

pub fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Sets one condition of a list of conditions.
pub fn condition(value: &mut Value, at: &str, kind: &str, status: &str, reason: &str, now: &str) {
    let list = value.pointer_mut(at).and_then(Value::as_array_mut).unwrap();
    list.retain(|condition| condition["type"] != kind);
    list.push(json!({"type": kind, "status": status, "reason": reason, "lastTransitionTime": now}));
}

/// An attachment of Kubernetes.
pub fn csi(name: &str, volume: &str, node: &str, now: &str) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": name, "creationTimestamp": now},
        "spec": {"attacher": "driver.longhorn.io", "nodeName": node, "source": {"persistentVolumeName": volume}}, "status": {"attached": false}})
}
