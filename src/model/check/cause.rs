//! Causes as values.

use std::fmt;

use serde::{Serialize, Serializer};

use super::{ChangedBy, CommandTemplate, Severity};

/// A reason for which a check finds something. Declared once, as a constant of the check; a finding
/// and an alert take the constant, so that a cause which no one declared does not compile:
///
/// ```compile_fail
/// use longhorn_health_model::check::{Cluster, Finding};
/// fn find(cluster: &Cluster) -> Finding {
///     Finding::about("deadlock", cluster.object_of(Resource::Pods, "manager-1"), "…")
/// }
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
    /// What to do about it, in a sentence or two of which the first is the fix; a template (see [`CommandTemplate`]). Where it depends
    /// on the case, the finding says it in its own words instead.
    pub fix: &'static str,
    /// Commands in the order of doing. The first is what a person should run first, so a change stands there only where the
    /// fix is that change, and it is safe whenever the cause is found.
    pub steps: &'static [CommandTemplate],
    /// What is proven, or asked of the reader, before its advice takes something away: deletes, restores, salvages, scales to 0, removes
    /// a finalizer or forces. Empty where it takes nothing away; a step that does stops the build without it.
    pub proven: &'static str,
    /// What it says about the data of its volumes that Longhorn's own words do not: also where a finding is only counted.
    pub of_data: OfData,
    /// While it lasts, the API server rejects every change of an object of Longhorn.
    pub rejects_changes: bool,
    /// Where Longhorn is not there at all, it says why and what to do.
    pub explains_absence: bool,
    /// What can bring it about, if someone changes it.
    pub changed_by: &'static [ChangedBy],
}

/// What a cause says about the data of its volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfData {
    /// No more than Longhorn's own words.
    AsWritten,
    /// The NFS server is not there: every pod that uses it waits.
    NotServed,
    /// The file system is mounted read-only.
    ReadOnly,
    /// It was never up, so there is none.
    NeverUp,
    /// No node is Ready, so that nothing is left that would write how any volume is.
    Unwritten,
}

/// Declares the causes of a check, in the order of the reference, and `ALL`, the list of them. `but` says when a
/// finding is less severe, `fix` what to do, the steps behind it how, in the order of doing, and `proven` on what it rests where
/// they take something away. Properties that few causes have stand behind the meaning (`, rejects_changes: true`). A cause without a fix
/// and a first step does not compile. Behind them stand its ways, each a constant of its own: `way NAME "in a few words"` with a fix, steps
/// and a proof of its own, or `ways LIST` for those that several causes share. The check lists them as `ways: &[causes::WAYS]`:
///
/// ```text
/// NODE_GONE = warning "node_gone" "the node no longer exists, and volumes are still attached to it"
///     fix "Make sure that the machine is switched off, then delete the pods that are still bound to it." [
///         read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>",
///         change "kubectl delete volumeattachments.storage.k8s.io <attachment>",
///     ] proven "Kubernetes has no such node; the fix asks for the machine to be off"
///     way NODE_RENAMED "a node with another name has its disks" fix "Detach the volumes, then …";
/// ```
#[macro_export]
macro_rules! causes {
    ($( $name:ident = $severity:ident $id:literal $meaning:literal $(but $less:literal)?
        $(, $property:ident: $value:ident)*
        fix $fix:tt [ $( $step:ident $run:tt ),+ $(,)? ] $(proven $proof:literal)?
        $( way $way:ident $briefly:literal $(means $means:literal)? $(fix $instead:tt)? $([ $( $do:ident $how:tt ),+ $(,)? ])?
            $(proven $shown:literal)? )*
        $( ways $shared:path )*; )*) => {
        $(
            $( $crate::check::way! {
                $way $briefly $(means $means)? $(fix $instead)? $([ $( $do $how ),+ ])? $(proven $shown)?
            } )*
            #[doc = $meaning]
            pub const $name: $crate::check::Cause = $crate::check::Cause {
                meaning: $meaning,
                fix: { const { $crate::check::assert_names($fix) }; $fix },
                steps: &[$( $crate::check::CommandTemplate::$step($run) ),+],
                $( proven: $proof, )?
                $( $property: $value, )*
                ..$crate::check::Cause::$severity($id, concat!($meaning $(, " (", $less, ")")?))
            };
            const _: () = $crate::check::assert_proven(&$name, &[&[$( &$way ),*], $( $shared ),*]);
        )*
        /// Every cause, in the order of the reference.
        pub const ALL: &[&$crate::check::Cause] = &[$( &$name ),*];
        /// Their ways. They are no field of a cause, because causes are patterns, and the compiler looks into each field of these.
        #[allow(dead_code, reason = "most causes have none")]
        pub const WAYS: &[$crate::check::WaysOf] = &[$( (&$name, &[&[$( &$way ),*], $( $shared ),*]) ),*];
    };
}
pub use causes;

impl Cause {
    /// A cause to be acted on now.
    pub const fn critical(id: &'static str, summary: &'static str) -> Self {
        Self::plain(id, Severity::Critical, summary)
    }

    /// A cause to be looked at in working hours.
    pub const fn warning(id: &'static str, summary: &'static str) -> Self {
        Self::plain(id, Severity::Warning, summary)
    }

    /// A cause that is context only.
    pub const fn info(id: &'static str, summary: &'static str) -> Self {
        Self::plain(id, Severity::Info, summary)
    }

    const fn plain(id: &'static str, severity: Severity, summary: &'static str) -> Self {
        let of_data = OfData::AsWritten;
        let (rejects_changes, explains_absence) = (false, false);
        Cause {
            id,
            severity,
            summary,
            meaning: summary,
            fix: "",
            steps: &[],
            proven: "",
            of_data,
            rejects_changes,
            explains_absence,
            changed_by: &[],
        }
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
pub(super) const fn same(mut a: &[u8], mut b: &[u8]) -> bool {
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
