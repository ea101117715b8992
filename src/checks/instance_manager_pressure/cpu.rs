//! How much CPU Longhorn sets aside for an instance manager.

use crate::cluster::Cluster;
use crate::longhorn::*;

/// The CPU request, in cores, that the settings ask for an instance manager; `None` when it cannot
/// be reported, 0 when none is asked for.
///
/// - up to 1.4 a percentage of the node's allocatable CPU, one setting each for engines and replicas;
/// - from 1.5 on one percentage, unless the node has its own request in thousandths;
/// - v2 from 1.6 to 1.9 thousandths, and no request by node;
/// - from 1.10 on a percentage by data engine
///
/// (longhorn-manager v1.4.4, v1.6.4, v1.9.2 and v1.10.0 controller/utils.go
/// GetInstanceManagerCPURequirement).
pub fn wanted(cluster: &Cluster, release: Release, im: &InstanceManager) -> Option<f64> {
    let engine = im.spec.data_engine.or_v1();
    let v2_in_thousandths = engine == DataEngine::V2 && !release.at_least(1, 10, 0);
    let number = |name: &str| -> Option<f64> {
        let value = cluster.setting(name)?.value_for(engine);
        value.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
    };
    if v2_in_thousandths {
        return Some(number("v2-data-engine-guaranteed-instance-manager-cpu")? / 1000.0);
    }
    let node = &im.spec.node_id;
    if let Some(longhorn) = cluster.objects.longhorn_nodes.get(node) {
        let own = longhorn.spec.instance_manager_cpu_request.0;
        if own > 0 {
            return Some(own as f64 / 1000.0);
        }
    }
    let percent = match (release.at_least(1, 5, 0), im.spec.kind) {
        (true, _) => number("guaranteed-instance-manager-cpu")?,
        (false, InstanceManagerType::Replica) => number("guaranteed-replica-manager-cpu")?,
        (false, _) => number("guaranteed-engine-manager-cpu")?,
    };
    let allocatable = cluster.objects.kube_nodes.get(node)?.status.allocatable.get("cpu")?.value()?;
    Some(allocatable * percent / 100.0)
}
