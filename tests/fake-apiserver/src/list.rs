//! Lists: pages of a snapshot, written from objects serialised before.

use std::sync::Arc;

use bytes::Bytes;
use futures::{Stream, stream};
use http::StatusCode;
use serde_json::{Value, json};

use crate::body::{self, Answer};
use crate::faults::Fault;
use crate::query::{Filter, Query};
use crate::resource::ResourceDef;
use crate::route::Target;
use crate::state::State;
use crate::status::Failure;
use crate::store::{Collection, Form, Items, Snapshot, Store, Stored};

/// Pieces of a body are about this large: few enough writes, and no second copy of a large list in memory.
const PIECE: usize = 128 * 1024;

/// Answers a list request.
pub(crate) fn answer(
    state: &mut State,
    target: &Target,
    query: &Query,
    form: Form,
    fault: Option<Fault>,
) -> Result<Answer, Failure> {
    let (page, def) = page(&mut state.store, target, query)?;
    let form = if form == Form::Full && def.is_native() { Form::Bare } else { form };
    let pieces = encode(&page, &def, form);
    Ok(body::answer(StatusCode::OK, "application/json", body::faulty(pieces, fault)))
}

/// The part of a snapshot that one request gets.
struct Page {
    items: Items,
    start: usize,
    end: usize,
    rv: u64,
    token: Option<String>,
    remaining: Option<usize>,
}

fn page(store: &mut Store, target: &Target, query: &Query) -> Result<(Page, ResourceDef), Failure> {
    let id = store.next_id();
    let current = store.rv;
    let collection = store.collections.get_mut(&target.gvr()).ok_or_else(Failure::unserved)?;
    let filter = Filter::new(target, query, &collection.def)?;
    // A list served "from any version" comes from the watch cache, which does not page.
    let pages = query.get("resourceVersion") != Some("0");
    let limit = query.number("limit")?.filter(|&limit| limit > 0 && pages);
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let (snapshot, start) = match query.get("continue") {
        Some(token) => resume(collection, token)?,
        None => {
            let (rv, items) = fresh(collection, query, &filter, current)?;
            (Snapshot { id, rv, items, has_selectors: filter.has_selectors() }, 0)
        }
    };
    let total = snapshot.items.len();
    let end = start.saturating_add(limit).min(total);
    let mut page =
        Page { items: snapshot.items.clone(), start, end, rv: snapshot.rv, token: None, remaining: None };
    if end < total {
        // Like real tokens this one needs escaping in a URL.
        page.token = Some(format!("{}/{end}==", snapshot.id));
        // With selectors a real server does not know how many follow.
        page.remaining = (!snapshot.has_selectors).then_some(total - end);
        collection.keep_snapshot(snapshot);
    }
    Ok((page, collection.def.clone()))
}

/// Where a continue token left off.
fn resume(collection: &Collection, token: &str) -> Result<(Snapshot, usize), Failure> {
    let parsed = token.strip_suffix("==").and_then(|t| t.split_once('/'));
    let parsed = parsed.and_then(|(id, start)| Some((id.parse().ok()?, start.parse().ok()?)));
    let (id, start): (u64, usize) =
        parsed.ok_or_else(|| Failure::bad_request("continue key is not valid"))?;
    let kept = collection.snapshot(id).ok_or_else(|| {
        Failure::expired("The provided continue parameter is too old to display a consistent list result.")
    })?;
    let snapshot = Snapshot { id, rv: kept.rv, items: kept.items.clone(), has_selectors: kept.has_selectors };
    let start = start.min(snapshot.items.len());
    Ok((snapshot, start))
}

/// The objects of a list that does not continue another, and the version they are of.
fn fresh(
    collection: &Collection,
    query: &Query,
    filter: &Filter,
    current: u64,
) -> Result<(u64, Items), Failure> {
    let rv = query.number("resourceVersion")?;
    let Some(rv) = rv else {
        if query.get("resourceVersionMatch").is_some() {
            return Err(Failure::invalid(
                "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
            ));
        }
        return Ok((current, collection.select(filter)));
    };
    if rv > current {
        let mut failure = Failure::new(
            StatusCode::GATEWAY_TIMEOUT,
            "Timeout",
            format!("Timeout: Too large resource version: {rv}, current: {current}"),
        );
        failure.details = json!({"causes": [{"reason": "ResourceVersionTooLarge"}], "retryAfterSeconds": 1});
        return Err(failure);
    }
    match query.get("resourceVersionMatch") {
        Some("Exact") if rv == 0 => {
            Err(Failure::invalid("resourceVersionMatch \"Exact\" is forbidden for resourceVersion \"0\""))
        }
        Some("Exact") => {
            collection.check_not_compacted(rv, false)?;
            Ok((rv, collection.select_at(rv, filter)))
        }
        None | Some("NotOlderThan") => Ok((current, collection.select(filter))),
        Some(other) => Err(Failure::invalid(format!("resourceVersionMatch: Unsupported value: \"{other}\""))),
    }
}

/// Writes a page, piece by piece as the client reads.
fn encode(page: &Page, def: &ResourceDef, form: Form) -> impl Stream<Item = Bytes> + Send + use<> {
    let items: Arc<[Arc<Stored>]> = page.items.clone();
    let end = page.end;
    let head = head(page, def, form);
    // The state is the next object and what precedes it; `None` once the end is written.
    stream::unfold(Some((page.start, head)), move |state| {
        let piece = state.map(|(mut next, mut out)| {
            while next < end && out.len() < PIECE {
                items[next].append(&mut out, form);
                next += 1;
                if next < end {
                    out.push(b',');
                }
            }
            if next < end {
                return (Bytes::from(out), Some((next, Vec::with_capacity(PIECE))));
            }
            out.extend_from_slice(b"]}\n");
            (Bytes::from(out), None)
        });
        std::future::ready(piece)
    })
}

fn head(page: &Page, def: &ResourceDef, form: Form) -> Vec<u8> {
    let mut metadata = json!({"resourceVersion": page.rv.to_string()});
    if let Some(token) = &page.token {
        metadata["continue"] = json!(token);
    }
    if let Some(remaining) = page.remaining {
        metadata["remainingItemCount"] = json!(remaining);
    }
    let (kind, api_version): (String, Value) = match form {
        Form::Partial => ("PartialObjectMetadataList".into(), json!("meta.k8s.io/v1")),
        Form::Full | Form::Bare => (format!("{}List", def.kind), json!(def.api_version())),
    };
    let kind = json!(kind);
    format!("{{\"kind\":{kind},\"apiVersion\":{api_version},\"metadata\":{metadata},\"items\":[").into_bytes()
}
