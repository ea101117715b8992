//! The public address stands in deploy/address.env alone: what is published elsewhere one day, or by someone else,
//! changes one file.

use std::path::Path;
use std::process::Command;

use super::{root, text};

const PLACE: &str = "deploy/address.env";

/// Files that git has, or would add.
fn own_files() -> Vec<String> {
    let list = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(list.status.success(), "{}", String::from_utf8_lossy(&list.stderr));
    let listed = String::from_utf8(list.stdout).unwrap();
    let files: Vec<String> =
        listed.lines().filter(|path| root().join(path).is_file()).map(str::to_owned).collect();
    assert!(files.len() > 300, "only {} files", files.len());
    files
}

/// Where projects publish.
const HOSTS: [&str; 7] = [
    "github.com/", "githubusercontent.com/", "ghcr.io/", "quay.io/", "docker.io/", "gitlab.com/",
    ".github.io",
];

/// Addresses in a text that claim to be ours.
fn ours(text: &str) -> Vec<String> {
    let of_address = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
    let mut found = Vec::new();
    for host in HOSTS {
        for (at, _) in text.match_indices(host) {
            let (before, after) = text.split_at(at);
            let start = before.rfind(|c| !of_address(c)).map_or(0, |at| at + 1);
            let end = at + after.find(|c| !of_address(c)).unwrap_or(after.len());
            let address = text.get(start..end).unwrap_or(after);
            if ["longhorn-health", "longhorn_health"].iter().any(|ours| address.contains(ours)) {
                found.push(address.to_owned());
            }
        }
    }
    found
}

#[test]
fn the_public_address_stands_in_one_place() {
    let published = text(Path::new(PLACE));
    let values: Vec<&str> = published
        .lines()
        .filter_map(|line| line.split_once('=').filter(|_| !line.starts_with('#')))
        .map(|(_, value)| value.trim_start_matches("https://"))
        .filter(|value| !value.is_empty())
        .collect();
    let mut wrong = Vec::new();
    for path in own_files().into_iter().filter(|path| path != PLACE && path != "tests/suite/docs/address.rs")
    {
        let Ok(text) = std::fs::read_to_string(root().join(&path)) else { continue };
        wrong.extend(ours(&text).into_iter().map(|address| format!("{path}: {address}")));
        // what is generated has the address of the book
        let is_generated = path.starts_with("rules/") || path.starts_with("dashboards/");
        let named = values.iter().filter(|value| !is_generated && text.contains(**value));
        wrong.extend(named.map(|value| format!("{path}: {value}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_address_of_ours_is_recognized_and_that_of_others_is_not() {
    for address in [
        "https://github.com/acme/longhorn-health-exporter",
        "ghcr.io/longhorn-health-exporter/longhorn-health-exporter:0.1.0",
        "https://raw.githubusercontent.com/acme/longhorn-health-exporter/main/x",
        "https://longhorn-health-exporter.github.io/docs",
    ] {
        assert_eq!(ours(address).len(), 1, "{address}");
    }
    let others = "https://github.com/longhorn/longhorn/issues/1 registry.example.com/longhorn-health-exporter ghcr.io/acme/other";
    assert_eq!(ours(others), Vec::<String>::new());
}
