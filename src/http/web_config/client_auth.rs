//! Client certificates: Go's five ways to ask for one, and the names that are allowed in it.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{self, CryptoProvider};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme,
};

use crate::did_you_mean;

const KINDS: [&str; 5] = [
    "NoClientCert", "RequestClientCert", "RequireAnyClientCert", "VerifyClientCertIfGiven",
    "RequireAndVerifyClientCert",
];

/// What `client_auth_type` and its companions ask for; `None` when no certificate is asked for.
pub fn verifier<'s>(
    kind: Option<&str>,
    authorities: Option<Vec<CertificateDer<'static>>>,
    sans: impl Iterator<Item = &'s str>,
    provider: Arc<CryptoProvider>,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, String> {
    let kind = kind.filter(|kind| !kind.is_empty()).unwrap_or("NoClientCert");
    let (verify, mandatory) = match kind {
        "NoClientCert" => (None, false),
        "RequestClientCert" => (Some(false), false),
        // the second is how exporter-toolkit spells it in older releases
        "RequireAnyClientCert" | "RequireClientCert" => (Some(false), true),
        "VerifyClientCertIfGiven" => (Some(true), false),
        "RequireAndVerifyClientCert" => (Some(true), true),
        other => {
            return Err(format!("unknown client_auth_type {other}; {}", did_you_mean::hint(other, &KINDS)));
        }
    };
    let sans = sans.map(AllowedSan::parse).collect::<Result<Vec<_>, _>>()?;
    if !sans.is_empty() && verify != Some(true) {
        return Err(format!(
            "client_allowed_sans needs client_auth_type RequireAndVerifyClientCert, not {kind}"
        ));
    }
    let inner = match (verify, authorities) {
        (None, None) => return Ok(None),
        (None, Some(_)) => {
            let message = "client_ca_file without client_auth_type has no effect; \
                           set client_auth_type: RequireAndVerifyClientCert";
            return Err(message.to_owned());
        }
        (Some(false), _) => None,
        (Some(true), None) => {
            return Err(format!("client_auth_type {kind} needs client_ca_file or client_ca"));
        }
        (Some(true), Some(authorities)) => Some(webpki_verifier(authorities, mandatory, provider.clone())?),
    };
    Ok(Some(Arc::new(Verifier { inner, mandatory, sans, provider })))
}

fn webpki_verifier(
    authorities: Vec<CertificateDer<'static>>,
    mandatory: bool,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(authority).map_err(|error| format!("client_ca: {error}"))?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let builder = if mandatory { builder } else { builder.allow_unauthenticated() };
    builder.build().map_err(|error| format!("client_ca: {error}"))
}

/// A name, one of which must be in a client's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
enum AllowedSan {
    Ip(IpAddr),
    /// A DNS name or an URI, compared as it is written.
    Name(String),
}

impl AllowedSan {
    fn parse(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(ip) => Ok(AllowedSan::Ip(ip)),
            Err(_) if text.contains('@') && !text.contains("://") => Err(format!(
                "client_allowed_sans: {text} is a mail address, which is not supported; \
                             use a DNS name, a URI or an IP address"
            )),
            Err(_) => Ok(AllowedSan::Name(text.to_owned())),
        }
    }

    fn is_in(&self, certificate: &webpki::EndEntityCert<'_>) -> bool {
        match self {
            AllowedSan::Ip(ip) => {
                certificate.verify_is_valid_for_subject_name(&ServerName::from(*ip)).is_ok()
            }
            AllowedSan::Name(name) => {
                certificate.valid_dns_names().chain(certificate.valid_uri_names()).any(|san| san == name)
            }
        }
    }
}

/// Verifies by an authority where there is one, else takes any certificate that its client has the
/// key of.
struct Verifier {
    inner: Option<Arc<dyn ClientCertVerifier>>,
    mandatory: bool,
    sans: Vec<AllowedSan>,
    provider: Arc<CryptoProvider>,
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").field("mandatory", &self.mandatory).field("sans", &self.sans).finish()
    }
}

impl ClientCertVerifier for Verifier {
    fn client_auth_mandatory(&self) -> bool {
        self.mandatory
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.as_ref().map_or(&[], |inner| inner.root_hint_subjects())
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let Some(inner) = &self.inner else { return Ok(ClientCertVerified::assertion()) };
        let verified = inner.verify_client_cert(end_entity, intermediates, now)?;
        if self.sans.is_empty() {
            return Ok(verified);
        }
        let certificate = webpki::EndEntityCert::try_from(end_entity)
            .map_err(|_| Error::InvalidCertificate(CertificateError::BadEncoding))?;
        if self.sans.iter().any(|san| san.is_in(&certificate)) {
            Ok(verified)
        } else {
            Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
