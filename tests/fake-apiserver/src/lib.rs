//! An in-process Kubernetes API server for tests and benchmarks.
