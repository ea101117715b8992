//! What is written for readers holds together: links lead somewhere, runbooks and alerts belong to
//! each other, names exist, and the published JSON schemas describe what the program prints.

use crate::built;
use crate::scenario;

#[path = "docs/address.rs"]
mod address;
#[path = "docs/book.rs"]
mod book;
#[path = "docs/links.rs"]
mod links;
#[path = "docs/names.rs"]
mod names;
#[path = "docs/schemas.rs"]
mod schemas;
#[path = "docs/sentences.rs"]
mod sentences;
#[path = "docs/settings.rs"]
mod settings;
#[path = "docs/words.rs"]
mod words;

use std::path::{Path, PathBuf};

/// Root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Text of a file below the root.
fn text(path: &Path) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Files below a directory with one of these endings, as paths below the root.
fn files(directory: &str, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![root().join(directory)];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if endings.iter().any(|ending| path.to_string_lossy().ends_with(ending)) {
                found.push(path.strip_prefix(root()).unwrap().to_owned());
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "nothing in {directory}");
    found
}

/// Every page that people read in the repository.
fn pages() -> Vec<PathBuf> {
    let top = std::fs::read_dir(root()).unwrap().map(|entry| PathBuf::from(entry.unwrap().file_name()));
    let mut pages: Vec<_> = top.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    for directory in ["docs", "deploy", "mixin", "tests/e2e"] {
        pages.extend(files(directory, &[".md"]));
    }
    pages
}

/// Lines outside fenced code.
fn prose(markdown: &str) -> impl Iterator<Item = &str> {
    // a fence is closed by one of the same length, so that longer ones may hold shorter ones
    let mut open = 0;
    markdown.lines().filter(move |line| {
        let ticks = line.trim_start().chars().take_while(|c| *c == '`').count();
        let was = open;
        if ticks >= 3 && (open == 0 || open == ticks) {
            open = if open == 0 { ticks } else { 0 };
        }
        open == 0 && was == 0
    })
}
