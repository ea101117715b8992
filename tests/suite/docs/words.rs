//! The words of CONTRIBUTING.md, in all that people read.

use std::path::{Path, PathBuf};

use regex::RegexBuilder;

use super::{files, text};

#[test]
fn one_thing_has_one_word() {
    let contributing = text(Path::new("CONTRIBUTING.md"));
    let rest = contributing.split_once("tests/suite/docs/words.rs").expect("the tables name this test").1;
    let (everywhere, rest) = words_of(rest);
    assert!(everywhere.len() > 12 && everywhere.contains(&"nobody"), "{everywhere:?}");
    let (in_texts, _) = words_of(rest);
    assert!(in_texts.len() > 8 && in_texts.contains(&"for good"), "{in_texts:?}");
    let pattern = |words: &[&str]| {
        RegexBuilder::new(&format!(r"\b({})\b", words.join("|"))).case_insensitive(true).build().unwrap()
    };
    let (everywhere, in_texts) = (pattern(&everywhere), pattern(&in_texts));
    let mut found = Vec::new();
    let mut read = vec![PathBuf::from("README.md"), PathBuf::from("ARCHITECTURE.md")];
    read.extend(["src", "docs"].iter().flat_map(|root| files(root, &[".rs", ".md"])));
    // strings of tests say what others write
    let tests = files("tests", &[".rs"]);
    for path in read.into_iter().chain(tests.iter().cloned()) {
        let comments_alone = tests.contains(&path);
        for (number, line) in text(&path).lines().enumerate() {
            let code = path.extension().is_some_and(|extension| extension == "rs");
            let of_program =
                code && (line.trim_start().starts_with("//") || path.to_string_lossy().contains("tests"));
            let line =
                if comments_alone { line.split_once("//").map_or("", |(_, comment)| comment) } else { line };
            let in_text = || in_texts.find(line).filter(|_| !of_program && !comments_alone);
            if let Some(word) = everywhere.find(line).or_else(in_text) {
                found.push(format!("{}:{}: {}", path.display(), number + 1, word.as_str()));
            }
        }
    }
    assert!(found.is_empty(), "see the table of words in CONTRIBUTING.md: {found:#?}");
}

/// The words on the right of the next table, and what follows it.
fn words_of(text: &str) -> (Vec<&str>, &str) {
    let (table, rest) = text.split_once("\n\n|").expect("a table follows").1.split_once("\n\n").unwrap();
    let rows = table.lines().skip(2).filter_map(|row| row.trim_end_matches(" |").rsplit_once("| "));
    (rows.flat_map(|(_, words)| words.split(", ")).collect(), rest)
}
