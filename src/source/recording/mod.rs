//! A recorded cluster: a directory of YAML and JSON, one file of `kubectl get -o yaml|json` output,
//! or standard input.
//!
//! Archives (`.tar`, `.tar.gz`, the `.zip` of a support bundle) are read member by member; whatever else yields
//! [`RecordedFile`]s can be read by [`Recording::from_files`].

pub mod anonymize;
pub(crate) mod archive;
#[cfg(test)]
mod archive_tests;
mod bundle;
mod decode;
mod document;
pub(crate) mod files;
mod json;
mod lists;
mod logs;
#[cfg(test)]
mod loss_tests;
mod scalar;
#[cfg(test)]
mod tests;
mod tree;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek};
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use thiserror::Error;

use crate::cluster::{Cluster, NO_MOMENT, Readability, ResourceStatus};
use crate::history::History;
use crate::longhorn::{Objects, Release, Resource, Scope, Writes};
use anonymize::Kept;
use archive::Member;
use files::FileKind;
use tree::Tree;

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
    /// An archive that is not read: compressed otherwise, or within another.
    #[error("{file}: is an archive; unpack it and give the directory or file in it")]
    Archive { file: String },
    /// A file is neither YAML nor JSON.
    #[error("{file}:{line}: not valid YAML or JSON: {message}")]
    Syntax {
        file: String,
        /// Line of the file, from 1.
        line: u64,
        /// What the parser said.
        message: String,
    },
    /// Nothing in it is an object that is read here.
    #[error(
        "{path}: no object of Longhorn or of Kubernetes that belongs to it; docs/recording.md shows how to record a cluster{}{}",
        if *.directory { ", here only files named .yaml, .yml, .json and .log are read" } else { "" },
        some_of(.losses)
    )]
    Empty {
        /// What was asked for.
        path: String,
        /// Other files of a directory are not looked at.
        directory: bool,
        /// What is in it instead, by file.
        losses: Vec<String>,
    },
    /// Objects of two clusters.
    #[error("two clusters in one recording: {object} is {first}, but {second}; give one of them")]
    TwoClusters {
        /// An object that both have.
        object: String,
        /// Its identity in the one, and the file.
        first: String,
        /// Its identity in the other, and the file.
        second: String,
    },
    /// Longhorn is in it, but in another namespace.
    #[error("{path}: no Longhorn object in namespace {namespace}, but in {found}; set that with --namespace")]
    OtherNamespace {
        /// What was asked for.
        path: String,
        /// The namespace asked for.
        namespace: String,
        /// Where Longhorn is.
        found: String,
    },
}

/// Files that an error names; an archive may have tens of thousands.
const NAMED: usize = 5;

fn some_of(losses: &[String]) -> String {
    let said: String = losses.iter().take(NAMED).map(|loss| format!("; {loss}")).collect();
    match losses.len().saturating_sub(NAMED) {
        0 => said,
        more => format!("{said}; and {more} more"),
    }
}

/// One file of a recording.
#[derive(Debug, Clone)]
pub struct RecordedFile {
    /// Path as a person knows it, for messages.
    pub name: String,
    pub content: Vec<u8>,
}

/// What a recording holds.
#[derive(Debug, Default)]
pub struct Recording {
    objects: Objects,
    undecodable: BTreeMap<Resource, Vec<String>>,
    /// Kinds that are there as a whole: in a list, or asked for and empty.
    whole: BTreeSet<Resource>,
    /// Kinds that the API server did not know.
    not_served: BTreeSet<Resource>,
    /// Kinds that the recording says it has, each in a file of its name.
    promised: BTreeSet<Resource>,
    /// Logs that it says it has, and the list of them: pod and file.
    promised_logs: Vec<[String; 2]>,
    /// Names of the files that were read, without the endings of objects.
    files: BTreeSet<String>,
    /// What files lost, and of which kinds; of any, where none is named.
    losses: Vec<(String, BTreeSet<Resource>)>,
    history: History,
    unread_logs: Vec<[String; 2]>,
    times: Times,
    /// Objects that a cluster makes once, with their uid and file.
    lasting: BTreeMap<(Resource, String), (String, String)>,
    /// The release of the API server.
    api_server: Option<Release>,
    /// Nodes whose logs are there, and whether the kernel log was read to its end.
    kernel_logs: BTreeMap<String, bool>,
    /// When it was recorded, if it says so.
    moment: Option<Timestamp>,
    /// What is to be written again.
    kept: Option<Kept>,
    /// Whether Longhorn is in the namespace asked for.
    at_home: bool,
    /// Other namespaces that Longhorn is in; their objects are left out.
    other_homes: BTreeSet<String>,
    /// What was skipped, one sentence each.
    pub warnings: Vec<String>,
}

