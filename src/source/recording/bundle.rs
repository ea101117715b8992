//! What a support bundle has beside objects and logs of pods: what it could not get, and the logs of nodes.
//!
//! Facts (rancher/support-bundle-kit v0.0.84): `bundleGenerationError.log` has a line for each request that failed, `Failed to get
//! /apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL: …`, and the file of that kind is not there then (pkg/manager/client/discovery.go,
//! pkg/manager/cluster.go). `nodes/NODE.zip` holds `NODE/logs/` with `dmesg.log` (`dmesg -HTx`), copies of the syslog, and the
//! journal of the kubelet, newest first (hack/collector-longhorn, hack/common).

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::document::kinds_of_name;
use super::json as written;
use super::{RecordedFile, Recording};
use crate::longhorn::{Resource, Scope};

/// So much of the logs of one node is read, unpacked.
const MOST: u64 = 512 << 20;
/// A longer line is cut.
const LINE: usize = 8 << 10;
/// So many hours of a trouble are kept, the newest.
const HOURS: usize = 48;
/// Who is said to have reported it.
pub(crate) const REPORTER: &str = "support-bundle";

/// True for the list of what the bundle could not get.
pub(super) fn is_errors(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "bundleGenerationError.log")
}

/// True for the packed logs of a node.
pub(super) fn is_node(path: &Path) -> bool {
    let below_nodes = path.parent().and_then(Path::file_name).is_some_and(|parent| parent == "nodes");
    below_nodes && path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("zip"))
}

impl Recording {
    /// Kinds that the bundle could not get are unknown.
    pub(super) fn add_errors(&mut self, file: &RecordedFile, namespace: &str) {
        for (number, line) in String::from_utf8_lossy(&file.content).lines().enumerate() {
            let kinds: Vec<Resource> = not_got(line, namespace);
            if !kinds.is_empty() {
                let said: String = line.chars().take(300).collect();
                self.losses
                    .push((format!("{}:{}: {said}", file.name, number + 1), kinds.into_iter().collect()));
            }
        }
    }

    /// Reads the logs of a node as far as they go.
    pub(super) fn add_node(&mut self, name: &str, file: impl Read + Seek, namespace: &str) {
        let node = Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        let newest = self.newest().unwrap_or(Timestamp::MAX);
        let mut logs = NodeLogs { newest, namespace: namespace.to_owned(), ..NodeLogs::default() };
        let whole = match read_logs(file, &mut logs) {
            Ok(true) => true,
            Ok(false) => {
                self.warnings.push(format!("{name}: is not whole; its logs are read as far as they go"));
                false
            }
            Err(error) => {
                self.warnings.push(format!("{name}: is not read: {error}"));
                false
            }
        };
        // of one that is cut off, what it says counts, and what it does not say is unknown
        self.kernel_logs.insert(node.clone(), logs.kernel && whole);
        if !logs.kernel {
            self.warnings
                .push(format!("{name}: has no kernel log; what the kernel of {node} said is unknown"));
        }
        for ((reason, hour), seen) in std::mem::take(&mut logs.kernel_lines).into_iter().rev().take(2 * HOURS)
        {
            let event = json!({
                "metadata": {"name": format!("{REPORTER}.{node}.{reason}.{hour}"), "namespace": "default"},
                "involvedObject": {"kind": "Node", "name": &node}, "reason": reason, "message": seen.line,
                "firstTimestamp": seen.first.to_string(), "lastTimestamp": seen.last.to_string(), "count": seen.count,
                "source": {"component": REPORTER, "host": &node},
            });
            self.add_event(Resource::NodeEvents, event);
        }
        for ((reason, pod), seen) in logs.kubelet_lines {
            // what Events tell is reported once
            let known = self
                .objects
                .events
                .iter()
                .any(|event| event.involved_object.name == pod && event.reason == reason);
            if known {
                continue;
            }
            let event = json!({
                "metadata": {"name": format!("{REPORTER}.{pod}.{reason}"), "namespace": namespace},
                "involvedObject": {"kind": "Pod", "name": pod, "namespace": namespace, "uid": seen.uid, "fieldPath": "spec.containers{instance-manager}"},
                "reason": reason, "message": seen.line, "type": if reason == "Killing" { "Normal" } else { "Warning" },
                "firstTimestamp": seen.first.to_string(), "lastTimestamp": seen.last.to_string(), "count": seen.count,
                "source": {"component": "kubelet", "host": &node},
            });
            self.add_event(Resource::Events, event);
        }
    }

