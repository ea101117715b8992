//! Cases of all plans: `tests/plan/*.yaml` name a healthy scenario, what differs there, what is asked, and what must be
//! answered. What is not named must not be there.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;

use super::*;
use crate::longhorn::Release;
use crate::testing::{NAMESPACE, scenario_files};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What the case is.
    pub case: String,
    /// Its healthy scenario.
    pub on: String,
    /// Objects that differ, as scenarios write them.
    #[serde(default)]
    change: String,
    /// Objects that are not there.
    #[serde(default)]
    without: Vec<String>,
    /// Kinds that may not be read.
    #[serde(default)]
    forbidden: Vec<String>,
    /// The target of an upgrade.
    #[serde(default)]
    pub to: Option<String>,
    /// The nodes of a drain, or `all`.
    #[serde(default)]
    pub drain: Vec<String>,
    /// What is to become of the nodes.
    #[serde(default)]
    pub intent: Option<String>,
    /// Conditions that are accepted.
    #[serde(default)]
    accept: Vec<String>,
    /// The verdict.
    pub verdict: String,
    /// Every reason that is more than a note: `not_yet stored_versions`.
    #[serde(default)]
    reasons: Vec<String>,
    /// Notes that must be there; others may be.
    #[serde(default)]
    notes: Vec<String>,
    /// Texts that must stand in the table.
    #[serde(default)]
    says: Vec<String>,
    /// Texts that must not.
    #[serde(default)]
    silent: Vec<String>,
}

fn scenarios() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios")
}

/// API versions of the engine of each line: command line and controller.
fn engine_api(minor: u32) -> (u32, u32) {
    match minor {
        3 => (6, 3),
        4 => (7, 4),
        5 => (9, 5),
        6..=10 => (10, 5),
        11 => (11, 6),
        _ => (12, 6),
    }
}

/// A healthy scenario with the kinds that plans read beside those of the checks.
fn base(on: &str) -> String {
    let text = scenario_files::text(&scenarios().join(on));
    let minor = on.rsplit_once('.').and_then(|(_, minor)| minor.parse().ok()).unwrap_or(12);
    let (cli, controller) = engine_api(minor);
    let image = text.split("kind: EngineImage").nth(1).unwrap().split("name: ").nth(1).unwrap();
    let image = image.lines().next().unwrap();
    let engine = format!(
        "apiVersion: longhorn.io/v1beta2\nkind: EngineImage\nmetadata: {{name: {image}}}\n\
         status: {{cliAPIVersion: {cli}, controllerAPIVersion: {controller}}}"
    );
    let crds = include_str!("../../tests/plan/crds.yaml");
    scenario_files::changed(&text, &[], &format!("{}\n---\n{engine}", crds.trim_end()))
}

impl Case {
    /// Its recording.
    fn text(&self, base: &str) -> String {
        scenario_files::changed(base, &self.without, self.change.trim_end())
    }

    /// Its cluster.
    pub fn cluster(&self, base: &str) -> crate::cluster::Cluster {
        let text = self.text(base);
        let mut cluster = crate::testing::partial(&text);
        assert_eq!(cluster.namespace, NAMESPACE);
        for label in &self.forbidden {
            let kind = crate::longhorn::Resource::all().find(|kind| kind.label() == *label).unwrap();
            cluster.resources.get_mut(&kind).unwrap().readability = crate::cluster::Readability::Forbidden;
        }
        cluster
    }

