//! One connection from its first byte to its last.

use std::net::SocketAddr;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use tokio::net::TcpStream;

use super::router::Client;
use super::timeouts::{Phases, Timed};
use super::transport::{Stream, Transport};
use super::{Limits, Router};

/// A head of more than this is refused.
const MAX_HEAD: usize = 32 * 1024;

/// Serves a connection until either side ends it. The watcher ends it after the request at hand.
pub async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    transport: Transport,
    router: Router,
    limits: &Limits,
    phases: Phases,
    watcher: Watcher,
) {
    let opened = tokio::select! {
        opened = transport.open(stream, &phases) => opened,
        () = phases.overdue() => return tracing::debug!(%peer, "connection not opened in time"),
    };
    let stream = match opened {
        Ok(stream) => stream,
        Err(error) => return tracing::debug!(%peer, %error, "connection not opened"),
    };
    match serve_stream(stream, Client(peer.ip()), router, limits, phases, watcher).await {
        Ended::Regularly => {}
        Ended::Overdue => {
            tracing::debug!(%peer, "connection closed, no request came in time or others needed the place")
        }
        Ended::Broken(error) => tracing::debug!(%peer, %error, "connection broke"),
    }
}

/// How a connection ended.
#[derive(Debug)]
enum Ended {
    Regularly,
    Overdue,
    Broken(hyper::Error),
}

async fn serve_stream(
    stream: Box<dyn Stream>,
    client: Client,
    router: Router,
    limits: &Limits,
    phases: Phases,
    watcher: Watcher,
) -> Ended {
    let stream = Timed::new(stream, phases.clone(), limits);
    let answered = phases.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(client);
        let (router, phases) = (router.clone(), answered.clone());
        async move {
            phases.begin_answer();
            let answer = router.answer(request).await;
            phases.end_answer();
            Ok::<_, std::convert::Infallible>(answer)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(None) // see `timeouts`
        // a client that has gone must not keep its place among those who wait for a password check
        .half_close(false)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        ended = watcher.watch(connection) => ended.map_or_else(Ended::Broken, |()| Ended::Regularly),
        () = phases.overdue() => Ended::Overdue,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hyper_util::server::graceful::GracefulShutdown;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::http::router::tests::demo_router;

    /// A served connection with a small buffer, on paused time.
    fn connect() -> (DuplexStream, tokio::task::JoinHandle<Ended>) {
        let (client, server) = duplex(512);
        let served = tokio::spawn(async move {
            let graceful = GracefulShutdown::new();
            {
                let (limits, watcher) = (Limits::default(), graceful.watcher());
                let client = Client([127, 0, 0, 1].into());
                serve_stream(Box::new(server), client, demo_router(), &limits, Phases::new(&limits), watcher)
                    .await
            }
        });
        (client, served)
    }

    async fn read_some(client: &mut DuplexStream) -> String {
        let mut buffer = vec![0; 512];
        let read = client.read(&mut buffer).await.unwrap();
        String::from_utf8_lossy(&buffer[..read]).into_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_head_is_cut_off_after_the_head_limit_although_bytes_keep_coming() {
        let (mut client, served) = connect();
        let start = Instant::now();
        let drip = tokio::spawn(async move {
            for byte in b"GET /livez HTTP/1.1\r\nX-Slow: aaaaaaaaaaaaaaaaaaaaaaa".iter() {
                if client.write_all(&[*byte]).await.is_err() {
                    break;
                }
                sleep(Duration::from_millis(500)).await;
            }
        });
        assert!(matches!(served.await.unwrap(), Ended::Overdue));
        assert_eq!(start.elapsed().as_secs(), 5);
        drip.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_says_nothing_is_cut_off_too() {
        let (client, served) = connect();
        let start = Instant::now();
        assert!(matches!(served.await.unwrap(), Ended::Overdue));
        assert_eq!(start.elapsed().as_secs(), 5);
        drop(client);
    }

    #[tokio::test(start_paused = true)]
    async fn a_kept_connection_may_wait_for_the_next_scrape_but_not_for_ever() {
        let (mut client, served) = connect();
        for _ in 0..2 {
            client.write_all(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
            assert!(read_some(&mut client).await.starts_with("HTTP/1.1 200 OK\r\n"));
            sleep(Duration::from_secs(120)).await;
        }
        let start = Instant::now();
        assert!(matches!(served.await.unwrap(), Ended::Overdue));
        assert_eq!(start.elapsed().as_secs(), 180);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_cut_off() {
        let (mut client, served) = connect();
        client.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        let start = Instant::now();
        assert!(matches!(served.await.unwrap(), Ended::Broken(_)));
        assert_eq!(start.elapsed().as_secs(), 60);
        drop(client);
    }
}
