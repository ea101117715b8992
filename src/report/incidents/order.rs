//! Which incident is told first: the worst; among those the one with data at stake, then one by which workloads stand still, notes on the
//! release last; then what is not over, then the one that reaches furthest, then the oldest.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use jiff::Timestamp;

use super::group::{Group, Ties};
use crate::check::{Catalogue, Check, Finding, OfData, Severity};
use crate::cluster::VolumeRef;
use crate::longhorn::{VolumeHealth, VolumeState};

/// Which groups must end before each group can, by their places. Where no webhook answers, that is all of which the first step
/// changes an object of Longhorn: the API server rejects every such change.
pub fn waits(findings: &[Finding], groups: &[Group], ties: &Ties) -> Vec<BTreeSet<usize>> {
    let members = |group: &Group| group.roots.iter().chain(&group.consequences).copied().collect::<Vec<_>>();
    let mut place_of = vec![usize::MAX; findings.len()];
    for (place, group) in groups.iter().enumerate() {
        for finding in members(group) {
            if let Some(known) = place_of.get_mut(finding) {
                *known = place;
            }
        }
    }
    let finding = |place: &usize| findings.get(*place);
    let rejects = |group: &&Group| {
        members(group).iter().filter_map(finding).any(|finding| finding.cause.rejects_changes)
    };
    let rejecting = groups.iter().position(|group| rejects(&group));
    let own = |(place, group): (usize, &Group)| {
        let held = group.roots.iter().flat_map(|root| ties.blocked_by(*root));
        let mut waits: BTreeSet<usize> = held.filter_map(|other| place_of.get(*other).copied()).collect();
        let first = group.roots.first().and_then(finding).and_then(|root| root.remedy.commands.first());
        if first.is_some_and(|command| command.changes && command.run.contains(".longhorn.io")) {
            waits.extend(rejecting);
        }
        waits.remove(&place);
        waits.remove(&usize::MAX);
        waits
    };
    groups.iter().enumerate().map(own).collect()
}

/// The places in their order, but each behind what it waits for; among the equally bad, what waits for others behind what can be done now.
pub fn blockers_first(waits: &[BTreeSet<usize>], severities: &[Severity]) -> Vec<usize> {
    fn visit(place: usize, waits: &[BTreeSet<usize>], seen: &mut BTreeSet<usize>, order: &mut Vec<usize>) {
        if !seen.insert(place) {
            return;
        }
        waits.get(place).into_iter().flatten().for_each(|other| visit(*other, waits, seen, order));
        order.push(place);
    }
    let (mut seen, mut order) = (BTreeSet::new(), Vec::new());
    (0..waits.len()).for_each(|place| visit(place, waits, &mut seen, &mut order));
    // what something worse waits for is as urgent as that
    let mut urgent = severities.to_vec();
    for place in order.iter().rev() {
        let own = urgent.get(*place).copied();
        for other in waits.get(*place).into_iter().flatten() {
            if let (Some(own), Some(known)) = (own, urgent.get_mut(*other)) {
                *known = own.max(*known);
            }
        }
    }
    // of a chain of what waits the order stays
    let waits = |place: &usize| waits.get(*place).is_some_and(|others| !others.is_empty());
    order.sort_by_key(|place| (Reverse(urgent.get(*place).copied()), waits(place)));
    order
}

/// How close something is to people: it keeps a workload from working, it threatens to, it is about backups, or it is a note on the release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Closeness {
    Felt,
    Threatens,
    Backups,
    Note,
}

pub type Key =
    (Reverse<Severity>, Reverse<bool>, Closeness, bool, Reverse<usize>, Reverse<usize>, Timestamp, usize);

/// That of its worst finding.
pub fn severity(findings: &[Finding], group: &Group) -> Severity {
    let members = group.roots.iter().chain(&group.consequences).filter_map(|place| findings.get(*place));
    members.map(|finding| finding.severity).max().unwrap_or(Severity::Info)
}

/// The key of a group. `nodes` is how far something reaches that is bound to no node.
pub fn key(catalogue: &Catalogue, findings: &[Finding], group: &Group, nodes: usize) -> Key {
    let members = || group.roots.iter().chain(&group.consequences).filter_map(|place| findings.get(*place));
    let severity = severity(findings, group);
    // Longhorn calls a volume that was never up faulted, too, but no data is at stake, and nothing that ran has stopped
    let is_new = |finding: &Finding| finding.cause.of_data == OfData::NeverUp;
    let new: BTreeSet<&str> = members()
        .filter(|one| is_new(one))
        .flat_map(|one| &one.volumes)
        .map(|one| one.name.as_str())
        .collect();
    let hurt = |health: VolumeHealth| {
        let mut names: Vec<&str> = members()
            .flat_map(|finding| &finding.volumes)
            .filter(|volume| volume.robustness == Some(health) && !new.contains(volume.name.as_str()))
            .map(|volume| volume.name.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    };
    let faulted = hurt(VolumeHealth::Faulted);
    let mut places: Vec<&str> = members().filter_map(|finding| finding.node.as_deref()).collect();
    places.sort_unstable();
    places.dedup();
    let roots = || group.roots.iter().filter_map(|place| findings.get(*place));
    let reach = if roots().any(|root| root.node.is_none()) { nodes.max(places.len()) } else { places.len() };
    let since = roots().filter_map(|root| root.since).min().unwrap_or(Timestamp::MAX);
    let place = group.roots.first().copied().unwrap_or(usize::MAX);
    let degraded = hurt(VolumeHealth::Degraded);
    // what has ended is history once all that it hurt is back
    let is = |finding: &Finding, property: fn(&Check) -> bool| {
        catalogue.by_id(finding.check).is_some_and(property)
    };
    let past = roots().all(|root| is(root, |check| check.of_the_past));
    let over = faulted + degraded == 0 && past;
    // of a volume that is attached where a node is down nothing is known
    let stands = |volume: &VolumeRef| {
        volume.robustness == Some(VolumeHealth::Unknown)
            && volume.state == Some(VolumeState::Attached.as_str())
    };
    let felt = |finding: &Finding| {
        finding.severity > Severity::Info
            && !is_new(finding)
            && (is(finding, |check| check.stops_workloads) || finding.volumes.iter().any(stands))
    };
    let closeness = match members().any(felt) && !past {
        true => Closeness::Felt,
        false if members().all(|finding| is(finding, |check| check.of_the_release)) => Closeness::Note,
        false if members().all(|finding| is(finding, |check| check.of_backups)) => Closeness::Backups,
        false => Closeness::Threatens,
    };
    (
        Reverse(severity),
        Reverse(faulted > 0),
        closeness,
        over,
        Reverse(reach),
        Reverse(faulted + degraded),
        since,
        place,
    )
}
