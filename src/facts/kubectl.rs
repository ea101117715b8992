//! Command lines for remedies.

/// A command that merges a patch into an object of Longhorn's namespace.
pub fn patch(namespace: &str, kind: &str, name: &str, patch: &serde_json::Value) -> String {
    format!("kubectl -n {namespace} patch {kind} {name} --type merge -p '{}'", quoted(patch))
}

/// JSON that stands between single quotes of a shell.
pub fn quoted(json: &serde_json::Value) -> String {
    json.to_string().replace('\'', r"'\''")
}
