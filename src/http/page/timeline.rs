//! What happened, newest first, as a table.

use jiff::SignedDuration;
use maud::{Markup, html};

use super::findings::class;
use super::{foot, page};
use crate::report::Report;
use crate::report::happened::Entry;
use crate::report::text::scope;
use crate::report::text::timeline::{heading, nothing, said, undated, when};

/// The page beside that of the cluster.
pub fn timeline(report: &Report, since: SignedDuration) -> String {
    let title = heading(since);
    let body = html! {
        header.banner {
            p.name { "longhorn-health-exporter" }
            h1 { (title) }
            p.scope { (scope(report)) }
        }
        main {
            nav aria-label="More" { a href="./" { "What is wrong now" } " " a href="timeline.txt" { "as text" } }
            section { (listed(report)) }
        }
        (foot(None))
    };
    page(&title, report.cluster.name.as_deref(), &body)
}

/// The same as a part of another page.
pub fn section(report: &Report, since: SignedDuration) -> Markup {
    html! { section { h2 { (heading(since)) } (listed(report)) } }
}

fn listed(report: &Report) -> Markup {
    html! {
        @if report.timeline.is_empty() { p { (nothing(report)) } } @else { (entries(&report.timeline)) }
        @if let Some(undated) = undated(report) { p { (undated) } }
    }
}

fn entries(entries: &[Entry]) -> Markup {
    html! { div.scroll tabindex="0" role="group" aria-label="Timeline" { table {
        thead { tr { @for head in ["When", "What"] { th scope="col" { (head) } } } }
        tbody { @for entry in entries { tr.(entry.severity.map(class).unwrap_or_default()) {
            td { time { (when(entry)) } }
            td { (said(entry)) }
        } } }
    } } }
}
