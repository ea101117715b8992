//! Engine images that are missing where volumes need them.
//!
//! A volume of the v1 data engine is attached, and a replica started, only on a node for which
//! `status.nodeDeploymentMap` of its EngineImage says true, in state deployed or deploying (longhorn-manager
//! v1.12.1 and v1.3.3 datastore/longhorn.go CheckEngineImageReadiness). The map has every Longhorn node, and true
//! where all containers of the DaemonSet's pod are ready (controller/engine_image_controller.go
//! syncNodeDeploymentMap); the state is deploying for as long as a Ready node is missing. Incompatible is a state
//! up to 1.5 and a field since 1.6. Volumes of the v2 data engine name an instance manager's image instead.

mod causes;
mod missing;
mod rules;
mod upgrade;

use std::collections::{BTreeMap, BTreeSet};

use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::patience::FIRST_START;
use crate::facts::text;
use crate::longhorn::Resource::*;
use crate::longhorn::{DataEngine, EngineImage, EngineImageState, Volume};

pub static CHECK: Check = check! {
    id: "engine_image_unavailable",
    title: "Engine images unavailable",
    summary: "An engine image is missing on one or all nodes, unknown to Longhorn or too old for it. Volumes that need the image cannot attach. The \
              check also finds live engine upgrades that are stuck.",
    needs: &[EngineImages, LonghornNodes],
    uses: &[Pods, Volumes, Replicas, KubeNodes, Settings, VolumeAttachments, CsiAttachments],
    causes: causes::ALL,
    ways: &[causes::WAYS],
    gauges: GAUGES,
    alerts: rules::ALERTS,
    panels: rules::PANELS,
};

gauges! {
    IMAGES = Gauge "longhorn_health_engine_images" ["state"]
        "Engine images by the state Longhorn reports: deployed, deploying, incompatible, error, unset.",
        absent "engineimages.longhorn.io cannot be read",
        example "longhorn_health_engine_images{state!=\"deployed\"} > 0";
}

/// Those that Longhorn writes, and `unset` until it does.
const STATES: [&str; 5] = ["deployed", "deploying", "incompatible", "error", "unset"];

fn run(cluster: &Cluster, out: &mut Outcome) {
    let images = || cluster.objects.engine_images.iter().filter(|image| !image.metadata.is_deleting());
    let mut states: BTreeMap<&str, u32> = STATES.map(|state| (state, 0)).into();
    for image in images() {
        let state = if is_incompatible(image) { "incompatible" } else { image.status.state.as_str() };
        *states.entry(state).or_default() += 1;
    }
    states.into_iter().for_each(|(state, count)| out.sample(&IMAGES, &[state], f64::from(count)));
    missing::run(cluster, out, images().filter(|image| !is_incompatible(image)));
    for image in images().filter(|image| is_incompatible(image) && image.status.ref_count.0 > 0) {
        out.report(incompatible(cluster, image));
    }
    find_unknown(cluster, out);
    upgrade::run(cluster, out);
}

fn is_incompatible(image: &EngineImage) -> bool {
    image.status.incompatible
        || matches!(image.status.state, EngineImageState::Incompatible | EngineImageState::Error)
}

/// The engine images that a volume wants and has.
fn images_of(volume: &Volume) -> impl Iterator<Item = &str> {
    let v1 = volume.spec.data_engine.or_v1() == DataEngine::V1;
    let images = [volume.spec.wanted_image(), volume.status.current_image.as_str()];
    images.into_iter().filter(move |image| v1 && !image.is_empty())
}

/// An image for a headline, without its registry.
fn short(image: &str) -> &str {
    image.rsplit('/').next().unwrap_or(image)
}

fn incompatible(cluster: &Cluster, image: &EngineImage) -> Finding {
    let (name, of) = (&image.metadata.name, &image.spec.image);
    let users = cluster.objects.volumes.iter().filter(|volume| images_of(volume).any(|image| image == of));
    Finding::about(
        &causes::INCOMPATIBLE,
        cluster.object::<EngineImage>(name),
        format!("engine image {} is in use but incompatible with this release", short(of)),
    )
    .volumes(users.map(|volume| cluster.volume_ref(&volume.metadata.name)).collect())
    .impact("volumes that use this image cannot attach, and attached ones cannot be managed")
    .fact(format!(
        "engine image {name} is in state {}, and status.incompatible is {}",
        image.status.state.as_str(),
        image.status.incompatible
    ))
    .fact(format!("the image is in use by {}", counted(image.status.ref_count.0, "object")))
}

/// Volumes that name an image of which there is no object.
fn find_unknown(cluster: &Cluster, out: &mut Outcome) {
    if cluster.objects.engine_images.is_empty() || !cluster.decoded_all(Resource::EngineImages) {
        return; // not yet made, not recorded, or not all of them known
    }
    let known: BTreeSet<&str> =
        cluster.objects.engine_images.iter().map(|image| image.spec.image.as_str()).collect();
    let mut unknown: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for volume in cluster.objects.volumes.iter().filter(|volume| !volume.metadata.is_deleting()) {
        for image in images_of(volume).filter(|image| !known.contains(image)) {
            let volumes = unknown.entry(image).or_default();
            if volumes.last() != Some(&volume.metadata.name.as_str()) {
                volumes.push(&volume.metadata.name);
            }
        }
    }
    for (image, volumes) in unknown {
        let age = observe(cluster, out, "unknown", image, Begun::At(None));
        if !age.at_least(FIRST_START, Unknown::Counts) {
            continue;
        }
        out.report(
            Finding::about(
                &causes::IMAGE_UNKNOWN,
                cluster.object::<EngineImage>(image),
                format!(
                    "engine image {} is used by {} but has no EngineImage",
                    short(image),
                    counted(volumes.len(), "volume")
                ),
            )
            .since(age.since)
            .volumes(volumes.iter().map(|name| cluster.volume_ref(name)).collect())
            .impact("volumes that use this image cannot attach, or their engines cannot be upgraded")
            .with(Name::Image, image)
            .fact(format!("no EngineImage exists for the image of volume {}", text::listed(&volumes)))
            .fact(age.evidence()),
        );
    }
}
