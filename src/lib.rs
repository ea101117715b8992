//! Longhorn health from the Kubernetes API alone.
//!
//! ```text
//! source (API, recording, demo) ─► longhorn (objects) ─► cluster (one moment) ─► checks ─► report ─┬─► metrics
//!                                        └─► history (what only time shows) ───┘                   ├─► cli::check
//!                                                                                                  └─► http
//! checks::ALL ─► generate ─► rules/ dashboards/ deploy/ docs/
//! ```
//!
//! Start reading at [`checks`], which says what can go wrong, and at [`check`], which says in what
//! words. ARCHITECTURE.md has the invariants.

// no panic on data from outside
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub mod check;
pub mod checks;
pub mod cli;
pub mod cluster;
mod did_you_mean;
pub mod exporter;
mod facts;
pub mod generate;
pub mod history;
pub mod http;
mod incidents;
pub mod lint_rules;
pub mod longhorn;
pub mod metrics;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
#[path = "testing/parsers/mod.rs"]
pub mod parsers;
pub mod plan;
pub mod report;
pub mod source;
mod sync;
#[cfg(test)]
pub mod testing;
mod word_enum;
mod yaml_error;
