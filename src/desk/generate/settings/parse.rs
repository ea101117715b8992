//! Reads a configuration strictly. An error is one line with the place, the whole path of the key, what is
//! wrong there and what is legal.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_path_to_error::Track;
use serde_yaml::{Error, Spanned};

use super::Settings;
use crate::check::{Threshold, plain};
use crate::did_you_mean;
use crate::generate::catalogue::{Declared, INCIDENTS};
use crate::generate::rules;
use crate::yaml_error;

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{file}:{line}: {}{message}", prefix(.path))]
pub struct ConfigError {
    pub file: String,
    pub line: u64,
    /// The key with all above it, such as `alerts.LonghornManagerHighRestarts.for`; empty for the file.
    pub path: String,
    pub message: String,
}

fn prefix(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}: ") }
}

/// Reads a configuration; what it leaves out keeps its default.
pub fn parse(declared: &'static Declared, file: &str, text: &str) -> Result<Settings, ConfigError> {
    // odd keys must not break the line
    let error = |line, path: &str, message: String| ConfigError {
        file: file.to_owned(),
        line,
        path: plain(path).into_owned(),
        message: plain(&message).into_owned(),
    };
    let mut track = Track::new();
    let settings = read(text, |deserializer| {
        let tracked = serde_path_to_error::Deserializer::new(deserializer, &mut track);
        Option::<Settings>::deserialize(tracked)
    });
    let settings = settings.map_err(|said| {
        let line = said.location().map_or(1, |location| location.line());
        // a key that was not read yet is a question mark
        let path = track.path().to_string();
        let path = path.trim_end_matches('?').trim_end_matches('.');
        error(line, path, message(said.without_snippet()))
    })?;
    let settings = Settings { declared, ..settings.unwrap_or_else(|| Settings::of(declared)) };
    match contradiction(&settings) {
        Some((path, message)) => Err(error(line_of(text, &path), &path.join("."), message)),
        None => Ok(settings),
    }
}

fn read<T>(
    text: &str,
    deserialize: impl for<'de> FnOnce(serde_yaml::Deserializer<'de, '_>) -> Result<T, Error>,
) -> Result<T, Error> {
    // text is what YAML and the schema call text: a number or a boolean is none without quotes
    let options = serde_yaml::options! { with_snippet: false, no_schema: true, strict_booleans: true };
    serde_yaml::with_deserializer_from_str_with_options(text, options, deserialize)
}

/// The key is reported with its path already.
fn message(error: &Error) -> String {
    match error {
        Error::SerdeUnknownField { field, expected, .. } => {
            format!("unknown key; {}", did_you_mean::hint(field, expected))
        }
        other => yaml_error::explain(other).1,
    }
}

