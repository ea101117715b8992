//! Fields of Longhorn's objects that contradict each other around eviction.
//!
//! Each cause is one contradiction that is visible in the API alone and that Longhorn does not
//! resolve by itself, or not on every release. What passes by itself within minutes is aged first.
//! Facts: longhorn-manager controller/node_controller.go, backing_image_controller.go,
//! backing_image_manager_controller.go and volume_eviction_controller.go; each cause names its
//! function. A Kubernetes node without nodes.longhorn.io and the reverse are the check
//! `node_unregistered`; eviction that does not advance is `eviction_stalled`.

mod copies;
mod managers;
mod replicas;
mod requests;
#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};

use crate::check::*;
use crate::cluster::Cluster;
use crate::facts::age::held;
use crate::longhorn::Resource;

/// Longhorn looks at nodes every 30 seconds; a contradiction that outlives ten rounds stays.
const SETTLED: SignedDuration = SignedDuration::from_mins(5);

const fn cause(id: &'static str, summary: &'static str) -> Cause {
    Cause { id, severity: Severity::Warning, summary }
}

/// The check.
pub const CHECK: Check = Check {
    id: "eviction_inconsistent",
    title: "Contradictions around eviction",
    summary: "Requests for eviction, replicas and copies of backing images that contradict each other: flags that nobody \
              resets, eviction that is silently suspended, disks that look empty but are not.",
    needs: &[Resource::LonghornNodes, Resource::Replicas, Resource::BackingImages, Resource::Settings],
    uses: &[
        Resource::KubeNodes,
        Resource::Engines,
        Resource::Volumes,
        Resource::VolumeAttachments,
        Resource::BackingImageManagers,
        Resource::BackingImageDataSources,
        Resource::Pods,
        Resource::DaemonSets,
    ],
    causes: &[
        cause(
            "copy_not_starting",
            "a copy of a backing image is wanted on a disk but its status never appears",
        ),
        cause("missing_disk", "a copy of a backing image is on a disk that no node lists"),
        cause(
            "sticky_backing_image_flag",
            "a copy is still asked to leave although nobody requests eviction any more",
        ),
        cause(
            "stale_replica_flag",
            "a replica is asked to leave although neither its disk, its node nor a drain asks for it",
        ),
        cause(
            "suspended_node_down",
            "eviction is requested on a node that is down: Longhorn suspends it silently",
        ),
        cause(
            "disk_not_ready_hides_replicas",
            "an evicted disk is not ready and looks empty although replicas are on it",
        ),
        cause(
            "no_candidate_disk",
            "a detached volume has a replica to evict but is not attached for it: no disk can take the replica",
        ),
        cause(
            "last_rw_replica",
            "the replica that is asked to leave is the only good one and no other is being rebuilt",
        ),
        cause(
            "copy_in_use",
            "a copy is asked to leave while a replica on the same disk, which does not leave, needs it",
        ),
        cause(
            "scheduling_still_allowed",
            "eviction is requested where scheduling is allowed, which the webhook refuses",
        ),
        cause(
            "disk_keys_differ",
            "spec and status of a node list different disks: changes of the node are refused",
        ),
        cause(
            "auto_evicting_stale",
            "a node says that it is evicting automatically although it is not cordoned",
        ),
        cause(
            "data_source_moved",
            "the pod that prepares a backing image runs on another node than its data source names",
        ),
        cause(
            "manager_stale",
            "a backing image manager has an old image or serves a disk that no node lists",
        ),
        cause(
            "no_usable_copy",
            "every copy of a backing image is failed or unknown: volumes on it cannot start",
        ),
    ],
    gauges: &[],
    records: &[],
    alerts: &[Alert {
        name: "LonghornEvictionInconsistent",
        causes: &[],
        expr: "max without ($without) (longhorn_health_finding{$job, check=\"eviction_inconsistent\"}) == 1",
        hold: "10m",
        keep_firing_for: "",
        severity: Severity::Warning,
        thresholds: &[],
        summary: "Longhorn objects contradict each other about eviction.",
        description: "{{ $labels.object_kind }} {{ $labels.object }}\
                      {{ with $labels.node }} on node {{ . }}{{ end }}{{ with $labels.disk }}, disk {{ . }}{{ end }}: \
                      {{ $labels.cause }}. Longhorn does not resolve this by itself. Do not take the node or disk for empty, and do not \
                      remove it, before the runbook's part on {{ $labels.cause }} is done.",
        why: "Findings are aged by minutes already; ten more ride out a restart of a manager or of a node.",
        runbook: include_str!("LonghornEvictionInconsistent.md"),
    }],
    cases: "",
    panels: &[
        Panel {
            dashboard: Dashboard::Eviction,
            title: "Contradictions",
            description: "Objects whose fields contradict each other about eviction, by cause. \
                          The runbook of LonghornEvictionInconsistent has a part for each cause.",
            kind: PanelKind::Table,
            unit: Unit::Short,
            queries: &[Query {
                expr: "max by ($cluster cause, object_kind, object, node, disk) \
                       (longhorn_health_finding{$job, check=\"eviction_inconsistent\"}) == 1",
                legend: "{{cause}} {{object}}",
            }],
            steps: &[],
            width: Width::Full,
            no_data: "nothing contradicts itself, or the exporter does not report",
        },
        Panel {
            dashboard: Dashboard::Eviction,
            title: "Contradictions over time",
            description: "How many objects contradict themselves, by cause. A line that stays is not resolved by Longhorn.",
            kind: PanelKind::TimeSeries,
            unit: Unit::Short,
            queries: &[Query {
                expr: "sum by ($cluster cause) (max without ($without) \
                       (longhorn_health_finding{$job, check=\"eviction_inconsistent\"}))",
                legend: "{{cause}}",
            }],
            steps: &[],
            width: Width::Half,
            no_data: "nothing contradicts itself, or the exporter does not report",
        },
    ],
    run,
};

