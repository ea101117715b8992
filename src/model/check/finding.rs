//! What a check finds.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::advice::{Name, command, filled};
use super::signatures::Signature;
use super::{Cause, Cluster, Way, said};
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

/// One fact under a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Evidence {
    /// Where the fact comes from.
    pub source: EvidenceSource,
    /// The fact, in one sentence.
    pub text: String,
    /// What a machine itself says there about why, cut down to a line: the decisive word, which a person must not have to look for.
    #[serde(skip)]
    pub(super) said: Option<String>,
}

word_enum! {
    /// Where a fact comes from.
    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum EvidenceSource {
        /// A field of an object.
        Api = "api",
        /// A line of a container log.
        Log = "log",
        /// A pattern of exit codes and run times.
        Fingerprint = "fingerprint",
        /// A Kubernetes Event.
        Event = "event",
        /// What this exporter saw over time.
        History = "history",
    }
}

impl EvidenceSource {
    /// A fact from there.
    pub fn says(self, text: impl Into<String>) -> Evidence {
        Evidence { source: self, text: text.into(), said: None }
    }
}

impl Evidence {
    /// Marks what a machine itself says in it about why.
    pub fn quoting(mut self, words: &str) -> Self {
        self.said = said::essence(words);
        self
    }

    /// What a machine itself says in it, in a line of its own.
    pub fn said(&self) -> Option<Evidence> {
        self.said.as_deref().map(|said| self.source.says(said))
    }
}

impl<T: Into<String>> From<T> for Evidence {
    fn from(text: T) -> Self {
        EvidenceSource::Api.says(text)
    }
}

/// What to do about a finding.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Remedy {
    /// In a few sentences, the fix first.
    pub fix: String,
    /// Copy-ready commands in the order of doing: the first is what to run first.
    pub commands: Vec<Command>,
}

/// A command for a person to run; nothing here is ever run by the exporter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Command {
    /// The command line.
    pub run: String,
    /// True when it changes something.
    pub changes: bool,
}

impl Remedy {
    /// True where it says nothing.
    pub fn is_empty(&self) -> bool {
        self.fix.is_empty() && self.commands.is_empty()
    }

    /// A remedy in words, without commands yet.
    pub fn new(fix: impl Into<String>) -> Self {
        Remedy { fix: fix.into(), commands: Vec::new() }
    }

    /// Adds a command that only reads.
    pub fn read(mut self, run: impl Into<String>) -> Self {
        self.commands.push(Command { run: run.into(), changes: false });
        self
    }

    /// Adds a command that changes something.
    pub fn change(mut self, run: impl Into<String>) -> Self {
        self.commands.push(Command { run: run.into(), changes: true });
        self
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
            message: message.into(),
            impact: String::new(),
            evidence: Vec::new(),
            said: None,
            remedy: Remedy::default(),
            runbook: None,
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

    /// Says what to do by the templates of a signature. A command of which a name has no value is left out.
    pub fn by_signature(mut self, cluster: &Cluster, signature: &Signature) -> Self {
        let one = |name| self.value(cluster, name, 0);
        let fix = filled(&signature.fix, one).unwrap_or_else(|| super::advice::in_capitals(&signature.fix));
        let steps = signature.steps.iter();
        let commands = steps.filter_map(|(run, changes)| command(run, *changes, one)).collect();
        self.remedy = Remedy { fix, commands };
        self.signature = Some(signature.name.clone());
        self
    }

    /// Takes from its way or the cause what to do, words or steps, where the finding itself does not say it; and from the evidence
    /// what a machine said.
    pub(super) fn advise(&mut self, cluster: &Cluster) {
        self.said = self.evidence.iter().find_map(Evidence::said);
        let one = |name| self.value(cluster, name, 0);
        let way = self.way.unwrap_or(const { &Way::briefly("") });
        let words = if way.fix.is_empty() { self.cause.fix } else { way.fix };
        let steps = if way.steps.is_empty() { self.cause.steps } else { way.steps };
        let fix = self.remedy.fix.is_empty().then(|| {
            // a name without a value is a defect that tests find; people then read what is meant
            filled(words, one).unwrap_or_else(|| super::advice::in_capitals(words))
        });
        let mut commands = Vec::new();
        for step in steps.iter().filter(|_| self.remedy.commands.is_empty()) {
            for turn in 0..MAX_ALIKE {
                let command = step.filled(|name| self.value(cluster, name, turn));
                match command.filter(|command| !commands.contains(command)) {
                    Some(command) => commands.push(command),
                    None => break,
                }
            }
        }
        self.remedy.fix = fix.unwrap_or_else(|| std::mem::take(&mut self.remedy.fix));
        self.remedy.commands.extend(commands);
    }

    /// What a template means by this name; of several values the one whose turn it is.
    fn value(&self, cluster: &Cluster, name: Name, turn: usize) -> Option<Cow<'_, str>> {
        match self.named_value(name, turn) {
            None if name == Name::Namespace => Some(Cow::Owned(cluster.namespace.clone())),
            value => value,
        }
    }

