//! Lists in JSON, an object at a time: `kubectl get -o json` of a large cluster is a hundred megabytes, of which a
//! tenth is kept.

use std::io::Read;

use super::document::{Content, DocumentReader, is_list_of, of_support_bundle};
use super::tree::{Count, Tree};
use super::{RecordingError, json};
use crate::watch::split::{ADDED, Split};

/// Takes the objects of a list. `None` for what is not plainly a whole list of objects that say what they are: it is
/// to be read as a whole, which tells what is odd about it. Objects may have been taken by then.
pub(super) fn read(
    name: &str,
    mut file: impl Read,
    take: &mut dyn FnMut(Tree) -> Result<(), RecordingError>,
) -> Result<Option<Content>, RecordingError> {
    let unreadable = |reason| RecordingError::Unreadable { path: name.to_owned(), reason };
    let mut reader = DocumentReader::new(name);
    let (mut split, mut piece) = (Split::keeping(true), vec![0; 64 << 10]);
    let (mut head, mut objects) = (None, 0_usize);
    loop {
        let bytes = file.read(&mut piece).map_err(unreadable)?;
        let Some(bytes) = piece.get(..bytes).filter(|bytes| !bytes.is_empty()) else { break };
        if split.is_empty() && !bytes.trim_ascii_start().starts_with(b"{") {
            return Ok(None);
        }
        let Ok(lines) = split.feed(bytes) else { return Ok(None) };
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let item = line.strip_prefix(ADDED).and_then(|line| line.strip_suffix(b"}")).and_then(one);
            let Some(mut item) = item.filter(|item| matches!(item, Tree::Map(_))) else { return Ok(None) };
            // what comes before the objects may say what they are
            let [kind, version] = head.get_or_insert_with(|| head_of(split.envelope()));
            if let Some(member) = kind.strip_suffix("List").filter(|member| !member.is_empty()) {
                item.or_insert("kind", member);
                item.or_insert("apiVersion", version);
            }
            if item.text(&["kind"]).is_empty() || item.text(&["apiVersion"]).is_empty() {
                return Ok(None);
            }
            if of_support_bundle(name) {
                item.null_the_words();
            }
            objects += 1;
            reader.document(item, 1, true);
            for (object, _) in std::mem::take(&mut reader.content.objects) {
                take(object)?;
            }
        }
    }
    let envelope = split.is_whole().then(|| one(split.envelope())).flatten();
    let is_list = envelope
        .is_some_and(|list| is_list_of(list.text(&["apiVersion"]), list.text(&["kind"])) && !is_page(&list));
    Ok((is_list && objects > 0).then_some(reader.content))
}

fn is_page(list: &Tree) -> bool {
    !list.text(&["metadata", "continue"]).is_empty()
}

/// Kind and version, where they come before the objects.
fn head_of(envelope: &[u8]) -> [String; 2] {
    let list = one(&[envelope, b"]}"].concat());
    ["kind", "apiVersion"]
        .map(|key| list.as_ref().map(|list| list.text(&[key]).to_owned()).unwrap_or_default())
}

/// The one value of a text.
fn one(text: &[u8]) -> Option<Tree> {
    let mut values = json::documents(std::str::from_utf8(text).ok()?, &Count::default()).ok()?;
    let (_, value) = values.pop()?;
    values.is_empty().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of what is taken, and whether that is all.
    fn taken(text: &str) -> (Vec<String>, bool) {
        let mut names = Vec::new();
        let read = read("pods.json", text.as_bytes(), &mut |object| {
            names.push(format!("{} {}", object.text(&["kind"]), object.text(&["metadata", "name"])));
            Ok(())
        });
        let read = read.unwrap();
        assert!(read.as_ref().is_none_or(|content| content.losses.is_empty()));
        (names, read.is_some())
    }

    #[test]
    fn a_list_is_taken_object_by_object_and_what_is_none_is_left_to_be_read_as_a_whole() {
        let pod =
            |name: &str| format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}"}}}}"#);
        let (a, b) = (pod("a"), pod("b"));
        let tail = r#""kind":"List","metadata":{"resourceVersion":""}}"#;
        let whole = format!("{{\n\"apiVersion\":\"v1\",\"items\":[{a},\n{b}],{tail}\n");
        assert_eq!(taken(&whole), (vec!["Pod a".to_owned(), "Pod b".to_owned()], true));
        let bare = r#"{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"c"}}"#;
        let long = format!("{bare},{}{}]}}", r#"{"metadata":{"name":"d"}},"#.repeat(9_000), pod("e"));
        assert_eq!((taken(&long).0.len(), taken(&long).1), (9_002, true), "the head says what they are");
        for odd in [
            whole.trim_end().trim_end_matches('}').to_owned(),
            format!("{whole}{whole}"),
            whole.replace("\"v1\",\"items\"", "\"v1\",\"items\":[],\"items\""),
            whole.replace("\"List\"", "\"Table\""),
            whole.replace("\"kind\":\"List\",", ""),
            whole.replace("\"resourceVersion\":\"\"", "\"continue\":\"x\""),
            whole.replace(&b, "{\"metadata\":{}}"),
            whole.replace(&b, "7"),
            whole.replace(&b, "{\"kind\":}"),
            whole.replace(&format!("{a},\n{b}"), ""),
            a.clone(),
            format!("[{a}]"),
            "kind: List".to_owned(),
            String::new(),
        ] {
            assert!(!taken(&odd).1, "{odd}");
        }
    }
}
