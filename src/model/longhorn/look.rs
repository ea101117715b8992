//! Values of an object by a path that is known only at run time, in the names of the manifest.

use super::event::NodeEvent;
use super::lenient::{Count, Int, Time};
use super::map::{Map, Tasks};
use super::pod::Port;
use super::quantity::Quantity;
use super::shared_text::SharedText;

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A field of an object.
    Field(String),
    /// Each entry of a list or map.
    Any,
    /// The entry of a map that has this name.
    Entry(String),
    /// The entries in which a field has this value.
    With(String, String),
}

/// What a path leads to in an object.
pub trait Look {
    /// Calls `see` for each value behind these steps that is there, as text. A list or map is there where it has an entry.
    fn look(&self, steps: &[Step], see: &mut dyn FnMut(&str));
}

/// Whether a field has this name in the manifest: its key, else its own name in camel case.
pub fn is_called(name: &str, field: &str, keys: &[&str]) -> bool {
    if let [key] = keys {
        return *key == name;
    }
    let mut begins = false;
    let camel = field.chars().filter_map(|c| match c {
        '_' => {
            begins = true;
            None
        }
        c => Some(if std::mem::take(&mut begins) { c.to_ascii_uppercase() } else { c }),
    });
    camel.eq(name.chars())
}

fn entries<'a, T: Look + 'a>(
    entries: impl Iterator<Item = (&'a str, &'a T)>,
    steps: &[Step],
    see: &mut dyn FnMut(&str),
) {
    let mut entries = entries.peekable();
    let Some((step, rest)) = steps.split_first() else {
        if entries.peek().is_some() {
            see("present");
        }
        return;
    };
    for (name, value) in entries {
        let is_meant = match step {
            Step::Field(_) => false,
            Step::Any => true,
            Step::Entry(wanted) => wanted == name,
            Step::With(field, wanted) => {
                let mut has = false;
                value.look(&[Step::Field(field.clone())], &mut |text| has |= text == wanted);
                has
            }
        };
        if is_meant {
            value.look(rest, see);
        }
    }
}

impl Look for str {
    fn look(&self, steps: &[Step], see: &mut dyn FnMut(&str)) {
        if steps.is_empty() && !self.is_empty() {
            see(self);
        }
    }
}

impl<T: Look> Look for Option<T> {
    fn look(&self, steps: &[Step], see: &mut dyn FnMut(&str)) {
        self.iter().for_each(|value| value.look(steps, see));
    }
}

impl<T: Look> Look for Box<T> {
    fn look(&self, steps: &[Step], see: &mut dyn FnMut(&str)) {
        T::look(self, steps, see);
    }
}

impl<T: Look> Look for Vec<T> {
    fn look(&self, steps: &[Step], see: &mut dyn FnMut(&str)) {
        entries(self.iter().map(|value| ("", value)), steps, see);
    }
}

impl<T: Look> Look for Map<T> {
    fn look(&self, steps: &[Step], see: &mut dyn FnMut(&str)) {
        entries(self.iter().map(|(name, value)| (name.as_str(), value)), steps, see);
    }
}

impl<T: Look> Look for Tasks<T> {
    fn look(&self, steps: &[Step], see: &mut dyn FnMut(&str)) {
        Map::look(self, steps, see);
    }
}

impl Look for NodeEvent {
    fn look(&self, steps: &[Step], see: &mut dyn FnMut(&str)) {
        super::Event::look(self, steps, see);
    }
}

impl Look for Count {
    fn look(&self, steps: &[Step], see: &mut dyn FnMut(&str)) {
        if self.0 > 0 {
            "present".look(steps, see);
        }
    }
}

impl Look for Time {
    fn look(&self, steps: &[Step], see: &mut dyn FnMut(&str)) {
        if let Some(time) = self.get() {
            time.to_string().look(steps, see);
        }
    }
}

/// Values that are written as one text.
macro_rules! as_text {
    ($( $type:ty: $value:ident => $text:expr; )*) => { $(
        impl Look for $type {
            fn look(&self, steps: &[Step], see: &mut dyn FnMut(&str)) {
                let $value = self;
                str::look($text, steps, see);
            }
        }
    )* };
}

as_text! {
    String: text => text;
    SharedText: text => text;
    Port: port => &port.0;
    Quantity: quantity => &quantity.0;
    bool: flag => if *flag { "true" } else { "false" };
    i64: number => &number.to_string();
    Int: number => &number.0.to_string();
}

/// Of which other things are kept than the manifest has: no path leads into these.
macro_rules! opaque {
    ($( $type:ty ),*) => { $( impl Look for $type { fn look(&self, _: &[Step], _: &mut dyn FnMut(&str)) {} } )* };
}

opaque! { super::pod::Pinned, super::env::EnvVar, super::writes::Writes, super::writes::OwnedFields }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_called_as_in_the_manifest() {
        for (name, field, keys, is) in [
            ("numberOfReplicas", "number_of_replicas", &[] as &[&str], true),
            ("numberofReplicas", "number_of_replicas", &[], false),
            ("number_of_replicas", "number_of_replicas", &[], false),
            ("name", "name", &[], true),
            ("diskUUID", "disk_uuid", &["diskUUID"], true),
            ("diskUuid", "disk_uuid", &["diskUUID"], false),
        ] {
            assert_eq!(is_called(name, field, keys), is, "{name}");
        }
    }
}
