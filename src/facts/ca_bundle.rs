//! The certificates by which the API server trusts a webhook: `caBundle` of a webhook configuration.
//!
//! Managers write what Secret longhorn-webhook-ca holds: a CA that signed itself for ten years (rancher/dynamiclistener
//! cert/cert.go NewSelfSignedCACert). From 1.11.3 on the manager that rotates replaces one that has 90 days left (longhorn-manager v1.11.3
//! to v1.12.1 webhook/cert/bootstrap.go EnsureWebhookSecrets); before, none does: dynamiclistener loads the CA that is there
//! (storage/kubernetes/ca.go LoadOrGenCA) and renews only what it signs.

use base64::Engine as _;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use webpki::anchor_from_trusted_cert;

/// More is no bundle that a manager wrote.
const LONGEST: usize = 256 * 1024;

/// A certificate of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ca {
    /// Whom it is about, and its key: what a signature is verified with.
    identity: (Vec<u8>, Vec<u8>),
    pub from: Timestamp,
    pub until: Timestamp,
}

/// The certificates of a bundle; empty where it holds none that can be read, of which nothing is said.
pub fn read(bundle: &str) -> Vec<Ca> {
    if bundle.len() > LONGEST {
        return Vec::new();
    }
    let joined: String = bundle.split_ascii_whitespace().collect();
    let Ok(pem) = base64::engine::general_purpose::STANDARD.decode(joined) else { return Vec::new() };
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let read = certificates.ok().and_then(|all| all.iter().map(of_certificate).collect::<Option<Vec<_>>>());
    read.unwrap_or_default()
}

/// True where no certificate of one is in the other: no answer can be trusted by both.
pub fn disagree(one: &[Ca], other: &[Ca]) -> bool {
    let shared = |ca: &Ca| other.iter().any(|it| it.identity == ca.identity);
    !one.is_empty() && !other.is_empty() && !one.iter().any(shared)
}

/// Why the API server trusts no answer by this bundle, at a moment; `right` is what managers wrote elsewhere. `None` where it may.
pub fn distrust(bundle: &str, right: &[Ca], now: Timestamp) -> Option<&'static str> {
    if bundle.is_empty() {
        return Some("is empty");
    }
    let cas = read(bundle);
    let valid = |ca: &Ca| ca.from <= now && now < ca.until;
    match () {
        () if !cas.is_empty() && !cas.iter().any(valid) => Some("is not valid now"),
        () if disagree(&cas, right) => Some("has another CA than the admission webhook"),
        () => None,
    }
}

fn of_certificate(certificate: &CertificateDer<'_>) -> Option<Ca> {
    let anchor = anchor_from_trusted_cert(certificate).ok()?;
    let identity = (anchor.subject.to_vec(), anchor.subject_public_key_info.to_vec());
    let (from, until) = validity(certificate)?;
    Some(Ca { identity, from, until })
}

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Its dates, which webpki keeps to itself (RFC 5280 4.1: version, serial, signature, issuer, validity).
fn validity(certificate: &[u8]) -> Option<(Timestamp, Timestamp)> {
    let (SEQUENCE, certificate, _) = element(certificate)? else { return None };
    let (SEQUENCE, mut rest, _) = element(certificate)? else { return None };
    if let (VERSION, _, after) = element(rest)? {
        rest = after;
    }
    for _ in ["serial number", "signature", "issuer"] {
        (_, _, rest) = element(rest)?;
    }
    let (SEQUENCE, dates, _) = element(rest)? else { return None };
    let (kind, from, rest) = element(dates)?;
    let from = time(kind, from)?;
    let (kind, until, _) = element(rest)?;
    Some((from, time(kind, until)?))
}

/// Kind and content of an element of DER, and what follows.
pub fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&kind, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        ..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((kind, content, rest))
}

/// `YYMMDDHHMMSSZ`, where 50 and more are of the last century, or `YYYYMMDDHHMMSSZ`.
fn time(kind: u8, digits: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(digits).ok()?.strip_suffix('Z')?;
    let whole = match kind {
        UTC_TIME if text.len() == 12 => {
            let century = if text.get(..2)? >= "50" { "19" } else { "20" };
            format!("{century}{text}")
        }
        GENERALIZED_TIME if text.len() == 14 => text.to_owned(),
        _ => return None,
    };
    let time = DateTime::strptime("%Y%m%d%H%M%S", &whole).ok()?;
    time.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp())
}

#[cfg(test)]
#[path = "ca_bundle_tests.rs"]
mod tests;
