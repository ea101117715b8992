//! What Longhorn's own look at a node found missing: packages, kernel modules, shared mounts.

use super::causes;
use super::conditions::{DiskCounts, said};
use crate::check::*;
use crate::facts::api;
use crate::facts::packages::{self, Packages};
use crate::longhorn::{Condition, ConditionStatus, DataEngine, KubeNode, LonghornNode, condition};

/// What a node may lack, and who needs it. A manager looks every half hour (longhorn-manager v1.12.1
/// controller/monitor/environment_check_monitor.go; the last five since 1.7 and 1.8).
const ENVIRONMENT: [(&str, Need); 6] = [
    ("MountPropagation", Need::Every),
    ("RequiredPackages", Need::Packages),
    ("KernelModulesLoaded", Need::Encrypted),
    ("NFSClientInstalled", Need::Shared),
    ("Multipathd", Need::Some("multipathd can take over volumes' devices")),
    ("HugePagesAvailable", Need::V2),
];

/// Who needs what is not there.
#[derive(Clone, Copy)]
enum Need {
    Every,
    Shared,
    V2,
    /// The condition names the packages that are missing.
    Packages,
    Encrypted,
    Some(&'static str),
}

pub(super) fn run(cluster: &Cluster, out: &mut Outcome, counts: &DiskCounts, node: &LonghornNode) {
    let name = &node.metadata.name;
    let mut lacks = Vec::new();
    let mut hurts_encrypted = false;
    for (kind, need) in ENVIRONMENT {
        let lack =
            condition(&node.status.conditions, kind).filter(|found| found.status == ConditionStatus::False);
        let Some(lack) = lack else { continue };
        let (shared, encrypted) = (counts.shared(cluster), !counts.encrypted(cluster).is_empty());
        let who = match need {
            Need::Every => "no volume can be mounted on the node",
            Need::Shared if shared => "this cluster's RWX volumes cannot be mounted on the node",
            Need::Shared => "only RWX volumes need it, and this cluster has none",
            Need::V2 if takes_v2(cluster, name) => "the v2 data engine cannot run on the node",
            Need::V2 if !uses_huge_pages(cluster) => "setting data-engine-hugepage-enabled is off",
            Need::V2 => "only the v2 data engine needs them, and a label disables that engine on the node",
            Need::Encrypted if encrypted => "this cluster's encrypted volumes cannot be mounted on the node",
            Need::Encrypted => "only encrypted volumes need it, and this cluster has none",
            Need::Packages => {
                "the node cannot mount RWX volumes without an NFS client, or encrypted volumes without cryptsetup"
            }
            Need::Some(who) => who,
        };
        let needed = match need {
            Need::Every => true,
            Need::Shared => shared,
            Need::V2 => takes_v2(cluster, name),
            // one that says that it could not look proves nothing
            Need::Encrypted => encrypted && !lack.message.contains("Failed to"),
            Need::Packages => {
                encrypted && lack.message.contains("cryptsetup") || shared && lack.message.contains("nfs")
            }
            Need::Some(_) => false,
        };
        hurts_encrypted |= needed && (matches!(need, Need::Encrypted) || lack.message.contains("cryptsetup"));
        let said = said(&format!("nodes.longhorn.io {name}"), lack);
        lacks.push((needed, lack, who, api(format!("{said} ({who})")).quoting(&lack.message)));
    }
    // what is needed is reported first
    lacks.sort_by_key(|(needed, ..)| !needed);
    let Some((needed, first, who, _)) = lacks.first() else { return };
    let severity = if *needed { Severity::Warning } else { Severity::Info };
    let way = way(cluster, name, first);
    let headline = match way {
        Some((way, "")) => format!("fails Longhorn's environment check: {}", way.briefly),
        Some((way, names)) if [&causes::MODULES, &causes::NFS_MODULE].contains(&way) => {
            format!("lacks kernel module {}", joined(names))
        }
        Some((_, names)) => format!("lacks {}", joined(names)),
        None => format!("fails an environment check: {} is False", first.kind),
    };
    let mut finding = Finding::about(
        &causes::NODE_ENVIRONMENT,
        cluster.object::<KubeNode>(name),
        format!("node {name} {headline}"),
    )
    .severity(severity)
    .node(name)
    .impact(match severity {
        Severity::Info => "none yet: no existing volume depends on the missing component",
        _ => *who,
    })
    .facts(lacks.iter().map(|(.., said)| said.clone()));
    if hurts_encrypted {
        finding = finding.volumes(counts.encrypted(cluster).to_vec());
    }
    if let Some((way, names)) = way {
        finding = finding.way(way).with(Name::Key, names).with(Name::Value, joined(names));
    }
    out.report(finding);
}

/// Names that a command takes one after the other, as a person reads them.
fn joined(names: &str) -> String {
    names.split_whitespace().collect::<Vec<_>>().join(" and ")
}

/// How the node gets what it lacks, and its name, where that can be said; the cause has the rest. What installs it is that of the usual
/// systems, with the names that packages have on Debian and on those of Red Hat.
fn way<'a>(cluster: &Cluster, node: &str, lack: &'a Condition) -> Option<(&'static Way, &'a str)> {
    let system = cluster.objects.kube_nodes.get(node);
    let system = system.and_then(|node| packages::of(&node.status.node_info.os_image)).map(|(_, with)| with);
    Some(match (lack.kind.as_str(), named(lack), system) {
        ("KernelModulesLoaded", Some(modules), _) => (&causes::MODULES, modules),
        ("MountPropagation", ..) => (&causes::NOT_SHARED, ""),
        ("RequiredPackages", Some(packages), Some(Packages::Apt)) => (&causes::PACKAGES_APT, packages),
        ("RequiredPackages", Some(packages), Some(Packages::Yum)) => (&causes::PACKAGES_YUM, packages),
        ("RequiredPackages", Some(packages), _) => (&causes::PACKAGES, packages),
        ("NFSClientInstalled", ..) if lack.reason == "NFSClientIsMisconfigured" => (&causes::NFS_VERSION, ""),
        // neither compiled in nor loaded; packages are another condition (longhorn-manager v1.7.3 to v1.12.1 syncNFSClientVersion)
        ("NFSClientInstalled", ..) if lack.reason == "NFSClientIsNotFound" => (&causes::NFS_MODULE, "nfs"),
        ("Multipathd", ..) => (&causes::MULTIPATHD, ""),
        _ => return None,
    })
}

