//! What a check finds.

mod advised;

use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::advice::Name;
use super::evidence::Evidence;
use super::remedy::Remedy;
use super::{Cause, Way};
use crate::cluster::{ObjectRef, VolumeRef};
use crate::word_enum::word_enum;

word_enum! {
    /// How bad a finding is.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Severity {
        /// Context only.
        Info = "info",
        /// To be looked at in working hours.
        Warning = "warning",
        /// To be acted on now: data or service is at stake.
        Critical = "critical",
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Something that is wrong, or will be, with one object.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// Id of the check.
    pub check: &'static str,
    /// Cause, from the closed list of the check.
    #[schemars(with = "String")]
    pub cause: &'static Cause,
    /// How bad.
    pub severity: Severity,
    /// What it is about.
    pub object: ObjectRef,
    /// Node it happens on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Disk that is meant: its name on the node, or its UUID where no node lists it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// Volumes that are affected or that hold the object.
    pub volumes: Vec<VolumeRef>,
    /// Since when, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// It cannot have begun before that moment. Where `since` is the same one, it began then or later.
    #[serde(skip)]
    pub not_before: Option<Timestamp>,
    /// True where nothing has happened: it only would, if someone did what it names.
    #[serde(skip)]
    pub hypothetical: bool,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What it does to volumes and workloads, in one sentence.
    pub impact: String,
    /// What the verdict rests on.
    pub(super) evidence: Vec<Evidence>,
    /// What a machine itself said about why, in a line: the first of the evidence that quotes one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<Evidence>,
    /// What to do.
    pub remedy: Remedy,
    /// Name of the runbook, which is the name of its alert.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runbook: Option<&'static str>,
    /// Page of its volume or node in Longhorn's UI, if the UI's URL was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longhorn_ui: Option<String>,
    /// Name of the user's signature that found it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The way in which the cause came about.
    #[serde(skip)]
    pub(super) way: Option<&'static Way>,
    /// What templates of the cause and its ways name beside the fields above.
    #[serde(skip)]
    pub(crate) values: Vec<(Name, String)>,
}

/// Since when something holds, as far as that is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Since {
    /// Since then, or else since the moment before which it cannot have begun.
    pub at: Option<Timestamp>,
    /// It cannot have begun before.
    pub not_before: Option<Timestamp>,
}

impl From<Option<Timestamp>> for Since {
    fn from(at: Option<Timestamp>) -> Self {
        Since { at, not_before: None }
    }
}

impl Finding {
    /// A finding about an object, as bad as its cause; check and runbook are filled in by the outcome.
    pub fn about(cause: &'static Cause, object: ObjectRef, message: impl Into<String>) -> Self {
        Finding {
            check: "",
            cause,
            severity: cause.severity,
            object,
            node: None,
            disk: None,
            volumes: Vec::new(),
            since: None,
            not_before: None,
            hypothetical: false,
            message: message.into(),
            impact: String::new(),
            evidence: Vec::new(),
            said: None,
            remedy: Remedy::default(),
            runbook: None,
            longhorn_ui: None,
            signature: None,
            way: None,
            values: Vec::new(),
        }
    }

    /// Says what the templates of the cause mean by this name; an empty value is none. A step that names it is written once for
    /// each value.
    pub fn with(mut self, name: Name, value: impl Into<String>) -> Self {
        let value = value.into();
        if !value.is_empty() {
            self.values.push((name, value));
        }
        self
    }

    /// What the templates mean by several names.
    pub fn named(self, values: impl IntoIterator<Item = (Name, String)>) -> Self {
        values.into_iter().fold(self, |finding, (name, value)| finding.with(name, value))
    }

    /// Says in which way the cause came about, where it is known: what to do follows from it.
    pub fn way(mut self, way: impl Into<Option<&'static Way>>) -> Self {
        self.way = way.into();
        self
    }

