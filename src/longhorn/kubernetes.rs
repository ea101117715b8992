//! Kubernetes kinds other than pods.

use std::fmt;

use super::lenient::{Int, StringMap, Time, manifests, narrow};
use super::map::Map;
use super::meta::{Condition, Meta};
use super::pod::{PodSpec, Quantity};
use super::shared_text::SharedText;

manifests! {
    /// A Kubernetes node.
    KubeNode { spec: KubeNodeSpec, status: KubeNodeStatus }
    /// A Service.
    Service { spec: ServiceSpec }
    /// An EndpointSlice; its Service is named by the label `kubernetes.io/service-name`.
    EndpointSlice { endpoints: Vec<Endpoint> }
    /// A DaemonSet.
    DaemonSet { spec: WorkloadSpec, status: DaemonSetStatus }
    /// Pod template.
    PodTemplate { spec: PodSpec }
    /// A Deployment.
    Deployment { spec: WorkloadSpec, status: DeploymentStatus }
    /// A PodDisruptionBudget; those of instance managers carry the instance manager's name.
    PodDisruptionBudget { spec: PodDisruptionBudgetSpec }
    /// A Lease.
    Lease { spec: LeaseSpec }
    /// A PriorityClass.
    PriorityClass { global_default: bool }
    /// Longhorn's ValidatingWebhookConfiguration.
    ValidatingWebhookConfiguration { webhooks: Vec<Webhook> }
    /// Longhorn's MutatingWebhookConfiguration.
    MutatingWebhookConfiguration { webhooks: Vec<Webhook> }
    /// A CustomResourceDefinition; its schemas are not read.
    CustomResourceDefinition { spec: CrdSpec, status: CrdStatus }
    /// A StorageClass.
    StorageClass {
        provisioner: SharedText, reclaim_policy: SharedText, volume_binding_mode: SharedText,
        allow_volume_expansion: Option<bool>, parameters: StringMap
    }
    /// A NetworkPolicy.
    NetworkPolicy { spec: NetworkPolicySpec }
    /// A chart that the Helm controller of K3s and RKE2 installs.
    HelmChart { spec: HelmChartSpec }
    /// A chart that Flux installs.
    HelmRelease { spec: HelmReleaseSpec }
    /// What Argo CD installs.
    Application { spec: ApplicationSpec, status: ApplicationStatus }
}

