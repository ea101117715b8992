//! Every query of every panel and variable on a real Prometheus that scrapes every scenario, the demo
//! and an exporter whose API server refuses a kind: it parses, and somewhere there is data for it.

use std::collections::BTreeMap;
use std::path::Path;

use fake_apiserver::{FakeApiServer, Fault, ResourceDef};
use longhorn_health_exporter::check::Dashboard;
use longhorn_health_exporter::longhorn::resource::TABLE;
use serde_json::json;

use super::{dashboard, list, panels, text};
use crate::scenario;
use crate::stack::{self, Address, Server, wait};

/// As Grafana does with everything chosen, for a scrape interval of a second.
fn substituted(expr: &str) -> String {
    let mut expr = expr.replace("$__rate_interval", "4s").replace("$__range", "1h");
    for variable in ["cluster", "node", "pvc_namespace", "volume"] {
        expr = expr.replace(&format!("\"${variable}\""), "\".*\"");
    }
    // a group of label_replace is no variable
    assert!(!expr.replace("\"$1\"", "").contains('$'), "{expr}");
    expr
}

/// The series that a query for the values of a variable asks for, and the label.
fn label_values(query: &str) -> (&str, &str) {
    let inner = query.strip_prefix("label_values(").unwrap().strip_suffix(')').unwrap();
    let (series, label) = inner.rsplit_once(", ").unwrap();
    (series, label)
}

async fn refusing_api_server() -> FakeApiServer {
    let server = FakeApiServer::start().await;
    server.serve_builtin();
    for info in TABLE.iter().filter(|info| info.resource.is_longhorn()) {
        server.serve(ResourceDef::custom(
            &format!("{}/{}", info.group, info.version),
            info.plural,
            info.kind,
        ));
    }
    server.fault("volumes.longhorn.io", Fault::Forbid);
    server
}

fn config(rules: &Path, exporters: &[(String, Server)]) -> String {
    let target = |(cluster, server): &(String, Server)| json!({ "targets": [server.address.0], "labels": { "cluster": cluster, "namespace": "monitoring" } });
    let targets: Vec<_> = exporters.iter().map(target).collect();
    json!({
        "global": { "scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s" },
        "rule_files": [rules],
        "scrape_configs": [{ "job_name": "longhorn-health-exporter", "static_configs": targets }],
    })
    .to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_query_parses_and_finds_data_somewhere() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    let server = refusing_api_server().await;
    let kubeconfig = path.join("kubeconfig");
    std::fs::write(&kubeconfig, server.kubeconfig_yaml()).unwrap();
    tokio::task::spawn_blocking(move || ask_everything(&path, &kubeconfig)).await.unwrap();
    server.stop().await;
}

fn ask_everything(directory: &Path, kubeconfig: &Path) {
    let live = format!("--kubeconfig={}", kubeconfig.display());
    let web = directory.join("web.yml");
    std::fs::write(&web, "{}").unwrap();
    let web = format!("--web.config.file={}", web.display());
    let signatures = concat!("--signatures=", env!("CARGO_MANIFEST_DIR"), "/docs/examples/signatures.yaml");
    let mut exporters = vec![
        ("demo".to_owned(), stack::exporter(directory, &["--demo", &web, signatures], Address::free())),
        ("live".to_owned(), stack::exporter(directory, &[&live], Address::free())),
    ];
    let recordings: Vec<_> =
        scenario::all().into_iter().map(|path| (scenario::written(&path), path)).collect();
    for (recording, scenario) in &recordings {
        let from = format!("--from={}", recording.path().display());
        exporters.push((
            scenario::name(scenario).to_owned(),
            stack::exporter(directory, &[&from], Address::free()),
        ));
    }
    let prometheus = stack::prometheus(directory, &config(&stack::impatient_rules(directory), &exporters));
    wait("all exporters to be scraped a few times", || {
        let query = "count(count_over_time(up{job=\"longhorn-health-exporter\"}[1m]) > 3 and up == 1)";
        let scraped = prometheus.query(query)?;
        let number = scraped.first().map(|sample| sample["value"][1].clone());
        if number == Some(json!(exporters.len().to_string())) { Ok(()) } else { Err(format!("{number:?}")) }
    });
    prometheus.wait_for_rules();
    let mut empty = BTreeMap::new();
    let mut asked = 0;
    for board in Dashboard::all() {
        let dashboard = dashboard(board);
        let of_panels = panels(&dashboard).into_iter().flat_map(|panel| {
            list(panel, "targets")
                .iter()
                .map(|target| (text(panel, "title"), text(target, "expr").to_owned()))
        });
        let variables =
            list(&dashboard["templating"], "list").iter().filter(|variable| variable["type"] == "query");
        let of_variables = variables.map(|variable| {
            let (series, label) = label_values(text(&variable["query"], "query"));
            (text(variable, "name"), format!("count by ({label}) ({series}) > 0"))
        });
        let annotations =
            list(&dashboard["annotations"], "list").iter().filter(|one| one.get("expr").is_some());
        let of_annotations = annotations.map(|one| (text(one, "name"), text(one, "expr").to_owned()));
        for (title, expr) in of_panels.chain(of_variables).chain(of_annotations) {
            let expr = substituted(&expr);
            let found = prometheus.query(&expr).unwrap_or_else(|error| panic!("{title}: {expr}\n{error}"));
            asked += 1;
            // no manager serves its metrics here: the cases of its alerts have them; and there is no kubelet
            let of_others = board == Dashboard::LonghornMetrics || expr.contains("(container_");
            if found.is_empty() && !of_others {
                empty.insert(format!("{} / {title}", board.id()), expr);
            }
        }
    }
    assert!(asked >= 60, "only {asked} queries");
    assert!(empty.is_empty(), "no data in any scenario: {empty:#?}");
}