    fn add_event(&mut self, kind: Resource, event: Value) {
        if let Some(kept) = &mut self.kept {
            kept.object(kind, &written::tree(&event));
        }
        _ = self.objects.insert(kind, event);
    }

    /// With the kernel logs of all nodes there is nothing else to ask; without that of some, what they said is unknown.
    pub(super) fn judge_nodes(&mut self) {
        if self.kernel_logs.is_empty() {
            return;
        }
        let nodes = self.objects.longhorn_nodes.iter().map(|node| node.metadata.name.to_string());
        let missing: Vec<String> = nodes.filter(|node| self.kernel_logs.get(node) != Some(&true)).collect();
        if missing.is_empty() {
            self.whole.insert(Resource::NodeEvents);
        } else if !self.whole.contains(&Resource::NodeEvents) {
            let what = format!("the bundle lacks the whole kernel log of {}", missing.join(", "));
            self.losses.push((what, [Resource::NodeEvents].into()));
        }
    }
}

/// The kinds that a line says were not got.
fn not_got(line: &str, namespace: &str) -> Vec<Resource> {
    let request =
        line.strip_prefix("Failed to get ").or(line.strip_prefix("Failed to parse objects received from "));
    if let Some(url) = request.and_then(|rest| rest.split(": ").next()) {
        return of_url(url, namespace).into_iter().collect();
    }
    if let Some(rest) = line.strip_prefix("Support Bundle: failed to generate ") {
        let path = rest.split(": ").next().unwrap_or_default();
        return if path.ends_with(".yaml") { kinds_of_name(path).into_iter().collect() } else { Vec::new() };
    }
    let of_scope =
        |wanted: fn(Scope) -> bool| Resource::all().filter(|kind| wanted(kind.info().scope)).collect();
    match () {
        () if line.starts_with("Unable to fetch namespaced resources") => {
            of_scope(|scope| matches!(scope, Scope::Namespaced | Scope::InNamespace { .. }))
        }
        () if line.starts_with("Unable to fetch cluster resources") => {
            of_scope(|scope| !matches!(scope, Scope::Namespaced | Scope::InNamespace { .. }))
        }
        () => Vec::new(),
    }
}

/// The kind of a request, where it is for what is read here: other versions of a kind are asked for, too.
fn of_url(url: &str, namespace: &str) -> Option<Resource> {
    let parts: Vec<&str> = url.trim_start_matches('/').split('/').collect();
    let (group, version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return None,
    };
    let (place, plural) = match rest {
        ["namespaces", place, plural] => (Some(*place), *plural),
        [plural] => (None, *plural),
        _ => return None,
    };
    Resource::all().find(|kind| {
        let info = kind.info();
        let here = match info.scope {
            Scope::Namespaced => place == Some(namespace),
            Scope::InNamespace { namespace, .. } => place == Some(namespace),
            _ => true,
        };
        here && (info.group, info.version, info.plural) == (group, version, plural)
    })
}

