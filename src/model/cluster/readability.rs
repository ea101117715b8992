//! Whether what is held of a kind can be trusted.

use crate::word_enum::word_enum;
use schemars::JsonSchema;

word_enum! {
    /// Whether the store of a kind can be trusted.
    #[derive(Default, JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    pub enum Readability {
        /// Complete.
        Readable = "readable",
        /// Not yet listed.
        #[default]
        Pending = "pending",
        /// The API server does not know the kind.
        NotInstalled = "not_installed",
        /// The API server refuses access.
        Forbidden = "forbidden",
        /// The API server has not answered for too long.
        Stale = "stale",
        /// A recording has no object of this kind, which may mean that there was none.
        NotRecorded = "not_recorded",
        /// A recording lost objects of this kind, or may have: the error names the file.
        Incomplete = "incomplete",
    }
}
