//! Fields of Longhorn's objects that contradict each other around eviction.
//!
//! Each cause is one contradiction that is visible in the API alone and that Longhorn does not
//! resolve on its own, or not on every release. What passes on its own within minutes is aged first.
//! Facts: longhorn-manager controller/node_controller.go, backing_image_controller.go,
//! backing_image_manager_controller.go and volume_eviction_controller.go; each cause names its
//! function. A Kubernetes node without nodes.longhorn.io and the reverse are the check
//! `node_unregistered`; eviction that does not advance is `eviction_stalled`.

mod causes;
mod copies;
mod managers;
mod replicas;
mod requests;
#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};

use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::patience::RECONCILE;
use crate::longhorn::Resource::*;

pub static CHECK: Check = check! {
    id: "eviction_inconsistent",
    title: "Contradictions around eviction",
    summary: "Objects contradict each other about an eviction. A flag stays set, the eviction is silently suspended, or a disk looks empty but is not.",
    needs: &[LonghornNodes, Replicas, BackingImages, Settings],
    uses: &[
        KubeNodes, Engines, Volumes, VolumeAttachments, BackingImageManagers, BackingImageDataSources, Pods,
        DaemonSets,
    ],
    causes: causes::ALL,
    ways: &[causes::WAYS],
    gauges: &[],
    alerts: &[alert! { "LonghornEvictionInconsistent",
        when: When::Found(causes::ALL),
        side_by_side: true,
        for_: "10m",
        summary: "Longhorn objects contradict each other about eviction.",
        description: "{{ $labels.object_kind }} {{ $labels.object }}{{ with $labels.node }} on node {{ . }}{{ end }}{{ with $labels.disk }}, disk {{ . }}{{ \
                      end }} and other objects disagree about an eviction. Longhorn does not resolve this by itself: follow runbook section {{ \
                      $labels.cause }}. Do not remove a node or disk that looks empty.",
        why: "The check already waits a few minutes. The alert waits 10 min more, in case a manager or a node is restarting.",
    }],
    panels: &[
        Panel {
            dashboard: Dashboard::Eviction,
            title: "Contradictions",
            description: "Objects whose fields contradict each other about eviction, by cause. The runbook of LonghornEvictionInconsistent has a \
                          section for each cause.",
            columns: &["cause", "object_kind", "object", "node", "disk"],
            width: Width::Full,
            no_data: "no object contradicts another, or the exporter is not reporting",
            ..Panel::TABLE.of_findings("eviction_inconsistent")
        },
        Panel {
            dashboard: Dashboard::Eviction,
            title: "Contradictions over time",
            description: "Contradictory objects by cause. If a line stays, Longhorn does not resolve the contradiction: follow the cause's runbook.",
            expr: "sum by ($cluster cause) (max without ($without) \
                   (longhorn_health_finding{$job, check=\"eviction_inconsistent\"}))",
            legend: "{{cause}}",
            no_data: "no object contradicts another, or the exporter is not reporting",
            ..Panel::TIME_SERIES
        },
    ],
};

/// A contradiction that is there now and counts once it has lasted.
struct Candidate {
    cause: &'static Cause,
    finding: Finding,
    /// A moment written in the objects before which it cannot have begun.
    not_before: Option<Timestamp>,
    limit: SignedDuration,
    /// Waits where Longhorn resolves it on its own.
    unknown: Unknown,
    /// True where Longhorn resolves it within a minute: without a known age it then is context only.
    passes: bool,
}

impl Candidate {
    fn new(cause: &'static Cause, object: ObjectRef, message: impl Into<String>) -> Self {
        let finding = Finding::about(cause, object, message);
        Candidate {
            cause,
            finding,
            not_before: None,
            limit: RECONCILE,
            unknown: Unknown::Counts,
            passes: false,
        }
    }

    fn at(mut self, node: &str, disk: &str) -> Self {
        self.finding = self.finding.node(node).disk(disk);
        self
    }

    fn volumes(mut self, volumes: Vec<VolumeRef>) -> Self {
        self.finding = self.finding.volumes(volumes);
        self
    }

    fn fact(mut self, text: impl Into<Evidence>) -> Self {
        self.finding = self.finding.fact(text);
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

    fn with(mut self, name: Name, value: impl Into<String>) -> Self {
        self.finding = self.finding.with(name, value);
        self
    }

    fn way(mut self, way: &'static Way) -> Self {
        self.finding = self.finding.way(way);
        self
    }

    fn not_before(mut self, moment: Option<Timestamp>) -> Self {
        self.not_before = moment;
        self
    }

    fn passes(mut self, passes: bool) -> Self {
        self.passes = passes;
        self
    }

    fn after(mut self, limit: SignedDuration) -> Self {
        self.limit = limit;
        self
    }
}

/// Where suspicions go, one by one: all replicas of a cluster may be under one, and findings are bounded only
/// once they are handed over.
struct Reporter<'a, 'c> {
    cluster: &'a Cluster,
    out: &'a mut Outcome<'c>,
}

impl Reporter<'_, '_> {
    fn extend(&mut self, suspicions: impl IntoIterator<Item = Candidate>) {
        suspicions.into_iter().for_each(|suspicion| self.push(suspicion));
    }

    fn push(&mut self, suspicion: Candidate) {
        let Candidate { cause, mut finding, not_before, limit, unknown, passes } = suspicion;
        let (node, disk) = (finding.node.as_deref(), finding.disk.as_deref());
        let key = format!("{}/{}/{}", finding.object, node.unwrap_or_default(), disk.unwrap_or_default());
        let age = observe(self.cluster, self.out, cause.id, &key, Begun::NotBefore(not_before));
        if age.at_least(limit, unknown) {
            finding = finding.fact(age.evidence());
            if passes && age.is_unknown() {
                finding = finding.severity(Severity::Info);
            }
            self.out.report(finding.since(age.since));
        } else if age.at_least(limit, Unknown::Counts) {
            self.out.time_tells(cause, &key);
        }
    }
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    let found = &mut Reporter { cluster, out };
    requests::look(cluster, found);
    replicas::look(cluster, found);
    copies::look(cluster, found);
    managers::look(cluster, found);
}
