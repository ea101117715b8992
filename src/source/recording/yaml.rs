//! YAML text as trees, by the events of the parser that serde-saphyr and so kube is made with.

use std::borrow::Cow;
use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};

use super::tree::{Broken, Count, Tree, twice};

/// How deep values may lie in each other; objects of Kubernetes lie some twenty deep.
const MAX_DEPTH: usize = 100;
/// How many values aliases may repeat. kubectl writes none; a small file of them can mean very many.
const MAX_REPEATED: usize = 100_000;

/// The documents of a YAML stream, each with the line it begins at.
pub(super) fn documents(text: &str, count: &Count) -> Result<Vec<(usize, Tree)>, Broken> {
    let options = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut documents = Vec::new();
    let mut builder = Builder::new(count);
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| syntax(&error))?;
        let line = span.start.line();
        let done = builder.take(event, &span).map_err(|message| Broken { line, message })?;
        documents.extend(done);
    }
    Ok(documents)
}

fn syntax(error: &ScanError) -> Broken {
    Broken { line: error.marker().line().max(1), message: error.info() }
}

/// A value that is being read.
enum OpenCollection {
    List(Vec<Tree>),
    Map { entries: Vec<(Box<str>, Tree)>, key: Option<Box<str>>, key_is_plain: bool },
}

/// With its anchor, the line it begins at, and how many values came before.
struct YamlLevel {
    open: OpenCollection,
    anchor: usize,
    line: usize,
    began: usize,
}

struct Builder<'a> {
    count: &'a Count,
    open: Vec<YamlLevel>,
    anchors: HashMap<usize, (Tree, usize)>,
    values: usize,
    repeated: usize,
}

impl<'a> Builder<'a> {
    fn new(count: &'a Count) -> Self {
        Builder { count, open: Vec::new(), anchors: HashMap::new(), values: 0, repeated: 0 }
    }

