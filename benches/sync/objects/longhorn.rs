//! Longhorn's own objects.

use serde_json::{Map, Value, json};

use super::*;

impl Shape {
    pub(super) fn volume(&self, n: usize) -> Value {
        let name = volume_name(n);
        longhorn_object(
            "Volume",
            &name,
            json!({"longhornvolume": name, "recurring-job-group.longhorn.io/default": "enabled", "setting.longhorn.io/remove-snapshots-during-filesystem-trim": "ignored"}),
            json!({"size": "21474836480", "numberOfReplicas": 3, "frontend": "blockdev", "dataEngine": "v1",
            "image": ENGINE_IMAGE, "nodeID": self.node(n), "dataLocality": "disabled",
            "accessMode": "rwo", "staleReplicaTimeout": 30, "replicaAutoBalance": "ignored", "backingImage": "",
            "nodeSelector": [], "diskSelector": [], "unmapMarkSnapChainRemoved": "ignored", "encrypted": false}),
            json!({"state": "attached", "robustness": if self.is_down(n) { "degraded" } else { "healthy" }, "ownerID": self.node(n), "currentNodeID": self.node(n),
            "currentImage": ENGINE_IMAGE, "actualSize": 1234567890, "lastBackup": "backup-0", "lastBackupAt": self.newest, "frontendDisabled": false,
            "conditions": ([conditions(&["Restore", "TooManySnapshots", "WaitForBackingImage", "OfflineRebuilding"], "False"),
                conditions(&["Scheduled"], "True")].concat()),
            "kubernetesStatus": {"pvName": name, "pvStatus": "Bound", "pvcName": format!("data-database-{n}"),
                "namespace": format!("team-{}", n % 40), "lastPVCRefAt": "", "lastPodRefAt": "",
                "workloadsStatus": [{"podName": format!("database-{n}-0"), "podStatus": "Running",
                    "workloadName": format!("database-{n}"), "workloadType": "StatefulSet"}]}}),
        )
    }

    pub(super) fn engine(&self, n: usize) -> Value {
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
        longhorn_object(
            "Engine",
            &name,
            json!({"longhornvolume": volume_name(n), "longhornnode": self.node(n)}),
            json!({"volumeName": volume_name(n), "nodeID": self.node(n), "desireState": "running", "dataEngine": "v1",
            "image": ENGINE_IMAGE, "active": true, "volumeSize": "21474836480",
            "replicaAddressMap": of_replicas(json!("10.42.0.15:10000")), "upgradedReplicaAddressMap": {}}),
            json!({"ownerID": self.node(n), "instanceManagerName": self.manager_name(n), "currentState": self.running_unless_down(n),
            "currentImage": ENGINE_IMAGE, "currentSize": "21474836480", "port": 10010,
            "replicaModeMap": of_replicas(json!("RW")), "snapshots": snapshots, "purgeStatus": of_replicas(json!({"state": ""})),
            "restoreStatus": of_replicas(json!({})), "rebuildStatus": {}, "conditions": [condition("FilesystemReadOnly", "False")]}),
        )
    }

    pub(super) fn replica(&self, n: usize) -> Value {
        let volume = volume_name(n / REPLICAS_EACH);
        longhorn_object(
            "Replica",
            &replica_name(n),
            json!({"longhornvolume": volume, "longhornnode": self.node(n), "longhorndiskuuid": format!("disk-{n}")}),
            json!({"volumeName": volume, "nodeID": self.node(n), "engineName": format!("{volume}-e-0"), "desireState": "running",
            "diskID": format!("0bd3f8a6-{:04x}-4a51-8b0d-cf3b4cfe9a11", n % self.nodes), "dataEngine": "v1", "active": true,
            "image": ENGINE_IMAGE, "healthyAt": if self.is_down(n) { "" } else { LONG_AGO }, "failedAt": if self.is_down(n) { LONG_AGO } else { "" },
            "diskPath": "/var/lib/longhorn/", "dataDirectoryName": replica_name(n), "volumeSize": "21474836480",
            "lastHealthyAt": "2026-01-01T00:00:00Z", "backingImage": "", "evictionRequested": self.evicting}),
            json!({"ownerID": self.node(n), "instanceManagerName": self.manager_name(n), "currentState": self.running_unless_down(n),
            "currentImage": ENGINE_IMAGE, "port": 10000, "ip": "10.42.0.15",
            "storageIP": "10.42.0.15", "started": true, "conditions": [condition("InstanceCreation", "True")]}),
        )
    }

    pub(super) fn attachment(&self, n: usize) -> Value {
        let ticket = json!({"id": csi_name(n), "type": "csi-attacher", "nodeID": self.node(n), "generation": 0, "parameters": {"disableFrontend": "false"}});
        longhorn_object(
            "VolumeAttachment",
            &volume_name(n),
            json!({"longhornvolume": volume_name(n)}),
            json!({"volume": volume_name(n), "attachmentTickets": {csi_name(n): ticket}}),
            json!({"attachmentTicketStatuses": {csi_name(n): {"id": csi_name(n), "satisfied": true, "generation": 0}}}),
        )
    }

