//! Clients that are slow, rude or old, against the process: none of them keeps another from its answer.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// No test waits longer for what must come.
const PATIENCE: Duration = Duration::from_secs(120);
/// What the server gives a head, or a TLS handshake.
const HEAD_LIMIT: Duration = Duration::from_secs(5);
/// Connections that the server takes at once.
const CONNECTIONS: usize = 512;

const METRIC: &str = "\nlonghorn_health_finding{";

struct Serve {
    process: Child,
    address: SocketAddr,
    /// Keeps the pipe open.
    _log: BufReader<std::process::ChildStderr>,
}

impl Serve {
    fn start(more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longhorn-health-exporter"));
        command.args(["serve", "--demo", "--web.listen-address=127.0.0.1:0"]).args(more).env_clear();
        let mut process = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let address = loop {
            let mut line = String::new();
            assert_ne!(log.read_line(&mut line).unwrap(), 0, "serve ended before it listened");
            if let Some((_, address)) = line.split_once("msg=listening address=") {
                break address.trim().parse().unwrap();
            }
        };
        Serve { process, address, _log: log }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends bytes and reads until the server closes.
    fn say(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect();
        stream.write_all(bytes.as_ref()).unwrap();
        rest(&mut stream)
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// All until the end, which may also be a reset.
fn rest(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    match stream.read_to_end(&mut text) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        Err(error) => panic!("{error} after {}", String::from_utf8_lossy(&text)),
    }
    String::from_utf8(text).unwrap()
}

const PROBE: &str = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n";

/// What is said is answered if it is a whole request.
fn say(stream: &mut TcpStream, text: &str) {
    stream.write_all(text.as_bytes()).unwrap();
    if text.ends_with("\r\n\r\n") {
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\nok\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap_or_else(|error| panic!("{text:?}: {error}"));
            answer.extend(byte);
        }
    }
}

#[test]
fn http_1_0_is_answered_and_closed() {
    let serve = Serve::start(&[]);
    for head in
        ["GET /metrics HTTP/1.0\r\n\r\n", "GET /metrics HTTP/1.0\r\nHost: a\r\nConnection: close\r\n\r\n"]
    {
        let answer = serve.say(head);
        assert!(answer.starts_with("HTTP/1.0 200 OK\r\n") && answer.contains(METRIC), "{answer}");
        assert!(!answer.contains("transfer-encoding"), "HTTP/1.0 knows no chunks");
    }
}

#[test]
fn requests_sent_ahead_are_answered_in_order() {
    let serve = Serve::start(&[]);
    let answers = serve.say(
        "GET /livez HTTP/1.1\r\nHost: a\r\n\r\nGET /nothing HTTP/1.1\r\nHost: a\r\n\r\n\
         GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    );
    let statuses: Vec<&str> =
        answers.match_indices("HTTP/1.1 ").map(|(at, _)| &answers[at + 9..at + 12]).collect();
    assert_eq!(statuses, ["200", "404", "200"]);
    assert!(answers.contains(METRIC));
}

#[test]
fn head_is_answered_everywhere_without_a_body() {
    let serve = Serve::start(&[]);
    for path in ["/", "/metrics", "/api/v1/report", "/livez", "/readyz", "/-/healthy", "/-/ready", "/nothing"]
    {
        let head = serve.say(format!("HEAD {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
        assert!(head.ends_with("\r\n\r\n") && head.matches("\r\n\r\n").count() == 1, "{path}: {head}");
        let length =
            head.split_once("content-length: ").and_then(|(_, rest)| rest.lines().next()?.parse().ok());
        assert!(length > Some(0), "{path}: {head}");
    }
}

#[test]
fn what_is_no_request_is_refused_and_closed() {
    let serve = Serve::start(&[]);
    let long = "a".repeat(64 * 1024);
    let many: String = (0..500).map(|number| format!("X-{number}: a\r\n")).collect();
    for (head, statuses) in [
        (format!("GET /metrics HTTP/1.1\r\nHost: a\r\nX-Long: {long}\r\n\r\n"), &["431"][..]),
        (format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"), &["414", "431"]),
        (format!("GET /metrics HTTP/1.1\r\nHost: a\r\n{many}\r\n"), &["431"]),
        ("nonsense\r\n\r\n".to_owned(), &["400"]),
        ("GET /metrics HTTP/3.7\r\n\r\n".to_owned(), &["400"]),
        ("GET /metrics HTTP/1.1\r\nno colon\r\n\r\n".to_owned(), &["400"]),
        ("POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\nabc".to_owned(), &["405"]),
    ] {
        let mut stream = serve.connect();
        // the server may close before it has read all of it
        let _ = stream.write_all(head.as_bytes());
        let shown = &head[..head.len().min(60)];
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap_or_else(|error| panic!("{shown}: {error}"));
        let status = String::from_utf8_lossy(&status[9..]).into_owned();
        assert!(statuses.contains(&&*status), "{shown}: {status}");
        // a body that never comes is not waited for
        rest(&mut stream);
    }
    assert_eq!(serve.say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "", "HTTP/2 has no answer that it could read");
    assert!(serve.say("GET /metrics HTTP/1.0\r\n\r\n").contains(METRIC));
}

/// Connections of one client that say nothing, or nothing more after one request, or drip their head, keep
/// neither probes nor scrapes out, however many they are.
#[test]
fn idle_silent_and_dripping_connections_give_way() {
    let serve = Serve::start(&[]);
    for first in ["", PROBE, "GET /livez HTTP/1.1\r\nX-Slow: "] {
        let crowd: Vec<_> = (0..CONNECTIONS + 100)
            .map(|_| {
                let mut stream = serve.connect();
                // the server may have closed it for the next one already
                let _ = stream.write_all(first.as_bytes());
                stream
            })
            .collect();
        let mut took = Vec::new();
        for path in ["/livez", "/metrics"].repeat(10) {
            let begun = Instant::now();
            let answer = serve.say(format!("GET {path} HTTP/1.0\r\n\r\n"));
            assert!(answer.starts_with("HTTP/1.0 200 OK\r\n"), "{first:?}: {answer}");
            took.push(begun.elapsed());
        }
        took.sort_unstable();
        println!("answers {took:.1?} behind {} connections that sent {first:?}", crowd.len());
        // those who wait for the crowd to be cut off all wait that long; one that is late is a busy machine's
        assert!(took[took.len() / 2] < HEAD_LIMIT, "{took:?}");
    }
}

/// Of connections from one address those give way that wait for the same as most others, so that a scraper in the
/// middle of anything else keeps its connection.
#[test]
fn a_crowd_takes_no_connection_from_a_scraper_at_its_address() {
    let (whole, half) = (PROBE, "GET /livez HTTP/1.1\r\nHost: ");
    let serve = Serve::start(&[]);
    let comes = |crowd: &str| {
        let mut stream = serve.connect();
        say(&mut stream, crowd);
        stream
    };
    for (crowd, of_mine) in [("", half), ("", whole), (half, ""), (half, whole), (whole, ""), (whole, half)] {
        // a head of mine that takes so long is cut off, and proves nothing about the crowd
        let in_time = (0..20).any(|_| {
            let begun = Instant::now();
            let mut mine = comes(of_mine);
            let _crowd: Vec<TcpStream> = (0..300).map(|_| comes(crowd)).collect();
            let in_time = of_mine == whole || begun.elapsed() < HEAD_LIMIT - Duration::from_secs(1);
            if in_time {
                say(&mut mine, if of_mine == half { "a\r\n\r\n" } else { whole });
            }
            in_time
        });
        assert!(in_time, "never as fast as the server cuts heads off");
    }
}

/// A flood of connections that asked once and then idle, from the address of a scraper that idles between its
/// scrapes as they do: it has come back on its connection, they have not, so it never has to connect again.
#[test]
fn an_idle_flood_takes_no_kept_connection_from_a_scraper() {
    let serve = Serve::start(&[]);
    let mut scraper = serve.connect();
    (0..3).for_each(|_| say(&mut scraper, PROBE));
    let ask = |_| {
        let mut one = serve.connect();
        say(&mut one, PROBE);
        one
    };
    let mut crowd: Vec<_> = (0..CONNECTIONS + 100).map(ask).collect();
    // it has waited longest of all; this panics if it was closed
    say(&mut scraper, PROBE);
    let is_closed = |one: &mut TcpStream| one.read(&mut [0]).is_ok_and(|read| read == 0);
    assert!(crowd.iter_mut().take(50).all(is_closed), "those who waited longest gave way");
}

#[test]
fn a_handshake_that_never_ends_is_cut_off() {
    let directory = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    write("tls.crt", &made.cert.pem());
    write("tls.key", &made.signing_key.serialize_pem());
    write("web.yml", "tls_server_config: {cert_file: tls.crt, key_file: tls.key}\n");
    let web = format!("--web.config.file={}", directory.path().join("web.yml").display());
    let serve = Serve::start(&[&web]);
    // nothing; half the head of a record; the head of a record without its 512 bytes
    for beginning in [&[][..], &[22, 3], &[22, 3, 1, 2, 0]] {
        serve.say(beginning);
    }
    assert!(serve.say("GET / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 400 Bad Request\r\n"));
}
