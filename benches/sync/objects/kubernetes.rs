//! What Kubernetes holds for Longhorn.

use serde_json::{Value, json};

use super::*;

impl Shape {
    pub(super) fn kube_node(&self, n: usize) -> Value {
        let images: Vec<_> = (0..20)
        .map(
            |i| json!({"names": [format!("registry.example.com/app-{i}@sha256:{:064x}", i)], "sizeBytes": 1}),
        )
        .collect();
        let kinds = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"];
        object(
            "v1",
            "Node",
            &self.node(n),
            json!({"kubernetes.io/hostname": self.node(n), "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}),
            json!({"podCIDR": "10.42.0.0/24"}),
            json!({"conditions": kinds.map(|kind| condition(kind, if kind == "Ready" { self.true_unless_down(n) } else { "False" })),
            "allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}, "images": images,
            "nodeInfo": {"kernelVersion": "6.8.0", "osImage": "Ubuntu 24.04", "kubeletVersion": "v1.34.1"}}),
        )
    }

    pub(super) fn engine_image_pod(&self, n: usize) -> Value {
        let labels =
            json!({"longhorn.io/component": "engine-image", "longhorn.io/engine-image": "ei-71f011ef"});
        self.pod(&format!("engine-image-ei-71f011ef-{n:05}"), n, labels, &["engine-image-ei-71f011ef"])
    }

    pub(super) fn csi_pod(&self, n: usize) -> Value {
        let containers = ["node-driver-registrar", "longhorn-liveness-probe", "longhorn-csi-plugin"];
        self.pod(
            &format!("longhorn-csi-plugin-{n:05}"),
            n,
            json!({"app": "longhorn-csi-plugin"}),
            &containers,
        )
    }

    pub(super) fn csi_node(&self, n: usize) -> Value {
        let drivers = ["driver.longhorn.io", "ebs.csi.aws.com"]
            .map(|name| json!({"name": name, "nodeID": self.node(n), "topologyKeys": []}));
        let mut node = object(
            "storage.k8s.io/v1",
            "CSINode",
            &self.node(n),
            json!({}),
            json!({"drivers": drivers}),
            json!({}),
        );
        without_namespace(&mut node);
        node
    }

    pub(super) fn manager_pod(&self, n: usize) -> Value {
        let name = format!("longhorn-manager-{n:05}");
        let mut labels = json!({"app": "longhorn-manager"});
        if !self.unlabelled {
            labels["longhorn.io/admission-webhook"] = json!("longhorn-admission-webhook");
        }
        self.pod(&name, n, labels, &MANAGER_CONTAINERS)
    }

    pub(super) fn instance_manager_pod(&self, n: usize) -> Value {
        let labels = json!({"longhorn.io/component": "instance-manager", "longhorn.io/node": self.node(n)});
        self.pod(&self.manager_name(n), n, labels, &["instance-manager"])
    }

    pub(super) fn pod(&self, name: &str, n: usize, labels: Value, containers: &[&str]) -> Value {
        let probe = json!({"httpGet": {"path": "/v1/healthz", "port": 9502, "scheme": "HTTPS"}, "periodSeconds": 10,
        "timeoutSeconds": 1, "failureThreshold": 60, "successThreshold": 1});
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
            json!({"name": name, "image": format!("longhornio/{name}:{RELEASE}"), "imageID": "sha256:x", "ready": !self.is_down(n),
                "restartCount": 0, "started": true, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}, "lastState": {}})
        })
        .collect();
        let kinds = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
        object(
            "v1",
            "Pod",
            name,
            labels,
            json!({"nodeName": self.node(n), "priorityClassName": "longhorn-critical", "containers": specs}),
            json!({"phase": "Running", "startTime": "2026-01-01T00:00:00Z", "containerStatuses": statuses,
            "conditions": kinds.map(|kind| pod_condition(kind, self.true_unless_down(n)))}),
        )
    }

    pub(super) fn daemon_set(&self) -> Value {
        let mut template = self.pod("x", 0, json!({"app": "longhorn-manager"}), &MANAGER_CONTAINERS);
        let status = json!({"desiredNumberScheduled": self.nodes, "numberReady": self.nodes - self.down,
            "updatedNumberScheduled": self.nodes, "observedGeneration": 3});
        let spec =
            json!({"template": {"metadata": template["metadata"].take(), "spec": template["spec"].take()}});
        object("apps/v1", "DaemonSet", "longhorn-manager", json!({"app": "longhorn-manager"}), spec, status)
    }

    /// The endpoints of the webhook, which are all managers.
    pub(super) fn endpoint_slice(&self) -> Value {
        let endpoint = |n| {
            json!({"addresses": ["10.42.0.15"], "conditions": {"ready": !self.is_down(n), "serving": true, "terminating": false},
                "nodeName": self.node(n), "targetRef": {"kind": "Pod", "name": format!("longhorn-manager-{n:05}"), "namespace": NAMESPACE}})
        };
        let labels = json!({"kubernetes.io/service-name": "longhorn-admission-webhook"});
        let mut slice = object(
            "discovery.k8s.io/v1",
            "EndpointSlice",
            "longhorn-admission-webhook-x7k2p",
            labels,
            Value::Null,
            Value::Null,
        );
        slice["endpoints"] = (0..self.nodes).map(endpoint).collect();
        slice
    }

    /// Instance managers with engines are protected from eviction.
    pub(super) fn budget(&self, n: usize) -> Value {
        object(
            "policy/v1",
            "PodDisruptionBudget",
            &self.manager_name(n),
            json!({}),
            json!({"minAvailable": 1}),
            json!({}),
        )
    }

    /// Ordinary news about volumes.
    pub(super) fn event(&self, n: usize) -> Value {
        let volume = volume_name(n % self.volumes);
        let mut event =
            object("v1", "Event", &format!("{volume}.{n:x}"), json!({}), Value::Null, Value::Null);
        event["involvedObject"] = json!({"apiVersion": "longhorn.io/v1beta2", "kind": "Volume", "name": volume, "namespace": NAMESPACE});
        event["reason"] = json!("Healthy");
        event["message"] = json!(format!("volume {volume} became healthy"));
        event["type"] = json!("Normal");
        event["count"] = json!(1);
        event["lastTimestamp"] = json!(LONG_AGO);
        event
    }

    pub(super) fn cron_job(&self) -> Value {
        let status = json!({"lastScheduleTime": self.newest, "lastSuccessfulTime": self.newest});
        let spec = json!({"schedule": "0 2 * * *", "suspend": false});
        object("batch/v1", "CronJob", "nightly", json!({}), spec, status)
    }

    /// What the attacher of Kubernetes holds for a volume.
    pub(super) fn csi_attachment(&self, n: usize) -> Value {
        let source = json!({"persistentVolumeName": volume_name(n)});
        let spec = json!({"attacher": "driver.longhorn.io", "nodeName": self.node(n), "source": source});
        let status = json!({"attached": true});
        let mut attachment =
            object("storage.k8s.io/v1", "VolumeAttachment", &csi_name(n), json!({}), spec, status);
        without_namespace(&mut attachment);
        attachment
    }
}