/// The newest times of two objects, and how many objects have one.
#[derive(Debug, Default, Clone)]
struct Times {
    newest: Option<(Timestamp, String)>,
    second: Option<Timestamp>,
    objects: usize,
}

/// Where this many objects agree about the time, one that is so much ahead of all others is wrong: a
/// running cluster renews Leases and heartbeats within minutes.
const AGREED: usize = 10;
const FAR_AHEAD: SignedDuration = SignedDuration::from_hours(6);

impl Times {
    fn add(&mut self, time: Timestamp, object: String) {
        self.objects += 1;
        match &self.newest {
            Some((newest, _)) if time <= *newest => self.second = self.second.max(Some(time)),
            newest => {
                self.second = newest.as_ref().map(|(time, _)| *time);
                self.newest = Some((time, object));
            }
        }
    }

    /// The one object that is far ahead of all others, with its time and theirs.
    fn far_ahead(&self) -> Option<(&str, Timestamp, Timestamp)> {
        let ((newest, object), second) = (self.newest.as_ref()?, self.second?);
        let far = self.objects > AGREED && newest.duration_since(second) > FAR_AHEAD;
        far.then_some((object.as_str(), *newest, second))
    }
}

impl Recording {
    /// Reads a path: `-` for standard input, a directory, or a file. Times after `latest` are no
    /// evidence of when the recording was made: clocks may be wrong, certificates end in the future.
    pub fn read(path: &Path, namespace: &str, latest: Timestamp) -> Result<Recording, RecordingError> {
        Recording::default().with_path(path, namespace, latest)
    }

    /// One that can be written again by [`anonymize::anonymize`].
    pub fn to_anonymize() -> Recording {
        Recording { kept: Some(Kept::default()), ..Recording::default() }
    }

    /// With what is at a path, as [`Recording::read`] reads it.
    pub fn with_path(
        self,
        path: &Path,
        namespace: &str,
        latest: Timestamp,
    ) -> Result<Recording, RecordingError> {
        let is_input = path.as_os_str() == "-";
        let mut recording = self;
        if let Some(mut archive) = files::archive(path)? {
            recording.add_archive(&mut archive, namespace, latest)?;
        } else {
            let files = match !is_input && path.is_dir() {
                true => files::below(path)?,
                false => vec![(FileKind::Objects, path.to_owned())],
            };
            // one at a time: there may be many, and little of each is kept
            for (kind, path) in files {
                match kind {
                    FileKind::Log => recording.add_log(files::read_log(&path)?),
                    FileKind::Errors => recording.add_errors(&files::read(&path)?, namespace),
                    FileKind::Node => {
                        recording.add_node(&path.display().to_string(), files::open(&path)?, namespace);
                    }
                    _ => recording.add_path(&path, namespace, latest)?,
                }
            }
        }
        let name = if is_input { files::STANDARD_INPUT.to_owned() } else { path.display().to_string() };
        if !recording.at_home && !recording.other_homes.is_empty() {
            let found: Vec<_> = recording.other_homes.into_iter().collect();
            let (namespace, found) = (namespace.to_owned(), found.join(", "));
            return Err(RecordingError::OtherNamespace { path: name, namespace, found });
        }
        if recording.is_empty() {
            let losses = recording.losses.into_iter().map(|(what, _)| what).collect();
            return Err(RecordingError::Empty { path: name, directory: path.is_dir(), losses });
        }
        Ok(recording.warned())
    }

    /// Reads files. Objects of other namespaces are left out; the last of two objects with the same
    /// name wins.
    pub fn from_files(
        files: impl IntoIterator<Item = RecordedFile>,
        namespace: &str,
        latest: Timestamp,
    ) -> Result<Recording, RecordingError> {
        Recording::default().with_files(files, namespace, latest)
    }

    /// With files, as [`Recording::from_files`] reads them.
    pub fn with_files(
        mut self,
        files: impl IntoIterator<Item = RecordedFile>,
        namespace: &str,
        latest: Timestamp,
    ) -> Result<Recording, RecordingError> {
        self.add_files(files, namespace, latest)?;
        Ok(self.warned())
    }

