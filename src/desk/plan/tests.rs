//! Cases of all plans, tests/plan/*.yaml. What is not named there must not be answered.

use std::collections::BTreeSet;

use serde_json::Value;

use super::*;
use crate::longhorn::resource::{ResourceInfo, TABLE};
use crate::longhorn::{Release, Resource};
use crate::testing::fixture::Fixture;
use crate::testing::longhorn_drain::Longhorn;
use crate::testing::plan_cases::{self, Case, base};
use crate::testing::{NAMESPACE, partial};

/// The case and what a plan says of it.
trait Judged {
    fn cluster(&self, base: &Fixture, which: Which) -> crate::cluster::Cluster;
    fn plan(&self, which: Which, looked: Looked<'_>) -> Plan;
    fn wanted(&self) -> capacity::Wanted;
    fn judge(&self, base: &Fixture, which: Which) -> Option<String>;
}

impl Judged for Case {
    /// Its cluster, as far as the plan asks for it.
    fn cluster(&self, base: &Fixture, which: Which) -> crate::cluster::Cluster {
        let (objects, asked) = (self.objects(base), which.kinds(&checks::CATALOGUE));
        let asked_for = |object: &&Value| kind_of(object).is_none_or(|kind| asked.contains(&kind));
        let documents = objects.iter().filter(asked_for).map(|object| format!("---\n{object}\n"));
        let mut cluster = partial(&documents.collect::<String>());
        for kind in Resource::all().filter(|kind| !asked.contains(kind)) {
            cluster.resources.remove(&kind);
        }
        assert_eq!(cluster.namespace, NAMESPACE);
        cluster.api_server = self.api_server.as_deref().map(release);
        for label in &self.forbidden {
            let kind = crate::longhorn::Resource::all().find(|kind| kind.label() == *label).unwrap();
            cluster.resources.get_mut(&kind).unwrap().readability = crate::cluster::Readability::Forbidden;
        }
        cluster
    }

    fn plan(&self, which: Which, looked: Looked<'_>) -> Plan {
        match which {
            Which::Upgrade => upgrade::plan(looked, upgrade::Asked { to: self.to.as_deref().map(release) }),
            Which::Drain => {
                let named = |intent: &drain::Intent| Some(intent.as_str()) == self.intent.as_deref();
                let intent = drain::Intent::ALL.into_iter().find(named).unwrap_or(drain::Intent::Drain);
                let nodes = if self.drain == ["all"] { Vec::new() } else { self.drain.clone() };
                drain::plan(looked, &drain::Asked { nodes, intent }).unwrap()
            }
            Which::Loss => loss::plan(looked, &self.drain).unwrap(),
            Which::Capacity => {
                let size = self.volume.as_deref().map(|size| capacity::size(size).unwrap());
                capacity::plan(looked, size.map(|size| capacity::Wanted { size, ..self.wanted() }))
            }
        }
    }

    fn wanted(&self) -> capacity::Wanted {
        let tags = |tags: &[String]| tags.to_vec();
        capacity::Wanted {
            replicas: self.replicas,
            node_selector: tags(&self.node_selector),
            disk_selector: tags(&self.disk_selector),
            ..capacity::Wanted::default()
        }
    }

