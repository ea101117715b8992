//! What is made at a desk, of the declarations of the checks and of a report: plans, generated files, and a judgement of
//! the rules and dashboards of users.

// no panic on data from outside
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub mod generate;
#[cfg(feature = "lint-rules")]
pub mod lint_rules;
pub mod longhorn_series;
pub mod own;
pub mod plan;

pub(crate) use ::{facts, report};
#[cfg(test)]
pub(crate) use ::{source, testing};
pub(crate) use model::{check, cluster, did_you_mean, longhorn, word_enum, yaml_error};
pub(crate) use report::incidents;