    /// Reads an archive that is open; what is none has nothing in it.
    pub fn from_archive(
        path: &Path,
        file: impl Read + Seek,
        namespace: &str,
        latest: Timestamp,
    ) -> Result<Recording, RecordingError> {
        let mut recording = Recording::default();
        let unreadable = |reason| RecordingError::Unreadable { path: path.display().to_string(), reason };
        if let Some(mut archive) = archive::Archive::new(path, file).map_err(unreadable)? {
            recording.add_archive(&mut archive, namespace, latest)?;
        }
        Ok(recording.warned())
    }

    fn add_files(
        &mut self,
        files: impl IntoIterator<Item = RecordedFile>,
        namespace: &str,
        latest: Timestamp,
    ) -> Result<(), RecordingError> {
        let (mut logs, mut nodes) = (Vec::new(), Vec::new());
        for file in files {
            match FileKind::of(Path::new(&file.name)) {
                FileKind::Errors => self.add_errors(&file, namespace),
                FileKind::Node => nodes.push(file),
                FileKind::Log => logs.push(file),
                _ => self.add_file(&file, namespace, latest)?,
            }
        }
        for file in nodes {
            self.add_node(&file.name, std::io::Cursor::new(file.content), namespace);
        }
        logs.sort_by_key(|file| logs::order(&file.name));
        for file in logs {
            self.add_log(file);
        }
        Ok(())
    }

    fn add_log(&mut self, file: RecordedFile) {
        self.note_log(&file);
        logs::LogFile::from(file).add_to(&mut self.history, &self.objects, self.kept.as_mut());
    }

    fn note_log(&mut self, file: &RecordedFile) {
        let name = Path::new(&file.name).file_name().and_then(|name| name.to_str());
        self.files.extend(name.map(str::to_owned));
    }

    /// Objects first, which say whose logs are useful. A link is what a file system has: its target may lie outside.
    fn add_archive(
        &mut self,
        archive: &mut archive::Archive<impl Read + Seek>,
        namespace: &str,
        latest: Timestamp,
    ) -> Result<(), RecordingError> {
        archive.each(&[FileKind::Objects, FileKind::Errors], &mut |member| match member {
            Member::File(file) if FileKind::of(Path::new(&file.name)) == FileKind::Errors => {
                self.add_errors(&file, namespace);
                Ok(())
            }
            Member::File(file) => self.add_file(&file, namespace, latest),
            Member::Link { name, target } => {
                let what = format!(
                    "{name}: is a link to {target}, which is not followed in an archive; unpack it and give the directory"
                );
                self.losses.push((what, document::kinds_of_name(&name)));
                Ok(())
            }
        })?;
        let mut logs = Vec::new();
        archive.each(&[FileKind::Log, FileKind::Node], &mut |member| {
            match member {
                Member::File(file) if FileKind::of(Path::new(&file.name)) == FileKind::Node => {
                    self.add_node(&file.name, std::io::Cursor::new(file.content), namespace);
                }
                Member::File(file) => {
                    self.note_log(&file);
                    logs.extend(Some(logs::LogFile::from(file)).filter(|log| log.is_of_a_pod(&self.objects)));
                }
                Member::Link { name, target } => {
                    self.warnings
                        .push(format!("{name}: is a link to {target}, which is not followed in an archive"));
                }
            }
            Ok(())
        })?;
        if let Some(place) = archive.cut.take() {
            let what = format!("{}: is cut off {place}", archive.name());
            self.losses.push((what, BTreeSet::new()));
        }
        logs.sort_by_key(logs::LogFile::order);
        for log in logs {
            log.add_to(&mut self.history, &self.objects, self.kept.as_mut());
        }
        Ok(())
    }

    fn warned(mut self) -> Self {
        self.judge_nodes();
        for [pod, file] in std::mem::take(&mut self.promised_logs) {
            if !self.files.contains(&file) {
                self.warnings.push(format!("{file}: the recording lacks this file; what it held is unknown"));
                self.unread_logs
                    .extend((!pod.is_empty()).then(|| [pod, format!("the recording lacks its file {file}")]));
            }
        }
        for [pod, why] in std::mem::take(&mut self.unread_logs) {
            if let Some(kept) = &mut self.kept {
                kept.unread_log(&pod, &why);
            }
            let uid = self.objects.pods.get(&pod).map(|pod| pod.metadata.uid.clone());
            self.history.crash_log_unread(&pod, &uid.unwrap_or_default(), &why);
        }
        for kind in std::mem::take(&mut self.promised) {
            let there = self.files.contains(&kind.label());
            if !there {
                let what = format!("{kind}: the recording lacks the file of this kind");
                self.losses.push((what, [kind].into()));
            }
        }
        self.warnings.extend(self.losses.iter().map(|(what, _)| format!("{what}; what it held is unknown")));
        if let Some((object, newest, second)) = self.times.far_ahead() {
            self.warnings.push(format!(
                "{object} has the time {newest}, far ahead of all others; judged at {second}, give --now to change that"
            ));
        }
        self
    }

