//! Pods, as far as probes, container states and ownership go.

use std::fmt;

use serde::Deserialize;

use super::env::EnvVar;
use super::lenient::{Int, StringMap, Time, manifests, narrow, open_enum};
use super::map::Map;
use super::meta::Condition;
use super::shared_text::SharedText;

manifests! {
    Pod { spec: PodSpec, status: PodStatus }
}

narrow! {
    /// What a pod runs; also the template of a DaemonSet.
    pub struct PodSpec {
        pub node_name: SharedText as name,
        pub affinity: Pinned,
        pub priority_class_name: SharedText as name,
        pub init_containers: Vec<Container>,
        pub containers: Vec<Container>,
        pub tolerations: Vec<Toleration>,
        pub node_selector: StringMap,
    }

    /// On which nodes it may run, as far as that names one.
    pub struct Affinity {
        pub node_affinity: NodeAffinity,
    }

    pub struct NodeAffinity {
        pub required: NodeSelector = "requiredDuringSchedulingIgnoredDuringExecution",
    }

    pub struct NodeSelector {
        pub node_selector_terms: Vec<NodeSelectorTerm>,
    }

    pub struct NodeSelectorTerm {
        pub match_fields: Vec<FieldSelector>,
    }

    pub struct FieldSelector {
        pub key: SharedText,
        pub values: Vec<SharedText>,
    }

    /// What a pod bears of a node.
    pub struct Toleration {
        pub key: SharedText as name,
        pub value: SharedText as name,
        pub effect: SharedText as name,
    }

    /// A container of a pod.
    pub struct Container {
        pub name: SharedText as name,
        pub image: SharedText as name,
        pub args: Vec<SharedText>,
        pub command: Vec<SharedText>,
        pub env: Vec<EnvVar>,
        pub ports: Vec<ContainerPort>,
        pub resources: Resources,
        pub readiness_probe: Option<Probe>,
        pub liveness_probe: Option<Probe>,
        pub startup_probe: Option<Probe>,
    }

    /// A port of a container.
    pub struct ContainerPort {
        pub name: SharedText as name,
        pub container_port: Int,
    }

    /// Requests of a container, as quantities (`250m`).
    pub struct Resources {
        pub requests: Map<Quantity>,
        pub limits: Map<Quantity>,
    }

    /// A probe; absent numbers have Kubernetes defaults, see the methods.
    pub struct Probe {
        pub initial_delay_seconds: Option<i64>,
        pub period_seconds: Option<i64>,
        pub timeout_seconds: Option<i64>,
        pub failure_threshold: Option<i64>,
        pub http_get: Option<HttpGet>,
        pub tcp_socket: Option<TcpSocket>,
        pub exec: Option<ExecAction>,
    }

    /// HTTP action of a probe.
    pub struct HttpGet {
        pub path: SharedText,
        pub port: Port,
    }

    /// TCP action of a probe.
    pub struct TcpSocket {
        pub port: Port,
    }

    /// Exec action of a probe.
    pub struct ExecAction {
        pub command: Vec<SharedText>,
    }

    pub struct PodStatus {
        pub phase: PodPhase,
        pub reason: SharedText,
        pub message: SharedText,
        pub start_time: Time,
        pub conditions: Vec<Condition>,
        pub init_container_statuses: Vec<ContainerStatus>,
        pub container_statuses: Vec<ContainerStatus>,
    }

    /// How a container is. Look containers up by name: from 1.7 on the manager pod has two.
    pub struct ContainerStatus {
        pub name: SharedText as name,
        pub image: SharedText as name,
        pub ready: bool,
        pub restart_count: Int,
        pub state: ContainerState as or_waiting,
        pub last_state: ContainerState,
    }

    /// At most one of the three is set.
    pub struct ContainerState {
        pub waiting: Option<Waiting>,
        pub running: Option<Running>,
        pub terminated: Option<Terminated>,
    }

    /// Not started, with the reason (`CrashLoopBackOff`, `PodInitializing`, …).
    pub struct Waiting {
        pub reason: SharedText,
        pub message: SharedText,
    }

    pub struct Running {
        pub started_at: Time,
    }

    pub struct Terminated {
        pub exit_code: i64,
        pub reason: SharedText,
        pub message: SharedText,
        pub started_at: Time,
        pub finished_at: Time,
    }
}

open_enum! {
    /// Phase of a pod.
    pub enum PodPhase {
        Pending = "Pending",
        Running = "Running",
        Succeeded = "Succeeded",
        Failed = "Failed",
        Unknown = "Unknown",
    }
}

/// A port by number or name, as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Port(pub String);

