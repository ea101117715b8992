//! What of the chart follows from the list of checks or from its values: README.md with a table of the values,
//! values.schema.json, and the expressions of alerts with their thresholds left open.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::{Value, json};

use crate::check::{Dashboard, Severity, Threshold};
use crate::generate::{Artifact, Settings, Target, alertmanager, grafana, pretty, rules, yaml};

const CHART: &str = "deploy/helm/longhorn-health-exporter";
const VALUES: &str = include_str!("../../../../deploy/helm/longhorn-health-exporter/values.yaml");
const SCHEMA: &str = include_str!("values.schema.json");
/// The README up to the table of values.
const README: &str = include_str!("chart.md");

pub fn artifacts(settings: &Settings) -> Result<Vec<Artifact>> {
    let file = |name: &str, content: String| Artifact::new(format!("{CHART}/{name}"), content);
    let header = Target::Deploy.header();
    // copies, on one line each: helm complains of links
    let dashboards = Dashboard::all().map(|board| {
        let content = format!("{}\n", grafana::dashboard(board, settings)?);
        Ok(file(&format!("files/dashboards/{}.json", board.uid()), content))
    });
    let mut artifacts = dashboards.collect::<Result<Vec<_>>>()?;
    let causes = serde_json::to_string(&rules::rule_file(settings)?)?;
    artifacts.extend([
        file("files/causes.yaml", format!("# {header}\n{causes}\n")),
        file(
            "README.md",
            format!("<!-- {header} -->\n\n# longhorn-health-exporter\n{README}\n{}", table(VALUES)),
        ),
        file("values.schema.json", pretty(&schema(settings)?)),
        file("files/incidents.yaml", yaml::document(&header, &rules::of_incidents(settings)?)),
        file("files/longhorn-metrics.yaml", rules::of_longhorn_metrics(&header, settings)?),
        file("files/inhibitions.yaml", yaml::document(&header, &alertmanager::of_operator(settings))),
        file("files/thresholds.yaml", yaml::document(&header, &thresholds(settings)?)),
    ]);
    Ok(artifacts)
}

/// The schema written by hand, with what the checks know.
fn schema(settings: &Settings) -> Result<Value> {
    let mut schema: Value = serde_json::from_str(SCHEMA).context("values.schema.json")?;
    let ids: Vec<&str> = settings.declared.catalogue.checks.iter().map(|check| check.id).collect();
    let severities: Vec<&str> = Severity::ALL.iter().map(|severity| severity.as_str()).collect();
    for (pointer, value) in [
        ("/properties/accepted/items/properties/check", json!({ "enum": ids })),
        (
            "/properties/prometheusRule/properties/overrides/additionalProperties/properties/severity",
            json!({ "enum": severities }),
        ),
    ] {
        *schema.pointer_mut(pointer).with_context(|| format!("no {pointer}"))? = value;
    }
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("$comment".to_owned(), Target::Deploy.header().into());
    }
    Ok(schema)
}

/// An alert whose expression has numbers that can be set: each stands as `@name@`.
#[derive(Debug, Serialize)]
struct Open {
    expr: String,
    description: String,
    thresholds: BTreeMap<&'static str, OpenThreshold>,
}

#[derive(Debug, Serialize)]
struct OpenThreshold {
    value: f64,
    least: f64,
    /// Whether it stands in brackets, as seconds.
    range: bool,
}

fn thresholds(settings: &Settings) -> Result<BTreeMap<&'static str, Open>> {
    let mut open = BTreeMap::new();
    for area in settings.declared.with_pages() {
        for alert in area.alerts.iter().filter(|alert| !alert.thresholds.is_empty()) {
            let place = |threshold: &Threshold| Some(format!("@{}@", threshold.name));
            let mut rule = rules::rule_with(area, alert, settings, &place)?;
            let thresholds = alert.thresholds.iter().map(|threshold| {
                let (value, least, range) = (threshold.default, threshold.least, threshold.is_range);
                (threshold.name, OpenThreshold { value, least, range })
            });
            let description = rule.annotations.remove("description").unwrap_or_default();
            open.insert(alert.name, Open { expr: rule.expr, description, thresholds: thresholds.collect() });
        }
    }
    Ok(open)
}

/// Every value with its default and the comment above it.
fn table(values: &str) -> String {
    let mut table = "| value | default | |\n| --- | --- | --- |\n".to_owned();
    let (mut path, mut comment) = (Vec::<(usize, &str)>::new(), Vec::new());
    for line in values.lines() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if let Some(said) = text.strip_prefix('#') {
            comment.push(said.trim());
            continue;
        }
        let Some((key, default)) = text.split_once(':') else {
            comment.clear();
            continue;
        };
        path.retain(|(outer, _)| *outer < indent);
        path.push((indent, key));
        let keys: Vec<_> = path.iter().map(|(_, key)| *key).collect();
        let cell = |text: &str| text.replace('|', "\\|");
        let default = match default.trim() {
            "" => String::new(),
            default => format!("`{}`", cell(default)),
        };
        // keys below one without a comment of its own are explained there
        if !default.is_empty() || !comment.is_empty() {
            table.push_str(&format!("| `{}` | {default} | {} |\n", keys.join("."), cell(&comment.join(" "))));
        }
        comment.clear();
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::catalogue::tests::DECLARED;

    #[test]
    fn the_table_has_every_value_with_its_comment() {
        let values =
            "# about the file\n\n# first\n# line\na:\n  # inner | pipe\n  b: [1, 2]\n  c: \"\"\nd: x\n";
        let rows = table(values);
        let rows: Vec<_> = rows.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| `a` |  | first line |", "| `a.b` | `[1, 2]` | inner \\| pipe |", "| `a.c` | `\"\"` |  |",
                "| `d` | `x` |  |"
            ]
        );
    }

    #[test]
    fn every_threshold_stands_open_in_its_expression() {
        let open = thresholds(&Settings::of(&DECLARED)).unwrap();
        assert!(open.len() > 3, "{:?}", open.keys());
        for (alert, open) in open {
            for name in open.thresholds.keys() {
                let place = format!("@{name}@");
                assert!(open.expr.contains(&place) || open.description.contains(&place), "{alert}: {name}");
            }
        }
    }

    #[test]
    fn the_schema_knows_the_checks() {
        let checks = schema(&Settings::of(&DECLARED))
            .unwrap()
            .pointer("/properties/accepted/items/properties/check/enum")
            .cloned()
            .unwrap();
        assert!(checks.as_array().unwrap().contains(&"volume_faulted".into()));
    }
}
