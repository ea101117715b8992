//! Whole clusters and what must be said of them. One program, so that it is linked once: `cargo test --test clusters corpus::` runs
//! those of a room.

#[path = "../support/apart.rs"]
mod apart;
#[path = "../support/contradictions.rs"]
mod contradictions;
#[path = "../support/headlines.rs"]
mod headlines;
#[path = "../support/scenario.rs"]
mod scenario;
#[path = "../support/unsaid.rs"]
mod unsaid;

#[path = "../corpus/mod.rs"]
mod corpus;
#[path = "../kubelet/mod.rs"]
mod kubelet;
#[path = "../longhorn/mod.rs"]
mod longhorn;
#[path = "../ordinary_day/mod.rs"]
mod ordinary_day;
mod scenarios;
