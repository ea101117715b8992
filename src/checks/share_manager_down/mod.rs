//! RWX volumes without the NFS server that serves them.
//!
//! An RWX volume that is not migratable is exported by the pod `share-manager-<volume>`, a bare pod that is never restarted but
//! replaced. Its ShareManager goes from starting to running when all containers of the pod are ready, that is when the volume is
//! attached and mounted, and to error when the pod fails, vanishes or is deleted, or when its node is down; then it is
//! stopped and started again (longhorn-manager controller/share_manager_controller.go syncShareManagerPod and
//! syncShareManagerVolume, the same in v1.3.3, v1.6.4 and v1.12.1; from 1.7 on a lease that runs out ends it sooner). Wanted it is
//! while an attachment ticket of type csi-attacher exists (isShareManagerRequiredForVolume, 1.5 and later) and the volume
//! is neither faulted nor being restored. Before 1.5 a state other than stopped says so. No state has a time: this exporter
//! remembers since when it has held, and the pod's own times help.

mod backend;
mod causes;
mod finding;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::not_started::{self, NotStarted};
use crate::facts::patience::{DEFINITE, NEXT_POD};
use crate::facts::ways::DAMAGED;
use crate::facts::{bursts, pods, volumes};
use crate::longhorn::Resource::*;
use crate::longhorn::{Pod, ShareManager, ShareManagerState, Volume, VolumeRobustness, VolumeState};

/// This many replaced pods within [`WINDOW`] are no longer a failover.
const LOOP_AT: usize = 3;
/// How far back replaced pods are counted.
const WINDOW: SignedDuration = SignedDuration::from_mins(30);

pub static CHECK: Check = check! {
    id: "share_manager_down",
    title: "Share managers down",
    summary: "The NFS server of an RWX volume in use is down, or keeps being replaced.",
    needs: &[ShareManagers, Volumes],
    uses: &[
        Pods, Services, VolumeAttachments, CsiAttachments, LonghornNodes, KubeNodes, Events, DaemonSets,
        Settings,
    ],
    causes: causes::ALL,
    ways: &[causes::WAYS],
    gauges: GAUGES,
    alerts: rules::ALERTS,
    panels: rules::PANELS,
    stops_workloads: true,
};

gauges! {
    SHARES = Gauge "longhorn_health_share_managers" ["state"]
        "Share managers (NFS servers of RWX volumes) by the state that Longhorn reports.",
        absent "there is none",
        example "longhorn_health_share_managers{state=\"error\"} > 0";
    NOT_SERVED = Gauge "longhorn_health_volume_not_served" ["volume", "pvc_namespace", "pvc", "cause"]
        "1 for every RWX volume in use whose NFS server is down.",
        absent "it is served or unused",
        example "max without (instance, pod, cause) (longhorn_health_volume_not_served) == 1";
}

/// A share manager that pods wait for, with what belongs to it.
struct Share<'a> {
    manager: &'a ShareManager,
    volume: &'a Volume,
    pod: Option<&'a Pod>,
    /// How often its pod was replaced lately.
    replaced: usize,
    /// How often Longhorn asked for a remount, and since when, where that has been going on for long.
    remounts: Option<(usize, Timestamp)>,
}

/// Those that Longhorn writes.
const STATES: [&str; 6] = ["running", "starting", "stopping", "stopped", "error", "unknown"];

impl Share<'_> {
    /// What keeps its pod from starting, where an object says so.
    fn refused(&self, cluster: &Cluster) -> Option<NotStarted> {
        let pod = self.pod?;
        // its only container, whatever a release calls it
        let container = pod.status.container_statuses.first()?;
        Some(not_started::of_pod(cluster, pod, &container.name)).filter(NotStarted::is_definite)
    }

    /// What its log says of a damaged file system or a device that is in use: the server formats and mounts the volume first, and ends where
    /// that fails (longhorn-share-manager pkg/server/share_manager.go Run).
    fn unmounted<'c>(&self, cluster: &'c Cluster) -> Option<(&'static Way, &'c str)> {
        const BUSY: [&str; 2] = ["mount point busy", "apparently in use by the system"];
        let mut lines = cluster.history.logs_of(self.pod?).flat_map(|log| log.text.lines());
        lines.find_map(|line| match BUSY.iter().any(|part| line.contains(part)) {
            true => Some((&causes::DEVICE_BUSY, line)),
            false => volumes::names_damage(line).then_some((&DAMAGED, line)),
        })
    }
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    let replaced = replaced(cluster);
    let mut states: BTreeMap<&str, u32> = BTreeMap::new();
    for manager in cluster.objects.share_managers.iter().filter(|manager| !manager.metadata.is_deleting()) {
        if states.is_empty() {
            states.extend(STATES.map(|state| (state, 0)));
        }
        *states.entry(manager.status.state.as_str()).or_default() += 1;
        let name = &manager.metadata.name;
        let Some(volume) = cluster.objects.volumes.get(name) else { continue };
        let pod = cluster.objects.pods.get(&format!("share-manager-{name}"));
        let before = replaced.get(name.as_str()).into_iter().flatten();
        let replaced = before.filter(|uid| pod.is_none_or(|pod| pod.metadata.uid != **uid)).count();
        let mut share = Share { manager, volume, pod, replaced, remounts: None };
        let unreached = finding::lacks_service(cluster, &share);
        if !(is_wanted(cluster, manager, volume)
            || unreached && volumes::asked_since(cluster, volume).is_some())
        {
            continue;
        }
        if unreached || !is_serving(&share) {
            share.remounts = remounts(cluster, volume);
            share.replaced = share.remounts.map_or(replaced, |(times, _)| times.max(replaced));
            // of a pod that cannot mount, each follows another, as of one that was replaced: its age says nothing
            let damaged = share.pod.is_some_and(Pod::is_over) && share.unmounted(cluster).is_some();
            // what keeps a pod from starting does so since that pod is there
            let refused = share.refused(cluster).is_some();
            let first = (share.replaced == 0 || refused) && !unreached && !damaged;
            let young = share.pod.filter(|_| first).and_then(pods::since);
            let begun = match young {
                Some(young) => Begun::At(Some(young)),
                None => Begun::NotBefore(not_before(cluster, &share)),
            };
            let age = observe(cluster, out, "down", name, begun);
            // where nothing tells how long, one that has just followed another moves, or they end one after the other
            let new = share.pod.and_then(pods::since).is_some_and(|since| cluster.age(since) < NEXT_POD);
            let follows_another = share.replaced > 0 && new;
            let unknown = if follows_another { Unknown::Waits } else { Unknown::Counts };
            let unknown = if damaged { Unknown::Counts } else { unknown };
            let patience = if damaged || refused { DEFINITE } else { NEXT_POD };
            if age.at_least(patience, unknown) {
                let finding = finding::down(cluster, &share, &age);
                let [name, namespace, claim] = volumes::labels(volume);
                out.sample(&NOT_SERVED, &[name, namespace, claim, finding.cause.id], 1.0);
                out.report(finding);
                continue;
            }
            if age.is_unknown() {
                out.time_tells(finding::cause(cluster, &share), name);
            }
        }
        if share.replaced >= LOOP_AT {
            out.report(finding::restarting(cluster, &share));
        }
    }
    states.into_iter().for_each(|(state, count)| out.sample(&SHARES, &[state], f64::from(count)));
}

