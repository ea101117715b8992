//! From `tls_server_config` to rustls: names are those of Go, as the format comes from there.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, SupportedKxGroup, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::{ProtocolVersion, ServerConfig, SupportedCipherSuite, SupportedProtocolVersion, version};
use serde_yaml::Spanned;

use super::file::Tls;
use super::{WebConfigError, WebConfigReader, client_auth};
use crate::did_you_mean;

/// Go's names of what rustls offers. What is not here has no forward secrecy or is broken.
const SUITES: [(&str, SupportedCipherSuite); 11] = {
    use ring::cipher_suite::*;
    [
        ("TLS_AES_128_GCM_SHA256", TLS13_AES_128_GCM_SHA256),
        ("TLS_AES_256_GCM_SHA384", TLS13_AES_256_GCM_SHA384),
        ("TLS_CHACHA20_POLY1305_SHA256", TLS13_CHACHA20_POLY1305_SHA256),
        ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
        ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
        ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
    ]
};

/// Go's names of curves.
const CURVES: [(&str, &dyn SupportedKxGroup); 3] = [
    ("X25519", ring::kx_group::X25519),
    ("CurveP256", ring::kx_group::SECP256R1),
    ("CurveP384", ring::kx_group::SECP384R1),
];

/// From old to new.
const VERSIONS: [(&str, &SupportedProtocolVersion); 2] =
    [("TLS12", &version::TLS12), ("TLS13", &version::TLS13)];

