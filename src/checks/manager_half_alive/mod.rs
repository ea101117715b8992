//! longhorn-managers that are Ready but no longer do their work.
//!
//! Facts, compared in the last release of each line from v1.3.3 to v1.12.1 and in master of August 2026: the readiness probe of a
//! manager asks its webhook listener only (longhorn-manager v1.5.0 to v1.12.1
//! webhook/server/handler.go), so a manager whose controllers hang stays Ready, keeps what it owns, and no one takes it over:
//! ownership moves only when Longhorn calls the node down (datastore/longhorn.go IsNodeDownOrDeleted). What it leaves undone
//! shows, for each of these is done at once by the manager that owns the object, and by no other:
//! - a ticket in the spec of `volumeattachments.longhorn.io` gets a status, and a status without ticket goes (since 1.5,
//!   controller/volume_attachment_controller.go handleVAStatusUpdate);
//! - a volume with an empty `spec.nodeID` leaves state attached (volume_controller.go);
//! - an instance manager follows its pod (instance_manager_controller.go syncStatusWithPod), and each node has one
//!   (node_controller.go syncInstanceManagers; in master only where system-managed-components-node-selector matches);
//! - a disk in the spec of `nodes.longhorn.io` gets a status (node_controller.go syncDiskStatus), whose `storageAvailable` is
//!   measured every half minute. Readiness of the node is written by any manager, so it proves nothing.
//!
//! Leases prove little: a manager renews those of the webhook and of the upgrade only while it starts; from 1.11.3 on one manager at
//! a time renews one of its own (lease.rs).

mod lease;
mod outdated;
#[cfg(test)]
mod tests;
mod undone;
mod unsteady;

use std::collections::BTreeMap;

use jiff::SignedDuration;

use crate::check::*;
use crate::facts::patience::RECONCILE;
use crate::facts::ways::{CUT, LET_OUT};
use crate::facts::{nodes, text};
use crate::longhorn::Resource::*;
use crate::longhorn::{LonghornNode, Pod};
use undone::Undone;

causes! {
    WORK_UNDONE = warning "work_undone"
        "a manager is Ready, but work that takes seconds has been waiting for it for five minutes"
        fix "Read the manager's log. If the log shows API server timeouts, fix the manager's connection. Otherwise save the log, then delete the pod: \
             running I/O is not affected." [
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=200",
            change "kubectl -n <namespace> delete pod <object>",
        ] proven "others do what this manager has not done for five minutes; a DaemonSet recreates its pod, and I/O does not pass through it"
        way UNREACHED "its instance manager is Ready, but Longhorn reports it as not running"
            fix "Read the manager's log. Usually the manager cannot reach ports 8500 to 8503 of its Ready instance manager (NetworkPolicy, firewall, pod \
                 network). Deleting the manager's pod does not help." [
                read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=2000 | grep instance-manager",
                read "kubectl -n <namespace> get networkpolicies",
            ];
    API_LOST = warning "api_lost"
        "a Ready manager cannot reach the API server, or no manager can write to it"
        fix "Restore the manager's connection to the API server. The log shows what fails: \"database space exceeded\" (etcd), \"x509\" \
             (certificate or clock), timeouts (CNI, kube-proxy or firewall)." [
            read "ssh <node> 'date -u; echo | openssl s_client -connect <value> 2>/dev/null | openssl x509 -noout -dates -issuer'",
            read "kubectl -n <namespace> logs <manager> -c longhorn-manager --since=5m --tail=50",
            read "kubectl get --raw='/readyz?verbose'",
            read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>",
        ]
        // the alarm stays after there is room again, until it is disarmed (etcd's maintenance guide, space quota)
        way ETCD_FULL "etcd has no space left"
            fix "Free space in etcd: compact the history and run etcdctl defrag on each member, or raise --quota-backend-bytes. Then run etcdctl \
                 alarm disarm, which clears NOSPACE." [
                read "kubectl get --raw=/metrics | grep -E '^apiserver_storage_(size_bytes|objects)' | sort -k2 -g | tail",
                read "kubectl -n <namespace> logs <manager> -c longhorn-manager --since=5m --tail=50",
            ];
    ISOLATED = critical "isolated" "a NetworkPolicy cuts a Ready manager off from the API server", changed_by: BY_POLICY
        fix LET_OUT
        [
            read "kubectl -n <namespace> get networkpolicy <value> -o yaml",
            change "kubectl -n <namespace> delete networkpolicy <value>",
        ] proven "since the policy exists, the pods that it selects get no answer; a policy holds no data"
        ways CUT;
    NODE_STATUS_WRONG = warning "node_status_wrong"
        "Longhorn reports a node or its manager as down, although Kubernetes has reported both Ready for five minutes"
        fix "Save the log of the node's manager, which no longer receives updates from Kubernetes. Then delete its pod. If nothing changes, delete the \
             other manager pods one at a time." [
            read "kubectl get node <object> && kubectl -n <namespace> get nodes.longhorn.io <object> -o jsonpath='{.status.conditions}'",
            read "kubectl -n <namespace> logs <manager> -c longhorn-manager --tail=200",
            change "kubectl -n <namespace> delete pod <manager>",
        ] proven "Kubernetes has had node and manager Ready for five minutes; a DaemonSet recreates the pod, and I/O does not pass through it";
    ROTATION_STOPPED = info "rotation_stopped"
        "managers are working, but none rotates the webhook certificates: one manager needs a restart"
        fix "Restart one manager at the next opportunity: the new one takes the rotation Lease. A manager that failed to renew it for 30 s (API server \
             outage) never tries again." [read "kubectl -n <namespace> get lease <object> -o yaml"];
    LEASE_UNSTEADY = info "lease_unsteady"
        "the Lease for webhook certificate rotation changes hands more than twice a day per manager"
        fix "Check the managers' ages and restarts: the Lease changes holder when a manager exits or loses its API server connection. If \
             none restarted, check the API server and network."
            [read "kubectl -n <namespace> get pods -l app=longhorn-manager -o wide", read "kubectl -n <namespace> get lease <object> -o yaml"];
    NODE_STATUS_STILL = info "node_status_still"
        "only one node's free disk space has not changed for an hour (idle disks look the same)"
        fix "Check whether the node's disks are idle: if so, nothing is wrong. Otherwise save the manager's log, then delete its pod." [
            read "kubectl -n <namespace> logs <object> -c longhorn-manager --tail=200",
        ] proven "the free space has not changed for an hour and the disks are not idle; a DaemonSet recreates the pod";
}

