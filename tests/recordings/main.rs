//! Recordings as people have them: the scenarios in every form that is read, and what is left of them when
//! files are damaged.

mod anonymized;
mod forms;
mod mutants;
#[path = "../support/numbers.rs"]
mod numbers;
#[path = "../support/scenario.rs"]
mod scenario;
mod written;
