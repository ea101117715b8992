use std::sync::Arc;

use super::*;
use crate::cluster::{Cluster, Readability};
use crate::exporter::Evaluator;
use crate::longhorn::{Objects, Resource};
use crate::report::{Acceptance, Address, ReportOptions};
use crate::source::{Fixed, demo};
use crate::testing::{cluster, longhorn_manager, time};

fn page_of(cluster: Cluster) -> String {
    let evaluator = Evaluator::new(
        &crate::checks::CATALOGUE,
        Arc::new(Fixed::new(cluster)),
        || time("2026-01-01T12:00:00Z"),
        true,
    );
    let wall = time("2026-01-01T12:00:30Z");
    landing(&evaluator.moment(), &View::default(), &Links::own("/metrics"), wall)
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
    // what no name can hold is replaced when the object is read; a message is text
    assert!(page.contains("_img_src=x_onerror=alert_1__"), "{page}");
    assert!(!page.contains("<img") && !page.contains("<script"), "{page}");
    let text = super::page("<script>alert(3)", None, &html! { ("<img src=x onerror=alert(4)>") });
    assert!(
        text.contains("&lt;script&gt;alert(3)") && text.contains("&lt;img src=x onerror=alert(4)&gt;"),
        "{text}"
    );
}

#[test]
fn text_cannot_change_the_direction_of_reading() {
    assert!(page("kubectl\u{202e}get\u{1b}[0m", None, &html! {}).contains("kubectl\u{fffd}get\u{fffd}[0m"));
}

