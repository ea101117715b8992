//! Longhorn health from the Kubernetes API alone.
pub mod longhorn;
