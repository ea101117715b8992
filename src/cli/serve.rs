//! `serve`: watch the cluster and answer over HTTP until told to stop.

mod options;
mod signals;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::ValueEnum;
use jiff::{SignedDuration, Timestamp};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::logging;
use super::state::Keeper;
use super::{DECLARED, Failure, SourceArgs, SourceError, exit};
use crate::checks::CATALOGUE;
use crate::exporter::Evaluator;
use crate::http::{self, Access, Digester, Limits, Reviewer, Router, Transport, WebConfigFile};
use crate::source::connect::{ConnectError, Connection};
use crate::source::demo::Demo;
use crate::source::reviews::Reviews;
use crate::source::{Fixed, Live, OnDemand, Source};
use options::{WebArgs, WebAuth};
use signals::Signals;

pub use options::ServeArgs;

/// How far back its timeline goes.
pub(super) const TIMELINE: SignedDuration = SignedDuration::from_hours(72);
/// How often it is looked whether something changed: what does shows within a second.
const LOOK: Duration = Duration::from_millis(200);
/// How much less urgent evaluations are than answers.
#[cfg(target_os = "linux")]
const LESS: i32 = 10;
/// How long a program that gives credentials is asked each time, and how long the start waits for it.
const CREDENTIALS: Duration = Duration::from_secs(60);
const FIRST_CREDENTIALS: Duration = Duration::from_secs(3);
/// Threads that answer. What reads the cluster has one of its own, as have evaluations.
const WORKERS: usize = 2;

/// Runs `serve`.
pub fn run(args: ServeArgs) -> Result<u8, Failure> {
    logging::init(args.log.level, args.log.format);
    // on two threads, objects that are decoded at once wait for each other at the allocator: the start costs 1.7 times
    let reading = super::runtime()?;
    // not one a core: that would be a pile of stacks and heaps on a large node, for a few answers
    let answering = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build();
    let answering = answering.context("cannot start").map_err(Failure::unknown)?;
    let code = reading.block_on(serve(args, answering.handle()));
    // what still runs of an evaluation or an answer is of no use to anybody any more
    for runtime in [answering, reading] {
        runtime.shutdown_timeout(Duration::from_millis(100));
    }
    code
}

