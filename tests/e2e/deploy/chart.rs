//! Renderings of the chart: what is there, what is not, and that it says what the values say.

mod posture;
mod web;

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::*;

const STOCK: &[&str] = &[
    "ClusterRole", "ClusterRoleBinding", "Deployment", "Pod", "Role", "RoleBinding", "Service",
    "ServiceAccount",
];

#[test]
fn lint_has_nothing_to_say() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let said = success(Command::new(&tools.helm).args(["lint", "--strict"]).arg(chart()).output()?)?;
    ensure!(said.contains("0 chart(s) failed") && !said.contains("[WARNING]"), "{said}");
    Ok(())
}

#[test]
fn defaults_need_no_foreign_definition_and_give_rights_where_they_belong() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let objects = render(&tools, "")?;
    assert_eq!(kinds(&objects), STOCK.iter().copied().collect());
    ensure!(objects.len() <= 15, "{} objects", objects.len());
    for object in &objects {
        let namespace = match object["kind"].as_str().context("no kind")? {
            "Role" | "RoleBinding" if name(object).ends_with("-node-events") => json!("default"),
            "Role" | "RoleBinding" => json!("longhorn-system"),
            "ClusterRole" | "ClusterRoleBinding" => Value::Null,
            _ => json!(NAMESPACE),
        };
        assert_eq!(object["metadata"]["namespace"], namespace, "{object}");
    }
    for binding in objects.iter().filter(|object| object["kind"].as_str().unwrap_or("").ends_with("Binding"))
    {
        let account = find(&objects, "ServiceAccount", "")?;
        assert_eq!(binding["subjects"][0]["name"], account["metadata"]["name"]);
        assert_eq!(binding["subjects"][0]["namespace"], NAMESPACE);
    }
    Ok(())
}

#[test]
fn another_namespace_of_longhorn_moves_the_role_and_the_flag() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let objects = render(&tools, "{longhorn: {namespace: storage}, namespaceOverride: elsewhere}")?;
    assert_eq!(find(&objects, "Role", "exporter")?["metadata"]["namespace"], "storage");
    assert_eq!(find(&objects, "RoleBinding", "exporter")?["metadata"]["namespace"], "storage");
    assert_eq!(find(&objects, "RoleBinding", "exporter")?["subjects"][0]["namespace"], "elsewhere");
    let deployment = find(&objects, "Deployment", "")?;
    assert_eq!(deployment["metadata"]["namespace"], "elsewhere");
    ensure!(variables(deployment).contains(&("LONGHORN_HEALTH_NAMESPACE", "storage")));
    Ok(())
}

fn variables(deployment: &Value) -> Vec<(&str, &str)> {
    let variables = container(deployment)["env"].as_array();
    variables
        .into_iter()
        .flatten()
        .filter_map(|variable| Some((variable["name"].as_str()?, variable["value"].as_str()?)))
        .collect()
}

#[test]
fn the_name_of_the_cluster_links_and_accepted_findings_reach_the_exporter() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let values = "{clusterName: prod, \
                  accepted: [{check: manager_probes, reason: 'known, OPS-17', until: '2026-12-31'}], \
                  web: {grafanaUrl: 'https://grafana.example.org', runbookUrl: 'https://example.org/runbooks', \
                  longhornUiUrl: 'https://longhorn.example.org'}}";
    let objects = render(&tools, values)?;
    let deployment = find(&objects, "Deployment", "")?;
    let file = "/etc/longhorn-health-exporter/accepted/accepted.yaml";
    let ui = "https://longhorn.example.org";
    for variable in [
        ("LONGHORN_HEALTH_CLUSTER_NAME", "prod"),
        ("LONGHORN_HEALTH_ACCEPTED", file),
        ("LONGHORN_HEALTH_LONGHORN_UI_URL", ui),
    ] {
        ensure!(variables(deployment).contains(&variable), "{deployment}");
    }
    let arguments = args(deployment)?;
    ensure!(arguments.contains("--web.grafana-url=https://grafana.example.org"), "{arguments:?}");
    ensure!(arguments.contains("--web.runbook-url=https://example.org/runbooks"), "{arguments:?}");
    let accepted = &find(&objects, "ConfigMap", "accepted")?["data"]["accepted.yaml"];
    let accepted: Value = serde_yaml::from_str(accepted.as_str().unwrap_or_default())?;
    assert_eq!(accepted["accepted"][0]["until"], "2026-12-31");
    for wrong in
        ["{accepted: [{check: x, reason: y}]}", "{web: {grafanaUrl: grafana}}", "{web: {longhornUiUrl: ui}}"]
    {
        ensure!(render(&tools, wrong).is_err(), "{wrong}");
    }
    Ok(())
}

