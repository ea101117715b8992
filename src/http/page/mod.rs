//! The page at `/`, for a person at night: the verdict, what is wrong and what to do about it, what
//! is unknown, and how fresh all that is. No scripts, nothing from elsewhere.

mod findings;
mod html;
mod incidents;
mod resources;
mod risk;
mod runbook;
#[cfg(test)]
mod tests;

use hyper::header::{self, HeaderName};
use jiff::Timestamp;

use super::links::Links;
use super::view::View;
use crate::check::{Severity, capitalised};
use crate::checks;
use crate::exporter::Moment;
use crate::report::text::{reasons, sentence};
use crate::report::{Report, Selection, Status};
use findings::Cards;
use html::{Html, ago, plural};
pub use runbook::document;

const STYLE: &str = include_str!("style.css");

/// No scripts, nothing from elsewhere, no frames.
pub const HEADERS: [(HeaderName, &str); 2] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::REFERRER_POLICY, "no-referrer"),
];

/// The page: what is asked for, at the time `wall` of this machine.
pub fn landing(moment: &Moment, view: &View, links: &Links, wall: Timestamp) -> String {
    let (part, report) = view.of(&moment.evaluation.report);
    let mut html = Html::default();
    let (class, headline) = verdict(moment, &part);
    head(&mut html, &headline, report.cluster.name.as_ref());
    html.raw("<header class=\"banner ").raw(class).raw("\"><p class=\"name\">longhorn-health-exporter");
    if let Some(name) = &report.cluster.name {
        html.raw(" · cluster <b>").text(name).raw("</b>");
    }
    html.raw("</p><h1>").text(&headline).raw("</h1>");
    scope(&mut html, moment, wall);
    html.raw("<p class=\"data\">Data: ").text(&report.data.line).raw("</p>");
    if let Some(line) = report.not_listed_line() {
        html.raw("<p class=\"data\">").text(line).raw("</p>");
    }
    filters(&mut html, view);
    html.raw("</header>\n<main>\n");
    selected(&mut html, &report, view);
    waiting(&mut html, moment);
    let mut cards = Cards { now: report.cluster.now, view, links, written: 0 };
    incidents::write_urgent(&mut html, &report, &mut cards);
    unknown(&mut html, &report);
    resources::write_counts(&mut html, moment);
    incidents::write_notes(&mut html, &report, &mut cards);
    risk::write(&mut html, &report);
    accepted(&mut html, &report);
    facts(&mut html, &report);
    resources::write_freshness(&mut html, moment, wall);
    html.raw("</main>\n");
    foot(&mut html, links);
    html.into_string()
}

/// Colour and headline. What is unknown is never green.
fn verdict(moment: &Moment, report: &Report) -> (&'static str, String) {
    if !moment.waiting_for.is_empty() {
        return ("unknown", "Not synced yet".to_owned());
    }
    let count = |severity| report.incidents.iter().filter(|one| one.severity == severity).count();
    let (critical, warning, info) =
        (count(Severity::Critical), count(Severity::Warning), count(Severity::Info));
    let mut parts = Vec::new();
    for (count, one, many) in [(critical, "critical", "critical"), (warning, "warning", "warnings")] {
        if count > 0 {
            parts.push(plural(count, one, many));
        }
    }
    match report.status {
        Status::Critical => ("critical", parts.join(", ")),
        Status::Warning => ("warning", parts.join(", ")),
        Status::Unknown if info > 0 => {
            ("unknown", "Nothing urgent found, but not everything could be seen".to_owned())
        }
        Status::Unknown => ("unknown", "Unknown".to_owned()),
        Status::Info => ("healthy", format!("Healthy, with {}", plural(info, "note", "notes"))),
        Status::Healthy => ("healthy", "Healthy".to_owned()),
    }
}

fn head(html: &mut Html, headline: &str, cluster: Option<&String>) {
    html.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.raw("<meta name=\"color-scheme\" content=\"light dark\">\n<title>").text(headline);
    if let Some(name) = cluster {
        html.raw(" · ").text(name);
    }
    html.raw(" · Longhorn health</title>\n<style>\n").raw(STYLE).raw("</style>\n</head>\n<body>\n");
}

fn scope(html: &mut Html, moment: &Moment, wall: Timestamp) {
    let cluster = &moment.evaluation.report.cluster;
    html.raw("<p class=\"scope\">Longhorn ");
    html.text(cluster.longhorn_version.as_deref().unwrap_or("of unknown release"));
    html.raw(" in <code>").text(&cluster.namespace).raw("</code>, ");
    html.raw(if cluster.recorded { "recorded " } else { "as of " }).raw("<time>");
    match cluster.now {
        Some(now) => html.text(now.strftime("%Y-%m-%d %H:%M:%S UTC")),
        None => html.raw("at an unknown time"),
    };
    html.raw("</time>");
    // of a live cluster the moment is always now: what counts is when the API server last spoke of each kind
    let read = moment.resources.iter().filter(|facts| facts.synced);
    let oldest = read.filter_map(|facts| facts.status.last_success).min();
    match (cluster.recorded, cluster.now, oldest) {
        (true, Some(now), _) => html.raw(" (").text(ago(wall, now)).raw(" ago)"),
        (false, _, Some(oldest)) => html.raw(", data at most ").text(ago(wall, oldest)).raw(" old"),
        _ => html,
    };
    if let Some(wrong) = cluster.wrong_clock() {
        html.raw("; <b>").text(wrong).raw("</b>");
    }
    html.raw("</p>");
}

