//! What is worth knowing and nothing to act on.

use schemars::JsonSchema;
use serde::Serialize;

use super::ObjectRef;

/// A property that this release of Longhorn has wherever it is installed. It is told for the sake
/// of anyone who wonders, counts as no finding, and changes neither status nor exit code. Where the
/// live object is worse than its release, a check finds that instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Fact {
    /// Id of the check.
    pub check: &'static str,
    /// Which fact of the check, in snake_case.
    pub fact: &'static str,
    /// What it is about.
    pub object: ObjectRef,
    /// The fact, in one sentence.
    pub text: String,
    /// What follows from it, and what may be done about it.
    pub advice: String,
}
