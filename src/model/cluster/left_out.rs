//! Kinds and statuses that are not there although they must be.
//!
//! In the output of `kubectl get` a kind without objects leaves no trace, so one that is not there may have been empty or not asked for.
//! Where other objects prove that there were some, what needs it is unknown. The same holds for a status: a restore of objects from a
//! backup leaves none until managers run.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::{Cluster, Readability};
use crate::longhorn::{BackingImageManager, DaemonSet, Kind, Meta, Pod, Resource, Volume, VolumeAttachment};

/// Within this time of its creation an object may lack what Longhorn writes about it: a volume comes before its status
/// (longhorn-manager v1.12.1 controller/volume_controller.go reconcileAttachDetachStateMachine).
const PATIENCE: SignedDuration = SignedDuration::from_mins(5);

/// What is not there although it must be, in words.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// Kinds without any object, with what proves that there are some.
    pub(super) kinds: BTreeMap<Resource, String>,
    /// Kinds with objects that are older than the patience and have no status.
    pub(super) statuses: BTreeMap<Resource, String>,
}

impl LeftOut {
    pub(super) fn of(cluster: &Cluster) -> Self {
        let none = |kind: &Resource| cluster.decoded_all(*kind) && cluster.objects.count(*kind) == 0;
        let proven = |kind: Resource| {
            let listed = match cluster.readability(kind) {
                Readability::Readable => true,
                Readability::NotRecorded if cluster.is_recorded() => false,
                _ => return None,
            };
            Some((kind, proof(cluster, kind, listed)?))
        };
        let kinds = Resource::all().filter(none).filter_map(proven).collect();
        let statuses = Resource::all().filter_map(|kind| Some((kind, unwritten(cluster, kind)?))).collect();
        LeftOut { kinds, statuses }
    }
}

fn unwritten(cluster: &Cluster, kind: Resource) -> Option<String> {
    let objects = cluster.objects.unwritten(kind).into_iter();
    let mut settled = objects.filter(|meta| is_settled(cluster, meta));
    let (first, more) = (&settled.next()?.name, settled.count());
    let and_more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!("{kind} have no status, so they are not judged: {first}{and_more}"))
}

/// What is not dated may be old.
fn is_settled(cluster: &Cluster, meta: &Meta) -> bool {
    let age = meta.created().filter(|_| cluster.moment().is_some()).map(|created| cluster.age(created));
    !meta.is_deleting() && age.is_none_or(|age| age >= PATIENCE)
}

/// What proves that there are objects of a kind. What was listed as empty is: what lacks there is what the checks look for. But pods
/// without any node there are none.
fn proof(cluster: &Cluster, kind: Resource, listed: bool) -> Option<String> {
    use Resource::*;
    let objects = &cluster.objects;
    let recorded = |kind| cluster.readability(kind) == Readability::Readable;
    let volume = || first(cluster, objects.volumes.iter());
    let engine = || first(cluster, objects.engines.iter());
    let replica = || first(cluster, objects.replicas.iter());
    let volumes = |has: fn(&Volume) -> bool| first(cluster, objects.volumes.iter().filter(|one| has(one)));
    let pods = |is: fn(&Pod) -> bool| first(cluster, objects.pods.iter().filter(|pod| is(pod)));
    let ready = |set: &&DaemonSet| set.status.number_ready.0 > 0;
    let ready_set = || first(cluster, cluster.manager_daemon_set().into_iter().filter(ready));
    // a manager that never started leaves neither settings nor nodes behind; one that is ready made both
    // (longhorn-manager v1.12.1 app/daemon.go startManager)
    let ready_pod = || first(cluster, cluster.manager_pods().filter(|pod| pod.is_ready()));
    let started = || ready_set().or_else(ready_pod);
    let longhorn = || cluster.longhorn_kind().map(|kind| format!("{kind} exist"));
    match kind {
        KubeNodes => {
            let runs = |pod: &&Pod| !pod.spec.node_name.is_empty() && is_settled(cluster, &pod.metadata);
            let runs = first(cluster, objects.pods.iter().filter(runs));
            runs.or_else(|| if listed { None } else { started() })
        }
        _ if listed => None,
        Pods => longhorn().or_else(ready_set),
        DaemonSets => longhorn().or_else(|| first(cluster, cluster.manager_pods())),
        Settings => longhorn().or_else(started),
        LonghornNodes => {
            let instance_manager = || first(cluster, objects.instance_managers.iter());
            started().or_else(volume).or_else(engine).or_else(replica).or_else(instance_manager)
        }
        InstanceManagers => pods(Pod::is_instance_manager),
        Volumes => engine().or_else(replica),
        Engines => volume().or_else(replica),
        Replicas => volume().or_else(engine),
        // each volume has one of its name (longhorn-manager v1.5.0 to v1.12.1 controller/volume_controller.go
        // handleVolumeAttachmentCreation)
        VolumeAttachments => cluster.release()?.at_least(1, 5, 0).then(volume).flatten(),
        CsiAttachments => {
            let ticket = |attachment: &&VolumeAttachment| {
                attachment.spec.attachment_tickets.values().any(|ticket| ticket.kind == "csi-attacher")
            };
            first(cluster, objects.volume_attachments.iter().filter(ticket))
        }
        // a manager lists the images of which it keeps a copy
        BackingImages => {
            let keeps = |manager: &&BackingImageManager| !manager.spec.backing_images.is_empty();
            let managers = first(cluster, objects.backing_image_managers.iter().filter(keeps));
            managers.or_else(|| first(cluster, objects.backing_image_data_sources.iter()))
        }
        // one that volumes use cannot be deleted (longhorn-manager v1.12.1 webhook/resources/engineimage/validator.go)
        EngineImages => volumes(|volume| !volume.spec.wanted_image().is_empty()),
        ShareManagers => pods(|pod| pod.metadata.name.starts_with("share-manager-")),
        BackupTargets => volumes(|volume| !volume.spec.backup_target_name.is_empty()),
        // a Ready manager stands behind Services whose endpoints list it; it made both webhook
        // configurations, and its release brings Deployments. Every cluster has two priority classes of its own
        Services | EndpointSlices | Deployments | PriorityClasses => started(),
        // the objects of its kinds need them
        CustomResourceDefinitions => longhorn(),
        ValidatingWebhookConfigurations if !recorded(MutatingWebhookConfigurations) => started(),
        MutatingWebhookConfigurations if !recorded(ValidatingWebhookConfigurations) => started(),
        _ => None,
    }
}

fn first<'a, T: Kind>(cluster: &Cluster, mut objects: impl Iterator<Item = &'a T>) -> Option<String> {
    Some(format!("{} exists", cluster.object::<T>(&objects.next()?.meta().name)))
}
