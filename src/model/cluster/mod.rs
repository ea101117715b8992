//! The cluster at one moment: everything that a check may see.

mod absence;
mod left_out;
mod readability;
mod refs;

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

    /// How a kind could be read.
    pub fn readability(&self, resource: Resource) -> Readability {
        self.resources.get(&resource).map_or(Readability::Pending, |status| status.readability)
    }

    /// True when the store of this kind can be trusted: it was read, or a recording has none, and nothing proves
    /// that there are any, or the kind is younger than the Longhorn release at hand.
    pub fn can_read(&self, resource: Resource) -> bool {
        match self.readability(resource) {
            Readability::Readable | Readability::NotRecorded => self.proof(resource).is_none(),
            Readability::NotServed => resource.is_optional(),
            Readability::Pending | Readability::Forbidden | Readability::Stale | Readability::Incomplete => {
                false
            }
        }
    }

    fn left_out(&self) -> &LeftOut {
        self.joins.left_out.get_or_init(|| LeftOut::of(self))
    }

    /// What proves that there are objects of a kind of which none is there.
    fn proof(&self, resource: Resource) -> Option<&String> {
        if self.objects.count(resource) > 0 { None } else { self.left_out().kinds.get(&resource) }
    }

    /// True where the right to read a kind was there and is withdrawn: nothing tells what became of its objects.
    pub fn has_lost(&self, resource: Resource) -> bool {
        let status = self.resources.get(&resource);
        status.is_some_and(|status| {
            status.readability == Readability::Forbidden && status.last_success.is_some()
        })
    }

    /// The kinds a check needs but that cannot be trusted, with the reason.
    pub fn blind_spots(&self, needs: &[Resource]) -> Vec<String> {
        let unreadable = needs.iter().filter(|resource| !self.can_read(**resource));
        unreadable.map(|resource| self.obstacle(*resource)).collect()
    }

    /// Why a kind cannot be trusted.
    fn obstacle(&self, resource: Resource) -> String {
        let readability = self.readability(resource);
        if !self.resources.contains_key(&resource) {
            return format!("{resource} were not asked for");
        }
        let state = readability.as_str().replace('_', " ");
        if let Some(proof) = self.proof(resource) {
            let state = if readability == Readability::Readable { "missing" } else { &state };
            return format!("{resource} are {state}, although {proof}");
        }
        match self.resources.get(&resource).and_then(|status| status.error.as_deref()) {
            Some(error) if readability == Readability::Incomplete => {
                format!("{resource} are {state} ({error})")
            }
            _ => format!("{resource} are {state}"),
        }
    }

    /// What a check reads and could not see whole: the rest was judged. Objects that did not decode or have no status; and
    /// what a recording lost or a cluster must have. Live, a right that was withheld is no gap but a choice. Of a kind that is not served
    /// there is nothing to see.
    pub fn gaps(&self, needs: &[Resource], uses: &[Resource]) -> Vec<String> {
        let undecodable = |resource: &Resource| {
            let undecodable = self.resources.get(resource).map_or(0, |status| status.undecodable);
            let objects = if undecodable == 1 { "object" } else { "objects" };
            (undecodable > 0).then(|| {
                format!("{undecodable} {objects} of {resource} could not be decoded, and so not judged")
            })
        };
        let unwritten = |resource: &Resource| self.left_out().statuses.get(resource).cloned();
        let lost = |resource: &&Resource| {
            let served = self.readability(**resource) != Readability::NotServed;
            let missing = self.is_recorded() && served || self.proof(**resource).is_some();
            missing && !self.can_read(**resource)
        };
        let all = || needs.iter().chain(uses);
        let mut gaps: Vec<String> =
            all().filter_map(undecodable).chain(all().filter_map(unwritten)).collect();
        gaps.extend(uses.iter().filter(lost).map(|resource| self.obstacle(*resource)));
        gaps
    }

    /// True when every object of a kind could be read: only then does one that is not there not exist.
    pub fn knows_all(&self, resource: Resource) -> bool {
        self.can_read(resource) && self.decoded_all(resource)
    }

    /// False where an object of a kind is there and could not be decoded: what is missing then may be that one.
    pub fn decoded_all(&self, resource: Resource) -> bool {
        self.resources.get(&resource).is_none_or(|status| status.undecodable == 0)
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

    /// The manager pod on a node, the youngest if there are several; one that is being deleted only if there
    /// is no other.
    pub fn manager_pod_on(&self, node: &str) -> Option<&Pod> {
        let names = self.joins.manager_pods.get_or_init(|| {
            let mut pods: HashMap<SharedText, &Pod> = HashMap::default();
            let rank = |pod: &Pod| (!pod.metadata.is_deleting(), pod.metadata.created());
            for pod in self.manager_pods() {
                let known = pods.entry(pod.spec.node().clone()).or_insert(pod);
                if rank(pod) >= rank(known) {
                    *known = pod;
                }
            }
            pods.into_iter().map(|(node, pod)| (node, pod.metadata.name.clone())).collect()
        });
        self.objects.pods.get(names.get(node)?)
    }

    /// Volumes by these names with who uses them, each once and in the order of their names; an empty name is
    /// none.
    pub fn volume_refs<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Vec<VolumeRef> {
        let names: BTreeSet<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
        names.into_iter().map(|name| self.volume_ref(name)).collect()
    }

    // === joins ===

    /// Engines of a volume, by name.
    pub fn engines_of(&self, volume: &str) -> impl Iterator<Item = &Engine> {
        self.objects.engines.of(Owner::Volume, volume)
    }

    /// Replicas of a volume, by name.
    pub fn replicas_of(&self, volume: &str) -> impl Iterator<Item = &Replica> {
        self.objects.replicas.of(Owner::Volume, volume)
    }

    /// Replicas whose `spec.diskID` is this disk UUID. Unlike `scheduledReplica` this also counts
    /// those on a disk that is not Ready.
    pub fn replicas_on_disk(&self, disk_uuid: &str) -> impl Iterator<Item = &Replica> {
        self.objects.replicas.of(Owner::Disk, disk_uuid)
    }

    /// Instance managers of a node, by name.
    pub fn instance_managers_on(&self, node: &str) -> impl Iterator<Item = &InstanceManager> {
        self.objects.instance_managers.of(Owner::Node, node)
    }

    /// Volumes that the manager of a node takes care of, by name.
    pub fn volumes_owned_by(&self, node: &str) -> impl Iterator<Item = &Volume> {
        self.objects.volumes.of(Owner::Node, node)
    }

    /// Events about an object of this name, of whatever kind.
    pub fn events_about(&self, name: &str) -> impl Iterator<Item = &Event> {
        self.objects.events.of(Owner::Object, name)
    }

    /// Events about a node.
    pub fn events_about_node(&self, name: &str) -> impl Iterator<Item = &NodeEvent> {
        self.objects.node_events.of(Owner::Object, name)
    }

    /// The disk with this UUID, as the status of a node lists it.
    pub fn disk(&self, uuid: &str) -> Option<DiskOfNode<'_>> {
        let (node, disk) = self.disks().get(uuid)?;
        let node = self.objects.longhorn_nodes.get(node)?;
        let (name, status) = node.status.disk_status.get_key_value(disk.as_str())?;
        Some(DiskOfNode { node, name, status, spec: node.spec.disks.get(name) })
    }

    /// A volume with its claim and the workloads that use it.
    pub fn volume_ref(&self, volume: &str) -> VolumeRef {
        match self.objects.volumes.get(volume) {
            Some(volume) => refer(volume),
            None => VolumeRef {
                name: volume.to_owned(),
                pvc: None,
                robustness: None,
                state: None,
                workloads: Vec::new(),
            },
        }
    }

    fn disks(&self) -> &HashMap<SharedText, (SharedText, SharedText)> {
        self.joins.disks.get_or_init(|| {
            let mut disks = HashMap::default();
            for node in self.objects.longhorn_nodes.iter() {
                for (name, disk) in node.status.disk_status.iter().filter(|(_, d)| !d.disk_uuid.is_empty()) {
                    let place = (node.metadata.name.clone(), name.clone());
                    // a disk that moved is still listed by the node that it left, where it is not ready any more
                    if status(&disk.conditions, "Ready") == ConditionStatus::True {
                        disks.insert(disk.disk_uuid.clone(), place);
                    } else {
                        disks.entry(disk.disk_uuid.clone()).or_insert(place);
                    }
                }
            }
            disks
        })
    }
}

fn refer(volume: &Volume) -> VolumeRef {
    let status = &volume.status.kubernetes_status;
    // joined, not formatted: a node that is down may hold thousands
    let namespace = status.namespace.as_str();
    let pvc = (!status.pvc_name.is_empty()).then(|| [namespace, "/", &status.pvc_name].concat());
    let workload = |workload: &Workload| match workload.workload_name.as_str() {
        "" => ["Pod ", namespace, "/", &workload.pod_name].concat(),
        name => [workload.workload_type.as_str(), " ", namespace, "/", name].concat(),
    };
    let mut workloads: Vec<_> = status.workloads_status.iter().map(workload).collect();
    workloads.sort();
    workloads.dedup();
    let state = volume.status.state;
    VolumeRef {
        name: volume.metadata.name.as_str().to_owned(),
        pvc,
        robustness: Some(volume.status.health()),
        state: VolumeState::KNOWN.contains(&state).then(|| state.as_str()),
        workloads,
    }
}