/// Links instead of a form, which would need a weaker content security policy.
fn filters(html: &mut Html, view: &View) {
    let severity = |severity| {
        let selection = Selection { severity, ..view.selection.clone() };
        View { selection, ..view.clone() }
    };
    let refresh = |refresh| View { refresh, ..view.clone() };
    html.raw("<nav class=\"filters\" aria-label=\"View\"><span>Show</span>");
    choice(html, "everything", severity(None), view);
    choice(html, "warnings and worse", severity(Some(Severity::Warning)), view);
    choice(html, "critical", severity(Some(Severity::Critical)), view);
    html.raw("<span>Refresh</span>");
    choice(html, "off", refresh(None), view);
    match view.refresh {
        Some(seconds) if seconds != REFRESH => {
            choice(html, &format!("every {seconds} s"), view.clone(), view)
        }
        _ => choice(html, &format!("every {REFRESH} s"), refresh(Some(REFRESH)), view),
    }
    html.raw("</nav>");
}

/// More checks than this with the same reason for not knowing are only counted.
const MAX_CHECKS: usize = 6;
/// What the link offers, in seconds.
const REFRESH: u32 = 30;

fn choice(html: &mut Html, label: &str, target: View, view: &View) {
    html.raw("<a href=\"").text(target.link()).raw(if target == *view {
        "\" aria-current=\"true\">"
    } else {
        "\">"
    });
    html.text(label).raw("</a>");
}

/// Says that this is not everything.
fn selected(html: &mut Html, report: &Report, view: &View) {
    let Some(selected) = &report.selected else { return };
    html.raw("<section class=\"notice\"><p><b>Shown: ").text(&selected.by).raw("</b>. ");
    if selected.left_out > 0 {
        html.text(plural(selected.left_out, "finding is", "findings are")).raw(" not shown. ");
    }
    let everything = View { selection: Selection::default(), ..view.clone() };
    html.raw("<a href=\"").text(everything.link()).raw("\">Show everything</a></p></section>\n");
}

fn waiting(html: &mut Html, moment: &Moment) {
    if moment.waiting_for.is_empty() {
        return;
    }
    html.raw(
        "<section class=\"notice\"><h2>Waiting for the Kubernetes API</h2><p>There is no verdict before \
              these kinds were listed or refused: ",
    );
    for (index, resource) in moment.waiting_for.iter().enumerate() {
        html.raw(if index == 0 { "<code>" } else { ", <code>" }).text(resource).raw("</code>");
    }
    html.raw(".</p></section>\n");
}

fn unknown(html: &mut Html, report: &Report) {
    if report.unknown.is_empty() {
        return;
    }
    html.raw(
        "<section class=\"notice\"><h2>Unknown</h2><p>These checks lack data. \
              No findings here does not mean healthy.</p><ul>",
    );
    for (reason, checks) in reasons(report) {
        html.raw("<li><b>").text(sentence(&reason)).raw("</b> ");
        match checks.len() {
            0..=MAX_CHECKS => html.text(checks.join(", ")),
            number => html.text(number).raw(" of ").text(checks::ALL.len()).raw(" checks"),
        };
        html.raw("</li>");
    }
    html.raw("</ul></section>\n");
}

/// What someone has looked at and accepted: part of neither headline nor colour, and never hidden.
fn accepted(html: &mut Html, report: &Report) {
    if report.accepted.is_empty() {
        return;
    }
    html.raw("<section><h2>Accepted <span class=\"count\">").text(report.accepted.len());
    html.raw("</span></h2><dl class=\"facts\">");
    for one in &report.accepted {
        html.raw("<div><dt>").text(sentence(&one.message)).raw("</dt><dd>").text(one.name()).raw("<br>");
        html.text(&one.reason);
        if let Some(until) = one.until {
            html.raw(" (until ").text(until).raw(")");
        }
        html.raw("</dd></div>");
    }
    html.raw("</dl></section>\n");
}

/// What every cluster with this release has.
fn facts(html: &mut Html, report: &Report) {
    if report.facts.is_empty() {
        return;
    }
    html.raw("<section><h2>Facts about this release</h2><dl class=\"facts\">");
    for fact in &report.facts {
        html.raw("<div><dt>")
            .text(capitalised(&fact.text))
            .raw("</dt><dd>")
            .text(&fact.advice)
            .raw("</dd></div>");
    }
    html.raw("</dl></section>\n");
}

fn foot(html: &mut Html, links: &Links) {
    html.raw("<footer><nav aria-label=\"More\"><a href=\"").text(links.metrics.trim_start_matches('/'));
    html.raw(
        "\">Metrics</a> <a href=\"api/v1/report\">Report as JSON</a> <a href=\"report.txt\">as text</a> \
              <a href=\"runbooks/\">Runbooks</a> <a href=\"plan/upgrade\">Plan an upgrade</a> <a href=\"plan/drain\">a drain</a> \
              <a href=\"plan/loss\">a loss</a> <a href=\"livez\">Liveness</a> <a href=\"readyz\">Readiness</a></nav>\n<p>longhorn-health-exporter ",
    );
    release(html);
}

/// The foot of a page that is not about a cluster.
fn foot_of_document(html: &mut Html) {
    html.raw("<footer><p>longhorn-health-exporter ");
    release(html);
}

fn release(html: &mut Html) {
    html.text(env!("CARGO_PKG_VERSION")).raw(", revision ").text(env!("LONGHORN_HEALTH_BUILD_REVISION"));
    html.raw(". It only reads; commands on this page are for you to run.</p></footer>\n</body>\n</html>\n");
}
