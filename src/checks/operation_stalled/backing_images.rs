//! Backing images of which no copy gets ready.

use super::causes::*;
use crate::check::*;
use crate::facts::patience::FIRST_SIGN;
use crate::facts::standstill::{Standstill, Work};
use crate::facts::{api, text};
use crate::longhorn::{BackingImage, BackingImageDataSource, BackingImageManager, CopyState};

pub(super) fn run(cluster: &Cluster, out: &mut Outcome) {
    let images = cluster.objects.backing_images.iter();
    for image in images.filter(|image| !image.metadata.is_deleting()) {
        let copies = &image.status.disk_file_status_map;
        let name = image.metadata.name.as_str();
        let source = cluster.objects.backing_image_data_sources.get(name);
        let failed = |state: CopyState| matches!(state, CopyState::Failed | CopyState::FailedAndCleanup);
        if copies.values().any(|copy| copy.state == CopyState::Ready) {
            continue;
        }
        let preparing = source.filter(|source| !source.spec.file_transferred);
        let unusable = |state: CopyState| failed(state) || state == CopyState::Unknown;
        // failed ones are told by what Longhorn does about them: it tries again, or deletes and copies; eviction_inconsistent tells
        // where no copy is left that one could wait for
        if preparing.is_some_and(|source| failed(source.status.current_state))
            || !copies.is_empty() && copies.values().all(|copy| unusable(copy.state))
            || source.is_none() && copies.is_empty()
            // eviction_inconsistent tells of copies on disks that no node lists
            || !copies.is_empty() && copies.keys().all(|disk| cluster.disk(disk).is_none())
        {
            continue;
        }
        let states: Vec<&str> = copies.values().map(|copy| copy.state.as_str()).collect();
        let (mark, progress) = match preparing {
            Some(source) => (
                format!(
                    "{} {} {}",
                    source.status.current_state.as_str(),
                    source.status.progress.0,
                    states.join(" ")
                ),
                source.status.progress.0,
            ),
            None => {
                let percents: Vec<i64> = copies.values().map(|copy| copy.progress.0).collect();
                (format!("{} {percents:?}", states.join(" ")), percents.iter().copied().max().unwrap_or(0))
            }
        };
        let changed = copies.values().filter_map(|copy| copy.last_state_transition_time.get()).max();
        let state = preparing.map(|source| source.status.current_state);
        // percents tell only while a file is fetched or copied; a fetched one was begun long ago, and only its copy says when it ended
        let is_fetched = state == Some(CopyState::ReadyForTransfer);
        let copies_data = state.is_none_or(|state| state == CopyState::InProgress);
        let progress = if copies_data { progress } else { 0 };
        let begun = changed.max(image.metadata.created().filter(|_| !is_fetched));
        let work = Work {
            fact: "backing_image",
            object: name,
            mark,
            progress,
            size: 0,
            begun,
            patience: FIRST_SIGN,
        };
        if let Some(still) = work.stands(cluster, out, &BACKING_IMAGE_STALLED) {
            out.report(finding(cluster, image, preparing, &states, still));
        }
    }
}

fn finding(
    cluster: &Cluster,
    image: &BackingImage,
    preparing: Option<&BackingImageDataSource>,
    states: &[&str],
    still: Standstill,
) -> Finding {
    let name = image.metadata.name.as_str();
    let waiting = cluster.objects.volumes.iter().filter(|volume| volume.spec.backing_image == *name);
    let waiting: Vec<VolumeRef> = waiting.map(|volume| cluster.volume_ref(&volume.metadata.name)).collect();
    let long = text::duration(cluster.age(still.since));
    let upload =
        preparing.filter(|source| source.spec.source_type == "upload" && source.status.progress.0 == 0);
    let impact = match waiting.as_slice() {
        [] => "none: no volume waits for it".to_owned(),
        waiting => {
            format!("{} cannot be attached: {}", counted(waiting.len(), "volume"), text::users_of(waiting))
        }
    };
    let severity = if upload.is_some() && waiting.is_empty() { Severity::Info } else { Severity::Warning };
    let mut finding = Finding::about(
        &BACKING_IMAGE_STALLED,
        cluster.object::<BackingImage>(name),
        format!("backing image {name} has no usable copy and has stalled for {long}"),
    )
    .severity(severity)
    .since(Some(still.since))
    .impact(impact)
    .volumes(waiting)
    .with(Name::BackingImage, name);
    if let Some(source) = preparing {
        let status = &source.status;
        let mut says = format!(
            "its data source is not transferred: state {}, {} %, on node {}",
            status.current_state.as_str(),
            status.progress.0,
            source.spec.node_id
        );
        if !status.message.is_empty() {
            says += &format!(": {}", text::both_ends(&status.message, 300));
        }
        finding = finding.node(&source.spec.node_id).fact(says);
    }
    if !states.is_empty() {
        finding = finding.fact(format!("its copies are {}", states.join(", ")));
    }
    let managers = cluster.objects.backing_image_managers.iter();
    for manager in managers.filter(|manager| manager.spec.backing_images.contains_key(name)).take(5) {
        finding = finding.facts(manager_says(cluster, manager));
    }
    if upload.is_some() {
        finding = finding.fact("it waits for an upload, which someone must start or restart");
    }
    finding.facts([still.evidence])
}

/// How the manager of a copy is, and what Events say of its pod.
fn manager_says(cluster: &Cluster, manager: &BackingImageManager) -> Vec<Evidence> {
    let name = manager.metadata.name.as_str();
    let state = manager.status.current_state.as_str();
    let mut says = vec![api(format!("backing image manager {name} on {} is {state}", manager.spec.node_id))];
    let newest = cluster
        .events_about(name)
        .filter(|event| event.kind == "Warning")
        .max_by_key(|event| event.last_seen());
    if let Some(event) = newest {
        says.push(EvidenceSource::Event.says(format!(
            "{}: {}",
            event.reason,
            text::both_ends(&event.message, 300)
        )));
    }
    says
}
