//! One object as the API server sent it: decoded narrowly, or named with the reason why it does
//! not decode. An odd object costs itself, never the page or the watch it came with.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

use kube::api::ObjectMeta;
use kube::core::DynamicResourceScope;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::longhorn::{BACKUP_LABEL, Kind, Resource, Scope, SharedText};

tokio::task_local! {
    /// How the objects are read that come to this task.
    static READ: fn(&str) -> Item;
}

/// One object of a list or watch.
///
/// Of which kind it is, its task knows: were the kind a parameter, kube's watcher and its client would be in the program once for each
/// of forty kinds.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// Name, namespace and resource version only: all that the watcher and the store ask of it.
    pub(super) meta: Box<ObjectMeta>,
    /// The object, or what is wrong with it. Here already where it stays: kube's watcher passes items through many hands.
    object: Result<Arc<dyn Any + Send + Sync>, String>,
}

/// The same work, to which objects of this kind come.
pub(super) fn of_kind<T: Kind, F: Future>(work: F) -> impl Future<Output = F::Output> {
    READ.scope(Item::read::<T>, work)
}

impl Item {
    /// Name of the object; empty if not even that could be read.
    pub(super) fn name(&self) -> &str {
        self.meta.name.as_deref().unwrap_or_default()
    }

    /// Whether it lives in another namespace than the one that was asked for.
    pub(super) fn is_elsewhere(&self, home: &str) -> bool {
        self.meta.namespace.as_deref().is_some_and(|namespace| !namespace.is_empty() && namespace != home)
    }
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Borrowed text instead of a tree of values: an engine carries its whole snapshot chain.
        let raw = <&RawValue>::deserialize(deserializer)?.get();
        READ.try_with(|read| read(raw)).map_err(serde::de::Error::custom)
    }
}

impl Item {
    /// The object of its task's kind, or what is wrong with it.
    pub(super) fn into_object<T: Kind>(self) -> Result<Arc<T>, String> {
        self.object?.downcast().map_err(|_| "an object of another kind".to_owned())
    }

    fn read<T: Kind>(raw: &str) -> Self {
        match serde_json::from_str::<T>(raw) {
            Ok(object) if !object.meta().name.is_empty() => Item::decoded(object),
            Ok(_) => Item::odd(raw, "metadata.name is missing".to_owned()),
            Err(error) => Item::odd(raw, error.to_string()),
        }
    }

    fn decoded<T: Kind>(mut object: T) -> Self {
        object.tidy();
        let meta = object.meta_mut();
        let version = std::mem::take(&mut meta.resource_version);
        let meta = ObjectMeta {
            name: Some(meta.name.to_string()),
            namespace: Some(meta.namespace.to_string()).filter(|namespace| !namespace.is_empty()),
            resource_version: Some(version.into()),
            ..Default::default()
        };
        prune(&mut object);
        Item { meta: meta.into(), object: Ok(Arc::new(object)) }
    }

    fn odd(raw: &str, error: String) -> Self {
        // only here a tree is built, and only of the metadata
        #[derive(Deserialize)]
        struct ItemHead {
            metadata: serde_json::Value,
        }
        let metadata = serde_json::from_str::<ItemHead>(raw).map(|head| head.metadata).unwrap_or_default();
        let text = |key: &str| metadata.get(key).and_then(serde_json::Value::as_str).map(str::to_owned);
        let meta = ObjectMeta {
            name: text("name"),
            resource_version: text("resourceVersion"),
            ..Default::default()
        };
        Item { meta: meta.into(), object: Err(error) }
    }
}

/// Drops what no check reads, and the memory that decoding took beyond what is kept; there are
/// thousands of these objects.
fn prune<T: Kind>(object: &mut T) {
    use Resource::*;
    let meta = object.meta_mut();
    if T::RESOURCE.info().scope == Scope::Namespaced {
        meta.namespace = SharedText::new(); // always Longhorn's
    }
    if matches!(T::RESOURCE, Engines | EngineFrontends | Replicas | VolumeAttachments | Settings) {
        meta.labels.clear();
        meta.uid = SharedText::new();
    }
    if T::RESOURCE == Volumes {
        // which recurring jobs back it up, and whether backups are wanted
        let labels = std::mem::take(&mut meta.labels);
        let is_read = |label: &str| label.starts_with("recurring-job") || label == BACKUP_LABEL;
        meta.labels = labels.into_iter().filter(|(label, _)| is_read(label)).collect();
        meta.uid = SharedText::new();
    }
    meta.managed_fields.prune(T::RESOURCE);
    // what is not kept must not stay among the texts of what is: a cluster has more backups than objects
    if object.is_kept() {
        object.compact();
    }
}

