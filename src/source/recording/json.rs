//! JSON text as trees: one value, or several one after the other.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::tree::{Broken, Count, Tree, twice};

/// The values of a JSON text, each with the line it begins at.
pub(super) fn documents(text: &str, count: &Count) -> Result<Vec<(usize, Tree)>, Broken> {
    let mut documents = Vec::new();
    let mut rest = text;
    let mut line = 1;
    loop {
        let blank = rest.len() - rest.trim_start().len();
        let (skipped, value) = rest.split_at(blank);
        line += lines(skipped);
        if value.is_empty() {
            return Ok(documents);
        }
        let mut deserializer = serde_json::Deserializer::from_str(value);
        let tree = Value(count).deserialize(&mut deserializer).map_err(|error| Broken {
            line: line + error.line().saturating_sub(1),
            message: super::without_position(error.to_string()),
        })?;
        documents.push((line, tree));
        if deserializer.end().is_ok() {
            return Ok(documents);
        }
        // more values follow: where does this one end?
        let mut values = serde_json::Deserializer::from_str(value).into_iter::<serde::de::IgnoredAny>();
        values.next();
        let (read, after) = value.split_at_checked(values.byte_offset()).unwrap_or((value, ""));
        line += lines(read);
        rest = after;
    }
}

/// A value that is in memory, as it would be read.
pub(super) fn tree(value: &serde_json::Value) -> Tree {
    Value(&Count::default()).deserialize(value).unwrap_or(Tree::Null)
}

fn lines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

struct Value<'a>(&'a Count);

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = Tree;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        self.0.add(1).map_err(D::Error::custom)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Tree, E> {
        serde_json::Number::from_f64(value).map(Tree::Number).ok_or_else(|| E::custom("a number without end"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Text(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(Value(self.0))? {
            items.push(item);
        }
        Ok(Tree::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut entries: Vec<(Box<str>, Tree)> = Vec::new();
        while let Some(key) = access.next_key::<Box<str>>()? {
            let value = access.next_value_seed(Value(self.0))?;
            let value = if &*key == "managedFields" { super::writes(&value) } else { value };
            entries.push((key, value));
        }
        match twice(&entries).and_then(|at| entries.get(at)) {
            Some((key, _)) => {
                Err(A::Error::custom(format!("the key {key:?} is there twice in the map that ends here")))
            }
            None => Ok(Tree::Map(entries)),
        }
    }
}
