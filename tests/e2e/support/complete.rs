//! What the API server insists on and recordings leave out, because no check reads it.

use serde_json::{Value, json};

/// Fills in required fields; what the object has stays.
pub fn complete(object: &mut Value) {
    match object["kind"].as_str() {
        Some("Pod") => pod_spec(&mut object["spec"]),
        Some("Deployment" | "DaemonSet") => pod_spec(&mut object["spec"]["template"]["spec"]),
        Some("CronJob") => {
            let spec = &mut object["spec"]["jobTemplate"]["spec"]["template"]["spec"];
            pod_spec(spec);
            or(&mut spec["restartPolicy"], json!("Never"));
        }
        _ => {}
    }
    match object["kind"].as_str() {
        Some("Service") => or(&mut object["spec"]["ports"], json!([{"port": 9500}])),
        Some("Deployment" | "DaemonSet") => {
            let selected = object["spec"]["selector"]["matchLabels"].take();
            let labels = &mut object["spec"]["template"]["metadata"]["labels"];
            or(labels, if selected.is_null() { json!({"app": "recorded"}) } else { selected.clone() });
            let labels = if selected.is_null() { labels.clone() } else { selected };
            object["spec"]["selector"]["matchLabels"] = labels;
        }
        Some("ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration") => {
            // Still without rules: nothing serves this webhook, and it must not be asked.
            for webhook in object["webhooks"].as_array_mut().into_iter().flatten() {
                or(&mut webhook["admissionReviewVersions"], json!(["v1"]));
                or(&mut webhook["sideEffects"], json!("None"));
                let service = json!({"namespace": "longhorn-system", "name": "longhorn-admission-webhook"});
                or(&mut webhook["clientConfig"], json!({"caBundle": "eA==", "service": service}));
            }
        }
        Some("EndpointSlice") => {
            or(&mut object["addressType"], json!("IPv4"));
            for endpoint in object["endpoints"].as_array_mut().into_iter().flatten() {
                or(&mut endpoint["addresses"], json!(["10.0.0.1"]));
            }
        }
        Some("Event") => {
            let namespace = object["metadata"]["namespace"].clone();
            or(&mut object["involvedObject"]["namespace"], namespace);
        }
        Some("Lease") => {
            // parsed with a fraction only
            for field in ["acquireTime", "renewTime"] {
                let at = object["spec"][field].as_str().filter(|at| !at.contains('.')).map(str::to_owned);
                if let Some(at) = at {
                    object["spec"][field] = json!(at.replace('Z', ".000000Z"));
                }
            }
        }
        _ => {}
    }
}

/// At least one container, and an image for each.
fn pod_spec(spec: &mut Value) {
    or(&mut spec["containers"], json!([{"name": "recorded"}]));
    for kind in ["containers", "initContainers"] {
        for container in spec.get_mut(kind).and_then(Value::as_array_mut).into_iter().flatten() {
            or(&mut container["image"], json!("recorded"));
        }
    }
}

fn or(field: &mut Value, otherwise: Value) {
    if field.is_null() {
        *field = otherwise;
    }
}
