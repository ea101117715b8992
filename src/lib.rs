//! Longhorn health from the Kubernetes API alone.
//!
//! ```text
//! source (API, recording, demo) ─► longhorn (objects) ─► cluster (one moment) ─► checks ─► report ─┬─► metrics
//!                                        └─► history (what only time shows) ───┘                   ├─► cli::check
//!                                                                                                  └─► http
//! checks::CATALOGUE ─► generate ─► rules/ dashboards/ deploy/ docs/
//! ```
//!
//! Start reading at [`checks`], which says what can go wrong, and at [`mod@check`], which says in what
//! words. ARCHITECTURE.md has the invariants.

// no panic on data from outside
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub mod cli;
pub mod exporter;
pub mod http;
pub mod metrics;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod parsers;

pub use ::{checks, report, source};
pub(crate) use ::facts;
#[cfg(test)]
pub(crate) use ::testing;
#[cfg(feature = "lint-rules")]
pub use desk::lint_rules;
pub use desk::{generate, longhorn_series, plan};

pub use model::{check, cluster, history, longhorn};
pub(crate) use model::{did_you_mean, sync, word_enum, yaml_error};
pub(crate) use report::incidents;
