//! A recorded cluster: a directory of YAML and JSON, one file of `kubectl get -o yaml|json` output,
//! or standard input.
//!
//! Support bundle archives come in through the same seam: whatever yields [`RecordedFile`]s can be
//! read by [`Recording::from_files`].

mod document;
pub(crate) mod logs;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use thiserror::Error;

use crate::cluster::{Cluster, Readability, ResourceStatus};
use crate::history::History;
use crate::longhorn::{Objects, Resource, Scope};

/// A recording that cannot be used. The message names the file and says what to do.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// The path does not exist or is not readable.
    #[error("{path}: {source}")]
    Unreadable {
        /// What was asked for.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is neither YAML nor JSON.
    #[error("{file}:{line}: not valid YAML or JSON: {message}")]
    Syntax {
        /// The file.
        file: String,
        /// Line of the file, from 1.
        line: u64,
        /// What the parser said.
        message: String,
    },
    /// Nothing in it is a Kubernetes object.
    #[error(
        "{path}: no Kubernetes object found; record a cluster with \
         'kubectl get longhorn,pods,... -o yaml' as the README shows"
    )]
    Empty {
        /// What was asked for.
        path: String,
    },
}

/// One file of a recording.
#[derive(Debug, Clone)]
pub struct RecordedFile {
    /// Path as a person knows it, for messages.
    pub name: String,
    /// Its content.
    pub content: Vec<u8>,
}

/// What a recording holds.
#[derive(Debug, Default)]
pub struct Recording {
    objects: Objects,
    undecodable: BTreeMap<Resource, Vec<String>>,
    history: History,
    newest: Option<Timestamp>,
    /// Namespaced objects of other namespaces, which were left out.
    pub foreign: usize,
    /// What was skipped, one sentence each.
    pub warnings: Vec<String>,
}

impl Recording {
    /// Reads a path: `-` for standard input, a directory, or a file. Times after `latest` are no
    /// evidence of when the recording was made: clocks may be wrong, certificates end in the future.
    pub fn read(path: &Path, namespace: &str, latest: Timestamp) -> Result<Recording, RecordingError> {
        let files = if path.as_os_str() == "-" {
            let mut content = Vec::new();
            let read = std::io::stdin().lock().read_to_end(&mut content);
            read.map_err(|source| unreadable(Path::new("standard input"), source))?;
            vec![RecordedFile { name: "standard input".to_owned(), content }]
        } else if path.is_dir() {
            files_below(path)?
        } else {
            vec![read_file(path)?]
        };
        let recording = Recording::from_files(files, namespace, latest)?;
        if recording.is_empty() {
            return Err(RecordingError::Empty { path: path.display().to_string() });
        }
        Ok(recording)
    }

    /// Reads files. Objects of other namespaces are left out; the last of two objects with the same
    /// name wins.
    pub fn from_files(
        files: impl IntoIterator<Item = RecordedFile>,
        namespace: &str,
        latest: Timestamp,
    ) -> Result<Recording, RecordingError> {
        let mut recording = Recording::default();
        let mut logs = Vec::new();
        for file in files {
            if file.name.ends_with(".log") {
                logs.push(file);
                continue;
            }
            for object in document::objects_in(&file)? {
                recording.add(&file.name, &object, namespace, latest);
            }
        }
        logs::add_to(&mut recording.history, &recording.objects, logs);
        Ok(recording)
    }

    /// True when nothing in it could be used, not even partly.
    pub fn is_empty(&self) -> bool {
        self.undecodable.is_empty() && Resource::all().all(|resource| self.objects.count(resource) == 0)
    }

    /// The moment the recording was made: the newest time written in it.
    pub fn newest(&self) -> Option<Timestamp> {
        self.newest
    }

    /// The cluster at `now`, which is the newest time in the recording unless given.
    pub fn into_cluster(self, namespace: &str, now: Option<Timestamp>) -> Cluster {
        let now = now.or(self.newest).unwrap_or(Timestamp::UNIX_EPOCH);
        let status = |resource| {
            let undecodable = self.undecodable.get(&resource).map_or(0, Vec::len);
            let readability = match self.objects.count(resource) + undecodable {
                0 => Readability::NotRecorded,
                _ => Readability::Readable,
            };
            let error = self.undecodable.get(&resource).and_then(|errors| errors.last().cloned());
            (resource, ResourceStatus { readability, undecodable, last_success: None, error })
        };
        let resources = Resource::all().map(status).collect();
        Cluster::new(namespace, now, self.objects, self.history, resources)
    }

    fn add(&mut self, file: &str, object: &serde_json::Value, namespace: &str, latest: Timestamp) {
        let text = |pointer| object.pointer(pointer).and_then(serde_json::Value::as_str).unwrap_or_default();
        let Some(mut resource) = Resource::of(text("/apiVersion"), text("/kind")) else { return };
        let object_namespace = text("/metadata/namespace");
        let name = text("/metadata/name");
        if resource == Resource::Events {
            let about = (text("/involvedObject/apiVersion"), text("/involvedObject/kind"));
            resource = Resource::of_event(object_namespace, about.0, about.1);
        }
        let home = match resource.info().scope {
            Scope::Namespaced => Some(namespace),
            Scope::InNamespace { namespace, .. } => Some(namespace),
            Scope::Cluster | Scope::ClusterNamed(_) => None,
        };
        if !object_namespace.is_empty() && home.is_some_and(|home| home != object_namespace) {
            self.foreign += 1;
            return;
        }
        self.newest = self.newest.max(document::newest_time(object, latest));
        if let Err(error) = self.objects.insert_json(resource, &object.to_string()) {
            let message = format!("{file}: {} {name} does not decode: {error}", resource.info().kind);
            self.warnings.push(message.clone());
            self.undecodable.entry(resource).or_default().push(message);
        }
    }
}

fn unreadable(path: &Path, source: std::io::Error) -> RecordingError {
    RecordingError::Unreadable { path: path.display().to_string(), source }
}

fn read_file(path: &Path) -> Result<RecordedFile, RecordingError> {
    let content = std::fs::read(path).map_err(|source| unreadable(path, source))?;
    Ok(RecordedFile { name: path.display().to_string(), content })
}

/// Every `.yaml`, `.yml`, `.json` and `.log` file below a directory, in the order of the paths.
fn files_below(directory: &Path) -> Result<Vec<RecordedFile>, RecordingError> {
    let mut paths = Vec::new();
    collect_paths(directory, &mut paths)?;
    paths.sort();
    paths.iter().map(|path| read_file(path)).collect()
}

fn collect_paths(directory: &Path, paths: &mut Vec<PathBuf>) -> Result<(), RecordingError> {
    let entries = std::fs::read_dir(directory).map_err(|source| unreadable(directory, source))?;
    for entry in entries {
        let entry = entry.map_err(|source| unreadable(directory, source))?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(|source| unreadable(directory, source))?);
        if kind.is_dir() {
            collect_paths(&path, paths)?;
        } else if path.extension().is_some_and(|ending| {
            ["yaml", "yml", "json", "log"].iter().any(|known| ending.eq_ignore_ascii_case(known))
        }) {
            paths.push(path);
        }
    }
    Ok(())
}
