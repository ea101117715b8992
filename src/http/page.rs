//! The page at `/`.

use hyper::header::{self, HeaderName};

use crate::exporter::Moment;

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
    format!(
        "<!doctype html><title>longhorn-health-exporter</title><p>{}<a href=\"{telemetry_path}\">Metrics</a>",
        moment.evaluation.report.findings.len()
    )
}
