//! Volumes that are attached, and that the kubelet cannot mount.
//!
//! A recording may have the Events of all namespaces (`kubectl get events -A -o yaml`). A live exporter has no right to them: it sees a pod
//! that stays Pending, which may have other reasons, and then reads the log of the CSI plugin on the volume's node.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::patience::{ASKED, ATTACH};
use crate::facts::ways::DAMAGED;
use crate::facts::{api, complaints, policies, text, unreached, volumes};
use crate::longhorn::{Event, Owner, Volume};

/// The kubelet tries again at least each two minutes (kubernetes v1.32 pkg/util/goroutinemap/exponentialbackoff), and says so less often.
const RECENT: SignedDuration = SignedDuration::from_mins(15);
/// What ends sooner was a race; of what goes on at least so much is said in ten minutes.
const LASTING: SignedDuration = SignedDuration::from_mins(2);
/// One or two failures are a race.
const TRIES: u64 = 3;
/// Characters of a headline: the fix names the reason, too.
const HEADLINE: usize = 90;
const REASONS: [&str; 2] = ["FailedMount", "FailedMapVolume"];
/// What a CSI plugin logs of calls that fail (longhorn-manager v1.3.3 to v1.12.1 csi/server.go logGRPC).
const LOGGED: [&str; 2] = ["NodeStageVolume: err: ", "NodePublishVolume: err: "];
const PLUGIN: &str = "longhorn-csi-plugin";

pub(super) fn look(cluster: &Cluster, out: &mut Outcome) {
    let failed = failed(cluster);
    for volume in cluster.objects.volumes.iter() {
        let (event, waiting) = (failed.get(volume.persistent_volume()), volume.waiting_pods());
        let Some(node) = volumes::attached_on(volume).filter(|_| event.is_some() || !waiting.is_empty())
        else {
            continue;
        };
        // what has stalled for another reason is reported by that
        if !unasked::may_attach(volume) || !volumes::works(cluster, volume) {
            continue;
        }
        let refusal = match event {
            // it was mounted since
            Some(event) if runs(volume, &event.involved_object.name) => continue,
            Some(event) => Some(Refusal::told(event, node)),
            None => Refusal::logged(cluster, volume, &waiting),
        };
        let found = match refusal {
            Some(refusal) => Some(failing(cluster, volume, refusal)),
            None => pending(cluster, out, volume, node, &waiting),
        };
        let Some(finding) = found else { continue };
        if finding.severity != Severity::Info {
            let [name, namespace, claim] = volumes::labels(volume);
            out.sample(&STUCK, &[name, namespace, claim, MOUNT_FAILING.id, finding.severity.as_str()], 1.0);
        }
        out.report(finding);
    }
}

/// A mount that keeps failing, by the Event of a pod or the log of a CSI plugin.
struct Refusal<'a> {
    node: &'a str,
    /// The pods that wait for it.
    pods: String,
    since: Option<Timestamp>,
    said: &'a str,
    fact: Evidence,
}

impl<'a> Refusal<'a> {
    fn told(event: &'a Event, attached: &'a str) -> Self {
        // of a shared volume every node mounts the NFS export
        let node = match event.source.host.as_str() {
            "" => attached,
            host => host,
        };
        let (pod, said) = (&event.involved_object.name, event.said());
        let times = counted(usize::try_from(event.occurrences()).unwrap_or(usize::MAX), "time");
        let quote = text::quoted(said.split_once(" : ").map_or(said, |(_, why)| why));
        let fact = api(format!("Event {} of pod {pod} ({times}): {quote}", event.reason)).quoting(said);
        Refusal { node, pods: format!("pod {pod}"), since: event.first_seen(), said, fact }
    }

