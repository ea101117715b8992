//! Causes as values.

use std::fmt;

use serde::{Serialize, Serializer};

use super::Severity;

/// A reason for which a check finds something. Declared once, as a constant of the check; a finding
/// and an alert take the constant, so that a cause which no one declared does not compile:
///
/// ```compile_fail
/// use longhorn_health_exporter::check::{Finding, ObjectRef};
/// Finding::new("deadlock", ObjectRef::cluster("Node", "node-1"), "…");
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Cause {
    /// snake_case; a contract: it is a label value.
    pub id: &'static str,
    /// How bad it is, unless a finding says otherwise where the summary announces it.
    pub severity: Severity,
    /// What the cause means, in one sentence, and when a finding of it is less severe.
    pub summary: &'static str,
    /// The same without the latter, as findings say it.
    pub meaning: &'static str,
}

/// Declares the causes of a check, in the order of the reference, and `ALL`, the list of them. `but` says when a
/// finding is less severe.
macro_rules! causes {
    ($( $name:ident = $severity:ident $id:literal $meaning:literal $(but $less:literal)?; )*) => {
        $(
            #[doc = $meaning]
            pub const $name: $crate::check::Cause = $crate::check::Cause {
                meaning: $meaning,
                ..$crate::check::Cause::$severity($id, concat!($meaning $(, "; ", $less)?))
            };
        )*
        /// Every cause, in the order of the reference.
        pub const ALL: &[&$crate::check::Cause] = &[$( &$name ),*];
    };
}
pub(crate) use causes;

impl Cause {
    /// A cause to be acted on now.
    pub const fn critical(id: &'static str, summary: &'static str) -> Self {
        Cause { id, severity: Severity::Critical, summary, meaning: summary }
    }

    /// A cause to be looked at in working hours.
    pub const fn warning(id: &'static str, summary: &'static str) -> Self {
        Cause { id, severity: Severity::Warning, summary, meaning: summary }
    }

    /// A cause that is context only.
    pub const fn info(id: &'static str, summary: &'static str) -> Self {
        Cause { id, severity: Severity::Info, summary, meaning: summary }
    }

    /// True when the list has a cause of this id; for the compiler.
    pub(super) const fn is_in(&self, list: &[&Cause]) -> bool {
        let mut rest = list;
        while let [first, others @ ..] = rest {
            if same(first.id.as_bytes(), self.id.as_bytes()) {
                return true;
            }
            rest = others;
        }
        false
    }
}

/// `==` of two texts, which is not const.
const fn same(mut a: &[u8], mut b: &[u8]) -> bool {
    while let ([x, rest_of_a @ ..], [y, rest_of_b @ ..]) = (a, b) {
        if *x != *y {
            return false;
        }
        (a, b) = (rest_of_a, rest_of_b);
    }
    a.is_empty() && b.is_empty()
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id)
    }
}

/// By its id, as tests and filters write it.
impl PartialEq<str> for Cause {
    fn eq(&self, id: &str) -> bool {
        self.id == id
    }
}

/// As in labels and reports: the id.
impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id)
    }
}