/// When the volume was served last, or no one had asked for it yet: Kubernetes made the first of its attachments, or the kubelet
/// stopped its only server.
fn not_before(cluster: &Cluster, share: &Share) -> Option<Timestamp> {
    let asked = volumes::asked_since(cluster, share.volume);
    let server = format!("share-manager-{}", share.manager.metadata.name);
    let stopped = cluster.events_about(&server).filter(|event| event.reason == "Killing");
    let stopped = stopped.filter_map(|event| event.last_seen()).max();
    asked.max(stopped.filter(|_| share.replaced <= 1))
}

/// True where pods wait for the share, as Longhorn itself decides.
fn is_wanted(cluster: &Cluster, manager: &ShareManager, volume: &Volume) -> bool {
    let status = &volume.status;
    if !volume.is_shared() || volume.metadata.is_deleting() {
        return false;
    }
    if status.robustness == VolumeRobustness::Faulted || status.restore_required || status.is_standby {
        return false;
    }
    match cluster.objects.volume_attachments.get(&volume.metadata.name) {
        Some(attachment) => {
            attachment.spec.attachment_tickets.values().any(|ticket| ticket.kind == "csi-attacher")
        }
        // before 1.5, or not recorded
        None => {
            use ShareManagerState::{Error, Running, Starting, Unknown};
            matches!(manager.status.state, Error | Running | Starting | Unknown)
        }
    }
}

fn is_serving(share: &Share) -> bool {
    let running = share.manager.status.state == ShareManagerState::Running;
    // without pods the word of the manager counts
    running && share.pod.is_none_or(Pod::is_ready)
}

/// While a share manager is in error, Longhorn asks at each look for a remount of its volume, also where no pod is there to be seen
/// (longhorn-manager v1.5.5 to v1.12.1 controller/volume_controller.go ReconcileShareManagerState). One failover takes minutes.
fn remounts(cluster: &Cluster, volume: &Volume) -> Option<(usize, Timestamp)> {
    let name = volume.metadata.name.as_str();
    let asked = || {
        let events = cluster.events_about(name);
        events.filter(|event| event.reason == "Remount" && event.involved_object.kind == "Volume")
    };
    let first = asked().filter_map(|event| event.first_seen()).min()?;
    let last = asked().filter_map(|event| event.last_seen()).max()?;
    let times = usize::try_from(bursts::times(asked())).unwrap_or(0);
    let lasts = last.duration_since(first) >= WINDOW && cluster.age(last) < NEXT_POD;
    let attached = volume.status.state == VolumeState::Attached;
    (lasts && attached && times >= LOOP_AT).then_some((times, first))
}

/// Uids of the servers of each volume that ended within [`WINDOW`], as this exporter saw, or started within it, as the
/// kubelet's Events say: these are also there after a start of the exporter and in recordings. A server is a pod that
/// is started once.
fn replaced(cluster: &Cluster) -> BTreeMap<&str, BTreeSet<&str>> {
    let gone = cluster.history.gone_pods().filter(|gone| cluster.age(gone.at) < WINDOW);
    let gone = gone.map(|gone| (&gone.last.metadata.name, &gone.last.metadata.uid));
    let events = cluster.objects.events.iter().filter(|event| {
        event.reason == "Started"
            && event.involved_object.kind == "Pod"
            && event.last_seen().is_some_and(|at| cluster.age(at) < WINDOW)
    });
    let started = events.map(|event| (&event.involved_object.name, &event.involved_object.uid));
    let mut replaced: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (pod, uid) in gone.chain(started) {
        if let Some(volume) = pod.strip_prefix("share-manager-") {
            replaced.entry(volume).or_default().insert(uid);
        }
    }
    replaced
}
