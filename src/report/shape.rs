//! The report: what `check -o json` prints and `/api/v1/report` answers.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::check::{Catalogue, Fact, Finding, Severity};
use crate::cluster::Readability;
use crate::incidents::Incident;
use crate::{Accepted, Data, Selected, Status, happened};

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

/// What was looked at.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ClusterSummary {
    /// What people call the cluster, if they have said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// URL of Longhorn's UI, if it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longhorn_ui: Option<String>,
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
