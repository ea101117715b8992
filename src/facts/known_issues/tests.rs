use super::*;
use crate::testing::{cluster, kube_node};

fn affected(number: u32, text: &str) -> bool {
    let issue = ALL.iter().find(|issue| issue.number == number).unwrap();
    issue.affects(Release::parse(text).unwrap())
}

#[test]
fn both_sides_of_every_release_edge() {
    for (number, has, has_not) in [
        (5209, &["v1.3.3", "v1.5.5"][..], &["v1.6.0"][..]),
        (8098, &["v1.4.0", "v1.6.4"], &["v1.3.3", "v1.7.0"]),
        (11864, &["v1.10.0"], &["v1.9.2", "v1.10.1", "v1.11.0"]),
        (11994, &["v1.10.0"], &["v1.9.2", "v1.10.1"]),
        (12081, &["v1.10.0"], &["v1.9.2", "v1.10.1"]),
        (12573, &["v1.11.0"], &["v1.10.2", "v1.11.1"]),
        (13087, &["v1.9.0", "v1.10.3", "v1.11.2"], &["v1.8.2", "v1.10.4", "v1.11.3", "v1.12.0"]),
        (13482, &["v1.5.5", "v1.11.3", "v1.12.0"], &["v1.5.4", "v1.11.4", "v1.12.1"]),
        (6264, &["v1.5.0"][..], &["v1.4.4", "v1.5.1", "v1.6.0"][..]),
        (6998, &["v1.3.2", "v1.4.0", "v1.4.4", "v1.5.1"], &["v1.3.1", "v1.5.2", "v1.6.0"]),
        (7919, &["v1.6.0"], &["v1.5.5", "v1.6.1", "v1.7.0"]),
        (9073, &["v1.6.0", "v1.6.2"], &["v1.5.5", "v1.6.3", "v1.7.0"]),
        (9464, &["v1.6.2", "v1.7.0", "v1.7.1"], &["v1.6.3", "v1.7.2", "v1.8.0"]),
        (10019, &["v1.7.0", "v1.7.2"], &["v1.6.4", "v1.7.3", "v1.8.0"]),
        (10464, &["v1.7.0", "v1.7.3", "v1.8.0"], &["v1.6.4", "v1.7.4", "v1.8.1", "v1.9.0"]),
        (11016, &["v1.9.0"], &["v1.8.2", "v1.9.0-hotfix-1", "v1.9.1", "v1.10.0"]),
        (
            11034,
            &["v1.8.1", "v1.9.0", "v1.9.0-hotfix-1"],
            &["v1.7.3", "v1.8.0", "v1.8.2", "v1.9.1", "v1.10.0"],
        ),
        (10502, &["v1.7.0", "v1.7.3", "v1.8.0"], &["v1.6.4", "v1.7.4", "v1.8.1", "v1.9.0"]),
        (11169, &["v1.4.0", "v1.8.2", "v1.9.0"], &["v1.3.3", "v1.9.1", "v1.10.0"]),
        (11420, &["v1.7.0", "v1.9.1"], &["v1.6.4", "v1.9.2", "v1.10.0"]),
        (11939, &["v1.10.0"], &["v1.9.2", "v1.10.0-hotfix-1", "v1.10.1", "v1.11.0"]),
        (
            12233,
            &["v1.9.2", "v1.9.3", "v1.10.0", "v1.10.0-hotfix-1", "v1.10.1"],
            &["v1.9.1", "v1.9.2-hotfix-1", "v1.9.4", "v1.10.1-hotfix-1", "v1.10.2", "v1.11.0"],
        ),
        (12578, &["v1.11.0"], &["v1.10.2", "v1.11.0-hotfix-1", "v1.11.1"]),
        (13245, &["v1.8.0", "v1.10.2", "v1.11.2"], &["v1.7.4", "v1.11.3", "v1.12.0", "v1.13.0-dev"]),
    ] {
        for text in has {
            assert!(affected(number, text), "{number} {text}");
        }
        for text in has_not {
            assert!(!affected(number, text), "{number} {text}");
        }
    }
}

