//! Bugs of targets that this cluster meets, and what a target changes without a word.

use super::super::{Found, Weight, held};
use super::Rung;
use crate::check::{Command, Name, counted};
use crate::cluster::Cluster;
use crate::facts::eviction::{leaving_images, patch_requests, requested_disks};
use crate::facts::known_issues::{ALL as ISSUES, Trigger};
use crate::facts::releases::is_refused;
use crate::facts::stale_copies::Exposure;
use crate::facts::text::listed;
use crate::longhorn::{ConditionStatus, DataEngine, Release, Volume, VolumeState, status};

const fn r(minor: u32, patch: u32) -> Release {
    Release::new(1, minor, patch)
}

/// A trap of a target that is no bug of its managers in service.
struct Trap {
    issue: u32,
    effect: &'static str,
    /// From the first release that has it up to but not including the second.
    releases: (Release, Release),
    /// What meets it here; none where nothing does.
    met: fn(&Cluster) -> Option<String>,
}

const TRAPS: &[Trap] = &[
    Trap {
        issue: 9267,
        effect: "volumes whose engine has an old name can never attach again",
        // longhorn-manager v1.7.1 upgrade/v170to171 renames them
        releases: (r(7, 0), r(7, 1)),
        met: |cluster| {
            let old = cluster.objects.engines.iter().map(|engine| engine.metadata.name.as_str());
            let old: Vec<&str> = old.filter(|name| has_old_suffix(name)).collect();
            (!old.is_empty()).then(|| format!("engines with an old name: {}", listed(&old)))
        },
    },
    Trap {
        issue: 10308,
        effect: "volumes with many snapshots become faulted or attach and detach in a loop",
        releases: (r(8, 0), r(8, 1)),
        met: |cluster| {
            let many = cluster.objects.volumes.iter().filter(|volume| {
                status(&volume.status.conditions, "TooManySnapshots") == ConditionStatus::True
            });
            let many: Vec<&str> = many.map(|volume| volume.metadata.name.as_str()).collect();
            (!many.is_empty()).then(|| format!("volumes with too many snapshots: {}", listed(&many)))
        },
    },
    Trap {
        issue: 12656,
        effect: "every new PersistentVolume is permanently pinned to nodes",
        releases: (r(11, 0), r(11, 1)),
        met: |_| Some("every new claim triggers it".to_owned()),
    },
];

/// Engine names ended so up to 1.4.3 and 1.5.1; later ones end in a number.
fn has_old_suffix(name: &str) -> bool {
    let suffix = name.rsplit_once("-e-").map_or("", |(_, suffix)| suffix);
    suffix.len() == 8 && suffix.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
}

/// Bugs that the target has and the present release has not: one whose trigger is met stands against it, the others
/// are reported.
pub fn target_bug(rung: &Rung<'_>, out: &mut Found) {
    let mut possible = Vec::new();
    for issue in ISSUES.iter().filter(|issue| issue.affects(rung.to) && !issue.affects(rung.from)) {
        match issue.trigger(rung.cluster) {
            Trigger::Met(what) => {
                let text = format!("{} has Longhorn issue {}: {}", rung.to, issue.number, issue.effect);
                let reason = out
                    .say(text)
                    .fact(what)
                    .fact(format!("to avoid it: {}", issue.until_then.trim_end_matches('.')));
                match issue.way_out(rung.cluster, rung.to).filter(|other| !is_refused(rung.from, *other)) {
                    Some(other) => reason.with(Name::Instead, other),
                    None => {
                        reason.fix("Remove the trigger first: no single step reaches a release with the fix.")
                    }
                };
            }
            Trigger::Possible(_) => possible.push(issue.number.to_string()),
            Trigger::Absent => {}
        }
    }
    for trap in TRAPS {
        let (first, fixed) = trap.releases;
        let has = |release: Release| first <= release && release < fixed;
        if let Some(what) = (trap.met)(rung.cluster).filter(|_| has(rung.to) && !has(rung.from)) {
            let text = format!("{} has Longhorn issue {}: {}", rung.to, trap.issue, trap.effect);
            out.say(text).fact(what).with(Name::Instead, fixed);
        }
    }
    if Exposure::of(rung.to) != Exposure::Never {
        evicted_images(rung, out);
    }
    if !possible.is_empty() {
        let text = format!(
            "{} has {} that this cluster may trigger (Longhorn {} {})",
            rung.to,
            counted(possible.len(), "known bug"),
            if possible.len() == 1 { "issue" } else { "issues" },
            possible.join(", ")
        );
        out.note(text).fix("Read each issue (github.com/longhorn/longhorn/issues) before the upgrade, or upgrade to a later patch.");
    }
}

