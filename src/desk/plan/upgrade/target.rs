//! Whether the step is one that the managers of the target take, and what the target needs of the cluster.

use super::super::{Found, held};
use super::{Line, Rung};
use crate::check::{Name, counted};
use crate::cluster::Cluster;
use crate::facts::ca_bundle;
use crate::facts::releases::{LINES, NEWEST_FOR_1_3, Path, is_refused, ladder, path};
use crate::facts::text::listed;
use crate::longhorn::resource::VALIDATOR;
use crate::longhorn::{EngineImage, Release, Resource, Volume, Webhook};

/// How a distribution tells its managers who built them (longhorn-manager v1.12.0 types/types.go EnvDistro).
const DISTRIBUTION: &str = "LONGHORN_DISTRO";

pub fn path_refused(rung: &Rung<'_>, out: &mut Found) {
    let (from, to) = (rung.from, rung.to);
    let steps = || {
        ladder(from, to, rung.kubernetes).iter().map(Release::to_string).collect::<Vec<_>>().join(", then ")
    };
    match path(from, to) {
        Path::Same | Path::Allowed => {}
        Path::DistributionOnly if is_distribution(rung) => {
            let text =
                format!("your distribution's build decides whether {to} accepts an upgrade from {from}");
            let fix = "Upgrade to <instead>, or ask the distribution's vendor whether two minor releases at once are \
                       supported.";
            out.unknown(text)
                .fix(fix)
                .with(Name::Instead, steps())
                .fact(format!("the managers have environment variable {DISTRIBUTION}"));
        }
        Path::DistributionOnly | Path::Skips => {
            let text = format!(
                "Longhorn does not support going from {from} to {to} ({} ahead)",
                counted(to.minor - from.minor, "minor release")
            );
            out.say(text).with(Name::Instead, steps()).fact(REFUSAL);
        }
        Path::Downgrade => {
            let fix = "Stay on this release or upgrade. The only way back is a new installation that restores a system \
                       backup.";
            out.say(format!("{to} is older than {from}, and Longhorn does not support downgrades")).fix(fix);
        }
        Path::Major => {
            let fix = "Stay on this major release until Longhorn supports an upgrade to the next one.";
            out.say(format!("{to} is another major release")).fix(fix);
        }
    }
}

const REFUSAL: &str = "with Helm, the longhorn-pre-upgrade hook aborts the upgrade. With kubectl or GitOps, the old managers are deleted and the new \
                       ones crash until you reinstall the old release";

fn is_distribution(rung: &Rung<'_>) -> bool {
    let container = rung.cluster.manager_container();
    // Longhorn's own manifest names longhorn (v1.11.3 and v1.12.1 deploy/longhorn.yaml)
    let other = |value: &str| !matches!(value, "" | "longhorn");
    container.is_some_and(|container| {
        container.env.iter().any(|variable| variable.name == DISTRIBUTION && other(&variable.value))
    })
}

pub fn unknown(rung: &Rung<'_>, out: &mut Found) {
    let (to, newest) = (rung.to, LINES.last().map_or(0, |line| line.minor));
    match rung.line {
        None if to.major == 1 && to.minor > newest => {
            out.unknown(format!("this longhorn-health-exporter knows releases up to 1.{newest}, not {to}"));
        }
        Some(line) if to.patch > line.last => {
            let text =
                format!("this build does not know {to} and judges it like v1.{}.{}", line.minor, line.last);
            out.note(text);
        }
        _ => {}
    }
}

/// A release that a user means by two numbers is the newest patch of the line, not the first.
pub fn meant(text: &str) -> Option<Release> {
    let release = Release::parse(text)?;
    let line = Line::of(release).filter(|_| text.trim().matches('.').count() == 1 && !text.contains('-'));
    Some(line.map_or(release, Line::newest))
}

pub fn newer_patch(rung: &Rung<'_>, out: &mut Found) {
    let newer = rung.line.map(|line| line.advised(rung.kubernetes));
    if let Some(newer) = newer.filter(|newer| rung.to < *newer && !is_refused(rung.from, *newer)) {
        out.say(format!("{newer} is a newer patch than {}", rung.to)).with(Name::Instead, newer);
    }
}

pub fn kubernetes(rung: &Rung<'_>, out: &mut Found) {
    let Some(line) = rung.line else { return };
    let Some(is) = rung.kubernetes else {
        out.unknown("the Kubernetes release is unknown: neither the API server nor any node reports it")
            .fix("");
        return;
    };
    let oldest = rung.cluster.oldest_kubelet();
    let least = line.kubernetes_for(rung.to.patch);
    let nodes = |wrong: &dyn Fn(Release) -> bool| {
        let all = rung.cluster.objects.kube_nodes.iter();
        let release =
            |node: &&crate::longhorn::KubeNode| Release::parse(&node.status.node_info.kubelet_version);
        let those = all.filter(|node| release(node).is_some_and(wrong));
        listed(&those.map(|node| node.metadata.name.as_str()).collect::<Vec<_>>())
    };
    if is < Release::new(1, least, 0) {
        let other = line.advised(rung.kubernetes);
        let runs = is >= Release::new(1, line.kubernetes_for(other.patch), 0)
            && other != rung.to
            && other != rung.from;
        let instead = if runs {
            format!(", or upgrade Longhorn to {other}, which supports {is}")
        } else {
            String::new()
        };
        let behind = nodes(&|release| release < Release::new(1, least, 0));
        let whose = if rung.cluster.api_server.is_some() { "the API server is" } else { "kubelets are" };
        let text = format!("{} needs Kubernetes 1.{least}, but {whose} {is}", rung.to);
        let reason = out.say(text);
        reason.with(Name::Kubernetes, format!("1.{least}")).with(Name::Instead, instead);
        if !behind.is_empty() {
            reason.fact(format!("the kubelets on {behind} are older than 1.{least}"));
        }
    } else if rung.to.minor == 3 && is >= Release::new(1, NEWEST_FOR_1_3 + 1, 0) {
        let text = format!("{} installs PodSecurityPolicies, which Kubernetes removed in 1.25", rung.to);
        out.say(text).fix("Upgrade to v1.4.0 or later instead.");
    } else if let Some(oldest) = oldest.filter(|oldest| *oldest < Release::new(1, least, 0)) {
        // the chart and the CSI sidecars ask the API server, and kubelets may be three releases older
        let text = format!(
            "the oldest kubelet is {oldest}, but the API server is {is}, which is new enough for {}",
            rung.to
        );
        out.note(text).fix("");
    }
}

