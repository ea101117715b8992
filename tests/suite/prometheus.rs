//! `plan capacity --prometheus`: what is asked, and what is said of every answer that is none.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Output};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::scenario;

const DISK: &str = "default-disk-fd0100000";

/// Answers every request with these bytes; nothing, where there are none.
fn server(answer: Vec<u8>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/prom", listener.local_addr().unwrap());
    let (sender, asked) = channel();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            // the question is the last of the body
            while !String::from_utf8_lossy(&request).contains("time=") {
                match stream.read(&mut buffer) {
                    Ok(read @ 1..) => request.extend(&buffer[..read]),
                    _ => break,
                }
            }
            sender.send(String::from_utf8_lossy(&request).into_owned()).ok();
            if answer.is_empty() {
                open.push(stream);
            } else {
                stream.write_all(&answer).ok();
            }
        }
    });
    (url, asked)
}

fn http(status: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
        .into_bytes()
}

fn data(samples: &[(&str, &str, &str)]) -> String {
    let sample = |(node, of, value): &(&str, &str, &str)| {
        format!(
            r#"{{"metric":{{"node":"{node}","disk":"{DISK}","of":"{of}"}},"value":[1772366400.5,"{value}"]}}"#
        )
    };
    let samples = samples.iter().map(sample).collect::<Vec<_>>().join(",");
    format!(r#"{{"status":"success","data":{{"resultType":"vector","result":[{samples}]}}}}"#)
}

fn plan(url: &str, more: &[&str]) -> Output {
    let recording = scenario::written(&scenario::root().join("healthy-1.12"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_longhorn-health-exporter"));
    command.args(["plan", "capacity", "--prometheus", url, "--from"]).arg(recording.path()).args(more);
    command.env_clear().env("PATH", "/usr/bin:/bin").output().unwrap()
}

#[test]
fn a_disk_that_fills_by_the_trend_of_a_week_is_not_enough() {
    // 180 GB are free: 5 days at 416,666 B a second
    let (url, asked) = server(http(
        "200 OK",
        &data(&[
            ("worker-1", "rate", "416666.6"),
            ("worker-1", "points", "1009"),
            ("worker-2", "rate", "-1"),
            ("worker-2", "points", "1009"),
            ("worker-3", "rate", "9e9"),
            ("worker-3", "points", "6"),
            ("gone", "rate", "NaN"),
        ]),
    ));
    let place = tempfile::tempdir().unwrap();
    let token = place.path().join("token");
    std::fs::write(&token, "s3cret\n").unwrap();
    let more =
        ["--prometheus-token-file", token.to_str().unwrap(), "--prometheus-labels", "cluster=a\"b,site=x"];
    let output = plan(&url, &more);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}{}", String::from_utf8_lossy(&output.stderr));
    for part in ["the first in 5 days", "since 2026-02-22T12:00:00Z", "worker-1/default-disk-fd0100000"] {
        assert!(said.split_whitespace().collect::<Vec<_>>().join(" ").contains(part), "{part}: {said}");
    }
    // one was seen for less than an hour, one is emptied
    assert!(said.contains("1 disk will be full"), "{said}");
    let asked = asked.recv().unwrap();
    assert!(asked.starts_with("POST /prom/api/v1/query HTTP/1.1"), "{asked}");
    assert!(asked.contains("authorization: Bearer s3cret"), "{asked}");
    assert!(asked.ends_with("&time=1772366400"), "{asked}");
    assert!(asked.contains("cluster%3D%22a%5C%22b%22%2Csite%3D%22x%22"), "{asked}");
}

#[test]
fn what_is_no_answer_says_what_to_do() {
    let long = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}", " ".repeat(5 << 20)).into_bytes();
    for (answer, expected) in [
        (
            http("401 Unauthorized", "no"),
            "rejects the request (401); name a file with a token by --prometheus-token-file",
        ),
        (
            http(
                "422 Unprocessable Entity",
                r#"{"status":"error","errorType":"execution","error":"too many samples\u001b[31m"}"#,
            ),
            "cannot answer (422): too many samples[31m; check its log",
        ),
        (http("200 OK", "<html>\nGrafana"), "does not answer as Prometheus does (200: <html>)"),
        (http("302 Found", ""), "does not answer as Prometheus does (302: )"),
        (
            http("200 OK", &data(&[("worker-1", "spread", "9e9")])),
            "has disk default-disk-fd0100000 on worker-1 in several clusters; select one by --prometheus-labels",
        ),
        (http("200 OK", "{}"), "does not answer as Prometheus does"),
        (http("200 OK", &data(&[])), "has no longhorn_disk_usage_bytes from 1 h or more"),
        (
            http("200 OK", &data(&[("worker-1", "rate", "1"), ("worker-1", "points", "3")])),
            "from 1 h or more",
        ),
        (long, "is over 4 MiB; select one cluster by --prometheus-labels"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{".to_vec(), "cannot reach Prometheus"),
        (Vec::new(), "did not answer within 1s; raise --timeout"),
    ] {
        let (url, _asked) = server(answer);
        let output = plan(&url, &["--timeout", "1s"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(expected) && said.contains(&url), "{expected}: {said}");
        assert_eq!(output.status.code(), Some(2), "{said}");
    }
}

#[test]
fn what_was_given_wrongly_is_bad_usage() {
    for (url, more, expected) in [
        ("prometheus:9090", &[][..], "use the form http://prometheus.monitoring:9090"),
        ("http://u:p@host", &[], "use the form http://"),
        ("http://127.0.0.1:1", &["--prometheus-labels", "1=a"], "use the form cluster=prod-eu1"),
        ("http://127.0.0.1:1", &["--prometheus-token-file", "/none"], "--prometheus-token-file /none: "),
        ("http://127.0.0.1:1", &["--prometheus-token-file", "/dev/null"], "it must be one word"),
        ("http://127.0.0.1:1", &["--since-recording", "/none"], "cannot be used with"),
    ] {
        let output = plan(url, more);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(64) && said.contains(expected), "{url} {more:?}: {said}");
    }
}
