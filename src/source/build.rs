//! Collects the words that the program itself is written in: what an anonymised recording may keep of a text, because it names no one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What compares texts of a cluster with words.
const WORDS_OF: &[&str] = &["checks", "desk/plan", "facts", "model", "report"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // asked for now: a script that was built for another checkout may be run for this one
    let here =
        PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("Cargo says where the sources are"));
    let mut words = BTreeSet::new();
    for room in WORDS_OF {
        collect(&here.join("..").join(room), &mut words);
    }
    words.remove("");
    let lines: String = words.iter().map(|word| format!("{word}\n")).collect();
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("Cargo says where a build script writes"));
    std::fs::write(out.join("words.txt"), lines).expect("OUT_DIR can be written");
}

/// The words of the sources in a directory, without those of tests.
fn collect(place: &Path, words: &mut BTreeSet<String>) {
    let entries = std::fs::read_dir(place).unwrap_or_else(|error| panic!("{}: {error}", place.display()));
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| !path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("tests")));
    for path in paths {
        if path.is_dir() {
            collect(&path, words);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            // a file that is new is named by one that is not
            println!("cargo::rerun-if-changed={}", path.display());
            let text =
                std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            // `instance-manager` is a word, too
            let joined = code
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
                .map(|word| word.trim_matches('-'));
            words.extend(joined.filter(|word| word.contains('-')).map(str::to_ascii_lowercase));
            for word in code.split(|c: char| !c.is_ascii_alphanumeric()) {
                word.split(|c: char| c.is_ascii_digit()).for_each(|word| split(word, words));
                // such as `x509`; a longer one may be a hash
                if word.len() < 8 && word.starts_with(|c: char| c.is_ascii_alphabetic()) {
                    words.insert(word.to_ascii_lowercase());
                }
            }
        }
    }
}

/// `NodeNotReady` and `NFSServer` are of several words.
fn split(word: &str, words: &mut BTreeSet<String>) {
    // Longhorn 1.3 wrote some of them in lower case
    if word.starts_with(|c: char| c.is_ascii_uppercase()) {
        words.insert(word.to_ascii_lowercase());
    }
    let letters: Vec<char> = word.chars().collect();
    let mut part = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let after_lower = at > 0 && letters[at - 1].is_ascii_lowercase();
        let before_lower = letters.get(at + 1).is_some_and(char::is_ascii_lowercase);
        if letter.is_ascii_uppercase() && (after_lower || before_lower && !part.is_empty()) {
            words.insert(std::mem::take(&mut part));
        }
        part.push(letter.to_ascii_lowercase());
    }
    words.insert(part);
}
