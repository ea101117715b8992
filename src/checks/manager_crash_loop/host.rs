//! How open-iscsi comes onto a host, by its operating system.

use super::causes::*;
use crate::check::{Cluster, Way};
use crate::facts::packages::{self, Packages};

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
