//! A kubelet as far as the API server asks one for logs.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::PrivateKeyDer;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::Bench;

/// A TLS server of its own certificate on a port of loopback, gone when it is dropped. It has the
/// logs of previous runs only.
pub struct Kubelet {
    port: u16,
    state: Arc<Mutex<State>>,
    serving: tokio::task::JoinHandle<()>,
}

#[derive(Default)]
struct State {
    /// By pod and container.
    logs: HashMap<(String, String), String>,
    asked: Vec<String>,
}

impl Kubelet {
    /// Listens on this port, where a kubelet may have been before.
    pub async fn start(port: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.context("the kubelet's port")?;
        let (tls, state) = (acceptor()?, Arc::new(Mutex::new(State::default())));
        let serving = tokio::spawn(serve(listener, tls, state.clone()));
        Ok(Kubelet { port, state, serving })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Sets the log of the previous run of a container.
    pub fn set_log(&self, pod: &str, container: &str, text: &str) {
        self.lock().logs.insert((pod.to_owned(), container.to_owned()), text.to_owned());
    }

    /// Paths with queries that were asked for, in order.
    pub fn asked(&self) -> Vec<String> {
        self.lock().asked.clone()
    }

    /// Makes a node one of this kubelet's: the API server finds it as it finds any other.
    pub async fn take(&self, bench: &Bench, node: &str) -> Result<()> {
        let status = json!({"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self.port}},
        }});
        let nodes = bench.api("v1", "Node", "").await?;
        nodes
            .patch_status(node, &kube::api::PatchParams::default(), &kube::api::Patch::Merge(status))
            .await?;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.serving.abort(); // its connections end with it
    }
}

fn acceptor() -> Result<TlsAcceptor> {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(anyhow::Error::msg)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn serve(listener: TcpListener, tls: TlsAcceptor, state: Arc<Mutex<State>>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (tls, state) = (tls.clone(), state.clone());
        connections.spawn(async move {
            let Ok(stream) = tls.accept(stream).await else { return };
            let service = service_fn(move |request| {
                let answer = answer(&state, &request);
                async { Ok::<_, Infallible>(answer) }
            });
            // the API server closes when it likes
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// `/containerLogs/{namespace}/{pod}/{container}?previous=true…`
fn answer<B>(state: &Mutex<State>, request: &Request<B>) -> Response<Full<Bytes>> {
    let mut state = lock(state);
    state.asked.push(request.uri().to_string());
    let parts: Vec<&str> = request.uri().path().split('/').collect();
    let previous =
        request.uri().query().is_some_and(|query| query.split('&').any(|part| part == "previous=true"));
    let (status, text) = match parts.as_slice() {
        ["", "containerLogs", _, pod, container] if previous => {
            match state.logs.get(&((*pod).to_owned(), (*container).to_owned())) {
                Some(log) => (StatusCode::OK, log.clone()),
                None => {
                    let text =
                        format!("previous terminated container \"{container}\" in pod \"{pod}\" not found\n");
                    (StatusCode::BAD_REQUEST, text)
                }
            }
        }
        _ => (StatusCode::NOT_FOUND, "404 page not found\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
