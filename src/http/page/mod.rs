//! The page at `/`, for a person at night: the verdict, what is wrong and what to do about it, what
//! is not known, and how fresh all that is. No scripts, nothing from elsewhere.

mod findings;
mod html;
mod resources;
mod story;
#[cfg(test)]
mod tests;

use hyper::header::{self, HeaderName};

use crate::check::{Severity, capitalised};

use crate::exporter::Moment;
use crate::report::{Report, Status};
use html::{Html, plural};

const STYLE: &str = include_str!("style.css");

/// No scripts, nothing from elsewhere, no frames.
pub const HEADERS: [(HeaderName, &str); 2] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::REFERRER_POLICY, "no-referrer"),
];

/// The page.
pub fn landing(moment: &Moment, telemetry_path: &str) -> String {
    let report = &moment.evaluation.report;
    let mut html = Html::default();
    let (class, headline) = verdict(moment);
    head(&mut html, &headline);
    html.raw("<header class=\"banner ")
        .raw(class)
        .raw("\"><p class=\"name\">longhorn-health-exporter</p><h1>");
    html.text(&headline).raw("</h1>");
    scope(&mut html, report);
    html.raw("<p class=\"data\">Data: ").text(&report.data.line).raw("</p>");
    html.raw("</header>\n<main>\n");
    waiting(&mut html, moment);
    story::write(&mut html, report);
    unknown(&mut html, report);
    findings::write(&mut html, report);
    resources::write_counts(&mut html, moment);
    facts(&mut html, report);
    resources::write_freshness(&mut html, moment);
    html.raw("</main>\n");
    foot(&mut html, telemetry_path);
    html.into_string()
}

/// Colour and headline. What is not known is never green.
fn verdict(moment: &Moment) -> (&'static str, String) {
    let report = &moment.evaluation.report;
    if !moment.waiting_for.is_empty() {
        return ("unknown", "Not synced yet".to_owned());
    }
    let count = |severity| report.findings.iter().filter(|finding| finding.severity == severity).count();
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

fn head(html: &mut Html, headline: &str) {
    html.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.raw("<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    html.text(headline)
        .raw(" · Longhorn health</title>\n<style>\n")
        .raw(STYLE)
        .raw("</style>\n</head>\n<body>\n");
}

fn scope(html: &mut Html, report: &Report) {
    let cluster = &report.cluster;
    html.raw("<p class=\"scope\">Longhorn ");
    html.text(cluster.longhorn_version.as_deref().unwrap_or("of unknown release"));
    html.raw(" in <code>").text(&cluster.namespace).raw("</code>, as of <time>");
    match cluster.now {
        Some(now) => html.text(now.strftime("%Y-%m-%d %H:%M:%S UTC")),
        None => html.raw("an unknown time"),
    };
    html.raw("</time>");
    html.raw(match cluster.recorded {
        true => " (a recording: ages that only watching shows are unknown)",
        false => "; reload the page to look again",
    });
    if let Some(wrong) = cluster.wrong_clock() {
        html.raw("; <b>").text(wrong).raw("</b>");
    }
    html.raw("</p>");
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
        "<section class=\"notice\"><h2>What is not known</h2><p>These checks could not see all they need. \
              That they find nothing does not mean that all is well.</p><ul>",
    );
    for unknown in &report.unknown {
        html.raw("<li><b>").text(unknown.check).raw("</b>: ").text(capitalised(&unknown.reason)).raw("</li>");
    }
    html.raw("</ul></section>\n");
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

fn foot(html: &mut Html, telemetry_path: &str) {
    html.raw("<footer><nav><a href=\"").text(telemetry_path).raw("\">Metrics</a> <a href=\"api/v1/report\">Report as JSON</a> <a href=\"report.txt\">as text</a> \
              <a href=\"/livez\">Liveness</a> <a href=\"/readyz\">Readiness</a></nav>\n<p>longhorn-health-exporter ");
    html.text(env!("CARGO_PKG_VERSION")).raw(", revision ").text(env!("LONGHORN_HEALTH_BUILD_REVISION"));
    html.raw(". It only reads; commands on this page are for you to run.</p></footer>\n</body>\n</html>\n");
}