    /// True when nothing in it could be used, not even partly.
    pub fn is_empty(&self) -> bool {
        self.undecodable.is_empty() && Resource::all().all(|resource| self.objects.count(resource) == 0)
    }

    /// The moment the recording was made, as it says itself; otherwise the newest time written in it, unless one object is far ahead
    /// of all others.
    pub fn newest(&self) -> Option<Timestamp> {
        if self.moment.is_some() {
            return self.moment;
        }
        let far_ahead = self.times.far_ahead().map(|(_, _, others)| others);
        far_ahead.or(self.times.newest.as_ref().map(|(time, _)| *time))
    }

    /// The cluster at `now`, which is the newest time in the recording unless given.
    pub fn into_cluster(self, namespace: &str, now: Option<Timestamp>) -> Cluster {
        let now = now.or(self.newest()).unwrap_or(NO_MOMENT);
        let resources = Resource::all().map(|resource| (resource, self.status(resource))).collect();
        let mut cluster = Cluster::new(namespace, now, self.objects, self.history, resources);
        cluster.api_server = self.api_server;
        cluster
    }

    fn status(&self, resource: Resource) -> ResourceStatus {
        let errors = self.undecodable.get(&resource);
        let undecodable = errors.map_or(0, Vec::len);
        let is_whole = self.whole.contains(&resource);
        let held = |kinds: &BTreeSet<Resource>| kinds.contains(&resource) || kinds.is_empty() && !is_whole;
        let loss = self.losses.iter().find(|(_, kinds)| held(kinds));
        let (readability, error) = match loss {
            Some((what, _)) => (Readability::Incomplete, Some(what.clone())),
            None if is_whole || self.objects.count(resource) + undecodable > 0 => {
                (Readability::Readable, errors.and_then(|errors| errors.last().cloned()))
            }
            None if self.not_served.contains(&resource) => (Readability::NotServed, None),
            None => (Readability::NotRecorded, None),
        };
        ResourceStatus { readability, undecodable, error, ..ResourceStatus::default() }
    }

    fn add_path(&mut self, path: &Path, namespace: &str, latest: Timestamp) -> Result<(), RecordingError> {
        // a pipe cannot be read twice
        if path.is_file() {
            let file = files::open(path)?;
            if self.add_list(&path.display().to_string(), file, namespace, latest)? {
                return Ok(());
            }
        }
        self.add_whole(&files::read(path)?, namespace, latest)
    }

    fn add_file(
        &mut self,
        file: &RecordedFile,
        namespace: &str,
        latest: Timestamp,
    ) -> Result<(), RecordingError> {
        match self.add_list(&file.name, file.content.as_slice(), namespace, latest)? {
            true => Ok(()),
            false => self.add_whole(file, namespace, latest),
        }
    }

    /// Adds a list in JSON, an object at a time; false for what has to be read as a whole.
    fn add_list(
        &mut self,
        name: &str,
        file: impl Read,
        namespace: &str,
        latest: Timestamp,
    ) -> Result<bool, RecordingError> {
        // objects that are taken twice are the same, but what is said of them would be said twice
        let before = (self.warnings.len(), self.undecodable.clone(), self.times.clone());
        let mut listed = BTreeSet::new();
        let content = lists::read(name, file, &mut |object| {
            let Some(resource) = document::resource_of(&object) else { return Ok(()) };
            listed.insert(resource);
            self.add(name, resource, &object, namespace, latest)
        })?;
        match content {
            Some(content) => {
                self.whole.append(&mut listed);
                self.note(name, content);
                Ok(true)
            }
            None => {
                self.warnings.truncate(before.0);
                (self.undecodable, self.times) = (before.1, before.2);
                Ok(false)
            }
        }
    }

