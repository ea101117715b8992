//! The configuration file of `generate`: what users may set, read strictly. A key that does not
//! exist is an error that names the nearest one.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_yaml::Spanned;

use super::promtool::plan::seconds;
use super::settings::{AlertSettings, Settings};
use crate::check::Severity;

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{file}:{line}: {message}")]
pub struct ConfigError {
    /// The file, as the user named it.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// What is wrong.
    pub message: String,
}

/// Keys of the file.
pub const KEYS: [Key; 7] = [
    Key {
        name: "selector",
        kind: Kind::Text,
        about: "matchers that select the exporter's series, without braces",
    },
    Key {
        name: "namespace",
        kind: Kind::Text,
        about: "Longhorn's namespace, for the rules on kube-state-metrics",
    },
    Key { name: "cluster_label", kind: Kind::Text, about: "label that tells clusters apart; empty for none" },
    Key {
        name: "runbook_base_url",
        kind: Kind::Text,
        about: "where runbooks are published; the alert's name follows",
    },
    Key {
        name: "dashboard_base_url",
        kind: Kind::Text,
        about: "where Grafana is; without it alerts link to no dashboard",
    },
    Key { name: "labels", kind: Kind::Texts, about: "labels of every alert" },
    Key { name: "alerts", kind: Kind::Alerts, about: "settings of single alerts, by name" },
];

/// Keys of one alert.
pub const ALERT_KEYS: [Key; 6] = [
    Key { name: "enabled", kind: Kind::Switch, about: "whether there is a rule at all" },
    Key { name: "for", kind: Kind::Duration, about: "how long the expression must hold" },
    Key {
        name: "keep_firing_for",
        kind: Kind::Duration,
        about: "how long the alert goes on after the expression ends",
    },
    Key { name: "severity", kind: Kind::Severity, about: "the label severity" },
    Key { name: "labels", kind: Kind::Texts, about: "labels of this alert; they win over the global ones" },
    Key { name: "thresholds", kind: Kind::Thresholds, about: "numbers in the expression, by name" },
];

/// A key of the file: what the parser accepts, the schema allows and the reference lists.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// As written.
    pub name: &'static str,
    /// What may stand there.
    pub kind: Kind,
    /// What it sets.
    pub about: &'static str,
}

/// What may stand under a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A string.
    Text,
    /// Strings by name.
    Texts,
    /// true or false.
    Switch,
    /// A Prometheus duration.
    Duration,
    /// info, warning or critical.
    Severity,
    /// Numbers by name.
    Thresholds,
    /// Settings by name of the alert.
    Alerts,
}

/// Reads a configuration; what it does not say stays as declared.
pub fn parse(file: &str, text: &str) -> Result<Settings, ConfigError> {
    let reader = Reader { file };
    let root: Spanned<Node> = serde_yaml::from_str(text).map_err(|error| {
        let line = error.location().map_or(1, |location| location.line());
        let message = error.without_snippet().to_string();
        reader.error(line, message.lines().next().unwrap_or_default())
    })?;
    let mut settings = Settings::default();
    if root.value != Node::Null {
        reader.root(&root, &mut settings)?;
    }
    Ok(settings)
}

struct Reader<'a> {
    file: &'a str,
}

type Entry = (Spanned<String>, Spanned<Node>);

