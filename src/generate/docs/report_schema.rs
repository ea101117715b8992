//! docs/report.schema.json: the report of `check -o json` and `/api/v1/report`, with every closed
//! list filled in. It describes src/report.rs; tests/docs.rs holds the two together.

use serde_json::{Value, json};

use super::pretty;
use crate::check::{Check, EvidenceSource, Severity};
use crate::checks;
use crate::cluster::Readability;
use crate::generate::Target;
use crate::longhorn::{Resource, VolumeHealth, VolumeState};
use crate::report::{EVERY_CHECK, Status};

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// JSON Schema of the report.
pub fn schema() -> String {
    pretty(&json!({
        "$comment": Target::Docs.header(),
        "$schema": DIALECT,
        "title": "Report of longhorn-health-exporter",
        "description": "What `check -o json` prints and `/api/v1/report` answers. Within v1 keys are only added.",
        "type": "object",
        "required": [
            "schema", "status", "exit_code", "verdict", "cluster", "data", "incidents", "findings", "accepted", "facts", "unknown", "not_recorded",
            "resources"
        ],
        "additionalProperties": false,
        "properties": {
            "schema": about("Version of this shape.", json!({ "const": "v1" })),
            "status": about(
                "How the cluster is, in a word: the worst that was found; `unknown` where nothing urgent was found but \
                 not everything could be read.",
                json!({ "enum": Status::ALL.map(Status::as_str) })
            ),
            "exit_code": about(
                "What `check` ends with: 1 for what reaches --fail-on, 2 for what could not be read, else 0.",
                json!({ "enum": [0, 1, 2] })
            ),
            "verdict": about(
                "`unknown` only if nothing was found and not everything could be read.",
                json!({ "enum": ["healthy", "findings", "unknown"] })
            ),
            "cluster": cluster(),
            "incidents": about(
                "What is wrong, told by root causes; the one to look at first in front.",
                list(incident())
            ),
            "findings": about("What is wrong, one by one, worst first.", list(finding())),
            "data": data(),
            "accepted": about(
                "What was found and accepted: counted apart, and part of neither status nor exit code.",
                list(accepted())
            ),
            "selected": about("Says which part of the report this is; left out of a whole one.", selected()),
            "facts": about(
                "What every cluster with this release of Longhorn has: good to know, nothing to act on.",
                list(fact())
            ),
            "unknown": about("Checks without a full verdict.", list(unknown())),
            "not_recorded": about(
                "Kinds of which a recording has no object; they count as empty. Those that checks miss are under unknown.",
                list(json!({ "enum": kinds() }))
            ),
            "resources": about("How each kind could be read.", list(resource())),
        },
        "oneOf": verdicts(),
    }))
}

/// What each verdict means for the two lists.
fn verdicts() -> Value {
    let none = json!({ "maxItems": 0 });
    let some = json!({ "minItems": 1 });
    json!([
        { "properties": {
            "verdict": { "const": "healthy" }, "status": { "const": "healthy" }, "findings": none, "unknown": none
        } },
        { "properties": {
            "verdict": { "const": "findings" }, "status": { "not": { "const": "healthy" } }, "findings": some
        } },
        { "properties": {
            "verdict": { "const": "unknown" }, "status": { "const": "unknown" }, "findings": none, "unknown": some
        } },
    ])
}

fn cluster() -> Value {
    let robustness = VolumeHealth::ALL.map(VolumeHealth::as_str);
    let counts: serde_json::Map<String, Value> =
        robustness.iter().map(|name| ((*name).to_owned(), count())).collect();
    about(
        "What was looked at.",
        object(
            json!({
                "namespace": text("Longhorn's namespace."),
                "recorded": about("True for a recording, in which nothing ages.", json!({ "type": "boolean" })),
                "nodes": about("Number of Longhorn nodes.", count()),
                "volumes": about("Number of volumes.", count()),
                "volumes_by_robustness": closed(&robustness, json!(counts)),
                "instance_managers": about("Number of instance managers.", count()),
            }),
            json!({
                "name": text("What people call the cluster, if they have said so."),
                "longhorn_version": text("Longhorn's release, if known."),
                "now": about("The moment the verdict is about; left out if a recording has no time in it.", time()),
                "clock_skew_seconds": about(
                    "How many seconds the exporter's clock is ahead of the API server's; negative when it is behind. \
                     Left out where the API server does not tell.",
                    json!({ "type": "number" }),
                ),
            }),
        ),
    )
}

