//! TLS, client certificates, headers.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rcgen::SanType;
use rcgen::string::Ia5String;
use rustls::HandshakeKind;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};

use super::support::*;

fn ca(files: &Files) -> String {
    files.path("ca.crt").display().to_string()
}

/// The arguments that show a client certificate.
fn client(files: &Files, name: &str) -> [String; 4] {
    let path = |kind| files.path(&format!("{name}.{kind}")).display().to_string();
    ["--cert".to_owned(), path("crt"), "--key".to_owned(), path("key")]
}

fn with_client(serve: &Serve, files: &Files, name: &str) -> Answer {
    let ca = ca(files);
    let client = client(files, name);
    let mut arguments = vec!["--cacert", &ca];
    arguments.extend(client.iter().map(String::as_str));
    serve.curl("/metrics", &arguments)
}

#[test]
fn tls_is_served_and_plain_http_is_told_so() {
    let files = Files::new();
    let serve = Serve::start(Some(&files.web("")));
    let ca = ca(&files);
    for tls in ["1.2", "1.3"] {
        let arguments = ["--cacert", &ca, &format!("--tlsv{tls}"), "--tls-max", tls];
        let answer = serve.curl("/metrics", &arguments);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.body().contains("\nlonghorn_health_checks{"));
    }
    let plain = serve.curl("/metrics", &[]);
    assert_eq!(plain.status, 400);
    assert_eq!(plain.body(), "this port serves HTTPS; use https:// here\n");
    let stranger = Files::new();
    let answer = serve.curl("/metrics", &["--cacert", &stranger.path("ca.crt").display().to_string()]);
    assert_eq!(answer.status, 0, "another authority: {answer:?}");
}

#[test]
fn versions_and_suites_are_those_of_the_file() {
    let files = Files::new();
    let ca = ca(&files);
    let serve = Serve::start(Some(&files.web("  min_version: TLS13\n")));
    assert_eq!(serve.curl("/livez", &["--cacert", &ca, "--tls-max", "1.2"]).status, 0);
    assert_eq!(serve.curl("/livez", &["--cacert", &ca]).status, 200);
    let suite = "  max_version: TLS12\n  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]\n";
    let serve = Serve::start(Some(&files.web(suite)));
    let with = |cipher| serve.curl("/livez", &["--cacert", &ca, "--ciphers", cipher]).status;
    assert_eq!(with("ECDHE-ECDSA-AES128-GCM-SHA256"), 0);
    assert_eq!(with("ECDHE-ECDSA-AES256-GCM-SHA384"), 200);
}

#[test]
fn client_certificates_are_required_and_judged() {
    let files = Files::new();
    files.certify_name("prometheus", "prometheus.monitoring");
    let uri = SanType::URI(Ia5String::try_from("spiffe://cluster/prometheus").unwrap());
    files.certify("spiffe", uri);
    files.certify("ip", SanType::IpAddress([10, 0, 0, 1].into()));
    files.certify_name("other", "*.monitoring");
    let stranger = Files::new();
    stranger.certify_name("stranger", "prometheus.monitoring");
    for name in ["stranger.crt", "stranger.key"] {
        files.write(name, &std::fs::read_to_string(stranger.path(name)).unwrap());
    }
    let mtls = "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.crt\n";
    let serve = Serve::start(Some(&files.web(mtls)));
    assert_eq!(serve.curl("/metrics", &["--cacert", &ca(&files)]).status, 0, "none shown");
    assert_eq!(with_client(&serve, &files, "stranger").status, 0, "of another authority");
    for name in ["prometheus", "spiffe", "ip", "other"] {
        assert_eq!(with_client(&serve, &files, name).status, 200, "{name}");
    }

    // the names are taken over without a restart
    let sans = "  client_allowed_sans: [prometheus.monitoring, 'spiffe://cluster/prometheus', 10.0.0.1]\n";
    files.web(&format!("{mtls}{sans}"));
    for name in ["prometheus", "spiffe", "ip"] {
        assert_eq!(with_client(&serve, &files, name).status, 200, "{name}");
    }
    for name in ["other", "stranger"] {
        assert_eq!(with_client(&serve, &files, name).status, 0, "{name}");
    }

    files.web("  client_auth_type: VerifyClientCertIfGiven\n  client_ca_file: ca.crt\n");
    assert_eq!(serve.curl("/metrics", &["--cacert", &ca(&files)]).status, 200);
    assert_eq!(with_client(&serve, &files, "prometheus").status, 200);
    assert_eq!(with_client(&serve, &files, "stranger").status, 0);

    files.web("  client_auth_type: RequireAnyClientCert\n");
    assert_eq!(serve.curl("/metrics", &["--cacert", &ca(&files)]).status, 0);
    assert_eq!(with_client(&serve, &files, "stranger").status, 200);
}

