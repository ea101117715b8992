//! Known bugs of Longhorn releases that stop the manager or hurt its node, and whether this
//! cluster meets what triggers them.
//!
//! Ranges are those of the tags of longhorn-manager in which the faulty code stands, from the first
//! such tag to the first with the fix; change logs name the issue but not where it begins. That a
//! tag has the code does not prove that the bug can strike in it, only that nothing keeps it away.
//! Two issues of the change logs are not here, because no tag has their bug: that of 10749 (a disk
//! without UUID) reached its first tags (v1.7.4, v1.8.2, v1.9.0) together with its guard
//! (datastore/longhorn.go), as did that of 6987 (annotations of settings, v1.5.2,
//! upgrade/util/util.go).

use super::instance_managers::missing_labels;
use super::stale_copies;
use crate::check::uncapitalised;
use crate::cluster::Cluster;
use crate::longhorn::{DataEngine, KubeNode, Release, Resource, Suffix};

/// A bug of some releases.
#[derive(Debug)]
pub struct KnownIssue {
    /// Number in github.com/longhorn/longhorn.
    pub number: u32,
    /// Cause id in findings: `issue_` and the number.
    pub cause: &'static str,
    /// What goes wrong, as the second half of a sentence.
    pub effect: &'static str,
    /// True when the manager process panics (exit code 2).
    pub panics: bool,
    /// Releases that have it, from the first up to but not including the second of a pair.
    pub ranges: &'static [(Release, Release)],
    /// Releases to go to, one per minor line that has one.
    pub fixed: &'static [Release],
    /// Texts of which one stands in what the manager writes last: in the stack trace of a panic, else
    /// in its fatal line. Empty when the manager does not end by it.
    pub frames: &'static [&'static str],
    /// What keeps it away until the upgrade.
    pub until_then: &'static str,
    /// Whether this cluster meets what triggers it.
    trigger: fn(&Cluster) -> Trigger,
}

/// Whether a cluster meets what triggers a bug.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    /// It does; the text says where.
    Met(String),
    /// It can come at any time or does not show in the API; the text says what it is.
    Possible(&'static str),
    /// What the bug needs is not there.
    Absent,
}

const fn r(major: u32, minor: u32, patch: u32) -> Release {
    Release::new(major, minor, patch)
}

const fn hotfix(minor: u32, patch: u32, number: u32) -> Release {
    Release { major: 1, minor, patch, suffix: Suffix::Hotfix(number) }
}

