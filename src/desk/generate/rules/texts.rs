//! What people read of an alert: a summary that says what is wrong and where, and a description that ends with the
//! command that shows cause, evidence and fix. Both need the labels of the alert and nothing else, so that Grafana can
//! run the rules, too. The cause is in neither where causes take turns: as a label it would start the alert over.

use crate::check::{Alert, Check};
use crate::generate::Settings;
use crate::generate::catalogue::INCIDENTS;
use crate::generate::shape::Shape;

/// `prod-eu1: worker-5: A Longhorn manager is crash-looping.`
pub fn summary(area: &Check, alert: &Alert, settings: &Settings) -> String {
    let place = place(&labels(area, alert));
    format!("{}{place}{}", cluster(settings), alert.summary)
}

/// The name of the cluster. One that is an external label stands beside the alert anyway.
fn cluster(settings: &Settings) -> String {
    match settings.cluster_label.as_str() {
        "" => String::new(),
        label => format!("{{{{ with $labels.{label} }}}}{{{{ . }}}}: {{{{ end }}}}"),
    }
}

/// The claim, else the volume; or the node, else the object that it is about.
fn place(labels: &[&str]) -> String {
    let claim = ("pvc", "{{ $labels.pvc_namespace }}/{{ . }}", "volume");
    let places = [
        claim,
        ("node", "{{ . }}", "object"),
        ("object", "{{ . }}", ""),
        ("resource", "{{ . }}", ""),
        ("setting", "{{ . }}", ""),
    ];
    let Some((first, shown, other)) = places.into_iter().find(|(label, ..)| labels.contains(label)) else {
        return String::new();
    };
    match labels.contains(&other) {
        true => format!(
            "{{{{ with $labels.{first} }}}}{shown}{{{{ else }}}}{{{{ $labels.{other} }}}}{{{{ end }}}}: "
        ),
        false => format!("{{{{ with $labels.{first} }}}}{shown}: {{{{ end }}}}"),
    }
}

/// The labels that the alert certainly or possibly has.
fn labels(area: &Check, alert: &Alert) -> Vec<&'static str> {
    match Shape::of(area, alert) {
        Some(shape) => shape.labels(),
        None => vec!["node"],
    }
}

/// The command that shows cause, evidence and fix, run where the exporter runs.
pub fn details(area: &Check, alert: &Alert) -> String {
    if area.causes.is_empty() && area.id != INCIDENTS.id {
        return String::new();
    }
    let labels = labels(area, alert);
    let option = match () {
        () if labels.contains(&"volume") => " --volume {{ $labels.volume }}",
        () if labels.contains(&"node") => "{{ with $labels.node }} --node {{ . }}{{ end }}",
        () => "",
    };
    format!(" Details: {CHECK}{option}")
}

/// `check` in the exporter's pod.
const CHECK: &str = "kubectl -n {{ with $labels.namespace }}{{ . }}{{ else }}longhorn-health{{ end }} exec \
                     deploy/longhorn-health-exporter -- /longhorn-health-exporter check";
