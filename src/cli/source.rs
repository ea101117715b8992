//! Options that say where the cluster is read from; shared by `serve` and `check`.

use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;
use thiserror::Error;

use crate::cluster::Cluster;
use crate::source::{Recording, RecordingError, demo};

/// Where the cluster is read from. Without any of these: the cluster this process runs in, or the
/// one the kubeconfig names.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Source")]
pub struct SourceArgs {
    /// Look at the embedded demo cluster
    #[arg(long, env = "LONGHORN_HEALTH_DEMO", conflicts_with = "from")]
    pub demo: bool,

    /// Look at a recording: a directory, a file of kubectl get -o yaml|json output, or - for standard input
    #[arg(long, value_name = "PATH", env = "LONGHORN_HEALTH_FROM")]
    pub from: Option<PathBuf>,

    /// Moment a recording is judged at (RFC 3339) [default: the newest time in it]
    #[arg(long, value_name = "TIME", requires = "from")]
    pub now: Option<Timestamp>,

    /// Namespace of Longhorn
    #[arg(long, short = 'n', default_value = "longhorn-system", env = "LONGHORN_HEALTH_NAMESPACE")]
    pub namespace: String,
}

/// A source that cannot be read.
#[derive(Debug, Error)]
pub enum SourceError {
    /// The recording cannot be used.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

impl SourceArgs {
    /// The demo or recorded cluster, or `None` when the live API is asked for. `wall` is the time
    /// of this machine.
    pub fn recorded(&self, wall: Timestamp) -> Result<Option<Cluster>, SourceError> {
        if self.demo {
            return Ok(Some(demo::cluster(wall)?));
        }
        let Some(path) = &self.from else { return Ok(None) };
        // clocks of nodes may run ahead a little; what is further ahead is no evidence
        let latest = wall.checked_add(jiff::SignedDuration::from_hours(24)).unwrap_or(Timestamp::MAX);
        let recording = Recording::read(path, &self.namespace, latest)?;
        for warning in &recording.warnings {
            eprintln!("warning: {warning}");
        }
        Ok(Some(recording.into_cluster(&self.namespace, self.now)))
    }
}
