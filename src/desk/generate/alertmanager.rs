//! Routes and inhibitions for Alertmanager: an example of a whole configuration, values of
//! kube-prometheus-stack, and an AlertmanagerConfig.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::{Artifact, Settings, Target, yaml};
use crate::check::{Alert, Cause, Check};
use crate::incidents::NEVER_MUTED;
use crate::own::INHIBITOR;

/// Alerts that rules on kube-state-metrics have, too.
const OF_MANAGERS: &str = "LonghornManagerCrashLoopBackOff|LonghornManagerHighRestarts";

pub const EXPORTER_DOWN: &str = "LonghornHealthExporterDown";

/// Alerts that match `source_matchers` mute those that match `target_matchers` and agree in the
/// labels `equal`. No alert may match both sides: it would mute itself in older Alertmanagers.
#[derive(Debug, Clone, Serialize)]
pub struct Inhibition {
    pub source_matchers: Vec<Matcher>,
    pub target_matchers: Vec<Matcher>,
    pub equal: Vec<String>,
}

/// A label, `=`, `!=`, `=~` or `!~`, and a text or pattern.
#[derive(Debug, Clone)]
pub struct Matcher(pub &'static str, pub &'static str, pub String);

impl Serialize for Matcher {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}{}\"{}\"", self.0, self.1, self.2))
    }
}

