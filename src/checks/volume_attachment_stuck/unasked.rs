//! Attachments of Kubernetes for which Longhorn has no ticket: its CSI controllers do not get their wish through to a manager.
//!
//! Longhorn's controller of CSI asks longhorn-backend for the volume and for a ticket, and refuses before that only what
//! is restored, cloned or faulted (longhorn-manager v1.5.5 and v1.9.2 csi/controller_server.go ControllerPublishVolume).
//! Before 1.5 there were no tickets.

use jiff::Timestamp;

use super::*;
use crate::cluster::Readability;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::not_started;
use crate::facts::patience::{ASKED, RECONCILE};
use crate::facts::releases::manager_release;
use crate::facts::{api, endpoints, policies, text, unreached, volumes, ways};
use crate::longhorn::{CSI_DRIVER, CsiAttachment, Owner, Pod, Volume, VolumeRobustness};

const PLUGIN: &str = "longhorn-csi-plugin";
const MANAGER: &str = "longhorn-manager";
/// So begins the answer of a manager that was asked and refused (longhorn-manager v1.8.0 manager/volume.go Attach; rancher/go-rancher
/// client/common.go ApiError).
const REFUSED: [&str; 2] = ["unable to attach volume", "Bad response statusCode"];

pub(super) fn look(cluster: &Cluster, out: &mut Outcome) {
    let tickets = manager_release(cluster).is_some_and(|release| release.at_least(1, 5, 0));
    let complete = cluster.readability(Resource::CsiAttachments) == Readability::Readable
        && cluster.knows_all(Resource::VolumeAttachments);
    // without an attacher no one asks, which csi_plugin_down says
    let mut attachers = cluster.pods_of("csi-attacher").peekable();
    let attacher = attachers.peek().is_none() || attachers.any(Pod::is_ready);
    if !tickets || !complete || !attacher {
        return;
    }
    let waiting = |csi: &&CsiAttachment| !csi.status.attached && !csi.metadata.is_deleting();
    for csi in cluster.objects.csi_attachments.iter().filter(waiting) {
        let Some(volume) = volume_of(cluster, csi) else { continue };
        if is_asked(cluster, volume, csi) || !may_attach(volume) {
            continue;
        }
        let begun = Begun::NotBefore(csi.metadata.created());
        let object = format!("{} {}", volume.metadata.name, csi.metadata.name);
        if observe(cluster, out, "unasked", &object, begun).at_least(ASKED, Unknown::Counts) {
            let [name, namespace, claim] = volumes::labels(volume);
            let severity = TICKET_WAITS.severity.as_str();
            out.sample(&STUCK, &[name, namespace, claim, TICKET_WAITS.id, severity], 1.0);
            out.report(finding(cluster, volume, csi));
        }
    }
}

/// By its persistent volume; where Longhorn has not noted that name yet, it is called as the volume.
fn volume_of<'a>(cluster: &'a Cluster, csi: &CsiAttachment) -> Option<&'a Volume> {
    let (volumes, pv) = (&cluster.objects.volumes, csi.spec.source.persistent_volume_name.as_str());
    let unnamed = |volume: &&Volume| volume.status.kubernetes_status.pv_name.is_empty();
    let named = volumes.of(Owner::PersistentVolume, pv).last().filter(|_| !pv.is_empty());
    named.or_else(|| volumes.get(pv).filter(unnamed))
}

fn is_asked(cluster: &Cluster, volume: &Volume, csi: &CsiAttachment) -> bool {
    let attachment = cluster.objects.volume_attachments.get(&volume.metadata.name);
    attachment.is_none_or(|attachment| {
        let tickets = &attachment.spec.attachment_tickets;
        tickets.get(&csi.metadata.name).is_some()
            || tickets
                .values()
                .any(|ticket| ticket.kind == "csi-attacher" && ticket.node_id == csi.spec.node_name)
    })
}

pub(super) fn may_attach(volume: &Volume) -> bool {
    let status = &volume.status;
    let copied = ["completed", "failed"].contains(&status.clone_status.state.as_str());
    let is_copied = volume.spec.data_source.is_empty() || copied;
    !volume.metadata.is_deleting()
        && status.robustness != VolumeRobustness::Faulted
        && !status.restore_required
        && !status.is_standby
        && is_copied
}

