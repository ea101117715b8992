//! How text is dressed for the place it is written to.

use std::io::{self, Write};

use crate::Status;
use crate::check::{Severity, plain};

/// Colours and columns.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    pub colours: bool,
    /// Columns to fill; text is wrapped at words.
    pub width: usize,
    /// Lines of the terminal; what does not fit in them is left to other views.
    pub rows: Option<usize>,
}

impl Style {
    /// For a file: no colours, and as wide as is good to read.
    pub const DEFAULT: Style = Style { colours: false, width: 100, rows: None };

    /// Text in a colour.
    pub fn paint(self, code: &str, text: &str) -> String {
        if self.colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Bold text.
    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// A severity in its colour, filled up to eight columns.
    pub fn severity(self, severity: Severity) -> String {
        let code = match severity {
            Severity::Critical => "1;31",
            Severity::Warning => "33",
            Severity::Info => "36",
        };
        self.paint(code, &format!("{severity:<8}"))
    }

    /// A status in capitals and in its colour, filled up to eight columns. With notes alone a cluster is healthy, as the page says.
    pub fn status(self, status: Status) -> String {
        let (code, status) = match status {
            Status::Healthy | Status::Info => ("32", Status::Healthy),
            Status::Warning => ("33", status),
            Status::Critical => ("1;31", status),
            Status::Unknown => ("35", status),
        };
        self.paint(code, &format!("{:<8}", status.as_str().to_uppercase()))
    }

    /// Text beside an indent, with a label in front.
    pub fn labelled(self, out: &mut dyn Write, indent: &str, label: &str, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.wrap(out, indent, &format!("{label}: {text}"))
    }

    /// Text beside an indent.
    pub fn wrap(self, out: &mut dyn Write, indent: &str, text: &str) -> io::Result<()> {
        self.lines(indent, text).iter().try_for_each(|line| writeln!(out, "{indent}{line}"))
    }

    /// Text beside a margin that is as wide as the indent of the lines after it.
    pub fn hang(self, out: &mut dyn Write, margin: &str, indent: &str, text: &str) -> io::Result<()> {
        for (index, line) in self.lines(indent, text).iter().enumerate() {
            writeln!(out, "{}{line}", if index == 0 { margin } else { indent })?;
        }
        Ok(())
    }

    /// The lines that a text takes beside this indent; one at least.
    pub fn lines(self, indent: &str, text: &str) -> Vec<String> {
        let room = self.width.saturating_sub(indent.len()).max(20);
        let (mut lines, mut line) = (Vec::new(), String::new());
        for word in text.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
                lines.push(std::mem::take(&mut line));
            }
            match line.is_empty() {
                false => line.push(' '),
                true if is_command(word) => line.push_str("· "),
                true => {}
            }
            line.push_str(&plain(word));
        }
        lines.push(line);
        lines
    }

    /// One line, cut where there is no room.
    pub fn one_line(self, indent: &str, text: &str) -> String {
        let whole = self.lines(indent, text);
        let first = |lines: Vec<String>| lines.into_iter().next().unwrap_or_default();
        if whole.len() <= 1 {
            return first(whole);
        }
        let narrower = Style { width: self.width.saturating_sub(2), ..self };
        format!("{} …", first(narrower.lines(indent, text)))
    }
}

/// What a runner of CI takes for a command at the beginning of a line of a job's log: GitHub's, Azure's and TeamCity's.
fn is_command(word: &str) -> bool {
    ["::", "##[", "##vso[", "##teamcity["].iter().any(|start| word.starts_with(start))
}
