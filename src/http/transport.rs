//! What lies between TCP and HTTP.

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// A byte stream with a peer.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// How connections are protected. TLS becomes a second variant; its handshake belongs in
/// [`Transport::open`], which runs apart for each connection and under the limit for heads.
#[derive(Debug, Clone)]
pub enum Transport {
    /// Not at all.
    Plain,
}

impl Transport {
    /// Makes a connection ready for HTTP.
    pub async fn open(&self, stream: TcpStream) -> io::Result<Box<dyn Stream>> {
        match self {
            Transport::Plain => {
                stream.set_nodelay(true)?;
                Ok(Box::new(stream))
            }
        }
    }
}
