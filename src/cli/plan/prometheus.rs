//! The rate at which disks fill, from a Prometheus.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use jiff::{SignedDuration, Timestamp};

use super::{CommonArgs, Failure};
use crate::plan::capacity::{Growth, LEAST_APART};
use crate::source::prometheus::Prometheus;

/// Which Prometheus is asked.
#[derive(Debug, Args)]
pub(super) struct PrometheusArgs {
    /// URL of the Prometheus that scrapes Longhorn, to estimate when disks fill up (7-day trend)
    #[arg(long, value_name = "URL", value_parser = address, conflicts_with_all = ["demo", "since_recording"])]
    prometheus: Option<String>,

    /// File with a bearer token for Prometheus
    #[arg(long, value_name = "FILE", requires = "prometheus")]
    prometheus_token_file: Option<PathBuf>,

    /// Labels that select this cluster if Prometheus scrapes several (comma-separated, such as cluster=prod-eu1)
    #[arg(long, value_name = "NAME=VALUE", requires = "prometheus", value_delimiter = ',', value_parser = matcher)]
    prometheus_labels: Vec<String>,
}

/// A Prometheus, and how long it is waited for.
pub(super) struct Asked {
    prometheus: Prometheus,
    patience: Duration,
}

fn address(text: &str) -> Result<String, String> {
    let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let is_plain = |host: &str| !host.is_empty() && !host.starts_with('/') && !host.contains(['?', '#', '@']);
    match host.is_some_and(is_plain) {
        true => Ok(text.trim_end_matches('/').to_owned()),
        false => Err("not an address; use the form http://prometheus.monitoring:9090".to_owned()),
    }
}

/// `cluster=a` as PromQL writes it.
fn matcher(text: &str) -> Result<String, String> {
    let is_label = |name: &str| {
        !name.is_empty()
            && !name.starts_with(|char: char| char.is_ascii_digit())
            && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
    };
    match text.split_once('=') {
        Some((name, value)) if is_label(name) && !value.chars().any(char::is_control) => {
            Ok(format!(",{name}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")))
        }
        _ => Err("not a label; use the form cluster=prod-eu1".to_owned()),
    }
}

/// The one word of a file.
fn token(file: &Path) -> Result<String, Failure> {
    let said = |what: String| Failure::usage(anyhow!("--prometheus-token-file {}: {what}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| said(error.to_string()))?;
    match text.trim() {
        token if !token.is_empty() && token.chars().all(|char| char.is_ascii_graphic()) => {
            Ok(token.to_owned())
        }
        _ => Err(said("not a token; it must be one word".to_owned())),
    }
}

impl PrometheusArgs {
    /// The one that was named; it answers for one cluster.
    pub fn of(self, common: &CommonArgs) -> Result<Option<Asked>, Failure> {
        let Some(url) = self.prometheus else { return Ok(None) };
        if common.fleet.sources(&common.source)?.is_some() {
            return Err(Failure::usage(anyhow!("--prometheus is for one cluster; name one context")));
        }
        let token = self.prometheus_token_file.as_deref().map(token).transpose()?;
        let prometheus = Prometheus { url, token, labels: self.prometheus_labels.concat() };
        Ok(Some(Asked { prometheus, patience: common.timeout.unsigned_abs() }))
    }
}

impl Asked {
    /// What it has seen until `now`.
    pub fn growth(&self, now: Timestamp) -> Result<Growth, Failure> {
        let asked = self.prometheus.growth(now, LEAST_APART, self.patience);
        let growth = crate::cli::runtime()?.block_on(asked).map_err(Failure::unknown)?;
        let longest = growth.values().map(|disk| disk.seen).max().unwrap_or(SignedDuration::ZERO);
        Ok(Growth {
            since: now.checked_sub(longest).unwrap_or(now),
            rates: growth.into_iter().map(|(disk, growth)| (disk, growth.rate)).collect(),
        })
    }
}
