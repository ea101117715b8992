//! TLS and authentication from outside: the process, asked by curl and scraped by Prometheus.

mod kubernetes;
mod passwords;
mod prometheus;
mod start;
mod support;
mod tls;
