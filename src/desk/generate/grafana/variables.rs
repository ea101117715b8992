//! The variables of the dashboards and the matchers they become.

use serde_json::{Value, json};

use crate::generate::Settings;

/// A matcher of a label against a variable, empty without a label. "All" is `.*`, which also matches
/// series that lack the label.
fn matcher(label: &str, variable: &str) -> String {
    if label.is_empty() { String::new() } else { format!("{label}=~\"${variable}\"") }
}

/// The matchers for a family with these labels: the cluster always, node and volume where it has them.
pub fn filter(labels: &[&str], settings: &Settings) -> String {
    let own = ["node", "volume", "pvc_namespace"].into_iter().filter(|label| labels.contains(label));
    let own = own.map(|label| matcher(label, label));
    joined([matcher(&settings.cluster_label, "cluster")].into_iter().chain(own))
}

pub fn joined(matchers: impl IntoIterator<Item = String>) -> String {
    matchers.into_iter().filter(|matcher| !matcher.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The variables that a dashboard uses, in the order in which they are shown.
pub fn of(settings: &Settings, used: impl Fn(&str) -> bool) -> Vec<Value> {
    let mut variables = vec![json!({
        "type": "datasource", "name": "datasource", "label": "Data source", "query": "prometheus", "refresh": 1,
    })];
    let scope = joined([settings.matchers(), filter(&[], settings)]);
    if used("cluster") {
        let (selector, label) = (settings.matchers(), settings.cluster_label.as_str());
        let values = format!("label_values(longhorn_health_status{{{selector}}}, {label})");
        variables.push(query("cluster", "Cluster", values));
    }
    for (name, heading, family) in [
        ("node", "Node", "longhorn_health_finding"),
        ("pvc_namespace", "PVC namespace", "longhorn_health_finding_volume"),
        ("volume", "Volume", "longhorn_health_finding_volume"),
    ] {
        if used(name) {
            variables.push(query(name, heading, format!("label_values({family}{{{scope}}}, {name})")));
        }
    }
    variables
}

fn query(name: &str, label: &str, values: String) -> Value {
    json!({
        "type": "query", "name": name, "label": label, "datasource": super::datasource(),
        // the query once more, as the editor shows it
        "query": { "query": values, "refId": "Variable" }, "definition": values,
        // refreshed when the time range changes, sorted upwards; "All" matches series without the label too
        "refresh": 2, "sort": 1, "multi": true, "includeAll": true, "allValue": ".*",
        "current": { "selected": true, "text": ["All"], "value": ["$__all"] },
    })
}
