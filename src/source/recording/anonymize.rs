//! Replaces names and addresses in a recording, the same one alike everywhere, so that it can be shown in public.
//!
//! Objects say which words are names; files are then rewritten word by word, objects and logs alike. New names sort
//! as the old ones do, so that what is reported first stays first. A word of Longhorn's own vocabulary stays as it
//! is: in a log no one can tell the namespace `backup` from a backup.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::archive::Member;
use super::files::FileKind;
use super::tree::Tree;
use super::{RecordedFile, RecordingError, document, files, logs};

/// The files of a recording, whatever form it has, with their paths inside it.
pub fn files(path: &Path) -> Result<Vec<RecordedFile>, RecordingError> {
    let mut all = match files::archive(path)? {
        Some(mut archive) => {
            let mut all = Vec::new();
            for kinds in [&[FileKind::Objects] as &[FileKind], &[FileKind::Log, FileKind::Errors]] {
                archive.each(kinds, &mut |member| {
                    if let Member::File(file) = member {
                        all.push(file);
                    }
                    Ok(())
                })?;
            }
            if let Some(place) = &archive.cut {
                let reason =
                    std::io::Error::other(format!("is cut off {place}; it is not made into another one"));
                return Err(RecordingError::Unreadable { path: path.display().to_string(), reason });
            }
            all
        }
        None if path.is_dir() => {
            let read = |(kind, path): &(FileKind, PathBuf)| match kind {
                FileKind::Log | FileKind::Errors => files::read_log(path),
                _ => files::read(path),
            };
            let files = files::below(path)?;
            files
                .iter()
                .filter(|(kind, _)| *kind != FileKind::Node)
                .map(read)
                .collect::<Result<Vec<_>, _>>()?
        }
        None => vec![RecordedFile { name: "recording.yaml".to_owned(), ..files::read(path)? }],
    };
    for file in &mut all {
        let inside = Path::new(&file.name).strip_prefix(path).unwrap_or(Path::new(&file.name));
        // what an archive calls a file must not lead out of where it is written to
        let parts = inside.components().filter(|part| matches!(part, Component::Normal(_)));
        file.name = parts.collect::<PathBuf>().display().to_string();
    }
    Ok(all)
}

/// The same recording with other names.
pub fn anonymize(files: Vec<RecordedFile>) -> Result<Vec<RecordedFile>, RecordingError> {
    let mut found = Found::default();
    for file in files.iter().filter(|file| !logs::is_log(Path::new(&file.name))) {
        for (object, _) in document::read(file)?.objects {
            found.object(&object);
        }
    }
    for file in &files {
        found.addresses(&String::from_utf8_lossy(&file.content));
    }
    let names = found.replacements();
    let rewritten = files.into_iter().map(|file| {
        let text = String::from_utf8_lossy(&file.content);
        let bare = without_extras(&text);
        let content = names.rewrite(bare.as_deref().unwrap_or(&text)).into_bytes();
        // a log is found by the pod that its path names
        let name = names.rewrite(&file.name);
        RecordedFile { name, content }
    });
    Ok(rewritten.collect())
}

/// What a name is the name of; the new name begins with it.
type Sort = &'static str;

#[derive(Debug, Default)]
struct Found {
    names: BTreeMap<String, Sort>,
    addresses: BTreeSet<IpAddr>,
}

/// Keys whose value is a name, wherever they stand.
const NAMING: &[(&str, Sort)] = &[
    ("nodeID", "node"),
    ("nodeName", "node"),
    ("currentNodeID", "node"),
    ("ownerID", "node"),
    ("kubernetes.io/hostname", "node"),
    ("topology.kubernetes.io/zone", "zone"),
    ("topology.kubernetes.io/region", "region"),
    ("failure-domain.beta.kubernetes.io/zone", "zone"),
    ("failure-domain.beta.kubernetes.io/region", "region"),
    ("pvcName", "claim"),
    ("persistentVolumeClaim", "claim"),
    ("claimName", "claim"),
    ("pvName", "volume"),
    ("volumeName", "volume"),
    ("workloadName", "workload"),
    ("podName", "pod"),
    ("credentialSecret", "secret"),
    ("secretName", "secret"),
];

impl Found {
    fn object(&mut self, object: &Tree) {
        let name = object.text(&["metadata", "name"]);
        match object.text(&["kind"]) {
            "Node" | "CSINode" => self.name(name, "node"),
            // that of a dynamically provisioned volume says nothing
            "Volume" | "BackupVolume" => self.name(name, "volume"),
            "BackingImage" | "BackupBackingImage" => self.name(name, "image"),
            "RecurringJob" => self.name(name, "job"),
            "BackupTarget" => self.words_of(object.text(&["spec", "backupTargetURL"])),
            "Setting" if name == "backup-target" => self.words_of(object.text(&["value"])),
            _ => {}
        }
        self.walk(object);
    }

