//! How Longhorn was installed, and by which commands of that tool it comes to another release.
//!
//! What Helm, Argo CD or Flux installed is changed through them: a manifest that is applied beside them is taken back, or brings
//! another namespace, other images and default settings.

use serde_json::json;

use super::kubectl::{patch, quoted};
use super::releases;
use crate::check::Remedy;
use crate::cluster::Cluster;
use crate::longhorn::{Release, Suffix};

/// What installed Longhorn, by the marks that it leaves on the DaemonSet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installer<'a> {
    /// Argo CD, with the name of the application where a mark has it.
    Argo(Option<&'a str>),
    /// A HelmRelease of Flux: namespace and name.
    FluxHelm(&'a str, &'a str),
    /// A Kustomization of Flux: namespace and name.
    FluxKustomize(&'a str, &'a str),
    /// The Helm controller of K3s and RKE2: namespace and name of the HelmChart.
    HelmChart(&'a str, &'a str),
    /// Helm, with the name of the release.
    Helm(&'a str),
    /// A distribution's chart, whose versions are its own (Rancher: `longhorn-106.2.1+up1.8.2`).
    ForeignChart(&'a str),
    /// None of these: most likely `kubectl apply`.
    Manifest,
}

/// Reads the marks: labels of Flux, of Argo CD, of Helm, in this order, because each of them may install a chart, whose labels say Helm.
pub fn installer(cluster: &Cluster) -> Installer<'_> {
    let Some(meta) = cluster.manager_daemon_set().map(|set| &set.metadata) else {
        return Installer::Manifest;
    };
    let flux = |kind: &str| {
        let name = meta.label(&format!("{kind}.toolkit.fluxcd.io/name"))?;
        Some((meta.label(&format!("{kind}.toolkit.fluxcd.io/namespace")).unwrap_or("flux-system"), name))
    };
    if let Some((namespace, name)) = flux("helm") {
        return Installer::FluxHelm(namespace, name);
    }
    if let Some((namespace, name)) = flux("kustomize") {
        return Installer::FluxKustomize(namespace, name);
    }
    let instance = meta.label("app.kubernetes.io/instance");
    let tracked = meta.annotations.argocd_tracking_id.as_str();
    if !tracked.is_empty() {
        return Installer::Argo(tracked.split(':').next());
    }
    if let Some(name) = meta.label("argocd.argoproj.io/instance") {
        return Installer::Argo(Some(name));
    }
    // Argo CD that tracks by the label app.kubernetes.io/instance, which charts have, too
    if let Some(application) = cluster.objects.applications.iter().next() {
        return Installer::Argo(Some(&application.metadata.name));
    }
    if let Some(chart) = cluster.objects.helm_charts.iter().find(|chart| chart.is_longhorn()) {
        return Installer::HelmChart(&chart.metadata.namespace, &chart.metadata.name);
    }
    let release = meta.annotations.helm_release_name.as_str();
    if meta.label("app.kubernetes.io/managed-by") != Some("Helm") && release.is_empty() {
        return Installer::Manifest;
    }
    let name = if release.is_empty() { instance.unwrap_or("longhorn") } else { release };
    match meta.label("helm.sh/chart").is_some_and(|chart| chart.contains("up1.")) {
        true => Installer::ForeignChart(name),
        false => Installer::Helm(name),
    }
}

/// A step which Longhorn refuses, with the release that is installed.
pub fn refused_step(cluster: &Cluster, to: Release) -> Option<Release> {
    let installed = cluster.installed()?;
    releases::is_refused(installed, to).then_some(installed)
}

/// Brings manifest, definitions and image to one release: `release`, unless Longhorn refuses the step to it. `definitions` says that
/// those are known to be of another release.
pub fn to_release(cluster: &Cluster, release: Option<Release>, definitions: bool, reason: &str) -> Remedy {
    if let Some((to, installed)) = release.and_then(|to| Some((to, refused_step(cluster, to)?))) {
        return back_to(cluster, installed, to);
    }
    let look = format!("kubectl -n {} get daemonset longhorn-manager -o yaml", cluster.namespace);
    let how = commands(cluster, release);
    let remedy = without_conversion(cluster, release, definitions, &how.fix);
    let mut remedy = remedy.unwrap_or_else(|| Remedy::new(format!("{} {reason}", how.fix)));
    remedy.commands.extend(how.commands);
    remedy.read(look)
}

/// The release whose definitions convert nothing any more.
pub const NO_CONVERSION: Release = Release::new(1, 10, 0);
/// Definitions that ask for a conversion up to 1.9 (longhorn v1.9.2 deploy/longhorn.yaml).
const CONVERTED: [&str; 5] = [
    "backingimages.longhorn.io", "backuptargets.longhorn.io", "engineimages.longhorn.io",
    "nodes.longhorn.io", "volumes.longhorn.io",
];

/// Takes the conversion out of definitions before those of 1.10 or later are applied: up to 1.9 managers own the certificate in
/// their `spec.conversion`. Server-side apply takes the rest of that field away and leaves the certificate, which the API server
/// refuses (`spec.conversion.strategy: Required value`, seen with v1.9.2 and v1.10.2), so it has to go first.
pub fn unconverted(definitions: &[&str]) -> String {
    format!(
        "kubectl patch customresourcedefinitions {} --type json -p '[{{\"op\":\"remove\",\"path\":\"/spec/conversion\"}}]'",
        definitions.join(" ")
    )
}

/// The definitions that ask for a conversion: as they are, where they can be read; else those of 1.9. For plans: checks do not read
/// definitions.
pub fn converted(cluster: &Cluster, installed: Option<Release>) -> Vec<&str> {
    let definitions = &cluster.objects.custom_resource_definitions;
    if definitions.is_empty() {
        let old = installed.is_some_and(|installed| installed < NO_CONVERSION);
        return if old { CONVERTED.to_vec() } else { Vec::new() };
    }
    let asked = definitions.iter().filter(|definition| definition.spec.conversion.strategy == "Webhook");
    asked.map(|definition| definition.metadata.name.as_str()).collect()
}

/// Whether what installed Longhorn applies on the server, which stumbles over a conversion; Helm takes the whole field away.
pub fn applies_on_server(cluster: &Cluster) -> bool {
    matches!(installer(cluster), Installer::Manifest | Installer::FluxKustomize(..) | Installer::Argo(_))
}

/// That before what a remedy does. On the way from 1.9 all definitions of 1.9 ask for a conversion; later they do where a downgrade
/// was tried: its definitions went back, its managers were refused (seen with v1.10.2 and v1.9.2). What asks for none takes no
/// harm: the API server sets its strategy to None.
fn without_conversion(
    cluster: &Cluster,
    release: Option<Release>,
    definitions: bool,
    fix: &str,
) -> Option<Remedy> {
    let installed = cluster.installed();
    let (from, _) = installed.zip(release).filter(|(_, to)| *to >= NO_CONVERSION)?;
    let crosses = from < NO_CONVERSION;
    let mut converted = converted(cluster, installed);
    // checks do not read definitions
    if converted.is_empty() && cluster.objects.custom_resource_definitions.is_empty() {
        converted = CONVERTED.to_vec();
    }
    if converted.is_empty() || !(crosses || definitions) || !applies_on_server(cluster) {
        return None;
    }
    // played: managers that crash-loop are the webhook, so no object can be rewritten meanwhile
    let fix = if crosses {
        let apply = match published(cluster, release) {
            Some(_) => ", then apply the image's release manifest.".to_owned(),
            None => format!(". {fix}"),
        };
        format!(
            "Remove /spec/conversion from five CRDs{apply} If the API server names status.storedVersions, return to {from} and follow 1.10's \
             important notes: patching storedVersions alone loses objects."
        )
    } else {
        format!("Remove /spec/conversion from the CRDs that still use the conversion webhook. {fix}")
    };
    let remedy = Remedy::new(fix)
        .read(
            "kubectl get customresourcedefinitions -o custom-columns=NAME:.metadata.name,STORED:.status.storedVersions,\
             CONVERSION:.spec.conversion.strategy | grep longhorn.io",
        )
        .change(unconverted(&converted));
    Some(remedy)
}

/// Changes container longhorn-manager, which restarts all managers; where a tool would take a patch back, through its source.
pub fn change_managers(cluster: &Cluster, fix: &str, container: &serde_json::Value) -> Remedy {
    let tool = match installer(cluster) {
        Installer::Argo(app) => format!("Argo CD's application {}", app.unwrap_or("longhorn")),
        Installer::FluxHelm(of, name) => format!("HelmRelease {of}/{name}"),
        Installer::FluxKustomize(of, name) => format!("Kustomization {of}/{name}"),
        _ => {
            let fix = format!("{fix} Also change the manifest or the values that it comes from.");
            return Remedy::new(fix).change(patch_managers(cluster, container));
        }
    };
    let remedy =
        Remedy::new(format!("{fix} Change it in the source of {tool}, which reverts manual changes."));
    let look = format!("kubectl -n {} get daemonset longhorn-manager -o yaml", cluster.namespace);
    changed_by_tool(cluster, None, remedy.read(look))
}

/// That with the commands by which the tool that installed Longhorn brings it to a release.
fn changed_by_tool(cluster: &Cluster, release: Option<Release>, mut remedy: Remedy) -> Remedy {
    remedy.commands.extend(commands(cluster, release).commands.into_iter().filter(|command| command.changes));
    remedy
}

/// A strategic merge of container longhorn-manager.
pub fn patch_managers(cluster: &Cluster, container: &serde_json::Value) -> String {
    let mut container = container.clone();
    if let Some(fields) = container.as_object_mut() {
        fields.insert("name".to_owned(), "longhorn-manager".into());
    }
    let merge = json!({ "spec": { "template": { "spec": { "containers": [container] } } } });
    format!("kubectl -n {} patch daemonset longhorn-manager -p '{}'", cluster.namespace, quoted(&merge))
}

/// Undoes a step that Longhorn refuses: its managers stop before they change an object, so going back is safe (longhorn-manager
/// v1.12.1 upgrade/upgrade.go Upgrade). The image alone goes back only where it alone was changed: beside the manifest of another
/// release managers lack rights (seen: v1.12.1 with the ClusterRole of v1.10.2 hangs in its start) and take over that one's images.
pub fn back_to(cluster: &Cluster, installed: Release, refused: Release) -> Remedy {
    let namespace = &cluster.namespace;
    let look = format!("kubectl -n {namespace} get settings.longhorn.io current-longhorn-version");
    let next = releases::next_step(cluster, installed);
    let next = next.map(|next| format!(" From {installed}, you can upgrade to {next}.")).unwrap_or_default();
    let refuses = format!("Longhorn does not support going from {installed} to {refused}.{next}");
    if published(cluster, Some(installed)).is_some() && names_images_of(cluster, refused) {
        let fix = format!("Apply the manifest of {installed} again: {refuses}");
        let converted = refused < NO_CONVERSION && installed >= NO_CONVERSION;
        let remedy = without_conversion(cluster, Some(installed), converted, &fix);
        let remedy = remedy.unwrap_or_else(|| Remedy::new(fix));
        return changed_by_tool(cluster, Some(installed), remedy).read(look);
    }
    let remedy = match installer(cluster) {
        // Flux takes back an upgrade that was not over in time (helm-controller, spec.upgrade.remediation), though Longhorn had finished it
        Installer::FluxHelm(of, name) if refused < installed => Remedy::new(format!(
            "Set HelmRelease {of}/{name} to {installed} again: Longhorn does not support going from {installed} to {refused}. If Flux rolled the \
             upgrade back, also set a longer spec.timeout."
        )),
        _ => Remedy::new(format!("Set longhorn-manager's image back to {installed}: {refuses}")),
    };
    let remedy = match installer(cluster) {
        Installer::Manifest => {
            let image = cluster.manager_container().map_or("", |container| container.image.as_str());
            let repository =
                image.rsplit_once(':').map_or("longhornio/longhorn-manager", |(repository, _)| repository);
            remedy.change(format!(
                "kubectl -n {namespace} set image daemonset/longhorn-manager longhorn-manager={repository}:{installed}"
            ))
        }
        _ => changed_by_tool(cluster, Some(installed), remedy),
    };
    remedy.read(look)
}

/// True where the arguments of the managers name images of this release: its whole manifest was applied, and not its image alone.
fn names_images_of(cluster: &Cluster, release: Release) -> bool {
    let image = cluster.manager_container().and_then(|container| container.flag("--manager-image"));
    image.and_then(Release::from_image).is_some_and(|named| named == release)
}

/// What to do, in a sentence, and the commands in the order of doing.
pub fn commands(cluster: &Cluster, release: Option<Release>) -> Remedy {
    let namespace = &cluster.namespace;
    let named = release.map_or_else(|| "its release".to_owned(), |release| release.to_string());
    match installer(cluster) {
        Installer::Argo(app) => {
            let app = app.unwrap_or("longhorn");
            Remedy::new(format!("Set Argo CD application {app} to {named} in its source. Then sync the application."))
                .read(format!("argocd app diff {app}"))
                .change(format!("argocd app sync {app}"))
        }
        Installer::FluxHelm(of, name) => Remedy::new(format!(
            "Set the chart version of HelmRelease {of}/{name} to {named} in its source. Then reconcile the HelmRelease."
        ))
        .read(format!("flux -n {of} get helmrelease {name}"))
        .change(format!("flux -n {of} reconcile helmrelease {name} --with-source")),
        Installer::FluxKustomize(of, name) => Remedy::new(format!(
            "Set Kustomization {of}/{name} to the manifest of {named} in its source. Then reconcile the Kustomization."
        ))
        .read(format!("flux -n {of} get kustomization {name}"))
        .change(format!("flux -n {of} reconcile kustomization {name} --with-source")),
        Installer::HelmChart(of, name) => {
            let fix = format!("Set the version of HelmChart {of}/{name} to {named}, with failurePolicy abort.");
            let remedy = Remedy::new(fix).read(format!("kubectl -n {of} get helmcharts.helm.cattle.io {name} -o yaml"));
            release.into_iter().fold(remedy, |remedy, release| {
                let spec = json!({ "spec": { "version": bare(release) } });
                remedy.change(patch(of, "helmcharts.helm.cattle.io", name, &spec))
            })
        }
        Installer::ForeignChart(name) => Remedy::new(format!(
            "Upgrade {name} to the chart of {named} with your distribution's own tool: its charts have their own versions."
        ))
        .read(format!("helm -n {namespace} history {name}")),
        Installer::Helm(name) => {
            let fix = format!("Upgrade the Helm release to the chart of {named}, with its current values.");
            let remedy = Remedy::new(fix).read(format!("helm -n {namespace} history {name}"));
            release.into_iter().fold(remedy, |remedy, release| {
                let version = bare(release);
                remedy.change(format!(
                    "helm upgrade {name} longhorn/longhorn -n {namespace} --version {version} --reset-then-reuse-values"
                ))
            })
        }
        Installer::Manifest => match published(cluster, release) {
            Some(url) => Remedy::new(
                "Run kubectl diff with the whole manifest of longhorn-manager's release: it also changes default settings and a StorageClass. Then apply \
                 that manifest.",
            )
            .read(format!("kubectl diff --server-side --force-conflicts -f {url}"))
            .change(format!("kubectl apply --server-side --force-conflicts -f {url}")),
            None => Remedy::new(
                "Apply this release's whole manifest from the source that Longhorn was installed from. The published one differs in namespace \
                 or images.",
            ),
        },
    }
}

/// The version of the chart of a release; hotfixes have none of their own.
fn bare(release: Release) -> String {
    format!("{}.{}.{}", release.major, release.minor, release.patch)
}

/// Address of the published manifest, where Longhorn was installed from one.
pub fn published(cluster: &Cluster, release: Option<Release>) -> Option<String> {
    let release = release.filter(|release| release.suffix == Suffix::None)?;
    let image = cluster.manager_container().map(|container| container.image.as_str())?;
    // from 1.10 on the published images are named with their registry
    let own = image.strip_prefix("docker.io/").unwrap_or(image).starts_with("longhornio/");
    (cluster.namespace == "longhorn-system" && own && installer(cluster) == Installer::Manifest).then(|| {
        format!("https://raw.githubusercontent.com/longhorn/longhorn/{release}/deploy/longhorn.yaml")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;

    fn with(meta: &str, installed: &str) -> Cluster {
        cluster(&format!(
            "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {{name: longhorn-manager, namespace: {NAMESPACE}, {meta}}}\n\
             spec: {{template: {{spec: {{containers: [{{name: longhorn-manager, image: 'longhornio/longhorn-manager:v1.10.1'}}]}}}}}}\n---\n{}",
            release(installed)
        ))
    }

    fn changes(meta: &str, installed: &str) -> Vec<String> {
        let remedy = to_release(&with(meta, installed), Release::parse("v1.10.1"), false, "");
        remedy.commands.into_iter().filter(|command| command.changes).map(|command| command.run).collect()
    }

    #[test]
    fn each_tool_is_asked_by_its_own_command() {
        const HELM: &str = "app.kubernetes.io/managed-by: Helm, app.kubernetes.io/instance: storage";
        for (meta, command) in [
            (
                "",
                "kubectl apply --server-side --force-conflicts -f https://raw.githubusercontent.com/longhorn/longhorn/v1.10.1/deploy/longhorn.yaml",
            ),
            (
                &format!("labels: {{{HELM}}}"),
                "helm upgrade storage longhorn/longhorn -n longhorn-system --version 1.10.1 --reset-then-reuse-values",
            ),
            (
                &format!("labels: {{{HELM}}}, annotations: {{meta.helm.sh/release-name: lh}}"),
                "helm upgrade lh longhorn/longhorn -n longhorn-system --version 1.10.1 --reset-then-reuse-values",
            ),
            (
                "annotations: {meta.helm.sh/release-name: lh}",
                "helm upgrade lh longhorn/longhorn -n longhorn-system --version 1.10.1 --reset-then-reuse-values",
            ),
            // the chart's labels say Helm, no matter what renders it
            (
                &format!(
                    "labels: {{{HELM}}}, annotations: {{argocd.argoproj.io/tracking-id: 'lh:apps/DaemonSet:longhorn-system/longhorn-manager'}}"
                ),
                "argocd app sync lh",
            ),
            ("labels: {argocd.argoproj.io/instance: lh}", "argocd app sync lh"),
            (
                &format!(
                    "labels: {{{HELM}, helm.toolkit.fluxcd.io/name: lh, helm.toolkit.fluxcd.io/namespace: flux}}"
                ),
                "flux -n flux reconcile helmrelease lh --with-source",
            ),
            (
                "labels: {kustomize.toolkit.fluxcd.io/name: lh}",
                "flux -n flux-system reconcile kustomization lh --with-source",
            ),
        ] {
            assert_eq!(changes(meta, "v1.10.0"), [command], "{meta}");
        }
        let rancher = format!("labels: {{{HELM}, helm.sh/chart: longhorn-106.2.1_up1.10.1}}");
        assert!(changes(&rancher, "v1.10.0").is_empty());
    }

    #[test]
    fn no_one_is_sent_to_a_release_that_longhorn_refuses() {
        assert_eq!(
            changes("", "v1.8.0"),
            [
                "kubectl -n longhorn-system set image daemonset/longhorn-manager longhorn-manager=longhornio/longhorn-manager:v1.8.0"
            ]
        );
        let helm = "labels: {app.kubernetes.io/managed-by: Helm, app.kubernetes.io/instance: longhorn}";
        assert_eq!(
            changes(helm, "v1.8.0"),
            [
                "helm upgrade longhorn longhorn/longhorn -n longhorn-system --version 1.8.0 --reset-then-reuse-values"
            ]
        );
        let remedy = to_release(&with("", "v1.8.0"), Release::parse("v1.10.1"), false, "");
        assert!(remedy.fix.starts_with("Set longhorn-manager's image back to v1.8.0"), "{}", remedy.fix);
        assert!(remedy.fix.contains("you can upgrade to v1.9.2"), "{}", remedy.fix);
    }

    fn applied(definitions: &str, installed: &str, images: &str) -> Cluster {
        cluster(&format!(
            "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {{name: longhorn-manager, namespace: {NAMESPACE}}}\nspec: {{template: {{spec: \
             {{containers: [{{name: longhorn-manager, image: 'longhornio/longhorn-manager:v1.9.2', command: [longhorn-manager, daemon, \
             --manager-image, 'longhornio/longhorn-manager:{images}']}}]}}}}}}\n---\n{definitions}{}",
            release(installed)
        ))
    }

    const LEFT: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: volumes.longhorn.io}\n\
        spec: {group: longhorn.io, conversion: {strategy: Webhook}}\n---\n";
    const PATCH: &str = "kubectl patch customresourcedefinitions";

    #[test]
    fn a_refused_manifest_is_replaced_by_a_manifest_and_a_refused_image_by_an_image() {
        let back = |cluster: &Cluster| {
            let remedy = back_to(cluster, Release::new(1, 10, 2), Release::new(1, 9, 2));
            let changes = remedy.commands.into_iter().filter(|command| command.changes);
            (remedy.fix, changes.map(|command| command.run).collect::<Vec<_>>())
        };
        let (fix, changes) = back(&applied("", "v1.10.2", "v1.9.2"));
        assert!(fix.starts_with("Remove /spec/conversion from the CRDs"), "{fix}");
        assert!(fix.contains(". Apply the manifest of v1.10.2 again: Longhorn does not support"), "{fix}");
        assert!(changes[0].starts_with(PATCH) && changes[0].contains(" volumes.longhorn.io "), "{changes:?}");
        assert!(changes[1].ends_with("/v1.10.2/deploy/longhorn.yaml"), "{changes:?}");
        let (fix, changes) = back(&applied("", "v1.10.2", "v1.10.2"));
        assert!(
            fix.starts_with("Set longhorn-manager's image back to v1.10.2: Longhorn does not support"),
            "{fix}"
        );
        assert!(changes[0].contains("set image") && changes.len() == 1, "{changes:?}");
    }

    #[test]
    fn definitions_that_a_downgrade_left_lose_their_conversion_first() {
        let changes = |definitions: &str, of_definitions: bool| {
            let cluster = applied(definitions, "v1.10.2", "v1.11.3");
            let remedy = to_release(&cluster, Release::parse("v1.11.3"), of_definitions, "");
            let changes = remedy.commands.into_iter().filter(|command| command.changes);
            changes.map(|command| command.run.starts_with(PATCH)).collect::<Vec<_>>()
        };
        assert_eq!(changes("", true), [true, false], "no one may have read them");
        assert_eq!(changes(LEFT, true), [true, false]);
        assert_eq!(changes(&LEFT.replace("Webhook", "None"), true), [false]);
        assert_eq!(changes("", false), [false], "definitions are not what is wrong");
    }
}
