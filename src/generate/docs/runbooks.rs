//! docs/runbooks/: what is written beside a check, under a head that is made from its declarations.

use super::alerts::{alert_causes, dashboard};
use super::markdown::{Page, or_none};
use crate::check::{Alert, Check};
use crate::generate::catalogue;
use crate::generate::{Artifact, GenerateError, Settings, rules};

pub fn pages(settings: &Settings) -> Result<Vec<Artifact>, GenerateError> {
    let mut pages = Vec::new();
    for area in catalogue::areas() {
        for alert in area.alerts {
            let path = format!("docs/runbooks/{}.md", alert.name);
            pages.push(Artifact { path, content: page(area, alert, settings)? });
        }
    }
    Ok(pages)
}

/// The page of one alert, as this program's defaults make it.
pub fn runbook(name: &str) -> Option<String> {
    let settings = Settings::default();
    catalogue::areas().find_map(|area| {
        let alert = area.alerts.iter().find(|alert| alert.name == name)?;
        page(area, alert, &settings).ok()
    })
}

fn page(area: &Check, alert: &Alert, settings: &Settings) -> Result<String, GenerateError> {
    let rule = rules::rule(area, alert, settings)?;
    let mut page = Page::new(alert.name);
    page.paragraph(alert.summary);
    let (first, sections) = alert.runbook.split_at(alert.runbook.find("## ").unwrap_or(0));
    page.paragraph(first);
    let check = match area.id {
        "exporter" => String::new(),
        id => format!("[{id}](../checks.md#{id})"),
    };
    page.table(
        ["severity", "for", "check", "dashboard", "reference"],
        [[
            settings.alert(alert).severity.to_string(),
            rule.hold,
            or_none(check),
            dashboard(area, "../.."),
            format!("[why these numbers](../alerts.md#{})", alert.name.to_lowercase()),
        ]],
    );
    page.code("promql", &rule.expr);
    alert_causes(&mut page, area, alert);
    page.paragraph(sections);
    Ok(page.finish())
}