    fn named_value(&self, name: Name, turn: usize) -> Option<Cow<'_, str>> {
        let mut given = self.values.iter().filter(|(known, _)| *known == name).map(|(_, value)| value);
        if let Some(first) = given.clone().next() {
            return given.nth(turn).or(Some(first)).map(|value| Cow::Borrowed(value.as_str()));
        }
        let volume = || self.volumes.first();
        match name {
            Name::Object => Some(Cow::Borrowed(self.object.name.as_str())),
            Name::Node => self.node.as_deref().map(Cow::Borrowed),
            Name::Disk => self.disk.as_deref().map(Cow::Borrowed),
            Name::Volume => volume().map(|volume| Cow::Borrowed(volume.name.as_str())),
            Name::Claim => volume().map(|volume| Cow::Borrowed(volume.called())),
            _ => None,
        }
    }

    /// What to do, of what its templates say without quoting anything: sentences that name what is not the name of an object are left
    /// out, and where it speaks for several objects those that name any. For labels, which must not hold words of an object or a log.
    pub fn fix_by_names(&self, namespace: &str, for_several: bool) -> String {
        let way = self.way.map_or("", |way| way.fix);
        let words = if way.is_empty() { self.cause.fix } else { way };
        let value = |name: Name| match name {
            Name::Namespace => Some(Cow::Owned(namespace.to_owned())),
            Name::Reason => None,
            _ if for_several => None,
            name => self.named_value(name, 0).filter(|value| is_name(value)),
        };
        let sentences = words.split_inclusive(". ").filter_map(|sentence| filled(sentence, value));
        let mut text = String::new();
        for sentence in sentences {
            if !text.is_empty() && text.len() + sentence.len() > LONGEST_LABEL {
                break;
            }
            text += &sentence;
        }
        text.trim_end().to_owned()
    }

    /// Cuts texts that repeat more of an object than a person can read.
    pub fn shorten(&mut self) {
        let evidence = self.evidence.iter_mut().map(|fact| &mut fact.text);
        for text in [&mut self.message, &mut self.impact, &mut self.remedy.fix].into_iter().chain(evidence) {
            cut(text);
        }
    }
}

/// A step that names several things is written for this many of them.
const MAX_ALIKE: usize = 3;

/// A label of a series is no longer, where one sentence is not.
const LONGEST_LABEL: usize = 300;

/// True for what Kubernetes and Longhorn take as a name, a release or a list of names.
fn is_name(value: &str) -> bool {
    value.len() <= 128 && value.chars().all(|c| c.is_ascii_alphanumeric() || "-._/:, ".contains(c))
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
    #[test]
    fn what_a_way_leaves_out_its_cause_says() {
        const CAUSE: Cause = Cause {
            fix: "of the cause",
            steps: &[crate::check::CommandTemplate::read("kubectl get node <object>")],
            ..Cause::info("c", "")
        };
        const WITHOUT_STEPS: Way = Way { fix: "of the way, on <node>", ..Way::briefly("w") };
        const WITHOUT_FIX: Way =
            Way { steps: &[crate::check::CommandTemplate::read("kubectl get pods")], ..Way::briefly("w") };
        let (objects, history) = (Objects::default(), History::default());
        let cluster = Cluster::new("longhorn-system", NO_MOMENT, objects, history, BTreeMap::new());
        let advised = |way: Option<&'static Way>| {
            let finding = Finding::about(&CAUSE, cluster.object::<KubeNode>("n"), "").with(Name::Node, "n");
            let mut finding = finding.way(way);
            finding.advise(&cluster);
            (finding.remedy.fix, finding.remedy.commands.remove(0).run)
        };
        let (cause, node) = ("of the cause".to_owned(), "kubectl get node n".to_owned());
        assert_eq!(advised(None), (cause.clone(), node.clone()));
        assert_eq!(advised(Some(&WITHOUT_STEPS)), ("of the way, on n".to_owned(), node));
        assert_eq!(advised(Some(&WITHOUT_FIX)), (cause, "kubectl get pods".to_owned()));
    }
}
