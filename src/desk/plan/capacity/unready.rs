//! Nodes on which no replica can start: Longhorn's scheduler leaves them out, as after a reboot.
//!
//! Facts (longhorn-manager v1.4.4 to v1.12.1 scheduler/replica_scheduler.go getNodeCandidates; v1.12.1 datastore/longhorn.go
//! CheckEngineImageReadiness for v1; CheckInstanceManagersReadiness from 1.7.0 on, where v2 takes any instance manager that runs).

use std::collections::BTreeMap;

use crate::cluster::Cluster;
use crate::longhorn::{
    DataEngine, EngineImageState, InstanceManagerState, InstanceManagerType, LonghornNode, Volume,
};

/// What keeps a new volume's replicas from a node, by its name.
pub fn unready<'a>(cluster: &'a Cluster, volume: &Volume) -> BTreeMap<&'a str, String> {
    let nodes = cluster.objects.longhorn_nodes.iter();
    let refused =
        nodes.filter_map(|node| Some((node.metadata.name.as_str(), reason(cluster, node, volume)?)));
    refused.collect()
}

fn reason(cluster: &Cluster, node: &LonghornNode, volume: &Volume) -> Option<String> {
    let (name, engine) = (node.metadata.name.as_str(), volume.spec.data_engine);
    let image = cluster.setting_value("default-instance-manager-image", engine);
    let mut here = cluster.objects.instance_managers.iter().filter(|im| {
        let spec = &im.spec;
        let is_default = engine == DataEngine::V2 || spec.image == image.as_str();
        spec.node_id == name
            && spec.data_engine == engine
            && spec.kind == InstanceManagerType::Aio
            && is_default
    });
    let runs = here.any(|im| {
        im.status.current_state == InstanceManagerState::Running
            || (engine == DataEngine::V1 && im.metadata.is_deleting())
    });
    let asks = cluster.release().is_some_and(|release| release.at_least(1, 7, 0)) && !image.is_empty();
    if asks && !runs {
        return Some("no instance manager is running on the node".to_owned());
    }
    let wanted = cluster.setting_value("default-engine-image", engine);
    let image = cluster.objects.engine_images.iter().find(|image| image.spec.image == wanted.as_str());
    let image = image.filter(|_| engine == DataEngine::V1)?;
    let is_up = matches!(image.status.state, EngineImageState::Deployed | EngineImageState::Deploying);
    let has = is_up && image.status.node_deployment_map.get(name).copied().unwrap_or_default();
    (!has).then(|| format!("engine image {wanted} is not ready on the node"))
}
