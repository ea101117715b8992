//! How a kind is listed to be recorded: whole, and in pages where that fails.

use std::fs::File;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use kube::Client;
use kube::api::{ListParams, Request};
use kube::client::Body;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::timeout;

use super::listed::Listed;
use crate::ApiErrorReason;
use crate::answer::{TooLong, ask_for};
use crate::longhorn::{Resource, Scope};
use crate::watch::body::REFUSAL;
use crate::watch::split::{LONGEST_ENVELOPE, Split};
use crate::watch::{describe, reason_of, reason_of_code};

/// Objects asked for at once.
const PAGE: u32 = 200;
/// How often a list is begun before it is given up.
const ATTEMPTS: u32 = 3;
/// Bytes of a page; of one that is heavier fewer objects are asked for.
const PAGE_BYTES: usize = 32 << 20;
/// How much fewer.
const SHRINK: u32 = 8;

/// Why a kind could not be read.
pub(super) struct RecordRefusal {
    pub(super) reason: ApiErrorReason,
    pub(super) message: String,
}

/// Lists a kind: whole from the memory of the API server, as the exporter does, and in pages where that fails.
pub(super) async fn list<'a>(
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
        if attempts > ATTEMPTS || matches!(refusal.reason, Forbidden | Unauthorized | NotInstalled) {
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
