//! What a client accepts: RFC 9110 lists with weights.

use crate::metrics::Format;

/// The format of `/metrics` and what `Content-Type` says. Whatever is unknown, malformed or absent
/// gives text 0.0.4, never an error: a plain `curl` must work, and so must any old scraper.
pub fn metrics_format(accept: Option<&str>) -> (Format, String) {
    let mut best = (0.0, 0, Format::Text, None);
    for range in ranges(accept.unwrap_or_default()).filter(|range| range.weight > 0.0) {
        let (format, specificity) = match range.name.as_str() {
            // every version: a client that asks for 0.0.1 or 2.0 reads 1.0
            "application/openmetrics-text" => (Format::OpenMetrics, 2),
            "text/plain" if range.parameter("version").is_none_or(|version| version == "0.0.4") => {
                (Format::Text, 2)
            }
            "text/*" => (Format::Text, 1),
            _ => continue,
        };
        // the heavier, then the more precise, then the earlier
        if (range.weight, specificity) > (best.0, best.1) {
            let escaping = range.parameter("escaping").and_then(known_escaping);
            best = (range.weight, specificity, format, escaping);
        }
    }
    let (_, _, format, escaping) = best;
    let mut content_type = format.content_type().to_owned();
    if let (Format::OpenMetrics, Some(escaping)) = (format, escaping) {
        content_type.push_str("; escaping=");
        content_type.push_str(escaping);
    }
    (format, content_type)
}

/// Our names are plain ASCII, so every way to escape them gives the same text.
fn known_escaping(escaping: &str) -> Option<&'static str> {
    ["allow-utf-8", "underscores", "dots", "values"].into_iter().find(|known| *known == escaping)
}

/// Whether a page is asked for, as browsers do; anything else reads text.
pub fn wants_html(accept: Option<&str>) -> bool {
    ranges(accept.unwrap_or_default()).any(|range| range.weight > 0.0 && range.name == "text/html")
}

/// Whether the client takes gzip.
pub fn accepts_gzip(accept_encoding: Option<&str>) -> bool {
    let ranges: Vec<_> = ranges(accept_encoding.unwrap_or_default()).collect();
    let weight = |name| ranges.iter().find(|range| range.name == name).map(|range| range.weight);
    weight("gzip").or(weight("x-gzip")).or(weight("*")).is_some_and(|weight| weight > 0.0)
}

struct Range {
    name: String,
    parameters: Vec<(String, String)>,
    weight: f32,
}

impl Range {
    fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

fn ranges(header: &str) -> impl Iterator<Item = Range> {
    header.split(',').filter_map(range)
}

/// `None` for what has no name or a weight that is none.
fn range(text: &str) -> Option<Range> {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next()?.to_ascii_lowercase();
    let parameters: Vec<_> = parts
        .filter_map(|part| part.split_once('='))
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().trim_matches('"').to_owned()))
        .collect();
    let weight = match parameters.iter().find(|(name, _)| name == "q") {
        Some((_, weight)) => weight.parse().ok().filter(|weight| (0.0..=1.0).contains(weight))?,
        None => 1.0,
    };
    (!name.is_empty()).then_some(Range { name, parameters, weight })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMETHEUS_3: &str = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
        application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,\
        text/plain;version=0.0.4;q=0.3,*/*;q=0.2";

    #[test]
    fn formats() {
        use Format::{OpenMetrics, Text};
        let cases = [
            (None, Text),
            (Some(""), Text),
            (Some("*/*"), Text),
            (Some("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"), Text),
            (Some("application/json"), Text),
            (Some("nonsense;;;q=x,,"), Text),
            (Some("text/plain"), Text),
            (Some("application/openmetrics-text"), OpenMetrics),
            (Some("application/openmetrics-text; version=0.0.1"), OpenMetrics),
            (Some("application/openmetrics-text; version=\"2.0.0\""), OpenMetrics),
            (Some("Application/OpenMetrics-Text; Version=1.0.0; Q=0.5"), OpenMetrics),
            (Some("application/openmetrics-text;q=0"), Text),
            (Some("application/openmetrics-text;q=2"), Text),
            (Some("application/openmetrics-text;q=NaN"), Text),
            (Some("application/openmetrics-text;q=0.5,text/plain;q=0.6"), Text),
            (Some("text/*;q=0.6,application/openmetrics-text;q=0.6"), OpenMetrics),
            (Some("text/plain;version=0.0.4;q=0.6,application/openmetrics-text;q=0.6"), Text),
            (Some("text/plain;version=1.0.0;q=0.9,application/openmetrics-text;q=0.6"), OpenMetrics),
            (Some(PROMETHEUS_3), OpenMetrics),
            (
                Some(
                    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
                ),
                Text,
            ),
        ];
        for (accept, expected) in cases {
            assert_eq!(metrics_format(accept).0, expected, "{accept:?}");
        }
    }

    #[test]
    fn a_known_escaping_is_echoed_and_an_unknown_one_is_not() {
        let content_type = |accept| metrics_format(Some(accept)).1;
        assert!(content_type(PROMETHEUS_3).ends_with("charset=utf-8; escaping=allow-utf-8"));
        assert_eq!(
            content_type("application/openmetrics-text;escaping=x\r\ny"),
            Format::OpenMetrics.content_type()
        );
        assert_eq!(content_type("text/plain;escaping=dots"), Format::Text.content_type());
    }

    #[test]
    fn gzip() {
        for (accept, expected) in [
            (None, false),
            (Some("gzip"), true),
            (Some("deflate, GZIP;q=0.1"), true),
            (Some("gzip;q=0, *"), false),
            (Some("*"), true),
            (Some("identity"), false),
            (Some("br"), false),
        ] {
            assert_eq!(accepts_gzip(accept), expected, "{accept:?}");
        }
    }
}
