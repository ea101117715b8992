//! What was looked at, and how fresh it is.

use std::collections::BTreeMap;

use jiff::Timestamp;
use maud::{Markup, html};

use crate::cluster::Readability;
use crate::exporter::{ResourceFacts, Seen};
use crate::facts::text::age;
use crate::longhorn::Resource;
use crate::report::Report;

/// Counts of the objects that matter; "–" where nothing could be read.
pub fn counts(report: &Report, seen: &Seen) -> Markup {
    let cluster = &report.cluster;
    let parts = |parts: &BTreeMap<&'static str, usize>| -> Vec<(&'static str, usize)> {
        parts.iter().filter(|(_, count)| **count > 0).map(|(name, count)| (*name, *count)).collect()
    };
    let counts = [
        ("Nodes", Resource::LonghornNodes, cluster.nodes, Vec::new()),
        ("Volumes", Resource::Volumes, cluster.volumes, parts(&cluster.volumes_by_robustness)),
        (
            "Instance managers",
            Resource::InstanceManagers,
            cluster.instance_managers,
            parts(&seen.instance_managers),
        ),
    ];
    let unread = |kind| seen.resources.iter().any(|facts| facts.resource == kind && nothing_read(facts));
    html! {
        @if seen.waiting_for.is_empty() { section {
            h2 { "Cluster" }
            dl.counts { @for (name, kind, count, parts) in counts { div {
                dt { (name) }
                dd {
                    @if unread(kind) {
                        "–" ul { li { "cannot be read" } }
                    } @else {
                        (count) ul { @for (name, count) in parts { li { (count) " " (name) } } }
                    }
                }
            } } }
        } }
    }
}

/// True where no object was seen and none can be ruled out: then 0 would be a lie.
fn nothing_read(facts: &ResourceFacts) -> bool {
    !facts.synced && facts.objects == 0
}

/// How each kind could be read. What needs attention comes first; while there is nothing, it is folded.
pub fn freshness(seen: &Seen, wall: Timestamp) -> Markup {
    let mut resources: Vec<_> = seen.resources.iter().collect();
    resources.sort_by_key(|facts| facts.synced && facts.status.undecodable == 0);
    let troubled = resources.iter().filter(|facts| !facts.synced || facts.status.undecodable > 0).count();
    // one refusal says whose right is missing; the others would say the same
    let refused = |facts: &&ResourceFacts| facts.status.readability == Readability::Forbidden;
    let first = resources.iter().copied().find(refused).map(|facts| facts.resource);
    let says = |facts: &ResourceFacts| !refused(&facts) || first == Some(facts.resource);
    html! {
        details.read open[troubled > 0] {
            summary {
                h2 { "Kinds that are read" } " "
                span.count { (resources.len() - troubled) " of " (resources.len()) " kinds read without errors" }
            }
            div.scroll tabindex="0" role="region" aria-label="Kinds that are read" { table.freshness {
                thead { tr {
                    th scope="col" { "Kind" }
                    th scope="col" { "State" }
                    th.number scope="col" { "Objects" }
                    th scope="col" { "Last answer" }
                    th scope="col" { "Trouble" }
                } }
                tbody { @for facts in resources.iter().copied() {
                    tr class=[(!facts.synced).then_some("blind")] {
                        td { (facts.resource) }
                        td { (words(facts.status.readability, facts.synced)) }
                        td.number { @if nothing_read(facts) { "–" } @else { (facts.objects) } }
                        td { @match facts.status.last_success { Some(time) => { (age(wall.duration_since(time))) " ago" }, None => "–" } }
                        td {
                            @if facts.status.undecodable > 0 { (facts.status.undecodable) " could not be decoded. " }
                            @if says(facts) { (facts.status.error.as_deref().unwrap_or_default()) }
                        }
                    }
                } }
            } }
        }
    }
}

fn words(readability: Readability, synced: bool) -> &'static str {
    match readability {
        Readability::Readable => "readable",
        Readability::Pending => "waiting for the first answer",
        Readability::NotInstalled if synced => "not in this Longhorn release",
        Readability::NotInstalled => "not installed",
        Readability::Forbidden => "access denied",
        Readability::Stale => "stale",
        Readability::NotRecorded => "not in the recording",
        Readability::Incomplete => "partly lost",
    }
}
