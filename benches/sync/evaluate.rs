//! Evaluations without network and server, for a profiler that counts instructions:
//! `valgrind --tool=callgrind TARGET --evaluate 5000 25 10`, less what it counts with fewer rounds.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};
use longhorn_health_exporter::cluster::{Cluster, Readability, ResourceStatus};
use longhorn_health_exporter::exporter::Evaluator;
use longhorn_health_exporter::history::{History, Observation};
use longhorn_health_exporter::longhorn::{Objects, Resource};
use longhorn_health_exporter::metrics::Format;
use longhorn_health_exporter::source::Source;
use serde_json::Value;

use super::objects::{NAMESPACE, Shape};

/// Evaluations of a cluster in memory that changes between them.
pub struct Evaluations {
    source: Arc<Changing>,
    evaluator: Evaluator,
}

impl Evaluations {
    /// Of a cluster of this shape.
    pub fn new(shape: Shape) -> Self {
        let source = Arc::new(Changing::new(shape));
        let evaluator = Evaluator::new(
            &longhorn_health_exporter::checks::CATALOGUE,
            source.clone(),
            || source_time(0),
            false,
        );
        Evaluations { source, evaluator }
    }

    /// Changes an object of each kind that managers and kubelets write all the time.
    pub fn change(&self) {
        self.source.change();
    }

    /// The number of series.
    #[allow(dead_code, reason = "for tests/suite/cost.rs alone")]
    pub fn series(&self) -> usize {
        let page = self.evaluator.page(Format::Text, None).expect("a page");
        page.lines().filter(|line| !line.starts_with('#')).count()
    }

    /// The size of the page, in the format that Prometheus asks for.
    pub fn page(&self) -> (usize, usize) {
        let page = self.evaluator.page(Format::OpenMetrics, None).expect("a page");
        (page.len(), page.gzip().map_or(0, |zipped| zipped.len()))
    }
}

fn source_time(seconds: i64) -> Timestamp {
    let begin: Timestamp = "2026-01-01T01:00:00Z".parse().expect("a time");
    begin + SignedDuration::from_secs(seconds)
}

/// Objects in memory that change.
struct Changing {
    shape: Shape,
    objects: Mutex<Objects>,
    history: Mutex<History>,
    generation: AtomicU64,
}

impl Changing {
    fn new(shape: Shape) -> Self {
        let mut objects = Objects::default();
        shape.objects().iter().for_each(|object| insert(&mut objects, object));
        let history = History::starting(source_time(0));
        Changing { shape, objects: objects.into(), history: history.into(), generation: AtomicU64::new(0) }
    }

    fn change(&self) {
        let n = self.generation.fetch_add(1, Ordering::Relaxed) as usize;
        let mut objects = self.objects.lock().expect("objects");
        self.shape.one_of_each(n).iter().for_each(|object| insert(&mut objects, object));
    }
}

fn insert(objects: &mut Objects, object: &Value) {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let kind = Resource::of(text("apiVersion"), text("kind")).expect("a known kind");
    objects.insert(kind, object).expect("an object that decodes");
}

impl Source for Changing {
    /// A minute an evaluation, so that what lasts for some time is found.
    fn moment(&self, _wall: Timestamp) -> Timestamp {
        source_time(60 * self.generation() as i64)
    }

    fn snapshot(&self, now: Timestamp) -> Cluster {
        let readable = ResourceStatus { readability: Readability::Readable, ..Default::default() };
        let resources = Resource::all().map(|resource| (resource, readable.clone())).collect();
        let objects = self.objects.lock().expect("objects").clone();
        Cluster::new(NAMESPACE, now, objects, self.history.lock().expect("history").clone(), resources)
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    fn keep_observed(&self, holding: Vec<Observation>, blind: &BTreeSet<&'static str>, now: Timestamp) {
        self.history.lock().expect("history").keep_observed(holding, blind, now);
    }

    fn waiting_for(&self) -> Vec<Resource> {
        Vec::new()
    }
}
