//! An example of routes and inhibitions for Alertmanager.

use serde::Serialize;

use super::{Artifact, Settings, Target, yaml};

/// The alert that says the exporter is gone.
pub const EXPORTER_DOWN: &str = "LonghornHealthExporterDown";

#[derive(Serialize)]
struct Config {
    route: Route,
    receivers: Vec<Receiver>,
    inhibit_rules: Vec<Inhibition>,
}

#[derive(Serialize)]
struct Route {
    receiver: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    matchers: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    group_by: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_wait: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_interval: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat_interval: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    routes: Vec<Route>,
}

#[derive(Serialize)]
struct Receiver {
    name: &'static str,
}

/// Alerts that match `source_matchers` mute those that match `target_matchers` and agree in the
/// labels `equal`. No alert may match both sides: it would mute itself in older Alertmanagers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inhibition {
    pub source_matchers: Vec<String>,
    pub target_matchers: Vec<String>,
    pub equal: Vec<String>,
}

const EXPLANATION: &str = "\
An example: give the receivers an address, or copy the routes and the inhibitions into a configuration
of your own.
Inhibitions, in their order:
1. a node that is down mutes what is found on that node;
2. a critical alert mutes the warning of the same check about the same object;
3. a manager that loops mutes the count of its restarts;
4. the exporter's absence mutes what stands on its series, for as long as Prometheus remembers them.";

pub fn artifact(settings: &Settings) -> Artifact {
    let header = format!("{}\n{EXPLANATION}", Target::Rules.header());
    let config = Config {
        route: routes(settings),
        receivers: ["longhorn-tickets", "longhorn-page", "longhorn-none"]
            .map(|name| Receiver { name })
            .into(),
        inhibit_rules: inhibitions(settings),
    };
    Artifact::new("rules/alertmanager.example.yaml", yaml::document(&header, &config))
}

fn routes(settings: &Settings) -> Route {
    let matching = |receiver, severity: &str| Route {
        receiver,
        matchers: vec!["alertname=~\"Longhorn.+\"".to_owned(), format!("severity=\"{severity}\"")],
        group_by: Vec::new(),
        group_wait: None,
        group_interval: None,
        repeat_interval: None,
        routes: Vec::new(),
    };
    let page = Route { repeat_interval: Some("1h"), ..matching("longhorn-page", "critical") };
    Route {
        receiver: "longhorn-tickets",
        matchers: Vec::new(),
        group_by: with_cluster(settings, &["alertname", "check"]),
        group_wait: Some("30s"),
        group_interval: Some("5m"),
        repeat_interval: Some("12h"),
        routes: vec![page, matching("longhorn-none", "info")],
    }
}

pub fn inhibitions(settings: &Settings) -> Vec<Inhibition> {
    let owned = |matchers: &[&str]| matchers.iter().map(|matcher| (*matcher).to_owned()).collect();
    vec![
        Inhibition {
            source_matchers: owned(&["alertname=~\"KubeNodeNotReady|KubeNodeUnreachable\""]),
            target_matchers: owned(&["alertname=~\"Longhorn.+\"", "node=~\".+\""]),
            equal: with_cluster(settings, &["node"]),
        },
        Inhibition {
            source_matchers: owned(&["severity=\"critical\"", "check=~\".+\"", "object=~\".+\""]),
            target_matchers: owned(&["severity=\"warning\"", "check=~\".+\"", "object=~\".+\""]),
            equal: with_cluster(settings, &["check", "object_kind", "object"]),
        },
        Inhibition {
            source_matchers: owned(&["alertname=\"LonghornManagerCrashLoopBackOff\""]),
            target_matchers: owned(&["alertname=\"LonghornManagerHighRestarts\""]),
            // the exporter names the node, kube-state-metrics the pod; labels that both lack are equal
            equal: with_cluster(settings, &["namespace", "node", "pod"]),
        },
        Inhibition {
            source_matchers: vec![format!("alertname=\"{EXPORTER_DOWN}\"")],
            target_matchers: vec![
                "alertname=~\"Longhorn.+\"".to_owned(),
                format!("alertname!=\"{EXPORTER_DOWN}\""),
                "source!=\"kube-state-metrics\"".to_owned(),
            ],
            equal: with_cluster(settings, &[]),
        },
    ]
}

fn with_cluster(settings: &Settings, labels: &[&str]) -> Vec<String> {
    let cluster = (!settings.cluster_label.is_empty()).then(|| settings.cluster_label.clone());
    cluster.into_iter().chain(labels.iter().map(|label| (*label).to_owned())).collect()
}
