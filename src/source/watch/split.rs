//! Takes a list apart while it arrives, so that one object of it is held at a time.

#[cfg(test)]
mod tests;

use memchr::memchr2;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::body::{Garbled, LONGEST_LINE};

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
    pub(super) fn part(&self) -> usize {
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
