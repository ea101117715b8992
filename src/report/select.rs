//! A part of a report: what concerns a node, a volume, a claim or a check.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Report, Status};
use crate::check::{Finding, Severity};
use crate::cluster::{Cluster, VolumeRef};
use crate::did_you_mean;
use crate::incidents::{self, Incident};
use crate::longhorn::Resource;

/// What is asked for. Of one kind any may match; kinds must all match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    pub nodes: Vec<String>,
    pub volumes: Vec<String>,
    /// Claims, as `namespace/name`.
    pub pvcs: Vec<String>,
    /// Namespaces of claims: what their owners ask for.
    pub namespaces: Vec<String>,
    pub checks: Vec<String>,
    /// The mildest severity that is shown. Says nothing about the status.
    pub severity: Option<Severity>,
}

/// Says in a report that it is a part of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Selected {
    /// What was asked for, in words.
    pub by: String,
    /// Findings that are not shown.
    pub left_out: usize,
}

impl Selection {
    /// True when the whole report is asked for.
    pub fn is_everything(&self) -> bool {
        *self == Selection::default()
    }

    fn is_of_places(&self) -> bool {
        let nothing_but_severity = Selection { severity: self.severity, ..Selection::default() };
        *self != nothing_but_severity
    }

    fn matches(&self, finding: &Finding) -> bool {
        let any = |wanted: &[String], found: &dyn Fn(&str) -> bool| {
            wanted.is_empty() || wanted.iter().any(|name| found(name))
        };
        // Longhorn's node and Kubernetes' share their name
        let object = |kinds: &[Resource], name: &str| {
            finding.object.name == name && kinds.iter().any(|kind| finding.object.is(*kind))
        };
        any(&self.nodes, &|name| {
            let nodes = [Resource::KubeNodes, Resource::LonghornNodes];
            finding.node.as_deref() == Some(name) || object(&nodes, name)
        }) && any(&self.volumes, &|name| {
            finding.volumes.iter().any(|volume| volume.name == name) || object(&[Resource::Volumes], name)
        }) && any(&self.pvcs, &|name| {
            finding.volumes.iter().any(|volume| volume.pvc.as_deref() == Some(name))
        }) && any(&self.namespaces, &|name| {
            finding.volumes.iter().any(|volume| namespace_of(volume) == Some(name))
        }) && any(&self.checks, &|id| finding.check == id)
    }

    /// Says which name exists nowhere in the cluster: nothing is wrong with what does not exist, which would
    /// look like health. Where the kind cannot be read, any name may exist.
    pub fn unknown_name(&self, cluster: &Cluster, report: &Report) -> Option<String> {
        let objects = &cluster.objects;
        let nodes = || {
            let longhorn = objects.longhorn_nodes.iter().map(|node| node.metadata.name.to_string());
            let kube = objects.kube_nodes.iter().map(|node| node.metadata.name.to_string());
            let pods = cluster.manager_pods().map(|pod| pod.spec.node_name.to_string());
            // a node that is gone can still be what a finding is about
            let found = report.findings.iter().filter_map(|finding| finding.node.clone());
            longhorn.chain(kube).chain(pods).chain(found).collect()
        };
        let volumes = || objects.volumes.iter().map(|volume| cluster.volume_ref(&volume.metadata.name));
        let names = || volumes().map(|volume| volume.name).collect();
        let claims = || volumes().filter_map(|volume| volume.pvc).collect();
        let namespaces = || volumes().filter_map(|volume| namespace_of(&volume).map(str::to_owned)).collect();
        type Known<'a> = &'a dyn Fn() -> Vec<String>;
        let kinds: [(&str, Resource, &[String], Known); 4] = [
            ("node", Resource::LonghornNodes, &self.nodes, &nodes),
            ("volume", Resource::Volumes, &self.volumes, &names),
            ("PVC with a Longhorn volume", Resource::Volumes, &self.pvcs, &claims),
            ("PVC of a Longhorn volume in namespace", Resource::Volumes, &self.namespaces, &namespaces),
        ];
        kinds.into_iter().find_map(|(what, resource, asked, known)| {
            if asked.is_empty() || !cluster.can_read(resource) {
                return None;
            }
            let mut known = known();
            known.sort_unstable();
            known.dedup();
            let name = asked.iter().find(|name| !known.contains(name))?;
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            Some(format!("no {what} '{name}'; {}", did_you_mean::hint(name, &known)))
        })
    }