    pub(super) fn instance_manager(&self, n: usize) -> Value {
        let instance = |name: String, kind: &str| {
            let status = json!({"endpoint": "", "errorMsg": "", "listen": "", "portStart": 10000, "portEnd": 10009,
            "resourceVersion": 1, "state": "running", "type": kind, "conditions": {}});
            (name.clone(), json!({"spec": {"name": name, "dataEngine": "v1"}, "status": status}))
        };
        let engines: Map<_, _> = (n..self.volumes)
            .step_by(self.instance_managers)
            .map(|n| instance(format!("{}-e-0", volume_name(n)), "engine"))
            .collect();
        let replicas: Map<_, _> = (n..self.replicas)
            .step_by(self.instance_managers)
            .map(|n| instance(replica_name(n), "replica"))
            .collect();
        longhorn_object(
            "InstanceManager",
            &self.manager_name(n),
            json!({"longhorn.io/component": "instance-manager", "longhorn.io/managed-by": "longhorn-manager", "longhorn.io/instance-manager-image": if self.is_old(n) { "imi-0c1d2e3f" } else { "imi-71f011ef" },
            "longhorn.io/node": self.node(n), "longhorn.io/data-engine": "v1", "longhorn.io/instance-manager-type": "aio"}),
            json!({"image": self.manager_image(n), "nodeID": self.node(n), "type": "aio", "dataEngine": "v1"}),
            json!({"ownerID": self.node(n), "currentState": self.running_unless_down(n), "ip": "10.42.0.15", "apiVersion": 6, "proxyApiVersion": 6,
            "instanceEngines": engines, "instanceReplicas": replicas,
            "conditions": conditions(&["PodReady", "NodeReady", "SettingSynced"], self.true_unless_down(n))}),
        )
    }

    pub(super) fn longhorn_node(&self, n: usize) -> Value {
        let scheduled: Map<_, _> = (n..self.replicas)
            .step_by(self.nodes)
            .map(|n| (replica_name(n), json!(21474836480u64)))
            .collect();
        let kinds = [
            "Ready", "Schedulable", "MountPropagation", "RequiredPackages", "Multipathd",
            "KernelModulesLoaded",
        ];
        longhorn_object(
            "Node",
            &self.node(n),
            json!({}),
            json!({"name": self.node(n), "allowScheduling": true, "evictionRequested": false, "tags": [],
            "disks": {"default-disk": {"path": "/var/lib/longhorn/", "diskType": "filesystem", "allowScheduling": true,
                "evictionRequested": false, "storageReserved": 0, "tags": []}}}),
            json!({"autoEvicting": false, "region": "", "zone": "", "conditions": conditions(&kinds, self.true_unless_down(n)),
            "diskStatus": {"default-disk": {"diskUUID": format!("0bd3f8a6-{n:04x}-4a51-8b0d-cf3b4cfe9a11"),
                "conditions": conditions(&["Ready", "Schedulable"], self.true_unless_down(n)), "scheduledReplica": scheduled,
                "storageAvailable": 1, "storageMaximum": 2, "storageScheduled": 3, "diskType": "filesystem"}}}),
        )
    }

    /// A complete backup of a volume, as the store describes it.
    pub(super) fn backup(&self, n: usize) -> Value {
        let volume = volume_name(n / self.backups);
        let name = format!("backup-{:016x}", n as u64 * 0x9e37_79b9);
        let snapshot = format!("nightly-8f0c9a52-{n:012x}");
        let labels = json!({"KubernetesStatus": "x".repeat(300), "RecurringJob": "nightly", "longhorn.io/volume-access-mode": "rwo"});
        longhorn_object(
            "Backup",
            &name,
            json!({"backup-volume": volume, "backup-target": "default"}),
            json!({"snapshotName": snapshot, "backupMode": "incremental", "labels": {"RecurringJob": "nightly"}}),
            json!({"state": "Completed", "progress": 100, "ownerID": self.node(n), "backupTargetName": "default", "backupCreatedAt": self.newest,
            "snapshotCreatedAt": self.newest, "snapshotName": snapshot, "lastSyncedAt": self.newest, "compressionMethod": "lz4", "labels": labels,
            "messages": null, "size": "73400320", "newlyUploadDataSize": "73400320", "reUploadedDataSize": "0", "volumeName": volume,
            "volumeSize": "21474836480", "volumeCreated": self.newest, "volumeBackingImageName": "", "replicaAddress": "tcp://10.42.0.15:10000",
            "url": format!("s3://backups@eu-central-1/?backup={name}&volume={volume}")}),
        )
    }

    pub(super) fn engine_image(&self) -> Value {
        let map: Map<_, _> = (0..self.nodes).map(|n| (self.node(n), json!(!self.is_down(n)))).collect();
        let status = json!({"state": "deployed", "refCount": self.replicas, "nodeDeploymentMap": map, "incompatible": false,
            "conditions": [condition("ready", "True")]});
        longhorn_object("EngineImage", "ei-71f011ef", json!({}), json!({"image": ENGINE_IMAGE}), status)
    }

    pub(super) fn backup_target(&self) -> Value {
        let spec = json!({"backupTargetURL": "s3://backups@eu-central-1/", "credentialSecret": "s3", "pollInterval": "5m0s"});
        let status = json!({"available": true, "lastSyncedAt": self.newest, "conditions": [condition("Unavailable", "False")]});
        longhorn_object("BackupTarget", "default", json!({}), spec, status)
    }
}

pub(super) fn recurring_job() -> Value {
    let spec = json!({"name": "nightly", "task": "backup", "cron": "0 2 * * *", "groups": ["default"], "retain": 20, "concurrency": 2});
    longhorn_object("RecurringJob", "nightly", json!({}), spec, json!({"ownerID": "worker-0000"}))
}

pub(super) fn setting(n: usize) -> Value {
    let (name, value) = match n {
        0 => ("current-longhorn-version".to_owned(), RELEASE),
        1 => ("default-instance-manager-image".to_owned(), MANAGER_IMAGE),
        2 => ("default-engine-image".to_owned(), ENGINE_IMAGE),
        _ => (format!("some-setting-{n}"), "true"),
    };
    let mut setting = longhorn_object("Setting", &name, json!({}), json!({}), json!({"applied": true}));
    setting["value"] = json!(value);
    setting
}
