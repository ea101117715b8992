//! Records a cluster: everything that the checks read, with the rights of the exporter, and the logs of
//! managers in trouble. What could not be read is recorded as the refusal that it was, so that reading the
//! recording knows that it is missing.

mod list;
mod listed;

use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::ApiErrorReason;
use super::answer::version;
use super::wanted_logs::{IN_TURN, Run, ready, runs};
use super::watch::describe;
use crate::longhorn::{Lease, Pod, Resource, Store, Volume};
use list::list;

/// Lines of a log: hours of a manager in trouble.
const LINES: i64 = 5_000;
/// Bytes of a log.
const BYTES: i64 = 1024 * 1024;

/// The files that say which kinds a recording has, and which logs.
pub(super) const MANIFEST: &str = "recording.json";
const LOGS: &str = "recording-logs";
/// The object in them.
pub(super) const MANIFEST_KIND: &str = "Recording";
pub(super) const MANIFEST_VERSION: &str = "longhorn-health-exporter/v1";
/// The reason of a refusal for a kind that the API server does not know.
pub(super) const NOT_SERVED: &str = "NotServed";

/// Where a recording goes to.
pub trait Sink {
    /// Adds a file of so many bytes.
    fn put(&mut self, name: &str, size: u64, content: &mut dyn Read) -> io::Result<()>;
    /// Adds a small file.
    fn put_bytes(&mut self, name: &str, mut content: &[u8]) -> io::Result<()> {
        self.put(name, content.len() as u64, &mut content)
    }
    /// A file without a name, for a list until it is whole.
    fn spool(&self) -> io::Result<File>;
    /// Says what is being read, for a person who waits.
    fn reading(&mut self, what: &str);
}

/// What became of a recording.
#[derive(Debug, Default)]
pub struct Recorded {
    /// How many objects are in it.
    pub objects: usize,
    /// How many logs are in it.
    pub logs: usize,
    /// What could not be read, and why.
    pub unread: Vec<String>,
}

/// Records everything as it is `now`; `patience` is the time for each answer.
pub async fn record(
    client: &Client,
    namespace: &str,
    patience: Duration,
    now: Timestamp,
    sink: &mut impl Sink,
) -> io::Result<Recorded> {
    let spool = sink.spool()?;
    let mut recorded = Recorded::default();
    let (mut pods, mut leases, mut volumes) = (Vec::new(), Vec::new(), Vec::new());
    let version = timeout(patience, version(client)).await.ok().flatten();
    let kinds: Vec<String> = Resource::all().map(Resource::label).collect();
    // judged later, nothing in it may be as new: where nodes are silent, for example
    let first = json!({ "kinds": kinds, "kubernetes": version, "logs": LOGS, "moment": now.to_string() });
    sink.put_bytes(MANIFEST, manifest(first).as_bytes())?;
    for resource in Resource::all() {
        let label = resource.label();
        sink.reading(&label);
        let name = format!("{label}.json");
        let refused = match list(client, namespace, resource, patience, &spool).await {
            Ok(mut listed) => {
                recorded.objects += listed.objects;
                pods.append(&mut listed.pods);
                leases.append(&mut listed.leases);
                volumes.append(&mut listed.volumes);
                let size = listed.end()?;
                sink.put(&name, size, &mut (&spool).take(size))?;
                continue;
            }
            // an older release of Longhorn does not have the kind, or its definition is gone: either way there is none
            Err(refusal) if refusal.reason == ApiErrorReason::NotInstalled => {
                if !resource.is_optional() {
                    recorded.unread.push(format!("{label}: {}", refusal.message));
                }
                status(&label, "", &refusal.message, NOT_SERVED)
            }
            Err(refusal) => {
                recorded.unread.push(format!("{label}: {}", refusal.message));
                status(&label, "", &refusal.message, "")
            }
        };
        sink.put_bytes(&name, refused.as_bytes())?;
    }
    let (runs, in_turn) = wanted_logs(pods, leases, volumes, now);
    let logs = runs.iter().map(|run| (name_of(run), run)).filter(|(name, _)| is_file_name(name));
    let logs: Vec<_> = logs.map(|(name, run)| json!({ "pod": run.pod, "file": name })).collect();
    let logs = manifest(json!({ "logs": logs }));
    sink.put_bytes(&format!("{LOGS}.json"), logs.as_bytes())?;
    for run in runs {
        let name = name_of(&run);
        // what the API server says is no path of this machine
        if !is_file_name(&name) {
            recorded
                .unread
                .push(format!("the log of pod {}: its name is not one that a pod can have", run.pod));
            continue;
        }
        sink.reading(&name);
        match read(client, namespace, &run, patience).await {
            Ok(text) => {
                recorded.logs += 1;
                sink.put_bytes(&name, &text)?;
            }
            Err(message) => {
                let refused = status("pods/log", &run.pod, &message, "");
                sink.put_bytes(&format!("{name}.json"), refused.as_bytes())?;
                recorded.unread.push(format!("{name}: {message}"));
            }
        }
    }
    // nothing says that these have anything to tell, and no one misses them
    for run in in_turn.iter().filter(|run| is_file_name(&name_of(run))) {
        sink.reading(&name_of(run));
        if let Ok(text) = read(client, namespace, run, patience).await {
            recorded.logs += 1;
            sink.put_bytes(&name_of(run), &text)?;
        }
    }
    Ok(recorded)
}

