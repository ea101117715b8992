//! A volume that does not exist yet.

use schemars::JsonSchema;
use serde::Serialize;

use crate::check::{bytes, counted};
use crate::cluster::Cluster;
use crate::longhorn::{DataEngine, Int, Quantity, SharedText, Volume};

/// Sizes of volumes are rounded up to it (longhorn-manager v1.12.1 util/util.go RoundUpSize).
const UNIT: i64 = 2 << 20;
/// No cluster has as much.
const MAX_BYTES: f64 = 1e18;
/// What a StorageClass of Longhorn asks for where no setting can be read.
const USUAL_REPLICAS: u32 = 3;

/// A new volume, as a StorageClass and a claim would ask for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Wanted {
    /// In bytes.
    pub size: i64,
    /// How many replicas; by the setting default-replica-count where that was not said.
    pub replicas: Option<u32>,
    /// Tags that a node must have.
    pub node_selector: Vec<String>,
    /// Tags that a disk must have.
    pub disk_selector: Vec<String>,
    /// Whether it uses the data engine v2, which needs block disks.
    pub v2: bool,
}

/// A size such as `100Gi`, in bytes.
pub fn size(text: &str) -> Result<i64, String> {
    match Quantity(text.to_owned()).value() {
        Some(bytes) if (1.0..MAX_BYTES).contains(&bytes) => Ok((bytes / UNIT as f64).ceil() as i64 * UNIT),
        _ => Err("not a size; use the form 100Gi".to_owned()),
    }
}

/// A number of replicas, as Longhorn accepts it (longhorn-manager v1.12.1 types/types.go ValidateReplicaCount).
pub fn replicas(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|number| (1..=20).contains(number)).ok_or_else(|| "must be 1 to 20".to_owned())
}

impl Wanted {
    /// With what the cluster gives where nothing was said.
    pub fn completed(mut self, cluster: &Cluster) -> Self {
        let setting = || cluster.setting_value("default-replica-count", self.engine()).parse().ok();
        self.replicas = self.replicas.or_else(setting).or(Some(USUAL_REPLICAS));
        self
    }

    fn engine(&self) -> DataEngine {
        if self.v2 { DataEngine::V2 } else { DataEngine::V1 }
    }

    /// The setting that disables its data engine: the webhook rejects its volumes then (longhorn-manager v1.5.5
    /// webhook/resources/volume/validator.go for v2; v1.6.4 to v1.12.1 webhook/common/common.go ValidateRequiredDataEngineEnabled).
    pub fn disabled(&self, cluster: &Cluster) -> Option<&'static str> {
        let (setting, since, default) =
            if self.v2 { ("v2-data-engine", 5, false) } else { ("v1-data-engine", 6, true) };
        let asked = cluster.release().is_some_and(|release| release.at_least(1, since, 0));
        (asked && !cluster.setting_is_on(setting, default)).then_some(setting)
    }

    pub fn replicas(&self) -> usize {
        self.replicas.unwrap_or(USUAL_REPLICAS) as usize
    }

    /// As Longhorn would see it.
    pub fn volume(&self) -> Volume {
        let tags = |tags: &[String]| tags.iter().map(|tag| SharedText::from(tag.as_str())).collect();
        let mut volume = Volume::default();
        volume.spec.size = Int(self.size);
        volume.spec.number_of_replicas = Int(self.replicas() as i64);
        volume.spec.data_engine = self.engine();
        volume.spec.node_selector = tags(&self.node_selector);
        volume.spec.disk_selector = tags(&self.disk_selector);
        volume
    }

    /// `100 GiB with 3 replicas`.
    pub fn called(&self) -> String {
        let tags = |what: &str, tags: &[String]| match tags {
            [] => String::new(),
            tags => format!(", {what} {}", tags.join(", ")),
        };
        let engine = if self.v2 { ", data engine v2" } else { "" };
        let replicas = counted(self.replicas(), "replica");
        let [nodes, disks] = [tags("node tags", &self.node_selector), tags("disk tags", &self.disk_selector)];
        format!("{} with {replicas}{engine}{nodes}{disks}", bytes(self.size))
    }
}
