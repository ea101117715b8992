//! Links between pages, and between alerts, dashboards and runbooks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use longhorn_health_exporter::cli::DECLARED;
use longhorn_health_exporter::generate::Target;
use longhorn_health_exporter::generate::settings::parse;
use longhorn_health_exporter::{checks, cli};
use regex::Regex;

use super::{files, pages, prose, root, text};

/// Anchors of a page as GitHub makes them of its headings.
fn anchors(markdown: &str) -> BTreeSet<String> {
    let mut seen = BTreeMap::<String, usize>::new();
    let headings = prose(markdown)
        .filter_map(|line| line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')));
    let anchor = |heading: &str| {
        let kept = heading.trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>()
    };
    let numbered = headings.map(anchor).map(|anchor| {
        let count = seen.entry(anchor.clone()).or_default();
        *count += 1;
        if *count == 1 { anchor } else { format!("{anchor}-{}", *count - 1) }
    });
    numbered.collect()
}

fn targets(markdown: &str) -> Vec<String> {
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let code = Regex::new(r"`[^`]*`").unwrap();
    prose(markdown)
        .flat_map(|line| {
            let line = code.replace_all(line, "`code`").into_owned();
            link.captures_iter(&line).map(|found| found[1].to_owned()).collect::<Vec<_>>()
        })
        .filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
        .collect()
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(plain.pop(), "{} leads out of the repository", path.display()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Why a link on a page leads nowhere, if so.
fn broken(page: &Path, target: &str) -> Option<String> {
    let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
    let path = match file {
        "" => page.to_owned(),
        file => plain(&page.parent().unwrap().join(file)),
    };
    if !root().join(&path).exists() {
        return Some(format!("{}: no {}", page.display(), path.display()));
    }
    let anchor = anchor?;
    (!anchors(&text(&path)).contains(anchor))
        .then(|| format!("{}: no #{anchor} in {}", page.display(), path.display()))
}

#[test]
fn links_lead_to_files_and_headings_that_exist() {
    let mut links = 0;
    let mut wrong = Vec::new();
    for page in pages() {
        for target in targets(&text(&page)) {
            links += 1;
            wrong.extend(broken(&page, &target));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(links > 300, "only {links} links were looked at");
}

#[test]
fn broken_links_are_seen() {
    let page = Path::new("docs/checks.md");
    assert_eq!(broken(page, "#longhorn_health_check_findings"), None);
    assert_eq!(broken(page, "checks.md#danger_zone_pending"), None);
    assert!(broken(page, "#longhorn_health_none").is_some());
    assert!(broken(page, "nothing.md").is_some());
    assert_eq!(targets("[a](b.md) `[c](d.md)`\n```\n[e](f.md)\n```\n[g](https://h)"), ["b.md"]);
    assert_eq!(
        anchors("# A `b_c` (d)!\n## Same\n## Same\n"),
        ["a-b_c-d", "same", "same-1"].map(str::to_owned).into()
    );
}

/// Names of alerts, of those for kube-state-metrics too: they share the runbooks.
fn alerts() -> BTreeSet<String> {
    DECLARED.alerts().map(|alert| alert.name.to_owned()).collect()
}

#[test]
fn every_alert_has_a_runbook_and_every_runbook_an_alert() {
    let published = files("docs/runbooks", &[".md"]);
    let name = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    assert_eq!(published.iter().map(name).collect::<BTreeSet<_>>(), alerts());
    let written: Vec<_> =
        ["src/checks", "src/desk/own"].into_iter().flat_map(|place| files(place, &[".md"])).collect();
    assert_eq!(written.iter().map(name).collect::<BTreeSet<_>>(), alerts());
    assert_eq!(written.len(), alerts().len(), "two runbooks of the same name");
}

#[test]
fn runbooks_have_their_sections_in_order() {
    for path in files("docs/runbooks", &[".md"]) {
        let text = text(&path);
        let sections: Vec<_> = prose(&text).filter_map(|line| line.strip_prefix("## ")).collect();
        let sections = sections.strip_suffix(&["Rule"]).unwrap_or_else(|| panic!("{}", path.display()));
        // what argues with other write-ups stands behind what to do
        let sections = sections.strip_suffix(&["Background"]).unwrap_or(sections);
        assert_eq!(sections, ["Meaning", "Impact", "Diagnosis", "Mitigation"], "{}", path.display());
        let first = text.split("\n\n").nth(3);
        assert!(
            first.is_some_and(|first| first.starts_with("**First:** ") && first.lines().count() < 4),
            "{}: what to do first has to stand below the summary",
            path.display()
        );
        let parts: Vec<_> = text.split("\n## ").skip(1).collect();
        assert!(
            parts.iter().all(|part| part.trim().lines().count() > 1),
            "{}: an empty section",
            path.display()
        );
    }
}

/// A link that leads nowhere is worse than none: the page behind it was expected to help.
#[test]
fn nothing_links_to_runbooks_that_are_not_published() {
    let address = text(Path::new("deploy/address.env"));
    let docs = address.lines().find_map(|line| line.strip_prefix("DOCS=")).unwrap();
    let links = Regex::new(r#"https?://[^\s"'<>]*runbooks[^\s"'<>]*"#).unwrap();
    for path in files("rules", &[".yaml"]).into_iter().chain(files("dashboards", &[".json"])) {
        let text = text(&path);
        let wrong: Vec<_> = links
            .find_iter(&text)
            .filter(|link| docs.is_empty() || !link.as_str().starts_with(docs))
            .collect();
        assert!(wrong.is_empty(), "{}: {wrong:?}", path.display());
    }
}

#[test]
fn every_runbook_is_found_by_a_symptom_and_every_page_in_the_book() {
    let index = targets(&text(Path::new("docs/symptoms.md")));
    let named: BTreeSet<_> = index
        .iter()
        .filter_map(|target| Some(target.strip_prefix("runbooks/")?.strip_suffix(".md")?.to_owned()))
        .collect();
    assert_eq!(named, alerts());
    let book: BTreeSet<_> = targets(&text(Path::new("docs/SUMMARY.md")))
        .iter()
        .map(|target| plain(&Path::new("docs").join(target)))
        .collect();
    let missing: Vec<_> = files("docs", &[".md"])
        .into_iter()
        .filter(|page| !book.contains(page) && !page.ends_with("SUMMARY.md"))
        .collect();
    assert!(missing.is_empty(), "not in src/desk/generate/docs/summary.rs: {missing:?}");
    // what a page of the book links to is a page or a file there, not a directory or a page that was left out
    for page in &book {
        for target in targets(&text(page)) {
            let file = plain(&page.parent().unwrap().join(target.split('#').next().unwrap()));
            let is_page = file.extension().is_some_and(|end| end == "md");
            let is_there = if is_page { book.contains(&file) } else { root().join(&file).is_file() };
            assert!(target.starts_with('#') || is_there, "{}: {target} is not in the book", page.display());
        }
    }
}

#[test]
fn rules_dashboards_and_reports_link_to_runbooks_and_dashboards_that_exist() {
    let runbook = Regex::new(r"//docs\.example/runbooks/(\w+)").unwrap();
    let dashboard = Regex::new(r"/d/(longhorn-health-[a-z-]+)").unwrap();
    let mut runbooks = BTreeSet::new();
    // where runbooks are published is set here, as no one has published them yet
    let settings = parse(&DECLARED, "c.yaml", "runbook_base_url: https://docs.example/runbooks\n").unwrap();
    for target in [Target::Rules, Target::Dashboards] {
        for file in target.artifacts(&settings, &cli::command()).unwrap() {
            runbooks.extend(runbook.captures_iter(&file.content).map(|found| found[1].to_owned()));
            for found in dashboard.captures_iter(&file.content) {
                let dashboard = format!("dashboards/{}.json", &found[1]);
                assert!(root().join(&dashboard).exists(), "{}: no {dashboard}", file.path);
            }
        }
    }
    assert_eq!(runbooks, alerts(), "rules and dashboards link to exactly the runbooks there are");
    for check in checks::CATALOGUE.checks {
        for cause in check.causes {
            let runbook = check.runbook(cause).unwrap_or_else(|| {
                panic!("declare an alert in src/checks/{}/mod.rs, and write its runbook beside it", check.id)
            });
            assert!(alerts().contains(runbook), "{runbook}");
        }
    }
}
