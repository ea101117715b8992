//! What people read of an alert: a summary that says all that a lock screen shows, and a description that ends with
//! how to see more. Both are made from the declaration; what a cause means is said once, where the cause is declared.

use crate::check::{Alert, Cause, Check};
use crate::generate::Settings;
use crate::generate::shape::Shape;
use crate::own::gauges::CAUSE_INFO;

/// Fills this in a description: what the causes of the alert mean.
pub const CAUSE: &str = "cause";

/// `prod-eu1 worker-5: A Longhorn manager is in a crash loop: open-iscsi is missing.`
pub fn summary(area: &Check, alert: &Alert, settings: &Settings) -> String {
    let sentence = alert.summary.trim_end_matches('.');
    let why = cause(area, alert, settings);
    let why = if why.is_empty() { why } else { format!(": {why}") };
    format!("{}{}{sentence}{why}.", cluster(settings), place(&labels(area, alert)))
}

/// The name of the cluster, from the series or else from Prometheus' external labels, with a space.
fn cluster(settings: &Settings) -> String {
    match settings.cluster_label.as_str() {
        "" => String::new(),
        label => format!(
            "{{{{ with $labels.{label} }}}}{{{{ . }}}} {{{{ else }}}}{{{{ with $externalLabels.{label} }}}}{{{{ . }}}} \
             {{{{ end }}}}{{{{ end }}}}"
        ),
    }
}

/// The claim, else the node, else the object that it is about.
fn place(labels: &[&str]) -> String {
    let mut place = String::new();
    let mut word = "if";
    for (label, shown) in [
        ("pvc", "{{ $labels.pvc_namespace }}/{{ $labels.pvc }}"),
        ("volume", "{{ $labels.volume }}"),
        ("node", "{{ $labels.node }}"),
        ("object", "{{ $labels.object }}"),
        ("resource", "{{ $labels.resource }}"),
        ("setting", "{{ $labels.setting }}"),
    ] {
        if labels.contains(&label) {
            place.push_str(&format!("{{{{ {word} $labels.{label} }}}}{shown}: "));
            word = "else if";
        }
    }
    if place.is_empty() { place } else { place + "{{ end }}" }
}

/// The labels that the alert certainly or possibly has.
fn labels(area: &Check, alert: &Alert) -> Vec<&'static str> {
    match Shape::of(area, alert) {
        Some(shape) => shape.labels(),
        None => vec!["node"],
    }
}

/// A template for what the causes mean that hold now; empty where the alert has one cause, which its summary says,
/// or where nothing tells it. The words come from the series of causes, so that they stand in no rule.
///
/// A cause is no label of an alert whose causes take turns (the alert would start over with each), so the
/// template asks for it when the alert is sent. `topk` instead of a join: two pods of the exporter may be of two
/// releases, and a join would fail on two titles of one cause.
pub fn cause(area: &Check, alert: &Alert, settings: &Settings) -> String {
    if causes(alert).len() < 2 { String::new() } else { of_causes(area, alert, settings, "title") }
}

/// What to do about the causes that hold now: the annotation `fix`. Names of objects stand in it in capitals.
pub fn fix(area: &Check, alert: &Alert, settings: &Settings) -> Option<String> {
    match causes(alert) {
        [] => None,
        [cause] => Some(cause.fix_in_capitals()).filter(|fix| !fix.is_empty()),
        _ => Some(of_causes(area, alert, settings, "fix")),
    }
}

fn causes(alert: &Alert) -> &'static [&'static Cause] {
    if alert.fires_on().is_empty() { alert.runbook_only } else { alert.fires_on() }
}

/// A template for a label of [`CAUSE_INFO`] for each cause of the alert that holds now.
fn of_causes(area: &Check, alert: &Alert, settings: &Settings, says: &str) -> String {
    let causes = causes(alert);
    let between = if says == "fix" { " " } else { ", " };
    let cluster = Some(settings.cluster_label.as_str()).filter(|label| !label.is_empty());
    let mut matchers = format!("{}, check=\"{}\"", settings.matchers(), area.id);
    let mut values = String::new();
    if let Some(label) = cluster {
        matchers.push_str(&format!(", {label}=%q"));
        values.push_str(&format!(" $labels.{label}"));
    }
    let info = format!("{}{{{matchers}", CAUSE_INFO.name);
    let shape = Shape::of(area, alert);
    if shape.as_ref().is_none_or(|shape| shape.labels().contains(&"cause")) {
        return format!(
            "{{{{ range query (printf `topk(1, {info}, cause=%q}})`{values} $labels.cause) }}}}{{{{ .Labels.{says} }}}}\
             {{{{ else }}}}see the finding {}{{{{ end }}}}",
            area.id
        );
    }
    let mut of_finding = matchers;
    values.push_str(&values.clone());
    if causes.len() < area.causes.len() {
        let ids: Vec<&str> = causes.iter().map(|cause| cause.id).collect();
        of_finding.push_str(&format!(", cause=~\"{}\"", ids.join("|")));
    }
    let kept = shape.map(|shape| shape.labels()).unwrap_or_default();
    // volumes are the objects of the findings about them
    let own = [("node", "node"), ("object", "object"), ("disk", "disk"), ("volume", "object")];
    for (label, name) in own.into_iter().filter(|(label, _)| kept.contains(label)) {
        of_finding.push_str(&format!(", {name}=%q"));
        values.push_str(&format!(" $labels.{label}"));
    }
    format!(
        "{{{{ range $number, $found := query (printf `topk by (cause) (1, {info}}} and on (cause) \
         longhorn_health_finding{{{of_finding}}} == 1)`{values}) | sortByLabel \"cause\" }}}}{{{{ if $number }}}}{between}\
         {{{{ end }}}}{{{{ $found.Labels.{says} }}}}{{{{ else }}}}see the finding {}{{{{ end }}}}",
        area.id
    )
}

/// The command that shows evidence and remedies, run where the exporter runs.
pub fn see_more(area: &Check, alert: &Alert) -> String {
    if area.causes.is_empty() {
        return String::new();
    }
    let labels = labels(area, alert);
    let option = match () {
        () if labels.contains(&"volume") => "{{ with $labels.volume }} --volume {{ . }}{{ end }}",
        () if labels.contains(&"node") => "{{ with $labels.node }} --node {{ . }}{{ end }}",
        () => "",
    };
    format!(
        " See more: kubectl -n {{{{ with $labels.namespace }}}}{{{{ . }}}}{{{{ else }}}}longhorn-health{{{{ end }}}} exec \
         deploy/longhorn-health-exporter -- /longhorn-health-exporter check{option}"
    )
}
