//! The shape of what a person on call reads at night: short, one thing at a time, advice first.

use std::collections::BTreeSet;

use longhorn_health_exporter::check::{Cause, Check, Way};
use longhorn_health_exporter::checks;
use regex::Regex;

/// With what advice begins: something that hands can do, or the condition that must hold before.
const BEGINNINGS: &[&str] = &[
    "Add", "Allow", "Apply", "Attach", "Back", "Before", "Blacklist", "Bring", "Build", "Cancel", "Change",
    "Check", "Clear", "Compare", "Copy", "Cordon", "Correct", "Create", "Decide", "Delete", "Detach",
    "Disable", "Do", "Evict", "Exclude", "Exempt", "Expand", "Extend", "Find", "Finish", "Fix", "Follow",
    "Free", "Get", "Give", "Go", "If", "Install", "Keep", "Leave", "Let", "Load", "Look", "Make", "Mount",
    "Move", "Open", "Pause", "Provide", "Put", "Raise", "Read", "Remount", "Remove", "Renew", "Reset",
    "Restart", "Restore", "Run", "Salvage", "Save", "Scale", "Search", "Set", "Start", "Stop", "Take",
    "Test", "Uncordon", "Upgrade", "Use", "Wait",
];

const SENTENCES: usize = 3;
const WORDS: usize = 30;

/// Advice that has more, each a procedure that is not safe in fewer words. This list may only become shorter.
const LONGER: &[&str] = &["disk_unavailable/disk_uuid_shared"];

fn causes() -> impl Iterator<Item = (&'static Check, &'static Cause)> {
    checks::CATALOGUE.checks.iter().flat_map(|check| check.causes.iter().map(move |cause| (*check, *cause)))
}

/// All advice that is declared, with the cause that it belongs to.
fn advice() -> impl Iterator<Item = (String, &'static str)> {
    causes().flat_map(|(check, cause)| {
        let id = format!("{}/{}", check.id, cause.id);
        let fixes = check.ways(cause).map(|way| way.fix).chain([cause.fix]).filter(|fix| !fix.is_empty());
        let fixes = fixes.map(|fix| fix.trim_start_matches("<known_error>"));
        fixes.map(move |fix| (id.clone(), fix))
    })
}

/// Sentences and words; what a placeholder stands for counts as one word.
fn size(text: &str) -> (usize, usize) {
    let ends = Regex::new(r"[.?!](?:\s|$)").unwrap();
    (ends.find_iter(text).count(), text.split_whitespace().count())
}

#[test]
fn advice_begins_with_what_to_do() {
    let wrong: Vec<_> = advice()
        .filter(|(_, fix)| {
            let first: String = fix.chars().take_while(|c| c.is_alphabetic()).collect();
            !BEGINNINGS.contains(&first.as_str())
        })
        .collect();
    assert!(wrong.is_empty(), "begin with an imperative: {wrong:#?}");
}

#[test]
fn advice_is_read_once() {
    let long: BTreeSet<String> = advice()
        .filter(|(_, fix)| {
            let (sentences, words) = size(fix);
            sentences > SENTENCES || words > WORDS
        })
        .map(|(cause, _)| cause)
        .collect();
    let excepted: BTreeSet<String> = LONGER.iter().map(|cause| (*cause).to_owned()).collect();
    assert_eq!(
        long, excepted,
        "at most {SENTENCES} sentences and {WORDS} words; an exception that is none goes"
    );
}

#[test]
fn advice_has_one_colon_a_sentence_and_no_id_of_ours() {
    let ids = ids();
    let colons = |sentence: &str| sentence.matches(": ").count() > 1;
    let wrong: Vec<_> =
        advice().filter(|(_, fix)| fix.split(". ").any(colons) || names_one_of(&ids, fix)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_way_fits_behind_the_colon_of_a_headline() {
    const MOST: usize = 12;
    let wrong: BTreeSet<&str> = causes()
        .flat_map(|(check, cause)| check.ways(cause))
        .map(|way: &Way| way.briefly)
        .filter(|briefly| briefly.contains([':', '\n', ';']) || size(briefly).1 > MOST)
        .collect();
    assert!(wrong.is_empty(), "one colon a headline, at most {MOST} words behind it: {wrong:#?}");
}

#[test]
fn a_meaning_is_one_plain_sentence() {
    const MOST: usize = 25;
    let wrong: Vec<_> = causes()
        .filter(|(_, cause)| {
            let (sentences, words) = size(cause.meaning);
            sentences > 1 || words > MOST || cause.meaning.matches(": ").count() > 1
        })
        .map(|(check, cause)| (check.id, cause.meaning))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Ids are labels: in a sentence they say nothing to a reader who does not know our catalogue.
#[test]
fn headlines_and_meanings_name_no_id_of_ours() {
    let ids = ids();
    let wrong: Vec<_> = causes()
        .flat_map(|(check, cause)| check.ways(cause).map(|way| way.briefly).chain([cause.meaning]))
        .filter(|text| names_one_of(&ids, text))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn ids() -> BTreeSet<&'static str> {
    causes().flat_map(|(check, cause)| [check.id, cause.id]).filter(|id| id.contains('_')).collect()
}

fn names_one_of(ids: &BTreeSet<&str>, text: &str) -> bool {
    let word = Regex::new(r"[a-z]+(?:_[a-z0-9]+)+").unwrap();
    word.find_iter(text).any(|found| ids.contains(found.as_str()))
}

/// A command that is broken over two lines is two commands where someone copies it.
#[test]
fn code_in_a_runbook_stands_on_one_line() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/runbooks");
    let mut broken = Vec::new();
    for path in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut is_fenced = false;
        for line in text.lines() {
            let is_fence = line.trim_start().starts_with("```");
            is_fenced ^= is_fence;
            if !is_fenced && !is_fence && line.matches('`').count() % 2 == 1 {
                broken.push(format!("{}: {line}", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
