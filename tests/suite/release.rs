//! Every step of a release that needs no network, run as the workflow runs it, and the workflows themselves.

use crate::built;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_longhorn-health-exporter");
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// An address as it may be one day.
const PUBLISHED: &str = "REPOSITORY=https://github.com/acme/storage\nIMAGE=registry.example/acme/exporter\nDOCS=https://docs.example\n";

struct Release {
    directory: tempfile::TempDir,
}

impl Release {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("address.env"), PUBLISHED).unwrap();
        // in the place of a program of another platform: packing a debug build would take a minute
        fs::write(directory.path().join("foreign"), "not for this machine").unwrap();
        Release { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs a step; the address is that of the test.
    fn run(&self, script: &str, arguments: &[&str]) -> Output {
        Command::new(root().join("scripts/release").join(script))
            .args(arguments)
            .env("ADDRESS", self.path("address.env"))
            .env("SOURCE_DATE_EPOCH", "1700000000")
            .env("NATIVE", PROGRAM)
            .env_remove("GITHUB_REPOSITORY")
            .current_dir(self.directory.path())
            .output()
            .unwrap()
    }

    fn says(&self, script: &str, arguments: &[&str]) -> String {
        let output = self.run(script, arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script} {arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn fails(&self, script: &str, arguments: &[&str]) -> String {
        let output = self.run(script, arguments);
        assert!(!output.status.success(), "{script} {arguments:?} passed");
        String::from_utf8(output.stderr).unwrap()
    }
}

#[test]
fn archives_hold_program_completions_and_manual_and_are_the_same_twice() {
    let release = Release::new();
    let pack = |out: &str| release.says("archive", &["foreign", "linux", "amd64", "1.2.3", out]);
    let (first, second) = (pack("a"), pack("b"));
    let (first, second) = (fs::read(first.trim()).unwrap(), fs::read(second.trim()).unwrap());
    assert!(first == second, "two archives of one program differ");
    let mut names = Vec::new();
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(first.as_slice()));
    for entry in archive.entries().unwrap() {
        let entry = entry.unwrap();
        let header = entry.header();
        assert_eq!((header.uid().unwrap(), header.mtime().unwrap()), (0, 1_700_000_000));
        assert!(header.entry_type().is_file() || header.entry_type().is_dir(), "krew unpacks no links");
        names.push(entry.path().unwrap().display().to_string());
    }
    let name = "longhorn-health-exporter_1.2.3_linux_amd64";
    for file in [
        "longhorn-health-exporter",
        "LICENSE",
        "completions/longhorn-health-exporter.bash",
        "completions/_longhorn-health-exporter",
        "man/longhorn-health-exporter.1",
        "man/longhorn-health-exporter-check.1",
    ] {
        assert!(names.contains(&format!("{name}/{file}")), "{file}: {names:?}");
    }
}

#[test]
fn checksums_and_krew_manifest_name_what_is_there() {
    let release = Release::new();
    for arch in ["amd64", "arm64"] {
        release.says("archive", &["foreign", "linux", arch, "1.2.3", "out"]);
    }
    let sums = release.says("checksums", &["out"]);
    assert_eq!(sums.lines().count(), 2, "{sums}");
    let check =
        Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(release.path("out")).output();
    assert!(check.unwrap().status.success());
    let manifest: Value = serde_yaml::from_str(&release.says("krew", &["1.2.3", "out"])).unwrap();
    assert_eq!(manifest["metadata"]["name"], "longhorn-health");
    assert_eq!(manifest["spec"]["version"], "v1.2.3");
    let platforms = manifest["spec"]["platforms"].as_array().unwrap();
    assert_eq!(platforms.len(), 2);
    for platform in platforms {
        let uri = platform["uri"].as_str().unwrap();
        let file = uri.strip_prefix("https://github.com/acme/storage/releases/download/v1.2.3/").unwrap();
        let line = format!("{}  {file}", platform["sha256"].as_str().unwrap());
        assert!(sums.lines().any(|sum| sum == line), "{line}: {sums}");
        assert_eq!(platform["bin"], "longhorn-health-exporter");
    }
    assert!(release.fails("krew", &["9.9.9", "out"]).contains("no archive"));
}

#[test]
fn the_bill_of_materials_lists_what_is_linked_and_nothing_of_the_tests() {
    let release = Release::new();
    if Command::new("cargo")
        .args(["cyclonedx", "--help"])
        .output()
        .is_ok_and(|output| !output.status.success())
    {
        assert!(release.fails("sbom", &[]).contains("cargo install --locked cargo-cyclonedx"));
        println!("NOT TESTED: cargo-cyclonedx is not installed");
        return;
    }
    let bill: Value = serde_json::from_str(&release.says("sbom", &[])).unwrap();
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    assert_eq!(bill["metadata"]["component"]["version"], VERSION);
    let components = bill["components"].as_array().unwrap();
    let names: Vec<_> = components.iter().map(|component| component["name"].as_str().unwrap()).collect();
    for (name, wanted) in [("kube", true), ("rustls", true), ("proptest", false), ("fake-apiserver", false)] {
        assert_eq!(names.contains(&name), wanted, "{name}");
    }
}

#[test]
fn an_exception_for_an_advisory_becomes_a_statement() {
    let release = Release::new();
    let vex = |deny: &str| {
        fs::write(release.path("deny.toml"), deny).unwrap();
        Command::new(root().join("scripts/release/vex"))
            .arg("1.2.3")
            .arg(release.path("vex.json"))
            .env("ADDRESS", release.path("address.env"))
            .env("DENY", release.path("deny.toml"))
            .env("SOURCE_DATE_EPOCH", "1700000000")
            .output()
            .unwrap()
    };
    let exception = "[advisories]\nignore = [\n  { id = \"RUSTSEC-2026-0001\", reason = \"no such input\" },\n]\n[licenses]\n";
    let output = vex(exception);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&fs::read(release.path("vex.json")).unwrap()).unwrap();
    assert_eq!(document["statements"][0]["vulnerability"]["name"], "RUSTSEC-2026-0001");
    assert_eq!(document["statements"][0]["impact_statement"], "no such input");
    assert_eq!(document["timestamp"], "2023-11-14T22:13:20Z");
    assert!(vex("[advisories]\nignore = []\n[licenses]\n").status.success(), "nothing to say is no error");
    let otherwise = vex("[advisories]\nignore = [\"RUSTSEC-2026-0001\"]\n[licenses]\n");
    assert!(!otherwise.status.success(), "an exception without a reason is not passed over");
}

