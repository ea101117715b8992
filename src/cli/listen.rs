//! Listen addresses as Prometheus exporters take them.

use std::net::{Ipv6Addr, SocketAddr};
use std::str::FromStr;

use anyhow::{Context, anyhow};
use tokio::net::{TcpListener, TcpSocket};

/// `:10945`, `127.0.0.1:10945`, `[::1]:10945` or `name:10945`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenAddress(String);

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let well_formed = text.rsplit_once(':').is_some_and(|(host, port)| {
            let bracketed = host.starts_with('[') && host.ends_with(']');
            port.parse::<u16>().is_ok() && (bracketed || !host.contains(':'))
        });
        if well_formed {
            Ok(ListenAddress(text.to_owned()))
        } else {
            Err("not an address; use [HOST]:PORT, such as :10945 or [::1]:10945".to_owned())
        }
    }
}

impl std::fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl ListenAddress {
    /// Binds the address. Without a host that is every address of both families.
    pub async fn bind(&self) -> anyhow::Result<TcpListener> {
        let Some(port) = self.0.strip_prefix(':') else { return self.bind_named().await };
        let port = port.parse().context("not a port")?;
        match listen((Ipv6Addr::UNSPECIFIED, port).into()) {
            // a system without IPv6
            Err(error)
                if error.kind() == std::io::ErrorKind::Unsupported
                    || error.raw_os_error() == Some(EAFNOSUPPORT) =>
            {
                listen(([0, 0, 0, 0], port).into()).map_err(|error| self.explain(error))
            }
            result => result.map_err(|error| self.explain(error)),
        }
    }

    async fn bind_named(&self) -> anyhow::Result<TcpListener> {
        let addresses = tokio::net::lookup_host(&self.0).await.map_err(|error| self.explain(error))?;
        let mut last = std::io::Error::from(std::io::ErrorKind::AddrNotAvailable);
        for address in addresses {
            match listen(address) {
                Ok(listener) => return Ok(listener),
                Err(error) => last = error,
            }
        }
        Err(self.explain(last))
    }

    fn explain(&self, error: std::io::Error) -> anyhow::Error {
        let hint = match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                "the port is in use; stop the process that uses it, or set another port with --web.listen-address"
            }
            std::io::ErrorKind::PermissionDenied => {
                "not permitted; use a port above 1023 with --web.listen-address"
            }
            std::io::ErrorKind::AddrNotAvailable => {
                "this machine lacks that address; set another with --web.listen-address"
            }
            _ => return anyhow!("cannot listen on {self}: {error}; see --web.listen-address"),
        };
        anyhow!("cannot listen on {self}: {hint}")
    }
}

/// `EAFNOSUPPORT` of Linux.
const EAFNOSUPPORT: i32 = 97;

/// As many as Linux allows unless told otherwise: the kernel drops what a burst brings beyond that, and a scrape
/// among it waits a second or more before it tries again.
const WAITING_TO_BE_ACCEPTED: u32 = 4096;

/// The port may be taken again at once after a restart.
fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv6() { TcpSocket::new_v6()? } else { TcpSocket::new_v4()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING_TO_BE_ACCEPTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for right in [":10945", "0.0.0.0:80", "[::]:10945", "localhost:0"] {
            assert_eq!(right.parse::<ListenAddress>().unwrap().to_string(), right);
        }
        for bad in ["", "10945", ":", ":70000", "::1:10945", "localhost", ":http"] {
            assert!(bad.parse::<ListenAddress>().is_err(), "{bad}");
        }
    }
}
