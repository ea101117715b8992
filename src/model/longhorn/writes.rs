//! Who last wrote what, and when: of an object's managed fields, which are half of it, the few entries that tell of what people change.
//!
//! An entry's time moves whenever its manager changes any field of it (kubernetes v1.36 apimachinery util/managedfields/internal/
//! managedfieldsupdater.go Update). So it dates the change of one field only where the entry has no other; else that was then or before.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::lenient::{Compact, Time, narrow};
use super::resource::Resource;
use super::shared_text::SharedText;

/// The entries of an object, mostly none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Writes(Option<Box<Kept>>);

/// In a box of its own: most objects have none.
#[derive(Debug, Clone, Default, PartialEq)]
struct Kept(Vec<Write>);

/// What one manager wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// Who: `kubectl-edit`, `helm`, `longhorn-manager`, …
    pub manager: SharedText,
    /// When it last changed one of its fields.
    pub at: Time,
    fields: u16,
}

macro_rules! written_fields {
    ($( $(#[$meta:meta])* $name:ident = $parent:literal $key:literal; )*) => {
        /// A field that people change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Written { $( $(#[$meta])* $name, )* }

        impl Written {
            const ALL: &[(Written, &str, &str)] = &[$( (Written::$name, $parent, $key) ),*];
        }
    };
}

written_fields! {
    /// Of a setting.
    Value = "" "f:value";
    /// Of a Kubernetes node that is cordoned.
    Unschedulable = "f:spec" "f:unschedulable";
    Taints = "f:spec" "f:taints";
    /// Of a node of Longhorn.
    AllowScheduling = "f:spec" "f:allowScheduling";
    EvictionRequested = "f:spec" "f:evictionRequested";
    /// Any of what is wanted of its disks.
    Disks = "f:spec" "f:disks";
    NumberOfReplicas = "f:spec" "f:numberOfReplicas";
    BackupTargetUrl = "f:spec" "f:backupTargetURL";
    CredentialSecret = "f:spec" "f:credentialSecret";
    /// Of a DaemonSet or Deployment.
    Template = "f:spec" "f:template";
}

/// The entry has other fields, too.
const OTHER: u16 = 1 << 15;
/// Under this name the API server puts what too many managers wrote (kubernetes apimachinery util/managedfields/internal/capmanagers.go).
const ANCIENT: &str = "ancient-changes";

impl Written {
    fn bit(self) -> u16 {
        1 << self as u16
    }

    fn of(parent: &str, key: &str) -> Option<Written> {
        let known = |(_, above, name): &&(Written, &str, &str)| *above == parent && *name == key;
        Written::ALL.iter().find(known).map(|(field, ..)| *field)
    }
}

impl Write {
    /// The fields of interest that it has.
    pub fn fields(&self) -> impl Iterator<Item = Written> + '_ {
        Written::ALL.iter().map(|(field, ..)| *field).filter(|field| self.fields & field.bit() != 0)
    }

    /// Whether it has this field.
    pub fn has(&self, field: Written) -> bool {
        self.fields & field.bit() != 0
    }

    /// True where it has one field alone, so that its time is that of the field's last change.
    pub fn is_of_one_field(&self) -> bool {
        self.fields.count_ones() == 1
    }

    fn has_others(&self) -> bool {
        self.fields & OTHER != 0
    }

    fn to_json(&self) -> Value {
        let mut root = Map::new();
        for (field, parent, key) in Written::ALL {
            if !self.has(*field) {
                continue;
            }
            let above = match *parent {
                "" => Some(&mut root),
                parent => root.entry(parent).or_insert_with(|| json!({})).as_object_mut(),
            };
            if let Some(above) = above {
                above.insert((*key).to_owned(), json!({}));
            }
        }
        if self.has_others() {
            root.insert("f:metadata".to_owned(), json!({}));
        }
        json!({ "manager": self.manager, "time": self.at.get(), "fieldsV1": root })
    }
}

impl Writes {
    /// The entries, in the order of the object.
    pub fn iter(&self) -> std::slice::Iter<'_, Write> {
        self.0.as_ref().map(|kept| kept.0.as_slice()).unwrap_or_default().iter()
    }

    /// Drops what says nothing of this kind.
    pub fn prune(&mut self, kind: Resource) {
        let keep = kept_of(kind);
        if let Some(kept) = &mut self.0 {
            kept.0.retain(|write| keep.is_some_and(|keep| keep(write)));
            if kept.0.is_empty() {
                self.0 = None;
            }
        }
    }

    /// The same as managed fields, which are much shorter: for recordings.
    pub fn to_json(&self) -> Value {
        self.iter().map(Write::to_json).collect()
    }
}

/// Which entries are kept of a kind, if any. Of a volume, a node or a backup target the manager's own entry has everything and moves all
/// the time; of a setting or a manifest the day of its last change is worth knowing, whatever of it that was.
fn kept_of(kind: Resource) -> Option<fn(&Write) -> bool> {
    use Resource::*;
    match kind {
        Settings | DaemonSets | Deployments => Some(|_| true),
        KubeNodes | LonghornNodes | Volumes | BackupTargets => Some(|write| !write.has_others()),
        _ => None,
    }
}

impl Resource {
    /// True for a kind of which it is kept who wrote what.
    pub fn keeps_writes(self) -> bool {
        kept_of(self).is_some()
    }
}

