//! Objects for tests, as `kubectl` prints them: a head made from the table of kinds, and the rest as
//! the test writes it. Concatenated they are a recording.

use super::NAMESPACE;
use crate::longhorn::Resource;
use crate::longhorn::resource::{Scope, TABLE};

/// An object of a kind: `object("Volume", "v", "status: {state: attached}")`. `Node` is Longhorn's.
pub fn object(kind: &str, name: &str, rest: &str) -> String {
    object_with(kind, name, "", rest)
}

/// An object with more metadata than a name: `uid: u1, labels: {app: x}`.
pub fn object_with(kind: &str, name: &str, metadata: &str, rest: &str) -> String {
    let info = TABLE.iter().find(|info| info.kind == kind).unwrap();
    manifest(info.resource, name, metadata, rest)
}

/// A Kubernetes node.
pub fn kube_node(name: &str, rest: &str) -> String {
    manifest(Resource::KubeNodes, name, "", rest)
}

/// A setting of Longhorn.
pub fn setting(name: &str, value: &str) -> String {
    object("Setting", name, &format!("value: '{value}'"))
}

/// The setting that says which Longhorn release is installed.
pub fn release(version: &str) -> String {
    setting("current-longhorn-version", version)
}

/// DaemonSet longhorn-manager with this in the manager's container: `image: 'x:v1'`.
pub fn manager_daemon_set(container: &str) -> String {
    let rest =
        format!("spec: {{template: {{spec: {{containers: [{{name: longhorn-manager, {container}}}]}}}}}}");
    object("DaemonSet", "longhorn-manager", &rest)
}

/// A pod of longhorn-manager.
pub fn longhorn_manager(name: &str, metadata: &str, rest: &str) -> String {
    let comma = if metadata.is_empty() { "" } else { ", " };
    object_with("Pod", name, &format!("labels: {{app: longhorn-manager}}{comma}{metadata}"), rest)
}

/// An EndpointSlice of a Service: `endpoint_slice("longhorn-backend", "{conditions: {ready: true}}")`.
pub fn endpoint_slice(service: &str, endpoints: &str) -> String {
    let labels = format!("labels: {{kubernetes.io/service-name: {service}}}");
    object_with("EndpointSlice", &format!("{service}-a"), &labels, &format!("endpoints: [{endpoints}]"))
}

fn manifest(resource: Resource, name: &str, metadata: &str, rest: &str) -> String {
    let info = resource.info();
    let slash = if info.group.is_empty() { "" } else { "/" };
    let namespace = match info.scope {
        Scope::Namespaced => format!("namespace: {NAMESPACE}"),
        Scope::InNamespace { namespace, .. } => format!("namespace: {namespace}"),
        Scope::Cluster | Scope::ClusterNamed(_) | Scope::ClusterLabelled(_) => String::new(),
    };
    let metadata = [&format!("name: {name}"), &namespace, metadata];
    let metadata: Vec<&str> = metadata.into_iter().filter(|part| !part.is_empty()).collect();
    format!(
        "apiVersion: {}{slash}{}\nkind: {}\nmetadata: {{{}}}\n{rest}\n---\n",
        info.group,
        info.version,
        info.kind,
        metadata.join(", ")
    )
}
