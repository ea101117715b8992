//! What `--wait-healthy` shows while it waits: one line that is rewritten on a terminal, a line a
//! change elsewhere. The last line says how it ended.

use std::io::{self, IsTerminal, Stderr, Write};
use std::time::Duration;

use jiff::SignedDuration;

use crate::facts::text::age;
use crate::report::Report;
use crate::report::text::plain;

/// Progress, by default on standard error so that standard output holds the report alone. It is a
/// courtesy: what cannot be written does not end the wait.
pub struct Progress<W = Stderr> {
    out: W,
    limit: Duration,
    /// Columns of the terminal, if it is one.
    columns: Option<usize>,
    last: String,
}

/// Columns of a terminal that does not say how many it has.
const USUAL_COLUMNS: usize = 80;

impl Progress {
    /// Nothing is shown yet.
    pub fn start(limit: Duration) -> Self {
        let err = io::stderr();
        // a line cannot be taken back on a dumb one
        let dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        let columns = (err.is_terminal() && !dumb).then(|| {
            let size = terminal_size::terminal_size_of(&err);
            size.map_or(USUAL_COLUMNS, |(width, _)| usize::from(width.0))
        });
        Progress { out: err, limit, columns, last: String::new() }
    }
}

impl<W: Write> Progress<W> {
    /// Shows that something is going on before there is anything to tell.
    pub fn begin(&mut self) {
        if self.columns.is_some() {
            self.line("reading the cluster");
        }
    }

    /// Takes the line back, for an error that says all.
    pub fn clear(&mut self) {
        if self.columns.is_some() {
            let _ = write!(self.out, "\r\x1b[2K").and_then(|()| self.out.flush());
        }
    }

    /// Shows what is still waited for.
    pub fn show(&mut self, report: &Report, waited: Duration) {
        self.waiting_for(&state(report), waited);
    }

    /// The same in words.
    pub fn waiting_for(&mut self, state: &str, waited: Duration) {
        if self.columns.is_some() || state != self.last {
            let (waited, limit) = (seconds(waited), seconds(self.limit));
            self.line(&format!("waiting {waited} of {limit}: {state}"));
        }
        self.last = state.to_owned();
    }

    /// Says how it ended.
    pub fn end(&mut self, healthy: bool, report: &Report, waited: Duration) {
        let waited = seconds(waited);
        let text = match healthy {
            true => format!("healthy after {waited}"),
            false => format!("not healthy within {waited}: {}", state(report)),
        };
        self.last_line(&text);
    }

    /// Says that no one waits any more.
    pub fn give_up(&mut self, signal: &str) {
        let state = if self.last.is_empty() { "nothing seen yet" } else { &self.last };
        self.last_line(&format!("{signal} while waiting: {state}"));
    }

    /// The line that stays is not cut: nothing is written over it.
    fn last_line(&mut self, text: &str) {
        let clear = if self.columns.is_some() { "\r\x1b[2K" } else { "" };
        let _ = writeln!(self.out, "{clear}{}", plain(text));
    }

    fn line(&mut self, text: &str) {
        let text = plain(text);
        let _ = match self.columns {
            // one column stays free: a full line would already wrap, and could not be taken back whole
            Some(columns) => write!(self.out, "\r\x1b[2K{}", cut(&text, columns.saturating_sub(1))),
            None => writeln!(self.out, "{text}"),
        };
        let _ = self.out.flush();
    }
}

fn seconds(time: Duration) -> String {
    age(SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX))
}

fn cut(text: &str, columns: usize) -> String {
    match text.chars().count() > columns {
        true => text.chars().take(columns.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// The worst finding and how many there are beside it; without any, what is unknown.
fn state(report: &Report) -> String {
    let unknown = match report.unknown.len() {
        0 => String::new(),
        number => format!(", {number} unknown"),
    };
    match (report.findings.first(), report.unknown.first()) {
        (Some(worst), _) => {
            let others = match report.findings.len() - 1 {
                0 => String::new(),
                number => format!(" and {number} more"),
            };
            format!("{} {} ({}){others}{unknown}", worst.severity, worst.object, worst.cause)
        }
        (None, Some(first)) => {
            let others = match report.unknown.len() - 1 {
                0 => String::new(),
                number => format!(" and {number} more unknown"),
            };
            format!("{} unknown: {}{others}", first.check, first.reason)
        }
        (None, None) if report.data.known => report.data.line.clone(),
        (None, None) => "nothing found".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Check;
    use crate::checks::CATALOGUE;
    use crate::testing::*;

    const PENDING: &str = "apiVersion: longhorn.io/v1beta2\nkind: Setting\n\
        metadata: {name: priority-class, namespace: longhorn-system}\nvalue: x\nstatus: {applied: false}\n---\n";

    fn pending() -> &'static Check {
        CATALOGUE.by_id("danger_zone_pending").unwrap()
    }

    fn report(yaml: &str) -> Report {
        run(pending(), &live_at("2026-01-01T00:00:00Z", yaml)).report
    }

    fn progress(columns: Option<usize>) -> Progress<Vec<u8>> {
        Progress { out: Vec::new(), limit: Duration::from_secs(300), columns, last: String::new() }
    }

    fn written(progress: Progress<Vec<u8>>) -> String {
        String::from_utf8(progress.out).unwrap()
    }

    #[test]
    fn a_terminal_has_one_line_that_is_never_too_long_and_ends_clean() {
        let (absent, second) = (report(""), Duration::from_secs(1));
        let mut progress = progress(Some(30));
        progress.begin();
        progress.clear();
        progress.show(&absent, second);
        progress.show(&absent, 2 * second);
        progress.end(false, &absent, 300 * second);
        let text = written(progress);
        let lines: Vec<_> = text.split("\r\x1b[2K").collect();
        assert_eq!(lines[..4], ["", "reading the cluster", "", "waiting 1 s of 5 min: cluste…"]);
        assert!(lines[4].starts_with("waiting 2 s of 5 min: "), "{text:?}");
        assert!(lines[5].starts_with("not healthy within 5 min: cluster unknown: no Longhorn object in"));
        assert!(
            lines[5].ends_with("; set Longhorn's namespace with --namespace\n") && lines.len() == 6,
            "{text:?}"
        );
    }

    #[test]
    fn a_log_has_a_line_a_change() {
        let mut progress = progress(None);
        progress.begin();
        progress.clear();
        let (absent, managed) = (report(""), report(MANAGER));
        for waited in 0..3 {
            progress.show(&absent, Duration::from_secs(waited));
        }
        progress.show(&report(&format!("{MANAGER}{PENDING}")), Duration::from_secs(3));
        progress.end(true, &managed, Duration::from_secs(4));
        let text = written(progress);
        let lines: Vec<_> = text.lines().collect();
        assert!(!text.contains(['\r', '\x1b']) && lines.len() == 3, "{text}");
        assert!(
            lines[0].starts_with("waiting 0 s of 5 min: cluster unknown: no Longhorn object in"),
            "{text}"
        );
        assert!(lines[1].starts_with("waiting 3 s of 5 min: info Setting "), "{text}");
        assert_eq!(lines[2], "healthy after 4 s");
    }

    #[test]
    fn whoever_interrupts_gets_a_line_of_his_own() {
        let mut early = progress(Some(80));
        early.give_up("interrupted");
        assert_eq!(written(early), "\r\x1b[2Kinterrupted while waiting: nothing seen yet\n");
        let mut late = progress(None);
        late.show(&report(""), Duration::ZERO);
        late.give_up("terminated");
        assert!(written(late).contains("\nterminated while waiting: cluster unknown: no Longhorn object"));
    }
}