pub(super) fn without_namespace(object: &mut Value) {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("namespace");
    }
}

pub(super) fn service() -> Value {
    let selector = json!({"longhorn.io/admission-webhook": "longhorn-admission-webhook"});
    object("v1", "Service", "longhorn-admission-webhook", json!({}), json!({"selector": selector}), json!({}))
}

/// A time of Kubernetes is null where Longhorn has an empty text.
fn pod_condition(kind: &str, status: &str) -> Value {
    let mut condition = condition(kind, status);
    condition["lastProbeTime"] = Value::Null;
    condition
}

/// One of Longhorn's two webhook configurations.
pub(super) fn webhook(kind: &str, name: &str) -> Value {
    let kind = format!("{kind}WebhookConfiguration");
    let name = format!("longhorn-webhook-{name}");
    let service =
        json!({"namespace": NAMESPACE, "name": "longhorn-admission-webhook", "path": "/", "port": 9502});
    let mut configuration =
        object("admissionregistration.k8s.io/v1", &kind, &name, json!({}), Value::Null, Value::Null);
    without_namespace(&mut configuration);
    configuration["webhooks"] = json!([{"name": format!("{name}.longhorn.io"), "failurePolicy": "Fail",
        "admissionReviewVersions": ["v1"], "sideEffects": "None", "clientConfig": {"caBundle": "eA==", "service": service}}]);
    configuration
}
