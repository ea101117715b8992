//! The signals that end `serve` in good order, and those that must not end it.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::http::Access;

pub(super) struct Signals {
    reload: Signal,
    ignored: [Signal; 2],
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Signals {
            reload: signal(SignalKind::hangup())?,
            ignored: [signal(SignalKind::user_defined1())?, signal(SignalKind::user_defined2())?],
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Completes when the process is asked to stop. SIGHUP reads the web configuration again, as
    /// Prometheus does with its own.
    pub(super) async fn stop(&mut self, access: &Access) -> &'static str {
        let [first, second] = &mut self.ignored;
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return "SIGTERM",
                _ = self.interrupt.recv() => return "SIGINT",
                _ = self.reload.recv() => {
                    access.config().await;
                    tracing::info!("SIGHUP: changed files of the web configuration were reloaded");
                }
                _ = first.recv() => tracing::info!("SIGUSR1 is ignored"),
                _ = second.recv() => tracing::info!("SIGUSR2 is ignored"),
            }
        }
    }
}
