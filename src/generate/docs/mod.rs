//! References for readers: so far one runbook for every alert.

use super::{Artifact, GenerateError, Settings, Target, catalogue, rules};

/// The files of this target.
pub fn artifacts(settings: &Settings) -> Result<Vec<Artifact>, GenerateError> {
    let mut artifacts = Vec::new();
    for area in catalogue::areas() {
        for alert in area.alerts {
            let rule = rules::rule(&area, alert, settings)?;
            let content = format!(
                "<!-- {} -->\n\n# {}\n\n{} Severity {}, after {}.\n\n```promql\n{}\n```\n\n{}",
                Target::Docs.header(),
                alert.name,
                alert.summary,
                settings.alert(alert).severity,
                rule.hold,
                rule.expr,
                alert.runbook
            );
            artifacts.push(Artifact { path: format!("docs/runbooks/{}.md", alert.name), content });
        }
    }
    Ok(artifacts)
}