impl<'de> serde::Deserialize<'de> for Port {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        number_or_text(deserializer).map(Port)
    }
}

/// A Kubernetes quantity such as `250m` or `2Gi`, as written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quantity(pub String);

impl<'de> serde::Deserialize<'de> for Quantity {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        number_or_text(deserializer).map(Quantity)
    }
}

/// The one node that a pod may run on, as the controller of DaemonSets writes it into the affinity; empty for any other pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pinned(SharedText);

impl<'de> Deserialize<'de> for Pinned {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let affinity = Affinity::deserialize(deserializer)?;
        let field = affinity
            .node_affinity
            .required
            .node_selector_terms
            .first()
            .and_then(|term| term.match_fields.first());
        let node = field.filter(|field| field.key == "metadata.name").and_then(|field| field.values.first());
        Ok(Self(node.cloned().unwrap_or_default()))
    }
}

impl super::Compact for Pinned {
    fn compact(&mut self) {
        self.0.compact();
    }

    fn tidy(&mut self) {
        super::lenient::name(&mut self.0);
    }
}

impl super::Compact for Port {}
impl super::Compact for Quantity {}

fn number_or_text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(untagged, expecting = "expected a number or a string")]
    enum RawState {
        Text(String),
        Number(serde_json::Number),
    }
    Ok(match <RawState as serde::Deserialize>::deserialize(deserializer)? {
        RawState::Text(text) => text,
        RawState::Number(number) => number.to_string(),
    })
}

impl Quantity {
    /// The amount in base units (cores, bytes); `None` when it is not a quantity.
    pub fn value(&self) -> Option<f64> {
        const SUFFIXES: &[(&str, f64)] = &[
            ("Ki", 1024.0),
            ("Mi", 1048576.0),
            ("Gi", 1073741824.0),
            ("Ti", 1099511627776.0),
            ("Pi", 1125899906842624.0),
            ("Ei", 1152921504606846976.0),
            ("n", 1e-9),
            ("u", 1e-6),
            ("m", 1e-3),
            ("k", 1e3),
            ("M", 1e6),
            ("G", 1e9),
            ("T", 1e12),
            ("P", 1e15),
            ("E", 1e18),
        ];
        let text = self.0.trim();
        let finite = |number: f64| number.is_finite().then_some(number);
        if let Ok(number) = text.parse::<f64>() {
            // "inf" and "nan" parse as floats but are no quantities
            return text
                .starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
                .then(|| finite(number))?;
        }
        let (suffix, factor) = SUFFIXES.iter().find(|(suffix, _)| text.ends_with(suffix))?;
        let number: f64 = text[..text.len() - suffix.len()].parse().ok()?;
        finite(number * factor)
    }
}

impl Container {
    /// Its limit of memory, as it is written, if it has one.
    pub fn memory_limit(&self) -> Option<&str> {
        self.resources.limits.get("memory").map(|limit| limit.0.as_str())
    }

    /// The value of a flag of its command line, as `--flag value` or `--flag=value`.
    pub fn flag(&self, flag: &str) -> Option<&str> {
        let mut words = self.command.iter().chain(&self.args).map(SharedText::as_str);
        while let Some(word) = words.next() {
            match word.strip_prefix(flag) {
                Some("") => return words.next(),
                Some(rest) if rest.starts_with('=') => return rest.get(1..),
                _ => {}
            }
        }
        None
    }
}

impl Probe {
    /// Seconds between two probes; Kubernetes default 10.
    pub fn period(&self) -> i64 {
        self.period_seconds.filter(|seconds| *seconds > 0).unwrap_or(10)
    }

    /// Seconds until a probe counts as failed; Kubernetes default 1.
    pub fn timeout(&self) -> i64 {
        self.timeout_seconds.filter(|seconds| *seconds > 0).unwrap_or(1)
    }

    /// Failures in a row that count; Kubernetes default 3.
    pub fn threshold(&self) -> i64 {
        self.failure_threshold.filter(|count| *count > 0).unwrap_or(3)
    }

    /// Seconds before the first probe; Kubernetes default 0.
    pub fn initial_delay(&self) -> i64 {
        self.initial_delay_seconds.filter(|seconds| *seconds > 0).unwrap_or(0)
    }

    /// Seconds of failure that are borne once probing has begun: period × threshold.
    pub fn tolerance(&self) -> i64 {
        self.period().saturating_mul(self.threshold())
    }
}

/// As the setting taint-toleration says it.
impl fmt::Display for Toleration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Toleration { key, value, effect } = self;
        let equals = if value.is_empty() { "" } else { "=" };
        write!(f, "{key}{equals}{value}:{effect}")
    }
}

