//! Before it breaks: can Longhorn be upgraded, can a node be drained, what is lost with what, what still fits.
//!
//! A plan is a table of conditions, declared like causes ([`Condition`]), and a pure function that puts them to a
//! cluster. What an existing check finds is taken from its report and not judged again. What could not be read makes
//! the verdict unknown, never go. A plan changes nothing.

pub mod capacity;
mod condition;
pub mod drain;
pub mod groups;
pub mod junit;
pub mod loss;
pub mod markdown;
mod room;
mod scheduler;
pub mod table;
#[cfg(test)]
mod tests;
pub mod upgrade;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::check::{Catalogue, Command, Finding, Name, Severity, VolumeRef, counted};
use crate::cluster::Cluster;
use crate::longhorn::Resource;
use crate::report::{
    Address, ClusterSummary, Evaluation, NotListed, Report, ReportOptions, Unknown, evaluate_with,
};

use crate::word_enum::word_enum;
pub(crate) use condition::conditions;
pub use condition::{Condition, Found, Look, Reason, Verdict, Weight, held};

/// What `plan … -o json` prints and `/plan/…?o=json` answers (docs/plan.schema.json). Within v1 keys are only added.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Plan {
    /// Version of this shape: `v1`.
    pub schema: &'static str,
    /// Which plan: `upgrade`, `drain`, `loss` or `capacity`.
    pub plan: &'static str,
    /// The question in words.
    pub question: String,
    /// The answer in a word.
    pub verdict: Verdict,
    /// The answer in a sentence.
    pub answer: String,
    /// What the command ends with: 0 go, 1 no or not yet, 2 unknown.
    pub exit_code: u8,
    /// What was looked at.
    pub cluster: ClusterSummary,
    /// The steps of an upgrade, the nodes of a drain, or the one audit.
    pub parts: Vec<Part>,
    /// What is lost with which node, disk or zone; for the plan `loss` alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub losses: Vec<Loss>,
    /// What disks can take; for the plan `capacity` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    pub capacity: Option<capacity::Capacity>,
}

/// A place with which the last copies of volumes are lost.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Loss {
    /// `node`, `disk`, `zone`, or `nodes` that were asked for together.
    pub place: &'static str,
    /// Its name.
    pub name: String,
    /// The node of a disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// What is lost with it.
    pub volumes: Vec<VolumeRef>,
    /// When the newest good backup of each of these volumes was taken, by volume; those that were never backed up are not in it.
    #[schemars(default)]
    pub backups: BTreeMap<String, Timestamp>,
    /// When a backup of each of these volumes was last restored, by volume, where a volume that was restored from one still exists.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(default)]
    pub restores: BTreeMap<String, Timestamp>,
}

/// One subject of a plan with its verdict.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Part {
    /// `v1.8.2 to v1.9.2`, the name of a node, …
    pub subject: String,
    /// The answer for it.
    pub verdict: Verdict,
    /// Why, the heaviest first.
    pub reasons: Vec<Reason>,
    /// What to do, in order, once nothing stands against it.
    pub steps: Vec<Step>,
}

/// One step of what is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Step {
    /// In words.
    pub text: String,
    /// The command for it, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
}

impl Step {
    /// A step without a command.
    pub fn said(text: impl Into<String>) -> Self {
        Step { text: text.into(), command: None }
    }

    /// A step that only reads.
    pub fn read(text: impl Into<String>, run: impl Into<String>) -> Self {
        Step { text: text.into(), command: Some(Command { run: run.into(), changes: false }) }
    }

    /// A step that changes something.
    pub fn change(text: impl Into<String>, run: impl Into<String>) -> Self {
        Step { text: text.into(), command: Some(Command { run: run.into(), changes: true }) }
    }
}

word_enum! {
    /// Which plan.
    pub enum Which {
        /// May Longhorn be upgraded.
        Upgrade = "upgrade",
        /// May a node be drained.
        Drain = "drain",
        /// What is lost with what.
        Loss = "loss",
        /// What still fits.
        Capacity = "capacity",
    }
}

/// What every plan says of the cluster, and by which it is seen whether Longhorn is there and which logs are of interest.
const ALWAYS: &[Resource] = &[
    Resource::LonghornNodes,
    Resource::InstanceManagers,
    Resource::Volumes,
    Resource::Settings,
    Resource::Pods,
    Resource::DaemonSets,
    Resource::Leases,
    Resource::KubeNodes,
];

