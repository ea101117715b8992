//! What the API server insists on and recordings leave out, because no check reads it.

use serde_json::{Value, json};

/// Fills in required fields; what the object has stays.
pub fn complete(object: &mut Value) {
    match object["kind"].as_str() {
        Some("Service") => or(&mut object["spec"]["ports"], json!([{"port": 9500}])),
        Some("Deployment") => {
            let labels = object["spec"]["template"]["metadata"]["labels"].clone();
            or(&mut object["spec"]["selector"], json!({"matchLabels": labels}));
        }
        Some("ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration") => {
            // Still without rules: nobody serves this webhook, and it must not be asked.
            for webhook in object["webhooks"].as_array_mut().into_iter().flatten() {
                or(&mut webhook["admissionReviewVersions"], json!(["v1"]));
                or(&mut webhook["sideEffects"], json!("None"));
                let service = json!({"namespace": "longhorn-system", "name": "longhorn-admission-webhook"});
                or(&mut webhook["clientConfig"], json!({"service": service}));
            }
        }
        _ => {}
    }
}

fn or(field: &mut Value, otherwise: Value) {
    if field.is_null() {
        *field = otherwise;
    }
}
