//! `plan drain`: may this node be drained, emptied, restarted or removed, what is lost with it, and in which order.

mod away;
mod budgets;
mod data;
mod steps;
mod workloads;

use std::collections::BTreeSet;

use super::*;
use crate::facts::drain::Budgets;
use crate::facts::nodes::down;
use crate::longhorn::Release;
use crate::word_enum::word_enum;

/// Checks whose findings about the node stand against it.
pub const REUSED: &[&str] =
    &["eviction_stalled", "eviction_inconsistent", "backing_image_eviction_crash", "attachment_on_dead_node"];

word_enum! {
    /// What is to become of the node.
    pub enum Intent {
        /// Drained, and back later.
        Drain = "drain",
        /// Emptied of its replicas first.
        Evict = "evict",
        /// Drained, restarted, and back soon.
        Reboot = "reboot",
        /// Removed permanently.
        Remove = "remove",
    }
}

impl Intent {
    /// Whether its replicas are moved away first.
    pub fn empties(self) -> bool {
        matches!(self, Intent::Evict | Intent::Remove)
    }
}

/// A node that is to be drained.
pub struct Draining<'a> {
    /// The cluster and what the checks say.
    pub looked: Looked<'a>,
    /// Shorthand.
    pub cluster: &'a Cluster,
    /// Its name.
    pub node: &'a str,
    /// All nodes that leave at the same time, this one among them.
    pub together: &'a BTreeSet<&'a str>,
    /// What is to become of it.
    pub intent: Intent,
    /// The rule of the PodDisruptionBudgets, as if these nodes were cordoned.
    pub budgets: &'a Budgets<'a>,
    /// The release of the managers.
    pub release: Option<Release>,
}

impl Draining<'_> {
    /// Nothing leaves such a node on its own, and its manager takes no part in anything.
    pub fn is_down(&self) -> bool {
        down(self.cluster, self.node).is_some()
    }

    /// Whether no node of Longhorn stays, as in a cluster of one node.
    pub fn are_all(&self) -> bool {
        let mut nodes = self.cluster.objects.longhorn_nodes.iter();
        nodes.all(|node| self.together.contains(node.metadata.name.as_str()))
    }
}

impl std::fmt::Debug for Draining<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Draining({}, {})", self.node, self.intent.as_str())
    }
}

