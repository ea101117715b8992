//! Every parser of text from outside: files, logs, answers of the API server, headers, queries, options.
//!
//! The targets in `fuzz/` and the mutations of its tests run through this one list. A reader
//! answers with what it would tell a user; it must neither panic nor speak to programmers.

#[cfg(test)]
mod tests;

use std::io::Cursor;
use std::path::Path;

use hyper::header::{AUTHORIZATION, DATE, HeaderValue, RETRY_AFTER};
use jiff::Timestamp;
use kube::config::Kubeconfig;

use crate::check::plain;
use crate::checks::CATALOGUE;
use crate::checks::schedule::longest_pause;
use crate::cli::DECLARED;
use crate::cli::listen::ListenAddress;
use crate::cli::source::{moment, positive_duration};
use crate::exporter::state_file::StateFile;
use crate::generate::settings;
use crate::history::History;
use crate::http::view::View;
use crate::http::{negotiate, passwords, reviewer};
use crate::longhorn::{Objects, Quantity, Release, Resource, log_line};
use crate::report::{self, Acceptance, evaluate};
use crate::source::kubeconfig;
use crate::source::recording::{RecordedFile, Recording};
use crate::source::watch::{headers, split};

/// A parser of bytes from outside.
pub struct Parser {
    /// Its name, that of its fuzz target.
    pub name: &'static str,
    /// What it is meant to read, to begin with.
    pub seeds: &'static [&'static [u8]],
    /// Reads; the error is what a user would read.
    pub read: fn(&[u8]) -> Result<(), String>,
}

/// All of them.
pub const PARSERS: &[Parser] = &[
    Parser { name: "recording_yaml", seeds: &[OBJECTS, LIST], read: |bytes| recording("a.yaml", bytes) },
    Parser { name: "recording_json", seeds: &[JSON], read: |bytes| recording("a.json", bytes) },
    Parser { name: "recording_archive", seeds: &[TAR_GZ, ZIP], read: unpacked },
    Parser { name: "log", seeds: &[LOG], read: log },
    Parser { name: "api_list", seeds: &[JSON], read: api_list },
    Parser { name: "api_object", seeds: &[POD], read: api_object },
    Parser { name: "kubeconfig", seeds: &[KUBECONFIG], read: read_kubeconfig },
    Parser { name: "web_config", seeds: &[WEB_CONFIG], read: web_config },
    Parser { name: "settings", seeds: &[SETTINGS], read: settings },
    Parser { name: "accepted_findings", seeds: &[ACCEPTED], read: accepted },
    Parser { name: "signatures", seeds: &[SIGNATURES], read: signatures },
    Parser { name: "state_file", seeds: &[STATE], read: state },
    Parser { name: "query", seeds: QUERIES, read: read_query },
    Parser { name: "headers", seeds: HEADERS, read: headers_of },
    Parser { name: "options", seeds: OPTIONS, read: options },
];

/// What only the authors of a parser understand.
const JARGON: &[&str] = &[
    "serde", "DuplicateKeyPolicy", "in Options", "from_str", "Option<", "Recorded", "struct ", "enum ",
    "deserializ", "seed", "configured policy", "internal",
];

