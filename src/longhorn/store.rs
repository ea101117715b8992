//! All objects of one kind: found by name, ordered by name, cheap to share.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::objects::Kind;

/// All objects of one kind by name, ordered. Cloning shares the objects; changing a shared store
/// copies the set of pointers, never the objects.
///
/// Namespaced kinds hold Longhorn's namespace only, so names are unique.
pub struct Store<T>(Arc<Held<T>>);

/// Checks ask for tens of thousands of objects by name in each evaluation, and names share long
/// beginnings: a table of hashes answers that without comparing names, of which an ordered tree
/// compares a dozen.
struct Held<T> {
    ordered: Vec<Arc<T>>,
    by_name: HashSet<ByName<T>>,
}

/// An object that is found by its name, without a second copy of the name.
struct ByName<T>(Arc<T>);

impl<T> Clone for ByName<T> {
    fn clone(&self) -> Self {
        ByName(self.0.clone())
    }
}

impl<T: Kind> Borrow<str> for ByName<T> {
    fn borrow(&self) -> &str {
        &self.0.meta().name
    }
}

impl<T: Kind> PartialEq for ByName<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0.meta().name == other.0.meta().name
    }
}

impl<T: Kind> Eq for ByName<T> {}

impl<T: Kind> Hash for ByName<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // as the borrowed name, or nothing would be found
        Hash::hash(self.0.meta().name.as_str(), state);
    }
}

// the objects in their order: that of a table of hashes differs from run to run
impl<T: fmt::Debug> fmt::Debug for Store<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_list().entries(&self.0.ordered).finish()
    }
}

impl<T> Clone for Held<T> {
    fn clone(&self) -> Self {
        Held { ordered: self.ordered.clone(), by_name: self.by_name.clone() }
    }
}

impl<T> Clone for Store<T> {
    fn clone(&self) -> Self {
        Store(self.0.clone())
    }
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Store(Arc::new(Held { ordered: Vec::new(), by_name: HashSet::new() }))
    }
}

impl<T: Kind> Store<T> {
    /// The object of this name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.by_name.get(name).map(|object| &*object.0)
    }

    /// The object of this name, shared.
    pub fn get_shared(&self, name: &str) -> Option<Arc<T>> {
        self.0.by_name.get(name).map(|object| object.0.clone())
    }

    /// The object at this place in the order of the names.
    pub fn nth(&self, place: usize) -> Option<&T> {
        self.0.ordered.get(place).map(|object| &**object)
    }

    /// All objects in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.ordered.iter().map(|object| &**object)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.ordered.len()
    }

    /// True without any.
    pub fn is_empty(&self) -> bool {
        self.0.ordered.is_empty()
    }

    /// Adds or replaces an object, unless it is one that no check reads.
    pub fn insert(&mut self, object: T) {
        if !object.is_kept() {
            if self.get(&object.meta().name).is_some() {
                self.remove(&object.meta().name);
            }
            return;
        }
        let object = Arc::new(object);
        let held = Arc::make_mut(&mut self.0);
        match held.place(&object.meta().name) {
            Ok(at) => {
                if let Some(old) = held.ordered.get_mut(at) {
                    *old = object.clone();
                }
            }
            Err(at) => held.ordered.insert(at, object.clone()),
        }
        held.by_name.replace(ByName(object));
    }

    /// Removes an object and returns it.
    pub fn remove(&mut self, name: &str) -> Option<Arc<T>> {
        let held = Arc::make_mut(&mut self.0);
        if let Ok(at) = held.place(name) {
            held.ordered.remove(at);
        }
        held.by_name.take(name).map(|object| object.0)
    }

    /// Replaces everything at once, as a relist does.
    pub fn replace(&mut self, objects: impl IntoIterator<Item = T>) {
        let mut replaced = Store::default();
        objects.into_iter().for_each(|object| replaced.insert(object));
        *self = replaced;
    }
}

impl<T: Kind> Held<T> {
    /// Where an object of this name is, or belongs. Lists come in order: each is then the last.
    fn place(&self, name: &str) -> Result<usize, usize> {
        match self.ordered.last() {
            Some(last) if last.meta().name.as_str() < name => Err(self.ordered.len()),
            _ => self.ordered.binary_search_by(|object| object.meta().name.as_str().cmp(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::longhorn::Setting;

    fn setting(name: &str, value: &str) -> Setting {
        let mut setting = Setting::default();
        (setting.metadata.name, setting.value) = (name.into(), value.into());
        setting
    }

    #[test]
    fn objects_are_ordered_and_found_whatever_comes_and_goes() {
        let mut store = Store::default();
        for (name, value) in [("b", "1"), ("d", "1"), ("a", "1"), ("c", "1"), ("d", "2"), ("b", "2")] {
            store.insert(setting(name, value));
        }
        let copy = store.clone();
        assert_eq!(store.remove("c").map(|object| object.value.clone()), Some("1".to_owned()));
        assert!(store.remove("c").is_none());
        let seen: Vec<_> = store.iter().map(|one| (one.metadata.name.as_str(), one.value.as_str())).collect();
        assert_eq!(seen, [("a", "1"), ("b", "2"), ("d", "2")]);
        for (name, value) in seen {
            assert_eq!(store.get(name).map(|object| object.value.as_str()), Some(value));
        }
        assert!(store.get("c").is_none());
        assert_eq!((copy.len(), copy.get("c").is_some()), (4, true), "a shared store keeps what it had");
    }
}
