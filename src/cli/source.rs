//! Options that say where the cluster is read from; shared by `serve` and `check`.

use std::collections::BTreeSet;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

use super::Failure;
use crate::check::plain;
use crate::checks::CATALOGUE;
use crate::cluster::Cluster;
use crate::exporter::{SignatureFile, SignatureFiles};
use crate::longhorn::Resource;
use crate::report::{Acceptance, Address, ReportOptions};
use crate::source::connect::{self, ConnectError, Connection, obstacle};
use crate::source::{CrashLogs, Live, LiveOptions, Recording, RecordingError, demo};

/// Where Longhorn is as a rule.
pub(super) const NAMESPACE: &str = "longhorn-system";
/// Lines of what a recording lacks that are printed.
const WARNINGS: usize = 100;

/// Where the cluster is read from. Without any of these: the cluster this process runs in, or the
/// one the kubeconfig names.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Source")]
pub struct SourceArgs {
    /// Use the embedded demo cluster
    #[arg(long, value_parser = BoolishValueParser::new(), env = "LONGHORN_HEALTH_DEMO", conflicts_with = "from")]
    pub demo: bool,

    /// Use a recording: directory, archive, kubectl get -o yaml|json output, or - for standard input
    #[arg(long, value_name = "PATH", env = "LONGHORN_HEALTH_FROM")]
    pub from: Option<PathBuf>,

    /// Evaluate the recording as of this time (RFC 3339) [default: the newest time in it]
    #[arg(long, value_name = "TIME", requires = "from", value_parser = moment, env = "LONGHORN_HEALTH_NOW")]
    pub now: Option<Timestamp>,

    /// Longhorn's namespace
    #[arg(long, short = 'n', default_value = NAMESPACE, env = "LONGHORN_HEALTH_NAMESPACE")]
    pub namespace: String,

    /// Kubeconfig of the cluster [default: $KUBECONFIG, the pod's service account, ~/.kube/config]
    #[arg(long, value_name = "FILE", env = "LONGHORN_HEALTH_KUBECONFIG", conflicts_with_all = ["demo", "from"])]
    pub kubeconfig: Option<PathBuf>,

    /// Kubeconfig context to use [default: the current context]
    #[arg(long, value_name = "NAME", env = "LONGHORN_HEALTH_CONTEXT", conflicts_with_all = ["demo", "from"])]
    pub context: Vec<String>,

    /// Name of the cluster in report, page and table [default: the context]
    #[arg(long, value_name = "NAME", env = "LONGHORN_HEALTH_CLUSTER_NAME")]
    pub cluster_name: Option<String>,

    /// URL of the Longhorn UI, for links to volumes and nodes (page and JSON)
    #[arg(long, value_name = "URL", value_parser = base_url, env = "LONGHORN_HEALTH_LONGHORN_UI_URL")]
    pub longhorn_ui_url: Option<String>,

    /// File of accepted findings with reason and expiry date, counted separately; read only at startup
    #[arg(long, value_name = "FILE", env = "LONGHORN_HEALTH_ACCEPTED")]
    pub accepted: Option<PathBuf>,

    /// Read the last log lines of crashed or hanging managers (needs permission to get pods/log)
    #[arg(long, value_enum, default_value_t = CrashLogsArg::Auto, env = "LONGHORN_HEALTH_CRASH_LOGS")]
    pub crash_logs: CrashLogsArg,

    /// Time without an API answer after which a kind counts as unknown, at least 90s
    #[arg(long, value_name = "DURATION", default_value = "3m", value_parser = stale_after, env = "LONGHORN_HEALTH_STALE_AFTER")]
    pub stale_after: SignedDuration,
}

/// Failures that users know.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Source")]
pub struct SignatureArgs {
    /// File with your own failure signatures; can be given several times (serve reloads changed files)
    #[arg(long = "signatures", value_name = "FILE", value_delimiter = ',', value_parser = signature_file, env = "LONGHORN_HEALTH_SIGNATURES")]
    files: Vec<SignatureFile>,
}

impl SignatureArgs {
    /// The files, to be looked at again.
    pub fn files(&self) -> SignatureFiles {
        SignatureFiles::new(CATALOGUE.kinds(), self.files.clone())
    }
}
/// The base of links, to which a name is appended.
pub(super) fn base_url(text: &str) -> Result<String, String> {
    let plain = text.starts_with("https://") || text.starts_with("http://");
    match plain && !text.contains(['?', '#', '"']) && !text.contains(char::is_whitespace) {
        true => Ok(text.to_owned()),
        false => {
            Err("not a base URL; use one such as https://grafana.example.org, without query or fragment"
                .to_owned())
        }
    }
}

fn signature_file(path: &str) -> Result<SignatureFile, String> {
    SignatureFile::open(&CATALOGUE.kinds(), Path::new(path)).map_err(|errors| errors.join("; "))
}

