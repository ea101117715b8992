//! The variables of the dashboards and the matchers they become.

use serde_json::{Value, json};

use crate::generate::Settings;

/// A matcher of a label against a variable, empty without a label. "All" is `.*`, which also matches
/// series that lack the label.
pub fn matcher(label: &str, variable: &str) -> String {
    if label.is_empty() { String::new() } else { format!("{label}=~\"${variable}\"") }
}

/// The matchers for a family with these labels: the cluster always, node and volume where it has them.
pub fn filter(labels: &[&str], settings: &Settings) -> String {
    let mut matchers = vec![matcher(&settings.cluster_label, "cluster")];
    let own = ["node", "volume", "pvc_namespace"].into_iter().filter(|label| labels.contains(label));
    matchers.extend(own.map(|label| matcher(label, label)));
    matchers.retain(|matcher| !matcher.is_empty());
    matchers.join(", ")
}

/// The variables that a dashboard uses, in the order in which they are shown.
pub fn of(settings: &Settings, used: impl Fn(&str) -> bool) -> Vec<Value> {
    let mut variables = vec![json!({
        "type": "datasource", "name": "datasource", "label": "Data source", "query": "prometheus", "refresh": 1,
    })];
    let matchers = [settings.matchers(), matcher(&settings.cluster_label, "cluster")];
    let scope = matchers.into_iter().filter(|matcher| !matcher.is_empty()).collect::<Vec<_>>().join(", ");
    if used("cluster") {
        let (selector, label) = (settings.matchers(), settings.cluster_label.as_str());
        let values = format!("label_values(longhorn_health_findings{{{selector}}}, {label})");
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
        "type": "query",
        "name": name,
        "label": label,
        "query": { "query": values, "refId": "Variable" },
        // the query once more, as the editor shows it
        "definition": values,
        "datasource": super::datasource(),
        // when the time range changes
        "refresh": 2,
        "multi": true,
        "includeAll": true,
        // matches series without the label too
        "allValue": ".*",
        // ascending
        "sort": 1,
        "current": { "selected": true, "text": ["All"], "value": ["$__all"] },
    })
}
