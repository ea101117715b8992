//! Time limits on a byte stream that carries HTTP/1.
//!
//! hyper's own limit for heads also runs while a kept connection waits for its next request, so a
//! limit short enough against slow clients would cut every Prometheus off between two scrapes.
//! Here the phases are kept apart, which also shows which connection can be closed for another.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use super::Limits;

/// Where a connection is in its round of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionPhase {
    /// Accepted then; no one has looked yet whether there is a request.
    New(Instant),
    /// Accepted then, and the client has said nothing.
    Silent(Instant),
    /// A head has been arriving since then; the first one since the connection was accepted.
    Head(Instant),
    /// The request is being answered.
    Busy,
    /// The answer has been handed over since then; the next request may come.
    Idle(Instant),
    /// The client has not taken anything of the answer since then.
    Writing(Instant),
    /// Closed in favour of another connection.
    Over,
}

/// The phase of a connection, shared by its stream, its service, [`Phases::overdue`] and the list of
/// connections.
#[derive(Debug, Clone)]
pub struct Phases {
    phase: Arc<watch::Sender<ConnectionPhase>>,
    /// How many requests were answered.
    answers: Arc<AtomicUsize>,
    head: Duration,
    idle: Duration,
}

impl Phases {
    /// Of a connection that was just accepted. A client that connects must also send something.
    pub fn new(limits: &Limits) -> Self {
        let phase = Arc::new(watch::Sender::new(ConnectionPhase::New(Instant::now())));
        Phases { phase, answers: Arc::default(), head: limits.head, idle: limits.idle }
    }

    /// A request has arrived.
    pub fn begin_answer(&self) {
        self.enter(ConnectionPhase::Busy);
    }

    /// Its answer is ready to be written.
    pub fn end_answer(&self) {
        self.answers.fetch_add(1, Ordering::Relaxed);
        self.enter(ConnectionPhase::Idle(Instant::now()));
    }

    /// What the connection waits for, and since when. `None` while it does not wait for its client: a
    /// request is being answered, or may have come and has not been looked at.
    pub fn waiting(&self) -> Option<(WaitingClient, Instant)> {
        match *self.phase.borrow() {
            ConnectionPhase::Silent(since) => Some((WaitingClient::FirstByte, since)),
            ConnectionPhase::Head(since) => Some((WaitingClient::Head, since)),
            ConnectionPhase::Idle(since) if self.answers.load(Ordering::Relaxed) > 1 => {
                Some((WaitingClient::NextRequest, since))
            }
            ConnectionPhase::Idle(since) => Some((WaitingClient::SecondRequest, since)),
            ConnectionPhase::Writing(since) => Some((WaitingClient::Reader, since)),
            ConnectionPhase::New(_) | ConnectionPhase::Busy | ConnectionPhase::Over => None,
        }
    }

    /// Ends the connection at once.
    pub fn give_way(&self) {
        self.phase.send_replace(ConnectionPhase::Over);
    }

    fn enter(&self, next: ConnectionPhase) {
        self.turn(|phase| (phase != ConnectionPhase::Over).then_some(next));
    }

    /// Bytes have come; the first after a pause begin a head.
    pub(super) fn note_read(&self) {
        self.turn(|phase| match phase {
            ConnectionPhase::New(since) | ConnectionPhase::Silent(since) => {
                Some(ConnectionPhase::Head(since))
            }
            ConnectionPhase::Idle(_) => Some(ConnectionPhase::Head(Instant::now())),
            _ => None,
        });
    }

    /// No bytes have come.
    pub(super) fn note_silence(&self) {
        self.turn(|phase| match phase {
            ConnectionPhase::New(since) => Some(ConnectionPhase::Silent(since)),
            _ => None,
        });
    }

    /// Part of an answer waits for the client, or no longer does.
    fn note_blocked(&self, blocked: bool) {
        self.turn(|phase| match (phase, blocked) {
            (ConnectionPhase::Idle(_), true) => Some(ConnectionPhase::Writing(Instant::now())),
            (ConnectionPhase::Writing(_), false) => Some(ConnectionPhase::Idle(Instant::now())),
            _ => None,
        });
    }

    fn turn(&self, next: impl FnOnce(ConnectionPhase) -> Option<ConnectionPhase>) {
        self.phase.send_if_modified(|phase| next(*phase).map(|next| *phase = next).is_some());
    }

    /// Completes when a head or the next request does not come in time, or the connection gives way.
    pub async fn overdue(&self) {
        let mut phases = self.phase.subscribe();
        loop {
            let phase = *phases.borrow_and_update();
            let in_time = async {
                match phase {
                    ConnectionPhase::New(since)
                    | ConnectionPhase::Silent(since)
                    | ConnectionPhase::Head(since) => sleep_until(since + self.head).await,
                    ConnectionPhase::Idle(since) => sleep_until(since + self.idle).await,
                    // the stream itself limits how long nothing is read
                    ConnectionPhase::Busy | ConnectionPhase::Writing(_) => std::future::pending().await,
                    ConnectionPhase::Over => {}
                }
            };
            tokio::select! {
                () = in_time => return,
                _ = phases.changed() => {} // the sender is this very value, so it cannot be gone
            }
        }
    }
}

/// What a connection expects of its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitingClient {
    /// That it says anything.
    FirstByte,
    /// The rest of a head.
    Head,
    /// A second request.
    SecondRequest,
    /// The next request of one that has come back before, as a scraper does.
    NextRequest,
    /// That it reads its answer.
    Reader,
}

impl WaitingClient {
    /// How many there are.
    pub const KINDS: usize = WaitingClient::Reader as usize + 1;
}

/// A stream that reports the bytes it reads, and fails when its client does not read what it writes.
pub struct Timed<S> {
    stream: S,
    phases: Phases,
    limit: Duration,
    write_limit: Pin<Box<Sleep>>,
    writing: bool,
}

impl<S> Timed<S> {
    /// Wraps a stream.
    pub fn new(stream: S, phases: Phases, limits: &Limits) -> Self {
        let (limit, write_limit) = (limits.write, Box::pin(sleep(limits.write)));
        Timed { stream, phases, limit, write_limit, writing: false }
    }

    /// The limit runs from the first write that must wait until the next that need not.
    fn check_write<T>(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            if std::mem::take(&mut self.writing) {
                self.phases.note_blocked(false);
            }
            return result;
        }
        if !self.writing {
            self.writing = true;
            self.write_limit.as_mut().reset(Instant::now() + self.limit);
            self.phases.note_blocked(true);
        }
        ready!(self.write_limit.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Timed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if read.is_pending() {
            self.phases.note_silence();
        }
        ready!(read)?;
        if buf.filled().len() > before {
            self.phases.note_read();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Timed<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.check_write(cx, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.check_write(cx, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_flush(cx);
        self.check_write(cx, result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.check_write(cx, result)
    }
}
