//! Signatures: failures that users know, as data. A file says where one shows (the log of a manager, an Event, fields of an object,
//! or the release alone) and what to do; nothing in it is ever run.
//!
//! Bounded, since a file may come from anyone: regular expressions run in linear time and have a limit of memory, and there is
//! no language that could loop.

mod path;
mod releases;

use std::fmt;

use regex::bytes::{Regex, RegexBuilder};

use super::{Severity, plain};
use crate::longhorn::{Look, Resource};
pub use path::Path;
pub use releases::Releases;

/// The signatures that are in force.
#[derive(Debug, Default)]
pub struct Signatures {
    all: Vec<Signature>,
    reads: Vec<Resource>,
    /// Grows each time that a file changed.
    pub version: u64,
    /// Why files that changed are not in force.
    pub unusable: Option<String>,
}

/// A failure that a user knows.
#[derive(Debug, Clone)]
pub struct Signature {
    /// Its name: of `[a-z0-9_-]`, so that it can be a label.
    pub name: String,
    /// What is wrong.
    pub title: String,
    /// How bad it is.
    pub severity: Severity,
    /// The releases that can have it; any without.
    pub releases: Option<Releases>,
    /// Where it shows.
    pub place: Place,
    /// What it does to volumes and workloads; may be empty.
    pub impact: String,
    /// What to do, a template.
    pub fix: String,
    /// Commands, which are templates, each with whether it changes something.
    pub steps: Vec<(String, bool)>,
    /// Where more is said.
    pub link: Option<String>,
}

/// Where a signature shows.
#[derive(Debug, Clone)]
pub enum Place {
    /// In the release alone.
    Release,
    /// In a line of a log that is read anyway.
    Log(Pattern),
    /// In an Event of Longhorn's namespace.
    Event {
        /// The kind that it is about.
        kind: Option<String>,
        reason: Option<String>,
        message: Option<Pattern>,
    },
    /// In an object all of whose fields are as described.
    Object { kind: Resource, fields: Vec<Field> },
}

/// What is asked of a field.
#[derive(Debug, Clone)]
pub struct Field {
    /// Where it is.
    pub path: Path,
    /// What its value must be.
    pub test: Test,
}

/// What the value of a field must be.
#[derive(Debug, Clone)]
pub enum Test {
    Equals(String),
    Matches(Pattern),
    /// Whether there is one.
    Exists(bool),
}

/// A regular expression, on bytes and of ASCII classes, which keeps it small.
#[derive(Debug, Clone)]
pub struct Pattern(Regex);

/// Memory of a regular expression, and of what it builds while it runs.
const MAX_PATTERN_BYTES: usize = 64 << 10;

impl Pattern {
    /// Compiles an expression within its bounds.
    pub fn parse(text: &str) -> Result<Self, String> {
        let built = RegexBuilder::new(text)
            .unicode(false)
            .size_limit(MAX_PATTERN_BYTES)
            .dfa_size_limit(MAX_PATTERN_BYTES)
            .nest_limit(20)
            .build();
        built.map(Pattern).map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => {
                "too large a regular expression; use smaller repetitions".to_owned()
            }
            // it draws the pattern with marks below; the last line says what is wrong
            error => {
                let said = error.to_string();
                let last = said.lines().last().unwrap_or_default();
                format!("not a regular expression ({})", plain(last.trim_start_matches("error: ")))
            }
        })
    }

    /// Whether it matches anywhere in the text.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text.as_bytes())
    }
}

impl Field {
    /// Whether the object is as described there.
    pub fn holds(&self, object: &impl Look) -> bool {
        let mut found = false;
        self.path.look(object, &mut |text| {
            found |= match &self.test {
                Test::Equals(wanted) => text == wanted,
                Test::Matches(pattern) => pattern.is_match(text),
                Test::Exists(_) => true,
            }
        });
        found != matches!(self.test, Test::Exists(false))
    }
}

impl Signatures {
    /// These, in their order.
    pub fn new(all: Vec<Signature>) -> Self {
        let mut reads: Vec<Resource> = all.iter().flat_map(Signature::reads).collect();
        reads.sort();
        reads.dedup();
        Signatures { all, reads, ..Signatures::default() }
    }

    /// All of these together.
    pub fn of<'a>(files: impl IntoIterator<Item = &'a Signatures>, version: u64) -> Self {
        let all = files.into_iter().flat_map(|file| &file.all).cloned().collect();
        Signatures { version, ..Signatures::new(all) }
    }

    /// The same, with what the report is to say of files that cannot be used.
    pub fn with_unusable(self, unusable: Option<String>) -> Self {
        Signatures { unusable, ..self }
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Signature> {
        self.all.iter()
    }

    /// The kinds that they ask for.
    pub fn reads(&self) -> &[Resource] {
        &self.reads
    }
}

impl Signature {
    /// The kind in which it shows.
    pub fn kind(&self) -> Option<Resource> {
        match &self.place {
            Place::Release => None,
            Place::Log(_) => Some(Resource::Pods),
            Place::Event { .. } => Some(Resource::Events),
            Place::Object { kind, .. } => Some(*kind),
        }
    }

    fn reads(&self) -> impl Iterator<Item = Resource> + use<> {
        let of_release = [Resource::DaemonSets, Resource::Settings].into_iter();
        self.kind().into_iter().chain(of_release.filter({
            let asks = self.releases.is_some();
            move |_| asks
        }))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/", self.0)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.test {
            Test::Equals(text) => write!(f, "{path} is \"{text}\""),
            Test::Matches(pattern) => write!(f, "{path} matches {pattern}"),
            Test::Exists(true) => write!(f, "{path} is set"),
            Test::Exists(false) => write!(f, "{path} is not set"),
        }
    }
}

/// What it finds, in a sentence.
impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): reports ", self.name, self.severity)?;
        match &self.place {
            Place::Release => f.write_str("the installed release")?,
            Place::Log(pattern) => write!(f, "each pod with a log line that matches {pattern}")?,
            Place::Event { kind, reason, message } => {
                write!(f, "what an Event is about")?;
                let mut words = Vec::new();
                words.extend(kind.as_ref().map(|kind| format!("the kind is {kind}")));
                words.extend(reason.as_ref().map(|reason| format!("the reason is {reason}")));
                words.extend(message.as_ref().map(|pattern| format!("the message matches {pattern}")));
                write!(f, ", if {}", words.join(" and "))?;
            }
            Place::Object { kind, fields } => {
                let fields: Vec<String> = fields.iter().map(Field::to_string).collect();
                write!(f, "each of {kind} in which {}", fields.join(" and "))?;
            }
        }
        match &self.releases {
            Some(releases) => write!(f, ", on Longhorn {releases}."),
            None => f.write_str(", on any release."),
        }
    }
}