/// The names in brackets, `[dm_crypt]`, if they are names. A check that failed has its command in brackets instead, with this reason
/// (longhorn-manager v1.12.1 controller/monitor/environment_check_monitor.go checkKernelModulesLoaded).
fn named(lack: &Condition) -> Option<&str> {
    let message = lack.message.as_str();
    if lack.reason == "NamespaceExecutorErr" || message.starts_with("Failed to") {
        return None;
    }
    let (names, _) = message.split_once('[')?.1.split_once(']')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    (!names.is_empty() && names.chars().all(plain)).then_some(names)
}

/// The v2 engine can do without, and the condition does not know it (longhorn-manager v1.11.2 environment_check_monitor.go checkHugePages).
fn uses_huge_pages(cluster: &Cluster) -> bool {
    cluster.setting_value("data-engine-hugepage-enabled", DataEngine::V2) != "false"
}

/// Whether the v2 data engine may run on a node: its manager looks for huge pages while the setting is on, also where the
/// node is labelled out (longhorn-manager v1.12.1 controller/monitor/environment_check_monitor.go environmentCheck).
fn takes_v2(cluster: &Cluster, node: &str) -> bool {
    const LABEL: &str = "node.longhorn.io/disable-v2-data-engine";
    let kube = cluster.objects.kube_nodes.get(node);
    let disabled = kube.and_then(|node| node.metadata.labels.get(LABEL)).is_some_and(|value| value == "true");
    !disabled && uses_huge_pages(cluster)
}
