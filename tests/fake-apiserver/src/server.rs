//! The life of the server: listening, stopping, starting again on the same port.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use crate::serve;
use crate::settings::Date;
use crate::state::{Shared, State};

/// A running API server. It stops when dropped.
pub struct FakeApiServer {
    pub(crate) shared: Arc<Shared>,
    addr: SocketAddr,
    listening: Mutex<Option<JoinHandle<()>>>,
}

impl FakeApiServer {
    /// Starts on a free loopback port, on the current runtime. It serves no resources yet.
    pub async fn start() -> Self {
        let listener = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await;
        let addr = listener.local_addr().expect("a bound listener has an address");
        let shared = Arc::new(Shared::new());
        let task = tokio::spawn(accept(listener, shared.clone()));
        Self { shared, addr, listening: Mutex::new(Some(task)) }
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The base URL, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// A kubeconfig that points here; with a token if tokens are required.
    pub fn kubeconfig_yaml(&self) -> String {
        let token = self.shared.lock().settings.tokens.as_ref().and_then(|tokens| tokens.first().cloned());
        // JSON strings are YAML strings, whatever the token contains.
        let user = token.map_or("{}".to_owned(), |token| format!("{{token: {}}}", serde_json::json!(token)));
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: fake\n\
             clusters:\n- name: fake\n  cluster: {{server: \"{}\"}}\n\
             users:\n- name: fake\n  user: {user}\n\
             contexts:\n- name: fake\n  context: {{cluster: fake, user: fake, namespace: default}}\n",
            self.url()
        )
    }

    /// Stops listening and cuts all connections. Objects and settings stay; new connections are refused.
    pub async fn stop(&self) {
        let task = self.listening.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            task.abort();
            // An aborted task reports being cancelled, which is what was asked for.
            let _cancelled = task.await;
        }
        self.wait_for_open_watches("*", 0).await;
    }

    /// Listens again on the same port.
    pub async fn restart(&self) {
        self.stop().await;
        let listener = bind(self.addr).await;
        let task = tokio::spawn(accept(listener, self.shared.clone()));
        *self.listening.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
    }

    pub(crate) fn change<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        self.shared.change(f)
    }
}

impl Drop for FakeApiServer {
    fn drop(&mut self) {
        if let Some(task) = self.listening.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

async fn bind(addr: SocketAddr) -> TcpListener {
    match TcpListener::bind(addr).await {
        Ok(listener) => listener,
        Err(error) => panic!("cannot listen on {addr}: {error}"),
    }
}

/// Serves connections until aborted; they are aborted with it.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        // Watch events are small and must not wait for the next one.
        let _best_effort = stream.set_nodelay(true);
        while connections.try_join_next().is_some() {}
        let shared = shared.clone();
        let with_date = shared.lock().settings.date != Date::Missing;
        connections.spawn(async move {
            let service = service_fn(|request| {
                let shared = shared.clone();
                async move {
                    let mut answer = serve::answer(shared.clone(), request).await;
                    if let Date::Fixed(date) = &shared.lock().settings.date {
                        let date = date.parse().expect("a date is text");
                        answer.headers_mut().insert(http::header::DATE, date);
                    }
                    Ok::<_, Infallible>(answer)
                }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(None)
                .auto_date_header(with_date)
                .serve_connection(TokioIo::new(stream), service);
            // Connections break deliberately here.
            let _broken = connection.await;
        });
    }
}
