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

pub(super) fn webhooks(case: &Case) -> String {
    let minor = minor(&case.release);
    let manager = case.cluster.manager.as_ref();
    let none_ready = manager.is_some_and(|manager| !manager.one);
    let configured = !case.cluster.fresh
        || others_started(case)
        || manager.is_none_or(|manager| manager.reached >= Reached::Service)
        // Deployments of their own serve them
        || minor < 5;
    let mut yaml = String::new();
    let names: &[&str] = if minor >= 10 { &["admission"] } else { &["admission", "conversion"] };
    for name in names {
        let service = format!("longhorn-{name}-webhook");
        let mut endpoints = Vec::new();
        for (index, node) in nodes_of(case).iter().enumerate() {
            if minor >= 5 && is_bad(case, node) && manager.is_some_and(|manager| manager.absent) {
                continue;
            }
            endpoints.push(format!(
                "{{conditions: {{ready: {}}}, targetRef: {{kind: Pod, name: {}-{}}}}}",
                minor < 5 || !is_bad(case, node),
                if minor < 5 { service.as_str() } else { "longhorn-manager" },
                index + 1
            ));
        }
        write!(
            yaml,
            "apiVersion: v1\nkind: Service\nmetadata: {{name: {service}, {NS}}}\nspec: {{selector: {{app: longhorn-manager}}}}\n---\n\
             apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {{name: {service}-x, {NS}, \
             labels: {{kubernetes.io/service-name: {service}}}}}\nendpoints: [{}]\n---\n",
            endpoints.join(", ")
        )
        .unwrap();
    }
    let backend = if none_ready { "false" } else { "true" };
    write!(
        yaml,
        "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {{name: longhorn-backend-x, {NS}, \
         labels: {{kubernetes.io/service-name: longhorn-backend}}}}\nendpoints: [{{conditions: {{ready: {backend}}}}}]\n---\n"
    )
    .unwrap();
    if configured {
        for (kind, name) in
            [("Validating", "longhorn-webhook-validator"), ("Mutating", "longhorn-webhook-mutator")]
        {
            write!(
                yaml,
                "apiVersion: admissionregistration.k8s.io/v1\nkind: {kind}WebhookConfiguration\nmetadata: {{name: {name}}}\n\
                 webhooks: [{{name: {name}.longhorn.io, failurePolicy: Fail, clientConfig: {{caBundle: {CA}, service: {{name: \
                 longhorn-admission-webhook, namespace: longhorn-system, port: 9502}}}}}}]\n---\n"
            )
            .unwrap();
        }
    }
    yaml
}

pub(super) fn leases(case: &Case) -> String {
    let manager = case.cluster.manager.as_ref();
    let reached = manager.map_or(Reached::Upgrade, |manager| manager.reached);
    let mut yaml = String::new();
    if let Some((minutes, holder)) = manager.and_then(|manager| manager.hangs.zip(manager.holder.as_ref())) {
        return format!(
            "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {{name: longhorn-manager-webhook-lock, {NS}}}\n\
             spec: {{holderIdentity: {holder}, leaseDurationSeconds: 20, acquireTime: '{}', renewTime: '{}'}}\n---\n",
            before(minutes * 60 - 5),
            before(2)
        );
    }
    let mut lease = |name: &str, holder: &str| {
        write!(
            yaml,
            "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {{name: {name}, {NS}}}\nspec: {{holderIdentity: '{holder}', \
             leaseDurationSeconds: 20, acquireTime: '{0}', renewTime: '{0}'}}\n---\n",
            before(manager.map_or(300, |manager| 30 + manager.ran))
        )
        .unwrap();
    };
    if queues(&case.release) && (reached >= Reached::Lease || !case.cluster.fresh) {
        let holder = if (Reached::Lease..=Reached::Listener).contains(&reached) { NODES[0] } else { "" };
        lease("longhorn-manager-webhook-lock", holder);
    }
    if reached >= Reached::Upgrade || !case.cluster.fresh {
        lease("longhorn-manager-upgrade-lock", "");
    }
    yaml
}

