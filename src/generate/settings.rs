//! What users may set about the generated files, with the defaults of the declarations.

use std::collections::BTreeMap;

use super::catalogue;
use crate::check::{Alert, Bound, Severity};

/// The whole configuration, complete: every alert of the catalogue has its entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Matchers that select the exporter's series, without braces.
    pub selector: String,
    /// Longhorn's namespace.
    pub namespace: String,
    /// Label that tells clusters apart; empty for none.
    pub cluster_label: String,
    /// Where runbooks are published; the name of the alert follows.
    pub runbook_base_url: String,
    /// Where Grafana is; without it alerts have no link to a dashboard.
    pub dashboard_base_url: Option<String>,
    /// Labels of every alert.
    pub labels: BTreeMap<String, String>,
    /// By name of the alert.
    pub alerts: BTreeMap<&'static str, AlertSettings>,
}

/// What users may set about one alert.
#[derive(Debug, Clone, PartialEq)]
pub struct AlertSettings {
    /// Is there a rule at all?
    pub enabled: bool,
    /// `for`.
    pub hold: String,
    /// `keep_firing_for`; empty for none.
    pub keep_firing_for: String,
    /// Label `severity`.
    pub severity: Severity,
    /// Labels beside the global ones; they win.
    pub labels: BTreeMap<String, String>,
    /// By name, as in the expression.
    pub thresholds: BTreeMap<&'static str, f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            selector: "job=\"longhorn-health-exporter\"".to_owned(),
            namespace: "longhorn-system".to_owned(),
            cluster_label: "cluster".to_owned(),
            runbook_base_url:
                "https://github.com/longhorn-health-exporter/longhorn-health-exporter/blob/main/docs/runbooks"
                    .to_owned(),
            dashboard_base_url: None,
            labels: BTreeMap::new(),
            alerts: catalogue::alerts().map(|alert| (alert.name, AlertSettings::of(alert))).collect(),
        }
    }
}

impl Settings {
    /// The cluster label with a comma, as the front of a list of labels; a space follows in the template.
    pub fn cluster_list(&self) -> String {
        if self.cluster_label.is_empty() { String::new() } else { format!("{},", self.cluster_label) }
    }

    /// The last part of the address of a runbook. Addresses of files in a repository end in `.md`;
    /// whoever publishes the runbooks as pages says so with a base of their own.
    pub fn runbook(&self, alert: &Alert) -> String {
        let is_repository = self.runbook_base_url.contains("/blob/");
        if is_repository { format!("{}.md", alert.name) } else { alert.name.to_owned() }
    }

    /// What is set about an alert.
    pub fn alert(&self, alert: &Alert) -> AlertSettings {
        self.alerts.get(alert.name).cloned().unwrap_or_else(|| AlertSettings::of(alert))
    }

    /// The value at which a colour of a panel begins.
    pub fn bound(&self, bound: &Bound) -> f64 {
        match bound {
            Bound::Value(value) => *value,
            Bound::Threshold { alert, threshold } => {
                let set = self.alerts.get(alert).and_then(|alert| alert.thresholds.get(threshold.name));
                set.copied().unwrap_or(threshold.default)
            }
        }
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