/// What the logs of a node tell.
#[derive(Default)]
struct NodeLogs {
    newest: Timestamp,
    namespace: String,
    kernel: bool,
    /// By reason of the Event that node-problem-detector would write, and hour.
    kernel_lines: BTreeMap<(&'static str, i64), SeenLines>,
    /// By reason and pod.
    kubelet_lines: BTreeMap<(&'static str, String), SeenLines>,
}

struct SeenLines {
    first: Timestamp,
    last: Timestamp,
    count: u64,
    line: String,
    uid: String,
}

/// True when the archive was whole.
fn read_logs(mut file: impl Read + Seek, logs: &mut NodeLogs) -> io::Result<bool> {
    let mut left = MOST;
    if let Ok(mut zip) = zip::ZipArchive::new(&mut file) {
        let mut whole = true;
        for at in 0..zip.len() {
            let Ok(entry) = zip.by_index(at) else { return Ok(false) };
            let name = entry.name().map(|name| name.into_owned()).unwrap_or_default();
            whole &= logs.read(&name, entry, &mut left).is_ok();
        }
        return Ok(whole);
    }
    file.seek(SeekFrom::Start(0))?;
    let mut members = 0;
    while let Ok(Some(entry)) = zip::read::read_zipfile_from_stream(&mut file) {
        let name = entry.name().map(|name| name.into_owned()).unwrap_or_default();
        members += 1;
        if logs.read(&name, entry, &mut left).is_err() {
            break;
        }
    }
    if members == 0 { Err(io::Error::other("no zip archive")) } else { Ok(false) }
}

impl NodeLogs {
    fn read(&mut self, name: &str, mut entry: impl Read, left: &mut u64) -> io::Result<()> {
        let file = name.rsplit('/').next().unwrap_or_default();
        let kernel = file == "dmesg.log";
        let system = file.starts_with("syslog") || file.starts_with("messages");
        let kubelet = matches!(file, "kubelet.log" | "k3s-service.log" | "k3s-agent-service.log");
        if !(kernel || system || kubelet) || file.ends_with(".gz") {
            return Ok(());
        }
        self.kernel |= kernel || system;
        // of millions of lines few matter, and what a time costs is paid for those alone
        lines(&mut entry, left, &mut |line, before| {
            let matters = match kubelet {
                true => line.contains("instance-manager-"),
                false => of_kernel(line).is_some(),
            };
            if !matters {
                return;
            }
            let at =
                time_of(line, self.newest).or_else(|| time_of(&String::from_utf8_lossy(before), self.newest));
            if let Some(at) = at.filter(|at| at.duration_since(self.newest) <= SignedDuration::from_hours(1))
            {
                match kubelet {
                    true => self.kubelet_line(line, at),
                    false => self.kernel_line(line, at),
                }
            }
        })
    }

    fn kernel_line(&mut self, line: &str, at: Timestamp) {
        let Some(reason) = of_kernel(line) else { return };
        note(&mut self.kernel_lines, (reason, at.as_second() / 3_600), at, line, "");
        if self.kernel_lines.len() > 4 * HOURS {
            self.kernel_lines.pop_first();
        }
    }

    /// A probe of an instance manager that failed, and its end (kubernetes v1.36 pkg/kubelet/prober/prober.go,
    /// kuberuntime/kuberuntime_container.go).
    fn kubelet_line(&mut self, line: &str, at: Timestamp) {
        let Some(pod) =
            value(line, " pod=").and_then(|pod| pod.strip_prefix(&format!("{}/", self.namespace)))
        else {
            return;
        };
        if !pod.starts_with("instance-manager-") {
            return;
        }
        let uid = value(line, " podUID=").unwrap_or_default();
        let (reason, said) = match () {
            () if line.contains("\"Probe failed\"") && value(line, " probeType=") == Some("Liveness") => (
                "Unhealthy",
                // klog puts text of several lines on lines of their own, between `<` and `>`
                format!(
                    "Liveness probe failed: {}",
                    value(line, " output=").filter(|output| *output != "<").unwrap_or_default()
                ),
            ),
            () if line.contains("\"Killing container with a grace period\"") => {
                ("Killing", "Stopping container instance-manager".to_owned())
            }
            () => return,
        };
        note(&mut self.kubelet_lines, (reason, pod.to_owned()), at, &said, uid);
        if self.kubelet_lines.len() > 1_000 {
            self.kubelet_lines.pop_first();
        }
    }
}

/// What a line of a kernel log is about. The patterns are those of deploy/node-problem-detector.
fn of_kernel(line: &str) -> Option<&'static str> {
    match () {
        () if line.contains("detected conn error (1020)") => Some("LonghornISCSIConnError"),
        () if line.contains("shim disconnected") => Some("LonghornShimDisconnected"),
        () => None,
    }
}

/// True for a line that has a time of its own; `dmesg -HT` gives a difference instead to those that follow at once.
fn is_dated(line: &[u8]) -> bool {
    let mut stamp = line.iter().take(20).skip_while(|byte| **byte != b'[').skip(1);
    match stamp.next() {
        Some(first) => first.is_ascii_alphabetic(),
        None => line.first().is_some_and(u8::is_ascii_alphanumeric),
    }
}

fn note<K: Ord>(seen: &mut BTreeMap<K, SeenLines>, key: K, at: Timestamp, line: &str, uid: &str) {
    let new = || SeenLines { first: at, last: at, count: 0, line: String::new(), uid: uid.to_owned() };
    let lines = seen.entry(key).or_insert_with(new);
    lines.count += 1;
    lines.first = lines.first.min(at);
    if at >= lines.last {
        lines.last = at;
        lines.line = line.trim().chars().take(300).collect();
    }
}

/// The value behind a key, in quotation marks or up to the next blank.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let rest = line.split_once(key)?.1;
    match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => rest.split(' ').next(),
    }
}