/// What a user reads; an error where that is not for users.
pub fn complaint(parser: &Parser, bytes: &[u8]) -> Result<Option<String>, String> {
    let Err(said) = (parser.read)(bytes) else { return Ok(None) };
    // what was read may be quoted, that of a query without its escapes
    let unescaped = form_urlencoded::parse(bytes).map(|(key, value)| format!("{key}={value}"));
    let read = text(bytes) + &unescaped.collect::<String>();
    let foreign = |word: &&&str| said.contains(**word) && !read.contains(**word);
    // `a::b`, and neither [::1] nor what follows a key that ends in a colon
    let path = said.match_indices("::").any(|(at, _)| {
        let around = [said[..at].chars().next_back(), said[at + 2..].chars().next()];
        around.iter().all(|c| c.is_some_and(char::is_alphanumeric)) && !read.contains("::")
    });
    match JARGON.iter().find(foreign) {
        None if !path && said.lines().count() == 1 => Ok(Some(said)),
        _ => Err(said),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn recording(name: &str, bytes: &[u8]) -> Result<(), String> {
    let file = RecordedFile { name: name.to_owned(), content: bytes.to_vec() };
    let recording =
        Recording::from_files([file], NAMESPACE, Timestamp::MAX).map_err(|error| error.to_string())?;
    // as they are printed
    let said = plain(&recording.warnings.join("; ")).into_owned();
    evaluate(&CATALOGUE, &recording.into_cluster(NAMESPACE, None));
    if said.is_empty() { Ok(()) } else { Err(said) }
}

fn unpacked(bytes: &[u8]) -> Result<(), String> {
    let recording =
        Recording::from_archive(Path::new("archive"), Cursor::new(bytes), NAMESPACE, Timestamp::MAX);
    recording.map(drop).map_err(|error| error.to_string())
}

/// The log of a manager that crashes, in which causes are looked for.
fn log(bytes: &[u8]) -> Result<(), String> {
    log_line::messages(&text(bytes));
    let file = |name: &str, content: &[u8]| RecordedFile { name: name.to_owned(), content: content.to_vec() };
    let files = [file("a.json", POD), file("longhorn-manager-a.longhorn-manager.previous.log", bytes)];
    let recording =
        Recording::from_files(files, NAMESPACE, Timestamp::MAX).map_err(|error| error.to_string())?;
    evaluate(&CATALOGUE, &recording.into_cluster(NAMESPACE, None));
    Ok(())
}

fn api_list(bytes: &[u8]) -> Result<(), String> {
    let lines = |piece| split::lines(bytes, piece).map_err(|garbled| garbled.to_string());
    let whole = lines(bytes.len().max(1));
    for piece in [1, 7] {
        // what comes of a list does not depend on how the network cuts it
        assert_eq!(lines(piece).ok(), whole.as_ref().ok().cloned());
    }
    whole.map(drop)
}

fn api_object(bytes: &[u8]) -> Result<(), String> {
    let mut objects = Objects::default();
    let mut said = Ok(());
    for resource in Resource::all() {
        let read = objects.insert(resource, &mut serde_json::Deserializer::from_slice(bytes));
        said = said.and(read.map_err(|error| error.to_string()));
    }
    said
}

fn read_kubeconfig(bytes: &[u8]) -> Result<(), String> {
    let kubeconfig = Kubeconfig::from_yaml(&text(bytes)).map_err(|error| kubeconfig::say(&error))?;
    let context = kubeconfig::chosen(&kubeconfig, None, String::new).map_err(|error| error.to_string())?;
    kubeconfig::lost(&kubeconfig, &context).map_or(Ok(()), Err)
}

fn read_query(bytes: &[u8]) -> Result<(), String> {
    View::parse(&CATALOGUE, &text(bytes)).map(|view| drop(view.link()))
}

fn web_config(bytes: &[u8]) -> Result<(), String> {
    crate::http::web_config::judge(&text(bytes)).map_err(|error| error.to_string())
}

fn settings(bytes: &[u8]) -> Result<(), String> {
    settings::parse(&DECLARED, "a.yaml", &text(bytes)).map(drop).map_err(|error| error.to_string())
}

fn accepted(bytes: &[u8]) -> Result<(), String> {
    Acceptance::parse(&CATALOGUE, "a.yaml", &text(bytes)).map(drop).map_err(|error| format!("{error:#}"))
}

fn signatures(bytes: &[u8]) -> Result<(), String> {
    report::signatures::parse(&CATALOGUE.kinds(), "a.yaml", &text(bytes))
        .map(drop)
        .map_err(|errors| errors.join("; "))
}

fn state(bytes: &[u8]) -> Result<(), String> {
    let saved = StateFile::parse(bytes).map_err(|error| error.to_string())?;
    let at = saved.saved_at;
    // names of facts would be kept for good
    History::starting(at).restore(saved, at, |_| None);
    Ok(())
}

/// As each header that is read; what is wrong with one is not told.
fn headers_of(bytes: &[u8]) -> Result<(), String> {
    let Ok(value) = HeaderValue::from_bytes(bytes) else { return Ok(()) };
    let text = value.to_str().ok();
    negotiate::metrics_format(text);
    negotiate::accepts_gzip(text);
    let all = [AUTHORIZATION, reviewer::TIMEOUT, DATE, RETRY_AFTER].map(|name| (name, value.clone()));
    let (now, all) = (Timestamp::UNIX_EPOCH, all.into_iter().collect());
    passwords::credentials(&all);
    passwords::scheme(&all, "bearer");
    reviewer::patience(&all);
    headers::skew(now, now, &all);
    headers::retry_after(now, &all);
    Ok(())
}

/// Durations, moments, addresses, releases, quantities, schedules.
fn options(bytes: &[u8]) -> Result<(), String> {
    let text = text(bytes);
    Release::parse(&text);
    Release::from_image(&text);
    Quantity(text.clone()).value();
    longest_pause(&text);
    let option = positive_duration(&text).map(drop).or(moment(&text).map(drop));
    Acceptance::skip(&CATALOGUE, &text).map(drop).and(option.or(text.parse::<ListenAddress>().map(drop)))
}

const NAMESPACE: &str = "longhorn-system";

const OBJECTS: &[u8] = b"apiVersion: longhorn.io/v1beta2
kind: Volume
metadata: {name: a, namespace: longhorn-system, creationTimestamp: \"2026-03-01T00:00:00Z\"}
spec:
  numberOfReplicas: 3
  nodeID: &node worker-1
status:
  state: attached
  robustness: degraded
  currentNodeID: *node
  conditions:
  - {type: Scheduled, status: 'False', lastTransitionTime: 2026-03-01T00:00:00Z}
---
apiVersion: longhorn.io/v1beta2
kind: RecurringJob
metadata: {name: b, namespace: longhorn-system}
spec: {cron: 0 2 * * mon-fri, task: backup, groups: [default]}
";
const LIST: &[u8] = b"apiVersion: v1
items:
- apiVersion: v1
  kind: Event
  metadata:
    name: a
    namespace: default
  involvedObject: {kind: Node, name: worker-1}
  reason: LonghornISCSIConnError
  message: |-
    connection1:0: detected conn error (1020)
  lastTimestamp: \"2026-03-01T11:59:00Z\"
kind: List
metadata:
  resourceVersion: \"\"
";
const JSON: &[u8] = br#"{"apiVersion":"longhorn.io/v1beta2","kind":"NodeList","metadata":{"resourceVersion":"7","continue":""},
"items":[{"metadata":{"name":"worker-1","namespace":"longhorn-system"},"spec":{"disks":{"d\u00e9":{"path":"/data","allowScheduling":true}}},
"status":{"diskStatus":{"d\u00e9":{"diskUUID":"u","storageAvailable":1e3,"conditions":[{"type":"Ready","status":"True"}]}}}},{}]}
"#;
const POD: &[u8] = br#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"longhorn-manager-a","namespace":"longhorn-system",
"uid":"u","labels":{"app":"longhorn-manager"}},"spec":{"nodeName":"worker-1","containers":[{"name":"longhorn-manager",
"resources":{"requests":{"cpu":"12m"}},"livenessProbe":{"httpGet":{"path":"/","port":9502},"periodSeconds":10}}]},
"status":{"phase":"Running","containerStatuses":[{"name":"longhorn-manager","restartCount":7,"state":{"waiting":{"reason":
"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":1,"finishedAt":"2026-03-01T00:00:00Z"}}}]}}"#;
const LOG: &[u8] = b"2026-03-01T00:00:00.123456789Z stderr F time=\"2026-03-01T00:00:00Z\" level=fatal msg=\"Error starting \
manager: failed to check environment, please make sure you have iscsiadm/open-iscsi installed on the host\"
[pod/longhorn-manager-a/longhorn-manager] {\"level\":\"fatal\",\"msg\":\"upgrade failed\",\"error\":\"no\"}
E0301 00:00:00.000000       1 leaderelection.go:332] error retrieving resource lock: dial tcp 10.43.0.1:443: i/o timeout
panic: runtime error: invalid memory address or nil pointer dereference
goroutine 1 [running]:
";
const KUBECONFIG: &[u8] = b"apiVersion: v1
kind: Config
current-context: a
clusters: [{name: a, cluster: {server: 'https://127.0.0.1:6443', certificate-authority-data: YQ==}}]
users: [{name: a, user: {token: secret}}]
contexts: [{name: a, context: {cluster: a, user: a, namespace: default}}]
";
const WEB_CONFIG: &[u8] = b"tls_server_config: {cert_file: tls.crt, key_file: tls.key, min_version: TLS12, client_auth_type: NoClientCert}
http_server_config: {http2: false, headers: {X-Frame-Options: deny}}
basic_auth_users: {a: $2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi}
rate_limit: {interval: 1s, burst: 20}
";
const SETTINGS: &[u8] = b"selector: job=longhorn-health-exporter
cluster_label: cluster
labels: {team: storage}
alerts:
  LonghornManagerHighRestarts: {for: 1h, severity: warning, labels: {a: b}, enabled: false}