impl Compact for Writes {
    fn compact(&mut self) {
        if let Some(kept) = &mut self.0 {
            kept.0.shrink_to_fit();
        }
    }

    fn tidy(&mut self) {
        if let Some(kept) = &mut self.0 {
            kept.0.iter_mut().for_each(|write| super::lenient::name(&mut write.manager));
        }
    }
}

impl Serialize for Writes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

narrow! {
    /// An entry as the API server writes it.
    pub struct ManagedFields {
        pub manager: SharedText,
        pub time: Time,
        /// `status` where how an object is was written, and not what is wanted of it.
        pub subresource: SharedText,
        pub fields_v1: OwnedFields = "fieldsV1",
    }
}

/// Fields of interest, as bits.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct OwnedFields(u16);

impl Compact for OwnedFields {}

impl<'de> Deserialize<'de> for Writes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Entries)
    }
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Writes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("managed fields")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Writes, A::Error> {
        let known = OTHER - 1;
        let mut kept = Vec::new();
        while let Some(entry) = entries.next_element::<ManagedFields>()? {
            let ManagedFields { manager, time: at, subresource, fields_v1: OwnedFields(fields) } = entry;
            if fields & known != 0 && subresource.is_empty() && at.is_set() && manager != ANCIENT {
                kept.push(Write { manager, at, fields });
            }
        }
        Ok(Writes((!kept.is_empty()).then(|| Box::new(Kept(kept)))))
    }

    // how the fields of an object are found out (`shape`): none of these is shown to others
    fn visit_i64<E>(self, _: i64) -> Result<Writes, E> {
        Ok(Writes::default())
    }
}

impl<'de> Deserialize<'de> for OwnedFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = 0;
        Level { parent: "", fields: &mut fields }.deserialize(deserializer)?;
        Ok(OwnedFields(fields))
    }
}

/// The fields below one; all that is not of interest is passed over.
struct Level<'a> {
    parent: &'static str,
    fields: &'a mut u16,
}

enum Step {
    /// The object itself.
    Itself,
    Spec,
    Known(Written),
    Other,
}

impl<'de> DeserializeSeed<'de> for Level<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Level<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a set of fields")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(step) = map.next_key_seed(Key(self.parent))? {
            match step {
                Step::Spec => {
                    map.next_value_seed(Level { parent: "f:spec", fields: self.fields })?;
                    continue;
                }
                Step::Known(field) => *self.fields |= field.bit(),
                Step::Other => *self.fields |= OTHER,
                Step::Itself => {}
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// A key, read where it stands.
struct Key(&'static str);

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Step;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Step, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Step;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E>(self, key: &str) -> Result<Step, E> {
        Ok(match key {
            "." => Step::Itself,
            "f:spec" if self.0.is_empty() => Step::Spec,
            key => Written::of(self.0, key).map_or(Step::Other, Step::Known),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Writes {
        serde_json::from_str(json).unwrap()
    }

    const ENTRIES: &str = r#"[
        {"manager": "kubectl-edit", "operation": "Update", "time": "2026-03-01T10:00:00Z", "fieldsType": "FieldsV1",
         "fieldsV1": {"f:spec": {"f:numberOfReplicas": {}}}},
        {"manager": "longhorn-manager", "time": "2026-03-01T11:00:00Z",
         "fieldsV1": {"f:metadata": {"f:finalizers": {".": {}}}, "f:spec": {".": {}, "f:nodeID": {}, "f:numberOfReplicas": {}}}},
        {"manager": "longhorn-manager", "time": "2026-03-01T11:30:00Z", "subresource": "status", "fieldsV1": {"f:value": {}}},
        {"manager": "ancient-changes", "time": "2026-03-01T09:00:00Z", "fieldsV1": {"f:value": {}}},
        {"manager": "kubelet", "time": "2026-03-01T11:30:00Z", "fieldsV1": {"f:status": {"f:value": {}}}},
        {"manager": "kubelet", "fieldsV1": {"f:value": {}}}
    ]"#;

    #[test]
    fn entries_of_fields_that_people_change_stay_and_one_of_many_dates_none() {
        let writes = read(ENTRIES);
        let told: Vec<_> = writes.iter().map(|one| (one.manager.as_str(), one.is_of_one_field())).collect();
        assert_eq!(told, [("kubectl-edit", true), ("longhorn-manager", false)]);
        assert!(writes.iter().all(|one| one.fields().eq([Written::NumberOfReplicas])));
        let kept = |kind| {
            let mut writes = writes.clone();
            writes.prune(kind);
            writes.iter().count()
        };
        assert_eq!([Resource::Settings, Resource::Volumes, Resource::Replicas].map(kept), [2, 1, 0]);
        assert!(read("[]").iter().next().is_none());
    }

    #[test]
    fn what_is_recorded_of_them_reads_the_same_and_is_shorter() {
        let writes = read(ENTRIES);
        let written = writes.to_json().to_string();
        assert_eq!(read(&written), writes);
        assert!(written.len() < ENTRIES.len() / 2, "{written}");
    }

    #[test]
    fn every_field_has_a_bit_of_its_own() {
        let bits = Written::ALL.iter().fold(0, |bits, (field, ..)| bits | field.bit());
        assert_eq!(bits.count_ones() as usize, Written::ALL.len());
        assert_eq!(bits & OTHER, 0);
    }
}