    fn logged(cluster: &'a Cluster, volume: &Volume, waiting: &[&str]) -> Option<Self> {
        let name = volume.metadata.name.as_str();
        let is_of_it = |line: &&str| line.contains(name) && LOGGED.iter().any(|call| line.contains(call));
        cluster.pods_of(PLUGIN).find_map(|pod| {
            let log = cluster.history.current_log(pod, PLUGIN)?;
            let lines: Vec<&str> = log.text.lines().filter(is_of_it).collect();
            let (first, said) = (lines.first()?, *lines.last()?);
            let at = |line: &str| complaints::written_at(line, cluster.now);
            let (since, last) = (at(first)?, at(said)?);
            // what is known to be wrong does not heal
            let known = way(said).is_some() && last.duration_since(since) >= LASTING;
            let lasts = cluster.age(last) < RECENT && known || is_lasting(cluster, since, last);
            let node = pod.spec.node_name.as_str();
            let why = said.split_once("err: ").map_or(said, |(_, why)| why);
            let quote = text::quoted(why.split_once("\" func=").map_or(why, |(why, _)| why));
            let fact = format!("the CSI plugin's log on {node}, {}: {quote}", counted(lines.len(), "time"));
            let fact = EvidenceSource::Log.says(fact).quoting(said);
            let (pods, since) = (format!("pod {}", text::listed(waiting)), Some(since));
            (lasts && lines.len() as u64 >= TRIES).then_some(Refusal { node, pods, since, said, fact })
        })
    }
}

/// What failed lately, and for long enough: the first three tries come within four seconds.
fn is_lasting(cluster: &Cluster, first: Timestamp, last: Timestamp) -> bool {
    cluster.age(last) < RECENT && cluster.age(first) >= ATTACH && last.duration_since(first) >= LASTING
}

/// What kubelets fail to mount, by persistent volume: the Event of the pod that was last seen.
fn failed(cluster: &Cluster) -> BTreeMap<&str, &Event> {
    let mut failed: BTreeMap<&str, &Event> = BTreeMap::new();
    let events = cluster.objects.events.iter();
    for event in
        events.filter(|event| REASONS.contains(&event.reason.as_str()) && event.involved_object.kind == "Pod")
    {
        let Some((first, last)) = event.first_seen().zip(event.last_seen()) else { continue };
        if !is_lasting(cluster, first, last) || event.occurrences() < TRIES {
            continue;
        }
        let Some((_, rest)) = event.said().split_once("for volume \"") else { continue };
        let Some((pv, _)) = rest.split_once('"') else { continue };
        let known = failed.entry(pv).or_insert(event);
        if event.last_seen() > known.last_seen() {
            *known = event;
        }
    }
    failed
}

fn failing(cluster: &Cluster, volume: &Volume, refusal: Refusal<'_>) -> Finding {
    let Refusal { node, pods, since, said, fact } = refusal;
    let users = vec![cluster.volume_ref(&volume.metadata.name)];
    let whose = text::claims_of(&users);
    let server = cluster.objects.pods.get(&format!("share-manager-{}", volume.metadata.name));
    let policy = server.filter(|_| said.contains("mount.nfs: Connection timed out"));
    let policy = policy.and_then(|pod| policies::shuts_out(cluster, pod));
    let way = policy.map(|_| &SHUT_OUT).or_else(|| way(said));
    let headline = format!("the kubelet on {node} cannot mount {whose}");
    let whole = way.map(|way| format!("{headline}: {}", way.briefly));
    let headline = whole.filter(|whole| whole.chars().count() <= HEADLINE).unwrap_or(headline);
    Finding::about(&MOUNT_FAILING, volumes::object(cluster, volume), headline)
        .node(node)
        .since(since)
        .impact(format!("{pods} cannot start, although Longhorn reports the volume as healthy"))
        .volumes(users)
        .fact(fact)
        .facts(policy.map(|policy| {
            policies::fact(cluster, policy, "selects the NFS server's pod, and no policy admits the nodes")
        }))
        .named(policy.into_iter().flat_map(policies::values))
        .way(way)
}

fn way(said: &str) -> Option<&'static Way> {
    let lower = said.to_ascii_lowercase();
    let known = || ERRORS.iter().find(|(parts, _)| parts.iter().any(|part| lower.contains(part)));
    unreached::of_dns(said).or_else(|| known().map(|(_, way)| *way))
}

