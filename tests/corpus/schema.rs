//! Every Longhorn object of corpus and scenarios is one that the CRD of its release takes: a field that no release has is a mistake of ours.
//!
//! tests/crds/ holds the schemas of `v1beta2` out of the published manifests of each release (longhorn/longhorn deploy/longhorn.yaml,
//! Apache License 2.0), without their descriptions.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::cases::{cases, cluster};
use crate::scenario;

/// The releases of which we have the schemas.
const RELEASES: [&str; 10] =
    ["v1.3.3", "v1.4.4", "v1.5.5", "v1.6.4", "v1.7.3", "v1.8.0", "v1.9.2", "v1.10.2", "v1.11.3", "v1.12.1"];

/// A schema as JSON schema has it: `null` where that is permitted, no field that is not there.
fn strict(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    let open = map.remove("x-kubernetes-preserve-unknown-fields").is_some();
    if map.remove("x-kubernetes-int-or-string").is_some() {
        map.remove("type");
    }
    if map.remove("nullable").is_some()
        && let Some(kind) = map.remove("type")
    {
        map.insert("type".to_owned(), json!([kind, "null"]));
    }
    // an object that Kubernetes would fill in, and `null` for what is not there
    map.remove("required");
    if map.contains_key("properties") && !open {
        map.entry("additionalProperties").or_insert(json!(false));
    }
    for key in ["items", "additionalProperties"] {
        map.get_mut(key).into_iter().for_each(strict);
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        properties.values_mut().for_each(strict);
    }
}

/// Validators by kind.
fn schemas(release: &str) -> BTreeMap<String, Validator> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/crds/{release}.json.gz"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    let kinds: BTreeMap<String, Value> = serde_json::from_str(&text).unwrap();
    let validator = |(kind, mut schema): (String, Value)| {
        schema["properties"]["metadata"] = json!({"type": "object"});
        strict(&mut schema);
        (kind, jsonschema::validator_for(&schema).unwrap())
    };
    kinds.into_iter().map(validator).collect()
}

/// The release whose schemas a cluster is held against: the one of its minor line.
fn line_of(release: &str) -> Option<&'static str> {
    let minor = release.split('.').nth(1)?;
    RELEASES.into_iter().find(|known| known.split('.').nth(1) == Some(minor))
}

/// What no CRD of the release takes, by kind and field, with one who has it.
fn misfits(
    who: &str,
    release: &str,
    objects: &[Value],
    all: &BTreeMap<&str, BTreeMap<String, Validator>>,
) -> BTreeMap<String, String> {
    let Some(schemas) = line_of(release).and_then(|line| all.get(line)) else { return BTreeMap::new() };
    let mut misfits = BTreeMap::new();
    let longhorn = |object: &&Value| object["apiVersion"] == "longhorn.io/v1beta2";
    for object in objects.iter().filter(longhorn) {
        let kind = object["kind"].as_str().unwrap_or_default();
        let Some(schema) = schemas.get(kind) else {
            misfits.insert(format!("{} {kind}: no such kind", line_of(release).unwrap()), who.to_owned());
            continue;
        };
        for error in schema.iter_errors(object) {
            let place = error.instance_path().to_string();
            // a field stands for all of its name
            let place: Vec<&str> = place.split('/').filter(|part| !part.contains(['-', ':'])).collect();
            let said = format!("{} {kind} {}: {error}", line_of(release).unwrap(), place.join("/"));
            misfits
                .insert(said.chars().take(200).collect(), format!("{who}: {}", object["metadata"]["name"]));
        }
    }
    misfits
}

#[test]
fn every_object_is_one_that_its_release_takes() {
    let all: BTreeMap<&str, _> = RELEASES.into_iter().map(|release| (release, schemas(release))).collect();
    let mut found = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for case in cases().into_values().flatten() {
        seen.insert(line_of(&case.release));
        found.extend(misfits(&case.report, &case.release, &cluster::fixture(&case).objects(), &all));
    }
    for path in scenario::all() {
        let objects = scenario::files::objects(&path);
        let is_release = |object: &&Value| object["metadata"]["name"] == "current-longhorn-version";
        let release = objects.iter().find(is_release).and_then(|setting| setting["value"].as_str());
        let name = scenario::name(&path);
        found.extend(misfits(name, release.unwrap_or_default(), &objects, &all));
    }
    assert!(seen.len() >= 10, "{seen:?}");
    let text: Vec<String> = found.iter().map(|(what, who)| format!("{what} ({who})")).collect();
    assert!(found.is_empty(), "{} misfits:\n{}", found.len(), text.join("\n"));
}