#[allow(clippy::disallowed_methods, reason = "the clock is handed down from here")]
async fn serve(args: ServeArgs, answering: &Handle) -> Result<u8, Failure> {
    // bad configuration is reported before a port is bound
    if args.source.context.len() > 1 {
        return Err(Failure::usage(anyhow!("serve watches one cluster; use one --context")));
    }
    let mut signals = Signals::listen().map_err(Failure::unknown)?;
    let mut options = args.source.options(Timestamp::now())?;
    options.address = options.address.elsewhere();
    options.since = Some(TIMELINE);
    let (mut access, transport) = open_web(&args)?;
    let connection = open_connection(&args).await?;
    if let Some(connection) = connection.as_ref().filter(|_| args.web.auth == WebAuth::Kubernetes) {
        access = access.by_kubernetes(Reviewer::new(Reviews::new(connection.client()), digester()?));
    }
    let (source, live) = open_source(&args.source, connection.as_ref())?;
    let keeper = args.state_file.clone().zip(live.clone());
    let keeper = keeper.map(|(path, live)| Keeper::begin(path, live, &args.source.namespace));
    let mut listeners = Vec::new();
    for address in args.web.listen_address.clone() {
        // a listener belongs to the threads on which it is bound
        let bound = answering.spawn(async move { address.bind().await }).await;
        listeners.push(bound.map_err(Failure::unknown)?.map_err(Failure::usage)?);
    }
    announce(&args, &listeners);

    let WebArgs { max_requests, disable_exporter_metrics, .. } = &args.web;
    let evaluator = Evaluator::new(&CATALOGUE, source, Timestamp::now, !disable_exporter_metrics)
        .beside()
        .with_options(options)
        .with_signatures(args.signatures.files());
    let evaluator = Arc::new(evaluator);
    let on_demand = connection.filter(|_| live.is_some());
    let on_demand = on_demand.map(|connection| OnDemand::new(connection, args.source.live_options()));
    let router = Router::new(&DECLARED, evaluator.clone(), access.clone(), args.web.links(), *max_requests);
    let router = router.asking(on_demand);
    #[cfg(feature = "mcp")]
    let router = if args.web.enable_mcp { router.with_tools() } else { router };
    let (shutdown, shut_down) = watch::channel(());
    let until = |mut shut_down: watch::Receiver<()>| async move {
        let _ = shut_down.changed().await;
    };
    let until_shutdown = until(shut_down.clone());
    let keeper = keeper.map(|keeper| tokio::spawn(keeper.run(until(shut_down))));
    let (refreshed, refreshing) = watch::channel(());
    let refresh = move || refresh(&evaluator, refreshing);
    let thread = std::thread::Builder::new().name("evaluation".to_owned()).spawn(refresh);
    thread.context("cannot start").map_err(Failure::unknown)?;
    let answers = http::run(listeners, transport, router, Limits::default(), until_shutdown);
    let mut server = answering.spawn(answers);
    let ended = tokio::select! {
        reason = signals.stop(&access) => Ok(reason),
        _ = &mut server => Err("the HTTP server ended".to_owned()),
        _ = refreshed.closed() => Err("the evaluation ended".to_owned()),
        ended = live_ended(live.as_deref()) => Err(ended),
    };
    match ended {
        Ok(reason) => {
            tracing::info!(reason, "stopping");
            drop(shutdown);
            let _ = server.await; // its limits bound this
            if let Some(keeper) = keeper {
                let _ = keeper.await; // it says itself what went wrong
            }
            if let Some(live) = live {
                live.stop().await;
            }
            tracing::info!("stopped");
            Ok(exit::OK)
        }
        // half an exporter would look healthy; the kubelet restarts us whole
        Err(what) => Err(Failure::unknown(anyhow!("{what} unexpectedly; read the log"))),
    }
}

/// The way to the Kubernetes API, where it is needed. A program that takes long to give credentials delays the
/// calls to the API, not the server: probes and scrapes are answered meanwhile.
async fn open_connection(args: &ServeArgs) -> Result<Option<Connection>, Failure> {
    let live = !args.source.demo && args.source.from.is_none();
    if !live && args.web.auth != WebAuth::Kubernetes {
        return Ok(None);
    }
    let connection = args.source.begin(CREDENTIALS).await?;
    match connection.credentials(FIRST_CREDENTIALS).await {
        Some(credentials) => credentials.map_err(SourceError::from)?,
        None => {
            let plugin = connection.plugin().unwrap_or_default();
            tracing::warn!(
                plugin,
                "waiting for credentials for the Kubernetes API; every check is unknown until then"
            );
        }
    }
    Ok(Some(connection))
}

/// Who may connect and read. Tokens ask for TLS, since anyone who sees one can use it.
#[allow(clippy::disallowed_methods, reason = "the clock is handed down from here")]
fn open_web(args: &ServeArgs) -> Result<(Access, Transport), Failure> {
    let by_kubernetes = args.web.auth == WebAuth::Kubernetes;
    let file = match &args.web.config_file {
        Some(path) => {
            let file = WebConfigFile::open(path, !by_kubernetes, Timestamp::now);
            Some(Arc::new(file.map_err(Failure::usage)?))
        }
        None => None,
    };
    let tls = file.clone().filter(|file| file.serves_tls());
    if by_kubernetes && tls.is_none() {
        let message = "--web.auth=kubernetes needs TLS, because tokens must not be sent in clear text; \
                       use --web.config.file with tls_server_config";
        return Err(Failure::usage(anyhow!(message)));
    }
    if by_kubernetes && http::is_open_to_all(&args.web.telemetry_path) {
        let path = &args.web.telemetry_path;
        return Err(Failure::usage(anyhow!(
            "Kubernetes lets every account get {path}, so --web.auth=kubernetes cannot protect it; \
             use another --web.telemetry-path"
        )));
    }
    let mut access = Access::open();
    if let Some(file) = file {
        access = access.by_file(file, digester()?);
    }
    Ok((access, tls.map_or(Transport::Plain, Transport::Tls)))
}