#[test]
fn headers_are_on_every_answer() {
    let files = Files::new();
    let headers = "http_server_config:\n  headers:\n    Strict-Transport-Security: max-age=60\n    \
                   Content-Security-Policy: default-src 'self'\n";
    let serve = Serve::start(Some(&files.web(headers)));
    for path in ["/", "/livez", "/metrics", "/nothing"] {
        let text = serve.curl(path, &["--cacert", &ca(&files)]).text;
        assert!(text.contains("\r\nstrict-transport-security: max-age=60\r\n"), "{path}: {text}");
        assert_eq!(text.matches("content-security-policy: ").count(), 1, "{path}");
        assert!(text.contains("\r\ncontent-security-policy: default-src 'self'\r\n"), "{path}");
    }
}

#[test]
fn a_renewed_certificate_is_served_and_a_broken_one_is_not() {
    let files = Files::new();
    let serve = Serve::start(Some(&files.web("")));
    let old = std::fs::read_to_string(files.path("ca.crt")).unwrap();
    let renewed = Files::new();
    for name in ["tls.key", "tls.crt"] {
        files.write(name, &std::fs::read_to_string(renewed.path(name)).unwrap());
    }
    assert_eq!(serve.curl("/livez", &["--cacert", &ca(&renewed)]).status, 200);
    files.write("old.crt", &old);
    assert_eq!(serve.curl("/livez", &["--cacert", &files.path("old.crt").display().to_string()]).status, 0);

    files.write("tls.crt", "half a certificate");
    for _ in 0..3 {
        assert_eq!(serve.curl("/livez", &["--cacert", &ca(&renewed)]).status, 200);
    }
    serve.wait_for_log("cannot be used");
    files.write("web.yml", "tls_server_config: {cert: a, certificate: b}\n");
    assert_eq!(serve.curl("/livez", &["--cacert", &ca(&renewed)]).status, 200);
    serve.wait_for_log("unknown key certificate; valid: ");
    assert_eq!(serve.log().matches("cannot be used").count(), 2, "each told once: {}", serve.log());

    renewed.certify("tls", SanType::IpAddress([127, 0, 0, 1].into()));
    for name in ["tls.key", "tls.crt"] {
        files.write(name, &std::fs::read_to_string(renewed.path(name)).unwrap());
    }
    files.web("  min_version: TLS13\n");
    assert_eq!(serve.curl("/livez", &["--cacert", &ca(&renewed)]).status, 200);
    assert_eq!(serve.curl("/livez", &["--cacert", &ca(&renewed), "--tls-max", "1.2"]).status, 0);
}

#[test]
fn whether_the_configuration_is_in_force_is_on_the_page() {
    const SUCCESSFUL: &str = "longhorn_health_exporter_web_config_last_reload_successful";
    const SUCCESS: &str = "longhorn_health_exporter_web_config_last_reload_success_timestamp_seconds";
    let files = Files::new();
    let serve = Serve::start(Some(&files.web("")));
    let value = |name: &str| {
        let answer = serve.curl("/metrics", &["--cacert", &ca(&files)]);
        let line = answer.body().lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let value: Option<f64> = line.map(|value| value.parse().unwrap());
        value.unwrap_or_else(|| panic!("no {name}: {answer:?}"))
    };
    let begun = value(SUCCESS);
    assert!(begun > 1e9 && value(SUCCESSFUL) == 1.0);

    files.web("nonsense: 1\n");
    assert_eq!((value(SUCCESSFUL), value(SUCCESS)), (0.0, begun));
    files.web("");
    assert_eq!(value(SUCCESSFUL), 1.0);
    let key = std::fs::read_to_string(files.path("tls.key")).unwrap();
    files.write("tls.key", "half a key");
    assert_eq!(value(SUCCESSFUL), 0.0);
    std::thread::sleep(std::time::Duration::from_secs(1)); // the series counts seconds
    files.write("tls.key", &key);
    assert_eq!(value(SUCCESSFUL), 1.0);
    assert!(value(SUCCESS) > begun);
}

