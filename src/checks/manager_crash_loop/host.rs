//! What a host lacks: open-iscsi, which comes by its operating system, or a whole image.

use super::CONTAINER;
use super::causes::*;
use crate::check::{Cluster, Way};
use crate::facts::packages::{self, Packages};
use crate::longhorn::Pod;

/// For a node whose operating system is known; the cause has the most common commands.
pub fn packages(cluster: &Cluster, node: &str) -> Option<&'static Way> {
    let node = cluster.objects.kube_nodes.get(node)?;
    let (system, with) = packages::of(&node.status.node_info.os_image)?;
    Some(match (with, system) {
        (Packages::Apt, _) => &ISCSI_APT,
        (Packages::Yum, _) => &ISCSI_YUM,
        (Packages::Zypper, _) => &ISCSI_ZYPPER,
        (Packages::Pacman, _) => &ISCSI_PACMAN,
        (Packages::Emerge, _) => &ISCSI_EMERGE,
        (Packages::RpmOstree, _) => &ISCSI_RPM_OSTREE,
        (Packages::TransactionalUpdate, _) => &ISCSI_TRANSACTIONAL,
        (Packages::Included, _) => &ISCSI_INCLUDED,
        (Packages::Elsewhere, "talos") => &ISCSI_TALOS,
        (Packages::Elsewhere, "bottlerocket") => &ISCSI_BOTTLEROCKET,
        (Packages::Elsewhere, "nixos") => &ISCSI_NIXOS,
        (Packages::Elsewhere, "k3s") => &ISCSI_K3D,
        (Packages::Elsewhere, "alpine") => &ISCSI_ALPINE,
        (Packages::Elsewhere, _) => &ISCSI_K3OS,
    })
}

/// The image of a manager whose container cannot be executed, where a node of the same architecture runs it: the copy on this node is
/// damaged, as after a power loss.
pub fn damaged<'a>(cluster: &Cluster, pod: &'a Pod) -> Option<&'a str> {
    let architecture = |pod: &Pod| {
        let node = cluster.objects.kube_nodes.get(&pod.spec.node_name)?;
        Some(node.status.node_info.architecture.clone()).filter(|name| !name.is_empty())
    };
    let (this, here) = (pod.spec.container(CONTAINER)?.image.as_str(), architecture(pod)?);
    let runs = |other: &Pod| {
        other.is_ready()
            && other.spec.container(CONTAINER).is_some_and(|container| container.image == this)
            && architecture(other).is_some_and(|there| there == here)
    };
    cluster.manager_pods().any(runs).then_some(this)
}
