//! What `--wait-healthy` shows while it waits: one line that is rewritten on a terminal, a line a
//! change elsewhere.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use super::table::duration;
use crate::report::Report;

/// Progress on standard error, so that standard output holds the report alone.
pub struct Progress {
    limit: Duration,
    terminal: bool,
    last: String,
}

impl Progress {
    /// Nothing is shown yet.
    pub fn start(limit: Duration) -> Self {
        Progress { limit, terminal: io::stderr().is_terminal(), last: String::new() }
    }

    /// Shows what is still waited for.
    pub fn show(&mut self, report: &Report, waited: Duration) {
        let state = state(report);
        let limit = duration(self.limit.as_secs() as i64);
        let mut err = io::stderr().lock();
        // progress is a courtesy: a closed standard error does not end the wait
        let _ = if self.terminal {
            write!(err, "\r\x1b[2Kwaiting {} of {limit}: {state}", duration(waited.as_secs() as i64))
                .and_then(|()| err.flush())
        } else if state != self.last {
            writeln!(err, "waiting {} of {limit}: {state}", duration(waited.as_secs() as i64))
        } else {
            Ok(())
        };
        self.last = state;
    }

    /// Leaves the line.
    pub fn end(&mut self) {
        if self.terminal && !self.last.is_empty() {
            let _ = writeln!(io::stderr().lock());
        }
    }
}

/// The worst finding and how many there are beside it.
fn state(report: &Report) -> String {
    let unknown = match report.unknown.len() {
        0 => String::new(),
        number => format!(", {number} unknown"),
    };
    match report.findings.first() {
        Some(worst) => {
            let others = match report.findings.len() - 1 {
                0 => String::new(),
                number => format!(" and {number} more"),
            };
            format!("{} {} ({}){others}{unknown}", worst.severity, worst.object, worst.cause)
        }
        None => format!("nothing found{unknown}"),
    }
}
