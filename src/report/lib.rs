//! Evaluation: every check over one cluster, into one report and its samples.

// no panic on data from outside
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

#[cfg(test)]
pub(crate) use ::{source, testing};
pub(crate) use ::facts;
pub(crate) use model::{check, cluster, did_you_mean, edits, history, longhorn, word_enum, yaml_error};

#[cfg(test)]
mod absence_tests;
mod accepted;
mod address;
mod at_risk;
mod data;
pub mod diff;
mod evaluation;
pub mod happened;
pub mod incidents;
#[cfg(test)]
mod left_out_tests;
#[cfg(test)]
mod linear_tests;
pub mod longhorn_ui;
mod memory;
pub mod redundancy;
pub mod rights;
mod select;
mod shape;
pub mod signatures;
mod status;
pub mod text;
pub mod timeline;
#[cfg(test)]
mod undecodable_tests;

pub use accepted::{Acceptance, Accepted};
pub use address::Address;
pub use at_risk::{AtRisk, Place};
pub use data::Data;
pub use evaluation::{
    Evaluation, MAX_IN_ALL, MAX_OF_CHECK, ReportOptions, evaluate, evaluate_again, evaluate_only,
    evaluate_with,
};
pub use memory::Memory;
pub use select::{Selected, Selection};
pub use shape::{ClusterSummary, EVERY_CHECK, NotListed, Report, ResourceReport, TimeTells, Unknown};
pub use status::{Status, exit};
