//! Which instance managers lack the address in the storage network that they asked for.

use serde::Deserialize;

use super::SharedManagers;
use crate::check::Cluster;
use crate::facts::instance_managers::InstanceManagers;
use crate::longhorn::Pod;

/// An entry of what Multus writes to a pod.
#[derive(Deserialize)]
struct Network {
    #[serde(default)]
    name: String,
    #[serde(default)]
    ips: Vec<String>,
}

/// Instance managers whose pods are Ready and have no address in the network of setting storage-network. Longhorn then takes the address of
/// the pod, without a word in any object (longhorn-manager v1.4.4 to v1.12.1 datastore/kubernetes.go GetStorageIPFromPod). What is not
/// applied yet is danger_zone_pending's business; before 1.7 no field tells that, and the address of another one does.
pub(super) fn outside<'a>(cluster: &'a Cluster, fleet: &InstanceManagers<'a>) -> SharedManagers<'a> {
    let Some(setting) = cluster.setting("storage-network").filter(|setting| !setting.value.trim().is_empty())
    else {
        return SharedManagers::new();
    };
    if !fleet.release.is_some_and(|release| release.at_least(1, 4, 0))
        || setting.status.applied == Some(false)
    {
        return SharedManagers::new();
    }
    let network = setting.value.trim();
    let ready = cluster.objects.instance_managers.iter().filter_map(|im| {
        let pod = fleet.pod_of(im).filter(|pod| pod.is_ready())?;
        Some((im, has_address(pod, network)))
    });
    let (inside, outside): (Vec<_>, Vec<_>) = ready.partition(|(_, has)| *has);
    if inside.is_empty() && setting.status.applied != Some(true) {
        return SharedManagers::new();
    }
    let fact = |(im, _): (&'a crate::longhorn::InstanceManager, bool)| {
        (
            im,
            format!(
                "{}: annotation k8s.v1.cni.cncf.io/network-status has no address for network {network}",
                im.metadata.name
            ),
        )
    };
    outside.into_iter().map(fact).collect()
}

fn has_address(pod: &Pod, network: &str) -> bool {
    let annotations = &pod.metadata.annotations;
    let status = match annotations.network_status.is_empty() {
        true => &annotations.networks_status,
        false => &annotations.network_status,
    };
    let networks: Vec<Network> = serde_json::from_str(status).unwrap_or_default();
    networks.iter().any(|one| one.name == network && !one.ips.is_empty())
}
