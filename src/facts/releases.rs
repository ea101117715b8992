//! Which release of Longhorn runs where.

use crate::cluster::Cluster;
use crate::longhorn::{Pod, Release};

/// The release of the code that the managers run. Hotfix images report the version of the release
/// they fix (longhorn-manager v1.10.0-hotfix-1 version: `v1.10.0`), so only the tag of the image
/// tells them apart.
pub fn manager_release(cluster: &Cluster) -> Option<Release> {
    let from_image = cluster.manager_container().and_then(|container| Release::from_image(&container.image));
    from_image.or_else(|| cluster.release())
}

/// The release of the code that the manager in this pod runs: while managers are rolled out, pods of two
/// releases are there, and the setting has the old one until the upgrade is done.
pub fn release_of(cluster: &Cluster, pod: &Pod) -> Option<Release> {
    let container = pod.spec.container("longhorn-manager");
    let from_pod = container.and_then(|container| Release::from_image(&container.image));
    from_pod.or_else(|| manager_release(cluster))
}

/// The release of the code that the manager on a node runs, or would run there.
pub fn release_on(cluster: &Cluster, node: &str) -> Option<Release> {
    match cluster.manager_pod_on(node) {
        Some(pod) => release_of(cluster, pod),
        None => manager_release(cluster),
    }
}
