//! Old instance managers that are still there after an upgrade: what holds each, whether that is
//! expected, and how to free it.
//!
//! Longhorn removes an old instance manager at the next sync of its node once no instance in it
//! runs or starts (longhorn-manager controller/node_controller.go syncInstanceManagers). A live
//! engine upgrade leaves the engine where it is, so an old instance manager that waits for a
//! reattach is expected (Longhorn knowledge base, "Some old instance manager pods are still running
//! after upgrade"); one held by an instance without owner, or by nothing, is not.

mod causes;
mod classify;
mod remedy;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::check::*;
use crate::facts::instance_managers::InstanceManagers;
use crate::facts::text::{listed, users_of};
use crate::longhorn::Resource::*;
use crate::longhorn::{InstanceManager, InstanceManagerState, OrphanType};

use classify::OldManager;

pub static CHECK: Check = check! {
    id: "instance_manager_old",
    title: "Old instance managers",
    summary: "An instance manager that does not run the default image still exists. The finding shows what is running in it, whether it will \
    disappear by itself, and the steps to empty it.",
    needs: &[InstanceManagers, Engines, EngineFrontends, Replicas, Volumes, Settings],
    uses: &[LonghornNodes, KubeNodes, Pods, DaemonSets, Orphans],
    causes: causes::ALL,
    ways: &[causes::WAYS],
    gauges: GAUGES,
    alerts: &[STUCK, HELD],
    panels: &[
        Panel {
            title: "Old instance managers stuck",
            description: "Old instance managers that Longhorn has not removed, although they run nothing or only orphaned instances.",
            expr: "sum by ($cluster job) (max without ($without) (longhorn_health_check_findings{$job, check=\"instance_manager_old\", severity=\"warning\"})) \
                   or 0 * max by ($cluster job) (longhorn_health_checks{$job, state=\"known\"} > 0)",
            legend: "stuck",
            steps: &[Step::at(0.0, "green"), Step::at(1.0, "orange")],
            no_data: "the exporter is not reporting",
            ..Panel::STAT
        },
        Panel {
            dashboard: Dashboard::InstanceManagers,
            title: "Old instance managers by cause",
            description: "Old instance managers left after an upgrade. Causes engine_upgrade_pending, reattach_pending and replica_held are expected until the \
                          volumes are upgraded and reattached.",
            no_data: "the exporter is not reporting",
            ..Panel::TIME_SERIES.of(&OLD)
        },
        Panel {
            dashboard: Dashboard::InstanceManagers,
            title: "Old instance managers' volumes",
            description: "Volumes that run in old instance managers. Upgrade the engines marked engine_upgrade_pending, then detach and attach the \
                volumes marked reattach_pending.",
            columns: &["cause", "object", "volume", "pvc_namespace", "pvc"],
            expr: "max by ($cluster cause, object, volume, pvc, pvc_namespace) \
                   (longhorn_health_finding_volume{$job, check=\"instance_manager_old\"}) == 1",
            legend: "{{volume}}",
            width: Width::Full,
            no_data: "no volume keeps an old instance manager in use, or the exporter is not reporting",
            ..Panel::TABLE
        },
    ],
};

gauges! {
    OLD = Gauge "longhorn_health_old_instance_managers" ["cause"]
        "Old instance managers that still exist, by their most severe cause.",
        absent "no old instance manager has this cause",
        example "sum without (cause) (longhorn_health_old_instance_managers)";
    HOLDERS = Gauge "longhorn_health_old_instance_manager_holders" ["instance_manager", "node", "role", "cause"]
        "Running or starting instances in an old instance manager, by role and cause.",
        absent "there is none",
        example "sum by (cause) (longhorn_health_old_instance_manager_holders)";
}

