//! docs/checks.md: what each check sees, its causes, what it must be able to read, its alerts and its series.

use anyhow::Result;

use super::markdown::{Document, causes, code, codes};
use super::runbooks;
use crate::check::{Alert, Check, Gauge, GaugeKind, Record, Severity};
use crate::generate::catalogue::{Declared, LONGHORN_METRICS};
use crate::generate::{Settings, expr, rules};
use crate::longhorn_series;
use crate::own;

pub fn page(settings: &Settings) -> Result<String> {
    let mut page = Document::new("Checks, alerts and series");
    page.paragraph(INTRODUCTION);
    overview(&mut page, settings.declared);
    for area in settings.declared.areas() {
        page.heading(2, area.id);
        page.paragraph(&format!("**{}.** {}", area.title, area.summary));
        causes(&mut page, area.causes.iter().copied());
        kinds(&mut page, area);
        let rows = area.alerts.iter().map(|alert| row(alert, settings));
        page.table(["alert", "severity", "for", "summary"], rows);
        area.gauges.iter().for_each(|gauge| series(&mut page, gauge));
        for record in area.records {
            recorded(&mut page, area, record, settings)?;
        }
    }
    page.heading(2, "Without the exporter");
    page.paragraph(ALONE);
    let alone = &settings.declared.alone;
    for alert in alone.alerts {
        page.heading(3, &format!("{} with kube-state-metrics alone", alert.name));
        runbooks::reasons(&mut page, alone, alert, settings)?;
    }
    page.heading(2, LONGHORN_METRICS.id);
    page.paragraph(OF_LONGHORN);
    let rows = LONGHORN_METRICS.alerts.iter().map(|alert| {
        let from = longhorn_series::needs(&expr(&LONGHORN_METRICS, alert));
        let [link, severity, for_, summary] = row(alert, settings);
        [
            link,
            severity,
            for_,
            from.map_or("every".to_owned(), |release| format!("from {release} on")),
            summary,
        ]
    });
    page.table(["alert", "severity", "for", "Longhorn release", "summary"], rows);
    Ok(page.finish())
}

