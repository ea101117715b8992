//! Reading objects of ten Longhorn releases without falling over: `null` is absence, an empty
//! string is no time, and a value that an enumeration does not know is kept as `Unrecognized`.

use std::fmt;

use jiff::Timestamp;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::map::Map;
use super::pod::ContainerState;
use super::shared_text::SharedText;

/// String map, as labels and parameters are.
pub type StringMap = Map<SharedText>;

/// `null` and absence both read as the default; any other wrong type is an error of the object.
pub fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads a text without a copy of it; `null` reads as an empty one.
pub fn read_text<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    read: impl FnOnce(&str) -> T,
) -> Result<T, D::Error> {
    struct Read<F>(F);

    impl<'de, T, F: FnOnce(&str) -> T> Visitor<'de> for Read<F> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_str<E>(self, text: &str) -> Result<T, E> {
            Ok((self.0)(text))
        }

        fn visit_unit<E>(self) -> Result<T, E> {
            Ok((self.0)(""))
        }

        fn visit_none<E>(self) -> Result<T, E> {
            Ok((self.0)(""))
        }

        fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
            deserializer.deserialize_str(self)
        }
    }

    deserializer.deserialize_option(Read(read))
}

/// A point in time that Longhorn or Kubernetes wrote, `None` when absent, empty or not RFC 3339.
///
/// Longhorn writes times of conditions, replicas and backing images as plain strings that may be
/// empty (longhorn-manager v1.12.1 k8s/pkg/apis/longhorn/v1beta2/misc.go). The Unix epoch is no time either: the kubelet writes it
/// as `startedAt` of a container that never ran (recorded: kubelet 1.36.3, exit code 128, reason StartError).
///
/// Kept in microseconds, which is as fine as Kubernetes writes, in a third of the memory: a replica has seven.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    const UNSET: Time = Time(i64::MIN);

    /// The time, if there is one.
    pub fn get(self) -> Option<Timestamp> {
        self.is_set().then(|| Timestamp::from_microsecond(self.0).ok()).flatten()
    }

    /// True when a time is written.
    pub fn is_set(self) -> bool {
        self != Time::UNSET
    }
}

impl Default for Time {
    fn default() -> Self {
        Time::UNSET
    }
}

impl From<Option<Timestamp>> for Time {
    fn from(time: Option<Timestamp>) -> Self {
        time.filter(|time| *time != Timestamp::UNIX_EPOCH)
            .map_or(Time::UNSET, |time| Time(time.as_microsecond()))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Some(time) => write!(f, "{time}"),
            None => f.write_str("-"),
        }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, |text| Time::from(text.parse::<Timestamp>().ok()))
    }
}

/// A whole number that may come as JSON number or as string (Longhorn writes int64 sizes as strings).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Int(pub i64);

impl<'de> Deserialize<'de> for Int {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a number")]
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

/// The names that a map has as keys.
pub fn keys<V>(map: &mut Map<V>) {
    map.rename(name);
}

/// Labels and the like, whose values are names, too.
pub fn labels(map: &mut StringMap) {
    map.rename(name);
    map.iter_mut().for_each(|(_, value)| name(value));
}

/// How many entries a map has that is not kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count(pub usize);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Count, A::Error> {
                let mut entries = 0;
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                    entries += 1;
                }
                Ok(Count(entries))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

/// What can give back memory that decoding took and nothing uses. Lists grow by doubling from four
/// on, so that one container or condition would otherwise hold the memory of four.
pub trait Compact {
    /// Gives it back.
    fn compact(&mut self) {}
    /// Replaces names that are none.
    fn tidy(&mut self) {}
}

/// Objects may come from anyone, and names go into commands that a person pastes: of one that has more in it than names of Kubernetes,
/// disks, images and addresses have, the rest is `_`. None begins as an option does, or as what GitHub takes from a log for a command.
pub fn name(name: &mut SharedText) {
    let plain = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '.' | '_' | ':' | '/' | '@' | '=' | '+' | ',' | '%' | '~' | '-')
    };
    let odd = ['-', ':', '@', '~', '='];
    if name.starts_with(odd) || !name.bytes().all(|byte| plain(byte.into())) {
        let other: String = name.chars().map(|c| if plain(c) { c } else { '_' }).collect();
        *name = other.strip_prefix(odd).map_or(other.as_str().into(), |rest| format!("_{rest}").into());
    }
}

