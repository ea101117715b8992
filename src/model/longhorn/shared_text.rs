//! Texts of objects, held once for all objects that say the same.
//!
//! Three replicas, an engine, two attachments and an instance manager name one volume, and ten thousands
//! of objects one of a hundred nodes. Shared, such a text costs a pointer each, and to compare or to find
//! by it touches memory that was just read.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::{LazyLock, Mutex};

use arcstr::ArcStr;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::lenient::{Compact, read_text};
use crate::sync::lock;

/// A text that is never changed in place. Cloning it copies nothing.
#[derive(Clone, Default, Eq, PartialOrd, Ord)]
pub struct SharedText(ArcStr);

impl SharedText {
    pub fn new() -> Self {
        SharedText::default()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The texts of all objects that are kept, in parts, so that kinds that are read at once seldom wait for
/// each other.
static SHARED: LazyLock<Shared> =
    LazyLock::new(|| Shared { hasher: RandomState::default(), parts: Default::default() });

struct Shared {
    hasher: RandomState,
    parts: [Mutex<Part>; 16],
}

#[derive(Default)]
struct Part {
    texts: HashTable<SharedText>,
    /// At this number, texts that nothing holds any longer are dropped.
    full: usize,
}

impl Shared {
    fn share(&self, text: &SharedText) -> SharedText {
        // the upper half: a table goes by the lower
        let hash = self.hasher.hash_one(text);
        match self.parts.get((hash >> 32) as usize % self.parts.len()) {
            Some(part) => lock(part).share(text, hash, &self.hasher),
            None => text.clone(),
        }
    }
}

impl Part {
    fn share(&mut self, text: &SharedText, hash: u64, hasher: &RandomState) -> SharedText {
        if let Some(same) = self.texts.find(hash, |held| held == text) {
            return same.clone();
        }
        if self.texts.len() >= self.full {
            self.texts.retain(|text| ArcStr::strong_count(&text.0).is_some_and(|held| held > 1));
            self.texts.shrink_to_fit(|text| hasher.hash_one(text));
            self.full = (2 * self.texts.len()).max(64);
        }
        self.texts.insert_unique(hash, text.clone(), |text| hasher.hash_one(text));
        text.clone()
    }
}

impl Compact for SharedText {
    fn compact(&mut self) {
        if !self.is_empty() {
            *self = SHARED.share(self);
        }
    }
}

impl PartialEq for SharedText {
    fn eq(&self, other: &Self) -> bool {
        ArcStr::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl Hash for SharedText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // as the borrowed text, or nothing would be found by it
        self.as_str().hash(state);
    }
}

impl Deref for SharedText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for SharedText {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for SharedText {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl<'de> Deserialize<'de> for SharedText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, |text| SharedText::from(text))
    }
}

impl Serialize for SharedText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl From<&str> for SharedText {
    fn from(text: &str) -> Self {
        SharedText(text.into())
    }
}

impl From<String> for SharedText {
    fn from(text: String) -> Self {
        SharedText::from(text.as_str())
    }
}

impl From<SharedText> for String {
    fn from(text: SharedText) -> Self {
        text.as_str().to_owned()
    }
}

impl PartialEq<str> for SharedText {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for SharedText {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl PartialEq<SharedText> for str {
    fn eq(&self, other: &SharedText) -> bool {
        *self == **other
    }
}

impl PartialEq<SharedText> for &str {
    fn eq(&self, other: &SharedText) -> bool {
        **self == **other
    }
}

impl PartialEq<String> for SharedText {
    fn eq(&self, other: &String) -> bool {
        **self == **other
    }
}

impl PartialEq<SharedText> for String {
    fn eq(&self, other: &SharedText) -> bool {
        **self == **other
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn equal_texts_are_held_once_and_only_as_long_as_somebody_holds_them() {
        let (mut part, hasher) = (Part::default(), RandomState::default());
        let share = |part: &mut Part, text: &str| {
            let text = SharedText::from(text);
            part.share(&text, hasher.hash_one(&text), &hasher)
        };
        let one = share(&mut part, "pvc-1");
        let other = share(&mut part, "pvc-1");
        assert!(ArcStr::ptr_eq(&one.0, &other.0));
        for number in 0..1_000 {
            share(&mut part, &format!("gone-{number}"));
        }
        assert!(part.texts.len() <= 65, "{} are held", part.texts.len());
        assert!(ArcStr::ptr_eq(&one.0, &share(&mut part, "pvc-1").0), "those in use stay");
    }

    #[test]
    fn it_is_found_compared_and_read_as_the_text_that_it_is() {
        let text: SharedText = serde_json::from_str(r#""a\nb""#).unwrap();
        assert_eq!(text, "a\nb");
        assert_eq!(HashSet::from([text.clone()]).get("a\nb"), Some(&text));
        assert!(serde_json::from_str::<SharedText>("1").is_err());
    }
}