pub static CHECK: Check = check! {
    id: "manager_half_alive",
    title: "Managers that are Ready but do not work",
    summary: "A longhorn-manager is Ready, but work that only this manager does has stalled.",
    needs: &[Pods, LonghornNodes, Volumes, VolumeAttachments, InstanceManagers],
    uses: &[CsiAttachments, Settings, Leases, Events, KubeNodes],
    glances: &[NetworkPolicies],
    causes: ALL,
    ways: &[WAYS],
    gauges: GAUGES,
    alerts: &[alert! { "LonghornManagerHalfAlive",
        when: When::Found(&[&WORK_UNDONE, &API_LOST, &ISOLATED, &NODE_STATUS_WRONG]),
        as_found: true,
        for_: "5m",
        keep_firing_for: "5m",
        summary: "A longhorn-manager is Ready but is not working.",
        description: "A longhorn-manager is Ready but not working, as {{ $labels.object_kind }} {{ $labels.object }}{{ with $labels.node }} on node {{ . }}{{ \
                      end }} shows. Volumes may fail to attach or detach, but running I/O continues. Save the manager's log before you restart the manager.",
        why: "The check waits 5 min for work that normally takes a manager 1 s. The alert waits 5 min more, in case of a burst of work.",
    }],
    panels: &[Panel {
        dashboard: Dashboard::Managers,
        title: "Undone work",
        description: "Stalled objects whose longhorn-manager is Ready. Above 0, that manager is probably hanging.",
        no_data: "every Ready manager is working, or the exporter is not reporting",
        ..Panel::TABLE.of(&UNDONE)
    }],
};

gauges! {
    UNDONE = Gauge "longhorn_health_manager_stalled_objects" ["node"]
        "Objects stalled for 5 min while the longhorn-manager that handles them is Ready.",
        absent "none has stalled",
        example "longhorn_health_manager_stalled_objects > 0";
}

/// The free space of a disk in use changes within minutes.
const SILENT_WATCH: SignedDuration = SignedDuration::from_hours(1);