fn digester() -> Result<Digester, Failure> {
    Digester::new().ok_or_else(|| Failure::unknown(anyhow!("the system provides no random numbers")))
}

pub(super) type OpenSource = (Arc<dyn Source>, Option<Arc<Live>>);

/// The source, and the live one again where it is that, because it has tasks to look after. An API
/// server that cannot be reached is no reason to end: the kinds say so, and it may come back.
#[allow(clippy::disallowed_methods, reason = "the clock is read here and handed down")]
pub(super) fn open_source(args: &SourceArgs, connection: Option<&Connection>) -> Result<OpenSource, Failure> {
    let now = Timestamp::now();
    if args.demo {
        args.check_demo()?;
        return Ok((Arc::new(Demo::new(now).map_err(SourceError::from)?), None));
    }
    if let Some(cluster) = args.recorded(now)? {
        return Ok((Arc::new(Fixed::new(cluster)), None));
    }
    let Some(connection) = connection else { return Err(SourceError::from(ConnectError::NoCluster).into()) };
    let live = Arc::new(Live::start(connection.client(), args.live_options()));
    tokio::spawn(tell_when_synced(live.clone()));
    Ok((live.clone(), Some(live)))
}

async fn tell_when_synced(live: Arc<Live>) {
    live.synced().await;
    tracing::info!("first sync complete");
}

/// Says what ended of the live source; never completes without one.
async fn live_ended(live: Option<&Live>) -> String {
    match live {
        Some(live) => live.ended().await.to_string(),
        None => std::future::pending().await,
    }
}

/// The configuration in force, and where the page is. There are no secrets in it.
fn announce(args: &ServeArgs, listeners: &[TcpListener]) {
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        revision = env!("LONGHORN_HEALTH_BUILD_REVISION"),
        "starting longhorn-health-exporter"
    );
    let WebArgs { telemetry_path, max_requests, disable_exporter_metrics, .. } = &args.web;
    tracing::info!(
        demo = args.source.demo,
        from = args.source.from.as_ref().map(|path| path.display().to_string()),
        namespace = args.source.namespace,
        kubeconfig = args.source.kubeconfig.as_ref().map(|path| path.display().to_string()),
        context = args.source.context(),
        crash_logs = spelled(args.source.crash_logs),
        longhorn_ui_url = args.source.longhorn_ui_url,
        state_file = args.state_file.as_ref().map(|path| path.display().to_string()),
        stale_after = %format_args!("{:#}", args.source.stale_after),
        telemetry_path,
        max_requests,
        web_config_file = args.web.config_file.as_ref().map(|path| path.display().to_string()),
        web_auth = spelled(args.web.auth),
        web_runbook_url = args.web.runbook_url,
        web_grafana_url = args.web.grafana_url,
        disable_exporter_metrics,
        log_level = spelled(args.log.level),
        log_format = spelled(args.log.format),
        "configuration"
    );
    for address in listeners.iter().filter_map(|listener| listener.local_addr().ok()) {
        tracing::info!(%address, "listening");
    }
}

/// A choice as it is written on the command line.
fn spelled(choice: impl ValueEnum) -> String {
    choice.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Evaluates whenever something changed, and now and then, so that facts age and no one who asks has to wait. On a
/// thread of its own, which gives way to those that answer.
fn refresh(evaluator: &Evaluator, _ends_with_it: watch::Receiver<()>) {
    // that of a thread, on Linux; elsewhere it is the process that has a priority
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, LESS) {
        tracing::debug!(%error, "evaluations have the priority of all else");
    }
    loop {
        if evaluator.is_due() {
            evaluator.refresh();
        }
        std::thread::sleep(LOOK);
    }
}
