//! Which release of Longhorn runs where.

use crate::cluster::Cluster;
use crate::longhorn::{Container, Pod, Release};

/// The last release of each minor line that has images and a manifest (tags of longhorn/longhorn, August 2026).
pub const NEWEST: [Release; 10] = [
    Release::new(1, 3, 3),
    Release::new(1, 4, 4),
    Release::new(1, 5, 5),
    Release::new(1, 6, 4),
    Release::new(1, 7, 3),
    Release::new(1, 8, 2),
    Release::new(1, 9, 2),
    Release::new(1, 10, 2),
    Release::new(1, 11, 3),
    Release::new(1, 12, 1),
];
/// Its csi-provisioner 6.3 needs Kubernetes 1.34 (longhorn issue 13576); the release before and those after have 5.3.
const NEEDS_1_34: Release = Release::new(1, 11, 3);

/// True for a step that Longhorn refuses: more than one minor release up, or down at all (longhorn-manager v1.5.0 to v1.12.1
/// upgrade/util/util.go). Hotfix images report the release that they fix.
pub fn is_refused(from: Release, to: Release) -> bool {
    let numbers = |release: Release| (release.major, release.minor, release.patch);
    to.major != from.major || to.minor > from.minor + 1 || numbers(to) < numbers(from)
}

/// The release to go to next: the newest one of the next minor line, which Longhorn accepts from every patch, as far as it runs on this
/// Kubernetes; on the last line its newest.
pub fn next_step(cluster: &Cluster, from: Release) -> Option<Release> {
    let next = NEWEST.iter().copied().find(|newest| newest.minor == from.minor + 1);
    let next =
        next.or_else(|| NEWEST.iter().copied().find(|newest| newest.minor == from.minor && *newest > from))?;
    Some(if runs_here(cluster, next) { next } else { Release::new(next.major, next.minor, next.patch - 1) })
}

/// False for a release that has no images, or that this Kubernetes is known to be too old for.
pub fn can_be_reached(cluster: &Cluster, release: Release) -> bool {
    let newest = NEWEST.iter().find(|newest| newest.minor == release.minor);
    newest.is_some_and(|newest| (release.minor, release.patch) <= (newest.minor, newest.patch))
        && runs_here(cluster, release)
}

fn runs_here(cluster: &Cluster, release: Release) -> bool {
    release != NEEDS_1_34 || kubernetes_minor(cluster).is_none_or(|minor| minor >= 34)
}

/// Minor release of the oldest kubelet; `None` where nodes cannot be read.
fn kubernetes_minor(cluster: &Cluster) -> Option<u32> {
    let versions =
        cluster.objects.kube_nodes.iter().map(|node| node.status.node_info.kubelet_version.as_str());
    versions.filter_map(|version| Some(Release::parse(version)?.minor)).min()
}

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
