//! `mcp`: the tools of the Model Context Protocol over standard input and output, for the program of a model that starts this one.

use std::sync::Arc;

use clap::Args;
use jiff::{SignedDuration, Timestamp};

use super::logging::{self, LogFormat, LogLevel};
use super::serve::{TIMELINE, open_source};
use super::source::{SignatureArgs, positive_duration};
use super::{DECLARED, Failure, SourceArgs, exit};
use crate::checks::CATALOGUE;
use crate::exporter::Evaluator;
use crate::http::{Access, Links, Router, Tools};
use crate::source::OnDemand;

/// Options of `mcp`.
#[derive(Debug, Args)]
pub struct McpArgs {
    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    signatures: SignatureArgs,

    /// Time limit for reading a live cluster; kinds not listed by then count as unknown
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = positive_duration, env = "LONGHORN_HEALTH_TIMEOUT")]
    timeout: SignedDuration,
}

/// Runs `mcp` until its input ends.
pub fn run(args: McpArgs) -> Result<u8, Failure> {
    logging::init(LogLevel::Warn, LogFormat::Logfmt);
    super::runtime()?.block_on(answer(args))
}

#[allow(clippy::disallowed_methods, reason = "the clock is handed down from here")]
async fn answer(args: McpArgs) -> Result<u8, Failure> {
    let patience = args.timeout.unsigned_abs();
    let mut options = args.source.options(Timestamp::now())?;
    options.since = Some(TIMELINE);
    let is_live = !args.source.demo && args.source.from.is_none();
    let connection = if is_live { Some(args.source.connect(patience).await?) } else { None };
    let (source, live) = open_source(&args.source, connection.as_ref())?;
    if let Some(live) = &live {
        // what has not answered by then is unknown until it does
        let _ = tokio::time::timeout(patience, live.complete()).await;
    }
    let evaluator = Evaluator::new(&CATALOGUE, source, Timestamp::now, false)
        .with_options(options)
        .with_signatures(args.signatures.files());
    let router = Router::new(&DECLARED, Arc::new(evaluator), Access::open(), Links::own("/metrics"), 0);
    let on_demand = connection.map(|connection| OnDemand::new(connection, args.source.live_options()));
    let tools = Tools::new(router.asking(on_demand));
    let running = rmcp::serve_server(tools, rmcp::transport::stdio()).await.map_err(Failure::unknown)?;
    running.waiting().await.map_err(Failure::unknown)?;
    Ok(exit::OK)
}
