//! The part of the history that outlives a restart: since when facts hold, and pods that went. What the
//! objects tell (when an instance manager's pod was made, Events of the kubelet) is not saved: it is read
//! again. Logs are not saved either; they are fetched again, and may hold what should not lie on a disk.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::changes::Changes;
use super::ends::EndSeen;
use super::{GonePod, History, Observation};
use crate::longhorn::{Condition, Container, ContainerStatus, Pod, StringMap, Terminated};

/// The version of the form.
pub const VERSION: u32 = 1;
/// A fact that held before a longer gap may have ended in between.
const LONGEST_GAP: SignedDuration = SignedDuration::from_hours(1);
/// How many observations are saved, the oldest first: these are what a restart would cost.
const MAX_OBSERVED: usize = 20_000;
/// How many names of facts there may be, and how long they are. Far more than all checks have.
const MAX_NAMES: usize = 256;
const LONGEST_NAME: usize = 64;

/// The constant id of a check that exists.
pub type CheckId = fn(&str) -> Option<&'static str>;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub struct Saved {
    /// The version of the form.
    pub version: u32,
    pub namespace: String,
    /// When it was saved.
    pub saved_at: Timestamp,
    facts: Vec<SavedFact>,
    gone_pods: Vec<Gone>,
    /// Ends that were under way, by uid of the pod.
    #[serde(default)]
    ending: BTreeMap<String, EndSeen>,
    /// What was changed, and which incidents there were.
    #[serde(default)]
    changes: Changes,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
struct SavedFact {
    check: String,
    fact: String,
    object: String,
    since: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
struct Gone {
    at: Timestamp,
    replaced_by: String,
    last: Value,
    #[serde(default)]
    end: EndSeen,
    #[serde(default)]
    refused: Option<(Timestamp, u32)>,
}

/// What a restart has brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// Facts whose age is known again.
    pub facts: usize,
    pub gone_pods: usize,
}

impl History {
    /// What outlives a restart.
    pub fn saved(&self, namespace: &str, now: Timestamp) -> Saved {
        let mut facts: Vec<_> = self.observed.iter().collect();
        if facts.len() > MAX_OBSERVED {
            facts.sort_by_key(|(_, since)| **since);
            facts.truncate(MAX_OBSERVED);
        }
        let fact = |(key, since): (&Observation, &Timestamp)| SavedFact {
            check: key.check.to_owned(),
            fact: key.fact.to_owned(),
            object: key.object.to_string(),
            since: *since,
        };
        let gone = |gone: &GonePod| Gone {
            at: gone.at,
            replaced_by: gone.replaced_by.clone(),
            last: pod_to_json(&gone.last),
            end: gone.end.clone(),
            refused: gone.refused,
        };
        Saved {
            version: VERSION,
            namespace: namespace.to_owned(),
            saved_at: now,
            facts: facts.into_iter().map(fact).collect(),
            gone_pods: self.gone_pods.iter().map(gone).collect(),
            ending: self.ending.iter().map(|(uid, seen)| (uid.to_string(), seen.clone())).collect(),
            changes: Changes::clone(&self.changes),
        }
    }

