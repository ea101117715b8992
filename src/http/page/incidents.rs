//! Incidents, one card each, in the order in which to act: the fix and the command to begin with, then what it rests on, and
//! inside of it all that follows from it.

use maud::{Markup, html};

use super::findings::{Cards, class};
use super::pieces::{command, lasting, title};
use crate::check::{Severity, counted};
use crate::incidents::Incident;
use crate::report::Report;
use crate::report::text::follows;
use crate::report::text::timeline::before;

/// All that is more than a note.
pub fn urgent(report: &Report, cards: &mut Cards<'_>) -> Markup {
    section("Do first", report, |severity| severity > Severity::Info, cards)
}

/// What is only to be known.
pub fn notes(report: &Report, cards: &mut Cards<'_>) -> Markup {
    section("Notes", report, |severity| severity == Severity::Info, cards)
}

fn section(title: &str, report: &Report, belongs: fn(Severity) -> bool, cards: &mut Cards<'_>) -> Markup {
    let mut incidents = report.incidents.iter().filter(|incident| belongs(incident.severity)).peekable();
    html! {
        @if incidents.peek().is_some() {
            section { h2 { (title) } @for one in incidents { (incident(report, one, cards)) } }
        }
    }
}

fn incident(report: &Report, incident: &Incident, cards: &mut Cards<'_>) -> Markup {
    let (roots, consequences) = incident.parts();
    html! {
        article.incident.(class(incident.severity)) id=(anchor(incident)) {
            h3 {
                a.place href={ "#" (anchor(incident)) } { (incident.number) }
                " " span.spoken { (incident.severity) ": " } (incident.title)
            }
            p.tags {
                span { (title(report.catalogue, incident.check)) }
                span.cause { (incident.cause) }
                @if incident.count > 1 { span { (counted(incident.count, "object")) } }
                @if incident.volume_count > 0 { span { (counted(incident.volume_count, "volume")) } }
                (lasting(incident.since, report.cluster.now))
            }
            (waits(report, incident))
            @if let Some(quote) = incident.quote() { p.more { (quote) } }
            @for change in before(incident) { p.more { "Changed: " (change) } }
            @if !incident.fix.is_empty() { p { (incident.fix) } }
            @if let Some(first) = incident.first.as_ref().filter(|_| incident.waits_for.is_empty()) { (command(first)) }
            details.part { summary { "Evidence and all commands" } (cards.of(report.by_cause(roots))) }
            @if !consequences.is_empty() { details.part {
                summary { "Follows: " (follows(incident)) }
                (cards.of(report.by_cause(consequences)))
            } }
        }
    }
}

/// The same for the same trouble at every look, so that a link can be sent to someone.
fn anchor(incident: &Incident) -> String {
    format!("{}.{}", incident.check, incident.cause)
}

/// What must be repaired before, with links to it.
fn waits(report: &Report, incident: &Incident) -> Markup {
    let numbered = |number: &usize| report.incidents.iter().find(|other| other.number == *number);
    html! {
        @if !incident.waits_for.is_empty() { p.more {
            "Cannot recover until "
            @for (index, number) in incident.waits_for.iter().enumerate() {
                @if index > 0 { " and " }
                @match numbered(number) {
                    Some(other) => a href={ "#" (anchor(other)) } { (number) " (" (other.cause) ")" },
                    None => (number),
                }
            }
            @if incident.waits_for.len() > 1 { " are fixed" } @else { " is fixed" }
        } }
    }
}