#[test]
fn each_right_can_be_withheld() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let with = |values: &str| -> Result<BTreeSet<String>> { Ok(granted(&render(&tools, values)?)) };
    let right = |id: &str| -> Result<BTreeSet<String>> {
        let role = std::fs::read_to_string(chart().join("files/rbac").join(format!("{id}.yaml")))?;
        Ok(granted(&[serde_yaml::from_str(&role)?]))
    };
    let all = with("")?;
    for (values, id) in [
        ("{rbac: {rights: {nodes: false}}}", "nodes"),
        ("{rbac: {rights: {csinodes: false}}}", "csinodes"),
        ("{rbac: {rights: {volumeattachments: false}}}", "volumeattachments"),
        ("{rbac: {rights: {priorityclasses: false}}}", "priorityclasses"),
        ("{rbac: {rights: {webhookConfigurations: false}}}", "webhook-configurations"),
        ("{rbac: {rights: {backups: false}}}", "backups"),
        ("{rbac: {rights: {nodeEvents: false}}}", "node-events"),
        ("{crashLogs: \"off\"}", "crash-logs"),
    ] {
        let left = with(values)?;
        assert_eq!(all.difference(&left).cloned().collect::<BTreeSet<_>>(), right(id)?, "{values}");
    }
    assert_eq!(with("{rbac: {create: false}}")?, BTreeSet::new());
    for (values, id) in [(TLS, "token-review"), ("{rbac: {rights: {plans: true}}}", "plans")] {
        let more = with(values)?;
        assert_eq!(more.difference(&all).cloned().collect::<BTreeSet<_>>(), right(id)?, "{values}");
    }
    Ok(())
}

#[test]
fn the_notes_say_what_is_missing() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let said = notes(&tools, "")?;
    for line in ["No Prometheus scrapes the exporter yet", "No alerts are loaded", "No dashboards are loaded"]
    {
        ensure!(said.contains(line), "{said}");
    }
    ensure!(!said.contains("denied") && !said.contains("token"), "{said}");
    let rights = "nodes: false, priorityclasses: false, webhookConfigurations: false, nodeEvents: false";
    let said = notes(&tools, &format!("{{rbac: {{rights: {{{rights}}}}}}}"))?;
    for line in [
        "Right nodeEvents is denied. These checks are unknown: node_iscsi_errors.",
        "Right priorityclasses is denied. These checks know less: instance_manager_pressure.",
        "Right webhookConfigurations is denied. These checks know less: manager_crash_loop, webhook_unavailable.",
    ] {
        ensure!(said.contains(line), "{said}");
    }
    ensure!(said.matches(" is denied. ").count() == 4, "{said}");
    let said = notes(&tools, TLS)?;
    ensure!(said.contains("https://localhost:10945/") && said.contains("create token"), "{said}");
    Ok(())
}

/// A right that no switch of the chart reaches would never be granted.
#[test]
fn every_generated_right_is_granted_with_everything_on() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let everything = format!("{TLS}\nrbac: {{rights: {{plans: true}}}}\n");
    let all = granted(&render(&tools, &everything)?);
    for entry in std::fs::read_dir(chart().join("files/rbac"))? {
        let role: Value = serde_yaml::from_str(&std::fs::read_to_string(entry?.path())?)?;
        for rule in granted(&[role]) {
            ensure!(all.contains(&rule), "{rule} is not rendered");
        }
    }
    Ok(())
}

