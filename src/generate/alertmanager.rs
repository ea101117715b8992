//! Routes and inhibitions for Alertmanager: an example of a whole configuration, values of
//! kube-prometheus-stack, and an AlertmanagerConfig.

use std::collections::BTreeSet;

use serde::Serialize;

use super::catalogue;
use super::shape::Shape;
use super::{Artifact, Settings, Target, yaml};
use crate::check::{Alert, Check, Link};
use crate::checks;
use crate::exporter::INHIBITOR;

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
    matchers: Vec<Matcher>,
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
    /// Who mutes.
    pub source_matchers: Vec<Matcher>,
    /// Who is muted.
    pub target_matchers: Vec<Matcher>,
    /// In which labels they agree.
    pub equal: Vec<String>,
}

/// What a label must be.
#[derive(Debug, Clone, PartialEq)]
pub struct Matcher {
    /// The label.
    pub label: &'static str,
    /// `=`, `!=`, `=~` or `!~`.
    pub operator: &'static str,
    /// Text or pattern.
    pub value: String,
}

impl Matcher {
    fn new(label: &'static str, operator: &'static str, value: &str) -> Self {
        Matcher { label, operator, value: value.to_owned() }
    }
}

/// As Alertmanager reads it.
impl Serialize for Matcher {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}{}\"{}\"", self.label, self.operator, self.value))
    }
}

