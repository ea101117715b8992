//! Evaluation: every check over one cluster, into one report and its samples.

// no panic on data from outside
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

#[cfg(test)]
pub(crate) use ::{source, testing};
pub(crate) use ::facts;
pub(crate) use model::{check, cluster, did_you_mean, edits, history, longhorn, word_enum, yaml_error};

#[cfg(test)]
mod absence_tests;
mod accepted;
mod address;
mod at_risk;
mod data;
pub mod diff;
pub mod happened;
pub mod incidents;
#[cfg(test)]
mod left_out_tests;
#[cfg(test)]
mod linear_tests;
mod memory;
pub mod redundancy;
pub mod rights;
mod select;
pub mod signatures;
mod status;
pub mod text;
pub mod timeline;
#[cfg(test)]
mod undecodable_tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::check::signatures::Signatures;
use crate::check::{Catalogue, Check, Fact, Finding, OfData, Omitted, Sample, Severity, truncate_to_worst};
use crate::cluster::{Cluster, Readability};
use crate::history::Observation;
use crate::incidents::Incident;
use crate::longhorn::Resource;

pub use accepted::{Acceptance, Accepted};
pub use address::Address;
pub use at_risk::{AtRisk, Place};
pub use data::Data;
pub use memory::Memory;
pub use select::{Selected, Selection};
pub use status::{Status, exit};

/// What `check -o json` prints and `/api/v1/report` answers (docs/report.schema.json). Within v1 keys
/// are only added.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Report {
    /// By which it was made.
    #[serde(skip)]
    pub catalogue: &'static Catalogue,
    /// Version of this shape: `v1`.
    pub schema: &'static str,
    /// How the cluster is, in a word: the worst that was found, and `unknown` where nothing urgent was
    /// found but not everything could be read.
    pub status: Status,
    /// What `check` ends with: 1 for what reaches --fail-on (warning, unless told otherwise), 2 for
    /// what could not be read, else 0.
    pub exit_code: u8,
    /// What was looked at.
    pub cluster: ClusterSummary,
    /// Whose data is hurt.
    pub data: Data,
    /// What is wrong, told by root causes; the one to look at first in front.
    pub incidents: Vec<Incident>,
    /// What happened of late, newest first: incidents, and what was changed beside them; at most 200.
    #[schemars(default)]
    pub timeline: Vec<happened::Entry>,
    /// True for a recording that does not hold who wrote what, and when.
    #[serde(skip)]
    pub lacks_writes: bool,
    /// What is wrong, one by one, worst first.
    pub findings: Vec<Finding>,
    /// Findings that are counted and not listed, because there are too many; the worst are listed. Only an
    /// exporter has such, `check` lists all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_listed: Vec<NotListed>,
    /// What was found and accepted: counted apart, and part of neither status nor exit code.
    pub accepted: Vec<Accepted>,
    /// Says which part of the report this is; left out of a whole one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected: Option<Selected>,
    /// What every cluster with this release of Longhorn has: good to know, nothing to act on.
    pub facts: Vec<Fact>,
    /// What a recording or a single look cannot tell, because no object says since when it is so: it may be wrong if it lasts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub time_tells: Vec<TimeTells>,
    /// Checks without a (full) verdict.
    pub unknown: Vec<Unknown>,
    /// Kinds of which a recording has no object; they count as empty. Those of which the cluster had
    /// some, as other objects show, make their checks unknown instead.
    pub not_recorded: Vec<String>,
    /// How each kind could be read.
    pub resources: Vec<ResourceReport>,
}

/// Findings that are counted and not listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotListed {
    /// Id of the check.
    pub check: &'static str,
    /// Its cause.
    pub cause: &'static str,
    /// How bad.
    pub severity: Severity,
    /// How many.
    pub count: usize,
    /// True where all of this check or cause is accepted.
    pub accepted: bool,
}

/// What time has to tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TimeTells {
    /// Id of the check.
    pub check: &'static str,
    /// What it would be if it lasts: a cause of the check.
    pub cause: &'static str,
    /// How many objects.
    pub count: usize,
    /// The first of them.
    pub objects: Vec<String>,
}

/// Stands for a check in an [`Unknown`] that is about all of them: Longhorn itself is not there.
pub const EVERY_CHECK: &str = "cluster";

/// The same where a finding says what became of Longhorn.
const NO_MANAGER: &str = "Longhorn's objects are outdated: no longhorn-manager is running";

