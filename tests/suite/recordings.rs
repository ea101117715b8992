//! Recordings as people have them: the scenarios in every form that is read, and what is left of them when
//! files are damaged.

mod anonymized;
mod forms;
mod mutants;
mod pasted;
mod written;
