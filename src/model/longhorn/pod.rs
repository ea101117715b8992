//! Pods, as far as probes, container states and ownership go.

mod life;

use std::fmt;

use serde::Deserialize;

use super::env::EnvVar;
use super::lenient::{Int, StringMap, Time, manifests, narrow, open_enum};
use super::map::Map;
use super::meta::Condition;
use super::quantity::{Quantity, number_or_text};
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
        pub readiness_probe: Option<Box<Probe>>,
        pub liveness_probe: Option<Box<Probe>>,
        pub startup_probe: Option<Box<Probe>>,
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

    /// True for the pod of an instance manager, by the label that Longhorn gives it (longhorn-manager
    /// v1.12.1 types/types.go GetInstanceManagerLabels).
    pub fn is_instance_manager(&self) -> bool {
        self.metadata.label("longhorn.io/component") == Some("instance-manager")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
