//! Degraded volumes that do not recover.
//!
//! Facts, the same in longhorn-manager v1.3.3 to v1.12.1 unless said otherwise:
//! - A volume is degraded while its engine counts fewer replicas in mode RW than `spec.numberOfReplicas`;
//!   `status.lastDegradedAt` is when that began (controller/volume_controller.go ReconcileEngineReplicaState).
//! - Longhorn adds one replica at a time, and none while one is in mode WO, while the volume migrates, expands or is not
//!   attached, or while concurrent-replica-rebuild-per-node-limit is 0 (replenishReplicas).
//! - While a failed replica may come back, no other is made in its place for replica-replenishment-wait-interval, 600 s
//!   (scheduler/replica_scheduler.go RequireNewReplica, timeToReplacementReplica). A failed replica is reused at most five
//!   times (FailedReplicaMaxRetryCount, `spec.rebuildRetryCount`); then one is made elsewhere.
//! - A node rebuilds at most concurrent-replica-rebuild-per-node-limit replicas; more of them wait stopped
//!   (controller/replica_controller.go CanStartRebuildingReplica).
//! - `status.rebuildStatus` of an engine says by address `isRebuilding` and `progress`. A rebuild that fails starts from 0.
//! - Condition RebuildFailed of a replica is True with the reason of a node, Disconnection or General (1.5 and later).

mod flapping;
mod reasons;
mod rules;
#[cfg(test)]
mod tests;

use jiff::SignedDuration;

use crate::check::*;
use crate::facts::age::{Age, Begun, Unknown, observe};
use crate::facts::patience::{MAINTENANCE, RECONCILE};
use crate::facts::ways::BETWEEN_INSTANCE_MANAGERS;
use crate::facts::{nodes, policies, text, volumes};
use crate::longhorn::Resource::*;
use crate::longhorn::{DataEngine, ReplicaMode, Volume, VolumeRobustness, VolumeState};
use reasons::DegradedReason;

const REPLICAS: &str = "kubectl -n <namespace> get replicas.longhorn.io -l longhornvolume=<object> -o wide";
const EVENTS: &str = "kubectl -n <namespace> get events --sort-by=.lastTimestamp | grep -E 'Rebuil|<object>'";
const NODE: &str = "kubectl describe node <node>";

