//! Logs on standard error, as logfmt or JSON.

use std::fmt::{self, Write};

use clap::ValueEnum;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::check::is_hidden;
use crate::word_enum::word_enum;

word_enum! {
    /// The least that is logged.
    #[derive(ValueEnum)]
    pub enum LogLevel {
        Debug = "debug",
        Info = "info",
        Warn = "warn",
        Error = "error",
    }
}

/// How it is written.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum LogFormat {
    Logfmt,
    Json,
}

/// Starts logging for the whole process. Libraries of others say only what is wrong, unless
/// debugging is asked for; HTTP internals would write out headers, so they never say more.
pub fn init(level: LogLevel, format: LogFormat) {
    let level = level.as_str();
    let libraries = if level == "error" { "error" } else { "warn" };
    // kube logs whole answers that do not decode, and every failed call without saying of which kind;
    // the live source says it in a line with the kind and the reason
    let kube = if level == "debug" {
        "kube_client=warn,kube_runtime=warn"
    } else {
        "kube_client=off,kube_runtime=off"
    };
    // a question that no one answers is the client's mistake, which it is told
    let rmcp = if level == "debug" { "rmcp=warn" } else { "rmcp=error" };
    let filter = EnvFilter::new(format!("{libraries},{kube},{rmcp},longhorn_health={level}"));
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    let layer = match format {
        LogFormat::Logfmt => layer.event_format(Logfmt).boxed(),
        LogFormat::Json => layer.json().flatten_event(true).with_target(false).boxed(),
    };
    // fails only if logging was started before, and then goes on as it was
    let _ = tracing_subscriber::registry().with(layer.with_filter(filter)).try_init();
}

/// `time=… level=info msg="…" key=value`.
struct Logfmt;

impl<S, N> FormatEvent<S, N> for Logfmt
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    #[allow(clippy::disallowed_methods, reason = "a log line tells when it was written")]
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warn",
            Level::INFO => "info",
            _ => "debug",
        };
        let mut fields = LogFields::default();
        event.record(&mut fields);
        let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        write!(writer, "time={time} level={level} msg=")?;
        write_value(&mut writer, &fields.message)?;
        for (key, value) in &fields.others {
            write!(writer, " {key}=")?;
            write_value(&mut writer, value)?;
        }
        writeln!(writer)
    }
}

#[derive(Default)]
struct LogFields {
    message: String,
    others: Vec<(&'static str, String)>,
}

impl LogFields {
    fn add(&mut self, field: &Field, value: String) {
        if field.name() == "message" {
            self.message = value;
        } else {
            self.others.push((field.name(), value));
        }
    }
}

impl Visit for LogFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format!("{value:?}"));
    }
}

/// A value is quoted when a reader could not tell its end otherwise; control characters are always
/// escaped, so that no text from a cluster can forge a line.
fn write_value(out: &mut dyn Write, value: &str) -> fmt::Result {
    let plain = |c: char| !c.is_whitespace() && !is_hidden(c) && !matches!(c, '"' | '=' | '\\');
    if !value.is_empty() && value.chars().all(plain) {
        return out.write_str(value);
    }
    out.write_char('"')?;
    for c in value.chars() {
        match c {
            '"' | '\\' => write!(out, "\\{c}")?,
            '\n' => out.write_str("\\n")?,
            '\t' => out.write_str("\\t")?,
            c if is_hidden(c) => write!(out, "\\u{:04x}", u32::from(c))?,
            c => out.write_char(c)?,
        }
    }
    out.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_when_they_need_it() {
        let written = |value| {
            let mut out = String::new();
            write_value(&mut out, value).unwrap();
            out
        };
        assert_eq!(written("127.0.0.1:10945"), "127.0.0.1:10945");
        assert_eq!(written("two words"), "\"two words\"");
        assert_eq!(written(""), "\"\"");
        assert_eq!(
            written("a=\"b\"\nlevel=error\u{1b}[0m\u{202e}"),
            "\"a=\\\"b\\\"\\nlevel=error\\u001b[0m\\u202e\""
        );
    }
}
