//! What the layout of src/ promises: no circles between the modules of a room, and one form of check folders.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use longhorn_health_exporter::checks;
use regex::Regex;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Rust files below a directory of the repository, with their text.
fn files(directory: &str) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut directories = vec![root().join(directory)];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                directories.push(entry);
            } else if entry.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&entry).unwrap();
                found.insert(entry.strip_prefix(root()).unwrap().to_owned(), text);
            }
        }
    }
    assert!(!found.is_empty(), "{directory}");
    found
}

/// Names in the text, by the first group of a pattern.
fn names(pattern: &str, text: &str) -> BTreeSet<String> {
    Regex::new(pattern).unwrap().captures_iter(text).map(|found| found[1].to_owned()).collect()
}

fn part(path: &Path, number: usize) -> String {
    let part = path.components().nth(number).unwrap().as_os_str().to_str().unwrap();
    part.trim_end_matches(".rs").to_owned()
}

fn is_test(path: &Path) -> bool {
    if path.to_str().unwrap().ends_with("_tests.rs") {
        return true;
    }
    path.components()
        .any(|part| ["tests", "tests.rs", "testing", "parsers"].contains(&part.as_os_str().to_str().unwrap()))
}

/// The modules that each module of a room uses by name. Which rooms a room may use is in its Cargo.toml. Tests may use anything.
fn uses(room: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let depth = Path::new(room).components().count();
    for (path, text) in files(room).into_iter().filter(|(path, _)| !is_test(path)) {
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let code: String = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let module = part(&path, depth);
        let mut used = names(r"\bcrate::([a-z_]+)\b", &code);
        let lists = names(r"\bcrate::\{([^;]*)\};", &code);
        used.extend(lists.iter().flat_map(|list| names(r"\b([a-z_]+)\b", list)));
        used.remove(&module);
        uses.entry(module.clone()).or_default().extend(used);
    }
    uses
}

#[test]
fn the_modules_of_a_room_form_no_circle() {
    assert!(uses("src/model")["cluster"].contains("longhorn"));
    for room in ["src/checks", "src/desk", "src/facts", "src/model", "src/report", "src/source"] {
        let mut left = uses(room);
        left.remove("lib");
        // take away what uses nothing that is left, until nothing is
        while !left.is_empty() {
            let free: Vec<String> = left
                .iter()
                .filter(|(_, used)| !used.iter().any(|used| left.contains_key(used)))
                .map(|(module, _)| module.clone())
                .collect();
            assert!(!free.is_empty(), "a circle among these of {room}: {left:#?}");
            left.retain(|module, _| !free.contains(module));
        }
    }
}

/// What is special about a check is a field of it, or of its causes. Plans say which checks they go by, and tests may name any.
#[test]
fn no_general_room_names_a_single_check() {
    let checks: Vec<String> = checks::CATALOGUE.checks.iter().map(|check| check.id.to_owned()).collect();
    let named = Regex::new(&format!(r#""({})""#, checks.join("|"))).unwrap();
    for (path, text) in files("src").into_iter().filter(|(path, _)| !is_test(path)) {
        if path.starts_with("src/checks") || path.starts_with("src/desk/plan") {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let found: Vec<&str> = named.find_iter(code).map(|found| found.as_str()).collect();
        assert!(found.is_empty(), "{}: {found:?}", path.display());
    }
}

/// The list of checks is handed in: only where the program starts is it named.
#[test]
fn rooms_are_handed_the_list_of_checks() {
    let starts = ["src/checks", "src/cli"];
    let tests = Regex::new(r"#\[cfg\(test\)\]\n(pub )?mod [a-z_]+ \{").unwrap();
    for (path, text) in files("src").into_iter().filter(|(path, _)| !is_test(path)) {
        let code = tests.split(&text).next().unwrap();
        let names = |line: &str| !line.trim_start().starts_with("//") && line.contains("checks::CATALOGUE");
        let may = starts.iter().any(|start| path.starts_with(start));
        assert!(may || !code.lines().any(names), "{}: take a `&Catalogue` as an argument", path.display());
    }
}

/// rustdoc compiles a whole crate to find that it has no examples, so that scripts/test asks one crate alone.
#[test]
fn examples_are_in_the_room_that_scripts_test_asks() {
    let has = |text: &str| {
        text.lines().any(|line| line.trim_start().starts_with("/// ```") || line.starts_with("//! ```rust"))
    };
    for (path, _) in files("src").into_iter().filter(|(_, text)| has(text)) {
        assert!(path.starts_with("src/model"), "{}", path.display());
    }
    let script = fs::read_to_string(root().join("scripts/test")).unwrap();
    assert!(script.contains("--package longhorn-health-model --doc"));
}

/// Declarations stand at the top of `mod.rs` or in the one file that has their name.
#[test]
fn every_check_folder_has_the_same_form() {
    let places = [
        ("causes.rs", r"(?m)^(causes)! \{"),
        ("gauges.rs", r"(?m)^(gauges)! \{"),
        ("rules.rs", r"\b(Alert|alert!|Panel|Record) \{"),
    ];
    for (path, text) in files("src/checks") {
        if is_test(&path) || path.components().count() < 4 {
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap();
        for (place, pattern) in places.iter().filter(|(place, _)| ![place, "mod.rs"].contains(&name)) {
            let found = names(pattern, &text);
            assert!(found.is_empty(), "{}: {found:?} belongs in {place} or mod.rs", path.display());
        }
        let is_only_for_tests = text.starts_with("#![cfg(test)]") || name.ends_with("_tests.rs");
        assert!(!is_only_for_tests, "{}: tests are tests.rs and below tests/", path.display());
    }
}

/// Production lines of checks and facts that a cause may cost on average. It only goes down: a new cause pays by repairing an old one. The
/// corpus has its own budget (`tests/corpus`).
const LINES_PER_CAUSE: usize = 125;

#[test]
fn a_cause_costs_no_more_lines_than_the_budget() {
    let rust = |room| files(room).into_iter().filter(|(path, _)| !is_test(path));
    let production = |text: String| text.split("#[cfg(test)]\nmod tests {").next().unwrap().lines().count();
    let lines: usize =
        ["src/checks", "src/facts"].into_iter().flat_map(rust).map(|(_, text)| production(text)).sum();
    // those of danger_zone_pending are one cause for each setting
    let declared = checks::CATALOGUE.checks.iter().filter(|check| check.id != "danger_zone_pending");
    let causes: usize = declared.map(|check| check.causes.len()).sum();
    assert!(
        lines <= LINES_PER_CAUSE * causes,
        "{lines} production lines for {causes} causes are {} each, and {LINES_PER_CAUSE} are allowed: repair an old cause",
        lines.div_ceil(causes)
    );
    // the budget follows what was saved
    assert!(lines > (LINES_PER_CAUSE - 2) * causes, "set LINES_PER_CAUSE to {}", lines.div_ceil(causes));
}

/// How long trouble may last before it is told stands once, with its reason.
#[test]
fn every_patience_is_in_the_one_table() {
    let table = fs::read_to_string(root().join("src/facts/patience.rs")).unwrap();
    let mut elsewhere = Vec::new();
    for (path, text) in files("src/checks").into_iter().filter(|(path, _)| !is_test(path)) {
        let of_file = names(r"\.at_least\(([A-Z_]+)", &text);
        let missing = |name: &String| !table.contains(&format!("    {name} from_"));
        elsewhere
            .extend(of_file.into_iter().filter(missing).map(|name| format!("{}: {name}", path.display())));
    }
    assert!(elsewhere.is_empty(), "declare them in src/facts/patience.rs: {elsewhere:#?}");
}