/// Every known issue, oldest first.
pub const ALL: &[KnownIssue] = &[
    KnownIssue {
        number: 5209,
        cause: "issue_5209",
        effect: "the manager can crash while a large volume is exported as a backing image",
        panics: true,
        // the change log of 1.6.0 names the fix, and no release before it has one
        ranges: &[(r(1, 3, 0), r(1, 6, 0))],
        fixed: &[r(1, 6, 0)],
        frames: &["(*BackingImageDataSourceController)"],
        until_then: "Do not export volumes of 100 GiB and more as backing images.",
        trigger: |cluster| match cluster.objects.backing_image_data_sources.is_empty() {
            true => Trigger::Absent,
            false => Trigger::Possible("an export of a large volume can trigger it"),
        },
    },
    KnownIssue {
        number: 6264,
        cause: "issue_6264",
        effect: "the manager can crash on volumes whose claim names its StorageClass in an annotation",
        panics: true,
        // v1.5.0 controller/backup_controller.go checkMonitor
        ranges: &[(r(1, 5, 0), r(1, 5, 1))],
        fixed: &[r(1, 5, 1)],
        frames: &["BackupController"],
        until_then: "Pause recurring backups.",
        trigger: |_| Trigger::Possible("the annotations of claims are not read"),
    },
    KnownIssue {
        number: 6998,
        cause: "issue_6998",
        effect: "the manager panics when it syncs a backup that is missing in the backup target",
        panics: true,
        // v1.3.2 controller/backup_volume_controller.go reconcile
        ranges: &[(r(1, 3, 2), r(1, 5, 2))],
        fixed: &[r(1, 5, 2)],
        frames: &["BackupVolumeController"],
        until_then: "Do not delete files in the backup target by hand.",
        trigger: |_| Trigger::Possible("the content of the backup target is not in the API"),
    },
    KnownIssue {
        number: 8098,
        cause: "issue_8098",
        effect: "the manager can panic while it collects the metrics of a volume",
        panics: true,
        // v1.4.0 to v1.6.4 metrics_collector/volume_collector.go Collect; v1.7.0 recovers in collectMetrics
        ranges: &[(r(1, 4, 0), r(1, 7, 0))],
        fixed: &[r(1, 7, 0)],
        frames: &["(*VolumeCollector)"],
        until_then: "Stop the scrapes of port 9500 of longhorn-manager if it strikes.",
        trigger: |_| Trigger::Possible("any scrape of the manager's own metrics can trigger it"),
    },
    KnownIssue {
        number: 9073,
        cause: "issue_9073",
        effect: "the manager does not start on a new node where the block device of default-data-path does not exist",
        // a fatal error, no panic: v1.6.0 types/types.go CreateDefaultDisk
        panics: false,
        ranges: &[(r(1, 6, 0), r(1, 6, 3))],
        fixed: &[r(1, 6, 3)],
        frames: &["creating default block-type disk"],
        until_then: "Set default-data-path to a device or directory that every node has.",
        trigger: block_device_by_default,
    },
    KnownIssue {
        number: 9464,
        cause: "issue_9464",
        effect: "a node whose instance manager has lost its labels is not synced any more, and nothing new starts there",
        panics: false,
        // the webhook sets the labels since v1.6.0 (webhook/resources/instancemanager/mutator.go). The
        // fix deletes such an instance manager (v1.6.3 controller/node_controller.go syncInstanceManagers)
        ranges: &[(r(1, 6, 0), r(1, 6, 3)), (r(1, 7, 0), r(1, 7, 2))],
        fixed: &[r(1, 6, 3), r(1, 7, 2)],
        frames: &[],
        until_then: "Put the labels back, also before the upgrade: releases with the fix delete such an instance \
                     manager with all that runs in it and recreate it.",
        trigger: unlabelled_instance_manager,
    },
    KnownIssue {
        number: 10019,
        cause: "issue_10019",
        effect: "the package check of the manager keeps the RPM database of the host busy",
        panics: false,
        ranges: &[(r(1, 7, 0), r(1, 7, 3))],
        fixed: &[r(1, 7, 3)],
        frames: &[],
        until_then: "Watch the CPU of rpm processes on the hosts.",
        trigger: rpm_host,
    },
    KnownIssue {
        number: 10464,
        cause: "issue_10464",
        effect: "the manager panics when a node asks for eviction while a backing image copy is being cleaned up",
        panics: true,
        ranges: &[(r(1, 7, 0), r(1, 7, 4)), (r(1, 8, 0), r(1, 8, 1))],
        fixed: &[r(1, 7, 4), r(1, 8, 2)],
        frames: &["syncBackingImageEvictionRequested"],
        until_then: "Look at backing_image_eviction_crash before you evict a node or a disk.",
        trigger: backing_image_eviction,
    },
    KnownIssue {
        number: 11034,
        cause: "issue_11034",
        effect: "the manager still panics on a stale backing image copy of the very disk that is evicted",
        panics: true,
        ranges: &[(r(1, 8, 1), r(1, 8, 2)), (r(1, 9, 0), r(1, 9, 1))],
        fixed: &[r(1, 8, 2), r(1, 9, 1)],
        frames: &["syncBackingImageEvictionRequested"],
        until_then: "Look at backing_image_eviction_crash before you evict a node or a disk.",
        trigger: backing_image_eviction,
    },
    KnownIssue {
        number: 11169,
        cause: "issue_11169",
        effect: "the manager panics when the status of a support bundle cannot be updated",
        panics: true,
        // v1.4.0 controller/support_bundle_controller.go handleStatusUpdate
        ranges: &[(r(1, 4, 0), r(1, 9, 1))],
        fixed: &[r(1, 9, 1)],
        frames: &["SupportBundleController"],
        until_then: "Delete supportbundles.longhorn.io objects that are left over.",
        trigger: |_| Trigger::Possible("support bundles are not read"),
    },
    KnownIssue {
        number: 11420,
        cause: "issue_11420",
        effect: "the manager can crash while it rebuilds a replica of a v2 volume",
        panics: true,
        ranges: &[(r(1, 7, 0), r(1, 9, 2))],
        fixed: &[r(1, 9, 2)],
        frames: &["waitForV2EngineRebuild"],
        until_then: "Avoid rebuilds of v2 volumes.",
        trigger: |cluster| match v2_volume(cluster) {
            true => Trigger::Possible("v2 volumes exist, and any rebuild of one can trigger it"),
            false => Trigger::Absent,
        },
    },
    KnownIssue {
        number: 11864,
        cause: "issue_11864",
        effect: "the manager does not start after the upgrade to 1.10.0 when the CPU reserved for v2 instance managers is more \
                 than 40 % of the smallest node",
        // a fatal error, no panic: v1.10.0 datastore/longhorn.go syncV2DataEngineGuaranteedInstanceManagerCPU
        panics: false,
        ranges: &[(r(1, 10, 0), r(1, 10, 1))],
        fixed: &[r(1, 10, 1)],
        frames: &["failed to validate setting"],
        until_then: "Before the upgrade set v2-data-engine-guaranteed-instance-manager-cpu to 250 m or less per core of the \
                     smallest node, or upgrade to 1.10.1 at once.",
        trigger: v2_cpu_above_the_limit,
    },
    KnownIssue {
        number: 11939,
        cause: "issue_11939",
        effect: "the manager panics when it waits before it makes a share manager pod again",
        panics: true,
        ranges: &[(r(1, 10, 0), hotfix(10, 0, 1))],
        fixed: &[hotfix(10, 0, 1), r(1, 10, 1)],
        frames: &["ShareManagerController"],
        until_then: "Avoid restarts of share managers.",
        trigger: rwx_volume,
    },
    KnownIssue {
        number: 11994,
        cause: "issue_11994",
        effect: "a volume stays in state attaching while its engine image is not deployed on one of the nodes",
        panics: false,
        ranges: &[(r(1, 10, 0), r(1, 10, 1))],
        fixed: &[r(1, 10, 1)],
        frames: &[],
        until_then: "Let the engine image be deployed on every node, also on those that are tainted.",
        trigger: engine_image_missing,
    },
    KnownIssue {
        number: 12081,
        cause: "issue_12081",
        effect: "the process of an engine can panic (longhorn-engine control.go), which detaches its volume",
        panics: false,
        ranges: &[(r(1, 10, 0), r(1, 10, 1))],
        fixed: &[r(1, 10, 1)],
        frames: &[],
        until_then: "Avoid expansions and rebuilds at the same time.",
        trigger: |_| Trigger::Possible("it comes and goes with the I/O of a volume"),
    },
    KnownIssue {
        number: 12233,
        cause: "issue_12233",
        effect: "the manager panics when the status of a replica that it starts cannot be updated",
        panics: true,
        // v1.9.2 controller/replica_controller.go CreateInstance; v1.9.3 is older than its fix
        ranges: &[(r(1, 9, 2), hotfix(9, 2, 1)), (r(1, 9, 3), r(1, 9, 4)), (r(1, 10, 0), hotfix(10, 1, 1))],
        fixed: &[hotfix(9, 2, 1), hotfix(10, 1, 1), r(1, 10, 2)],
        // 12386 is the same: the replica that is nil is read one function further on
        frames: &["(*ReplicaController).CreateInstance", "(*ReplicaController).getDiskNameFromUUID"],
        until_then: "Let few replicas start at once: set replica-auto-balance to disabled and avoid rebuild storms.",
        trigger: |_| Trigger::Possible("any start of a replica can trigger it"),
    },
    KnownIssue {
        number: 12573,
        cause: "issue_12573",
        effect: "instance managers of image v1.11.0 leak memory until the node kills them, with every volume that runs in them",
        panics: false,
        // the instance manager's image counts, see the trigger; the manager's own code has no part in it
        ranges: &[(r(1, 11, 0), r(1, 11, 1))],
        fixed: &[r(1, 11, 1)],
        frames: &[],
        until_then: "Set the image longhorn-instance-manager:v1.11.0-hotfix-1, then detach and attach the volumes of each old \
                     instance manager: waiting with one that holds volumes is dangerous.",
        trigger: leaking_instance_manager,
    },
    KnownIssue {
        number: 12578,
        cause: "issue_12578",
        effect: "updates of Kubernetes nodes are refused while no manager is Ready, so new nodes get no network",
        panics: false,
        ranges: &[(r(1, 11, 0), hotfix(11, 0, 1))],
        fixed: &[hotfix(11, 0, 1), r(1, 11, 1)],
        frames: &[],
        until_then: "Keep at least one manager Ready.",
        trigger: |cluster| match cluster.manager_pods().any(|pod| pod.is_ready()) {
            false if cluster.manager_pods().next().is_some() => {
                Trigger::Met("no manager is Ready".to_owned())
            }
            _ => Trigger::Possible("it strikes when no manager is Ready"),
        },
    },
    KnownIssue {
        number: 13087,
        cause: "issue_13087",
        effect: "an instance manager can panic in a storm of rebuilds, with every volume that runs in it",
        panics: false,
        // reported from 1.9.0 on (13713); fixed in the instance managers of 1.10.4, 1.11.3 and 1.12.0
        ranges: &[(r(1, 9, 0), r(1, 10, 4)), (r(1, 11, 0), r(1, 11, 3))],
        fixed: &[r(1, 10, 4), r(1, 11, 3)],
        frames: &[],
        until_then: "Let few replicas rebuild at once: concurrent-replica-rebuild-per-node-limit 1, no eviction of whole nodes.",
        trigger: |_| Trigger::Possible("a storm of rebuilds, as after the loss of a node, can trigger it"),
    },
    KnownIssue {
        number: 13245,
        cause: "issue_13245",
        effect: "the manager can panic while a backup is deleted",
        panics: true,
        ranges: &[(r(1, 8, 0), r(1, 11, 3))],
        fixed: &[r(1, 11, 3)],
        frames: &["setInprogressDeletionMap"],
        until_then: "Delete backups one at a time.",
        trigger: |_| Trigger::Possible("backups are not read"),
    },
    KnownIssue {
        number: 13482,
        cause: "issue_13482",
        effect: "a filesystem that became read-only is never noticed on kernels from 6.12 on, and the volume not remounted",
        panics: false,
        // FilesystemReadOnly came with 1.5.5; ext4 says emergency_ro instead of ro
        ranges: &[(r(1, 5, 5), r(1, 11, 4)), (r(1, 12, 0), r(1, 12, 1))],
        fixed: &[r(1, 11, 4), r(1, 12, 1)],
        frames: &[],
        until_then: "Watch the workloads themselves for EROFS, and restart those that report it.",
        trigger: new_kernel,
    },
];