#[test]
fn two_replicas_are_spread_and_budgeted() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let objects = render(&tools, "{replicaCount: 2}")?;
    let deployment = find(&objects, "Deployment", "")?;
    assert_eq!(deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"], 0);
    let spread = &deployment["spec"]["template"]["spec"]["topologySpreadConstraints"][0];
    assert_eq!(spread["topologyKey"], "kubernetes.io/hostname");
    assert_eq!(spread["labelSelector"], deployment["spec"]["selector"]);
    let budget = find(&objects, "PodDisruptionBudget", "")?;
    assert_eq!(budget["spec"]["maxUnavailable"], 1);
    assert_eq!(budget["spec"]["selector"], deployment["spec"]["selector"]);
    let off = render(&tools, "{replicaCount: 2, podDisruptionBudget: {enabled: false}}")?;
    ensure!(!kinds(&off).contains("PodDisruptionBudget"));
    Ok(())
}

#[test]
fn what_a_parent_chart_sets_reaches_every_object() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let values = "global: {imageRegistry: mirror.example.org, imagePullSecrets: [a, {name: b}]}\n\
        imagePullSecrets: [{name: b}, c]\ncommonAnnotations: {owner: storage}\nnameOverride: health\n\
        ingress: {enabled: true, host: health.example.org}\nserviceMonitor: {enabled: true, targetLabels: [team]}\n\
        prometheusRule: {enabled: true, runbookUrl: 'https://h.example.org/runbooks/', dashboardUrl: 'https://g.example.org'}\n";
    let objects = render(&tools, values)?;
    let deployment = find(&objects, "Deployment", "")?;
    let pod = &deployment["spec"]["template"]["spec"];
    let image = pod["containers"][0]["image"].as_str().unwrap_or_default();
    ensure!(image.starts_with("mirror.example.org/"), "{image}");
    assert_eq!(pod["imagePullSecrets"], json!([{ "name": "a" }, { "name": "b" }, { "name": "c" }]));
    for kind in ["Deployment", "Service", "ServiceMonitor", "PrometheusRule", "Ingress"] {
        let metadata = &find(&objects, kind, "")?["metadata"];
        assert_eq!(metadata["annotations"]["owner"], "storage", "{kind}");
        ensure!(metadata["name"].as_str().is_some_and(|name| name.ends_with("health")), "{metadata}");
    }
    assert_eq!(find(&objects, "ServiceMonitor", "")?["spec"]["targetLabels"], json!(["team"]));
    let backend = &find(&objects, "Ingress", "")?["spec"]["rules"][0]["http"]["paths"][0]["backend"];
    assert_eq!(backend["service"]["name"], deployment["metadata"]["name"]);
    let (_, alerts) = rules_apart(find(&objects, "PrometheusRule", "")?);
    let links = &alerts.first().context("no alerts")?["annotations"];
    assert_eq!(links["runbook_url"], "https://h.example.org/runbooks/LonghornVolumeFaulted");
    assert_eq!(links["dashboard_url"], "https://g.example.org/d/longhorn-health-volumes");
    Ok(())
}

