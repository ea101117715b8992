//! A value as it is written. What a plain scalar of YAML means is decided when the type of its field is
//! known: `7558e98742` is a name where a name is read, and `1.10` a version.

use std::collections::BTreeSet;

use super::scalar::{self, Scalar};

/// A value of YAML or JSON.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Tree {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    /// A scalar of YAML without quotes.
    Plain(Box<str>),
    Text(Box<str>),
    List(Vec<Tree>),
    /// In the order of the file; every key once.
    Map(Vec<(Box<str>, Tree)>),
}

impl Tree {
    /// The value of a key; `None` when this is no map.
    pub fn get(&self, key: &str) -> Option<&Tree> {
        let Tree::Map(entries) = self else { return None };
        entries.iter().find(|(name, _)| &**name == key).map(|(_, value)| value)
    }

    /// Takes the value of a key out.
    pub fn take(&mut self, key: &str) -> Option<Tree> {
        let Tree::Map(entries) = self else { return None };
        let at = entries.iter().position(|(name, _)| &**name == key)?;
        Some(entries.remove(at).1)
    }

    /// Sets a key that is missing.
    pub fn or_insert(&mut self, key: &str, value: &str) {
        if self.text(&[key]).is_empty()
            && let Tree::Map(entries) = self
        {
            entries.retain(|(name, _)| &**name != key);
            entries.push((key.into(), Tree::Text(value.into())));
        }
    }

    /// The text at a path; empty where there is none.
    pub fn text(&self, path: &[&str]) -> &str {
        let at = path.iter().try_fold(self, |tree, key| tree.get(key));
        match at {
            Some(tree @ (Tree::Text(text) | Tree::Plain(text))) if !tree.is_nothing() => text,
            _ => "",
        }
    }

    /// What Longhorn's support bundles write for an empty string and for null: the word `null`
    /// (rancher/support-bundle-kit v0.0.84 pkg/manager/collectors/common.go toObjCommon).
    pub fn null_the_words(&mut self) {
        match self {
            Tree::Text(text) if &**text == "null" => *self = Tree::Null,
            Tree::List(items) => items.iter_mut().for_each(Tree::null_the_words),
            Tree::Map(entries) => entries.iter_mut().for_each(|(_, value)| value.null_the_words()),
            _ => {}
        }
    }

    /// True for null and for nothing at all.
    pub fn is_nothing(&self) -> bool {
        match self {
            Tree::Null => true,
            Tree::Plain(text) => scalar::resolve(text) == Scalar::Null,
            _ => false,
        }
    }

    /// What it is, in a word.
    pub fn what(&self) -> &'static str {
        match self {
            Tree::Null => "nothing",
            Tree::Bool(_) | Tree::Number(_) | Tree::Plain(_) | Tree::Text(_) => "text",
            Tree::List(_) => "a list",
            Tree::Map(_) => "an object",
        }
    }
}

/// A file that is not YAML or JSON.
#[derive(Debug, PartialEq)]
pub(super) struct Broken {
    /// Line of the file, from 1.
    pub line: usize,
    pub message: String,
}

/// At most this many values are read from a file: some 300 MB of what kubectl prints.
const MAX_VALUES: usize = 10_000_000;

/// Counts what a file holds, so that a small file cannot fill the memory.
#[derive(Debug, Default)]
pub(super) struct Count(std::cell::Cell<usize>);

impl Count {
    pub fn add(&self, values: usize) -> Result<(), String> {
        let sum = self.0.get().saturating_add(values);
        self.0.set(sum);
        if sum > MAX_VALUES { Err(format!("more than {MAX_VALUES} values in one file")) } else { Ok(()) }
    }
}

/// A key that is there twice, with its place among the keys.
pub(super) fn twice(entries: &[(Box<str>, Tree)]) -> Option<usize> {
    let mut seen = BTreeSet::new();
    entries.iter().position(|(key, _)| !seen.insert(key))
}
