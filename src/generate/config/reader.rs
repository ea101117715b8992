//! From the YAML of the file to [`Settings`].

use std::collections::BTreeMap;

use serde_yaml::Spanned;

use super::legal::{self, GREATEST, Legal, TAKEN};
use super::node::{Node, quoted};
use super::{ALERT_KEYS, KEYS, Kind};
use crate::check::{Severity, Threshold};
use crate::generate::catalogue;
use crate::generate::promtool::exporter::Exporter;
use crate::generate::settings::{AlertSettings, Settings};
use crate::near;

/// Line, path of the key, and what is wrong.
pub type Wrong = (u64, String, String);

/// Where labels stand, to be looked at once the label of a cluster is known.
#[derive(Default)]
pub struct Reader {
    labels: Vec<(u64, String, String)>,
}

/// A value with the path to it.
struct At<'n> {
    node: &'n Spanned<Node>,
    path: String,
}

impl At<'_> {
    fn wrong(&self, message: impl Into<String>) -> Wrong {
        (self.node.referenced.line(), self.path.clone(), message.into())
    }

    fn expected(&self, what: &str) -> Wrong {
        self.wrong(format!("expected {what}, found {}", self.node.value))
    }

    fn below(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

impl Reader {
    /// Everything that may be set, checked.
    pub fn settings(mut self, root: &Spanned<Node>) -> Result<Settings, Wrong> {
        let mut settings = Settings::default();
        let root = At { node: root, path: String::new() };
        for (key, at) in entries(&root)? {
            match known(&key, &at, "key", KEYS.map(|key| key.name))? {
                "selector" => settings.selector = selector(&at)?,
                "namespace" => settings.namespace = text(&at, Kind::Namespace)?,
                "cluster_label" => settings.cluster_label = cluster_label(&at)?,
                "runbook_base_url" => settings.runbook_base_url = text(&at, Kind::Address)?,
                "dashboard_base_url" => settings.dashboard_base_url = Some(text(&at, Kind::Address)?),
                "labels" => settings.labels = self.labels(&at)?,
                _ => self.alerts(&at, &mut settings)?,
            }
        }
        self.apart_from_clusters(&root, &settings)?;
        Ok(settings)
    }

    /// The label of clusters comes with the series: nothing else may set it or select by it.
    fn apart_from_clusters(self, root: &At<'_>, settings: &Settings) -> Result<(), Wrong> {
        let cluster = &settings.cluster_label;
        let mut selector = entries(root)?.into_iter().filter(|(key, _)| key == "selector");
        if let Some((_, at)) = selector.next()
            && Exporter::of(settings).selected.contains(cluster)
        {
            return Err(
                at.wrong(format!("{cluster} tells clusters apart; to select by it, say cluster_label: ''"))
            );
        }
        match self.labels.into_iter().find(|(.., label)| label == cluster) {
            Some((line, path, _)) => {
                let reason = format!("{cluster} tells clusters apart; to set it here, say cluster_label: ''");
                Err((line, path, reason))
            }
            None => Ok(()),
        }
    }

    fn alerts(&mut self, at: &At<'_>, settings: &mut Settings) -> Result<(), Wrong> {
        for (key, at) in entries(at)? {
            let name = known(&key, &at, "alert", settings.alerts.keys().copied())?;
            if let Some(alert) = settings.alerts.get_mut(name) {
                self.alert(name, &at, alert)?;
            }
        }
        Ok(())
    }

    fn alert(&mut self, name: &str, at: &At<'_>, alert: &mut AlertSettings) -> Result<(), Wrong> {
        for (key, at) in entries(at)? {
            match known(&key, &at, "key", ALERT_KEYS.map(|key| key.name))? {
                "enabled" => alert.enabled = switch(&at)?,
                "for" => alert.hold = text(&at, Kind::Duration)?,
                "keep_firing_for" => alert.keep_firing_for = text(&at, Kind::Duration)?,
                "severity" => alert.severity = severity(&at)?,
                "labels" => alert.labels = self.labels(&at)?,
                _ => thresholds(name, &at, alert)?,
            }
        }
        Ok(())
    }

    fn labels(&mut self, at: &At<'_>) -> Result<BTreeMap<String, String>, Wrong> {
        let mut labels = BTreeMap::new();
        for (label, at) in entries(at)? {
            if !legal::LABEL.allows(&label) {
                return Err(at.wrong(format!("expected {}", legal::LABEL.expected)));
            }
            if label == "severity" {
                return Err(at.wrong("is set by the key severity of an alert"));
            }
            if TAKEN.contains(label.as_str()) {
                return Err(at.wrong("alerts have this label already; take another name"));
            }
            let value = legal_text(&at, &legal::VALUE)?;
            self.labels.push((at.node.referenced.line(), at.path, label.clone()));
            labels.insert(label, value);
        }
        Ok(labels)
    }
}

/// The keys of a map with their values; nothing is an empty map.
fn entries<'n>(at: &At<'n>) -> Result<Vec<(String, At<'n>)>, Wrong> {
    let entries = match &at.node.value {
        Node::Null => return Ok(Vec::new()),
        Node::Map(entries) => entries,
        _ => return Err(at.expected("keys with values")),
    };
    let mut read: Vec<(String, At<'_>)> = Vec::new();
    for (key, node) in entries {
        let line = key.referenced.line();
        let Node::Text(name) = &key.value else {
            return Err((line, at.path.clone(), format!("expected a name as the key, found {}", key.value)));
        };
        let path = at.below(&one_line(name));
        if read.iter().any(|(earlier, _)| earlier == name) {
            return Err((line, path, "stands here twice; keep one".to_owned()));
        }
        read.push((name.clone(), At { node, path }));
    }
    Ok(read)
}

/// A key as a path shows it: odd ones quoted.
fn one_line(name: &str) -> String {
    let plain = !name.is_empty() && name.len() <= 60 && name.chars().all(|c| c.is_ascii_graphic());
    if plain { name.to_owned() } else { quoted(name) }
}

/// The key among those that exist, or an error that names one that is near, or all.
fn known<'k>(
    key: &str,
    at: &At<'_>,
    what: &str,
    keys: impl IntoIterator<Item = &'k str>,
) -> Result<&'k str, Wrong> {
    let keys: Vec<&str> = keys.into_iter().collect();
    match keys.iter().find(|known| **known == key) {
        Some(known) => Ok(known),
        None => Err(at.wrong(format!("unknown {what}; {}", near::hint(key, &keys)))),
    }
}

