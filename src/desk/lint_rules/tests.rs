use super::*;
use crate::generate::catalogue::LONGHORN_METRICS;
use crate::generate::catalogue::tests::DECLARED;
use crate::generate::{rules, settings};
use crate::longhorn_series::{METRICS, Metric};
use proptest::prelude::*;

fn release(text: &str) -> Release {
    Release::parse(text).unwrap()
}

/// `error dialect` of one expression, in order.
fn said(expr: &str, on: &str) -> Vec<String> {
    let file = Value::from(vec![serde_json::json!({ "alert": "A", "expr": expr })]).to_string();
    let linted = lint(&[("rules.yaml".to_owned(), file)], release(on)).unwrap();
    linted
        .problems
        .iter()
        .map(|problem| format!("{} {}", problem.said.level.as_str(), problem.said.id))
        .filter(|said| said != "note vanishes")
        .collect()
}

#[test]
fn an_alert_on_what_ends_with_its_manager_is_told() {
    for (expr, told) in [
        ("longhorn_node_status{condition=\"ready\"} == 0", true),
        ("longhorn_volume_robustness{state=\"faulted\"} == 1", true),
        ("longhorn_node_status{condition=\"ready\"} == 0 or absent(longhorn_node_status)", false),
        ("longhorn_backup_target_backup_volume_count == 0", false),
    ] {
        let file = |key: &str| serde_json::json!([{ key: "A", "expr": expr }]).to_string();
        let vanishes = |file: String| {
            let linted = lint(&[("a".to_owned(), file)], release("v1.12.1")).unwrap();
            linted.problems.iter().any(|problem| problem.said.id == "vanishes")
        };
        assert_eq!(vanishes(file("alert")), told, "{expr}");
        assert!(!vanishes(file("title")), "a panel shows the gap: {expr}");
    }
}

#[test]
fn one_file_that_cannot_be_read_does_not_keep_the_others_from_being_judged() {
    let bad = ("a.yaml".to_owned(), "{{ if .Values.x }}\na: b: c\n".to_owned());
    let good = ("b.yaml".to_owned(), "expr: longhorn_volume_capacity_bytes".to_owned());
    let linted = lint(&[bad.clone(), good], release("v1.12.1")).unwrap();
    let said = &linted.problems[0];
    assert_eq!((linted.exit_code, linted.expressions, said.said.id), (2, 1, "not_read"));
    assert!(said.file == "a.yaml" && said.said.message.starts_with("neither YAML nor JSON"));
    let worse = ("c.yaml".to_owned(), "expr: longhorn_volume_robustnes".to_owned());
    assert_eq!(lint(&[bad, worse], release("v1.12.1")).unwrap().exit_code, 1);
}

#[test]
fn many_comments_are_valid_yaml() {
    let comments = "# comment\n".repeat(200);
    let text = format!(
        "{comments}groups:\n{comments}- rules:\n  - alert: A\n    expr: longhorn_volume_state == 9\n"
    );
    let linted = lint(&[("a".to_owned(), text)], release("v1.10.2")).unwrap();
    assert_eq!(
        linted.problems.iter().map(|problem| (problem.line, problem.said.id)).collect::<Vec<_>>(),
        [(404, "never_matches")]
    );
}

#[test]
fn the_catalogue_is_whole() {
    assert!(METRICS.len() > 30);
    let alerts: Vec<&str> = DECLARED.alerts().map(|alert| alert.name).collect();
    for metric in METRICS.iter() {
        for name in &metric.ours {
            assert!(alerts.contains(&name.as_str()), "{name} is no alert");
        }
        assert!(metric.there().starts_with("from v1."), "{:?}", metric.names);
    }
    let on = |on: &str| {
        METRICS
            .iter()
            .filter(|metric| metric.labels(release(on)).is_some())
            .map(|metric| metric.names.len())
            .sum::<usize>()
    };
    assert_eq!([on("v1.3.0"), on("v1.8.2"), on("v1.12.1")], [35, 48, 68]);
    let disk = Metric::of("longhorn_disk_status").unwrap();
    assert!(disk.labels(release("v1.5.1")).is_none() && disk.labels(release("v1.5.2")).is_some());
    assert_eq!(disk.there(), "from v1.4.4 on, not in v1.5.0, from v1.5.2 on");
}

