//! Time limits on a byte stream that carries HTTP/1.
//!
//! hyper's own limit for heads also runs while a kept connection waits for its next request, so a
//! limit short enough against slow clients would cut every Prometheus off between two scrapes.
//! Here the phases are told apart.

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

/// Where a connection is in its round of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The rest of a head is due by this time.
    Head(Instant),
    /// The request is being answered.
    Busy,
    /// The next request is due by this time.
    Idle(Instant),
}

/// The phase of a connection, shared by its stream, its service and [`Phases::overdue`].
#[derive(Debug, Clone)]
pub struct Phases {
    phase: Arc<watch::Sender<Phase>>,
    head: Duration,
    idle: Duration,
}

impl Phases {
    /// Begins with a head, so that whoever connects must also say something.
    pub fn new(limits: &Limits) -> Self {
        let phase = Arc::new(watch::Sender::new(Phase::Head(Instant::now() + limits.head)));
        Phases { phase, head: limits.head, idle: limits.idle }
    }

    /// A request has arrived.
    pub fn begin_answer(&self) {
        self.phase.send_replace(Phase::Busy);
    }

    /// Its answer is ready to be written.
    pub fn end_answer(&self) {
        self.phase.send_replace(Phase::Idle(Instant::now() + self.idle));
    }

    /// Bytes have come; the first after a pause begin a head.
    fn note_read(&self) {
        self.phase.send_if_modified(|phase| {
            let begins = matches!(phase, Phase::Idle(_));
            if begins {
                *phase = Phase::Head(Instant::now() + self.head);
            }
            begins
        });
    }

    /// Completes when a head or the next request does not come in time.
    pub async fn overdue(&self) {
        let mut phases = self.phase.subscribe();
        loop {
            let phase = *phases.borrow_and_update();
            let in_time = async {
                match phase {
                    Phase::Head(due) | Phase::Idle(due) => sleep_until(due).await,
                    Phase::Busy => std::future::pending().await,
                }
            };
            tokio::select! {
                () = in_time => return,
                _ = phases.changed() => {} // the sender is this very value, so it cannot be gone
            }
        }
    }
}

/// A stream that tells of the bytes it reads, and ends with an error when nobody takes what it
/// writes.
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
            self.writing = false;
            return result;
        }
        if !self.writing {
            self.writing = true;
            self.write_limit.as_mut().reset(Instant::now() + self.limit);
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
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
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
