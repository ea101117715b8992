//! The live source against an API server that speaks real HTTP and fails on demand, and the server of the exporter against
//! clients of every kind.

mod absence;
mod access;
mod connect;
mod crash_logs;
mod fleet;
mod freshness;
mod headers;
mod lagging;
mod lease;
mod on_demand;
mod pages;
mod pods;
mod record;
mod rude_clients;
mod state;
mod support;
mod watches;
mod web_auth;