narrow! {
    pub struct CrdSpec {
        pub group: SharedText,
        pub conversion: CrdConversion,
    }

    pub struct CrdConversion {
        /// `None` or `Webhook`.
        pub strategy: SharedText,
    }

    /// In which versions objects of it may lie in etcd.
    pub struct CrdStatus {
        pub stored_versions: Vec<SharedText>,
    }

    pub struct HelmChartSpec {
        /// Name, or address of an archive.
        pub chart: SharedText,
        pub target_namespace: SharedText,
        /// `reinstall`, which is the default, or `abort`.
        pub failure_policy: SharedText,
    }

    /// Which pods it is about, and who may reach them; what it says of ports is not read.
    pub struct NetworkPolicySpec {
        pub pod_selector: PolicySelector,
        /// `Ingress`, `Egress`; without any, `Ingress`.
        pub policy_types: Vec<SharedText>,
        pub ingress: Vec<IngressRule>,
    }

    /// One rule; without any peer it is about everyone.
    pub struct IngressRule {
        pub from: Vec<PolicyPeer>,
    }

    /// Pods of this namespace, unless it names other namespaces or addresses.
    pub struct PolicyPeer {
        pub namespace_selector: Option<PolicySelector>,
        pub ip_block: Option<IpBlock>,
    }

    pub struct IpBlock {
        pub cidr: SharedText,
    }

    /// Labels; nothing in it selects everything.
    pub struct PolicySelector {
        pub match_labels: StringMap,
        pub match_expressions: Vec<LabelExpression>,
    }

    /// One of the expressions of a selector.
    pub struct LabelExpression {
        pub key: SharedText,
        pub operator: SharedText,
        pub values: Vec<SharedText>,
    }

    pub struct HelmReleaseSpec {
        pub suspend: bool,
        pub chart: HelmReleaseChart,
        pub upgrade: HelmReleaseUpgrade,
    }

    pub struct HelmReleaseChart {
        pub spec: HelmReleaseChartSpec,
    }

    pub struct HelmReleaseChartSpec {
        pub chart: SharedText,
    }

    pub struct HelmReleaseUpgrade {
        pub remediation: HelmReleaseRemediation,
    }

    /// What Flux does when an upgrade fails: nothing without `retries`.
    pub struct HelmReleaseRemediation {
        pub retries: Int,
        pub remediate_last_failure: bool,
        /// `rollback`, which is the default, or `uninstall`.
        pub strategy: SharedText,
    }

    pub struct ApplicationSpec {
        pub source: ApplicationSource,
        pub sources: Vec<ApplicationSource>,
    }

    pub struct ApplicationSource {
        /// Name of a Helm chart; empty where the source is a repository.
        pub chart: SharedText,
    }

    /// The objects that it has.
    pub struct ApplicationStatus {
        pub resources: Vec<ApplicationResource>,
    }

    pub struct ApplicationResource {
        pub kind: SharedText,
        pub namespace: SharedText,
        pub name: SharedText,
    }

    /// Whether pods may be scheduled on it.
    pub struct KubeNodeSpec {
        pub unschedulable: bool,
        pub taints: Vec<Taint>,
    }

    /// A taint.
    pub struct Taint {
        pub key: SharedText,
        pub value: SharedText,
        pub effect: SharedText,
        /// Written by the node controller for the taints that it puts on itself.
        pub time_added: Time,
    }

    pub struct KubeNodeStatus {
        pub conditions: Vec<Condition>,
        pub allocatable: Map<Quantity>,
        pub node_info: NodeInfo,
    }

    /// What the node runs.
    pub struct NodeInfo {
        pub kernel_version: SharedText,
        pub os_image: SharedText,
        pub kubelet_version: SharedText,
    }

    /// An event of the core API.
    pub struct Event {
        pub metadata: Meta,
        pub involved_object: InvolvedObject,
        pub reason: SharedText,
        pub message: SharedText,
        pub kind: SharedText = "type",
        pub count: Int,
        pub first_timestamp: Time,
        pub last_timestamp: Time,
        pub event_time: Time,
        pub series: Option<EventSeries>,
        pub source: EventSource,
    }

    /// What an event is about.
    pub struct InvolvedObject {
        pub kind: SharedText,
        pub name: SharedText,
        pub namespace: SharedText,
        pub uid: SharedText,
        pub field_path: SharedText,
    }

    /// Repetitions of an event in the newer form.
    pub struct EventSeries {
        pub count: Int,
        pub last_observed_time: Time,
    }

    /// Who wrote an event.
    pub struct EventSource {
        pub component: SharedText,
        pub host: SharedText,
    }

    /// What a Service selects.
    pub struct ServiceSpec {
        pub selector: StringMap,
    }

    /// One endpoint.
    pub struct Endpoint {
        pub conditions: EndpointConditions,
        pub node_name: SharedText,
        pub target_ref: TargetRef,
    }

    /// Whether an endpoint takes traffic.
    pub struct EndpointConditions {
        /// Absent means unknown, which consumers treat as ready.
        pub ready: Option<bool>,
    }

    /// The pod behind an endpoint.
    pub struct TargetRef {
        pub kind: SharedText,
        pub name: SharedText,
    }

    /// Template of a DaemonSet or Deployment.
    pub struct WorkloadSpec {
        pub replicas: Option<i64>,
        pub template: PodTemplate,
    }

    /// How far a DaemonSet is.
    pub struct DaemonSetStatus {
        pub desired_number_scheduled: Int,
        pub updated_number_scheduled: Int,
        pub number_ready: Int,
    }

    /// How far a Deployment is.
    pub struct DeploymentStatus {
        pub replicas: Int,
        pub ready_replicas: Int,
    }

    /// What a PodDisruptionBudget protects.
    pub struct PodDisruptionBudgetSpec {
        pub selector: LabelSelector,
    }

    /// Labels that are selected; expressions are not read.
    pub struct LabelSelector {
        pub match_labels: StringMap,
    }

    /// Who holds a Lease since when.
    pub struct LeaseSpec {
        pub holder_identity: SharedText,
        pub lease_duration_seconds: Int,
        pub acquire_time: Time,
        pub renew_time: Time,
    }

    /// One webhook.
    pub struct Webhook {
        pub name: SharedText,
        pub client_config: WebhookClientConfig,
    }

    /// Whom the API server calls.
    pub struct WebhookClientConfig {
        pub service: Option<WebhookService>,
        /// By which the API server knows who answers; without it, by what its host trusts.
        pub ca_bundle: SharedText,
    }

    /// A Service in front of a webhook.
    pub struct WebhookService {
        pub namespace: SharedText,
        pub name: SharedText,
    }
}

