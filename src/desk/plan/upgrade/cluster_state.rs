//! What else an upgrade must not meet: nodes, managers, backing images, backups, settings.

use super::super::{Found, Weight, held, reuse};
use super::{LATER, REUSED, Rung};
use crate::check::{Finding, Name, Severity, counted};
use crate::facts::known_issues;
use crate::facts::nodes::down;
use crate::facts::text::listed;
use crate::longhorn::{
    BackingImage, Condition, ConditionStatus, CopyState, DataEngine, LonghornNode, Volume, VolumeState,
    condition,
};

/// Checks whose findings wait for volumes and are in no one's way.
const WAITING: &[&str] = &["danger_zone_pending", "instance_manager_old"];

/// One entry a cause, as check groups them, with how many there are of it.
fn grouped<'a>(findings: &[&'a Finding]) -> Vec<(&'a Finding, usize)> {
    let mut causes: Vec<(&Finding, usize)> = Vec::new();
    for finding in findings {
        match causes.iter_mut().find(|(one, _)| one.check == finding.check && one.cause == finding.cause) {
            Some((_, number)) => *number += 1,
            None => causes.push((finding, 1)),
        }
    }
    causes
}

/// Findings of checks that an upgrade would not get past. What a bug of the present release does is no reason to stay
/// on it: where the target has the fix, that is said.
pub fn unwell(rung: &Rung<'_>, out: &mut Found) {
    let findings = rung.looked.found(REUSED).filter(|finding| !WAITING.contains(&finding.check));
    // a node that is down has a condition of its own
    let findings = findings.filter(|finding| finding.cause != "node_down");
    let fixed = |finding: &&Finding| {
        let issue = known_issues::ALL.iter().find(|issue| *finding.cause == *issue.cause);
        issue.is_some_and(|issue| issue.affects(rung.from) && !issue.affects(rung.to))
    };
    let (fixed, standing): (Vec<&Finding>, Vec<&Finding>) = findings.partition(fixed);
    let line = |(finding, number): &(&Finding, usize)| match number {
        1 => finding.message.clone(),
        more => format!("{} (and {} more with this cause)", finding.message, more - 1),
    };
    match standing.as_slice() {
        [] => {
            let decide: Vec<&str> = REUSED.iter().copied().filter(|check| !WAITING.contains(check)).collect();
            rung.looked.untold(&decide, out);
        }
        [one] => reuse(out, one),
        several => {
            let reason = out.say(format!("`check` has {} to fix first", counted(several.len(), "finding")));
            grouped(several).iter().for_each(|group| {
                reason.fact(line(group));
            });
        }
    }
    for finding in fixed {
        out.note(finding.message.clone()).fix(format!("Upgrade: {} fixes this.", rung.to));
    }
}

pub fn pending(rung: &Rung<'_>, out: &mut Found) {
    debug_assert_eq!(LATER.weight, Weight::Note);
    let waiting = |finding: &&Finding| WAITING.contains(&finding.check) && finding.severity >= Severity::Info;
    rung.looked.findings.iter().filter(waiting).for_each(|finding| reuse(out, finding));
}

pub fn node_down(rung: &Rung<'_>, out: &mut Found) {
    for node in rung.cluster.objects.longhorn_nodes.iter() {
        let name = node.metadata.name.as_str();
        let Some(why) = down(rung.cluster, name) else { continue };
        match rung.cluster.manager_pod_on(name) {
            Some(pod) => {
                let text = format!("{name} is down, and its manager pod {} still exists", pod.metadata.name);
                out.say(text).fact(why.text).with(Name::Node, name);
            }
            None => {
                let fix = "Bring the node back. If it is lost, wait until every volume is healthy without it. Then \
                           delete it in Longhorn.";
                out.say(format!("{name} is down")).fact(why.text).fix(fix);
            }
        }
    }
}

/// What the managers of 1.7 and later write about hosts. Without iscsiadm a manager does not start; the rest hurts only
/// volumes that need it. A condition that is not there is neither.
pub fn node_packages(rung: &Rung<'_>, out: &mut Found) {
    for kind in ["RequiredPackages", "KernelModulesLoaded", "NFSClientInstalled", "Multipathd"] {
        let bad = |node: &&LonghornNode| {
            condition(&node.status.conditions, kind)
                .is_some_and(|found| found.status == ConditionStatus::False)
        };
        let nodes: Vec<&LonghornNode> = rung.cluster.objects.longhorn_nodes.iter().filter(bad).collect();
        let said = |node: &&LonghornNode| condition(&node.status.conditions, kind).cloned();
        let conditions: Vec<Condition> = nodes.iter().filter_map(said).collect();
        let Some(first) = conditions.first() else { continue };
        let names: Vec<&str> = nodes.iter().map(|node| node.metadata.name.as_str()).collect();
        let iscsi = conditions.iter().any(|one| one.message.to_lowercase().contains("iscsi"));
        let text = format!("condition {kind} is False on {}", listed(&names));
        let reason = if kind == "RequiredPackages" && iscsi { out.say(text) } else { out.note(text) };
        reason.fact(format!("condition {kind}: \"{}\"", first.message));
    }
}