impl KnownIssue {
    /// True when the manager process ends by it, in a panic or a fatal error.
    pub fn ends_the_manager(&self) -> bool {
        !self.frames.is_empty()
    }

    /// True when what the manager wrote last shows this bug.
    pub fn shows_in(&self, last_words: &str) -> bool {
        self.frames.iter().any(|frame| last_words.contains(frame))
    }

    /// True when this release has the bug.
    pub fn affects(&self, release: Release) -> bool {
        self.ranges.iter().any(|(first, fixed)| *first <= release && release < *fixed)
    }

    /// The release to go to from this one: the first fixed one of the same minor line, else the
    /// first fixed one after it.
    pub fn way_out(&self, release: Release) -> Option<Release> {
        let later = || self.fixed.iter().copied().filter(|fixed| *fixed > release);
        let same_line = |fixed: &Release| (fixed.major, fixed.minor) == (release.major, release.minor);
        later().filter(same_line).min().or_else(|| later().min())
    }

    /// What to do on this release, as sentences.
    pub fn advice(&self, release: Release) -> String {
        let way_out = match self.way_out(release) {
            Some(fixed) if (fixed.major, fixed.minor) == (release.major, release.minor) => {
                format!("Upgrade to {fixed} or later.")
            }
            Some(fixed) => format!(
                "The {}.{} line has no fixed release; the next one is {fixed}. Go one minor release at a time.",
                release.major, release.minor
            ),
            None => "Upgrade to a later release.".to_owned(),
        };
        format!("{way_out} Until then: {}", uncapitalised(self.until_then))
    }

