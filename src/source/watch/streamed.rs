//! A whole list from the API server's memory, handed on object by object as it arrives.
//!
//! A list in pages is read from etcd: each page is decoded again, and 15,000 replicas cost a
//! kube-apiserver six times the CPU of the list that it keeps for `resourceVersion=0`, which client-go's
//! informers ask for too (kubernetes v1.36 staging/src/k8s.io/apiserver/pkg/storage/cacher/delegator).
//! That list has no pages, and held as a whole it would be the largest thing in this process.
//!
//! kube's watcher can take a list as a stream of events (`InitialListStrategy::StreamingList`), but that
//! stream costs a kube-apiserver 1.36 a third more CPU than the whole list (docs/performance.md), and few
//! clusters offer it: it needs etcd 3.4.31 or 3.5.13 and Kubernetes 1.32 or 1.34. So what the watcher asks
//! for is sent as a list, and the list comes back to it as the events that it expects.
//!
//! Delete this file when no Kubernetes below 1.34 is supported any longer, [`Split`] excepted, with which `record` takes
//! lists apart: from 1.34 on, with one of these etcds, pages come from memory too (feature ListFromCacheSnapshot) and cost
//! the API server no more than the whole list (docs/performance.md). kube's watcher then lists in pages on its own
//! (`InitialListStrategy::ListWatch`), as it does today after a list that failed, and [`super::traffic`] sends them on.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::Uri;
use http_body::Frame;
use memchr::memchr2;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tower::BoxError;

use super::body::{Garbled, LONGEST_LINE, Watched};

/// Whether the watcher asks for a list as a stream of events.
pub(super) fn is_asked_for(uri: &Uri) -> bool {
    uri.query().is_some_and(|query| query.split('&').any(|parameter| parameter == "sendInitialEvents=true"))
}

/// The same as a list: only what selects objects is kept. The first one may be as old as the API server likes; after
/// that one of several that lags (kubernetes#59848) must not lead back behind what was `seen`. It then answers that
/// the version is too large, and pages follow, which etcd answers for.
pub(super) fn as_list(uri: &Uri, seen: Option<&str>) -> Option<Uri> {
    let selects =
        |parameter: &&str| parameter.starts_with("fieldSelector=") || parameter.starts_with("labelSelector=");
    let selectors = uri.query()?.split('&').filter(selects).map(|parameter| format!("&{parameter}"));
    let version = match seen {
        Some(seen) => format!("resourceVersion={seen}&resourceVersionMatch=NotOlderThan"),
        None => "resourceVersion=0".to_owned(),
    };
    let path = format!("{}?{version}{}", uri.path(), selectors.collect::<String>());
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(path.parse().ok()?);
    Uri::from_parts(parts).ok()
}

/// The body of a list as lines of a watch: its objects as additions, then the bookmark after them.
pub(super) struct Streamed {
    list: Watched,
    split: Split,
    ended: bool,
}

impl Streamed {
    pub(super) fn new(list: Watched, keeps_writes: bool) -> Self {
        Streamed { list, split: Split::keeping(keeps_writes), ended: false }
    }
}

impl http_body::Body for Streamed {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        while !this.ended {
            let lines = match ready!(Pin::new(&mut this.list).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => match this.split.feed(&bytes) {
                        Ok(_) if !this.list.may_hold(this.split.part()) => Err(Garbled::Long),
                        lines if this.split.envelope.len() <= LONGEST_ENVELOPE => lines,
                        _ => Err(Garbled::Long),
                    },
                    Err(_trailers) => continue,
                },
                Some(Err(error)) => {
                    this.ended = true;
                    return Poll::Ready(Some(Err(broken_off(error))));
                }
                None => {
                    this.ended = true;
                    this.split.end()
                }
            };
            match lines {
                Ok(lines) if lines.is_empty() => {}
                Ok(lines) => return Poll::Ready(Some(Ok(Frame::data(lines.into())))),
                Err(garbled) => {
                    this.ended = true;
                    return Poll::Ready(Some(Err(garbled.into())));
                }
            }
        }
        Poll::Ready(None)
    }
}

/// The connection ended within a list.
#[derive(Debug, thiserror::Error)]
#[error("the connection ended within the list")]
struct BrokenOff;

/// kube takes the end of a connection within a watch for the end of the watch (kube-client 5.0
/// client/mod.rs request_events). Within a list it must be seen, so it goes by another name.
fn broken_off(error: BoxError) -> BoxError {
    let silent = error.downcast_ref::<std::io::Error>();
    let silent = silent.is_some_and(|error| error.kind() == std::io::ErrorKind::TimedOut);
    if silent { error } else { BrokenOff.into() }
}

