//! `diff`: what began, ended and was changed between two recordings.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::scenario::files::objects;

/// Two recordings of one cluster, the second changed and an hour later.
fn recordings(directory: &Path, change: impl Fn(&mut Value)) {
    let healthy = objects(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios/healthy-1.12")));
    let mut changed = healthy.clone();
    changed.iter_mut().for_each(change);
    for (name, items) in [("old.json", healthy), ("new.json", changed)] {
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
        std::fs::write(directory.join(name), list.to_string()).unwrap();
    }
}

fn diff(directory: &Path, arguments: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_longhorn-health-exporter"));
    program.arg("diff").args(arguments).current_dir(directory).output().unwrap()
}

fn set(object: &mut Value, kind: &str, name: &str, pointer: &str, value: Value) {
    if object["kind"] == kind && object["metadata"]["name"] == name {
        *object.pointer_mut(pointer).unwrap() = value;
    }
}

#[test]
fn settings_nodes_and_volumes_that_someone_changed_are_named() {
    let directory = tempfile::tempdir().unwrap();
    recordings(directory.path(), |object| {
        set(object, "Setting", "auto-salvage", "/value", json!("false"));
        if object["apiVersion"] == "v1" {
            set(object, "Node", "worker-2", "/spec", json!({ "unschedulable": true }));
        }
    });
    let output = diff(directory.path(), &["old.json", "new.json"]);
    let said = String::from_utf8(output.stdout).unwrap();
    for line in ["setting auto-salvage: true → false", "node worker-2, cordoned: no → yes"] {
        assert!(said.contains(line), "{said}");
    }
    assert_eq!(output.status.code(), Some(0), "{said}");

    // a thing that is new has no value before, and none of its own now
    recordings(directory.path(), |object| {
        set(object, "Node", "worker-3", "/metadata/name", json!("worker-9"));
    });
    let output = diff(directory.path(), &["old.json", "new.json", "-o", "json"]);
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cluster = said["cluster"].as_array().unwrap();
    let of = |subject: &str| cluster.iter().filter(|edit| edit["subject"] == subject).collect::<Vec<_>>();
    assert_eq!(of("node worker-9"), [&json!({ "subject": "node worker-9", "after": "" })], "{said}");
    assert_eq!(of("node worker-3"), [&json!({ "subject": "node worker-3", "before": "" })], "{said}");

    // nothing differs from itself
    let output = diff(directory.path(), &["new.json", "new.json", "-o", "json"]);
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    for list in ["began", "ended", "changed", "cluster"] {
        assert_eq!(said[list], json!([]), "{said}");
    }
}

#[test]
fn what_began_fails_and_what_ended_does_not() {
    let directory = tempfile::tempdir().unwrap();
    recordings(directory.path(), |object| {
        if object["kind"] == "Volume" && object["status"]["state"] == "attached" {
            object["status"]["robustness"] = "faulted".into();
        }
    });
    let output = diff(directory.path(), &["old.json", "new.json", "-o", "json"]);
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said["began"][0]["check"], "volume_faulted", "{said}");
    assert_eq!((&said["status"][1], &said["ended"]), (&"critical".into(), &json!([])), "{said}");
    assert_eq!(said["cluster"], json!([]), "how a volume is was not changed by anyone: {said}");

    let output = diff(directory.path(), &["new.json", "old.json", "-o", "json"]);
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(said["ended"][0]["check"], "volume_faulted", "{said}");
}

#[test]
fn the_later_recording_does_not_come_first() {
    let directory = tempfile::tempdir().unwrap();
    recordings(directory.path(), |object| {
        if object["kind"] == "Lease" {
            object["spec"]["renewTime"] = "2026-03-01T13:00:00.000000Z".into();
        }
    });
    let output = diff(directory.path(), &["new.json", "old.json"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(64) && said.contains("name the earlier recording first"), "{said}");
}
