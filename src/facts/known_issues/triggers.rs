//! Whether a cluster meets what triggers an issue.

use super::Trigger;
use crate::cluster::Cluster;
use crate::instance_managers::missing_labels;
use crate::longhorn::{DataEngine, Engine, KubeNode, Pod, Replica, Resource, Volume};
use crate::patience::{FIRST_START, NO_ENDPOINT};
use crate::{nodes, pods, stale_copies, volumes};

pub(super) fn backing_image_eviction(cluster: &Cluster) -> Trigger {
    match stale_copies::all(cluster).iter().find(|copy| copy.is_hit()) {
        Some(copy) => Trigger::Met(copy.to_string()),
        None if cluster.objects.backing_images.is_empty() && cluster.can_read(Resource::BackingImages) => {
            Trigger::Absent
        }
        None => Trigger::Possible("eviction can crash managers"),
    }
}

/// A replica in use of a migratable volume that failed before: the copy that a migration makes of it counts as failed.
pub fn once_failed<'a>(cluster: &'a Cluster, volume: &Volume) -> Option<&'a Replica> {
    let mut replicas = cluster.replicas_of(&volume.metadata.name).filter(|_| volume.spec.migratable);
    replicas.find(|replica| volumes::is_healthy(replica) && replica.spec.last_failed_at.is_set())
}

pub(super) fn recurring_job(cluster: &Cluster) -> Trigger {
    match cluster.objects.recurring_jobs.iter().next() {
        Some(job) => Trigger::Met(format!("recurring job {} exists", job.metadata.name)),
        None if cluster.can_read(Resource::RecurringJobs) => Trigger::Absent,
        None => Trigger::Possible("recurring jobs, which trigger the bug, cannot be read"),
    }
}

pub(super) fn block_device_by_default(cluster: &Cluster) -> Trigger {
    match cluster.setting("default-data-path").is_some_and(|path| path.value.starts_with("/dev/")) {
        true => Trigger::Possible("some nodes may lack its block device"),
        false => Trigger::Absent,
    }
}

/// Two engines of a volume that both count as its own, after which its managers do nothing with it any more.
pub(super) fn second_engine(cluster: &Cluster) -> Trigger {
    let settled = |engine: &&Engine| {
        engine.spec.active && engine.metadata.created().is_none_or(|made| cluster.age(made) >= FIRST_START)
    };
    let mut attached =
        cluster.objects.volumes.iter().filter(|volume| !volume.status.current_node_id.is_empty());
    let doubled = attached.find_map(|volume| {
        let active: Vec<&Engine> = cluster.engines_of(&volume.metadata.name).filter(settled).collect();
        (active.len() > 1).then_some((volume, active))
    });
    let Some((volume, active)) = doubled else { return Trigger::Absent };
    let engines: Vec<String> =
        active.iter().map(|engine| format!("{} on {}", engine.metadata.name, engine.spec.node_id)).collect();
    let called = cluster.volume_ref(&volume.metadata.name);
    let node = &volume.status.current_node_id;
    Trigger::Met(format!(
        "{} is attached to {node} and has active engines {}",
        called.called(),
        engines.join(", ")
    ))
}

/// Only a default instance manager is looked for and made when it is not found.
pub(super) fn unlabelled_instance_manager(cluster: &Cluster) -> Trigger {
    let default = cluster.setting("default-instance-manager-image").map(|setting| setting.value.as_str());
    let is_default = |image: &str| default.is_none_or(|default| default == image);
    for manager in cluster.objects.instance_managers.iter().filter(|one| is_default(&one.spec.image)) {
        if let Some(label) = missing_labels(manager, cluster.release()).first() {
            return Trigger::Met(format!("instance manager {} lacks label {label}", manager.metadata.name));
        }
    }
    Trigger::Absent
}

/// The systems whose packages 1.7.0 to 1.7.2 ask for with rpm at every sync of a node, by the name of
/// the system's image (longhorn-manager v1.7.0 controller/node_controller.go syncPackagesInstalled;
/// Red Hat's own is not among them before v1.7.3).
pub(super) fn rpm_host(cluster: &Cluster) -> Trigger {
    const RPM: [&str; 4] = ["centos", "fedora", "rocky", "suse"];
    let rpm = |image: &str| RPM.iter().any(|name| image.to_lowercase().contains(name));
    let readable = cluster.can_read(Resource::KubeNodes) && !cluster.objects.kube_nodes.is_empty();
    let mut nodes = cluster.objects.kube_nodes.iter();
    match nodes.find(|node| rpm(&node.status.node_info.os_image)) {
        // what it costs shows in no object
        Some(_) => Trigger::Possible("the nodes have an RPM database"),
        None if readable => Trigger::Absent,
        None => Trigger::Possible("nodes with an RPM database trigger the bug"),
    }
}

/// The manager compares the cores of the mask with what it takes for the share of each node that v2 instance managers get: the percentage
/// without the factor 1/100, also where the v2 data engine is off (longhorn-manager v1.10.0 datastore/longhorn.go ValidateCPUMask).
pub(super) fn cpu_mask_above_the_share(cluster: &Cluster) -> Trigger {
    const SHARE: &str = "guaranteed-instance-manager-cpu";
    let masks = ["data-engine-cpu-mask", "v2-data-engine-cpu-mask"].into_iter();
    let mut masks = masks.map(|name| cluster.setting_value(name, DataEngine::V2));
    let mask = masks.find(|mask| !mask.is_empty()).unwrap_or_else(|| "0x1".to_owned());
    let bits = u64::from_str_radix(mask.trim_start_matches("0x"), 16).map_or(1, u64::count_ones);
    let Ok(percent) = cluster.setting_value(SHARE, DataEngine::V2).trim().parse::<f64>() else {
        return Trigger::Absent;
    };
    let of_longhorn = |node: &&KubeNode| cluster.objects.longhorn_nodes.get(&node.metadata.name).is_some();
    let cores = |node: &KubeNode| node.status.allocatable.get("cpu").and_then(|cpu| cpu.value());
    let nodes = cluster.objects.kube_nodes.iter().filter(of_longhorn);
    let smallest = nodes.filter_map(cores).fold(f64::INFINITY, f64::min);
    match smallest * percent < f64::from(bits) || percent == 0.0 {
        true => Trigger::Met(format!(
            "{SHARE} is {percent} for the v2 data engine, which Longhorn applies even if that engine is off"
        )),
        false => Trigger::Absent,
    }
}