impl ContainerStatus {
    /// Since when it runs, if it does.
    pub fn running_since(&self) -> Option<jiff::Timestamp> {
        self.state.running.as_ref()?.started_at.get()
    }
}

impl Terminated {
    /// Since when it had run; `None` where it never did: the runtime then writes the beginning of 1970.
    pub fn ran_since(&self) -> Option<jiff::Timestamp> {
        self.started_at.get().filter(|started| started.as_second() > 0)
    }

    /// True where the runtime says that it did not come to run: 128 is its code for that.
    pub fn never_started(&self) -> bool {
        self.exit_code == 128 && self.ran_since().is_none()
    }
}

impl PodSpec {
    /// The node that it runs on, or waits for where no node has taken it yet.
    pub fn node(&self) -> &SharedText {
        if self.node_name.is_empty() { &self.affinity.0 } else { &self.node_name }
    }

    /// A container by name.
    pub fn container(&self, name: &str) -> Option<&Container> {
        self.containers.iter().find(|container| container.name == name)
    }
}

impl Pod {
    /// Status of a container by name.
    pub fn container_status(&self, name: &str) -> Option<&ContainerStatus> {
        self.status.container_statuses.iter().find(|status| status.name == name)
    }

    /// True when the pod's Ready condition is True.
    pub fn is_ready(&self) -> bool {
        super::meta::status(&self.status.conditions, "Ready") == super::ConditionStatus::True
    }

    /// Since when its Ready condition is what it is.
    pub fn ready_changed(&self) -> Option<jiff::Timestamp> {
        super::condition(&self.status.conditions, "Ready")?.last_transition_time.get()
    }

    /// Since when it is Ready.
    pub fn ready_since(&self) -> Option<jiff::Timestamp> {
        self.ready_changed().filter(|_| self.is_ready())
    }

    /// Since when its Ready condition is False.
    pub fn unready_since(&self) -> Option<jiff::Timestamp> {
        let ready = super::meta::status(&self.status.conditions, "Ready");
        self.ready_changed().filter(|_| ready == super::ConditionStatus::False)
    }

    /// The tolerations of the setting taint-toleration that Longhorn gave it, by the note that it leaves at each pod which it
    /// makes; `None` without such a note.
    pub fn applied_tolerations(&self) -> Option<Vec<Toleration>> {
        let noted: Option<_> =
            serde_json::from_str(&self.metadata.annotations.last_applied_tolerations).ok()?;
        Some(noted.unwrap_or_default())
    }

    /// True when no container of it will run any more: the pod says so a second or two later than its containers.
    pub fn is_over(&self) -> bool {
        let statuses = &self.status.container_statuses;
        matches!(self.status.phase, PodPhase::Failed | PodPhase::Succeeded)
            || (!statuses.is_empty() && statuses.iter().all(|status| status.state.terminated.is_some()))
    }

    /// Why its kubelet did not take it, if it did not: a taint, pressure, not enough of something, a node selector. Such a pod is
    /// Failed from the start. A kubelet that starts may also reject pods that run; [`Pod::has_run`] tells.
    pub fn rejection(&self) -> Option<&str> {
        const PREFIX: &str = "Pod was rejected: ";
        let (reason, message) = (self.status.reason.as_str(), self.status.message.trim());
        if self.status.phase != PodPhase::Failed {
            return None;
        }
        if let Some(why) = message.strip_prefix(PREFIX) {
            return Some(why);
        }
        // kubelets before that prefix; an eviction of a running pod says of what the node was short
        let by_reason = reason.starts_with("OutOf")
            || ["TaintToleration", "NodeAffinity", "UnexpectedAdmissionError"].contains(&reason)
            || (reason == "Evicted" && message.contains("node had condition"));
        by_reason.then_some(if message.is_empty() { reason } else { message })
    }

    /// False for a pod that is known never to have run: one that is Pending, that its kubelet rejected, or whose container could
    /// not be started. A kubelet that does not find a container calls it ContainerStatusUnknown, whether there was one or not.
    pub fn has_run(&self) -> bool {
        let statuses = &self.status.container_statuses;
        let ran = |state: &ContainerState| {
            state.running.is_some() || state.terminated.as_ref().is_some_and(|end| end.ran_since().is_some())
        };
        if statuses.iter().any(|status| ran(&status.state) || ran(&status.last_state)) {
            return true;
        }
        match self.status.phase {
            PodPhase::Pending => false,
            PodPhase::Failed => {
                let never = |status: &ContainerStatus| {
                    let ended = status.state.terminated.as_ref();
                    status.state.waiting.is_some() || ended.is_some_and(Terminated::never_started)
                };
                // a pod for a node that is not there is removed before any kubelet took it
                let unseen = statuses.is_empty()
                    && !self.status.start_time.is_set()
                    && super::condition(&self.status.conditions, "DisruptionTarget")
                        .is_some_and(|target| target.reason == "DeletionByPodGC");
                self.rejection().is_none()
                    && !unseen
                    && !statuses.iter().any(never)
                    && !self.was_lost_before_it_ran()
            }
            _ => true,
        }
    }

