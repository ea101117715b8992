//! Clusters for tests, written as the YAML that `kubectl` prints.

pub(crate) use ::{report, source};
pub(crate) use model::{check, cluster, history, longhorn};

pub mod cases;
pub mod fixture;
pub mod instance_managers;
#[path = "../../tests/support/longhorn_drain.rs"]
pub mod longhorn_drain;
mod objects;
pub mod plan_cases;
pub mod scenario_files;

pub use objects::*;

use jiff::Timestamp;

use crate::check::{Check, Finding};
use crate::cluster::{Cluster, Readability};
use crate::longhorn::Resource;
use crate::report::Evaluation;
use crate::source::recording::{RecordedFile, Recording};

/// The root of the repository, where tests find what they share.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The namespace of test clusters.
pub const NAMESPACE: &str = "longhorn-system";

/// A manager pod. Without one a cluster says nothing about Longhorn, and every check is unknown.
pub const MANAGER: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: longhorn-manager-abcde, \
    namespace: longhorn-system, labels: {app: longhorn-manager}}\n---\n";

/// A recorded cluster of these objects; *now* is the newest time in it. What a check does not
/// look at need not be in it: nothing counts as left out.
pub fn cluster(yaml: &str) -> Cluster {
    complete(recording(yaml).into_cluster(NAMESPACE, None))
}

/// The same at a given moment.
pub fn cluster_at(now: &str, yaml: &str) -> Cluster {
    complete(recording(yaml).into_cluster(NAMESPACE, Some(time(now))))
}

/// A user's recording; we cannot know which kinds it was meant to contain.
pub fn partial(yaml: &str) -> Cluster {
    recording(yaml).into_cluster(NAMESPACE, None)
}

/// A live cluster (facts can age) of these objects at a given moment, watched since an hour.
/// Kinds without objects are readable and empty.
pub fn live_at(now: &str, yaml: &str) -> Cluster {
    let mut cluster = cluster_at(now, yaml);
    cluster.history.started = Some(time(now) - jiff::SignedDuration::from_hours(1));
    for status in cluster.resources.values_mut() {
        status.readability = Readability::Readable;
    }
    cluster
}

/// The same, looked at once, as `check` does: there is nothing to remember.
pub fn one_look_at(now: &str, yaml: &str) -> Cluster {
    let mut cluster = live_at(now, yaml);
    cluster.history = crate::history::History::starting(cluster.now);
    cluster.one_look = true;
    cluster
}

fn complete(mut cluster: Cluster) -> Cluster {
    use Resource::*;
    const NEEDED: [Resource; 8] =
        [Pods, DaemonSets, Settings, LonghornNodes, InstanceManagers, Volumes, Engines, Replicas];
    let left_out = NEEDED.into_iter().filter(|resource| !cluster.can_read(*resource)).collect::<Vec<_>>();
    for resource in left_out {
        cluster.resources.entry(resource).or_default().readability = Readability::Readable;
    }
    cluster.with_nothing_left_out()
}

/// The same cluster with its clock moved on, with the facts of `before` carried over: what a
/// running exporter sees at its next look.
pub fn later(cluster: Cluster, seconds: i64) -> Cluster {
    let evaluation = evaluate(&cluster);
    let Cluster { namespace, now, objects, mut history, resources, .. } = cluster;
    history.keep_observed(evaluation.observed, &evaluation.blind, now);
    let now = now + jiff::SignedDuration::from_secs(seconds);
    Cluster::new(namespace, now, objects, history, resources).with_nothing_left_out()
}

/// The same with other objects.
pub fn next(cluster: Cluster, seconds: i64, yaml: &str) -> Cluster {
    let Cluster { namespace, now, history, resources, .. } = later(cluster, seconds);
    let objects = recording(yaml).into_cluster(NAMESPACE, None).objects;
    Cluster::new(namespace, now, objects, history, resources).with_nothing_left_out()
}

/// What all checks say about a cluster.
pub fn evaluate(cluster: &Cluster) -> Evaluation {
    crate::report::evaluate(&checks::CATALOGUE, cluster)
}

/// What some checks say about a cluster.
pub fn evaluate_only(cluster: &Cluster, wanted: impl Fn(&Check) -> bool) -> Evaluation {
    crate::report::evaluate_only(&checks::CATALOGUE, cluster, wanted)
}

/// What one check says about a cluster.
pub fn run(check: &Check, cluster: &Cluster) -> Evaluation {
    evaluate_only(cluster, |candidate| candidate.id == check.id)
}

/// Findings of one check as `cause object` lines with the severity in front, which read well in
/// assertions: `warning stuck InstanceManager im-1`.
pub fn found(check: &Check, cluster: &Cluster) -> Vec<String> {
    let line = |f: &Finding| format!("{} {} {}", f.severity, f.cause, f.object);
    run(check, cluster).report.findings.iter().map(line).collect()
}

/// What one check states as a property of the release.
pub fn stated(check: &Check, cluster: &Cluster) -> Vec<&'static str> {
    run(check, cluster).report.facts.iter().map(|fact| fact.fact).collect()
}

/// The value of a sample, by family and label values.
pub fn sample(evaluation: &Evaluation, family: &str, labels: &[&str]) -> Option<f64> {
    let samples = evaluation.samples.get(family)?;
    let same = |sample: &&crate::check::Sample| {
        sample.labels.iter().map(|label| &**label).eq(labels.iter().copied())
    };
    samples.iter().find(same).map(|sample| sample.value)
}

/// A time.
pub fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn recording(yaml: &str) -> Recording {
    let file = RecordedFile { name: "test.yaml".to_owned(), content: format!("{yaml}\n").into_bytes() };
    let files = (!yaml.is_empty()).then_some(file);
    let recording = Recording::from_files(files, NAMESPACE, Timestamp::MAX).unwrap();
    assert_eq!(recording.warnings, Vec::<String>::new());
    recording
}