impl kube::Resource for Item {
    type DynamicType = Resource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &Resource) -> Cow<'_, str> {
        resource.info().kind.into()
    }

    fn group(resource: &Resource) -> Cow<'_, str> {
        resource.info().group.into()
    }

    fn version(resource: &Resource) -> Cow<'_, str> {
        resource.info().version.into()
    }

    fn plural(resource: &Resource) -> Cow<'_, str> {
        resource.info().plural.into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.meta
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::longhorn::{InstanceManager, Volume};
    use kube::api::{ObjectList, WatchEvent};

    fn read<T: Kind, R: serde::de::DeserializeOwned>(json: &str) -> R {
        READ.sync_scope(Item::read::<T>, || serde_json::from_str(json).unwrap())
    }

    #[test]
    fn one_odd_object_of_a_page_costs_only_itself() {
        let page = r#"{"kind":"VolumeList","apiVersion":"longhorn.io/v1beta2","metadata":{"resourceVersion":"9"},
            "items":[{"metadata":{"name":"a","resourceVersion":"3","labels":{"x":"y","recurring-job.longhorn.io/j":"enabled"}}},
                     {"metadata":{"name":"b","resourceVersion":"4"},"spec":"text"}, null, 7, {"metadata":[]},
                     {"metadata":{"name":"c","labels":[1]}}]}"#;
        let list: ObjectList<Item> = read::<Volume, _>(page);
        let read: Vec<_> = list.items.iter().map(|item| (item.name(), item.object.is_ok())).collect();
        assert_eq!(read, [("a", true), ("b", false), ("", false), ("", false), ("", false), ("c", false)]);
        assert_eq!(list.items[0].meta.resource_version.as_deref(), Some("3"));
        let volume: Arc<Volume> = list.items[0].clone().into_object().unwrap();
        assert_eq!(volume.metadata.labels.keys().collect::<Vec<_>>(), ["recurring-job.longhorn.io/j"]);
        assert!(volume.metadata.resource_version.is_empty(), "versions are not kept");
        assert!(list.items[1].object.as_ref().unwrap_err().contains("text"));
    }

    #[test]
    fn an_odd_object_of_a_watch_keeps_its_version() {
        let line =
            r#"{"type":"MODIFIED","object":{"metadata":{"name":"b","resourceVersion":"4"},"status":42}}"#;
        let event: WatchEvent<Item> = read::<InstanceManager, _>(line);
        let WatchEvent::Modified(item) = event else { panic!("{event:?}") };
        assert_eq!(kube::ResourceExt::resource_version(&item).as_deref(), Some("4"));
        assert!(item.object.is_err());
    }

    #[test]
    fn who_wrote_what_is_kept_of_settings_and_of_no_replica() {
        let json = r#"{"metadata":{"name":"a","managedFields":[
            {"manager":"kubectl-patch","time":"2026-03-01T10:00:00Z","fieldsV1":{"f:value":{},"f:spec":{"f:evictionRequested":{}}}}]}}"#;
        fn kept<T: Kind>(json: &str) -> usize {
            let object: Arc<T> = read::<T, Item>(json).into_object().unwrap();
            object.meta().managed_fields.iter().count()
        }
        assert_eq!(kept::<crate::longhorn::Setting>(json), 1);
        assert_eq!(kept::<crate::longhorn::Replica>(json), 0);
    }

    #[test]
    fn labels_that_tell_owners_are_kept() {
        let json = r#"{"metadata":{"name":"im","labels":{"longhorn.io/node":"n"}}}"#;
        let manager: Arc<InstanceManager> = read::<InstanceManager, Item>(json).into_object().unwrap();
        assert_eq!(manager.metadata.label("longhorn.io/node"), Some("n"));
    }
}
