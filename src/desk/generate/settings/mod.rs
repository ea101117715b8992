//! What users may set about the generated files. From these types come the parser of the configuration
//! file, its JSON schema and its page in docs/.

mod parse;
mod text;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use super::address;
use super::catalogue::Declared;
use crate::check::{Alert, Bound, Catalogue, Severity, Threshold, When};
use crate::longhorn::Release;
use crate::longhorn_series;
use crate::own::INHIBITOR;
pub use parse::{ConfigError, parse};
use text::{
    Address, AlertName, ClusterLabel, Duration, Job, LabelName, LabelValue, Namespace, Plain, Selector,
};
pub use text::{ClusterName, LonghornRelease};

/// A configuration; what a file leaves out keeps its default.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(default = "Settings::of_nothing", deny_unknown_fields)]
#[schemars(extend("type" = ["object", "null"]))]
pub struct Settings {
    /// What they are about.
    #[serde(skip)]
    pub declared: &'static Declared,
    /// Selects the exporter: its job name, or labels of its target
    #[schemars(extend("default" = "longhorn-health-exporter"))]
    pub selector: Selector,
    /// Longhorn's namespace, for the rules on kube-state-metrics
    #[schemars(extend("default" = "longhorn-system"))]
    pub namespace: Namespace,
    /// Label that distinguishes clusters; empty for none
    #[schemars(extend("default" = "cluster"))]
    pub cluster_label: ClusterLabel,
    /// Values of that label that must always have an exporter
    #[serde(deserialize_with = "or_empty")]
    #[schemars(with = "Option<Vec<ClusterName>>")]
    pub expected_clusters: Vec<ClusterName>,
    /// Longhorn's release, such as v1.8.2; leaves out rules and panels on metrics of Longhorn that it lacks
    pub longhorn_release: Option<LonghornRelease>,
    /// Where runbooks are published, and the alert's name is appended; without it alerts have no link to a runbook
    pub runbook_base_url: Option<Address>,
    /// Where Grafana is; without it alerts have no link to a dashboard
    pub dashboard_base_url: Option<Address>,
    /// Labels of every alert
    #[serde(deserialize_with = "or_empty")]
    #[schemars(with = "Option<Labels>")]
    pub labels: Labels,
    /// Settings of single alerts, by name
    #[serde(deserialize_with = "or_empty")]
    #[schemars(with = "Option<Alerts>")]
    pub alerts: Alerts,
}

pub type Labels = BTreeMap<LabelName, LabelValue>;
/// A name with nothing below it is an alert as declared.
type Alerts = BTreeMap<AlertName, Option<AlertConfig>>;

/// Settings of an alert. Keys that you omit keep their shipped values.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AlertConfig {
    /// Whether the rule exists: `true` or `false`
    pub enabled: Option<Plain<bool>>,
    /// How long the expression must hold
    #[serde(rename = "for")]
    pub for_: Option<Duration>,
    /// How long the alert keeps firing after the expression ends
    pub keep_firing_for: Option<Duration>,
    /// The label severity: `info`, `warning` or `critical`
    pub severity: Option<Severity>,
    /// Labels of this alert; they win over the global ones
    pub labels: Option<Labels>,
    /// Numbers in the expression, by name. The alert's runbook lists them
    pub thresholds: Option<BTreeMap<String, Plain<f64>>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AlertSettings {
    pub enabled: bool,
    pub for_: String,
    /// `keep_firing_for`; empty for none.
    pub keep_firing_for: String,
    pub severity: Severity,
    /// Whether each severity of its series is a rule of its own ([`Alert::as_found`]).
    pub is_as_found: bool,
    /// Whether it is for Alertmanager alone, and no one is notified of it.
    is_internal: bool,
    /// Labels beside the global ones; they win.
    pub labels: Labels,
    pub thresholds: BTreeMap<&'static str, f64>,
}

impl AlertSettings {
    /// The label severity; `none` is Alertmanager's own word for what no one is notified of.
    pub fn severity_label(&self) -> &'static str {
        if self.is_internal { "none" } else { self.severity.as_str() }
    }
}