/// Parts of errors that are known, in lower case, and the way that they show.
const ERRORS: [(&[&str], &Way); 13] = [
    (&["mount point busy", "apparently in use by the system", "cannot use device"], &DEVICE_BUSY),
    (&["missing passphrase", "crypto_luks", "failed to find the secret"], &NO_PASSPHRASE),
    (&["not compatible pbkdf"], &NO_ARGON2),
    // up to 1.7.3 and 1.8.1 `-d /dev/stdin` (longhorn/go-common-libs ns/crypto.go; longhorn issue 10584)
    (&["failed to open key file"], &NO_STDIN),
    (&["cryptsetup", "luks", "/dev/mapper/"], &NOT_DECRYPTED),
    // what the plugin asks a manager before it mounts (longhorn-manager v1.3.3 to v1.12.1 csi/node_server.go)
    (&["get \"http://longhorn-backend"], &BACKEND_UNREACHED),
    // longhorn-manager package/nsmounter looks for the kubelet of Talos since 1.6.0; until 1.11.1 it keeps the name of the process before
    // a directory of /proc that is none
    (
        &["/host/proc/scsi/ns/", "/host/proc/pressure/ns/", "/host/proc/irq/ns/", "/host/proc/fs/ns/"],
        &NSMOUNTER,
    ),
    (&["nsenter: failed to execute"], &NO_HOST_TOOL),
    // a Service that became headless, as by a change of the network for RWX volumes (longhorn-manager v1.9.0 to v1.12.1
    // controller/share_manager_controller.go syncShareManagerEndpoint, cleanupServiceAndEndpoint)
    (&["resolve server none:"], &NO_ADDRESS),
    (&["mount.nfs", "mount -t nfs", "nfs-common"], &NFS_CLIENT),
    (&["wrong fs type"], &REJECTED_BY_KERNEL),
    (volumes::DAMAGE, &DAMAGED),
    (&["staging path is no longer valid"], &DEVICE_EXCHANGED),
];

/// True where Longhorn has written that this pod of the claim runs.
fn runs(volume: &Volume, pod: &str) -> bool {
    let mut pods = volume.status.kubernetes_status.workloads_status.iter();
    pods.any(|known| known.pod_name == *pod && known.pod_status == "Running")
}

/// True where the CSI plugin's log begins before the volume was attached and names it nowhere: the kubelet asks for every mount again within two
/// minutes.
fn is_unasked(cluster: &Cluster, volume: &Volume, node: &str, attached: Timestamp) -> bool {
    let mut plugins = cluster.pods_of(PLUGIN).filter(|pod| pod.spec.node_name == *node);
    let log = plugins.find_map(|pod| cluster.history.current_log(pod, PLUGIN));
    log.is_some_and(|log| {
        let begins = log.text.lines().find_map(|line| complaints::written_at(line, cluster.now));
        begins.is_some_and(|begins| begins <= attached) && !log.text.contains(volume.metadata.name.as_str())
    })
}

/// A pod that stays Pending although its volume is there.
fn pending(
    cluster: &Cluster,
    out: &mut Outcome,
    volume: &Volume,
    node: &str,
    waiting: &[&str],
) -> Option<Finding> {
    let mut attachments =
        cluster.objects.csi_attachments.of(Owner::PersistentVolume, volume.persistent_volume());
    let attached = attachments.find(|csi| csi.status.attached && !csi.metadata.is_deleting())?;
    let object = format!("{} {}", volume.metadata.name, waiting.join(" "));
    let made = attached.metadata.created();
    let age = observe(cluster, out, "pending", &object, Begun::NotBefore(made));
    let users = vec![cluster.volume_ref(&volume.metadata.name)];
    let whose = text::claims_of(&users);
    if made.is_some_and(|made| cluster.age(made) >= ASKED && is_unasked(cluster, volume, node, made)) {
        let message = format!("{whose} is attached to {node}, but the kubelet there does not mount it");
        let fact = format!(
            "the CSI plugin's log on {node} has no call for the volume since it was attached at {}",
            made?
        );
        return Some(
            Finding::about(&MOUNT_FAILING, volumes::object(cluster, volume), message)
                .node(node)
                .since(made)
                .impact(format!(
                    "pod {} cannot start, although Longhorn reports the volume as healthy",
                    text::listed(waiting)
                ))
                .volumes(users)
                .way(Some(&NOT_ASKED))
                .fact(EvidenceSource::Log.says(fact)),
        );
    }
    if !age.at_least(ASKED, Unknown::Waits) {
        return None;
    }
    Some(
        Finding::about(
            &MOUNT_FAILING,
            volumes::object(cluster, volume),
            format!("{whose} is attached, but its pod is still Pending: {}", text::listed(waiting)),
        )
        .severity(Severity::Info)
        .node(node)
        .since(age.since)
        .impact("the pod has not started yet. Only the pod's Events show whether the kubelet fails to mount the volume.")
        .volumes(users)
        .facts([api("no pod of the claim is Running (kubernetesStatus.workloadsStatus)".to_owned()), age.evidence()]),
    )
}