pub fn backing_images(rung: &Rung<'_>, out: &mut Found) {
    let images = || rung.cluster.objects.backing_images.iter();
    let with = |states: &[CopyState]| -> Vec<&str> {
        let has = |image: &&BackingImage| {
            image.status.disk_file_status_map.values().any(|copy| states.contains(&copy.state))
        };
        images().filter(has).map(|image| image.metadata.name.as_str()).collect()
    };
    let failed = with(&[CopyState::Failed, CopyState::FailedAndCleanup]);
    if !failed.is_empty() {
        let text = held(failed.len(), "backing image", "has|have failed copies");
        out.say(format!("{text}: {}", listed(&failed)));
    }
    let moving =
        with(&[CopyState::Pending, CopyState::Starting, CopyState::InProgress, CopyState::ReadyForTransfer]);
    if !moving.is_empty() {
        let text = held(moving.len(), "backing image", "is|are being copied");
        out.say(format!("{text}: {}", listed(&moving)));
    }
    let v2 = images().filter(|image| image.spec.data_engine == DataEngine::V2);
    let v2: Vec<&str> = v2.map(|image| image.metadata.name.as_str()).collect();
    let numbers = (rung.to.minor, rung.to.patch);
    if !v2.is_empty() && (matches!(numbers, (8, 2) | (9, 0)) || rung.to.minor >= 12) {
        let text = format!(
            "{} does not support {} of data engine v2: {}",
            rung.to,
            counted(v2.len(), "backing image"),
            listed(&v2)
        );
        out.say(text);
    }
}

pub fn backups(rung: &Rung<'_>, out: &mut Found) {
    let backups = rung.cluster.objects.backups.iter();
    let running = backups.filter(|backup| backup.status.state.is_under_way());
    let volumes: Vec<_> = running.map(|backup| backup.volume()).collect();
    if !volumes.is_empty() {
        let text = held(volumes.len(), "backup", "is|are running");
        out.say(format!("{text} (volumes: {})", listed(&volumes)));
    }
}

pub fn deleting_flag(rung: &Rung<'_>, out: &mut Found) {
    let set = rung.cluster.setting_is_on("deleting-confirmation-flag", false);
    if set {
        out.say("deleting-confirmation-flag is true, which allows an uninstall");
    }
}

pub fn no_backup_target(rung: &Rung<'_>, out: &mut Found) {
    let mut targets = rung.cluster.objects.backup_targets.iter();
    let by_setting = rung.cluster.setting("backup-target").is_some_and(|setting| !setting.value.is_empty());
    if !by_setting && !targets.any(|target| !target.spec.backup_target_url.is_empty()) {
        out.say("no backup target is configured, and Longhorn cannot be downgraded");
    }
}

/// New instance managers start beside the old ones, which stay for as long as volumes run in them.
pub fn second_managers(rung: &Rung<'_>, out: &mut Found) {
    let percent = rung.cluster.setting_value("guaranteed-instance-manager-cpu", DataEngine::V1);
    let Some(percent) = percent.trim().parse::<f64>().ok().filter(|percent| *percent > 0.0) else { return };
    let attached = |volume: &&Volume| volume.status.state == VolumeState::Attached;
    if rung.to.minor != rung.from.minor && rung.cluster.objects.volumes.iter().any(|volume| attached(&volume))
    {
        out.say(format!("new instance managers request another {percent} % of each node's CPU"));
    }
}

pub fn orphans_refused(rung: &Rung<'_>, out: &mut Found) {
    let orphans = rung.cluster.objects.orphans.len();
    if orphans > 0 {
        let holds = format!("exists|exist, which makes|make {} managers fail (fixed in v1.5.1)", rung.to);
        out.say(held(orphans, "orphan", &holds));
    }
}

pub fn orphans(rung: &Rung<'_>, out: &mut Found) {
    let orphans = &rung.cluster.objects.orphans;
    if orphans.is_empty() {
        return;
    }
    let mut nodes: Vec<&str> = orphans.iter().map(|orphan| orphan.spec.node_id.as_str()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let holds = format!("is|are left on {}", listed(&nodes));
    out.say(held(orphans.len(), "orphan", &holds));
}
