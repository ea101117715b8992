//! A condition of a plan, declared as causes are: what it means, what to do, where that is from, and the function
//! that looks.

use std::borrow::Cow;

use crate::check::{Cause, Command, Name, VolumeRef, counted, filled};
use crate::cluster::Cluster;
use crate::longhorn::{Resource, Volume};
use crate::word_enum::word_enum;
use schemars::JsonSchema;
use serde::Serialize;

use super::capacity::Room;
use super::drain::Draining;
use super::loss::Audit;
use super::upgrade::Rung;

word_enum! {
    /// What a reason does to the verdict.
    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Weight {
        /// Never in this way.
        No = "no",
        /// Not before something is done.
        NotYet = "not_yet",
        /// Cannot be judged.
        Unknown = "unknown",
        /// Good to know; in no one's way.
        Note = "note",
    }
}

impl Weight {
    /// A cause that is as bad as what weighs so much.
    pub(super) const fn cause(self, id: &'static str, meaning: &'static str) -> Cause {
        match self {
            Weight::No => Cause::critical(id, meaning),
            Weight::NotYet | Weight::Unknown => Cause::warning(id, meaning),
            Weight::Note => Cause::info(id, meaning),
        }
    }
}

word_enum! {
    /// The answer of a plan.
    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Verdict {
        /// Never in this way.
        No = "no",
        /// Not before something is done.
        NotYet = "not_yet",
        /// Something that decides could not be read.
        Unknown = "unknown",
        /// Nothing that is known stands against it, and everything that decides was read.
        Go = "go",
    }
}

impl Verdict {
    /// By the heaviest reason: what is known to be in the way counts before what is unknown.
    pub fn of<'a>(reasons: impl IntoIterator<Item = &'a Reason>) -> Self {
        let by_weight = |reason: &Reason| match reason.weight {
            Weight::No => Verdict::No,
            Weight::NotYet => Verdict::NotYet,
            Weight::Unknown => Verdict::Unknown,
            Weight::Note => Verdict::Go,
        };
        reasons.into_iter().map(by_weight).min().unwrap_or(Verdict::Go)
    }

    /// In words, as people say it.
    pub fn said(self) -> &'static str {
        match self {
            Verdict::No => "no",
            Verdict::NotYet => "not yet",
            Verdict::Unknown => "unknown",
            Verdict::Go => "go",
        }
    }

    /// What a plan ends with.
    pub fn exit_code(self) -> u8 {
        match self {
            Verdict::Go => 0,
            Verdict::No | Verdict::NotYet => 1,
            Verdict::Unknown => 2,
        }
    }
}

/// A condition that a plan asks for.
#[derive(Debug)]
pub struct Condition {
    /// What is the case where it is not met, and what to do then. The id is a contract: `--accept` takes it, and
    /// reports name it. A step whose names are unknown is left out.
    pub cause: Cause,
    /// What a reason of it does to the verdict, at most.
    pub weight: Weight,
    /// Where this is from.
    pub source: &'static str,
    /// Kinds without which it cannot be judged.
    pub needs: &'static [Resource],
    /// The function that looks.
    pub look: Look,
}

impl Condition {
    /// By what it is accepted and reported.
    pub const fn id(&self) -> &'static str {
        self.cause.id
    }
}

/// What a condition looks at: a pure function, as checks have.
#[derive(Debug, Clone, Copy)]
pub enum Look {
    /// A step to another release, as long as the cluster is what it is now: only for the next step.
    Now(for<'a> fn(&Rung<'a>, &mut Found)),
    /// Any step to another release.
    EachStep(for<'a> fn(&Rung<'a>, &mut Found)),
    /// Where an upgrade stands: the target is what is installed.
    After(for<'a> fn(&Rung<'a>, &mut Found)),
    /// A node that is to be drained.
    Drain(for<'a> fn(&Draining<'a>, &mut Found)),
    /// A node that is down, and is to be removed or to come back.
    Away(for<'a> fn(&Draining<'a>, &mut Found)),
    /// What is lost with what.
    Loss(for<'a> fn(&Audit<'a>, &mut Found)),
    /// What disks can still take.
    Capacity(for<'a> fn(&Room<'a>, &mut Found)),
}

/// Declares conditions as constants and `ALL`, the list of them in the order of the page.
macro_rules! conditions {
    ($( $name:ident = $weight:ident $id:literal $meaning:literal
        fix $fix:literal
        $( read $read:literal )*
        $( change $change:literal )*
        source $source:literal
        needs [$($need:ident),*]
        $look:ident($function:path);
    )*) => {
        $(
            #[doc = $meaning]
            pub const $name: $crate::plan::Condition = $crate::plan::Condition {
                cause: $crate::check::Cause {
                    fix: { const { $crate::check::assert_names($fix) }; $fix },
                    steps: &[
                        $( $crate::check::CommandTemplate::read($read), )*
                        $( $crate::check::CommandTemplate::change($change), )*
                    ],
                    ..$crate::plan::Weight::$weight.cause($id, $meaning)
                },
                weight: $crate::plan::Weight::$weight,
                source: $source,
                needs: &[$( $crate::longhorn::Resource::$need ),*],
                look: $crate::plan::Look::$look($function),
            };
            const _: () = $crate::check::assert_proven(&$name.cause, &[]);
        )*
        /// Every condition, in the order of the page.
        pub const ALL: &[&$crate::plan::Condition] = &[$( &$name ),*];
    };
}
pub(crate) use conditions;

