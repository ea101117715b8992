//! Objects, their history and the snapshots that paginated lists read from.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::query::Filter;
use crate::resource::{Gvr, ResourceDef};
use crate::status::Failure;
use crate::watch::Watcher;

/// How many continue tokens of one collection stay usable.
const SNAPSHOTS_KEPT: usize = 64;

/// How many events of one collection are remembered before the oldest count as compacted.
const EVENTS_KEPT: usize = 100_000;

/// One version of one object, serialised once.
pub(crate) struct Stored {
    pub namespace: String,
    pub name: String,
    pub labels: BTreeMap<String, String>,
    json: Bytes,
    /// Where `json` continues after `kind` and `apiVersion`, which native types omit inside lists.
    bare_at: usize,
    partial: OnceLock<Bytes>,
}

/// How an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The whole object.
    Full,
    /// Without `kind` and `apiVersion`.
    Bare,
    /// Only metadata, as `PartialObjectMetadata`.
    Partial,
}

impl Stored {
    /// Stamps the version and serialises. Fields other than metadata are not looked at, so that a test can store
    /// objects no real server would accept.
    pub fn new(def: &ResourceDef, mut object: Value, rv: u64) -> Self {
        if let Some(fields) = object.as_object_mut() {
            fields.remove("kind");
            fields.remove("apiVersion");
        }
        object["metadata"]["resourceVersion"] = json!(rv.to_string());
        let metadata = &object["metadata"];
        let text = |key: &str| metadata[key].as_str().unwrap_or_default().to_owned();
        let labels = metadata["labels"].as_object().into_iter().flatten();
        let labels = labels.filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned()))).collect();
        let head = format!("{{\"kind\":{},\"apiVersion\":{},", json!(def.kind), json!(def.api_version()));
        let body = object.to_string();
        Self {
            namespace: text("namespace"),
            name: text("name"),
            labels,
            // The body always has metadata, so a comma after the head is right.
            json: Bytes::from(format!("{head}{}", &body[1..])),
            bare_at: head.len(),
            partial: OnceLock::new(),
        }
    }

    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.json).unwrap_or_default()
    }

    /// The object on its own.
    pub fn bytes(&self, form: Form) -> Bytes {
        match form {
            Form::Partial => self.partial().clone(),
            Form::Full | Form::Bare => self.json.clone(),
        }
    }

    /// Writes the object as part of something larger.
    pub fn append(&self, out: &mut Vec<u8>, form: Form) {
        match form {
            Form::Full => out.extend_from_slice(&self.json),
            Form::Bare => {
                out.push(b'{');
                out.extend_from_slice(&self.json[self.bare_at..]);
            }
            Form::Partial => out.extend_from_slice(self.partial()),
        }
    }

    fn partial(&self) -> &Bytes {
        self.partial.get_or_init(|| {
            let metadata = self.value()["metadata"].take();
            let object = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata});
            Bytes::from(object.to_string())
        })
    }
}

/// A change, with what the object was before: a selector may see an update as an addition or a deletion.
pub(crate) struct Event {
    pub rv: u64,
    pub deleted: bool,
    pub object: Arc<Stored>,
    pub previous: Option<Arc<Stored>>,
}

impl Event {
    /// The event as a watch with this filter sees it, if it does.
    pub fn seen_through(&self, filter: &Filter) -> Option<&'static str> {
        let before = self.previous.as_ref().is_some_and(|object| filter.matches(object));
        let after = !self.deleted && filter.matches(&self.object);
        match (before, after) {
            (false, true) => Some("ADDED"),
            (true, true) => Some("MODIFIED"),
            (true, false) => Some("DELETED"),
            (false, false) => None,
        }
    }
}

pub(crate) type Items = Arc<[Arc<Stored>]>;

/// What a continue token points into.
pub(crate) struct Snapshot {
    pub id: u64,
    pub rv: u64,
    pub items: Items,
    pub has_selectors: bool,
}

/// All objects of one resource.
pub(crate) struct Collection {
    pub def: ResourceDef,
    pub log: VecDeque<Event>,
    pub watchers: BTreeMap<u64, Watcher>,
    /// Tells the watches of this collection to look again.
    pub changed: watch::Sender<()>,
    objects: BTreeMap<(String, String), Arc<Stored>>,
    /// Lists and watches cannot start before this version.
    compacted: u64,
    /// The newest event that was forgotten: an open watch that has not sent it has lost it.
    pub forgotten: u64,
    snapshots: VecDeque<Snapshot>,
    everything: OnceLock<Items>,
}