/// Before 1.5.3, volumes have no claim to aggregate by, which loses nothing.
#[test]
fn own_rules_for_a_release_ask_for_what_it_has() {
    let newest = LINES.last().unwrap().newest();
    let releases: BTreeSet<Release> = METRICS.iter().flat_map(Metric::releases).chain([newest]).collect();
    let mut sizes = BTreeMap::new();
    for on in releases {
        let settings = settings::parse(&DECLARED, "c", &format!("longhorn_release: {on}")).unwrap();
        let text = rules::of_longhorn_metrics("", &settings).unwrap();
        let linted = lint(&[("rules".to_owned(), text)], on).unwrap();
        for problem in linted.problems {
            let Said { level, id, message, .. } = problem.said;
            let is_claim = id == "absent_label" && message.contains("aggregates by pvc");
            assert!(level == Level::Note || is_claim, "{on}: {}: {message}", problem.place);
        }
        sizes.entry(linted.expressions).or_insert(on.to_string());
    }
    let all = LONGHORN_METRICS.alerts.len();
    let from = [(all - 2, "v1.3.0"), (all - 1, "v1.4.0"), (all, "v1.10.1")];
    assert_eq!(sizes, from.map(|(size, on)| (size, on.to_owned())).into());
}

#[test]
fn each_finding_and_its_neighbour() {
    for (expr, on, expected) in [
        ("longhorn_volume_robustnes", "v1.9.2", "error unknown_metric"),
        ("other_volume_robustnes", "v1.9.2", ""),
        ("longhorn_volume_last_backup_at > 0", "v1.10.2", "error absent_metric"),
        ("longhorn_volume_last_backup_at > 0", "v1.11.0", ""),
        ("longhorn_disk_status{condition=\"ready\"} == 0", "v1.5.0", "error absent_metric"),
        // the dialects of 1.11 and before
        ("longhorn_volume_robustness == 3", "v1.10.2", ""),
        ("longhorn_volume_robustness == 3", "v1.11.0", "error dialect"),
        ("3 == longhorn_volume_robustness", "v1.11.0", "error dialect"),
        ("max by (volume) (longhorn_volume_robustness) > 1", "v1.12.1", "error dialect"),
        ("longhorn_volume_robustness > 7", "v1.12.1", "error never_matches"),
        ("max_over_time(longhorn_volume_robustness[5m]) >= 2", "v1.12.1", "error dialect"),
        ("longhorn_volume_robustness == 1", "v1.12.1", "warning dialect"),
        ("longhorn_volume_robustness > 4", "v1.9.2", "error never_matches"),
        ("longhorn_volume_robustness{state=\"faulted\"} == 1", "v1.12.1", ""),
        ("longhorn_volume_robustness{state=\"faulted\"} == 3", "v1.12.1", "error dialect"),
        ("longhorn_volume_robustness{state=\"faulted\"} == 1", "v1.10.2", "error absent_label"),
        ("count by (state) (longhorn_volume_robustness == 1)", "v1.12.1", ""),
        ("count by (state) (longhorn_volume_robustness)", "v1.10.2", "warning absent_label"),
        (
            "longhorn_volume_capacity_bytes * on (volume) group_left (state) (longhorn_volume_robustness == 1)",
            "v1.12.1",
            "",
        ),
        (
            "(longhorn_volume_state == 2) or (longhorn_volume_state{state=\"attached\"} == 1)",
            "v1.10.2",
            "note absent_label",
        ),
        (
            "(longhorn_volume_state == 2) or (longhorn_volume_state{state=\"attached\"} == 1)",
            "v1.12.1",
            "note dialect",
        ),
        (
            "(longhorn_volume_state != 3) or (longhorn_volume_state{state!=\"detached\"} == 1)",
            "v1.12.1",
            "warning dialect",
        ),
        ("count(longhorn_volume_state == 2) or on() vector(0)", "v1.12.1", "error dialect"),
        (
            "(longhorn_volume_robustness == 2) or (longhorn_volume_robustness{robustness=\"degraded\"} == 1)",
            "v1.12.1",
            "error dialect, error unknown_label",
        ),
        // labels and values
        ("longhorn_volume_robustness{state=\"Faulted\"}", "v1.12.1", "error unknown_value"),
        ("longhorn_volume_robustness{state=~\"fault.*\"}", "v1.12.1", ""),
        ("longhorn_volume_robustness{state!=\"healthy\"}", "v1.12.1", ""),
        ("longhorn_volume_robustness{state=\"$state\"}", "v1.12.1", ""),
        ("longhorn_node_status{condition=\"Ready\"} == 0", "v1.9.2", "error unknown_value"),
        ("longhorn_node_status{condition=\"ready\", condition!=\"ready\"}", "v1.9.2", "error unknown_value"),
        ("longhorn_volume_state{pvc=\"db\"}", "v1.4.0", "error absent_label"),
        ("longhorn_volume_capacity_bytes{pvc_name=\"db\"}", "v1.9.2", "warning unknown_label"),
        ("longhorn_volume_capacity_bytes{tenant=\"a\"}", "v1.9.2", "note unknown_label"),
        ("longhorn_volume_capacity_bytes{tenant!=\"a\", cluster=\"c\", node=\"n\"}", "v1.9.2", ""),
        ("longhorn_backup_state{volume=\"v\", node=\"n\"} == 4", "v1.9.2", ""),
        ("longhorn_backup_state == 6", "v1.9.2", "error never_matches"),
        // what matches everything
        (
            "longhorn_volume_robustness{robustness!=\"healthy\", state=\"faulted\"}",
            "v1.12.1",
            "warning absent_label",
        ),
        ("longhorn_volume_robustness{state!=\"helthy\"} == 1", "v1.12.1", "warning unknown_value"),
        ("longhorn_volume_robustness{state!=\"healthy\"} == 1", "v1.12.1", ""),
        // names by a regular expression
        ("{__name__=~\"longhorn_volume_.*\"}", "v1.12.1", ""),
        ("{__name__=~\"longhorn_volumes_.*\"}", "v1.12.1", "error unknown_metric"),
        ("{__name__=~\"longhorn_volume_last_backup_at|longhorn_nothing\"}", "v1.10.2", "error absent_metric"),
        // gauges and quotients
        ("increase(longhorn_volume_actual_size_bytes[1h]) > 0", "v1.12.1", "warning gauge"),
        ("delta(longhorn_volume_actual_size_bytes[1h]) > 0", "v1.12.1", ""),
        (
            "longhorn_instance_manager_cpu_usage_millicpu / longhorn_instance_manager_cpu_requests_millicpu",
            "v1.12.1",
            "warning division_by_zero",
        ),
        (
            "longhorn_instance_manager_cpu_usage_millicpu / (longhorn_instance_manager_cpu_requests_millicpu > 0)",
            "v1.12.1",
            "",
        ),
        // whether there is any, or a change
        ("absent(longhorn_volume_robustness)", "v1.12.1", ""),
        ("changes(longhorn_volume_robustness[1h]) > 4", "v1.12.1", ""),
        ("count(longhorn_volume_robustness) > 0", "v1.12.1", ""),
        ("longhorn_volume_actual_size_bytes and on (volume) longhorn_volume_state", "v1.12.1", ""),
        ("longhorn_volumes_info{customresource_kind=\"Volume\"} == 1", "v1.12.1", ""),
        // sides that cannot match
        ("longhorn_volume_actual_size_bytes / longhorn_volume_capacity_bytes", "v1.3.0", ""),
        (
            "longhorn_volume_actual_size_bytes and (longhorn_volume_state{state=\"attached\"} == 1)",
            "v1.11.0",
            "error never_matches",
        ),
        (
            "longhorn_volume_actual_size_bytes and ignoring (state) (longhorn_volume_state{state=\"attached\"} == 1)",
            "v1.11.0",
            "",
        ),
        ("longhorn_volume_actual_size_bytes and (longhorn_volume_state == 2)", "v1.10.2", ""),
        ("longhorn_volume_actual_size_bytes unless longhorn_node_storage_usage_bytes", "v1.10.2", ""),
        (
            "longhorn_volume_actual_size_bytes / sum by (volume) (longhorn_volume_capacity_bytes)",
            "v1.10.2",
            "error never_matches",
        ),
        (
            "longhorn_volume_actual_size_bytes / on (pvc) group_left longhorn_node_storage_capacity_bytes",
            "v1.10.2",
            "error never_matches",
        ),
        (
            "longhorn_volume_actual_size_bytes / on (node) group_left longhorn_node_storage_capacity_bytes",
            "v1.10.2",
            "",
        ),
        (
            "longhorn_volume_actual_size_bytes / on (volume) group_left kubelet_volume_stats_used_bytes",
            "v1.10.2",
            "",
        ),
        (
            "histogram_quantile(0.9, sum by (le) (rate(longhorn_workqueue_work_duration_seconds_bucket[5m])))",
            "v1.10.2",
            "",
        ),
        ("longhorn_workqueue_work_duration_seconds", "v1.10.2", "error unknown_metric"),
        ("longhorn_volume_state ===", "v1.10.2", "unknown not_parsed"),
    ] {
        let expected: Vec<&str> = expected.split(", ").filter(|part| !part.is_empty()).collect();
        assert_eq!(said(expr, on), expected, "{expr} on {on}");
    }
}

