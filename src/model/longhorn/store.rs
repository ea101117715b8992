//! All objects of one kind: found by name, ordered by name, cheap to share.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::BuildHasher;
use std::sync::{Arc, OnceLock};

use foldhash::fast::{FixedState, RandomState};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::meta::Meta;
use super::objects::Kind;
use super::shared_text::SharedText;

/// All objects of one kind by name, ordered. Cloning shares the objects; changing a shared store
/// copies the set of pointers, never the objects.
///
/// Namespaced kinds hold Longhorn's namespace only, so names are unique.
pub struct Store<T>(Arc<Stored<T>>);

/// Checks ask for tens of thousands of objects by name in each evaluation, and names share long
/// beginnings: a table of hashes answers that without comparing names, of which an ordered tree
/// compares a dozen.
struct Stored<T> {
    ordered: Vec<Arc<T>>,
    by_name: HashTable<Arc<T>>,
    hasher: RandomState,
    /// Made on first use, and kept for as long as they are right.
    joins: [Join; Owner::ALL.len()],
    /// Numbers of objects with a value that no known release writes, by field.
    unrecognized: BTreeMap<&'static str, usize>,
    /// Names of objects of which nothing is written but that they are there.
    unwritten: BTreeSet<SharedText>,
}

/// Hashes of the names of owners with the places of what they own: first by hash, then in the order of the
/// names. Comparing tens of thousands of long names costs more than everything else.
type Join = OnceLock<Arc<[(u32, u32)]>>;

/// What an object may belong to, and is found by.
#[derive(Debug, Clone, Copy)]
pub enum Owner {
    /// The volume of a replica or an engine.
    Volume,
    /// The disk of a replica, by its UUID.
    Disk,
    /// The node of a replica, an instance manager, or the manager that takes care of a volume.
    Node,
    /// The instance manager that a replica or an engine names.
    InstanceManager,
    /// The persistent volume of a volume.
    PersistentVolume,
    /// What an Event is about.
    Object,
    /// The value of label `app` of a pod.
    App,
}

impl Owner {
    const ALL: [Owner; 7] = [
        Owner::Volume,
        Owner::Disk,
        Owner::Node,
        Owner::InstanceManager,
        Owner::PersistentVolume,
        Owner::Object,
        Owner::App,
    ];
}

/// Half of it is enough: those that are equal by chance are distinguished by the text.
fn hash(text: &str) -> u32 {
    FixedState::default().hash_one(text) as u32
}

/// Whether two texts are equal. Most that are compared here are one and the same (`SharedText`), and need not be read.
fn same(one: &str, other: &str) -> bool {
    std::ptr::eq(one, other) || one == other
}

// the objects in their order: that of a table of hashes differs from run to run
impl<T: fmt::Debug> fmt::Debug for Store<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_list().entries(&self.0.ordered).finish()
    }
}

impl<T> Clone for Stored<T> {
    fn clone(&self) -> Self {
        let (ordered, by_name, hasher) = (self.ordered.clone(), self.by_name.clone(), self.hasher.clone());
        let (joins, unrecognized) = (self.joins.clone(), self.unrecognized.clone());
        Stored { ordered, by_name, hasher, joins, unrecognized, unwritten: self.unwritten.clone() }
    }
}

impl<T> Clone for Store<T> {
    fn clone(&self) -> Self {
        Store(self.0.clone())
    }
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        let (by_name, hasher, joins) = (HashTable::new(), RandomState::default(), Default::default());
        let (ordered, unrecognized, unwritten) = (Vec::new(), BTreeMap::new(), BTreeSet::new());
        Store(Arc::new(Stored { ordered, by_name, hasher, joins, unrecognized, unwritten }))
    }
}

impl<T: Kind> Store<T> {
    /// The object of this name.
    pub fn get(&self, name: &str) -> Option<&T> {
        looked_at();
        self.0.find(name).map(|object| &**object)
    }

    /// The object of this name, shared.
    pub fn get_shared(&self, name: &str) -> Option<Arc<T>> {
        self.0.find(name).cloned()
    }

    /// The objects that belong to this owner, in the order of their names.
    pub fn of(&self, owner: Owner, name: &str) -> impl Iterator<Item = &T> {
        let join = self.0.join(owner);
        let wanted = hash(name);
        let first = join.partition_point(|(hash, _)| *hash < wanted);
        let same_hash = join.iter().skip(first).take_while(move |(hash, _)| *hash == wanted);
        let objects = same_hash.filter_map(|(_, place)| self.0.ordered.get(*place as usize));
        let objects = objects.map(|object| &**object).inspect(|_| looked_at());
        objects.filter(move |object| same(object.owner(owner), name))
    }

