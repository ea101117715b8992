//! Findings told as incidents: one root, its consequences below it, and the same cause on many objects
//! as one. What ties them is [`Catalogue::relations`]; a consequence whose root was
//! not found, or could not be read, is an incident of its own.

mod group;
mod order;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::check::{
    Alert, Catalogue, Command, Evidence, EvidenceSource, Finding, ObjectRef, Severity, VolumeRef,
    capitalised, counted, said,
};
use crate::happened::Entry;
use crate::longhorn::VolumeHealth;

/// This many volumes and this many objects of an incident are listed; the findings have all of them.
pub const MAX_LISTED: usize = 100;

/// What a person is told about: everything that one cause brings about.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Incident {
    /// Its place in the whole report, from 1 on; a part of the report keeps it.
    pub number: usize,
    /// Id of the root's check.
    pub check: &'static str,
    /// Cause of the root.
    pub cause: &'static str,
    /// What is wrong, in one sentence.
    pub title: String,
    /// The worst of the root and its consequences.
    pub severity: Severity,
    /// Since when the root holds, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// What the root is about, at most 100.
    pub objects: Vec<ObjectRef>,
    /// Findings of the root: one an object.
    pub count: usize,
    /// Nodes that the root or a consequence concerns.
    pub nodes: Vec<String>,
    /// Volumes concerned, those whose data is hurt first, at most 100.
    pub volumes: Vec<VolumeRef>,
    /// Number of volumes concerned.
    pub volume_count: usize,
    /// What follows from the root.
    pub consequences: Vec<Consequence>,
    /// Numbers of the incidents that must end before this one can.
    pub waits_for: BTreeSet<usize>,
    /// What a machine itself said about why, in a line, where neither title nor fix says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<Evidence>,
    /// What to do, in a few sentences; the first of them is the fix.
    pub fix: String,
    /// The command to run first, if there is one. It changes something only where the fix is that change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Command>,
    /// Name of the root's runbook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runbook: Option<&'static str>,
    /// What was changed of the same object within an hour before it began, and can have brought it about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub changed: Vec<Entry>,
    /// Places in the list of findings: those of the root, then the consequences.
    pub findings: Vec<usize>,
}

impl Incident {
    /// What a machine said, with who said it: `log: "…"`.
    pub fn quote(&self) -> Option<String> {
        let said = self.said.as_ref()?;
        let who = match said.source {
            EvidenceSource::Log => "log",
            EvidenceSource::Event => "event",
            EvidenceSource::Api | EvidenceSource::Fingerprint | EvidenceSource::History => "says",
        };
        Some(format!("{who}: \"{}\"", said.text))
    }

    /// The places of the root's findings, and those of the consequences.
    pub fn parts(&self) -> (&[usize], &[usize]) {
        self.findings.split_at(self.count.min(self.findings.len()))
    }
}

/// Findings of one cause that follow from a root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Consequence {
    /// Id of the check.
    pub check: &'static str,
    /// Its cause.
    pub cause: &'static str,
    /// The worst of them.
    pub severity: Severity,
    /// In a few words, without the places.
    pub text: &'static str,
    /// Nodes concerned, where it matters which.
    pub nodes: Vec<String>,
    /// Number of findings.
    pub count: usize,
}

/// The incidents behind these findings, the one to look at first in front. `nodes` is the number of
/// nodes of the cluster: how far something reaches that is bound to none.
pub fn of(catalogue: &Catalogue, findings: &[Finding], nodes: usize) -> Vec<Incident> {
    let ties = group::Ties::new(catalogue.relations, findings);
    let mut groups: Vec<_> = ties.groups();
    groups.sort_by_cached_key(|group| order::key(catalogue, findings, group, nodes));
    let waits = order::waits(findings, &groups, &ties);
    let severities: Vec<Severity> = groups.iter().map(|group| order::severity(findings, group)).collect();
    let order = order::blockers_first(&waits, &severities);
    let mut numbers = vec![0; groups.len()];
    for (number, place) in (1..).zip(&order) {
        if let Some(known) = numbers.get_mut(*place) {
            *known = number;
        }
    }
    let numbered = order.iter().filter_map(|place| {
        let waits_for = waits.get(*place)?.iter().filter_map(|other| numbers.get(*other).copied()).collect();
        Some(Incident {
            number: *numbers.get(*place)?,
            waits_for,
            ..incident(findings, groups.get(*place)?, &ties)
        })
    });
    numbered.collect()
}

