//! OpenMetrics 1.0, which Prometheus asks for and the `prometheus` crate does not write. Differs from text
//! 0.0.4 in the name of counter families, in the escaping of help, in UNIT lines and in its end.

use std::fmt::Write;

use super::Family;
use crate::check::{Gauge, GaugeKind, Sample};

/// Units that are written down when they are the suffix of the family's name.
const UNITS: [&str; 3] = ["seconds", "bytes", "ratio"];

pub fn encode(families: &[Family]) -> String {
    let mut page = String::new();
    for family in families {
        let gauge = family.gauge;
        let (name, kind) = match gauge.kind {
            GaugeKind::Gauge => (gauge.name, "gauge"),
            GaugeKind::Counter => (gauge.name.trim_end_matches("_total"), "counter"),
        };
        push(&mut page, format_args!("# HELP {name} "));
        push_escaped(&mut page, &gauge.help_of_page());
        push(&mut page, format_args!("\n# TYPE {name} {kind}\n"));
        if let Some(unit) = UNITS.iter().find(|unit| name.ends_with(&format!("_{unit}"))) {
            push(&mut page, format_args!("# UNIT {name} {unit}\n"));
        }
        for sample in &family.samples {
            push_sample(&mut page, gauge, sample);
        }
    }
    page.push_str("# EOF\n");
    page
}

fn push_sample(page: &mut String, gauge: &Gauge, sample: &Sample) {
    page.push_str(gauge.name);
    for (index, (name, value)) in gauge.labels.iter().zip(&sample.labels).enumerate() {
        page.push(if index == 0 { '{' } else { ',' });
        page.push_str(name);
        page.push_str("=\"");
        push_escaped(page, value);
        page.push('"');
    }
    page.push_str(if gauge.labels.is_empty() { " " } else { "} " });
    let value = sample.value;
    if value.is_infinite() {
        page.push_str(if value > 0.0 { "+Inf\n" } else { "-Inf\n" });
    } else if value.fract() == 0.0 && value.abs() < EXACT {
        // most values are counts, which take a third of the time so
        push(page, format_args!("{}\n", value as i64));
    } else {
        push(page, format_args!("{value}\n"));
    }
}

/// Whole numbers up to here are exact in a float.
const EXACT: f64 = 9_007_199_254_740_992.0;

fn push_escaped(page: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '\n', '"']) {
        let (before, from) = rest.split_at(at);
        page.push_str(before);
        page.push_str(match from.as_bytes() {
            [b'\n', ..] => "\\n",
            [b'"', ..] => "\\\"",
            _ => "\\\\",
        });
        rest = from.get(1..).unwrap_or_default();
    }
    page.push_str(rest);
}

fn push(page: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = page.write_fmt(text); // writing to a String cannot fail
}