    /// Whether it would be the same with this object: it has one that is equal in all that is read, or none reads it.
    pub fn is_unchanged_by(&self, object: &T) -> bool {
        match self.0.find(&object.meta().name) {
            Some(held) => **held == *object,
            None => !object.is_kept(),
        }
    }

    /// All objects in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.ordered.iter().map(|object| &**object).inspect(|_| looked_at())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.ordered.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.ordered.is_empty()
    }

    /// Numbers of objects with a value that no known release writes, by field.
    pub fn unrecognized(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.0.unrecognized.iter().map(|(field, count)| (*field, *count)).filter(|(_, count)| *count > 0)
    }

    /// The objects of which nothing is written but that they are there.
    pub fn unwritten(&self) -> impl Iterator<Item = &Meta> {
        self.0.unwritten.iter().filter_map(|name| self.get(name)).map(Kind::meta)
    }

    /// Adds or replaces an object, unless it is one that no check reads.
    pub fn insert(&mut self, object: impl Into<Arc<T>>) {
        let object = object.into();
        if !object.is_kept() {
            if self.get(&object.meta().name).is_some() {
                self.remove(&object.meta().name);
            }
            return;
        }
        let held = Arc::make_mut(&mut self.0);
        match held.place(&object.meta().name) {
            Ok(at) => {
                if let Some(old) = held.ordered.get_mut(at) {
                    // what changes all the time is not whose it is
                    for (owner, join) in Owner::ALL.into_iter().zip(&mut held.joins) {
                        if old.owner(owner) != object.owner(owner) {
                            join.take();
                        }
                    }
                    *old = object.clone();
                }
            }
            Err(at) => {
                held.joins = Default::default();
                held.ordered.insert(at, object.clone());
            }
        }
        held.recognize(&object, true);
        let unwritten = object.is_unwritten().then(|| object.meta().name.clone());
        if let Some(old) = held.name(object) {
            held.unwritten.remove(&old.meta().name);
            held.recognize(&old, false);
        }
        held.unwritten.extend(unwritten);
    }

    /// Removes an object and returns it.
    pub fn remove(&mut self, name: &str) -> Option<Arc<T>> {
        let held = Arc::make_mut(&mut self.0);
        if let Ok(at) = held.place(name) {
            held.joins = Default::default();
            held.ordered.remove(at);
        }
        let hash = held.hasher.hash_one(name);
        let found = held.by_name.find_entry(hash, |object| same(&object.meta().name, name));
        let removed = found.ok().map(|object| object.remove().0);
        removed.iter().for_each(|object| held.recognize(object, false));
        held.unwritten.remove(name);
        removed
    }

    /// Replaces everything at once, as a relist does.
    pub fn replace(&mut self, objects: impl IntoIterator<Item = T>) {
        let mut replaced = Store::default();
        objects.into_iter().for_each(|object| replaced.insert(object));
        *self = replaced;
    }
}

/// Tests count how often checks look at an object, to show that none is quadratic.
pub mod looks {
    use std::cell::Cell;

    thread_local! { pub(super) static LOOKS: Cell<usize> = const { Cell::new(0) } }

    /// How many there were on this thread meanwhile.
    pub fn during(work: impl FnOnce()) -> usize {
        let before = LOOKS.get();
        work();
        LOOKS.get() - before
    }
}

#[inline]
fn looked_at() {
    if cfg!(debug_assertions) {
        looks::LOOKS.set(looks::LOOKS.get() + 1);
    }
}

impl<T: Kind> Stored<T> {
    fn find(&self, name: &str) -> Option<&Arc<T>> {
        self.by_name.find(self.hasher.hash_one(name), |object| same(&object.meta().name, name))
    }

    /// Lets an object be found by its name; returns the one that was.
    fn name(&mut self, object: Arc<T>) -> Option<Arc<T>> {
        let Stored { by_name, hasher, .. } = self;
        let name = object.meta().name.as_str();
        let is_it = |other: &Arc<T>| same(&other.meta().name, name);
        let hash = |object: &Arc<T>| hasher.hash_one(object.meta().name.as_str());
        match by_name.entry(hasher.hash_one(name), is_it, hash) {
            Entry::Occupied(mut old) => Some(std::mem::replace(old.get_mut(), object)),
            Entry::Vacant(free) => {
                free.insert(object);
                None
            }
        }
    }

