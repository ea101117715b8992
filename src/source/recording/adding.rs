//! What a file adds to a recording: its objects, one at a time where it is a list, and what it says beside them.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use jiff::Timestamp;

use super::tree::Tree;
use super::{RecordedFile, Recording, RecordingError, decode, document, files, lists};
use crate::longhorn::{Resource, Scope};

impl Recording {
    pub(super) fn add_path(
        &mut self,
        path: &Path,
        namespace: &str,
        latest: Timestamp,
    ) -> Result<(), RecordingError> {
        // a pipe cannot be read twice
        if path.is_file() {
            let file = files::open(path)?;
            if self.add_list(&path.display().to_string(), file, namespace, latest)? {
                return Ok(());
            }
        }
        self.add_whole(&files::read(path)?, namespace, latest)
    }

    pub(super) fn add_file(
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
