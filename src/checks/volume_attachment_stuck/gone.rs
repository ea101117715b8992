//! Volumes that pods wait for and that Longhorn no longer has: it was installed again after its objects were deleted, or the Volume was.

use super::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::patience::ATTACH;
use crate::facts::{api, text, volumes};
use crate::longhorn::Volume;

pub(super) fn look(cluster: &Cluster, out: &mut Outcome) {
    for (name, waiting) in volumes::lost(cluster) {
        let since = waiting.iter().filter_map(|csi| csi.metadata.created()).min();
        let age = observe(cluster, out, "gone", name, Begun::NotBefore(since));
        let Some(first) = waiting.first().filter(|_| age.at_least(ATTACH, Unknown::Counts)) else { continue };
        out.sample(&STUCK, &[name, "", "", VOLUME_GONE.id, VOLUME_GONE.severity.as_str()], 1.0);
        let orphans = cluster.objects.orphans.iter().filter(|orphan| volumes::is_of(orphan, name));
        let orphans: Vec<String> =
            orphans.map(|orphan| format!("{} on {}", orphan.metadata.name, orphan.spec.node_id)).collect();
        let attachments = waiting.iter().take(3).map(|csi| {
            let said = csi.status.attach_error.message.trim();
            let (id, node) = (&csi.metadata.name, &csi.spec.node_name);
            api(format!("VolumeAttachment {id} for {node}: {}", text::quoted(said))).quoting(said)
        });
        let message = format!("volume {name} does not exist in Longhorn, but a pod needs it");
        let mut finding = Finding::about(&VOLUME_GONE, cluster.object::<Volume>(name), message)
            .node(&first.spec.node_name)
            .since(since)
            .impact("pods that use the volume cannot start")
            .fact(api("Longhorn has no Volume, Engine or Replica for this volume"))
            .facts(attachments);
        if !orphans.is_empty() {
            let held =
                format!("Orphans exist for the volume's replica directories: {}", text::listed(&orphans));
            finding = finding.way(&ORPHANED).fact(api(held));
        }
        out.report(finding);
    }
}
