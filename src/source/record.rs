//! Records a cluster: everything that the checks read, with the rights of the exporter, and the logs of
//! managers in trouble. What could not be read is recorded as the refusal that it was, so that reading the
//! recording knows that it is missing.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use jiff::Timestamp;
use kube::Client;
use kube::api::{ListParams, Request};
use kube::client::Body;
use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::ApiErrorReason;
use super::answer::{TooLong, ask_for, version};
use super::wanted_logs::{IN_TURN, Run, ready, runs};
use super::watch::body::REFUSAL;
use super::watch::streamed::{LONGEST_ENVELOPE, Split};
use super::watch::{describe, reason_of, reason_of_code};
use crate::longhorn::{Application, HelmChart, HelmRelease, Lease, Pod, Resource, Scope, Store, Writes};

/// Objects asked for at once.
const PAGE: u32 = 200;
/// How often a list is begun before it is given up.
const ATTEMPTS: u32 = 3;
/// Lines of a log: hours of a manager in trouble.
const LINES: i64 = 5_000;
/// Bytes of a page; of one that is heavier fewer objects are asked for.
const PAGE_BYTES: usize = 32 << 20;
/// How much fewer.
const SHRINK: u32 = 8;
/// Bytes of a list: that of the largest clusters has some hundred MB, and a disk is not filled for less.
const LIST_BYTES: u64 = 4 << 30;
/// Bytes of a list that are written at once.
const SPOOLED: usize = 64 * 1024;
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
    let (mut pods, mut leases) = (Vec::new(), Vec::new());
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
                let size = listed.end()?;
                sink.put(&name, size, &mut (&spool).take(size))?;
                continue;
            }
            // an older release of Longhorn does not have the kind, or its definition is gone: either way there is none
            Err(refusal) if refusal.reason == ApiErrorReason::NotServed => {
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
    let (runs, in_turn) = wanted_logs(pods, leases, now);
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

/// Why a kind could not be read.
struct RecordRefusal {
    reason: ApiErrorReason,
    message: String,
}

/// A list as it is recorded, an object a line, in a file that nothing else sees until it is whole; and what is needed
/// of it to decide whose logs are wanted.
struct Listed<'a> {
    objects: usize,
    bytes: u64,
    spool: BufWriter<&'a File>,
    written: io::Result<()>,
    pods: Vec<Pod>,
    leases: Vec<Lease>,
}

impl<'a> Listed<'a> {
    fn of(resource: Resource, mut spool: &'a File) -> Self {
        let info = resource.info();
        let group = if info.group.is_empty() { String::new() } else { format!("{}/", info.group) };
        let (version, kind) =
            (json!(format!("{group}{}", info.version)), json!(format!("{}List", info.kind)));
        // that of an attempt that failed may be in it
        let emptied = spool.set_len(0).and_then(|()| spool.rewind());
        let mut listed = Listed {
            objects: 0,
            bytes: 0,
            spool: BufWriter::with_capacity(SPOOLED, spool),
            written: emptied,
            pods: Vec::new(),
            leases: Vec::new(),
        };
        listed.write(&format!("{{\"apiVersion\":{version},\"kind\":{kind},\"items\":[\n"));
        listed
    }

    fn write(&mut self, text: &str) {
        self.bytes += text.len() as u64;
        if self.written.is_ok() {
            self.written = self.spool.write_all(text.as_bytes());
        }
    }

    /// Adds an object, as it came where it may stay so. What was applied once is left out, and most of who wrote which field.
    fn add(&mut self, resource: Resource, item: &RawValue) -> serde_json::Result<()> {
        let item = item.get();
        match resource {
            Resource::Pods => self.pods.extend(serde_json::from_str::<Pod>(item)),
            Resource::Leases => self.leases.extend(serde_json::from_str::<Lease>(item)),
            _ => {}
        }
        let bare = if resource.is_of_a_tool() {
            match of_a_tool(resource, &serde_json::from_str(item)?) {
                Some(bare) => bare.to_string(),
                None => return Ok(()),
            }
        } else if MANAGED.iter().any(|key| memmem::find(item.as_bytes(), key.as_bytes()).is_some()) {
            without_managed(resource, serde_json::from_str(item)?).to_string()
        } else {
            String::new()
        };
        if self.objects > 0 {
            self.write(",\n");
        }
        self.write(if bare.is_empty() { item } else { &bare });
        self.objects += 1;
        match self.bytes > LIST_BYTES {
            true => Err(serde::de::Error::custom("the list has no end")),
            false => Ok(()),
        }
    }

    /// Ends the list, which the file then is from its begin; returns its size, and fails if it could not be kept.
    fn end(mut self) -> io::Result<u64> {
        self.write("\n]}\n");
        self.written?;
        self.spool.flush()?;
        let mut spool = *self.spool.get_ref();
        let size = spool.stream_position()?;
        spool.rewind()?;
        Ok(size)
    }
}

