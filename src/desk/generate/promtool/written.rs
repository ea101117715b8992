//! Cases that a person wrote for an alert with a literal expression.

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{CaseKind, CaseWriter, Exporter, Input, Labels, TestCase, seconds};
use crate::check::Alert;
use crate::generate::Settings;
use crate::generate::settings::AlertSettings;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// The alert's own labels, without `severity` and the configured ones.
    labels: Labels,
    /// Whether the expression keeps the labels of the target.
    keeps_target: bool,
    cases: Vec<WrittenCase>,
}

/// One case. One sample a minute.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCase {
    kind: CaseKind,
    name: String,
    /// Selector with all labels, a space, and promtool's notation of values, one a minute. `$target`
    /// stands for the labels of the exporter's target, `$other` for those of another target,
    /// `$cluster_label` and `$namespace` for what the configuration says, `$for` for the minutes of `for`.
    #[serde(default)]
    series: Vec<String>,
    /// From when on the expression holds: it fires `for` later and not a minute earlier.
    holds_from: Option<String>,
    /// Moments at which the alert fires with the declared `for`.
    #[serde(default)]
    fires_at: Vec<String>,
    /// Moments at which it does not.
    #[serde(default)]
    silent_at: Vec<String>,
    /// The labels of each alert that fires, if not those of the file.
    labels: Option<Vec<Labels>>,
    /// It needs a label that tells clusters apart.
    #[serde(default)]
    clusters: bool,
}

impl CaseWriter {
    pub(super) fn written(&self, alert: &Alert, text: &str, settings: &Settings) -> Result<Vec<TestCase>> {
        let text = filled(text, settings).replace("$for", &self.for_.to_string());
        let written: Written = serde_yaml::from_str(&text)?;
        let (set, declared) = (settings.alert(alert), AlertSettings::of(alert));
        let is_changed = (set.for_, set.keep_firing_for) != (declared.for_, declared.keep_firing_for);
        let applies = |case: &&WrittenCase| {
            (!case.clusters || !settings.cluster_label.is_empty())
                && !(is_changed && (case.kind == CaseKind::Boundary || !case.fires_at.is_empty()))
        };
        written.cases.iter().filter(applies).map(|case| self.written_case(&written, case)).collect()
    }

    fn written_case(&self, written: &Written, case: &WrittenCase) -> Result<TestCase> {
        let own = case.labels.clone().unwrap_or_else(|| vec![written.labels.clone()]);
        let target = if written.keeps_target { self.exporter.labels.clone() } else { Labels::new() };
        let alerts: Vec<Labels> =
            own.into_iter().map(|own| target.clone().into_iter().chain(own).collect()).collect();
        let mut questions = Vec::new();
        if let Some(from) = &case.holds_from {
            let fire = seconds(from)? / self.tick + self.for_;
            questions.extend(fire.checked_sub(1).map(|before| (before, self.silent(before))));
            questions.push((fire, self.firing(fire, &alerts)));
        }
        for (moments, alerts) in [(&case.silent_at, &[][..]), (&case.fires_at, &alerts[..])] {
            for moment in moments {
                let tick = seconds(moment)? / self.tick;
                questions.push((tick, self.firing(tick, alerts)));
            }
        }
        questions.sort_by_key(|(tick, _)| *tick);
        let questions = questions.into_iter().map(|(_, question)| question).collect();
        let inputs = case.series.iter().map(|line| input(line)).collect::<Result<_, _>>()?;
        Ok(self.case(case.kind, &case.name, inputs, questions))
    }
}

fn input(line: &str) -> Result<Input> {
    let end = line.rfind('}').map_or_else(|| line.find(' '), |brace| Some(brace + 1));
    let (series, values) = line.split_at(end.with_context(|| format!("not a series with values: {line}"))?);
    Ok(Input { series: series.to_owned(), values: values.trim().to_owned() })
}

/// A written text with the labels of this configuration.
pub(super) fn filled(text: &str, settings: &Settings) -> String {
    let exporter = Exporter::of(settings);
    let list = |labels: &Labels| {
        labels.iter().map(|(label, value)| format!("{label}={value:?}")).collect::<Vec<_>>().join(",")
    };
    text.replace("$target", &list(&exporter.labels))
        .replace("$other", &list(&exporter.elsewhere()))
        .replace("$cluster_label", &settings.cluster_label)
        .replace("$namespace", &settings.namespace)
}