    fn judge(&self, base: &Fixture, which: Which) -> Option<String> {
        let cluster = self.cluster(base, which);
        let report = evaluate(&checks::CATALOGUE, which, &cluster, &Address::default()).report;
        let accepted: Vec<&'static str> = self.accept.iter().map(|id| condition(id).unwrap()).collect();
        let mut looked = Looked::new(&cluster, &report, &accepted);
        let earlier = self.a_day_before.clone().map(|change| {
            let mut before = self.clone();
            before.change = change;
            let mut earlier = before.cluster(base, which);
            earlier.now = cluster.now - jiff::SignedDuration::from_hours(24);
            capacity::Growth::between(&earlier, &cluster)
        });
        looked.growth = earlier.as_ref();
        let plan = self.plan(which, looked);
        let mut text = Vec::new();
        table::write(&mut text, &plan, crate::report::text::Style::DEFAULT, true).unwrap();
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
            plan.verdict.as_str() == self.verdict(),
            format!("{} instead of {}", plan.verdict.as_str(), self.verdict()),
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
        for name in Name::ALL.map(Name::as_str) {
            wants(!text.contains(&format!("<{name}>")), format!("<{name}> is left"));
        }
        // every form can be written, and holes are filled
        let mut markdown = Vec::new();
        markdown::write(&mut markdown, &plan).unwrap();
        let junit = String::from_utf8(junit::render(&plan).unwrap()).unwrap();
        let [cases, asked] = [junit.matches("<testcase ").count(), which.conditions().len()];
        wants(cases == asked * plan.parts.len(), format!("{cases} cases of JUnit for {asked} conditions"));
        let outs = junit.matches("<system-out>").count();
        wants(
            outs == noted(&plan),
            format!("{outs} outputs of JUnit for {} conditions with notes only", noted(&plan)),
        );
        (!wrong.is_empty()).then(|| format!("{}: {}\n{text}", self.case, wrong.join("; ")))
    }
}

/// How many conditions hold, and still have something to say.
fn noted(plan: &Plan) -> usize {
    let of = |part: &Part| {
        let by = |id: &str| part.reasons.iter().filter(|reason| reason.condition == id).collect::<Vec<_>>();
        let said: BTreeSet<_> = part.reasons.iter().map(|reason| reason.condition).collect();
        said.into_iter().filter(|id| Verdict::of(by(id)) == Verdict::Go).count()
    };
    plan.parts.iter().map(of).sum()
}

fn kind_of(object: &Value) -> Option<Resource> {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    Resource::of(text("apiVersion"), text("kind"))
}

/// The same of `KIND NAME`.
fn kind_of_head(head: &str) -> Option<Resource> {
    let kind = head.split(' ').next()?;
    let (of_longhorn, kind) = kind.strip_prefix("lh/").map_or((false, kind), |kind| (true, kind));
    let is = |info: &&ResourceInfo| info.kind == kind && (info.group == "longhorn.io") == of_longhorn;
    TABLE.iter().find(is).map(|info| info.resource)
}

fn cases(which: Which) -> Vec<Case> {
    plan_cases::cases(which.as_str())
}

/// Judges every case of a plan.
fn judge(which: Which) {
    let cases = cases(which);
    assert!(!cases.is_empty());
    let mut bases = std::collections::BTreeMap::new();
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|case| case.judge(bases.entry(&case.on).or_insert_with(|| base(&case.on)), which))
        .collect();
    assert!(wrong.is_empty(), "{} of {} cases are wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// A release in a test.
pub fn release(text: &str) -> Release {
    Release::parse(text).unwrap()
}

#[test]
fn upgrades() {
    judge(Which::Upgrade);
}

#[test]
fn drains() {
    judge(Which::Drain);
}

/// Every pair of minor releases, from a healthy cluster of the one to the newest patch of the other: what managers let through is *go*,
/// and nothing else is; the newest known is 1.12.
#[test]
fn every_pair_of_releases() {
    const FIRST: u32 = 3;
    let targets: Vec<Release> = crate::facts::releases::LINES
        .iter()
        .map(crate::facts::releases::Line::newest)
        .chain([Release::new(1, 13, 0)])
        .collect();
    let mut wrong = Vec::new();
    for minor in FIRST..=12 {
        let on = format!("healthy-1.{minor}");
        let yaml = format!("{{case: pair, on: {on}}}");
        let case: Case = serde_yaml::from_str(&yaml).unwrap();
        let cluster = case.cluster(&base(&on), Which::Upgrade);
        let report = evaluate(&checks::CATALOGUE, Which::Upgrade, &cluster, &Address::default()).report;
        let looked = Looked::new(&cluster, &report, &[]);
        let from = cluster.release().unwrap();
        for to in &targets {
            // Kubernetes of these clusters is older than what 1.11.3 needs
            let to = if to.minor == 11 { Release::new(1, 11, 2) } else { *to };
            let plan = upgrade::plan(looked, upgrade::Asked { to: Some(to) });
            let expected = match (to.minor.checked_sub(from.minor), to >= from) {
                (Some(0), true) => Verdict::Go,
                (Some(1), _) if to.minor == 13 => Verdict::Unknown,
                (Some(1), _) => Verdict::Go,
                _ => Verdict::No,
            };
            let heavy = |reason: &&Reason| reason.weight != Weight::Note;
            let reasons: BTreeSet<&str> =
                plan.parts[0].reasons.iter().filter(heavy).map(|one| one.condition).collect();
            let refused = expected != Verdict::No || reasons.contains("path_refused");
            if plan.verdict != expected || !refused {
                wrong.push(format!("{from} to {to}: {} for {reasons:?}", plan.verdict.said()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is promised is held against the rules of Longhorn and kubectl, followed step by step on the objects.
#[test]
fn a_drain_that_may_go_reaches_its_end_and_one_that_is_blocked_does_not() {
    let cases = cases(Which::Drain);
    let mut bases = std::collections::BTreeMap::new();
    let (mut went, mut blocked) = (0, 0);
    for case in &cases {
        let [node] = case.drain.as_slice() else { continue };
        if node == "all" || !case.forbidden.is_empty() {
            continue;
        }
        let on = bases.entry(&case.on).or_insert_with(|| base(&case.on));
        // nothing is drained on a node that is down
        let cluster = case.cluster(on, Which::Drain);
        if crate::facts::nodes::down(&cluster, node).is_some() {
            continue;
        }
        // what is stopped may go by this policy, and comes back with the node
        let policy = cluster.setting("node-drain-policy").map(|policy| policy.value.to_string());
        let let_go = policy.as_deref() == Some("allow-if-replica-is-stopped");
        let before = Longhorn::new(case.objects(on), node);
        let mut longhorn = before.clone();
        if matches!(case.intent.as_deref(), Some("evict" | "remove")) {
            longhorn.ask("Node", "evictionRequested");
            longhorn.look();
        }
        longhorn.ask("KubeNode", "unschedulable");
        longhorn.look();
        let (budgets, lost) = (longhorn.budgets_here(), before.lost(&longhorn));
        let says = |id: &str| case.reasons.iter().any(|reason| reason.ends_with(id));
        if case.verdict() == "go" {
            assert!(budgets.is_empty() && (let_go || lost.is_empty()), "{}: {budgets:?} {lost:?}", case.case);
            went += 1;
        } else if ["budget_stays", "attached_for_good", "copy_on_unknown_node", "engine_left_over"]
            .into_iter()
            .any(says)
        {
            assert!(!budgets.is_empty(), "{}", case.case);
            blocked += 1;
        } else if says("last_copy") {
            assert!(!lost.is_empty(), "{}", case.case);
        }
    }
    assert!(went > 15 && blocked > 4, "{went} went, {blocked} were blocked");
}

#[test]
fn losses() {
    judge(Which::Loss);
}

/// Twenty places are named, the others counted.
#[test]
fn of_many_places_the_first_are_named() {
    for (places, says) in [(20, "silent: [more place]"), (21, "says: [and 1 more place]")] {
        let volume = |n: u32| {
            format!(
                "lh/Volume alone{n}: {{replicas: 1}}\nlh/Replica alone{n}-r-1: {{volume: alone{n}, spec.diskID: d{n}}}\n"
            )
        };
        let volumes: String = (0..places).map(volume).collect();
        let yaml = format!("case: {places}\n{volumes}reasons: [not_yet one_copy_by_choice]\n{says}\n");
        let case: Case = serde_yaml::from_str(&yaml).unwrap();
        assert_eq!(case.judge(&base(&case.on), Which::Loss), None);
    }
}

#[test]
fn capacities() {
    judge(Which::Capacity);
}

#[test]
fn ids_are_unique_and_said_in_full() {
    let mut ids = BTreeSet::new();
    for (plan, condition) in conditions() {
        assert!(ids.insert(condition.id()), "{plan}: {} is there twice", condition.id());
        for text in [condition.id(), condition.cause.meaning, condition.source] {
            assert!(!text.is_empty(), "{}", condition.id());
        }
        assert!(
            !condition.cause.meaning.ends_with('.')
                && condition.cause.fix.is_empty() | condition.cause.fix.ends_with('.'),
            "{}",
            condition.id()
        );
    }
}

#[test]
fn findings_are_taken_from_checks_that_exist() {
    for id in Which::ALL.iter().flat_map(|which| which.reused()) {
        assert!(checks::CATALOGUE.by_id(id).is_some(), "{id}");
    }
}

/// Of many thousand findings the worst are listed; a node without one among them is not therefore without one.
#[test]
fn what_is_not_listed_is_not_go() {
    use crate::report::NotListed;
    let case: Case = serde_yaml::from_str("{case: cut, on: healthy-1.12, drain: [worker-1]}").unwrap();
    let plan = |which: Which, not_listed: &[NotListed]| {
        let cluster = case.cluster(&base(&case.on), which);
        let report = evaluate(&checks::CATALOGUE, which, &cluster, &Address::default()).report;
        case.plan(which, Looked { not_listed, ..Looked::new(&cluster, &report, &[]) }).verdict
    };
    let some = |check, severity| NotListed { check, cause: "x", severity, count: 9, accepted: false };
    for (check, severity, expected) in [
        ("eviction_stalled", Severity::Warning, Verdict::Unknown),
        ("eviction_stalled", Severity::Info, Verdict::Go),
        ("volume_degraded", Severity::Warning, Verdict::Go),
    ] {
        assert_eq!(plan(Which::Drain, &[some(check, severity)]), expected, "{check}");
    }
    assert_eq!(plan(Which::Upgrade, &[some("webhook_unavailable", Severity::Critical)]), Verdict::Unknown);
}

/// Each condition has a case in which it is the only reason, and a neighbour: a case in which an object that it looks at
/// is other than in the healthy cluster, and it says nothing.
#[test]
fn every_condition_has_a_case_alone_and_a_neighbour() {
    let mut lacking = Vec::new();
    for which in Which::ALL {
        let cases = cases(which);
        let touches = |case: &Case, kinds: &[Resource]| {
            let present = case.change.iter().filter(|(_, difference)| !difference.is_null());
            let changed = present.filter_map(|(head, _)| kind_of_head(head));
            let other_release = case.api_server.is_some() || case.to.is_some();
            let any = kinds.is_empty() && (other_release || !case.change.is_empty());
            any || changed.into_iter().any(|kind| kinds.contains(&kind))
        };
        // whose mere presence is what is said
        let present = |kinds: &[Resource]| kinds == [Resource::Orphans];
        for condition in which.conditions() {
            let mine = |said: &String| said.rsplit(' ').next() == Some(condition.id());
            let alone = |case: &&Case| match condition.weight {
                Weight::Note => case.notes.iter().any(mine),
                _ => case.reasons.len() == 1 && case.reasons.iter().all(mine),
            };
            let quiet = |case: &&Case| {
                let silent = !case.reasons.iter().chain(&case.notes).any(mine);
                silent && case.reasons.is_empty() && touches(case, condition.needs)
            };
            if !cases.iter().any(|case| alone(&case)) {
                lacking.push(format!("{}: no case in which it stands alone", condition.id()));
            }
            if !present(condition.needs) && !cases.iter().any(|case| quiet(&case)) {
                lacking.push(format!("{}: no neighbour", condition.id()));
            }
        }
    }
    assert!(lacking.is_empty(), "{}", lacking.join("\n"));
}

/// Every right that a plan uses, withheld on its own: what stood against it is unknown then, and never gone.
#[test]
fn no_reason_vanishes_in_silence_with_a_right() {
    let mut bases = std::collections::BTreeMap::new();
    let (mut silent, mut asked) = (BTreeSet::new(), 0);
    for which in Which::ALL {
        let mut seen = BTreeSet::new();
        for case in cases(which) {
            if case.reasons.is_empty() || !case.forbidden.is_empty() || !seen.insert(case.reasons.clone()) {
                continue;
            }
            let objects = case.objects(bases.entry(case.on.clone()).or_insert_with(|| base(&case.on)));
            let documents: Vec<(Option<Resource>, Value)> =
                objects.into_iter().map(|object| (kind_of(&object), object)).collect();
            let plan = |withheld: Option<Resource>, now: Option<jiff::Timestamp>| {
                let items: Vec<_> = documents
                    .iter()
                    .filter(|(kind, _)| kind.is_none() || *kind != withheld)
                    .map(|(_, o)| o)
                    .collect();
                let list = serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": items });
                let file = crate::source::recording::RecordedFile {
                    name: "cluster.json".to_owned(),
                    content: list.to_string().into_bytes(),
                };
                let recording =
                    crate::source::recording::Recording::from_files([file], NAMESPACE, jiff::Timestamp::MAX)
                        .unwrap();
                let mut cluster = recording.into_cluster(NAMESPACE, now);
                for (kind, status) in &mut cluster.resources {
                    status.readability = match withheld == Some(*kind) {
                        true => crate::cluster::Readability::Forbidden,
                        false => crate::cluster::Readability::Readable,
                    };
                }
                let report = evaluate(&checks::CATALOGUE, which, &cluster, &Address::default()).report;
                let plan = case.plan(which, Looked::new(&cluster, &report, &[]));
                let reasons = plan.parts.into_iter().flat_map(|part| part.reasons);
                let heavy = reasons.filter(|reason| reason.weight != Weight::Note);
                let told: BTreeSet<(&'static str, bool)> =
                    heavy.map(|reason| (reason.condition, reason.weight == Weight::Unknown)).collect();
                (plan.verdict, told, cluster.now)
            };
            let (verdict, whole, now) = plan(None, None);
            if verdict == Verdict::Go {
                continue;
            }
            let kinds: BTreeSet<Resource> = documents.iter().filter_map(|(kind, _)| *kind).collect();
            for kind in which.kinds(&checks::CATALOGUE).intersection(&kinds).copied() {
                asked += 1;
                let (verdict, left, _) = plan(Some(kind), Some(now));
                let gone = whole.iter().filter(|(id, _)| !left.iter().any(|(other, _)| other == id));
                let gone: Vec<&str> = gone.map(|(id, _)| *id).collect();
                if !gone.is_empty() && verdict == Verdict::Go {
                    silent.insert(format!(
                        "{kind}: {} of {}: {}",
                        gone.join(", "),
                        which.as_str(),
                        case.case
                    ));
                }
            }
        }
    }
    assert!(asked > 500, "{asked}");
    assert!(silent.is_empty(), "{}", silent.into_iter().collect::<Vec<_>>().join("\n"));
}

/// A screen as it is without `-v`.
fn screen(case: &str, which: Which, width: usize) -> String {
    let case: Case = serde_yaml::from_str(case).unwrap();
    let cluster = case.cluster(&base(&case.on), which);
    let report = evaluate(&checks::CATALOGUE, which, &cluster, &Address::default()).report;
    let plan = case.plan(which, Looked::new(&cluster, &report, &[]));
    let style = crate::report::text::Style { width, ..crate::report::text::Style::DEFAULT };
    let mut text = Vec::new();
    table::write(&mut text, &plan, style, false).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn a_plain_go_is_a_few_lines_and_what_is_not_go_has_no_steps() {
    let go = screen("{case: go, on: healthy-1.12, drain: [worker-1]}", Which::Drain, 100);
    assert!(go.lines().count() <= 8 && go.contains("! kubectl drain worker-1"), "{go}");
    let go = screen("{case: go, on: healthy-1.9, to: v1.10.2}", Which::Upgrade, 100);
    assert!(go.lines().count() <= 8 && go.contains("! kubectl apply"), "{go}");
    let all = screen("{case: all, on: healthy-1.12, drain: [all]}", Which::Drain, 100);
    assert!(all.contains("worker-2  go\n") && !all.contains("kubectl drain"), "{all}");
    let not = "{case: hand, on: healthy-1.12, drain: [worker-1], lh/Setting node-drain-policy: {value: block-for-eviction}}";
    let not = screen(not, Which::Drain, 80);
    assert!(not.contains("steps     add -v") && !not.contains("kubectl drain worker-1 --"), "{not}");
    let prose = not.lines().filter(|line| !line.trim_start().starts_with(['$', '!']));
    assert!(prose.clone().all(|line| line.chars().count() <= 80), "{not}");
    let ladder = screen("{case: ladder, on: healthy-1.3}", Which::Upgrade, 100);
    assert!(ladder.lines().count() <= 40, "{ladder}");
}

/// Degraded and being rebuilt is one reason, and so is a last copy and the budget that protects it.
#[test]
fn reasons_about_one_volume_are_told_once() {
    let volume = "pvc-7c1d2f60-9a3b-4f0e-8f1c-0d5b2a9e4c11";
    let last = format!(
        "{{case: last, on: healthy-1.12, drain: [worker-1], lh/Replica {volume}-r-01bd5408 {volume}-r-436cefc7: {{spec.failedAt: 09:00:00Z}}}}"
    );
    let text = screen(&last, Which::Drain, 100);
    assert_eq!(text.matches("fix:").count(), 1, "{text}");
    assert!(text.contains("Budget"), "{text}");
}