impl Settings {
    /// What is declared, as it is.
    pub fn of(declared: &'static Declared) -> Self {
        Settings {
            declared,
            selector: Selector::Job(Job("longhorn-health-exporter".to_owned())),
            namespace: Namespace("longhorn-system".to_owned()),
            cluster_label: ClusterLabel("cluster".to_owned()),
            expected_clusters: Vec::new(),
            longhorn_release: None,
            runbook_base_url: address::runbooks().map(Address),
            dashboard_base_url: None,
            labels: Labels::new(),
            alerts: Alerts::new(),
        }
    }

    fn of_nothing() -> Self {
        static NOTHING: Declared = Declared::new(&Catalogue { checks: &[], relations: &[] });
        Settings::of(&NOTHING)
    }

    /// Labels of the exporter's target.
    pub fn selected(&self) -> Vec<(&str, &str)> {
        match &self.selector {
            Selector::Job(job) => vec![("job", job.as_str())],
            Selector::Labels(labels) => {
                labels.iter().map(|(label, value)| (label.as_str(), value.as_str())).collect()
            }
        }
    }

    /// The same as matchers of PromQL.
    pub fn matchers(&self) -> String {
        let matchers = self.selected().into_iter().map(|(label, value)| format!("{label}=\"{value}\""));
        matchers.collect::<Vec<_>>().join(", ")
    }

    /// The cluster label with a comma, to start a list of labels; a space follows in the template.
    pub fn cluster_list(&self) -> String {
        if self.cluster_label.is_empty() { String::new() } else { format!("{},", *self.cluster_label) }
    }

    /// The address of a runbook. Files in a repository end in `.md`; published pages do not.
    pub fn runbook(&self, alert: &str) -> Option<String> {
        let base = self.runbook_base_url.as_ref()?.trim_end_matches('/');
        let ending = if base.contains("/blob/") { ".md" } else { "" };
        Some(format!("{base}/{alert}{ending}"))
    }

    /// Whether the configured release of Longhorn has its own series of an expression; also where none is configured.
    pub fn is_there(&self, expr: &str) -> bool {
        let release = self.longhorn_release.as_ref().and_then(|release| Release::parse(release));
        release.zip(longhorn_series::needs(expr)).is_none_or(|(release, from)| from <= release)
    }

    fn config(&self, alert: &str) -> Option<&AlertConfig> {
        let (_, config) = self.alerts.iter().find(|(name, _)| name.0 == alert)?;
        config.as_ref()
    }

    pub fn alert(&self, alert: &Alert) -> AlertSettings {
        let none = AlertConfig::default();
        let config = self.config(alert.name).unwrap_or(&none);
        let set = |set: &Option<Duration>, declared: &str| {
            set.as_deref().map_or_else(|| declared.to_owned(), String::clone)
        };
        let threshold = |threshold: &Threshold| (threshold.name, config.threshold(threshold));
        let is_there = match alert.when {
            When::Promql { expr, .. } => self.is_there(expr),
            _ => true,
        };
        AlertSettings {
            enabled: is_there && config.enabled.is_none_or(|enabled| enabled.0),
            for_: set(&config.for_, alert.for_),
            keep_firing_for: set(&config.keep_firing_for, alert.keep_firing_for),
            severity: config.severity.unwrap_or(alert.severity()),
            is_as_found: alert.as_found && config.severity.is_none(),
            is_internal: alert.name == INHIBITOR && config.severity.is_none(),
            labels: config.labels.clone().unwrap_or_default(),
            thresholds: alert.thresholds.iter().map(threshold).collect(),
        }
    }

    /// The value at which a colour of a panel begins.
    pub fn bound(&self, bound: &Bound) -> f64 {
        match bound {
            Bound::Value(value) => *value,
            Bound::Threshold { alert, threshold } => {
                self.config(alert).map_or(threshold.default, |config| config.threshold(threshold))
            }
        }
    }
}

impl AlertConfig {
    fn threshold(&self, threshold: &Threshold) -> f64 {
        let set = self.thresholds.as_ref().and_then(|set| set.get(threshold.name));
        // adding zero drops the sign of a negative zero
        set.map_or(threshold.default, |value| value.0 + 0.0)
    }
}

impl AlertSettings {
    pub fn of(alert: &Alert) -> Self {
        Settings::of_nothing().alert(alert)
    }
}

/// Nothing below a key is nothing.
fn or_empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