type Matchers<'a> = &'a [(&'static str, &'static str, &'a str)];

fn matchers(matchers: Matchers) -> Vec<Matcher> {
    matchers.iter().map(|(label, operator, value)| Matcher(label, operator, (*value).to_owned())).collect()
}

fn inhibition(source: Matchers, target: Matchers, equal: Vec<String>) -> Inhibition {
    Inhibition { source_matchers: matchers(source), target_matchers: matchers(target), equal }
}

const EXPLANATION: &str = "\
An example: give the receivers an address, or copy the routes and the inhibitions into a configuration
of your own.
Inhibitions, in their order:
1. a node that is down mutes what is found on that node, but never that volumes are faulted, read-only or not served;
2. a critical alert mutes the warning of the same check about the same object;
3. a manager that loops mutes the count of its restarts;
4. alerts on managers mute those of the same name that stand on kube-state-metrics;
5. the exporter's absence mutes what stands on its series, for as long as Prometheus remembers them;
6. all others: an alert whose root cause has an alert that fires; again never those about volumes. They come from the relations between causes
   (src/checks/relations.rs) by way of the alert LonghornHealthInhibitor, which fires for as long as both do.";

const OF_STACK: &str = "\
Values of kube-prometheus-stack: `helm upgrade --values` with this file. A list in values replaces the one of the
chart, so the chart's own inhibitions stand here again, in front.
Alerts of severity info and none (LonghornHealthInhibitor) must reach no receiver that anyone reads.";

const OF_OPERATOR: &str = "\
For prometheus-operator: apply this into the namespace in which the exporter runs. The operator adds a matcher
`namespace` with the object's own namespace to both sides of each inhibition, and alerts on the exporter's series have
the namespace of the exporter's pod. For that reason the inhibition by KubeNodeNotReady, an alert of another namespace,
is not among them. Alerts of severity info and none (LonghornHealthInhibitor) must reach no receiver that anyone reads.";

pub fn artifacts(settings: &Settings) -> Vec<Artifact> {
    let inhibitions = inhibitions(settings);
    let receivers =
        json!([{ "name": "longhorn-tickets" }, { "name": "longhorn-page" }, { "name": "longhorn-none" }]);
    let (route, receivers) = (Some(route(settings)), Some(receivers));
    let config = Config { route, receivers, inhibit_rules: inhibitions.clone() };
    let inhibit_rules = of_the_stack_itself().into_iter().chain(inhibitions.clone()).collect();
    let of_stack = Config { route: None, receivers: None, inhibit_rules };
    let of_stack = BTreeMap::from([("alertmanager", BTreeMap::from([("config", of_stack)]))]);
    let object = json!({
        "apiVersion": "monitoring.coreos.com/v1alpha1",
        "kind": "AlertmanagerConfig",
        "metadata": { "name": "longhorn-health-exporter" },
        "spec": of_operator(settings),
    });
    vec![
        artifact("rules/alertmanager.example.yaml", EXPLANATION, &config),
        artifact("rules/alertmanager.kube-prometheus-stack.yaml", OF_STACK, &of_stack),
        artifact("rules/longhorn-health.alertmanagerconfig.yaml", OF_OPERATOR, &object),
    ]
}

/// What of an AlertmanagerConfig follows from the checks. The operator would look for alerts of other namespaces in the exporter's.
pub fn of_operator(settings: &Settings) -> Value {
    let is_ours = |inhibition: &&Inhibition| {
        !inhibition.source_matchers.iter().any(|matcher| matcher.2.starts_with("Kube"))
    };
    let ours: Vec<_> = inhibitions(settings).iter().filter(is_ours).map(of_the_operator).collect();
    json!({ "inhibitRules": ours })
}

#[derive(Serialize)]
struct Config {
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    receivers: Option<Value>,
    inhibit_rules: Vec<Inhibition>,
}

fn artifact(path: &str, explanation: &str, content: &impl Serialize) -> Artifact {
    let header = format!("{}\n{explanation}", Target::Rules.header());
    Artifact::new(path, yaml::document(&header, content))
}

fn route(settings: &Settings) -> Value {
    let of = |severity| matchers(&[("alertname", "=~", "Longhorn.+"), ("severity", "=~", severity)]);
    json!({
        "receiver": "longhorn-tickets",
        // an incident is one cause on however many objects; what follows from it is muted
        "group_by": with_cluster(settings, &["namespace", "alertname", "cause"]),
        "group_wait": "30s",
        "group_interval": "5m",
        "repeat_interval": "12h",
        "routes": [
            { "receiver": "longhorn-page", "matchers": of("critical"), "repeat_interval": "1h" },
            { "receiver": "longhorn-none", "matchers": of("info|none") },
        ],
    })
}

fn of_the_operator(inhibition: &Inhibition) -> Value {
    let matches = |matchers: &[Matcher]| -> Vec<Value> {
        let one = |of: &Matcher| json!({ "name": of.0, "matchType": of.1, "value": of.2 });
        matchers.iter().map(one).collect()
    };
    json!({
        "sourceMatch": matches(&inhibition.source_matchers),
        "targetMatch": matches(&inhibition.target_matchers),
        "equal": inhibition.equal,
    })
}

pub fn inhibitions(settings: &Settings) -> Vec<Inhibition> {
    let ours = ("alertname", "=~", "Longhorn.+");
    let general = [
        inhibition(
            &[("alertname", "=~", "KubeNodeNotReady|KubeNodeUnreachable")],
            &[ours, ("alertname", "!~", &NEVER_MUTED.join("|")), ("node", "=~", ".+")],
            with_cluster(settings, &["node"]),
        ),
        inhibition(
            &[("severity", "=", "critical"), ("check", "=~", ".+"), ("object", "=~", ".+")],
            &[("severity", "=", "warning"), ("check", "=~", ".+"), ("object", "=~", ".+")],
            with_cluster(settings, &["check", "object_kind", "object"]),
        ),
        inhibition(
            &[("alertname", "=", "LonghornManagerCrashLoopBackOff")],
            &[("alertname", "=", "LonghornManagerHighRestarts")],
            // the exporter names the node, kube-state-metrics the pod; labels that both lack are equal
            with_cluster(settings, &["namespace", "node", "pod"]),
        ),
        // rules on kube-state-metrics have the same names, as those of the write-up, and the pod as a label
        inhibition(
            &[("alertname", "=~", OF_MANAGERS), ("pod", "=", "")],
            &[("alertname", "=~", OF_MANAGERS), ("pod", "=~", ".+")],
            with_cluster(settings, &[]),
        ),
        inhibition(
            &[("alertname", "=", EXPORTER_DOWN)],
            &[ours, ("alertname", "!=", EXPORTER_DOWN), ("source", "!=", "kube-state-metrics")],
            with_cluster(settings, &[]),
        ),
    ];
    let consequences = settings
        .declared
        .catalogue
        .checks
        .iter()
        .flat_map(|check| check.alerts.iter().map(move |alert| (check, alert)));
    let by_relation = consequences.filter_map(|(check, alert)| by_relation(check, alert, settings));
    general.into_iter().chain(by_relation).collect()
}

/// What mutes an alert whose causes may follow from others. [`INHIBITOR`] has its cause and node as far as the alert
/// has them: one of it serves however many objects there are.
fn by_relation(check: &Check, alert: &Alert, settings: &Settings) -> Option<Inhibition> {
    if NEVER_MUTED.contains(&alert.name) {
        return None;
    }
    let caused = settings.declared.catalogue.caused().filter(|relation| relation.check.id == check.id);
    let follows: Vec<&Cause> = caused.flat_map(|relation| relation.causes).copied().collect();
    follows.into_iter().find(|cause| alert.tells_of(cause))?;
    let common = ["cause", "node"].into_iter().filter(|label| alert.keeps(label));
    let common: Vec<&str> = ["namespace"].into_iter().chain(common).collect();
    Some(inhibition(
        &[("alertname", "=", INHIBITOR), ("alert", "=", alert.name)],
        &[("alertname", "=", alert.name)],
        with_cluster(settings, &common),
    ))
}

/// The inhibitions that kube-prometheus-stack has without further ado.
fn of_the_stack_itself() -> [Inhibition; 3] {
    let [critical, warning, info] =
        ["critical", "warning", "info"].map(|severity| ("severity", "=", severity));
    let same = |labels: &[&str]| labels.iter().map(|label| (*label).to_owned()).collect();
    [
        inhibition(&[critical], &[("severity", "=~", "warning|info")], same(&["namespace", "alertname"])),
        inhibition(&[warning], &[info], same(&["namespace", "alertname"])),
        inhibition(&[("alertname", "=", "InfoInhibitor")], &[info], same(&["namespace"])),
    ]
}

fn with_cluster(settings: &Settings, labels: &[&str]) -> Vec<String> {
    let cluster = Some(settings.cluster_label.as_str()).filter(|label| !label.is_empty());
    cluster.into_iter().chain(labels.iter().copied()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::promtool;
    use crate::generate::settings::AlertSettings;

    fn seconds(alert: &Alert) -> u64 {
        promtool::seconds(&AlertSettings::of(alert).for_).unwrap()
    }

    /// The inhibitor mutes only once the root fires; a consequence that came first would have been sent already.
    #[test]
    fn a_root_is_told_no_later_than_what_follows_from_it() {
        let mut late = Vec::new();
        for relation in checks::CATALOGUE.caused() {
            let alerts_of = |check: &Check, causes: &[&Cause]| -> Vec<&Alert> {
                causes.iter().filter_map(|cause| check.alert_of(cause)).collect()
            };
            let mut told = alerts_of(relation.check, relation.causes);
            told.retain(|alert| !NEVER_MUTED.contains(&alert.name));
            for root in relation.roots.iter().flat_map(|(check, causes)| alerts_of(check, causes)) {
                let later = told.iter().filter(|told| seconds(told) < seconds(root));
                late.extend(later.map(|told| format!("{} before {}", told.name, root.name)));
            }
        }
        late.sort_unstable();
        late.dedup();
        assert!(late.is_empty(), "{late:#?}");
    }
}
