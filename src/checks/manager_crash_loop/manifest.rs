//! How the manifest of a release is applied.

use crate::check::*;
use crate::facts::installation;
use crate::longhorn::Release;

/// The release whose definitions convert nothing any more.
const NO_CONVERSION: Release = Release::new(1, 10, 0);
/// Definitions that ask for a conversion up to 1.9 (longhorn v1.9.2 deploy/longhorn.yaml).
const CONVERTED: [&str; 5] = ["backingimages", "backuptargets", "engineimages", "nodes", "volumes"];

<<<<<<< HEAD
/// Brings image, manifest and definitions to one release, in the order of doing.
pub(super) fn manifest(cluster: &Cluster, release: Option<Release>, reason: &str) -> Remedy {
    let remedy = installation::to_release(cluster, release, reason);
    let refused = release.is_some_and(|release| installation::refused_step(cluster, release).is_some());
    if refused { remedy } else { without_conversion(cluster, release, remedy) }
=======
/// The published manifest fits only where it is what Longhorn was installed from: it has a namespace,
/// images, default settings and a StorageClass of its own, which it would put over those that are there.
pub(super) fn manifest(cluster: &Cluster, release: Option<Release>, remedy: Remedy) -> Remedy {
    let namespace = &cluster.namespace;
    let set = cluster.manager_daemon_set();
    let label = |key| set.and_then(|set| set.metadata.label(key));
    let remedy = remedy.read(format!("kubectl -n {namespace} get daemonset longhorn-manager -o yaml"));
    let remedy = without_conversion(cluster, release, remedy);
    let say = |text: &str, remedy: Remedy| Remedy { fix: format!("{} {text}", remedy.fix), ..remedy };
    if label("app.kubernetes.io/managed-by") == Some("Helm") {
        let name = label("app.kubernetes.io/instance").unwrap_or("longhorn");
        return say(
            "Upgrade the Helm release to the chart of this release, with the values that it has.",
            remedy,
        )
        .read(format!("helm -n {namespace} history {name}"))
        .read(format!("helm -n {namespace} get values {name}"));
    }
    let image = cluster.manager_container().map(|container| container.image.as_str()).unwrap_or_default();
    let published = namespace == "longhorn-system" && is_published(image);
    match release.filter(|release| published && release.suffix == Suffix::None) {
        Some(release) => {
            let manifest =
                format!("https://raw.githubusercontent.com/longhorn/longhorn/{release}/deploy/longhorn.yaml");
            say(
                "Apply the whole manifest of the release. It brings default settings and a StorageClass: look at the \
                 difference first.",
                remedy,
            )
            .read(format!("kubectl diff --server-side --force-conflicts -f {manifest}"))
            .change(format!("kubectl apply --server-side --force-conflicts -f {manifest}"))
        }
        None => say(
            "Apply the whole manifest of this release from the source that Longhorn was installed from; the published one \
             has another namespace or other images.",
            remedy,
        ),
    }
>>>>>>> main
}

/// Up to 1.9 managers own the certificate in `spec.conversion` of five definitions. Server-side apply takes the rest of
/// that field away and leaves the certificate, which the API server refuses, so it has to go first.
fn without_conversion(cluster: &Cluster, release: Option<Release>, remedy: Remedy) -> Remedy {
    let installed =
        cluster.setting("current-longhorn-version").and_then(|setting| Release::parse(&setting.value));
    let crosses = installed.is_some_and(|installed| installed < NO_CONVERSION)
        && release.is_some_and(|release| release >= NO_CONVERSION);
    if !crosses {
        return remedy;
    }
    let text = format!(
        "{} On the way from 1.9 to 1.10 the API server refuses five definitions: remove their /spec/conversion before. \
         Where it names status.storedVersions instead, objects have to be migrated from v1beta1 first, as the important notes \
         of 1.10 say.",
        remedy.fix
    );
<<<<<<< HEAD
    let first = Remedy::new(text).read(
=======
    let remedy = Remedy { fix: text, ..remedy }.read(
>>>>>>> main
        "kubectl get customresourcedefinitions -o custom-columns=NAME:.metadata.name,STORED:.status.storedVersions,\
         CONVERSION:.spec.conversion.strategy | grep longhorn.io",
    );
    let mut before = CONVERTED.iter().fold(first, |remedy, plural| {
        remedy.change(format!(
            "kubectl patch customresourcedefinition {plural}.longhorn.io --type json \
             -p '[{{\"op\":\"remove\",\"path\":\"/spec/conversion\"}}]'"
        ))
    });
    before.commands.extend(remedy.commands);
    before
}
