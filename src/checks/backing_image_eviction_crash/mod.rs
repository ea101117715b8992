//! Copies of backing images that crash longhorn-manager when eviction is requested.
//!
//! Facts: while a node or one of its disks requests eviction, the manager of that node goes through
//! every copy that a backing image's *status* lists on the node's disks and writes to the copy of the
//! same disk in its *spec*. A copy that has left the spec but not yet the status is a nil pointer
//! there, and the manager panics with exit code 2, again at each start (longhorn-manager v1.7.3,
//! v1.8.1 and v1.9.0 controller/node_controller.go syncBackingImageEvictionRequested, datastore/longhorn.go
//! GetDiskBackingImageMap). Which disks count differs by release, see [`crate::facts::stale_copies`]. Automatic eviction
//! of a cordoned node does not come into it: the function returns early without a request in the
//! node's spec.

mod causes;
mod finding;

use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::patience::NEXT_LOOK;
use crate::facts::stale_copies::{self, Exposure};
use crate::longhorn::Resource::*;

pub static CHECK: Check = check! {
    id: "backing_image_eviction_crash",
    title: "Backing image eviction crash",
    summary: "A backing image copy is in the status but no longer in the spec. On affected releases, the manager panics once eviction is requested. \
              During an upgrade, the release of the node's own manager counts.",
    needs: &[LonghornNodes, BackingImages, Settings],
    uses: &[DaemonSets, Pods, Volumes],
    causes: causes::ALL,
    gauges: GAUGES,
    alerts: &[
        alert! { "LonghornBackingImageEvictionCrashRisk",
            when: When::Found(&[&causes::AT_RISK]),
            keep_firing_for: "5m",
            summary: "A requested eviction makes longhorn-manager panic on a backing image.",
            description: "Backing image {{ $labels.object }} has a stale copy on {{ with $labels.disk }}disk {{ . }} of {{ end }}{{ with $labels.node }}node \
                          {{ . }}{{ else }}a node{{ end }}, where eviction is requested. The node's longhorn-manager is crash-looping. Set evictionRequested \
                          to false on the node and its disks until longhorn_health_backing_image_eviction_unsafe_copies is 0.",
            why: "The alert does not wait, because the manager checks the stale copy at least every 30 s and crashes. The alert keeps firing for 5 min, in \
            case of another crash.",
        },
        alert! { "LonghornBackingImageEvictionCrashLatent",
            when: When::Found(&[&causes::LATENT]),
            runbook_only: &[&causes::TRANSIENT],
            for_: "5m",
            summary: "Requesting eviction would make longhorn-manager panic on a backing image.",
            description: "Backing image {{ $labels.object }} has a stale copy on {{ with $labels.disk }}disk {{ . }} of {{ end }}{{ with $labels.node }}node \
                           {{ . }}{{ else }}a node{{ end }}. Do not request eviction there until the copy is deleted: longhorn-manager would panic. Find out \
                           why the backing image manager keeps the copy.",
            why: "The check waits 3 min. The alert waits 5 min more, in case the exporter or the backing image manager is restarting.",
        },
    ],
    panels: PANELS,
};

const PANELS: &[Panel] = &[
    Panel {
        title: "Eviction crash risk",
        description: "Backing image copies that are crashing a manager because eviction is requested. If above 0, first set evictionRequested to false.",
        expr: "sum by ($cluster job) (max without ($without) (longhorn_health_check_findings{$job, \
               check=\"backing_image_eviction_crash\", severity=\"critical\"})) or 0 * max by ($cluster job) \
               (longhorn_health_checks{$job, state=\"known\"} > 0)",
        legend: "at risk",
        steps: &[Step::at(0.0, "green"), Step::at(1.0, "red")],
        no_data: "unknown: make sure that the exporter is scraped, then read the list of unknown checks",
        ..Panel::STAT
    },
    Panel {
        dashboard: Dashboard::Eviction,
        title: "Safe to request eviction",
        description: "Backing image copies that would crash a manager if their node's eviction were requested. At 0, you can request eviction.",
        expr: "max by ($cluster job) (longhorn_health_backing_image_eviction_unsafe_copies{$job})",
        legend: "unsafe copies",
        steps: &[Step::at(0.0, "green"), Step::at(1.0, "orange")],
        width: Width::Quarter,
        no_data: "the release or the backing images cannot be read",
        ..Panel::STAT
    },
    Panel {
        dashboard: Dashboard::Eviction,
        title: "Stale backing image copies",
        description: "Backing image copies still in the status but not in the spec. A few seconds are normal. If copies stay for minutes, check the \
                      node's backing image manager.",
        columns: &["backing_image", "node", "disk"],
        no_data: "spec and status of every backing image agree, or the exporter is not reporting",
        ..Panel::TABLE.of(&STATUS_NOT_SPEC)
    },
];

gauges! {
    STATUS_NOT_SPEC = Gauge "longhorn_health_backing_image_status_not_spec" ["backing_image", "node", "disk"]
        "1 per backing image copy in status but not in spec.",
        absent "both agree or Longhorn is below 1.7",
        example "count by (node) (longhorn_health_backing_image_status_not_spec)";
    UNSAFE_COPIES = Gauge "longhorn_health_backing_image_eviction_unsafe_copies" []
        "Backing image copies that crash this release's manager if eviction of their node is requested.",
        absent "that is unknown",
        example "longhorn_health_backing_image_eviction_unsafe_copies == 0";
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    let mut pairs = stale_copies::all(cluster);
    for pair in &pairs {
        let labels = [pair.image.metadata.name.as_str(), pair.node_name(), pair.place.name];
        out.sample(&STATUS_NOT_SPEC, &labels, 1.0);
    }
    if pairs.iter().any(|pair| pair.release.is_none()) {
        out.unknown("the Longhorn release is unknown, so the check cannot tell whether its manager panics on eviction");
        return;
    }
    pairs.retain(|pair| pair.exposure() != Exposure::Never);
    out.sample(&UNSAFE_COPIES, &[], pairs.len() as f64);
    if pairs.is_empty() {
        return;
    }
    let words = finding::Words::new(cluster, &pairs);
    for pair in &pairs {
        let changed = pair.copy.last_state_transition_time.get();
        let key = format!("{}/{}", pair.image.metadata.name, pair.uuid);
        let age = observe(cluster, out, "status_not_spec", &key, Begun::NotBefore(changed));
        let finding = match (pair.is_hit(), age.at_least(NEXT_LOOK, Unknown::Counts)) {
            (true, _) => words.at_risk(pair),
            (false, true) => words.latent(pair),
            (false, false) => words.transient(pair),
        };
        let finding = finding.since(age.since).not_before(age.earliest);
        out.report(finding.fact(age.evidence()));
    }
}
