use super::table::{Details, write};
use super::*;
use crate::source::demo;
use crate::testing::{MANAGER, cluster, cluster_at, partial, time};

fn printed(report: &Report, style: Style, details: Details) -> String {
    let mut out = Vec::new();
    write(&mut out, report, style, details).unwrap();
    String::from_utf8(out).unwrap()
}

fn demo_report() -> Report {
    let mut report =
        crate::evaluate(&checks::CATALOGUE, &demo::cluster(time("2026-01-01T12:00:00Z")).unwrap()).report;
    report.cluster.name = Some("demo".to_owned());
    report
}

#[test]
fn the_demo_night_is_a_screen_with_its_four_causes_first() {
    let text = printed(&demo_report(), Style::DEFAULT, Details::Brief);
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with(
            "CRITICAL  cluster demo · Longhorn v1.8.0 in longhorn-system · 2026-01-01 12:00 UTC"
        ),
        "{text}"
    );
    let data =
        "Data      1 volume faulted: monitoring/metrics-0 · 1 not served (RWX): shop/queue-data-0 · 1 on the";
    assert!(lines[1].starts_with(data), "{text}");
    assert!(text.contains("\n            fix: ") && text.contains("\n            $ kubectl "), "{text}");
    for (number, word) in [(1, "cannot list"), (2, "open-iscsi"), (3, "nstance manager"), (4, "viction")] {
        let line = lines.iter().find(|line| line.starts_with(&format!("{number} critical"))).unwrap();
        assert!(line.contains(word), "{number}: {text}");
    }
}

#[test]
fn details_have_a_block_for_each_cause_with_all_its_objects() {
    let report = demo_report();
    let all = printed(&report, Style { width: 10_000, ..Style::DEFAULT }, Details::All);
    for finding in &report.findings {
        let object = finding.object.to_string();
        assert!(all.lines().any(|line| line.trim_start().starts_with(&object)), "{object}: {all}");
    }
    for incident in &report.incidents {
        let worst = &report.findings[incident.findings[0]];
        assert!(all.contains(&sentence(&worst.message)), "{}", worst.message);
        for command in &worst.remedy.commands {
            assert!(all.contains(&command.run), "{}", command.run);
        }
        let title = format!("  {}/{}\n", worst.check, worst.cause);
        assert_eq!(all.matches(&title).count(), 1, "{title}");
    }
    let one = printed(&report, Style::DEFAULT, Details::Of(2));
    assert!(one.contains("open-iscsi") && !one.contains("orphan"), "{one}");
    assert!(printed(&report, Style::DEFAULT, Details::Of(99)).contains("no incident 99"));
}

#[test]
fn checks_without_a_verdict_are_told_once_a_reason_and_fit_the_width() {
    let setting =
        "apiVersion: longhorn.io/v1beta2\nkind: Setting\nmetadata: {name: a, namespace: longhorn-system}\n";
    let report = crate::evaluate(&checks::CATALOGUE, &partial(setting)).report;
    let text = printed(&report, Style { width: 60, ..Style::DEFAULT }, Details::Brief);
    assert!(text.contains("\nUnknown   The recording has no pods, "), "{text}");
    assert_eq!(text.matches("Pods are not recorded,").count(), 1, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
}

#[test]
fn a_recording_without_times_has_no_moment() {
    let of = |cluster: &crate::cluster::Cluster| {
        let report = crate::evaluate(&checks::CATALOGUE, cluster).report;
        let json = serde_json::to_value(&report).unwrap();
        (printed(&report, Style::DEFAULT, Details::Brief), json["cluster"].get("now").cloned())
    };
    let (text, now) = of(&cluster(MANAGER));
    assert!(text.contains("in longhorn-system · at an unknown time · recording"), "{text}");
    assert_eq!(now, None);
    let (text, now) = of(&cluster_at("2026-01-01T00:00:00Z", MANAGER));
    assert!(text.contains("· 2026-01-01 00:00 UTC · recording"), "{text}");
    assert_eq!(now, Some("2026-01-01T00:00:00Z".into()));
}

#[test]
fn a_pipe_gets_a_line_a_finding() {
    let report = demo_report();
    let mut out = Vec::new();
    wide::write(&mut out, &report).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().count(), 2 + report.findings.len() + report.unknown.len());
    assert!(
        text.lines().nth(1).unwrap().starts_with("data  1 volume faulted: monitoring/metrics-0"),
        "{text}"
    );
    assert!(
        text.contains(
            "\ncritical  worker-5  manager_crash_loop/open_iscsi_missing  Pod/longhorn-manager-f3524  "
        ),
        "{text}"
    );
}

#[test]
fn markdown_has_the_incidents_and_nothing_from_outside_is_markup() {
    let mut report = demo_report();
    report.incidents[0].title = "`x` <b> [y](z) *".to_owned();
    let mut out = Vec::new();
    markdown::write(&mut out, &report).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.starts_with("### Longhorn: critical\n**Data:** 1 volume faulted: monitoring/metrics-0"),
        "{text}"
    );
    assert!(text.contains("1. **critical** \\`x\\` \\<b\\> \\[y\\](z) \\*."), "{text}");
    assert!(text.contains("   Fix: ") && text.contains("   First:\n\n   ```sh\n   kubectl "), "{text}");
}

#[test]
fn sentences_end() {
    assert_eq!(sentence("setting x waits"), "Setting x waits.");
    assert_eq!(sentence("Really?"), "Really?");
    assert_eq!(sentence(""), "");
}

#[test]
fn a_log_cannot_steer_the_terminal_and_long_text_is_wrapped() {
    let style = Style { width: 40, ..Style::DEFAULT };
    let mut out = Vec::new();
    style.wrap(&mut out, "", "bad \x1b[2J \u{7}news").unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "bad \u{fffd}[2J \u{fffd}news\n");
    let lines = style.lines("          ", &"word ".repeat(20));
    assert!(lines.iter().all(|line| line.len() <= 30), "{lines:?}");
}
