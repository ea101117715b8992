//! Relations between causes, as data.

/// Says that findings of one cause are the consequence of findings of another. Declared in the folder of
/// the check that knows it, which is that of the consequence. From these relations come the incidents
/// of the report and the inhibitions of Alertmanager.
///
/// There must be no cycle, every relation occurs in a recorded scenario, and the two findings must
/// have in common what [`Same`] says: a relation never ties what only happens at the same time.
#[derive(Debug, Clone, Copy)]
pub struct Follows {
    /// The consequences: causes of the check that declares this.
    pub causes: &'static [&'static str],
    /// What brings them about, the likeliest first: `check/cause`, or `check/*` for every cause.
    pub of: &'static [&'static str],
    /// What both have in common.
    pub same: Same,
    /// Whether the other is the reason, or only keeps this from healing.
    pub link: Link,
    /// The consequence in a few words. The nodes are named behind words that end in `on`: `crash loop on`.
    pub told: &'static str,
}

/// What two findings have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Same {
    /// The node.
    Node,
    /// The object.
    Object,
    /// The disk.
    Disk,
    /// A volume.
    Volume,
    /// The cluster, and with it the release.
    Cluster,
}

/// How two findings are tied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// The other is the reason: repair that, and this ends.
    CausedBy,
    /// This has a reason of its own, but cannot heal before the other has ended.
    HeldUpBy,
}

impl Follows {
    /// Consequences of other causes.
    pub const fn caused_by(
        causes: &'static [&'static str],
        of: &'static [&'static str],
        same: Same,
        told: &'static str,
    ) -> Self {
        Follows { causes, of, same, link: Link::CausedBy, told }
    }

    /// What waits for other causes to end.
    pub const fn held_up_by(
        causes: &'static [&'static str],
        of: &'static [&'static str],
        same: Same,
    ) -> Self {
        Follows { causes, of, same, link: Link::HeldUpBy, told: "" }
    }

    /// Whether the other finding, by its check and cause, is one that this names.
    #[cfg(test)]
    pub fn is_of(&self, check: &str, cause: &str) -> bool {
        self.of.iter().any(|of| {
            of.split_once('/').is_some_and(|(of_check, of_cause)| {
                of_check == check && (of_cause == "*" || of_cause == cause)
            })
        })
    }
}