/// Values that are legal alone and not together: the path of one, and what is wrong.
fn contradiction(settings: &Settings) -> Option<(Vec<&str>, String)> {
    if settings.selected().is_empty() {
        return Some((
            vec!["selector"],
            "expected the labels of the exporter's target, found no labels".to_owned(),
        ));
    }
    let is_taken = |label: &str| {
        let mut gauges = settings.declared.areas().flat_map(|area| area.gauges);
        ["alertname", "severity", "source", "le"].contains(&label)
            || gauges.any(|gauge| gauge.labels.contains(&label))
    };
    let varies = |label: &str| is_taken(label) || rules::WITHOUT.split(", ").any(|dropped| dropped == label);
    if let Some((label, _)) = settings.selected().into_iter().find(|(label, _)| varies(label)) {
        let legal = "labels of the exporter's target, none that differs between series or that rules drop";
        return Some((vec!["selector"], format!("expected {legal}, found {label}")));
    }
    let cluster = settings.cluster_label.as_str();
    if varies(cluster) || ["job", "namespace"].contains(&cluster) {
        let why = "cannot distinguish clusters, because it has another meaning in these series";
        return Some((vec!["cluster_label"], format!("{cluster} {why}")));
    }
    let configs =
        || settings.alerts.iter().filter_map(|(alert, config)| Some((alert.as_str(), config.as_ref()?)));
    let of_alerts = || {
        configs().flat_map(|(alert, config)| {
            config.labels.iter().flatten().map(move |(label, _)| vec!["alerts", alert, "labels", label])
        })
    };
    let labels = || settings.labels.keys().map(|label| vec!["labels", label.as_str()]).chain(of_alerts());
    let distinguishes = |what| format!("{cluster} distinguishes clusters; to {what}, say cluster_label: ''");
    if let Some(path) = labels().find(|path| path.last() == Some(&cluster)) {
        return Some((path, distinguishes("set it here")));
    }
    let mut labels = labels().filter_map(|path| Some((*path.last()?, path)));
    if let Some((label, path)) = labels.find(|(label, _)| is_taken(label)) {
        return Some((path, format!("{label} is a label that alerts already have; choose another name")));
    }
    if settings.selected().iter().any(|(label, _)| *label == cluster) {
        return Some((vec!["selector"], distinguishes("select by it")));
    }
    let known: Vec<&str> =
        settings.declared.alerts().chain(INCIDENTS.alerts).map(|alert| alert.name).collect();
    if let Some(name) = settings.alerts.keys().find(|name| !known.contains(&name.as_str())) {
        return Some((vec!["alerts", name], format!("unknown alert; {}", did_you_mean::hint(name, &known))));
    }
    configs().find_map(|(alert, config)| {
        let thresholds = settings.declared.alerts().find(|declared| declared.name == alert)?.thresholds;
        config.thresholds.iter().flatten().find_map(|(name, value)| {
            let wrong = wrong_threshold(thresholds, name, value.0)?;
            Some((vec!["alerts", alert, "thresholds", name], wrong))
        })
    })
}

/// The greatest threshold; the least is declared with it.
const GREATEST: f64 = 1e9;

fn wrong_threshold(thresholds: &[Threshold], name: &str, value: f64) -> Option<String> {
    let Some(threshold) = thresholds.iter().find(|threshold| threshold.name == name) else {
        let known: Vec<&str> = thresholds.iter().map(|threshold| threshold.name).collect();
        return Some(format!("unknown threshold; {}", did_you_mean::hint(name, &known)));
    };
    let (least, unit) = (threshold.least, threshold.unit);
    let legal = (least..=GREATEST).contains(&value);
    (!legal).then(|| format!("expected a number of {unit} from {least} to {GREATEST}, found {value}"))
}

/// The line of the value at this path, in a text that was read.
fn line_of(text: &str, path: &[&str]) -> u64 {
    if let ["alerts", name] = path {
        // of a key there is only the text
        return (1..).zip(text.lines()).find(|(_, line)| line.contains(name)).map_or(1, |(number, _)| number);
    }
    let lines = read(text, |deserializer| Lines::deserialize(deserializer));
    lines.ok().and_then(|lines| lines.of(path)).unwrap_or(1)
}

/// Where values stand that may contradict others.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Lines {
    selector: Option<Spanned<IgnoredAny>>,
    cluster_label: Option<Spanned<IgnoredAny>>,
    labels: Option<BTreeMap<String, Spanned<IgnoredAny>>>,
    thresholds: Option<BTreeMap<String, Spanned<IgnoredAny>>>,
    alerts: Option<BTreeMap<String, Option<Lines>>>,
}

impl Lines {
    fn of(&self, path: &[&str]) -> Option<u64> {
        let value = match path {
            ["alerts", alert, rest @ ..] => return self.alerts.as_ref()?.get(*alert)?.as_ref()?.of(rest),
            ["labels", label] => self.labels.as_ref()?.get(*label)?,
            ["thresholds", name] => self.thresholds.as_ref()?.get(*name)?,
            ["cluster_label"] => self.cluster_label.as_ref()?,
            _ => self.selector.as_ref()?,
        };
        Some(value.referenced.line())
    }
}
