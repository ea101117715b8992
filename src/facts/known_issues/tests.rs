use super::*;

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
    let out = |number, text: &str| {
        let issue = ALL.iter().find(|issue| issue.number == number).unwrap();
        issue.way_out(Release::parse(text).unwrap()).map(|release| release.to_string())
    };
    assert_eq!(out(10464, "v1.7.2").as_deref(), Some("v1.7.4"));
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
            let out = issue.way_out(*first).unwrap();
            assert!(!issue.affects(out), "{} {first} -> {out}", issue.number);
        }
    }
}
