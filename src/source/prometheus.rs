//! What a Prometheus has seen of Longhorn's disks: one question, with a bounded answer.

use std::collections::BTreeMap;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use jiff::{SignedDuration, Timestamp};
use kube::client::Body;
use kube::{Client, Config};
use serde::Deserialize;
use thiserror::Error;

use super::client;
use super::watch::{describe, speaks_no_tls};

/// The longest answer: some ten thousand disks.
const LONGEST: usize = 4 << 20;
/// What of a refusal is quoted.
const QUOTED: usize = 200;
/// How far it looks back: a week has one of each day.
const WINDOW: SignedDuration = SignedDuration::from_hours(7 * 24);
/// A point of the rate, in minutes.
const STEP: i64 = 10;

/// Which Prometheus, and what of it. Not `Debug`, as it has a secret.
pub struct Prometheus {
    /// Its address, with a path where it has one.
    pub url: String,
    /// Bearer token.
    pub token: Option<String>,
    /// Labels that select one cluster, as PromQL: `,cluster="a"`.
    pub labels: String,
}

/// How the used bytes of a disk grew.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// Bytes a second by linear regression; below 0 for a disk that is emptied.
    pub rate: f64,
    /// For how long it was seen.
    pub seen: SignedDuration,
}

/// Why there is no answer. Each says what to do.
#[derive(Debug, Error)]
pub enum PrometheusError {
    #[error("{url} is not a usable address: {reason}; use the form http://prometheus.monitoring:9090")]
    Address { url: String, reason: String },
    #[error(
        "cannot reach Prometheus at {url}: {reason}; check the address, or forward a port to its Service"
    )]
    Unreachable { url: String, reason: String },
    #[error("Prometheus at {url} answers without TLS; use http://")]
    NoTls { url: String },
    #[error("Prometheus at {url} did not answer within {patience:?}; raise --timeout")]
    Slow { url: String, patience: Duration },
    #[error(
        "Prometheus at {url} rejects the request ({status}); name a file with a token by --prometheus-token-file"
    )]
    Forbidden { url: String, status: u16 },
    #[error("Prometheus at {url} cannot answer ({status}): {said}; check its log")]
    Refused { url: String, status: u16, said: String },
    #[error("{url} does not answer as Prometheus does ({said}); name the address before /api/v1/query")]
    NoPrometheus { url: String, said: String },
    #[error("the answer of Prometheus at {url} is over {} MiB; select one cluster by --prometheus-labels", .0 >> 20, url = .1)]
    TooLong(usize, String),
    #[error(
        "Prometheus at {url} has disk {disk} on {node} in several clusters; select one by --prometheus-labels"
    )]
    Mixed { url: String, node: String, disk: String },
    #[error(
        "Prometheus at {url} has no longhorn_disk_usage_bytes from 1 h or more; have it scrape longhorn-manager \
         (port 9500), or check --prometheus-labels"
    )]
    Nothing { url: String },
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    error: String,
    data: Option<Data>,
}

#[derive(Deserialize)]
struct Data {
    result: Vec<Sample>,
}

#[derive(Deserialize)]
struct Sample {
    metric: BTreeMap<String, String>,
    value: (f64, String),
}

impl Prometheus {
    /// The growth of each disk, by node and name, over at most seven days until `now`. Disks that were seen for less than `least`, or whose
    /// size changed, are left out.
    ///
    /// longhorn_disk_usage_bytes is StorageMaximum less StorageAvailable, from the manager on the disk's node (longhorn-manager v1.3.0 to
    /// v1.12.1 metrics_collector/disk_collector.go). Managers that are replaced change its other labels, so these are summed away first.
    pub async fn growth(
        &self,
        now: Timestamp,
        least: SignedDuration,
        patience: Duration,
    ) -> Result<BTreeMap<(String, String), Growth>, PrometheusError> {
        let asked = self.ask(now, patience);
        let slow = |_| PrometheusError::Slow { url: self.url.clone(), patience };
        let samples = tokio::time::timeout(patience, asked).await.map_err(slow)??;
        let mut disks: BTreeMap<(String, String), [Option<f64>; 2]> = BTreeMap::new();
        for Sample { metric, value } in samples {
            let label = |name: &str| metric.get(name).cloned().unwrap_or_default();
            let Some(value) = value.1.parse().ok().filter(|value: &f64| value.is_finite()) else { continue };
            if label("of") == "spread" {
                let (node, disk) = (label("node"), label("disk"));
                return Err(PrometheusError::Mixed { url: self.url.clone(), node, disk });
            }
            let [rate, points] = disks.entry((label("node"), label("disk"))).or_default();
            *(if label("of") == "rate" { rate } else { points }) = Some(value);
        }
        let growth = disks.into_iter().filter_map(|(disk, figures)| {
            let [Some(rate), Some(points)] = figures else { return None };
            let minutes = (points as i64).saturating_sub(1).saturating_mul(STEP);
            Some((disk, Growth { rate, seen: SignedDuration::from_mins(minutes).min(WINDOW) }))
        });
        let growth: BTreeMap<_, _> = growth.filter(|(_, growth)| growth.seen >= least).collect();
        if growth.is_empty() { Err(PrometheusError::Nothing { url: self.url.clone() }) } else { Ok(growth) }
    }