    /// Where an object of this name is, or belongs. Lists come in order: each is then the last.
    fn place(&self, name: &str) -> Result<usize, usize> {
        match self.ordered.last() {
            Some(last) if last.meta().name.as_str() < name => Err(self.ordered.len()),
            _ => self.ordered.binary_search_by(|object| object.meta().name.as_str().cmp(name)),
        }
    }

    /// Counts the fields of an object that came or went.
    fn recognize(&mut self, object: &T, came: bool) {
        for field in object.unrecognized() {
            let count = self.unrecognized.entry(field).or_default();
            *count = if came { *count + 1 } else { count.saturating_sub(1) };
        }
    }

    fn join(&self, owner: Owner) -> &[(u32, u32)] {
        let [volume, disk, node, instance_manager, persistent_volume, about, app] = &self.joins;
        let join = match owner {
            Owner::Volume => volume,
            Owner::Disk => disk,
            Owner::Node => node,
            Owner::InstanceManager => instance_manager,
            Owner::PersistentVolume => persistent_volume,
            Owner::Object => about,
            Owner::App => app,
        };
        join.get_or_init(|| {
            let places =
                self.ordered.iter().zip(0..).map(|(object, place)| (hash(object.owner(owner)), place));
            let mut places: Vec<_> = places.collect();
            places.sort_unstable();
            places.into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::longhorn::{InstanceState, Replica, Setting};

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
        assert_eq!(store.remove("c").map(|object| object.value.clone()), Some("1".into()));
        assert!(store.remove("c").is_none());
        let seen: Vec<_> = store.iter().map(|one| (one.metadata.name.as_str(), one.value.as_str())).collect();
        assert_eq!(seen, [("a", "1"), ("b", "2"), ("d", "2")]);
        for (name, value) in seen {
            assert_eq!(store.get(name).map(|object| object.value.as_str()), Some(value));
        }
        assert!(store.get("c").is_none());
        assert_eq!((copy.len(), copy.get("c").is_some()), (4, true), "a shared store keeps what it had");
    }

    #[test]
    fn values_of_tomorrow_are_counted_for_as_long_as_they_are_there() {
        let mut store = Store::default();
        let counts = |store: &Store<Replica>| store.unrecognized().collect::<Vec<_>>();
        let mut strange = replica("a", "v");
        strange.status.current_state = InstanceState::Unrecognized;
        store.insert(strange.clone());
        store.insert(strange.clone());
        assert_eq!(counts(&store), [("status.currentState", 1)]);
        store.insert(replica("a", "v"));
        assert_eq!(counts(&store), []);
        store.insert(strange);
        store.remove("a");
        assert_eq!(counts(&store), []);
    }

    fn replica(name: &str, volume: &str) -> Replica {
        let mut replica = Replica::default();
        (replica.metadata.name, replica.spec.volume_name) = (name.into(), volume.into());
        replica
    }

    #[test]
    fn owners_are_right_whatever_comes_and_goes() {
        let mut store = Store::default();
        let of = |store: &Store<Replica>, volume: &str| -> Vec<String> {
            store.of(Owner::Volume, volume).map(|replica| replica.metadata.name.to_string()).collect()
        };
        for (name, volume) in [("b", "v"), ("d", "w"), ("a", "v")] {
            store.insert(replica(name, volume));
            assert!(of(&store, volume).contains(&name.to_owned()), "{name} comes");
        }
        let copy = store.clone();
        store.insert(replica("b", "w"));
        assert_eq!((of(&store, "v"), of(&store, "w")), (vec!["a".into()], vec!["b".into(), "d".into()]));
        store.insert(replica("b", "w"));
        assert_eq!(of(&store, "w"), ["b", "d"], "changed, with the owner that it had");
        store.remove("b");
        assert_eq!(of(&store, "w"), ["d"]);
        assert_eq!((of(&copy, "v"), of(&copy, "none")), (vec!["a".into(), "b".into()], Vec::<String>::new()));
        store.replace([replica("z", "v")]);
        assert_eq!((of(&store, "v"), of(&store, "w")), (vec!["z".into()], Vec::<String>::new()));
    }
}
