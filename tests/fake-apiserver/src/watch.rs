//! Watches: one task per watch, which sends changes in order until someone ends it.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http::StatusCode;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::body::{self, Answer};
use crate::query::{Filter, Query};
use crate::resource::{Gvr, ResourceDef};
use crate::route::Target;
use crate::settings::{Expired, StreamingLists};
use crate::state::{Inject, Shared, State};
use crate::status::Failure;
use crate::store::{Form, Items, Stored};

/// Events are sent together up to about this many bytes.
const PIECE: usize = 128 * 1024;

/// What others may know of, and do to, an open watch.
pub(crate) struct Watcher {
    /// Everything up to this version has been sent.
    pub sent: u64,
    /// Something was taken to be sent and may still be on its way.
    pub sending: bool,
    /// Things to send besides events, each after the events up to a version.
    pub injected: VecDeque<(u64, Inject)>,
}

/// Starts a watch.
pub(crate) fn answer(
    shared: &Arc<Shared>,
    target: &Target,
    query: &Query,
    form: Form,
) -> Result<Answer, Failure> {
    let (tx, rx) = mpsc::channel(4);
    let watch = match open(shared, target, query, form, tx) {
        // Refused with 200: the only line there will be.
        Err(Refusal::Event(failure)) => {
            let line = body::full(error_line(&failure));
            return Ok(body::answer(StatusCode::OK, "application/json", line));
        }
        Err(Refusal::Http(failure)) => return Err(failure),
        Ok(watch) => watch,
    };
    tokio::spawn(watch.run());
    let pieces = stream::unfold(rx, |mut rx| async { rx.recv().await.map(|piece| (piece, rx)) });
    Ok(body::answer(StatusCode::OK, "application/json", body::streamed(pieces)))
}

/// Why a watch does not start.
enum Refusal {
    Http(Failure),
    Event(Failure),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Refusal::Http(failure)
    }
}

type Sender = mpsc::Sender<io::Result<Bytes>>;

fn open(
    shared: &Arc<Shared>,
    target: &Target,
    query: &Query,
    form: Form,
    tx: Sender,
) -> Result<Watch, Refusal> {
    let mut guard = shared.lock();
    let state = &mut *guard;
    let (gvr, current, id) = (target.gvr(), state.store.rv, state.store.next_id());
    let collection = state.store.collections.get_mut(&gvr).ok_or_else(Failure::unserved)?;
    let filter = Filter::new(target, query, &collection.def)?;
    let streaming = query.flag("sendInitialEvents");
    if streaming && state.settings.streaming_lists == StreamingLists::Reject {
        let message = "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: \
                       sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
        return Err(Failure::invalid(message).into());
    }
    let rv = query.number("resourceVersion")?.filter(|&rv| rv > 0);
    // Without a version a watch starts with the present objects as additions.
    let (initial, sent) = match rv {
        Some(rv) if !streaming => {
            if let Err(failure) = collection.check_not_compacted(rv, true) {
                return Err(match state.settings.expired {
                    Expired::Event => Refusal::Event(failure),
                    Expired::Http => Refusal::Http(failure),
                });
            }
            (None, rv)
        }
        _ => (Some(collection.select(&filter)), current),
    };
    collection.watchers.insert(id, Watcher { sent: 0, sending: true, injected: VecDeque::new() });
    let timeout = query.number("timeoutSeconds")?.filter(|&seconds| seconds > 0);
    let watch = Watch {
        shared: shared.clone(),
        id,
        filter,
        form,
        tx,
        changed: collection.changed.subscribe(),
        def: collection.def.clone(),
        gvr,
        initial: initial.map(|items| Initial { items, next: 0, announce_end: streaming }),
        sent,
        bookmarks: query.flag("allowWatchBookmarks"),
        bookmark_interval: state.settings.bookmark_interval,
        deadline: timeout.map(|seconds| Instant::now() + Duration::from_secs(seconds)),
        bookmark_wanted: false,
        ending: false,
    };
    drop(guard);
    shared.activity.send_replace(());
    Ok(watch)
}

/// The objects a watch starts with.
struct Initial {
    items: Items,
    next: usize,
    announce_end: bool,
}

struct Watch {
    shared: Arc<Shared>,
    id: u64,
    gvr: Gvr,
    def: ResourceDef,
    filter: Filter,
    form: Form,
    tx: Sender,
    changed: watch::Receiver<()>,
    initial: Option<Initial>,
    /// Everything up to this version has been taken to be sent.
    sent: u64,
    bookmarks: bool,
    bookmark_interval: Duration,
    deadline: Option<Instant>,
    bookmark_wanted: bool,
    ending: bool,
}

/// What a watch does next.
enum Step {
    /// Nothing until told otherwise: silenced by a fault.
    Silent,
    /// Nothing until something changes, a bookmark is due or the time is up.
    Idle,
    Send(Vec<u8>),
    SendAndEnd(Vec<u8>),
    Cut,
}