/// Alerts by which people learn that they lose data or service; what they follow from never mutes them.
pub const NEVER_MUTED: [&str; 5] = [
    "LonghornShareManagerDown", "LonghornShareManagerRestarting", "LonghornVolumeFaulted",
    "LonghornVolumeLastCopy", "LonghornVolumeReadOnly",
];

/// An alert as far as it can be muted on its own: one of a cause on a node, where it keeps both as labels, else of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AlertKey<'a> {
    /// The alert.
    pub alert: &'static str,
    /// The cause; empty where the alert has no such label.
    pub cause: &'static str,
    /// The node; empty where the alert has no such label, or the findings name none.
    pub node: &'a str,
}

/// Alerts that are no news while another fires, with the name and node of those: all findings that they tell of follow from others.
/// One that is worse than what it follows from is not among them: a warning must not mute a page.
pub fn muted<'a>(
    catalogue: &Catalogue,
    findings: &'a [Finding],
) -> BTreeMap<AlertKey<'a>, BTreeSet<(&'static str, &'a str)>> {
    let ties = group::Ties::new(catalogue.relations, findings);
    let alert = |finding: &Finding| catalogue.by_id(finding.check)?.alert_of(finding.cause);
    let mut alerts: BTreeMap<AlertKey, Option<BTreeSet<(&str, &str)>>> = BTreeMap::new();
    for (place, finding) in findings.iter().enumerate() {
        let Some(alert_of) = alert(finding).filter(|alert| alert.tells_of(finding.cause)) else { continue };
        let key = AlertKey {
            alert: alert_of.name,
            cause: if alert_of.keeps("cause") { finding.cause.id } else { "" },
            node: node_of(alert_of, finding),
        };
        let worse = |root: &&Finding| root.severity >= finding.severity;
        let roots = ties.reasons(place).into_iter().filter_map(|root| findings.get(root)).filter(worse);
        let roots: BTreeSet<_> = roots
            .filter_map(|root| alert(root).map(|alert| (alert.name, node_of(alert, root))))
            .filter(|(name, _)| *name != alert_of.name)
            .collect();
        let all = alerts.entry(key).or_insert_with(|| Some(BTreeSet::new()));
        match all {
            Some(all) if !roots.is_empty() => all.extend(roots),
            // it tells of something else, too
            _ => *all = None,
        }
    }
    alerts.retain(|key, _| !NEVER_MUTED.contains(&key.alert));
    alerts.into_iter().filter_map(|(key, roots)| Some((key, roots?))).collect()
}

/// The node as the alert about a finding names it.
fn node_of<'a>(alert: &Alert, finding: &'a Finding) -> &'a str {
    finding.node.as_deref().filter(|_| alert.keeps("node")).unwrap_or_default()
}

fn incident(findings: &[Finding], group: &group::Group, ties: &group::Ties) -> Incident {
    let all = |places: &[usize]| -> Vec<&Finding> {
        places.iter().filter_map(|place| findings.get(*place)).collect()
    };
    let (roots, rest) = (all(&group.roots), all(&group.consequences));
    let members: Vec<&Finding> = roots.iter().chain(&rest).copied().collect();
    let mut volumes: Vec<&VolumeRef> = members.iter().flat_map(|finding| &finding.volumes).collect();
    volumes.sort_by_key(|volume| (health(volume), volume.name.as_str()));
    volumes.dedup_by(|a, b| a.name == b.name);
    let root = roots.first();
    let (title, remedy) = (title(&roots), root.map(|root| &root.remedy));
    let fix = remedy.map(|remedy| remedy.fix.clone()).unwrap_or_default();
    let text = format!("{title} {fix}");
    Incident {
        number: 0,
        check: root.map_or("", |root| root.check),
        cause: root.map_or("", |root| root.cause.id),
        title,
        severity: members.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Info),
        since: roots.iter().filter_map(|root| root.since).min(),
        objects: roots.iter().take(MAX_LISTED).map(|root| root.object.clone()).collect(),
        count: roots.len(),
        nodes: nodes_of(&members),
        volume_count: volumes.len(),
        volumes: volumes.into_iter().take(MAX_LISTED).cloned().collect(),
        consequences: consequences(&group.consequences, findings, ties),
        waits_for: BTreeSet::new(),
        said: root.and_then(|root| root.said.clone()).filter(|said| !said::is_told(&text, &said.text)),
        fix,
        first: remedy.and_then(|remedy| remedy.commands.first()).cloned(),
        runbook: root.and_then(|root| root.runbook),
        changed: Vec::new(),
        findings: group.roots.iter().chain(&group.consequences).copied().collect(),
    }
}

