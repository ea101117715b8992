//! OpenMetrics 1.0. Differs from text 0.0.4 in the name of counter families, in the escaping of
//! help, in UNIT lines and in its end.

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
        push(&mut page, format_args!("# HELP {name} {}\n", escape(gauge.help)));
        push(&mut page, format_args!("# TYPE {name} {kind}\n"));
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
        let before = if index == 0 { '{' } else { ',' };
        push(page, format_args!("{before}{name}=\"{}\"", escape(value)));
    }
    page.push_str(if gauge.labels.is_empty() { " " } else { "} " });
    if sample.value.is_infinite() {
        page.push_str(if sample.value > 0.0 { "+Inf\n" } else { "-Inf\n" });
    } else {
        push(page, format_args!("{}\n", sample.value));
    }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('"', "\\\"")
}

fn push(page: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = page.write_fmt(text); // writing to a String cannot fail
}
