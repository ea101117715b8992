//! Keeps the history in a file while `serve` runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::MissedTickBehavior;

use crate::checks::CATALOGUE;
use crate::exporter::state_file::{Loaded, StateFile};
use crate::source::Live;

/// A crash forgets no more than the facts that began since.
const EVERY: Duration = Duration::from_secs(60);

/// The history of a live source, in a file.
pub struct Keeper {
    file: StateFile,
    live: Arc<Live>,
    namespace: String,
    /// The last try failed, which the log says once.
    failing: bool,
}

impl Keeper {
    /// Takes over what the file holds. Nothing that may be wrong with it is a reason not to start.
    #[allow(clippy::disallowed_methods, reason = "the clock is read here and handed down")]
    pub fn begin(path: PathBuf, live: Arc<Live>, namespace: &str) -> Self {
        let (file, namespace) = (StateFile::new(path), namespace.to_owned());
        let path = file.path().display().to_string();
        match file.load() {
            Loaded::Nothing => tracing::info!(path, "no state yet; ages start now"),
            Loaded::History(saved) if saved.namespace != namespace => {
                tracing::warn!(
                    path,
                    of = saved.namespace,
                    "the state file is for another namespace; ages start now"
                );
            }
            Loaded::History(saved) => {
                let saved_at = saved.saved_at;
                let restored = live.restore(*saved, Timestamp::now(), |id| CATALOGUE.id_of(id));
                let (facts, gone_pods) = (restored.facts, restored.gone_pods);
                tracing::info!(path, %saved_at, facts, gone_pods, "state restored");
            }
            Loaded::SetAside { reason, kept } => {
                let kept = kept.map(|kept| kept.display().to_string());
                tracing::warn!(path, reason, kept, "the state file cannot be used; ages start now");
            }
        }
        Keeper { file, live, namespace, failing: false }
    }

    /// Saves from time to time, and once more when `stop` completes.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        let mut ticks = tokio::time::interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await; // at once, when nothing is known yet
        loop {
            let stopped = tokio::select! {
                _ = ticks.tick() => false,
                () = &mut stop => true,
            };
            self.save().await;
            if stopped {
                return;
            }
        }
    }

    #[allow(clippy::disallowed_methods, reason = "the clock is read here and handed down")]
    async fn save(&mut self) {
        let saved = self.live.saved(&self.namespace, Timestamp::now());
        let file = self.file.clone();
        let stored = tokio::task::spawn_blocking(move || file.store(&saved)).await;
        let error = match stored {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(error) => Some(error.to_string()),
        };
        let (path, failing) = (self.file.path().display(), error.is_some());
        match error {
            Some(error) if !self.failing => {
                tracing::warn!(%path, error, "the state file cannot be written; retrying")
            }
            None if self.failing => tracing::info!(%path, "the state file can be written again"),
            _ => {}
        }
        self.failing = failing;
    }
}