#[test]
fn without_a_file_there_is_no_tls() {
    let serve = Serve::start(None);
    let answer = serve.curl("/metrics", &[]);
    assert_eq!(answer.status, 200);
    assert!(!answer.text.contains("web_config"), "{answer:?}");
    let url = format!("https://{}/metrics", serve.address);
    assert_eq!(serve.curl_url(&url, &["--insecure"]).status, 0);
}

/// The kind of each of two handshakes of a client that keeps its sessions.
fn handshakes(
    serve: &Serve,
    files: &Files,
    version: &'static rustls::SupportedProtocolVersion,
) -> Vec<HandshakeKind> {
    let read = |name: &str| std::fs::read(files.path(name)).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(&read("ca.crt")).unwrap()).unwrap();
    let chain = vec![CertificateDer::from_pem_slice(&read("prometheus.crt")).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(&read("prometheus.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider);
    let builder = builder.with_protocol_versions(&[version]).unwrap().with_root_certificates(roots);
    let config = Arc::new(builder.with_client_auth_cert(chain, key).unwrap());
    let handshake = || {
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let mut session = rustls::ClientConnection::new(config.clone(), name).unwrap();
        let mut stream = TcpStream::connect(serve.address).unwrap();
        let mut tls = rustls::Stream::new(&mut session, &mut stream);
        tls.write_all(b"GET /livez HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        let _ = tls.read_to_string(&mut answer);
        assert!(answer.starts_with("HTTP/1.0 200 OK"), "{answer}");
        session.handshake_kind().unwrap()
    };
    [(); 2].map(|()| handshake()).into()
}

/// A resumed session shows no certificate, so it would let one in that has expired or was withdrawn.
#[test]
fn a_session_is_resumed_only_where_no_client_certificate_is_asked_for() {
    let files = Files::new();
    files.certify_name("prometheus", "prometheus.monitoring");
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let serve = Serve::start(Some(&files.web("")));
        assert_eq!(handshakes(&serve, &files, version), [HandshakeKind::Full, HandshakeKind::Resumed]);
        for kind in ["RequireAndVerifyClientCert", "VerifyClientCertIfGiven"] {
            let mtls = format!("  client_auth_type: {kind}\n  client_ca_file: ca.crt\n");
            let serve = Serve::start(Some(&files.web(&mtls)));
            assert_eq!(handshakes(&serve, &files, version), [HandshakeKind::Full; 2], "{kind}");
        }
    }
}

#[test]
fn a_fifo_in_place_of_a_certificate_stops_nothing() {
    let files = Files::new();
    let serve = Serve::start(Some(&files.web("")));
    let livez = || serve.curl("/livez", &["--cacert", &ca(&files), "--max-time", "3"]).status;
    assert_eq!(livez(), 200);
    std::fs::remove_file(files.path("tls.crt")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(files.path("tls.crt")).status().unwrap();
    assert!(made.success());
    assert_eq!([(); 3].map(|()| livez()), [200; 3]);
    serve.wait_for_log("not a regular file");
}

/// Programs that look after Prometheus' exporters send SIGHUP after they changed a file.
#[test]
fn signals_that_mean_no_end_do_not_end_the_process() {
    let files = Files::new();
    let serve = Serve::start(Some(&files.web("")));
    files.web("http_server_config: {headers: {X-Frame-Options: deny}}\n");
    for (signal, line) in [
        ("HUP", "web configuration reloaded"),
        ("USR1", "SIGUSR1 is ignored"),
        ("USR2", "SIGUSR2 is ignored"),
    ] {
        serve.signal(signal);
        serve.wait_for_log(line);
    }
    assert_eq!(serve.curl("/livez", &["--cacert", &ca(&files)]).status, 200);
}