/// As `kubectl taint` takes it.
impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Taint { key, value, effect, .. } = self;
        let equals = if value.is_empty() { "" } else { "=" };
        write!(f, "{key}{equals}{value}:{effect}")
    }
}

/// An event about a Kubernetes node, as node-problem-detector and kubelets write it.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[serde(transparent)]
pub struct NodeEvent(Event);

/// What the monitors that we deliver for node-problem-detector report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeTrouble {
    /// The kernel lost an iSCSI connection: `detected conn error (1020)`.
    IscsiConnError,
    /// containerd lost a shim: `shim disconnected`.
    ShimDisconnected,
}

impl super::Compact for NodeEvent {
    fn compact(&mut self) {
        self.0.compact();
    }
}

impl std::ops::Deref for NodeEvent {
    type Target = Event;

    fn deref(&self) -> &Event {
        &self.0
    }
}

impl std::ops::DerefMut for NodeEvent {
    fn deref_mut(&mut self) -> &mut Event {
        &mut self.0
    }
}

impl NodeEvent {
    /// What it reports; `None` for all that others report about nodes.
    pub fn trouble(&self) -> Option<NodeTrouble> {
        match self.reason.as_str() {
            "LonghornISCSIConnError" => Some(NodeTrouble::IscsiConnError),
            "LonghornShimDisconnected" => Some(NodeTrouble::ShimDisconnected),
            _ => None,
        }
    }

    /// True for what the kubelet writes when it finds another boot id.
    pub fn is_reboot(&self) -> bool {
        self.reason == "Rebooted"
    }
}

impl Event {
    /// True where the taint manager deletes a pod. `Cancelling deletion of Pod …` has the same reason and means that it does not:
    /// so it says of each pod of a node that joins or comes back.
    pub fn is_taint_eviction(&self) -> bool {
        self.reason == "TaintManagerEviction" && self.said().starts_with("Marking for deletion")
    }

    /// What it says. Of many Events that differ in their text only the API client makes one.
    pub fn said(&self) -> &str {
        const COMBINED: &str = "(combined from similar events): ";
        self.message.strip_prefix(COMBINED).unwrap_or(&self.message)
    }

    /// When it was first seen, in whichever form the event is written.
    pub fn first_seen(&self) -> Option<jiff::Timestamp> {
        [self.first_timestamp.get(), self.event_time.get(), self.metadata.created()]
            .into_iter()
            .flatten()
            .min()
    }

    /// When it was last seen, in whichever form the event is written.
    pub fn last_seen(&self) -> Option<jiff::Timestamp> {
        [
            self.series.as_ref().and_then(|series| series.last_observed_time.get()),
            self.last_timestamp.get(),
            self.event_time.get(),
            self.first_timestamp.get(),
            self.metadata.created(),
        ]
        .into_iter()
        .flatten()
        .max()
    }

    /// How often it was seen.
    pub fn occurrences(&self) -> u64 {
        let series = self.series.as_ref().map_or(0, |series| series.count.0);
        u64::try_from(series.max(self.count.0).max(1)).unwrap_or(1)
    }
}

