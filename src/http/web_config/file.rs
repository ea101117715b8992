//! The web configuration file as it is written: Prometheus exporter-toolkit's format, read
//! strictly. A key that does not exist is an error that names the nearest one.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_yaml::Spanned;

use super::WebConfigError;
use crate::yaml_error;

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WrittenConfig {
    pub tls_server_config: Option<Spanned<Tls>>,
    pub http_server_config: Option<Http>,
    pub basic_auth_users: Option<BTreeMap<String, Spanned<String>>>,
    pub rate_limit: Option<Spanned<WrittenRate>>,
}

/// `tls_server_config`.
#[derive(Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Tls {
    pub cert_file: Option<Spanned<String>>,
    pub key_file: Option<Spanned<String>>,
    pub cert: Option<Spanned<String>>,
    pub key: Option<Spanned<String>>,
    pub client_auth_type: Option<Spanned<String>>,
    pub client_ca_file: Option<Spanned<String>>,
    pub client_ca: Option<Spanned<String>>,
    pub client_allowed_sans: Option<Vec<Spanned<String>>>,
    pub min_version: Option<Spanned<String>>,
    pub max_version: Option<Spanned<String>>,
    pub cipher_suites: Option<Vec<Spanned<String>>>,
    pub prefer_server_cipher_suites: Option<bool>,
    pub curve_preferences: Option<Vec<Spanned<String>>>,
}

/// `http_server_config`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    /// Accepted for the sake of shared files: this server speaks HTTP/1.1 either way.
    #[serde(rename = "http2")]
    pub _http2: Option<bool>,
    pub headers: Option<Headers>,
}

/// The headers that may be set.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Headers {
    #[serde(rename = "Content-Security-Policy")]
    pub content_security_policy: Option<Spanned<String>>,
    #[serde(rename = "X-Frame-Options")]
    pub x_frame_options: Option<Spanned<String>>,
    #[serde(rename = "X-Content-Type-Options")]
    pub x_content_type_options: Option<Spanned<String>>,
    #[serde(rename = "X-XSS-Protection")]
    pub x_xss_protection: Option<Spanned<String>>,
    #[serde(rename = "Strict-Transport-Security")]
    pub strict_transport_security: Option<Spanned<String>>,
}

/// `rate_limit`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WrittenRate {
    pub interval: Option<Spanned<String>>,
    pub burst: Option<u32>,
}

/// There may be a private key in it.
impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

/// Reads the text of a file. `name` is how the user named it.
pub fn parse(name: &str, text: &str) -> Result<WrittenConfig, WebConfigError> {
    let parsed: Result<Option<WrittenConfig>, _> = serde_yaml::from_str(text);
    parsed.map(Option::unwrap_or_default).map_err(|error| {
        // a wrong value may be a secret, so only its place is reported
        let (line, message) = yaml_error::explain_secret(&error);
        WebConfigError::at(name, Some(line), message)
    })
}
