//! The page at `/`, for a person at night: the verdict, what is wrong and what to do about it, what
//! is unknown, and how fresh all that is. No scripts, nothing from elsewhere. `check -o html` writes the same into a file.

mod findings;
mod incidents;
mod pieces;
mod plan;
mod resources;
mod risk;
mod runbook;
#[cfg(test)]
mod tests;
mod timeline;

use hyper::header::{self, HeaderName};
use jiff::{SignedDuration, Timestamp};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::links::Links;
use super::view::View;
use crate::check::{Severity, capitalised, counted, is_hidden};
use crate::exporter::{Moment, Seen};
use crate::facts::text::age;
use crate::report::text::{reasons, sentence};
use crate::report::{Report, Selection, Status};
use findings::Cards;
pub use plan::plan;
pub use runbook::document;
pub use timeline::timeline;

const STYLE: &str = include_str!("style.css");

/// No scripts, nothing from elsewhere, no frames.
pub const HEADERS: [(HeaderName, &str); 2] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::REFERRER_POLICY, "no-referrer"),
];

/// More checks than this with the same reason for not knowing are only counted.
const MAX_CHECKS: usize = 6;
/// What the link offers, in seconds.
const REFRESH: u32 = 30;

/// The page: what is asked for, at the time `wall` of this machine.
pub fn landing(moment: &Moment, view: &View, links: &Links, wall: Timestamp) -> String {
    let (part, report) = view.of(&moment.evaluation.report);
    whole((&part, &report), &moment.seen, view, Some(links), wall, &html! {})
}

/// The same as a file that leads nowhere: `report` as it was at its own time, with what changed in the time `since`.
pub fn file(report: &Report, seen: &Seen, since: Option<SignedDuration>, wall: Timestamp) -> String {
    let changed = since.map(|since| timeline::section(report, since)).unwrap_or_default();
    let as_of = report.cluster.now.unwrap_or(wall);
    whole((report, report), seen, &View::default(), None, as_of, &changed)
}

fn whole(
    (part, report): (&Report, &Report),
    seen: &Seen,
    view: &View,
    links: Option<&Links>,
    wall: Timestamp,
    changed: &Markup,
) -> String {
    let (class, headline) = verdict(seen, part);
    let cluster = report.cluster.name.as_deref();
    let ui = report.cluster.longhorn_ui.as_deref().filter(|_| links.is_some());
    let (catalogue, now) = (report.catalogue, report.cluster.now);
    let mut cards = Cards { catalogue, now, view, links, ui, written: 0 };
    let body = html! {
        header.banner.(class) {
            p.name { "longhorn-health-exporter" @if let Some(name) = cluster { " · cluster " b { (name) } } }
            h1 { (headline) }
            (scope(report, seen, wall, links.is_some()))
            p.data { "Data: " (report.data.line) }
            @if let Some(line) = report.not_listed_line() { p.data { (line) } }
            @if links.is_some() { (filters(view)) }
        }
        main {
            (selected(report, view, links))
            (waiting(seen))
            (incidents::urgent(report, &mut cards))
            (unknown(report))
            (resources::counts(report, seen))
            (incidents::notes(report, &mut cards))
            (risk::section(report, links))
            (accepted(report))
            (facts(report))
            (changed)
            (resources::freshness(seen, wall))
        }
        (foot(links))
    };
    page(&headline, cluster, &body)
}

fn page(title: &str, cluster: Option<&str>, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) @if let Some(name) = cluster { " · " (name) } " · Longhorn health" }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    };
    // marks of direction could make a command look like another
    page.into_string().replace(|c: char| is_hidden(c) && c != '\n' && c != '\t', "\u{fffd}")
}

/// Colour and headline. What is unknown is never green.
fn verdict(seen: &Seen, report: &Report) -> (&'static str, String) {
    if !seen.waiting_for.is_empty() {
        return ("unknown", "Not synced yet".to_owned());
    }
    let count = |severity| report.incidents.iter().filter(|one| one.severity == severity).count();
    let (critical, warning, info) =
        (count(Severity::Critical), count(Severity::Warning), count(Severity::Info));
    let parts = [(critical, format!("{critical} critical")), (warning, counted(warning, "warning"))];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text);
    let parts = parts.collect::<Vec<_>>().join(", ");
    match report.status {
        Status::Critical => ("critical", parts),
        Status::Warning => ("warning", parts),
        Status::Unknown if info > 0 => {
            ("unknown", "Nothing urgent found, but not everything could be seen".to_owned())
        }
        Status::Unknown => ("unknown", "Unknown".to_owned()),
        Status::Info => ("healthy", format!("Healthy, with {}", counted(info, "note"))),
        Status::Healthy => ("healthy", "Healthy".to_owned()),
    }
}

