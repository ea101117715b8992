//! Are the tests of the code worth their name? `tests/mutants.txt` lists mistakes in real logic: a comparison turned round or moved by
//! one, a condition left out, a limit doubled, an order changed. `make mutants` builds a copy of the tree that has all of them, each
//! switched on by its number in an environment variable, and asks for each whether a test notices. Nothing of that is in the tree itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Says in the copy which mistake is switched on.
const SWITCH: &str = "LHE_MUTANT";

/// What the copy has at the end of src/model/lib.rs.
const ASK: &str = "
#[doc(hidden)]
pub fn mutant(number: usize) -> bool {
    static ON: std::sync::LazyLock<Option<usize>> =
        std::sync::LazyLock::new(|| std::env::var(\"LHE_MUTANT\").ok()?.parse().ok());
    *ON == Some(number)
}
";

/// Crates whose unit tests are run. What they do not notice is for the program that judges whole clusters.
const CRATES: [&str; 5] = ["model", "facts", "checks", "report", "desk"];

/// Seconds after which a test program counts as hanging, which is noticed too.
const PATIENCE: &str = "900";

#[derive(Debug)]
struct Mutant {
    file: String,
    is: String,
    would_be: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The list: a file, and below it pairs of an expression and what it would be.
fn listed() -> Vec<Mutant> {
    let text = fs::read_to_string(root().join("tests/mutants.txt")).unwrap();
    let (mut file, mut is, mut mutants) = (String::new(), None, Vec::new());
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.split_once(' ') {
            Some(("-", expression)) => is = Some(expression.to_owned()),
            Some(("+", expression)) => {
                let is = is.take().unwrap_or_else(|| panic!("no line with - before: {line}"));
                mutants.push(Mutant { file: file.clone(), is, would_be: expression.to_owned() });
            }
            _ => file = line.to_owned(),
        }
    }
    assert_eq!(is, None, "no line with + behind");
    mutants
}

/// Every file of the list with all its mistakes in it, each behind its number, which counts from 1.
fn mutated() -> BTreeMap<String, String> {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let mut stale = Vec::new();
    for (number, Mutant { file, is, would_be }) in (1..).zip(listed()) {
        let read =
            || fs::read_to_string(root().join(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let text = files.entry(file.clone()).or_insert_with(read);
        if text.matches(&is).count() != 1 {
            stale.push(format!("{file} has {} times: {is}", text.matches(&is).count()));
        }
        let asked = if file.starts_with("src/model/") { "crate" } else { "::model" };
        *text = text.replacen(
            &is,
            &format!("(if {asked}::mutant({number}) {{ {would_be} }} else {{ {is} }})"),
            1,
        );
    }
    assert!(stale.is_empty(), "tests/mutants.txt: follow what the code says now\n{}", stale.join("\n"));
    files
}

#[test]
fn every_mutant_still_applies() {
    let mutants = listed();
    assert!(mutants.len() >= 100, "{}", mutants.len());
    assert!(mutants.iter().all(|mutant| mutant.is != mutant.would_be));
    assert!(mutated().values().all(|text| text.contains("::mutant(")));
}

/// Copies the tree, and leaves what is the same already, so that only what has changed is built again. Says whether anything has.
fn copy_to(tree: &Path) -> bool {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output().unwrap();
    let (mutated, mut has_changed) = (mutated(), false);
    for name in String::from_utf8(listed.stdout).unwrap().split_terminator('\0') {
        let mut content = match mutated.get(name) {
            Some(text) => text.clone().into_bytes(),
            None => fs::read(root().join(name)).unwrap_or_default(),
        };
        if name == "src/model/lib.rs" {
            content.extend(ASK.bytes());
        }
        let copy = tree.join(name);
        if fs::read(&copy).is_ok_and(|known| known == content) {
            continue;
        }
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::write(&copy, content).unwrap();
        has_changed = true;
    }
    has_changed
}

/// A test program, the name of what it tests, and the directory in which it is run.
type Program = (String, PathBuf, PathBuf);

/// Builds test programs of the copy.
fn build(tree: &Path, wanted: &[&str]) -> Vec<Program> {
    let cargo = Command::new("cargo")
        .args(["test", "--locked", "--no-run", "--message-format=json-render-diagnostics"])
        .args(wanted)
        .current_dir(tree)
        // cargo takes what it has built of the tree itself for that of the copy
        .env("CARGO_TARGET_DIR", tree.join("target"))
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(cargo.status.success(), "the copy does not build");
    let text = String::from_utf8(cargo.stdout).unwrap();
    let built = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let program = |said: Value| {
        // of the program itself, which its tests need, there is one too
        said["profile"]["test"].as_bool().filter(|is_test| *is_test)?;
        let manifest = Path::new(said["manifest_path"].as_str()?).parent()?.to_owned();
        let name = said["target"]["name"].as_str()?.to_owned();
        Some((name, PathBuf::from(said["executable"].as_str()?), manifest))
    };
    built.filter_map(program).collect()
}

/// Runs the tests whose names contain `filter`, with a mistake switched on.
fn run((_, program, directory): &Program, filter: &str, number: usize) -> Output {
    let mut command = Command::new("timeout");
    command.args([PATIENCE.as_ref(), program.as_os_str(), "--quiet".as_ref(), filter.as_ref()]);
    command.current_dir(directory);
    command.env(SWITCH, number.to_string()).output().unwrap()
}

/// The numbers that `MUTANTS=3,17` asks for, or all.
fn is_wanted(number: usize) -> bool {
    let wanted = std::env::var("MUTANTS").unwrap_or_default();
    wanted.is_empty() || wanted.split(',').any(|one| one == number.to_string())
}

/// What was found out about the copy as it is, a line for each mutant: a run that was interrupted goes on behind them.
struct Table {
    path: PathBuf,
    lines: BTreeMap<usize, String>,
}

impl Table {
    fn read(path: PathBuf) -> Table {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let line = |line: &str| Some((line.split(' ').next()?.parse().ok()?, line.to_owned()));
        Table { path, lines: text.lines().filter_map(line).collect() }
    }

    fn note(&mut self, number: usize, line: String) {
        println!("{line}");
        self.lines.insert(number, line);
        fs::write(&self.path, self.lines.values().map(|line| format!("{line}\n")).collect::<String>())
            .unwrap();
    }
}

/// The tests that notice a mutant: those of the module, else of its crate, else of the checks, for which facts and model are there, else the
/// clusters of the corpus that are about the module.
fn noticed_by(mutant: &Mutant, number: usize, programs: &[Program]) -> Option<String> {
    let mut places = mutant.file.trim_end_matches(".rs").split('/').skip(1);
    let (of, module) = (places.next().unwrap(), places.next().unwrap());
    let of_facts = if ["facts", "model"].contains(&of) { "checks" } else { of };
    let mut asked = vec![
        (of, format!("{module}::")),
        (of, String::new()),
        (of_facts, String::new()),
        ("clusters", format!("corpus::{module}")),
    ];
    asked.dedup();
    let notices = |(of, filter): &(&str, String)| {
        let program = programs.iter().find(|(name, ..)| name.ends_with(of)).unwrap();
        !run(program, filter, number).status.success()
    };
    let (of, filter) = asked.into_iter().find(notices)?;
    Some(format!("{of} {filter}").trim_end().to_owned())
}

#[test]
#[ignore = "make mutants: builds a copy of the tree, and runs its tests once for each mutant"]
fn tests_notice_mutants() {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from);
    let tree = target.join("mutants");
    let path = target.join("mutants.table");
    if copy_to(&tree) {
        _ = fs::remove_file(&path);
    }
    let packages = CRATES.map(|name| format!("--package=longhorn-health-{name}"));
    let mut wanted: Vec<&str> = packages.iter().map(String::as_str).collect();
    wanted.push("--lib");
    let mut programs = build(&tree, &wanted);
    assert_eq!(programs.len(), CRATES.len(), "{programs:?}");
    programs.extend(build(&tree, &["--test=clusters"]));
    let mut table = Table::read(path);
    for program in programs.iter().filter(|_| table.lines.is_empty()) {
        let output = run(program, "", 0);
        assert!(output.status.success(), "red without a mutant: {}", String::from_utf8_lossy(&output.stdout));
        println!("green without a mutant: {}", program.0);
    }
    let asked_for = std::env::var_os("MUTANTS").is_some_and(|numbers| !numbers.is_empty());
    for (number, mutant) in (1..).zip(listed()).filter(|(number, _)| is_wanted(*number)) {
        if asked_for || !table.lines.contains_key(&number) {
            let by = noticed_by(&mutant, number, &programs);
            let verdict = by.map_or("LIVED".to_owned(), |by| format!("caught by {by}"));
            let Mutant { file, is, would_be } = mutant;
            table.note(number, format!("{number} {verdict} | {file} | {is} | {would_be}"));
        }
    }
    let (lived, caught): (Vec<&String>, Vec<&String>) =
        table.lines.values().partition(|line| line.contains(" LIVED | "));
    println!("{} caught, {} lived, the table is {}", caught.len(), lived.len(), table.path.display());
    lived.iter().for_each(|line| println!("{line}"));
    assert!(
        caught.len() >= 9 * lived.len(),
        "of ten mutants nine must be noticed: add tests of the edges above"
    );
}