    /// Takes over what was saved before the restart. Ages go on; nothing is counted a second time. Facts of
    /// checks that no longer exist are left out, and times that are still to come.
    pub fn restore(&mut self, saved: Saved, now: Timestamp, check_id: CheckId) -> Restored {
        let gap = now.duration_since(saved.saved_at);
        let mut names = Names::default();
        let mut facts = BTreeMap::new();
        let short = (SignedDuration::ZERO..=LONGEST_GAP).contains(&gap);
        // what was judged of an end stays so, and is not judged and counted again
        let over: BTreeSet<&str> = saved.gone_pods.iter().filter_map(Gone::uid).collect();
        let of_end = |object: &str| over.contains(object.split('/').next().unwrap_or_default());
        for fact in saved.facts.into_iter().filter(|fact| fact.since <= now) {
            if !short && (gap.is_negative() || !of_end(&fact.object)) {
                continue;
            }
            let Some(check) = check_id(&fact.check) else { continue };
            let Some(name) = names.get(fact.fact) else { continue };
            facts.insert(Observation { check, fact: name, object: fact.object.into() }, fact.since);
        }
        let before = self.gone_pods.len();
        for gone in saved.gone_pods.into_iter().filter(|gone| gone.at <= now) {
            // one that does not decode is no loss that could be reported
            let Gone { at, replaced_by, last, end, refused } = gone;
            let Ok(last) = serde_json::from_value::<Pod>(last) else { continue };
            self.add_gone(GonePod { last: Arc::new(last), at, replaced_by, end, refused });
        }
        for (uid, seen) in saved.ending.into_iter().filter(|_| short) {
            self.restore_end(uid.into(), seen);
        }
        if *self.changes == Changes::default() {
            self.changes = Arc::new(saved.changes.until(now));
        }
        let restored = Restored { facts: facts.len(), gone_pods: self.gone_pods.len() - before };
        // what was seen since the start wins
        facts.extend(self.observed.iter().map(|(key, since)| (key.clone(), *since)));
        self.observed = Arc::new(facts);
        restored
    }
}

impl Gone {
    fn uid(&self) -> Option<&str> {
        self.last.get("metadata")?.get("uid")?.as_str()
    }
}

/// Names of facts are constants of the checks. Those of a file are made so once, at the start, and there
/// are few of them.
#[derive(Default)]
struct Names(BTreeSet<&'static str>);

impl Names {
    fn get(&mut self, name: String) -> Option<&'static str> {
        if let Some(known) = self.0.get(name.as_str()) {
            return Some(known);
        }
        if self.0.len() >= MAX_NAMES || name.len() > LONGEST_NAME {
            return None;
        }
        let name: &'static str = name.leak();
        self.0.insert(name);
        Some(name)
    }
}

/// What checks read of a pod that went.
fn pod_to_json(pod: &Pod) -> Value {
    let meta = &pod.metadata;
    let statuses = |statuses: &[ContainerStatus]| statuses.iter().map(status_to_json).collect::<Vec<_>>();
    json!({
        "metadata": {
            "name": meta.name,
            "namespace": meta.namespace,
            "uid": meta.uid,
            "creationTimestamp": meta.creation_timestamp.get(),
            "deletionTimestamp": meta.deletion_timestamp.get(),
            "labels": texts(&meta.labels),
            "annotations": { "longhorn.io/last-applied-tolerations": meta.annotations.last_applied_tolerations },
        },
        "spec": {
            "nodeName": pod.spec.node_name,
            "priorityClassName": pod.spec.priority_class_name,
            "nodeSelector": texts(&pod.spec.node_selector),
            "containers": pod.spec.containers.iter().map(container_to_json).collect::<Vec<_>>(),
        },
        "status": {
            "phase": pod.status.phase.as_str(),
            "reason": pod.status.reason,
            "message": pod.status.message,
            "startTime": pod.status.start_time.get(),
            "conditions": pod.status.conditions.iter().map(condition_to_json).collect::<Vec<_>>(),
            "initContainerStatuses": statuses(&pod.status.init_container_statuses),
            "containerStatuses": statuses(&pod.status.container_statuses),
        },
    })
}

fn texts(texts: &StringMap) -> Value {
    Value::Object(texts.iter().map(|(key, value)| (key.to_string(), json!(value))).collect())
}

/// What Longhorn compares with its settings, and the patience of the probe.
fn container_to_json(container: &Container) -> Value {
    let cpu = container.resources.requests.get("cpu").map(|cpu| cpu.0.clone());
    let probe = container.liveness_probe.as_ref().map(|probe| {
        json!({
            "initialDelaySeconds": probe.initial_delay_seconds,
            "periodSeconds": probe.period_seconds,
            "timeoutSeconds": probe.timeout_seconds,
            "failureThreshold": probe.failure_threshold,
        })
    });
    let requests = cpu.map(|cpu| json!({ "cpu": cpu }));
    json!({ "name": container.name, "resources": { "requests": requests }, "livenessProbe": probe })
}

