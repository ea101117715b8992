//! Incidents, above everything: in the order in which to act, each with what follows from it and the command
//! to begin with.

use super::findings::{anchor, place};
use super::html::Html;
use crate::check::Severity;
use crate::incidents::Incident;
use crate::report::Report;
use crate::report::text::{follows, waits};

/// At most this many incidents are listed; all findings stand below.
const MAX_LISTED: usize = 12;

/// All that is more than a note.
pub fn write(html: &mut Html, report: &Report) {
    let urgent = || report.incidents.iter().filter(|incident| incident.severity > Severity::Info);
    if urgent().next().is_none() {
        return;
    }
    html.raw("<section><h2>Do first</h2><ol class=\"index\">\n");
    for incident in urgent().take(MAX_LISTED) {
        item(html, report, incident);
    }
    html.raw("</ol>");
    if let Some(more) = urgent().count().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
        html.raw("<p class=\"more\">and ").text(more).raw(" more below</p>");
    }
    html.raw("</section>\n");
}

fn item(html: &mut Html, report: &Report, incident: &Incident) {
    let critical = incident.severity == Severity::Critical;
    html.raw(if critical { "<li class=\"critical\">" } else { "<li>" });
    html.raw("<span class=\"spoken\">").text(incident.severity).raw(": </span>");
    let roots = incident.findings.iter().take(incident.count);
    let root = roots.filter_map(|place| report.findings.get(*place)).min_by_key(|root| place(root));
    match root {
        Some(root) => html.raw("<a href=\"#").text(anchor(root)).raw("\">").text(&incident.title).raw("</a>"),
        None => html.text(&incident.title),
    };
    if !incident.consequences.is_empty() {
        html.raw("<p class=\"more\">Follows: ").text(follows(incident)).raw("</p>");
    }
    if let Some(waits) = waits(incident) {
        html.raw("<p class=\"more\">It ").text(waits).raw("</p>");
    } else if !incident.fix.is_empty() {
        html.raw("<p>").text(&incident.fix).raw("</p>");
    }
    let first = incident.first.as_ref().filter(|_| incident.waits_for.is_empty());
    if let Some(command) = first {
        html.raw(if command.changes {
            "<div class=\"command changes\"><p class=\"mark\">changes the cluster:</p><pre>"
        } else {
            "<div class=\"command\"><pre>"
        });
        html.text(&command.run).raw("</pre></div>");
    }
    html.raw("</li>\n");
}