/// A contradiction that is there now and counts once it has lasted.
struct Suspicion {
    cause: &'static str,
    finding: Finding,
    /// A moment written in the objects before which it cannot have begun.
    not_before: Option<Timestamp>,
    limit: SignedDuration,
    /// True where Longhorn resolves it by itself: without a known age it then does not count.
    needs_age: bool,
}

impl Suspicion {
    fn new(cause: &'static str, object: ObjectRef, message: impl Into<String>) -> Self {
        let finding = Finding::new(cause, object, message);
        Suspicion { cause, finding, not_before: None, limit: SETTLED, needs_age: false }
    }

    fn at(mut self, node: &str, disk: &str) -> Self {
        self.finding = self.finding.node(node).disk(disk);
        self
    }

    fn volumes(mut self, volumes: Vec<VolumeRef>) -> Self {
        self.finding = self.finding.volumes(volumes);
        self
    }

    fn fact(mut self, text: impl Into<String>) -> Self {
        self.finding = self.finding.because(EvidenceSource::Api, text);
        self
    }

    fn maybe(self, text: Option<String>) -> Self {
        match text {
            Some(text) => self.fact(text),
            None => self,
        }
    }

    fn impact(mut self, text: impl Into<String>) -> Self {
        self.finding = self.finding.impact(text);
        self
    }

    fn remedy(mut self, remedy: Remedy) -> Self {
        self.finding = self.finding.remedy(remedy);
        self
    }

    fn not_before(mut self, moment: Option<Timestamp>) -> Self {
        self.not_before = moment;
        self
    }

    fn after(mut self, limit: SignedDuration) -> Self {
        self.limit = limit;
        self
    }
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    let mut suspicions = Vec::new();
    requests::look(cluster, &mut suspicions);
    replicas::look(cluster, &mut suspicions);
    copies::look(cluster, &mut suspicions);
    managers::look(cluster, &mut suspicions);
    for suspicion in suspicions {
        let Suspicion { cause, mut finding, not_before, limit, needs_age } = suspicion;
        let (node, disk) = (finding.node.as_deref(), finding.disk.as_deref());
        let key = format!("{}/{}/{}", finding.object, node.unwrap_or_default(), disk.unwrap_or_default());
        let held = held(cluster, out, cause, &key, not_before, limit);
        if !held.lasting || (needs_age && held.since.is_none()) {
            continue;
        }
        finding.evidence.push(held.evidence());
        out.find(finding.since(held.since));
    }
}
