//! What lies between TCP and HTTP.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::timeouts::Phases;
use super::web_config::WebConfigFile;

/// A byte stream with a peer.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// How connections are protected.
#[derive(Clone)]
pub enum Transport {
    /// Not at all.
    Plain,
    /// By TLS, with what the web configuration holds when the connection begins.
    Tls(Arc<WebConfigFile>),
}

impl Transport {
    /// Makes a connection ready for HTTP. Runs apart for each connection and under the limit for
    /// heads.
    pub async fn open(&self, mut stream: TcpStream, phases: &Phases) -> io::Result<Box<dyn Stream>> {
        stream.set_nodelay(true)?;
        let Transport::Tls(file) = self else { return Ok(Box::new(stream)) };
        if is_plain_http(&stream, phases).await? {
            const ANSWER: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\
                Connection: close\r\nContent-Length: 42\r\n\r\nthis port serves HTTPS; use https:// here\n";
            stream.write_all(ANSWER).await?;
            stream.shutdown().await?;
            return Err(io::Error::new(io::ErrorKind::InvalidData, "plain HTTP instead of TLS"));
        }
        match &file.current().await.tls {
            Some(tls) => Ok(Box::new(TlsAcceptor::from(tls.clone()).accept(stream).await?)),
            None => Err(io::Error::other("no TLS configuration is in force")),
        }
    }
}

/// TLS begins with a byte that no letter has.
async fn is_plain_http(stream: &TcpStream, phases: &Phases) -> io::Result<bool> {
    let mut first = [0];
    let mut first = ReadBuf::new(&mut first);
    poll_fn(|cx| {
        let peeked = stream.poll_peek(cx, &mut first);
        if peeked.is_pending() {
            phases.note_silence();
        }
        peeked
    })
    .await?;
    phases.note_read();
    Ok(first.filled().first().is_some_and(u8::is_ascii_alphabetic))
}