const INTRODUCTION: &str = "\
A check is one way in which Longhorn fails. Its id and its causes are label values of
[longhorn_health_finding](#longhorn_health_finding), fields of the [report](report.schema.json) and, for ids, values of
`check --only`. If a check cannot read a kind that it needs, it is *unknown*, never healthy.
[longhorn_health_check_unknown](#longhorn_health_check_unknown) names the check, and `check` exits with 2 unless it finds
a failure.

Alerts are those of [rules/longhorn-health.rules.yaml](../rules/longhorn-health.rules.yaml). *critical* means act now, *warning* means
a ticket, and *info* is only context. Each alert has a runbook with its expression and the reasons for its numbers. You can
[change these numbers](configuration.md) for each alert.

Series are those of `/metrics`: counts, and series for single objects with failures. Healthy objects have none, with two exceptions: a
counter of restarts for each manager, and the time of the newest backup for volumes whose backup is over a day old. Findings of all checks
are in [longhorn_health_finding](#longhorn_health_finding). The other families of a check are facts beside its verdict. A check that
lacks data has no series: read [longhorn_health_check_unknown](#longhorn_health_check_unknown) before you conclude that all is well. Two
exporter pods expose the same series, so aggregate with `max without (instance, pod, …)`, as the examples and the shipped rules do. A family
is experimental unless it says that it is stable. It can change in any release, and the changelog then gives the query that replaces the
old one ([stability.md](stability.md)).

If an alert compares a number that a panel draws, both read the same recording rule. A Prometheus that collects from many clusters can take
these few series alone. Switching an alert off does not remove its recording rule. If you copy an alert into your own rules, also copy the recording
rules that it reads. Dashboards also contain each recording rule's expression, for a Prometheus that does not load these rules.";

const OF_LONGHORN: &str = "\
[rules/longhorn-metrics.rules.yaml](../rules/longhorn-metrics.rules.yaml) and its dashboard read what Longhorn's managers serve themselves: how full
disks and volumes are, latency, and CPU of instance managers. They need no exporter, and replace
the [examples in Longhorn's documentation](migration.md). Prometheus must scrape Service `longhorn-backend`. The chart loads them with
`prometheusRule.longhornMetrics: true`.

The rules hold on every release, also in the middle of an upgrade. Where a release lacks a metric, its alerts never fire and its panels are empty.
To load only what works on one release, set `prometheusRule.longhornRelease` of the chart, `longhornRelease` of the mixin, or `longhorn_release` of
[`generate --config`](configuration.md), which also leaves out panels.";

const ALONE: &str = "\
If you do not run the exporter,
[rules/longhorn-health-kube-state-metrics.rules.yaml](../rules/longhorn-health-kube-state-metrics.rules.yaml) has two alerts that
need only kube-state-metrics. Their label `source: kube-state-metrics` lets you load both files.";

fn kinds(page: &mut Document, check: &Check) {
    let rows = [
        ("needs", check.needs, "The check is unknown if it cannot read one of them."),
        ("uses", check.uses, "The check runs without them, but knows less."),
        (
            "glances at",
            check.glances,
            "Nothing is missing without them. `serve` follows only NetworkPolicies among them.",
        ),
    ];
    let rows = rows.into_iter().filter(|(_, kinds, _)| !kinds.is_empty());
    let list = |kinds: &[crate::longhorn::Resource]| {
        kinds.iter().map(|kind| code(&kind.label())).collect::<Vec<_>>().join(", ")
    };
    page.table(
        ["", "kinds", "if they cannot be read"],
        rows.map(|(what, kinds, otherwise)| [what.to_owned(), list(kinds), otherwise.to_owned()]),
    );
}

fn row(alert: &Alert, settings: &Settings) -> [String; 4] {
    let set = settings.alert(alert);
    [runbooks::link(alert), set.severity.to_string(), set.for_, alert.summary.to_owned()]
}

fn series(page: &mut Document, gauge: &Gauge) {
    page.heading(3, gauge.name);
    let kind = if gauge.kind == GaugeKind::Counter { "counter" } else { "gauge" };
    let labels = match gauge.labels.is_empty() {
        true => "no labels".to_owned(),
        false => format!("labels {}", codes(&gauge.labels)),
    };
    let (help, absence) = (gauge.help, gauge.absence());
    let unit = unit(gauge).map(|unit| format!(" ({unit})")).unwrap_or_default();
    let stable = if own::STABLE.iter().any(|stable| stable.name == gauge.name) { " Stable." } else { "" };
    page.paragraph(&format!("{help} A {kind}{unit} with {labels}. {absence}{stable}"));
    page.code("promql", gauge.example);
}

/// The unit, which the name says as Prometheus' conventions want it.
fn unit(gauge: &Gauge) -> Option<&'static str> {
    match gauge.name.trim_end_matches("_total") {
        name if name.ends_with("_timestamp_seconds") || name == "process_start_time_seconds" => {
            Some("Unix time in seconds")
        }
        name if name.ends_with("_seconds") => Some("seconds"),
        name if name.ends_with("_bytes") => Some("bytes"),
        _ => None,
    }
}

fn recorded(page: &mut Document, area: &Check, record: &Record, settings: &Settings) -> Result<()> {
    page.heading(3, record.name);
    let alerts = area.alerts.iter().filter(|alert| expr(area, alert).contains(record.name));
    let panels =
        area.panels.iter().filter(|panel| panel.queries().any(|query| query.expr.contains(record.name)));
    let panels = panels.map(|panel| format!("{} ({})", panel.title, panel.dashboard.uid()));
    let readers: Vec<_> = alerts.map(runbooks::link).chain(panels).collect();
    page.paragraph(&format!(
        "{} Recorded with the labels of the target and {}, for {}.",
        record.help,
        codes(record.labels.iter().copied()),
        readers.join(", "),
    ));
    page.code("promql", &rules::recording(record, settings)?.expr);
    Ok(())
}

/// What each check sees, in a sentence, and how bad that may be.
fn overview(page: &mut Document, declared: &Declared) {
    let rows = declared.catalogue.checks.iter().map(|check| {
        let link = format!("[{0}](#{0})", check.id);
        let severities = Severity::ALL.into_iter().rev();
        let found: Vec<&str> = severities
            .filter(|severity| check.causes.iter().any(|cause| cause.severity == *severity))
            .map(Severity::as_str)
            .collect();
        let what = check.summary.split_inclusive(". ").next().unwrap_or_default();
        [link, what.trim_end().to_owned(), found.join(", ")]
    });
    page.table(["check", "what it finds", "severity"], rows);
}
