//! What everything else is said in: objects as far as they are read ([`longhorn`]), all of them at one moment
//! ([`cluster`]), what only time shows of them ([`history`]), and what a check declares and finds ([`mod@check`]).

// no panic on data from outside
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub mod check;
pub mod cluster;
pub mod did_you_mean;
pub mod edits;
pub mod history;
pub mod longhorn;
pub mod sync;
pub mod word_enum;
pub mod yaml_error;