fn finding(cluster: &Cluster, volume: &Volume, csi: &CsiAttachment) -> Finding {
    let name = &volume.metadata.name;
    let (id, node) = (&csi.metadata.name, csi.spec.node_name.as_str());
    let users = vec![cluster.volume_ref(name)];
    let whose = text::claims_of(&users);
    let error = csi.status.attach_error.message.trim();
    let refused = REFUSED.iter().any(|refused| error.contains(refused));
    let driverless = (!refused).then(|| driverless(cluster, node, error)).flatten();
    let hanging = hanging(cluster);
    let (way, why) = match &driverless {
        Some(found) => (found.way, "the node lacks Longhorn's CSI driver".to_owned()),
        None if refused => (&LONGHORN_REFUSES, "Longhorn rejects the attach request".to_owned()),
        None if error.contains("is marked for deletion") => (&PV_DELETED, PV_DELETED.briefly.to_owned()),
        None if hanging.is_some() => (&ATTACHER_HANGS, ATTACHER_HANGS.briefly.to_owned()),
        None => {
            let isolated = || policies::isolates_managers(cluster).map(|_| &ISOLATED);
            let unnamed = error.contains("lookup longhorn-backend") && error.contains("no such host");
            let gone = || (unnamed && endpoints::lacks_backend(cluster)).then_some(&ways::BACKEND_GONE);
            let way = gone().or_else(|| unreached::of_dns(error)).or_else(isolated).unwrap_or(&NEVER_ASKED);
            (way, way.briefly.to_owned())
        }
    };
    let policy = policies::isolates_managers(cluster).filter(|_| way == &ISOLATED);
    let lacks = driverless.as_ref().map(|_| format!("CSINode {node} does not list {CSI_DRIVER}"));
    let mut finding = Finding::about(
        &TICKET_WAITS,
        volumes::object(cluster, volume),
        format!("{whose} cannot attach to {node}: {why}"),
    )
    .node(node)
    .since(csi.metadata.created())
    .impact(format!("the pod that uses {whose} cannot start on {node}"))
    .volumes(users)
    .fact(format!("Kubernetes VolumeAttachment {id} is not attached, and volumeattachments.longhorn.io {name} has no ticket for it"),
    )
    .facts(lacks)
    .facts(driverless.as_ref().map(|found| format!("DaemonSet {PLUGIN}: {}", found.because)))
    .facts(said::imageless(volume))
    .way(way)
    .facts(policy.map(|policy| policies::fact(cluster, policy, "selects the managers' pods, and no policy admits traffic to them")))
    .named(policy.into_iter().flat_map(policies::values))
    .facts(hanging.filter(|_| way == &ATTACHER_HANGS).map(|(pod, since)| {
        format!("csi-attacher's leader {pod} is Ready, but has not renewed its Lease since {since}")
    }))
    .named(hanging.map(|(pod, _)| (Name::Pod, pod.to_owned())))
    .with(Name::Attachment, id.as_str())
    .with(Name::Workload, PLUGIN);
    if !error.is_empty() {
        finding = finding.fact(
            api(format!("the VolumeAttachment's last error is: {}", text::quoted(error))).quoting(error),
        );
    }
    finding
}

/// The leader of csi-attacher, where it works for all that Kubernetes sees and has not renewed its Lease of 15 seconds for minutes: after a
/// connection that broke, client-go may wait on it without end (kubernetes-csi/csi-lib-utils issue 66).
fn hanging(cluster: &Cluster) -> Option<(&str, Timestamp)> {
    let lease = cluster.objects.leases.get("external-attacher-leader-driver-longhorn-io")?;
    let leader = lease.spec.holder_identity.as_str();
    let renewed = lease.spec.renew_time.get().filter(|renewed| cluster.age(*renewed) >= RECONCILE)?;
    let works = cluster.pods_of("csi-attacher").any(|pod| pod.is_ready() && pod.metadata.name == *leader);
    works.then_some((leader, renewed))
}

/// A node whose kubelet does not know the driver: csi-attacher asks Longhorn for nothing there (kubernetes-csi external-attacher
/// pkg/controller/csi_handler.go getNodeID).
struct Driverless {
    because: String,
    way: &'static Way,
}

fn driverless(cluster: &Cluster, node: &str, error: &str) -> Option<Driverless> {
    let registered = match cluster.objects.csi_nodes.get(node) {
        Some(known) => known.spec.drivers.iter().any(|driver| driver.name == CSI_DRIVER),
        None => !error.contains("does not contain driver"),
    };
    if registered {
        return None;
    }
    // the plugin is there, and csi_plugin_down looks at it
    if cluster.pods_of(PLUGIN).any(|pod| pod.spec.node() == node) {
        let because = "the pod on this node is not registered".to_owned();
        return Some(Driverless { because, way: &PLUGIN_UNREGISTERED });
    }
    let Some(found) = not_started::no_pod(cluster, PLUGIN, node, None) else {
        let because = "this node has no pod".to_owned();
        return Some(Driverless { because, way: &NO_PLUGIN });
    };
    // what Longhorn makes itself goes by the settings, which it takes up with all volumes detached (longhorn-manager v1.3.3 to
    // v1.12.1 types/setting.go), its manager by the manifest
    let both = not_started::no_pod(cluster, MANAGER, node, None).is_some();
    let way = match *found.way {
        ways::TAINT if both => &KEPT_OUT_BY_TAINT,
        ways::TAINT => &KEPT_AWAY_BY_TAINT,
        ways::LABEL if both => &KEPT_OUT_BY_LABEL,
        ways::LABEL => &KEPT_AWAY_BY_LABEL,
        _ => found.way,
    };
    Some(Driverless { because: found.text, way })
}
