//! A list as it is recorded: without secrets of other tools, and without most of who wrote which field.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::longhorn::{Application, HelmChart, HelmRelease, Lease, Pod, Resource, Volume, Writes};
use crate::wanted_logs::is_unmounted;

/// Bytes of a list: that of the largest clusters has some hundred MB, and a disk is not filled for less.
const LIST_BYTES: u64 = 4 << 30;
/// Bytes of a list that are written at once.
const SPOOLED: usize = 64 * 1024;

/// A list as it is recorded, an object a line, in a file that nothing else sees until it is whole; and what is needed
/// of it to decide whose logs are wanted.
pub(super) struct Listed<'a> {
    pub(super) objects: usize,
    bytes: u64,
    spool: BufWriter<&'a File>,
    written: io::Result<()>,
    pub(super) pods: Vec<Pod>,
    pub(super) leases: Vec<Lease>,
    /// Those whose pods wait.
    pub(super) volumes: Vec<Volume>,
}

impl<'a> Listed<'a> {
    pub(super) fn of(resource: Resource, mut spool: &'a File) -> Self {
        let info = resource.info();
        let group = if info.group.is_empty() { String::new() } else { format!("{}/", info.group) };
        let (version, kind) =
            (json!(format!("{group}{}", info.version)), json!(format!("{}List", info.kind)));
        // that of an attempt that failed may be in it
        let emptied = spool.set_len(0).and_then(|()| spool.rewind());
        let mut listed = Listed {
            objects: 0,
            bytes: 0,
            spool: BufWriter::with_capacity(SPOOLED, spool),
            written: emptied,
            pods: Vec::new(),
            leases: Vec::new(),
            volumes: Vec::new(),
        };
        listed.write(&format!("{{\"apiVersion\":{version},\"kind\":{kind},\"items\":[\n"));
        listed
    }

    fn write(&mut self, text: &str) {
        self.bytes += text.len() as u64;
        if self.written.is_ok() {
            self.written = self.spool.write_all(text.as_bytes());
        }
    }

    /// Adds an object, as it came where it may stay so. What was applied once is left out, and most of who wrote which field.
    pub(super) fn add(&mut self, resource: Resource, item: &RawValue) -> serde_json::Result<()> {
        let item = item.get();
        match resource {
            Resource::Pods => self.pods.extend(serde_json::from_str::<Pod>(item)),
            Resource::Leases => self.leases.extend(serde_json::from_str::<Lease>(item)),
            Resource::Volumes => {
                self.volumes.extend(serde_json::from_str::<Volume>(item).ok().filter(is_unmounted));
            }
            _ => {}
        }
        let bare = if resource.is_of_a_tool() {
            match of_a_tool(resource, &serde_json::from_str(item)?) {
                Some(bare) => bare.to_string(),
                None => return Ok(()),
            }
        } else if MANAGED.iter().any(|key| memmem::find(item.as_bytes(), key.as_bytes()).is_some()) {
            without_managed(resource, serde_json::from_str(item)?).to_string()
        } else {
            String::new()
        };
        if self.objects > 0 {
            self.write(",\n");
        }
        self.write(if bare.is_empty() { item } else { &bare });
        self.objects += 1;
        match self.bytes > LIST_BYTES {
            true => Err(serde::de::Error::custom("the list has no end")),
            false => Ok(()),
        }
    }

    /// Ends the list, which the file then is from its begin; returns its size, and fails if it could not be kept.
    pub(super) fn end(mut self) -> io::Result<u64> {
        self.write("\n]}\n");
        self.written?;
        self.spool.flush()?;
        let mut spool = *self.spool.get_ref();
        let size = spool.stream_position()?;
        spool.rewind()?;
        Ok(size)
    }
}

/// What an object has that has to be left out of it; of its managed fields the brackets may stay.
const MANAGED: [&str; 2] = ["\"managedFields\":[{", LAST_APPLIED];
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

fn without_managed(resource: Resource, mut item: Value) -> Value {
    if let Some(metadata) = item.get_mut("metadata").and_then(Value::as_object_mut) {
        let managed = metadata.remove("managedFields").filter(|_| resource.keeps_writes());
        if let Some(mut writes) = managed.and_then(|managed| Writes::deserialize(managed).ok()) {
            writes.prune(resource);
            if writes.iter().len() > 0 {
                metadata.insert("managedFields".to_owned(), writes.to_json());
            }
        }
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(LAST_APPLIED);
        }
    }
    item
}

/// What is read of an object of another tool, whose values may hold secrets; none of what installs something else.
fn of_a_tool(resource: Resource, item: &Value) -> Option<Value> {
    const READ: &[&str] = &[
        "/spec/chart", "/spec/version", "/spec/targetNamespace", "/spec/failurePolicy", "/spec/suspend",
        "/spec/upgrade/remediation", "/spec/source/chart", "/status/conditions", "/status/sync/status",
        "/status/operationState/phase", "/status/operationState/message",
        "/status/operationState/finishedAt",
    ];
    let ours = match resource {
        Resource::HelmCharts => HelmChart::deserialize(item).is_ok_and(|chart| chart.is_longhorn()),
        Resource::HelmReleases => HelmRelease::deserialize(item).is_ok_and(|release| release.is_longhorn()),
        _ => Application::deserialize(item).is_ok_and(|application| application.is_longhorn()),
    };
    if !ours {
        return None;
    }
    let metadata = |key: &str| item.pointer(&format!("/metadata/{key}")).cloned().unwrap_or_default();
    let mut bare = json!({
        "apiVersion": item.get("apiVersion"),
        "kind": item.get("kind"),
        "metadata": { "name": metadata("name"), "namespace": metadata("namespace") },
    });
    for path in READ {
        if let Some(value) = item.pointer(path) {
            put(&mut bare, path, value.clone());
        }
    }
    let managers = |one: &&Value| {
        let is = |key, value| one.get(key).and_then(Value::as_str) == Some(value);
        is("kind", "DaemonSet") && is("name", "longhorn-manager")
    };
    let charts = |sources: &Vec<Value>| -> Value {
        sources.iter().map(|source| json!({ "chart": source.get("chart") })).collect()
    };
    if let Some(sources) = item.pointer("/spec/sources").and_then(Value::as_array) {
        put(&mut bare, "/spec/sources", charts(sources));
    }
    if let Some(resources) = item.pointer("/status/resources").and_then(Value::as_array) {
        put(&mut bare, "/status/resources", resources.iter().filter(managers).cloned().collect());
    }
    Some(bare)
}

/// Puts a value where a pointer says, with the objects on the way.
fn put(tree: &mut Value, pointer: &str, value: Value) {
    let mut place = tree;
    for key in pointer.split('/').skip(1) {
        let Value::Object(entries) = (match place {
            Value::Null => {
                *place = json!({});
                place
            }
            place => place,
        }) else {
            return;
        };
        place = entries.entry(key).or_insert(Value::Null);
    }
    *place = value;
}
