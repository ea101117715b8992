//! What installs packages on a host, by its operating system.

/// What a system installs packages with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packages {
    /// apt-get of Debian and what comes from it.
    Apt,
    /// yum, or dnf, of the systems of Red Hat and Amazon.
    Yum,
    /// zypper of SUSE.
    Zypper,
    /// pacman of Arch.
    Pacman,
    /// emerge of Gentoo.
    Emerge,
    /// rpm-ostree of CoreOS: there after a restart of the host.
    RpmOstree,
    /// transactional-update of MicroOS: there after a restart of the host.
    TransactionalUpdate,
    /// None, on a read-only root that has what Longhorn needs.
    Included,
    /// Nothing on the host itself.
    Elsewhere,
}

/// By a part of `status.nodeInfo.osImage` in lower case. The systems with a read-only root come before
/// those of whose name theirs contains a part.
const SYSTEMS: [(&str, Packages); 24] = [
    ("talos", Packages::Elsewhere),
    ("bottlerocket", Packages::Elsewhere),
    ("nixos", Packages::Elsewhere),
    ("k3s", Packages::Elsewhere),
    ("alpine", Packages::Elsewhere),
    ("k3os", Packages::Elsewhere),
    ("flatcar", Packages::Included),
    ("coreos", Packages::RpmOstree),
    ("micro", Packages::TransactionalUpdate),
    ("ubuntu", Packages::Apt),
    ("debian", Packages::Apt),
    ("raspbian", Packages::Apt),
    ("red hat", Packages::Yum),
    ("rocky", Packages::Yum),
    ("centos", Packages::Yum),
    ("fedora", Packages::Yum),
    ("alma", Packages::Yum),
    ("oracle", Packages::Yum),
    ("amazon", Packages::Yum),
    ("suse", Packages::Zypper),
    ("sles", Packages::Zypper),
    ("arch linux", Packages::Pacman),
    ("manjaro", Packages::Pacman),
    ("gentoo", Packages::Emerge),
];

/// The system of this `osImage`, by the word that tells it, and what installs packages there; `None` for one that is unknown.
pub fn of(os_image: &str) -> Option<(&'static str, Packages)> {
    let os = os_image.to_lowercase();
    SYSTEMS.into_iter().find(|(name, _)| os.contains(name))
}