/// Of a page that is `asked_for` again and again, a recording has an age; in a file that is a lie the next day.
fn scope(report: &Report, seen: &Seen, wall: Timestamp, asked_for: bool) -> Markup {
    let cluster = &report.cluster;
    // of a live cluster the moment is always now: what counts is when the API server last spoke of each kind
    let read = seen.resources.iter().filter(|facts| facts.synced);
    let oldest = read.filter_map(|facts| facts.status.last_success).min();
    html! {
        p.scope {
            "Longhorn " (cluster.longhorn_version.as_deref().unwrap_or("of unknown release"))
            " in " code { (cluster.namespace) } ", "
            @if cluster.recorded { "recorded " } @else { "as of " }
            time { @match cluster.now {
                Some(now) => (now.strftime("%Y-%m-%d %H:%M:%S UTC")),
                None => "at an unknown time",
            } }
            @match (cluster.recorded, cluster.now, oldest) {
                (true, Some(now), _) if asked_for => { " (" (age(wall.duration_since(now))) " ago)" }
                (false, _, Some(oldest)) => { ", data at most " (age(wall.duration_since(oldest))) " old" }
                _ => {}
            }
            @if let Some(wrong) = cluster.wrong_clock() { "; " b { (wrong) } }
        }
    }
}

/// Links instead of a form, which would need a weaker content security policy.
fn filters(view: &View) -> Markup {
    let shown =
        |severity| View { selection: Selection { severity, ..view.selection.clone() }, ..view.clone() };
    let refresh = |refresh| View { refresh, ..view.clone() };
    let every = view.refresh.unwrap_or(REFRESH);
    let choice = |label: &str, target: View| {
        html! { a href=(target.link()) aria-current=[(target == *view).then_some("true")] { (label) } }
    };
    html! {
        nav.filters aria-label="View" {
            span { "Show" }
            (choice("everything", shown(None)))
            (choice("warnings and worse", shown(Some(Severity::Warning))))
            (choice("critical", shown(Some(Severity::Critical))))
            span { "Refresh" }
            (choice("off", refresh(None)))
            (choice(&format!("every {every} s"), refresh(Some(every))))
        }
    }
}

/// Says that this is not everything.
fn selected(report: &Report, view: &View, links: Option<&Links>) -> Markup {
    let everything = View { selection: Selection::default(), ..view.clone() };
    html! {
        @if let Some(selected) = &report.selected { section.notice { p {
            b { "Shown: " (selected.by) } ". "
            @if selected.left_out > 0 {
                (counted(selected.left_out, "finding"))
                @if selected.left_out == 1 { " is" } @else { " are" } " not shown. "
            }
            @if links.is_some() { a href=(everything.link()) { "Show everything" } }
        } } }
    }
}

fn waiting(seen: &Seen) -> Markup {
    html! {
        @if !seen.waiting_for.is_empty() { section.notice {
            h2 { "Waiting for the Kubernetes API" }
            p {
                "There is no verdict until these kinds are listed or denied:  "
                @for (index, resource) in seen.waiting_for.iter().enumerate() {
                    @if index > 0 { ", " } code { (resource) }
                }
                "."
            }
        } }
    }
}

fn unknown(report: &Report) -> Markup {
    html! {
        @if !report.unknown.is_empty() { section.notice {
            h2 { "Unknown" }
            p { "These checks lack data. No findings here does not mean healthy." }
            ul { @for (reason, checks) in reasons(report) { li {
                b { (sentence(&reason)) } " "
                @match checks.len() {
                    0..=MAX_CHECKS => (checks.join(", ")),
                    number => { (number) " of " (report.catalogue.checks.len()) " checks" }
                }
            } } }
        } }
    }
}

/// What someone has looked at and accepted: part of neither headline nor colour, and never hidden.
fn accepted(report: &Report) -> Markup {
    html! {
        @if !report.accepted.is_empty() { section {
            h2 { "Accepted " span.count { (report.accepted.len()) } }
            dl.facts { @for one in &report.accepted { div {
                dt { (sentence(&one.message)) }
                dd {
                    (one.name()) br; (one.reason)
                    @if let Some(until) = one.until { " (until " (until) ")" }
                }
            } } }
        } }
    }
}

/// What every cluster with this release has.
fn facts(report: &Report) -> Markup {
    html! {
        @if !report.facts.is_empty() { section {
            h2 { "Facts about this release" }
            dl.facts {
                @for fact in &report.facts { div { dt { (capitalised(&fact.text)) } dd { (fact.advice) } } }
            }
        } }
    }
}

/// The foot, with links on the page of a cluster.
fn foot(links: Option<&Links>) -> Markup {
    const MORE: [(&str, &str); 9] = [
        ("timeline", "Timeline"),
        ("api/v1/report", "Report as JSON"),
        ("report.txt", "as text"),
        ("runbooks/", "Runbooks"),
        ("plan/upgrade", "Plan an upgrade"),
        ("plan/drain", "a drain"),
        ("plan/loss", "a loss"),
        ("livez", "Liveness"),
        ("readyz", "Readiness"),
    ];
    html! {
        footer {
            @if let Some(links) = links { nav aria-label="More" {
                a href=(links.metrics.trim_start_matches('/')) { "Metrics" }
                @for (address, name) in MORE { " " a href=(address) { (name) } }
            } }
            p {
                "longhorn-health-exporter " (env!("CARGO_PKG_VERSION")) ", revision "
                (env!("LONGHORN_HEALTH_BUILD_REVISION"))
                ". It only reads; commands on this page are for you to run."
            }
        }
    }
}