    /// Whether this cluster meets what triggers the bug.
    pub fn trigger(&self, cluster: &Cluster) -> Trigger {
        (self.trigger)(cluster)
    }
}

fn backing_image_eviction(cluster: &Cluster) -> Trigger {
    match stale_copies::all(cluster).iter().find(|copy| copy.is_hit()) {
        Some(copy) => Trigger::Met(copy.to_string()),
        None if cluster.objects.backing_images.is_empty() && cluster.can_read(Resource::BackingImages) => {
            Trigger::Absent
        }
        None => Trigger::Possible("it strikes when a node or disk with backing images is evicted"),
    }
}

fn block_device_by_default(cluster: &Cluster) -> Trigger {
    match cluster.setting("default-data-path").is_some_and(|path| path.value.starts_with("/dev/")) {
        true => Trigger::Possible(
            "default-data-path is a block device; which nodes have it the API does not show",
        ),
        false => Trigger::Absent,
    }
}

/// Only a default instance manager is looked for and made when it is not found.
fn unlabelled_instance_manager(cluster: &Cluster) -> Trigger {
    let default = cluster.setting("default-instance-manager-image").map(|setting| setting.value.as_str());
    let is_default = |image: &str| default.is_none_or(|default| default == image);
    for manager in cluster.objects.instance_managers.iter().filter(|one| is_default(&one.spec.image)) {
        if let Some(label) = missing_labels(manager, cluster.release()).first() {
            return Trigger::Met(format!("instance manager {} has no label {label}", manager.metadata.name));
        }
    }
    Trigger::Absent
}

