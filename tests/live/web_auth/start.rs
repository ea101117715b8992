//! What `serve` refuses to start with.

use super::support::{Files, exporter};

fn refused(files: &Files, more: &[&str]) -> String {
    let output = exporter(Some(&files.path("web.yml")), more).output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    said.replace(&format!("{}/", files.path("").display()).replace("//", "/"), "")
}

#[test]
fn an_unknown_key_is_refused_by_name() {
    let files = Files::new();
    files.web("  client_auth: RequireAndVerifyClientCert\n");
    assert_eq!(
        refused(&files, &[]),
        "error: web.yml:4: unknown key client_auth; did you mean client_auth_type?\n"
    );
    files.write("web.yml", "basic_auth_user: {}\n");
    assert_eq!(
        refused(&files, &[]),
        "error: web.yml:1: unknown key basic_auth_user; did you mean basic_auth_users?\n"
    );
}

#[test]
fn tokens_need_tls() {
    let files = Files::new();
    files.write("web.yml", "http_server_config: {http2: false}\n");
    let expected = "error: --web.auth=kubernetes needs TLS, because tokens must not be sent in clear text; \
                    use --web.config.file with tls_server_config\n";
    assert_eq!(refused(&files, &["--web.auth=kubernetes"]), expected);
    let output = exporter(None, &["--web.auth=kubernetes"]).output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
}

#[test]
fn there_is_one_way_to_read_the_header_authorization() {
    let files = Files::new();
    let hash = bcrypt::hash("secret", 4).unwrap();
    files.web(&format!("basic_auth_users:\n  alice: {hash}\n"));
    let said = refused(&files, &["--web.auth=kubernetes"]);
    assert_eq!(said, "error: web.yml: basic_auth_users and --web.auth=kubernetes exclude each other\n");
}

#[test]
fn tokens_need_a_cluster_to_ask() {
    let files = Files::new();
    files.web("");
    let said = refused(&files, &["--web.auth=kubernetes"]);
    assert!(said.starts_with("error: no cluster given; "), "{said}");
}

#[test]
fn a_path_that_every_account_may_get_is_no_place_for_metrics() {
    let files = Files::new();
    files.web("");
    let said = refused(&files, &["--web.auth=kubernetes", "--web.telemetry-path=/api/metrics"]);
    assert!(said.starts_with("error: Kubernetes lets every account get /api/metrics, "), "{said}");
}
