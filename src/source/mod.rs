//! Where objects come from: the Kubernetes API, a recording, or the embedded demo cluster.

pub mod demo;
pub mod recording;

pub use recording::{Recording, RecordingError};
