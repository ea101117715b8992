//! Two sentences of one report about one volume, of which one says that it cannot be used and the other that it can.

use serde_json::Value;

/// Checks and causes that say of a volume that workloads cannot use it. Not those by which it is only held elsewhere, or away in
/// between.
const UNUSABLE: &[(&str, &[&str])] = &[
    (
        "volume_faulted",
        &["replicas_unreachable", "auto_salvage_off", "salvage_pending", "engine_died", "no_data"],
    ),
    ("volume_read_only", &["file_system_read_only"]),
    (
        "share_manager_down",
        &["node_down", "volume_not_attached", "pod_not_started", "pod_failed", "pod_missing", "not_serving"],
    ),
    ("volume_attachment_stuck", &["attach_loop", "engine_cannot_start", "attaching"]),
];

/// What tells a person that nothing is wrong with the volumes of a finding. "running I/O continues" says nothing of a volume
/// without any.
const REASSURES: &[&str] = &[
    " works", " work,", "I/O continues", "I/O goes on", "keep working", "keeps working", "not affected",
    "no volume is affected", "serves on",
];

/// Every such pair.
pub fn of(report: &Value) -> Vec<String> {
    let findings = || report["findings"].as_array().into_iter().flatten();
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let volumes = |finding: &Value| -> Vec<String> {
        let volumes = finding["volumes"].as_array().into_iter().flatten();
        volumes.filter_map(|volume| Some(volume["name"].as_str()?.to_owned())).collect()
    };
    let unusable = |finding: &&Value| {
        let (check, cause) = (text(finding, "check"), text(finding, "cause"));
        UNUSABLE.iter().any(|(known, causes)| *known == check && causes.contains(&cause.as_str()))
    };
    let mut pairs = Vec::new();
    for hurt in findings().filter(unusable) {
        let names = volumes(hurt);
        for other in findings().filter(|other| volumes(other).iter().any(|name| names.contains(name))) {
            for said in ["message", "impact"].map(|key| text(other, key)) {
                if reassures(&said) {
                    pairs.push(format!("{} / {said}", text(hurt, "message")));
                }
            }
        }
    }
    pairs
}

fn reassures(text: &str) -> bool {
    let running = text.replace("Running I/O continues", "").replace("running I/O continues", "");
    REASSURES.iter().any(|phrase| running.contains(phrase))
}
