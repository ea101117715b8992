//! Markdown, as much of it as the references need.

use std::fmt::Write;

use crate::check::Cause;
use crate::generate::Target;

#[derive(Debug)]
pub struct Document {
    text: String,
}

impl Document {
    /// A page that says what made it, with its heading.
    pub fn new(title: &str) -> Self {
        Document { text: format!("<!-- {} -->\n\n# {title}\n", Target::Docs.header()) }
    }

    pub fn heading(&mut self, level: usize, text: &str) {
        let _ = writeln!(self.text, "\n{} {text}", "#".repeat(level));
    }

    /// A paragraph, or anything else that is Markdown already.
    pub fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.text, "\n{}", text.trim_end());
    }

    pub fn code(&mut self, language: &str, text: &str) {
        let _ = writeln!(self.text, "\n```{language}\n{}\n```", text.trim_end());
    }

    /// A table; nothing at all without rows.
    pub fn table<const N: usize>(&mut self, head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) {
        let mut rows = rows.into_iter().peekable();
        if rows.peek().is_none() {
            return;
        }
        self.text.push('\n');
        let mut line = |cells: [String; N]| {
            let _ = writeln!(self.text, "| {} |", cells.map(|cell| escape(&cell)).join(" | "));
        };
        line(head.map(str::to_owned));
        line([(); N].map(|()| "---".to_owned()));
        rows.for_each(line);
    }

    pub fn finish(self) -> String {
        self.text
    }
}

fn escape(cell: &str) -> String {
    cell.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

pub fn code(text: &str) -> String {
    format!("`{text}`")
}

pub fn codes(texts: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    texts.into_iter().map(|text| code(text.as_ref())).collect::<Vec<_>>().join(", ")
}

/// What is not there.
pub fn or_none(text: String) -> String {
    if text.is_empty() { "–".to_owned() } else { text }
}

/// Causes one after the other; those that only differ in their name stand in one row.
pub fn causes<'a>(page: &mut Document, causes: impl IntoIterator<Item = &'a Cause>) {
    let causes: Vec<&Cause> = causes.into_iter().collect();
    let is_alike = |a: &&Cause, b: &&Cause| (a.severity, a.summary) == (b.severity, b.summary);
    let rows = causes.chunk_by(is_alike).filter_map(|group| {
        let first = group.first()?;
        let names = codes(group.iter().map(|cause| cause.id));
        Some([names, first.severity.to_string(), first.summary.to_owned()])
    });
    page.table(["cause", "severity", "meaning"], rows);
}

/// Whom a generated file is of is of no interest where it is read as text.
pub fn without_head(page: String) -> String {
    match page.strip_prefix("<!--").and_then(|rest| rest.split_once("-->")) {
        Some((_, rest)) => rest.trim_start().to_owned(),
        None => page,
    }
}