/// A container without a state waits (API reference of ContainerState: "If none of them is specified, the default one is
/// ContainerStateWaiting").
pub fn or_waiting(state: &mut ContainerState) {
    let ContainerState { waiting, running, terminated } = state;
    if running.is_none() && terminated.is_none() {
        waiting.get_or_insert_default();
    }
}

impl Compact for String {}
impl Compact for bool {}
impl Compact for i64 {}
impl Compact for Int {}
impl Compact for Count {}
impl Compact for Time {}

impl<T: Compact> Compact for Option<T> {
    fn compact(&mut self) {
        self.iter_mut().for_each(T::compact);
    }

    fn tidy(&mut self) {
        self.iter_mut().for_each(T::tidy);
    }
}

impl<T: Compact> Compact for Box<T> {
    fn compact(&mut self) {
        T::compact(self);
    }

    fn tidy(&mut self) {
        T::tidy(self);
    }
}

impl<T: Compact> Compact for Vec<T> {
    fn compact(&mut self) {
        self.iter_mut().for_each(T::compact);
        self.shrink_to_fit();
    }

    fn tidy(&mut self) {
        self.iter_mut().for_each(T::tidy);
    }
}

/// Declares structs that read a few fields of a Kubernetes object: camelCase names unless another one is given,
/// every field optional, `null` read as absence. A text `as name` is one.
macro_rules! narrow {
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[$field_meta:meta])* pub $field:ident : $type:ty $(as $grammar:ident)? $(= $key:tt)?, )*
        }
    )*) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
        #[serde(rename_all = "camelCase", default, expecting = "an object")]
        pub struct $name {
            $(
                $(#[$field_meta])*
                $( #[serde(rename = $key)] )?
                #[serde(deserialize_with = "crate::longhorn::lenient::nullable")]
                pub $field: $type,
            )*
        }

        impl $crate::longhorn::lenient::Compact for $name {
            fn compact(&mut self) {
                $( $crate::longhorn::lenient::Compact::compact(&mut self.$field); )*
            }

            fn tidy(&mut self) {
                $(
                    $crate::longhorn::lenient::Compact::tidy(&mut self.$field);
                    $( $crate::longhorn::lenient::$grammar(&mut self.$field); )?
                )*
            }
        }

        impl $crate::longhorn::look::Look for $name {
            fn look(&self, steps: &[$crate::longhorn::look::Step], see: &mut dyn FnMut(&str)) {
                let Some(($crate::longhorn::look::Step::Field(name), rest)) = steps.split_first() else { return };
                $(
                    if $crate::longhorn::look::is_called(name, stringify!($field), &[$($key)?]) {
                        return $crate::longhorn::look::Look::look(&self.$field, rest, see);
                    }
                )*
            }
        }
    )* };
}
pub(crate) use narrow;

/// Declares kinds in the same way: their metadata, and the parts that are read.
macro_rules! manifests {
    ($( $(#[$meta:meta])* $name:ident { $( $part:ident : $type:ty $(= $key:tt)? ),* } )*) => {
        $crate::longhorn::lenient::narrow! { $(
            $(#[$meta])*
            pub struct $name { pub metadata: $crate::longhorn::Meta, $( pub $part: $type $(= $key)?, )* }
        )* }
    };
}
pub(crate) use manifests;

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

        impl $crate::longhorn::look::Look for $name {
            fn look(&self, steps: &[$crate::longhorn::look::Step], see: &mut dyn FnMut(&str)) {
                let text = if *self == $name::Unset { "" } else { self.as_str() };
                $crate::longhorn::look::Look::look(text, steps, see);
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::longhorn::lenient::read_text(deserializer, $name::parse)
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
            pub name: SharedText,
            pub time: Time,
            pub size: Int,
            pub list: Vec<SharedText>,
            pub state: Color,
        }
    }
    open_enum! {
        /// A state to read.
        pub enum Color { Red = "red", DarkBlue = "dark-blue", }
    }

    #[test]
    fn names_have_nothing_in_them_that_a_shell_acts_on() {
        for (old, new) in [
            ("pvc-1.b_c", "pvc-1.b_c"),
            ("registry:5000/a@sha256:1", "registry:5000/a@sha256:1"),
            ("$(touch x)", "__touch_x_"),
            ("--all", "_-all"),
            ("::error::x", "_:error::x"),
            ("a b\n`c`", "a_b__c_"),
        ] {
            let mut text = SharedText::from(old);
            name(&mut text);
            assert_eq!(text, new);
        }
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