conditions! {
    NODE_DOWN = NotYet "another_node_down" "another node is down, so its copies cannot be used"
        fix "Bring that node back and wait until its volumes are rebuilt. Then drain <node>."
        read "kubectl get nodes"
        source "longhorn-manager v1.12.1 datastore/longhorn.go (IsNodeDownOrDeleted)"
        needs [LonghornNodes, KubeNodes] Drain(data::another_away);
    IS_DOWN = NotYet "node_is_down" "the node is down, so nothing on it can be drained or moved"
        fix "Bring <node> back. If it is lost, run: longhorn-health-exporter plan drain <node> --remove."
        read "kubectl get node <node>"
        source "longhorn-manager v1.12.1 controller/node_controller.go (shouldEvictReplica)"
        needs [LonghornNodes, KubeNodes] Away(away::is_down);
    NEEDS_IT = NotYet "needs_the_node" "volumes have their only copy on the node, which is down"
        fix "Bring the node back: only its disks have the data of these volumes. If the disks are lost, restore the volumes from a backup first."
        read "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node> -o wide"
        source "longhorn-manager v1.12.1 controller/volume_controller.go (isHealthyAndActiveReplica)"
        needs [Volumes, Replicas, LonghornNodes, KubeNodes] Away(away::needs_it);
    REBUILT_WITHOUT = NotYet "rebuilt_without_it" "attached volumes have too few healthy copies without the node, which is down"
        fix "Wait until these volumes are healthy: Longhorn rebuilds them on other nodes after replica-replenishment-wait-interval. If no disk can take \
             a replica, add a node or disk."
        read "longhorn-health-exporter check --only volume_degraded,replica_unschedulable"
        source "longhorn-manager v1.12.1 controller/volume_controller.go (replenishReplicas)"
        needs [Volumes, Replicas, LonghornNodes, KubeNodes] Away(away::rebuilt_without);
    STILL_ATTACHED = NotYet "attached_there" "volumes are still attached to the node, which is down"
        fix "Make sure that the machine is off. Then force-delete the pods that Kubernetes still lists on the node: Longhorn can then attach the volumes elsewhere."
        read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>"
        source "longhorn-manager v1.12.1 webhook/resources/node/validator.go (Delete counts engines)"
        needs [Volumes, LonghornNodes, KubeNodes] Away(away::still_attached);
    LEFT_OVER = Note "left_over_replicas" "replicas still exist on the node, which is down"
        fix ""
        source "longhorn-manager v1.12.1 webhook/resources/node/validator.go (Delete counts replicas)"
        needs [Volumes, Replicas, LonghornNodes, KubeNodes] Away(away::left_over);
    MANAGER_AWAY = NotYet "manager_away" "the node's longhorn-manager is not Ready, and only it removes the node's PodDisruptionBudgets"
        fix "Bring longhorn-manager on <node> back first: only it removes the PodDisruptionBudgets of the node's instance managers."
        read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide"
        source "longhorn-manager v1.12.1 controller/instance_manager_controller.go (syncInstanceManagerPDB by the owner)"
        needs [Pods] Drain(budgets::manager_away);
    FAULTED = NotYet "faulted_here" "faulted volumes have replicas on the node"
        fix "Recover these volumes first: this node may have data that Longhorn can salvage."
        read "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node> -o wide"
        source "longhorn-manager v1.12.1 controller/volume_controller.go (ReconcileVolumeState, salvage)"
        needs [Volumes, Replicas] Drain(data::faulted);
    REBUILDING = NotYet "rebuilding_here" "volumes with a replica on the node are being rebuilt"
        fix "Wait until these volumes are healthy: a drain now aborts the rebuild or removes the copy it reads."
        read "longhorn-health-exporter check --only volume_degraded"
        source "longhorn-manager v1.12.1 controller/engine_controller.go (rebuildStatus)"
        needs [Volumes, Replicas, Engines] Drain(data::rebuilding);
    BACKING_UP = NotYet "backups_here" "backups of volumes attached to the node are running"
        fix "Wait until these backups are complete: until then, their volumes stay attached and kubectl drain cannot finish."
        read "kubectl -n <namespace> get backups.longhorn.io --sort-by=.metadata.creationTimestamp"
        source "longhorn-manager v1.5.0 to v1.12.1 controller/backup_controller.go (ticket backup-controller)"
        needs [Volumes, Backups] Drain(data::backing_up);
    ONLY_IMAGE = NotYet "only_image_copy" "backing images have their only copy on the node that you want to remove"
        fix "Copy these backing images to another node first: raise minNumberOfCopies, and wait until the new copy is ready."
        read "kubectl -n <namespace> get backingimages.longhorn.io -o yaml"
        source "longhorn-manager v1.7.0 to v1.12.1 controller/backing_image_controller.go (minNumberOfCopies)"
        needs [BackingImages, BackingImageDataSources, LonghornNodes] Drain(data::only_image);
    LAST_COPY = NotYet "last_copy" "volumes have their last healthy copy on the node"
        fix "Give each of these volumes another healthy replica first. Raise numberOfReplicas by 1 and wait, or evict the node's replicas (steps: plan \
             drain <node> --evict)."
        read "kubectl -n <namespace> get replicas.longhorn.io -l longhornnode=<node> -o wide"
        source "longhorn-manager v1.12.1 controller/volume_controller.go (isHealthyAndActiveReplica)"
        needs [Volumes, Replicas, KubeNodes] Drain(data::last_copy);
    BUDGET_STAYS = NotYet "budget_stays" "an instance manager's PodDisruptionBudget would stay, so kubectl drain would never finish"
        fix "Give these volumes another healthy replica first. Longhorn then removes the PodDisruptionBudget once the node is cordoned and its volumes are detached."
        read "kubectl -n <namespace> get poddisruptionbudgets"
        source "longhorn-manager v1.3.3 to v1.12.1 controller/instance_manager_controller.go (canDeleteInstanceManagerPDB)"
        needs [InstanceManagers, Replicas, PodDisruptionBudgets, Settings, KubeNodes] Drain(budgets::stays);
    UNKNOWN_NODE = NotYet "copy_on_unknown_node" "a detached volume has a copy on a node that is missing from Kubernetes, so kubectl drain would never finish"
        fix "Start these volumes' workloads so that the volumes attach: Longhorn then rebuilds the missing node's copies elsewhere."
        read "kubectl -n <namespace> get replicas.longhorn.io -o wide"
        source "longhorn-manager v1.3.3 to v1.12.1 datastore/longhorn.go (ListVolumePDBProtectedHealthyReplicasRO); issue 10833"
        needs [Replicas, KubeNodes] Drain(budgets::unknown_node);
    ENGINE_LEFT = NotYet "engine_left_over" "a leftover engine process is running on the node, so kubectl drain would never finish"
        fix "Delete the leftover process's Orphan object (1.9 or later). On older releases, delete the instance manager pod once no volume is attached to the \
             node. Then wait for the rebuilds."
        read "kubectl -n <namespace> get orphans.longhorn.io"
        read "kubectl -n <namespace> get engines.longhorn.io -o wide"
        source "longhorn-manager v1.3.3 to v1.12.1 controller/instance_manager_controller.go (areAllInstanceRemovedFromNodeByType); issue 6764"
        needs [InstanceManagers, Engines] Drain(budgets::engine_left_over);
    CSI_BUDGET = NotYet "csi_budget" "only one pod of csi-attacher or csi-provisioner is Ready, so its PodDisruptionBudget blocks the drain"
        fix "Scale that Deployment to 2, and wait until both pods are Ready. To make this permanent, set csi.attacherReplicaCount or \
             csi.provisionerReplicaCount in the chart's values."
        read "kubectl -n <namespace> get deployments,poddisruptionbudgets"
        source "longhorn-manager v1.5.5 to v1.12.1 controller/kubernetes_pdb_controller.go (reconcile)"
        needs [PodDisruptionBudgets, Pods, Volumes] Drain(budgets::csi);
    HELD = NotYet "attached_for_good" "volumes stay attached to the node after kubectl drain"
        fix "Detach the volumes that were attached by hand. Exclude the node from the DaemonSets that use the other \
             volumes."
        read "kubectl -n <namespace> get volumeattachments.longhorn.io"
        source "longhorn-manager v1.12.1 controller/instance_manager_controller.go (areAllVolumesDetachedFromNode); setting detach-manually-attached-volumes-when-cordoned (1.6)"
        needs [Volumes, VolumeAttachments, Settings] Drain(workloads::held);
    BARE_PODS = NotYet "bare_pods" "pods without a controller use volumes on the node"
        fix "Stop these pods yourself, or drain with --force, which deletes them. Nothing recreates them on another node."
        source "kubectl drain (k8s.io/kubectl pkg/drain filters.go unreplicatedFilter)"
        needs [Volumes] Drain(workloads::bare_pods);
    NO_PLACE = NotYet "no_place" "replicas that must leave the node have nowhere to go"
        fix "Make room first: add a node or disk, raise storage-over-provisioning-percentage, or lower these volumes' numberOfReplicas."
        read "kubectl -n <namespace> get nodes.longhorn.io -o yaml"
        source "longhorn-manager v1.3.3 to v1.12.1 scheduler/replica_scheduler.go"
        needs [Volumes, Replicas, LonghornNodes, Settings] Drain(data::no_place);
    UNWELL = NotYet "eviction_trouble" "`check` has findings about the node's evictions or attachments"
        fix ""
        source "the checks of this program"
        needs [] Drain(budgets::unwell);
    DEGRADES = Note "degrades" "volumes become degraded while the node is down"
        fix ""
        source "longhorn-manager v1.12.1 controller/volume_controller.go; setting replica-replenishment-wait-interval"
        needs [Volumes, Replicas] Drain(data::degrades);
    SHARED = Note "shared_volumes" "NFS servers of shared (RWX) volumes are running on the node"
        fix "Expect NFS clients to hang while the server restarts. In v1.7 or later, enable rwx-volume-fast-failover \
             to shorten this."
        source "longhorn-manager v1.12.1 controller/share_manager_controller.go"
        needs [Pods] Drain(workloads::shared);
    HOW = Note "kubectl_drain" "kubectl drain can evict every pod here"
        fix ""
        source "longhorn-manager v1.5.4 to v1.12.1 controller/node_controller.go (shouldEvictReplica), controller/instance_manager_controller.go"
        needs [Settings, Volumes] Drain(budgets::how);
}