const EXPLANATION: &str = "\
An example: give the receivers an address, or copy the routes and the inhibitions into a configuration
of your own.
Inhibitions, in their order:
1. a node that is down mutes what is found on that node;
2. a critical alert mutes the warning of the same check about the same object;
3. a manager that loops mutes the count of its restarts;
4. the exporter's absence mutes what stands on its series, for as long as Prometheus remembers them;
5. all others: an alert whose root cause has an alert that fires. They come from the relations between causes
   (src/checks/*/follows.rs) by way of the alert LonghornHealthInhibitor, which fires for as long as both do.";

const OF_STACK: &str = "\
Values of kube-prometheus-stack: `helm upgrade --values` with this file. A list in values replaces the one of the
chart, so the chart's own inhibitions stand here again, in front.
Alerts of severity info, LonghornHealthInhibitor among them, must reach no receiver that anyone reads.";

const OF_OPERATOR: &str = "\
For prometheus-operator: apply this into the namespace in which the exporter runs. The operator adds a matcher
`namespace` with the object's own namespace to both sides of each inhibition, and alerts on the exporter's series have
the namespace of the exporter's pod. For that reason the inhibition by KubeNodeNotReady, an alert of another namespace,
is not among them. Alerts of severity info, LonghornHealthInhibitor among them, must reach no receiver that anyone reads.";

/// The files.
pub fn artifacts(settings: &Settings) -> Vec<Artifact> {
    let config = Config {
        route: routes(settings),
        receivers: ["longhorn-tickets", "longhorn-page", "longhorn-none"]
            .map(|name| Receiver { name })
            .into(),
        inhibit_rules: inhibitions(settings),
    };
    let of_stack =
        stack::Values::new(of_the_stack_itself().into_iter().chain(inhibitions(settings)).collect());
    let of_operator = operator::AlertmanagerConfig::new(&inhibitions(settings));
    vec![
        artifact("rules/alertmanager.example.yaml", EXPLANATION, &config),
        artifact("rules/alertmanager.kube-prometheus-stack.yaml", OF_STACK, &of_stack),
        artifact("rules/longhorn-health.alertmanagerconfig.yaml", OF_OPERATOR, &of_operator),
    ]
}

fn artifact(path: &str, explanation: &str, content: &impl Serialize) -> Artifact {
    let header = format!("{}\n{explanation}", Target::Rules.header());
    Artifact::new(path, yaml::document(&header, content))
}

fn routes(settings: &Settings) -> Route {
    let matching = |receiver, severity: &str| Route {
        receiver,
        matchers: vec![
            Matcher::new("alertname", "=~", "Longhorn.+"),
            Matcher::new("severity", "=", severity),
        ],
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
        // an incident is one cause on however many objects; what follows from it is muted
        group_by: with_cluster(settings, &["namespace", "alertname", "cause"]),
        group_wait: Some("30s"),
        group_interval: Some("5m"),
        repeat_interval: Some("12h"),
        routes: vec![page, matching("longhorn-none", "info")],
    }
}

/// All inhibitions.
pub fn inhibitions(settings: &Settings) -> Vec<Inhibition> {
    let is = |label, operator, value: &str| Matcher::new(label, operator, value);
    let of_an_object =
        |severity| vec![is("severity", "=", severity), is("check", "=~", ".+"), is("object", "=~", ".+")];
    let general = vec![
        Inhibition {
            source_matchers: vec![is("alertname", "=~", "KubeNodeNotReady|KubeNodeUnreachable")],
            target_matchers: vec![is("alertname", "=~", "Longhorn.+"), is("node", "=~", ".+")],
            equal: with_cluster(settings, &["node"]),
        },
        Inhibition {
            source_matchers: of_an_object("critical"),
            target_matchers: of_an_object("warning"),
            equal: with_cluster(settings, &["check", "object_kind", "object"]),
        },
        Inhibition {
            source_matchers: vec![is("alertname", "=", "LonghornManagerCrashLoopBackOff")],
            target_matchers: vec![is("alertname", "=", "LonghornManagerHighRestarts")],
            // the exporter names the node, kube-state-metrics the pod; labels that both lack are equal
            equal: with_cluster(settings, &["namespace", "node", "pod"]),
        },
        Inhibition {
            source_matchers: vec![is("alertname", "=", EXPORTER_DOWN)],
            target_matchers: vec![
                is("alertname", "=~", "Longhorn.+"),
                is("alertname", "!=", EXPORTER_DOWN),
                is("source", "!=", "kube-state-metrics"),
            ],
            equal: with_cluster(settings, &[]),
        },
    ];
    let areas: Vec<&Check> = catalogue::areas().collect();
    let consequences = areas.iter().flat_map(|area| area.alerts.iter().map(move |alert| (area, alert)));
    let by_relation = consequences.filter_map(|(area, alert)| by_relation(area, alert, settings));
    general.into_iter().chain(by_relation).collect()
}

/// What mutes an alert whose causes may follow from others. [`INHIBITOR`] has the labels of the finding, so the two
/// are compared in what the alert has of them.
fn by_relation(area: &Check, alert: &Alert, settings: &Settings) -> Option<Inhibition> {
    let follows: BTreeSet<&str> = checks::by_id(area.id)?
        .follows
        .iter()
        .filter(|follows| follows.link == Link::CausedBy)
        .flat_map(|follows| follows.causes)
        .copied()
        .collect();
    alert.causes().find(|cause| follows.contains(cause.id))?;
    let labels = Shape::of(area, alert)?.labels();
    let of_a_finding = ["check", "cause", "object_kind", "object", "volume", "node", "disk"];
    let common: Vec<&str> = ["namespace"]
        .into_iter()
        .chain(of_a_finding.into_iter().filter(|label| labels.contains(label)))
        .collect();
    Some(Inhibition {
        source_matchers: vec![
            Matcher::new("alertname", "=", INHIBITOR),
            Matcher::new("alert", "=", alert.name),
        ],
        target_matchers: vec![Matcher::new("alertname", "=", alert.name)],
        equal: with_cluster(settings, &common),
    })
}

/// The inhibitions that kube-prometheus-stack has without further ado.
fn of_the_stack_itself() -> Vec<Inhibition> {
    let is = Matcher::new;
    let inhibition = |source: Matcher, target: Matcher, equal: &[&str]| Inhibition {
        source_matchers: vec![source],
        target_matchers: vec![target],
        equal: equal.iter().map(|label| (*label).to_owned()).collect(),
    };
    let same = ["namespace", "alertname"];
    vec![
        inhibition(is("severity", "=", "critical"), is("severity", "=~", "warning|info"), &same),
        inhibition(is("severity", "=", "warning"), is("severity", "=", "info"), &same),
        inhibition(is("alertname", "=", "InfoInhibitor"), is("severity", "=", "info"), &same[..1]),
    ]
}

fn with_cluster(settings: &Settings, labels: &[&str]) -> Vec<String> {
    let cluster = (!settings.cluster_label.is_empty()).then(|| settings.cluster_label.clone());
    cluster.into_iter().chain(labels.iter().map(|label| (*label).to_owned())).collect()
}

/// Values of kube-prometheus-stack.
mod stack {
    use serde::Serialize;

    use super::Inhibition;

    #[derive(Serialize)]
    pub struct Values {
        alertmanager: Alertmanager,
    }

    #[derive(Serialize)]
    struct Alertmanager {
        config: Config,
    }

    #[derive(Serialize)]
    struct Config {
        inhibit_rules: Vec<Inhibition>,
    }

    impl Values {
        pub fn new(inhibit_rules: Vec<Inhibition>) -> Self {
            Values { alertmanager: Alertmanager { config: Config { inhibit_rules } } }
        }
    }
}

/// The AlertmanagerConfig of prometheus-operator.
mod operator {
    use serde::Serialize;

    use super::{Inhibition, Matcher};

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    pub struct AlertmanagerConfig {
        api_version: &'static str,
        kind: &'static str,
        metadata: Metadata,
        spec: Spec,
    }

    #[derive(Serialize)]
    struct Metadata {
        name: &'static str,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Spec {
        inhibit_rules: Vec<Rule>,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Rule {
        source_match: Vec<Match>,
        target_match: Vec<Match>,
        equal: Vec<String>,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Match {
        name: &'static str,
        match_type: &'static str,
        value: String,
    }

    impl AlertmanagerConfig {
        /// Without those by alerts of other namespaces.
        pub fn new(inhibitions: &[Inhibition]) -> Self {
            let matches = |matchers: &[Matcher]| matchers.iter().map(Match::of).collect();
            let is_ours = |inhibition: &&Inhibition| {
                !inhibition.source_matchers.iter().any(|matcher| matcher.value.starts_with("Kube"))
            };
            let rule = |inhibition: &Inhibition| Rule {
                source_match: matches(&inhibition.source_matchers),
                target_match: matches(&inhibition.target_matchers),
                equal: inhibition.equal.clone(),
            };
            AlertmanagerConfig {
                api_version: "monitoring.coreos.com/v1alpha1",
                kind: "AlertmanagerConfig",
                metadata: Metadata { name: "longhorn-health-exporter" },
                spec: Spec { inhibit_rules: inhibitions.iter().filter(is_ours).map(rule).collect() },
            }
        }
    }

    impl Match {
        fn of(matcher: &Matcher) -> Self {
            Match { name: matcher.label, match_type: matcher.operator, value: matcher.value.clone() }
        }
    }
}
