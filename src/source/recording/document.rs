//! Objects out of a file: single ones, several documents, lists; and what a file must have lost.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use jiff::Timestamp;

use super::tree::{Broken, Count, Tree};
use super::{RecordedFile, RecordingError, json, yaml};
use crate::longhorn::{Release, Resource};
use crate::record;

/// What a file holds.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// Its objects, and whether each stands in a list that is whole.
    pub objects: Vec<(Tree, bool)>,
    /// Kinds that were asked for and of which there was none.
    pub empty: BTreeSet<Resource>,
    /// Kinds that were asked for and that the API server did not know.
    pub not_served: BTreeSet<Resource>,
    pub losses: Vec<Loss>,
    /// Kinds that the recording says it has.
    pub promised: BTreeSet<Resource>,
    /// Logs that it says it has, and the list of them: pod and file.
    pub promised_logs: Vec<[String; 2]>,
    /// Pods whose log could not be recorded, and why.
    pub unread_logs: Vec<[String; 2]>,
    /// The release of the API server.
    pub api_server: Option<Release>,
    /// When it was recorded.
    pub moment: Option<Timestamp>,
}

/// Something that was to be in a file and is not.
#[derive(Debug)]
pub(super) struct Loss {
    pub line: usize,
    pub what: String,
    /// Kinds that it held; any, where none is known.
    pub kinds: BTreeSet<Resource>,
}

/// Reads a file.
pub(super) fn read(file: &RecordedFile) -> Result<Content, RecordingError> {
    if ARCHIVES.iter().any(|magic| file.content.starts_with(magic)) {
        return Err(RecordingError::Archive { file: file.name.clone() });
    }
    let syntax = |broken: Broken| RecordingError::Syntax {
        file: file.name.clone(),
        line: broken.line as u64,
        message: broken.message.lines().next().unwrap_or_default().to_owned(),
    };
    let text = decode(&file.content).map_err(syntax)?;
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = DocumentReader::new(&file.name);
    if text.trim_start().starts_with('<') {
        reader.lost(1, "is HTML or XML, not objects");
        return Ok(reader.content);
    }
    let is_json = text.trim_start().starts_with(['{', '[']);
    let (text, documents) = if is_json {
        (Cow::Borrowed(text), json::documents(text, &Count::default()).map_err(syntax)?)
    } else {
        let text = reader.words_of_kubectl(text);
        let documents = yaml::documents(&text, &Count::default()).map_err(syntax)?;
        (text, documents)
    };
    if documents.iter().all(|(_, tree)| tree.is_nothing()) && reader.content.losses.is_empty() {
        reader.lost(1, "is empty: the command that was to write it failed");
    } else if !is_json && !text.ends_with('\n') {
        let lines = text.lines().count();
        reader.lost(lines, "does not end with a line break, so its end may be missing");
    }
    for (line, mut tree) in documents {
        if of_support_bundle(&file.name) {
            tree.null_the_words();
        }
        match tree {
            Tree::List(items) => {
                if !is_json {
                    reader.lost(line, "a list without head");
                }
                items.into_iter().for_each(|item| reader.document(item, line, is_json));
            }
            tree => reader.document(tree, line, false),
        }
    }
    Ok(reader.content)
}

/// Beginnings of zip, gzip, xz and zstd files.
const ARCHIVES: &[&[u8]] = &[b"PK\x03\x04", b"\x1f\x8b", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"];

/// UTF-8, or UTF-16 with its mark, which is what PowerShell writes for `kubectl … > file`.
fn decode(content: &[u8]) -> Result<Cow<'_, str>, Broken> {
    let broken = |before: usize, message: &str| Broken { line: before + 1, message: message.to_owned() };
    let unit: fn([u8; 2]) -> u16 = match content {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => {
            return std::str::from_utf8(content).map(Cow::Borrowed).map_err(|error| {
                let before = content.get(..error.valid_up_to()).unwrap_or_default();
                broken(before.iter().filter(|byte| **byte == b'\n').count(), "not UTF-8")
            });
        }
    };
    let units = content.chunks_exact(2).filter_map(|pair| Some(unit(pair.try_into().ok()?)));
    let text: Result<String, _> = char::decode_utf16(units).collect();
    match text {
        Ok(text) if content.len().is_multiple_of(2) => Ok(text.into()),
        _ => Err(broken(0, "not UTF-16, as its first bytes say")),
    }
}