fn text(at: &At<'_>, kind: Kind) -> Result<String, Wrong> {
    match kind.legal() {
        Some(legal) => legal_text(at, legal),
        None => Err(at.expected("a string")),
    }
}

fn legal_text(at: &At<'_>, legal: &Legal) -> Result<String, Wrong> {
    match &at.node.value {
        Node::Text(text) if legal.allows(text) => Ok(text.clone()),
        // what only looks like another type is mended with quotes
        Node::Number(_) | Node::Switch(_) => {
            Err(at.expected(&format!("{} (a string; put it in quotes)", legal.expected)))
        }
        _ => Err(at.expected(legal.expected)),
    }
}

fn switch(at: &At<'_>) -> Result<bool, Wrong> {
    match at.node.value {
        Node::Switch(switch) => Ok(switch),
        _ => Err(at.expected("true or false")),
    }
}

/// Rules with the selector shall take the exporter, and their cases tell it from another target.
fn selector(at: &At<'_>) -> Result<String, Wrong> {
    let selector = text(at, Kind::Selector)?;
    let exporter = Exporter::selected_by(&selector).map_err(|reason| at.wrong(reason))?;
    if let Some(label) = exporter.selected.iter().find(|label| legal::not_of_the_target(label)) {
        let reason =
            format!("{label} differs from series to series, or rules drop it; select by job or the like");
        return Err(at.wrong(reason));
    }
    Ok(selector)
}

fn cluster_label(at: &At<'_>) -> Result<String, Wrong> {
    let label = text(at, Kind::Label)?;
    match legal::taken_for_clusters().contains(label.as_str()) {
        true => Err(
            at.wrong(format!("{label} cannot tell clusters apart, it means something else in these series"))
        ),
        false => Ok(label),
    }
}

fn severity(at: &At<'_>) -> Result<Severity, Wrong> {
    let Node::Text(text) = &at.node.value else { return Err(at.expected(SEVERITIES)) };
    let severity = Severity::ALL.into_iter().find(|severity| severity.as_str() == text);
    severity.ok_or_else(|| at.expected(SEVERITIES))
}

const SEVERITIES: &str = "info, warning or critical";

fn thresholds(alert: &str, at: &At<'_>, settings: &mut AlertSettings) -> Result<(), Wrong> {
    let declared: Vec<&Threshold> = catalogue::alerts()
        .filter(|declared| declared.name == alert)
        .flat_map(|declared| declared.thresholds)
        .collect();
    for (key, at) in entries(at)? {
        let name = known(&key, &at, "threshold", declared.iter().map(|threshold| threshold.name))?;
        let Some(threshold) = declared.iter().find(|threshold| threshold.name == name) else { continue };
        match at.node.value {
            // adding zero takes the sign off a negative one
            Node::Number(number) if (threshold.least..=GREATEST).contains(&number) => {
                settings.thresholds.insert(threshold.name, number + 0.0)
            }
            _ => {
                let (least, unit) = (threshold.least, threshold.unit);
                return Err(at.expected(&format!("a number of {unit} from {least} to {GREATEST}")));
            }
        };
    }
    Ok(())
}
