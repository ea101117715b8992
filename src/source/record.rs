//! Records a cluster: everything that the checks read, with the rights of the exporter, and the logs of
//! managers in trouble. What could not be read is recorded as the refusal that it was, so that reading the
//! recording knows that it is missing.

use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use kube::api::Request;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::ApiErrorReason;
use super::wanted_logs::{Run, runs};
use super::watch::{describe, reason_of};
use crate::longhorn::{Kind, Resource, Scope, Store};

/// Objects asked for at once.
const PAGE: u32 = 200;
/// How often a list is begun before it is given up.
const ATTEMPTS: u32 = 3;
/// Lines of a log: hours of a manager in trouble.
const LINES: i64 = 5_000;
/// Bytes of a log.
const BYTES: i64 = 1024 * 1024;

/// The file that says which kinds a recording has.
const MANIFEST: &str = "recording.json";
/// The object in it.
pub(super) const MANIFEST_KIND: &str = "Recording";
pub(super) const MANIFEST_VERSION: &str = "longhorn-health-exporter/v1";
/// The reason of a refusal for a kind that the release of Longhorn does not have.
pub(super) const NOT_SERVED: &str = "NotServed";

/// Where a recording goes to.
pub trait Sink {
    /// Adds a file.
    fn put(&mut self, name: &str, content: &[u8]) -> std::io::Result<()>;
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
) -> std::io::Result<Recorded> {
    let mut recorded = Recorded::default();
    let (mut pods, mut leases) = (Vec::new(), Vec::new());
    sink.put(MANIFEST, manifest().as_bytes())?;
    for resource in Resource::all() {
        let label = resource.label();
        sink.reading(&label);
        let content = match list(client, namespace, resource, patience).await {
            Ok(items) => {
                recorded.objects += items.len();
                let content = list_of(resource, &items);
                match resource {
                    Resource::Pods => pods = items,
                    Resource::Leases => leases = items,
                    _ => {}
                }
                content
            }
            // an older release of Longhorn does not have the kind, so that there is none
            Err(refusal) if refusal.reason == ApiErrorReason::NotServed && resource.is_optional() => {
                status(&label, "", &refusal.message, NOT_SERVED)
            }
            Err(refusal) => {
                recorded.unread.push(format!("{label}: {}", refusal.message));
                status(&label, "", &refusal.message, "")
            }
        };
        sink.put(&format!("{label}.json"), content.as_bytes())?;
    }
    for run in wanted_logs(&pods, &leases, now) {
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
                sink.put(&name, &text)?;
            }
            Err(message) => {
                sink.put(&format!("{name}.json"), status("pods/log", &run.pod, &message, "").as_bytes())?;
                recorded.unread.push(format!("{name}: {message}"));
            }
        }
    }
    Ok(recorded)
}

/// Why a kind could not be read.
struct RecordRefusal {
    reason: ApiErrorReason,
    message: String,
}

async fn list(
    client: &Client,
    namespace: &str,
    resource: Resource,
    patience: Duration,
) -> Result<Vec<Value>, RecordRefusal> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let refusal = match pages(client, namespace, resource, patience).await {
            Ok(items) => return Ok(items),
            Err(refusal) => refusal,
        };
        use ApiErrorReason::*;
        if attempts >= ATTEMPTS || matches!(refusal.reason, Forbidden | Unauthorized | NotServed) {
            return Err(refusal);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

async fn pages(
    client: &Client,
    namespace: &str,
    resource: Resource,
    patience: Duration,
) -> Result<Vec<Value>, RecordRefusal> {
    let info = resource.info();
    let group = if info.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", info.group) };
    let (place, selector) = match info.scope {
        Scope::Namespaced => (format!("/namespaces/{namespace}"), String::new()),
        Scope::InNamespace { namespace, field_selector } => {
            (format!("/namespaces/{namespace}"), field_selector.to_owned())
        }
        Scope::Cluster => (String::new(), String::new()),
        Scope::ClusterNamed(name) => (String::new(), format!("metadata.name={name}")),
    };
    let url = format!("{group}/{}{place}/{}", info.version, info.plural);
    let (mut items, mut next) = (Vec::new(), None::<String>);
    loop {
        let mut params = kube::api::ListParams::default().limit(PAGE);
        params.continue_token = next.take();
        params.field_selector = (!selector.is_empty()).then(|| selector.clone());
        let unusable = |message: String| RecordRefusal { reason: ApiErrorReason::Other, message };
        let request = Request::new(&url).list(&params).map_err(|error| unusable(error.to_string()))?;
        let answer = timeout(patience, client.request::<Value>(request)).await;
        let answer = answer.map_err(|_elapsed| RecordRefusal {
            reason: ApiErrorReason::Timeout,
            message: format!("no answer within {patience:?}"),
        })?;
        let mut page =
            answer.map_err(|error| RecordRefusal { reason: reason_of(&error), message: describe(&error) })?;
        next = page.pointer("/metadata/continue").and_then(Value::as_str).map(str::to_owned);
        match page.get_mut("items").map(Value::take) {
            Some(Value::Array(more)) => items.extend(more),
            Some(Value::Null) => {}
            _ => return Err(unusable("the answer has no items".to_owned())),
        }
        if next.as_ref().is_none_or(String::is_empty) {
            return Ok(items);
        }
    }
}

/// A list of the kind, an object a line. Who wrote which field, and what was applied once, is left out.
fn list_of(resource: Resource, items: &[Value]) -> String {
    let info = resource.info();
    let version = if info.group.is_empty() {
        info.version.to_owned()
    } else {
        format!("{}/{}", info.group, info.version)
    };
    let lines: Vec<String> = items
        .iter()
        .map(|item| {
            let mut item = item.clone();
            if let Some(metadata) = item.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("managedFields");
                if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
                    annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
                }
            }
            item.to_string()
        })
        .collect();
    format!(
        "{{\"apiVersion\":{},\"kind\":{},\"items\":[\n{}\n]}}\n",
        json!(version),
        json!(format!("{}List", info.kind)),
        lines.join(",\n")
    )
}

/// Says before anything else which kinds follow, so that a recording that was interrupted, or has lost a file, is
/// known by what it lacks.
fn manifest() -> String {
    let kinds: Vec<String> = Resource::all().map(Resource::label).collect();
    format!("{}\n", json!({"apiVersion": MANIFEST_VERSION, "kind": MANIFEST_KIND, "kinds": kinds}))
}

/// Names of pods and containers are DNS labels and subdomains.
fn is_file_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    name.len() < 512 && name.bytes().all(plain) && !name.starts_with('.')
}

/// What the API server would have answered.
fn status(kind: &str, name: &str, message: &str, reason: &str) -> String {
    let (kind, group) = kind.split_once('.').unwrap_or((kind, ""));
    let details = json!({ "kind": kind, "group": group, "name": name });
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "message": message, "details": details,
        "reason": reason
    });
    format!("{status}\n")
}

/// Whose logs are wanted, as the exporter itself decides it.
fn wanted_logs(pods: &[Value], leases: &[Value], now: Timestamp) -> Vec<Run> {
    fn store<T: Kind>(items: &[Value]) -> Store<T> {
        let mut store = Store::default();
        store.replace(items.iter().filter_map(|item| T::deserialize(item).ok()));
        store
    }
    runs(&store(pods), &store(leases), now)
}

/// As [`crate::source::recording`] expects it.
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