const STUCK: Alert = alert! { "LonghornOldInstanceManagerStuck",
    when: When::Found(&[&causes::ORPHAN_HELD, &causes::CLEANUP_STUCK, &causes::DELETION_STUCK]),
    for_: "15m",
    summary: "An old Longhorn instance manager is not being removed.",
    description: "Old instance manager {{ $labels.object }}{{ with $labels.node }} on {{ . }}{{ end }} is not being removed and keeps reserving CPU and \
                  memory. Run the command below to find the cause. Until you know it, do not delete the instance manager.",
    why: "Longhorn removes an idle instance manager within 30 s. The alert waits 15 min, because an upgrade restarts all managers.",
};

const HELD: Alert = alert! { "LonghornOldInstanceManagerHeld",
    when: When::Found(&[&causes::ENGINE_UPGRADE_PENDING, &causes::REATTACH_PENDING, &causes::REPLICA_HELD]),
    runbook_only: &[&causes::NODE_DOWN, &causes::CLEANUP_PENDING],
    for_: "24h",
    summary: "An old Longhorn instance manager is still running volumes a day after the upgrade.",
    description: "Old instance manager {{ $labels.object }}{{ with $labels.node }} on {{ . }}{{ end }} is still running volumes, which is normal after an \
    upgrade. No I/O is at risk. Upgrade these volumes' engines, then detach and attach the volumes at a convenient time.",
    why: "The alert waits 24 h, because old instance managers are normal right after an upgrade. A day later, they have probably been forgotten.",
};

fn run(cluster: &Cluster, out: &mut Outcome) {
    let fleet = InstanceManagers::of(cluster);
    if !fleet.default_is_known() && !cluster.objects.instance_managers.is_empty() {
        out.unknown("setting default-instance-manager-image is missing, so old and default instance managers look alike");
    }
    let orphans = orphans_by_instance(cluster);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for im in cluster.objects.instance_managers.iter() {
        let case = match im.metadata.is_deleting() {
            true => match classify::deletion(cluster, im) {
                Some(case) => case,
                None => continue,
            },
            false if fleet.is_old(im) => classify::classify(cluster, &fleet, im, out),
            false => continue,
        };
        *counts.entry(case.why.id).or_default() += 1;
        sample_holders(im, &case, out);
        out.report(finding(cluster, &fleet, im, &case, &orphans));
    }
    for (cause, count) in counts {
        out.sample(&OLD, &[cause], count as f64);
    }
}

fn sample_holders(im: &InstanceManager, case: &OldManager, out: &mut Outcome) {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for holder in &case.holders {
        *counts.entry((holder.role.as_str(), holder.why.id)).or_default() += 1;
    }
    for ((role, cause), count) in counts {
        out.sample(&HOLDERS, &[&im.metadata.name, &im.spec.node_id, role, cause], count as f64);
    }
}

/// Orphan objects by the instance manager and the instance that they name.
type Orphans<'a> = BTreeMap<(&'a str, &'a str), &'a str>;

fn orphans_by_instance(cluster: &Cluster) -> Orphans<'_> {
    let of_instances = [OrphanType::EngineInstance, OrphanType::ReplicaInstance];
    cluster
        .objects
        .orphans
        .iter()
        .filter(|orphan| of_instances.contains(&orphan.spec.orphan_type))
        .filter_map(|orphan| {
            let parameter = |key| orphan.spec.parameters.get(key).map(|text| text.as_str());
            Some(((parameter("InstanceManager")?, parameter("InstanceName")?), orphan.metadata.name.as_str()))
        })
        .collect()
}

