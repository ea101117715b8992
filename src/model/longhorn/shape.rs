//! Which fields of an object are read: asked of the types themselves, so that no list of them can be out of date.
//!
//! A deserializer that offers each struct all of its fields, each list and map one entry, and notes what was asked for.

use serde::de::value::{Error, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};

use super::objects::{Kind, KindVisitor, visit_kinds};
use super::resource::{PerKind, Resource};

/// What is read of a value.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Shape {
    /// That it is there.
    #[default]
    Presence,
    Text,
    /// A number, a truth value, or a text that stands for one.
    Scalar,
    List(Box<Shape>),
    /// Values by names that people or programs gave.
    Map(Box<Shape>),
    /// Values by names of fields.
    Struct(Vec<(&'static str, Shape)>),
}

/// The shapes of all kinds.
pub fn shapes() -> PerKind<Shape> {
    struct Shapes(PerKind<Shape>);

    impl KindVisitor for Shapes {
        fn visit<T: Kind>(&mut self) {
            // what it makes of the samples does not matter
            let _ = T::deserialize(Probe(&mut self.0[T::RESOURCE]));
        }
    }

    let mut shapes = Shapes(PerKind::new(|_: Resource| Shape::Presence));
    visit_kinds(&mut shapes);
    shapes.0
}

struct Probe<'a>(&'a mut Shape);

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        *self.0 = Shape::Scalar;
        visitor.visit_i64(1)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        *self.0 = Shape::Scalar;
        visitor.visit_bool(true)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        *self.0 = Shape::Text;
        visitor.visit_str("")
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut inner = Shape::Presence;
        let list = visitor.visit_seq(Once(Some(&mut inner)));
        *self.0 = Shape::List(Box::new(inner));
        list
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut inner = Shape::Presence;
        let map = visitor.visit_map(Once(Some(&mut inner)));
        *self.0 = Shape::Map(Box::new(inner));
        map
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut read = Fields { left: fields.iter(), read: Vec::new() };
        let object = visitor.visit_map(&mut read);
        *self.0 = Shape::Struct(read.read);
        object
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct
        enum identifier
    }
}

/// One entry.
struct Once<'a>(Option<&'a mut Shape>);

impl<'de> SeqAccess<'de> for Once<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.0.take().map(|shape| seed.deserialize(Probe(shape))).transpose()
    }
}

impl<'de> MapAccess<'de> for Once<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let key: StrDeserializer<'_, Error> = "".into_deserializer();
        self.0.is_some().then(|| seed.deserialize(key)).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(Probe(self.0.take().unwrap_or(&mut Shape::Presence)))
    }
}

struct Fields {
    left: std::slice::Iter<'static, &'static str>,
    read: Vec<(&'static str, Shape)>,
}

impl<'de> MapAccess<'de> for &mut Fields {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some(field) = self.left.next() else { return Ok(None) };
        self.read.push((field, Shape::Presence));
        let key: StrDeserializer<'_, Error> = (*field).into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let mut unasked = Shape::Presence;
        seed.deserialize(Probe(self.read.last_mut().map_or(&mut unasked, |(_, shape)| shape)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_presence(shape: &Shape) -> bool {
        match shape {
            Shape::Presence => true,
            Shape::Text | Shape::Scalar => false,
            // of a map that is counted no value is read
            Shape::Map(inner) => **inner != Shape::Presence && has_presence(inner),
            Shape::List(inner) => has_presence(inner),
            Shape::Struct(fields) => fields.iter().any(|(_, shape)| has_presence(shape)),
        }
    }

    #[test]
    fn every_kind_says_what_is_read_of_it() {
        let shapes = shapes();
        for kind in Resource::all() {
            let Shape::Struct(fields) = &shapes[kind] else { panic!("{kind}: {:?}", shapes[kind]) };
            assert_eq!(fields[0].0, "metadata", "{kind}");
            assert!(!has_presence(&shapes[kind]), "{kind}: {:#?}", shapes[kind]);
        }
        let written = format!("{:?}", shapes[Resource::Pods]);
        for part in [
            "(\"nodeName\", Text)",
            "(\"restartCount\", Scalar)",
            "(\"k8s.v1.cni.cncf.io/network-status\", Text)",
        ] {
            assert!(written.contains(part), "{part}: {written}");
        }
    }
}
