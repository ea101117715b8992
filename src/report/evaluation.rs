//! Every check over one cluster, and the report of what they said.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::SignedDuration;

use crate::check::signatures::Signatures;
use crate::check::{Catalogue, Check, Finding, OfData, Omitted, Sample, Severity, truncate_to_worst};
use crate::cluster::{Cluster, Readability};
use crate::history::Observation;
use crate::longhorn::Resource;
use crate::{
    Acceptance, Address, ClusterSummary, Data, EVERY_CHECK, Memory, Report, ResourceReport, Status, Unknown,
    accepted, data, exit, incidents, timeline,
};

/// A report with what the exposition and the history need beside it.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// The report.
    pub report: Report,
    /// Samples by family name.
    pub samples: BTreeMap<&'static str, Vec<Sample>>,
    /// What was seen to hold, to be aged.
    pub observed: Vec<Observation>,
    /// Checks that did not look: they could not, or nothing that they read has changed.
    pub blind: BTreeSet<&'static str>,
    /// Every check ran, none said again what it had said before.
    pub whole: bool,
    /// Values that no known release writes, by kind and field.
    pub unrecognized: BTreeMap<(Resource, &'static str), usize>,
    /// Samples that are left out, by family.
    pub omitted_series: BTreeMap<&'static str, usize>,
}

/// How a report is wanted.
#[derive(Debug, Clone, Default)]
pub struct ReportOptions {
    /// Whose cluster it is.
    pub address: Address,
    /// What is accepted.
    pub accepted: Vec<Acceptance>,
    /// True where memory must stay bounded whatever is wrong: then only the worst findings are listed.
    pub bounded: bool,
    /// True where findings are all that is asked for: no incidents are made of them, and nothing is said of data.
    pub findings_alone: bool,
    /// Failures that users know.
    pub signatures: Arc<Signatures>,
    /// How far back the timeline goes; a day without it.
    pub since: Option<SignedDuration>,
}

/// How many findings of a check are listed where memory is bounded.
pub const MAX_OF_CHECK: usize = 1_000;
/// How many findings are listed in all then.
pub const MAX_IN_ALL: usize = 2_000;

/// The same where a finding says what became of Longhorn.
const NO_MANAGER: &str = "Longhorn's objects are outdated: no longhorn-manager is running";

/// Runs every check.
pub fn evaluate(catalogue: &'static Catalogue, cluster: &Cluster) -> Evaluation {
    evaluate_only(catalogue, cluster, |_| true)
}

/// Runs the checks that are wanted.
pub fn evaluate_only(
    catalogue: &'static Catalogue,
    cluster: &Cluster,
    wanted: impl Fn(&Check) -> bool,
) -> Evaluation {
    evaluate_with(catalogue, cluster, wanted, &ReportOptions::default())
}

/// Runs the checks that are wanted, for a report as it is wanted.
pub fn evaluate_with(
    catalogue: &'static Catalogue,
    cluster: &Cluster,
    wanted: impl Fn(&Check) -> bool,
    options: &ReportOptions,
) -> Evaluation {
    evaluate_again(catalogue, cluster, wanted, options, &mut Memory::default())
}

/// The same where it was done before: what a check said stands as long as nothing that it reads has changed.
pub fn evaluate_again(
    catalogue: &'static Catalogue,
    cluster: &Cluster,
    wanted: impl Fn(&Check) -> bool,
    options: &ReportOptions,
    memory: &mut Memory,
) -> Evaluation {
    let mut findings = Vec::new();
    let mut stock = Vec::new();
    let mut time_tells = Vec::new();
    let mut unknown = Vec::new();
    let mut samples = BTreeMap::new();
    let mut observed = Vec::new();
    let (mut blind, mut whole) = (BTreeSet::new(), true);
    let (mut cut_off, mut omitted_series, mut of_data) = (Omitted::new(), BTreeMap::new(), Vec::new());
    let most = options.bounded.then_some(MAX_OF_CHECK);
    for check in catalogue.checks.iter().copied().filter(|check| wanted(check)) {
        let mut verdict = memory.verdict(check, cluster, &options.signatures, most, &mut observed);
        if check.of_signatures && options.bounded {
            // what users add takes the place of nothing else
            let room = MAX_IN_ALL.saturating_sub(findings.len());
            truncate_to_worst(&mut verdict.findings, room, &mut cut_off);
        }
        findings.append(&mut verdict.findings);
        if options.bounded {
            truncate_to_worst(&mut findings, MAX_IN_ALL, &mut cut_off);
        }
        verdict.cut.into_iter().for_each(|(of, count)| *cut_off.entry(of).or_default() += count);
        omitted_series.append(&mut verdict.omitted_series);
        of_data.append(&mut verdict.of_data);
        stock.append(&mut verdict.stock);
        time_tells.append(&mut verdict.time_tells);
        samples.append(&mut verdict.samples);
        whole &= !verdict.stood;
        if verdict.blind {
            blind.insert(check.id);
        }
        let unseen = || check.needs.iter().filter(|kind| !cluster.can_read(**kind));
        let forbidden = unseen().next().is_some()
            && unseen().all(|kind| cluster.readability(*kind) == Readability::Forbidden);
        let reasons = verdict.unknown.into_iter();
        unknown.extend(reasons.map(|reason| Unknown { check: check.id, reason, forbidden }));
    }
    // worst first; within a severity in the order of the checks, then by object
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let mut report = report(catalogue, cluster, findings, &of_data, cut_off, unknown, options);
    (report.facts, report.time_tells) = (stock, time_tells);
    Evaluation {
        report,
        samples,
        observed,
        blind,
        whole,
        unrecognized: cluster.objects.unrecognized(),
        omitted_series,
    }
}