/// Whether logs of crashed managers are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CrashLogsArg {
    /// Read logs if permitted; otherwise infer the cause from exit codes and run times
    Auto,
    /// Never read logs
    Off,
}

pub fn moment(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| "not a time; use the form 2026-03-01T04:30:00Z".to_owned())
}

/// A duration such as `90s`, `15m` or `1h30m`.
pub fn positive_duration(text: &str) -> Result<SignedDuration, String> {
    match text.parse::<SignedDuration>() {
        Ok(duration) if duration > SignedDuration::ZERO => Ok(duration),
        Ok(_) => Err("must be longer than 0s".to_owned()),
        Err(_) => Err("not a duration; use the form 90s, 15m or 1h30m".to_owned()),
    }
}

/// A watch of a quiet kind is renewed every 45 seconds, which is all that is heard of it; one may come late.
const LEAST_STALE: SignedDuration = SignedDuration::from_secs(90);

fn stale_after(text: &str) -> Result<SignedDuration, String> {
    match positive_duration(text)? {
        duration if duration < LEAST_STALE => {
            Err("must be at least 90s: a quiet kind is updated every 45 to 60 seconds".to_owned())
        }
        duration => Ok(duration),
    }
}

/// A source that cannot be read.
#[derive(Debug, Error)]
pub enum SourceError {
    /// The demo cluster has a namespace of its own.
    #[error("the demo cluster has no namespace {0}, only {NAMESPACE}; omit --namespace")]
    DemoNamespace(String),
    /// The recording cannot be used.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The Kubernetes API cannot be used.
    #[error(transparent)]
    Connect(#[from] ConnectError),
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        match &error {
            SourceError::Connect(connect) if !connect.is_usage() => Failure::unknown(error),
            _ => Failure::usage(error),
        }
    }
}

/// What is asked of a live cluster.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The kinds to list.
    pub kinds: BTreeSet<Resource>,
    /// Whether the API server is asked for its release.
    pub api_server: bool,
}

impl Wanted {
    /// What checks read, and what they look at where it may be read.
    pub fn by_checks() -> Self {
        let glances = CATALOGUE.checks.iter().flat_map(|check| check.glances).copied();
        Wanted { kinds: CATALOGUE.kinds().into_iter().chain(glances).collect(), api_server: false }
    }
}

/// The cluster of a recording, judged at `now` or at its own moment. What it lacks is printed to standard error.
pub fn recording(
    path: &Path,
    namespace: &str,
    wall: Timestamp,
    now: Option<Timestamp>,
) -> Result<Cluster, SourceError> {
    // clocks of nodes may run ahead a little; what is further ahead is no evidence
    let latest = wall.checked_add(jiff::SignedDuration::from_hours(24)).unwrap_or(Timestamp::MAX);
    let recording = Recording::read(path, namespace, latest)?;
    for warning in recording.warnings.iter().take(WARNINGS) {
        eprintln!("warning: {}", plain(warning));
    }
    if let Some(more @ 1..) = recording.warnings.len().checked_sub(WARNINGS) {
        eprintln!("warning: and {more} more");
    }
    Ok(recording.into_cluster(namespace, now))
}

impl SourceArgs {
    /// The demo or recorded cluster, or `None` when the live API is asked for. `wall` is the time
    /// of this machine.
    pub fn recorded(&self, wall: Timestamp) -> Result<Option<Cluster>, SourceError> {
        if self.demo {
            self.check_demo()?;
            return Ok(Some(demo::cluster(wall)?));
        }
        let Some(path) = &self.from else { return Ok(None) };
        recording(path, &self.namespace, wall, self.now).map(Some)
    }

    /// How the report is wanted. Acceptances that have expired are reported on standard error.
    pub fn options(&self, now: Timestamp) -> Result<ReportOptions, Failure> {
        let accepted = match &self.accepted {
            Some(path) => acceptances(path).map_err(Failure::usage)?,
            None => Vec::new(),
        };
        for one in accepted.iter().filter(|one| one.has_expired(Some(now))) {
            let until = one.until.map(|until| until.to_string()).unwrap_or_default();
            eprintln!("warning: acceptance expired on {until}: {} ({})", one.check, plain(&one.reason));
        }
        Ok(ReportOptions { address: self.address(), accepted, ..ReportOptions::default() })
    }

    fn address(&self) -> Address {
        let longhorn_ui = self.longhorn_ui_url.clone();
        if self.demo || self.from.is_some() {
            let name = self.demo.then(|| "demo".to_owned());
            return Address { name: self.cluster_name.clone().or(name), longhorn_ui, ..Address::default() };
        }
        let kubeconfig = self.kubeconfig.as_deref();
        Address {
            name: self.cluster_name.clone(),
            context: connect::context(kubeconfig, self.context()),
            kubeconfig: kubeconfig.map(|path| path.display().to_string()),
            longhorn_ui,
        }
    }

    /// The context that is asked for, if one is.
    pub fn context(&self) -> Option<&str> {
        self.context.first().map(String::as_str)
    }

