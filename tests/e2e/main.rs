//! End-to-end tests against a real etcd and kube-apiserver (`tests/e2e/tools/build.sh` builds it).

mod auth;
mod bench;
#[path = "../corpus/cases.rs"]
#[allow(dead_code, reason = "shared with the tests of verdicts, which use all of it")]
mod corpus;
mod deploy;
mod exporter;
#[path = "../support/longhorn_drain.rs"]
mod longhorn_drain;
mod recordings;
mod support;
#[path = "../live/web_auth/support.rs"]
#[allow(dead_code, reason = "shared with the tests of the web server, which use all of it")]
mod web;