fn finding(
    cluster: &Cluster,
    fleet: &InstanceManagers,
    im: &InstanceManager,
    case: &OldManager,
    orphans: &Orphans,
) -> Finding {
    let name = &im.metadata.name;
    let volumes = cluster.volume_refs(case.holders.iter().filter_map(|holder| holder.volume));
    let shards = doomed_shards(im, case);
    let mut finding =
        Finding::about(case.why, cluster.object::<InstanceManager>(name), message(im, case, volumes.len()))
            .node(&im.spec.node_id)
            .since(case.since)
            .impact(impact(case, &volumes, &shards))
            .volumes(volumes);
    if fleet.is_old(im) {
        finding = finding.fact(format!("{name}: spec.image is {}, not the default", im.spec.image));
    }
    let orphaned = case.holders.iter().filter_map(|holder| {
        let orphan = orphans.get(&(name.as_str(), holder.name))?;
        Some(format!("Longhorn's Orphan {orphan} refers to {}", holder.name))
    });
    finding = finding
        .facts(case.evidence.iter().cloned())
        .facts(case.holders.iter().map(|holder| holder.evidence.clone()))
        .facts(orphaned);
    if !shards.is_empty() {
        let text = format!(
            "this release can remove the instance manager while shards are running in it: {}",
            listed(&shards)
        );
        finding = finding.fact(text);
    }
    remedy::advise(finding, cluster, fleet, im, case, orphans, &shards)
}

/// Shards and shard groups that run in an instance manager which Longhorn takes for idle: v1.12.1
/// does not look at their maps before it removes the instance manager.
fn doomed_shards<'a>(im: &'a InstanceManager, case: &OldManager) -> Vec<&'a str> {
    let running = im.status.current_state == InstanceManagerState::Running;
    if !running
        || !matches!(*case.why, causes::CLEANUP_STUCK | causes::CLEANUP_PENDING)
        || !case.holders.is_empty()
    {
        return Vec::new();
    }
    let maps = [&im.status.instance_shards, &im.status.instance_shard_groups];
    let instances = maps.into_iter().flatten();
    instances.filter(|(_, shard)| shard.status.state.is_active()).map(|(name, _)| name.as_str()).collect()
}

fn message(im: &InstanceManager, case: &OldManager, volumes: usize) -> String {
    // its name is long, and its node tells more
    let node = &im.spec.node_id;
    let of = |why: &'static Cause| case.holders.iter().filter(|holder| holder.why == why).count();
    match *case.why {
        causes::ORPHAN_HELD => {
            let orphans = of(&causes::ORPHAN_HELD);
            format!(
                "an old instance manager on {node} is still running {}",
                counted(orphans, "orphaned instance")
            )
        }
        causes::CLEANUP_STUCK => {
            format!("an old instance manager on {node} is not removed, although nothing runs in it")
        }
        causes::DELETION_STUCK => format!("an old instance manager on {node} was deleted but still exists"),
        causes::ENGINE_UPGRADE_PENDING => {
            let whose = match volumes {
                1 => "1 volume's engine upgrade".to_owned(),
                more => format!("{more} volumes' engine upgrades"),
            };
            format!("an old instance manager on {node} is waiting for {whose}")
        }
        causes::REATTACH_PENDING => {
            format!(
                "an old instance manager on {node} is waiting for {} to be reattached",
                counted(volumes, "volume")
            )
        }
        causes::REPLICA_HELD => {
            format!(
                "an old instance manager on {node} is still running replicas of {}",
                counted(volumes, "volume")
            )
        }
        causes::NODE_DOWN => {
            format!("an old instance manager on {node} cannot be removed while its node is down")
        }
        _ => format!("an old instance manager on {node} is about to be removed"),
    }
}

fn impact(case: &OldManager, volumes: &[VolumeRef], shards: &[&str]) -> String {
    if !shards.is_empty() {
        return "Longhorn treats it as idle and will remove it, together with its shards".to_owned();
    }
    match *case.why {
        causes::ORPHAN_HELD | causes::CLEANUP_STUCK | causes::DELETION_STUCK if volumes.is_empty() => {
            "no volume is affected, but the unused instance manager keeps CPU and memory reserved".into()
        }
        causes::NODE_DOWN => "what runs in the instance manager is unknown until its node is back".into(),
        causes::CLEANUP_PENDING => "none".into(),
        _ => format!("no I/O is at risk, but the old instance manager still serves {}", users_of(volumes)),
    }
}