/// Takes a list apart, and leaves out who wrote which field where that is not of interest. Looks at strings and brackets only:
/// whether an object decodes shows later.
#[derive(Default)]
pub(crate) struct Split {
    /// Who wrote which field stays.
    keeps_writes: bool,
    depth: usize,
    in_string: bool,
    escaped: bool,
    in_items: bool,
    /// In what is left out of an item.
    leaves_out: bool,
    /// Lines, and after them the part of the next one that has come.
    lines: Vec<u8>,
    /// Where that part begins.
    begun: usize,
    /// The list without its items.
    envelope: Vec<u8>,
}

/// What is left of a list without its items.
#[derive(Deserialize)]
#[serde(expecting = "a list")]
struct Envelope<'a> {
    #[serde(borrow)]
    items: &'a RawValue,
    metadata: ListMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct ListMeta {
    resource_version: String,
    #[serde(default)]
    r#continue: String,
}

/// What a list has beside its items is a version and a number.
pub(crate) const LONGEST_ENVELOPE: usize = 64 << 10;

/// How the line of an object begins; it ends with a bracket.
pub(crate) const ADDED: &[u8] = br#"{"type":"ADDED","object":"#;

/// Depth between the items: in the list's object and in the array.
const BETWEEN: usize = 2;
/// Depth between the keys of an item's metadata.
const METADATA: usize = 4;
/// Who wrote which field: half of an object, which is read of few kinds.
const LEFT_OUT: &[u8] = b"\"managedFields\"";

impl Split {
    /// One that leaves out who wrote which field, or does not.
    pub(crate) fn keeping(keeps_writes: bool) -> Self {
        Split { keeps_writes, ..Split::default() }
    }

    /// The items that end in these bytes, as lines.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<u8>, Garbled> {
        self.lines.reserve(bytes.len());
        let piece = |from: usize, until: usize| bytes.get(from..until).unwrap_or_default();
        let (mut taken, mut next) = (0, 0);
        loop {
            if self.in_string {
                let Some(end) = self.string_ends(bytes, next) else { break };
                next = end;
            }
            let at = next;
            let Some(byte) = bytes.get(at) else { break };
            next += 1;
            match byte {
                b'"' => self.in_string = true,
                b'{' => self.depth += 1,
                b'[' => {
                    self.depth += 1;
                    if self.depth == BETWEEN && !self.in_items {
                        self.take(piece(taken, at + 1));
                        taken = at + 1;
                        self.in_items = names_items(&self.envelope);
                    }
                }
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.leaves_out && self.depth < METADATA {
                        (taken, self.leaves_out) = (at, false);
                    }
                    if self.in_items && self.depth < BETWEEN {
                        self.take(piece(taken, at));
                        taken = at;
                        self.item_ends();
                        self.in_items = false;
                    }
                }
                b',' if self.in_items && self.depth == BETWEEN => {
                    self.take(piece(taken, at));
                    taken = at + 1;
                    self.item_ends();
                }
                b',' if self.leaves_out && self.depth == METADATA => {
                    (taken, self.leaves_out) = (at, false);
                }
                b':' if self.in_items && self.depth == METADATA && self.is_left_out(piece(taken, at)) => {
                    self.take(piece(taken, at + 1));
                    self.take(b"[]");
                    self.leaves_out = true;
                }
                // an event is a line
                b'\n' | b'\r' => {
                    self.take(piece(taken, at));
                    taken = at + 1;
                }
                _ => {}
            }
        }
        self.take(piece(taken, bytes.len()));
        if self.part() > LONGEST_LINE { Err(Garbled::Long) } else { Ok(self.whole_lines()) }
    }

    /// How much is held of what has not come whole.
    fn part(&self) -> usize {
        if self.in_items { self.item().len() } else { self.envelope.len() }
    }

    fn take(&mut self, piece: &[u8]) {
        if self.leaves_out {
            return;
        }
        if !self.in_items {
            return self.envelope.extend_from_slice(piece);
        }
        if self.lines.len() == self.begun {
            self.lines.extend_from_slice(ADDED);
        }
        self.lines.extend_from_slice(piece);
    }

    /// The part of an item that has come.
    fn item(&self) -> &[u8] {
        self.lines.get(self.begun + ADDED.len()..).unwrap_or_default()
    }

    fn whole_lines(&mut self) -> Vec<u8> {
        let part = self.lines.split_off(std::mem::take(&mut self.begun));
        std::mem::replace(&mut self.lines, part)
    }

    /// Whether the key that ends here, of which some may have come before, is one whose value is left out.
    fn is_left_out(&self, piece: &[u8]) -> bool {
        if self.keeps_writes {
            return false;
        }
        match LEFT_OUT.len().checked_sub(piece.len()) {
            None => piece.ends_with(LEFT_OUT),
            Some(before) => {
                LEFT_OUT.ends_with(piece) && self.lines.ends_with(LEFT_OUT.get(..before).unwrap_or_default())
            }
        }
    }

    /// Where the string ends in which this place is; nothing where that has not come.
    fn string_ends(&mut self, bytes: &[u8], mut from: usize) -> Option<usize> {
        loop {
            if std::mem::take(&mut self.escaped) {
                if from == bytes.len() {
                    self.escaped = true;
                    return None;
                }
                from += 1;
            }
            let at = from + memchr2(b'"', b'\\', bytes.get(from..)?)?;
            from = at + 1;
            if bytes.get(at) == Some(&b'"') {
                self.in_string = false;
                return Some(from);
            }
            self.escaped = true;
        }
    }

    /// What has come beside the objects.
    pub(crate) fn envelope(&self) -> &[u8] {
        &self.envelope
    }

    /// Whether nothing has come.
    pub(crate) fn is_empty(&self) -> bool {
        self.depth == 0 && self.envelope.trim_ascii().is_empty()
    }

    /// Whether all that was opened is closed.
    pub(crate) fn is_whole(&self) -> bool {
        self.depth == 0 && !self.in_string
    }

    fn item_ends(&mut self) {
        if self.item().trim_ascii().is_empty() {
            self.lines.truncate(self.begun);
        } else {
            self.lines.extend_from_slice(b"}\n");
        }
        self.begun = self.lines.len();
    }

    /// The bookmark after the last item; a list that is not whole has none.
    pub(crate) fn end(&mut self) -> Result<Vec<u8>, Garbled> {
        if self.depth > 0 || self.in_string {
            return Err(Garbled::Cut);
        }
        let envelope: Envelope<'_> =
            serde_json::from_slice(&self.envelope).map_err(|error| Garbled::Line(error.to_string()))?;
        let (items, metadata) = (envelope.items.get(), envelope.metadata);
        if !matches!(items, "[]" | "null") {
            return Err(Garbled::Line("items is no array".to_owned()));
        }
        if metadata.resource_version.is_empty() || !metadata.r#continue.is_empty() {
            return Err(Garbled::Line("the list is not whole, or has no version".to_owned()));
        }
        let annotations = json!({"k8s.io/initial-events-end": "true"});
        let metadata = json!({"resourceVersion": metadata.resource_version, "annotations": annotations});
        let bookmark =
            json!({"type": "BOOKMARK", "object": {"kind": "", "apiVersion": "", "metadata": metadata}});
        Ok(format!("{bookmark}\n").into_bytes())
    }
}