/// What an object has that has to be left out of it; of its managed fields the brackets may stay.
const MANAGED: [&str; 2] = ["\"managedFields\":[{", LAST_APPLIED];
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

fn without_managed(resource: Resource, mut item: Value) -> Value {
    if let Some(metadata) = item.get_mut("metadata").and_then(Value::as_object_mut) {
        let managed = metadata.remove("managedFields").filter(|_| resource.keeps_writes());
        if let Some(mut writes) = managed.and_then(|managed| Writes::deserialize(managed).ok()) {
            writes.prune(resource);
            if writes.iter().len() > 0 {
                metadata.insert("managedFields".to_owned(), writes.to_json());
            }
        }
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(LAST_APPLIED);
        }
    }
    item
}

/// Lists a kind: whole from the memory of the API server, as the exporter does, and in pages where that fails.
async fn list<'a>(
    client: &Client,
    namespace: &str,
    resource: Resource,
    patience: Duration,
    spool: &'a File,
) -> Result<Listed<'a>, RecordRefusal> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let listed = match attempts {
            1 => whole(client, namespace, resource, patience, spool).await,
            _ => pages(client, namespace, resource, patience, spool).await,
        };
        let refusal = match listed {
            Ok(listed) => return Ok(listed),
            Err(refusal) => refusal,
        };
        use ApiErrorReason::*;
        if attempts > ATTEMPTS || matches!(refusal.reason, Forbidden | Unauthorized | NotServed) {
            return Err(refusal);
        }
        if attempts > 1 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

async fn whole<'a>(
    client: &Client,
    namespace: &str,
    resource: Resource,
    patience: Duration,
    spool: &'a File,
) -> Result<Listed<'a>, RecordRefusal> {
    #[derive(Deserialize)]
    struct ListedLine<'l> {
        #[serde(borrow)]
        object: &'l RawValue,
    }
    let unusable = |message: String| RecordRefusal { reason: ApiErrorReason::Other, message };
    let silent = |_elapsed| RecordRefusal {
        reason: ApiErrorReason::Timeout,
        message: format!("no answer within {patience:?}"),
    };
    let (url, mut params) = place(resource, namespace);
    params.resource_version = Some("0".to_owned());
    let request = Request::new(&url).list(&params).map_err(|error| unusable(error.to_string()))?;
    let request = request.map(|_none| Body::empty());
    let answer = timeout(patience, client.send(request)).await.map_err(silent)?;
    let answer =
        answer.map_err(|error| RecordRefusal { reason: reason_of(&error), message: describe(&error) })?;
    let (head, mut body) = answer.into_parts();
    if !head.status.is_success() {
        let said = timeout(patience, Limited::new(body, REFUSAL).collect()).await.map_err(silent)?;
        let said = said.map(|said| said.to_bytes()).unwrap_or_default();
        let said: Value = serde_json::from_slice(&said).unwrap_or_default();
        let said = said.get("message").and_then(Value::as_str).unwrap_or_default();
        let (code, reason) = (head.status.as_u16(), reason_of_code(head.status.as_u16()));
        return Err(RecordRefusal { reason, message: format!("{code}: {said}") });
    }
    let mut split = Split::keeping(resource.keeps_writes());
    let mut listed = Listed::of(resource, spool);
    loop {
        let frame = timeout(patience, body.frame()).await.map_err(silent)?;
        let lines = match frame.transpose().map_err(|error| unusable(error.to_string()))? {
            Some(frame) => {
                frame.into_data().map_or_else(|_trailers| Ok(Vec::new()), |data| split.feed(&data))
            }
            // one that is not whole is none
            None => return split.end().map(|_bookmark| listed).map_err(|error| unusable(error.to_string())),
        };
        let lines = lines.map_err(|error| unusable(error.to_string()))?;
        if split.envelope().len() > LONGEST_ENVELOPE {
            return Err(unusable("the answer is no list".to_owned()));
        }
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let added =
                serde_json::from_slice(line).and_then(|ListedLine { object }| listed.add(resource, object));
            added.map_err(|error| unusable(error.to_string()))?;
        }
    }
}

/// Path and selectors of a list.
fn place(resource: Resource, namespace: &str) -> (String, ListParams) {
    let (info, params) = (resource.info(), ListParams::default());
    let group = if info.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", info.group) };
    let (place, params) = match info.scope {
        Scope::Namespaced => (format!("/namespaces/{namespace}"), params),
        Scope::InNamespace { namespace, field_selector } => {
            (format!("/namespaces/{namespace}"), params.fields(field_selector))
        }
        Scope::Cluster => (String::new(), params),
        Scope::ClusterNamed(name) => (String::new(), params.fields(&format!("metadata.name={name}"))),
        Scope::ClusterLabelled(label) => (String::new(), params.labels(label)),
    };
    (format!("{group}/{}{place}/{}", info.version, info.plural), params)
}