fn data() -> Value {
    let volumes = |what: &str| about(&format!("{what} volumes, at most 100."), list(volume()));
    about(
        "Whose data is hurt.",
        object(
            json!({
                "known": about("False where volumes cannot be read.", json!({ "type": "boolean" })),
                "faulted": volumes("Faulted"),
                "degraded": volumes("Degraded"),
                "line": text("One sentence about all volumes, the hurt ones by claim."),
            }),
            json!({}),
        ),
    )
}

fn fact() -> Value {
    object(
        json!({
            "check": { "enum": checks::ALL.iter().map(|check| check.id).collect::<Vec<_>>() },
            "fact": text("Which fact of the check."),
            "object": about("What it is about.", object_ref()),
            "text": text("The fact, in one sentence."),
            "advice": text("What follows from it, and what may be done about it."),
        }),
        json!({}),
    )
}

fn finding() -> Value {
    let mut finding = object(
        json!({
            "check": { "enum": checks::ALL.iter().map(|check| check.id).collect::<Vec<_>>() },
            "cause": text("From the closed list of the check."),
            "severity": { "enum": Severity::ALL.map(Severity::as_str) },
            "object": about("What it is about.", object_ref()),
            "volumes": about("Volumes that are hit or that hold the object.", list(volume())),
            "message": text("What is wrong, in one sentence."),
            "impact": text("What it does to volumes and workloads."),
            "evidence": about("What the verdict rests on.", list(evidence())),
            "remedy": remedy(),
        }),
        json!({
            "node": text("Node it happens on."),
            "disk": text("Name of the disk on its node, or its UUID where no node lists it."),
            "since": about("Since when, where that is known.", time()),
            "runbook": text("Name of the runbook, which is the name of its alert."),
        }),
    );
    if let Some(finding) = finding.as_object_mut() {
        finding.insert("allOf".to_owned(), checks::ALL.iter().map(|check| causes(check)).collect());
    }
    finding
}

/// A finding of this check has one of its causes and one of its runbooks.
fn causes(check: &Check) -> Value {
    let causes: Vec<_> = check.causes.iter().map(|cause| cause.id).collect();
    let runbooks: Vec<_> = check.alerts.iter().map(|alert| alert.name).collect();
    json!({
        "if": { "properties": { "check": { "const": check.id } } },
        "then": { "properties": { "cause": { "enum": causes }, "runbook": { "enum": runbooks } } },
    })
}

fn accepted() -> Value {
    object(
        json!({
            "check": { "enum": checks::ALL.iter().map(|check| check.id).collect::<Vec<_>>() },
            "cause": text("Its cause."),
            "severity": { "enum": Severity::ALL.map(Severity::as_str) },
            "object": about("What it is about.", object_ref()),
            "message": text("What is wrong."),
            "reason": text("Why it is accepted."),
        }),
        json!({
            "node": text("Node it happens on."),
            "until": about("The last day on which it is.", json!({ "type": "string", "format": "date" })),
        }),
    )
}

fn selected() -> Value {
    object(
        json!({ "by": text("What was asked for, in words."), "left_out": about("Findings that are not shown.", count()) }),
        json!({}),
    )
}

fn incident() -> Value {
    let place = || json!({ "type": "integer", "minimum": 0 });
    object(
        json!({
            "check": { "enum": checks::ALL.iter().map(|check| check.id).collect::<Vec<_>>() },
            "cause": text("Cause of the root."),
            "title": text("What is wrong, in one sentence."),
            "severity": { "enum": Severity::ALL.map(Severity::as_str) },
            "objects": about("What the root is about, at most 100.", list(object_ref())),
            "count": about("Findings of the root: one an object.", count()),
            "nodes": about("Nodes that the root or a consequence concerns.", list(json!({ "type": "string" }))),
            "volumes": about("Volumes concerned, those whose data is hurt first, at most 100.", list(volume())),
            "volume_count": about("Number of volumes concerned.", count()),
            "consequences": about("What follows from the root.", list(consequence())),
            "waits_for": about(
                "Incidents that must end before this one can, by their place in this list, from 1 on.",
                list(place())
            ),
            "remedy": text("What to do first, in words."),
            "findings": about("Places in the list of findings, from 0 on: the root, then the consequences.", list(place())),
        }),
        json!({
            "since": about("Since when the root holds, where that is known.", time()),
            "first": about("The command to begin with.", command()),
            "runbook": text("Name of the root's runbook."),
        }),
    )
}