/// The lines of a list that comes in pieces of this size, for tests and fuzzing.
pub fn lines(list: &[u8], piece: usize) -> Result<Vec<u8>, Garbled> {
    let (mut split, mut lines) = (Split::default(), Vec::new());
    for bytes in list.chunks(piece) {
        lines.extend(split.feed(bytes)?);
    }
    lines.extend(split.end()?);
    Ok(lines)
}

/// Whether the array that begins here is that of the items.
fn names_items(envelope: &[u8]) -> bool {
    let before = envelope.strip_suffix(b"[").unwrap_or_default().trim_ascii_end();
    let key = before.strip_suffix(b":").unwrap_or_default().trim_ascii_end();
    key.ends_with(b"\"items\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(list: &str, piece: usize) -> Result<Vec<String>, Garbled> {
        let lines = super::lines(list.as_bytes(), piece)?;
        Ok(String::from_utf8(lines).unwrap().lines().map(str::to_owned).collect())
    }

    const LIST: &str = r#"{"apiVersion":"v1","items":[ {"metadata":{"name":"a, \"]}\\","x":[1,{"y":[]}]}},
        null,7,"text", {"a":"[items"}
        ],"kind":"List","metadata":{"resourceVersion":"9","labels":["x"]}}"#;

    #[test]
    fn no_more_than_an_object_is_held_however_long_the_list_is() {
        let object = format!("{{\"metadata\":{{\"annotations\":{{\"a\":\"{}\"}}}}}},", "x".repeat(1 << 20));
        let (mut split, mut held) = (Split::default(), 0);
        split.feed(br#"{"items":["#).unwrap();
        for piece in std::iter::repeat_n(object.as_bytes().chunks(16 << 10), 100).flatten() {
            let lines = split.feed(piece).unwrap();
            held = held.max(split.lines.capacity() + split.envelope.capacity() + lines.capacity());
        }
        assert!(held < 5 << 20, "{held} bytes of 100 MiB");
        // one without an end is given up
        let endless = vec![b'x'; 1 << 20];
        let fed = (0..).find(|_| split.feed(&endless).is_err());
        assert_eq!(fed, Some(LONGEST_LINE >> 20));
    }

    #[test]
    fn each_item_is_a_line_however_the_bytes_arrive() {
        let whole = lines(LIST, LIST.len()).unwrap();
        let items: Vec<serde_json::Value> =
            whole.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(items[0]["object"]["metadata"]["name"], "a, \"]}\\");
        assert_eq!(
            items[1..4].iter().map(|item| &item["object"]).collect::<Vec<_>>(),
            [&json!(null), &json!(7), &json!("text")]
        );
        assert_eq!(items[5]["type"], "BOOKMARK");
        assert_eq!(items[5]["object"]["metadata"]["resourceVersion"], "9");
        for piece in 1..40 {
            assert_eq!(lines(LIST, piece).unwrap(), whole, "in pieces of {piece}");
        }
    }

    #[test]
    fn who_wrote_which_field_is_left_out_and_all_else_stays() {
        let fields =
            r#"[{"manager":"m","fieldsV1":{"f:a":{".":{},"k:{\"x\":\"]},\"}":[1,{}]}}},{"x":"\\\\"}]"#;
        let list = |managed: &str| {
            let first = format!(
                r#"{{"metadata":{{"labels":{{"managedFields":"x"}}{managed},"name":"a"}},"spec":{{"b":[1]}}}}"#
            );
            let last = format!(r#"{{"metadata":{{"name":"b"{managed}}},"status":{{}}}}"#);
            format!(
                r#"{{"items":[{first},{last}],"metadata":{{"resourceVersion":"9"}},"managedFields":[2]}}"#
            )
        };
        let (with, without) =
            (list(&format!(r#","managedFields":{fields}"#)), list(r#","managedFields":[]"#));
        let wanted = lines(&without, without.len()).unwrap();
        assert_eq!(wanted.len(), 3);
        assert_eq!(lines(&with, with.len()).unwrap(), wanted);
        for piece in 1..with.len() {
            assert_eq!(lines(&with, piece).unwrap(), wanted, "in pieces of {piece}");
        }
        // what is no list of values ends where it should, too
        for odd in ["null", "7", "{}", "\"x,y\""] {
            assert_eq!(lines(&list(&format!(r#","managedFields":{odd}"#)), 5_000).unwrap(), wanted, "{odd}");
        }
    }

    #[test]
    fn the_envelope_may_come_first_and_a_list_may_be_empty() {
        let first = r#"{"kind":"PodList","metadata":{"resourceVersion":"9"},"items":[{}]}"#;
        assert_eq!(lines(first, 5).unwrap().len(), 2);
        for none in [
            r#"{"metadata":{"resourceVersion":"9"},"items":[]}"#,
            r#"{"items":null,"metadata":{"resourceVersion":"9"}}"#,
        ] {
            assert_eq!(lines(none, 5).unwrap().len(), 1, "{none}");
        }
    }

    #[test]
    fn what_is_not_a_whole_list_has_no_bookmark() {
        for end in 1..LIST.len() {
            assert!(lines(&LIST[..end], 1000).is_err(), "{}", &LIST[..end]);
        }
        for other in [
            "",
            "{}",
            "null",
            "[]",
            "<html>",
            r#"{"items":[]}"#,
            r#"{"metadata":{"resourceVersion":"9"}}"#,
            r#"{"items":{"a":[1]},"metadata":{"resourceVersion":"9"}}"#,
            r#"{"items":[],"metadata":{"resourceVersion":"9","continue":"more"}}"#,
            r#"{"items":[],"metadata":{"resourceVersion":""}}"#,
            r#"{"kind":"Status","metadata":{},"status":"Failure"}"#,
        ] {
            assert!(lines(other, 1000).is_err(), "{other}");
        }
    }

    #[test]
    fn selectors_are_kept_and_nothing_else() {
        let asked: Uri = "https://api:6443/api/v1/namespaces/default/events?&watch=true&timeoutSeconds=45\
                          &fieldSelector=involvedObject.kind%3DNode&allowWatchBookmarks=true\
                          &sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=0"
            .parse()
            .unwrap();
        assert!(is_asked_for(&asked));
        let list = "https://api:6443/api/v1/namespaces/default/events?resourceVersion=0\
                    &fieldSelector=involvedObject.kind%3DNode";
        assert_eq!(as_list(&asked, None).unwrap(), list);
        assert!(!is_asked_for(&as_list(&asked, None).unwrap()));
        let later = list.replace("=0", "=7&resourceVersionMatch=NotOlderThan");
        assert_eq!(as_list(&asked, Some("7")).unwrap(), later.as_str());
    }
}
