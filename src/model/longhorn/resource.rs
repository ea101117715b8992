//! The kinds that are read: one row a kind, from which the watches, the recorded sources, the
//! freshness metrics and the RBAC rules are made.

use std::fmt;

/// Where objects of a kind live and how much of them is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In Longhorn's namespace; readable with a Role there.
    Namespaced,
    /// In one other namespace, and only what the field selector selects; needs a Role there.
    InNamespace {
        namespace: &'static str,
        /// What is asked for.
        field_selector: &'static str,
    },
    /// Cluster-wide; needs a ClusterRole.
    Cluster,
    /// Cluster-wide, but only the one object of this name is asked for.
    ClusterNamed(&'static str),
    /// Cluster-wide, but only objects with this label are asked for; needs a ClusterRole for all of them.
    ClusterLabelled(&'static str),
}

/// Facts about a kind.
#[derive(Debug, Clone, Copy)]
pub struct ResourceInfo {
    /// The kind these facts are about.
    pub resource: Resource,
    /// API group, empty for core.
    pub group: &'static str,
    /// API version that is read. Longhorn stores v1beta2 since 1.3.
    pub version: &'static str,
    /// Plural, as in URLs.
    pub plural: &'static str,
    /// Kind, as in manifests.
    pub kind: &'static str,
    /// Where it lives.
    pub scope: Scope,
    /// The Longhorn release that brought the kind, where that is later than 1.3; a cluster that
    /// does not serve it is then not in error.
    pub since: Option<&'static str>,
}

const LONGHORN: &str = "longhorn.io";

const fn longhorn(
    resource: Resource,
    plural: &'static str,
    kind: &'static str,
    since: Option<&'static str>,
) -> ResourceInfo {
    let (group, version, scope) = (LONGHORN, "v1beta2", Scope::Namespaced);
    ResourceInfo { resource, group, version, plural, kind, scope, since }
}

const fn kubernetes(
    resource: Resource,
    group: &'static str,
    plural: &'static str,
    kind: &'static str,
    scope: Scope,
) -> ResourceInfo {
    ResourceInfo { resource, group, version: "v1", plural, kind, scope, since: None }
}

/// A kind that another tool brings, where that is installed.
const fn tool(
    resource: Resource,
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    kind: &'static str,
) -> ResourceInfo {
    ResourceInfo { resource, group, version, plural, kind, scope: Scope::Cluster, since: None }
}

macro_rules! kinds {
    ($( $resource:ident = $row:ident($($fact:expr),*); )*) => {
        /// A kind that the checks read.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs)] // the names are the documentation; facts are in the table
        pub enum Resource { $( $resource, )* }

        /// Every kind, in the order of [`Resource`].
        pub const TABLE: &[ResourceInfo] = &[$( $row(Resource::$resource, $($fact),*) ),*];
    };
}

kinds! {
    LonghornNodes = longhorn("nodes", "Node", None);
    InstanceManagers = longhorn("instancemanagers", "InstanceManager", None);
    Engines = longhorn("engines", "Engine", None);
    EngineFrontends = longhorn("enginefrontends", "EngineFrontend", Some("1.12.0"));
    Replicas = longhorn("replicas", "Replica", None);
    Volumes = longhorn("volumes", "Volume", None);
    VolumeAttachments = longhorn("volumeattachments", "VolumeAttachment", Some("1.5.0"));
    BackingImages = longhorn("backingimages", "BackingImage", None);
    BackingImageManagers = longhorn("backingimagemanagers", "BackingImageManager", None);
    BackingImageDataSources = longhorn("backingimagedatasources", "BackingImageDataSource", None);
    EngineImages = longhorn("engineimages", "EngineImage", None);
    Orphans = longhorn("orphans", "Orphan", None);
    Settings = longhorn("settings", "Setting", None);
    ShareManagers = longhorn("sharemanagers", "ShareManager", None);
    BackupTargets = longhorn("backuptargets", "BackupTarget", None);
    Backups = longhorn("backups", "Backup", None);
    SystemBackups = longhorn("systembackups", "SystemBackup", Some("1.4.0"));
    SystemRestores = longhorn("systemrestores", "SystemRestore", Some("1.4.0"));
    BackupBackingImages = longhorn("backupbackingimages", "BackupBackingImage", Some("1.6.0"));
    RecurringJobs = longhorn("recurringjobs", "RecurringJob", None);
    Pods = kubernetes("", "pods", "Pod", Scope::Namespaced);
    Events = kubernetes("", "events", "Event", Scope::Namespaced);
    NodeEvents = kubernetes("", "events", "Event", NODE_EVENTS);
    Services = kubernetes("", "services", "Service", Scope::Namespaced);
    EndpointSlices = kubernetes("discovery.k8s.io", "endpointslices", "EndpointSlice", Scope::Namespaced);
    DaemonSets = kubernetes("apps", "daemonsets", "DaemonSet", Scope::Namespaced);
    Deployments = kubernetes("apps", "deployments", "Deployment", Scope::Namespaced);
    PodDisruptionBudgets = kubernetes("policy", "poddisruptionbudgets", "PodDisruptionBudget", Scope::Namespaced);
    Leases = kubernetes("coordination.k8s.io", "leases", "Lease", Scope::Namespaced);
    CronJobs = kubernetes("batch", "cronjobs", "CronJob", Scope::Namespaced);
    CsiNodes = kubernetes("storage.k8s.io", "csinodes", "CSINode", Scope::Cluster);
    KubeNodes = kubernetes("", "nodes", "Node", Scope::Cluster);
    PriorityClasses = kubernetes("scheduling.k8s.io", "priorityclasses", "PriorityClass", Scope::Cluster);
    CsiAttachments = kubernetes("storage.k8s.io", "volumeattachments", "VolumeAttachment", Scope::Cluster);
    ValidatingWebhookConfigurations = kubernetes(
        "admissionregistration.k8s.io", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", Scope::ClusterNamed(VALIDATOR)
    );
    MutatingWebhookConfigurations = kubernetes(
        "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", Scope::ClusterNamed(MUTATOR)
    );
    CustomResourceDefinitions = kubernetes(
        "apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition", Scope::ClusterLabelled(CRD_LABEL)
    );
    StorageClasses = kubernetes("storage.k8s.io", "storageclasses", "StorageClass", Scope::Cluster);
    NetworkPolicies = kubernetes("networking.k8s.io", "networkpolicies", "NetworkPolicy", Scope::Namespaced);
    HelmCharts = tool("helm.cattle.io", "v1", "helmcharts", "HelmChart");
    HelmReleases = tool("helm.toolkit.fluxcd.io", "v2", "helmreleases", "HelmRelease");
    Applications = tool("argoproj.io", "v1alpha1", "applications", "Application");
}

use Resource::*;

/// Events about Kubernetes nodes: a cluster-wide object has its Events in `default`, unless
/// node-problem-detector is told otherwise (kubernetes/client-go tools/record/event.go makeEvent).
const NODE_EVENTS: Scope =
    Scope::InNamespace { namespace: "default", field_selector: "involvedObject.kind=Node" };

/// Name of Longhorn's ValidatingWebhookConfiguration (longhorn-manager v1.12.1 types/webhook.go).
pub const VALIDATOR: &str = "longhorn-webhook-validator";
/// Name of Longhorn's MutatingWebhookConfiguration (longhorn-manager v1.12.1 types/webhook.go).
pub const MUTATOR: &str = "longhorn-webhook-mutator";

/// The label of Longhorn's CustomResourceDefinitions (longhorn-manager v1.4.4 to v1.12.1 k8s/crds.yaml).
pub const CRD_LABEL: &str = "longhorn-manager";

impl ResourceInfo {
    /// The kind as people are told it: Longhorn has a Node of its own, which kubectl calls `nodes.longhorn.io`.
    pub fn called(&self) -> &'static str {
        match self.resource {
            Resource::LonghornNodes => "nodes.longhorn.io",
            _ => self.kind,
        }
    }
}