    fn words(&self) -> String {
        let mut parts = Vec::new();
        for (word, names) in [
            ("node", &self.nodes),
            ("volume", &self.volumes),
            ("PVC", &self.pvcs),
            ("namespace", &self.namespaces),
            ("check", &self.checks),
        ] {
            if !names.is_empty() {
                parts.push(format!("{word} {}", names.join(", ")));
            }
        }
        parts.extend(self.severity.map(|severity| match severity {
            Severity::Critical => "critical only".to_owned(),
            severity => format!("{severity} and worse"),
        }));
        parts.join(", ")
    }
}

/// The namespace of the claim that a volume belongs to.
fn namespace_of(volume: &VolumeRef) -> Option<&str> {
    volume.pvc.as_deref()?.split_once('/').map(|(namespace, _)| namespace)
}

impl Report {
    /// The part that is asked for: incidents that concern it, with their roots, wherever these are.
    /// Status and exit code are about that part, whatever its severity; unknown checks stay, since
    /// what they would have found may concern it.
    pub fn select(&self, selection: &Selection) -> Report {
        if selection.is_everything() {
            return self.clone();
        }
        let mut part = self.clone();
        if selection.is_of_places() {
            let mut kept: BTreeSet<usize> = self
                .incidents
                .iter()
                .flat_map(|incident| {
                    let (roots, rest) = incident.parts();
                    let finding = |place: &&usize| self.findings.get(**place);
                    let hit =
                        |place: &&usize| finding(place).is_some_and(|finding| selection.matches(finding));
                    let wide = |place: &&usize| finding(place).is_some_and(|finding| finding.node.is_none());
                    let hits = || rest.iter().filter(|place| hit(place) || wide(place)).copied();
                    let root_hits: Vec<usize> = roots.iter().filter(hit).copied().collect();
                    match (root_hits.is_empty(), rest.iter().any(|place| hit(&place))) {
                        (true, false) => Vec::new(),
                        (true, true) => roots.iter().copied().chain(hits()).collect(),
                        (false, _) => root_hits.into_iter().chain(hits()).collect::<Vec<_>>(),
                    }
                })
                .collect();
            let waits = |incident: &&Incident| incident.findings.iter().any(|place| kept.contains(place));
            let blockers: BTreeSet<usize> =
                self.incidents.iter().filter(waits).flat_map(|incident| incident.waits_for.clone()).collect();
            let blocking = self.incidents.iter().filter(|incident| blockers.contains(&incident.number));
            // what keeps it from healing belongs to it, wherever that is
            kept.extend(blocking.flat_map(|incident| incident.parts().0));
            part.keep(&kept);
            part.status = Status::of(part.worst(), part.unknown.is_empty());
            part.exit_code = part.exit_code_from(Some(Severity::Warning));
        }
        if let Some(least) = selection.severity {
            let severe = part.incidents.iter().filter(|incident| incident.severity >= least);
            let kept: BTreeSet<usize> = severe.flat_map(|incident| incident.findings.clone()).collect();
            part.keep(&kept);
        }
        let left_out = self.findings.len().saturating_sub(part.findings.len());
        part.selected = Some(Selected { by: selection.words(), left_out });
        part
    }

