//! Objects that went wrong: every scenario with fields dropped, nulled, retyped, renamed or filled
//! with strange values. Nothing may panic, and an object that does not decode costs itself alone.

use crate::scenario;

use std::sync::OnceLock;

use jiff::Timestamp;
use longhorn_health_exporter::exporter::Evaluator;
use longhorn_health_exporter::metrics::Format;
use longhorn_health_exporter::report::Status;
use longhorn_health_exporter::source::recording::{RecordedFile, Recording, RecordingError};
use longhorn_health_exporter::source::{Fixed, Source};
use proptest::prelude::*;
use serde_json::{Value, json};
use testing::evaluate;

/// The objects of every scenario.
fn originals() -> &'static [Vec<Value>] {
    static ORIGINALS: OnceLock<Vec<Vec<Value>>> = OnceLock::new();
    ORIGINALS.get_or_init(|| scenario::all().iter().map(|path| scenario::files::objects(path)).collect())
}

/// What is done to one field: which object, which of its fields, and how.
#[derive(Debug, Clone)]
struct Mutation {
    object: prop::sample::Index,
    field: prop::sample::Index,
    change: usize,
}

fn mutation() -> impl Strategy<Value = Mutation> {
    (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..CHANGES.len())
        .prop_map(|(object, field, change)| Mutation { object, field, change })
}

const CHANGES: &[fn(&mut Value)] = &[
    |value| *value = Value::Null,
    |value| *value = json!(""),
    |value| *value = json!("strange-\u{1f980}-value"),
    |value| *value = json!(-1),
    |value| *value = json!(u64::MAX),
    |value| *value = json!(1e300),
    |value| *value = json!([]),
    |value| *value = json!({}),
    |value| *value = json!(true),
    |value| *value = json!("9999-12-31T23:59:59Z"),
    |value| *value = json!("0001-01-01T00:00:00Z"),
    |value| *value = json!([null, {"a": [1]}]),
];

/// Pointers to every field of an object but its kind.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => {
            map.iter().map(|(key, child)| (key.replace('~', "~0").replace('/', "~1"), child)).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, child)| (index.to_string(), child)).collect()
        }
        _ => Vec::new(),
    };
    for (key, child) in children {
        let pointer = format!("{at}/{key}");
        if pointer != "/kind" && pointer != "/apiVersion" {
            found.push(pointer.clone());
        }
        pointers(child, &pointer, found);
    }
}

fn mutate(objects: &mut [Value], mutations: &[Mutation]) {
    for mutation in mutations {
        let object = mutation.object.get_mut(objects);
        let mut found = Vec::new();
        pointers(object, "", &mut found);
        let pointer: &String = mutation.field.get(&found);
        if let Some(field) = object.pointer_mut(pointer) {
            CHANGES[mutation.change](field);
        }
    }
}

fn recording(objects: &[Value]) -> Result<Recording, RecordingError> {
    let content = json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string().into_bytes();
    let file = RecordedFile { name: "mutated.json".to_owned(), content };
    Recording::from_files([file], "longhorn-system", Timestamp::MAX)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics_and_the_page_stays_whole(
        scenario in any::<prop::sample::Index>(),
        mutations in prop::collection::vec(mutation(), 1..40),
    ) {
        let mut objects = scenario.get(originals()).clone();
        mutate(&mut objects, &mutations);
        // two objects may have got one name, as those of two clusters have
        let Ok(recording) = recording(&objects) else { return Ok(()) };
        let skipped = recording.warnings.iter().filter(|said| said.contains("does not decode")).count();
        let cluster = recording.into_cluster("longhorn-system", None);
        let report = evaluate(&cluster).report;
        // what did not decode is said, kind by kind
        prop_assert_eq!(report.resources.iter().map(|kind| kind.undecodable).sum::<usize>(), skipped);
        // the same cluster, watched rather than recorded: ages are kept, the page is made
        let live: std::sync::Arc<dyn Source> = std::sync::Arc::new(Fixed::new(cluster));
        let evaluator = Evaluator::new(&longhorn_health_exporter::checks::CATALOGUE, live, || Timestamp::UNIX_EPOCH, false);
        for format in [Format::Text, Format::OpenMetrics] {
            let page = evaluator.page(format, None);
            prop_assert!(page.is_ok(), "{:?}", page.err());
            prop_assert!(!page.unwrap().contains("NaN"));
        }
    }
}

#[test]
fn an_object_that_does_not_decode_is_never_health() {
    let mut objects = originals()[0].clone();
    let volume = objects.iter_mut().find(|object| object["kind"] == "Volume").unwrap();
    volume["status"] = json!("gone");
    let recording = recording(&objects).unwrap();
    assert_eq!(recording.warnings.len(), 1, "{:?}", recording.warnings);
    let report = evaluate(&recording.into_cluster("longhorn-system", None)).report;
    let volumes = report.resources.iter().find(|kind| kind.resource == "volumes.longhorn.io").unwrap();
    assert_eq!(volumes.undecodable, 1);
    assert_ne!(report.status, Status::Healthy);
    assert!(
        report.unknown.iter().any(|unknown| unknown.reason.contains("volumes.longhorn.io")),
        "{:?}",
        report.unknown
    );
}
