//! What is a name of what, by the fields in which names stand, and the new names: they sort as the old ones do, so that what is
//! reported first stays first.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value};

use super::text::is_uuid;
use crate::longhorn::Resource;

/// What a name is the name of; the new name begins with it.
pub(super) type Sort = &'static str;

const NODE: Sort = "node";
pub(super) const VOLUME: Sort = "volume";
const CLAIM: Sort = "claim";
const NAMESPACE: Sort = "namespace";
const WORKLOAD: Sort = "workload";
const POD: Sort = "pod";
pub(super) const IMAGE: Sort = "image";
const JOB: Sort = "job";
const SECRET: Sort = "secret";
const ZONE: Sort = "zone";

/// Where a value stands: the kind, the field that holds the struct that it is a field of, that struct, and the field.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub kind: Resource,
    pub parent: &'a str,
    pub beside: &'a Map<String, Value>,
    pub field: &'a str,
}

impl Place<'_> {
    /// What a text is the name of; `None` for one that is none, or that a program gave.
    pub fn sort(&self) -> Option<Sort> {
        Some(match self.field {
            "nodeID"
            | "nodeName"
            | "currentNodeID"
            | "ownerID"
            | "migrationNodeID"
            | "currentMigrationNodeID"
            | "pendingNodeID"
            | "hardNodeAffinity"
            | "host" => NODE,
            "values" if self.parent == "matchFields" => NODE,
            "volumeName" | "pvName" | "persistentVolumeName" => VOLUME,
            "pvcName" => CLAIM,
            "namespace" | "targetNamespace" => NAMESPACE,
            "workloadName" => WORKLOAD,
            "podName" => POD,
            "backingImage" => IMAGE,
            "credentialSecret" => SECRET,
            "zone" => ZONE,
            "name" if self.parent == "metadata" => of_kind(self.kind)?,
            _ => return None,
        })
    }

    /// What a text may be the name of, if something else says that there is one of that name.
    pub fn perhaps(&self) -> Option<Sort> {
        Some(match self.field {
            "holderIdentity" | "address" => NODE,
            "name" if self.parent == "metadata" && self.kind == Resource::CronJobs => JOB,
            "name" if self.parent == "involvedObject" => match self.beside.get("kind")?.as_str()? {
                "Node" => NODE,
                "Pod" => POD,
                "PersistentVolumeClaim" => CLAIM,
                "Volume" | "PersistentVolume" | "ShareManager" | "VolumeAttachment" => VOLUME,
                "BackingImage" | "BackingImageDataSource" => IMAGE,
                "RecurringJob" | "CronJob" => JOB,
                _ => return None,
            },
            _ => return None,
        })
    }

    /// What the keys of a map are the names of.
    pub fn sort_of_keys(&self) -> Option<Sort> {
        match self.field {
            "nodeDeploymentMap" => Some(NODE),
            "backingImages" => Some(IMAGE),
            _ => None,
        }
    }

    /// What the value of a key in a map is the name of.
    pub fn sort_of_value(&self, key: &str) -> Option<Sort> {
        if !matches!(self.field, "labels" | "matchLabels" | "nodeSelector") {
            return None;
        }
        Some(match key {
            "kubernetes.io/hostname" | "longhorn.io/node" | "longhornnode" => NODE,
            "longhornvolume" | "longhorn.io/volume" | "longhorn.io/share-manager" | "backup-volume" => VOLUME,
            "longhorn.io/backing-image" | "longhorn.io/backing-image-data-source" => IMAGE,
            "topology.kubernetes.io/zone" | "failure-domain.beta.kubernetes.io/zone" => ZONE,
            "recurring-job.longhorn.io" | "RecurringJob" => JOB,
            _ => return None,
        })
    }
}

/// A label whose key names a job.
pub(super) const JOB_LABEL: &str = "recurring-job.longhorn.io/";

fn of_kind(kind: Resource) -> Option<Sort> {
    use Resource::*;
    Some(match kind {
        KubeNodes | LonghornNodes | CsiNodes => NODE,
        // a share manager and an attachment are named as the volume
        Volumes | VolumeAttachments | ShareManagers => VOLUME,
        BackingImages | BackingImageDataSources | BackupBackingImages => IMAGE,
        RecurringJobs => JOB,
        _ => return None,
    })
}

/// Names by what they are the names of.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeMap<Sort, BTreeSet<String>>);

/// The new names.
#[derive(Debug)]
pub(super) struct Renamed(BTreeMap<Sort, HashMap<String, String>>);

/// Where Longhorn is by default.
const HOME: &str = "longhorn-system";

impl Names {
    pub fn add(&mut self, sort: Sort, name: &str) {
        if !name.is_empty() {
            self.0.entry(sort).or_default().insert(name.to_owned());
        }
    }

    /// Longhorn is in the namespace `home`.
    pub fn renamed(self, home: &str) -> Renamed {
        let of_sort = |(sort, names): (Sort, BTreeSet<String>)| {
            let width = names.len().to_string().len().max(2);
            let new = |(at, name): (usize, String)| {
                let new = match name.as_str() {
                    name if sort == NAMESPACE && name == home => HOME.to_owned(),
                    name if is_random(name) || is_of_all(sort, name) => name.to_owned(),
                    _ => format!("{sort}-{:0width$}", at + 1),
                };
                (name, new)
            };
            (sort, names.into_iter().enumerate().map(new).collect())
        };
        Renamed(self.0.into_iter().map(of_sort).collect())
    }
}

impl Renamed {
    pub fn get(&self, sort: Sort, name: &str) -> Option<&str> {
        self.0.get(sort)?.get(name).map(String::as_str)
    }

    /// All of them, for free text: of a name that several things have, the first.
    pub fn all(&self) -> HashMap<String, String> {
        let mut all = HashMap::new();
        for sort in [NODE, VOLUME, CLAIM, WORKLOAD, POD, NAMESPACE, IMAGE, JOB, SECRET, ZONE] {
            for (name, new) in self.0.get(sort).into_iter().flatten() {
                all.entry(name.clone()).or_insert_with(|| new.clone());
            }
        }
        all
    }

    /// Those of a sort.
    pub fn of(&self, sort: Sort) -> HashMap<String, String> {
        self.0.get(sort).cloned().unwrap_or_default()
    }
}

/// That of a volume which Kubernetes made says nothing.
fn is_random(name: &str) -> bool {
    is_uuid(name.strip_prefix("pvc-").unwrap_or(name))
}

/// What every cluster has.
fn is_of_all(sort: Sort, name: &str) -> bool {
    sort == NAMESPACE && matches!(name, "default" | "kube-system" | "kube-public" | "kube-node-lease")
}
