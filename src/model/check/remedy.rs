//! What to do about a finding.

use schemars::JsonSchema;
use serde::Serialize;

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