async fn pages<'a>(
    client: &Client,
    namespace: &str,
    resource: Resource,
    patience: Duration,
    spool: &'a File,
) -> Result<Listed<'a>, RecordRefusal> {
    let (url, params) = place(resource, namespace);
    let (mut listed, mut next, mut limit) = (Listed::of(resource, spool), String::new(), PAGE);
    loop {
        let mut params = params.clone().limit(limit);
        params.continue_token = Some(next.clone()).filter(|token| !token.is_empty());
        let unusable = |message: String| RecordRefusal { reason: ApiErrorReason::Other, message };
        let request = Request::new(&url).list(&params).map_err(|error| unusable(error.to_string()))?;
        let answer = timeout(patience, ask_for(client, request, PAGE_BYTES)).await;
        let answer = answer.map_err(|_elapsed| RecordRefusal {
            reason: ApiErrorReason::Timeout,
            message: format!("no answer within {patience:?}"),
        })?;
        let page = match answer {
            Err(kube::Error::Service(error)) if error.is::<TooLong>() && limit > 1 => {
                limit = (limit / SHRINK).max(1);
                continue;
            }
            answer => answer
                .map_err(|error| RecordRefusal { reason: reason_of(&error), message: describe(&error) })?,
        };
        let page: ListPage = serde_json::from_slice(&page).map_err(|error| unusable(error.to_string()))?;
        for item in page.items.unwrap_or_default() {
            listed.add(resource, &item).map_err(|error| unusable(error.to_string()))?;
        }
        next = page.metadata.r#continue;
        if next.is_empty() {
            return Ok(listed);
        }
    }
}

/// A page of a list.
#[derive(Deserialize)]
struct ListPage {
    #[serde(default)]
    metadata: ListPageMeta,
    /// May be null, not absent.
    #[serde(deserialize_with = "Option::deserialize")]
    items: Option<Vec<Box<RawValue>>>,
}

#[derive(Deserialize, Default)]
struct ListPageMeta {
    #[serde(default)]
    r#continue: String,
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

/// What is read of an object of another tool, whose values may hold secrets; none of what installs something else.
fn of_a_tool(resource: Resource, item: &Value) -> Option<Value> {
    const READ: &[&str] = &[
        "/spec/chart", "/spec/targetNamespace", "/spec/failurePolicy", "/spec/suspend",
        "/spec/upgrade/remediation", "/spec/source/chart",
    ];
    let ours = match resource {
        Resource::HelmCharts => HelmChart::deserialize(item).is_ok_and(|chart| chart.is_longhorn()),
        Resource::HelmReleases => HelmRelease::deserialize(item).is_ok_and(|release| release.is_longhorn()),
        _ => Application::deserialize(item).is_ok_and(|application| application.is_longhorn()),
    };
    if !ours {
        return None;
    }
    let metadata = |key: &str| item.pointer(&format!("/metadata/{key}")).cloned().unwrap_or_default();
    let mut bare = json!({
        "apiVersion": item.get("apiVersion"),
        "kind": item.get("kind"),
        "metadata": { "name": metadata("name"), "namespace": metadata("namespace") },
    });
    for path in READ {
        if let Some(value) = item.pointer(path) {
            put(&mut bare, path, value.clone());
        }
    }
    let managers = |one: &&Value| {
        let is = |key, value| one.get(key).and_then(Value::as_str) == Some(value);
        is("kind", "DaemonSet") && is("name", "longhorn-manager")
    };
    let charts = |sources: &Vec<Value>| -> Value {
        sources.iter().map(|source| json!({ "chart": source.get("chart") })).collect()
    };
    if let Some(sources) = item.pointer("/spec/sources").and_then(Value::as_array) {
        put(&mut bare, "/spec/sources", charts(sources));
    }
    if let Some(resources) = item.pointer("/status/resources").and_then(Value::as_array) {
        put(&mut bare, "/status/resources", resources.iter().filter(managers).cloned().collect());
    }
    Some(bare)
}

/// Puts a value where a pointer says, with the objects on the way.
fn put(tree: &mut Value, pointer: &str, value: Value) {
    let mut place = tree;
    for key in pointer.split('/').skip(1) {
        let Value::Object(entries) = (match place {
            Value::Null => {
                *place = json!({});
                place
            }
            place => place,
        }) else {
            return;
        };
        place = entries.entry(key).or_insert(Value::Null);
    }
    *place = value;
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
fn wanted_logs(pods: Vec<Pod>, leases: Vec<Lease>, now: Timestamp) -> (Vec<Run>, Vec<Run>) {
    let (mut all_pods, mut all_leases) = (Store::default(), Store::default());
    all_pods.replace(pods);
    all_leases.replace(leases);
    let wanted = runs(&all_pods, &all_leases, now);
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