/// Auto-balancing asks each disk for its share of used space.
pub(super) fn disk_without_size(cluster: &Cluster) -> Trigger {
    let balances = cluster
        .setting("replica-auto-balance")
        .is_some_and(|one| !["", "disabled"].contains(&one.value.as_str()));
    let found = cluster.objects.longhorn_nodes.iter().find_map(|node| {
        let (disk, _) = node.status.disk_status.iter().find(|(_, status)| status.storage_maximum.0 == 0)?;
        Some(format!(
            "disk {disk} of node {} reports no size, and replica-auto-balance is on",
            node.metadata.name
        ))
    });
    // a recording may leave sizes out
    let mut disks = cluster.objects.longhorn_nodes.iter().flat_map(|node| node.status.disk_status.values());
    let sizes = disks.any(|status| status.storage_maximum.0 > 0);
    match found.filter(|_| balances && sizes) {
        Some(text) => Trigger::Met(text),
        None if balances => Trigger::Possible("they trigger the bug"),
        None => Trigger::Absent,
    }
}

pub(super) fn engine_image_missing(cluster: &Cluster) -> Trigger {
    let missing = cluster.objects.engine_images.iter().find_map(|image| {
        // on a new node, or in a new pod, it is on its way
        let of =
            |pod: &&Pod| pod.metadata.label("longhorn.io/engine-image") == Some(image.metadata.name.as_str());
        let is_new = |node: &str| {
            let mut pods = cluster.objects.pods.iter().filter(of).filter(|pod| pod.spec.node_name == node);
            let known = cluster.objects.longhorn_nodes.get(node).and_then(|node| node.metadata.created());
            let since = [nodes::ready_since(cluster, node), known, pods.next().and_then(pods::since)];
            since.into_iter().flatten().max().is_some_and(|since| cluster.age(since) < FIRST_START)
        };
        let mut nodes = image.status.node_deployment_map.iter().filter(|(_, deployed)| !**deployed);
        let (node, _) = nodes.find(|(node, _)| !is_new(node))?;
        (image.status.ref_count.0 > 0)
            .then(|| format!("engine image {} is not deployed on node {node}", image.spec.image))
    });
    missing.map_or(Trigger::Absent, Trigger::Met)
}

/// The instance managers of release 1.11.0 run this image for as long as volumes hold them, also after an upgrade.
pub(super) fn leaking_instance_manager(cluster: &Cluster) -> Trigger {
    let leaks = |image: &str| image.ends_with(":v1.11.0");
    let managers: Vec<_> =
        cluster.objects.instance_managers.iter().filter(|one| leaks(&one.spec.image)).collect();
    match managers.first() {
        Some(first) => Trigger::Met(format!(
            "instance manager {} on node {} uses image v1.11.0 ({} in total)",
            first.metadata.name,
            first.spec.node_id,
            crate::check::counted(managers.len(), "instance manager")
        )),
        None => Trigger::Absent,
    }
}

/// ext4 does not set the flag that Longhorn looks for from Linux 6.12 on.
pub(super) fn new_kernel(cluster: &Cluster) -> Trigger {
    let version = |text: &str| -> Option<(u32, u32)> {
        let mut parts = text.split(['.', '-']);
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    };
    let new = |node: &&KubeNode| {
        version(&node.status.node_info.kernel_version).is_some_and(|found| found >= (6, 12))
    };
    match cluster.objects.kube_nodes.iter().any(|node| new(&node)) {
        true => Trigger::Possible("Longhorn misses them on kernel 6.12 or later"),
        false => Trigger::Absent,
    }
}

/// Before managers have started for the first time no webhook rejects anything, and a rollout replaces all of them at once.
pub(super) fn no_ready_manager(cluster: &Cluster) -> Trigger {
    let installed = !cluster.objects.longhorn_nodes.is_empty() || !cluster.can_read(Resource::LonghornNodes);
    let old = |pod: &Pod| pod.metadata.created().is_none_or(|made| cluster.age(made) >= NO_ENDPOINT);
    let none_ready = cluster.manager_pods().all(|pod| !pod.is_ready());
    match installed && none_ready && cluster.manager_pods().any(old) {
        true => Trigger::Met("no manager is Ready".to_owned()),
        false => Trigger::Possible("the bug occurs once none is Ready"),
    }
}

pub(super) fn rwx_volume(cluster: &Cluster) -> Trigger {
    let mut volumes = cluster.objects.volumes.iter();
    match volumes.find(|volume| volume.is_shared()) {
        Some(volume) => Trigger::Met(format!("volume {} is RWX", volume.metadata.name)),
        None => Trigger::Absent,
    }
}

pub(super) fn v2_volume(cluster: &Cluster) -> bool {
    cluster.objects.volumes.iter().any(|volume| volume.spec.data_engine == DataEngine::V2)
}
