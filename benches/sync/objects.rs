//! A large cluster as the API server holds it: whole objects, with everything the exporter skips.

use serde_json::{Map, Value, json};

pub const NAMESPACE: &str = "longhorn-system";
pub const VOLUMES: usize = 5000;
const REPLICAS_EACH: usize = 3;
const INSTANCE_MANAGERS: usize = 1000;
const NODES: usize = 500;
const SNAPSHOTS: usize = 24;
const SETTINGS: usize = 90;
const RELEASE: &str = "v1.12.1";

/// Every object.
pub fn all() -> Vec<Value> {
    let mut objects = Vec::new();
    objects.extend((0..NODES).flat_map(|n| [kube_node(n), longhorn_node(n), manager_pod(n)]));
    objects.extend((0..INSTANCE_MANAGERS).flat_map(|n| [instance_manager(n), instance_manager_pod(n)]));
    objects.extend((0..VOLUMES).flat_map(|n| [volume(n), engine(n), attachment(n)]));
    objects.extend((0..VOLUMES * REPLICAS_EACH).map(replica));
    objects.extend((0..SETTINGS).map(setting));
    objects
}

fn longhorn(kind: &str, name: &str, labels: Value, spec: Value, status: Value) -> Value {
    object("longhorn.io/v1beta2", kind, name, labels, spec, status)
}

fn object(api_version: &str, kind: &str, name: &str, labels: Value, spec: Value, status: Value) -> Value {
    let mut metadata = json!({
        "name": name,
        "uid": format!("8c9d1f6e-{:04x}-4c3e-9f53-{:012x}", kind.len(), hash(name)),
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "generation": 3,
        "finalizers": ["longhorn.io"],
        "labels": labels,
        "managedFields": [managed("longhorn-manager", 30), managed("longhorn-manager", 20)],
        "ownerReferences": [{"apiVersion": api_version, "kind": "Volume", "name": name, "uid": "8c9d1f6e"}],
    });
    if kind != "Node" || api_version != "v1" {
        metadata["namespace"] = json!(NAMESPACE);
    }
    json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec, "status": status})
}

fn managed(manager: &str, fields: usize) -> Value {
    let fields: Map<_, _> = (0..fields).map(|n| (format!("f:someLongFieldName{n}"), json!({}))).collect();
    json!({"apiVersion": "longhorn.io/v1beta2", "fieldsType": "FieldsV1", "manager": manager, "operation": "Update",
        "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:metadata": {"f:labels": {}}, "f:spec": fields}})
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(5381, |hash, byte| (hash * 33 + u64::from(byte)) & 0xffff_ffff_ffff)
}

fn node(n: usize) -> String {
    format!("worker-{:04}.eu-central.example.com", n % NODES)
}

fn volume_name(n: usize) -> String {
    format!("pvc-{:08x}-52c1-4b8a-9d3f-{:012x}", n, hash(&n.to_string()))
}

fn manager_name(n: usize) -> String {
    format!("instance-manager-{:032x}", n % INSTANCE_MANAGERS)
}

fn replica_name(n: usize) -> String {
    format!("{}-r-{n:08x}", volume_name(n / REPLICAS_EACH))
}

