//! What of a night reaches someone: a real Alertmanager with the whole example configuration. Each file `<night>.night.txt` lists who is heard, and who is muted by what.

use std::collections::BTreeSet;
use std::path::Path;

use longhorn_health_exporter::exporter::INHIBITOR;
use longhorn_health_exporter::generate::rules;
use serde_json::Value;

use testing::scenario_files;

use crate::scenario::names_in_capitals;

use crate::{Alert, ROOT, Stack, stack};

/// A night and the most alerts that may be heard of it, and critical ones.
struct Night {
    name: &'static str,
    /// A scenario, and what is changed in its objects; without one the demo.
    scenario: Option<(&'static str, &'static str)>,
    most: [usize; 2],
}

const NIGHTS: &[Night] = &[
    Night { name: "demo", scenario: None, most: [13, 6] },
    // from 1.9.2 on to a release none of whose managers becomes ready
    Night {
        name: "upgrade-gone-wrong",
        scenario: Some((
            "incident-004-webhook-deadlock",
            "lh/Setting current-longhorn-version: {value: v1.9.2}",
        )),
        most: [2, 1],
    },
    Night {
        name: "node-lost-in-drain",
        scenario: Some((
            "volumes-node-down",
            "{Node worker-3: {spec.unschedulable: true}, \
             lh/Node worker-3: {spec: {allowScheduling: false, evictionRequested: true}}}",
        )),
        most: [4, 0],
    },
];

impl Night {
    fn start(&self) -> Stack {
        self.start_with(rules::DEFAULT)
    }

    fn start_with(&self, rules: &str) -> Stack {
        let directory = tempfile::tempdir().unwrap();
        let example = Path::new(ROOT).join("rules/alertmanager.example.yaml");
        let Some((scenario, changes)) = self.scenario else {
            return Stack::with_rules(directory, &["--demo"], &example, rules);
        };
        let recording = directory.path().join("recording");
        std::fs::create_dir(&recording).unwrap();
        let scenario = Path::new(ROOT).join("tests/scenarios").join(scenario);
        for (name, text) in scenario_files::files_with(&scenario, serde_yaml::from_str(changes).unwrap()) {
            std::fs::write(recording.join(name), text).unwrap();
        }
        let recording = recording.to_string_lossy().into_owned();
        Stack::with_rules(directory, &["--from", &recording], &example, rules)
    }
}

/// Those whom a receiver gets to see.
fn heard(stack: &Stack) -> Vec<Alert> {
    let (_, heard) = stack.muted_and_heard();
    heard.into_iter().filter(|alert| !["info", "none"].contains(&alert.label("severity"))).collect()
}

/// In a line: what and where.
fn told(alert: &Alert) -> String {
    let labels = ["severity", "alertname", "cause", "node", "object", "volume"];
    let mut told: Vec<&str> = labels.map(|label| alert.label(label)).into();
    told.retain(|value| !value.is_empty());
    told.dedup();
    told.join(" ")
}

/// Who is muted, with the alerts that it follows from. Alertmanager names one of several reasons, whichever it met first,
/// so all are looked for among the alerts that mute.
fn muted(stack: &Stack) -> BTreeSet<(String, String)> {
    let about = ["cause", "node"];
    let sources: Vec<Alert> =
        stack.alerts("").into_iter().filter(|alert| alert.name() == INHIBITOR).collect();
    let (muted, _) = stack.muted_and_heard();
    let with_reasons = |alert: &Alert| {
        let same = |source: &&Alert| {
            let labels = about.iter().filter(|label| !alert.label(label).is_empty());
            source.label("alert") == alert.name()
                && labels.into_iter().all(|label| source.label(label) == alert.label(label))
        };
        let reasons: BTreeSet<&str> =
            sources.iter().filter(same).map(|source| source.label("root_alert")).collect();
        (told(alert), reasons.into_iter().collect::<Vec<_>>().join(", "))
    };
    muted.iter().map(with_reasons).collect()
}

