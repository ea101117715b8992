//! Objects found by what they belong to.

use std::collections::BTreeSet;

use foldhash::HashMap;

use super::{Cluster, DiskOfNode, VolumeRef};
use crate::longhorn::*;

impl Cluster {
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
    let pvc = volume.claim().map(|claim| claim.join("/"));
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
