//! docs/alerts.md: every alert as shipped, and why its numbers are what they are.

use super::markdown::{Page, causes, code, or_none};
use crate::check::{Alert, Cause, Check};
use crate::generate::catalogue::{self, KUBE_STATE_METRICS};
use crate::generate::{GenerateError, Settings, rules};

pub fn page(settings: &Settings) -> Result<String, GenerateError> {
    let mut page = Page::new("Alerts");
    page.paragraph(INTRODUCTION);
    page.heading(2, "Overview");
    let rows = catalogue::areas().flat_map(|area| area.alerts).map(|alert| {
        let set = settings.alert(alert);
        let link = format!("[{}](#{})", alert.name, alert.name.to_lowercase());
        [link, set.severity.to_string(), set.hold, alert.summary.to_owned()]
    });
    page.table(["alert", "severity", "for", "says"], rows);
    for area in catalogue::areas().filter(|area| !area.alerts.is_empty()) {
        page.heading(2, area.title);
        if area.id != "exporter" {
            page.paragraph(&format!("Check [{0}](checks.md#{0}).", area.id));
        }
        for alert in area.alerts {
            page.heading(3, alert.name);
            section(&mut page, area, alert, settings)?;
        }
    }
    page.heading(2, "Without the exporter");
    page.paragraph(ALONE);
    for alert in KUBE_STATE_METRICS.alerts {
        page.heading(3, &format!("{} with kube-state-metrics alone", alert.name));
        section(&mut page, &KUBE_STATE_METRICS, alert, settings)?;
    }
    Ok(page.finish())
}

const INTRODUCTION: &str = "\
The alerts of [rules/longhorn-health.rules.yaml](../rules/longhorn-health.rules.yaml). *critical* means act now, *warning* a ticket,
*info* context only. Severities, durations, thresholds and labels can be [set](configuration.md), alert by alert. Every alert has
a [runbook](README.md#runbooks).";

const ALONE: &str = "\
Where the exporter does not run,
[rules/longhorn-health-kube-state-metrics.rules.yaml](../rules/longhorn-health-kube-state-metrics.rules.yaml) has two alerts that
kube-state-metrics alone can carry. They have the label `source: kube-state-metrics`, so that both files may be loaded.";

fn section(page: &mut Page, area: &Check, alert: &Alert, settings: &Settings) -> Result<(), GenerateError> {
    let rule = rules::rule(area, alert, settings)?;
    let set = settings.alert(alert);
    page.paragraph(alert.summary);
    page.table(
        ["severity", "for", "keep_firing_for", "runbook", "dashboard"],
        [[
            set.severity.to_string(),
            rule.hold,
            or_none(rule.keep_firing_for),
            format!("[{0}](runbooks/{0}.md)", alert.name),
            dashboard(area, ".."),
        ]],
    );
    page.code("promql", &rule.expr);
    let records = catalogue::records_in(&rule.expr);
    if !records.is_empty() {
        let links: Vec<_> = records.iter().map(|record| super::metrics::record_link(record)).collect();
        page.paragraph(&format!("It reads what is recorded as {}.", links.join(" and ")));
    }
    page.paragraph(&format!("Why: {}", alert.why));
    let rows = alert.thresholds.iter().map(|threshold| {
        let value = set.thresholds.get(threshold.name).unwrap_or(&threshold.default);
        [code(threshold.name), format!("{value} {}", threshold.unit), threshold.why.to_owned()]
    });
    page.table(["threshold", "value", "why"], rows);
    alert_causes(page, area, alert);
    Ok(())
}

/// The causes of the check that this alert covers.
pub fn alert_causes(page: &mut Page, area: &Check, alert: &Alert) {
    let covered = |cause: &&&Cause| alert.causes().any(|listed| listed == **cause);
    causes(page, area.causes.iter().filter(covered).copied());
}

/// The dashboard that shows the check of an alert, as a link from a directory below `root`.
pub fn dashboard(area: &Check, root: &str) -> String {
    let uid = area.dashboard().uid();
    format!("[{uid}]({root}/dashboards/{uid}.json)")
}
