//! VictoriaMetrics and vmalert in the place of Prometheus: from the same exporters and rules come the same alerts.
//!
//! The texts matter most: they ask for the titles of causes with the template function `query`, which vmalert runs
//! against VictoriaMetrics.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::stack::{self, Address, wait};
use super::{Labels, Stack, built, config, labels, list, texts};

/// What vmalert adds to the labels of an alert, and what Prometheus keeps for Alertmanager.
const OF_A_SERVER: [&str; 2] = ["alertgroup", "cluster"];

/// Texts by labels, of all alerts that a server has.
fn alerts(server: &Address) -> Result<BTreeMap<Labels, Labels>, String> {
    let answer = server.json("/api/v1/alerts")?;
    let alert = |alert: &Value| {
        let mut labels = labels(alert);
        OF_A_SERVER.iter().for_each(|label| _ = labels.remove(*label));
        (labels, texts(&alert["annotations"]))
    };
    Ok(list(&answer["data"]["alerts"]).iter().map(alert).collect())
}

#[test]
fn victoria_metrics_raises_the_same_alerts_with_the_same_texts() {
    let [Some(victoria), Some(vmalert)] = ["victoria-metrics", "vmalert"].map(built::lint) else { return };
    let stack = Stack::start();
    let path = stack.directory.path();
    let rules = path.join("generated/rules/longhorn-health.rules.yaml");
    let file = path.join("scrape.yaml");
    std::fs::write(&file, config(&rules, &stack.exporters, &stack.alertmanager)).unwrap();

    let address = Address::free();
    let args = [
        format!("-httpListenAddr={}", address.0),
        format!("-promscrape.config={}", file.display()),
        // where the rules and Alertmanager are is for vmalert to know
        "-promscrape.config.strictParse=false".to_owned(),
        format!("-storageDataPath={}", path.join("victoria").display()),
        // what was scraped a moment ago counts, as with Prometheus
        "-search.latencyOffset=1ms".to_owned(),
    ];
    let store = stack::start(path, &victoria, args, address, "/health");
    // as the chart's VMRule has them
    let text = std::fs::read_to_string(&rules).unwrap();
    assert!(text.contains("(increase("));
    std::fs::write(&rules, text.replace("(increase(", "(increase_prometheus(")).unwrap();
    let address = Address::free();
    let args = [
        format!("-httpListenAddr={}", address.0),
        format!("-rule={}", rules.display()),
        format!("-datasource.url=http://{}", store.address.0),
        format!("-remoteWrite.url=http://{}", store.address.0),
        "-remoteWrite.flushInterval=1s".to_owned(),
        "-notifier.blackhole".to_owned(),
        "-evaluationInterval=1s".to_owned(),
        "-rule.evalDelay=0s".to_owned(),
    ];
    let vmalert = stack::start(path, &vmalert, args, address, "/health");

    // what is recorded is read an evaluation later, and must change nothing then
    let recorded = "count(node:longhorn_health_manager_restarts:max_increase1h)";
    let mut steady = 0;
    let number = wait("vmalert to say what Prometheus says", || {
        if store.query(recorded)?.is_empty() {
            return Err("nothing is recorded".to_owned());
        }
        steady += 1;
        let (expected, found) = (alerts(&stack.prometheus.address)?, alerts(&vmalert.address)?);
        for (labels, texts) in &expected {
            let found = found.get(labels).ok_or_else(|| format!("missing: {labels:?}"))?;
            if without_cluster(found) != without_cluster(texts) {
                return Err(format!("{labels:?}\n{texts:#?}\n{found:#?}"));
            }
        }
        match found.keys().find(|labels| !expected.contains_key(*labels)) {
            Some(labels) => Err(format!("too many: {labels:?}")),
            None if steady < 40 => Err("not for long enough".to_owned()),
            None => Ok(expected.len()),
        }
    });
    assert!(number >= 20, "only {number} alerts");
}

/// vmalert gives templates the external labels, Prometheus does not, so only there the cluster stands in front of a summary.
fn without_cluster(texts: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let plain = |text: &String| text.strip_prefix("demo: ").unwrap_or(text).to_owned();
    texts.iter().map(|(name, text)| (name.clone(), plain(text))).collect()
}

#[test]
fn vmalert_accepts_the_rules_as_shipped_and_not_what_is_broken() {
    let Some(vmalert) = built::lint("vmalert") else { return };
    let judge = |file: &Path| {
        let rule = format!("-rule={}", file.display());
        let output = Command::new(&vmalert).args([&rule, "-dryRun"]).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let rules = Path::new(super::ROOT).join("rules");
    let shipped = ["longhorn-health.rules.yaml", "longhorn-health-kube-state-metrics.rules.yaml"];
    for file in shipped.map(|name| rules.join(name)) {
        let (accepted, said) = judge(&file);
        assert!(accepted, "{}: {said}", file.display());
    }
    let broken = tempfile::NamedTempFile::with_suffix(".yaml").unwrap();
    let text = std::fs::read_to_string(rules.join(shipped[0]))
        .unwrap()
        .replace("{{ with $labels.node }}", "{{ sortByNothing $labels.node }}");
    std::fs::write(broken.path(), text).unwrap();
    let (accepted, said) = judge(broken.path());
    assert!(!accepted && said.contains("sortByNothing"), "{said}");
}
