//! All that is looked for, as one value that the program hands to every room: no room knows the list of checks by itself.

use std::collections::BTreeSet;

use super::{Cause, Check, Finding};
use crate::did_you_mean;
use crate::longhorn::Resource;

/// The checks, and what follows from what.
#[derive(Debug)]
pub struct Catalogue {
    /// Every check, in the order of everything generated.
    pub checks: &'static [&'static Check],
    /// Every relation between causes. If two explain the same finding, the first counts.
    pub relations: &'static [Relation],
}

impl Catalogue {
    /// A check by its id.
    pub fn by_id(&self, id: &str) -> Option<&'static Check> {
        self.checks.iter().copied().find(|check| check.id == id)
    }

    /// The declared id of a check whose id was saved or typed.
    pub fn id_of(&self, id: &str) -> Option<&'static str> {
        self.by_id(id).map(|check| check.id)
    }

    /// A check and its cause, by the ids that a user wrote.
    pub fn named(
        &self,
        id: &str,
        cause: Option<&str>,
    ) -> Result<(&'static Check, Option<&'static Cause>), String> {
        let ids: Vec<&str> = self.checks.iter().map(|check| check.id).collect();
        let check =
            self.by_id(id).ok_or_else(|| format!("no such check; {}", did_you_mean::hint(id, &ids)))?;
        let Some(cause) = cause else { return Ok((check, None)) };
        let causes: Vec<&str> = check.causes.iter().map(|cause| cause.id).collect();
        let found = check.cause(cause).map(|cause| (check, Some(cause)));
        found.ok_or_else(|| format!("no such cause; {}", did_you_mean::hint(cause, &causes)))
    }

    /// The same in one word: `CHECK` or `CHECK/CAUSE`.
    pub fn subject(&self, text: &str) -> Result<(&'static Check, Option<&'static Cause>), String> {
        match text.split_once('/') {
            Some((id, cause)) => self.named(id, Some(cause)),
            None => self.named(text, None),
        }
    }

    /// The kinds that checks read. What only plans ask for is not among them, so that nothing else pays for it.
    pub fn kinds(&self) -> BTreeSet<Resource> {
        self.checks.iter().flat_map(|check| check.needs.iter().chain(check.uses)).copied().collect()
    }

    /// What `serve` follows: also NetworkPolicies, at which checks only glance. They are few, and the Role for Longhorn's namespace lists them.
    pub fn followed(&self) -> BTreeSet<Resource> {
        self.kinds().into_iter().chain([Resource::NetworkPolicies]).collect()
    }

    /// The relations that name a reason.
    pub fn caused(&self) -> impl Iterator<Item = &'static Relation> {
        self.relations.iter().filter(|relation| relation.link == Link::CausedBy)
    }
}

/// Findings of one cause are the consequence of findings of another.
#[derive(Debug)]
pub struct Relation {
    /// The check of the consequences.
    pub check: &'static Check,
    /// Its causes that follow from others.
    pub causes: &'static [&'static Cause],
    /// What brings them about, the likeliest first.
    pub roots: &'static [(&'static Check, &'static [&'static Cause])],
    /// What both have in common.
    pub same: Same,
    /// Whether the root is the reason, or only keeps the other from healing.
    pub link: Link,
    /// The consequence in a few words.
    pub phrase: &'static str,
    /// Whether the phrase is followed by the nodes.
    pub on_nodes: bool,
}

/// What two findings have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Same {
    Node,
    Object,
    Disk,
    Volume,
    /// The cluster, and with it the release.
    Cluster,
    /// The way in which they came about, as that a name does not resolve.
    Way,
}

/// How two findings are tied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// The other is the reason: repair that, and this ends.
    CausedBy,
    /// The other is most likely the reason, so the screen shows this with it. Alerts of this fire on their own, since that of the
    /// other may come later.
    ShownWith,
    /// This has a reason of its own, but cannot heal before the other has ended.
    BlockedBy,
}

impl Relation {
    /// Whether this says what a finding follows from.
    pub fn explains(&self, finding: &Finding) -> bool {
        self.check.id == finding.check && self.causes.contains(&finding.cause)
    }
}
