//! What is wrong with a YAML file, for its author: the parser's own words are for programmers.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_path_to_error::Track;
use serde_yaml::{Error, UserMessageFormatter};

use crate::check::plain;
use crate::did_you_mean;

/// Reads a file; an empty one is the default. The error has the line and the key in front.
pub fn read<T: DeserializeOwned + Default>(text: &str) -> Result<T, String> {
    let mut track = Track::new();
    let read = serde_yaml::with_deserializer_from_str(text, |deserializer| {
        Option::<T>::deserialize(serde_path_to_error::Deserializer::new(deserializer, &mut track))
    });
    read.map(Option::unwrap_or_default).map_err(|error| {
        let (line, message) = explain(&error);
        // a key that was not read yet is a question mark
        match track.path().to_string().trim_end_matches('?').trim_end_matches('.') {
            "" => format!("{line}: {message}"),
            path => format!("{line}: {}: {message}", plain(path)),
        }
    })
}

/// Line and message, with what was found.
pub fn explain(error: &Error) -> (u64, String) {
    (line(error), one_line(error, true))
}

/// The same of a file with secrets: what was found is left out.
pub fn explain_secret(error: &Error) -> (u64, String) {
    (line(error), one_line(error, false))
}

/// Keys and values of the file may break the line.
fn one_line(error: &Error, show: bool) -> String {
    plain(&message(error.without_snippet(), show)).into_owned()
}

fn line(error: &Error) -> u64 {
    error.location().map_or(1, |location| location.line())
}

fn message(error: &Error, show: bool) -> String {
    let found = |what: &dyn std::fmt::Display| if show { format!(", found {what}") } else { String::new() };
    match error {
        Error::SerdeUnknownField { field, expected, .. } => {
            format!("unknown key {field}; {}", did_you_mean::hint(field, expected))
        }
        Error::SerdeUnknownVariant { variant, expected, .. } => {
            format!("expected one of {}{}", expected.join(", "), found(&format!("{variant:?}")))
        }
        Error::SerdeInvalidType { unexpected, expected, .. }
        | Error::SerdeInvalidValue { unexpected, expected, .. } => {
            format!("expected {}{}", thing(expected), found(unexpected))
        }
        Error::SerdeMissingField { field, .. } => format!("the key {field} is missing"),
        Error::DuplicateMappingKey { key: Some(key), .. } if show => format!("duplicate key {key}"),
        Error::DuplicateMappingKey { .. } => "duplicate key".to_owned(),
        Error::MultipleDocuments { .. } => "more than one document; a configuration is one".to_owned(),
        Error::RecursiveReferencesRequireWeakTypes { .. } => "recursive alias".to_owned(),
        Error::UnknownAnchor { .. } => "alias without its anchor".to_owned(),
        Error::QuotingRequired { value, .. } => {
            format!("expected text{}; if that is meant as text, put it in quotes", found(value))
        }
        Error::InvalidScalar { .. } => "the value is not what its tag says".to_owned(),
        Error::NonFiniteFloat { value, .. } => format!("expected a number{}", found(value)),
        Error::NullIntoString { .. } | Error::InvalidCharNull { .. } => {
            "expected a value, found nothing".to_owned()
        }
        Error::BinaryNotUtf8 { .. } => "!!binary is not text".to_owned(),
        Error::MergeValueNotMapOrSeqOfMaps { .. } => "<< does not stand for keys with values".to_owned(),
        Error::Unexpected { expected: "mapping start", .. } => "expected keys with values".to_owned(),
        Error::Unexpected { expected: "string scalar", .. } => "expected a string".to_owned(),
        other => {
            let message = other.render_with_formatter(&UserMessageFormatter);
            let first = message.lines().next().unwrap_or_default();
            first.rfind(" at line ").map_or(first, |at| first.split_at(at).0).to_owned()
        }
    }
}

/// Types of the program are keys with values to everybody else.
fn thing(expected: &str) -> &str {
    if expected.starts_with("struct ") { "keys with values" } else { expected }
}