/// The systems whose packages 1.7.0 to 1.7.2 ask for with rpm at every sync of a node, by the name of
/// the system's image (longhorn-manager v1.7.0 controller/node_controller.go syncPackagesInstalled;
/// Red Hat's own is not among them before v1.7.3).
fn rpm_host(cluster: &Cluster) -> Trigger {
    const RPM: [&str; 4] = ["centos", "fedora", "rocky", "suse"];
    let rpm = |image: &str| RPM.iter().any(|name| image.to_lowercase().contains(name));
    let readable = cluster.can_read(Resource::KubeNodes) && !cluster.objects.kube_nodes.is_empty();
    let mut nodes = cluster.objects.kube_nodes.iter();
    match nodes.find(|node| rpm(&node.status.node_info.os_image)) {
        Some(node) => {
            Trigger::Met(format!("node {} runs {}", node.metadata.name, node.status.node_info.os_image))
        }
        None if readable => Trigger::Absent,
        None => Trigger::Possible("hosts with an RPM database are affected; nodes could not be read"),
    }
}

/// The old setting in thousandths of a core becomes a share of the smallest node, of which the new one allows 40 %
/// (longhorn-manager v1.10.0 datastore/longhorn.go).
fn v2_cpu_above_the_limit(cluster: &Cluster) -> Trigger {
    const OLD: &str = "v2-data-engine-guaranteed-instance-manager-cpu";
    const HIGHEST_PERCENT: f64 = 40.0;
    let Some(wanted) = cluster.setting(OLD).and_then(|setting| setting.value.trim().parse::<f64>().ok())
    else {
        return Trigger::Absent;
    };
    let cores = |node: &KubeNode| node.status.allocatable.get("cpu").and_then(|cpu| cpu.value());
    let smallest = cluster.objects.kube_nodes.iter().filter_map(cores).fold(f64::INFINITY, f64::min);
    match wanted / (smallest * 1000.0) * 100.0 {
        share if share > HIGHEST_PERCENT && smallest.is_finite() => {
            Trigger::Met(format!("{OLD} is {wanted} m, and the smallest node has {smallest} cores"))
        }
        _ if smallest.is_finite() => Trigger::Absent,
        _ => Trigger::Possible("the cores of the nodes are not known"),
    }
}