fn report(
    catalogue: &'static Catalogue,
    cluster: &Cluster,
    findings: Vec<Finding>,
    of_data: &[(OfData, Vec<String>)],
    cut_off: Omitted,
    mut unknown: Vec<Unknown>,
    options: &ReportOptions,
) -> Report {
    if let Some(absence) = cluster.absence() {
        // why, and what to do, stands there
        let told = findings.iter().any(|finding| finding.cause.explains_absence);
        let reason = if told { NO_MANAGER.to_owned() } else { absence.to_string() };
        unknown.insert(0, Unknown { check: EVERY_CHECK, reason, forbidden: false });
    }
    let (volumes_by_robustness, data) = match options.findings_alone {
        true => (data::counts(cluster), Data::default()),
        false => data::of(cluster, of_data),
    };
    let (findings, accepted) = accepted::take_out(findings, &options.accepted, cluster.moment());
    let not_listed = accepted::of_omitted(cut_off, &options.accepted, cluster.moment());
    unknown.retain(|unknown| !options.accepted.iter().any(|one| one.is_of_whole_check(unknown.check)));
    let kinds = catalogue.kinds();
    let (mut incidents, mut timeline) = (Vec::new(), Vec::new());
    if !options.findings_alone {
        incidents = incidents::of(catalogue, &findings, cluster.objects.longhorn_nodes.len());
        timeline = timeline::of(cluster, &findings, &mut incidents, options.since.unwrap_or(timeline::DAY));
    }
    let mut report = Report {
        catalogue,
        schema: "v1",
        status: Status::Unknown,
        exit_code: exit::OK,
        cluster: ClusterSummary {
            name: None,
            longhorn_ui: None,
            namespace: cluster.namespace.clone(),
            longhorn_version: cluster.release().map(|release| release.to_string()),
            now: cluster.moment(),
            clock_skew_seconds: cluster.clock_skew.map(|skew| skew.as_secs_f64()),
            recorded: cluster.is_recorded(),
            nodes: cluster.objects.longhorn_nodes.len(),
            volumes: cluster.objects.volumes.len(),
            volumes_by_robustness,
            instance_managers: cluster.objects.instance_managers.len(),
        },
        data,
        incidents,
        timeline,
        lacks_writes: timeline::lacks_writes(cluster),
        findings,
        not_listed,
        accepted,
        selected: None,
        facts: Vec::new(),
        time_tells: Vec::new(),
        unknown,
        not_recorded: kinds
            .iter()
            .copied()
            .filter(|resource| cluster.readability(*resource) == Readability::NotRecorded)
            .filter(|resource| cluster.can_read(*resource))
            .map(Resource::label)
            .collect(),
        resources: kinds.iter().map(|resource| resource_report(cluster, *resource)).collect(),
    };
    report.status = Status::of(report.worst(), report.unknown.is_empty());
    report.exit_code = report.exit_code_from(Some(Severity::Warning));
    report.address(&options.address);
    report
}

fn resource_report(cluster: &Cluster, resource: Resource) -> ResourceReport {
    let status = cluster.resources.get(&resource).cloned().unwrap_or_default();
    ResourceReport {
        resource: resource.label(),
        state: status.readability.as_str(),
        objects: cluster.objects.count(resource),
        undecodable: status.undecodable,
        last_success: status.last_success,
        error: status.error,
    }
}
