//! The ways in which a cause comes about, as values: what to say and to do where the cause alone leaves it open.

use super::advice::{CommandTemplate, in_capitals};
use super::{Cause, Check, Command, Remedy};

/// One way in which a cause comes about. A check decides for it and hands it to its finding; what it leaves out, the cause says.
#[derive(Debug, PartialEq, Eq)]
pub struct Way {
    /// In a few words: what a headline has behind its colon, and the heading of the way in a runbook.
    pub briefly: &'static str,
    /// As evidence, where that takes more words.
    pub means: &'static str,
    /// What to do, a template as that of a cause; empty where the cause says it.
    pub fix: &'static str,
    /// Commands in the order of doing; empty where those of the cause are meant.
    pub steps: &'static [CommandTemplate],
    /// As of a cause: what is proven before a step takes something away. Empty where the proof of the cause holds.
    pub proven: &'static str,
}

impl Way {
    /// A way that asks for nothing but what its cause asks for.
    pub const fn briefly(briefly: &'static str) -> Self {
        Way { briefly, means: "", fix: "", steps: &[], proven: "" }
    }

    /// Its advice for people who have no finding at hand, with names in capitals.
    pub fn advice(&self) -> Remedy {
        let command = |step: &CommandTemplate| Command { run: in_capitals(step.run), changes: step.changes };
        Remedy { fix: in_capitals(self.fix), commands: self.steps.iter().map(command).collect() }
    }
}

/// Declares ways that several causes share, and the list of them, which the causes name behind `ways`. A way of one cause
/// stands in `causes!`. All but the name and the few words may be left out:
///
/// ```text
/// LIST:
/// NOT_SHARED "the mounts of its node are not shared" means "…, which Longhorn needs for bidirectional mount propagation"
///     fix "Make the mounts of node <node> shared." [change "ssh <node> 'sudo mount --make-rshared /'"];
/// ```
#[macro_export]
macro_rules! ways {
    ($list:ident: $( $name:ident $briefly:literal $(means $means:literal)? $(fix $fix:tt)? $([ $( $step:ident $run:tt ),+ $(,)? ])?
        $(proven $proof:literal)?; )*) => {
        $( $crate::check::way! {
            $name $briefly $(means $means)? $(fix $fix)? $([ $( $step $run ),+ ])? $(proven $proof)?
        } )*
        /// Every way, in the order of the runbooks.
        pub const $list: &[&$crate::check::Way] = &[$( &$name ),*];
    };
}
pub use ways;

/// One way as a constant.
#[macro_export]
macro_rules! way {
    ($name:ident $briefly:literal $(means $means:literal)? $(fix $fix:tt)? $([ $( $step:ident $run:tt ),+ ])? $(proven $proof:literal)?) => {
        #[doc = $briefly]
        pub const $name: $crate::check::Way = $crate::check::Way {
            $( means: $means, )?
            $( fix: { const { $crate::check::assert_names($fix) }; $fix }, )?
            $( steps: &[$( $crate::check::CommandTemplate::$step($run) ),+], )?
            $( proven: $proof, )?
            ..$crate::check::Way::briefly($briefly)
        };
    };
}
pub use way;

/// A cause with the lists of its ways: its own, and those that it shares.
pub type WaysOf = (&'static Cause, &'static [&'static [&'static Way]]);

impl Check {
    /// The ways in which a cause comes about, in the order of the runbook.
    pub fn ways(&self, cause: &'static Cause) -> impl Iterator<Item = &'static Way> {
        let known = self.ways.iter().copied().flatten().filter(move |(known, _)| known.id == cause.id);
        known.flat_map(|(_, lists)| lists.iter().copied().flatten().copied())
    }
}
