//! Whether what is held of a kind can be trusted.

use schemars::JsonSchema;

/// Whether the store of a kind can be trusted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub enum Readability {
    /// Complete.
    Readable,
    /// Not yet listed.
    #[default]
    Pending,
    /// The API server does not know the kind.
    NotServed,
    /// The API server refuses access.
    Forbidden,
    /// The API server has not answered for too long.
    Stale,
    /// A recording has no object of this kind, which may mean that there was none.
    NotRecorded,
    /// A recording lost objects of this kind, or may have: the error names the file.
    Incomplete,
}

impl Readability {
    /// Every value.
    pub const ALL: [Readability; 7] = [
        Readability::Readable,
        Readability::Pending,
        Readability::NotServed,
        Readability::Forbidden,
        Readability::Stale,
        Readability::NotRecorded,
        Readability::Incomplete,
    ];

    /// As in labels and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Readability::Readable => "readable",
            Readability::Pending => "pending",
            Readability::NotServed => "not_served",
            Readability::Forbidden => "forbidden",
            Readability::Stale => "stale",
            Readability::NotRecorded => "not_recorded",
            Readability::Incomplete => "incomplete",
        }
    }
}
