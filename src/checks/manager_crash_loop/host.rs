//! How open-iscsi comes onto a host, by its operating system.

use crate::check::*;
use crate::longhorn::Pod;

const APT: &str = "sudo apt-get update && sudo apt-get install -y open-iscsi";
const YUM: &str = "sudo yum install -y iscsi-initiator-utils";
const ZYPPER: &str = "sudo zypper install -y open-iscsi";
const PACMAN: &str = "sudo pacman -S --noconfirm open-iscsi";
/// The package is there; only its daemon has to be started.
const INCLUDED: &str = "true";

/// How a system takes the package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// By a command, whose effect is there at once.
    Command(&'static str),
    /// By a command, and there after a restart of the host.
    AfterRestart(&'static str),
    /// Not on the host itself; the sentence says how.
    Elsewhere(&'static str),
}

/// By a part of `status.nodeInfo.osImage` in lower case. The systems with a read-only root come before
/// those of whose name theirs contains a part.
const SYSTEMS: [(&str, Way); 24] = [
    (
        "talos",
        Way::Elsewhere(
            "On Talos the system extension siderolabs/iscsi-tools has to be in the image of the node and its service ext-iscsid \
             has to run: where the extension is missing, add it to the image and upgrade the node; where it is listed, see why \
             the service does not run.",
        ),
    ),
    (
        "bottlerocket",
        Way::Elsewhere("Bottlerocket has no package for it: run Longhorn on nodes of another system."),
    ),
    ("nixos", Way::Elsewhere("On NixOS set services.openiscsi.enable and rebuild the system.")),
    (
        "k3s",
        Way::Elsewhere(
            "The node is a container of the image of k3s (k3d), which takes no package and has no systemd: build an image with \
             open-iscsi, or run Longhorn on nodes that are machines.",
        ),
    ),
    (
        "alpine",
        Way::Elsewhere(
            "On Alpine run apk add open-iscsi, rc-update add iscsid and rc-service iscsid start on the node, and mount --make-rshared /.",
        ),
    ),
    (
        "k3os",
        Way::Elsewhere("k3OS is no longer maintained and takes no packages: use nodes of another system."),
    ),
    ("flatcar", Way::Command(INCLUDED)),
    ("coreos", Way::AfterRestart("sudo rpm-ostree install -y iscsi-initiator-utils")),
    ("micro", Way::AfterRestart("sudo transactional-update --non-interactive pkg install open-iscsi")),
    ("ubuntu", Way::Command(APT)),
    ("debian", Way::Command(APT)),
    ("raspbian", Way::Command(APT)),
    ("red hat", Way::Command(YUM)),
    ("rocky", Way::Command(YUM)),
    ("centos", Way::Command(YUM)),
    ("fedora", Way::Command(YUM)),
    ("alma", Way::Command(YUM)),
    ("oracle", Way::Command(YUM)),
    ("amazon", Way::Command(YUM)),
    ("suse", Way::Command(ZYPPER)),
    ("sles", Way::Command(ZYPPER)),
    ("arch linux", Way::Command(PACMAN)),
    ("manjaro", Way::Command(PACMAN)),
    ("gentoo", Way::Command("sudo emerge --ask=n sys-block/open-iscsi")),
];

/// Commands for a node whose operating system is known; the cause has the most common ones.
pub fn install_open_iscsi(cluster: &Cluster, pod: &Pod) -> Remedy {
    let node = pod.spec.node_name.as_str();
    let os = cluster.objects.kube_nodes.get(node).map(|node| node.status.node_info.os_image.to_lowercase());
    let os = os.unwrap_or_default();
    let Some((_, way)) = SYSTEMS.iter().find(|(name, _)| os.contains(name)) else { return Remedy::default() };
    const TEXT: &str =
        "Install open-iscsi (iscsi-initiator-utils on RPM systems) on the node and start iscsid.";
    const THEN: &str = "The manager starts at its next attempt, within five minutes.";
    let start = "sudo systemctl enable --now iscsid";
    let look = format!("ssh {node} 'command -v iscsiadm; systemctl is-active iscsid'");
    match *way {
        Way::Elsewhere(how) if os.contains("talos") => Remedy::new(format!("{how} {THEN}"))
            .read(format!("talosctl -n {node} get extensions"))
            .read(format!("talosctl -n {node} service ext-iscsid")),
        Way::Elsewhere(how) => {
            Remedy::new(format!("{how} {THEN}")).read(format!("kubectl get node {node} -o wide"))
        }
        Way::AfterRestart(install) => {
            Remedy::new(format!("{TEXT} The node has to be restarted for it. {THEN}"))
                .change(format!("ssh {node} '{install} && sudo systemctl enable iscsid'"))
                .read(look)
        }
        Way::Command(INCLUDED) => {
            Remedy::new(format!("Start iscsid on the node; the system has open-iscsi. {THEN}"))
                .change(format!("ssh {node} '{start}'"))
                .read(look)
        }
        Way::Command(install) => Remedy::new(format!("{TEXT} {THEN}"))
            .change(format!("ssh {node} '{install} && {start}'"))
            .read(look),
    }
}