#[test]
fn the_way_out_stays_in_the_line_where_it_can() {
    let on = |kubernetes: &str, number, text: &str| {
        let issue = ALL.iter().find(|issue| issue.number == number).unwrap();
        let cluster =
            cluster(&kube_node("n", &format!("status: {{nodeInfo: {{kubeletVersion: {kubernetes}}}}}")));
        issue.way_out(&cluster, Release::parse(text).unwrap()).map(|release| release.to_string())
    };
    let out = |number, text: &str| on("v1.34.1", number, text);
    // 1.7.4 has no manifest, and 1.10.4 no tag
    assert_eq!(out(10464, "v1.7.2").as_deref(), Some("v1.8.2"));
    assert_eq!(out(13087, "v1.10.2").as_deref(), Some("v1.11.3"));
    // 1.11.3 needs Kubernetes 1.34
    assert_eq!(on("v1.33.4", 13087, "v1.10.2").as_deref(), Some("v1.12.1"));
    assert_eq!(on("v1.33.4", 13245, "v1.11.2").as_deref(), Some("v1.12.1"));
    assert_eq!(out(13482, "v1.11.2").as_deref(), Some("v1.12.1"));
    // 1.8.1 has the fix of 10464 but not that of 11034
    assert_eq!(out(10464, "v1.8.0").as_deref(), Some("v1.8.2"));
    assert_eq!(out(11034, "v1.9.0").as_deref(), Some("v1.9.1"));
    assert_eq!(out(11939, "v1.10.0").as_deref(), Some("v1.10.0-hotfix-1"));
    assert_eq!(out(12233, "v1.9.2").as_deref(), Some("v1.9.2-hotfix-1"));
    // 1.9.3 is younger than the hotfix of its line and has no successor
    assert_eq!(out(12233, "v1.9.3").as_deref(), Some("v1.10.1-hotfix-1"));
}

#[test]
fn every_affected_release_has_a_way_out_that_is_not_affected() {
    for issue in ALL {
        assert_eq!(issue.cause, format!("issue_{}", issue.number));
        for (first, _) in issue.ranges {
            let out = issue.way_out(&cluster(""), *first).unwrap();
            assert!(!issue.affects(out), "{} {first} -> {out}", issue.number);
        }
    }
}

#[test]
fn a_disk_without_size_hurts_where_replicas_are_balanced() {
    let issue = ALL.iter().find(|issue| issue.number == 10502).unwrap();
    let trigger = |balance: &str, size: i64| {
        let node = crate::testing::object(
            "Node",
            "n",
            &format!("status: {{diskStatus: {{c: {{storageMaximum: 9}}, d: {{storageMaximum: {size}}}}}}}"),
        );
        issue.trigger(&cluster(&(node + &crate::testing::setting("replica-auto-balance", balance))))
    };
    assert!(matches!(trigger("best-effort", 0), Trigger::Met(_)));
    assert!(matches!(trigger("best-effort", 5), Trigger::Possible(_)));
    assert_eq!(trigger("disabled", 0), Trigger::Absent);
}

#[test]
fn no_manager_is_ready_only_where_there_was_one() {
    let issue = ALL.iter().find(|issue| issue.number == 12578).unwrap();
    let met = |installed: bool, made: &str, ready: &str| {
        let status = format!("status: {{conditions: [{{type: Ready, status: '{ready}'}}]}}");
        let pod = crate::testing::MANAGER
            .replace("}}\n", &format!("}}, creationTimestamp: '2026-01-02T{made}Z'}}\n{status}\n"));
        let node = if installed { crate::testing::object("Node", "n", "") } else { String::new() };
        let cluster = crate::testing::cluster_at("2026-01-02T12:00:00Z", &(pod + &node));
        matches!(issue.trigger(&cluster), Trigger::Met(_))
    };
    assert!(met(true, "11:57:00", "False"));
    assert!(!met(true, "11:57:01", "False"), "a rollout");
    assert!(!met(true, "11:57:00", "True"));
    assert!(!met(false, "11:57:00", "False"), "the first start");
}

#[test]
fn the_advice_names_the_issue_and_the_next_step() {
    let issue = ALL.iter().find(|issue| issue.number == 13087).unwrap();
    let old = cluster(&kube_node("n", "status: {nodeInfo: {kubeletVersion: v1.33.4}}"));
    let advice = issue.advice(&old, Release::new(1, 9, 2), "many parallel rebuilds can trigger it");
    assert!(
        advice.starts_with(
            "Upgrade to v1.12.1, one minor release at a time, v1.10.2 first (https://github.com/longhorn/longhorn/issues/13087). Until then, "
        ),
        "{advice}"
    );
}

#[test]
fn the_words_name_the_releases_of_the_table_that_can_be_got() {
    for issue in ALL {
        let fixed = issue.fixed.iter().filter(|fixed| releases::can_be_reached(&cluster(""), **fixed));
        let fixed: Vec<_> = fixed.map(ToString::to_string).collect();
        let named = match fixed.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => String::new(),
        };
        assert!(
            issue.fix.contains(&format!("pgrade to {named} or later (")),
            "{}: {}",
            issue.number,
            issue.fix
        );
    }
}
