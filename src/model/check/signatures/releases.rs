//! Ranges of releases: `>=1.6.0 <1.6.3 || 1.7.0`.

use std::fmt;

use crate::longhorn::Release;

/// Which releases are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Releases {
    written: String,
    ranges: Vec<Vec<(Operator, Release)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    AtLeast,
    After,
    UpTo,
    Before,
    Is,
}

impl Releases {
    /// Reads ranges: comparisons with spaces between them all hold, `||` separates alternatives.
    pub fn parse(text: &str) -> Result<Self, String> {
        let comparison = |word: &str| {
            let (operator, release) = [
                (">=", Operator::AtLeast),
                ("<=", Operator::UpTo),
                (">", Operator::After),
                ("<", Operator::Before),
                ("=", Operator::Is),
            ]
            .into_iter()
            .find_map(|(sign, operator)| Some((operator, word.strip_prefix(sign)?)))
            .unwrap_or((Operator::Is, word));
            Some((operator, Release::parse(release)?))
        };
        let range = |text: &str| {
            let comparisons: Option<Vec<_>> = text.split_whitespace().map(comparison).collect();
            comparisons.filter(|comparisons| !comparisons.is_empty())
        };
        let ranges: Option<Vec<_>> = text.split("||").map(range).collect();
        let ranges = ranges.ok_or("expected releases such as \">=1.6.0 <1.6.3 || 1.7.0\"")?;
        Ok(Releases { written: text.to_owned(), ranges })
    }

    /// Whether a release is meant.
    pub fn contain(&self, release: Release) -> bool {
        let holds = |(operator, other): &(Operator, Release)| match operator {
            Operator::AtLeast => release >= *other,
            Operator::After => release > *other,
            Operator::UpTo => release <= *other,
            Operator::Before => release < *other,
            Operator::Is => release == *other,
        };
        self.ranges.iter().any(|range| range.iter().all(holds))
    }
}

impl fmt::Display for Releases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}
