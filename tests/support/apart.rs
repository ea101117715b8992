//! One cause, one incident: what is said of one object or one volume is told once, or one waits for the other. A pair that is found here
//! lacks a relation (src/checks/relations.rs). Clusters in which many things are wrong deliberately are not held to it.

use std::collections::BTreeSet;

use serde_json::Value;

/// Pairs of incidents of warning or worse about one thing, of which neither waits for the other.
pub fn of(report: &Value) -> Vec<String> {
    let incidents = report["incidents"].as_array().into_iter().flatten();
    let loud: Vec<&Value> = incidents.filter(|incident| incident["severity"] != "info").collect();
    let mut pairs = Vec::new();
    for (at, one) in loud.iter().enumerate() {
        for other in &loud[at + 1..] {
            let shared = about(report, one).intersection(&about(report, other)).next().cloned();
            let (first, second) = (cause(one), cause(other));
            if let Some(shared) = shared.filter(|_| !waits(one, other) && !waits(other, one)) {
                pairs.push(format!("{first} and {second} about {shared}"));
            }
        }
    }
    pairs
}

fn cause(incident: &Value) -> String {
    let text = |key: &str| incident[key].as_str().unwrap_or_default();
    format!("{}/{}", text("check"), text("cause"))
}

fn waits(one: &Value, other: &Value) -> bool {
    one["waits_for"].as_array().is_some_and(|numbers| numbers.contains(&other["number"]))
}

/// What its roots are about: their objects, and their volume where they have one alone.
fn about(report: &Value, incident: &Value) -> BTreeSet<String> {
    let count = incident["count"].as_u64().unwrap() as usize;
    let places = incident["findings"].as_array().unwrap().iter().take(count);
    let roots = places.map(|place| &report["findings"][place.as_u64().unwrap() as usize]);
    roots
        .flat_map(|root| {
            let object = &root["object"];
            let object = format!("{} {}", object["kind"].as_str().unwrap(), object["name"].as_str().unwrap());
            let volumes = root["volumes"].as_array().map(Vec::as_slice).unwrap_or_default();
            let volume = match volumes {
                [one] => one["name"].as_str().map(|name| format!("Volume {name}")),
                _ => None,
            };
            [Some(object), volume].into_iter().flatten()
        })
        .collect()
}
