//! The decisive word stands on the first screen: what a machine itself said about why something is wrong must not have to be looked for
//! in the evidence.

use longhorn_health_exporter::check::said;
use serde_json::Value;

/// What only a machine writes.
const MACHINES: &[&str] = &[
    "rpc error: ", "level=fatal", "panic: ", "failed to ", "Failed to ", "AWS Error", "denied by",
    "is forbidden: ", "Back-off pulling", "no such file", "connection refused",
];

/// Evidence that quotes a machine, but is decided by more than its words; the headline says what they mean.
const INTERPRETED: &[(&str, &str)] = &[
    // probes that failed before the kill, which the headline counts
    ("instance_manager_replaced", "event Unhealthy"),
    ("manager_start_stuck", "readiness probe was still refused"),
    // that it could not be attached is the finding
    ("volume_attachment_stuck", " failed to attach to node "),
    ("volume_attachment_stuck", " is not ready for workloads"),
];

/// Incidents of warning or worse whose screen leaves out what their evidence has.
pub fn of(report: &Value) -> Vec<String> {
    let text = |of: &Value, key: &str| of[key].as_str().unwrap_or_default().to_owned();
    let incidents = report["incidents"].as_array().into_iter().flatten();
    let mut unsaid = Vec::new();
    for incident in incidents.filter(|incident| incident["severity"] != "info") {
        let root = &report["findings"][incident["findings"][0].as_u64().unwrap() as usize];
        let screen = format!("{} {}", text(incident, "title"), text(incident, "fix"));
        if let Some(word) = root["said"]["text"].as_str() {
            if incident["said"]["text"] != word && !said::is_told(&screen, word) {
                unsaid.push(format!("{}: {word}", incident["title"]));
            }
            continue;
        }
        let is_interpreted = |fact: &str| {
            INTERPRETED.iter().any(|(check, words)| root["check"] == *check && fact.contains(words))
        };
        for fact in root["evidence"].as_array().into_iter().flatten().map(|fact| text(fact, "text")) {
            let by_machine = MACHINES.iter().any(|words| fact.contains(words)) && !is_interpreted(&fact);
            if by_machine && said::essence(&fact).is_some_and(|word| !said::is_told(&screen, &word)) {
                unsaid.push(format!("{}/{}: {fact}", text(root, "check"), text(root, "cause")));
            }
        }
    }
    unsaid
}