    /// What is asked of the demo cluster must be in it.
    pub fn check_demo(&self) -> Result<(), SourceError> {
        match self.demo && self.namespace != NAMESPACE {
            true => Err(SourceError::DemoNamespace(self.namespace.clone())),
            false => Ok(()),
        }
    }

    /// A way to the live API, not tried yet. A program that gives credentials must answer within `patience`.
    pub async fn connect(&self, patience: Duration) -> Result<Connection, SourceError> {
        Ok(Connection::open(self.kubeconfig.as_deref(), self.context(), patience).await?)
    }

    /// The same, but its calls wait for credentials.
    pub async fn begin(&self, patience: Duration) -> Result<Connection, SourceError> {
        Ok(Connection::begin(self.kubeconfig.as_deref(), self.context(), patience).await?)
    }

    /// How the live source behaves.
    #[allow(clippy::disallowed_methods, reason = "the clock is handed down from here")]
    pub fn live_options(&self) -> LiveOptions {
        LiveOptions {
            crash_logs: match self.crash_logs {
                CrashLogsArg::Auto => CrashLogs::Auto,
                CrashLogsArg::Off => CrashLogs::Off,
            },
            stale_after: self.stale_after,
            ..LiveOptions::new(self.namespace.clone(), Timestamp::now, CATALOGUE.followed())
        }
    }

    /// Looks at the live cluster once: lists these kinds, or as much as answers in time. Kinds that
    /// did not answer are reported in the cluster; an error is what leaves nothing to judge.
    pub async fn look(&self, wanted: &Wanted, patience: Duration) -> Result<Cluster, SourceError> {
        let connection = self.connect(patience).await?;
        connection.probe(patience).await?;
        let options = LiveOptions { kinds: wanted.kinds.clone(), ..self.live_options() };
        let mut cluster = Live::look(connection.client(), options, patience).await;
        if wanted.api_server {
            cluster.api_server = connection.api_server(patience).await;
        }
        match obstacle(&cluster) {
            Some(error) => Err(error.into()),
            None => Ok(cluster),
        }
    }
}

fn acceptances(path: &Path) -> anyhow::Result<Vec<Acceptance>> {
    let name = path.display();
    // one without a writer would keep its reader waiting forever; that of a shell (<(…)) has one
    let is_pipe = path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo());
    if is_pipe && !path.starts_with("/dev/fd") && !path.starts_with("/proc") {
        bail!("cannot read {name}: it is a named pipe; use a file");
    }
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    Acceptance::parse(&CATALOGUE, &name.to_string(), &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    use crate::exporter::ALERTS;
    use crate::generate::promtool::seconds;

    /// What every user and the alerts promise: `--stale-after`, a scrape, an evaluation and the hold.
    #[test]
    fn blindness_is_told_within_ten_minutes_of_the_first_lost_answer() {
        let command = crate::cli::command();
        let serve = command.find_subcommand("serve").unwrap();
        let option = serve.get_arguments().find(|option| option.get_long() == Some("stale-after")).unwrap();
        let default = option.get_default_values()[0].to_str().unwrap();
        let usual =
            LiveOptions::new("longhorn-system", || Timestamp::UNIX_EPOCH, BTreeSet::new()).stale_after;
        let stale = seconds(default).unwrap();
        assert_eq!(i64::try_from(stale).unwrap(), usual.as_secs());
        for name in ["LonghornHealthResourceStale", "LonghornHealthCheckUnknown"] {
            let alert = ALERTS.iter().find(|alert| alert.name == name).unwrap();
            let (scrape, evaluation) = (60, 60);
            let told = stale + scrape + evaluation + seconds(alert.for_).unwrap();
            assert!(told <= 600, "{name} after {told} s");
        }
    }

    #[test]
    fn a_quiet_kind_is_not_stale_before_its_watch_is_renewed() {
        assert_eq!(stale_after("90s"), Ok(SignedDuration::from_secs(90)));
        for wrong in ["30s", "89s", "soon", "0s"] {
            assert!(stale_after(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(positive_duration("90s"), Ok(SignedDuration::from_secs(90)));
        assert_eq!(positive_duration("1h30m"), Ok(SignedDuration::from_mins(90)));
        for wrong in ["", "0s", "-1m", "90", "soon", "1x"] {
            assert!(positive_duration(wrong).is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn any_duration_is_positive_or_refused(text in ".{0,20}") {
            prop_assert!(positive_duration(&text).map_or(true, |duration| duration > SignedDuration::ZERO));
        }

        #[test]
        fn whole_units_are_read(seconds in 1..100_000_i64) {
            prop_assert_eq!(positive_duration(&format!("{seconds}s")), Ok(SignedDuration::from_secs(seconds)));
            prop_assert_eq!(positive_duration(&format!("{seconds}m")), Ok(SignedDuration::from_mins(seconds)));
        }
    }
}
