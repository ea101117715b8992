//! The cluster at one moment: everything that a check may see.

mod absence;
mod joins;
mod left_out;
mod readability;
mod refs;
mod trust;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use foldhash::HashMap;
use jiff::{SignedDuration, Timestamp};

use crate::history::History;
use crate::longhorn::resource::{MUTATOR, VALIDATOR};
use crate::longhorn::*;

use left_out::LeftOut;

pub use absence::Absence;
pub use readability::Readability;
pub use refs::{ObjectRef, VolumeRef};

/// Stands for the moment of a recording without any time in it.
pub const NO_MOMENT: Timestamp = Timestamp::UNIX_EPOCH;

/// The cluster at one moment. Immutable; joins are made once, on first use.
#[derive(Debug)]
pub struct Cluster {
    pub namespace: String,
    /// The moment. In a recording the newest time written in it, [`NO_MOMENT`] without any.
    pub now: Timestamp,
    pub objects: Objects,
    /// What only time shows.
    pub history: History,
    /// How each kind could be read.
    pub resources: BTreeMap<Resource, ResourceStatus>,
    /// True for a single look at a live cluster, as `check` takes it: nothing will be seen to age.
    pub one_look: bool,
    /// How far the clock that `now` comes from is ahead of the API server's, where that is known.
    pub clock_skew: Option<SignedDuration>,
    /// When a watch last saw any object being written, whatever of it changed.
    pub last_write: Option<Timestamp>,
    /// The release of the API server, where a plan asked for it.
    pub api_server: Option<Release>,
    joins: Joins,
}

/// How a kind could be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceStatus {
    /// Whether the store of this kind can be trusted.
    pub readability: Readability,
    /// How often something of this kind changed since it is followed, in what is read; 0 where it is not.
    pub changes: u64,
    /// Objects that did not decode and are therefore missing.
    pub undecodable: usize,
    /// When the source last answered for this kind.
    pub last_success: Option<Timestamp>,
    /// What the source said last, when it failed.
    pub error: Option<String>,
}

/// A disk and the node that lists it in its status.
#[derive(Debug, Clone, Copy)]
pub struct DiskOfNode<'a> {
    pub node: &'a LonghornNode,
    /// Name of the disk on that node.
    pub name: &'a str,
    pub status: &'a DiskStatus,
    /// What is wanted of it, if the node's spec lists it too.
    pub spec: Option<&'a DiskSpec>,
}

/// Each made on first use: a healthy cluster needs none of them.
#[derive(Debug, Default)]
struct Joins {
    release: OnceLock<Option<Release>>,
    manager_release: OnceLock<Option<Release>>,
    oldest_kubelet: OnceLock<Option<Release>>,
    manager_pods: OnceLock<HashMap<SharedText, SharedText>>,
    disks: OnceLock<HashMap<SharedText, (SharedText, SharedText)>>,
    left_out: OnceLock<LeftOut>,
}

struct Adopt<'a> {
    from: &'a Objects,
    to: &'a mut Objects,
    kinds: &'a BTreeSet<Resource>,
}

impl KindVisitor for Adopt<'_> {
    fn visit<T: Kind>(&mut self) {
        if self.kinds.contains(&T::RESOURCE) {
            *T::store_mut(self.to) = T::store(self.from).clone();
        }
    }
}

impl Cluster {
    /// A cluster from what was read.
    pub fn new(
        namespace: impl Into<String>,
        now: Timestamp,
        objects: Objects,
        history: History,
        resources: BTreeMap<Resource, ResourceStatus>,
    ) -> Self {
        let (namespace, joins) = (namespace.into(), Joins::default());
        let (clock_skew, last_write, api_server) = (None, None, None);
        Cluster {
            namespace,
            now,
            objects,
            history,
            resources,
            one_look: false,
            clock_skew,
            last_write,
            api_server,
            joins,
        }
    }

    /// Takes over these kinds from another look at the same cluster, and the release of the API server.
    pub fn adopt(&mut self, other: &Cluster, kinds: impl Iterator<Item = Resource>) {
        let kinds: BTreeSet<Resource> = kinds.collect();
        visit_kinds(&mut Adopt { from: &other.objects, to: &mut self.objects, kinds: &kinds });
        let said = kinds.iter().filter_map(|kind| Some((*kind, other.resources.get(kind)?.clone())));
        self.resources.extend(said);
        self.api_server = other.api_server.or(self.api_server);
    }

    /// The object of a kind that has this name, as findings name it.
    pub fn object<T: Kind>(&self, name: &str) -> ObjectRef {
        self.object_of(T::RESOURCE, name)
    }

    /// The same of a kind that is known only at run time.
    pub fn object_of(&self, resource: Resource, name: &str) -> ObjectRef {
        let info = resource.info();
        let namespace = match info.scope {
            Scope::Namespaced => Some(self.namespace.clone()),
            Scope::InNamespace { namespace, .. } => Some(namespace.to_owned()),
            Scope::Cluster | Scope::ClusterNamed(_) | Scope::ClusterLabelled(_) => None,
        };
        ObjectRef { kind: info.called(), namespace, name: name.to_owned() }
    }

