//! What is wrong, worst first.

use jiff::Timestamp;

use super::html::{Html, ago, plural};
use super::{Links, View};
use crate::check::{Check, Dashboard, Finding, Severity, VolumeRef, capitalised};
use crate::checks;
use crate::incidents::natural;
use crate::report::{Report, Selection};

/// At most this many findings of a severity are written out; the report has all of them.
const MAX_FINDINGS: usize = 100;
/// At most this many findings with the same cause are written out; the others are named.
const MAX_ALIKE: usize = 5;
/// At most this many volumes of a finding are listed.
const MAX_VOLUMES: usize = 12;
/// Up to this many findings are open from the start; the incidents above open any other.
const MAX_OPEN: usize = 3;

const SEVERITIES: [(Severity, &str, &str); 3] = [
    (Severity::Critical, "critical", "Critical findings"),
    (Severity::Warning, "warning", "Warnings"),
    (Severity::Info, "info", "Notes"),
];

/// All findings by severity.
pub fn write(html: &mut Html, report: &Report, view: &View, links: &Links) {
    for (severity, class, title) in SEVERITIES {
        let mut findings: Vec<_> =
            report.findings.iter().filter(|finding| finding.severity == severity).collect();
        if findings.is_empty() {
            continue;
        }
        let mut causes: Vec<_> = findings.iter().map(|finding| (finding.check, finding.cause.id)).collect();
        causes.dedup();
        findings.sort_by_cached_key(|finding| {
            let cause = (finding.check, finding.cause.id);
            (causes.iter().position(|known| *known == cause), place(finding))
        });
        html.raw("<section><h2>")
            .raw(title)
            .raw(" <span class=\"count\">")
            .text(report.count(severity))
            .raw("</span></h2>\n");
        let open = severity > Severity::Info && findings.len() <= MAX_OPEN;
        let card = Card { class, open, now: report.cluster.now, view, links };
        let shown = findings.len().min(MAX_FINDINGS);
        for alike in
            findings.split_at(shown).0.chunk_by(|a, b| (a.check, a.cause.id) == (b.check, b.cause.id))
        {
            let (written, named) = alike.split_at(alike.len().min(MAX_ALIKE));
            written.iter().for_each(|finding| card.write(html, finding));
            if !named.is_empty() {
                let places = named.iter().map(|one| one.node.as_deref().unwrap_or(&one.object.name));
                html.raw("<p class=\"more\">The same: ")
                    .text(places.collect::<Vec<_>>().join(", "))
                    .raw("</p>\n");
            }
        }
        more(html, findings.len() - shown);
        html.raw("</section>\n");
    }
}

/// Where findings with the same cause stand: worker-2 before worker-10.
pub fn place(finding: &Finding) -> impl Ord + use<> {
    natural(finding.node.as_deref().unwrap_or(&finding.object.name))
}

fn more(html: &mut Html, number: usize) {
    if number > 0 {
        html.raw("<p class=\"more\">and ").text(number);
        html.raw(" more, which are in <a href=\"api/v1/report\">the report</a></p>");
    }
}

/// What the cards of a severity have in common.
struct Card<'a> {
    class: &'static str,
    open: bool,
    now: Option<Timestamp>,
    view: &'a View,
    links: &'a Links,
}

/// The same for the same trouble at every look, so that a link can be sent to someone.
pub fn anchor(finding: &Finding) -> String {
    let node = finding.node.as_deref().unwrap_or_default();
    let disk = finding.disk.as_deref().unwrap_or_default();
    let parts = [finding.check, finding.cause.id, &finding.object.name, node, disk];
    let text = parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(".");
    text.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect()
}

impl Card<'_> {
    fn write(&self, html: &mut Html, finding: &Finding) {
        let open = if self.open { "\" open>" } else { "\">" };
        html.raw("<details class=\"finding ").raw(self.class).raw(open);
        html.raw("<summary><span class=\"message\">")
            .text(capitalised(&finding.message))
            .raw("</span><span class=\"tags\">");
        let title = checks::by_id(finding.check).map_or(finding.check, |check| check.title);
        html.raw("<span>")
            .text(title)
            .raw("</span><span class=\"cause\">")
            .text(finding.cause)
            .raw("</span>");
        html.raw("<span>").text(&finding.object).raw("</span>");
        // a node is where it is
        let node = finding.node.as_ref().filter(|node| **node != finding.object.name);
        for (name, value) in [("node ", node), ("disk ", finding.disk.as_ref())] {
            if let Some(value) = value {
                html.raw("<span>").raw(name).text(value).raw("</span>");
            }
        }
        if let (Some(since), Some(now)) = (finding.since, self.now) {
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
        self.write_links(html, finding);
        html.raw("</div></details>\n");
    }

    /// Where more is said: runbook, dashboard, and what else there is of this node and this check.
    fn write_links(&self, html: &mut Html, finding: &Finding) {
        html.raw("<p class=\"runbook\">");
        if let Some(runbook) = finding.runbook {
            html.raw("<span>Runbook <a href=\"").text(self.links.runbook(runbook)).raw("\">");
            html.text(runbook).raw("</a></span>");
        }
        let dashboard = checks::by_id(finding.check).map(Check::dashboard).map(Dashboard::uid);
        if let Some(address) = dashboard.and_then(|uid| self.links.dashboard(&uid)) {
            html.raw("<span><a href=\"").text(address).raw("\">Dashboard</a></span>");
        }
        let only = |selection| View { selection, refresh: self.view.refresh }.link();
        if let Some(node) = &finding.node {
            let target = only(Selection { nodes: vec![node.clone()], ..Selection::default() });
            html.raw("<span>Only <a href=\"").text(target).raw("\">node ").text(node).raw("</a></span>");
        }
        let target = only(Selection { checks: vec![finding.check.to_owned()], ..Selection::default() });
        html.raw("<span>Only <a href=\"").text(target).raw("\">check ").text(finding.check);
        html.raw("</a></span></p>");
    }
}

fn write_remedy(html: &mut Html, finding: &Finding) {
    let remedy = &finding.remedy;
    html.raw("<h3>What to do</h3>");
    if !remedy.fix.is_empty() {
        html.raw("<p>").text(&remedy.fix).raw("</p>");
    }
    for command in &remedy.commands {
        html.raw(if command.changes {
            "<div class=\"command changes\"><p class=\"mark\">changes the cluster, needs an administrator</p><pre>"
        } else {
            "<div class=\"command\"><pre>"
        });
        html.text(&command.run).raw("</pre></div>");
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
        "</h3><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Volumes\"><table><thead><tr>\
              <th scope=\"col\">Volume<th scope=\"col\">State<th scope=\"col\">Claim<th scope=\"col\">Used by\
              </tr></thead><tbody>",
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
    more(html, volumes.len().saturating_sub(MAX_VOLUMES));
}
