//! How a test fills and changes the cluster.

use serde_json::{Value, json};

use crate::resource::{self, ResourceDef};
use crate::server::FakeApiServer;
use crate::store::{Collection, Store, Stored};

/// Objects.
impl FakeApiServer {
    /// Serves a resource from now on. Serving it again changes nothing.
    pub fn serve(&self, def: ResourceDef) {
        self.change(|state| {
            state.store.collections.entry(def.gvr()).or_insert_with(|| Collection::new(def));
        });
    }

    /// Serves the common kinds of Kubernetes itself.
    pub fn serve_builtin(&self) {
        resource::builtin().for_each(|def| self.serve(def));
    }

    /// Stops serving a resource, drops its objects and ends its watches, as when its CRD is deleted.
    pub fn unserve(&self, resource: &str) {
        self.change(|state| {
            state.store.collections.retain(|_, collection| !collection.def.is_named(resource))
        });
    }

    /// Creates or replaces an object and returns its resource version. `kind` and `apiVersion` are filled in; a uid
    /// and, if the object existed, its creation time are kept or made up when missing.
    #[track_caller]
    pub fn put(&self, resource: &str, object: Value) -> u64 {
        self.change(|state| {
            let def = named(&mut state.store, resource).def.clone();
            put(&mut state.store, &def, object)
        })
    }

    /// Changes an object in place and returns its new resource version.
    #[track_caller]
    pub fn update(
        &self,
        resource: &str,
        namespace: &str,
        name: &str,
        change: impl FnOnce(&mut Value),
    ) -> u64 {
        let Some(mut object) = self.get(resource, namespace, name) else {
            panic!("{resource} {namespace}/{name} does not exist");
        };
        change(&mut object);
        self.put(resource, object)
    }

    /// Deletes an object; the namespace of cluster-scoped ones is empty. Says whether it existed.
    #[track_caller]
    pub fn delete(&self, resource: &str, namespace: &str, name: &str) -> bool {
        self.change(|state| {
            let rv = state.store.next_rv();
            named(&mut state.store, resource).delete(namespace, name, rv)
        })
    }

    /// Puts many objects, each where its `apiVersion` and `kind` belong; lists (`kind: List`, `PodList`) are opened.
    /// Returns how many objects were put.
    #[track_caller]
    pub fn load(&self, objects: Vec<Value>) -> usize {
        self.change(|state| objects.into_iter().map(|object| load(&mut state.store, object)).sum())
    }

    /// An object as it is stored now.
    #[track_caller]
    pub fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        named(&mut self.shared.lock().store, resource).get(namespace, name).map(|object| object.value())
    }

    /// How many objects of a resource there are.
    #[track_caller]
    pub fn count(&self, resource: &str) -> usize {
        named(&mut self.shared.lock().store, resource).len()
    }

    /// The newest resource version.
    pub fn resource_version(&self) -> u64 {
        self.shared.lock().store.rv
    }

    /// Forgets the history of a resource: watches and continued lists from older versions get 410. Open watches that
    /// have sent everything go on. The version counter moves on, so that every version a client holds is too old.
    pub fn compact(&self, resource: &str) {
        self.change(|state| {
            let rv = state.store.next_rv();
            state.store.find_all(resource).for_each(|collection| collection.compact(rv));
        });
    }

    /// Invalidates the continue tokens of a resource, and nothing else.
    pub fn expire_continues(&self, resource: &str) {
        self.change(|state| state.store.find_all(resource).for_each(Collection::expire_snapshots));
    }
}

#[track_caller]
fn named<'a>(store: &'a mut Store, resource: &str) -> &'a mut Collection {
    match store.find(resource) {
        Some(collection) => collection,
        None => panic!("no resource {resource} is served"),
    }
}

#[track_caller]
fn load(store: &mut Store, mut object: Value) -> usize {
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    let api_version = object["apiVersion"].as_str().unwrap_or_default().to_owned();
    if kind.ends_with("List")
        && let Some(items) = object.get_mut("items").and_then(Value::as_array_mut)
    {
        let items = std::mem::take(items);
        let item_kind = kind.trim_end_matches("List");
        return items
            .into_iter()
            .map(|mut item| {
                // Inside lists of one kind the items may omit it.
                if item.get("kind").is_none() {
                    item["kind"] = json!(item_kind);
                    item["apiVersion"] = json!(api_version);
                }
                load(store, item)
            })
            .sum();
    }
    let def = store.collections.values().map(|collection| &collection.def);
    let def = def.into_iter().find(|def| def.kind == kind && def.api_version() == api_version).cloned();
    match def {
        Some(def) => put(store, &def, object),
        None => panic!("no resource of kind {kind} in {api_version} is served"),
    };
    1
}

#[track_caller]
fn put(store: &mut Store, def: &ResourceDef, mut object: Value) -> u64 {
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str().unwrap_or_default().to_owned();
    let namespace = metadata["namespace"].as_str().unwrap_or_default().to_owned();
    assert!(!name.is_empty(), "an object of {} has no name", def.name());
    assert!(namespace.is_empty() != def.namespaced, "{} {namespace}/{name}: wrong scope", def.name());
    let (rv, id) = (store.next_rv(), store.next_id());
    let Some(collection) = store.collections.get_mut(&def.gvr()) else {
        panic!("no resource {} is served", def.name());
    };
    let previous = collection.get(&namespace, &name).map(|stored| stored.value());
    let kept =
        |key: &str| previous.as_ref().map(|p| p["metadata"][key].clone()).filter(|value| !value.is_null());
    if object["metadata"].get("uid").is_none() {
        object["metadata"]["uid"] =
            kept("uid").unwrap_or_else(|| json!(format!("00000000-0000-4000-8000-{id:012x}")));
    }
    if object["metadata"].get("creationTimestamp").is_none()
        && let Some(created) = kept("creationTimestamp")
    {
        object["metadata"]["creationTimestamp"] = created;
    }
    collection.put(Stored::new(def, object, rv), rv);
    rv
}