    /// Takes an event; returns a document that is complete.
    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<Option<(usize, Tree)>, String> {
        let line = span.start.line();
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let tree = scalar(&text, style, tag.as_deref());
                // a long text counts as many
                let weight = 1 + text.len() / 64;
                self.values += weight;
                self.remember(anchor, &tree, weight);
                self.put(tree, line)
            }
            Event::SequenceStart(_, anchor, _) => self.begin(OpenCollection::List(Vec::new()), anchor, line),
            Event::MappingStart(_, anchor, _) => self.begin(
                OpenCollection::Map { entries: Vec::new(), key: None, key_is_plain: false },
                anchor,
                line,
            ),
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => {
                let (tree, values) = self.anchors.get(&anchor).ok_or("an alias of what it lies in")?;
                self.repeated += values;
                self.values += values;
                if self.repeated > MAX_REPEATED {
                    return Err(format!("aliases repeat more than {MAX_REPEATED} values; write them out"));
                }
                let tree = tree.clone();
                self.put(tree, line)
            }
            _ => Ok(None),
        }
    }

    fn begin(
        &mut self,
        open: OpenCollection,
        anchor: usize,
        line: usize,
    ) -> Result<Option<(usize, Tree)>, String> {
        if self.open.len() >= MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} levels deep"));
        }
        self.values += 1;
        self.open.push(YamlLevel { open, anchor, line, began: self.values });
        Ok(None)
    }

    fn end(&mut self) -> Result<Option<(usize, Tree)>, String> {
        let Some(YamlLevel { open, anchor, line, began }) = self.open.pop() else { return Ok(None) };
        let tree = match open {
            OpenCollection::List(items) => Tree::List(items),
            OpenCollection::Map { entries, .. } => {
                if let Some((key, _)) = twice(&entries).and_then(|at| entries.get(at)) {
                    return Err(format!("the key {key:?} is there twice in the map that ends here"));
                }
                Tree::Map(entries)
            }
        };
        self.remember(anchor, &tree, self.values + 1 - began);
        self.put(tree, line)
    }

    fn remember(&mut self, anchor: usize, tree: &Tree, values: usize) {
        if anchor > 0 {
            self.anchors.insert(anchor, (tree.clone(), values));
        }
    }

    /// Puts a value where it belongs.
    fn put(&mut self, tree: Tree, line: usize) -> Result<Option<(usize, Tree)>, String> {
        self.count.add(1)?;
        match self.open.last_mut().map(|level| &mut level.open) {
            None => return Ok(Some((line, tree))),
            Some(OpenCollection::List(items)) => items.push(tree),
            Some(OpenCollection::Map { entries, key, key_is_plain }) => match key.take() {
                None => {
                    *key_is_plain = matches!(tree, Tree::Plain(_));
                    *key = match tree {
                        Tree::Plain(text) | Tree::Text(text) => Some(text),
                        other => return Err(format!("{} as a key", other.what())),
                    };
                }
                // kubectl prints the key as it is; where it merges, what it brings would be lost
                Some(name)
                    if &*name == "<<" && *key_is_plain && !matches!(tree, Tree::Plain(_) | Tree::Text(_)) =>
                {
                    return Err("merge keys (<<) are not read; write the fields out".to_owned());
                }
                Some(name) if &*name == "managedFields" => entries.push((name, super::writes(&tree))),
                Some(name) => entries.push((name, tree)),
            },
        }
        Ok(None)
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Tree {
    let is_text = tag.is_some_and(|tag| tag.is_yaml_core_schema_tag("str") || tag.original() == "!");
    match style {
        ScalarStyle::Plain if !is_text => Tree::Plain(without_indentation(text).into()),
        ScalarStyle::DoubleQuoted => Tree::Text(text.into()),
        _ => Tree::Text(without_indentation(text).into()),
    }
}

/// Characters that were line breaks in YAML 1.1 and are none in 1.2: goyaml indents after them.
const OLD_BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

fn without_indentation(text: &str) -> Cow<'_, str> {
    if !text.contains(OLD_BREAKS) {
        return text.into();
    }
    let mut lines = text.split_inclusive(OLD_BREAKS);
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |text, line| text + line.trim_start_matches(' ')).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(usize, Tree)>, Broken> {
        documents(text, &Count::default())
    }

    fn error(text: &str) -> String {
        let broken = read(text).unwrap_err();
        format!("{}: {}", broken.line, broken.message)
    }

    #[test]
    fn documents_begin_where_the_file_has_them() {
        let found = read("# a\n---\na: 1\n---\n# nothing\n---\n- b\n").unwrap();
        assert_eq!(
            found.iter().map(|(_, tree)| tree.what()).collect::<Vec<_>>(),
            ["an object", "text", "a list"]
        );
        assert_eq!(found[0].1.text(&["a"]), "1");
    }

    #[test]
    fn what_is_lost_or_grows_without_bound_is_refused() {
        assert!(
            error("a: 1\nb: 2\na: 3\n").ends_with("the key \"a\" is there twice in the map that ends here")
        );
        assert_eq!(
            error("x: &x {a: 1}\ny:\n  <<: *x\n"),
            "3: merge keys (<<) are not read; write the fields out"
        );
        assert_eq!(read("<<: =\n").unwrap()[0].1.text(&["<<"]), "=");
        assert!(error("? [a]\n: b\n").contains("a list as a key"));
        let mut bomb = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n".to_owned();
        for at in 1..9 {
            bomb += &format!("a{at}: &a{at} [{}]\n", vec![format!("*a{}", at - 1); 10].join(","));
        }
        assert!(error(&bomb).contains("aliases repeat more than"));
        let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1_000_000), vec!["*a"; 4000].join(", "));
        assert!(error(&long).contains("aliases repeat more than"));
        let deep = "[".repeat(5000);
        assert!(error(&deep).contains("1: "), "{}", error(&deep));
    }

    #[test]
    fn few_aliases_and_tags_are_read() {
        let found = read("a: &x {b: y}\nc: *x\nd: !!str 7\n").unwrap();
        assert_eq!(found[0].1.text(&["c", "b"]), "y");
        assert_eq!(found[0].1.get("d"), Some(&Tree::Text("7".into())));
    }
}