";
const ACCEPTED: &[u8] = b"accepted:
- {check: volume_degraded, cause: rebuild_looping, object: a, node: worker-1, reason: known, until: 2030-01-31}
";
const SIGNATURES: &[u8] = b"signatures:
- {name: a, title: T, severity: info, fix: F of <node>, releases: '>=1.6.0 <1.6.3', where: {log: {matches: '(?i)^a.{0,9}b'}}}
- name: b
  title: T
  severity: warning
  where: {object: {kind: Volume, fields: [{path: 'status.conditions[type=Restore].status', equals: 'True'}]}}
  fix: F
  steps: [{change: kubectl -n <namespace> delete pod x}]
  link: https://example.org
";
const STATE: &[u8] = br#"{"version":1,"namespace":"longhorn-system","saved_at":"2026-03-01T00:00:00Z",
"facts":[{"check":"volume_degraded","fact":"a","object":"b","since":"2026-02-01T00:00:00Z"}],
"gone_pods":[{"at":"2026-02-01T00:00:00Z","replaced_by":"b","last":{"metadata":{"name":"a"}}}]}"#;
const QUERIES: &[&[u8]] =
    &[b"node=a,b&check=volume_faulted&severity=warning&refresh=30", b"pvc=a%2Fb&volume=%20+c"];
const HEADERS: &[&[u8]] = &[
    b"application/openmetrics-text;version=1.0.0;escaping=dots;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
    b"gzip;q=1.0, identity; q=0.5, *;q=0",
    b"Basic YTpi",
    b"Bearer abc",
    b"9.5",
    b"Sun, 06 Nov 1994 08:49:37 GMT",
];
const OPTIONS: &[&[u8]] = &[
    b"1h30m",
    b"2026-03-01T04:30:00Z",
    b"[::1]:10945",
    b"v1.10.0-hotfix-2",
    b"r.example:5000/longhorn-manager:v1.9.1@sha256:0",
    b"128.5Mi",
    b"CRON_TZ=Europe/Berlin */15 0-6,22 1,L * mon-fri",
    b"@every 1h",
    b"volume_degraded/rebuild_looping",
];
/// `a.json` with the text {}.
const TAR_GZ: &[u8] = include_bytes!("a.tar.gz");
const ZIP: &[u8] = include_bytes!("a.zip");
