//! Objects out of trees. Unlike JSON, a string field takes any plain scalar as it is written, and an
//! array in place of an object is an error.

use std::fmt;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Unexpected, Visitor};

use super::scalar::{Scalar, resolve};
use super::tree::Tree;

/// Why a tree is not the object wanted: where in it, and what is there.
#[derive(Debug)]
pub(super) struct Misfit {
    path: Vec<String>,
    message: String,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path: Vec<&str> = self.path.iter().rev().map(String::as_str).collect();
        if path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", path.join("."), self.message)
        }
    }
}

impl std::error::Error for Misfit {}

impl de::Error for Misfit {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Misfit { path: Vec::new(), message: message.to_string() }
    }
}

impl Misfit {
    fn at(mut self, step: &str) -> Self {
        self.path.push(step.to_owned());
        self
    }
}

/// A tree to decode.
#[derive(Clone, Copy)]
pub(super) struct Node<'de>(pub &'de Tree);

impl<'de> Node<'de> {
    /// The text of a string field; an empty one where nothing is written.
    fn as_text(self) -> Option<&'de str> {
        match self.0 {
            _ if self.0.is_nothing() => Some(""),
            Tree::Plain(text) | Tree::Text(text) => Some(text),
            _ => None,
        }
    }

    fn unexpected(self) -> Unexpected<'de> {
        match self.0 {
            Tree::Null => Unexpected::Unit,
            Tree::Bool(value) => Unexpected::Bool(*value),
            Tree::Number(_) => Unexpected::Other("number"),
            Tree::Plain(text) | Tree::Text(text) => Unexpected::Str(text),
            Tree::List(_) => Unexpected::Seq,
            Tree::Map(_) => Unexpected::Map,
        }
    }
}

impl<'de> Deserializer<'de> for Node<'de> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.0 {
            Tree::Null => visitor.visit_unit(),
            Tree::Bool(value) => visitor.visit_bool(*value),
            Tree::Number(number) => number.deserialize_any(visitor).map_err(de::Error::custom),
            Tree::Text(text) => visitor.visit_borrowed_str(text),
            Tree::Plain(text) => match resolve(text) {
                Scalar::Null => visitor.visit_unit(),
                Scalar::Bool(value) => visitor.visit_bool(value),
                Scalar::Int(value) => visitor.visit_i64(value),
                Scalar::Unsigned(value) => visitor.visit_u64(value),
                Scalar::Float(value) => visitor.visit_f64(value),
                Scalar::Text => visitor.visit_borrowed_str(text),
            },
            Tree::List(items) => visitor.visit_seq(Items { items: items.iter(), at: 0 }),
            Tree::Map(entries) => visitor.visit_map(Entries { entries: entries.iter(), value: None }),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.as_text() {
            Some(text) => visitor.visit_borrowed_str(text),
            None => Err(de::Error::invalid_type(self.unexpected(), &visitor)),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        if self.0.is_nothing() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        match self.0 {
            Tree::Map(_) => self.deserialize_any(visitor),
            _ => Err(de::Error::invalid_type(self.unexpected(), &visitor)),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct seq tuple
        tuple_struct map enum identifier
    }
}

struct Items<'de> {
    items: std::slice::Iter<'de, Tree>,
    at: usize,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Misfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Misfit> {
        let Some(item) = self.items.next() else { return Ok(None) };
        self.at += 1;
        seed.deserialize(Node(item)).map(Some).map_err(|misfit| misfit.at(&(self.at - 1).to_string()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Entries<'de> {
    entries: std::slice::Iter<'de, (Box<str>, Tree)>,
    value: Option<&'de (Box<str>, Tree)>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Misfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Misfit> {
        self.value = self.entries.next();
        let Some((key, _)) = self.value else { return Ok(None) };
        seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Misfit> {
        let Some((key, value)) = self.value.take() else {
            return Err(de::Error::custom("a value without key"));
        };
        seed.deserialize(Node(value)).map_err(|misfit| misfit.at(key))
    }
}
