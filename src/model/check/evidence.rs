//! What a verdict rests on.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::{errors, said};
use crate::word_enum::word_enum;

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
    /// What to do about it, where its words are known.
    #[serde(skip)]
    pub(super) fix: Option<Cow<'static, str>>,
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
        Evidence { source: self, text: text.into(), said: None, fix: None }
    }
}

impl Evidence {
    /// Marks what a machine itself says in it about why.
    pub fn quoting(mut self, words: &str) -> Self {
        self.said = said::essence(words);
        self.fix = errors::fix(words);
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
