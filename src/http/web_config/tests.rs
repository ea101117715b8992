use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;

use super::*;
use crate::exporter::WebConfigReload;

/// A directory with a certificate, its key, and the key of another.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        let files = Files(tempfile::tempdir().unwrap());
        files.certify("tls");
        let other = rcgen::KeyPair::generate().unwrap();
        files.write("other.key", &other.serialize_pem());
        files.write("empty.pem", "");
        files
    }

    fn certify(&self, name: &str) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        self.write(&format!("{name}.crt"), &made.cert.pem());
        self.write(&format!("{name}.key"), &made.signing_key.serialize_pem());
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, text: &str) -> Result<WebConfig, String> {
        self.write("web.yml", text);
        let (config, _) = WebConfig::read(&self.path("web.yml"));
        let directory = format!("{}/", self.0.path().display());
        config.map_err(|error| error.to_string().replace(&directory, ""))
    }
}

#[test]
fn what_exporter_toolkit_takes_is_taken() {
    let files = Files::new();
    let hash = bcrypt::hash("secret", 4).unwrap();
    let config = files
        .read(&format!(
            "tls_server_config:\n  cert_file: tls.crt\n  key_file: {}\n  client_auth_type: RequireAndVerifyClientCert\n  \
             client_ca_file: tls.crt\n  client_allowed_sans: [prometheus, 'spiffe://a/b', 10.0.0.1]\n  min_version: TLS12\n  \
             max_version: TLS13\n  cipher_suites: [TLS_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]\n  \
             prefer_server_cipher_suites: false\n  curve_preferences: [CurveP256, X25519]\n\
             http_server_config:\n  http2: true\n  headers:\n    X-Frame-Options: deny\n    Strict-Transport-Security: max-age=1\n\
             basic_auth_users:\n  alice: {hash}\n\
             rate_limit:\n  interval: 500ms\n",
            files.path("tls.key").display()
        ))
        .unwrap();
    assert!(config.tls.is_some());
    assert_eq!(config.users.keys().collect::<Vec<_>>(), ["alice"]);
    let headers: Vec<_> =
        config.headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
    assert_eq!(headers, [("x-frame-options", "deny"), ("strict-transport-security", "max-age=1")]);
    assert_eq!(config.rate, Some(Rate { interval: Duration::from_millis(500), burst: 20 }));
}

#[test]
fn nothing_said_is_plain_http_for_everybody() {
    for text in
        ["", "# nothing\n", "{}", "tls_server_config: {}\nhttp_server_config: {}\nbasic_auth_users: {}\n"]
    {
        let config = Files::new().read(text).unwrap();
        assert!(config.tls.is_none() && config.users.is_empty() && config.headers.is_empty(), "{text}");
    }
    assert_eq!(Files::new().read("rate_limit: {interval: 0}").unwrap().rate, None);
}

#[test]
fn certificates_may_stand_in_the_file() {
    let files = Files::new();
    let indented = |name| std::fs::read_to_string(files.path(name)).unwrap().replace('\n', "\n    ");
    let text = format!(
        "tls_server_config:\n  cert: |\n    {}\n  key: |\n    {}\n",
        indented("tls.crt"),
        indented("tls.key")
    );
    assert!(files.read(&text).unwrap().tls.is_some());
}