    /// The way in which the cause came about, in a few words; empty where none is known.
    pub fn briefly(&self) -> &'static str {
        self.way.map_or("", |way| way.briefly)
    }

    /// What is proven before its advice takes something away.
    pub fn proven(&self) -> &'static str {
        self.way.map(|way| way.proven).filter(|proven| !proven.is_empty()).unwrap_or(self.cause.proven)
    }

    /// Has a severity of its own, for the few causes whose summary says so.
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Names the node; an empty name is none.
    pub fn node(mut self, node: &str) -> Self {
        self.node = (!node.is_empty()).then(|| node.to_owned());
        self
    }

    /// Names the disk; an empty name is none.
    pub fn disk(mut self, disk: &str) -> Self {
        self.disk = (!disk.is_empty()).then(|| disk.to_owned());
        self
    }

    /// Names the volumes.
    pub fn volumes(mut self, volumes: Vec<VolumeRef>) -> Self {
        self.volumes = volumes;
        self
    }

    /// Says since when.
    pub fn since(mut self, since: impl Into<Since>) -> Self {
        let Since { at, not_before } = since.into();
        (self.since, self.not_before) = (at, not_before);
        self
    }

    /// Says that it only would happen.
    pub fn hypothetical(mut self, hypothetical: bool) -> Self {
        self.hypothetical = hypothetical;
        self
    }

    /// Says before when it cannot have begun, where that is not what it is said to hold since.
    pub fn not_before(mut self, moment: Option<Timestamp>) -> Self {
        self.not_before = moment;
        self
    }

    /// Says what it does to volumes and workloads.
    pub fn impact(mut self, impact: impl Into<String>) -> Self {
        self.impact = impact.into();
        self
    }

    /// Adds what the verdict rests on: words alone are what an object says.
    pub fn fact(self, fact: impl Into<Evidence>) -> Self {
        self.facts([fact])
    }

    /// Adds facts.
    pub fn facts<E: Into<Evidence>>(mut self, facts: impl IntoIterator<Item = E>) -> Self {
        self.evidence.extend(facts.into_iter().map(Into::into));
        self
    }

    /// What the verdict rests on.
    pub fn evidence(&self) -> &[Evidence] {
        &self.evidence
    }

    /// Says what to do, where it depends on the case; else the cause says it.
    pub fn remedy(mut self, remedy: Remedy) -> Self {
        self.remedy = remedy;
        self
    }

    /// Says in other words than the cause what to do, by the steps of the cause.
    pub fn fix(self, fix: impl Into<String>) -> Self {
        self.remedy(Remedy::new(fix))
    }

    /// Cuts texts that repeat more of an object than a person can read.
    pub fn shorten(&mut self) {
        let evidence = self.evidence.iter_mut().map(|fact| &mut fact.text);
        for text in [&mut self.message, &mut self.impact, &mut self.remedy.fix].into_iter().chain(evidence) {
            cut(text);
        }
    }
}

/// A value of an object may be hundreds of kilobytes long.
const LONGEST_TEXT: usize = 4000;

/// Cuts a text that is too long to be read.
pub fn cut(text: &mut String) {
    if text.len() > LONGEST_TEXT {
        text.truncate(text.floor_char_boundary(LONGEST_TEXT));
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cluster::{Cluster, NO_MOMENT};
    use crate::history::History;
    use crate::longhorn::{KubeNode, Objects};

    #[test]
    fn long_texts_are_cut_between_characters() {
        let long = "\u{1f980}".repeat(100_000);
        let (objects, history) = (Objects::default(), History::default());
        let cluster = Cluster::new("longhorn-system", NO_MOMENT, objects, history, BTreeMap::new());
        let mut finding = Finding::about(
            const { &Cause::info("c", "") },
            cluster.object::<KubeNode>("n"),
            format!("x{long}"),
        )
        .impact("short")
        .fact(long.clone());
        finding.shorten();
        assert_eq!(finding.impact, "short");
        for text in [&finding.message, &finding.evidence[0].text] {
            assert!(text.len() <= LONGEST_TEXT + 3 && text.ends_with("\u{1f980}…"), "{}", text.len());
        }
    }
}