fn consequence() -> Value {
    object(
        json!({
            "check": { "enum": checks::ALL.iter().map(|check| check.id).collect::<Vec<_>>() },
            "cause": text("Its cause."),
            "severity": { "enum": Severity::ALL.map(Severity::as_str) },
            "text": text("In a few words, without the places."),
            "nodes": about("Nodes concerned.", list(json!({ "type": "string" }))),
            "count": about("Number of findings.", count()),
        }),
        json!({}),
    )
}

fn object_ref() -> Value {
    object(
        json!({
            "kind": text("As in manifests; Longhorn's own Node is `nodes.longhorn.io`."),
            "name": text("Its name."),
        }),
        json!({ "namespace": text("Absent for cluster-wide kinds.") }),
    )
}

fn volume() -> Value {
    object(
        json!({
            "name": text("Name of the Longhorn volume."),
            "workloads": about(
                "`Kind namespace/name` of what uses it.",
                list(json!({ "type": "string" }))
            ),
        }),
        json!({
            "pvc": text("`namespace/name` of the claim, if one is bound."),
            "robustness": about(
                "How it is: its robustness, or `detached`. Left out where no such volume can be read.",
                json!({ "enum": VolumeHealth::ALL.map(VolumeHealth::as_str) })
            ),
            "state": about(
                "Left out where it is not known.",
                json!({ "enum": VolumeState::KNOWN.iter().map(|state| state.as_str()).collect::<Vec<_>>() })
            ),
        }),
    )
}

fn evidence() -> Value {
    let sources = EvidenceSource::ALL.map(EvidenceSource::as_str);
    object(json!({ "source": { "enum": sources }, "text": text("The fact, in one sentence.") }), json!({}))
}

fn command() -> Value {
    object(
        json!({
            "run": text("The command line, to be run by a person."),
            "changes": about("True when it changes something.", json!({ "type": "boolean" })),
        }),
        json!({}),
    )
}

fn remedy() -> Value {
    let commands = about("Those that only read first.", list(command()));
    about("What to do.", object(json!({ "text": text("In words."), "commands": commands }), json!({})))
}

fn unknown() -> Value {
    let checks = checks::ALL.iter().map(|check| check.id);
    let ids: Vec<_> = checks.chain([EVERY_CHECK]).collect();
    let check = about(
        "Id of the check, or `cluster` for all of them: Longhorn itself is not there.",
        json!({ "enum": ids }),
    );
    object(json!({ "check": check, "reason": text("Why.") }), json!({}))
}

fn resource() -> Value {
    object(
        json!({
            "resource": { "enum": kinds() },
            "state": { "enum": Readability::ALL.map(Readability::as_str) },
            "objects": about("Objects held.", count()),
            "undecodable": about("Objects that did not decode and are therefore missing.", count()),
        }),
        json!({
            "last_success": about("When the source last answered.", time()),
            "error": text("What the source said last, when it failed."),
        }),
    )
}

fn kinds() -> Vec<String> {
    Resource::all().map(Resource::label).collect()
}

/// An object with these keys and no others.
fn object(required: Value, optional: Value) -> Value {
    let keys = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let mut properties = keys(&required);
    let names: Vec<String> = properties.keys().cloned().collect();
    properties.extend(keys(&optional));
    closed(&names.iter().map(String::as_str).collect::<Vec<_>>(), json!(properties))
}

fn closed(required: &[&str], properties: Value) -> Value {
    json!({ "type": "object", "required": required, "additionalProperties": false, "properties": properties })
}

fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn text(description: &str) -> Value {
    about(description, json!({ "type": "string" }))
}

fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn time() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

fn about(description: &str, mut schema: Value) -> Value {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".to_owned(), json!(description));
    }
    schema
}
