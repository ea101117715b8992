//! The words of CONTRIBUTING.md, in all that people read.

use std::path::{Path, PathBuf};

use regex::RegexBuilder;

use super::{files, text};

#[test]
fn one_thing_has_one_word() {
    let contributing = text(Path::new("CONTRIBUTING.md"));
    let table = contributing.split_once("tests/suite/docs/words.rs").expect("the table names this test").1;
    let table = table.split_once("\n\n|").expect("a table follows").1.split_once("\n\n").unwrap().0;
    let wrong: Vec<&str> = table
        .lines()
        .skip(2)
        .filter_map(|row| row.trim_end_matches(" |").rsplit_once("| "))
        .flat_map(|(_, words)| words.split(", "))
        .collect();
    assert!(wrong.len() > 12 && wrong.contains(&"nobody") && wrong.contains(&"for ever"), "{wrong:?}");
    let pattern =
        RegexBuilder::new(&format!(r"\b({})\b", wrong.join("|"))).case_insensitive(true).build().unwrap();
    let mut found = Vec::new();
    let mut read = vec![PathBuf::from("README.md"), PathBuf::from("ARCHITECTURE.md")];
    read.extend(["src", "docs"].iter().flat_map(|root| files(root, &[".rs", ".md"])));
    // strings of tests say what others write
    let tests = files("tests", &[".rs"]);
    for path in read.into_iter().chain(tests.iter().cloned()) {
        let comments_alone = tests.contains(&path);
        for (number, line) in text(&path).lines().enumerate() {
            let line =
                if comments_alone { line.split_once("//").map_or("", |(_, comment)| comment) } else { line };
            if let Some(word) = pattern.find(line) {
                found.push(format!("{}:{}: {}", path.display(), number + 1, word.as_str()));
            }
        }
    }
    assert!(found.is_empty(), "see the table of words in CONTRIBUTING.md: {found:#?}");
}
