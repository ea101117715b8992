//! Backing images of which no copy gets ready, or every copy failed.

use super::causes::*;
use crate::check::*;
use crate::cluster::DiskOfNode;
use crate::facts::age::{Begun, Unknown, began_under_watch, observe};
use crate::facts::backing_images::Failure;
use crate::facts::not_started::{self, NotStarted};
use crate::facts::patience::{DEFINITE, FIRST_SIGN, RETRY};
use crate::facts::standstill::{Standstill, Work};
use crate::facts::{api, text, volumes};
use crate::longhorn::{
    BackingImage, BackingImageDataSource, BackingImageManager, ConditionStatus, CopyState, Resource, status,
};

pub(super) fn run(cluster: &Cluster, out: &mut Outcome) {
    let images = cluster.objects.backing_images.iter();
    for image in images.filter(|image| !image.metadata.is_deleting()) {
        let copies = &image.status.disk_file_status_map;
        let name = image.metadata.name.as_str();
        let source = cluster.objects.backing_image_data_sources.get(name);
        if copies.values().any(|copy| copy.state == CopyState::Ready) {
            continue;
        }
        let preparing = source.filter(|source| !source.spec.file_transferred);
        if fails(cluster, out, image) {
            continue;
        }
        // eviction_inconsistent tells where copies are lost with their nodes, or on disks that no node lists
        let lost = |state: CopyState| {
            matches!(state, CopyState::Unknown | CopyState::Failed | CopyState::FailedAndCleanup)
        };
        if !copies.is_empty() && copies.values().all(|copy| lost(copy.state))
            || source.is_none() && copies.is_empty()
            || !copies.is_empty() && copies.keys().all(|disk| cluster.disk(disk).is_none())
        {
            continue;
        }
        let states: Vec<&str> = copies.values().map(|copy| copy.state.as_str()).collect();
        let (mark, progress) = match preparing {
            Some(source) => {
                let (state, progress) = (source.status.current_state.as_str(), source.status.progress.0);
                (format!("{state} {progress} {}", states.join(" ")), progress)
            }
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
        // each try of a download changes the state of the copy, and makes it no younger
        let changed = changed.filter(|_| is_fetched || preparing.is_none());
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

/// An image of which every copy failed; also while it is fetched once more, for as long as tries take that end the same way. Each try
/// resets the times of the copies, so that the image's own age counts.
fn fails(cluster: &Cluster, out: &mut Outcome, image: &BackingImage) -> bool {
    let name = image.metadata.name.as_str();
    let failure = Failure::of(cluster, image);
    if !out.ever("failed", name, failure.is_some()) {
        return false;
    }
    if failure.is_none() {
        let tries = observe(cluster, out, "fetched_again", name, Begun::At(None));
        if tries.at_least(RETRY, Unknown::Counts) {
            return false;
        }
    }
    let seen = out.first_seen("failed", name);
    let created = image.metadata.created();
    let since = seen.filter(|seen| began_under_watch(cluster, *seen)).or(created).or(seen);
    let patience = if failure.is_none_or(Failure::is_definite) { DEFINITE } else { RETRY };
    if since.is_none_or(|since| cluster.age(since) >= patience) {
        let finding = failed(cluster, image, failure).since(since);
        out.report(finding);
    }
    true
}

fn failed(cluster: &Cluster, image: &BackingImage, failure: Option<Failure>) -> Finding {
    let name = image.metadata.name.as_str();
    let on_it = || cluster.objects.volumes.iter().filter(|volume| volume.spec.backing_image == *name);
    let unused = cluster.can_read(Resource::Volumes)
        && cluster.can_read(Resource::Replicas)
        && on_it().all(|volume| volumes::was_never_up(cluster, volume));
    let waiting: Vec<VolumeRef> = on_it().map(|volume| cluster.volume_ref(&volume.metadata.name)).collect();
    let why = match failure {
        Some(failure) => failure.short().map_or(String::new(), |why| format!(": {why}")),
        None => ": the file is being fetched again".to_owned(),
    };
    // its copy there is back with the disk, unless that holds the wrong data
    let lost = failure.filter(|failure| failure.short().is_none()).and_then(|_| lost_disk(cluster, image));
    let tries = match failure {
        _ if lost.is_some() => "a copy of the image is on a disk that is not ready",
        Some(failure) if !failure.is_retried => "Longhorn does not retry automatically",
        _ => "Longhorn retries the download at most every 5 min and gets the same file each time",
    };
    let said = failure.map(|failure| failure.message).filter(|said| !said.is_empty());
    let states = image.status.disk_file_status_map.values();
    let states: Vec<String> =
        states.map(|copy| format!("{} at {} %", copy.state.as_str(), copy.progress.0)).collect();
    let finding = Finding::about(
        &BACKING_IMAGE_FAILED,
        cluster.object::<BackingImage>(name),
        format!("backing image {name} has failed{why}"),
    )
    .impact(match waiting.as_slice() {
        [] => "none yet: no volume is waiting for the image".to_owned(),
        waiting => {
            format!("{} cannot attach: {}", counted(waiting.len(), "volume"), text::users_of(waiting))
        }
    })
    .volumes(waiting)
    .with(Name::BackingImage, name)
    .facts(said.map(|said| api(format!("the image's message: {}", text::quoted(said))).quoting(said)))
    .fact(tries)
    .facts((!states.is_empty()).then(|| api(format!("states of the image's copies: {}", states.join(", ")))));
    let source = cluster.objects.backing_image_data_sources.get(name).filter(|_| unreached(said));
    match (source, lost) {
        (Some(source), _) => finding.way(&NO_SOURCE).node(&source.spec.node_id),
        (None, Some(disk)) => finding.node(&disk.node.metadata.name).disk(disk.name),
        (None, None) if unused => finding.way(&NEVER_USED),
        (None, None) => finding,
    }
}

/// The disk of a failed copy, where it is not ready.
fn lost_disk<'a>(cluster: &'a Cluster, image: &BackingImage) -> Option<DiskOfNode<'a>> {
    let disks = image.status.disk_file_status_map.keys().filter_map(|disk| cluster.disk(disk));
    let mut disks = disks.filter(|disk| status(&disk.status.conditions, "Ready") == ConditionStatus::False);
    disks.next()
}

/// That a download did not get as far as an answer.
fn unreached(said: Option<&str>) -> bool {
    const WORDS: [&str; 9] = [
        "proxyconnect", "no such host", "connection refused", "i/o timeout", "network is unreachable",
        "no route to host", "connection reset by peer", "unexpected EOF", "TLS handshake timeout",
    ];
    said.is_some_and(|said| WORDS.iter().any(|words| said.contains(words)))
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
        [] => "none yet: no volume is waiting for the image".to_owned(),
        waiting => {
            format!("{} cannot attach: {}", counted(waiting.len(), "volume"), text::users_of(waiting))
        }
    };
    let severity = if upload.is_some() && waiting.is_empty() { Severity::Info } else { Severity::Warning };
    let mut finding = Finding::about(
        &BACKING_IMAGE_STALLED,
        cluster.object::<BackingImage>(name),
        match preparing {
            Some(_) => format!("backing image {name} has been stalled for {long}: it has no usable copy"),
            // it was ready once, and is as old as its object
            None => format!("backing image {name} has no usable copy"),
        },
    )
    .severity(severity)
    .since(preparing.map(|_| still.since))
    .impact(impact)
    .volumes(waiting)
    .with(Name::BackingImage, name);
    if let Some(source) = preparing {
        let status = &source.status;
        let (state, progress, on) = (status.current_state.as_str(), status.progress.0, &source.spec.node_id);
        let mut says =
            format!("the image's data source is not fully transferred: state {state}, {progress} %, on {on}");
        if !status.message.is_empty() {
            says += &format!(": {}", text::quoted(&status.message));
        }
        finding = finding.node(&source.spec.node_id).fact(api(says).quoting(&status.message));
        // types/types.go BackingImageDataSourcePodNamePrefix
        let pod = cluster.objects.pods.get(&format!("backing-image-ds-{name}"));
        let container = pod.and_then(|pod| pod.status.container_statuses.first());
        let why = pod.zip(container).map(|(pod, one)| not_started::of_pod(cluster, pod, &one.name));
        if let Some((pod, why)) = pod.zip(why.filter(NotStarted::is_definite)) {
            finding = finding.way(why.way).with(Name::Pod, pod.metadata.name.as_str());
            finding = finding.facts(not_started::evidence(&why));
        }
    }
    if !states.is_empty() {
        finding = finding.fact(format!("states of the image's copies: {}", states.join(", ")));
    }
    let managers = cluster.objects.backing_image_managers.iter();
    for manager in managers.filter(|manager| manager.spec.backing_images.contains_key(name)).take(5) {
        finding = finding.facts(manager_says(cluster, manager));
    }
    if upload.is_some() {
        finding = finding.fact("the image is waiting for an upload, which a user must start or restart");
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
        let text = format!("Event {}: {}", event.reason, text::quoted(&event.message));
        says.push(EvidenceSource::Event.says(text).quoting(&event.message));
    }
    says
}
