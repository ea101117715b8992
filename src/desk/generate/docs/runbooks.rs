//! docs/runbooks/: what is written beside a check, under a head that is made from its declarations.

use anyhow::Result;

use super::markdown::{Document, causes, code, or_none};
use crate::check::{Alert, Cause, Check, Command, Way, capitalised};
use crate::generate::catalogue::Declared;
use crate::generate::{Artifact, Settings, rules};
use crate::longhorn_series;

pub fn pages(settings: &Settings) -> Result<Vec<Artifact>> {
    let mut pages = Vec::new();
    for area in settings.declared.with_pages() {
        for alert in area.alerts {
            let path = format!("docs/runbooks/{}.md", alert.name);
            pages.push(Artifact { path, content: page(area, alert, settings)? });
        }
    }
    Ok(pages)
}

/// The page of one alert, as this program's defaults make it.
pub fn runbook(name: &str, declared: &'static Declared) -> Option<String> {
    let settings = Settings::of(declared);
    settings.declared.with_pages().find_map(|area| {
        let alert = area.alerts.iter().find(|alert| alert.name == name)?;
        page(area, alert, &settings).ok()
    })
}

pub fn link(alert: &Alert) -> String {
    format!("[{0}](runbooks/{0}.md)", alert.name)
}

fn page(area: &Check, alert: &Alert, settings: &Settings) -> Result<String> {
    let rule = rules::rule(area, alert, settings)?;
    let mut page = Document::new(alert.name);
    page.paragraph(alert.summary);
    let (first, sections) = alert.runbook.split_at(alert.runbook.find("## ").unwrap_or(0));
    page.paragraph(first);
    let board = area.dashboard().uid();
    page.table(
        ["severity", "for", "keep_firing_for", "check", "dashboard"],
        [[
            settings.alert(alert).severity.to_string(),
            rule.for_,
            or_none(rule.keep_firing_for),
            format!("[{0}](../checks.md#{0})", area.id),
            format!("[{board}](../../dashboards/{board}.json)"),
        ]],
    );
    let covered = |cause: &&&Cause| alert.causes().any(|listed| listed == **cause);
    causes(&mut page, area.causes.iter().filter(covered).copied());
    let advised: Vec<&'static Cause> =
        area.causes.iter().filter(covered).copied().filter(|cause| !cause.fix.is_empty()).collect();
    match sections.split_once(MITIGATION) {
        Some((before, own)) if !advised.is_empty() => {
            page.paragraph(before);
            page.heading(2, "Mitigation");
            advice(&mut page, area, &advised);
            if !own.trim().is_empty() {
                page.paragraph(own.trim_start());
            }
        }
        _ => page.paragraph(sections),
    }
    page.heading(2, "Rule");
    reasons(&mut page, area, alert, settings)?;
    Ok(page.finish())
}

/// What is written beside a check about mitigation begins behind this.
const MITIGATION: &str = "## Mitigation\n";

/// What each cause advises, under a heading of its own that reports link to, and what its ways advise instead, those that it shares
/// where they come first. Causes with the same advice share it.
pub fn advice(page: &mut Document, check: &Check, causes: &[&'static Cause]) {
    let mut printed: Vec<&Way> = Vec::new();
    for alike in
        causes.chunk_by(|a, b| (a.fix, a.steps) == (b.fix, b.steps) && check.ways(a).eq(check.ways(b)))
    {
        for cause in alike {
            page.heading(3, cause.id);
        }
        let Some(cause) = alike.first() else { continue };
        let advice = cause.advice();
        page.paragraph(&advice.fix);
        commands(page, &advice.commands);
        let advised: Vec<&Way> =
            check.ways(cause).filter(|way| !way.advice().is_empty() && !printed.contains(way)).collect();
        printed.extend(&advised);
        for alike in advised.chunk_by(|a, b| a.fix == b.fix) {
            let names: Vec<&str> = alike.iter().map(|way| way.briefly).collect();
            let fix = alike.first().map(|way| way.advice().fix).unwrap_or_default();
            page.paragraph(&format!("**{}:** {fix}", capitalised(&names.join("; "))));
            let mut steps: Vec<Command> = Vec::new();
            for step in alike.iter().flat_map(|way| way.advice().commands) {
                if !steps.contains(&step) {
                    steps.push(step);
                }
            }
            commands(page, &steps);
        }
    }
}

/// Commands in their order; before those that change something it says so.
fn commands(page: &mut Document, commands: &[Command]) {
    for steps in commands.chunk_by(|a, b| a.changes == b.changes) {
        if steps.first().is_some_and(|step| step.changes) {
            page.paragraph("**Changes the cluster**:");
        }
        let lines: Vec<&str> = steps.iter().map(|step| step.run.as_str()).collect();
        page.code("console", &lines.join("\n"));
    }
}

/// The expression of an alert, and why its numbers are what they are.
pub fn reasons(page: &mut Document, area: &Check, alert: &Alert, settings: &Settings) -> Result<()> {
    let expr = rules::rule(area, alert, settings)?.expr;
    page.code("promql", &expr);
    for record in settings.declared.records_in(&expr) {
        // as GitHub makes anchors: without the colons
        let anchor = record.name.replace(':', "");
        page.paragraph(&format!("Recorded as {}: [expression](../checks.md#{anchor}).", code(record.name)));
    }
    page.paragraph(alert.why);
    if let Some(from) = longhorn_series::needs(&expr) {
        page.paragraph(&format!("Longhorn has these metrics from {from} on."));
    }
    let set = settings.alert(alert).thresholds;
    let rows = alert.thresholds.iter().map(|threshold| {
        let value = set.get(threshold.name).unwrap_or(&threshold.default);
        [code(threshold.name), format!("{value} {}", threshold.unit), threshold.why.to_owned()]
    });
    page.table(["threshold", "value", "why"], rows);
    Ok(())
}
