//! Routes and inhibitions for Alertmanager: an example of a whole configuration, values of
//! kube-prometheus-stack, and an AlertmanagerConfig.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Value, json};

use super::catalogue;
use super::shape::Shape;
use super::{Artifact, Settings, Target, yaml};
use crate::check::{Alert, Check, Link};
use crate::checks;
use crate::exporter::INHIBITOR;

/// The alert that says the exporter is gone.
pub const EXPORTER_DOWN: &str = "LonghornHealthExporterDown";

#[derive(Serialize)]
struct Config<'a> {
    route: Value,
    receivers: Value,
    inhibit_rules: &'a [Inhibition],
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
    let inhibitions = inhibitions(settings);
    let config = Config {
        route: routes(settings),
        receivers: json!([{ "name": "longhorn-tickets" }, { "name": "longhorn-page" }, { "name": "longhorn-none" }]),
        inhibit_rules: &inhibitions,
    };
    let all: Vec<_> = of_the_stack_itself().iter().chain(&inhibitions).cloned().collect();
    let of_stack = below("alertmanager", below("config", below("inhibit_rules", all)));
    // the operator would look for alerts of other namespaces in the exporter's
    let is_ours = |inhibition: &&Inhibition| {
        !inhibition.source_matchers.iter().any(|matcher| matcher.value.starts_with("Kube"))
    };
    let ours: Vec<_> = inhibitions.iter().filter(is_ours).map(of_the_operator).collect();
    let of_operator = json!({
        "apiVersion": "monitoring.coreos.com/v1alpha1",
        "kind": "AlertmanagerConfig",
        "metadata": { "name": "longhorn-health-exporter" },
        "spec": { "inhibitRules": ours },
    });
    vec![
        artifact("rules/alertmanager.example.yaml", EXPLANATION, &config),
        artifact("rules/alertmanager.kube-prometheus-stack.yaml", OF_STACK, &of_stack),
        artifact("rules/longhorn-health.alertmanagerconfig.yaml", OF_OPERATOR, &of_operator),
    ]
}

fn below<T>(key: &'static str, value: T) -> BTreeMap<&'static str, T> {
    BTreeMap::from([(key, value)])
}

fn artifact(path: &str, explanation: &str, content: &impl Serialize) -> Artifact {
    let header = format!("{}\n{explanation}", Target::Rules.header());
    Artifact::new(path, yaml::document(&header, content))
}

fn routes(settings: &Settings) -> Value {
    let matchers = |severity: &str| {
        [Matcher::new("alertname", "=~", "Longhorn.+"), Matcher::new("severity", "=", severity)]
    };
    json!({
        "receiver": "longhorn-tickets",
        // an incident is one cause on however many objects; what follows from it is muted
        "group_by": with_cluster(settings, &["namespace", "alertname", "cause"]),
        "group_wait": "30s",
        "group_interval": "5m",
        "repeat_interval": "12h",
        "routes": [
            { "receiver": "longhorn-page", "matchers": matchers("critical"), "repeat_interval": "1h" },
            { "receiver": "longhorn-none", "matchers": matchers("info") },
        ],
    })
}

/// As prometheus-operator writes it.
fn of_the_operator(inhibition: &Inhibition) -> Value {
    let matches = |matchers: &[Matcher]| -> Vec<Value> {
        let one = |of: &Matcher| json!({ "name": of.label, "matchType": of.operator, "value": of.value });
        matchers.iter().map(one).collect()
    };
    json!({
        "sourceMatch": matches(&inhibition.source_matchers),
        "targetMatch": matches(&inhibition.target_matchers),
        "equal": inhibition.equal,
    })
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
