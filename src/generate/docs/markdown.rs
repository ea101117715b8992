//! Markdown, as much of it as the references need.

use std::fmt::Write;

use crate::check::Cause;
use crate::generate::Target;

/// A page that is being written.
#[derive(Debug)]
pub struct Page {
    text: String,
}

impl Page {
    /// A page that says what made it, with its heading.
    pub fn new(title: &str) -> Self {
        Page { text: format!("<!-- {} -->\n\n# {title}\n", Target::Docs.header()) }
    }

    /// A part of a page that somebody else wrote.
    pub fn part() -> Self {
        Page { text: String::new() }
    }

    /// A heading.
    pub fn heading(&mut self, level: usize, text: &str) {
        let _ = writeln!(self.text, "\n{} {text}", "#".repeat(level));
    }

    /// A paragraph, or anything else that is Markdown already.
    pub fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.text, "\n{}", text.trim_end());
    }

    /// A block of code.
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

    /// The text so far.
    pub fn finish(self) -> String {
        self.text
    }
}

/// Text that stays within its cell.
fn escape(cell: &str) -> String {
    cell.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// As code.
pub fn code(text: &str) -> String {
    format!("`{text}`")
}

/// Each as code, with commas between.
pub fn codes<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    texts.into_iter().map(code).collect::<Vec<_>>().join(", ")
}

/// What is not there.
pub fn or_none(text: String) -> String {
    if text.is_empty() { "–".to_owned() } else { text }
}

/// Causes one after the other; those that only differ in their name stand in one row.
pub fn causes<'a>(page: &mut Page, causes: impl IntoIterator<Item = &'a Cause>) {
    let mut groups: Vec<Vec<&Cause>> = Vec::new();
    for cause in causes {
        match groups.last_mut() {
            Some(group) if group.iter().all(|other| is_alike(other, cause)) => group.push(cause),
            _ => groups.push(vec![cause]),
        }
    }
    let rows = groups.iter().filter_map(|group| {
        let first = group.first()?;
        let names = codes(group.iter().map(|cause| cause.id));
        Some([names, first.severity.to_string(), first.summary.to_owned()])
    });
    page.table(["cause", "severity", "meaning"], rows);
}

fn is_alike(a: &Cause, b: &Cause) -> bool {
    (a.severity, a.summary) == (b.severity, b.summary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Severity;

    #[test]
    fn tables_keep_their_shape_whatever_the_cells_hold() {
        let mut page = Page::part();
        page.table(["a", "b"], [["x|y".to_owned(), "two\n  lines".to_owned()]]);
        assert_eq!(page.finish(), "\n| a | b |\n| --- | --- |\n| x\\|y | two lines |\n");
        let mut page = Page::part();
        page.table(["a"], []);
        assert_eq!(page.finish(), "");
    }

    #[test]
    fn causes_of_the_same_meaning_share_a_row() {
        let cause = |id, summary| Cause { id, severity: Severity::Info, summary };
        let mut page = Page::part();
        causes(&mut page, &[cause("a", "one"), cause("b", "one"), cause("c", "two")]);
        let text = page.finish();
        assert!(text.ends_with("| `a`, `b` | info | one |\n| `c` | info | two |\n"), "{text}");
    }
}
