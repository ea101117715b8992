//! A real Prometheus scrapes in each way.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use fake_apiserver::{FakeApiServer, UserInfo};
use serde_json::Value;

use super::support::*;

struct Prometheus {
    process: Child,
    port: u16,
}

impl Prometheus {
    fn start(directory: &Path, jobs: &str) -> Self {
        let config = directory.join("prometheus.yml");
        std::fs::write(
            &config,
            format!("global: {{scrape_interval: 1s, scrape_timeout: 1s}}\nscrape_configs:\n{jobs}"),
        )
        .unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", directory.join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stderr(std::fs::File::create(directory.join("prometheus.log")).unwrap())
            .stdout(Stdio::null())
            .spawn()
            .expect("install Debian's prometheus");
        Prometheus { process, port }
    }

    fn targets(&self) -> Vec<Value> {
        let url = format!("http://127.0.0.1:{}/api/v1/targets?state=active", self.port);
        let output = Command::new("curl").args(["--silent", "--noproxy", "*", &url]).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        answer["data"]["activeTargets"].as_array().cloned().unwrap_or_default()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A job, and what becomes of its target.
fn job(name: &str, serve: &Serve, more: &str) -> String {
    format!("- {{job_name: {name}, static_configs: [{{targets: ['{}']}}], {more}}}\n", serve.address)
}

#[test]
fn every_way_to_scrape_works_and_its_neighbours_do_not() {
    let files = Files::new();
    files.certify_name("prometheus", "prometheus.monitoring");
    let tls = Serve::start(Some(&files.web("")));
    let other = |name: &str, text: &str| {
        let head = "tls_server_config: {cert_file: tls.crt, key_file: tls.key}\n";
        files.write(
            name,
            &if text.contains("tls_server_config") { text.to_owned() } else { format!("{head}{text}") },
        )
    };
    let mtls = "tls_server_config: {cert_file: tls.crt, key_file: tls.key, client_ca_file: ca.crt, \
                client_auth_type: RequireAndVerifyClientCert, client_allowed_sans: [prometheus.monitoring]}\n";
    let mtls = Serve::start(Some(&other("mtls.yml", mtls)));
    let hash = bcrypt::hash("wonderland", 5).unwrap();
    let basic = Serve::start(Some(&other("basic.yml", &format!("basic_auth_users: {{alice: '{hash}'}}\n"))));

    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let server = runtime.block_on(FakeApiServer::start());
    server.on_token_review(|token| {
        (token == "good").then(|| UserInfo { username: "prometheus".to_owned(), groups: Vec::new() })
    });
    server.on_access_review(|spec| spec["user"] == "prometheus");
    let mut command = exporter(Some(&files.path("web.yml")), &["--web.auth=kubernetes"]);
    command.env("KUBECONFIG", files.write("kubeconfig", &server.kubeconfig_yaml()));
    let bearer = Serve::spawn(command);

    let file = |name: &str| files.path(name).display().to_string();
    let https = format!("scheme: https, tls_config: {{ca_file: '{}'}}", file("ca.crt"));
    let with_certificate = format!(
        "scheme: https, tls_config: {{ca_file: '{}', cert_file: '{}', key_file: '{}'}}",
        file("ca.crt"),
        file("prometheus.crt"),
        file("prometheus.key")
    );
    let jobs = [
        job("tls", &tls, &https),
        job("tls-as-http", &tls, "scheme: http"),
        job("mtls", &mtls, &with_certificate),
        job("mtls-without", &mtls, &https),
        job("basic", &basic, &format!("{https}, basic_auth: {{username: alice, password: wonderland}}")),
        job("basic-wrong", &basic, &format!("{https}, basic_auth: {{username: alice, password: alice}}")),
        job("bearer", &bearer, &format!("{https}, authorization: {{credentials: good}}")),
        job("bearer-wrong", &bearer, &format!("{https}, authorization: {{credentials: bad}}")),
    ];
    let prometheus = Prometheus::start(&files.path(""), &jobs.concat());
    let mut last = Vec::new();
    eventually("all targets", || {
        last = prometheus.targets();
        last.len() == jobs.len() && last.iter().all(|target| target["health"] != "unknown")
    });
    for target in &last {
        let name = target["scrapePool"].as_str().unwrap();
        let expected = if name.contains('-') { "down" } else { "up" };
        assert_eq!(target["health"], expected, "{target:#}");
        let error = target["lastError"].as_str().unwrap();
        let reason = match name {
            "tls-as-http" => "400 Bad Request",
            "mtls-without" => "certificate required",
            "basic-wrong" | "bearer-wrong" => "401 Unauthorized",
            _ => "",
        };
        assert!(error.contains(reason), "{name}: {error}");
    }
}

#[test]
fn promtool_takes_the_sample() {
    let files = Files::new();
    let sample = include_str!("../../../docs/web-config.sample.yml");
    files.certify_name("client-ca", "a");
    let config = files.write("web.yml", sample);
    let output = Command::new("promtool").args(["check", "web-config"]).arg(&config).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let serve = Serve::start(Some(&config));
    let ca = files.path("ca.crt").display().to_string();
    assert_eq!(serve.curl("/livez", &["--cacert", &ca]).status, 0, "the sample asks for a certificate");
}