/// What is asked.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The nodes that go at the same time; empty for each node of the cluster on its own.
    pub nodes: Vec<String>,
    /// What is to become of them.
    pub intent: Intent,
}

/// The plan; an error names a node that does not exist.
pub fn plan(looked: Looked<'_>, asked: &Asked) -> Result<Plan, String> {
    let cluster = looked.cluster;
    let known = known_nodes(cluster, &asked.nodes)?;
    let each_alone = asked.nodes.is_empty();
    let nodes: Vec<&str> = if each_alone { known } else { asked.nodes.iter().map(String::as_str).collect() };
    let together: BTreeSet<&str> = nodes.iter().copied().collect();
    let mut parts = Vec::new();
    for node in nodes.iter().copied() {
        let leaving = if each_alone { BTreeSet::from([node]) } else { together.clone() };
        let budgets = Budgets::new(cluster).without(leaving.iter().copied());
        let draining = Draining {
            looked,
            cluster,
            node,
            together: &leaving,
            intent: asked.intent,
            budgets: &budgets,
            release: crate::facts::releases::manager_release(cluster),
        };
        parts.push(judged(&draining));
    }
    let verdict = parts.iter().map(|part| part.verdict).min().unwrap_or(Verdict::Unknown);
    let (question, answer) =
        (steps::question(&nodes, asked, each_alone), steps::answer(&parts, asked, each_alone));
    Ok(looked.plan("drain", question, verdict, answer, parts))
}

fn judged(draining: &Draining<'_>) -> Part {
    let shared =
        [(Name::Namespace, draining.cluster.namespace.clone()), (Name::Node, draining.node.to_owned())];
    let mut reasons = Vec::new();
    for condition in ALL.iter().copied() {
        let look = match condition.look {
            Look::Drain(look) if !draining.is_down() || condition.id() == UNWELL.id() => look,
            Look::Away(look) if draining.is_down() => look,
            _ => continue,
        };
        reasons.append(&mut draining.looked.judge(condition, &shared, |found| look(draining, found)));
    }
    let mut part = Part::of(draining.node.to_owned(), reasons, Vec::new());
    part.steps = steps::of(draining, part.verdict);
    part
}
