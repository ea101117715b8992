//! End-to-end tests against a real etcd and kube-apiserver (`tests/e2e/tools/build.sh` builds it).

mod bench;
mod deploy;
mod exporter;
mod support;
