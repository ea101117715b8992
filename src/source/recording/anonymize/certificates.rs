//! Certificates without the names in them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::facts::ca_bundle::element;

/// The base64 of certificates, with other letters in the names that are in them. Of the same certificates the same comes out.
pub(super) fn certificates(bundle: &str) -> String {
    let joined: String = bundle.split_ascii_whitespace().collect();
    let pem = STANDARD.decode(joined).unwrap_or_default();
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let renamed =
        read.ok().and_then(|all| all.iter().map(|one| with_other_letters(one)).collect::<Option<Vec<_>>>());
    let mut written = String::new();
    for certificate in renamed.unwrap_or_default() {
        let body = STANDARD.encode(certificate);
        written.push_str(&format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"));
    }
    // what could not be read is not empty either
    STANDARD.encode(if written.is_empty() && !bundle.is_empty() { "x" } else { &written })
}

/// The elements of DER, texts with letters of the same number: what they were changes them, so that the same stay the same.
fn with_other_letters(mut bytes: &[u8]) -> Option<Vec<u8>> {
    const CONSTRUCTED: u8 = 0x20;
    const OCTETS: u8 = 0x04;
    let mut out = Vec::with_capacity(bytes.len());
    while !bytes.is_empty() {
        let (kind, content, rest) = element(bytes)?;
        out.extend_from_slice(bytes.get(..bytes.len() - rest.len() - content.len())?);
        let is_text = matches!(kind, 0x0c | 0x12..=0x16 | 0x1a..=0x1e) || kind & 0xc0 == 0x80;
        match kind {
            _ if kind & CONSTRUCTED != 0 => out.extend(with_other_letters(content)?),
            OCTETS => out.extend(with_other_letters(content).unwrap_or_else(|| letters(content))),
            _ if is_text => out.extend(letters(content)),
            _ => out.extend_from_slice(content),
        }
        bytes = rest;
    }
    Some(out)
}

fn letters(text: &[u8]) -> Vec<u8> {
    // FNV-1a
    let hash = text.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let letter = |at: u32| b'a' + (hash.rotate_left(at * 5 % 64) % 16) as u8;
    (0..).map(letter).take(text.len()).collect()
}
