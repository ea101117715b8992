//! The file over time. Certificates are renewed and users change without a restart.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;

use super::{WebConfig, WebConfigError};
use crate::exporter::{Stamp, WebConfigReload};
use crate::sync;

/// The configuration in force, read again when one of its files changed. A file that became
/// unusable leaves the configuration before it in force, and is reported in the log once.
pub struct WebConfigFile {
    path: PathBuf,
    requires_tls: bool,
    passwords_allowed: bool,
    clock: fn() -> Timestamp,
    state: Mutex<ReloadState>,
    /// Held while the files are looked at. They may lie on a mount that hangs.
    looking: Arc<tokio::sync::Mutex<()>>,
}

/// How long a request waits for a look at the files.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

struct ReloadState {
    config: Arc<WebConfig>,
    reload: WebConfigReload,
    /// How the files looked when they were read last, whether that went well or not.
    seen: SeenFiles,
}

/// Files and how they looked just before they were read.
pub type SeenFiles = Vec<(PathBuf, Option<Stamp>)>;

impl WebConfigFile {
    /// Reads the file for the first time. With `passwords_allowed` false (another kind of
    /// authentication is on) the file may name no users.
    pub fn open(
        path: &Path,
        passwords_allowed: bool,
        clock: fn() -> Timestamp,
    ) -> Result<Self, WebConfigError> {
        let (config, seen) = WebConfig::read(path);
        let config = config?;
        let requires_tls = config.tls.is_some();
        let reload = WebConfigReload { successful: true, last_success: clock() };
        let state = Mutex::new(ReloadState { config: Arc::new(config), reload, seen });
        let (path, looking) = (path.to_owned(), Arc::default());
        let file = WebConfigFile { path, requires_tls, passwords_allowed, clock, state, looking };
        file.check(&file.lock().config)?;
        Ok(file)
    }

    /// Whether TLS is served. Decided once: a listener does not change its scheme.
    pub fn serves_tls(&self) -> bool {
        self.requires_tls
    }

    /// How the file was read last.
    pub fn reload(&self) -> WebConfigReload {
        self.lock().reload
    }

    /// The configuration in force. While a look at the files takes long it is the one before.
    pub async fn current(self: &Arc<Self>) -> Arc<WebConfig> {
        if let Ok(looking) = self.looking.clone().try_lock_owned() {
            let file = self.clone();
            let look = tokio::task::spawn_blocking(move || {
                let _looking = looking;
                file.refresh();
            });
            match tokio::time::timeout(ANSWER_TIMEOUT, look).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::error!(%error, "the web configuration could not be read"),
                Err(_) => tracing::error!(
                    file = %self.path.display(),
                    "the web configuration's files cannot be read; keeping the previous version"
                ),
            }
        }
        self.lock().config.clone()
    }

    fn refresh(&self) {
        let seen = self.lock().seen.clone();
        if seen.iter().all(|(path, stamp)| Stamp::of(path) == *stamp) {
            return;
        }
        let (config, seen) = WebConfig::read(&self.path);
        let config = config.and_then(|config| self.check(&config).map(|()| config));
        let mut state = self.lock();
        let config = config.and_then(|config| self.keeps_users(&state.config, config));
        state.seen = seen;
        match config {
            Ok(config) => {
                tracing::info!(file = %self.path.display(), "web configuration reloaded");
                state.config = Arc::new(config);
                state.reload = WebConfigReload { successful: true, last_success: (self.clock)() };
            }
            Err(error) => {
                tracing::error!(%error, "the changed web configuration cannot be used; keeping the previous version");
                state.reload.successful = false;
            }
        }
    }

    fn check(&self, config: &WebConfig) -> Result<(), WebConfigError> {
        let wrong = |message| Err(WebConfigError::at(&self.path.display().to_string(), None, message));
        if config.tls.is_some() != self.requires_tls {
            return wrong("TLS cannot be turned on or off without a restart");
        }
        if !self.passwords_allowed && !config.users.is_empty() {
            return wrong("basic_auth_users and --web.auth=kubernetes exclude each other");
        }
        Ok(())
    }

    /// A file that is being written may be empty for a moment, or end before the users: that must open nothing.
    fn keeps_users(&self, before: &WebConfig, config: WebConfig) -> Result<WebConfig, WebConfigError> {
        if before.users.is_empty() || !config.users.is_empty() {
            return Ok(config);
        }
        let message = "removing all basic_auth_users needs a restart";
        Err(WebConfigError::at(&self.path.display().to_string(), None, message))
    }

    /// What the lock guards is replaced as a whole, so it is sound even after a panic elsewhere.
    fn lock(&self) -> std::sync::MutexGuard<'_, ReloadState> {
        sync::lock(&self.state)
    }
}