impl Resource {
    /// Facts about this kind.
    #[allow(clippy::indexing_slicing, reason = "the table has a row for every kind")]
    pub fn info(self) -> &'static ResourceInfo {
        &TABLE[self as usize]
    }

    pub fn all() -> impl Iterator<Item = Resource> {
        TABLE.iter().map(|info| info.resource)
    }

    /// The kind of an object by its `apiVersion` and `kind`; any version of the group will do.
    /// Of two that share both, the one in Longhorn's namespace: see [`Resource::of_event`].
    pub fn of(api_version: &str, kind: &str) -> Option<Resource> {
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        TABLE.iter().find(|info| info.group == group && info.kind == kind).map(|info| info.resource)
    }

    /// The kind of an Event by its namespace and by what it is about. Events about Longhorn's own
    /// nodes name their kind `Node`, too, but with the group of Longhorn.
    pub fn of_event(namespace: &str, about_api_version: &str, about_kind: &str) -> Resource {
        let here = matches!(NODE_EVENTS, Scope::InNamespace { namespace: wanted, .. } if wanted == namespace);
        let about_node = about_kind == "Node" && !about_api_version.starts_with(LONGHORN);
        if here && about_node { NodeEvents } else { Events }
    }

    /// The `resource` label: `volumes.longhorn.io`, `pods`, `endpointslices.discovery.k8s.io`.
    pub fn label(self) -> String {
        self.to_string()
    }

    /// True for kinds of `longhorn.io`.
    pub fn is_longhorn(self) -> bool {
        self.info().group == LONGHORN
    }

    /// True for kinds of other tools: HelmChart is one of K3s and RKE2, HelmRelease of Flux, Application of Argo CD.
    pub fn is_of_a_tool(self) -> bool {
        matches!(self, HelmCharts | HelmReleases | Applications)
    }

    /// True where not every supported Longhorn release, or not every Kubernetes, has the kind.
    pub fn is_optional(self) -> bool {
        self.info().since.is_some() || self.is_of_a_tool()
    }
}

