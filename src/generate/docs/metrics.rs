//! docs/metrics.md: every family with all that is declared about it.

use super::markdown::{Page, code, codes, or_none};
use crate::check::{Check, Gauge, GaugeKind, Record};
use crate::generate::catalogue;
use crate::generate::{GenerateError, Settings, rules};

pub fn page(settings: &Settings) -> Result<String, GenerateError> {
    let mut page = Page::new("Metrics");
    page.paragraph(INTRODUCTION);
    page.heading(2, "Overview");
    let rows = catalogue::areas().flat_map(|area| area.gauges).map(|gauge| {
        let name = format!("[{0}](#{0})", gauge.name);
        [name, kind(gauge).to_owned(), labels(gauge), gauge.absent.to_owned()]
    });
    page.table(["metric", "type", "labels", "absent when"], rows);
    for area in catalogue::areas().filter(|area| !area.gauges.is_empty()) {
        page.heading(2, area.title);
        if area.id != "exporter" {
            page.paragraph(&format!("Check [{0}](checks.md#{0}).", area.id));
        }
        area.gauges.iter().for_each(|gauge| family(&mut page, gauge));
    }
    page.heading(2, RECORDED);
    page.paragraph(RECORDING);
    for area in catalogue::areas() {
        for record in area.records {
            recorded(&mut page, area, record, settings)?;
        }
    }
    Ok(page.finish())
}

const INTRODUCTION: &str = "\
Every series of `/metrics`. Nothing here grows with healthy objects: there are counts, and series of their own only for objects
in trouble. A finding of any check appears in [longhorn_health_finding](#longhorn_health_finding); the families of a check are the
raw facts beside its verdict.

Two exporter pods expose the same series, so aggregate with `max without (instance, pod, …)`, as the examples and the shipped
rules do. A check that cannot see what it needs has no series: ask
[longhorn_health_check_unknown](#longhorn_health_check_unknown) before taking absence for health.

Every family is experimental: it may change in any release. The changelog then names it, with the query that replaces the old
one.";

const RECORDED: &str = "Recorded series";

const RECORDING: &str = "\
What an alert compares with a threshold and a panel draws is a recording rule in the rule files, so that both show the same
number, and so that a Prometheus which collects from many clusters can take these few series alone. Switching the alert off does
not take the record away. Who copies an alert into rules of their own takes the records that it reads along. The dashboards do
without: beside the name of a record their queries have its expression, for a Prometheus that does not load these rules.";

fn recorded(
    page: &mut Page,
    area: &Check,
    record: &Record,
    settings: &Settings,
) -> Result<(), GenerateError> {
    page.heading(3, record.name);
    page.paragraph(record.help);
    let alerts = area.alerts.iter().filter(|alert| area.expr(alert).contains(record.name));
    let alerts: Vec<_> =
        alerts.map(|alert| format!("[{0}](alerts.md#{1})", alert.name, alert.name.to_lowercase())).collect();
    let panels =
        area.panels.iter().filter(|panel| panel.queries.iter().any(|query| query.expr.contains(record.name)));
    let panels: Vec<_> = panels.map(|panel| format!("{} ({})", panel.title, panel.dashboard.uid())).collect();
    let row = |name: &str, value: String| [name.to_owned(), value];
    page.table(
        ["", ""],
        [
            row("labels", format!("those of the target, and {}", codes(record.labels.iter().copied()))),
            row("alerts", alerts.join(", ")),
            row("panels", panels.join(", ")),
        ],
    );
    page.code("promql", &rules::recording(record, settings)?.expr);
    Ok(())
}

pub fn record_link(record: &Record) -> String {
    // as GitHub makes anchors: without the colons
    format!("[{}](metrics.md#{})", code(record.name), record.name.replace(':', ""))
}

fn family(page: &mut Page, gauge: &Gauge) {
    page.heading(3, gauge.name);
    page.paragraph(gauge.help);
    let row = |name: &str, value: String| [name.to_owned(), value];
    page.table(
        ["", ""],
        [
            row("type", kind(gauge).to_owned()),
            row("labels", labels(gauge)),
            row("unit", unit(gauge).to_owned()),
            row("absent when", gauge.absent.to_owned()),
        ],
    );
    page.code("promql", gauge.example);
}

fn labels(gauge: &Gauge) -> String {
    or_none(codes(gauge.labels.iter().copied()))
}

fn kind(gauge: &Gauge) -> &'static str {
    match gauge.kind {
        GaugeKind::Gauge => "gauge",
        GaugeKind::Counter => "counter",
    }
}

/// The unit, which the name says as Prometheus' conventions want it.
fn unit(gauge: &Gauge) -> &'static str {
    let name = gauge.name.trim_end_matches("_total");
    let help = gauge.help;
    if name.ends_with("_timestamp_seconds") || name == "process_start_time_seconds" {
        "Unix time in seconds"
    } else if name.ends_with("_seconds") {
        "seconds"
    } else if name.ends_with("_bytes") {
        "bytes"
    } else if help.starts_with("1 for") {
        "always 1"
    } else if help.starts_with("1 ") {
        "1 or 0"
    } else {
        "number"
    }
}

pub fn link(gauge: &Gauge) -> String {
    format!("[{}](metrics.md#{})", code(gauge.name), gauge.name)
}
