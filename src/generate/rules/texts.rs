//! What people read of an alert: a summary that says all that a lock screen shows, and a description that ends with
//! how to see more. Both are made from the declaration; what a cause means is said once, where the cause is declared.

use crate::check::{Alert, Cause, Check, When};
use crate::generate::Settings;
use crate::generate::shape::Shape;

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
/// or where nothing tells it.
///
/// A cause is no label of an alert whose causes take turns (the alert would start over with each), so the
/// template asks for it when the alert is sent.
pub fn cause(area: &Check, alert: &Alert, settings: &Settings) -> String {
    let causes: Vec<&Cause> = alert.causes().collect();
    let (is_label, finding) = match (Shape::of(area, alert), &alert.when) {
        (Some(shape), _) => (shape.labels().contains(&"cause"), selector(area, &shape, &causes, settings)),
        (None, When::Promql { .. }) => (!causes.is_empty(), String::new()),
        (None, _) => return String::new(),
    };
    if causes.len() < 2 {
        return String::new();
    }
    let chain = |label: &str| {
        let words = causes.iter().enumerate().map(|(number, cause)| {
            let word = if number == 0 { "if" } else { "else if" };
            format!("{{{{ {word} eq {label} \"{}\" }}}}{}", cause.id, cause.summary)
        });
        words.collect::<String>() + "{{ end }}"
    };
    if is_label {
        return chain("$labels.cause");
    }
    format!(
        "{{{{ range $number, $found := query {finding} | sortByLabel \"cause\" }}}}{{{{ if $number }}}}, {{{{ end }}}}{}{{{{ else }}}}see the \
         finding {}{{{{ end }}}}",
        chain("$found.Labels.cause"),
        area.id
    )
}

/// The findings behind an alert, as the argument of `query`.
fn selector(area: &Check, shape: &Shape, causes: &[&Cause], settings: &Settings) -> String {
    let ids: Vec<&str> = causes.iter().map(|cause| cause.id).collect();
    let mut matchers =
        format!("{}, check=\"{}\", cause=~\"{}\"", settings.matchers(), area.id, ids.join("|"));
    let mut values = String::new();
    let kept = shape.labels();
    // volumes are the objects of the findings about them
    let own = [("node", "node"), ("object", "object"), ("disk", "disk"), ("volume", "object")];
    let cluster = Some(settings.cluster_label.as_str()).filter(|label| !label.is_empty());
    let pairs = cluster.map(|label| (label, label)).into_iter();
    for (label, of_finding) in pairs.chain(own.into_iter().filter(|(label, _)| kept.contains(label))) {
        matchers.push_str(&format!(", {of_finding}=%q"));
        values.push_str(&format!(" $labels.{label}"));
    }
    format!("(printf `max by (cause) (longhorn_health_finding{{{matchers}}} == 1)`{values})")
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