    /// Keeps these findings. Incidents keep their numbers, their order and what they wait for: a filter shows less, it does not
    /// say something else.
    fn keep(&mut self, places: &BTreeSet<usize>) {
        let findings = places.iter().filter_map(|place| self.findings.get(*place).cloned());
        self.findings = findings.collect();
        let whole = std::mem::take(&mut self.incidents);
        self.incidents = incidents::of(self.catalogue, &self.findings, self.cluster.nodes);
        for incident in &mut self.incidents {
            let same = |known: &&Incident| (known.check, &known.cause) == (incident.check, &incident.cause);
            if let Some(known) = whole.iter().find(same) {
                incident.number = known.number;
                incident.waits_for.clone_from(&known.waits_for);
            }
        }
        self.incidents.sort_by_key(|incident| incident.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::demo;
    use crate::testing::time;

    fn report() -> Report {
        crate::evaluate(&checks::CATALOGUE, &demo::cluster(time("2026-01-01T12:00:00Z")).unwrap()).report
    }

    fn causes(report: &Report) -> Vec<&str> {
        report.incidents.iter().map(incidents_cause).collect()
    }

    fn incidents_cause(incident: &incidents::Incident) -> &str {
        incident.cause
    }

    #[test]
    fn a_node_is_shown_with_the_roots_of_its_trouble() {
        let whole = report();
        let of_5 = whole.select(&Selection { nodes: vec!["worker-5".into()], ..Selection::default() });
        assert_eq!(causes(&of_5), ["open_iscsi_missing"]);
        assert_eq!(of_5.findings.len(), 2);
        // what hangs is the manager of another node, and shows through what follows from it
        let of_1 = whole.select(&Selection { nodes: vec!["worker-1".into()], ..Selection::default() });
        assert_eq!(causes(&of_1)[0], "access_denied");
        let here = |finding: &Finding| finding.node.as_deref().is_none_or(|node| node == "worker-1");
        assert!(of_1.findings.iter().all(|finding| here(finding) || finding.cause.id == "access_denied"));
        let selected = of_1.selected.unwrap();
        assert_eq!(
            (selected.by.as_str(), selected.left_out),
            ("node worker-1", whole.findings.len() - of_1.findings.len())
        );
    }

    /// What is left of a volume that is gone names it as its object alone.
    #[test]
    fn a_finding_about_a_volume_is_one_of_it() {
        use crate::testing::{MANAGER, cluster_at, object_with};
        let made = "creationTimestamp: '2026-01-01T00:00:00Z', labels: {longhornvolume: gone}";
        let left = object_with("Replica", "gone-r-1", made, "spec: {volumeName: gone}");
        let report = crate::evaluate(
            &checks::CATALOGUE,
            &cluster_at("2026-03-01T12:00:00Z", &(MANAGER.to_owned() + &left)),
        );
        let of = |name: &str| {
            let part =
                report.report.select(&Selection { volumes: vec![name.into()], ..Selection::default() });
            causes(&part).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!((of("gone"), of("other")), (vec!["without_volume".to_owned()], Vec::new()));
    }

    #[test]
    fn nothing_about_a_healthy_volume_is_healthy_and_severity_changes_no_status() {
        let whole = report();
        let none = whole.select(&Selection { pvcs: vec!["db/other".into()], ..Selection::default() });
        assert_eq!((none.status, none.exit_code, none.findings.len()), (Status::Healthy, 0, 0));
        let warnings_left_out = Selection {
            volumes: vec![],
            nodes: vec!["worker-4".into()],
            severity: Some(Severity::Critical),
            ..Selection::default()
        };
        let critical = whole.select(&warnings_left_out);
        assert!(critical.incidents.iter().all(|incident| incident.severity == Severity::Critical));
        let notes = whole.select(&Selection {
            checks: vec!["danger_zone_pending".into()],
            severity: Some(Severity::Critical),
            ..Selection::default()
        });
        assert_eq!((notes.status, notes.findings.len()), (Status::Info, 0));
    }
}
