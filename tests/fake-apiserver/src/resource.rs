//! What is served: groups, versions, plurals and kinds.

/// One resource of the API, like an entry of `kubectl api-resources`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceDef {
    /// API group; empty for the core group.
    pub group: String,
    /// Version, for example `v1`.
    pub version: String,
    /// The path segment and RBAC name, for example `pods`.
    pub plural: String,
    /// The kind of one object, for example `Pod`.
    pub kind: String,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
}

/// Group, version and plural: what a path addresses.
pub(crate) type Gvr = (String, String, String);

impl ResourceDef {
    /// A namespaced resource; `api_version` is `group/version` or, for the core group, `version`.
    pub fn custom(api_version: &str, plural: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
            kind: kind.to_owned(),
            namespaced: true,
        }
    }

    /// The same resource without namespaces.
    #[must_use]
    pub fn cluster_scoped(mut self) -> Self {
        self.namespaced = false;
        self
    }

    /// `apiVersion` as objects carry it.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The name without a version: `pods`, `volumes.longhorn.io`.
    pub fn name(&self) -> String {
        group_resource(&self.plural, &self.group)
    }

    /// Whether the API server itself implements the type. Such types lose `kind` and `apiVersion` inside lists and
    /// support field selectors; custom resources keep both fields and select only on name and namespace.
    pub(crate) fn is_native(&self) -> bool {
        !self.group.contains('.') || self.group.ends_with(".k8s.io")
    }

    pub(crate) fn gvr(&self) -> Gvr {
        (self.group.clone(), self.version.clone(), self.plural.clone())
    }

    /// Whether a test's name for a resource means this one.
    pub(crate) fn is_named(&self, resource: &str) -> bool {
        let (plural, rest) = resource.split_once('.').unwrap_or((resource, ""));
        plural == self.plural && (rest == self.group || rest == format!("{}.{}", self.version, self.group))
    }
}

/// The name RBAC and error messages use for a resource of a group.
pub(crate) fn group_resource(plural: &str, group: &str) -> String {
    if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") }
}

/// Kinds of Kubernetes itself that storage tooling meets: `apiVersion`, plural, kind, namespaced.
const BUILTIN: &[(&str, &str, &str, bool)] = &[
    ("v1", "configmaps", "ConfigMap", true),
    ("v1", "endpoints", "Endpoints", true),
    ("v1", "events", "Event", true),
    ("v1", "namespaces", "Namespace", false),
    ("v1", "nodes", "Node", false),
    ("v1", "persistentvolumeclaims", "PersistentVolumeClaim", true),
    ("v1", "persistentvolumes", "PersistentVolume", false),
    ("v1", "pods", "Pod", true),
    ("v1", "secrets", "Secret", true),
    ("v1", "serviceaccounts", "ServiceAccount", true),
    ("v1", "services", "Service", true),
    (
        "admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration",
        false,
    ),
    (
        "admissionregistration.k8s.io/v1", "validatingwebhookconfigurations",
        "ValidatingWebhookConfiguration", false,
    ),
    ("apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", false),
    ("apps/v1", "controllerrevisions", "ControllerRevision", true),
    ("apps/v1", "daemonsets", "DaemonSet", true),
    ("apps/v1", "deployments", "Deployment", true),
    ("apps/v1", "replicasets", "ReplicaSet", true),
    ("apps/v1", "statefulsets", "StatefulSet", true),
    ("batch/v1", "cronjobs", "CronJob", true),
    ("batch/v1", "jobs", "Job", true),
    ("coordination.k8s.io/v1", "leases", "Lease", true),
    ("discovery.k8s.io/v1", "endpointslices", "EndpointSlice", true),
    ("events.k8s.io/v1", "events", "Event", true),
    ("networking.k8s.io/v1", "networkpolicies", "NetworkPolicy", true),
    ("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", true),
    ("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", false),
    ("storage.k8s.io/v1", "csidrivers", "CSIDriver", false),
    ("storage.k8s.io/v1", "csinodes", "CSINode", false),
    ("storage.k8s.io/v1", "csistoragecapacities", "CSIStorageCapacity", true),
    ("storage.k8s.io/v1", "storageclasses", "StorageClass", false),
    ("storage.k8s.io/v1", "volumeattachments", "VolumeAttachment", false),
];

/// The built-in kinds of a Kubernetes cluster, as far as this server knows them.
pub(crate) fn builtin() -> impl Iterator<Item = ResourceDef> {
    BUILTIN.iter().map(|&(api_version, plural, kind, namespaced)| ResourceDef {
        namespaced,
        ..ResourceDef::custom(api_version, plural, kind)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_and_without_version_mean_the_same_resource() {
        let volumes = ResourceDef::custom("longhorn.io/v1beta2", "volumes", "Volume");
        assert!(volumes.is_named("volumes.longhorn.io"));
        assert!(volumes.is_named("volumes.v1beta2.longhorn.io"));
        assert!(!volumes.is_named("volumes.v1beta1.longhorn.io"));
        assert!(!volumes.is_named("volumes"));
        assert!(!volumes.is_native());
        let pods = ResourceDef::custom("v1", "pods", "Pod");
        assert!(pods.is_named("pods") && pods.is_native());
    }
}
