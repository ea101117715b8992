//! Longhorn health from the Kubernetes API alone.
