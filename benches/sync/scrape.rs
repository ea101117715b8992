//! Scrapes, as Prometheus makes them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// An answer.
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
}

/// One request on a connection of its own.
pub fn get(address: &str, path: &str, headers: &str) -> Answer {
    let mut stream = TcpStream::connect(address).expect("a connection");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n{headers}\r\n")
        .expect("a request");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
    let body = answer.split_off(end);
    let head = String::from_utf8_lossy(&answer);
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Answer { status, body }
}

/// As Prometheus 3 asks.
const PROMETHEUS: &str = "Accept: application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
    application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,\
    text/plain;version=0.0.4;q=0.3,*/*;q=0.2\r\nAccept-Encoding: gzip\r\n";

/// A page of metrics with the time that it took.
#[allow(clippy::disallowed_methods, reason = "a bench measures")]
pub fn metrics(address: &str) -> (Duration, Answer) {
    let begun = Instant::now();
    let answer = get(address, "/metrics", PROMETHEUS);
    (begun.elapsed(), answer)
}

/// Median and 99th percentile in milliseconds.
pub fn percentiles(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort();
    let at = |part: usize| times[(times.len() * part / 100).min(times.len() - 1)].as_secs_f64() * 1000.0;
    (at(50), at(99))
}

/// Scrapes one after the other, with a pause between them.
pub fn in_turn(address: &str, scrapes: usize, pause: Duration) -> (f64, f64) {
    let one = |_| {
        std::thread::sleep(pause);
        let (time, answer) = metrics(address);
        assert_eq!(answer.status, 200);
        time
    };
    percentiles((0..scrapes).map(one).collect())
}

/// As many scrapes at once, several times over.
pub fn at_once(address: &str, scrapes: usize, rounds: usize) -> (f64, f64) {
    let round = |_| {
        let threads: Vec<_> = (0..scrapes)
            .map(|_| {
                let address = address.to_owned();
                std::thread::spawn(move || metrics(&address).0)
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a scrape")).collect::<Vec<_>>()
    };
    percentiles((0..rounds).flat_map(round).collect())
}

/// A series on the page, by its name and labels.
pub fn value(page: &str, name: &str) -> f64 {
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|value| value.trim().parse().ok()).unwrap_or(f64::NAN)
}
