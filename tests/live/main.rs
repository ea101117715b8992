//! The live source against an API server that speaks real HTTP and fails on demand.

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
mod state;
mod support;
mod watches;
