//! Nodes of which Longhorn says what has not been true for minutes.

use super::NODE_STATUS_WRONG;
use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::nodes;
use crate::longhorn::LonghornNode;

pub(super) fn run(cluster: &Cluster, out: &mut Outcome) {
    for node in cluster.objects.longhorn_nodes.iter() {
        let Some(contradiction) = nodes::contradiction(cluster, node) else { continue };
        let name = node.metadata.name.as_str();
        let age = observe(cluster, out, "contradicted", name, Begun::NotBefore(contradiction.since));
        if !age.at_least(nodes::OUTDATED, Unknown::Counts) {
            continue;
        }
        let mut finding = Finding::about(
            &NODE_STATUS_WRONG,
            cluster.object::<LonghornNode>(name),
            format!("Longhorn reports {name} as down, although Kubernetes reports it Ready"),
        )
        .node(name)
        .since(age.since_or_later())
        .impact(format!(
            "volumes cannot attach, rebuild or be evicted on {name}. Attached volumes keep working."
        ))
        .facts(contradiction.evidence)
        .facts([age.evidence()]);
        if let Some(pod) = cluster.manager_pod_on(name) {
            finding = finding.with(Name::Manager, pod.metadata.name.as_str());
        }
        out.report(finding);
    }
}
