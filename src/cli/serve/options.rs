//! The options of `serve`, and what they take.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};

use crate::cli::SourceArgs;
use crate::cli::listen::ListenAddress;
use crate::cli::logging::{LogFormat, LogLevel};
use crate::cli::source::{SignatureArgs, base_url};
use crate::http::{self, Links};

/// Options of `serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "With --demo, objects keep their initial times while the clock advances, so their ages grow. With --from, the verdict is for the time of the recording and never changes."
)]
pub struct ServeArgs {
    #[command(flatten)]
    pub(super) source: SourceArgs,

    #[command(flatten)]
    pub(super) signatures: SignatureArgs,

    /// File that keeps each fact's start time across restarts (in a writable directory)
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Source",
        conflicts_with_all = ["demo", "from"],
        env = "LONGHORN_HEALTH_STATE_FILE"
    )]
    pub(super) state_file: Option<PathBuf>,

    #[command(flatten)]
    pub(super) web: WebArgs,

    #[command(flatten)]
    pub(super) log: LogArgs,
}

/// Options of the HTTP server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Web")]
pub(super) struct WebArgs {
    /// Address to listen on; can be given several times
    #[arg(
        long = "web.listen-address",
        value_name = "[HOST]:PORT",
        default_value = ":10945",
        value_delimiter = ',',
        env = "LONGHORN_HEALTH_WEB_LISTEN_ADDRESS"
    )]
    pub(super) listen_address: Vec<ListenAddress>,

    /// URL path of the metrics
    #[arg(
        long = "web.telemetry-path",
        value_name = "PATH",
        default_value = "/metrics",
        value_parser = telemetry_path,
        env = "LONGHORN_HEALTH_WEB_TELEMETRY_PATH"
    )]
    pub(super) telemetry_path: String,

    /// Maximum parallel requests (0: no limit); half are reserved for scrapes, excess requests get 503
    #[arg(
        long = "web.max-requests",
        value_name = "NUMBER",
        default_value_t = 40,
        env = "LONGHORN_HEALTH_WEB_MAX_REQUESTS"
    )]
    pub(super) max_requests: usize,

    /// Web configuration file in Prometheus exporter-toolkit format (TLS, users, headers, rate limit); reloaded when changed
    #[arg(long = "web.config.file", value_name = "FILE", env = "LONGHORN_HEALTH_WEB_CONFIG_FILE")]
    pub(super) config_file: Option<PathBuf>,

    /// Who can read metrics, page and report; anyone can read health endpoints
    #[arg(long = "web.auth", value_enum, default_value_t = WebAuth::None, value_name = "WAY", env = "LONGHORN_HEALTH_WEB_AUTH")]
    pub(super) auth: WebAuth,

    /// Base URL of the page's runbook links [default: serve's own runbooks]
    #[arg(long = "web.runbook-url", value_name = "URL", value_parser = base_url, env = "LONGHORN_HEALTH_WEB_RUNBOOK_URL")]
    pub(super) runbook_url: Option<String>,

    /// Grafana URL, for the page's dashboard links
    #[arg(long = "web.grafana-url", value_name = "URL", value_parser = base_url, env = "LONGHORN_HEALTH_WEB_GRAFANA_URL")]
    pub(super) grafana_url: Option<String>,

    /// Serve MCP at /mcp to clients that can read the report
    #[cfg(feature = "mcp")]
    #[arg(
        long = "web.enable-mcp",
        value_parser = BoolishValueParser::new(),
        env = "LONGHORN_HEALTH_WEB_ENABLE_MCP"
    )]
    pub(super) enable_mcp: bool,

    /// Omit metrics about the exporter's own process
    #[arg(
        long = "web.disable-exporter-metrics",
        value_parser = BoolishValueParser::new(),
        env = "LONGHORN_HEALTH_WEB_DISABLE_EXPORTER_METRICS"
    )]
    pub(super) disable_exporter_metrics: bool,
}

impl WebArgs {
    pub(super) fn links(&self) -> Links {
        Links {
            runbooks: self.runbook_url.clone(),
            grafana: self.grafana_url.clone(),
            ..Links::own(&self.telemetry_path)
        }
    }
}

/// Who decides who may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum WebAuth {
    /// Anyone, or only the users in the web configuration file
    None,
    /// Bearer tokens whose owner may get the URL path in the Kubernetes API; needs TLS
    Kubernetes,
}

/// Options of the log.
#[derive(Debug, Args)]
#[command(next_help_heading = "Log")]
pub(super) struct LogArgs {
    /// Minimum log level
    #[arg(long = "log.level", value_enum, default_value_t = LogLevel::Info, value_name = "LEVEL", env = "LONGHORN_HEALTH_LOG_LEVEL")]
    pub(super) level: LogLevel,

    /// Format of log lines
    #[arg(long = "log.format", value_enum, default_value_t = LogFormat::Logfmt, value_name = "FORMAT", env = "LONGHORN_HEALTH_LOG_FORMAT")]
    pub(super) format: LogFormat,
}

/// Health endpoints and the page have fixed paths, which metrics may not take.
fn telemetry_path(text: &str) -> Result<String, String> {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "/-_.~".contains(c));
    if !text.starts_with('/') || !plain {
        Err("not a plain path; use a path that begins with /, such as /metrics".to_owned())
    } else if http::is_taken(text) {
        Err(format!("{text} is already used by another page; use another path"))
    } else {
        Ok(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_take_no_path_of_another_page() {
        for path in [
            "/", "/livez", "/-/ready", "/mcp", "/timeline", "/plan/drain", "/explain/x", "/namespace/a",
            "/runbooks", "/runbooks/x",
        ] {
            assert!(telemetry_path(path).unwrap_err().contains("already used"), "{path}");
        }
        for path in ["/metrics", "/federate", "/plan", "/timelines"] {
            assert_eq!(telemetry_path(path).as_deref(), Ok(path));
        }
        assert!(telemetry_path("metrics").unwrap_err().contains("begins with /"));
    }
}
