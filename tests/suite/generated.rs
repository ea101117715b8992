//! The committed files are what the checks say. To fix: `cargo run -- generate all`.

use std::path::Path;

use longhorn_health_exporter::cli;
use longhorn_health_exporter::cli::DECLARED;
use longhorn_health_exporter::generate::{Settings, Target, output};

#[test]
fn committed_files_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let settings = Settings::of(&DECLARED);
    let mut diffs = String::new();
    for target in Target::EACH {
        let artifacts = target.artifacts(&settings, &cli::command()).unwrap();
        for change in output::changes(root, target, &artifacts).unwrap().0 {
            diffs.push_str(&change.diff());
        }
    }
    assert!(diffs.is_empty(), "{diffs}\nfix with: cargo run --quiet -- generate all");
}

#[test]
fn output_is_the_same_to_the_byte() {
    let settings = Settings::of(&DECLARED);
    for target in Target::EACH {
        let artifacts = || target.artifacts(&settings, &cli::command()).unwrap();
        assert_eq!(artifacts(), artifacts());
    }
}
