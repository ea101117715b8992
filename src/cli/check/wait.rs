//! `--wait-healthy`: looks again and again until nothing reaches the threshold, nothing is unknown and every volume has its replicas.

use std::time::Duration;

use jiff::Timestamp;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use super::progress::Progress;
use super::{Answer, CheckArgs};
use crate::check::{Check, Severity};
use crate::cli::{Failure, SourceError, exit};
use crate::report::{Report, ReportOptions};
use crate::source::connect::{ConnectError, Connection, obstacle};
use crate::source::{Live, Source};

/// Time between two looks; the stores are watched, so a look costs no call to the API.
pub const BETWEEN: Duration = Duration::from_secs(2);

/// How the wait ended.
pub enum Waited {
    /// With the last report before the time was up, or the first one that is healthy.
    Report(Box<Answer>),
    /// By a signal, with the exit code that shells give it.
    Interrupted(u8),
}

/// Waits, and shows how it goes. A signal leaves the terminal as it should be.
pub async fn until_healthy(
    args: &CheckArgs,
    limit: Duration,
    options: &ReportOptions,
) -> Result<Waited, Failure> {
    let mut progress = Progress::start(limit);
    let kind = tokio::select! {
        report = look_until_healthy(args, limit, options, &mut progress) => {
            if report.is_err() {
                progress.clear();
            }
            return report.map(|report| Waited::Report(Box::new(report)));
        }
        kind = signalled() => kind?,
    };
    progress.give_up(if kind == SignalKind::interrupt() { "interrupted" } else { "terminated" });
    Ok(Waited::Interrupted(exit::by_signal(kind.as_raw_value())))
}

/// Ends with the first signal that asks this process to end.
pub async fn signalled() -> Result<SignalKind, Failure> {
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Failure::unknown)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(Failure::unknown)?;
    tokio::select! {
        _ = interrupt.recv() => Ok(SignalKind::interrupt()),
        _ = terminate.recv() => Ok(SignalKind::terminate()),
    }
}

/// A cluster that is watched from now on, and its clock: all kinds are listed, or those that answered within this time; the report
/// names the others.
pub async fn followed(
    args: &CheckArgs,
    connection: &Connection,
    first: Duration,
) -> (Live, fn() -> Timestamp) {
    let options = args.source.live_options();
    let clock = options.clock;
    let live = Live::start(connection.client(), options);
    let _ = tokio::time::timeout(first, live.complete()).await;
    (live, clock)
}

/// Whether every volume has its replicas. A rebuild is nothing to be warned of, and yet the next node must not be taken away before it
/// has ended. Who asks for a part, accepts degraded volumes or fails on critical findings alone does not wait for that.
fn is_redundant(args: &CheckArgs, report: &Report) -> bool {
    let accepts = |check: &Check| report.accepted.iter().any(|accepted| accepted.check == check.id);
    let is_asked = report.selected.is_none()
        && args.fail_on.severity().is_some_and(|least| least <= Severity::Warning)
        && report
            .catalogue
            .checks
            .iter()
            .any(|check| check.of_redundancy && args.wants(check) && !accepts(check));
    !is_asked || report.data.hurt.is_empty()
}

/// Each look counts for itself: what may be wrong because no object says since when it is so is waited for, too.
async fn look_until_healthy(
    args: &CheckArgs,
    limit: Duration,
    options: &ReportOptions,
    progress: &mut Progress,
) -> Result<Answer, Failure> {
    let begin = Instant::now();
    progress.begin();
    let patience = limit.min(args.timeout.unsigned_abs());
    let connection = args.source.connect(patience).await?;
    loop {
        match connection.probe(patience.min(limit.saturating_sub(begin.elapsed()))).await {
            // an installation waits for its kinds too
            Ok(()) | Err(ConnectError::NoLonghorn) => break,
            // an API server is away for a while in the very upgrade that is waited for
            Err(ConnectError::Unreachable { .. }) if begin.elapsed() + BETWEEN < limit => {
                progress.waiting_for("an answer of the Kubernetes API", begin.elapsed());
                tokio::time::sleep(BETWEEN).await;
            }
            Err(error) => return Err(SourceError::from(error).into()),
        }
    }
    let first = patience.min(limit.saturating_sub(begin.elapsed()));
    let (live, clock) = followed(args, &connection, first).await;
    loop {
        let mut cluster = live.snapshot(clock());
        cluster.one_look = true;
        let mut report = args.shown(&args.evaluate(&cluster, options).report);
        let waited = begin.elapsed();
        if report.exit_code == exit::OK && !is_redundant(args, &report) {
            report.exit_code = exit::FINDINGS;
        }
        let healthy = report.exit_code == exit::OK;
        if healthy || waited >= limit {
            progress.end(healthy, &report, waited);
            live.stop().await;
            return match obstacle(&cluster) {
                Some(error) if !healthy => Err(SourceError::from(error).into()),
                _ => Ok(Answer { report, cluster }),
            };
        }
        progress.show(&report, waited);
        tokio::time::sleep(BETWEEN.min(limit.saturating_sub(waited))).await;
    }
}
