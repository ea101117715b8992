//! A recording played through an API server to a live source, second by second by a clock of its own.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use fake_apiserver::{FakeApiServer, ResourceDef};
use jiff::{SignedDuration, Timestamp};
use longhorn_health_exporter::checks;
use longhorn_health_exporter::longhorn::resource::TABLE;
use longhorn_health_exporter::report::Evaluation;
use longhorn_health_exporter::source::connect::Connection;
use longhorn_health_exporter::source::recording::RecordedFile;
use longhorn_health_exporter::source::watch::Pauses;
use longhorn_health_exporter::source::{Live, LiveOptions, Recording, Source};
use serde_json::{Value, json};
use testing::evaluate;

use super::cluster::{MANAGER, NAMESPACE, Surroundings, id};
use super::steps::{Step, steps, transplanted};
use super::timeline::{Timeline, What, event_time, pod_at, seconds};

/// The clock of the test, in milliseconds.
static CLOCK: AtomicI64 = AtomicI64::new(0);

fn clock() -> Timestamp {
    Timestamp::from_millisecond(CLOCK.load(Ordering::SeqCst)).unwrap()
}

/// What is asked: what becomes of volumes is for other tests.
const CHECKS: [&str; 8] = [
    "instance_manager_replaced", "instance_manager_down", "manager_crash_loop", "manager_start_stuck",
    "manager_half_alive", "manager_probes", "node_unregistered", "webhook_unavailable",
];
const REPLACEMENTS: &str = "longhorn_health_instance_manager_replacements_total";

/// The verdicts: severity and cause, sorted; `nothing` where there are none.
pub struct Said {
    pub live: String,
    pub recording: String,
    pub counted: String,
}

/// Plays recordings, `a + b` together.
pub fn play(files: &str) -> Said {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(Play::all(files))
}

struct Play {
    server: FakeApiServer,
    live: Live,
    around: Surroundings,
    /// The pods of the files, as they are put into the cluster.
    pods: Vec<Option<Value>>,
    /// The names of manager pods in a recording of a node, the first of which is the one there was.
    managers: Vec<String>,
    of_manager: bool,
    was_up: bool,
    state: &'static str,
    baseline: BTreeSet<String>,
    evaluation: Option<Evaluation>,
}

impl Play {
    async fn all(files: &str) -> Said {
        let names: Vec<&str> = files.split(" + ").collect();
        let timelines: Vec<Timeline> = names.iter().map(|name| Timeline::read(name)).collect();
        let changes = timelines.iter().flat_map(|timeline| &timeline.changes).map(|change| change.at);
        let events =
            timelines.iter().flat_map(|timeline| &timeline.events).map(|event| event_time(event, false));
        let first = changes.min().or(events.min());
        let node = timelines.iter().filter_map(|timeline| timeline.pod.as_ref());
        let node = node.filter_map(|pod| pod["spec"]["nodeName"].as_str()).next();
        let recorded_node =
            if names.iter().any(|name| name.starts_with("nodes/")) { "node-b" } else { "node-a" };
        let node = node.filter(|node| node.starts_with("node-")).unwrap_or(recorded_node);
        let node = if node == "node-b" { node } else { "node-a" };
        let busy = !names[0].ends_with("-idle");
        let mut around = Surroundings::new(node, busy, first.unwrap());
        let of_manager = names[0].starts_with("pods/always");
        let pods =
            timelines.iter().map(|timeline| Some(transplanted(&around, timeline.pod.as_ref()?, of_manager)));
        let pods: Vec<Option<Value>> = pods.collect();
        let in_place = if of_manager { MANAGER } else { around.instance_manager };
        let refused = names[0].starts_with("pods/refused");
        if refused || pods.iter().any(Option::is_some) {
            around.objects.remove(&("Pod".to_owned(), if refused { MANAGER } else { in_place }.to_owned()));
        }
        let steps = steps(timelines, &around, in_place, &pods);
        let ran =
            |step: &Step| matches!(step, Step::Change(_, What::Pod(_, line)) if line.contains("restarts="));
        let ends = steps.iter().any(|(_, step)| matches!(step, Step::Gone(_)));
        if !ends || !steps.iter().any(|(_, step)| ran(step)) {
            around.is_first_pod(pods.iter().flatten().next());
        }
        CLOCK.store((first.unwrap() - SignedDuration::from_secs(20)).as_millisecond(), Ordering::SeqCst);
        let server = server(&around).await;
        let live = follow(&server).await;
        let (managers, evaluation) = (Vec::new(), None);
        let mut play = Play {
            server,
            live,
            around,
            pods,
            managers,
            of_manager,
            was_up: false,
            state: "",
            baseline: BTreeSet::new(),
            evaluation,
        };
        let begun = play.look();
        play.baseline = lines(&begun, &BTreeSet::new());
        for (at, step) in steps {
            play.wait_until(at);
            let changed = play.carry_out(step, at);
            play.put(changed).await;
            play.evaluation = Some(play.look());
        }
        play.said()
    }