    /// Trend and number of points of each disk. A disk whose series differ by more than a scrape can is one of several clusters.
    fn query(&self) -> String {
        let over = format!("[{}h:{STEP}m]", WINDOW.as_hours());
        let of = |what: &str, metric: &str| {
            format!("{what} by (node, disk) ({metric}{{node!=\"\"{}}})", self.labels)
        };
        let [most, least] = ["max", "min"].map(|what| of(what, "longhorn_disk_usage_bytes"));
        let size = of("max", "longhorn_disk_capacity_bytes");
        let named =
            |query: String, name: &str| format!("label_replace({query}, \"of\", \"{name}\", \"\", \"\")");
        let rate = named(format!("(deriv({most}{over}) unless changes({size}{over}) > 0)"), "rate");
        let points = named(format!("count_over_time({most}{over})"), "points");
        let spread = named(format!("({most} - {least} > 0.05 * {most})"), "spread");
        format!("{rate} or {points} or {spread}")
    }

    async fn ask(&self, now: Timestamp, patience: Duration) -> Result<Vec<Sample>, PrometheusError> {
        let url = || self.url.clone();
        let unreachable = |error: kube::Error| match speaks_no_tls(&error) {
            true => PrometheusError::NoTls { url: url() },
            false => PrometheusError::Unreachable { url: url(), reason: describe(&error) },
        };
        let client = self.client(patience)?;
        let asked: String = form_urlencoded::Serializer::new(String::new())
            .append_pair("query", &self.query())
            .append_pair("time", &now.as_second().to_string())
            .finish();
        let request = http::Request::post("/api/v1/query")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(asked.into_bytes()))
            .map_err(|error| PrometheusError::Address { url: url(), reason: error.to_string() })?;
        let (head, body) = client.send(request).await.map_err(unreachable)?.into_parts();
        let body = Limited::new(body, LONGEST).collect().await;
        let bytes = body.map(|body| body.to_bytes()).map_err(|error| match error
            .is::<http_body_util::LengthLimitError>(
        ) {
            true => PrometheusError::TooLong(LONGEST, url()),
            false => unreachable(kube::Error::Service(error)),
        })?;
        let answer = serde_json::from_slice::<Answer>(&bytes).ok();
        let status = head.status.as_u16();
        match (status, answer) {
            (200, Some(Answer { data: Some(data), .. })) => Ok(data.result),
            (401 | 403, _) => Err(PrometheusError::Forbidden { url: url(), status }),
            (_, Some(Answer { error, .. })) if !error.is_empty() => {
                Err(PrometheusError::Refused { url: url(), status, said: quoted(&error) })
            }
            _ => {
                let text = String::from_utf8_lossy(&bytes);
                let said = format!("{status}: {}", quoted(text.lines().next().unwrap_or_default()));
                Err(PrometheusError::NoPrometheus { url: url(), said })
            }
        }
    }

    fn client(&self, patience: Duration) -> Result<Client, PrometheusError> {
        let refused = |reason: String| PrometheusError::Address { url: self.url.clone(), reason };
        let uri: http::Uri =
            self.url.parse().map_err(|error: http::uri::InvalidUri| refused(error.to_string()))?;
        let mut config = Config::new(uri);
        config.default_retry = false;
        config.connect_timeout = Some(patience);
        config.auth_info.token = self.token.clone().map(Into::into);
        client::client(config).map_err(|error| refused(describe(&error)))
    }
}

/// Foreign text in a line, shortened and without what a terminal would obey.
fn quoted(text: &str) -> String {
    text.chars().filter(|char| !char.is_control()).take(QUOTED).collect()
}
