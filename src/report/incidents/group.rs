//! Which finding follows from which.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt};

use crate::check::{Finding, Link, Relation, Same, Severity};

/// One root cause with all that follows, by the places of the findings.
#[derive(Debug)]
pub struct Group {
    /// Findings of the root cause.
    pub roots: Vec<usize>,
    pub consequences: Vec<usize>,
}

/// How the findings are tied to each other.
#[derive(Debug)]
pub struct Ties {
    /// What a finding follows from directly, and by which relation.
    parents: Vec<Option<(usize, &'static Relation)>>,
    held_up: Vec<Vec<usize>>,
    keys: Vec<(&'static str, String)>,
}

/// What findings can have in common. The first finding that has it stands for all.
type Index<'a> = HashMap<(&'a str, &'a str, Same, &'a str, &'a str), usize>;

impl Ties {
    /// Linear in the findings and their volumes.
    pub fn new(relations: &'static [Relation], findings: &[Finding]) -> Self {
        let index = index(findings);
        let (mut parents, mut held_up) = (Vec::new(), Vec::new());
        for (place, finding) in findings.iter().enumerate() {
            let blocks =
                |relation: &&Relation| relation.link == Link::BlockedBy && relation.explains(finding);
            let explains =
                |relation: &&Relation| relation.link != Link::BlockedBy && relation.explains(finding);
            // what is only to be known explains nothing critical, unless it does so for sure
            let leads = |relation: &Relation, root: &Finding| {
                relation.link == Link::CausedBy
                    || root.severity > Severity::Info
                    || finding.severity < Severity::Critical
            };
            let tied = |relation: &Relation| {
                let root = partner(findings, &index, finding, relation).filter(|root| *root != place)?;
                leads(relation, findings.get(root)?).then_some(root)
            };
            let mut reasons = relations.iter().filter(explains);
            let parent = reasons.find_map(|relation| tied(relation).map(|parent| (parent, relation)));
            parents.push(parent);
            held_up.push(relations.iter().filter(blocks).filter_map(tied).collect());
        }
        // signatures share causes, and each is an incident of its own
        let cause = |finding: &Finding| {
            [finding.cause.id, finding.signature.as_deref().unwrap_or_default()].join("/")
        };
        let keys = findings.iter().map(|finding| (finding.check, cause(finding))).collect();
        Ties { parents, held_up, keys }
    }

    /// What keeps this finding from healing.
    pub fn blocked_by(&self, finding: usize) -> &[usize] {
        self.held_up.get(finding).map(Vec::as_slice).unwrap_or_default()
    }

    /// The relation by which a finding follows from another.
    pub fn relation(&self, finding: usize) -> Option<&'static Relation> {
        self.parents.get(finding).copied().flatten().map(|(_, relation)| relation)
    }

    /// What a finding follows from, the nearest first.
    pub fn ancestors(&self, finding: usize) -> Vec<usize> {
        let parent = |place: &usize| self.parents.get(*place).copied().flatten().map(|(parent, _)| parent);
        // relations have no cycle, which a test holds; this bound keeps an oversight from hanging
        std::iter::successors(parent(&finding), parent).take(self.parents.len()).collect()
    }

    /// What a finding follows from for sure, the nearest first.
    pub fn reasons(&self, finding: usize) -> Vec<usize> {
        let sure =
            |place: &usize| self.relation(*place).is_some_and(|relation| relation.link == Link::CausedBy);
        let followed = [finding].into_iter().chain(self.ancestors(finding));
        let sure = followed.take_while(sure).count();
        self.ancestors(finding).into_iter().take(sure).collect()
    }

    /// The findings by root cause, in the order of the findings.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups: BTreeMap<(&str, &str), Group> = BTreeMap::new();
        for place in 0..self.parents.len() {
            let root = self.root(place);
            let Some((check, cause)) = self.keys.get(root) else { continue };
            let group = groups
                .entry((check, cause))
                .or_insert_with(|| Group { roots: Vec::new(), consequences: Vec::new() });
            if root == place { group.roots.push(place) } else { group.consequences.push(place) }
        }
        groups.into_values().collect()
    }

    fn root(&self, place: usize) -> usize {
        self.ancestors(place).pop().unwrap_or(place)
    }
}

fn index(findings: &[Finding]) -> Index<'_> {
    let mut index = Index::new();
    for (place, finding) in findings.iter().enumerate() {
        for (same, first, second) in keys(finding) {
            index.entry((finding.check, finding.cause.id, same, first, second)).or_insert(place);
        }
    }
    index
}

/// All that a finding can have in common with others.
fn keys(finding: &Finding) -> impl Iterator<Item = (Same, &str, &str)> {
    let node = finding.node.as_deref();
    let disk = finding.disk.as_deref();
    let volumes = finding.volumes.iter().map(|volume| (Same::Volume, volume.name.as_str(), ""));
    [
        Some((Same::Cluster, "", "")),
        node.map(|node| (Same::Node, node, "")),
        disk.map(|disk| (Same::Disk, node.unwrap_or_default(), disk)),
        Some((Same::Way, finding.briefly(), "")).filter(|(_, way, _)| !way.is_empty()),
        Some((Same::Object, finding.object.kind, finding.object.name.as_str())),
    ]
    .into_iter()
    .flatten()
    .chain(volumes)
}

/// The finding that this one follows from, by one relation.
fn partner(findings: &[Finding], index: &Index, finding: &Finding, relation: &Relation) -> Option<usize> {
    let mine: Vec<_> = keys(finding).filter(|(same, ..)| *same == relation.same).collect();
    relation.roots.iter().find_map(|(check, causes)| {
        let hits = causes.iter().flat_map(|cause| {
            let key = |(same, first, second)| (check.id, cause.id, same, first, second);
            mine.iter().filter_map(move |mine| index.get(&key(*mine)))
        });
        // the worst of them, and the first of the worst
        hits.copied().min_by_key(|place| {
            let severity = findings.get(*place).map(|finding| finding.severity);
            (std::cmp::Reverse(severity), *place)
        })
    })
}

/// Whether two findings have this in common.
#[cfg(test)]
pub fn have_in_common(one: &Finding, other: &Finding, what: Same) -> bool {
    let of = |finding| keys(finding).filter(|(same, ..)| *same == what).collect::<Vec<_>>();
    let others = of(other);
    of(one).iter().any(|key| others.contains(key))
}
