//! Time limits on a byte stream that carries HTTP/1.
//!
//! hyper's own limit for heads also runs while a kept connection waits for its next request, so a
//! limit short enough against slow clients would cut every Prometheus off between two scrapes.
//! Here the phases are kept apart, which also shows which connection can be closed for another.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use super::Limits;

/// Where a connection is in its round of requests. Of those that wait for their client the earlier ones give way first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Accepted; no one has looked yet whether there is a request.
    New,
    /// The client has said nothing.
    Silent,
    /// A head is arriving.
    Head,
    /// A request is being answered.
    Busy,
    /// The first answer has been handed over; the next request may come.
    Asked,
    /// The same after further ones, as with a scraper.
    Kept,
    /// The client takes nothing of the answer.
    Writing,
    /// Closed in favour of another connection.
    Over,
}

#[derive(Debug, Clone, Copy)]
struct Round {
    phase: Phase,
    /// Since when; of a first head since the connection was accepted.
    since: Instant,
    /// How many requests were answered.
    answers: usize,
}

impl Round {
    fn turn(&mut self, phase: Phase) -> bool {
        (self.phase, self.since) = (phase, Instant::now());
        true
    }

    fn between_requests(&self) -> Phase {
        if self.answers > 1 { Phase::Kept } else { Phase::Asked }
    }
}

/// The phase of a connection, shared by its stream, its service, [`Phases::overdue`] and the list of
/// connections.
#[derive(Debug, Clone)]
pub struct Phases {
    round: Arc<watch::Sender<Round>>,
    head: Duration,
    idle: Duration,
}

impl Phases {
    /// Of a connection that was just accepted. A client that connects must also send something.
    pub fn new(limits: &Limits) -> Self {
        let round = Round { phase: Phase::New, since: Instant::now(), answers: 0 };
        Phases { round: Arc::new(watch::Sender::new(round)), head: limits.head, idle: limits.idle }
    }

    /// A request has arrived.
    pub fn begin_answer(&self) {
        self.round.send_if_modified(|round| round.phase != Phase::Over && round.turn(Phase::Busy));
    }

    /// Its answer is ready to be written.
    pub fn end_answer(&self) {
        self.round.send_if_modified(|round| {
            round.answers += 1;
            round.phase != Phase::Over && round.turn(round.between_requests())
        });
    }

    /// What the connection waits for, and since when. `None` while it does not wait for its client: a
    /// request is being answered, or may have come and has not been looked at.
    pub fn waiting(&self) -> Option<(Phase, Instant)> {
        let Round { phase, since, .. } = *self.round.borrow();
        (!matches!(phase, Phase::New | Phase::Busy | Phase::Over)).then_some((phase, since))
    }

    /// Ends the connection at once.
    pub fn give_way(&self) {
        self.round.send_modify(|round| round.phase = Phase::Over);
    }

    /// Bytes have come; the first after a pause begin a head.
    pub(super) fn note_read(&self) {
        self.round.send_if_modified(|round| match round.phase {
            Phase::New | Phase::Silent => {
                round.phase = Phase::Head;
                true
            }
            Phase::Asked | Phase::Kept => round.turn(Phase::Head),
            _ => false,
        });
    }

    /// No bytes have come.
    pub(super) fn note_silence(&self) {
        self.round.send_if_modified(|round| {
            let is_new = round.phase == Phase::New;
            if is_new {
                round.phase = Phase::Silent;
            }
            is_new
        });
    }

    /// Part of an answer waits for the client, or no longer does.
    fn note_blocked(&self, blocked: bool) {
        self.round.send_if_modified(|round| match (round.phase, blocked) {
            (Phase::Asked | Phase::Kept, true) => round.turn(Phase::Writing),
            (Phase::Writing, false) => round.turn(round.between_requests()),
            _ => false,
        });
    }

    /// Completes when a head or the next request does not come in time, or the connection gives way.
    pub async fn overdue(&self) {
        let mut rounds = self.round.subscribe();
        loop {
            let Round { phase, since, .. } = *rounds.borrow_and_update();
            let in_time = async {
                match phase {
                    Phase::New | Phase::Silent | Phase::Head => sleep_until(since + self.head).await,
                    Phase::Asked | Phase::Kept => sleep_until(since + self.idle).await,
                    // the stream itself limits how long nothing is read
                    Phase::Busy | Phase::Writing => std::future::pending().await,
                    Phase::Over => {}
                }
            };
            tokio::select! {
                () = in_time => return,
                _ = rounds.changed() => {} // the sender is this very value, so it cannot be gone
            }
        }
    }
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
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read its answer")))
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
