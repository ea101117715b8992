//! The book as mdbook builds it, where that is installed: what works between the pages of the repository must also
//! work between its pages.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

use super::{built, root};

fn pages(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            pages(&path, found);
        } else if name.ends_with(".html") && !["404.html", "print.html", "toc.html"].contains(&name.as_str())
        {
            found.push(path);
        }
    }
}

#[test]
fn links_of_the_book_lead_to_its_pages_and_headings() {
    if built::on_path("mdbook").is_none() {
        return;
    }
    let target = tempfile::tempdir().unwrap();
    let output =
        Command::new(root().join("scripts/book")).env("CARGO_TARGET_DIR", target.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let mut files = Vec::new();
    pages(&target.path().join("book"), &mut files);
    let id = Regex::new(r#"\bid="([^"]+)""#).unwrap();
    let texts: BTreeMap<PathBuf, String> = files
        .into_iter()
        .map(|path| (path.canonicalize().unwrap(), std::fs::read_to_string(&path).unwrap()))
        .collect();
    let anchors: BTreeMap<&PathBuf, BTreeSet<&str>> = texts
        .iter()
        .map(|(path, text)| {
            (path, id.captures_iter(text).map(|found| found.get(1).unwrap().as_str()).collect())
        })
        .collect();
    let link = Regex::new(r#"\b(?:href|src)="([^":]+)""#).unwrap();
    let (mut number, mut wrong) = (0, Vec::new());
    for (page, text) in &texts {
        for target in link.captures_iter(text).map(|found| found.get(1).unwrap().as_str()) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let place = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            number += 1;
            let found = place.canonicalize().ok().filter(|place| place.is_file());
            let leads = found.is_some_and(|place| {
                anchor.is_empty() || anchors.get(&place).is_none_or(|anchors| anchors.contains(anchor))
            });
            if !leads {
                wrong.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(texts.len() > 100 && number > 3000, "{} pages, {number} links", texts.len());
    // where alerts lead to
    assert!(target.path().join("book/docs/runbooks/LonghornVolumeFaulted.html").is_file());
}
