//! `--watch`: the report again whenever it changes, until a signal or until no one reads it any more.

use std::io::{self, IsTerminal, Write};

use super::CheckArgs;
use super::wait::{BETWEEN, followed, signalled};
use crate::cli::{Failure, SourceError, exit};
use crate::report::{Report, ReportOptions};
use crate::source::Source;

/// Puts a terminal's cursor at the top of an empty screen.
const CLEAR: &str = "\x1b[2J\x1b[H";

/// Prints each report, and ends with the exit code of the last one, or that of the signal.
pub async fn until_interrupted(args: &CheckArgs, options: &ReportOptions) -> Result<u8, Failure> {
    tokio::select! {
        code = follow(args, options) => code,
        kind = signalled() => Ok(exit::by_signal(kind?.as_raw_value())),
    }
}

async fn follow(args: &CheckArgs, options: &ReportOptions) -> Result<u8, Failure> {
    let patience = args.timeout.unsigned_abs();
    let connection = args.source.connect(patience).await?;
    connection.probe(patience).await.map_err(SourceError::from)?;
    let (live, clock) = followed(args, &connection, patience).await;
    let is_screen = io::stdout().is_terminal();
    let mut last = String::new();
    loop {
        let mut cluster = live.snapshot(clock());
        cluster.one_look = true;
        let now = cluster.now;
        let answer = args.answer(cluster, options)?;
        let mut text = Vec::new();
        args.write(&mut text, &answer, now).map_err(Failure::unknown)?;
        // on a screen ages go on; a pipe gets what is new
        let shown =
            if is_screen { String::from_utf8_lossy(&text).into_owned() } else { state(&answer.report) };
        if shown != last {
            let head = if is_screen { CLEAR.to_owned() } else { format!("--- {now:.0}\n") };
            match print(head.as_bytes(), &text) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    return Ok(answer.report.exit_code);
                }
                printed => printed.map_err(Failure::unknown)?,
            }
            last = shown;
        }
        tokio::time::sleep(BETWEEN).await;
    }
}

fn print(head: &[u8], text: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(head)?;
    out.write_all(text)?;
    out.flush()
}

/// What is wrong or unknown, without ages and counts of Events.
fn state(report: &Report) -> String {
    let findings = report.findings.iter().map(|finding| {
        format!("{} {} {} {}", finding.severity, finding.check, finding.cause.id, finding.object)
    });
    let unknown =
        report.unknown.iter().map(|unknown| format!("unknown {} {}", unknown.check, unknown.reason));
    std::iter::once(report.data.line.clone()).chain(findings).chain(unknown).collect::<Vec<_>>().join("\n")
}
