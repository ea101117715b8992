//! Incidents, one card each, in the order in which to act: the fix and the command to begin with, then what it rests on, and
//! inside of it all that follows from it.

use super::findings::{Cards, class, write_command};
use super::html::{Html, ago, plural};
use crate::check::Severity;
use crate::checks;
use crate::incidents::Incident;
use crate::report::Report;
use crate::report::text::follows;

/// All that is more than a note.
pub fn write_urgent(html: &mut Html, report: &Report, cards: &mut Cards<'_>) {
    section(html, "Do first", report, |severity| severity > Severity::Info, cards);
}

/// What is only to be known.
pub fn write_notes(html: &mut Html, report: &Report, cards: &mut Cards<'_>) {
    section(html, "Notes", report, |severity| severity == Severity::Info, cards);
}

fn section(
    html: &mut Html,
    title: &'static str,
    report: &Report,
    belongs: fn(Severity) -> bool,
    cards: &mut Cards<'_>,
) {
    let mut incidents = report.incidents.iter().filter(|incident| belongs(incident.severity)).peekable();
    if incidents.peek().is_none() {
        return;
    }
    html.raw("<section><h2>").raw(title).raw("</h2>\n");
    incidents.for_each(|one| incident(html, report, one, cards));
    html.raw("</section>\n");
}

fn incident(html: &mut Html, report: &Report, incident: &Incident, cards: &mut Cards<'_>) {
    html.raw("<article class=\"incident ")
        .raw(class(incident.severity))
        .raw("\" id=\"")
        .text(anchor(incident));
    html.raw("\">\n<h3><a class=\"place\" href=\"#").text(anchor(incident)).raw("\">").text(incident.number);
    html.raw("</a> <span class=\"spoken\">").text(incident.severity).raw(": </span>");
    html.text(&incident.title).raw("</h3>\n");
    tags(html, report, incident);
    waits(html, report, incident);
    if !incident.fix.is_empty() {
        html.raw("<p>").text(&incident.fix).raw("</p>");
    }
    if let Some(command) = incident.first.as_ref().filter(|_| incident.waits_for.is_empty()) {
        write_command(html, command);
    }
    let (roots, consequences) = incident.parts();
    html.raw("<details class=\"part\"><summary>Evidence and all commands</summary>\n");
    cards.write(html, report.by_cause(roots));
    html.raw("</details>\n");
    if !consequences.is_empty() {
        html.raw("<details class=\"part\"><summary>Follows: ").text(follows(incident)).raw("</summary>\n");
        cards.write(html, report.by_cause(consequences));
        html.raw("</details>\n");
    }
    html.raw("</article>\n");
}

/// The same for the same trouble at every look, so that a link can be sent to someone.
fn anchor(incident: &Incident) -> String {
    format!("{}.{}", incident.check, incident.cause)
}

fn tags(html: &mut Html, report: &Report, incident: &Incident) {
    let title = checks::by_id(incident.check).map_or(incident.check, |check| check.title);
    html.raw("<p class=\"tags\"><span>")
        .text(title)
        .raw("</span><span class=\"cause\">")
        .text(incident.cause);
    html.raw("</span>");
    if incident.count > 1 {
        html.raw("<span>").text(plural(incident.count, "object", "objects")).raw("</span>");
    }
    if incident.volume_count > 0 {
        html.raw("<span>").text(plural(incident.volume_count, "volume", "volumes")).raw("</span>");
    }
    if let (Some(since), Some(now)) = (incident.since, report.cluster.now) {
        html.raw("<span>for ").text(ago(now, since)).raw("</span>");
    }
    html.raw("</p>\n");
}

/// What must be repaired before, with links to it.
fn waits(html: &mut Html, report: &Report, incident: &Incident) {
    if incident.waits_for.is_empty() {
        return;
    }
    html.raw("<p class=\"more\">Cannot recover until ");
    for (index, number) in incident.waits_for.iter().enumerate() {
        html.raw(if index == 0 { "" } else { " and " });
        match report.incidents.iter().find(|other| other.number == *number) {
            Some(other) => {
                html.raw("<a href=\"#").text(anchor(other)).raw("\">").text(number).raw(" (");
                html.text(other.cause).raw(")</a>")
            }
            None => html.text(number),
        };
    }
    html.raw(if incident.waits_for.len() > 1 { " are fixed</p>\n" } else { " is fixed</p>\n" });
}