    /// Time goes by, and the exporter evaluates every ten seconds.
    fn wait_until(&mut self, at: Timestamp) {
        for _ in 0..8 {
            let next = clock() + SignedDuration::from_secs(10);
            if next >= at {
                break;
            }
            CLOCK.store(next.as_millisecond(), Ordering::SeqCst);
            self.evaluation = Some(self.look());
        }
        CLOCK.store(at.as_millisecond(), Ordering::SeqCst);
    }

    fn look(&self) -> Evaluation {
        let mut evaluation = evaluate(&self.live.snapshot(clock()));
        self.live.keep_observed(std::mem::take(&mut evaluation.observed), &evaluation.blind, clock());
        evaluation
    }

    async fn put(&mut self, changed: Vec<Changed>) {
        for change in changed {
            match change {
                Changed::Put(object) => {
                    self.around.objects.insert(id(&object), object.clone());
                    self.server.load(vec![object]);
                }
                Changed::Deleted(kind, name) => {
                    self.around.objects.remove(&(kind.to_owned(), name.clone()));
                    let (resource, namespace) =
                        if kind == "Pod" { ("pods", NAMESPACE) } else { ("nodes", "") };
                    self.server.delete(resource, namespace, &name);
                }
            }
        }
        settled(&self.server, &self.live).await;
    }

    fn carry_out(&mut self, step: Step, at: Timestamp) -> Vec<Changed> {
        let put = |objects: Vec<Value>| objects.into_iter().map(Changed::Put).collect::<Vec<_>>();
        match step {
            Step::Event(event) => put(vec![event]),
            Step::Nothing => Vec::new(),
            Step::Healed => put(self.around.healed(at)),
            Step::Change(_, What::Node(line)) => put(self.around.node_is(&line, at)),
            Step::Change(_, What::NodeDeleted) => {
                vec![Changed::Deleted("Node.core", self.around.node.to_owned())]
            }
            Step::Change(_, What::Endpoints(recorded)) => put(self.around.endpoints_are(&recorded)),
            Step::Change(file, What::Pod(name, line)) => self.pod_is(file, &name, &line, at),
            Step::Change(_, What::PodDeleted(name)) => {
                vec![Changed::Deleted("Pod", self.manager_called(&name))]
            }
            Step::Delete(name) => {
                let Some(pod) = self.around.objects.get(&("Pod".to_owned(), name)) else { return Vec::new() };
                let mut pod = pod.clone();
                pod["metadata"]["deletionTimestamp"] = seconds(at).into();
                pod["metadata"]["deletionGracePeriodSeconds"] = 0.into();
                put(vec![pod])
            }
            Step::Gone(name) => {
                let mut changed = vec![Changed::Deleted("Pod", name)];
                changed.extend(self.follows("stopped", at));
                changed
            }
            Step::Fresh => {
                let of = self.pods.iter().flatten().next_back().cloned().unwrap();
                let name =
                    if self.of_manager { "longhorn-manager-fresh" } else { self.around.instance_manager };
                let pod = self.around.fresh_pod(&of, name, "00000000-0000-4000-8000-00000000f4e5", at);
                let mut changed = put(vec![pod]);
                changed.extend(self.follows("running", at));
                changed
            }
        }
    }