/// An eviction that is under way takes copies of backing images out of the spec, on whose rest in the status the new managers panic
/// (issues 10464, 11034; harvester/harvester#7717).
fn evicted_images(rung: &Rung<'_>, out: &mut Found) {
    let leaving = leaving_images(rung.cluster);
    let Some((node, _)) = leaving.first() else { return };
    let copies: Vec<&str> = leaving.iter().map(|(_, copy)| copy.as_str()).collect();
    let (namespace, name) = (rung.cluster.namespace.as_str(), node.metadata.name.as_str());
    let withdraw =
        patch_requests(namespace, name, node.spec.eviction_requested, &requested_disks(node), false);
    let text = format!(
        "longhorn-manager {} panics during this eviction: {} moved",
        rung.to,
        held(leaving.len(), "backing image copy", "is|are being")
    );
    out.say(text)
        .fact(format!("copies to move: {}", listed(&copies)))
        .fix("Cancel the eviction before the upgrade, or wait until these disks hold no backing image copy (Longhorn \
              issues 10464, 11034).")
        .command(Command { run: withdraw, changes: true });
}

/// A setting that a release removes or renames.
struct Gone {
    /// The minor release that does not know it any more.
    minor: u32,
    name: &'static str,
    default: &'static str,
    /// What stands for it.
    instead: &'static str,
}

const fn gone(minor: u32, name: &'static str, default: &'static str, instead: &'static str) -> Gone {
    Gone { minor, name, default, instead }
}

/// From the definitions in longhorn-manager types/setting.go at the last tag of each line.
const GONE: &[Gone] = &[
    gone(5, "allow-node-drain-with-last-healthy-replica", "false", "node-drain-policy"),
    gone(5, "disable-replica-rebuild", "false", "nothing"),
    gone(5, "guaranteed-engine-cpu", "", "guaranteed-instance-manager-cpu"),
    gone(5, "guaranteed-engine-manager-cpu", "12", "guaranteed-instance-manager-cpu"),
    gone(5, "guaranteed-replica-manager-cpu", "12", "guaranteed-instance-manager-cpu"),
    gone(5, "mkfs-ext4-parameters", "", "StorageClass parameter mkfsParams"),
    gone(8, "backup-target", "", "BackupTarget default, which the upgrade creates"),
    gone(8, "backup-target-credential-secret", "", "BackupTarget default, which the upgrade creates"),
    gone(9, "orphan-auto-deletion", "false", "orphan-resource-auto-deletion, which the upgrade sets from it"),
    gone(10, "v2-data-engine-hugepage-limit", "2048", "data-engine-memory-size"),
    gone(10, "v2-data-engine-cpu-mask", "0x1", "data-engine-cpu-mask"),
    gone(11, "storage-network-for-rwx-volume-enabled", "false", "endpoint-network-for-rwx-volume"),
];

pub fn settings_removed(rung: &Rung<'_>, out: &mut Found) {
    let on_the_way = |one: &&Gone| rung.from.minor < one.minor && one.minor <= rung.to.minor;
    let set = |one: &&Gone| {
        let value = rung.cluster.setting_value(one.name, DataEngine::V1);
        !value.is_empty() && value != one.default
    };
    let gone: Vec<&Gone> = GONE.iter().filter(on_the_way).filter(set).collect();
    if gone.is_empty() {
        return;
    }
    let names: Vec<&str> = gone.iter().map(|one| one.name).collect();
    let reason = out.say(format!("{} removes settings that you have set: {}", rung.to, listed(&names)));
    for one in gone {
        reason.fact(format!("setting {} is replaced by {}", one.name, one.instead));
    }
}

