//! An object that cannot be decoded is never taken for one that is missing.

use std::collections::{BTreeMap, BTreeSet};

use super::evaluate;
use crate::check::Severity;
use crate::longhorn::Resource;
use crate::testing::{live_at, scenario_files};

/// So many objects of each kind are left out, one at a time.
const OF_EACH: usize = 3;

#[test]
fn what_cannot_be_decoded_is_not_missing() {
    let mut tried = BTreeSet::new();
    // managers of 1.4 have webhooks of their own, those of 1.9 convert
    for release in ["1.4", "1.9", "1.12"] {
        tried.extend(without_one_object(release));
    }
    use Resource::*;
    let least =
        [InstanceManagers, Volumes, Pods, Leases, Settings, LonghornNodes, Replicas, Engines, EndpointSlices];
    assert!(least.iter().all(|kind| tried.contains(kind)), "{tried:?}");
    assert!(tried.len() >= 15, "{tried:?}");
}

/// The kinds of which one object was left out of a healthy cluster of this release.
fn without_one_object(release: &str) -> BTreeSet<Resource> {
    let root = std::path::Path::new(crate::testing::ROOT);
    let text = scenario_files::text(&root.join(format!("tests/scenarios/healthy-{release}")));
    let objects: Vec<&str> = text.split("\n---\n").collect();
    let resource = |object: &str| {
        let object: serde_json::Value = serde_yaml::from_str(object).unwrap();
        Resource::of(object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap())
    };
    let now = newest(&text);
    let loud = |objects: &[&str], undecodable: Option<Resource>| -> BTreeSet<String> {
        let mut cluster = live_at(&now, &objects.join("\n---\n"));
        if let Some(kind) = undecodable {
            cluster.resources.entry(kind).or_default().undecodable = 1;
        }
        let findings = evaluate(&checks::CATALOGUE, &cluster).report.findings.into_iter();
        let loud = findings.filter(|finding| finding.severity >= Severity::Warning);
        loud.map(|finding| format!("{}/{}: {}", finding.check, finding.cause.id, finding.message)).collect()
    };
    let known = loud(&objects, None);
    let mut tried: BTreeMap<Resource, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        let Some(kind) = resource(object) else { continue };
        let count = tried.entry(kind).or_default();
        *count += 1;
        if *count > OF_EACH {
            continue;
        }
        let others = objects.iter().enumerate().filter(|(other, _)| *other != index);
        let rest: Vec<&str> = others.map(|(_, object)| *object).collect();
        let found = loud(&rest, Some(kind));
        let found = found.difference(&known);
        wrong.extend(found.map(|finding| format!("{release} without one of {kind}: {finding}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    tried.into_keys().collect()
}

/// The newest time that is written in the recording.
fn newest(text: &str) -> String {
    let words = text.split(|c: char| c == '"' || c == '\'' || c.is_whitespace());
    let times = words.filter_map(|word| word.parse::<jiff::Timestamp>().ok());
    times.filter(|time| *time < "2030-01-01T00:00:00Z".parse().unwrap()).max().unwrap().to_string()
}