fn run(cluster: &Cluster, out: &mut Outcome) {
    lease::judge(cluster, out);
    unsteady::judge(cluster, out);
    outdated::run(cluster, out);
    let mut undone = undone::by_node(cluster, out);
    let working: Vec<(&LonghornNode, &Pod)> = cluster
        .objects
        .longhorn_nodes
        .iter()
        .filter_map(|node| {
            let pod = cluster.manager_pod_on(&node.metadata.name)?;
            (is_settled(cluster, pod) && nodes::down(cluster, &node.metadata.name).is_none())
                .then_some((node, pod))
        })
        .collect();
    // where all have stalled, what they need is missing, and no single manager is to blame
    let all =
        working.len() > 1 && working.iter().all(|(node, _)| undone.contains_key(node.metadata.name.as_str()));
    let still = still(cluster, out, &working);
    for (node, pod) in &working {
        let name = node.metadata.name.as_str();
        match undone.remove(name).filter(|_| !all) {
            Some(left) => {
                out.sample(&UNDONE, &[name], left.len() as f64);
                out.report(finding(cluster, pod, name, &left, still.get(name)));
            }
            None => {
                if let Some(fact) = still.get(name) {
                    out.report(standing(cluster, pod, name, fact));
                }
            }
        }
    }
}

/// True when the manager has been Ready for long enough to have done its work.
fn is_settled(cluster: &Cluster, pod: &Pod) -> bool {
    let since = pod.ready_changed().max(pod.metadata.created());
    pod.is_ready() && since.is_none_or(|since| cluster.age(since) >= RECONCILE) && !pod.metadata.is_deleting()
}

/// Nodes whose disks report the same free space for an hour, while those of every other node changed in the last minutes.
fn still<'a>(
    cluster: &Cluster,
    out: &mut Outcome,
    working: &[(&'a LonghornNode, &Pod)],
) -> BTreeMap<&'a str, Evidence> {
    let mut seen = BTreeMap::new();
    for (node, _) in working {
        let free: Vec<String> =
            node.status.disk_status.values().map(|disk| disk.storage_available.0.to_string()).collect();
        if !free.is_empty() {
            let name = node.metadata.name.as_str();
            seen.insert(name, out.first_seen("free", &format!("{name} {}", free.join(" "))));
        }
    }
    let age =
        |since: &Option<jiff::Timestamp>| since.map_or(SignedDuration::ZERO, |since| cluster.age(since));
    let mut standing = seen.iter().filter(|(_, since)| age(since) >= RECONCILE);
    let (Some((node, since)), None) = (standing.next(), standing.next()) else { return BTreeMap::new() };
    if seen.len() < 3 || age(since) < SILENT_WATCH {
        return BTreeMap::new();
    }
    let text = format!(
        "the free space of this node's disks has not changed for {}, but on the other nodes it has",
        text::duration(age(since))
    );
    BTreeMap::from([(*node, EvidenceSource::History.says(text))])
}

fn finding(cluster: &Cluster, pod: &Pod, node: &str, left: &[Undone], still: Option<&Evidence>) -> Finding {
    let name = &pod.metadata.name;
    let owned = cluster.volumes_owned_by(node);
    let owned: Vec<VolumeRef> = owned.map(|volume| cluster.volume_ref(&volume.metadata.name)).collect();
    let found = Finding::about(
        &WORK_UNDONE,
        cluster.object::<Pod>(name),
        format!(
            "longhorn-manager on {node} is Ready but not working: {} stalled for 5 min",
            counted(left.len(), "object")
        ),
    )
    .node(node)
    .since(left.iter().filter_map(|undone| undone.since).min())
    .impact(match owned.len() {
        0 => "none for volumes: this manager owns none. Longhorn's other work on this node has stalled."
            .to_owned(),
        count => format!(
            "{} owned by this manager cannot attach, detach or rebuild ({}). Running I/O continues.",
            counted(count, "volume"),
            text::users_of(&owned)
        ),
    })
    .volumes(owned)
    .facts(left.iter().take(8).map(|undone| undone.text.clone()))
    .facts(still.cloned());
    // a new manager would not get through either (controller/instance_manager_controller.go syncInstanceManager)
    found.way(left.iter().any(|undone| undone.unreached).then_some(&UNREACHED))
}

fn standing(cluster: &Cluster, pod: &Pod, node: &str, fact: &Evidence) -> Finding {
    let name = &pod.metadata.name;
    Finding::about(
        &NODE_STATUS_STILL,
        cluster.object::<Pod>(name),
        format!("longhorn-manager on {node} has stopped updating nodes.longhorn.io {node}"),
    )
    .node(node)
    .impact("none if the disks are idle. Otherwise, the manager has stopped working")
    .fact(fact.clone())
}