impl Collection {
    pub fn new(def: ResourceDef) -> Self {
        Self {
            def,
            log: VecDeque::new(),
            watchers: BTreeMap::new(),
            changed: watch::Sender::new(()),
            objects: BTreeMap::new(),
            compacted: 0,
            forgotten: 0,
            snapshots: VecDeque::new(),
            everything: OnceLock::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.objects.len()
    }

    pub fn get(&self, namespace: &str, name: &str) -> Option<&Arc<Stored>> {
        self.objects.get(&(namespace.to_owned(), name.to_owned()))
    }

    /// The present objects that pass the filter, by namespace and name.
    pub fn select(&self, filter: &Filter) -> Items {
        if !filter.is_trivial() {
            return self.objects.values().filter(|object| filter.matches(object)).cloned().collect();
        }
        self.everything.get_or_init(|| self.objects.values().cloned().collect()).clone()
    }

    /// The objects as they were at a version, by undoing what came later.
    pub fn select_at(&self, rv: u64, filter: &Filter) -> Items {
        if self.log.back().is_none_or(|event| event.rv <= rv) {
            return self.select(filter);
        }
        let mut objects = self.objects.clone();
        for event in self.log.iter().rev().take_while(|event| event.rv > rv) {
            let key = (event.object.namespace.clone(), event.object.name.clone());
            match &event.previous {
                Some(previous) => objects.insert(key, previous.clone()),
                None => objects.remove(&key),
            };
        }
        objects.into_values().filter(|object| filter.matches(object)).collect()
    }

    pub fn put(&mut self, object: Stored, rv: u64) {
        let object = Arc::new(object);
        let key = (object.namespace.clone(), object.name.clone());
        let previous = self.objects.insert(key, object.clone());
        self.record(Event { rv, deleted: false, object, previous });
    }

    /// Deletes an object. The deletion event carries the object with the version of the deletion.
    pub fn delete(&mut self, namespace: &str, name: &str, rv: u64) -> bool {
        let Some(previous) = self.objects.remove(&(namespace.to_owned(), name.to_owned())) else {
            return false;
        };
        let object = Arc::new(Stored::new(&self.def, previous.value(), rv));
        self.record(Event { rv, deleted: true, object, previous: Some(previous) });
        true
    }

    fn record(&mut self, event: Event) {
        self.everything = OnceLock::new();
        self.log.push_back(event);
        if self.log.len() > EVENTS_KEPT
            && let Some(oldest) = self.log.pop_front()
        {
            self.forgotten = oldest.rv;
            self.compacted = self.compacted.max(oldest.rv);
        }
        self.changed.send_replace(());
    }

    /// Forgets all history up to now.
    pub fn compact(&mut self, rv: u64) {
        self.compacted = rv;
        self.forgotten = self.log.back().map_or(self.forgotten, |event| event.rv);
        self.log.clear();
        self.snapshots.clear();
        self.changed.send_replace(());
    }

    pub fn expire_snapshots(&mut self) {
        self.snapshots.clear();
    }

    /// Fails if a version is older than the history kept.
    pub fn check_not_compacted(&self, rv: u64, watching: bool) -> Result<(), Failure> {
        if rv >= self.compacted {
            return Ok(());
        }
        // The watch cache and the storage below it word this differently.
        Err(Failure::expired(if watching {
            format!("too old resource version: {rv} ({})", self.compacted)
        } else {
            "The resourceVersion for the provided list is too old.".to_owned()
        }))
    }

    pub fn keep_snapshot(&mut self, snapshot: Snapshot) {
        if self.snapshots.iter().any(|kept| kept.id == snapshot.id) {
            return;
        }
        if self.snapshots.len() == SNAPSHOTS_KEPT {
            self.snapshots.pop_front();
        }
        self.snapshots.push_back(snapshot);
    }

    pub fn snapshot(&self, id: u64) -> Option<&Snapshot> {
        self.snapshots.iter().find(|snapshot| snapshot.id == id)
    }
}

/// All resources and the one version counter they share.
pub(crate) struct Store {
    pub collections: BTreeMap<Gvr, Collection>,
    pub rv: u64,
    next_id: u64,
}

impl Store {
    pub fn new() -> Self {
        // A cluster in use is never at 1, and 0 has a meaning of its own.
        Self { collections: BTreeMap::new(), rv: 1000, next_id: 0 }
    }

    /// A number never handed out before.
    pub fn next_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    pub fn next_rv(&mut self) -> u64 {
        self.rv += 1;
        self.rv
    }

    /// The collection a test's name means; of several versions the last by name.
    pub fn find(&mut self, resource: &str) -> Option<&mut Collection> {
        self.collections.values_mut().rfind(|collection| collection.def.is_named(resource))
    }

    /// All versions of a resource; `*` is every resource.
    pub fn find_all<'a>(&'a mut self, resource: &'a str) -> impl Iterator<Item = &'a mut Collection> {
        let matching = move |c: &&mut Collection| resource == "*" || c.def.is_named(resource);
        self.collections.values_mut().filter(matching)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(items: &Items) -> Vec<&str> {
        items.iter().map(|object| object.name.as_str()).collect()
    }

    #[test]
    fn history_can_be_undone_until_it_is_compacted() {
        let def = ResourceDef::custom("v1", "pods", "Pod");
        let mut pods = Collection::new(def.clone());
        let object = |name: &str| json!({"metadata": {"name": name, "namespace": "ns"}});
        for (rv, name) in [(1, "a"), (2, "b")] {
            pods.put(Stored::new(&def, object(name), rv), rv);
        }
        assert!(pods.delete("ns", "a", 3));
        assert!(!pods.delete("ns", "a", 4));
        let all = Filter::default();
        assert_eq!(names(&pods.select(&all)), ["b"]);
        assert_eq!(names(&pods.select_at(2, &all)), ["a", "b"]);
        assert_eq!(names(&pods.select_at(1, &all)), ["a"]);
        pods.compact(3);
        assert!(pods.check_not_compacted(3, true).is_ok());
        assert_eq!(pods.check_not_compacted(2, true).unwrap_err().message, "too old resource version: 2 (3)");
    }

    #[test]
    fn forms_of_an_object() {
        let def = ResourceDef::custom("v1", "pods", "Pod");
        let object =
            Stored::new(&def, json!({"kind": "X", "spec": 5, "metadata": {"name": "a", "labels": 3}}), 7);
        assert_eq!(object.value()["kind"], "Pod");
        assert_eq!(object.value()["metadata"]["resourceVersion"], "7");
        let mut bare = Vec::new();
        object.append(&mut bare, Form::Bare);
        let bare: Value = serde_json::from_slice(&bare).unwrap();
        assert_eq!((bare.get("kind"), &bare["spec"]), (None, &json!(5)));
        let partial: Value = serde_json::from_slice(&object.bytes(Form::Partial)).unwrap();
        assert_eq!((partial["kind"].as_str(), partial.get("spec")), (Some("PartialObjectMetadata"), None));
    }
}
