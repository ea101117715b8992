//! Facts about Longhorn that several checks share, each decided in one place. Checks import facts; facts import
//! neither checks nor anything of the outside.

// no panic on data from outside
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

#[cfg(test)]
pub(crate) use ::{checks, testing};
pub(crate) use model::{check, cluster, longhorn, word_enum};

pub mod age;
pub mod backing_images;
pub mod bursts;
pub mod ca_bundle;
pub mod certificates;
pub mod complaints;
pub mod drain;
#[cfg(test)]
mod edge_tests;
pub mod endpoints;
pub mod eviction;
pub mod installation;
pub mod instance_managers;
pub mod known_issues;
pub mod kubectl;
pub mod leases;
pub mod looping;
pub mod nodes;
pub mod not_started;
pub mod packages;
pub mod patience;
pub mod placement;
pub mod pods;
pub mod policies;
pub mod probes;
pub mod releases;
pub mod removal;
pub mod stale_copies;
pub mod standstill;
pub mod start;
pub mod start_causes;
pub mod text;
pub mod unreached;
pub mod volumes;
pub mod ways;

use crate::check::{Evidence, EvidenceSource};

/// A fact that an object tells.
pub fn api(text: impl Into<String>) -> Evidence {
    EvidenceSource::Api.says(text)
}