/// Something for each kind.
#[derive(Debug)]
pub struct PerKind<T>(Vec<T>);

impl<T> PerKind<T> {
    /// Makes one for every kind.
    pub fn new(make: impl FnMut(Resource) -> T) -> Self {
        PerKind(Resource::all().map(make).collect())
    }
}

#[allow(clippy::indexing_slicing, reason = "made with one entry a kind, in the order of the table")]
impl<T> std::ops::Index<Resource> for PerKind<T> {
    type Output = T;

    fn index(&self, resource: Resource) -> &T {
        &self.0[resource as usize]
    }
}

#[allow(clippy::indexing_slicing, reason = "made with one entry a kind, in the order of the table")]
impl<T> std::ops::IndexMut<Resource> for PerKind<T> {
    fn index_mut(&mut self, resource: Resource) -> &mut T {
        &mut self.0[resource as usize]
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.info();
        match info.group {
            // two kinds of one plural: this one is named as its right is
            _ if *self == NodeEvents => f.write_str("node-events"),
            "" => f.write_str(info.plural),
            group => write!(f, "{}.{group}", info.plural),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_the_same_name_differ_by_group() {
        assert_eq!(Resource::of("longhorn.io/v1beta2", "Node"), Some(LonghornNodes));
        assert_eq!(Resource::of("v1", "Node"), Some(KubeNodes));
        assert_eq!(Resource::of("storage.k8s.io/v1", "VolumeAttachment"), Some(CsiAttachments));
        assert_eq!(LonghornNodes.to_string(), "nodes.longhorn.io");
        assert_eq!(KubeNodes.to_string(), "nodes");
    }

    #[test]
    fn every_kind_has_a_label_of_its_own() {
        let labels: std::collections::BTreeSet<_> = Resource::all().map(Resource::label).collect();
        assert_eq!(labels.len(), TABLE.len());
    }

    #[test]
    fn events_about_kubernetes_nodes_are_a_kind_of_their_own() {
        assert_eq!(Resource::of("v1", "Event"), Some(Events));
        assert_eq!(Resource::of_event("default", "", "Node"), NodeEvents);
        assert_eq!(Resource::of_event("default", "v1", "Node"), NodeEvents);
        assert_eq!(Resource::of_event("default", "longhorn.io/v1beta2", "Node"), Events);
        assert_eq!(Resource::of_event("default", "v1", "Pod"), Events);
        assert_eq!(Resource::of_event("longhorn-system", "", "Node"), Events);
    }
}
