//! Cases of a check, `src/checks/CHECK/cases.yaml`: clusters, and what the check says of each.
//!
//! ```yaml
//! look: live                    # or `started`, `once`, `partial`; a whole recording, if nothing is said
//! objects: {…}                  # `KIND NAME` of what every cluster has (fixture.rs)
//! packs: {ready: {…}}           # what a case takes in with `with: [ready]`
//! lines: {lost: '…'}            # of logs, for `logs: {longhorn-manager-1: [lost]}`
//! cases:
//! - case: a pod that waits is found after ten minutes
//!   Pod share-manager-v: {status.phase: Pending}
//!   found: []
//!   each:                       # what differs from that, each by itself; what is not said is as above
//!   - {is: of an old release, release: v1.5.0, found: warning down Pod share-manager-v}
//!   later:                      # the next looks at the same cluster, one after the other
//!   - {after: 600, found: warning down Pod share-manager-v, says: ['message: …']}
//! ```
//!
//! `found` are all findings, as `SEVERITY CAUSE OBJECT`, or `anything`. Logs are read at the first look, and at later ones that have some. `says` and `silent` are parts of the JSON of findings and facts with a line for each
//! value: `message: …`, `fix: …`, and `read: …` or `change: …` for a command. `samples` are values of series, or `null` for none: `{'family{a,b}': 1}`.
//! `time_tells` are causes that only a watch could find. `release` is what is installed, for the file or for a case. `at` is the time of the look, 12:00:00Z without it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::*;
use crate::fixture::Fixture;

/// The day of times without one.
const DAY: &str = "2026-03-01";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    look: Look,
    release: Option<String>,
    #[serde(default)]
    objects: Map<String, Value>,
    #[serde(default)]
    packs: BTreeMap<String, Map<String, Value>>,
    /// Lines of logs by name; `$at` in one is what follows the name where a log has it.
    #[serde(default)]
    lines: BTreeMap<String, String>,
    cases: Vec<Situation>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Look {
    #[default]
    Recorded,
    Live,
    /// By an exporter that has just come.
    Started,
    Once,
    /// A recording that may be a part of what there was.
    Partial,
}

#[derive(Deserialize)]
struct Situation {
    #[serde(alias = "is", default)]
    case: String,
    #[serde(default)]
    with: Vec<String>,
    release: Option<String>,
    at: Option<String>,
    look: Option<Look>,
    /// Kinds that could not be read: `{pods: forbidden}`.
    #[serde(default)]
    unreadable: BTreeMap<String, String>,
    #[serde(default)]
    settings: BTreeMap<String, String>,
    #[serde(default)]
    events: Vec<String>,
    /// Logs of the last run, by pod: a text, or the names of lines.
    #[serde(default)]
    crash_logs: BTreeMap<String, Value>,
    /// Logs of the present run, by pod.
    #[serde(default)]
    logs: BTreeMap<String, Value>,
    /// The newest write that the watch has seen.
    last_write: Option<String>,
    /// Why logs cannot be read.
    logs_denied: Option<String>,
    found: Option<Value>,
    #[serde(default)]
    says: Vec<String>,
    #[serde(default)]
    silent: Vec<String>,
    #[serde(default)]
    samples: BTreeMap<String, Option<f64>>,
    stated: Option<Vec<String>>,
    /// Causes that only a watch could tell.
    time_tells: Option<Vec<String>>,
    /// What other checks find: `{manager_crash_loop: []}`.
    #[serde(default)]
    beside: BTreeMap<String, Vec<String>>,
    /// Reasons why something is unknown, or how many there are.
    unknown: Option<Value>,
    #[serde(default)]
    each: Vec<Situation>,
    /// Seconds since the look before.
    #[serde(default)]
    after: i64,
    #[serde(default)]
    later: Vec<Situation>,
    #[serde(flatten)]
    objects: Map<String, Value>,
}

