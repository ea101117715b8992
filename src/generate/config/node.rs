//! YAML as it stands, with the places of its keys and values.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_yaml::{DuplicateKeyPolicy, Error, Spanned};

/// A value of the file.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// Nothing, or `null`.
    Null,
    /// true or false.
    Switch(bool),
    /// A number, also one that is none (`.nan`).
    Number(f64),
    /// A string.
    Text(String),
    /// Keys with values, in the order of the file; a key may stand there twice.
    Map(Vec<Entry>),
    /// A list; none is wanted anywhere, so its members are dropped.
    List,
}

/// A key with its value.
pub type Entry = (Spanned<Node>, Spanned<Node>);

/// Reads a document, or gives the line and what is wrong there.
pub fn read(text: &str) -> Result<Spanned<Node>, (u64, String)> {
    // duplicates and numbers that are none are told by the reader, which knows the path of the key
    let options = serde_yaml::options! {
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        non_finite_float_policy: serde_yaml::NonFiniteFloatPolicy::PassThrough,
        with_snippet: false,
    };
    serde_yaml::from_str_with_options(text, options).map_err(|error| {
        let line = error.location().map_or(1, |location| location.line());
        (line, syntax(error.without_snippet()))
    })
}

/// What a user can do something with, in place of what a programmer could.
fn syntax(error: &Error) -> String {
    match error {
        Error::MultipleDocuments { .. } => "more than one document; a configuration is one".to_owned(),
        Error::RecursiveReferencesRequireWeakTypes { .. } => "an alias that stands in itself".to_owned(),
        Error::UnknownAnchor { .. } => "an alias without its anchor".to_owned(),
        Error::InvalidScalar { .. } => "a value that is not what its tag says".to_owned(),
        other => {
            let message = other.to_string();
            let first = message.lines().next().unwrap_or_default();
            let said = first.rfind(" at line ").map_or(first, |at| &first[..at]);
            format!("not YAML: {said}")
        }
    }
}

impl fmt::Display for Node {
    /// As a message names it: short, on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::Null => f.write_str("nothing"),
            Node::Switch(value) => write!(f, "{value}"),
            Node::Number(value) if value.is_finite() => write!(f, "the number {value}"),
            Node::Number(_) => f.write_str("a number without a value"),
            Node::Text(text) => f.write_str(&quoted(text)),
            Node::Map(_) => f.write_str("keys with values"),
            Node::List => f.write_str("a list"),
        }
    }
}

/// A string of the file on one line, cut where it is long.
pub fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("YAML")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Switch(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(value as f64))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Node, E> {
        Ok(Node::Number(value as f64))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Node, E> {
        Ok(Node::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Node::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = items.next_entry()? {
            entries.push(entry);
        }
        Ok(Node::Map(entries))
    }
}