#[test]
fn alternatives_behind_an_equals_sign_want_a_regular_expression() {
    let expr = "longhorn_volume_robustness{state=\"degraded|faulted\"} == 1";
    let file = Value::from(vec![serde_json::json!({ "alert": "A", "expr": expr })]).to_string();
    let linted = lint(&[("rules.yaml".to_owned(), file)], release("v1.12.1")).unwrap();
    let said: Vec<_> =
        linted.problems.iter().map(|problem| (problem.said.id, problem.said.instead.as_str())).collect();
    assert!(said.contains(&("unknown_value", "state=~\"degraded|faulted\"")), "{said:?}");
}

#[test]
fn the_published_rules_died_with_1_11() {
    let file =
        [("published.yaml".to_owned(), include_str!("../../../tests/lint-rules/published.yaml").to_owned())];
    let before = lint(&file, release("v1.10.2")).unwrap();
    assert_eq!((before.exit_code, before.expressions, before.problems.len()), (1, 8, 3), "{before:?}");
    let after = lint(&file, release("v1.11.0")).unwrap();
    let found: Vec<_> = after
        .problems
        .iter()
        .map(|problem| (problem.place.as_str(), problem.line, problem.said.id))
        .collect();
    assert_eq!(
        found,
        [("Faulted", 10, "dialect"), ("Degraded", 11, "dialect"), ("ManagerCpu", 18, "division_by_zero")]
    );
    assert_eq!(after.exit_code, 1);
    let instead = &after.problems[0].said.instead;
    assert_eq!(
        instead,
        "longhorn_volume_robustness{state=\"faulted\"} == 1; or alert LonghornVolumeFaulted, LonghornVolumeNotRecovering of longhorn-health-exporter"
    );
}