#[test]
fn every_finding_of_the_demo_is_told_with_its_commands() {
    let cluster = demo::cluster(time("2026-01-01T12:00:00Z")).unwrap();
    let report = crate::testing::evaluate(&cluster).report;
    let page = page_of(cluster);
    let escaped = |text: &str| html! { (text) }.into_string();
    assert!(!report.findings.is_empty());
    for finding in &report.findings {
        assert!(page.contains(&escaped(&capitalised(&finding.message))), "{}", finding.message);
        assert!(page.contains(&escaped(&capitalised(&finding.impact))), "{}", finding.impact);
        for command in &finding.remedy.commands {
            assert!(page.contains(&format!("<pre>{}</pre>", escaped(&command.run))), "{}", command.run);
        }
    }
    let commands = report.findings.iter().flat_map(|finding| &finding.remedy.commands);
    let first = report.incidents.iter().filter(|incident| incident.waits_for.is_empty());
    let changes = commands
        .chain(first.filter_map(|incident| incident.first.as_ref()))
        .filter(|command| command.changes);
    assert_eq!(page.matches("changes the cluster, needs an administrator</p>").count(), changes.count());
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
fn incidents_are_numbered_cards_and_links_lead_to_them() {
    let page = page_of(demo::cluster(time("2026-01-01T12:00:00Z")).unwrap());
    let incidents = page.find("<h2>Do first</h2>").unwrap();
    assert!(incidents < page.find("<h2>Notes</h2>").unwrap());
    let links: Vec<&str> =
        page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(links.len() >= 4, "{links:?}");
    for link in links {
        let end = format!("id=\"{link}\"");
        let mut tags =
            page.split("<article class=\"incident ").skip(1).map(|rest| rest.split('>').next().unwrap());
        assert!(tags.any(|tag| tag.ends_with(&end)), "{link}");
    }
    let cannot = page
        .find("Cannot recover until <a href=\"#")
        .expect("the demo has an incident that waits for another");
    assert!(incidents < cannot);
}

#[test]
fn every_link_is_relative_so_that_a_proxy_may_stand_in_front() {
    let page = page_of(demo::cluster(time("2026-01-01T12:00:00Z")).unwrap());
    let links: Vec<&str> =
        page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let to_runbook = |link: &&str| link.starts_with("runbooks/LonghornManagerStartStuck?node=worker-4&amp;");
    let runbook = links.iter().find(|link| to_runbook(link)).unwrap_or_else(|| panic!("{links:?}"));
    assert!(links.len() > 40 && runbook.ends_with("#access_denied"), "{links:?}");
    assert!(links.iter().all(|link| !link.starts_with('/') && !link.contains(':')), "{links:?}");
}

#[test]
fn what_could_not_be_read_is_a_dash_and_one_sentence() {
    let mut cluster = cluster(HOSTILE);
    for resource in Resource::all() {
        cluster.resources.get_mut(&resource).unwrap().readability = Readability::Forbidden;
    }
    let Cluster { namespace, now, history, resources, .. } = cluster;
    let page = page_of(Cluster::new(namespace, now, Objects::default(), history, resources));
    for name in ["Nodes", "Volumes", "Instance managers"] {
        assert!(page.contains(&format!("<dt>{name}</dt><dd>–<ul>")), "{name}: {page}");
    }
    assert_eq!(page.matches("No permission to list ").count(), 1, "{page}");
    assert!(!page.contains("is forbidden"), "{page}");
    assert!(page.contains("<details class=\"read\" open>"), "{page}");
}

#[test]
fn accepted_findings_are_shown_and_counted_apart() {
    let accepted = vec![Acceptance::skip(&crate::checks::CATALOGUE, "volume_faulted").unwrap()];
    let cluster = demo::cluster(time("2026-01-01T12:00:00Z")).unwrap();
    let evaluator = Evaluator::new(
        &crate::checks::CATALOGUE,
        Arc::new(Fixed::new(cluster)),
        || time("2026-01-01T12:00:00Z"),
        true,
    );
    let evaluator = evaluator.with_options(ReportOptions { accepted, ..ReportOptions::default() });
    let (view, links) = (View::default(), Links::own("/metrics"));
    let page = landing(&evaluator.moment(), &view, &links, time("2026-01-01T12:00:00Z"));
    assert!(page.contains("<h2>Accepted <span class=\"count\">1</span></h2>"), "{page}");
    assert!(page.contains("left out by --skip"), "{page}");
    assert!(!page.contains("id=\"volume_faulted."), "{page}");
}

#[test]
fn a_part_says_so_and_leads_back_to_everything() {
    let cluster = demo::cluster(time("2026-01-01T12:00:00Z")).unwrap();
    let evaluator = Evaluator::new(
        &crate::checks::CATALOGUE,
        Arc::new(Fixed::new(cluster)),
        || time("2026-01-01T12:00:00Z"),
        true,
    );
    let view = View::parse(&crate::checks::CATALOGUE, "node=worker-5&severity=critical&refresh=60").unwrap();
    let links = Links { grafana: Some("https://grafana.example.org".to_owned()), ..Links::own("/metrics") };
    let page = landing(&evaluator.moment(), &view, &links, time("2026-01-01T12:00:00Z"));
    assert!(page.contains("Shown: node worker-5, critical only</b>"), "{page}");
    assert!(page.contains("<a href=\"?refresh=60\">Show everything</a>"), "{page}");
    assert!(page.contains("aria-current=\"true\">every 60 s</a>"), "{page}");
    assert!(page.contains("href=\"https://grafana.example.org/d/longhorn-health-managers\""), "{page}");
    assert!(
        page.contains("id=\"manager_crash_loop.") && !page.contains("id=\"webhook_unavailable."),
        "{page}"
    );
}

#[test]
fn findings_with_the_same_cause_are_written_out_a_few_times_and_then_named() {
    let pods: String = (1..=30)
        .map(|number| {
            let pod = format!("longhorn-manager-{number}");
            let status = "status: {containerStatuses: [{name: longhorn-manager, restartCount: 20, \
                          state: {waiting: {reason: CrashLoopBackOff}}}]}";
            longhorn_manager(&pod, "", &format!("spec: {{nodeName: worker-{number}}}\n{status}"))
        })
        .collect();
    let page = page_of(cluster(&pods));
    assert_eq!(page.matches("<div class=\"body\" id=\"manager_crash_loop.").count(), 5, "{page}");
    assert!(page.contains("<p class=\"more\">Also here: worker-6, worker-7, "), "{page}");
}

#[test]
fn a_file_leads_nowhere_and_has_no_age() {
    let cluster = demo::cluster(time("2026-01-01T12:00:00Z")).unwrap();
    let report = crate::testing::evaluate(&cluster).report;
    let seen = Seen::of(&cluster, &crate::checks::CATALOGUE.kinds(), Vec::new());
    let file = file(&report, &seen, Some(SignedDuration::from_hours(24)), time("2026-01-09T12:00:00Z"));
    let links: Vec<&str> = file.split("href=\"").skip(1).collect();
    assert!(links.len() >= 4 && links.iter().all(|link| link.starts_with('#')), "{links:?}");
    for outside in ["src=", "@import", "url(", "<script", "<link", "<nav", " ago)"] {
        assert!(!file.contains(outside), "{outside}");
    }
    assert!(report.findings.iter().all(|one| file.contains(&format!("id=\"{}\"", findings::anchor(one)))));
    assert!(file.contains("<h2>What changed in the last 24 h</h2>"), "{file}");
}

#[test]
fn volumes_and_nodes_lead_to_longhorns_ui_where_its_url_is_known() {
    let page = |ui: Option<&str>| {
        let cluster = demo::cluster(time("2026-01-01T12:00:00Z")).unwrap();
        let at = || time("2026-01-01T12:00:00Z");
        let evaluator = Evaluator::new(&crate::checks::CATALOGUE, Arc::new(Fixed::new(cluster)), at, true);
        let address = Address { longhorn_ui: ui.map(str::to_owned), ..Address::default() };
        let evaluator = evaluator.with_options(ReportOptions { address, ..ReportOptions::default() });
        let moment = evaluator.moment();
        let links = Links::own("/metrics");
        let report = &moment.evaluation.report;
        let json = serde_json::to_value(report).unwrap();
        (landing(&moment, &View::default(), &links, at()), file(report, &moment.seen, None, at()), json)
    };
    let (shown, kept, json) = page(Some("https://longhorn.example.org/"));
    assert!(shown.contains("<a href=\"https://longhorn.example.org/#/volume/pvc-"), "{shown}");
    assert!(
        shown.contains("href=\"https://longhorn.example.org/#/node?field=name&amp;value=worker-3\""),
        "{shown}"
    );
    assert!(!kept.contains("longhorn.example.org"), "a file leads nowhere");
    assert_eq!(json["cluster"]["longhorn_ui"], "https://longhorn.example.org/");
    let findings = json["findings"].as_array().unwrap();
    let of = |kind: &str| findings.iter().find(|finding| finding["object"]["kind"] == kind).unwrap();
    let (volume, name) = (of("Volume"), of("Volume")["object"]["name"].as_str().unwrap());
    assert_eq!(volume["longhorn_ui"], format!("https://longhorn.example.org/#/volume/{name}"));
    let (shown, _, json) = page(None);
    assert!(!shown.contains("/#/volume/") && !json.to_string().contains("longhorn_ui"), "{shown}");
}