/// Says before anything else what follows, so that a recording that was interrupted, or has lost a file, is known by
/// what it lacks.
pub(super) fn manifest(mut says: Value) -> String {
    if let Some(fields) = says.as_object_mut() {
        fields.insert("apiVersion".to_owned(), MANIFEST_VERSION.into());
        fields.insert("kind".to_owned(), MANIFEST_KIND.into());
    }
    format!("{says}\n")
}

/// Names of pods and containers are DNS labels and subdomains.
pub(super) fn is_file_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    name.len() < 512 && name.bytes().all(plain) && !name.starts_with('.')
}

/// What the API server would have answered.
pub(super) fn status(kind: &str, name: &str, message: &str, reason: &str) -> String {
    let (kind, group) = kind.split_once('.').unwrap_or((kind, ""));
    let details = json!({ "kind": kind, "group": group, "name": name });
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "message": message, "details": details,
        "reason": reason
    });
    format!("{status}\n")
}

/// Whose logs are wanted, as a single look decides it; and the first Ready managers, whose logs it reads in turn.
fn wanted_logs(
    pods: Vec<Pod>,
    leases: Vec<Lease>,
    volumes: Vec<Volume>,
    now: Timestamp,
) -> (Vec<Run>, Vec<Run>) {
    let (mut all_pods, mut all_leases, mut unmounted) = <(Store<_>, Store<_>, Store<_>)>::default();
    all_pods.replace(pods);
    all_leases.replace(leases);
    unmounted.replace(volumes);
    let wanted = runs(&all_pods, &all_leases, &unmounted, now);
    let in_turn = ready(&all_pods, now).filter(|run| !wanted.contains(run)).take(IN_TURN).collect();
    (wanted, in_turn)
}

/// As [`crate::recording`] expects it.
fn name_of(run: &Run) -> String {
    let previous = if run.is_over { ".previous" } else { "" };
    format!("{}.{}{previous}.log", run.pod, run.container)
}

async fn read(client: &Client, namespace: &str, run: &Run, patience: Duration) -> Result<Vec<u8>, String> {
    let get = async {
        let (status, body) =
            run.log(client, namespace, LINES, BYTES).await.map_err(|error| describe(&error))?;
        let body = body?;
        if status.is_success() { Ok(body.to_vec()) } else { Err(format!("the API server answers {status}")) }
    };
    timeout(patience, get).await.unwrap_or_else(|_elapsed| Err(format!("no answer within {patience:?}")))
}
