//! What is beside the managers: webhooks and their Lease, instance managers, the driver deployer.

use super::*;

/// A CA that is valid until 2035, in PEM.
const CA: &str = "\
    LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJjVENDQVJhZ0F3SUJBZ0lVZEcrSkZEVGRmVVVwUnhhZXF2TlJRcXRhTWlFd0NnWUlLb1pJemowRU\
    F3SXcKSGpFY01Cb0dBMVVFQXd3VGJHOXVaMmh2Y200dGQyVmlhRzl2YXkxallUQWVGdzB5TlRFeU1ERXdNREF3TURCYQpGdzB6TlRFeE1qa3dNREF3TURC\
    YU1CNHhIREFhQmdOVkJBTU1FMnh2Ym1kb2IzSnVMWGRsWW1odmIyc3RZMkV3CldUQVRCZ2NxaGtqT1BRSUJCZ2dxaGtqT1BRTUJCd05DQUFRcmwyUkkwLz\
    VwcW9mZHFtNlFtNFRoWHFWTElIMkoKUFFnVUZBd2JRdWFEZGJ4d3BoaTc1Y3UyYnEvQzhyZXdUTWNlTzZmc1c0c0hpdHdHY2hJL1BRdjlvekl3TURBUApC\
    Z05WSFJNQkFmOEVCVEFEQVFIL01CMEdBMVVkRGdRV0JCUjZEQXJ0N09GUG9pTE1vZDdNQ3Q2M25zOG9kakFLCkJnZ3Foa2pPUFFRREFnTkpBREJHQWlFQT\
    dVUXF0WDFaem1abCtKRUlFaVZpYzUvMDFub294b1JDYWErRWFNVXQKRHRBQ0lRRG5QZ1hvSmJLOFhPLzZZcGJ4U2pJTkdOczVsK05JeFByNnRvSHcxeCs3\
    S0E9PQotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg==";

pub(super) fn webhooks(case: &Case, cluster: &mut Fixture) {
    let minor = minor(&case.release);
    let manager = case.cluster.manager.as_ref();
    let configured = !case.cluster.fresh
        || others_started(case)
        || manager.is_none_or(|manager| manager.reached >= Reached::Service)
        // Deployments of their own serve them
        || minor < 5;
    let names: &[&str] = if minor >= 10 { &["admission"] } else { &["admission", "conversion"] };
    for name in names {
        let service = format!("longhorn-{name}-webhook");
        let mut endpoints = Vec::new();
        for (index, node) in nodes_of(case).iter().enumerate() {
            if minor >= 5 && is_bad(case, node) && manager.is_some_and(|manager| manager.absent) {
                continue;
            }
            let pod = if minor < 5 { service.as_str() } else { "longhorn-manager" };
            endpoints.push(json!({
                "conditions": {"ready": minor < 5 || !is_bad(case, node)},
                "targetRef": {"kind": "Pod", "name": format!("{pod}-{}", index + 1)},
            }));
        }
        cluster.with(&format!("Service {service}"), json!({}));
        cluster.with(&format!("EndpointSlice {service}-x"), json!({ "endpoints": endpoints }));
    }
    let ready = manager.is_none_or(|manager| manager.one);
    cluster
        .with("EndpointSlice longhorn-backend-x", json!({"endpoints": [{"conditions": {"ready": ready}}]}));
    if configured {
        cluster.with("ValidatingWebhookConfiguration longhorn-webhook-validator", json!({ "ca": CA }));
        cluster.with("MutatingWebhookConfiguration longhorn-webhook-mutator", json!({ "ca": CA }));
    }
}

pub(super) fn leases(case: &Case, cluster: &mut Fixture) {
    let manager = case.cluster.manager.as_ref();
    let reached = manager.map_or(Reached::Upgrade, |manager| manager.reached);
    if let Some((minutes, holder)) = manager.and_then(|manager| manager.hangs.zip(manager.holder.as_ref())) {
        let spec = json!({"holderIdentity": holder, "acquireTime": before(minutes * 60 - 5), "renewTime": before(2)});
        return cluster.with("Lease longhorn-manager-webhook-lock", json!({ "spec": spec }));
    }
    let mut lease = |name: &str, holder: &str| {
        let time = before(manager.map_or(300, |manager| 30 + manager.ran));
        let spec = json!({"holderIdentity": holder, "acquireTime": time, "renewTime": time});
        cluster.with(&format!("Lease longhorn-manager-{name}-lock"), json!({ "spec": spec }));
    };
    if queues(&case.release) && (reached >= Reached::Lease || !case.cluster.fresh) {
        let holder = if (Reached::Lease..=Reached::Listener).contains(&reached) { NODES[0] } else { "" };
        lease("webhook", holder);
    }
    if reached >= Reached::Upgrade || !case.cluster.fresh {
        lease("upgrade", "");
    }
}