impl Which {
    /// Its conditions.
    pub fn conditions(self) -> &'static [&'static Condition] {
        match self {
            Which::Upgrade => upgrade::ALL,
            Which::Drain => drain::ALL,
            Which::Loss => loss::ALL,
            Which::Capacity => capacity::ALL,
        }
    }

    /// The checks whose findings it takes.
    pub fn reused(self) -> &'static [&'static str] {
        match self {
            Which::Upgrade => upgrade::REUSED,
            Which::Drain => drain::REUSED,
            Which::Loss | Which::Capacity => &[],
        }
    }

    /// The kinds that it looks at; a live cluster is not asked for others.
    pub fn kinds(self, catalogue: &Catalogue) -> BTreeSet<Resource> {
        // an upgrade may meet bugs whose triggers are in any kind
        if self == Which::Upgrade {
            return Resource::all().collect();
        }
        let conditions = self.conditions().iter().flat_map(|condition| condition.needs);
        let checks = self.reused().iter().filter_map(|id| catalogue.by_id(id));
        let of_checks = checks.flat_map(|check| check.needs.iter().chain(check.uses));
        ALWAYS.iter().chain(conditions).chain(of_checks).copied().collect()
    }
}

/// Every condition of every plan.
pub fn conditions() -> impl Iterator<Item = (&'static str, &'static Condition)> {
    Which::ALL.into_iter().flat_map(|plan| plan.conditions().iter().map(move |one| (plan.as_str(), *one)))
}

/// A condition by its id.
pub fn condition(id: &str) -> Result<&'static str, String> {
    let known: Vec<&str> = conditions().map(|(_, condition)| condition.id()).collect();
    let hint = || format!("no such condition; {}", crate::did_you_mean::hint(id, &known));
    known.iter().find(|known| **known == id).copied().ok_or_else(hint)
}

/// The names of Longhorn's nodes, of which each asked for must be one.
fn known_nodes<'a>(cluster: &'a Cluster, asked: &[String]) -> Result<Vec<&'a str>, String> {
    let nodes = cluster.objects.longhorn_nodes.iter();
    let known: Vec<&str> = nodes.map(|node| node.metadata.name.as_str()).collect();
    match asked.iter().find(|node| !known.contains(&node.as_str())) {
        Some(wrong) if cluster.can_read(Resource::LonghornNodes) => {
            Err(format!("Longhorn has no node {wrong}; {}", crate::did_you_mean::hint(wrong, &known)))
        }
        _ => Ok(known),
    }
}

/// The cluster with what the checks say about it.
#[derive(Debug, Clone, Copy)]
pub struct Looked<'a> {
    pub cluster: &'a Cluster,
    /// What is wrong by the checks, and how much is known.
    pub findings: &'a [Finding],
    /// Findings that are not among them, because there are too many.
    pub not_listed: &'a [NotListed],
    /// Checks without a full verdict.
    pub unknown: &'a [Unknown],
    /// What was looked at.
    pub summary: &'a ClusterSummary,
    /// Conditions that are no reason for this user.
    pub accepted: &'a [&'static str],
    /// How fast its disks have filled, where that is known.
    pub growth: Option<&'a capacity::Growth>,
}

/// Runs the checks that a plan takes findings from.
pub fn evaluate(
    catalogue: &'static Catalogue,
    plan: Which,
    cluster: &Cluster,
    address: &Address,
) -> Evaluation {
    let options = ReportOptions {
        address: address.clone(),
        bounded: true,
        findings_alone: true,
        ..ReportOptions::default()
    };
    evaluate_with(catalogue, cluster, |check| plan.reused().contains(&check.id), &options)
}