#[test]
fn alerts_are_changed_one_by_one() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    // the command that alerts print names the Deployment
    let objects = render(&tools, "{}")?;
    let name = find(&objects, "Deployment", "")?["metadata"]["name"].as_str().unwrap_or_default();
    let file = std::fs::read_to_string(repository().join("rules/longhorn-health.prometheusrule.yaml"))?;
    // the chart names the Deployment of its release in the commands of the alerts
    let file = file.replace(" deploy/longhorn-health-exporter", " deploy/health-longhorn-health-exporter");
    let generated: Value = serde_yaml::from_str(&file)?;
    let generated =
        generated.to_string().replace("deploy/longhorn-health-exporter ", &format!("deploy/{name} "));
    let generated: Value = serde_json::from_str(&generated)?;
    let (records, before) = rules_apart(&generated);
    ensure!(!records.is_empty(), "no recording rules");
    let [first, second, rest @ ..] = before.as_slice() else { anyhow::bail!("fewer than two alerts") };
    let (gone, changed) = (first["alert"].as_str().unwrap_or(""), second["alert"].as_str().unwrap_or(""));
    let values = format!(
        "prometheusRule:\n  enabled: true\n  overrides:\n    {gone}: {{disabled: true}}\n    \
         {changed}: {{for: 42m, labels: {{severity: info, more: label}}}}\n"
    );
    let objects = render(&tools, &values)?;
    let (after_records, after) = rules_apart(find(&objects, "PrometheusRule", "")?);
    assert_eq!(after_records, records, "panels draw them, whatever alerts are there");
    let mut expected = (*second).clone();
    expected["for"] = json!("42m");
    expected["labels"]["severity"] = json!("info");
    expected["labels"]["more"] = json!("label");
    assert_eq!(after.first().copied(), Some(&expected));
    assert_eq!(after.get(1..), Some(rest), "other alerts are as generated");

    let labelled = render(&tools, EVERYTHING)?;
    let object = find(&labelled, "PrometheusRule", "")?;
    assert_eq!(object["metadata"]["labels"]["release"], "kube-prometheus-stack");
    let all = rules(object);
    ensure!(all.iter().filter(|rule| rule["labels"]["team"] == "storage").count() == before.len());
    ensure!(all.iter().any(|rule| rule["record"] == "a:b"));
    Ok(())
}

/// Dashboards and alert rules are links in the chart; a package has the files themselves.
#[test]
fn a_package_is_complete_without_the_repository() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let directory = tempfile::tempdir()?;
    success(Command::new(&tools.helm).args(["package", "-d"]).arg(directory.path()).arg(chart()).output()?)?;
    let package = std::fs::read_dir(directory.path())?.next().context("no package")??.path();
    let values = directory.path().join("values.yaml");
    std::fs::write(&values, EVERYTHING)?;
    let rendered = |chart: &std::path::Path| {
        success(Command::new(&tools.helm).args(["template", "x", "-f"]).args([&values, chart]).output()?)
    };
    let packaged = rendered(&package)?;
    ensure!(packaged.contains("kind: PrometheusRule") && packaged.contains("longhorn-health-overview.json"));
    ensure!(packaged == rendered(&chart())?, "the package renders other objects than the directory");
    Ok(())
}

#[test]
fn dashboards_are_whole_and_one_a_config_map() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let objects = render(&tools, EVERYTHING)?;
    let mut seen = 0;
    for entry in std::fs::read_dir(chart().join("files/dashboards"))? {
        let path = entry?.path();
        let file = path.file_name().and_then(|name| name.to_str()).context("no name")?;
        if !file.ends_with(".json") {
            continue; // of kustomize
        }
        let map = objects
            .iter()
            .find(|object| object["kind"] == "ConfigMap" && object["data"][file].is_string())
            .with_context(|| format!("no ConfigMap with {file}"))?;
        assert_eq!(map["data"][file], std::fs::read_to_string(&path)?);
        assert_eq!(map["metadata"]["labels"]["grafana_dashboard"], "1");
        let operated = find(&objects, "GrafanaDashboard", name(map))?;
        assert_eq!(operated["spec"]["configMapRef"], json!({"name": name(map), "key": file}));
        seen += 1;
    }
    ensure!(seen > 0, "the chart has no dashboards");
    Ok(())
}