/// What the kubelet writes of a readiness probe that no one answers.
pub(super) fn refused_probes(case: &Case, cluster: &mut Fixture) {
    let Some(manager) = &case.cluster.manager else { return };
    let listens = manager.was_ready || manager.reached >= Reached::Listener;
    if listens || manager.ran < 20 || manager.hangs.is_some() || minor(&case.release) < 5 {
        return;
    }
    let port = case.cluster.probe_port.unwrap_or(if minor(&case.release) >= 10 { 9502 } else { 9501 });
    cluster.event(&format!(
        "{} 9x Warning Unhealthy Pod/longhorn-manager-1#m-1: Readiness probe failed: Get \"https://10.42.0.9:{port}/v1/healthz\": \
         dial tcp 10.42.0.9:{port}: connect: connection refused",
        before(40)
    ));
}

pub(super) fn instance_managers(case: &Case, cluster: &mut Fixture) {
    if case.cluster.fresh {
        return;
    }
    let release = case.cluster.installed.as_deref().unwrap_or(&case.release);
    let kinds: &[&str] = if minor(release) >= 5 { &["aio"] } else { &["engine", "replica"] };
    for node in nodes_of(case) {
        for kind in kinds {
            for object in ["lh/InstanceManager", "Pod"] {
                cluster.with(&format!("{object} instance-manager-{kind}-{node}"), json!({ "type": kind }));
            }
        }
    }
}

pub(super) fn csi(case: &Case, cluster: &mut Fixture) {
    if !case.cluster.csi {
        return;
    }
    let nodes = nodes_of(case);
    cluster.with("DaemonSet longhorn-csi-plugin", json!({ "desired": nodes.len() }));
    for (node, pod) in nodes.iter().zip(["a", "b", "c", "d", "e"]) {
        cluster.with(&format!("CSINode {node}"), json!({}));
        cluster.with(&format!("Pod longhorn-csi-plugin-{pod}"), json!({ "node": node }));
    }
}

pub(super) fn deployer(case: &Case, cluster: &mut Fixture) {
    let Some(deployer) = &case.cluster.deployer else { return };
    let created = before(if deployer.age == 0 { 30 } else { deployer.age } * 60);
    let (init, container) = if deployer.waits {
        let init = json!([{"name": "wait-longhorn-manager", "state": {"running": {"startedAt": created}}}]);
        (init, json!({"state": {"waiting": {"reason": "PodInitializing"}}}))
    } else {
        let last =
            json!({"exitCode": 1, "reason": "Error", "startedAt": before(60), "finishedAt": before(40)});
        let state = json!({"waiting": {"reason": "CrashLoopBackOff"}});
        (Value::Null, json!({"restartCount": 9, "state": state, "lastState": {"terminated": last}}))
    };
    let command = ["longhorn-manager", "-d", "deploy-driver", "--manager-image", "x", "--manager-url"];
    let command: Vec<&str> = command.into_iter().chain(["http://longhorn-backend:9500/v1"]).collect();
    let env = json!([{"name": "POD_NAMESPACE"}, {"name": "NODE_NAME"}]);
    let pod = json!({
        "uid": "d-1", "made": created, "spec.containers": {"longhorn-driver-deployer": {"command": command, "env": env}},
        "status": {
            "phase": "Pending", "conditions": Value::Null, "initContainerStatuses": init,
            "containerStatuses": {"longhorn-driver-deployer": container},
        },
    });
    cluster.with("Pod longhorn-driver-deployer-1", pod);
    cluster.with(
        "Pod longhorn-driver-deployer-1",
        json!({"node": "node-1", "status.containerStatuses": {"longhorn-driver-deployer": {"ready": false}}}),
    );
}