    fn walk(&mut self, tree: &Tree) {
        match tree {
            Tree::List(items) => items.iter().for_each(|item| self.walk(item)),
            Tree::Map(entries) => {
                for (key, value) in entries {
                    if let Some((_, sort)) = NAMING.iter().find(|(naming, _)| **naming == **key) {
                        self.name(tree.text(&[key]), sort);
                    }
                    if &**key == "address" {
                        self.name(tree.text(&[key]), "host");
                    }
                    if key.to_ascii_lowercase().contains("image") {
                        self.registry(tree.text(&[key]));
                    }
                    self.walk(value);
                }
                // beside the name of a claim or pod, it is theirs
                if ["pvcName", "podName", "workloadsStatus"].iter().any(|key| tree.get(key).is_some()) {
                    self.name(tree.text(&["namespace"]), "namespace");
                }
            }
            // what Longhorn keeps as text: the status of a claim in the labels of its backups
            Tree::Text(text) | Tree::Plain(text) if text.starts_with('{') => {
                if let Ok(value) = serde_json::from_str::<Value>(text) {
                    self.walk(&tree_of(&value));
                }
            }
            _ => {}
        }
    }

    fn name(&mut self, name: &str, sort: Sort) {
        let has_meaning = name.len() < 3 && name.parse::<u8>().is_ok() || is_common(name);
        if !name.is_empty() && !has_meaning && !says_nothing(name) && name.parse::<IpAddr>().is_err() {
            self.names.entry(name.to_owned()).or_insert(sort);
        }
    }

    /// Hosts, buckets and paths of an address.
    fn words_of(&mut self, url: &str) {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        for word in rest.split(|c: char| !is_of_word(c)).filter(|word| word.len() > 2) {
            self.name(word, "target");
        }
    }

    /// A registry of one's own.
    fn registry(&mut self, image: &str) {
        const PUBLIC: &[&str] =
            &["docker.io", "index.docker.io", "quay.io", "ghcr.io", "registry.k8s.io", "registry.suse.com"];
        let Some((host, _)) = image.split_once('/') else { return };
        let host = host.split(':').next().unwrap_or_default();
        if host.contains('.') && !PUBLIC.contains(&host) {
            self.name(host, "registry");
        }
    }

    fn addresses(&mut self, text: &str) {
        pieces(text, |piece| {
            if let Some(address) = address(piece) {
                self.addresses.insert(address);
            }
            None
        });
    }

    /// New names, in the order of the old.
    fn replacements(self) -> Replacements {
        let mut of_sort: BTreeMap<Sort, Vec<String>> = BTreeMap::new();
        for (name, sort) in self.names {
            of_sort.entry(sort).or_default().push(name);
        }
        let mut words = HashMap::new();
        for (sort, names) in of_sort {
            let width = names.len().to_string().len().max(2);
            let new = |number: usize| format!("{sort}-{number:0width$}");
            words.extend(names.into_iter().enumerate().map(|(at, name)| (name, new(at + 1))));
        }
        let of_family = |is_v6: bool| self.addresses.iter().filter(move |address| address.is_ipv6() == is_v6);
        let mut number = 0u32;
        for address in of_family(false) {
            number += 1;
            // 10.0.0.0/8, which is no one's
            words.insert(
                address.to_string(),
                Ipv4Addr::from_bits(0x0a00_0000 | number & 0x00ff_ffff).to_string(),
            );
        }
        for (address, number) in of_family(true).zip(1u128..) {
            // 2001:db8::/32, which is for documentation
            let new = Ipv6Addr::from_bits(0x2001_0db8 << 96 | number);
            words.insert(address.to_string(), new.to_string());
        }
        let longest = words.keys().map(String::len).max().unwrap_or(0);
        Replacements { words, longest }
    }
}

#[derive(Debug)]
struct Replacements {
    words: HashMap<String, String>,
    longest: usize,
}

impl Replacements {
    fn rewrite(&self, text: &str) -> String {
        pieces(text, |piece| match address(piece) {
            Some(address) => self.words.get(&address.to_string()).cloned(),
            None => self.words(piece),
        })
    }

    /// A word, or the words in it: a replica is named after its volume, a host after its node.
    fn words(&self, piece: &str) -> Option<String> {
        let whole = piece.trim_matches(is_joint);
        if let Some(new) = self.words.get(whole) {
            return Some(piece.replacen(whole, new, 1));
        }
        let mut new = String::new();
        let (mut at, mut done) = (0, 0);
        while at < piece.len() {
            let starts = at == 0 || piece[..at].ends_with(is_joint);
            let replaced = if starts { self.longest_at(piece, at) } else { None };
            match replaced {
                Some((end, word)) => {
                    new.push_str(&piece[done..at]);
                    new.push_str(word);
                    (at, done) = (end, end);
                }
                // pieces are of ASCII characters
                None => at += 1,
            }
        }
        (done > 0).then(|| new + &piece[done..])
    }

    fn longest_at(&self, piece: &str, start: usize) -> Option<(usize, &str)> {
        let ends = |end: &usize| *end == piece.len() || piece[*end..].starts_with(is_joint);
        let last = piece.len().min(start + self.longest);
        (start + 1..=last).rev().filter(ends).find_map(|end| {
            let word = &piece[start..end];
            // a short word within another is more likely that word's own part
            let is_distinct = word.len() >= 8 || word.contains(|c: char| c.is_ascii_digit() || is_joint(c));
            let new = self.words.get(word).filter(|_| is_distinct)?;
            Some((end, new.as_str()))
        })
    }
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || is_joint(c)
}