/// Waits until relations mute as many as the exporter says follow from another.
fn settle(stack: &Stack) {
    stack::wait("the relations to mute", || {
        let sources = stack.alerts("").iter().filter(|alert| alert.name() == INHIBITOR).count();
        let expr = "count(count by (alert, cause, node, root_alert, root_node) \
                    (longhorn_health_alert_follows) and on (root_alert, root_node) \
                    label_replace(label_replace(ALERTS{alertname!=\"LonghornHealthInhibitor\", alertstate=\"firing\"}, \"root_alert\", \"$1\", \
                    \"alertname\", \"(.*)\"), \"root_node\", \"$1\", \"node\", \"(.*)\")) or vector(0)";
        let expected = stack.prometheus.query(expr)?.first().map(|sample| sample["value"][1].clone());
        let before = muted(stack);
        // a root that follows from another one begins to mute an evaluation or two later
        (0..3).for_each(|_| stack.prometheus.wait_for_rules());
        if before != muted(stack) {
            return Err("still changing".to_owned());
        }
        let muted = before.len();
        match expected == Some(sources.to_string().into()) && (muted > 0) == (sources > 0) {
            true => Ok(()),
            false => Err(format!("{expected:?} follow, {sources} alerts say so, {muted} are muted")),
        }
    });
}

#[test]
fn nights_are_told_by_their_roots() {
    for night in NIGHTS {
        let (name, [most, most_critical]) = (night.name, night.most);
        let stack = night.start();
        settle(&stack);
        let heard = heard(&stack);
        let critical = heard.iter().filter(|alert| alert.label("severity") == "critical").count();
        let muted = muted(&stack);
        let mut text = format!("heard: {}, critical: {critical}, muted: {}\n", heard.len(), muted.len());
        let lines: BTreeSet<String> = heard.iter().map(told).collect();
        lines.iter().for_each(|line| text.push_str(&format!("heard  {line}\n")));
        muted.iter().for_each(|(line, by)| text.push_str(&format!("muted  {line} <- {by}\n")));
        let file = Path::new(ROOT).join(format!("tests/monitoring/{name}.night.txt"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        assert_eq!(text, std::fs::read_to_string(file).unwrap(), "{name}");
        assert!(heard.len() <= most && critical <= most_critical, "{text}");
        // what is muted has a reason, and that one is heard or muted by another that is
        let known: BTreeSet<&str> = text.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
        assert!(muted.iter().all(|(_, by)| by.split(", ").all(|by| known.contains(by))), "{text}");
    }
}

/// By the rules of incidents: who is heard, and what a phone shows of each, whole words of 200 characters. Nothing is muted.
#[test]
fn an_incident_is_one_message() {
    for night in NIGHTS {
        let stack = night.start_with(rules::OF_INCIDENTS);
        let (muted, _) = stack.muted_and_heard();
        assert!(muted.is_empty(), "{muted:#?}");
        let mut lines = BTreeSet::new();
        let heard = heard(&stack);
        for alert in &heard {
            let text = format!("{} {}", alert.annotations["summary"], alert.annotations["description"]);
            assert!(!text.contains("<no value>") && !text.contains("  "), "{alert:#?}");
            assert!(names_in_capitals(&text).is_empty(), "{alert:#?}");
            let description: String = alert.annotations["description"].chars().take(200).collect();
            lines.insert(format!("{}\n  {}\n  {description}\n", told(alert), alert.annotations["summary"]));
        }
        let file = Path::new(ROOT).join(format!("tests/monitoring/{}.incidents.txt", night.name));
        let text: String = lines.iter().map(String::as_str).collect();
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        assert_eq!(text, std::fs::read_to_string(file).unwrap(), "{}", night.name);
        assert_eq!(lines.len(), heard.len(), "two alike: {text}");
    }
}

#[test]
fn what_follows_is_heard_again_when_its_root_ends() {
    let stack = NIGHTS[0].start();
    settle(&stack);
    let muted_before = muted(&stack);
    // all, not only those that have muted by now
    let roots = stack.prometheus.query("group by (root_alert) (longhorn_health_alert_follows)").unwrap();
    let roots: BTreeSet<String> =
        roots.iter().map(|sample| sample["metric"]["root_alert"].as_str().unwrap().to_owned()).collect();
    assert!(muted_before.len() >= 8 && roots.len() >= 3, "{muted_before:?}");

    // their rules are gone, and with them the alerts that Prometheus has in ALERTS
    let roots: Vec<&str> = roots.iter().map(String::as_str).collect();
    stack::rules_without(stack.directory.path(), &roots);
    stack.prometheus.address.post("/-/reload", &Value::Null).unwrap();
    let consequences: BTreeSet<String> = muted_before.into_iter().map(|(line, _)| line).collect();
    stack::wait("the consequences to be heard", || match muted(&stack).len() {
        0 => Ok(()),
        still => Err(format!("{still} are muted")),
    });
    let heard: BTreeSet<String> = heard(&stack).iter().map(told).collect();
    let lost: Vec<_> = consequences.difference(&heard).collect();
    assert_eq!(lost, Vec::<&String>::new());
}