ways! { FAILED_REBUILD:
    SOURCE_UNREADABLE "the healthy replica cannot be read"
        fix "Check that a backup exists, or copy the data now: the healthy replica has read errors. Replace its disk only once the data is safe. Do not \
             delete that replica."
        [read "kubectl -n <namespace> get backups.longhorn.io --sort-by=.metadata.creationTimestamp", read REPLICAS, read EVENTS];
    NO_SPACE "the receiving disk is full"
        fix "Free or add space on the disk that the error names, or disable its scheduling so that Longhorn rebuilds elsewhere."
        [read "kubectl -n <namespace> get nodes.longhorn.io <node> -o yaml | grep -E 'path|storageAvailable'", read REPLICAS, read EVENTS];
    DISK_ERRORS "its target disk has errors"
        fix "Read <node>'s kernel log for I/O errors. Disable scheduling on the failing disk, so that Longhorn rebuilds elsewhere. Then replace the \
             device."
        [read "ssh <node> 'sudo dmesg -T | grep -iE \"i/o error|read-only|medium error\" | tail'", read REPLICAS, read EVENTS];
    TOO_SLOW "long-grpc-timeout aborts its rebuild"
        fix "Raise setting long-grpc-timeout (default 86400 s) above the rebuild's duration: the next rebuild uses the new value. Until \
             that rebuild ends, pause the volume's recurring jobs."
        [read "kubectl -n <namespace> get settings.longhorn.io long-grpc-timeout", read EVENTS, read REPLICAS];
    ONE_NODE "one node takes part in all failing rebuilds"
        fix "Check <node>'s network for lost large packets (MTU, offload, storage network). Until the network works, do not drain or \
             reboot any node: <node> may hold a volume's last copy."
        [read "ssh <node> 'ip -o link'", read "kubectl get nodes -o wide", read REPLICAS, read EVENTS];
    ONE_CUT_OFF "one node is unreachable from all others"
        fix "Fix <node>'s pod network: its CNI pod, firewall (VXLAN port) and routes, or the storage network if set. Until the network \
             works, do not drain or reboot any node."
        [read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>", read REPLICAS, read EVENTS];
    OTHER_NETWORK "one node's address is in another network"
        fix "Give <node> an InternalIP in the other nodes' network (node-ip; flannel-iface on k3s), and restart its kubelet. Until then, do \
             not drain or reboot any node."
        [read "kubectl get nodes -o wide", read "kubectl describe node <node>", read REPLICAS, read EVENTS];
    UNREACHED "its nodes cannot reach each other"
        fix "Fix the network between both nodes' instance managers: the pod network, or the storage network if that is set. Longhorn then \
             rebuilds."
        [read "kubectl -n <namespace> get pods -o wide -l longhorn.io/component=instance-manager", read REPLICAS, read EVENTS];
}

/// What the error of a rebuild contains, in lower case: of a read from a bad medium, of a write, of files that take longer than one call may
/// (`failed to sync files [{…}] from …: … DeadlineExceeded`: since 1.7.0 setting long-grpc-timeout, before a day; longhorn-engine v1.3.2 to
/// v1.12.1 pkg/replica/client/client.go SyncFiles; longhorn-manager v1.7.0 to v1.12.1 controller/engine_controller.go startRebuilding),
/// and of a connection (errno of Linux, gRPC). All words of a part stand in it.
const SIGNS: [(&[&str], &Way); 5] = [
    // who sends reads, and who receives writes
    (&["no data available", "critical medium error", "read /…input/output error"], &SOURCE_UNREADABLE),
    (DISK, &DISK_ERRORS),
    (&["failed to sync files…deadline exceeded"], &TOO_SLOW),
    (&["no space left on device"], &NO_SPACE),
    (
        &["no route to host", "unreachable", "i/o timeout", "timed out", "deadline", "keepalive ping failed"],
        &UNREACHED,
    ),
];

/// Of a disk that Longhorn may still call ready.
const DISK: &[&str] = &["read-only file system", "input/output error"];

causes! {
    REBUILD_STALLED = warning "rebuild_stalled"
        "a rebuild has been stalled for 30 min, or its progress is unknown on a volume degraded for a day"
        fix "<known_error>Check the source and target instance managers, their network, and the target node and disk. If rebuilds onto one \
             disk keep failing, disable its scheduling. Never delete replicas with data." [
            read REPLICAS,
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<object> -o yaml | grep -A12 rebuildStatus",
            read EVENTS,
        ];
    REBUILD_LOOPING = warning "rebuild_looping" "rebuilds of the volume keep failing and restarting"
        fix "<known_error>Check the source and target instance managers, their network, and the target node and disk. If rebuilds onto one \
             disk keep failing, disable its scheduling. Never delete replicas with data." [
            read REPLICAS,
            read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<object> -o yaml | grep -A12 rebuildStatus",
            read EVENTS,
        ]
        ways FAILED_REBUILD ways BETWEEN_INSTANCE_MANAGERS;
    REBUILD_DISABLED = warning "rebuild_disabled"
        "concurrent-replica-rebuild-per-node-limit is 0, which disables rebuilds", changed_by: BY_LIMIT
        fix "Set concurrent-replica-rebuild-per-node-limit back to its default of 5, unless it was lowered for work that is still in progress." [
            read "kubectl -n <namespace> get settings.longhorn.io concurrent-replica-rebuild-per-node-limit",
            change "kubectl -n <namespace> patch settings.longhorn.io concurrent-replica-rebuild-per-node-limit --type merge -p '{\"value\":\"5\"}'",
        ];
    REBUILD_BLOCKED = warning "rebuild_blocked"
        "the volume cannot rebuild, because its migration or expansion is stuck"
        fix "Read the engine's status to find out why the migration or expansion is stuck. The rebuild starts once the operation has finished."
            [read "kubectl -n <namespace> get engines.longhorn.io -l longhornvolume=<object> -o yaml", read EVENTS];
    UNSCHEDULABLE = warning "unschedulable"
        "no disk can take the missing replica" but "info during the first hour of a node's maintenance"
        fix "Make room for the replica: add a node, disk or space, or remove tags from the volume. Longhorn then continues. The evidence gives each \
             disk's figures." [read "kubectl -n <namespace> get nodes.longhorn.io", read "kubectl -n <namespace> describe volumes.longhorn.io <object>"];
    WAITS_FOR_NODE = warning "waits_for_node"
        "a failed replica is on a node that is down or cordoned" but "info during the first hour of a cordon"
        fix "Bring <node> back: Longhorn rebuilds from the data left there. If the node is lost, delete it from Kubernetes: Longhorn then \
             creates the replica elsewhere."
            [read NODE, read REPLICAS] proven "the node never comes back, and the volume has a healthy replica elsewhere"
        way NEVER_STARTED "a replica on the node never started"
            fix "Bring <node> back. If that takes long, delete replica <replica>, which never started and is empty. Longhorn then creates \
                 another on a node that is up (Longhorn issue 13571)."
                [read REPLICAS, read NODE, change "kubectl -n <namespace> delete replicas.longhorn.io <replica>"]
                proven "the replica never started, and holds no data"
        way NODE_GONE "the node no longer exists in Kubernetes"
            fix "Check that another node has room for a replica: Longhorn creates it there. Node <node> no longer exists in Kubernetes, so its replica \
                 will not come back." [read "kubectl -n <namespace> get nodes.longhorn.io"]
        way NODE_CORDONED "the node is only cordoned"
            fix "Uncordon <node> once the work there is done: Longhorn then rebuilds from the data left there."
            [read NODE, change "kubectl uncordon <node>"];
    NOT_REBUILDING = warning "not_rebuilding" "no rebuild is running (cause unknown)"
        fix "Read the log of the longhorn-manager on <owner>, which owns the volume and starts its rebuilds."
            [read "kubectl -n <namespace> logs <manager> -c longhorn-manager --tail=2000 | grep <volume>", read REPLICAS, read EVENTS]
        way COPY_MISSING "its backing image is not ready on the replica's node"
            fix "Find out why the volume's backing image copy is not ready. If the copy has failed, clean it up in Longhorn's UI (Backing \
                 Image): Longhorn then sends it again."
            [read "kubectl -n <namespace> get backingimages.longhorn.io -o yaml | grep -B2 -A8 diskFileStatusMap", read REPLICAS]
        way COPY_CORRUPT "its backing image has a checksum mismatch on the replica's node"
            fix "Disable scheduling on disk <disk> of <node>, then test the disk and the node's memory and network. Copies on other disks have the \
                 expected checksum: keep them." [
                read "kubectl -n <namespace> get backingimages.longhorn.io -o yaml | grep -B2 -A8 diskFileStatusMap",
                change "kubectl -n <namespace> patch nodes.longhorn.io <node> --type merge -p \
                    '{\"spec\":{\"disks\":{\"<disk>\":{\"allowScheduling\":false}}}}'",
            ]
        ways FAILED_REBUILD;
    FLAPPING = warning "flapping" "replicas of the volume fail and are rebuilt at least five times an hour"
        fix "<known_error>Check the network between the instance managers (policies, MTU, drops longer than engine-replica-timeout). Then check for slow disks and \
             instance manager restarts."
            [read EVENTS, read REPLICAS, read "kubectl -n <namespace> get pods -o wide -l longhorn.io/component=instance-manager"]
        way UNSTEADY_NODE "its node keeps going NotReady"
            fix "Cordon <node> and disable its scheduling in Longhorn, so that replicas rebuild elsewhere. Then repair its network or kubelet."
            [read "kubectl describe node <node>", read "kubectl get nodes -o wide", read REPLICAS];
    DETACHED = info "detached_on_last_copy" "a detached volume with several replicas has only one healthy copy left"
        fix "Attach the volume until its other replicas are rebuilt. From 1.9 on, setting offline-replica-rebuilding rebuilds them without a pod. \
             Until they are rebuilt, keep <node> and its disk."
            [read REPLICAS, read "kubectl -n <namespace> get settings.longhorn.io offline-replica-rebuilding"];
}

pub static CHECK: Check = check! {
    id: "volume_degraded",
    title: "Degraded volumes that do not recover",
    summary: "A volume lacks replicas and is not recovering: its rebuild has stalled, keeps failing, finds no disk or is disabled. A rebuild that \
    is advancing or waiting for its turn is not reported.",
    needs: &[Volumes, Replicas, Engines, LonghornNodes, Settings],
    uses: &[KubeNodes, Pods, Events, NodeEvents, ShareManagers],
    glances: &[NetworkPolicies],
    causes: ALL,
    ways: &[WAYS],
    gauges: GAUGES,
    alerts: rules::ALERTS,
    panels: rules::PANELS,
    of_redundancy: true,
};

gauges! {
    MISSING = Gauge "longhorn_health_volume_missing_replicas" ["volume", "pvc_namespace", "pvc"]
        "Number of missing replicas of a degraded volume.",
        absent "the volume is not degraded",
        example "max without (instance, pod) (longhorn_health_volume_missing_replicas) > 1";
    PROGRESS = Gauge "longhorn_health_volume_rebuild_progress_ratio" ["volume", "pvc_namespace", "pvc"]
        "Progress of a degraded volume's slowest rebuild, from 0 to 1.",
        absent "no rebuild reports progress",
        example "delta(longhorn_health_volume_rebuild_progress_ratio[30m]) == 0";
    LAST_COPY = Gauge "longhorn_health_volume_last_copy" ["volume", "pvc_namespace", "pvc", "copy_node", "severity"]
        "1 for every multi-replica volume with only one healthy copy (on copy_node).",
        absent "it has more healthy copies",
        example "max without (instance, pod, severity) (longhorn_health_volume_last_copy) == 1";
    STUCK = Gauge "longhorn_health_volume_not_recovering" ["volume", "pvc_namespace", "pvc", "cause"]
        "1 for every degraded volume that is not recovering (severity info excluded).",
        absent "its rebuild advances or may begin",
        example "max without (instance, pod, cause) (longhorn_health_volume_not_recovering) == 1";
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    let volumes = || cluster.objects.volumes.iter();
    volumes().filter_map(|volume| detached(cluster, volume)).for_each(|finding| out.report(finding));
    let losses = flapping::losses(cluster);
    let again = |volume: &Volume| flapping::look(cluster, volume, losses.get(volume.metadata.name.as_str())?);
    let whole = volumes().filter(|volume| volume.status.robustness == VolumeRobustness::Healthy);
    whole.filter_map(again).for_each(|finding| out.report(finding));
    let degraded: Vec<&Volume> = volumes().filter(|volume| is_degraded(volume)).collect();
    if degraded.is_empty() {
        return;
    }
    let wide = reasons::ClusterContext::of(cluster);
    for volume in degraded {
        let wanted = volume.spec.number_of_replicas.0;
        let healthy = healthy(cluster, volume);
        out.sample(&MISSING, &volumes::labels(volume), wanted.saturating_sub(healthy).max(1) as f64);
        last_copy(cluster, out, volume);
        let begun = Begun::At(volume.status.last_degraded_at.get());
        let age = observe(cluster, out, "degraded", &volume.metadata.name, begun);
        if let Some(reason) = reasons::look(cluster, out, volume, &age, &wide) {
            let finding = finding(cluster, volume, reason, &age, healthy);
            if finding.severity > Severity::Info {
                let [name, namespace, claim] = volumes::labels(volume);
                out.sample(&STUCK, &[name, namespace, claim, finding.cause.id], 1.0);
            }
            out.report(finding);
        } else if let Some(finding) = again(volume) {
            out.report(finding);
        }
    }
}

/// Says that one copy is left, whether a rebuild runs or not: until it ends, the next failure takes the data.
fn last_copy(cluster: &Cluster, out: &mut Outcome, volume: &Volume) {
    if volumes::last_copy(cluster, volume).is_none() {
        return;
    }
    let replicas = || cluster.replicas_of(&volume.metadata.name);
    let copy = replicas().find(|replica| volumes::is_healthy(replica));
    let down = replicas().any(|replica| nodes::down(cluster, &replica.spec.node_id).is_some());
    let severity = if down { Severity::Critical } else { Severity::Warning };
    let [name, namespace, claim] = volumes::labels(volume);
    out.sample(
        &LAST_COPY,
        &[name, namespace, claim, copy.map_or("", |copy| &copy.spec.node_id), severity.as_str()],
        1.0,
    );
}

/// Longhorn calls a detached volume unknown, however many of its replicas have failed (longhorn-manager v1.12.1
/// controller/volume_controller.go ReconcileVolumeState).
fn detached(cluster: &Cluster, volume: &Volume) -> Option<Finding> {
    let status = &volume.status;
    let at_rest = status.state == VolumeState::Detached && status.robustness == VolumeRobustness::Unknown;
    let wanted = volume.spec.number_of_replicas.0;
    if !at_rest || wanted < 2 || status.is_standby || status.restore_required || volume.metadata.is_deleting()
    {
        return None;
    }
    let mut healthy =
        cluster.replicas_of(&volume.metadata.name).filter(|replica| volumes::is_healthy(replica));
    let last = healthy.next().filter(|_| healthy.next().is_none())?;
    let users = vec![cluster.volume_ref(&volume.metadata.name)];
    let whose = text::claims_of(&users);
    let (name, node) = (&last.metadata.name, &last.spec.node_id);
    Some(
        Finding::about(
            &DETACHED,
            volumes::object(cluster, volume),
            format!("{whose} is detached with 1 of {wanted} replicas"),
        )
        .volumes(users)
        .node(node)
        .impact(format!("none yet. If the copy on {node} is lost, the data of {whose} is lost."))
        .fact(format!("only replica {name} on {node} is healthy")),
    )
}

fn is_degraded(volume: &Volume) -> bool {
    volume.status.robustness == VolumeRobustness::Degraded && !volume.metadata.is_deleting()
}

/// Replicas that hold all data: by the engine and by their own times the fewer, where both tell (a v2 engine that restores writes to
/// replicas that were never in step, #12515).
fn healthy(cluster: &Cluster, volume: &Volume) -> i64 {
    let modes =
        volumes::current_engine(cluster, volume).map(|engine| engine.status.replica_mode_map.values());
    let written = modes.map_or(0, |modes| modes.filter(|mode| **mode == ReplicaMode::ReadWrite).count());
    let replicas = cluster.replicas_of(&volume.metadata.name);
    let in_step = replicas.filter(|replica| volumes::is_healthy(replica)).count();
    let count = if written.min(in_step) == 0 { written.max(in_step) } else { written.min(in_step) };
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// How long a degraded volume may take until a rebuild is to be expected: Longhorn may wait for a failed replica.
fn patience(cluster: &Cluster) -> SignedDuration {
    let wait = cluster.setting_value("replica-replenishment-wait-interval", DataEngine::V1);
    let wait = SignedDuration::from_secs(wait.parse().unwrap_or(600)).max(SignedDuration::from_mins(10));
    wait.saturating_add(RECONCILE)
}

fn finding(cluster: &Cluster, volume: &Volume, reason: DegradedReason, age: &Age, healthy: i64) -> Finding {
    let name = &volume.metadata.name;
    let users = vec![cluster.volume_ref(name)];
    let whose = text::claims_of(&users);
    let wanted = volume.spec.number_of_replicas.0;
    let (join, left) = match healthy {
        1 => ("but", "one more disk or node failure can lose its data".to_owned()),
        left if left < wanted => ("but", format!("only {left} of {wanted} replicas hold its data")),
        left => ("and", format!("{left} of {wanted} replicas hold its data")),
    };
    let mut finding = Finding::about(
        reason.cause,
        volumes::object(cluster, volume),
        format!("{whose} has {healthy} of {wanted} replicas: {}", reason.why),
    )
    .volumes(users)
    .since(age.since)
    .impact(if volumes::works(cluster, volume) {
        format!("{whose} works, {join} {left}")
    } else {
        format!("{whose}: {left}")
    })
    .node(&reason.node)
    .disk(&reason.disk)
    .way(reason.way)
    .with(Name::Replica, reason.never_started);
    if reason.way == Some(&UNREACHED)
        && let Some(policy) = policies::guards_replicas(cluster, name, age.since)
    {
        finding = policies::tell_replicas(cluster, policy, finding);
    }
    if reason.planned {
        finding = finding.severity(Severity::Info);
    }
    finding = finding
        .fact(format!("volume {name}: status.robustness is degraded"))
        .fact(age.evidence())
        .facts(reason.evidence)
        .facts(nodes::manager_not_ready(cluster, &volume.status.owner_id));
    finding
}