/// A cluster that is being written, and what is expected of it.
#[derive(Clone)]
struct Scene {
    names: Vec<String>,
    fixture: Fixture,
    now: Timestamp,
    look: Look,
    unreadable: BTreeMap<String, String>,
    crash_logs: BTreeMap<String, String>,
    logs: BTreeMap<String, String>,
    logs_denied: Option<String>,
    last_write: Option<Timestamp>,
    found: Option<Vec<String>>,
    says: Vec<String>,
    silent: Vec<String>,
    samples: BTreeMap<String, Option<f64>>,
    stated: Option<Vec<String>>,
    time_tells: Option<Vec<String>>,
    beside: BTreeMap<String, Vec<String>>,
    unknown: Option<Value>,
}

/// Judges the cases of a check.
pub fn judge(check: &Check) {
    let path = format!("{ROOT}/src/checks/{}/cases.yaml", check.id);
    let file: File = serde_yaml::from_str(&std::fs::read_to_string(&path).unwrap())
        .unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut scene = Scene::new(file.look);
    file.release.iter().for_each(|release| scene.install(release));
    scene.fixture.change(file.objects.clone());
    let mut judging = Judging { check, file: &file, looks: 0, wrong: Vec::new() };
    for case in &file.cases {
        judging.play(case, scene.clone());
    }
    let Judging { looks, wrong, .. } = judging;
    assert!(wrong.is_empty(), "{} of {looks} looks of {path} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

impl File {
    /// The text of a log: itself, or lines by name, such as `lost 11:59:55` and `3x lost`. Nothing for `null`.
    fn log(&self, log: &Value) -> Option<String> {
        let lines = |item: &Value| {
            let item = item.as_str().unwrap();
            let counted = item.split_once("x ").and_then(|(count, line)| Some((count.parse().ok()?, line)));
            let (count, item) = counted.unwrap_or((1, item));
            let named = |(name, _): &(&String, &String)| {
                item.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            };
            let (name, line) = self.lines.iter().rfind(named).unwrap_or_else(|| panic!("no line {item}"));
            format!("{}\n", line.replace("$at", item[name.len()..].trim())).repeat(count)
        };
        match log {
            Value::Null => None,
            Value::Array(list) => Some(list.iter().map(lines).collect()),
            text => Some(text.as_str().unwrap().to_owned()),
        }
    }
}

impl Scene {
    fn new(look: Look) -> Scene {
        Scene {
            names: Vec::new(),
            fixture: Fixture::new("v1.12.1", "v1.12.1", DAY),
            now: time(&format!("{DAY}T12:00:00Z")),
            look,
            unreadable: BTreeMap::new(),
            crash_logs: BTreeMap::new(),
            logs: BTreeMap::new(),
            logs_denied: None,
            last_write: None,
            found: None,
            says: Vec::new(),
            silent: Vec::new(),
            samples: BTreeMap::new(),
            stated: None,
            time_tells: None,
            beside: BTreeMap::new(),
            unknown: None,
        }
    }

    fn install(&mut self, release: &str) {
        self.fixture.install(release);
        self.fixture.with("lh/Setting current-longhorn-version", json!({ "value": release }));
    }

    fn change(&mut self, situation: &Situation, file: &File) {
        self.names.extend((!situation.case.is_empty()).then(|| situation.case.clone()));
        situation.release.iter().for_each(|release| self.install(release));
        for pack in &situation.with {
            let pack = file.packs.get(pack).unwrap_or_else(|| panic!("{:?}: no pack {pack}", self.names));
            self.fixture.change(pack.clone());
        }
        for (name, value) in &situation.settings {
            self.fixture.with(&format!("lh/Setting {name}"), json!({ "value": value }));
        }
        self.fixture.change(situation.objects.clone());
        situation.events.iter().for_each(|event| self.fixture.event(event));
        let moment = |at: &String| time(&if at.contains('T') { at.clone() } else { format!("{DAY}T{at}") });
        self.now = situation.at.as_ref().map_or(self.now, moment);
        self.last_write = situation.last_write.as_ref().map(moment);
        self.look = situation.look.unwrap_or(self.look);
        self.unreadable.extend(situation.unreadable.clone());
        for (logs, known) in
            [(&situation.crash_logs, &mut self.crash_logs), (&situation.logs, &mut self.logs)]
        {
            for (pod, log) in logs {
                known.remove(pod);
                known.extend(file.log(log).map(|log| (pod.clone(), log)));
            }
        }
        self.logs_denied = situation.logs_denied.clone().or(self.logs_denied.take());
        if let Some(found) = &situation.found {
            let lines = found.as_str().map(|line| vec![line.to_owned()]);
            self.found = Some(lines.unwrap_or_else(|| serde_json::from_value(found.clone()).unwrap()));
            (self.says, self.silent) = (Vec::new(), Vec::new());
        }
        self.says.extend(situation.says.clone());
        self.silent.extend(situation.silent.clone());
        self.samples.extend(situation.samples.clone());
        self.unknown = situation.unknown.clone().or(self.unknown.take());
        self.time_tells = situation.time_tells.clone();
        self.beside = situation.beside.clone();
        self.stated = situation.stated.clone().or(self.stated.take());
    }

    fn text(&self) -> String {
        self.fixture.objects().iter().map(|object| format!("---\n{object}\n")).collect()
    }

    /// What no object says.
    fn surround(&self, cluster: &mut Cluster) {
        for (kind, readability) in &self.unreadable {
            let kind = Resource::all().find(|one| one.label() == *kind).unwrap_or_else(|| panic!("{kind}"));
            let status = cluster.resources.entry(kind).or_default();
            // `failing`, or `failing SINCE`: the last answer is old
            status.error = readability.starts_with("failing").then(|| "refused".into());
            if let Some(last) = readability.strip_prefix("failing ") {
                status.last_success = Some(time(&format!("{DAY}T{last}")));
            }
            status.readability = match readability.as_str() {
                failing if failing.starts_with("failing") => Readability::Readable,
                "forbidden" => Readability::Forbidden,
                "not_installed" => Readability::NotInstalled,
                "pending" => Readability::Pending,
                "readable" => Readability::Readable,
                "stale" => Readability::Stale,
                other => panic!("{other}"),
            };
        }
        cluster.last_write = self.last_write.or(cluster.last_write);
        if let Some(reason) = &self.logs_denied {
            cluster.history.set_crash_logs_denied(Some(reason));
        }
    }

    /// What is read of logs at a look.
    fn read_logs(&self, cluster: &mut Cluster) {
        let log = |(pod, text): (&String, &String)| {
            let found = self.fixture.objects().into_iter().find(|object| object["metadata"]["name"] == *pod);
            let uid = found.and_then(|pod| pod["metadata"]["uid"].as_str().map(str::to_owned));
            crate::history::CrashLog {
                pod: pod.clone(),
                // longhorn-manager-1 has longhorn-manager
                container: pod.rsplit_once('-').map_or(pod.as_str(), |(container, _)| container).to_owned(),
                pod_uid: uid.unwrap_or_default(),
                text: text.clone(),
                exit_code: None,
            }
        };
        self.crash_logs.iter().map(log).for_each(|log| cluster.history.add_crash_log(log));
        for log in self.logs.iter().map(log) {
            cluster.history.add_current_log(log);
        }
    }

    fn first_look(&self) -> Cluster {
        let (now, text) = (self.now.to_string(), self.text());
        let mut cluster = match self.look {
            Look::Recorded => cluster_at(&now, &text),
            Look::Live | Look::Started => live_at(&now, &text),
            Look::Partial => partial(&text),
            Look::Once => one_look_at(&now, &text),
        };
        if matches!(self.look, Look::Started) {
            cluster.history.started = Some(self.now);
        }
        self.surround(&mut cluster);
        self.read_logs(&mut cluster);
        cluster
    }
}

struct Judging<'a> {
    check: &'a Check,
    file: &'a File,
    looks: usize,
    wrong: Vec<String>,
}

impl Judging<'_> {
    fn play(&mut self, situation: &Situation, mut scene: Scene) {
        scene.change(situation, self.file);
        for (number, variant) in situation.each.iter().enumerate() {
            let mut scene = scene.clone();
            scene.names.extend(variant.case.is_empty().then(|| format!("each {}", number + 1)));
            self.play(variant, scene);
        }
        // without an expectation it is there for its variants and later looks
        let for_others = scene.found.is_none() && !(situation.each.is_empty() && situation.later.is_empty());
        let mut cluster = scene.first_look();
        if !for_others {
            self.look(&scene, &cluster);
        }
        for next_look in &situation.later {
            scene.samples.clear();
            scene.change(next_look, self.file);
            let same =
                next_look.objects.is_empty() && next_look.events.is_empty() && next_look.with.is_empty();
            cluster = match same {
                true => later(cluster, next_look.after),
                false => next(cluster, next_look.after, &scene.text()),
            };
            scene.surround(&mut cluster);
            if !(next_look.logs.is_empty() && next_look.crash_logs.is_empty()) {
                scene.read_logs(&mut cluster);
            }
            self.look(&scene, &cluster);
        }
    }

    fn look(&mut self, scene: &Scene, cluster: &Cluster) {
        self.looks += 1;
        let place = scene.names.join(": ");
        let Some(expected) = &scene.found else { panic!("{place}: what must be found?") };
        let evaluation = run(self.check, cluster);
        let found = found(self.check, cluster);
        let mut said = String::new();
        lines("", &json!([evaluation.report.findings, evaluation.report.facts]), &mut said);
        let mut wrong = Vec::new();
        if found != *expected && *expected != ["anything"] {
            wrong.push(format!("found {found:?} instead of {expected:?}"));
        }
        wrong.extend(
            scene
                .says
                .iter()
                .filter(|part| !said.contains(*part))
                .map(|part| format!("does not say {part:?}")),
        );
        wrong.extend(
            scene.silent.iter().filter(|part| said.contains(*part)).map(|part| format!("says {part:?}")),
        );
        for (series, expected) in &scene.samples {
            let (family, labels) =
                series.strip_suffix('}').and_then(|of| of.split_once('{')).unwrap_or((series, ""));
            let labels: Vec<&str> = if labels.is_empty() { Vec::new() } else { labels.split(',').collect() };
            let value = sample(&evaluation, family, &labels);
            if value != *expected {
                wrong.push(format!("{series} is {value:?} instead of {expected:?}"));
            }
        }
        let stated = stated(self.check, cluster);
        if scene.stated.as_ref().is_some_and(|expected| *expected != stated) {
            wrong.push(format!("states {stated:?} instead of {:?}", scene.stated));
        }
        let time_tells: Vec<&str> = evaluation.report.time_tells.iter().map(|one| one.cause).collect();
        if scene.time_tells.as_ref().is_some_and(|expected| *expected != time_tells) {
            wrong.push(format!("only a watch tells {time_tells:?} instead of {:?}", scene.time_tells));
        }
        for (other, expected) in &scene.beside {
            let other = checks::CATALOGUE.by_id(other).unwrap();
            let found = super::found(other, cluster);
            if found != *expected {
                wrong.push(format!("{} finds {found:?} instead of {expected:?}", other.id));
            }
        }
        let unknown: Vec<&str> = evaluation.report.unknown.iter().map(|one| &*one.reason).collect();
        let known = match &scene.unknown {
            Some(Value::Array(reasons)) => {
                reasons.iter().all(|reason| unknown.iter().any(|one| reason == one))
            }
            Some(count) => *count == unknown.len(),
            None => true,
        };
        if !known {
            wrong.push(format!("unknown {unknown:?} instead of {:?}", scene.unknown));
        }
        if !wrong.is_empty() {
            self.wrong.push(format!("- {place} (at {}): {}\n{said}", cluster.now, wrong.join("; ")));
        }
    }
}

/// A line for each value.
fn lines(key: &str, value: &Value, into: &mut String) {
    match value {
        Value::Object(map) if map.contains_key("changes") => {
            let kind = if value["changes"] == true { "change" } else { "read" };
            lines(kind, &value["run"], into);
        }
        Value::Object(map) => map.iter().for_each(|(key, value)| lines(key, value, into)),
        Value::Array(list) => list.iter().for_each(|one| lines(key, one, into)),
        Value::String(text) => *into += &format!("{key}: {text}\n"),
        other => *into += &format!("{key}: {other}\n"),
    }
}
