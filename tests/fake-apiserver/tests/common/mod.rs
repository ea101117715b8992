//! A small HTTP client: one connection per request, so that connections cut by the server stay apart.

#![allow(dead_code, reason = "every test file uses a part of it")]

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use fake_apiserver::{FakeApiServer, ResourceDef};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

/// A server with pods and a custom resource.
pub async fn server() -> FakeApiServer {
    let server = FakeApiServer::start().await;
    server.serve_builtin();
    server.serve(ResourceDef::custom("longhorn.io/v1beta2", "volumes", "Volume"));
    server
}

pub fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "ns", "labels": {"app": name}}, "spec": {"nodeName": "n1"}})
}

pub async fn send(
    server: &FakeApiServer,
    request: Request<Full<Bytes>>,
) -> hyper::Result<http::Response<Incoming>> {
    let stream = TcpStream::connect(server.addr()).await.expect("connect");
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    sender.send_request(request).await
}

pub fn get_request(server: &FakeApiServer, path: &str) -> http::request::Builder {
    Request::builder().method(Method::GET).uri(path).header("host", server.addr().to_string())
}

pub async fn open(server: &FakeApiServer, path: &str) -> http::Response<Incoming> {
    let request = get_request(server, path).body(Full::default()).unwrap();
    send(server, request).await.expect("an answer")
}

pub async fn get_text(server: &FakeApiServer, path: &str) -> (StatusCode, HeaderMap, String) {
    let (parts, body) = open(server, path).await.into_parts();
    let body = body.collect().await.expect("a whole body").to_bytes();
    (parts.status, parts.headers, String::from_utf8(body.to_vec()).unwrap())
}

pub async fn get(server: &FakeApiServer, path: &str) -> (StatusCode, Value) {
    let (status, _, text) = get_text(server, path).await;
    (status, serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}: {text}")))
}

pub async fn post(server: &FakeApiServer, path: &str, body: &Value) -> (StatusCode, Value) {
    let request = Request::post(path).header("host", "fake").body(Full::from(body.to_string())).unwrap();
    let (parts, body) = send(server, request).await.expect("an answer").into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (parts.status, serde_json::from_slice(&body).unwrap())
}

pub fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

/// An open watch, read line by line.
pub struct Lines {
    body: Incoming,
    buffer: BytesMut,
}

#[derive(Debug, PartialEq)]
pub enum Line {
    Event(Value),
    Text(String),
    End,
    Broken,
}

impl Line {
    /// Type, name (or code of an error), and resource version.
    pub fn summary(&self) -> String {
        let Line::Event(event) = self else {
            return format!("{self:?}");
        };
        let object = &event["object"];
        let kind = event["type"].as_str().unwrap();
        match kind {
            "ERROR" => format!("ERROR {}", object["code"]),
            "BOOKMARK" => format!("BOOKMARK {}", object["metadata"]["resourceVersion"].as_str().unwrap()),
            _ => format!("{kind} {}", object["metadata"]["name"].as_str().unwrap()),
        }
    }
}

pub async fn watch(server: &FakeApiServer, path: &str) -> Lines {
    let response = open(server, path).await;
    assert_eq!(response.status(), StatusCode::OK);
    Lines { body: response.into_body(), buffer: BytesMut::new() }
}

impl Lines {
    pub async fn next(&mut self) -> Line {
        let line = tokio::time::timeout(Duration::from_secs(120), self.read()).await;
        line.expect("a line within 20 s")
    }

    pub async fn next_summary(&mut self) -> String {
        self.next().await.summary()
    }

    async fn read(&mut self) -> Line {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(end + 1);
                return match serde_json::from_slice(&line) {
                    Ok(event) => Line::Event(event),
                    Err(_) => Line::Text(String::from_utf8_lossy(&line).into_owned()),
                };
            }
            match self.body.frame().await {
                Some(Ok(frame)) => self.buffer.extend_from_slice(&frame.into_data().unwrap_or_default()),
                Some(Err(_)) => return Line::Broken,
                None => return Line::End,
            }
        }
    }
}