/// What an operator notices only later, by the first release that has it.
const CHANGES: &[(Release, &str, &str)] = &[(
    r(11, 0),
    "rules that compare longhorn_volume_robustness or longhorn_volume_state with a number no longer fire (issue 10723)",
    "Change your own rules: these metrics now have a state label and the value 1 or 0.",
)];

/// What a step changes for some volumes, which is in no one's way.
struct OfVolumes {
    step: fn(Release, Release) -> bool,
    met: fn(&Volume) -> bool,
    holds: &'static str,
    fix: &'static str,
}

const OF_VOLUMES: &[OfVolumes] = &[
    OfVolumes {
        step: |from, to| from < r(5, 0) && r(5, 0) <= to,
        met: |volume| {
            let by_hand = volume.status.kubernetes_status.workloads_status.is_empty();
            volume.status.state == VolumeState::Attached && by_hand
        },
        holds: "is|are attached without a workload and may keep a longhorn-ui ticket after the upgrade (issue 8339)",
        fix: "Detach these volumes first, or delete ticket longhorn-ui from their volumeattachments.longhorn.io after the upgrade.",
    },
    OfVolumes {
        // nfs-ganesha 6 in longhorn-share-manager v1.7.3, v1.8.0 and v1.8.1
        step: |_, to| to == r(7, 3) || (r(8, 0) <= to && to < r(8, 2)),
        met: Volume::is_shared,
        holds: "is|are shared (RWX), and the target release can deny access to users other than root (issue 10621)",
        fix: "Upgrade to v1.8.2 or later instead, or use the image longhorn-share-manager:v1.7.3-hotfix-1.",
    },
    OfVolumes {
        step: |from, to| from < r(12, 1) && r(12, 1) <= to,
        met: |volume| volume.spec.encrypted && volume.spec.migratable,
        holds: "is|are encrypted and cannot migrate live until the engine is upgraded (issue 9205)",
        fix: "Upgrade these volumes' engines right after the upgrade. Each volume then grows by 16 MiB.",
    },
];

pub fn changes(rung: &Rung<'_>, out: &mut Found) {
    for (since, what, fix) in CHANGES {
        if rung.from < *since && *since <= rung.to {
            out.say(format!("from {since} on, {what}")).fix(*fix).weight(Weight::Note);
        }
    }
    for change in OF_VOLUMES {
        let volumes: Vec<&Volume> =
            rung.cluster.objects.volumes.iter().filter(|volume| (change.met)(volume)).collect();
        if !volumes.is_empty() && (change.step)(rung.from, rung.to) {
            out.note(held(volumes.len(), "volume", change.holds))
                .volumes(rung.cluster, &volumes)
                .fix(change.fix);
        }
    }
    let diskless = rung.cluster.objects.longhorn_nodes.iter().filter(|node| node.spec.disks.is_empty());
    let diskless: Vec<&str> = diskless.map(|node| node.metadata.name.as_str()).collect();
    if !diskless.is_empty() && rung.from < r(10, 0) && r(10, 0) <= rung.to {
        // longhorn-manager v1.10.0 csi/controller_server.go GetCapacity
        let text = format!(
            "from {} on, {}: pods with WaitForFirstConsumer claims cannot be scheduled there (issue 12807)",
            r(10, 0),
            held(diskless.len(), "node", "without disks reports|report no capacity")
        );
        let fix =
            "Set volumeBindingMode of the claims' StorageClasses to Immediate, or give these nodes a disk.";
        out.note(text).fact(format!("nodes without disks: {}", listed(&diskless))).fix(fix);
    }
    let images = !rung.cluster.objects.backing_images.is_empty();
    if images && rung.from.minor == 6 && rung.to.minor == 7 && rung.to < Release::new(1, 7, 4) {
        let what =
            "managers delete backing image files while the CustomResourceDefinitions are old (issue 10644)";
        let fix = "Apply the target release's CustomResourceDefinitions first. Upgrade the managers only after that.";
        out.note(format!("new {} {what}", rung.to)).fix(fix);
    }
}
