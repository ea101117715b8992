//! How open-iscsi comes onto a host, by its operating system.

use crate::check::*;
use crate::facts::packages::{self, Packages};
use crate::longhorn::Pod;

/// How the systems take it that install nothing on the host itself, by the word that tells them.
const ELSEWHERE: [(&str, &str); 6] = [
    (
        "talos",
        "On Talos the system extension siderolabs/iscsi-tools has to be in the image of the node and its service ext-iscsid \
         has to run: where the extension is missing, add it to the image and upgrade the node; where it is listed, see why \
         the service does not run.",
    ),
    ("bottlerocket", "Bottlerocket has no package for it: run Longhorn on nodes of another system."),
    ("nixos", "On NixOS set services.openiscsi.enable and rebuild the system."),
    (
        "k3s",
        "The node is a container of the image of k3s (k3d), which takes no package and has no systemd: build an image with \
         open-iscsi, or run Longhorn on nodes that are machines.",
    ),
    (
        "alpine",
        "On Alpine run apk add open-iscsi, rc-update add iscsid and rc-service iscsid start on the node, and mount --make-rshared /.",
    ),
    ("k3os", "k3OS is no longer maintained and takes no packages: use nodes of another system."),
];

/// Commands for a node whose operating system is known; the cause has the most common ones.
pub fn install_open_iscsi(cluster: &Cluster, pod: &Pod) -> Remedy {
    const TEXT: &str =
        "Install open-iscsi (iscsi-initiator-utils on RPM systems) on the node and start iscsid.";
    const THEN: &str = "The manager starts at its next attempt, within five minutes.";
    let node = pod.spec.node_name.as_str();
    let kube = cluster.objects.kube_nodes.get(node);
    let Some((system, with)) = kube.and_then(|node| packages::of(&node.status.node_info.os_image)) else {
        return Remedy::default();
    };
    let start = "sudo systemctl enable --now iscsid";
    let look = format!("ssh {node} 'command -v iscsiadm; systemctl is-active iscsid'");
    let at_once = |install: &str| {
        Remedy::new(format!("{TEXT} {THEN}"))
            .change(format!("ssh {node} '{install} && {start}'"))
            .read(look.clone())
    };
    let after_restart = |install: &str| {
        Remedy::new(format!("{TEXT} The node has to be restarted for it. {THEN}"))
            .change(format!("ssh {node} '{install} && sudo systemctl enable iscsid'"))
            .read(look.clone())
    };
    match with {
        Packages::Apt => at_once("sudo apt-get update && sudo apt-get install -y open-iscsi"),
        Packages::Yum => at_once("sudo yum install -y iscsi-initiator-utils"),
        Packages::Zypper => at_once("sudo zypper install -y open-iscsi"),
        Packages::Pacman => at_once("sudo pacman -S --noconfirm open-iscsi"),
        Packages::Emerge => at_once("sudo emerge --ask=n sys-block/open-iscsi"),
        Packages::RpmOstree => after_restart("sudo rpm-ostree install -y iscsi-initiator-utils"),
        Packages::TransactionalUpdate => {
            after_restart("sudo transactional-update --non-interactive pkg install open-iscsi")
        }
        Packages::Included => {
            Remedy::new(format!("Start iscsid on the node; the system has open-iscsi. {THEN}"))
                .change(format!("ssh {node} '{start}'"))
                .read(look)
        }
        Packages::Elsewhere => {
            let how = ELSEWHERE.iter().find(|(name, _)| *name == system).map_or("", |(_, how)| *how);
            let remedy = Remedy::new(format!("{how} {THEN}"));
            match system {
                "talos" => remedy
                    .read(format!("talosctl -n {node} get extensions"))
                    .read(format!("talosctl -n {node} service ext-iscsid")),
                _ => remedy.read(format!("kubectl get node {node} -o wide")),
            }
        }
    }
}