impl Watch {
    async fn run(mut self) {
        let mut bookmark_due = Instant::now() + self.bookmark_interval;
        loop {
            // Marked before looking: a change during the look ends the wait below.
            self.changed.mark_unchanged();
            match self.step() {
                Step::Send(bytes) if bytes.is_empty() => {}
                Step::Send(bytes) => {
                    if self.tx.send(Ok(Bytes::from(bytes))).await.is_err() {
                        return;
                    }
                }
                Step::SendAndEnd(bytes) => {
                    // Whether the client is still there makes no difference any more.
                    let _gone = self.tx.send(Ok(Bytes::from(bytes))).await;
                    return;
                }
                Step::Cut => {
                    let _gone = self.tx.send(Err(body::cut())).await;
                    return;
                }
                Step::Silent => tokio::select! {
                    () = self.tx.closed() => return,
                    _ = self.changed.changed() => {}
                },
                Step::Idle => {
                    self.shared.activity.send_replace(());
                    tokio::select! {
                        () = self.tx.closed() => return,
                        _ = self.changed.changed() => {}
                        () = tokio::time::sleep_until(bookmark_due), if self.bookmarks => {
                            bookmark_due = Instant::now() + self.bookmark_interval;
                            self.bookmark_wanted = true;
                        }
                        () = until(self.deadline) => self.ending = true,
                    }
                }
            }
        }
    }

    fn step(&mut self) -> Step {
        let shared = self.shared.clone();
        let mut state = shared.lock();
        let State { store, faults, .. } = &mut *state;
        let (current, silent) = (store.rv, faults.silences(&self.def.name()));
        // A resource that is served no more takes its watches with it.
        let Some(collection) = store.collections.get_mut(&self.gvr) else {
            return Step::SendAndEnd(Vec::new());
        };
        let Some(watcher) = collection.watchers.get_mut(&self.id) else {
            return Step::SendAndEnd(Vec::new());
        };
        if silent {
            return Step::Silent;
        }
        watcher.sending = true;
        if let Some(initial) = &mut self.initial {
            let (bytes, complete) = initial.next_piece(self.form, &self.def, self.sent);
            if complete {
                self.initial = None;
            }
            return Step::Send(bytes);
        }
        if self.sent < collection.forgotten {
            let failure = Failure::expired(format!("too old resource version: {} ({current})", self.sent));
            return Step::SendAndEnd(error_line(&failure));
        }
        let until = watcher.injected.front().map_or(u64::MAX, |(at, _)| *at);
        let first = collection.log.partition_point(|event| event.rv <= self.sent);
        let mut out = Vec::new();
        for event in collection.log.range(first..).take_while(|event| event.rv <= until) {
            if let Some(kind) = event.seen_through(&self.filter) {
                append_event(&mut out, kind, &event.object, self.form);
            }
            self.sent = event.rv;
            if out.len() >= PIECE {
                break;
            }
        }
        if !out.is_empty() {
            return Step::Send(out);
        }
        if let Some((_, what)) = watcher.injected.pop_front() {
            return self.injected(what, current);
        }
        self.finish_round(watcher, current)
    }

    /// All changes are sent: what remains is a bookmark, the end, or to wait.
    fn finish_round(&mut self, watcher: &mut Watcher, current: u64) -> Step {
        let bookmark =
            if self.bookmarks { bookmark(&self.def, self.form, current, false) } else { Vec::new() };
        if self.ending {
            return Step::SendAndEnd(bookmark);
        }
        if std::mem::take(&mut self.bookmark_wanted) {
            return Step::Send(bookmark);
        }
        watcher.sent = current;
        watcher.sending = false;
        Step::Idle
    }

    fn injected(&self, what: Inject, current: u64) -> Step {
        match what {
            Inject::Line(bytes) => Step::Send(bytes.to_vec()),
            Inject::Bookmark if self.bookmarks => Step::Send(bookmark(&self.def, self.form, current, false)),
            Inject::Bookmark => Step::Send(Vec::new()),
            Inject::Error(failure) => Step::SendAndEnd(error_line(&failure)),
            Inject::End => Step::SendAndEnd(Vec::new()),
            Inject::Reset => Step::Cut,
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.change(|state| {
            if let Some(collection) = state.store.collections.get_mut(&self.gvr) {
                collection.watchers.remove(&self.id);
            }
        });
    }
}

impl Initial {
    /// The next additions, and whether they were the last.
    fn next_piece(&mut self, form: Form, def: &ResourceDef, rv: u64) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        while let Some(object) = self.items.get(self.next).filter(|_| out.len() < PIECE) {
            append_event(&mut out, "ADDED", object, form);
            self.next += 1;
        }
        let complete = self.next == self.items.len();
        if complete && self.announce_end {
            out.extend(bookmark(def, form, rv, true));
        }
        (out, complete)
    }
}

/// Waits for a moment, or forever if there is none.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn append_event(out: &mut Vec<u8>, kind: &str, object: &Stored, form: Form) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    object.append(out, form);
    out.extend_from_slice(b"}\n");
}

fn bookmark(def: &ResourceDef, form: Form, rv: u64, ends_initial: bool) -> Vec<u8> {
    let mut metadata = json!({"resourceVersion": rv.to_string(), "creationTimestamp": null});
    if ends_initial {
        metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    }
    let (kind, api_version) = match form {
        Form::Partial => ("PartialObjectMetadata".to_owned(), "meta.k8s.io/v1".to_owned()),
        Form::Full | Form::Bare => (def.kind.clone(), def.api_version()),
    };
    let object = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata});
    line("BOOKMARK", &object)
}

/// An ERROR event.
pub(crate) fn error_line(failure: &Failure) -> Vec<u8> {
    line("ERROR", &failure.to_value())
}

fn line(kind: &str, object: &serde_json::Value) -> Vec<u8> {
    format!("{}\n", json!({"type": kind, "object": object})).into_bytes()
}
