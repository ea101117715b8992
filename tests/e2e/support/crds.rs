//! Longhorn-shaped CustomResourceDefinitions: real names, any content.
//!
//! Kinds and plural names are those of longhorn-manager v1.12.1 k8s/crds.yaml, where every kind is
//! namespaced, `v1beta2` and has a status subresource. The schema accepts whatever a release of
//! Longhorn writes, so that one bench serves the objects of all of them.

use serde_json::{Value, json};

/// The version all Longhorn releases since 1.3 store.
pub const API_VERSION: &str = "longhorn.io/v1beta2";

/// Kind and plural name of each definition.
pub const KINDS: &[(&str, &str)] = &[
    ("BackingImage", "backingimages"),
    ("BackingImageDataSource", "backingimagedatasources"),
    ("BackingImageManager", "backingimagemanagers"),
    ("Backup", "backups"),
    ("BackupBackingImage", "backupbackingimages"),
    ("BackupTarget", "backuptargets"),
    ("Engine", "engines"),
    ("EngineFrontend", "enginefrontends"),
    ("EngineImage", "engineimages"),
    ("InstanceManager", "instancemanagers"),
    ("Node", "nodes"),
    ("Orphan", "orphans"),
    ("RecurringJob", "recurringjobs"),
    ("Replica", "replicas"),
    ("Setting", "settings"),
    ("ShareManager", "sharemanagers"),
    ("Snapshot", "snapshots"),
    ("SupportBundle", "supportbundles"),
    ("SystemBackup", "systembackups"),
    ("SystemRestore", "systemrestores"),
    ("Volume", "volumes"),
    ("VolumeAttachment", "volumeattachments"),
];

/// All definitions, ready to apply.
pub fn all() -> Vec<Value> {
    KINDS.iter().map(|(kind, plural)| definition(kind, plural)).collect()
}

/// The name of the definition of `plural`, for deleting one.
pub fn name(plural: &str) -> String {
    format!("{plural}.longhorn.io")
}

fn definition(kind: &str, plural: &str) -> Value {
    // Not "any object" at the root: apiVersion, kind and metadata keep their types, and
    // a setting keeps its text in `value` at the root, outside spec and status.
    let anything = json!({"x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name(plural)},
        "spec": {
            "group": "longhorn.io",
            "scope": "Namespaced",
            "names": {
                "kind": kind,
                "listKind": format!("{kind}List"),
                "plural": plural,
                "singular": kind.to_lowercase(),
            },
            "versions": [{
                "name": "v1beta2",
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": true,
                    "properties": {
                        "value": {"type": "string"},
                        "spec": anything,
                        "status": anything,
                    },
                }},
            }],
        },
    })
}
