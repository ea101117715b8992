//! What a loss would make worse: no backups, long chains, orphans.

use std::collections::BTreeMap;

use super::super::{Found, held};
use super::Audit;
use crate::check::counted;
use crate::facts::text::duration;
use crate::longhorn::{ConditionStatus, Volume, status};

pub fn not_backed_up(audit: &Audit<'_>, out: &mut Found) {
    let never = |volume: &&Volume| !volume.status.last_backup_at.is_set() && !volume.status.is_standby;
    let never: Vec<&Volume> = audit.cluster.objects.volumes.iter().filter(never).collect();
    out.volumes(audit.cluster, &never, "has|have never been backed up");
}

pub fn many_snapshots(audit: &Audit<'_>, out: &mut Found) {
    let many =
        |volume: &&Volume| status(&volume.status.conditions, "TooManySnapshots") == ConditionStatus::True;
    let many: Vec<&Volume> = audit.cluster.objects.volumes.iter().filter(many).collect();
    let holds = "has|have too many snapshots (condition TooManySnapshots)";
    out.volumes(audit.cluster, &many, holds);
}

pub fn orphans(audit: &Audit<'_>, out: &mut Found) {
    let mut by_node: BTreeMap<&str, (usize, Option<jiff::Timestamp>)> = BTreeMap::new();
    for orphan in audit.cluster.objects.orphans.iter() {
        let entry = by_node.entry(&orphan.spec.node_id).or_default();
        entry.0 += 1;
        let created = orphan.metadata.created();
        entry.1 = entry.1.into_iter().chain(created).min();
    }
    if by_node.is_empty() {
        return;
    }
    let all: usize = by_node.values().map(|(count, _)| count).sum();
    let reason = out.say(held(all, "orphan", &format!("is|are left on {}", counted(by_node.len(), "node"))));
    for (node, (count, oldest)) in by_node {
        let age = oldest.map(|oldest| format!(", the oldest {} old", duration(audit.cluster.age(oldest))));
        reason.fact(format!("node {node}: {}{}", counted(count, "orphan"), age.unwrap_or_default()));
    }
}
