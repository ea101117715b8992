//! The tests of the whole program, and of what it generates, that need no server of others but Prometheus. One program, so that it
//! is linked once: `cargo test --test suite docs::` runs those of a file. They run side by side, so none may change its process.

#[path = "../support/built.rs"]
mod built;
#[path = "../support/numbers.rs"]
mod numbers;
#[path = "../support/promql.rs"]
mod promql;
#[path = "../support/promtool.rs"]
mod promtool;
#[path = "../support/scenario.rs"]
mod scenario;
#[path = "../support/stack.rs"]
mod stack;

mod catalogue;
mod chain;
mod check_screen;
mod code_mutants;
mod command_line;
mod cost;
mod dashboards;
mod diff;
mod docs;
mod exposition;
mod foreign_text;
mod generated;
mod integrations;
mod mixin;
mod mutations;
mod node_problem_detector;
mod prometheus;
mod reads;
mod recordings;
mod release;
mod robustness;
mod rules;
mod serve;
mod setup;
mod signatures;
mod verdicts;
mod withheld;