/// The directories of a support bundle (rancher/support-bundle-kit v0.0.84 pkg/manager/cluster.go).
pub(super) fn of_support_bundle(name: &str) -> bool {
    ["yamls/namespaced/", "yamls/cluster/"].iter().any(|part| name.replace('\\', "/").contains(part))
}

pub(super) struct DocumentReader<'a> {
    file: &'a str,
    pub content: Content,
}

impl<'a> DocumentReader<'a> {
    pub fn new(file: &'a str) -> Self {
        DocumentReader { file, content: Content::default() }
    }

    /// Without a kind in the file's name, any may be lost.
    fn lost(&mut self, line: usize, what: impl Into<String>) {
        self.lost_of(line, what, kinds_of_name(self.file));
    }

    fn lost_of(&mut self, line: usize, what: impl Into<String>, kinds: BTreeSet<Resource>) {
        self.content.losses.push(Loss { line, what: what.into(), kinds });
    }

    /// Takes out what kubectl says beside objects, where its standard error went into the file, too.
    fn words_of_kubectl<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        const FAILED: &[&str] =
            &["error: ", "Error from server", "Unable to connect", "The connection to the server"];
        const SAID: &[&str] = &["Warning: ", "No resources found"];
        let begins = |line: &str, words: &[&str]| words.iter().any(|word| line.starts_with(word));
        if !text.lines().any(|line| begins(line, FAILED) || begins(line, SAID)) {
            return text.into();
        }
        let mut kept = String::with_capacity(text.len());
        for (number, line) in text.split_inclusive('\n').enumerate() {
            if begins(line, FAILED) {
                let refused = line.split_once("): ").and_then(|(_, rest)| rest.split_once(" is forbidden"));
                let kinds = refused.map(|(label, _)| kinds_of_label(label)).unwrap_or_default();
                self.lost_of(number + 1, line.trim_end(), kinds);
            }
            let is_said = begins(line, FAILED) || begins(line, SAID);
            kept.push_str(if is_said { "\n" } else { line });
        }
        kept.into()
    }

    pub fn document(&mut self, tree: Tree, line: usize, listed: bool) {
        match &tree {
            Tree::Map(_) => self.object(tree, line, listed),
            tree if tree.is_nothing() => {}
            Tree::Plain(text) | Tree::Text(text) => {
                let first: String =
                    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(60).collect();
                self.lost(line, format!("is text, not objects: {first}"));
            }
            other => self.lost(line, format!("{} where an object belongs", other.what())),
        }
    }

    fn object(&mut self, tree: Tree, line: usize, listed: bool) {
        let kind = tree.text(&["kind"]).to_owned();
        if kind.is_empty() {
            return self.without_kind(tree, line);
        }
        if kind == "Status" && tree.get("items").is_none() {
            if tree.text(&["details", "kind"]) == "pods/log" {
                let unread =
                    [&["details", "name"][..], &["message"][..]].map(|path| tree.text(path).to_owned());
                return self.content.unread_logs.push(unread);
            }
            let kinds = kinds_of_label(&format!(
                "{}.{}",
                tree.text(&["details", "kind"]),
                tree.text(&["details", "group"])
            ));
            // the release of Longhorn does not have the kind, or its definition is gone
            if tree.text(&["reason"]) == record::NOT_SERVED || tree.text(&["message"]).starts_with("404: ") {
                self.content.not_served.extend(kinds);
                return;
            }
            return self.lost_of(
                line,
                format!("a refusal of the API server: {}", tree.text(&["message"])),
                kinds,
            );
        }
        if kind == "Table" || kind.starts_with("PartialObjectMetadata") {
            return self.lost(line, format!("a {kind}, which does not hold the objects; ask for -o yaml"));
        }
        let version = tree.text(&["apiVersion"]).to_owned();
        if kind == record::MANIFEST_KIND && version == record::MANIFEST_VERSION {
            if let Some(Tree::List(kinds)) = tree.get("kinds") {
                let text = |kind: &Tree| match kind {
                    Tree::Text(text) | Tree::Plain(text) => kinds_of_label(text),
                    _ => BTreeSet::new(),
                };
                self.content.promised.extend(kinds.iter().flat_map(text));
            }
            match tree.get("logs") {
                Some(Tree::List(logs)) => {
                    let log = |log: &Tree| ["pod", "file"].map(|key| log.text(&[key]).to_owned());
                    self.content.promised_logs.extend(logs.iter().map(log));
                }
                // where they are listed, as none was known yet
                Some(Tree::Text(list)) => self.content.promised_logs.push([String::new(), list.to_string()]),
                _ => {}
            }
            self.content.api_server = Release::parse(tree.text(&["kubernetes"]));
            self.content.moment = tree.text(&["moment"]).parse().ok();
            return;
        }
        match kind.strip_suffix("List") {
            Some(member) if is_list_of(&version, &kind) => self.list(tree, member, &version, line),
            _ if version.is_empty() => {
                let kinds: BTreeSet<_> =
                    Resource::all().filter(|resource| resource.info().kind == kind).collect();
                if !kinds.is_empty() {
                    self.lost_of(line, format!("a {kind} without apiVersion"), kinds);
                }
            }
            _ => self.content.objects.push((tree, listed)),
        }
    }

    /// A list; the members of `PodList` and the like may lack apiVersion and kind.
    fn list(&mut self, mut tree: Tree, member: &str, version: &str, line: usize) {
        let mut kinds = if member.is_empty() { kinds_of_name(self.file) } else { kinds_of(version, member) };
        if kinds.contains(&Resource::Events) {
            // of both kinds of Events, as their namespace is unknown
            kinds.insert(Resource::NodeEvents);
        }
        let is_page = !tree.text(&["metadata", "continue"]).is_empty();
        let items = match tree.take("items") {
            Some(Tree::List(items)) => items,
            Some(items) if items.is_nothing() => Vec::new(),
            Some(_) => return self.lost_of(line, "a list whose items are no list", kinds),
            None => return self.lost_of(line, "a list without items", kinds),
        };
        if items.is_empty() {
            self.content.empty.append(&mut kinds);
            return;
        }
        let before = self.content.objects.len();
        for mut item in items {
            if !member.is_empty() {
                item.or_insert("kind", member);
                item.or_insert("apiVersion", version);
            }
            self.document(item, line, !is_page);
        }
        if is_page {
            let read = self.content.objects.get(before..).unwrap_or_default();
            let kinds = read.iter().filter_map(|(object, _)| resource_of(object)).collect();
            self.lost_of(line, "one page of a list; the next ones are missing", kinds);
        }
    }

    /// What kubectl never prints. Objects in it are read all the same.
    fn without_kind(&mut self, mut tree: Tree, line: usize) {
        if let Some(Tree::List(mut items)) = tree.take("items") {
            self.lost(line, "a list without kind, which kubectl prints last: the end of the file is missing");
            // the last one may have lost its end, too
            items.pop();
            return items.into_iter().for_each(|item| self.document(item, line, false));
        }
        // of the answer of the API server, of `kubectl version`, and of a support bundle
        for path in [&["gitVersion"][..], &["serverVersion", "gitVersion"], &["kubernetesVersion"]] {
            self.content.api_server = self.content.api_server.or(Release::parse(tree.text(path)));
        }
        let is_part = |key: &&str| matches!(tree.get(key), Some(Tree::Map(_)));
        if tree.get("apiVersion").is_some() || ["metadata", "spec", "status"].iter().any(is_part) {
            return self.lost(line, "an object without kind");
        }
        let Tree::Map(entries) = tree else { return };
        for (key, value) in entries {
            let Tree::List(items) = value else { continue };
            if items.iter().any(|item| !item.text(&["kind"]).is_empty()) {
                self.lost(line, format!("a list under the key {key:?} instead of items"));
                items.into_iter().for_each(|item| self.document(item, line, false));
            }
        }
    }
}

