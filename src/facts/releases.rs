//! Which release of Longhorn runs where.

use crate::cluster::Cluster;
use crate::longhorn::{Container, Pod, Release};

/// The release of the code that the managers run. Hotfix images report the version of the release
/// they fix (longhorn-manager v1.10.0-hotfix-1 version: `v1.10.0`), so only the tag of the image
/// tells them apart.
pub fn manager_release(cluster: &Cluster) -> Option<Release> {
    cluster.manager_image_release().or_else(|| cluster.release())
}

/// The release of the code that the manager in this pod runs: while managers are rolled out, pods of two
/// releases are there, and the setting has the old one until the upgrade is done.
pub fn release_of(cluster: &Cluster, pod: &Pod) -> Option<Release> {
    let image = |container: &Container| container.image.clone();
    let own = pod.spec.container("longhorn-manager").map(image);
    let from_pod = match own == cluster.manager_container().map(image) {
        true => cluster.manager_image_release(),
        false => own.and_then(|image| Release::from_image(&image)),
    };
    from_pod.or_else(|| manager_release(cluster))
}

/// The release of the code that the manager on a node runs, or would run there.
pub fn release_on(cluster: &Cluster, node: &str) -> Option<Release> {
    match cluster.manager_pod_on(node) {
        Some(pod) => release_of(cluster, pod),
        None => manager_release(cluster),
    }
}
