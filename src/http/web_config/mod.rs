//! `--web.config.file`: TLS, users, headers and a rate limit, in the format that Prometheus'
//! exporter-toolkit gave its exporters, so that one file serves them all.
//!
//! [`mod@file`] reads the YAML, [`tls`] and [`client_auth`] make rustls' configuration of it, and
//! [`reload`] reads everything again when a file changed.

mod client_auth;
mod file;
mod reload;
#[cfg(test)]
mod tests;
mod tls;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{self, HeaderName, HeaderValue};
use jiff::SignedDuration;
use serde_yaml::Spanned;

use crate::exporter::Stamp;

use reload::SeenFiles;
pub use reload::WebConfigFile;

/// A web configuration that cannot be used.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[error("{place}: {message}")]
pub struct WebConfigError {
    /// The file as the user named it, with the line where one is known.
    pub place: String,
    pub message: String,
}

impl WebConfigError {
    fn at(file: &str, line: Option<u64>, message: impl Into<String>) -> Self {
        let place = line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"));
        WebConfigError { place, message: message.into() }
    }
}

/// What the file says, ready for use.
#[derive(Default)]
pub struct WebConfig {
    /// TLS, or plain HTTP.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// Headers of every answer.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// bcrypt hashes by user; empty for no authentication by password.
    pub users: BTreeMap<String, String>,
    /// How many requests are answered.
    pub rate: Option<Rate>,
}

/// A bucket of `burst` requests, into which one falls every `interval`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Time for one request.
    pub interval: Duration,
    /// Requests at once after a pause.
    pub burst: u32,
}

/// As in exporter-toolkit.
const DEFAULT_BURST: u32 = 20;

impl WebConfig {
    /// Reads the file and what it names. The second value is every file that was, or should have
    /// been, read: also after an error, because mending one of them is a reason to read again.
    fn read(path: &Path) -> (Result<Self, WebConfigError>, SeenFiles) {
        let mut reader = WebConfigReader { name: path.display().to_string(), path, seen: SeenFiles::new() };
        (reader.config(), reader.seen)
    }
}

/// What is wrong with the text of a web configuration on its own.
#[cfg(any(test, fuzzing))]
pub fn judge(text: &str) -> Result<(), WebConfigError> {
    let name = "web.yml";
    let reader = WebConfigReader { name: name.to_owned(), path: Path::new(name), seen: SeenFiles::new() };
    reader.values(file::parse(name, text)?).map(drop)
}

/// Reads a file. Opening a FIFO would wait for a writer.
fn read_regular(path: &Path) -> std::io::Result<Vec<u8>> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() && !metadata.is_dir() {
        return Err(std::io::Error::other("not a regular file"));
    }
    std::fs::read(path)
}

/// Reads one file, and remembers what else it read.
struct WebConfigReader<'a> {
    name: String,
    path: &'a Path,
    seen: SeenFiles,
}

impl WebConfigReader<'_> {
    fn config(&mut self) -> Result<WebConfig, WebConfigError> {
        self.seen.push((self.path.to_owned(), Stamp::of(self.path)));
        let text = read_regular(self.path)
            .and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other))
            .map_err(|error| WebConfigError::at(&self.name, None, error.to_string()))?;
        let file = file::parse(&self.name, &text)?;
        let tls = file.tls_server_config.as_ref().map(|tls| self.tls(tls)).transpose()?.flatten();
        Ok(WebConfig { tls, ..self.values(file)? })
    }

    /// What the file says on its own.
    fn values(&self, file: file::WrittenConfig) -> Result<WebConfig, WebConfigError> {
        let mut config = WebConfig::default();
        for (user, hash) in file.basic_auth_users.unwrap_or_default() {
            if let Err(error) = hash.value.parse::<bcrypt::HashParts>() {
                let message = format!("user {user}'s password is not a bcrypt hash: {error}");
                return Err(self.wrong(&hash, message));
            }
            config.users.insert(user, hash.value);
        }
        if let Some(headers) = file.http_server_config.and_then(|http| http.headers) {
            config.headers = self.headers(headers)?;
        }
        if let Some(rate) = &file.rate_limit {
            config.rate = self.rate(rate)?;
        }
        Ok(config)
    }

    fn wrong<T>(&self, place: &Spanned<T>, message: impl Into<String>) -> WebConfigError {
        WebConfigError::at(&self.name, Some(place.referenced.line()), message)
    }

    /// The content of a file that the configuration names; a relative path begins beside it.
    fn file(&mut self, key: &str, path: &Spanned<String>) -> Result<Vec<u8>, WebConfigError> {
        let full = self.path.parent().unwrap_or(Path::new("")).join(&path.value);
        self.seen.push((full.clone(), Stamp::of(&full)));
        read_regular(&full).map_err(|error| self.wrong(path, format!("{key} {}: {error}", path.value)))
    }

    fn headers(&self, headers: file::Headers) -> Result<Vec<(HeaderName, HeaderValue)>, WebConfigError> {
        const X_FRAME: [&str; 2] = ["deny", "sameorigin"];
        const X_TYPE: [&str; 1] = ["nosniff"];
        let mut set = Vec::new();
        for (name, value, choices) in [
            (header::CONTENT_SECURITY_POLICY, headers.content_security_policy, None),
            (header::X_FRAME_OPTIONS, headers.x_frame_options, Some(&X_FRAME[..])),
            (header::X_CONTENT_TYPE_OPTIONS, headers.x_content_type_options, Some(&X_TYPE[..])),
            (header::X_XSS_PROTECTION, headers.x_xss_protection, None),
            (header::STRICT_TRANSPORT_SECURITY, headers.strict_transport_security, None),
        ] {
            let Some(value) = value.filter(|value| !value.value.is_empty()) else { continue };
            if let Some(choices) = choices.filter(|all| !all.contains(&&*value.value.to_lowercase())) {
                let message = format!("{name} must be {}", choices.join(" or "));
                return Err(self.wrong(&value, message));
            }
            let header = HeaderValue::from_str(&value.value).map_err(|_| {
                self.wrong(&value, format!("{name} has characters that a header cannot have"))
            })?;
            set.push((name, header));
        }
        Ok(set)
    }

    /// An interval of zero means no limit.
    fn rate(&self, rate: &Spanned<file::WrittenRate>) -> Result<Option<Rate>, WebConfigError> {
        let Some(text) = &rate.value.interval else {
            return Err(self.wrong(rate, "rate_limit needs an interval, such as 1s"));
        };
        let interval = text.value.parse::<SignedDuration>().ok().and_then(|d| Duration::try_from(d).ok());
        let interval = match interval {
            Some(interval) => interval,
            None if text.value == "0" => Duration::ZERO,
            None => return Err(self.wrong(text, "interval is not a duration; use one such as 1s or 500ms")),
        };
        let burst = rate.value.burst.unwrap_or(DEFAULT_BURST);
        if burst == 0 && !interval.is_zero() {
            return Err(self.wrong(rate, "burst 0 would reject every request; use 1 or more"));
        }
        Ok((!interval.is_zero()).then_some(Rate { interval, burst }))
    }
}