impl WebConfigReader<'_> {
    /// An empty section means plain HTTP, as in exporter-toolkit.
    pub(super) fn tls(&mut self, tls: &Spanned<Tls>) -> Result<Option<Arc<ServerConfig>>, WebConfigError> {
        let (place, tls) = (tls, &tls.value);
        if *tls == Tls::default() {
            return Ok(None);
        }
        let chain = self.pem("cert", &tls.cert, &tls.cert_file)?;
        let chain = chain.ok_or_else(|| self.wrong(place, "tls_server_config needs cert_file or cert"))?;
        let key = self.pem("key", &tls.key, &tls.key_file)?;
        let key = key.ok_or_else(|| self.wrong(place, "tls_server_config needs key_file or key"))?;
        let chain_certificates = self.certificates(&chain)?;
        let key_der = PrivateKeyDer::from_pem_slice(&key.bytes)
            .map_err(|error| self.wrong(key.place, format!("{}: no private key: {error}", key.what)))?;

        let (versions, provider) = self.protocol(tls)?;
        let provider = Arc::new(provider);
        let verifier = self.client_auth(place, provider.clone())?;
        let unusable = |error: rustls::Error| self.wrong(place, format!("tls_server_config: {error}"));
        let builder = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .map_err(unusable)?;
        let asks_for_certificates = verifier.is_some();
        let builder = match verifier {
            Some(verifier) => builder.with_client_cert_verifier(verifier),
            None => builder.with_no_client_auth(),
        };
        // also sees that the key belongs to the certificate
        let mut config = builder
            .with_single_cert(chain_certificates, key_der)
            .map_err(|error| self.wrong(chain.place, format!("{} and its key: {error}", chain.what)))?;
        config.ignore_client_order = tls.prefer_server_cipher_suites.unwrap_or(true);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        if asks_for_certificates {
            // a resumed session shows no certificate: it would outlive one that has expired since
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        Ok(Some(Arc::new(config)))
    }

    fn client_auth(
        &mut self,
        place: &Spanned<Tls>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Option<Arc<dyn rustls::server::danger::ClientCertVerifier>>, WebConfigError> {
        let tls = &place.value;
        let authorities = match self.pem("client_ca", &tls.client_ca, &tls.client_ca_file)? {
            Some(pem) => Some(self.certificates(&pem)?),
            None => None,
        };
        let kind = tls.client_auth_type.as_ref();
        let sans = tls.client_allowed_sans.iter().flatten().map(|san| san.value.as_str());
        client_auth::verifier(kind.map(|kind| kind.value.as_str()), authorities, sans, provider).map_err(
            |message| kind.map_or_else(|| self.wrong(place, &message), |kind| self.wrong(kind, &message)),
        )
    }

    /// Either the inline text or the content of the file.
    fn pem<'t>(
        &mut self,
        key: &str,
        inline: &'t Option<Spanned<String>>,
        file: &'t Option<Spanned<String>>,
    ) -> Result<Option<Pem<'t>>, WebConfigError> {
        let given = |text: &&Spanned<String>| !text.value.is_empty();
        match (inline.as_ref().filter(given), file.as_ref().filter(given)) {
            (Some(_), Some(path)) => {
                Err(self.wrong(path, format!("{key} and {key}_file exclude each other")))
            }
            (Some(text), None) => {
                Ok(Some(Pem { what: key.to_owned(), place: text, bytes: text.value.clone().into_bytes() }))
            }
            (None, Some(path)) => {
                let what = format!("{key}_file {}", path.value);
                let bytes = self.file(&format!("{key}_file"), path)?;
                Ok(Some(Pem { what, place: path, bytes }))
            }
            (None, None) => Ok(None),
        }
    }

    fn certificates(&self, pem: &Pem<'_>) -> Result<Vec<CertificateDer<'static>>, WebConfigError> {
        let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem.bytes).collect();
        match all {
            Ok(all) if all.is_empty() => {
                Err(self.wrong(pem.place, format!("{}: no certificate in it", pem.what)))
            }
            Ok(all) => Ok(all),
            Err(error) => Err(self.wrong(pem.place, format!("{}: {error}", pem.what))),
        }
    }

    fn protocol(
        &self,
        tls: &Tls,
    ) -> Result<(Vec<&'static SupportedProtocolVersion>, CryptoProvider), WebConfigError> {
        let mut provider = ring::default_provider();
        if let Some(names) = tls.cipher_suites.as_deref().filter(|names| !names.is_empty()) {
            let chosen = self.chosen("cipher suite", names, &SUITES)?;
            // as in Go, the choice is among suites of TLS 1.2; those of 1.3 are always on
            provider.cipher_suites.retain(|suite| suite.version().version == ProtocolVersion::TLSv1_3);
            let of_tls12 =
                chosen.into_iter().filter(|suite| suite.version().version == ProtocolVersion::TLSv1_2);
            provider.cipher_suites.extend(of_tls12);
        }
        if let Some(names) = tls.curve_preferences.as_deref().filter(|names| !names.is_empty()) {
            provider.kx_groups = self.chosen("curve", names, &CURVES)?;
        }
        let bound = |name: &Option<Spanned<String>>, default| match name {
            Some(name) if !name.value.is_empty() => {
                let names = VERSIONS.map(|(known, _)| known);
                let position = names.iter().position(|known| *known == name.value);
                position.ok_or_else(|| self.unknown("TLS version", name, &names))
            }
            _ => Ok(default),
        };
        let (min, max) = (bound(&tls.min_version, 0)?, bound(&tls.max_version, VERSIONS.len() - 1)?);
        let usable = |version: &&SupportedProtocolVersion| {
            provider.cipher_suites.iter().any(|suite| suite.version().version == version.version)
        };
        let versions = VERSIONS.iter().enumerate().filter(|(index, _)| (min..=max).contains(index));
        let versions: Vec<_> = versions.map(|(_, (_, version))| *version).filter(usable).collect();
        match tls.max_version.as_ref().or(tls.min_version.as_ref()) {
            Some(place) if versions.is_empty() => {
                Err(self.wrong(place, "min_version, max_version and cipher_suites leave no TLS version"))
            }
            _ => Ok((versions, provider)),
        }
    }

    fn chosen<T: Copy>(
        &self,
        what: &str,
        names: &[Spanned<String>],
        known: &[(&str, T)],
    ) -> Result<Vec<T>, WebConfigError> {
        let find = |name: &Spanned<String>| {
            let found = known.iter().find(|(known, _)| *known == name.value);
            found.map(|(_, value)| *value).ok_or_else(|| {
                let all: Vec<_> = known.iter().map(|(name, _)| *name).collect();
                self.unknown(what, name, &all)
            })
        };
        names.iter().map(find).collect()
    }

    fn unknown(&self, what: &str, name: &Spanned<String>, known: &[&str]) -> WebConfigError {
        let hint = did_you_mean::hint(&name.value, known);
        self.wrong(name, format!("{what} {} is unknown or not supported; {hint}", name.value))
    }
}

/// PEM text and where it comes from.
struct Pem<'t> {
    what: String,
    place: &'t Spanned<String>,
    bytes: Vec<u8>,
}