fn condition_to_json(condition: &Condition) -> Value {
    json!({
        "type": condition.kind,
        "status": condition.status.as_str(),
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": condition.last_transition_time.get(),
    })
}

fn status_to_json(status: &ContainerStatus) -> Value {
    let ended = |ended: &Option<Terminated>| {
        ended.as_ref().map(|ended| {
            json!({
                "exitCode": ended.exit_code,
                "reason": ended.reason,
                "message": ended.message,
                "startedAt": ended.started_at.get(),
                "finishedAt": ended.finished_at.get(),
            })
        })
    };
    let running = status.state.running.as_ref();
    json!({
        "name": status.name,
        "image": status.image,
        "ready": status.ready,
        "restartCount": status.restart_count.0,
        "state": {
            "running": running.map(|running| json!({ "startedAt": running.started_at.get() })),
            "terminated": ended(&status.state.terminated),
        },
        "lastState": { "terminated": ended(&status.last_state.terminated) },
    })
}

#[cfg(test)]
mod tests {
    use super::super::ends::NodeSeen;
    use super::*;
    use crate::longhorn::KubeNode;

    const CHECK: &str = "instance_manager_old";

    fn known(id: &str) -> Option<&'static str> {
        (id == CHECK).then_some(CHECK)
    }

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    const START: &str = "2026-03-01T12:00:00Z";
    const LATER: &str = "2026-03-01T12:10:00Z";

    fn key(fact: &'static str, object: &str) -> Observation {
        Observation { check: CHECK, fact, object: object.into() }
    }

    fn pod() -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "instance-manager-1", "uid": "u1", "creationTimestamp": "2026-03-01T10:00:00Z",
                         "labels": {"longhorn.io/component": "instance-manager"}},
            "spec": {"nodeName": "worker-1"},
            "status": {
                "phase": "Failed", "reason": "Evicted", "startTime": "2026-03-01T10:00:01Z",
                "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-03-01T11:00:00Z"}],
                "containerStatuses": [{"name": "instance-manager", "restartCount": 2,
                    "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-03-01T11:59:00Z"}}}],
            },
        }))
        .unwrap()
    }

    /// A history that has noted a fact and a pod that went, saved and read as from a file.
    fn saved() -> Saved {
        let mut history = History::starting(time(START));
        history.keep_observed(vec![key("idle", "a")], &BTreeSet::new(), time(START));
        history.pod_gone(Arc::new(pod()), "u2", time(START));
        let text = serde_json::to_string(&history.saved("longhorn-system", time(START))).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_restart_neither_forgets_ages_nor_counts_twice() {
        let mut history = History::starting(time(LATER));
        assert_eq!(history.restore(saved(), time(LATER), known), Restored { facts: 1, gone_pods: 1 });
        assert_eq!(history.first_seen(&key("idle", "a")), Some(time(START)));
        history.keep_observed(vec![key("idle", "a"), key("idle", "b")], &BTreeSet::new(), time(LATER));
        assert_eq!(history.first_seen(&key("idle", "a")), Some(time(START)));
        assert_eq!(history.first_seen(&key("idle", "b")), Some(time(LATER)));
        assert_eq!(history.begun(CHECK, "idle"), 1, "only the new one");
        let gone = history.gone_pods().next().unwrap();
        assert_eq!((gone.at, gone.replaced_by.as_str()), (time(START), "u2"));
        assert_eq!(*gone.last, pod(), "all that was read of it");
    }

    #[test]
    fn a_fact_ends_over_a_long_gap_and_what_is_to_come_is_not_believed() {
        for (now, facts, pods) in
            [("2026-03-01T13:00:00Z", 1, 1), ("2026-03-01T13:00:01Z", 0, 1), ("2026-03-01T11:00:00Z", 0, 0)]
        {
            let restored = History::starting(time(now)).restore(saved(), time(now), known);
            assert_eq!(restored, Restored { facts, gone_pods: pods }, "{now}");
        }
    }

    #[test]
    fn a_file_of_another_release_loses_only_what_it_names_otherwise() {
        let mut saved = saved();
        let fact = saved.facts[0].clone();
        saved.facts.push(SavedFact { check: "no_such_check".into(), ..fact.clone() });
        saved.facts.push(SavedFact { fact: "x".repeat(LONGEST_NAME + 1), ..fact.clone() });
        saved.facts.extend(
            (0..2 * MAX_NAMES).map(|number| SavedFact { fact: format!("f{number}"), ..fact.clone() }),
        );
        saved.gone_pods.push(Gone { last: json!("no pod"), ..saved.gone_pods[0].clone() });
        let restored = History::starting(time(LATER)).restore(saved, time(LATER), known);
        assert_eq!(restored, Restored { facts: MAX_NAMES, gone_pods: 1 });
    }

    #[test]
    fn how_the_node_was_outlives_a_restart_and_files_that_know_less_are_read() {
        let mut node: KubeNode = serde_json::from_value(json!({
            "metadata": {"name": "worker-1"},
            "spec": {"unschedulable": true, "taints": [{"key": "k", "value": "v", "effect": "NoExecute"}]},
            "status": {"conditions": [
                {"type": "Ready", "status": "Unknown", "lastTransitionTime": START},
                {"type": "DiskPressure", "status": "True"}, {"type": "PIDPressure", "status": "False"},
            ]},
        }))
        .unwrap();
        let mut history = History::starting(time(START));
        let mut over = pod();
        history.pod_seen(&over, Some(&node), time(START));
        history.pod_gone(Arc::new(over.clone()), "u2", time(START));
        // both at the first sight: what came first is unknown, how the node was is
        over.metadata.uid = "u3".into();
        over.metadata.deletion_timestamp = serde_json::from_value(json!(START)).unwrap();
        history.pod_seen(&over, Some(&node), time(START));
        node.status.conditions.clear();
        history.pod_seen(&over, Some(&node), time(LATER));

        let saved = serde_json::to_value(history.saved("longhorn-system", time(START))).unwrap();
        let restored = |saved: Value| {
            let mut history = History::starting(time(LATER));
            history.restore(serde_json::from_value(saved).unwrap(), time(LATER), known);
            history
        };
        let now = restored(saved.clone());
        let then = NodeSeen {
            ready: false,
            answers: false,
            since: Some(time(START)),
            pressure: vec!["DiskPressure".to_owned()],
            cordoned: true,
            taints: vec!["k=v:NoExecute".to_owned()],
        };
        let gone = now.gone_pods().next().unwrap();
        assert_eq!((gone.end.ended, gone.end.node.as_ref()), (Some(time(START)), Some(&then)));
        let unordered = EndSeen { deleted: None, ended: None, node: Some(then) };
        assert_eq!(now.end_seen("u3"), Some(&unordered));

        let mut before = saved.clone();
        before["gone_pods"][0]["end"]["node"] = json!({"ready": true, "taints": []});
        let known_less = restored(before).gone_pods().next().unwrap().end.node.clone();
        assert_eq!(known_less, Some(NodeSeen { ready: true, ..NodeSeen::default() }));
        let mut first = saved;
        first["gone_pods"][0]
            .as_object_mut()
            .unwrap()
            .retain(|field, _| field != "end" && field != "refused");
        first.as_object_mut().unwrap().remove("ending");
        assert_eq!(restored(first).gone_pods().next().unwrap().end, EndSeen::default());
    }

    #[test]
    fn the_oldest_facts_are_saved() {
        let mut history = History::starting(time(START));
        history.keep_observed(vec![key("idle", "zz-first")], &BTreeSet::new(), time(START));
        let many = (0..MAX_OBSERVED + 10).map(|number| key("idle", &number.to_string()));
        history.keep_observed(many.chain([key("idle", "zz-first")]).collect(), &BTreeSet::new(), time(LATER));
        let saved = history.saved("n", time(LATER));
        assert_eq!(saved.facts.len(), MAX_OBSERVED);
        assert_eq!(saved.facts[0].object, "zz-first");
    }
}
