//! The HTTP server: the only user of `hyper`.
//!
//! [`run`] takes listeners and a shutdown future, so that the caller owns both ends. A
//! connection passes [`places`] (how many), [`transport`] (plain TCP or TLS), [`timeouts`], [`router`]
//! (path, method, access, how many answers) and ends in a page. Two things keep others out: [`places`], the one limit, and
//! [`credentials`], the one memory of verdicts. Behind them work takes its turn: bcrypt (`passwords`) and answers for a
//! single reader ([`router`]). `exporter/rendered.rs` counts the bytes that slow readers hold.

mod access;
mod connection;
mod credentials;
mod links;
mod names;
pub(crate) mod negotiate;
mod page;
pub(crate) mod passwords;
mod places;
pub(crate) mod plan;
mod respond;
pub(crate) mod reviewer;
mod router;
#[cfg(test)]
mod slow_readers_tests;
mod timeouts;
mod transport;
pub(crate) mod view;
pub(crate) mod web_config;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;

pub use access::Access;
pub use credentials::Digester;
pub use links::Links;
pub use page::file as report_file;
pub use reviewer::{Reviewer, is_open_to_all};
#[cfg(feature = "mcp")]
pub use router::mcp::Tools;
pub use router::{Router, is_taken};
pub use transport::Transport;
pub use web_config::{WebConfigError, WebConfigFile};

use places::Connections;
use timeouts::Phases;

/// Connections accepted in one go: few beside those that there may be.
const BURST: usize = 32;

/// Time limits of a connection, and how many there may be.
#[derive(Debug, Clone)]
pub struct Limits {
    /// For the whole head of a request, from its first byte; for the first one from the connection.
    pub head: Duration,
    /// Between requests of one connection.
    pub idle: Duration,
    /// Without any progress while an answer is written.
    pub write: Duration,
    /// For running requests to end after shutdown was asked for.
    pub drain: Duration,
    /// Connections at once, of one address half of them; beyond that one that waits for its client is closed.
    pub connections: usize,
}

impl Default for Limits {
    /// Prometheus scrapes every minute or more often, so a connection lives from scrape to scrape.
    fn default() -> Self {
        Limits {
            head: Duration::from_secs(5),
            idle: Duration::from_secs(300),
            write: Duration::from_secs(60),
            drain: Duration::from_secs(5),
            connections: 512,
        }
    }
}

/// Serves until `shutdown` completes, then finishes running requests within the drain limit.
pub async fn run(
    listeners: Vec<TcpListener>,
    transport: Transport,
    router: Router,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) {
    let graceful = Arc::new(GracefulShutdown::new());
    let mut accepting = tokio::task::JoinSet::new();
    let connections = Connections::new(&limits);
    for listener in listeners {
        let (transport, router, limits) = (transport.clone(), router.clone(), limits.clone());
        let (connections, graceful) = (connections.clone(), graceful.clone());
        accepting.spawn(async move {
            let mut burst = 0;
            loop {
                let Some((stream, peer)) = accept(&listener).await else { continue };
                let phases = Phases::new(&limits);
                let Some(admitted) = connections.admit(peer.ip(), &phases) else {
                    tracing::debug!(%peer, "connection refused, too many are being answered");
                    continue;
                };
                let (transport, router, limits) = (transport.clone(), router.clone(), limits.clone());
                let watcher = graceful.watcher();
                tokio::spawn(async move {
                    connection::serve(stream, peer, transport, router, &limits, phases, watcher).await;
                    drop(admitted);
                });
                // what they have sent already is looked at before more are let in
                burst = (burst + 1) % BURST;
                if burst == 0 {
                    tokio::task::yield_now().await;
                }
            }
        });
    }
    shutdown.await;
    accepting.shutdown().await; // closes the listeners, and with them their share in `graceful`
    let Some(graceful) = Arc::into_inner(graceful) else { return };
    if tokio::time::timeout(limits.drain, graceful.shutdown()).await.is_err() {
        tracing::warn!(limit = ?limits.drain, "some requests did not end in time and are dropped");
    }
}

/// The next connection. An error such as too many open files passes; the pause keeps it from
/// becoming a busy loop.
async fn accept(listener: &TcpListener) -> Option<(tokio::net::TcpStream, SocketAddr)> {
    match listener.accept().await {
        Ok(accepted) => Some(accepted),
        Err(error) => {
            if !is_of_the_peer(&error) {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            None
        }
    }
}

fn is_of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionReset)
}