/// What the kubelet writes of a readiness probe that no one answers.
pub(super) fn refused_probes(case: &Case) -> String {
    let Some(manager) = &case.cluster.manager else { return String::new() };
    let listens = manager.was_ready || manager.reached >= Reached::Listener;
    if listens || manager.ran < 20 || manager.hangs.is_some() || minor(&case.release) < 5 {
        return String::new();
    }
    let port = case.cluster.probe_port.unwrap_or(if minor(&case.release) >= 10 { 9502 } else { 9501 });
    format!(
        "apiVersion: v1\nkind: Event\nmetadata: {{name: probe, {NS}}}\nreason: Unhealthy\ntype: Warning\ncount: 9\n\
         message: 'Readiness probe failed: Get \"https://10.42.0.9:{port}/v1/healthz\": dial tcp 10.42.0.9:{port}: connect: \
         connection refused'\nlastTimestamp: '{}'\ninvolvedObject: {{kind: Pod, name: longhorn-manager-1, uid: m-1}}\n---\n",
        before(40)
    )
}

pub(super) fn instance_managers(case: &Case) -> String {
    if case.cluster.fresh {
        return String::new();
    }
    let release = case.cluster.installed.as_deref().unwrap_or(&case.release);
    let image = format!("longhornio/longhorn-instance-manager:{release}");
    let engine = if minor(release) >= 6 { "dataEngine: v1, " } else { "" };
    let kinds: &[&str] = if minor(release) >= 5 { &["aio"] } else { &["engine", "replica"] };
    let mut yaml = String::new();
    for node in nodes_of(case) {
        for kind in kinds {
            let name = format!("instance-manager-{kind}-{node}");
            let labels = format!(
                "{{longhorn.io/component: instance-manager, longhorn.io/managed-by: longhorn-manager, longhorn.io/node: {node}, \
                 longhorn.io/instance-manager-type: {kind}, longhorn.io/instance-manager-image: imi-0, longhorn.io/data-engine: v1}}"
            );
            write!(
                yaml,
                "apiVersion: longhorn.io/v1beta2\nkind: InstanceManager\nmetadata: {{name: {name}, {NS}, uid: u-{name}, \
                 creationTimestamp: '2026-02-01T00:00:00Z', labels: {labels}}}\n\
                 spec: {{image: '{image}', nodeID: {node}, type: {kind}, {engine}}}\nstatus: {{ownerID: {node}, currentState: running}}\n---\n\
                 apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, {NS}, uid: p-{name}, creationTimestamp: '2026-02-01T00:01:00Z', \
                 labels: {labels}}}\nspec: {{nodeName: {node}, priorityClassName: longhorn-critical, containers: [{{name: instance-manager, \
                 image: '{image}', resources: {{requests: {{cpu: 960m}}}}}}]}}\n\
                 status: {{phase: Running, conditions: [{{type: Ready, status: 'True'}}], containerStatuses: [{{name: instance-manager, \
                 ready: true, state: {{running: {{startedAt: '2026-02-01T00:01:00Z'}}}}}}]}}\n---\n"
            )
            .unwrap();
        }
    }
    yaml
}

pub(super) fn deployer(case: &Case) -> String {
    let Some(deployer) = &case.cluster.deployer else { return String::new() };
    let created = before(if deployer.age == 0 { 30 } else { deployer.age } * 60);
    let status = if deployer.waits {
        format!(
            "initContainerStatuses: [{{name: wait-longhorn-manager, state: {{running: {{startedAt: '{created}'}}}}}}], \
             containerStatuses: [{{name: longhorn-driver-deployer, state: {{waiting: {{reason: PodInitializing}}}}}}]"
        )
    } else {
        format!(
            "containerStatuses: [{{name: longhorn-driver-deployer, restartCount: 9, state: {{waiting: {{reason: CrashLoopBackOff}}}}, \
             lastState: {{terminated: {{exitCode: 1, reason: Error, startedAt: '{}', finishedAt: '{}'}}}}}}]",
            before(60),
            before(40)
        )
    };
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: longhorn-driver-deployer-1, {NS}, uid: d-1, creationTimestamp: '{created}', \
         labels: {{app: longhorn-driver-deployer}}}}\n\
         spec: {{nodeName: node-1, initContainers: [{{name: wait-longhorn-manager}}], containers: [{{name: longhorn-driver-deployer, command: \
         [longhorn-manager, -d, deploy-driver, --manager-image, x, --manager-url, 'http://longhorn-backend:9500/v1'], \
         env: [{{name: POD_NAMESPACE}}, {{name: NODE_NAME}}]}}]}}\n\
         status: {{phase: Pending, startTime: '{created}', {status}}}\n---\n"
    )
}
