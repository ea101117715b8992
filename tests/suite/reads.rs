//! What a check reads is what it declares: without every other kind it says the same. Access rights
//! are made from the declarations, so a kind that is read and not declared would be missing there.

use crate::scenario;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use longhorn_health_exporter::check::{Check, Severity};
use longhorn_health_exporter::checks;
use longhorn_health_exporter::cli::DECLARED;
use longhorn_health_exporter::cluster::Cluster;
use longhorn_health_exporter::longhorn::Resource;
use longhorn_health_exporter::report::{Evaluation, Memory, ReportOptions, evaluate_again};
use longhorn_health_exporter::source::recording::{RecordedFile, Recording};
use serde_json::{Value, json};
use testing::{evaluate, evaluate_only};

/// A scenario whose objects can be left out by kind; each is written down once for all checks.
struct Recorded {
    objects: Vec<(Option<Resource>, String)>,
    logs: Vec<RecordedFile>,
    now: Timestamp,
}

impl Recorded {
    fn of(path: &Path) -> Self {
        let kind = |object: &Value| {
            // events are told apart by what they are about, so both kinds of them come together
            let events = object["kind"] == "Event";
            (!events).then(|| Resource::of(object["apiVersion"].as_str()?, object["kind"].as_str()?))?
        };
        let objects = scenario::files::objects(path);
        let logs = scenario::files::files(path).into_iter().filter(|(name, _)| name.ends_with(".log"));
        Recorded {
            objects: objects.iter().map(|object| (kind(object), object.to_string())).collect(),
            logs: logs.map(|(name, text)| RecordedFile { name, content: text.into() }).collect(),
            now: scenario::cluster(path).now,
        }
    }

    /// Its cluster with these kinds alone, and Events.
    fn with(&self, kinds: impl Fn(Resource) -> bool) -> Cluster {
        let kept = self.objects.iter().filter(|(kind, _)| kind.is_none_or(&kinds));
        let items: Vec<&str> = kept.map(|(_, object)| object.as_str()).collect();
        let list = format!(r#"{{"apiVersion": "v1", "kind": "List", "items": [{}]}}"#, items.join(","));
        let file = RecordedFile { name: "list.json".to_owned(), content: list.into_bytes() };
        let files = std::iter::once(file).chain(self.logs.iter().cloned());
        let recording = Recording::from_files(files, "longhorn-system", Timestamp::MAX).unwrap();
        recording.into_cluster("longhorn-system", Some(self.now))
    }
}

fn verdict(check: &Check, cluster: &Cluster) -> Value {
    let evaluation = evaluate_only(cluster, |candidate| candidate.id == check.id);
    let samples = format!("{:?}", evaluation.samples);
    let own = evaluation.report.unknown.iter().filter(|unknown| unknown.check == check.id);
    json!({ "findings": evaluation.report.findings, "samples": samples, "unknown": own.collect::<Vec<_>>() })
}

#[test]
fn checks_read_what_they_declare() {
    for path in scenario::all() {
        let recorded = Recorded::of(&path);
        let all = recorded.with(|_| true);
        for check in checks::CATALOGUE.checks {
            let declared =
                recorded.with(|kind| [check.needs, check.uses, check.glances].concat().contains(&kind));
            let (whole, part) = (verdict(check, &all), verdict(check, &declared));
            assert_eq!(whole, part, "{} on {}", check.id, scenario::name(&path));
        }
    }
}

/// What an exporter keeps of a check is right for as long as none of the kinds changes that the check declares.
#[test]
fn a_verdict_stands_until_something_changes_that_its_check_reads() {
    let patience = SignedDuration::from_secs(15);
    let said = |evaluation: &Evaluation| {
        let Evaluation { report, samples, .. } = evaluation;
        json!({"findings": report.findings, "unknown": report.unknown, "samples": format!("{samples:?}")})
    };
    let kinds = checks::CATALOGUE.kinds();
    let mut looks = 0;
    for path in scenario::all() {
        let cluster = scenario::cluster(&path);
        let at = |changed: Option<Resource>| {
            let mut resources = cluster.resources.clone();
            for kind in &kinds {
                resources.entry(*kind).or_default().changes = if changed == Some(*kind) { 2 } else { 1 };
            }
            let (objects, history) = (cluster.objects.clone(), cluster.history.clone());
            let mut other = Cluster::new("longhorn-system", cluster.now, objects, history, resources);
            let empty =
                Cluster::new("", cluster.now, Default::default(), Default::default(), BTreeMap::new());
            other.adopt(&empty, changed.into_iter());
            other
        };
        let unchanged = said(&evaluate(&at(None)));
        for changed in kinds.iter().filter(|kind| cluster.objects.count(**kind) > 0) {
            let mut memory = Memory::new(patience);
            let mut look = |cluster: &Cluster| {
                evaluate_again(&checks::CATALOGUE, cluster, |_| true, &ReportOptions::default(), &mut memory)
            };
            let (before, after) = (at(None), at(Some(*changed)));
            look(&before);
            let (again, now) = (look(&before), look(&after));
            assert_eq!(said(&again), unchanged, "{changed} on {}", scenario::name(&path));
            assert_eq!(said(&now), said(&evaluate(&after)), "{changed} on {}", scenario::name(&path));
            let reads = |check: &&&Check| check.needs.iter().chain(check.uses).any(|kind| kind == changed);
            let untouched = checks::CATALOGUE.checks.iter().filter(|check| !reads(check));
            looks += untouched.filter(|check| now.blind.contains(check.id)).count();
        }
    }
    assert!(looks > 0, "every check ran each time");
}

/// Every kind is there for some check, or for plans: what none declares would be watched in vain.
#[test]
fn every_kind_is_declared_by_a_check() {
    let declared: BTreeSet<_> =
        checks::CATALOGUE.checks.iter().flat_map(|check| check.needs.iter().chain(check.uses)).collect();
    let idle: Vec<_> = Resource::all().filter(|kind| !declared.contains(kind)).map(Resource::label).collect();
    // what only `plan upgrade` asks for, or `check` by the way
    let planned = [
        "customresourcedefinitions.apiextensions.k8s.io",
        "storageclasses.storage.k8s.io",
        "networkpolicies.networking.k8s.io",
        "helmcharts.helm.cattle.io",
        "helmreleases.helm.toolkit.fluxcd.io",
        "applications.argoproj.io",
    ];
    assert_eq!(idle, planned);
    let read = checks::CATALOGUE.kinds();
    assert!(Resource::all().all(|kind| read.contains(&kind) != planned.contains(&kind.label().as_str())));
}

/// Causes at warning or worse that no alert lists, with the reason.
const WITHOUT_ALERT: &[(&str, &str, &str)] = &[];

#[test]
fn causes_that_hurt_have_an_alert() {
    let mut wrong = Vec::new();
    for check in checks::CATALOGUE.checks {
        for cause in check.causes.iter().filter(|cause| cause.severity >= Severity::Warning) {
            let named = check.alerts.iter().any(|alert| alert.causes().any(|listed| listed == *cause));
            let excused = WITHOUT_ALERT.iter().any(|(id, name, _)| (*id, *name) == (check.id, cause.id));
            if named == excused {
                wrong.push(format!("{} {}", check.id, cause.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(DECLARED.alerts().count() >= 20);
}