/// The kind of an object.
pub(super) fn resource_of(object: &Tree) -> Option<Resource> {
    let resource = Resource::of(object.text(&["apiVersion"]), object.text(&["kind"]))?;
    if resource != Resource::Events {
        return Some(resource);
    }
    let about = ["apiVersion", "kind"].map(|key| object.text(&["involvedObject", key]));
    Some(Resource::of_event(object.text(&["metadata", "namespace"]), about[0], about[1]))
}

/// What a kubelet says of a volume that it cannot mount, and the resizer of a claim, stands in the namespace of the pod: all that is read
/// of other namespaces, if the recording has it.
pub(super) fn is_about_a_claim(resource: Resource, object: &Tree) -> bool {
    resource == Resource::Events
        && [
            ("FailedMount", "Pod"),
            ("FailedMapVolume", "Pod"),
            ("VolumeResizeFailed", "PersistentVolumeClaim"),
        ]
        .contains(&(object.text(&["reason"]), object.text(&["involvedObject", "kind"])))
}

/// Whether this is the kind of a list, of anything or of objects that are read.
pub(super) fn is_list_of(version: &str, kind: &str) -> bool {
    kind.strip_suffix("List").is_some_and(|member| member.is_empty() || !kinds_of(version, member).is_empty())
}

fn kinds_of(version: &str, kind: &str) -> BTreeSet<Resource> {
    Resource::of(version, kind).into_iter().collect()
}