fn engine_image_missing(cluster: &Cluster) -> Trigger {
    let missing = cluster.objects.engine_images.iter().find_map(|image| {
        let (node, _) = image.status.node_deployment_map.iter().find(|(_, deployed)| !**deployed)?;
        (image.status.ref_count.0 > 0)
            .then(|| format!("engine image {} is not deployed on node {node}", image.spec.image))
    });
    missing.map_or(Trigger::Absent, Trigger::Met)
}

/// The instance managers of release 1.11.0 run this image for as long as volumes hold them, also after an upgrade.
fn leaking_instance_manager(cluster: &Cluster) -> Trigger {
    let leaks = |image: &str| image.ends_with(":v1.11.0");
    let managers: Vec<_> =
        cluster.objects.instance_managers.iter().filter(|one| leaks(&one.spec.image)).collect();
    match managers.first() {
        Some(first) => Trigger::Met(format!(
            "{} of image v1.11.0, {} on node {} among them",
            crate::check::counted(managers.len(), "instance manager"),
            first.metadata.name,
            first.spec.node_id
        )),
        None => Trigger::Absent,
    }
}

/// ext4 does not set the flag that Longhorn looks for from Linux 6.12 on.
fn new_kernel(cluster: &Cluster) -> Trigger {
    let version = |text: &str| -> Option<(u32, u32)> {
        let mut parts = text.split(['.', '-']);
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    };
    let new = |node: &&KubeNode| {
        version(&node.status.node_info.kernel_version).is_some_and(|found| found >= (6, 12))
    };
    match cluster.objects.kube_nodes.iter().any(|node| new(&node)) {
        true => Trigger::Possible("nodes run a kernel from 6.12 on; it shows when a filesystem has errors"),
        false => Trigger::Absent,
    }
}

fn rwx_volume(cluster: &Cluster) -> Trigger {
    let mut volumes = cluster.objects.volumes.iter();
    match volumes
        .find(|volume| volume.spec.access_mode.eq_ignore_ascii_case("rwx") && !volume.spec.migratable)
    {
        Some(volume) => Trigger::Met(format!("volume {} is RWX", volume.metadata.name)),
        None => Trigger::Absent,
    }
}

