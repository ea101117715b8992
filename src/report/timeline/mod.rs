//! What happened, newest first: when incidents began and ended, and beside them what was changed. From the times that objects have
//! themselves, from their managed fields and Events, and from what an exporter saw; a time that nothing says is left out, never guessed.

mod begin;
mod changes;
mod fold;
mod incidents;
#[cfg(test)]
mod tests;
mod workloads;

use jiff::{SignedDuration, Timestamp};

use crate::check::{Finding, Severity};
use crate::cluster::Cluster;
use crate::happened::{Entry, What};
use crate::incidents::Incident;
use crate::longhorn::Meta;

pub use incidents::BOUND;

/// How far back a report looks, unless told otherwise.
pub const DAY: SignedDuration = SignedDuration::from_hours(24);
/// How many entries a report has.
pub const MAX_ENTRIES: usize = 200;
/// How many of them have no time.
const MAX_TIMELESS: usize = 20;

/// True for a recording without managed fields, as `kubectl get` leaves them out: of what they would tell, nothing is dated.
pub fn lacks_writes(cluster: &Cluster) -> bool {
    let objects = &cluster.objects;
    let has = |meta: &Meta| meta.managed_fields.iter().next().is_some();
    let settings = objects.settings.iter().any(|setting| has(&setting.metadata));
    let manifests = objects.daemon_sets.iter().any(|set| has(&set.metadata));
    cluster.is_recorded() && objects.settings.iter().next().is_some() && !settings && !manifests
}

/// What happened in so long before the cluster's moment, newest first. Incidents are told what was changed before them.
pub fn of(
    cluster: &Cluster,
    findings: &[Finding],
    incidents: &mut [Incident],
    since: SignedDuration,
) -> Vec<Entry> {
    let from = cluster.moment().and_then(|now| now.checked_sub(since).ok());
    let earliest = incidents::earliest(cluster, findings, incidents).into_iter().chain(from).min();
    let mut changes = changes::of(cluster, earliest);
    workloads::add(cluster, &mut changes);
    let (changes, places) = (changes.entries, changes.places);
    incidents::explain(cluster, findings, incidents, &changes);
    let mut entries = incidents::of(cluster, findings, incidents, from);
    // what an incident's own line says is not told again
    let ends = incidents::told_ends(cluster, findings, incidents);
    let is_told = |entry: &Entry| {
        let end = entry.subject().map(|(pod, field)| (pod.to_owned(), field.to_owned()));
        let told = end.and_then(|end| ends.get(&end)).filter(|_| entry.what == What::PodEnded);
        let is_near = |(at, near): (Timestamp, Timestamp)| at.duration_since(near).abs() <= incidents::SAME;
        told.is_some_and(|near| near.is_none() || entry.at.zip(*near).is_some_and(is_near))
    };
    entries.extend(changes.into_iter().filter(|entry| !is_told(entry)));
    // the future of a recording that is judged at an earlier time has not happened
    let now = cluster.moment();
    // what began before and lasts is no news, and still what the rest is about
    let lasts = |entry: &Entry| {
        let is_grave = entry.severity.is_some_and(|severity| severity > Severity::Info);
        entry.what == What::IncidentBegan && entry.incident.is_some() && is_grave
    };
    entries.retain(|entry| {
        entry.place().is_none_or(|at| (Some(at) >= from || lasts(entry)) && now.is_none_or(|now| at <= now))
    });
    fold::together(&mut entries, &places);
    entries.sort_by(|one, other| {
        // what was there before a moment stands below what is of that moment
        let newest = |entry: &Entry| (entry.place(), entry.not_after.is_none(), entry.order());
        newest(other).cmp(&newest(one)).then_with(|| one.text.cmp(&other.text))
    });
    entries.dedup_by(|one, other| one.place() == other.place() && one.text == other.text);
    let (mut kept, timeless): (Vec<Entry>, Vec<Entry>) =
        entries.into_iter().partition(|entry| entry.place().is_some());
    kept.truncate(MAX_ENTRIES - MAX_TIMELESS);
    kept.extend(timeless.into_iter().take(MAX_TIMELESS));
    kept
}