/// The kinds of a label such as `volumes.longhorn.io`, `nodes` or `events.`.
fn kinds_of_label(label: &str) -> BTreeSet<Resource> {
    let label = label.trim_end_matches('.');
    let label = label.rsplit(' ').next().unwrap_or(label).trim_matches('"');
    Resource::all().filter(|resource| resource.label() == label).collect()
}

/// The kind that a file is named after: an empty list of kubectl does not say what was asked for.
pub(super) fn kinds_of_name(file: &str) -> BTreeSet<Resource> {
    let stem = Path::new(file).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    if stem == "node-events" {
        return [Resource::NodeEvents].into();
    }
    let by_label = kinds_of_label(stem);
    if !by_label.is_empty() && !file.contains("longhorn.io/") {
        return by_label;
    }
    let named: Vec<_> = Resource::all().filter(|resource| resource.info().plural == stem).collect();
    // of several groups, a support bundle names the one in its path
    let in_path = |resource: &Resource| file.contains(&format!("{}/", resource.info().group));
    match named.as_slice() {
        [_] => named.into_iter().collect(),
        _ => named
            .into_iter()
            .filter(|resource| !resource.info().group.is_empty() && in_path(resource))
            .collect(),
    }
}

/// The newest time in an object that says when something was the case: creation, status, event and
/// lease times. Managed fields are not looked at, and times after `latest` are no evidence.
pub(super) fn newest_time(object: &Tree, latest: Timestamp) -> Option<Timestamp> {
    let mut newest = None;
    collect_times(object, latest, &mut newest);
    newest
}

const TIME_KEYS: &[&str] = &[
    "creationTimestamp", "deletionTimestamp", "lastTransitionTime", "lastProbeTime", "lastHeartbeatTime",
    "lastUpdateTime", "lastStateTransitionTime", "startedAt", "finishedAt", "startTime", "firstTimestamp",
    "lastTimestamp", "eventTime", "lastObservedTime", "acquireTime", "renewTime", "failedAt", "healthyAt",
    "lastFailedAt", "lastHealthyAt", "lastDegradedAt",
];

fn collect_times(tree: &Tree, latest: Timestamp, newest: &mut Option<Timestamp>) {
    match tree {
        Tree::Map(entries) => {
            for (key, value) in entries {
                match value {
                    Tree::Text(text) | Tree::Plain(text) if TIME_KEYS.contains(&&**key) => {
                        let time = text.parse::<Timestamp>().ok().filter(|time| *time <= latest);
                        *newest = (*newest).max(time);
                    }
                    _ if &**key == "annotations" => {}
                    _ => collect_times(value, latest, newest),
                }
            }
        }
        Tree::List(items) => items.iter().for_each(|item| collect_times(item, latest, newest)),
        _ => {}
    }
}
