//! A recorded cluster: a directory of YAML and JSON, one file of `kubectl get -o yaml|json` output,
//! or standard input.
//!
//! Support bundle archives come in through the same seam: whatever yields [`RecordedFile`]s can be
//! read by [`Recording::from_files`].

mod document;
pub(crate) mod logs;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use thiserror::Error;

use crate::cluster::{Cluster, NO_MOMENT, Readability, ResourceStatus};
use crate::history::History;
use crate::longhorn::{Objects, Resource, Scope};

/// A recording that cannot be used. The message names the file and says what to do.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// The path does not exist or is not readable.
    #[error("{path}: {reason}")]
    Unreadable {
        /// What was asked for.
        path: String,
        /// What the system said.
        reason: std::io::Error,
    },
    /// An archive or a compressed file.
    #[error("{file}: is an archive; unpack it and give the directory or file in it")]
    Archive {
        /// The file.
        file: String,
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
    /// Nothing in it is an object that is read here.
    #[error(
        "{path}: no object of Longhorn or of Kubernetes that belongs to it; README.md shows how to record a cluster{}",
        if *.directory { ", here only files named .yaml, .yml, .json and .log are read" } else { "" }
    )]
    Empty {
        /// What was asked for.
        path: String,
        /// Other files of a directory are not looked at.
        directory: bool,
    },
    /// Longhorn is in it, but in another namespace.
    #[error(
        "{path}: nothing of Longhorn in namespace {namespace}, but in {found}; give that with --namespace"
    )]
    OtherNamespace {
        /// What was asked for.
        path: String,
        /// The namespace asked for.
        namespace: String,
        /// Where Longhorn is.
        found: String,
    },
}

/// How messages call it.
const STANDARD_INPUT: &str = "standard input";

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
    /// Whether Longhorn is in the namespace asked for.
    at_home: bool,
    /// Other namespaces that Longhorn is in; their objects are left out.
    other_homes: BTreeSet<String>,
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
            read.map_err(|reason| unreadable(Path::new(STANDARD_INPUT), reason))?;
            vec![RecordedFile { name: STANDARD_INPUT.to_owned(), content }]
        } else if path.is_dir() {
            files_below(path)?
        } else {
            vec![read_file(path)?]
        };
        let recording = Recording::from_files(files, namespace, latest)?;
        let name =
            if path.as_os_str() == "-" { STANDARD_INPUT.to_owned() } else { path.display().to_string() };
        if !recording.at_home && !recording.other_homes.is_empty() {
            let found: Vec<_> = recording.other_homes.into_iter().collect();
            let (namespace, found) = (namespace.to_owned(), found.join(", "));
            return Err(RecordingError::OtherNamespace { path: name, namespace, found });
        }
        if recording.is_empty() {
            return Err(RecordingError::Empty { path: name, directory: path.is_dir() });
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
        let now = now.or(self.newest).unwrap_or(NO_MOMENT);
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
        // a fresh installation has managers and no object of Longhorn's kinds yet
        let of_longhorn = resource.is_longhorn() || name == "longhorn-manager";
        if !object_namespace.is_empty() && home.is_some_and(|home| home != object_namespace) {
            if of_longhorn {
                self.other_homes.insert(object_namespace.to_owned());
            }
            return;
        }
        self.at_home |= of_longhorn;
        self.newest = self.newest.max(document::newest_time(object, latest));
        if let Err(error) = self.objects.insert_json(resource, &object.to_string()) {
            let name = if name.is_empty() { "without a name" } else { name };
            let error = document::without_position(error.to_string());
            let message = format!("{file}: {} {name} does not decode: {error}", resource.info().kind);
            self.warnings.push(message.clone());
            self.undecodable.entry(resource).or_default().push(message);
        }
    }
}

fn unreadable(path: &Path, reason: std::io::Error) -> RecordingError {
    RecordingError::Unreadable { path: path.display().to_string(), reason }
}

fn read_file(path: &Path) -> Result<RecordedFile, RecordingError> {
    let content = std::fs::read(path).map_err(|reason| unreadable(path, reason))?;
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
    let entries = std::fs::read_dir(directory).map_err(|reason| unreadable(directory, reason))?;
    for entry in entries {
        let entry = entry.map_err(|reason| unreadable(directory, reason))?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(|reason| unreadable(directory, reason))?);
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
