//! Objects out of YAML and JSON text: single objects, several documents, `kind: List`.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;

use super::{RecordedFile, RecordingError};

/// Every object in a file; Lists are opened.
pub(super) fn objects_in(file: &RecordedFile) -> Result<Vec<Value>, RecordingError> {
    if ARCHIVES.iter().any(|magic| file.content.starts_with(magic)) {
        return Err(RecordingError::Archive { file: file.name.clone() });
    }
    let text = decode(&file.content);
    let text = text.trim_start_matches('\u{feff}');
    let mut objects = Vec::new();
    if text.trim_start().starts_with('{') {
        // JSON, or several JSON objects one after the other
        for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
            let value = value.map_err(|error| syntax(file, error.line() as u64, &error.to_string()))?;
            open_list(value, &mut objects);
        }
        return Ok(objects);
    }
    for (first_line, document) in documents(text) {
        open_list(parse_yaml(file, first_line, document)?, &mut objects);
    }
    Ok(objects)
}

/// Beginnings of zip, gzip, xz and zstd files.
const ARCHIVES: &[&[u8]] = &[b"PK\x03\x04", b"\x1f\x8b", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"];

/// UTF-8, or UTF-16 with its mark, which is what PowerShell writes for `kubectl … > file`.
fn decode(content: &[u8]) -> Cow<'_, str> {
    let unit: fn([u8; 2]) -> u16 = match content {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return String::from_utf8_lossy(content),
    };
    let units = content.chunks_exact(2).filter_map(|pair| Some(unit(pair.try_into().ok()?)));
    char::decode_utf16(units).map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// The documents of a YAML stream with the line (from 0) at which each begins. A line that begins
/// with `---` always ends a document, also within a block scalar.
fn documents(text: &str) -> Vec<(u64, &str)> {
    let mut documents = Vec::new();
    let (mut start, mut start_line, mut offset) = (0, 0, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let end = offset + line.len();
        if line.trim_end() == "---" || line.starts_with("--- ") {
            documents.push((start_line, &text[start..offset]));
            (start, start_line) = (end, number as u64 + 1);
        }
        offset = end;
    }
    documents.push((start_line, &text[start..]));
    documents.retain(|(_, document)| document.lines().any(|line| !is_blank(line)));
    documents
}

fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn parse_yaml(file: &RecordedFile, first_line: u64, document: &str) -> Result<Value, RecordingError> {
    // Recordings are files of the user's own, so size limits would only stand in the way; the
    // limits on anchors stay, as they stop a small file from growing without bound.
    let options = serde_yaml::options! {
        budget: serde_yaml::budget! {
            max_events: usize::MAX,
            max_nodes: usize::MAX,
            max_total_scalar_bytes: usize::MAX,
            max_reader_input_bytes: None,
        },
        with_snippet: false,
    };
    serde_yaml::from_str_with_options(document, options).map_err(|error| {
        let line = error.location().map_or(1, |location| location.line());
        syntax(file, first_line + line, &error.without_snippet().to_string())
    })
}

fn syntax(file: &RecordedFile, line: u64, message: &str) -> RecordingError {
    let message = without_position(message.lines().next().unwrap_or_default().to_owned());
    RecordingError::Syntax { file: file.name.clone(), line, message }
}

/// Drops the place a parser adds to what it says: it counts from the beginning of the document or
/// object, and a reader looks at the file.
pub(super) fn without_position(mut message: String) -> String {
    if let Some(at) = message.rfind(" at line ") {
        message.truncate(at);
    }
    message
}

/// Opens `List` and `<Kind>List`; members of the latter may lack apiVersion and kind, which are
/// then those of the list.
fn open_list(value: Value, objects: &mut Vec<Value>) {
    let kind = value.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let version = value.get("apiVersion").cloned();
    let Value::Object(mut map) = value else { return };
    let items = kind.strip_suffix("List").and_then(|kind| Some((kind, map.remove("items")?)));
    match items {
        None => objects.push(Value::Object(map)),
        Some((kind, Value::Array(items))) => {
            for mut item in items {
                if let (false, Value::Object(object)) = (kind.is_empty(), &mut item) {
                    object.entry("kind").or_insert_with(|| kind.into());
                    object.entry("apiVersion").or_insert_with(|| version.clone().unwrap_or_default());
                }
                open_list(item, objects);
            }
        }
        Some(_) => {}
    }
}

/// The newest time in an object that says when something was the case: creation, status, event and
/// lease times. Managed fields are not looked at, and times after `latest` are no evidence.
pub(super) fn newest_time(object: &Value, latest: Timestamp) -> Option<Timestamp> {
    let mut times = Vec::new();
    collect_times(object, &mut times);
    times.into_iter().filter(|time| *time <= latest).max()
}

const TIME_KEYS: &[&str] = &[
    "creationTimestamp",
    "deletionTimestamp",
    "lastTransitionTime",
    "lastProbeTime",
    "lastHeartbeatTime",
    "lastUpdateTime",
    "lastStateTransitionTime",
    "startedAt",
    "finishedAt",
    "startTime",
    "firstTimestamp",
    "lastTimestamp",
    "eventTime",
    "lastObservedTime",
    "acquireTime",
    "renewTime",
    "failedAt",
    "healthyAt",
    "lastFailedAt",
    "lastHealthyAt",
    "lastDegradedAt",
];

fn collect_times(value: &Value, times: &mut Vec<Timestamp>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(text) if TIME_KEYS.contains(&key.as_str()) => {
                        times.extend(text.parse::<Timestamp>())
                    }
                    _ if key == "managedFields" || key == "annotations" => {}
                    _ => collect_times(value, times),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_times(item, times)),
        _ => {}
    }
}