#[test]
fn a_tag_is_released_only_where_every_version_agrees_and_the_address_is_known() {
    let release = Release::new();
    let said = release.fails("check-version", &["v99.0.0"]);
    for place in ["Cargo.toml", "Cargo.lock", "Chart.yaml: version", "Chart.yaml: appVersion", "CHANGELOG.md"]
    {
        assert!(said.contains(place), "{place}: {said}");
    }
    assert!(!said.contains("address.env"), "{said}");
    fs::write(release.path("address.env"), "REPOSITORY=\nIMAGE=\nDOCS=\n").unwrap();
    let said = release.fails("check-version", &[&format!("v{VERSION}")]);
    assert!(
        said.contains("IMAGE is empty, as nothing is published yet") && !said.contains("Cargo.toml"),
        "{said}"
    );
    for (script, arguments) in [("krew", &["1", "."][..]), ("chart", &["1", "."]), ("vex", &["1", "x"])] {
        assert!(release.fails(script, arguments).contains("nothing is published yet"), "{script}");
    }
    assert!(release.fails("notes", &["99.0.0"]).contains("no section"));
}

#[test]
fn the_chart_of_a_release_has_address_and_digest() {
    let Some(helm) = built::kubernetes("helm") else { return };
    let release = Release::new();
    let digest = format!("sha256:{}", "a".repeat(64));
    let output = Command::new(root().join("scripts/release/chart"))
        .args([Path::new("1.2.3"), &release.path("out"), Path::new(&digest)])
        .env("HELM", &helm)
        .env("ADDRESS", release.path("address.env"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let package = String::from_utf8(output.stdout).unwrap();
    let show = |what: &str| {
        let output = Command::new(&helm).args(["show", what, package.trim()]).output().unwrap();
        serde_yaml::from_slice::<Value>(&output.stdout).unwrap()
    };
    let (chart, values) = (show("chart"), show("values"));
    assert_eq!((&chart["version"], &chart["appVersion"]), (&"1.2.3".into(), &"1.2.3".into()));
    assert_eq!(chart["home"], "https://github.com/acme/storage");
    assert!(chart["annotations"]["artifacthub.io/images"].as_str().unwrap().contains(&digest));
    assert_eq!(values["image"]["registry"], "registry.example");
    assert_eq!(values["image"]["repository"], "acme/exporter");
    assert_eq!(values["image"]["digest"], digest);
    // what is a link in the repository is a file in the package
    let rendered = Command::new(&helm)
        .args([
            "template",
            "x",
            package.trim(),
            "--set",
            "dashboards.enabled=true,prometheusRule.enabled=true",
        ])
        .output()
        .unwrap();
    let rendered = String::from_utf8(rendered.stdout).unwrap();
    assert!(
        rendered.contains("alert: LonghornVolumeFaulted") && rendered.contains("grafana_dashboard"),
        "{rendered}"
    );
}

#[test]
fn kubectl_finds_the_program_under_its_name_as_a_plugin() {
    let bin = tempfile::tempdir().unwrap();
    let plugin = bin.path().join("kubectl-longhorn_health");
    symlink(PROGRAM, &plugin).unwrap();
    let help = |command: &mut Command| {
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        said
    };
    let said = help(Command::new(&plugin).args(["check", "--help"]));
    assert!(said.contains("Usage: kubectl longhorn-health check"), "{said}");
    assert!(help(Command::new(PROGRAM).arg("--help")).contains("Usage: longhorn-health-exporter"));
    let Some(kubectl) = built::kubernetes("kubectl") else { return };
    let path = std::env::join_paths([bin.path(), Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    let said = help(
        Command::new(&kubectl)
            .args(["longhorn-health", "check", "--demo", "--fail-on=never"])
            .env("PATH", &path),
    );
    assert!(said.contains("Do first"), "{said}");
    let listed = help(Command::new(&kubectl).args(["plugin", "list"]).env("PATH", &path));
    assert!(listed.contains("kubectl-longhorn_health"), "{listed}");
}

#[test]
fn workflows_are_sound_and_call_the_scripts() {
    let workflows = root().join(".github/workflows");
    let mut texts = String::new();
    for entry in fs::read_dir(&workflows).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for line in text.lines().filter(|line| line.contains("uses:")) {
            let pinned = line.split_once('@').is_some_and(|(_, rest)| {
                rest.split(' ').next().is_some_and(|hash| hash.len() == 40) && rest.contains("# v")
            });
            assert!(pinned, "not pinned by its commit: {line}");
        }
        texts += &text;
    }
    for script in fs::read_dir(root().join("scripts/release")).unwrap() {
        let name = format!("scripts/release/{}", script.unwrap().file_name().to_string_lossy());
        assert!(texts.contains(&name), "{name} is called by no workflow");
    }
    let Some(actionlint) = built::lint("actionlint") else { return };
    let output = Command::new(actionlint).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