fn health(volume: &VolumeRef) -> VolumeHealth {
    volume.robustness.unwrap_or(VolumeHealth::Unknown)
}

/// The first finding speaks, for itself or for all that are like it.
pub fn title(roots: &[&Finding]) -> String {
    let [root, more @ ..] = roots else { return String::new() };
    let mut nodes = nodes_of(more);
    nodes.retain(|node| Some(node) != root.node.as_ref());
    // a disk is told by its node's object
    let kind = if roots.iter().all(|root| root.disk.is_some()) { "disk" } else { root.object.kind };
    let rest = match (more.len(), nodes.len()) {
        (0, _) => String::new(),
        (more, 0) => format!("; {}", counted(more, &noun(kind)).replacen(' ', " more ", 1)),
        (more, on) if more == on => format!("; also on {}", places(&nodes)),
        (more, _) => format!("; {more} more, also on {}", places(&nodes)),
    };
    format!("{}{rest}", capitalised(&root.message))
}

/// A kind as people write it: `volume attachment`.
fn noun(kind: &str) -> String {
    let kind = kind.strip_suffix("s.longhorn.io").unwrap_or(kind);
    let mut noun = String::new();
    for c in kind.chars() {
        if c.is_ascii_uppercase() && noun.ends_with(|last: char| last.is_ascii_lowercase()) {
            noun.push(' ');
        }
        noun.push(c);
    }
    noun.to_ascii_lowercase()
}

/// Nodes by name, many of them only by number: `worker-1, -3, -4` or `320 nodes (a, b, c and 317 more)`.
pub fn places(nodes: &[String]) -> String {
    const NAMED: usize = 3;
    let mut named: Vec<&str> = Vec::new();
    for (node, before) in nodes.iter().zip([None].into_iter().chain(nodes.iter().map(Some))).take(NAMED) {
        named.push(before.and_then(|before| ending(node, before)).unwrap_or(node));
    }
    let named = named.join(", ");
    match nodes.len().checked_sub(NAMED) {
        Some(more) if more > 0 => format!("{} nodes ({named} and {more} more)", nodes.len()),
        _ => named,
    }
}

/// What tells a node from the one before it, where both are numbered alike.
fn ending<'a>(node: &'a str, before: &str) -> Option<&'a str> {
    let (name, number) = node.rsplit_once('-')?;
    let same = before.rsplit_once('-').is_some_and(|(other, _)| other == name);
    let numbered = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    (same && numbered).then(|| node.get(name.len()..)).flatten()
}

fn nodes_of(findings: &[&Finding]) -> Vec<String> {
    let mut nodes: Vec<String> = findings.iter().filter_map(|finding| finding.node.clone()).collect();
    sort_names(&mut nodes);
    nodes
}

fn sort_names(names: &mut Vec<String>) {
    names.sort_by_cached_key(|name| natural(name));
    names.dedup();
}

/// Names as people sort them: worker-2 before worker-10.
pub fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let (mut word, mut digits) = (String::new(), String::new());
    for c in name.chars() {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        if !digits.is_empty() {
            parts.push((std::mem::take(&mut word), digits.parse().unwrap_or(u64::MAX)));
            digits.clear();
        }
        word.push(c);
    }
    parts.push((word, digits.parse().unwrap_or_default()));
    parts
}

fn consequences(places: &[usize], findings: &[Finding], ties: &group::Ties) -> Vec<Consequence> {
    let mut consequences: Vec<Consequence> = Vec::new();
    for place in places {
        let Some(finding) = findings.get(*place) else { continue };
        let Some(relation) = ties.relation(*place) else { continue };
        let same = consequences
            .iter_mut()
            .find(|consequence| consequence.check == finding.check && consequence.text == relation.phrase);
        let consequence = match same {
            Some(known) => known,
            None => {
                consequences.push(Consequence {
                    check: finding.check,
                    cause: finding.cause.id,
                    severity: finding.severity,
                    text: relation.phrase,
                    nodes: Vec::new(),
                    count: 0,
                });
                let Some(new) = consequences.last_mut() else { continue };
                new
            }
        };
        consequence.severity = consequence.severity.max(finding.severity);
        consequence.count += 1;
        consequence.nodes.extend(finding.node.clone().filter(|_| relation.on_nodes));
    }
    for consequence in &mut consequences {
        sort_names(&mut consequence.nodes);
    }
    consequences
}
