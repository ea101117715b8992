//! How the manifest of a release is applied.

use crate::check::*;
use crate::facts::installation;
use crate::longhorn::Release;

/// The release whose definitions convert nothing any more.
const NO_CONVERSION: Release = Release::new(1, 10, 0);
/// Definitions that ask for a conversion up to 1.9 (longhorn v1.9.2 deploy/longhorn.yaml).
const CONVERTED: [&str; 5] = ["backingimages", "backuptargets", "engineimages", "nodes", "volumes"];

/// Brings image, manifest and definitions to one release, in the order of doing.
pub(super) fn manifest(cluster: &Cluster, release: Option<Release>, reason: &str) -> Remedy {
    let remedy = installation::to_release(cluster, release, reason);
    let refused = release.is_some_and(|release| installation::refused_step(cluster, release).is_some());
    if refused { remedy } else { without_conversion(cluster, release, remedy) }
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
    let first = Remedy::new(text).read(
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