fn condition(kind: &str, status: &str) -> Value {
    json!({"type": kind, "status": status, "reason": "", "message": "", "lastProbeTime": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

fn conditions(kinds: &[&str]) -> Vec<Value> {
    kinds.iter().map(|kind| condition(kind, "True")).collect()
}

fn volume(n: usize) -> Value {
    let name = volume_name(n);
    longhorn(
        "Volume",
        &name,
        json!({"longhornvolume": name, "setting.longhorn.io/remove-snapshots-during-filesystem-trim": "ignored"}),
        json!({"size": "21474836480", "numberOfReplicas": 3, "frontend": "blockdev", "dataEngine": "v1",
            "image": format!("longhornio/longhorn-engine:{RELEASE}"), "nodeID": node(n), "dataLocality": "disabled",
            "accessMode": "rwo", "staleReplicaTimeout": 30, "replicaAutoBalance": "ignored", "backingImage": "",
            "nodeSelector": [], "diskSelector": [], "unmapMarkSnapChainRemoved": "ignored", "encrypted": false}),
        json!({"state": "attached", "robustness": "healthy", "ownerID": node(n), "currentNodeID": node(n),
            "currentImage": format!("longhornio/longhorn-engine:{RELEASE}"), "actualSize": 1234567890, "frontendDisabled": false,
            "conditions": conditions(&["Restore", "Scheduled", "TooManySnapshots", "WaitForBackingImage", "OfflineRebuilding"]),
            "kubernetesStatus": {"pvName": name, "pvStatus": "Bound", "pvcName": format!("data-database-{n}"),
                "namespace": format!("team-{}", n % 40), "lastPVCRefAt": "", "lastPodRefAt": "",
                "workloadsStatus": [{"podName": format!("database-{n}-0"), "podStatus": "Running",
                    "workloadName": format!("database-{n}"), "workloadType": "StatefulSet"}]}}),
    )
}

fn engine(n: usize) -> Value {
    let name = format!("{}-e-0", volume_name(n));
    let snapshots: Map<_, _> = (0..SNAPSHOTS)
        .map(|s| {
            let snapshot = format!("8f0c9a52-{s:04x}-4d1e-a2b7-{n:012x}");
            let labels = json!({"RecurringJob": "hourly-snapshot", "longhorn.io/volume": "x"});
            let value = json!({"name": snapshot, "parent": format!("8f0c9a52-{:04x}-4d1e-a2b7-{n:012x}", s + 1),
                "children": {format!("8f0c9a52-{s:04x}-4d1e-a2b7-{n:012x}"): true}, "created": "2026-01-01T00:00:00Z",
                "labels": labels, "removed": false, "size": "73400320", "usercreated": true});
            (snapshot, value)
        })
        .collect();
    let of_replicas = |value: Value| -> Map<String, Value> {
        (0..REPLICAS_EACH).map(|r| (replica_name(n * REPLICAS_EACH + r), value.clone())).collect()
    };
    longhorn(
        "Engine",
        &name,
        json!({"longhornvolume": volume_name(n), "longhornnode": node(n)}),
        json!({"volumeName": volume_name(n), "nodeID": node(n), "desireState": "running", "dataEngine": "v1",
            "image": format!("longhornio/longhorn-engine:{RELEASE}"), "active": true, "volumeSize": "21474836480",
            "replicaAddressMap": of_replicas(json!("10.42.0.15:10000")), "upgradedReplicaAddressMap": {}}),
        json!({"ownerID": node(n), "instanceManagerName": manager_name(n), "currentState": "running",
            "currentImage": format!("longhornio/longhorn-engine:{RELEASE}"), "currentSize": "21474836480", "port": 10010,
            "replicaModeMap": of_replicas(json!("RW")), "snapshots": snapshots, "purgeStatus": of_replicas(json!({"state": ""})),
            "restoreStatus": of_replicas(json!({})), "rebuildStatus": {}, "conditions": [condition("FilesystemReadOnly", "False")]}),
    )
}

fn replica(n: usize) -> Value {
    let volume = volume_name(n / REPLICAS_EACH);
    longhorn(
        "Replica",
        &replica_name(n),
        json!({"longhornvolume": volume, "longhornnode": node(n), "longhorndiskuuid": format!("disk-{n}")}),
        json!({"volumeName": volume, "nodeID": node(n), "engineName": format!("{volume}-e-0"), "desireState": "running",
            "diskID": format!("0bd3f8a6-{:04x}-4a51-8b0d-cf3b4cfe9a11", n % NODES), "dataEngine": "v1", "active": true,
            "image": format!("longhornio/longhorn-engine:{RELEASE}"), "healthyAt": "2026-01-01T00:00:00Z", "failedAt": "",
            "diskPath": "/var/lib/longhorn/", "dataDirectoryName": replica_name(n), "volumeSize": "21474836480",
            "lastHealthyAt": "2026-01-01T00:00:00Z", "backingImage": "", "evictionRequested": false}),
        json!({"ownerID": node(n), "instanceManagerName": manager_name(n), "currentState": "running",
            "currentImage": format!("longhornio/longhorn-engine:{RELEASE}"), "port": 10000, "ip": "10.42.0.15",
            "storageIP": "10.42.0.15", "started": true, "conditions": [condition("InstanceCreation", "True")]}),
    )
}

fn attachment(n: usize) -> Value {
    let ticket = json!({"id": "csi-abc", "type": "csi-attacher", "nodeID": node(n), "generation": 0, "parameters": {"disableFrontend": "false"}});
    longhorn(
        "VolumeAttachment",
        &volume_name(n),
        json!({"longhornvolume": volume_name(n)}),
        json!({"volume": volume_name(n), "attachmentTickets": {"csi-abc": ticket}}),
        json!({"attachmentTicketStatuses": {"csi-abc": {"id": "csi-abc", "satisfied": true, "generation": 0}}}),
    )
}

fn instance_manager(n: usize) -> Value {
    let instance = |name: String, kind: &str| {
        let status = json!({"endpoint": "", "errorMsg": "", "listen": "", "portStart": 10000, "portEnd": 10009,
            "resourceVersion": 1, "state": "running", "type": kind, "conditions": {}});
        (name.clone(), json!({"spec": {"name": name, "dataEngine": "v1"}, "status": status}))
    };
    let engines: Map<_, _> = (n..VOLUMES)
        .step_by(INSTANCE_MANAGERS)
        .map(|n| instance(format!("{}-e-0", volume_name(n)), "engine"))
        .collect();
    let replicas: Map<_, _> = (n..VOLUMES * REPLICAS_EACH)
        .step_by(INSTANCE_MANAGERS)
        .map(|n| instance(replica_name(n), "replica"))
        .collect();
    longhorn(
        "InstanceManager",
        &manager_name(n),
        json!({"longhorn.io/component": "instance-manager", "longhorn.io/managed-by": "longhorn-manager",
            "longhorn.io/node": node(n), "longhorn.io/data-engine": "v1", "longhorn.io/instance-manager-type": "aio"}),
        json!({"image": format!("longhornio/longhorn-instance-manager:{RELEASE}"), "nodeID": node(n), "type": "aio", "dataEngine": "v1"}),
        json!({"ownerID": node(n), "currentState": "running", "ip": "10.42.0.15", "apiVersion": 6, "proxyApiVersion": 6,
            "instanceEngines": engines, "instanceReplicas": replicas,
            "conditions": conditions(&["PodReady", "NodeReady", "SettingSynced"])}),
    )
}

fn longhorn_node(n: usize) -> Value {
    let scheduled: Map<_, _> = (n..VOLUMES * REPLICAS_EACH)
        .step_by(NODES)
        .map(|n| (replica_name(n), json!(21474836480u64)))
        .collect();
    let kinds =
        ["Ready", "Schedulable", "MountPropagation", "RequiredPackages", "Multipathd", "KernelModulesLoaded"];
    longhorn(
        "Node",
        &node(n),
        json!({}),
        json!({"name": node(n), "allowScheduling": true, "evictionRequested": false, "tags": [],
            "disks": {"default-disk": {"path": "/var/lib/longhorn/", "diskType": "filesystem", "allowScheduling": true,
                "evictionRequested": false, "storageReserved": 0, "tags": []}}}),
        json!({"autoEvicting": false, "region": "", "zone": "", "conditions": conditions(&kinds),
            "diskStatus": {"default-disk": {"diskUUID": format!("0bd3f8a6-{n:04x}-4a51-8b0d-cf3b4cfe9a11"),
                "conditions": conditions(&["Ready", "Schedulable"]), "scheduledReplica": scheduled,
                "storageAvailable": 1, "storageMaximum": 2, "storageScheduled": 3, "diskType": "filesystem"}}}),
    )
}

fn kube_node(n: usize) -> Value {
    let images: Vec<_> = (0..20)
        .map(
            |i| json!({"names": [format!("registry.example.com/app-{i}@sha256:{:064x}", i)], "sizeBytes": 1}),
        )
        .collect();
    let kinds = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"];
    object(
        "v1",
        "Node",
        &node(n),
        json!({"kubernetes.io/hostname": node(n), "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}),
        json!({"podCIDR": "10.42.0.0/24"}),
        json!({"conditions": kinds.map(|kind| condition(kind, if kind == "Ready" { "True" } else { "False" })),
            "allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}, "images": images,
            "nodeInfo": {"kernelVersion": "6.8.0", "osImage": "Ubuntu 24.04", "kubeletVersion": "v1.34.1"}}),
    )
}

fn manager_pod(n: usize) -> Value {
    let name = format!("longhorn-manager-{n:05}");
    pod(&name, n, json!({"app": "longhorn-manager"}), &["longhorn-manager", "pre-pull-share-manager-image"])
}

fn instance_manager_pod(n: usize) -> Value {
    let labels = json!({"longhorn.io/component": "instance-manager", "longhorn.io/node": node(n)});
    pod(&manager_name(n), n, labels, &["instance-manager"])
}

fn pod(name: &str, n: usize, labels: Value, containers: &[&str]) -> Value {
    let probe = json!({"httpGet": {"path": "/v1/healthz", "port": 9502, "scheme": "HTTPS"}, "periodSeconds": 10,
        "timeoutSeconds": 1, "failureThreshold": 3, "successThreshold": 1});
    let env = ["POD_NAMESPACE", "POD_IP", "NODE_NAME"].map(|name| json!({"name": name, "value": "x"}));
    let specs: Vec<_> = containers
        .iter()
        .map(|name| {
            json!({"name": name, "image": format!("longhornio/{name}:{RELEASE}"), "args": ["daemon", "--debug"], "env": env,
                "resources": {"requests": {"cpu": "960m"}}, "readinessProbe": probe, "livenessProbe": probe,
                "ports": [{"containerPort": 9500, "name": "manager", "protocol": "TCP"}],
                "volumeMounts": (0..8).map(|n| json!({"name": format!("volume-{n}"), "mountPath": format!("/host/{n}")})).collect::<Vec<_>>()})
        })
        .collect();
    let statuses: Vec<_> = containers
        .iter()
        .map(|name| {
            json!({"name": name, "image": format!("longhornio/{name}:{RELEASE}"), "imageID": "sha256:x", "ready": true,
                "restartCount": 0, "started": true, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}, "lastState": {}})
        })
        .collect();
    let kinds = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
    object(
        "v1",
        "Pod",
        name,
        labels,
        json!({"nodeName": node(n), "priorityClassName": "longhorn-critical", "containers": specs}),
        json!({"phase": "Running", "startTime": "2026-01-01T00:00:00Z", "containerStatuses": statuses,
            "conditions": conditions(&kinds)}),
    )
}

fn setting(n: usize) -> Value {
    let (name, value) = match n {
        0 => ("current-longhorn-version".to_owned(), RELEASE),
        _ => (format!("some-setting-{n}"), "true"),
    };
    let mut setting = longhorn("Setting", &name, json!({}), json!({}), json!({"applied": true}));
    setting["value"] = json!(value);
    setting
}
