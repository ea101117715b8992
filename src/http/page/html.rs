//! HTML in which nothing from outside can be anything but text.

use std::fmt::{self, Display, Write};

use jiff::{SignedDuration, Timestamp};
use pulldown_cmark::Event;
use pulldown_cmark::html::push_html;

use crate::check::is_hidden;

/// HTML being written. Markup must be a constant of the program; everything else goes through
/// [`Html::text`], which escapes. So a hostile name cannot become markup by oversight.
#[derive(Debug, Default)]
pub struct Html(String);

impl Html {
    /// Markup.
    pub fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text, in an element or in a quoted attribute.
    pub fn text(&mut self, text: impl Display) -> &mut Self {
        let _ = write!(Escaping(&mut self.0), "{text}"); // writing to a String cannot fail
        self
    }

    /// Parsed Markdown without markup of its own; everything in it is escaped.
    pub fn markdown<'a>(&mut self, events: impl Iterator<Item = Event<'a>>) -> &mut Self {
        push_html(
            &mut self.0,
            events.filter(|event| !matches!(event, Event::Html(_) | Event::InlineHtml(_))),
        );
        self
    }

    /// The document.
    pub fn into_string(self) -> String {
        self.0
    }
}

struct Escaping<'a>(&'a mut String);

impl fmt::Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                // marks of direction could make a command look like another
                c if is_hidden(c) && c != '\n' && c != '\t' => self.0.push('\u{fffd}'),
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}

/// `1 warning`, `2 warnings`.
pub fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// How long ago, in one or two units: `5 s`, `3 h 20 min`, `12 days`.
pub fn ago(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.duration_since(then).max(SignedDuration::ZERO).as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{minutes} min"),
        3600..172_800 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} days"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::time;

    #[test]
    fn text_cannot_become_markup() {
        let mut html = Html::default();
        html.raw("<p title=\"").text("\"><script>alert('&')</script>").raw("\">");
        assert_eq!(
            html.into_string(),
            "<p title=\"&quot;&gt;&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;\">"
        );
    }

    #[test]
    fn text_cannot_change_the_direction_of_reading() {
        let mut html = Html::default();
        html.text("kubectl\u{202e}get\u{1b}[0m");
        assert_eq!(html.into_string(), "kubectl\u{fffd}get\u{fffd}[0m");
    }

    #[test]
    fn ages() {
        let now = time("2026-01-10T00:00:00Z");
        for (then, expected) in [
            ("2026-01-10T00:00:05Z", "0 s"),
            ("2026-01-09T23:59:55Z", "5 s"),
            ("2026-01-09T23:20:00Z", "40 min"),
            ("2026-01-09T00:00:00Z", "24 h 0 min"),
            ("2026-01-01T00:00:00Z", "9 days"),
        ] {
            assert_eq!(ago(now, time(then)), expected);
        }
    }
}