impl<'a> Looked<'a> {
    /// The cluster with the report on it.
    pub fn new(cluster: &'a Cluster, report: &'a Report, accepted: &'a [&'static str]) -> Self {
        let Report { findings, not_listed, unknown, cluster: summary, .. } = report;
        Looked { cluster, findings, not_listed, unknown, summary, accepted, growth: None }
    }

    /// Says what these checks could not tell: a check that could not look has found nothing, and that is no go.
    pub fn untold(&self, checks: &[&str], out: &mut Found) {
        let number = self.missing(checks);
        if number > 0 {
            let holds = "of `check` is|are not listed because there are too many";
            let text = held(number, "finding", holds);
            out.unknown(text).fix("Fix the findings that `check` lists. Then run this plan again.");
        }
        let blind: Vec<&Unknown> =
            self.unknown.iter().filter(|unknown| checks.contains(&unknown.check)).collect();
        if blind.is_empty() {
            return;
        }
        let reason = out.unknown(held(blind.len(), "check", "lacks|lack the data for a verdict"));
        reason.fix("Grant the permissions that these checks need (docs/access.md). Otherwise check by hand.");
        for unknown in blind {
            reason.fact(format!("{}: {}", unknown.check, unknown.reason));
        }
    }

    /// How many findings of these checks, to be acted on, are not listed.
    pub fn missing(&self, checks: &[&str]) -> usize {
        let loud = self.not_listed.iter().filter(|some| some.severity > Severity::Info);
        loud.filter(|some| checks.contains(&some.check)).map(|some| some.count).sum()
    }

    /// Findings of one of these checks that are to be acted on.
    pub fn found(&self, checks: &'a [&'a str]) -> impl Iterator<Item = &'a Finding> {
        let loud = |finding: &&Finding| finding.severity > Severity::Info;
        self.findings.iter().filter(loud).filter(move |finding| checks.contains(&finding.check))
    }

    /// Puts one condition to its subject.
    pub fn judge(
        &self,
        condition: &'static Condition,
        shared: &[(Name, String)],
        look: impl FnOnce(&mut Found),
    ) -> Vec<Reason> {
        let mut found = Found::new(condition);
        let blind = self.cluster.blind_spots(condition.needs);
        if blind.is_empty() {
            look(&mut found);
            let lost = condition.needs.iter().filter(|kind| !self.cluster.decoded_all(**kind));
            for kind in lost {
                found
                    .unknown(format!("some objects of {kind} could not be decoded, so the plan ignores them"))
                    .fix("");
            }
        } else {
            let reason = found.say(format!("unknown: whether {}", condition.cause.meaning));
            // what would only be good to know decides nothing
            reason.weight(condition.weight.max(Weight::Unknown)).evidence = blind;
            let hidden = condition.needs.iter().filter(|kind| !self.cluster.can_read(**kind));
            let kinds = crate::facts::text::listed(&hidden.map(Resource::to_string).collect::<Vec<_>>());
            let asked = |kind: &Resource| self.cluster.resources.contains_key(kind);
            reason.fix(match condition.needs.iter().all(asked) {
                true => format!("Grant the permission to read {kinds}, or record them (docs/access.md, docs/recording.md). Otherwise check by hand."),
                false => format!("Run longhorn-health-exporter plan upgrade on the command line: it reads {kinds}, but the \
                          running exporter does not."),
            });
        }
        let mut reasons = found.filled(shared);
        for reason in reasons.iter_mut().filter(|reason| self.accepted.contains(&reason.condition)) {
            reason.accepted = true;
            reason.weight = Weight::Note;
        }
        reasons
    }

    fn plan(
        &self,
        plan: &'static str,
        question: String,
        verdict: Verdict,
        answer: String,
        parts: Vec<Part>,
    ) -> Plan {
        Plan {
            schema: "v1",
            plan,
            question,
            verdict,
            answer,
            exit_code: verdict.exit_code(),
            cluster: self.summary.clone(),
            parts,
            losses: Vec::new(),
            capacity: None,
        }
    }
}

impl Plan {
    /// The verdict in a word: those about data and room give no permission.
    pub fn word(&self) -> &'static str {
        let volume = self.capacity.as_ref().is_some_and(|capacity| capacity.volume.is_some());
        match (self.plan, self.verdict) {
            ("loss", Verdict::Go) if self.losses.is_empty() => "nothing",
            ("loss", Verdict::Go) => "accepted",
            ("loss", Verdict::NotYet | Verdict::No) => "at risk",
            ("capacity", Verdict::Go) => {
                if volume {
                    "fits"
                } else {
                    "enough"
                }
            }
            ("capacity", Verdict::NotYet | Verdict::No) => {
                if volume {
                    "does not fit"
                } else {
                    "not enough"
                }
            }
            (_, verdict) => verdict.said(),
        }
    }
}

impl Part {
    /// Reasons sorted by weight, with the verdict that follows from them.
    pub fn of(subject: String, mut reasons: Vec<Reason>, steps: Vec<Step>) -> Self {
        // what the plan itself sees comes before what a check has found
        let reused = [upgrade::MANAGERS_UNWELL.id(), drain::UNWELL.id()];
        reasons.sort_by_key(|reason| (reason.weight, reused.contains(&reason.condition)));
        let verdict = Verdict::of(&reasons);
        Part { subject, verdict, reasons, steps }
    }

    /// The first reason as a headline: `2 volumes are degraded (and 3 more reasons)`.
    pub fn why(&self) -> String {
        let mut heavy = self.reasons.iter().filter(|reason| reason.weight != Weight::Note);
        match (heavy.next(), heavy.count()) {
            (None, _) => "no known blocker".to_owned(),
            (Some(first), 0) => first.text.clone(),
            (Some(first), more) => format!("{} (and {})", first.text, counted(more, "more reason")),
        }
    }
}

/// Says why a finding of a check is a reason, with its own words and remedy.
pub(crate) fn reuse(found: &mut Found, finding: &Finding) {
    let unnamed = finding.node.as_ref().filter(|node| !finding.message.contains(node.as_str()));
    let place = unnamed.map(|node| format!(" (on {node})")).unwrap_or_default();
    let reason = found.say(format!("{}{place}", finding.message));
    reason.fix(finding.remedy.fix.clone());
    reason.evidence = finding.evidence().iter().map(|fact| fact.text.clone()).collect();
    reason.fact(format!("found by check {} (cause {})", finding.check, finding.cause));
    reason.volumes_in_all = finding.volumes.len();
    reason.volumes = finding.volumes.clone();
    reason.commands = finding.remedy.commands.clone();
}