/// What was looked at.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ClusterSummary {
    /// What people call the cluster, if they have said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Longhorn's namespace.
    pub namespace: String,
    /// Longhorn's release, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longhorn_version: Option<String>,
    /// The moment the verdict is about; unknown for a recording without any time in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<Timestamp>,
    /// How many seconds the clock of the exporter is ahead of the API server's; negative when it is behind,
    /// left out where the API server does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_skew_seconds: Option<f64>,
    /// True for a recording, in which nothing ages.
    pub recorded: bool,
    /// Number of Longhorn nodes.
    pub nodes: usize,
    /// Number of volumes.
    pub volumes: usize,
    /// Volumes by how they are: by robustness, and `detached` for those that are not attached.
    pub volumes_by_robustness: BTreeMap<&'static str, usize>,
    /// Number of instance managers.
    pub instance_managers: usize,
}

impl ClusterSummary {
    /// That the clock of the exporter is wrong, or the API server's, when they differ by more than a minute.
    pub fn wrong_clock(&self) -> Option<String> {
        let seconds = self.clock_skew_seconds.filter(|seconds| seconds.abs() > MAX_SKEW)?;
        let (amount, side) = (seconds.abs().round(), if seconds > 0.0 { "ahead of" } else { "behind" });
        Some(format!("this clock is {amount} s {side} the API server's, so ages are wrong"))
    }
}

/// Clocks that differ by more make ages wrong that checks judge in minutes.
const MAX_SKEW: f64 = 60.0;

/// A check without a (full) verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unknown {
    /// Id of the check, or `cluster` for all of them: Longhorn itself is not there.
    pub check: &'static str,
    /// Why.
    pub reason: String,
    /// True when only rights are missing; one sentence says so for all checks.
    #[serde(skip)]
    pub forbidden: bool,
}

/// How a kind could be read.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ResourceReport {
    /// The kind, as `volumes.longhorn.io`.
    pub resource: String,
    /// Whether it can be trusted.
    #[schemars(with = "Readability")]
    pub state: &'static str,
    /// Objects held.
    pub objects: usize,
    /// Objects that did not decode.
    pub undecodable: usize,
    /// When the source last answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_success: Option<Timestamp>,
    /// What the source said last, when it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

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

impl Report {
    /// True when a check had no (full) verdict.
    pub fn is_unknown(&self, check: &str) -> bool {
        self.unknown.iter().any(|unknown| unknown.check == check || unknown.check == EVERY_CHECK)
    }

    /// The findings at these places, together by cause, each cause where its first finding is.
    pub fn by_cause(&self, places: &[usize]) -> Vec<Vec<&Finding>> {
        let mut causes: Vec<Vec<&Finding>> = Vec::new();
        for finding in places.iter().filter_map(|place| self.findings.get(*place)) {
            let is_alike = |known: &&mut Vec<&Finding>| {
                known.first().is_some_and(|known| {
                    (known.check, known.cause.id, &known.signature)
                        == (finding.check, finding.cause.id, &finding.signature)
                })
            };
            match causes.iter_mut().find(is_alike) {
                Some(known) => known.push(finding),
                None => causes.push(vec![finding]),
            }
        }
        causes
    }

    /// The worst severity found.
    pub fn worst(&self) -> Option<Severity> {
        let listed = self.findings.iter().map(|finding| finding.severity);
        listed.chain(self.counted_only().map(|some| some.severity)).max()
    }

    /// How many findings there are of this severity, listed or not.
    pub fn count(&self, severity: Severity) -> usize {
        let listed = self.findings.iter().filter(|finding| finding.severity == severity).count();
        let only = self.counted_only().filter(|some| some.severity == severity);
        listed + only.map(|some| some.count).sum::<usize>()
    }

    /// Findings that are not listed and not accepted.
    pub fn counted_only(&self) -> impl Iterator<Item = &NotListed> {
        self.not_listed.iter().filter(|some| !some.accepted)
    }

    /// That not everything is listed, in a sentence.
    pub fn not_listed_line(&self) -> Option<String> {
        let all: usize = self.counted_only().map(|some| some.count).sum();
        let mut by_cause: BTreeMap<_, usize> = BTreeMap::new();
        self.counted_only()
            .for_each(|some| *by_cause.entry((some.check, some.cause)).or_default() += some.count);
        let causes: Vec<_> =
            by_cause.iter().map(|((check, cause), count)| format!("{check}/{cause} {count}")).collect();
        (all > 0).then(|| format!("{all} more findings are counted but not listed ({})", causes.join(", ")))
    }
}