impl KubeNode {
    /// True when the node's Ready condition is True.
    pub fn is_ready(&self) -> bool {
        super::meta::status(&self.status.conditions, "Ready") == super::ConditionStatus::True
    }
}

impl CustomResourceDefinition {
    /// True for a kind of Longhorn.
    pub fn is_longhorn(&self) -> bool {
        self.spec.group == "longhorn.io"
    }
}

impl HelmChart {
    /// True for the chart that installs Longhorn: by its name, also within an address.
    pub fn is_longhorn(&self) -> bool {
        let chart = self.spec.chart.rsplit('/').next().unwrap_or_default();
        chart == "longhorn" || chart.starts_with("longhorn-") && chart.ends_with(".tgz")
    }
}

impl StorageClass {
    /// True where claims that name no class get this one.
    pub fn is_default(&self) -> bool {
        self.metadata.annotations.is_default_class == "true"
    }
}

impl NetworkPolicy {
    /// True where it is about what reaches pods with these labels.
    pub fn guards(&self, labels: &StringMap) -> bool {
        let types = &self.spec.policy_types;
        let of_ingress = types.is_empty() || types.iter().any(|kind| kind == "Ingress");
        of_ingress && self.spec.pod_selector.selects(labels)
    }

    /// True where it lets in anything from outside of its namespace: a rule without peers lets in everything.
    pub fn admits_others(&self) -> bool {
        let outside = |peer: &PolicyPeer| peer.namespace_selector.is_some() || peer.ip_block.is_some();
        self.spec.ingress.iter().any(|rule| rule.from.is_empty() || rule.from.iter().any(outside))
    }
}

impl PolicySelector {
    /// Kubernetes' rule for label selectors; an operator that is not known selects nothing.
    fn selects(&self, labels: &StringMap) -> bool {
        let holds = |expression: &LabelExpression| {
            let value = labels.get(expression.key.as_str());
            let listed = value.is_some_and(|value| expression.values.contains(value));
            match expression.operator.as_str() {
                "In" => listed,
                "NotIn" => !listed,
                "Exists" => value.is_some(),
                "DoesNotExist" => value.is_none(),
                _ => false,
            }
        };
        let equal = |(key, wanted): (&SharedText, &SharedText)| labels.get(key.as_str()) == Some(wanted);
        self.match_labels.iter().all(equal) && self.match_expressions.iter().all(holds)
    }
}

impl HelmRelease {
    /// True for the chart that installs Longhorn. One by reference (`chartRef`) is known by its name alone.
    pub fn is_longhorn(&self) -> bool {
        match self.spec.chart.spec.chart.as_str() {
            "" => self.metadata.name.contains("longhorn"),
            chart => chart.rsplit('/').next() == Some("longhorn"),
        }
    }
}

impl Application {
    /// The DaemonSet of the managers, which only what installs Longhorn has.
    const MANAGERS: (&str, &str) = ("DaemonSet", "longhorn-manager");

    /// True for what installs Longhorn: by the objects it has, or by its chart before it has any.
    pub fn is_longhorn(&self) -> bool {
        let sources = std::iter::once(&self.spec.source).chain(&self.spec.sources);
        let managers = |one: &ApplicationResource| (one.kind.as_str(), one.name.as_str()) == Self::MANAGERS;
        self.status.resources.iter().any(managers)
            || sources.into_iter().any(|source| source.chart == "longhorn")
    }
}

impl Webhook {
    /// True where a Service of the cluster is called of which no certificate can be trusted.
    pub fn trusts_nobody(&self) -> bool {
        self.client_config.service.is_some() && self.client_config.ca_bundle.is_empty()
    }

    /// The Service it calls, where that is in another namespace than Longhorn.
    pub fn foreign_service(&self, namespace: &str) -> Option<&WebhookService> {
        let service = self.client_config.service.as_ref()?;
        (!service.namespace.is_empty() && service.namespace != namespace).then_some(service)
    }
}
