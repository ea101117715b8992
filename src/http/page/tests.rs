use std::sync::Arc;

use super::*;
use crate::cluster::Cluster;
use crate::exporter::Evaluator;
use crate::source::{Fixed, demo};
use crate::testing::{cluster, time};

fn page_of(cluster: Cluster) -> String {
    let evaluator = Evaluator::new(Arc::new(Fixed::still(cluster)), || time("2026-01-01T12:00:00Z"), true);
    landing(&evaluator.moment(), "/metrics")
}

const HOSTILE: &str = r#"
apiVersion: longhorn.io/v1beta2
kind: Setting
metadata: {name: current-longhorn-version, namespace: longhorn-system}
value: "v1.9.0"
---
apiVersion: longhorn.io/v1beta2
kind: Setting
metadata: {name: priority-class, namespace: longhorn-system}
status: {applied: false}
---
apiVersion: longhorn.io/v1beta2
kind: InstanceManager
metadata: {name: "<img src=x onerror=alert(1)>", namespace: longhorn-system}
spec: {nodeID: "\"><script>alert(2)</script>"}
status:
  currentState: running
  conditions:
  - {type: SettingSynced, status: "False", message: "setting priority-class is not synced"}
"#;

#[test]
fn hostile_names_stay_text() {
    let page = page_of(cluster(HOSTILE));
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;"), "{page}");
    assert!(!page.contains("<img") && !page.contains("<script"), "{page}");
}

#[test]
fn every_finding_of_the_demo_is_told_with_its_commands() {
    let cluster = demo::cluster(time("2026-01-01T12:00:00Z")).unwrap();
    let report = crate::report::evaluate(&cluster).report;
    let page = page_of(cluster);
    let escaped = |text: &str| {
        let mut html = Html::default();
        html.text(text);
        html.into_string()
    };
    assert!(!report.findings.is_empty());
    for finding in &report.findings {
        assert!(page.contains(&escaped(&capitalised(&finding.message))), "{}", finding.message);
        assert!(page.contains(&escaped(&capitalised(&finding.impact))), "{}", finding.impact);
        for command in &finding.remedy.commands {
            assert!(page.contains(&format!("<pre>{}</pre>", escaped(&command.run))), "{}", command.run);
        }
    }
    let changes =
        report.findings.iter().flat_map(|finding| &finding.remedy.commands).filter(|command| command.changes);
    assert_eq!(page.matches("changes the cluster</p>").count(), changes.count());
}

#[test]
fn what_is_not_known_is_never_green() {
    let page = page_of(cluster("apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: longhorn-system}"));
    assert!(page.contains("banner unknown"), "{page}");
    assert!(page.contains("The recording has no Longhorn object"));
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let page = page_of(demo::cluster(time("2026-01-01T12:00:00Z")).unwrap());
    for outside in ["src=", "@import", "url(", "<script", "<link", "style="] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn the_story_stands_first_and_its_links_open_a_card() {
    let page = page_of(demo::cluster(time("2026-01-01T12:00:00Z")).unwrap());
    let story = page.find("<h2>Do first</h2>").unwrap();
    assert!(story < page.find("Critical: act now").unwrap());
    let links: Vec<&str> =
        page.split("<a href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(links.len() >= 4, "{links:?}");
    for link in links {
        assert_eq!(page.matches(&format!("<div class=\"body\" id=\"{link}\">")).count(), 1, "{link}");
    }
}