/// The monitors select what is rendered, under the job that rules and dashboards ask for.
#[test]
fn monitors_select_the_service_and_the_pods() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let objects = render(&tools, EVERYTHING)?;
    let monitor = find(&objects, "ServiceMonitor", "")?;
    let service = find(&objects, "Service", "")?;
    ensure!(selects(&monitor["spec"]["selector"]["matchLabels"], &service["metadata"]["labels"]));
    let pod = &find(&objects, "Deployment", "")?["spec"]["template"]["metadata"]["labels"];
    ensure!(selects(&service["spec"]["selector"], pod));
    let test = &find(&objects, "Pod", "-test")?["metadata"]["labels"];
    ensure!(!selects(&service["spec"]["selector"], test), "the test pod would be an endpoint");
    assert_eq!(monitor["spec"]["jobLabel"], "app.kubernetes.io/name");
    assert_eq!(service["metadata"]["labels"]["app.kubernetes.io/name"], "longhorn-health-exporter");
    assert_eq!(monitor["spec"]["endpoints"][0]["port"], service["spec"]["ports"][0]["name"]);
    Ok(())
}

#[test]
fn images_are_named_by_tag_or_digest() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let digest = format!("sha256:{}", "a".repeat(64));
    let ours = "longhorn-health-exporter";
    for (values, image) in [
        ("{}".to_owned(), format!("{ours}:{}", env!("CARGO_PKG_VERSION"))),
        ("{image: {registry: mirror:5000, tag: v9}}".to_owned(), format!("mirror:5000/{ours}:v9")),
        (format!("{{image: {{digest: '{digest}'}}}}"), format!("{ours}@{digest}")),
        ("{image: {registry: ghcr.io, repository: a/local}}".to_owned(), "ghcr.io/a/local:0.1.0".to_owned()),
    ] {
        let objects = render(&tools, &values)?;
        assert_eq!(container(find(&objects, "Deployment", "")?)["image"], image);
    }
    Ok(())
}

/// Whatever the chart writes on the command line, the program takes.
#[test]
fn the_program_knows_the_arguments() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let base = objects(&kustomize(&tools, &[])?)?;
    let secured = objects(&kustomize(&tools, &["tls", "kubernetes-auth"])?)?;
    let charts = [render(&tools, "")?, render(&tools, EVERYTHING)?, render(&tools, TLS)?];
    for objects in charts.into_iter().chain([base, secured]) {
        let args = args(find(&objects, "Deployment", "")?)?;
        let mut program = Command::new(env!("CARGO_BIN_EXE_longhorn-health-exporter"));
        let help = success(program.args(args.split('\n')).arg("--help").output()?)?;
        ensure!(help.contains("--web.listen-address"), "{help}");
    }
    Ok(())
}

/// Each rule of roles that are bound, with the kind of its role.
fn granted(objects: &[Value]) -> BTreeSet<String> {
    let mut granted = BTreeSet::new();
    for role in
        objects.iter().filter(|object| matches!(object["kind"].as_str(), Some("Role" | "ClusterRole")))
    {
        if !["-scraper", "-reader"].iter().any(|own| name(role).ends_with(own)) {
            let rules = role["rules"].as_array().into_iter().flatten();
            granted.extend(rules.map(|rule| format!("{} {rule}", role["kind"])));
        }
    }
    granted
}

fn container(deployment: &Value) -> &Value {
    &deployment["spec"]["template"]["spec"]["containers"][0]
}

/// One argument a line.
fn args(deployment: &Value) -> Result<String> {
    let args = container(deployment)["args"].as_array().context("no arguments")?;
    Ok(args.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"))
}

/// Recording rules and alerts.
fn rules_apart(object: &Value) -> (Vec<&Value>, Vec<&Value>) {
    rules(object).into_iter().partition(|rule| rule["record"].is_string())
}

fn rules(object: &Value) -> Vec<&Value> {
    let groups = object["spec"]["groups"].as_array().into_iter().flatten();
    groups.flat_map(|group| group["rules"].as_array().into_iter().flatten()).collect()
}

fn selects(selector: &Value, labels: &Value) -> bool {
    let selector = selector.as_object().into_iter().flatten().collect::<Vec<_>>();
    !selector.is_empty() && selector.into_iter().all(|(key, value)| &labels[key] == value)
}