/// Why a condition is not met, or what is good to know about it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Reason {
    /// Id of the condition.
    pub condition: &'static str,
    /// What it does to the verdict.
    pub weight: Weight,
    /// What is the case here, in one sentence.
    pub text: String,
    /// What that rests on.
    pub evidence: Vec<String>,
    /// The volumes concerned.
    pub volumes: Vec<VolumeRef>,
    /// How many volumes are concerned.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub volumes_in_all: usize,
    /// What to do; empty where nothing is to be done.
    pub fix: String,
    /// Commands for it, in the order of doing.
    pub commands: Vec<Command>,
    /// Where the condition is from.
    pub source: &'static str,
    /// True where the user said that it is no reason.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub accepted: bool,
    #[serde(skip)]
    values: Vec<(Name, String)>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Reason {
    fn of(condition: &Condition, weight: Weight, text: String) -> Self {
        Reason {
            condition: condition.id(),
            weight,
            text,
            evidence: Vec::new(),
            volumes: Vec::new(),
            volumes_in_all: 0,
            fix: condition.cause.fix.to_owned(),
            commands: Vec::new(),
            source: condition.source,
            accepted: false,
            values: Vec::new(),
        }
    }

    /// It is lighter in this case than the condition says.
    pub fn weight(&mut self, weight: Weight) -> &mut Self {
        self.weight = weight;
        self
    }

    /// Adds what it rests on.
    pub fn fact(&mut self, text: impl Into<String>) -> &mut Self {
        self.evidence.push(text.into());
        self
    }

    /// Names the volumes.
    pub fn volumes(&mut self, cluster: &Cluster, volumes: &[&Volume]) -> &mut Self {
        self.volumes = volumes.iter().map(|volume| cluster.volume_ref(&volume.metadata.name)).collect();
        self.volumes_in_all = volumes.len();
        self
    }

    /// Another fix than that of the condition.
    pub fn fix(&mut self, fix: impl Into<String>) -> &mut Self {
        self.fix = fix.into();
        self
    }

    /// Adds a command beside those of the condition.
    pub fn command(&mut self, command: Command) -> &mut Self {
        self.commands.push(command);
        self
    }

    /// What the templates of the condition mean by this name.
    pub fn with(&mut self, name: Name, value: impl ToString) -> &mut Self {
        self.values.push((name, value.to_string()));
        self
    }
}

/// `1 volume is faulted`, `3 volumes are faulted` of `is|are faulted`: each word that has two forms agrees.
pub fn held(number: usize, noun: &str, holds: &str) -> String {
    let agreed = holds.split(' ').map(|word| match word.split_once('|') {
        Some((one, several)) => {
            if number == 1 {
                one
            } else {
                several
            }
        }
        None => word,
    });
    format!("{} {}", counted(number, noun), agreed.collect::<Vec<_>>().join(" "))
}

/// Where conditions put what they see.
#[derive(Debug)]
pub struct Found {
    condition: &'static Condition,
    pub reasons: Vec<Reason>,
}

impl Found {
    /// Nothing yet, for one condition.
    pub fn new(condition: &'static Condition) -> Self {
        Found { condition, reasons: Vec::new() }
    }

    /// The condition is not met: why, as heavy as the condition says.
    pub fn say(&mut self, text: impl Into<String>) -> &mut Reason {
        self.push(self.condition.weight, text.into())
    }

    /// As heavy as the condition says: volumes of which something holds, with the verb for one and for several
    /// (`is|are faulted`). Nothing where there are none.
    pub fn volumes(&mut self, cluster: &Cluster, volumes: &[&Volume], holds: &str) -> Option<&mut Reason> {
        let text = held(volumes.len(), "volume", holds);
        (!volumes.is_empty()).then(|| self.say(text).volumes(cluster, volumes))
    }

    /// Good to know, in no one's way.
    pub fn note(&mut self, text: impl Into<String>) -> &mut Reason {
        self.push(Weight::Note, text.into())
    }

    /// It cannot be judged, and why.
    pub fn unknown(&mut self, text: impl Into<String>) -> &mut Reason {
        self.push(Weight::Unknown, text.into())
    }

    #[allow(clippy::indexing_slicing, reason = "one was just added")]
    fn push(&mut self, weight: Weight, text: String) -> &mut Reason {
        self.reasons.push(Reason::of(self.condition, weight, text));
        let last = self.reasons.len() - 1;
        &mut self.reasons[last]
    }

    /// The reasons, with the templates filled by what all of them share.
    pub fn filled(self, shared: &[(Name, String)]) -> Vec<Reason> {
        let steps = self.condition.cause.steps;
        let mut reasons = self.reasons;
        for reason in &mut reasons {
            let value = |name: Name| {
                let mut known = reason.values.iter().chain(shared);
                known.find(|(known, _)| *known == name).map(|(_, value)| Cow::Borrowed(value.as_str()))
            };
            let fix = filled(&reason.fix, value).unwrap_or_default();
            let commands: Vec<Command> = steps.iter().filter_map(|step| step.filled(value)).collect();
            reason.fix = fix;
            reason.commands.extend(commands);
            if reason.weight == Weight::Unknown {
                // what to do about something is not said where it is unknown
                reason.commands.retain(|command| !command.changes);
            }
        }
        reasons
    }
}