    /// True for a pod that was deleted before its container ran, as Longhorn does when a second setting changes a second after the
    /// first: the kubelet looks for a container that never was. The pod has not been Ready since the kubelet took it.
    fn was_lost_before_it_ran(&self) -> bool {
        let unknown = |status: &ContainerStatus| {
            status.state.terminated.as_ref().is_some_and(|end| end.reason == "ContainerStatusUnknown")
        };
        let never_ready = self
            .status
            .start_time
            .get()
            .zip(self.unready_since())
            .is_some_and(|(start, since)| since.as_second() <= start.as_second().saturating_add(1));
        self.metadata.is_deleting() && never_ready && self.status.container_statuses.iter().any(unknown)
    }

    /// True for the pod of an instance manager, by the label that Longhorn gives it (longhorn-manager
    /// v1.12.1 types/types.go GetInstanceManagerLabels).
    pub fn is_instance_manager(&self) -> bool {
        self.metadata.label("longhorn.io/component") == Some("instance-manager")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> Option<f64> {
        Quantity(text.to_owned()).value()
    }

    #[test]
    fn a_pod_of_a_daemon_set_names_its_node_before_it_has_one() {
        let node = |spec: &str| {
            let pod: Pod = serde_yaml::from_str(&format!("metadata: {{name: p}}\nspec: {{{spec}}}")).unwrap();
            pod.spec.node().to_string()
        };
        let pinned = |key: &str| {
            format!(
                "affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{{matchFields: \
                 [{{key: {key}, operator: In, values: [node-2]}}]}}]}}}}}}"
            )
        };
        assert_eq!(node(&pinned("metadata.name")), "node-2");
        assert_eq!(node(&pinned("metadata.uid")), "");
        assert_eq!(node(&format!("nodeName: node-1, {}", pinned("metadata.name"))), "node-1");
        assert_eq!(node("affinity: {nodeAffinity: null}"), "");
        assert_eq!(node(""), "");
    }

    #[test]
    fn a_pod_that_was_deleted_before_its_container_ran_has_not_run() {
        // played with 1.9.2: made at 02:07:05, deleted within the second, gone at 02:07:07
        let ran = |not_ready_since: &str, deleted: &str| {
            let json = format!(
                r#"{{"metadata":{{"name":"im"{deleted}}},"status":{{"phase":"Failed","startTime":"2026-11-24T02:07:05Z",
                   "conditions":[{{"type":"Ready","status":"False","lastTransitionTime":"2026-11-24T02:07:{not_ready_since}Z"}}],
                   "containerStatuses":[{{"name":"instance-manager","state":{{"terminated":{{"exitCode":137,"reason":"ContainerStatusUnknown"}}}}}}]}}}}"#
            );
            serde_json::from_str::<Pod>(&json).unwrap().has_run()
        };
        let deleted = r#","deletionTimestamp":"2026-11-24T02:07:36Z""#;
        assert!(!ran("05", deleted));
        assert!(ran("07", deleted), "it was Ready for a moment");
        assert!(ran("05", ""), "a kubelet lost it, as far as is known");
    }

    #[test]
    fn quantities() {
        for (text, expected) in [
            ("250m", Some(0.25)),
            ("4", Some(4.0)),
            ("1e3", Some(1000.0)),
            ("2Gi", Some(2147483648.0)),
            ("1k", Some(1000.0)),
            ("", None),
            ("inf", None),
            ("nan", None),
            ("m", None),
            ("12 apples", None),
        ] {
            assert_eq!(value(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_quantity_is_finite_or_none(text in ".{0,20}") {
            if let Some(amount) = value(&text) {
                prop_assert!(amount.is_finite());
            }
        }

        #[test]
        fn thousandths_are_thousandths(amount in 0..1_000_000_u32) {
            let (whole, milli) = (value(&amount.to_string()), value(&format!("{}m", u64::from(amount) * 1000)));
            prop_assert!((whole.unwrap() - milli.unwrap()).abs() < 1e-6);
        }
    }
}
