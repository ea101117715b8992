//! No check is quadratic in the objects: in a cluster of 10,000 in trouble it looks at about as many for
//! each as in a small one. The few that compare objects with each other are named. Counted, not timed.

use std::collections::BTreeSet;
use std::path::Path;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::check::Check;
use crate::cluster::Cluster;
use crate::longhorn::Resource;
use crate::longhorn::store::looks;
use crate::source::recording::{RecordedFile, Recording};
use crate::testing::{NAMESPACE, scenario_files};

/// Kinds of which a cluster has as many as it has nodes or volumes.
const MANY: &[&str] = &[
    "Node", "InstanceManager", "Engine", "Replica", "Volume", "VolumeAttachment", "BackingImage",
    "BackingImageManager", "BackingImageDataSource", "Orphan", "ShareManager", "Backup", "Pod", "Event",
    "PodDisruptionBudget", "CSINode",
];

/// Recordings in which much is wrong at once.
const TROUBLE: &[&str] =
    &["src/source/demo", "tests/scenarios/volumes-degraded", "tests/scenarios/volumes-not-attached"];

/// Checks that compare each of few with all of some, and what they are.
const COMPARED: &[(&str, &str)] = &[
    ("driver_deployer_blocked", "pods of the deployer, of which a cluster has one, with managers"),
    ("instance_manager_replaced", "instance managers that ended with what else ended then"),
    ("manager_crash_loop", "managers that crash with the other managers and with Events"),
    ("manager_start_stuck", "managers that hang with the other managers"),
    ("operation_stalled", "backing images that stand still with the volumes that may wait for them"),
    ("replica_unschedulable", "volumes that lack a place with nodes that have none"),
    ("volume_attachment_stuck", "nodes on which no engine starts with engines elsewhere"),
];
/// What these may look at for each of 10,000 objects.
const COMPARISONS: usize = 30;

fn objects(scenario: &str) -> Vec<Value> {
    let path = Path::new(crate::testing::ROOT).join(scenario);
    match scenario.starts_with("tests/") {
        true => scenario_files::objects(&path),
        false => scenario_files::documents(&std::fs::read_to_string(path.join("cluster.yaml")).unwrap()),
    }
}

/// What names an object that is multiplied: its name, its uid, and the UUIDs of its disks.
fn names(objects: &[Value]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for object in objects.iter().filter(|object| is_many(object)) {
        names.extend(
            ["name", "uid"].map(|key| object["metadata"][key].as_str().unwrap_or_default().to_owned()),
        );
        for disk in object["status"]["diskStatus"].as_object().into_iter().flat_map(|disks| disks.values()) {
            names.insert(disk["diskUUID"].as_str().unwrap_or_default().to_owned());
        }
    }
    names.remove("");
    names
}

fn is_many(object: &Value) -> bool {
    MANY.iter().any(|kind| object["kind"] == *kind)
}

/// The same with other names, wherever they stand.
fn renamed(value: &Value, names: &BTreeSet<String>, copy: usize) -> Value {
    let rename = |text: &String| if names.contains(text) { format!("{text}-{copy}") } else { text.clone() };
    match value {
        Value::String(text) => Value::String(rename(text)),
        Value::Array(items) => items.iter().map(|item| renamed(item, names, copy)).collect(),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, value)| (rename(key), renamed(value, names, copy))).collect())
        }
        other => other.clone(),
    }
}

/// So many of these clusters in one.
fn multiplied(objects: &[Value], copies: usize) -> Cluster {
    let (names, (many, few)) =
        (names(objects), objects.iter().partition::<Vec<&Value>, _>(|object| is_many(object)));
    let mut items: Vec<Value> = few.into_iter().cloned().collect();
    items.extend(
        (0..copies)
            .flat_map(|copy| many.iter().map(|object| renamed(object, &names, copy)).collect::<Vec<_>>()),
    );
    let content = json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string().into_bytes();
    let file = RecordedFile { name: "many.json".to_owned(), content };
    let recording = Recording::from_files([file], NAMESPACE, Timestamp::MAX).unwrap();
    recording.into_cluster(NAMESPACE, None)
}

/// How many objects a check looks at, and how many there are.
fn looks(cluster: &Cluster, check: &Check) -> (usize, usize) {
    let looks = looks::during(|| drop(evaluate_only(&checks::CATALOGUE, cluster, |one| one.id == check.id)));
    (looks, Resource::all().map(|kind| cluster.objects.count(kind)).sum())
}

#[test]
fn no_check_is_quadratic() {
    let mut quadratic = BTreeSet::new();
    for scenario in TROUBLE {
        let objects = objects(scenario);
        let many = objects.iter().filter(|object| is_many(object)).count();
        let copies = 13_000_usize.div_ceil(many);
        let (small, large) = (multiplied(&objects, copies / 8), multiplied(&objects, copies));
        // the joins that several checks share
        evaluate(&checks::CATALOGUE, &small);
        evaluate(&checks::CATALOGUE, &large);
        for check in checks::CATALOGUE.checks {
            let ((few, among), (all, of)) = (looks(&small, check), looks(&large, check));
            assert!(of >= 10_000, "{scenario}: {of}");
            // a quadratic one looks at eight times as many for each
            let (each, before) = (all / of, few / among + 1);
            if each > 2 * before {
                quadratic.insert(check.id);
            }
            assert!(each <= COMPARISONS, "{scenario}: {} looks at {all} objects of {of}", check.id);
        }
    }
    let unnamed = quadratic.iter().filter(|id| !COMPARED.iter().any(|(check, _)| check == *id));
    assert_eq!(unnamed.collect::<Vec<_>>(), Vec::<&&str>::new());
}