#[test]
fn what_is_wrong_is_told_with_file_and_line() {
    let files = Files::new();
    let tls =
        |more: &str| format!("tls_server_config:\n  cert_file: tls.crt\n  key_file: tls.key\n  {more}\n");
    for (text, expected) in [
        (
            "tls_config: {}\n".to_owned(),
            "web.yml:1: unknown key tls_config; valid: tls_server_config, http_server_config, basic_auth_users",
        ),
        (tls("cert_fil: a"), "web.yml:4: unknown key cert_fil; did you mean cert_file?"),
        (
            "http_server_config:\n  headers:\n    x-frame-option: deny\n".to_owned(),
            "web.yml:3: unknown key x-frame-option; did you mean X-Frame-Options?",
        ),
        (
            "http_server_config:\n  headers:\n    X-Frame-Options: allow\n".to_owned(),
            "web.yml:3: x-frame-options must be deny or sameorigin",
        ),
        (
            "http_server_config: {http3: true}\n".to_owned(),
            "web.yml:1: unknown key http3; did you mean http2?",
        ),
        (
            "rate_limit:\n  interval: soon\n".to_owned(),
            "web.yml:2: interval is not a duration; use one such as 1s or 500ms",
        ),
        ("rate_limit: {burst: 2}\n".to_owned(), "web.yml:1: rate_limit needs an interval, such as 1s"),
        (
            "basic_auth_users:\n  alice: secret\n".to_owned(),
            "web.yml:2: user alice's password is not a bcrypt hash: ",
        ),
        ("basic_auth_users: [a]\n".to_owned(), "web.yml:1: "),
        ("a: [\n".to_owned(), "web.yml:"),
        (
            "tls_server_config:\n  min_version: TLS13\n".to_owned(),
            "web.yml:2: tls_server_config needs cert_file or cert",
        ),
        (
            "tls_server_config:\n  cert_file: tls.crt\n".to_owned(),
            "web.yml:2: tls_server_config needs key_file or key",
        ),
        (
            "tls_server_config:\n  cert_file: none.crt\n  key_file: tls.key\n".to_owned(),
            "web.yml:2: cert_file none.crt: No such file",
        ),
        (
            "tls_server_config:\n  cert_file: empty.pem\n  key_file: tls.key\n".to_owned(),
            "web.yml:2: cert_file empty.pem: no certificate in it",
        ),
        (
            "tls_server_config:\n  cert_file: tls.crt\n  key_file: tls.crt\n".to_owned(),
            "web.yml:3: key_file tls.crt: no private key: ",
        ),
        (
            "tls_server_config:\n  cert_file: tls.crt\n  key_file: other.key\n".to_owned(),
            "web.yml:2: cert_file tls.crt and its key: ",
        ),
        (tls("cert: x"), "web.yml:2: cert and cert_file exclude each other"),
        (
            tls("min_version: TLS10"),
            "web.yml:4: TLS version TLS10 is unknown or not supported; did you mean TLS12?",
        ),
        (
            tls("min_version: TLS13\n  max_version: TLS12"),
            "web.yml:5: min_version, max_version and cipher_suites leave no TLS version",
        ),
        (
            tls("max_version: TLS12\n  cipher_suites: [TLS_AES_128_GCM_SHA256]"),
            "web.yml:4: min_version, max_version and cipher_suites leave no TLS version",
        ),
        (
            tls("cipher_suites:\n  - TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA265"),
            "web.yml:5: cipher suite TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA265 is unknown or not supported; did you mean TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256?",
        ),
        (
            tls("curve_preferences: [P256]"),
            "web.yml:4: curve P256 is unknown or not supported; did you mean CurveP256?",
        ),
        (
            tls("client_auth_type: RequireAndVerify"),
            "web.yml:4: unknown client_auth_type RequireAndVerify; did you mean RequireAndVerifyClientCert?",
        ),
        (
            tls("client_auth_type: RequireAndVerifyClientCert"),
            "web.yml:4: client_auth_type RequireAndVerifyClientCert needs client_ca_file or client_ca",
        ),
        (
            tls("client_ca_file: tls.crt"),
            "web.yml:2: client_ca_file without client_auth_type has no effect; ",
        ),
        (
            tls("client_auth_type: RequireAnyClientCert\n  client_allowed_sans: [a]"),
            "web.yml:4: client_allowed_sans needs client_auth_type RequireAndVerifyClientCert, not RequireAnyClientCert",
        ),
        (
            tls(
                "client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: tls.crt\n  client_allowed_sans: [a@b]",
            ),
            "web.yml:4: client_allowed_sans: a@b is a mail address, ",
        ),
    ] {
        let error = files.read(&text).err().unwrap_or_else(|| panic!("taken: {text}"));
        assert!(error.starts_with(expected), "{text}\n{error}\n{expected}");
        assert!(!error.contains('\n') && !error.contains("secret"), "{error}");
    }
}

