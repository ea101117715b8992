//! What users may set about the generated files. From these types come the parser of the configuration
//! file, its JSON schema and its page in docs/.

mod parse;
mod text;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use super::catalogue;
use crate::check::{Alert, Bound, Severity};
pub use parse::{ConfigError, parse};
pub use text::GREATEST;
use text::{
    Address, AlertName, ClusterLabel, ClusterName, Duration, LabelMap, Namespace, Plain, Selector, text,
};

/// A configuration; what a file leaves out keeps its default.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("type" = ["object", "null"]))]
pub struct Settings {
    /// Selects the exporter: its job name, or labels of its target
    #[serde(deserialize_with = "text::selector")]
    #[schemars(with = "Selector", extend("default" = "longhorn-health-exporter"))]
    pub selector: Vec<(String, String)>,
    /// Longhorn's namespace, for the rules on kube-state-metrics
    #[serde(deserialize_with = "text::<_, Namespace>")]
    #[schemars(with = "Namespace")]
    pub namespace: String,
    /// Label that distinguishes clusters; empty for none
    #[serde(deserialize_with = "text::<_, ClusterLabel>")]
    #[schemars(with = "ClusterLabel")]
    pub cluster_label: String,
    /// Values of that label that must have an exporter: each is missed from the start, and for ever
    #[serde(deserialize_with = "text::list::<_, ClusterName>")]
    #[schemars(with = "Option<Vec<ClusterName>>", extend("default" = Vec::<String>::new()))]
    pub expected_clusters: Vec<String>,
    /// Where runbooks are published; the alert's name is appended
    #[serde(deserialize_with = "text::<_, Address>")]
    #[schemars(with = "Address")]
    pub runbook_base_url: String,
    /// Where Grafana is; without it alerts have no link to a dashboard
    #[serde(deserialize_with = "text::some::<_, Address>")]
    #[schemars(with = "Address", extend("default" = null))]
    pub dashboard_base_url: Option<String>,
    /// Labels of every alert
    #[serde(deserialize_with = "text::labels")]
    #[schemars(with = "LabelMap")]
    pub labels: BTreeMap<String, String>,
    /// Settings of single alerts, by name
    #[serde(deserialize_with = "alerts")]
    #[schemars(with = "Option<BTreeMap<String, AlertConfig>>", extend("default" = null))]
    pub alerts: BTreeMap<&'static str, AlertConfig>,
}

/// Settings of an alert; what is left out stays as declared.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("type" = ["object", "null"]))]
pub struct AlertConfig {
    /// Whether there is a rule at all
    pub enabled: Option<Plain<bool>>,
    /// How long the expression must hold
    #[serde(rename = "for", deserialize_with = "text::some::<_, Duration>")]
    #[schemars(with = "Duration")]
    pub hold: Option<String>,
    /// How long the alert keeps firing after the expression ends
    #[serde(deserialize_with = "text::some::<_, Duration>")]
    #[schemars(with = "Duration")]
    pub keep_firing_for: Option<String>,
    /// The label severity
    pub severity: Option<Severity>,
    /// Labels of this alert; they win over the global ones
    #[serde(deserialize_with = "text::labels")]
    #[schemars(with = "LabelMap")]
    pub labels: BTreeMap<String, String>,
    /// Numbers in the expression, by name
    pub thresholds: Option<BTreeMap<String, Plain<f64>>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AlertSettings {
    pub enabled: bool,
    /// `for`.
    pub hold: String,
    /// `keep_firing_for`; empty for none.
    pub keep_firing_for: String,
    pub severity: Severity,
    /// Labels beside the global ones; they win.
    pub labels: BTreeMap<String, String>,
    /// By name, as in the expression.
    pub thresholds: BTreeMap<&'static str, f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            selector: vec![("job".to_owned(), "longhorn-health-exporter".to_owned())],
            namespace: "longhorn-system".to_owned(),
            cluster_label: "cluster".to_owned(),
            expected_clusters: Vec::new(),
            runbook_base_url:
                "https://github.com/longhorn-health-exporter/longhorn-health-exporter/blob/main/docs/runbooks"
                    .to_owned(),
            dashboard_base_url: None,
            labels: BTreeMap::new(),
            alerts: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// What selects the exporter, as matchers of PromQL.
    pub fn matchers(&self) -> String {
        let matchers = self.selector.iter().map(|(label, value)| format!("{label}=\"{value}\""));
        matchers.collect::<Vec<_>>().join(", ")
    }

    /// The cluster label with a comma, to start a list of labels; a space follows in the template.
    pub fn cluster_list(&self) -> String {
        if self.cluster_label.is_empty() { String::new() } else { format!("{},", self.cluster_label) }
    }

    /// The last part of the address of a runbook. Files in a repository end in `.md`; published pages do not.
    pub fn runbook(&self, alert: &Alert) -> String {
        let is_repository = self.runbook_base_url.contains("/blob/");
        if is_repository { format!("{}.md", alert.name) } else { alert.name.to_owned() }
    }

    pub fn alert(&self, alert: &Alert) -> AlertSettings {
        let mut settings = AlertSettings::of(alert);
        let Some(config) = self.alerts.get(alert.name) else { return settings };
        settings.enabled = config.enabled.map_or(settings.enabled, |enabled| enabled.0);
        settings.hold = config.hold.clone().unwrap_or(settings.hold);
        settings.keep_firing_for = config.keep_firing_for.clone().unwrap_or(settings.keep_firing_for);
        settings.severity = config.severity.unwrap_or(settings.severity);
        settings.labels = config.labels.clone();
        for (name, value) in &mut settings.thresholds {
            *value = config.threshold(name).unwrap_or(*value);
        }
        settings
    }

    /// The value at which a colour of a panel begins.
    pub fn bound(&self, bound: &Bound) -> f64 {
        match bound {
            Bound::Value(value) => *value,
            Bound::Threshold { alert, threshold } => {
                let set = self.alerts.get(alert).and_then(|config| config.threshold(threshold.name));
                set.unwrap_or(threshold.default)
            }
        }
    }
}

impl AlertConfig {
    fn threshold(&self, name: &str) -> Option<f64> {
        // adding zero drops the sign of a negative zero
        self.thresholds.as_ref()?.get(name).map(|value| value.0 + 0.0)
    }
}

impl AlertSettings {
    /// As declared.
    pub fn of(alert: &Alert) -> Self {
        AlertSettings {
            enabled: true,
            hold: alert.hold.to_owned(),
            keep_firing_for: alert.keep_firing_for.to_owned(),
            severity: alert.severity,
            labels: BTreeMap::new(),
            thresholds: alert
                .thresholds
                .iter()
                .map(|threshold| (threshold.name, threshold.default))
                .collect(),
        }
    }
}

/// A key with nothing below it is an alert as declared.
fn alerts<'de, D>(deserializer: D) -> Result<BTreeMap<&'static str, AlertConfig>, D::Error>
where
    D: Deserializer<'de>,
{
    let alerts = Option::<BTreeMap<AlertName, Option<AlertConfig>>>::deserialize(deserializer)?;
    let set = alerts.unwrap_or_default().into_iter().filter_map(|(name, config)| Some((name.0, config?)));
    Ok(set.collect())
}

fn declared(name: &str) -> Option<&'static Alert> {
    catalogue::alerts().find(|alert| alert.name == name)
}
