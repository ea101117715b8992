//! `--wait-healthy`: looks again and again until nothing reaches the threshold and nothing is unknown.

use std::time::Duration;

use tokio::time::Instant;

use super::progress::Progress;
use super::{CheckArgs, exit, exit_code};
use crate::check::Severity;
use crate::cli::{Failure, SourceError};
use crate::report::{Report, evaluate_only};
use crate::source::connect::obstacle;
use crate::source::{Live, Source};

/// Time between two looks; the stores are watched, so a look costs no call to the API.
const BETWEEN: Duration = Duration::from_secs(2);

/// The last report before the time was up, or the first one that is healthy. Facts age from one look
/// to the next, as in a serving exporter.
pub async fn until_healthy(args: &CheckArgs, limit: Duration, fail_on: Severity) -> Result<Report, Failure> {
    let begin = Instant::now();
    let connection = args.source.connect().await?;
    connection.probe(limit.min(args.timeout.unsigned_abs())).await.map_err(SourceError::from)?;
    let options = args.source.live_options();
    let clock = options.clock;
    let live = Live::start(connection.client(), options);
    // kinds that do not answer in time are told in the report
    let _ = tokio::time::timeout(limit.min(args.timeout.unsigned_abs()), live.complete()).await;
    let mut progress = Progress::start(limit);
    loop {
        let now = clock();
        let cluster = live.snapshot(now);
        let evaluation = evaluate_only(&cluster, |check| args.wants(check));
        let waited = begin.elapsed();
        let healthy = exit_code(&evaluation.report, fail_on) == exit::OK;
        if healthy || waited >= limit {
            progress.end();
            live.stop().await;
            return match obstacle(&cluster) {
                Some(error) if !healthy => Err(SourceError::from(error).into()),
                _ => Ok(evaluation.report),
            };
        }
        progress.show(&evaluation.report, waited);
        live.keep_facts(evaluation.facts, &evaluation.blind, now);
        tokio::time::sleep(BETWEEN.min(limit.saturating_sub(waited))).await;
    }
}