/// Calls with each line and the last one before it that has a time; a long line is cut.
fn lines(entry: &mut impl Read, left: &mut u64, take: &mut dyn FnMut(&str, &[u8])) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(64 << 10, entry);
    let (mut line, mut rest, mut before) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        line.clear();
        let mut read = (&mut reader).take(LINE as u64).read_until(b'\n', &mut line)?;
        let mut ended = read == 0 || line.last() == Some(&b'\n');
        while !ended {
            rest.clear();
            let more = (&mut reader).take(LINE as u64).read_until(b'\n', &mut rest)?;
            read += more;
            ended = more == 0 || rest.last() == Some(&b'\n');
        }
        *left = left.checked_sub(read as u64).ok_or_else(|| io::Error::other("unpacks to too much"))?;
        if read == 0 {
            return Ok(());
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        take(&String::from_utf8_lossy(&line), &before);
        if is_dated(&line) {
            std::mem::swap(&mut before, &mut line);
        }
    }
}

/// When a line was written: `[Sun Mar  1 11:55:02 2026]` of dmesg, `Mar  1 11:55:02` of a syslog or journal, whose year is the last one in
/// which that was not after the bundle, or RFC 3339. Clocks of nodes are taken for UTC.
fn time_of(line: &str, newest: Timestamp) -> Option<Timestamp> {
    if let Some((_, rest)) = line.split_once('[')
        && let Some((inside, _)) = rest.split_once(']')
        && let [_, month, day, time, year] = inside.split_whitespace().collect::<Vec<_>>().as_slice()
    {
        return civil(year.parse().ok()?, month, day, time);
    }
    let mut words = line.split_whitespace();
    let [first, day, time] = [words.next()?, words.next()?, words.next()?];
    if let Ok(at) = first.parse::<Timestamp>() {
        return Some(at);
    }
    let year = newest.to_zoned(TimeZone::UTC).year();
    let at = civil(year, first, day, time)?;
    let ahead = at.duration_since(newest) > SignedDuration::from_hours(24);
    if ahead { civil(year.checked_sub(1)?, first, day, time) } else { Some(at) }
}

fn civil(year: i16, month: &str, day: &str, time: &str) -> Option<Timestamp> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = i8::try_from(MONTHS.iter().position(|known| *known == month)?).ok()? + 1;
    let mut parts = time.split(['.', ':']).map(|part| part.parse::<i8>().ok());
    let [hour, minute, second] = [parts.next()??, parts.next()??, parts.next()??];
    let moment = DateTime::new(year, month, day.parse().ok()?, hour, minute, second, 0).ok()?;
    Some(moment.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

#[cfg(test)]
#[path = "bundle_tests.rs"]
mod tests;
