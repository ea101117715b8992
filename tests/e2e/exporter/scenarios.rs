//! Every recorded cluster, written through the API, shows the findings of its recording.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use jiff::{SignedDuration, Timestamp};
use longhorn_health_exporter::cluster::Cluster;
use longhorn_health_exporter::source::Recording;
use longhorn_health_exporter::source::recording::RecordedFile;
use regex::{Captures, Regex};
use serde_json::Value;
use testing::evaluate;

use super::{Exporter, NAMESPACE, bench};
use crate::support::Bench;
use crate::support::apply::objects;
use testing::scenario_files;

#[tokio::test]
async fn every_scenario_shows_its_findings() -> Result<()> {
    let Some(bench) = bench("scenarios").await? else { return Ok(()) };
    let mut wrong = Vec::new();
    for path in all()? {
        let began = Instant::now();
        let name = path.file_name().and_then(|name| name.to_str()).context("no name")?.to_owned();
        let objects = load(&bench, &path).await.with_context(|| name.clone())?;
        let loaded = began.elapsed();
        let exporter = Exporter::start(&bench, &name, &[]).await?;
        let report = exporter.report().await?;
        let (at_once, in_time, found) = (expected(&path, true)?, expected(&path, false)?, findings(&report)?);
        let missing: Vec<_> =
            at_once.difference(&found).filter(|(_, cause, _)| cause != OF_THE_HOUR).collect();
        let not_expected: Vec<_> = found.difference(&in_time).collect();
        if !missing.is_empty() || !not_expected.is_empty() || report["unknown"] != serde_json::json!([]) {
            let unknown = &report["unknown"];
            wrong.push(format!(
                "{name}: missing {missing:?}, not expected {not_expected:?}, unknown {unknown}"
            ));
        }
        exporter.stop().await?;
        bench.delete_all(&objects).await?;
        println!("{name}: {} objects in {loaded:.1?}, {:.1?} in all", objects.len(), began.elapsed());
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    Ok(())
}

/// Check, cause, and kind and name of the object.
type Found = (String, String, String);

fn findings(report: &Value) -> Result<BTreeSet<Found>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = report["findings"].as_array().context("a report without findings")?;
    let found = |finding: &Value| {
        let object = &finding["object"];
        let object = format!("{}/{}", text(&object["kind"]), text(&object["name"]));
        (text(&finding["check"]), text(&finding["cause"]), object)
    };
    Ok(findings.iter().map(found).collect())
}

/// A schedule has hours of the day, which do not move with the objects.
const OF_THE_HOUR: &str = "volume_backup_old";

/// What is said of the recording, which tests/clusters/scenarios.rs holds to expected.txt; or else what an exporter says of it at its
/// first look. Logs are left out: an API server has them from a kubelet, and here is none.
fn expected(scenario: &Path, first_look: bool) -> Result<BTreeSet<Found>> {
    let file = scenario_files::files(scenario).into_iter().filter(|(name, _)| name == "cluster.yaml");
    let mut cluster = recording(file)?.into_cluster(NAMESPACE, None);
    if first_look {
        let mut history = cluster.history.clone();
        history.started = Some(cluster.now);
        cluster =
            Cluster::new(cluster.namespace.clone(), cluster.now, cluster.objects, history, cluster.resources);
    }
    findings(&serde_json::to_value(evaluate(&cluster).report)?)
}

pub fn all() -> Result<Vec<PathBuf>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root)? {
        let path = entry?.path();
        if path.join("cluster.yaml").exists() {
            found.push(path);
        }
    }
    found.sort();
    ensure!(found.len() >= 25, "only {} scenarios found", found.len());
    Ok(found)
}

/// Writes the objects of a scenario, which ends now, into the cluster.
pub async fn load(bench: &Bench, scenario: &Path) -> Result<Vec<Value>> {
    let objects = ending_now(scenario)?;
    bench.load_recorded(&objects).await?;
    Ok(objects)
}

/// The objects of a scenario, moved in time so that it ends now.
pub fn ending_now(scenario: &Path) -> Result<Vec<Value>> {
    moved_to_now(&scenario_files::text(scenario))
}

/// The objects of a text, moved in time so that it ends now.
pub fn moved_to_now(text: &str) -> Result<Vec<Value>> {
    let file = [("cluster.yaml".to_owned(), text.to_owned())];
    let newest = recording(file)?.newest().context("no time in it")?;
    objects(&move_times(text, now().duration_since(newest))?)
}

/// A recording of files of a scenario.
pub fn recording(files: impl IntoIterator<Item = (String, String)>) -> Result<Recording> {
    let file = |(name, text): (String, String)| RecordedFile { name, content: text.into() };
    Ok(Recording::from_files(files.into_iter().map(file), NAMESPACE, Timestamp::MAX)?)
}

#[allow(clippy::disallowed_methods, reason = "the clock of the test")]
fn now() -> Timestamp {
    Timestamp::now()
}

/// Moves every RFC 3339 time in a text. Fractions stay: the API server insists on their length.
fn move_times(text: &str, by: SignedDuration) -> Result<String> {
    let times = Regex::new(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?<fraction>\.[0-9]+)?Z")?;
    let moved = |found: &Captures<'_>| {
        let time: Timestamp = found[0].parse().unwrap_or_else(|error| panic!("{}: {error}", &found[0]));
        let time = time.checked_add(by).unwrap_or(time);
        let fraction = found.name("fraction").map_or("", |fraction| fraction.as_str());
        format!("{}{fraction}Z", time.strftime("%Y-%m-%dT%H:%M:%S"))
    };
    Ok(times.replace_all(text, moved).into_owned())
}