#[test]
fn panels_and_variables_of_a_dashboard() {
    let text = include_str!("../../../tests/lint-rules/dashboard.json");
    let config_map =
        format!("kind: ConfigMap\ndata:\n  storage.json: |\n    {}", text.replace('\n', "\n    "));
    let files = [("dashboard.json".to_owned(), text.to_owned()), ("map.yaml".to_owned(), config_map)];
    let problems = lint(&files, release("v1.12.1")).unwrap().problems;
    let of = |file: &str| -> Vec<String> {
        let of = problems.iter().filter(|problem| problem.file == file);
        let mut of: Vec<_> =
            of.map(|problem| format!("{} {} {}", problem.line, problem.place, problem.said.id)).collect();
        of.sort();
        of
    };
    assert_eq!(
        of("dashboard.json"),
        [
            "10 States dialect", "11 Read gauge", "5 claim unknown_label", "8 Degraded dialect",
            "9 Attached dialect"
        ]
    );
    assert_eq!(of("map.yaml").len(), 5);
    let old = lint(&files[..1], release("v1.10.2")).unwrap();
    assert_eq!(old.problems.len(), 2, "{:?}", old.problems);
}

#[test]
fn the_line_is_that_of_the_expression() {
    let text = "groups:\n- rules:\n  - alert: A\n    expr: |\n      count(\n        other\n      )\n  - alert: B\n    expr: |\n      count(\n        longhorn_volume_state == 9\n      )\n";
    let linted = lint(&[("a".to_owned(), text.to_owned())], release("v1.10.2")).unwrap();
    assert_eq!(linted.problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [10]);
}

