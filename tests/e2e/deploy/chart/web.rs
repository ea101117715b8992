//! TLS, tokens and who may read what.

use super::*;

#[test]
fn tls_reaches_arguments_probes_and_monitor() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let objects = render(&tools, TLS)?;
    let deployment = find(&objects, "Deployment", "")?;
    ensure!(args(deployment)?.contains("--web.auth=kubernetes"));
    ensure!(args(deployment)?.contains("--web.config.file=/etc/longhorn-health-exporter/web/web-config.yml"));
    assert_eq!(container(deployment)["readinessProbe"]["httpGet"]["scheme"], "HTTPS");
    let endpoint = &find(&objects, "PodMonitor", "")?["spec"]["podMetricsEndpoints"][0];
    assert_eq!(endpoint["scheme"], "https");
    let config = find(&objects, "Secret", "-web-config")?["stringData"]["web-config.yml"].as_str();
    let config: Value = serde_yaml::from_str(config.context("no web-config.yml")?)?;
    let expected = json!({
        "tls_server_config": {
            "cert_file": "/etc/longhorn-health-exporter/tls/tls.crt",
            "key_file": "/etc/longhorn-health-exporter/tls/tls.key",
        },
        "http_server_config": {"headers": {"X-Frame-Options": "deny"}},
    });
    assert_eq!(config, expected);

    let mutual = render(&tools, "{web: {tls: {enabled: true, secretName: a, clientCaSecretName: b}}}")?;
    let container = container(find(&mutual, "Deployment", "")?);
    assert_eq!(container["readinessProbe"]["tcpSocket"]["port"], "metrics");
    assert_eq!(container["readinessProbe"]["httpGet"], Value::Null);
    Ok(())
}

/// An exporter that asks for tokens is scraped with one; a PodMonitor has no field for Prometheus' own.
#[test]
fn prometheus_shows_its_token_where_one_is_asked_for() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let file = "/var/run/secrets/kubernetes.io/serviceaccount/token";
    let auth = "auth: kubernetes, tls: {enabled: true, secretName: a}";
    for (web, endpoint, expected) in [
        (auth, "{}", json!(file)),
        (auth, "{tlsConfig: {serverName: a}}", json!(file)),
        (auth, "{bearerTokenFile: /other}", json!("/other")),
        (auth, "{authorization: {credentials: {name: a, key: token}}}", Value::Null),
        ("tls: {enabled: true, secretName: a}", "{}", Value::Null),
        ("{}", "{}", Value::Null),
    ] {
        let web = if web == "{}" { web.to_owned() } else { format!("{{{web}}}") };
        let values = format!("{{web: {web}, serviceMonitor: {{enabled: true, endpoint: {endpoint}}}}}");
        let objects = render(&tools, &values)?;
        let rendered = &find(&objects, "ServiceMonitor", "")?["spec"]["endpoints"][0];
        assert_eq!(rendered["bearerTokenFile"], expected, "{values}");
    }
    let objects = render(&tools, TLS)?;
    let rendered = &find(&objects, "PodMonitor", "")?["spec"]["podMetricsEndpoints"][0];
    assert_eq!(rendered["bearerTokenFile"], Value::Null);
    Ok(())
}

#[test]
fn scrapers_get_the_metrics_and_readers_the_page_too() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let objects = render(&tools, TLS)?;
    let api = "rbac.authorization.k8s.io";
    let account = |name: &str| json!({"kind": "ServiceAccount", "name": name, "namespace": "monitoring"});
    let named = |kind: &str, name: &str| json!({"kind": kind, "name": name, "apiGroup": api});
    for (end, paths, subjects) in [
        ("-scraper", json!(["/metrics"]), json!([account("prometheus-k8s")])),
        (
            "-reader",
            json!(["/", "/metrics"]),
            json!([account("on-call"), named("Group", "oidc:storage"), named("User", "a@b")]),
        ),
    ] {
        let (role, binding) =
            (find(&objects, "ClusterRole", end)?, find(&objects, "ClusterRoleBinding", end)?);
        assert_eq!(role["rules"], json!([{"nonResourceURLs": paths, "verbs": ["get"]}]), "{end}");
        assert_eq!(binding["subjects"], subjects, "{end}");
        assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"], "{end}");
    }
    // no account is bound unasked, and nothing is granted where no token is asked for
    let tls = "tls: {enabled: true, secretName: a}";
    let nobody = render(&tools, &format!("{{web: {{auth: kubernetes, {tls}}}}}"))?;
    ensure!(find(&nobody, "ClusterRole", "-reader").is_ok());
    ensure!(find(&nobody, "ClusterRoleBinding", "-reader").is_err());
    ensure!(find(&nobody, "ClusterRoleBinding", "-scraper").is_err());
    let open = render(&tools, &format!("{{web: {{readers: [{{kind: User, name: a}}], {tls}}}}}"))?;
    ensure!(find(&open, "ClusterRole", "-reader").is_err());
    Ok(())
}
