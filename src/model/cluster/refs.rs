//! How findings name objects and volumes.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::longhorn::{Resource, VolumeHealth};

/// An object by kind and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct ObjectRef {
    /// Kind as in manifests; Longhorn's own Node is `nodes.longhorn.io`.
    pub kind: &'static str,
    /// Namespace, absent for cluster-wide kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
}

/// A volume with who uses it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct VolumeRef {
    /// Name of the Longhorn volume.
    pub name: String,
    /// `namespace/name` of the claim, if one is bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pvc: Option<String>,
    /// How it is; left out where no such volume can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub robustness: Option<VolumeHealth>,
    /// `attached`, `detached`, …, as Longhorn writes it; left out where it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    /// `Kind namespace/name` of what uses it, as Longhorn last wrote it down.
    pub workloads: Vec<String>,
}

impl VolumeRef {
    /// What people call it: its claim, else its own name.
    pub fn called(&self) -> &str {
        self.pvc.as_deref().unwrap_or(&self.name)
    }
}

impl ObjectRef {
    /// True for an object of this kind.
    pub fn is(&self, kind: Resource) -> bool {
        kind.info().called() == self.kind
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}
