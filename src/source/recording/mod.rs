//! A recorded cluster: a directory of YAML and JSON, one file of `kubectl get -o yaml|json` output,
//! or standard input.
//!
//! Archives (`.tar`, `.tar.gz`, the `.zip` of a support bundle) are read member by member; whatever else yields
//! [`RecordedFile`]s can be read by [`Recording::from_files`].

mod adding;
pub mod anonymize;
pub(crate) mod archive;
#[cfg(test)]
mod archive_tests;
mod bundle;
mod decode;
mod document;
mod error;
pub(crate) mod files;
mod json;
mod lists;
mod logs;
#[cfg(test)]
mod loss_tests;
mod reading;
mod scalar;
#[cfg(test)]
mod tests;
mod times;
mod tree;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Deserialize;

use crate::cluster::{Cluster, NO_MOMENT, Readability, ResourceStatus};
use crate::history::History;
use crate::longhorn::{Objects, Release, Resource, Writes};
use anonymize::Kept;
use times::Times;
use tree::Tree;

pub use error::RecordingError;

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

impl Recording {
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
            None if self.not_served.contains(&resource) => (Readability::NotInstalled, None),
            None => (Readability::NotRecorded, None),
        };
        ResourceStatus { readability, undecodable, error, ..ResourceStatus::default() }
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
