//! What is wrong, one card a finding: since when, what it does, what to do, and what it rests on.

use jiff::Timestamp;

use super::html::{Html, ago, plural};
use super::{Links, View};
use crate::check::{Check, Command, Dashboard, Finding, Severity, VolumeRef, capitalised};
use crate::checks;
use crate::incidents::natural;
use crate::report::Selection;

/// At most this many findings are written out on a page; the report has all of them.
const MAX_FINDINGS: usize = 300;
/// At most this many findings with the same cause are written out; the others are named.
const MAX_ALIKE: usize = 5;
/// At most this many volumes of a finding are listed.
const MAX_VOLUMES: usize = 12;

/// Findings of incidents, as cards.
pub struct Cards<'a> {
    pub now: Option<Timestamp>,
    pub view: &'a View,
    pub links: &'a Links,
    /// How many are written so far.
    pub written: usize,
}

impl Cards<'_> {
    /// Writes these findings, which are together by cause.
    pub fn write(&mut self, html: &mut Html, causes: Vec<Vec<&Finding>>) {
        for mut alike in causes {
            alike.sort_by_cached_key(|finding| place(finding));
            let room = MAX_FINDINGS.saturating_sub(self.written).min(MAX_ALIKE).min(alike.len());
            let (written, named) = alike.split_at(room);
            written.iter().for_each(|finding| self.card(html, finding));
            self.written += room;
            if !named.is_empty() {
                let places = named.iter().map(|one| one.node.as_deref().unwrap_or(&one.object.name));
                let places: Vec<&str> = places.take(MAX_FINDINGS).collect();
                html.raw("<p class=\"more\">The same: ").text(places.join(", "));
                html.raw("; all are in <a href=\"api/v1/report\">the report</a></p>\n");
            }
        }
    }

    fn card(&self, html: &mut Html, finding: &Finding) {
        html.raw("<details class=\"finding ").raw(class(finding.severity)).raw("\">");
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
            html.raw("<h4>Impact</h4><p>").text(capitalised(&finding.impact)).raw("</p>");
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
            html.raw("<span>Runbook <a href=\"").text(self.links.runbook(runbook)).raw("#");
            html.text(finding.cause).raw("\">");
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

/// The same for the same trouble at every look, so that a link can be sent to someone.
pub fn anchor(finding: &Finding) -> String {
    let node = finding.node.as_deref().unwrap_or_default();
    let disk = finding.disk.as_deref().unwrap_or_default();
    let parts = [finding.check, finding.cause.id, &finding.object.name, node, disk];
    let text = parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(".");
    text.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect()
}

/// The class of a severity in the style sheet.
pub fn class(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "critical",
        Severity::Warning => "warning",
        Severity::Info => "info",
    }
}

/// Where findings with the same cause stand: worker-2 before worker-10.
fn place(finding: &Finding) -> impl Ord + use<> {
    natural(finding.node.as_deref().unwrap_or(&finding.object.name))
}

fn more(html: &mut Html, number: usize) {
    if number > 0 {
        html.raw("<p class=\"more\">and ").text(number);
        html.raw(" more, which are in <a href=\"api/v1/report\">the report</a></p>");
    }
}

fn write_remedy(html: &mut Html, finding: &Finding) {
    let remedy = &finding.remedy;
    html.raw("<h4>What to do</h4>");
    if !remedy.fix.is_empty() {
        html.raw("<p>").text(&remedy.fix).raw("</p>");
    }
    remedy.commands.iter().for_each(|command| write_command(html, command));
}

/// A command to copy, marked if it changes something.
pub fn write_command(html: &mut Html, command: &Command) {
    html.raw(if command.changes {
        "<div class=\"command changes\"><p class=\"mark\">changes the cluster, needs an administrator</p><pre>"
    } else {
        "<div class=\"command\"><pre>"
    });
    html.text(&command.run).raw("</pre></div>");
}

fn write_evidence(html: &mut Html, finding: &Finding) {
    if finding.evidence().is_empty() {
        return;
    }
    html.raw("<h4>Evidence</h4><ul class=\"evidence\">");
    for evidence in finding.evidence() {
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
    html.raw("<h4>").text(plural(volumes.len(), "volume", "volumes")).raw(
        "</h4><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Volumes\"><table><thead><tr>\
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