#[test]
fn rules_of_every_source_and_what_they_record() {
    for text in [
        "groups: [{name: a, rules: [{record: 'longhorn_own', expr: longhorn_volume_robustness}, {alert: B, expr: longhorn_own > 5}]}]",
        "additionalPrometheusRulesMap: {mine: {groups: [{name: a, rules: [{alert: B, expr: longhorn_volume_state == 9}]}]}}",
        "# nothing\n---\nkind: PrometheusRule\nspec: {groups: [{rules: [{alert: B, expr: longhorn_volume_state == 9}]}]}",
    ] {
        let linted = lint(&[("a".to_owned(), text.to_owned())], release("v1.10.2")).unwrap();
        assert!(linted.expressions > 0, "{text}");
        assert_eq!(
            linted.problems.len(),
            usize::from(!text.contains("longhorn_own")),
            "{text}: {:?}",
            linted.problems
        );
    }
    let newer =
        lint(&[("a".to_owned(), "expr: longhorn_volume_capacity_bytes".to_owned())], release("v1.14.0"))
            .unwrap();
    assert_eq!(newer.exit_code, 2);
}

proptest! {
    #[test]
    fn no_expression_ends_it(text in "[longhr_ volume(){}\\[\\]\"'=~<>$.,0-9*/+-]{0,200}", depth in 0_usize..4000) {
        for text in [format!("longhorn_{text}"), format!("{}longhorn_volume_state", "(".repeat(depth)), format!("{}longhorn_volume_state", "-".repeat(depth))] {
            let _ = said(&text, "v1.12.1");
        }
    }
}

#[test]
fn each_expression_is_found_without_a_search_of_all_lines() {
    let expr = |index: usize| format!("rate(longhorn_nosuch_{index}{{a=\"b\"}}[5m])");
    let panels: Vec<Value> = (0..2_000)
        .map(|index| serde_json::json!({ "title": "p", "targets": [{ "expr": expr(index) }, { "expr": expr(0) }] }))
        .collect();
    let yaml: String = (0..2_000).map(|index| format!("- alert: A\n  expr: {}\n", expr(index))).collect();
    for text in [serde_json::to_string_pretty(&panels).unwrap(), yaml] {
        let (mut found, mut records) = (Vec::new(), BTreeSet::new());
        let mut reader = Reader::new(0, &mut found, &mut records);
        reader.read(&text).unwrap();
        assert_eq!(reader.search, SEARCH);
        let lines: Vec<&str> = text.lines().collect();
        for written in &found {
            let escaped = Value::from(written.text.as_str()).to_string();
            let line = lines[written.line - 1];
            assert!(line.contains(&written.text) || line.contains(&escaped), "{line}");
        }
        let places: BTreeSet<usize> = found.iter().map(|written| written.line).collect();
        assert_eq!(places.len(), found.len(), "each has a line of its own");
    }
}

#[test]
fn a_search_of_lines_has_an_end() {
    let one_line: Vec<Value> =
        (0..2_000).map(|index| serde_json::json!({ "expr": format!("longhorn_nosuch_{index}") })).collect();
    let (mut found, mut records) = (Vec::new(), BTreeSet::new());
    let mut reader = Reader::new(0, &mut found, &mut records);
    reader.search = 1 << 20;
    reader.read(&Value::from(one_line).to_string()).unwrap();
    assert_eq!((reader.search, reader.found.len()), (0, 2_000));
    assert!(found.iter().all(|written| written.line == 1));
}