impl Reader<'_> {
    fn error(&self, line: u64, message: impl Into<String>) -> ConfigError {
        ConfigError { file: self.file.to_owned(), line, message: message.into() }
    }

    fn root(&self, node: &Spanned<Node>, settings: &mut Settings) -> Result<(), ConfigError> {
        for (key, node) in self.map(node)? {
            match self.known(key, "key", KEYS.map(|key| key.name))? {
                "selector" => settings.selector = self.selector(node)?,
                "namespace" => settings.namespace = self.text(node)?,
                "cluster_label" => settings.cluster_label = self.text(node)?,
                "runbook_base_url" => settings.runbook_base_url = self.text(node)?,
                "dashboard_base_url" => settings.dashboard_base_url = Some(self.text(node)?),
                "labels" => settings.labels = self.labels(node)?,
                _ => self.alerts(node, settings)?,
            }
        }
        Ok(())
    }

    fn alerts(&self, node: &Spanned<Node>, settings: &mut Settings) -> Result<(), ConfigError> {
        for (key, node) in self.map(node)? {
            let name = self.known(key, "alert", settings.alerts.keys().copied())?;
            if let Some(alert) = settings.alerts.get_mut(name) {
                self.alert(node, alert)?;
            }
        }
        Ok(())
    }

    fn alert(&self, node: &Spanned<Node>, alert: &mut AlertSettings) -> Result<(), ConfigError> {
        for (key, node) in self.map(node)? {
            match self.known(key, "key", ALERT_KEYS.map(|key| key.name))? {
                "enabled" => alert.enabled = self.switch(node)?,
                "for" => alert.hold = self.duration(node)?,
                "keep_firing_for" => alert.keep_firing_for = self.duration(node)?,
                "severity" => alert.severity = self.severity(node)?,
                "labels" => alert.labels = self.labels(node)?,
                _ => self.thresholds(node, alert)?,
            }
        }
        Ok(())
    }

    fn thresholds(&self, node: &Spanned<Node>, alert: &mut AlertSettings) -> Result<(), ConfigError> {
        for (key, node) in self.map(node)? {
            let name = self.known(key, "threshold", alert.thresholds.keys().copied())?;
            let Node::Number(number) = node.value else { return Err(self.wrong(node, "a number")) };
            alert.thresholds.insert(name, number);
        }
        Ok(())
    }

    /// The key among those that exist, or an error that names the nearest of them.
    fn known<'k>(
        &self,
        key: &Spanned<String>,
        what: &str,
        keys: impl IntoIterator<Item = &'k str>,
    ) -> Result<&'k str, ConfigError> {
        let keys: Vec<&str> = keys.into_iter().collect();
        if let Some(known) = keys.iter().find(|known| **known == key.value) {
            return Ok(known);
        }
        let nearest = keys.iter().min_by_key(|known| strsim::damerau_levenshtein(known, &key.value));
        let hint =
            nearest.map_or("there is none here".to_owned(), |nearest| format!("did you mean {nearest}?"));
        Err(self.error(key.referenced.line(), format!("unknown {what} {}; {hint}", key.value)))
    }

    fn wrong(&self, node: &Spanned<Node>, expected: &str) -> ConfigError {
        self.error(node.referenced.line(), format!("expected {expected}"))
    }

    fn map<'n>(&self, node: &'n Spanned<Node>) -> Result<&'n [Entry], ConfigError> {
        match &node.value {
            Node::Map(entries) => Ok(entries),
            _ => Err(self.wrong(node, "keys with values")),
        }
    }

    fn text(&self, node: &Spanned<Node>) -> Result<String, ConfigError> {
        match &node.value {
            Node::Text(text) => Ok(text.clone()),
            _ => Err(self.wrong(node, "a string")),
        }
    }

    fn switch(&self, node: &Spanned<Node>) -> Result<bool, ConfigError> {
        match node.value {
            Node::Switch(switch) => Ok(switch),
            _ => Err(self.wrong(node, "true or false")),
        }
    }

    /// An empty selector would make `{, check="…"}` of an expression.
    fn selector(&self, node: &Spanned<Node>) -> Result<String, ConfigError> {
        let text = self.text(node)?;
        match text.contains('=') && !text.contains(['{', '}']) {
            true => Ok(text),
            false => {
                Err(self.wrong(node, "matchers without braces, such as job=\"longhorn-health-exporter\""))
            }
        }
    }

    fn duration(&self, node: &Spanned<Node>) -> Result<String, ConfigError> {
        let text = self.text(node)?;
        match seconds(&text) {
            Ok(_) if !text.is_empty() => Ok(text),
            _ => Err(self.wrong(node, "a duration such as 10m")),
        }
    }

    fn severity(&self, node: &Spanned<Node>) -> Result<Severity, ConfigError> {
        let text = self.text(node)?;
        let severity = Severity::ALL.into_iter().find(|severity| severity.as_str() == text);
        severity.ok_or_else(|| self.wrong(node, "info, warning or critical"))
    }

    fn labels(&self, node: &Spanned<Node>) -> Result<BTreeMap<String, String>, ConfigError> {
        let label = |(key, node): &Entry| Ok((key.value.clone(), self.text(node)?));
        self.map(node)?.iter().map(label).collect()
    }
}

/// YAML as it stands, with the places of its keys and values.
#[derive(Debug, Clone, PartialEq)]
enum Node {
    Null,
    Switch(bool),
    Number(f64),
    Text(String),
    Map(Vec<Entry>),
    List,
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("YAML")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Switch(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Node::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = items.next_entry()? {
            entries.push(entry);
        }
        Ok(Node::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse("c.yaml", text).unwrap_err().to_string()
    }

    #[test]
    fn nothing_said_is_the_default() {
        assert_eq!(parse("c.yaml", "").unwrap(), Settings::default());
        assert_eq!(parse("c.yaml", "# only a comment\n").unwrap(), Settings::default());
    }

    #[test]
    fn what_is_said_is_set() {
        let settings = parse(
            "c.yaml",
            "selector: job=\"x\"\ncluster_label: ''\nlabels: {team: storage}\nalerts:\n  \
             LonghornManagerHighRestarts: {for: 10m, severity: critical, thresholds: {restarts: 5}}\n  \
             LonghornHealthAccessDenied: {enabled: false}\n",
        )
        .unwrap();
        let restarts = &settings.alerts["LonghornManagerHighRestarts"];
        assert_eq!((restarts.hold.as_str(), restarts.severity), ("10m", Severity::Critical));
        assert_eq!(restarts.thresholds["restarts"], 5.0);
        assert!(!settings.alerts["LonghornHealthAccessDenied"].enabled);
        assert_eq!((settings.selector.as_str(), settings.cluster_label.as_str()), ("job=\"x\"", ""));
        assert_eq!(settings.labels["team"], "storage");
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        for (text, expected) in [
            ("labels: {}\nalert: {}\n", "c.yaml:2: unknown key alert; did you mean alerts?"),
            (
                "alerts:\n  LonghornManagerHighRestart: {}\n",
                "c.yaml:2: unknown alert LonghornManagerHighRestart; did you mean LonghornManagerHighRestarts?",
            ),
            (
                "alerts:\n  LonghornManagerHighRestarts:\n    thresholds: {restart: 1}\n",
                "c.yaml:3: unknown threshold restart; did you mean restarts?",
            ),
            (
                "alerts:\n  LonghornManagerHighRestarts: {fro: 1m}",
                "c.yaml:2: unknown key fro; did you mean for?",
            ),
            (
                "alerts:\n  LonghornManagerHighRestarts: {for: soon}",
                "c.yaml:2: expected a duration such as 10m",
            ),
            ("labels: []", "c.yaml:1: expected keys with values"),
            ("namespace: {a: b}", "c.yaml:1: expected a string"),
        ] {
            assert_eq!(error(text), expected);
        }
        assert!(error("labels: {\n").starts_with("c.yaml:"));
    }
}
