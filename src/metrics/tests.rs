use std::sync::Arc;

use super::*;

static STATE: Gauge<[&str; 2]> = Gauge {
    name: "test_state",
    help: "A \"state\"\nwith \\ in it.",
    kind: GaugeKind::Gauge,
    labels: ["object", "state"],
    absent: "there is none",
    example: "",
};

static CALLS: Gauge<[&str; 0]> = Gauge {
    name: "test_calls_seconds_total",
    help: "Calls.",
    kind: GaugeKind::Counter,
    labels: [],
    absent: "never (0 before the first)",
    example: "",
};

fn sample(labels: &[&str], value: f64) -> Sample {
    Sample { labels: labels.iter().map(|label| Arc::from(*label)).collect(), value }
}

fn page() -> Vec<Family> {
    vec![
        Family {
            gauge: &STATE,
            samples: vec![sample(&["b", "on"], 0.0), sample(&["a\"\\\n", "on"], 1_767_268_800.0)],
        },
        Family { gauge: &CALLS, samples: vec![sample(&[], 1.5)] },
    ]
}

#[test]
fn text_is_as_prometheus_writes_it() {
    let expected = r#"# HELP test_state A "state"\nwith \\ in it. Absent while there is none.
# TYPE test_state gauge
test_state{object="a\"\\\n",state="on"} 1767268800
test_state{object="b",state="on"} 0
# HELP test_calls_seconds_total Calls. Never absent (0 before the first).
# TYPE test_calls_seconds_total counter
test_calls_seconds_total 1.5
"#;
    assert_eq!(encode(page(), Format::Text).unwrap(), expected);
}

#[test]
fn labels_hide_nothing_and_names_that_nothing_else_tells_apart_do_not_cost_the_page() {
    let samples = vec![
        sample(&["a\u{202e}b", "on"], 1.0),
        sample(&["a\u{200b}b", "on"], 2.0),
        sample(&["größe\u{1b}[0m", "on"], 3.0),
    ];
    for format in [Format::Text, Format::OpenMetrics] {
        let page = encode(vec![Family { gauge: &STATE, samples: samples.clone() }], format).unwrap();
        let series: Vec<&str> = page.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            series,
            [
                "test_state{object=\"a\u{fffd}b\",state=\"on\"} 2",
                "test_state{object=\"größe\u{fffd}[0m\",state=\"on\"} 3"
            ]
        );
    }
}

#[test]
fn openmetrics_names_counters_without_total_and_ends_in_eof() {
    let expected = r#"# HELP test_state A \"state\"\nwith \\ in it. Absent while there is none.
# TYPE test_state gauge
test_state{object="a\"\\\n",state="on"} 1767268800
test_state{object="b",state="on"} 0
# HELP test_calls_seconds Calls. Never absent (0 before the first).
# TYPE test_calls_seconds counter
# UNIT test_calls_seconds seconds
test_calls_seconds_total 1.5
# EOF
"#;
    assert_eq!(encode(page(), Format::OpenMetrics).unwrap(), expected);
}

#[test]
fn a_family_without_samples_is_left_out() {
    let families = vec![Family { gauge: &STATE, samples: Vec::new() }];
    assert_eq!(encode(families.clone(), Format::Text).unwrap(), "");
    assert_eq!(encode(families, Format::OpenMetrics).unwrap(), "# EOF\n");
}

#[test]
fn infinity_is_written_as_both_formats_want_it() {
    let families = || vec![Family { gauge: &STATE, samples: vec![sample(&["a", "b"], f64::INFINITY)] }];
    assert!(encode(families(), Format::OpenMetrics).unwrap().contains("} +Inf\n"));
    let text = encode(families(), Format::Text).unwrap();
    assert!(text.to_lowercase().contains("inf\n"), "{text}");
}

#[test]
fn what_a_scraper_would_misread_is_refused() {
    let refused = |samples| encode(vec![Family { gauge: &STATE, samples }], Format::Text).unwrap_err();
    assert_eq!(
        refused(vec![sample(&["a", "b"], 1.0), sample(&["a", "b"], 2.0)]).to_string(),
        "test_state{a,b} has two values"
    );
    assert_eq!(refused(vec![sample(&["a", "b"], f64::NAN)]).to_string(), "test_state{a,b} is NaN");
    assert_eq!(
        refused(vec![sample(&["a"], 1.0)]).to_string(),
        "test_state is declared with 2 labels but has a sample with 1"
    );
    let twice = vec![page().remove(0), page().remove(0)];
    assert_eq!(encode(twice, Format::Text), Err(EncodeError::DuplicateFamily("test_state")));
    let negative = vec![Family { gauge: &CALLS, samples: vec![sample(&[], -1.0)] }];
    assert!(encode(negative, Format::Text).is_err());
}

#[test]
fn one_value_given_twice_is_one_sample() {
    let samples = vec![sample(&["a", "b"], 1.0), sample(&["a", "b"], 1.0)];
    let page = encode(vec![Family { gauge: &STATE, samples }], Format::Text).unwrap();
    assert_eq!(page.matches("test_state{").count(), 1);
}