fn v2_volume(cluster: &Cluster) -> bool {
    cluster.objects.volumes.iter().any(|volume| volume.spec.data_engine == DataEngine::V2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn affected(number: u32, text: &str) -> bool {
        let issue = ALL.iter().find(|issue| issue.number == number).unwrap();
        issue.affects(Release::parse(text).unwrap())
    }

    #[test]
    fn both_sides_of_every_release_edge() {
        for (number, has, has_not) in [
            (5209, &["v1.3.3", "v1.5.5"][..], &["v1.6.0"][..]),
            (8098, &["v1.4.0", "v1.6.4"], &["v1.3.3", "v1.7.0"]),
            (11864, &["v1.10.0"], &["v1.9.2", "v1.10.1", "v1.11.0"]),
            (11994, &["v1.10.0"], &["v1.9.2", "v1.10.1"]),
            (12081, &["v1.10.0"], &["v1.9.2", "v1.10.1"]),
            (12573, &["v1.11.0"], &["v1.10.2", "v1.11.1"]),
            (13087, &["v1.9.0", "v1.10.3", "v1.11.2"], &["v1.8.2", "v1.10.4", "v1.11.3", "v1.12.0"]),
            (13482, &["v1.5.5", "v1.11.3", "v1.12.0"], &["v1.5.4", "v1.11.4", "v1.12.1"]),
            (6264, &["v1.5.0"][..], &["v1.4.4", "v1.5.1", "v1.6.0"][..]),
            (6998, &["v1.3.2", "v1.4.0", "v1.4.4", "v1.5.1"], &["v1.3.1", "v1.5.2", "v1.6.0"]),
            (9073, &["v1.6.0", "v1.6.2"], &["v1.5.5", "v1.6.3", "v1.7.0"]),
            (9464, &["v1.6.2", "v1.7.0", "v1.7.1"], &["v1.6.3", "v1.7.2", "v1.8.0"]),
            (10019, &["v1.7.0", "v1.7.2"], &["v1.6.4", "v1.7.3", "v1.8.0"]),
            (10464, &["v1.7.0", "v1.7.3", "v1.8.0"], &["v1.6.4", "v1.7.4", "v1.8.1", "v1.9.0"]),
            (
                11034,
                &["v1.8.1", "v1.9.0", "v1.9.0-hotfix-1"],
                &["v1.7.3", "v1.8.0", "v1.8.2", "v1.9.1", "v1.10.0"],
            ),
            (11169, &["v1.4.0", "v1.8.2", "v1.9.0"], &["v1.3.3", "v1.9.1", "v1.10.0"]),
            (11420, &["v1.7.0", "v1.9.1"], &["v1.6.4", "v1.9.2", "v1.10.0"]),
            (11939, &["v1.10.0"], &["v1.9.2", "v1.10.0-hotfix-1", "v1.10.1", "v1.11.0"]),
            (
                12233,
                &["v1.9.2", "v1.9.3", "v1.10.0", "v1.10.0-hotfix-1", "v1.10.1"],
                &["v1.9.1", "v1.9.2-hotfix-1", "v1.9.4", "v1.10.1-hotfix-1", "v1.10.2", "v1.11.0"],
            ),
            (12578, &["v1.11.0"], &["v1.10.2", "v1.11.0-hotfix-1", "v1.11.1"]),
            (13245, &["v1.8.0", "v1.10.2", "v1.11.2"], &["v1.7.4", "v1.11.3", "v1.12.0", "v1.13.0-dev"]),
        ] {
            for text in has {
                assert!(affected(number, text), "{number} {text}");
            }
            for text in has_not {
                assert!(!affected(number, text), "{number} {text}");
            }
        }
    }

    #[test]
    fn the_way_out_stays_in_the_line_where_it_can() {
        let out = |number, text: &str| {
            let issue = ALL.iter().find(|issue| issue.number == number).unwrap();
            issue.way_out(Release::parse(text).unwrap()).map(|release| release.to_string())
        };
        assert_eq!(out(10464, "v1.7.2").as_deref(), Some("v1.7.4"));
        // 1.8.1 has the fix of 10464 but not that of 11034
        assert_eq!(out(10464, "v1.8.0").as_deref(), Some("v1.8.2"));
        assert_eq!(out(11034, "v1.9.0").as_deref(), Some("v1.9.1"));
        assert_eq!(out(11939, "v1.10.0").as_deref(), Some("v1.10.0-hotfix-1"));
        assert_eq!(out(12233, "v1.9.2").as_deref(), Some("v1.9.2-hotfix-1"));
        // 1.9.3 is younger than the hotfix of its line and has no successor
        assert_eq!(out(12233, "v1.9.3").as_deref(), Some("v1.10.1-hotfix-1"));
    }

    #[test]
    fn every_affected_release_has_a_way_out_that_is_not_affected() {
        for issue in ALL {
            assert_eq!(issue.cause, format!("issue_{}", issue.number));
            for (first, _) in issue.ranges {
                let out = issue.way_out(*first).unwrap();
                assert!(!issue.affects(out), "{} {first} -> {out}", issue.number);
            }
        }
    }
}
