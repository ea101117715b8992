//! What a loss would make worse: no backups, long chains, orphans.

use std::collections::{BTreeMap, BTreeSet};

use super::super::scheduler::Rebuilds;
use super::super::{Found, held};
use super::Audit;
use crate::check::counted;
use crate::facts::text::duration;
use crate::facts::volumes::is_healthy;
use crate::longhorn::{ConditionStatus, DataEngine, Volume, status};

pub fn not_backed_up(audit: &Audit<'_>, out: &mut Found) {
    let never = |volume: &&Volume| !volume.status.last_backup_at.is_set() && !volume.status.is_standby;
    let never: Vec<&Volume> = audit.cluster.objects.volumes.iter().filter(never).collect();
    out.volumes(audit.cluster, &never, "has|have never been backed up");
}

pub fn degraded(audit: &Audit<'_>, out: &mut Found) {
    let is_named = |node: &str| audit.nodes.iter().any(|name| name == node);
    let loses_one = |volume: &&Volume| {
        let healthy = audit.cluster.replicas_of(&volume.metadata.name).filter(|replica| is_healthy(replica));
        let (there, elsewhere): (Vec<_>, Vec<_>) =
            healthy.partition(|replica| is_named(&replica.spec.node_id));
        !there.is_empty() && !elsewhere.is_empty()
    };
    let volumes: Vec<&Volume> = audit.cluster.objects.volumes.iter().filter(loses_one).collect();
    let lost = audit.nodes.iter().map(String::as_str).collect();
    let unplaced: BTreeSet<&str> = Rebuilds::of(audit.cluster)
        .without(&lost)
        .iter()
        .map(|one| one.volume.metadata.name.as_str())
        .collect();
    let (stay, rebuilt): (Vec<&Volume>, Vec<&Volume>) =
        volumes.into_iter().partition(|volume| unplaced.contains(volume.metadata.name.as_str()));
    out.volumes(audit.cluster, &rebuilt, "loses|lose a copy but no data, and can be rebuilt elsewhere");
    out.volumes(
        audit.cluster,
        &stay,
        "loses|lose a copy but no data, and cannot be rebuilt: no other node or disk can take it",
    );
}

pub fn attached(audit: &Audit<'_>, out: &mut Found) {
    let there =
        |volume: &&Volume| audit.nodes.iter().any(|node| volume.status.current_node_id == node.as_str());
    let volumes: Vec<&Volume> = audit.cluster.objects.volumes.iter().filter(there).collect();
    // without setting node-down-pod-deletion-policy (longhorn-manager v1.12.1 controller/kubernetes_pod_controller.go)
    let policy = audit.cluster.setting_value("node-down-pod-deletion-policy", DataEngine::V1);
    let stays = if policy == "do-nothing" { " until you force-delete the pods" } else { "" };
    out.volumes(audit.cluster, &volumes, &format!("is|are attached there{stays}"));
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
