//! What is wrong, worst first.

use jiff::Timestamp;

use super::html::{Html, ago, plural};

use crate::check::{Finding, Severity, VolumeRef, capitalised};
use crate::checks;
use crate::report::Report;

/// So many findings of a severity are written out; the report has all of them.
const MAX_FINDINGS: usize = 100;
/// So many volumes of a finding are listed.
const MAX_VOLUMES: usize = 12;
/// Up to so many findings are open from the start.
const MAX_OPEN: usize = 12;

const SEVERITIES: [(Severity, &str, &str); 3] = [
    (Severity::Critical, "critical", "Critical: act now"),
    (Severity::Warning, "warning", "Warnings: look at these in working hours"),
    (Severity::Info, "info", "Notes: good to know"),
];

/// All findings by severity.
pub fn write(html: &mut Html, report: &Report) {
    if report.findings.is_empty() {
        return;
    }
    for (severity, class, title) in SEVERITIES {
        let findings: Vec<_> =
            report.findings.iter().filter(|finding| finding.severity == severity).collect();
        if findings.is_empty() {
            continue;
        }
        html.raw("<section><h2>")
            .raw(title)
            .raw(" <span class=\"count\">")
            .text(report.count(severity))
            .raw("</span></h2>\n");
        let open = severity > Severity::Info && findings.len() <= MAX_OPEN;
        for finding in findings.iter().take(MAX_FINDINGS) {
            write_finding(html, finding, class, open, report.cluster.now);
        }
        if let Some(more) = findings.len().checked_sub(MAX_FINDINGS).filter(|more| *more > 0) {
            html.raw("<p class=\"more\">and ").text(more);
            html.raw(" more, which are in <a href=\"api/v1/report\">the report</a></p>");
        }
        html.raw("</section>\n");
    }
}

/// The same for the same trouble at every look, so that a link can be sent to somebody.
pub fn anchor(finding: &Finding) -> String {
    let node = finding.node.as_deref().unwrap_or_default();
    let disk = finding.disk.as_deref().unwrap_or_default();
    let parts = [finding.check, finding.cause.id, &finding.object.name, node, disk];
    let text = parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(".");
    text.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect()
}

fn write_finding(
    html: &mut Html,
    finding: &Finding,
    class: &'static str,
    open: bool,
    now: Option<Timestamp>,
) {
    html.raw("<details class=\"finding ").raw(class).raw(if open { "\" open>" } else { "\">" });
    html.raw("<summary><span class=\"message\">")
        .text(capitalised(&finding.message))
        .raw("</span><span class=\"tags\">");
    let title = checks::by_id(finding.check).map_or(finding.check, |check| check.title);
    html.raw("<span>").text(title).raw("</span><span class=\"cause\">").text(finding.cause).raw("</span>");
    html.raw("<span>").text(&finding.object).raw("</span>");
    // a node is where it is
    let node = finding.node.as_ref().filter(|node| **node != finding.object.name);
    for (name, value) in [("node ", node), ("disk ", finding.disk.as_ref())] {
        if let Some(value) = value {
            html.raw("<span>").raw(name).text(value).raw("</span>");
        }
    }
    if let (Some(since), Some(now)) = (finding.since, now) {
        html.raw("<span>for ").text(ago(now, since)).raw("</span>");
    }
    // an anchor within a closed card opens it
    html.raw("</span></summary>\n<div class=\"body\" id=\"").text(anchor(finding)).raw("\">");
    if !finding.impact.is_empty() {
        html.raw("<h3>Impact</h3><p>").text(capitalised(&finding.impact)).raw("</p>");
    }
    write_remedy(html, finding);
    write_evidence(html, finding);
    write_volumes(html, &finding.volumes);
    html.raw("</div></details>\n");
}

fn write_remedy(html: &mut Html, finding: &Finding) {
    let remedy = &finding.remedy;
    html.raw("<h3>What to do</h3>");
    if !remedy.text.is_empty() {
        html.raw("<p>").text(&remedy.text).raw("</p>");
    }
    for command in &remedy.commands {
        html.raw(if command.changes {
            "<div class=\"command changes\"><p class=\"mark\">changes the cluster</p><pre>"
        } else {
            "<div class=\"command\"><pre>"
        });
        html.text(&command.run).raw("</pre></div>");
    }
    if let Some(runbook) = finding.runbook {
        html.raw("<p class=\"runbook\">Runbook: <a href=\"runbooks/")
            .text(runbook)
            .raw("\">")
            .text(runbook)
            .raw("</a></p>");
    }
}

fn write_evidence(html: &mut Html, finding: &Finding) {
    if finding.evidence.is_empty() {
        return;
    }
    html.raw("<h3>Evidence</h3><ul class=\"evidence\">");
    for evidence in &finding.evidence {
        html.raw("<li><span class=\"source\">")
            .text(evidence.source.as_str())
            .raw("</span> <span>")
            .text(capitalised(&evidence.text))
            .raw("</span></li>");
    }
    html.raw("</ul>");
}

fn write_volumes(html: &mut Html, volumes: &[VolumeRef]) {
    if volumes.is_empty() {
        return;
    }
    html.raw("<h3>").text(plural(volumes.len(), "volume", "volumes")).raw(
        "</h3><div class=\"scroll\"><table><thead><tr><th>Volume<th>State<th>Claim<th>Used by</tr></thead><tbody>",
    );
    for volume in volumes.iter().take(MAX_VOLUMES) {
        let state = volume.robustness.map_or("–", |robustness| robustness.as_str());
        html.raw("<tr><td>").text(&volume.name).raw("<td>").text(state);
        html.raw("<td>").text(volume.pvc.as_deref().unwrap_or("–"));
        html.raw("<td>")
            .text(if volume.workloads.is_empty() { "–".to_owned() } else { volume.workloads.join(", ") })
            .raw("</tr>");
    }
    html.raw("</tbody></table></div>");
    if let Some(more) = volumes.len().checked_sub(MAX_VOLUMES).filter(|more| *more > 0) {
        html.raw("<p class=\"more\">and ")
            .text(more)
            .raw(" more, which are in <a href=\"api/v1/report\">the report</a></p>");
    }
}