    fn add_whole(
        &mut self,
        file: &RecordedFile,
        namespace: &str,
        latest: Timestamp,
    ) -> Result<(), RecordingError> {
        let mut content = document::read(file)?;
        for (object, is_listed) in std::mem::take(&mut content.objects) {
            let Some(resource) = document::resource_of(&object) else { continue };
            if is_listed {
                self.whole.insert(resource);
            }
            self.add(&file.name, resource, &object, namespace, latest)?;
        }
        self.note(&file.name, content);
        Ok(())
    }

    /// What a file says beside its objects.
    fn note(&mut self, name: &str, content: document::Content) {
        let losses = content.losses.into_iter();
        self.losses.extend(losses.map(|loss| (format!("{name}:{}: {}", loss.line, loss.what), loss.kinds)));
        self.whole.extend(content.empty);
        self.not_served.extend(content.not_served);
        self.api_server = self.api_server.or(content.api_server);
        self.moment = self.moment.or(content.moment);
        self.promised.extend(content.promised);
        self.promised_logs.extend(content.promised_logs);
        let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str());
        self.files.extend(stem.map(str::to_owned));
        self.unread_logs.extend(content.unread_logs);
    }

    fn add(
        &mut self,
        file: &str,
        resource: Resource,
        object: &Tree,
        namespace: &str,
        latest: Timestamp,
    ) -> Result<(), RecordingError> {
        let object_namespace = object.text(&["metadata", "namespace"]);
        let name = object.text(&["metadata", "name"]);
        let home = match resource.info().scope {
            Scope::Namespaced => Some(namespace),
            Scope::InNamespace { namespace, .. } => Some(namespace),
            Scope::Cluster | Scope::ClusterNamed(_) | Scope::ClusterLabelled(_) => None,
        };
        // a fresh installation has managers and no object of Longhorn's kinds yet
        let of_longhorn = resource.is_longhorn() || name == "longhorn-manager";
        let elsewhere = !object_namespace.is_empty() && home.is_some_and(|home| home != object_namespace);
        if elsewhere && !document::is_about_a_claim(resource, object) {
            if of_longhorn {
                self.other_homes.insert(object_namespace.to_owned());
            }
            return Ok(());
        }
        self.at_home |= of_longhorn;
        if let Some(kept) = &mut self.kept {
            kept.object(resource, object);
        }
        let kind = resource.info().kind;
        self.compare(file, resource, object)?;
        if let Some(time) = document::newest_time(object, latest) {
            self.times.add(time, format!("{file}: {kind} {name}"));
        }
        let decoded = match name {
            "" => Err("metadata.name is missing".to_owned()),
            _ => self.objects.insert(resource, decode::Node(object)).map_err(|misfit| misfit.to_string()),
        };
        if let Err(error) = decoded {
            let name = if name.is_empty() { "without a name" } else { name };
            let message = format!("{file}: {kind} {name} does not decode: {error}");
            self.warnings.push(message.clone());
            self.undecodable.entry(resource).or_default().push(message);
        }
        Ok(())
    }

    /// Compares an object that a cluster makes once with what other files have under its name.
    fn compare(&mut self, file: &str, resource: Resource, object: &Tree) -> Result<(), RecordingError> {
        use Resource::*;
        if !matches!(
            resource,
            Settings
                | DaemonSets
                | Services
                | KubeNodes
                | ValidatingWebhookConfigurations
                | MutatingWebhookConfigurations
        ) {
            return Ok(());
        }
        let text = |field| object.text(&["metadata", field]).to_owned();
        let identity = match text("uid") {
            uid if uid.is_empty() => text("creationTimestamp"),
            uid => uid,
        };
        let name = text("name");
        let first =
            self.lasting.entry((resource, name.clone())).or_insert((identity.clone(), file.to_owned()));
        if identity == first.0 || identity.is_empty() || first.0.is_empty() {
            return Ok(());
        }
        let object = format!("{} {name}", resource.info().kind);
        let (first, second) = (format!("{} in {}", first.0, first.1), format!("{identity} in {file}"));
        Err(RecordingError::TwoClusters { object, first, second })
    }
}

/// Of who wrote which field, which is half of an object, what is of interest.
fn writes(managed: &Tree) -> Tree {
    let writes = Writes::deserialize(decode::Node(managed)).unwrap_or_default();
    json::tree(&writes.to_json())
}

/// Drops the place a parser adds to what it says: it counts from the beginning of the document or
/// object, and a reader looks at the file.
fn without_position(mut message: String) -> String {
    if let Some(at) = message.rfind(" at line ") {
        message.truncate(at);
    }
    message
}