fn is_joint(c: char) -> bool {
    matches!(c, '-' | '.' | '_')
}

/// Walks over the words and addresses of a text, and puts in their place what the visitor says.
fn pieces(text: &str, mut visit: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c| is_of_word(c) || c == ':') {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        // an address of IPv6 has colons, a word has none
        let wide =
            from.find(|c: char| !(c.is_ascii_hexdigit() || c == ':' || c == '.')).unwrap_or(from.len());
        let wide = from[..wide].trim_end_matches(['.', ':']).len();
        let narrow = from.find(|c| !is_of_word(c)).unwrap_or(from.len());
        // a path of code has them too: `volume::attach`
        let follows_word = out.ends_with(is_of_word);
        let is_v6 = !follows_word && wide > narrow && from[..wide].parse::<Ipv6Addr>().is_ok();
        let end = if is_v6 { wide } else { narrow.max(1) };
        let (piece, after) = from.split_at(end);
        match visit(piece) {
            Some(new) => out.push_str(&new),
            None => out.push_str(piece),
        }
        rest = after;
    }
    out + rest
}

/// An address of a machine or pod.
fn address(piece: &str) -> Option<IpAddr> {
    let address: IpAddr = piece.trim_end_matches('.').parse().ok()?;
    let of_itself = address.is_loopback() || address.is_unspecified();
    (!of_itself).then_some(address)
}

/// What Longhorn or Kubernetes made up.
fn says_nothing(name: &str) -> bool {
    let uuid = name.strip_prefix("pvc-").unwrap_or(name);
    uuid.len() == 36 && uuid.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

/// Words of Longhorn and Kubernetes: as a name they reveal nothing, and elsewhere they mean something.
fn is_common(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "attached", "attaching", "backing-image", "backup", "backups", "block", "data", "default",
        "degraded", "detached", "disk", "disks", "engine", "engine-image", "error", "faulted", "filesystem",
        "healthy", "image", "instance-manager", "job", "kube-public", "kube-system", "kubernetes", "local",
        "localhost", "longhorn", "longhorn-manager", "longhorn-system", "longhorn-ui", "manager",
        "migration", "node", "nodes", "none", "null", "pod", "ready", "replica", "replicas", "restore",
        "running", "secret", "share-manager", "snapshot", "snapshots", "starting", "stopped", "storage",
        "system", "true", "false", "unknown", "v1", "v2", "volume", "volumes", "webhook", "worker", "master",
        "control-plane", "pending", "failed", "completed", "claim", "workload", "target", "zone", "region",
        "host", "server", "client", "service", "default-disk", "csi", "api", "app", "test", "mnt", "var",
        "lib",
    ];
    WORDS.contains(&name) || name.starts_with("longhorn.io")
}

/// Of a file of one JSON list, as `record` writes it: without what no check reads and people put secrets into.
fn without_extras(text: &str) -> Option<String> {
    let mut list: Value = serde_json::from_str(text).ok()?;
    for item in list.get_mut("items")?.as_array_mut()? {
        if let Some(annotations) = item.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
            annotations
                .retain(|key, _| key.contains("longhorn.io/") || key.starts_with("volume.kubernetes.io/"));
        }
        for place in ["/status/nodeInfo/machineID", "/status/nodeInfo/systemUUID", "/spec/providerID"] {
            let (parent, key) = place.rsplit_once('/')?;
            if let Some(parent) = item.pointer_mut(parent).and_then(Value::as_object_mut) {
                parent.remove(key);
            }
        }
        for place in ["/spec", "/spec/template/spec", "/spec/jobTemplate/spec/template/spec"] {
            without_environment(item.pointer_mut(place));
        }
    }
    Some(format!("{list}\n"))
}

fn without_environment(pod: Option<&mut Value>) {
    let Some(pod) = pod else { return };
    for kind in ["containers", "initContainers"] {
        let containers = pod.get_mut(kind).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
            let Some(Value::Array(variables)) = container.get_mut("env") else { continue };
            // those of Longhorn itself say how it was installed
            variables.retain(|variable| {
                let name = variable["name"].as_str().unwrap_or_default();
                variable.get("value").is_none() || name.ends_with("_IMAGE") || name.contains("NAMESPACE")
            });
        }
    }
}

fn tree_of(value: &Value) -> Tree {
    match value {
        Value::Null => Tree::Null,
        Value::Bool(bool) => Tree::Bool(*bool),
        Value::Number(number) => Tree::Number(number.clone()),
        Value::String(text) => Tree::Text(text.as_str().into()),
        Value::Array(items) => Tree::List(items.iter().map(tree_of).collect()),
        Value::Object(entries) => {
            Tree::Map(entries.iter().map(|(key, value)| (key.as_str().into(), tree_of(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests;
