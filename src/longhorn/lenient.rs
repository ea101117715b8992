//! Reading objects of ten Longhorn releases without falling over: `null` is absence, an empty
//! string is no time, and a value that an enumeration does not know is kept as `Unrecognized`.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};

use super::map::Map;

/// String map, as labels and parameters are.
pub type StringMap = Map<String>;

/// `null` and absence both read as the default; any other wrong type is an error of the object.
pub fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// A point in time that Longhorn or Kubernetes wrote, `None` when absent, empty or not RFC 3339.
///
/// Longhorn writes times of conditions, replicas and backing images as plain strings that may be
/// empty (longhorn-manager v1.12.1 k8s/pkg/apis/longhorn/v1beta2/misc.go).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub Option<Timestamp>);

impl Time {
    /// The time, if there is one.
    pub fn get(self) -> Option<Timestamp> {
        self.0
    }

    /// True when a time is written.
    pub fn is_set(self) -> bool {
        self.0.is_some()
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(time) => write!(f, "{time}"),
            None => f.write_str("-"),
        }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Option::<Cow<'de, str>>::deserialize(deserializer)?;
        Ok(Time(text.filter(|text| !text.is_empty()).and_then(|text| text.parse().ok())))
    }
}

/// A whole number that may come as JSON number or as string (Longhorn writes int64 sizes as strings).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Int(pub i64);

impl<'de> Deserialize<'de> for Int {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Raw {
            Number(i64),
            Float(f64),
            Text(String),
        }
        Ok(Int(match Raw::deserialize(deserializer)? {
            Raw::Number(number) => number,
            Raw::Float(number) => number as i64,
            Raw::Text(text) if text.trim().is_empty() => 0,
            Raw::Text(text) => text.trim().parse().map_err(|_| {
                serde::de::Error::invalid_value(serde::de::Unexpected::Str(&text), &"a whole number")
            })?,
        }))
    }
}

/// What can give back memory that decoding took and nothing uses. Lists grow by doubling from four
/// on, so that one container or condition would otherwise hold the memory of four.
pub trait Compact {
    /// Gives it back.
    fn compact(&mut self) {}
}

impl Compact for String {}
impl Compact for bool {}
impl Compact for i64 {}
impl Compact for Int {}
impl Compact for Time {}

impl<T: Compact> Compact for Option<T> {
    fn compact(&mut self) {
        self.iter_mut().for_each(T::compact);
    }
}

impl<T: Compact> Compact for Vec<T> {
    fn compact(&mut self) {
        self.iter_mut().for_each(T::compact);
        self.shrink_to_fit();
    }
}

impl<T: Compact> Compact for Map<T> {
    fn compact(&mut self) {
        self.values_mut().for_each(T::compact);
        self.shrink_to_fit();
    }
}

/// Declares structs that read a few fields of a Kubernetes object: camelCase names, every field
/// optional, `null` read as absence.
macro_rules! narrow {
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[$field_meta:meta])* pub $field:ident : $type:ty, )*
        }
    )*) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $name {
            $(
                $(#[$field_meta])*
                #[serde(deserialize_with = "crate::longhorn::lenient::nullable")]
                pub $field: $type,
            )*
        }

        impl $crate::longhorn::lenient::Compact for $name {
            fn compact(&mut self) {
                $( $crate::longhorn::lenient::Compact::compact(&mut self.$field); )*
            }
        }
    )* };
}
pub(crate) use narrow;

/// Declares an enumeration of Longhorn's with two more members: `Unset` (absent or empty) and
/// `Unrecognized` (a value that no release we know writes). Matching ignores case, because 1.3
/// wrote some of them in lower case.
macro_rules! open_enum {
    ($(#[$meta:meta])* pub enum $name:ident { $( $(#[$variant_meta:meta])* $variant:ident = $text:literal, )* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            /// Absent or empty.
            #[default]
            Unset,
            $( $(#[$variant_meta])* #[doc = concat!("`", $text, "`")] $variant, )*
            /// A value that no release up to 1.13-dev writes.
            Unrecognized,
        }

        impl $name {
            /// Every value Longhorn is known to write, in declaration order.
            pub const KNOWN: &'static [$name] = &[$( $name::$variant, )*];

            /// The value as Longhorn writes it; `unset` and `unrecognized` for the two additions.
            pub fn as_str(self) -> &'static str {
                match self {
                    $name::Unset => "unset",
                    $( $name::$variant => $text, )*
                    $name::Unrecognized => "unrecognized",
                }
            }

            /// Reads a value, ignoring case.
            pub fn parse(text: &str) -> Self {
                if text.is_empty() { return $name::Unset; }
                $( if text.eq_ignore_ascii_case($text) { return $name::$variant; } )*
                $name::Unrecognized
            }
        }

        impl $crate::longhorn::lenient::Compact for $name {}

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Option::<std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                Ok($name::parse(text.as_deref().unwrap_or_default()))
            }
        }
    };
}
pub(crate) use open_enum;

#[cfg(test)]
mod tests {
    use super::*;

    narrow! {
        /// A struct to read.
        pub struct Narrow {
            pub name: String,
            pub time: Time,
            pub size: Int,
            pub list: Vec<String>,
            pub state: Color,
        }
    }
    open_enum! {
        /// A state to read.
        pub enum Color { Red = "red", DarkBlue = "dark-blue", }
    }

    #[test]
    fn null_empty_and_strange_values_are_read() {
        let sample: Narrow = serde_json::from_str(
            r#"{"name":null,"time":"","size":"12","list":null,"state":"Mauve","more":{"x":1}}"#,
        )
        .unwrap();
        assert!(serde_json::from_str::<Narrow>(r#"{"size":"1x"}"#).is_err());
        assert_eq!(sample.name, "");
        assert_eq!(sample.time.get(), None);
        assert_eq!(sample.size, Int(12));
        assert!(sample.list.is_empty());
        assert_eq!(sample.state, Color::Unrecognized);
        let sample: Narrow =
            serde_json::from_str(r#"{"state":"Dark-Blue","time":"2026-01-01T00:00:00Z"}"#).unwrap();
        assert_eq!(sample.state, Color::DarkBlue);
        assert!(sample.time.is_set());
        assert_eq!(Color::parse(""), Color::Unset);
        assert_eq!(Color::KNOWN.iter().map(|color| color.as_str()).collect::<Vec<_>>(), ["red", "dark-blue"]);
    }
}