pub fn stored_versions(rung: &Rung<'_>, out: &mut Found) {
    let definitions = &rung.cluster.objects.custom_resource_definitions;
    if definitions.is_empty() {
        out.unknown("no CustomResourceDefinition has the label longhorn-manager")
            .fix("Make sure that no Longhorn CustomResourceDefinition lists v1beta1 in status.storedVersions before you upgrade to <to>.");
        return;
    }
    let old = |versions: &[crate::longhorn::SharedText]| versions.iter().any(|version| version == "v1beta1");
    let dirty = definitions.iter().filter(|definition| old(&definition.status.stored_versions));
    let dirty: Vec<_> = dirty.map(|definition| definition.metadata.name.as_str()).collect();
    if dirty.is_empty() {
        return;
    }
    let text =
        held(dirty.len(), "CustomResourceDefinition", "still lists|list v1beta1 in status.storedVersions");
    let text = format!("{text}: {}", listed(&dirty));
    let reason = out.say(text);
    if let Some(untrusted) = unconverted(rung.cluster, &dirty) {
        reason.fact(untrusted);
    }
}

/// An object of v1beta1 can neither be read nor rewritten where the API server trusts no answer of the conversion webhook. Managers write the
/// same CA there and into both webhook configurations (longhorn-manager v1.5.5 to v1.9.2 webhook/server/server.go).
fn unconverted(cluster: &Cluster, dirty: &[&str]) -> Option<String> {
    let objects = &cluster.objects;
    let bundle = |webhook: &Webhook| ca_bundle::read(&webhook.client_config.ca_bundle);
    let admission = objects.validating_webhooks.get(VALIDATOR).and_then(|all| all.webhooks.first());
    let right = admission.map(bundle).unwrap_or_default();
    dirty.iter().find_map(|name| {
        let conversion = &objects.custom_resource_definitions.get(name)?.spec.conversion;
        let asked = conversion.strategy == "Webhook" && conversion.webhook.client_config.service.is_some();
        let why = ca_bundle::distrust(&conversion.webhook.client_config.ca_bundle, &right, cluster.now);
        why.filter(|_| asked).map(|why| {
            format!(
                "the conversion webhook's caBundle in {name} {why}. Restart one longhorn-manager first: it writes the right caBundle. Until \
                 then, v1beta1 objects cannot be rewritten"
            )
        })
    })
}

pub fn engine_api(rung: &Rung<'_>, out: &mut Found) {
    let Some(Line { cli: Some(cli), controller: Some(controller), .. }) = rung.line else { return };
    for image in rung.cluster.objects.engine_images.iter().filter(|image| image.status.ref_count.0 > 0) {
        let status = &image.status;
        let (Some(is_cli), Some(is_controller)) = (status.cli_api_version, status.controller_api_version)
        else {
            out.unknown(format!("engine image {} does not report its API versions", image.spec.image))
                .fix("Wait until Longhorn has deployed the engine image: it then reports its API versions.");
            continue;
        };
        let within = |is: i64, (least, most): (i64, i64)| (least..=most).contains(&is);
        if within(is_cli.0, *cli) && within(is_controller.0, *controller) {
            continue;
        }
        let volumes = users(rung, image);
        let (name, to) = (&image.spec.image, rung.to);
        let reason = out.say(match volumes.len() {
            0 => format!("{to} does not support engine image {name}"),
            number => format!("{to} does not support engine image {name} of {}", counted(number, "volume")),
        });
        for (api, is, range) in [("CLI", is_cli.0, *cli), ("controller", is_controller.0, *controller)] {
            if !within(is, range) {
                let (least, most) = range;
                reason.fact(format!(
                    "the image's {api} API version is {is}, but {} accepts {least} to {most}",
                    rung.to
                ));
            }
        }
        reason.volumes(rung.cluster, &volumes);
        let default = rung.cluster.setting("default-engine-image");
        if default.is_some_and(|default| default.value == image.spec.image) {
            reason.fix("Upgrade to the next minor release first: its default engine image is newer.");
        }
    }
}

/// Volumes that run with an engine image.
pub fn users<'a>(rung: &Rung<'a>, image: &EngineImage) -> Vec<&'a Volume> {
    if !rung.cluster.can_read(Resource::Volumes) {
        return Vec::new();
    }
    rung.cluster
        .objects
        .volumes
        .iter()
        .filter(|volume| volume.status.current_image == image.spec.image)
        .collect()
}