    fn pod_is(&mut self, file: usize, name: &str, line: &str, at: Timestamp) -> Vec<Changed> {
        let Some(pod) = self.pods.get(file).and_then(Option::as_ref) else {
            let name = self.manager_called(name);
            let known = self.around.objects.get(&("Pod".to_owned(), name.clone()));
            let fresh = self.around.fresh_pod(&self.around.manager, &name, &format!("uid-of-{name}"), at);
            return vec![Changed::Put(pod_at(known.unwrap_or(&fresh), known, line, at))];
        };
        let in_place = ("Pod".to_owned(), pod["metadata"]["name"].as_str().unwrap().to_owned());
        let pod = pod_at(pod, self.around.objects.get(&in_place), line, at);
        let status = &pod["status"];
        let ready = status["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .any(|of| of["type"] == "Ready" && of["status"] == "True");
        let ended = status["phase"] == "Succeeded" || status["phase"] == "Failed";
        let container = &status["containerStatuses"][0]["state"];
        let state = match (container["running"].is_null(), ready) {
            _ if ended || !container["terminated"].is_null() => "error",
            (false, true) => "running",
            (false, false) if self.was_up => "unknown",
            _ => "starting",
        };
        let mut changed = vec![Changed::Put(pod)];
        changed.extend(self.follows(state, at));
        changed
    }

    /// What Longhorn and the other controllers write when the pod is in this state.
    fn follows(&mut self, state: &'static str, at: Timestamp) -> Vec<Changed> {
        if state == self.state {
            return Vec::new();
        }
        let up = state == "running";
        let mut objects = if self.of_manager {
            self.around.endpoint_is((state != "stopped").then_some(up))
        } else {
            vec![self.around.instance_manager_is(state)]
        };
        if self.of_manager {
            let mut set =
                self.around.objects[&("DaemonSet".to_owned(), "longhorn-manager".to_owned())].clone();
            set["status"]["numberReady"] = if up { 3 } else { 2 }.into();
            set["status"]["numberAvailable"] = if up { 3 } else { 2 }.into();
            set["status"]["numberUnavailable"] = if up { 0 } else { 1 }.into();
            objects.push(set);
        } else if self.was_up && ["error", "unknown", "stopped"].contains(&state) {
            objects.extend(self.around.harm(at));
            self.was_up = false;
        }
        self.state = state;
        self.was_up |= up;
        objects.into_iter().map(Changed::Put).collect()
    }

    /// A manager's pod of a recording of a node: the first one is the one there was.
    fn manager_called(&mut self, name: &str) -> String {
        if !self.managers.iter().any(|known| known == name) {
            self.managers.push(name.to_owned());
        }
        if self.managers[0] == name { MANAGER.to_owned() } else { name.to_owned() }
    }

    fn said(mut self) -> Said {
        let evaluation = self.evaluation.take().unwrap();
        let items: Vec<&Value> = self.around.objects.values().collect();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        let file = RecordedFile { name: "cluster.json".to_owned(), content: list.to_string().into_bytes() };
        let recording = Recording::from_files([file], NAMESPACE, Timestamp::MAX).unwrap();
        assert_eq!(recording.warnings, Vec::<String>::new());
        let looked = evaluate(&recording.into_cluster(NAMESPACE, Some(clock())));
        let samples = evaluation.samples.get(REPLACEMENTS).into_iter().flatten();
        let counted = samples.filter(|sample| sample.value > 0.0);
        let counted: Vec<String> =
            counted.map(|sample| format!("{} {}", sample.labels[0], sample.value)).collect();
        Said {
            live: joined(lines(&evaluation, &self.baseline)),
            recording: joined(lines(&looked, &self.baseline)),
            counted: joined(counted.into_iter().collect()),
        }
    }
}

enum Changed {
    Put(Value),
    Deleted(&'static str, String),
}

fn lines(evaluation: &Evaluation, baseline: &BTreeSet<String>) -> BTreeSet<String> {
    let findings = evaluation.report.findings.iter().filter(|finding| CHECKS.contains(&finding.check));
    let lines = findings.map(|finding| format!("{} {}/{}", finding.severity, finding.check, finding.cause));
    lines.filter(|line| !baseline.contains(line)).collect()
}

fn joined(all: BTreeSet<String>) -> String {
    if all.is_empty() { "nothing".to_owned() } else { all.into_iter().collect::<Vec<_>>().join(", ") }
}

async fn server(around: &Surroundings) -> FakeApiServer {
    let server = FakeApiServer::start().await;
    server.set_date(fake_apiserver::Date::Missing);
    server.serve_builtin();
    for info in TABLE.iter().filter(|info| info.resource.is_longhorn()) {
        server.serve(ResourceDef::custom(
            &format!("{}/{}", info.group, info.version),
            info.plural,
            info.kind,
        ));
    }
    server.load(around.objects.values().cloned().collect());
    server
}

async fn follow(server: &FakeApiServer) -> Live {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kubeconfig");
    std::fs::write(&path, server.kubeconfig_yaml()).unwrap();
    let connection = Connection::open(Some(&path), None, std::time::Duration::from_secs(30))
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    let options = LiveOptions {
        watch_seconds: 600,
        // the clock of the test runs a thousand times as fast as the API server's
        stale_after: SignedDuration::from_hours(1000),
        pauses: Pauses { first: Duration::from_millis(20), longest: Duration::from_millis(200) },
        ..LiveOptions::new(NAMESPACE, clock, checks::CATALOGUE.kinds())
    };
    let live = Live::start(connection.client(), options);
    tokio::time::timeout(Duration::from_secs(20), live.synced()).await.expect("no first sync");
    server.wait_for_watch("pods").await;
    settled(server, &live).await;
    live
}

/// Waits until what was put has arrived: sent, and taken in.
async fn settled(server: &FakeApiServer, live: &Live) {
    server.wait_for_delivery("*").await;
    let mut generation = live.generation();
    for _ in 0..50 {
        tokio::time::sleep(Duration::from_millis(2)).await;
        let now = live.generation();
        if now == generation {
            return;
        }
        generation = now;
    }
}
