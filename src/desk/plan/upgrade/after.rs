//! Where an upgrade stands.

use super::super::{Found, held};
use super::Rung;
use super::target::users;
use crate::cluster::Cluster;
use crate::facts::installation;
use crate::facts::releases::{Path, is_refused, path, release_of};
use crate::facts::text::listed;
use crate::longhorn::{CustomResourceDefinition, EngineImage, InstanceManager, Release, Resource};

/// What is not of the release that the setting names: the DaemonSet, and manager pods.
fn others(cluster: &Cluster, release: Release) -> Vec<String> {
    let mut others = Vec::new();
    if let Some(image) = cluster.manager_image_release().filter(|image| path(*image, release) != Path::Same) {
        others.push(format!("DaemonSet longhorn-manager has image {image}"));
    }
    for pod in cluster.manager_pods() {
        if let Some(runs) = release_of(cluster, pod).filter(|runs| path(*runs, release) != Path::Same) {
            others.push(format!(
                "manager pod {} on {} is running {runs}",
                pod.metadata.name, pod.spec.node_name
            ));
        }
    }
    others
}

pub fn unfinished(rung: &Rung<'_>, out: &mut Found) {
    let others = others(rung.cluster, rung.from);
    let Some(first) = others.first() else { return };
    let reason = out.say(format!("setting current-longhorn-version is {}, but {first}", rung.from));
    others.iter().skip(1).for_each(|other| {
        reason.fact(other.as_str());
    });
    // what Longhorn refuses never gets done
    let image = rung.cluster.manager_image_release();
    if let Some(refused) = image.filter(|image| is_refused(rung.from, *image)) {
        let remedy = installation::back_to(rung.cluster, rung.from, refused);
        reason.fix(remedy.fix);
        remedy.commands.into_iter().filter(|command| command.changes).for_each(|command| {
            reason.command(command);
        });
    }
}

pub fn managers_old(rung: &Rung<'_>, out: &mut Found) {
    unfinished(rung, out);
    let not_ready = rung.cluster.manager_pods().filter(|pod| !pod.is_ready());
    let names: Vec<&str> = not_ready.map(|pod| pod.metadata.name.as_str()).collect();
    if !names.is_empty() {
        let text = held(names.len(), "manager pod", "is|are not Ready");
        out.say(format!("{text}: {}", listed(&names)));
    }
}

/// Definitions of which this holds, with their release. They carry it in a label (longhorn deploy/longhorn.yaml and chart, v1.3.3 to
/// v1.12.1).
fn definitions(cluster: &Cluster, holds: impl Fn(Release) -> bool) -> Vec<(&str, Release)> {
    let labelled = |definition: &CustomResourceDefinition| {
        definition.metadata.label("app.kubernetes.io/version").and_then(Release::parse)
    };
    let all = cluster.objects.custom_resource_definitions.iter();
    let known = all.filter_map(|one| Some((one.metadata.name.as_str(), labelled(one)?)));
    known.filter(|(_, release)| holds(*release)).collect()
}

/// Those that were refused when the manifest was applied, as after a downgrade that was tried (see `installation::unconverted`), or
/// that a tool left out.
pub fn definitions_left(rung: &Rung<'_>, out: &mut Found) {
    let others = definitions(rung.cluster, |release| path(release, rung.from) != Path::Same);
    let names: Vec<&str> = others.iter().map(|(name, _)| *name).collect();
    if !names.is_empty() {
        let text = held(names.len(), "CustomResourceDefinition", "is|are from another release");
        out.say(format!("{text}: {}", listed(&names)));
    }
}

/// Those that an upgrade to a later release put in place before it failed. Those of the target are its own first step.
pub fn definitions_ahead(rung: &Rung<'_>, out: &mut Found) {
    if !rung.cluster.can_read(Resource::CustomResourceDefinitions) {
        let text = format!("CustomResourceDefinitions were not read, so some may be newer than {}", rung.to);
        out.note(text)
            .fix("Check the CustomResourceDefinitions' label app.kubernetes.io/version before the upgrade.");
        return;
    }
    let ahead = |release: Release| release > rung.to && path(rung.to, release) != Path::Same;
    let newer = definitions(rung.cluster, ahead);
    let Some(newest) = newer.iter().map(|(_, release)| *release).max() else { return };
    let names: Vec<&str> = newer.iter().map(|(name, _)| *name).collect();
    let text = held(names.len(), "CustomResourceDefinition", &format!("is|are newer than {}", rung.to));
    out.say(format!("{text}: {}", listed(&names))).fact(format!(
        "label app.kubernetes.io/version names {newest}, so an upgrade to that release probably failed"
    ));
}

pub fn engines_left(rung: &Rung<'_>, out: &mut Found) {
    let Some(default) = rung.cluster.setting("default-engine-image") else { return };
    let old = |image: &&EngineImage| image.status.ref_count.0 > 0 && image.spec.image != default.value;
    for image in rung.cluster.objects.engine_images.iter().filter(old) {
        let volumes = users(rung, image);
        let holds = format!("is|are still using engine image {}", image.spec.image);
        out.say(held(volumes.len(), "volume", &holds)).volumes(rung.cluster, &volumes);
    }
}

pub fn instance_managers_left(rung: &Rung<'_>, out: &mut Found) {
    let Some(default) = rung.cluster.setting("default-instance-manager-image") else { return };
    let old = |manager: &&InstanceManager| manager.spec.image != default.value;
    let managers = rung.cluster.objects.instance_managers.iter().filter(old);
    let mut nodes: Vec<&str> = managers.map(|manager| manager.spec.node_id.as_str()).collect();
    if nodes.is_empty() {
        return;
    }
    let number = nodes.len();
    nodes.sort_unstable();
    nodes.dedup();
    let text =
        held(number, "instance manager", &format!("still uses|use an old image on {}", listed(&nodes)));
    out.say(text).fact(format!("the default instance manager image is {}", default.value));
}