    fn judge(&self, base: &str, plan_of: impl Fn(&Case, Looked<'_>) -> Plan) -> Option<String> {
        let cluster = self.cluster(base);
        let report = evaluate(&cluster, &Address::default()).report;
        let accepted: Vec<&'static str> = self.accept.iter().map(|id| condition(id).unwrap()).collect();
        let looked = Looked {
            cluster: &cluster,
            findings: &report.findings,
            summary: &report.cluster,
            accepted: &accepted,
        };
        let plan = plan_of(self, looked);
        let mut text = Vec::new();
        table::write(&mut text, &plan, crate::report::text::Style::PLAIN, true).unwrap();
        let text = String::from_utf8(text).unwrap();
        let parts = plan.parts.iter().flat_map(|part| &part.reasons);
        let found: BTreeSet<String> =
            parts.map(|reason| format!("{} {}", reason.weight.as_str(), reason.condition)).collect();
        let heavy: Vec<&String> = found.iter().filter(|line| !line.starts_with("note ")).collect();
        let mut expected = self.reasons.clone();
        expected.sort();
        let mut wrong = Vec::new();
        let mut wants = |holds: bool, what: String| wrong.extend((!holds).then_some(what));
        wants(heavy == expected.iter().collect::<Vec<_>>(), format!("{heavy:?} instead of {expected:?}"));
        wants(
            plan.verdict.as_str() == self.verdict,
            format!("{} instead of {}", plan.verdict.as_str(), self.verdict),
        );
        wants(plan.exit_code == plan.verdict.exit_code(), "another exit code".to_owned());
        for note in &self.notes {
            wants(found.contains(&format!("note {note}")), format!("no note {note}"));
        }
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in &self.says {
            wants(flat.contains(part.as_str()), format!("does not say {part:?}"));
        }
        for part in &self.silent {
            wants(!flat.contains(part.as_str()), format!("says {part:?}"));
        }
        for name in NAMES {
            wants(!text.contains(&format!("<{name}>")), format!("<{name}> is left"));
        }
        // every form can be written, and holes are filled
        let mut markdown = Vec::new();
        markdown::write(&mut markdown, &plan).unwrap();
        junit::render(&plan).unwrap();
        (!wrong.is_empty()).then(|| format!("{}: {}\n{text}", self.case, wrong.join("; ")))
    }
}

/// Judges every case of a file.
pub fn judge(yaml: &str, plan_of: impl Fn(&Case, Looked<'_>) -> Plan) {
    let cases: Vec<Case> = serde_yaml::from_str(yaml).unwrap();
    assert!(!cases.is_empty());
    let mut bases = std::collections::BTreeMap::new();
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|case| case.judge(bases.entry(&case.on).or_insert_with(|| base(&case.on)), &plan_of))
        .collect();
    assert!(wrong.is_empty(), "{} of {} cases are wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// A release in a test.
pub fn release(text: &str) -> Release {
    Release::parse(text).unwrap()
}

#[test]
fn upgrades() {
    judge(include_str!("../../tests/plan/upgrade.yaml"), |case, looked| {
        upgrade::plan(looked, upgrade::Asked { to: case.to.as_deref().map(release) })
    });
}

#[test]
fn drains() {
    judge(include_str!("../../tests/plan/drain.yaml"), |case, looked| {
        let intent =
            drain::Intent::ALL.into_iter().find(|intent| Some(intent.as_str()) == case.intent.as_deref());
        let nodes = if case.drain == ["all"] { Vec::new() } else { case.drain.clone() };
        drain::plan(looked, &drain::Asked { nodes, intent: intent.unwrap_or(drain::Intent::Drain) }).unwrap()
    });
}

/// What is promised is held against the rules of Longhorn and kubectl, followed step by step on the objects.
#[test]
fn a_drain_that_may_go_reaches_its_end_and_one_that_is_blocked_does_not() {
    let cases: Vec<Case> = serde_yaml::from_str(include_str!("../../tests/plan/drain.yaml")).unwrap();
    let mut bases = std::collections::BTreeMap::new();
    let (mut went, mut blocked) = (0, 0);
    for case in &cases {
        let [node] = case.drain.as_slice() else { continue };
        if node == "all" || !case.forbidden.is_empty() {
            continue;
        }
        let text = case.text(bases.entry(&case.on).or_insert_with(|| base(&case.on)));
        let objects = text.split("\n---\n").map(|document| serde_yaml::from_str(document).unwrap()).collect();
        let empties = matches!(case.intent.as_deref(), Some("evict" | "remove"));
        let drained = drain::simulation::Simulated::new(objects, node).drain(empties);
        let says = |id: &str| case.reasons.iter().any(|reason| reason.ends_with(id));
        if case.verdict == "go" {
            assert!(drained.done && drained.lost.is_empty(), "{}: {drained:?}", case.case);
            went += 1;
        } else if says("budget_stays") || says("attached_for_good") {
            assert!(!drained.done, "{}: {drained:?}", case.case);
            blocked += 1;
        } else if says("last_copy") {
            assert!(!drained.lost.is_empty(), "{}: {drained:?}", case.case);
        }
    }
    assert!(went > 15 && blocked > 4, "{went} went, {blocked} were blocked");
}

#[test]
fn losses() {
    judge(include_str!("../../tests/plan/loss.yaml"), |_, looked| loss::plan(looked));
}

#[test]
fn a_plan_of_every_kind_is_served_and_wrong_questions_are_refused() {
    use crate::http::plan::{PlanQuery, PlanRoute};
    let cluster = crate::source::demo::cluster(crate::testing::time("2026-01-01T12:00:00Z")).unwrap();
    let report = evaluate(&cluster, &Address::default()).report;
    let looked =
        Looked { cluster: &cluster, findings: &report.findings, summary: &report.cluster, accepted: &[] };
    for (which, query) in [
        (PlanRoute::Upgrade, "to=v1.9.2"),
        (PlanRoute::Upgrade, ""),
        (PlanRoute::Drain, "node=worker-1&intent=reboot"),
        (PlanRoute::Drain, ""),
        (PlanRoute::Loss, "o=json"),
    ] {
        let plan = PlanQuery::parse(query).unwrap().plan(which, looked).unwrap();
        assert!(!plan.parts.is_empty() && plan.verdict != Verdict::Go, "{query}: {}", plan.answer);
    }
    for wrong in ["to=soon", "intent=explode", "o=xml", "nodes=a"] {
        assert!(PlanQuery::parse(wrong).is_err(), "{wrong}");
    }
    let unknown = PlanQuery::parse("node=worker-99").unwrap().plan(PlanRoute::Drain, looked);
    assert!(unknown.unwrap_err().contains("no node worker-99"));
}

#[test]
fn ids_are_unique_and_said_in_full() {
    let mut ids = BTreeSet::new();
    for (plan, condition) in conditions() {
        assert!(ids.insert(condition.id), "{plan}: {} is there twice", condition.id);
        for text in [condition.id, condition.meaning, condition.source] {
            assert!(!text.is_empty(), "{}", condition.id);
        }
        assert!(
            !condition.meaning.ends_with('.') && condition.fix.is_empty() | condition.fix.ends_with('.'),
            "{}",
            condition.id
        );
    }
}

#[test]
fn findings_are_taken_from_checks_that_exist() {
    for id in upgrade::REUSED.iter().chain(drain::REUSED) {
        assert!(crate::checks::by_id(id).is_some(), "{id}");
    }
}

#[test]
fn names_of_templates_are_known() {
    let named = regex::Regex::new("<([a-z_]+)>").unwrap();
    for (_, condition) in conditions() {
        let steps = condition.steps.iter().map(|step| match step {
            StepTemplate::Read(text) | StepTemplate::Change(text) => *text,
        });
        for text in steps.chain([condition.fix]) {
            for hole in named.captures_iter(text) {
                assert!(NAMES.contains(&&hole[1]), "{}: <{}>", condition.id, &hole[1]);
            }
        }
    }
}
