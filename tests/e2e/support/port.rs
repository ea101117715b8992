//! Free loopback ports that stay free while a server is stopped.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the range Linux gives to outgoing connections (32768 and up): a port from above could be
/// taken by any client while the apiserver that owns it is down for a restart.
const RANGE: std::ops::Range<u16> = 20_000..32_000;

/// A port on which nothing listens; each call of this process gives another one.
pub fn free() -> io::Result<u16> {
    static NEXT: OnceLock<AtomicU16> = OnceLock::new();
    let size = RANGE.end - RANGE.start;
    // Different processes begin at different places, so that their choices do not race.
    let next = NEXT.get_or_init(|| AtomicU16::new((std::process::id() % u32::from(size)) as u16));
    for _ in 0..size {
        let port = RANGE.start + next.fetch_add(1, Ordering::Relaxed) % size;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}
