//! docs/README.md: what there is to read.

use super::markdown::Page;
use crate::generate::catalogue;

pub fn page() -> String {
    let mut page = Page::new("Documentation");
    page.table(
        ["page", "what it answers"],
        PAGES.map(|(file, about)| [format!("[{file}]({file})"), about.to_owned()]),
    );
    page.heading(2, "Runbooks");
    page.table(
        ["runbook", "when"],
        catalogue::alerts()
            .map(|alert| [format!("[{0}](runbooks/{0}.md)", alert.name), alert.summary.to_owned()]),
    );
    page.finish()
}

const PAGES: [(&str, &str); 16] = [
    ("checks.md", "What can go wrong, by cause, and what the exporter must be able to read to see it."),
    ("metrics.md", "Every series: labels, unit, when it is absent, an example."),
    ("alerts.md", "Every alert: expression, severity, `for`, thresholds, and why."),
    ("configuration.md", "How to set thresholds, durations, severities and labels of the alerts."),
    ("configuration.schema.json", "JSON Schema of that file."),
    ("configuration.example.yaml", "That file with every key and its default."),
    ("command-line.md", "Every option and environment variable."),
    ("ci.md", "Examples for CI and for a Job before an upgrade, and how to accept a known finding."),
    ("recording.md", "How to record a cluster, with kubectl alone too."),
    ("access.md", "Every access right, and what it grants."),
    ("web-configuration.md", "TLS, users and tokens for the exporter's own port."),
    ("security.md", "Who reaches the port, what that reveals, what rights cost and what is bounded."),
    ("reliability.md", "What happens when something around it fails, and what two replicas cost."),
    ("report.schema.json", "JSON Schema of `check -o json` and `/api/v1/report`."),
    ("performance.md", "What it costs, and how that was measured."),
    ("migration.md", "How to come from Longhorn's example rules or from kube-state-metrics."),
];