    /// The same cluster in which nothing counts as left out, whatever its objects show: for tests.
    pub fn with_nothing_left_out(mut self) -> Self {
        self.joins.left_out = OnceLock::from(LeftOut::default());
        self
    }

    /// True when the objects come from a recording, in which nothing ages.
    pub fn is_recorded(&self) -> bool {
        self.history.is_recorded()
    }

    /// True where the cluster is looked at again and again, so that facts are seen to age. Neither a recording nor a single
    /// look is: there what no object dates has no age, and what that counts as is the choice of each check
    /// (`facts::age`).
    pub fn is_watched(&self) -> bool {
        !self.is_recorded() && !self.one_look
    }

    /// The moment, unless it is unknown: a recording may have no time in it, and then nothing in it has
    /// an age.
    pub fn moment(&self) -> Option<Timestamp> {
        (self.now != NO_MOMENT).then_some(self.now)
    }

    /// How long ago a moment was; never negative.
    pub fn age(&self, since: Timestamp) -> SignedDuration {
        self.now.duration_since(since).max(SignedDuration::ZERO)
    }

    // === Longhorn itself ===

    /// The release that the managers wrote into setting `current-longhorn-version`.
    pub fn installed(&self) -> Option<Release> {
        Release::parse(&self.setting("current-longhorn-version")?.value)
    }

    /// The Longhorn release: setting `current-longhorn-version`, else the tag of the manager
    /// DaemonSet's image. Never taken from engine or instance manager images.
    ///
    /// A manager writes the setting when it has upgraded the objects, so this is the release that
    /// the objects are written for. What managers do with them depends on the code that they run:
    /// `facts::releases`.
    pub fn release(&self) -> Option<Release> {
        *self.joins.release.get_or_init(|| self.installed().or_else(|| self.manager_image_release()))
    }

    /// The release that the image of the manager DaemonSet names.
    pub fn manager_image_release(&self) -> Option<Release> {
        *self.joins.manager_release.get_or_init(|| Release::from_image(&self.manager_container()?.image))
    }

    /// The release of Kubernetes: that of the API server, else the oldest of a kubelet.
    pub fn kubernetes(&self) -> Option<Release> {
        self.api_server.or_else(|| self.oldest_kubelet())
    }

    /// The oldest release of a kubelet; never newer than the API server (Kubernetes version skew policy).
    pub fn oldest_kubelet(&self) -> Option<Release> {
        *self.joins.oldest_kubelet.get_or_init(|| {
            let nodes = self.can_read(Resource::KubeNodes).then_some(&self.objects.kube_nodes)?;
            nodes.iter().filter_map(|node| Release::parse(&node.status.node_info.kubelet_version)).min()
        })
    }

    /// A setting.
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        self.objects.settings.get(name)
    }

    /// Value of a setting for a data engine, empty when the setting is absent.
    pub fn setting_value(&self, name: &str, engine: DataEngine) -> String {
        self.setting(name).map(|setting| setting.value_for(engine)).unwrap_or_default()
    }

    /// The value of a setting that is a boolean; the default where it is missing or none that Longhorn can read.
    pub fn setting_is_on(&self, name: &str, default: bool) -> bool {
        setting::boolean(&self.setting_value(name, DataEngine::V1)).unwrap_or(default)
    }

    /// The policies that decide who reaches the managers, by the labels of a manager pod.
    pub fn manager_policies(&self) -> Vec<&NetworkPolicy> {
        let Some(pod) = self.manager_pods().next() else { return Vec::new() };
        let policies = self.objects.network_policies.iter();
        policies.filter(|policy| policy.guards(&pod.metadata.labels)).collect()
    }

    /// The DaemonSet `longhorn-manager`.
    pub fn manager_daemon_set(&self) -> Option<&DaemonSet> {
        self.objects.daemon_sets.get("longhorn-manager")
    }

    /// Container `longhorn-manager` of the DaemonSet's template.
    pub fn manager_container(&self) -> Option<&Container> {
        self.manager_daemon_set()?.spec.template.spec.container("longhorn-manager")
    }

    /// Longhorn's two webhook configurations: their kind, their name, and their webhooks where they exist.
    pub fn webhook_configurations(&self) -> [(Resource, &'static str, Option<&[Webhook]>); 2] {
        let validating = self.objects.validating_webhooks.get(VALIDATOR).map(|one| one.webhooks.as_slice());
        let mutating = self.objects.mutating_webhooks.get(MUTATOR).map(|one| one.webhooks.as_slice());
        [
            (Resource::ValidatingWebhookConfigurations, VALIDATOR, validating),
            (Resource::MutatingWebhookConfigurations, MUTATOR, mutating),
        ]
    }

    /// Pods of the DaemonSet `longhorn-manager`.
    pub fn manager_pods(&self) -> impl Iterator<Item = &Pod> {
        self.pods_of("longhorn-manager")
    }

    /// Pods by their label `app`.
    pub fn pods_of(&self, app: &str) -> impl Iterator<Item = &Pod> {
        self.objects.pods.of(Owner::App, app)
    }
}
