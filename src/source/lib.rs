//! Where objects come from: the Kubernetes API, a recording, or the embedded demo cluster.

// no panic on data from outside
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

#[cfg(test)]
pub(crate) use ::{checks, testing};
pub(crate) use ::facts;
pub(crate) use model::{cluster, edits, history, longhorn, sync, word_enum, yaml_error};

mod answer;
mod client;
pub mod connect;
pub mod demo;
pub mod fixed;
pub mod kubeconfig;
mod log_text;
pub mod on_demand;
mod plugin;
pub mod prometheus;
pub mod record;
pub mod recording;
pub mod reviews;
mod wanted_logs;
pub mod watch;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

pub use fixed::Fixed;
pub use on_demand::OnDemand;
pub use recording::{Recording, RecordingError};
pub use watch::{CrashLogs, Live, LiveOptions};

use crate::cluster::Cluster;
use crate::history::Observation;
use crate::history::changes::Past;
use crate::longhorn::Resource;

/// What `serve` evaluates again and again. Every method answers from memory, at once.
pub trait Source: Send + Sync + 'static {
    /// The moment that an evaluation at this wall clock time is about.
    fn moment(&self, wall: Timestamp) -> Timestamp {
        wall
    }

    /// One consistent view of everything held, as of `now`. Shares the objects, so it is cheap.
    fn snapshot(&self, now: Timestamp) -> Cluster;

    /// Changes whenever a snapshot would show other objects, another history or another
    /// readability. Two evaluations of the same generation and second give the same report.
    fn generation(&self) -> u64;

    /// Takes over the observations of an evaluation, see [`crate::history::History::keep_observed`]. Does not
    /// change the generation: a fact that is new now is not older within the same second.
    fn keep_observed(&self, holding: Vec<Observation>, blind: &BTreeSet<&'static str>, now: Timestamp);

    /// Takes over the incidents of an evaluation, see [`crate::history::History::keep_incidents`].
    fn keep_incidents(&self, _found: Vec<Past>, _holds: &dyn Fn(&Past) -> bool, _now: Timestamp) {}

    /// The kinds about which nothing is known since the start: neither listed, nor refused, nor not
    /// served. A latch: once empty, always empty, whatever goes wrong later.
    fn waiting_for(&self) -> Vec<Resource>;

    /// Calls made per kind; empty for a source that makes none.
    fn totals(&self) -> BTreeMap<Resource, ApiTotals> {
        BTreeMap::new()
    }
}

/// Calls to the Kubernetes API for one kind since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiTotals {
    /// Lists that were begun, each with all its pages counted once.
    pub lists: u64,
    /// Watches that were begun.
    pub watches: u64,
    /// Watch events that changed an object; bookmarks are not counted.
    pub events: u64,
    /// What went wrong; a reason that never occurred may be missing.
    pub errors: BTreeMap<ApiErrorReason, u64>,
}

word_enum::word_enum! {
    /// Why a call to the Kubernetes API failed, from a closed list so that it can be a label.
    pub enum ApiErrorReason {
        /// 401: the token is missing, wrong or expired.
        Unauthorized = "unauthorized",
        /// 403: no right to list or watch the kind.
        Forbidden = "forbidden",
        /// 404: the API server does not know the kind.
        NotInstalled = "not_installed",
        /// 410: the resource version is too old, a new list follows.
        Expired = "expired",
        /// 429: the API server asks to slow down.
        Throttled = "throttled",
        /// Any other 5xx.
        ServerError = "server_error",
        /// No connection, or it broke.
        Connection = "connection",
        /// No answer, or a watch that fell silent.
        Timeout = "timeout",
        /// An answer that is not what was asked for.
        Decode = "decode",
        /// Anything else.
        Other = "other",
    }
}
