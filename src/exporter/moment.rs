//! What one evaluation found, and the pages that are written of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use jiff::Timestamp;

use super::{Rendered, WebConfigReload};
use crate::cluster::{Cluster, ResourceStatus};
use crate::longhorn::{InstanceManagerState, Resource};
use crate::metrics::Format;
use crate::report::Evaluation;
use crate::sync::lock;

/// What is known at one moment. Holds no object, so that the stores can go on changing in place.
#[derive(Debug)]
pub struct Moment {
    /// Report and samples of all checks.
    pub evaluation: Evaluation,
    /// How the cluster could be read.
    pub seen: Seen,
    /// How long the checks ran, in seconds.
    pub seconds: f64,
    pub(super) key: EvaluationKey,
    /// When the checks were done, by the clock of this machine.
    pub evaluated: Timestamp,
    /// The pages of metrics that were written last, one per format.
    pub(super) pages: [Mutex<Option<WrittenPage>>; 2],
    /// The whole report as JSON, once someone asked for it.
    pub(super) json: Mutex<Option<Arc<Rendered>>>,
}

/// How a cluster could be read, and what a page shows of it beside the report.
#[derive(Debug)]
pub struct Seen {
    /// How each kind could be read.
    pub resources: Vec<ResourceFacts>,
    /// Instance managers by state; every state that Longhorn knows is in it.
    pub instance_managers: BTreeMap<&'static str, usize>,
    /// Kinds that the first verdict still waits for.
    pub waiting_for: Vec<Resource>,
}

impl Seen {
    /// What was seen of these kinds.
    pub fn of(cluster: &Cluster, kinds: &BTreeSet<Resource>, waiting_for: Vec<Resource>) -> Self {
        let resources = kinds.iter().map(|resource| resource_facts(cluster, *resource)).collect();
        Seen { resources, instance_managers: instance_managers(cluster), waiting_for }
    }
}

/// A page of metrics, and what it depends on beside the moment.
#[derive(Debug)]
pub(super) struct WrittenPage {
    pub(super) written: Timestamp,
    pub(super) web_config: Option<WebConfigReload>,
    pub(super) page: Arc<Rendered>,
}

/// How a kind could be read.
#[derive(Debug)]
pub struct ResourceFacts {
    pub resource: Resource,
    /// How it could be read.
    pub status: ResourceStatus,
    /// Whether what is held can be trusted.
    pub synced: bool,
    pub objects: usize,
}

/// What an evaluation depends on. Ages are judged by the second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EvaluationKey {
    pub(super) waiting_for: Vec<Resource>,
    pub(super) generation: u64,
    pub(super) second: i64,
}

/// That of a format, of two.
pub(super) fn of<T>([text, open_metrics]: &[T; 2], format: Format) -> &T {
    match format {
        Format::Text => text,
        Format::OpenMetrics => open_metrics,
    }
}

pub(super) fn of_mut<T>([text, open_metrics]: &mut [T; 2], format: Format) -> &mut T {
    match format {
        Format::Text => text,
        Format::OpenMetrics => open_metrics,
    }
}

/// Whether somebody took the page of this format compressed, as Prometheus does.
pub(super) fn is_zipped(moment: &Moment, format: Format) -> bool {
    lock(of(&moment.pages, format)).as_ref().is_none_or(|written| written.page.is_zipped())
}

fn resource_facts(cluster: &Cluster, resource: Resource) -> ResourceFacts {
    ResourceFacts {
        resource,
        status: cluster.resources.get(&resource).cloned().unwrap_or_default(),
        synced: cluster.can_read(resource),
        objects: cluster.objects.count(resource),
    }
}

fn instance_managers(cluster: &Cluster) -> BTreeMap<&'static str, usize> {
    let mut counts: BTreeMap<_, _> =
        InstanceManagerState::KNOWN.iter().map(|state| (state.as_str(), 0)).collect();
    for manager in cluster.objects.instance_managers.iter() {
        let state = match manager.status.current_state {
            InstanceManagerState::Unset | InstanceManagerState::Unrecognized => InstanceManagerState::Unknown,
            known => known,
        };
        *counts.entry(state.as_str()).or_default() += 1;
    }
    counts
}
