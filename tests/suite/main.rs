//! The small tests of the whole program, in one program that is linked once: `cargo test --test suite docs::` runs those of a file.

#[path = "../support/built.rs"]
mod built;
#[path = "../support/promql.rs"]
mod promql;
#[path = "../support/scenario.rs"]
mod scenario;

mod catalogue;
mod check_screen;
mod command_line;
mod docs;
mod exposition;
mod foreign_text;
mod generated;
mod node_problem_detector;
mod reads;
mod release;
mod robustness;
mod serve;
mod setup;
mod verdicts;
mod withheld;
