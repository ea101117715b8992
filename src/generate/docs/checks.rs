//! docs/checks.md: what each check sees, its causes, and what it must be able to read.

use super::markdown::{Page, causes, code};
use super::metrics;
use crate::check::{Check, Severity};
use crate::checks;

pub fn page() -> String {
    let mut page = Page::new("Checks");
    page.paragraph(INTRODUCTION);
    checks::ALL.iter().for_each(|check| section(&mut page, check));
    page.finish()
}

const INTRODUCTION: &str = "\
A check is one way in which Longhorn fails. Its id and its causes are label values of
[longhorn_health_finding](metrics.md#longhorn_health_finding), fields of the [report](report.schema.json) and, for ids, values of
`check --only`. A check without one of the kinds it needs is *unknown*, never healthy:
[longhorn_health_check_unknown](metrics.md#longhorn_health_check_unknown) is 1 and `check` ends with 2 unless something else is
found.";

fn section(page: &mut Page, check: &Check) {
    page.heading(2, check.id);
    page.paragraph(&format!("**{}.** {}", check.title, check.summary));
    causes(page, check.causes.iter().copied());
    let kinds = |kinds: &[crate::longhorn::Resource]| {
        kinds.iter().map(|kind| code(&kind.label())).collect::<Vec<_>>().join(", ")
    };
    let rows = [
        ("needs", kinds(check.needs), "The check is unknown without any one of them."),
        ("uses", kinds(check.uses), "The check runs without them, and knows less."),
    ];
    let rows = rows.into_iter().filter(|(_, kinds, _)| !kinds.is_empty());
    page.table(
        ["", "kinds", "if they cannot be read"],
        rows.map(|(a, b, c)| [a.to_owned(), b, c.to_owned()]),
    );
    let links = [
        ("Alerts", check.alerts.iter().map(|alert| alert_link(alert.name)).collect::<Vec<_>>()),
        ("Series", check.gauges.iter().map(|gauge| metrics::link(gauge)).collect()),
    ];
    for (what, links) in links.iter().filter(|(_, links)| !links.is_empty()) {
        page.paragraph(&format!("{what}: {}.", links.join(", ")));
    }
}

fn alert_link(name: &str) -> String {
    format!("[{name}](alerts.md#{})", name.to_lowercase())
}

/// The table of the README: what each check sees, and how bad that may be.
pub fn overview() -> String {
    let mut page = Page::part();
    let rows = checks::ALL.iter().map(|check| {
        let link = format!("[{0}](docs/checks.md#{0})", check.id);
        let severities = Severity::ALL.into_iter().rev();
        let found: Vec<&str> = severities
            .filter(|severity| check.causes.iter().any(|cause| cause.severity == *severity))
            .map(Severity::as_str)
            .collect();
        [link, check.summary.to_owned(), found.join(", ")]
    });
    page.table(["check", "what it sees", "severity"], rows);
    page.finish()
}
