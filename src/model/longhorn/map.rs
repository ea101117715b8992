//! A map for the few entries that objects hold.
//!
//! A node of a `BTreeMap` has room for eleven entries, which costs a kilobyte for an attachment
//! with one ticket. There are thousands of those; here they cost what they hold.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use thin_vec::ThinVec;

use super::lenient::Compact;
use super::shared_text::SharedText;

/// Values by name, ordered by name, in exactly the memory they need: most are empty and take a pointer. Read often, changed rarely.
#[derive(Clone, PartialEq, Eq)]
pub struct Map<V>(ThinVec<(SharedText, V)>);

impl<V> Map<V> {
    pub const fn new() -> Self {
        Map(ThinVec::new())
    }

    /// The value of this name.
    pub fn get(&self, name: &str) -> Option<&V> {
        self.get_key_value(name).map(|(_, value)| value)
    }

    /// The value of this name, with the name as it is held.
    pub fn get_key_value(&self, name: &str) -> Option<(&SharedText, &V)> {
        let found = self.find(name).ok()?;
        self.0.get(found).map(|(name, value)| (name, value))
    }

    /// The value of this name, to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut V> {
        let found = self.find(name).ok()?;
        self.0.get_mut(found).map(|(_, value)| value)
    }

    /// Whether there is a value of this name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.find(name).is_ok()
    }

    /// Adds a value; returns the one that had this name.
    pub fn insert(&mut self, name: SharedText, value: V) -> Option<V> {
        match self.find(&name) {
            Ok(found) => self.0.get_mut(found).map(|entry| std::mem::replace(&mut entry.1, value)),
            Err(place) => {
                self.0.insert(place, (name, value));
                None
            }
        }
    }

    /// Removes the value of this name.
    pub fn remove(&mut self, name: &str) -> Option<V> {
        self.find(name).ok().map(|found| self.0.remove(found).1)
    }

    /// Changes names, which stay in order.
    pub fn rename(&mut self, change: impl Fn(&mut SharedText)) {
        self.0.iter_mut().for_each(|(name, _)| change(name));
        if !self.0.is_sorted_by(|(one, _), (other, _)| one < other) {
            let entries = std::mem::take(&mut self.0);
            *self = entries.into_iter().collect();
        }
    }

    /// Names and values, to change the values.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&SharedText, &mut V)> {
        self.0.iter_mut().map(|(name, value)| (&*name, value))
    }

    /// Removes everything, and gives the memory back.
    pub fn clear(&mut self) {
        self.0 = ThinVec::new();
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names and values in the order of the names.
    pub fn iter(&self) -> Iter<'_, V> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    /// The names in their order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &SharedText> + DoubleEndedIterator + Clone {
        self.0.iter().map(|(name, _)| name)
    }

    /// The values in the order of their names.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &V> + DoubleEndedIterator {
        self.0.iter().map(|(_, value)| value)
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(other, _)| other.as_str().cmp(name))
    }
}

/// Names and values of a [`Map`].
pub type Iter<'a, V> =
    std::iter::Map<std::slice::Iter<'a, (SharedText, V)>, fn(&'a (SharedText, V)) -> (&'a SharedText, &'a V)>;

impl<V: Compact> Compact for Map<V> {
    fn compact(&mut self) {
        for (name, value) in &mut self.0 {
            name.compact();
            value.compact();
        }
        self.0.shrink_to_fit();
    }

    fn tidy(&mut self) {
        self.0.iter_mut().for_each(|(_, value)| value.tidy());
    }
}

impl<V> Default for Map<V> {
    fn default() -> Self {
        Map::new()
    }
}

impl<V: fmt::Debug> fmt::Debug for Map<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<V> FromIterator<(SharedText, V)> for Map<V> {
    fn from_iter<I: IntoIterator<Item = (SharedText, V)>>(entries: I) -> Self {
        let mut entries: ThinVec<_> = entries.into_iter().collect();
        // of several with one name the last counts, as in JSON
        entries.reverse();
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        entries.dedup_by(|(later, _), (earlier, _)| later == earlier);
        entries.shrink_to_fit();
        Map(entries)
    }
}

impl<V, const N: usize> From<[(SharedText, V); N]> for Map<V> {
    fn from(entries: [(SharedText, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<'a, V> IntoIterator for &'a Map<V> {
    type Item = (&'a SharedText, &'a V);
    type IntoIter = Iter<'a, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<V> IntoIterator for Map<V> {
    type Item = (SharedText, V);
    type IntoIter = thin_vec::IntoIter<(SharedText, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Map<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MapVisitor<V>(PhantomData<V>);

        impl<'de, V: Deserialize<'de>> Visitor<'de> for MapVisitor<V> {
            type Value = Map<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Map<V>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = access.next_entry()? {
                    entries.push(entry);
                }
                Ok(entries.into_iter().collect())
            }
        }

        deserializer.deserialize_map(MapVisitor(PhantomData))
    }
}

/// What may be under way in one of several places, such as a purge in a replica.
pub trait Task {
    /// Whether it is under way, or says what went wrong.
    fn tells(&self) -> bool;
}

/// Tasks by place, without those that tell nothing: Longhorn writes some for each replica of each volume, whether anything runs or
/// not, and where nothing is wrong they would be a good part of what is held of an engine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tasks<V>(Map<V>);

impl<V> std::ops::Deref for Tasks<V> {
    type Target = Map<V>;

    fn deref(&self) -> &Map<V> {
        &self.0
    }
}

impl<V: Compact> Compact for Tasks<V> {
    fn compact(&mut self) {
        self.0.compact();
    }

    fn tidy(&mut self) {
        self.0.tidy();
    }
}

impl<'de, V: Deserialize<'de> + Task> Deserialize<'de> for Tasks<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut all = Map::<V>::deserialize(deserializer)?;
        all.0.retain(|(_, task)| task.tells());
        all.0.shrink_to_fit();
        Ok(Tasks(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_ordered_and_the_last_of_a_name_counts() {
        let mut map: Map<u32> = serde_json::from_str(r#"{"b": 1, "a": 2, "b": 3}"#).unwrap();
        assert_eq!(map.iter().collect::<Vec<_>>(), [(&"a".into(), &2), (&"b".into(), &3)]);
        assert_eq!((map.get("b"), map.get("c"), map.len()), (Some(&3), None, 2));
        assert_eq!(map.insert("aa".into(), 7), None);
        assert_eq!(map.insert("aa".into(), 8), Some(7));
        assert_eq!(map.keys().collect::<Vec<_>>(), ["a", "aa", "b"]);
        assert_eq!((map.remove("a"), map.contains_key("a")), (Some(2), false));
        assert!(serde_json::from_str::<Map<u32>>("[1]").is_err());
    }
}
