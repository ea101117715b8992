//! Prometheus text 0.0.4, written by the `prometheus` crate.

use prometheus::TextEncoder;
use prometheus::proto::{Counter, Gauge, LabelPair, Metric, MetricFamily, MetricType};

use super::{EncodeError, Family};
use crate::check::{GaugeKind, Sample};

/// One family at a time, so that there is never more than that in the crate's own form.
pub fn encode(families: &[Family]) -> Result<String, EncodeError> {
    let (encoder, mut page) = (TextEncoder::new(), String::new());
    for family in families {
        let written = encoder.encode_utf8(&[metric_family(family)], &mut page);
        written.map_err(|error| EncodeError::Text(error.to_string()))?;
    }
    Ok(page)
}

fn metric_family(family: &Family) -> MetricFamily {
    let mut out = MetricFamily::default();
    out.set_name(family.gauge.name.to_owned());
    out.set_help(family.gauge.help_of_page());
    out.set_field_type(match family.gauge.kind {
        GaugeKind::Gauge => MetricType::GAUGE,
        GaugeKind::Counter => MetricType::COUNTER,
    });
    out.set_metric(family.samples.iter().map(|sample| metric(family, sample)).collect());
    out
}

fn metric(family: &Family, sample: &Sample) -> Metric {
    let labels = family.gauge.labels.iter().zip(&sample.labels).map(|(name, value)| {
        let mut pair = LabelPair::default();
        pair.set_name((*name).to_owned());
        pair.set_value(value.to_string());
        pair
    });
    let mut out = Metric::from_label(labels.collect());
    match family.gauge.kind {
        GaugeKind::Gauge => {
            let mut gauge = Gauge::default();
            gauge.set_value(sample.value);
            out.set_gauge(gauge);
        }
        GaugeKind::Counter => {
            let mut counter = Counter::default();
            counter.set_value(sample.value);
            out.set_counter(counter);
        }
    }
    out
}