#[tokio::test]
async fn a_changed_file_is_read_again_and_a_broken_one_is_not_taken() {
    let files = Files::new();
    let tls = "tls_server_config: {cert_file: tls.crt, key_file: tls.key}\n";
    files.write("web.yml", tls);
    let file = Arc::new(WebConfigFile::open(&files.path("web.yml"), false, tick).unwrap());
    assert!(file.serves_tls());
    let opened = file.reload();
    assert!(opened.successful);
    let first = file.current().await;
    assert!(Arc::ptr_eq(&first, &file.current().await), "nothing changed, nothing read");
    assert_eq!(file.reload(), opened);

    files.certify("tls");
    let second = file.current().await;
    assert!(!Arc::ptr_eq(&first, &second), "the certificate changed");
    let renewed = file.reload();
    assert!(renewed.successful && renewed.last_success > opened.last_success, "{renewed:?}");
    let failed = WebConfigReload { successful: false, ..renewed };

    let hash = bcrypt::hash("secret", 4).unwrap();
    for broken in ["nonsense", "", &format!("{tls}basic_auth_users: {{a: '{hash}'}}\n")] {
        files.write("web.yml", broken);
        assert!(Arc::ptr_eq(&second, &file.current().await), "{broken}");
        assert_eq!(file.reload(), failed, "{broken}");
    }
    std::fs::remove_file(files.path("web.yml")).unwrap();
    assert!(Arc::ptr_eq(&second, &file.current().await));
    assert_eq!(file.reload(), failed);

    files.write("web.yml", tls);
    let third = file.current().await;
    assert!(!Arc::ptr_eq(&second, &third));
    let fixed = file.reload();
    assert!(fixed.successful && fixed.last_success > renewed.last_success, "{fixed:?}");
    files.write("tls.key", "half a key");
    assert!(Arc::ptr_eq(&third, &file.current().await));
    assert_eq!(file.reload(), WebConfigReload { successful: false, ..fixed });
    files.certify("tls");
    assert!(!Arc::ptr_eq(&third, &file.current().await));
    assert!(file.reload().successful);
}

#[tokio::test]
async fn a_file_that_loses_its_users_opens_nothing() {
    let files = Files::new();
    let hash = bcrypt::hash("secret", 4).unwrap();
    let users = format!("basic_auth_users: {{a: '{hash}'}}\n");
    files.write("web.yml", &users);
    let file = Arc::new(WebConfigFile::open(&files.path("web.yml"), true, tick).unwrap());
    let first = file.current().await;
    for emptied in ["", "null\n", "http_server_config: {http2: true}\n", "basic_auth_users: {}\n"] {
        files.write("web.yml", emptied);
        assert!(Arc::ptr_eq(&first, &file.current().await), "{emptied}");
        assert!(!file.reload().successful, "{emptied}");
    }
    files.write("web.yml", &users.replace("a:", "b:"));
    assert_eq!(file.current().await.users.keys().collect::<Vec<_>>(), ["b"], "others may take their place");
    assert!(file.reload().successful);
}

/// A clock that never stands still.
fn tick() -> Timestamp {
    static SECOND: AtomicI64 = AtomicI64::new(0);
    Timestamp::from_second(SECOND.fetch_add(1, Ordering::Relaxed)).unwrap()
}

#[test]
fn the_first_file_must_be_usable() {
    let files = Files::new();
    files.write("web.yml", "basic_auth_users: {a: b}");
    assert!(WebConfigFile::open(&files.path("web.yml"), true, tick).is_err());
    assert!(WebConfigFile::open(&files.path("nothing.yml"), true, tick).is_err());
}
