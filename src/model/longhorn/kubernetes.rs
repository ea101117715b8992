//! Kubernetes kinds other than pods.

use std::fmt;
use std::net::IpAddr;

use super::lenient::{Int, StringMap, Time, manifests, narrow};
use super::map::Map;
use super::meta::Condition;
use super::pod::{PodSpec, Port};
use super::quantity::Quantity;
use super::shared_text::SharedText;

manifests! {
    KubeNode { spec: KubeNodeSpec, status: KubeNodeStatus }
    Service { spec: ServiceSpec }
    /// An EndpointSlice; its Service is named by the label `kubernetes.io/service-name`.
    EndpointSlice { endpoints: Vec<Endpoint> }
    DaemonSet { spec: WorkloadSpec, status: DaemonSetStatus }
    PodTemplate { spec: PodSpec }
    Deployment { spec: WorkloadSpec, status: DeploymentStatus }
    /// A PodDisruptionBudget; those of instance managers carry the instance manager's name.
    PodDisruptionBudget { spec: PodDisruptionBudgetSpec }
    Lease { spec: LeaseSpec }
    PriorityClass { global_default: bool }
    ValidatingWebhookConfiguration { webhooks: Vec<Webhook> }
    MutatingWebhookConfiguration { webhooks: Vec<Webhook> }
    /// A CustomResourceDefinition; its schemas are not read.
    CustomResourceDefinition { spec: CrdSpec, status: CrdStatus }
    StorageClass {
        provisioner: SharedText, reclaim_policy: SharedText, volume_binding_mode: SharedText,
        allow_volume_expansion: Option<bool>, parameters: StringMap
    }
    NetworkPolicy { spec: NetworkPolicySpec }
}

narrow! {
    pub struct CrdSpec {
        pub group: SharedText,
        pub conversion: CrdConversion,
    }

    pub struct CrdConversion {
        /// `None` or `Webhook`.
        pub strategy: SharedText,
        pub webhook: Converter,
    }

    /// Who converts.
    pub struct Converter {
        pub client_config: WebhookClientConfig,
    }

    /// In which versions objects of it may lie in etcd.
    pub struct CrdStatus {
        pub stored_versions: Vec<SharedText>,
    }

    /// Which pods it is about, who may reach them, and whom they may reach; what it says of ports of the pods is not read.
    pub struct NetworkPolicySpec {
        pub pod_selector: LabelSelector,
        /// `Ingress`, `Egress`; without any, `Ingress`, and `Egress` where it has such rules.
        pub policy_types: Vec<SharedText>,
        pub ingress: Vec<IngressRule>,
        pub egress: Vec<EgressRule>,
    }

    /// One rule; without any peer it is about everyone, without any port about all ports.
    pub struct EgressRule {
        pub to: Vec<PolicyPeer>,
        pub ports: Vec<PolicyPort>,
    }

    pub struct PolicyPort {
        pub port: Port,
    }

    /// One rule; without any peer it is about everyone, without any port about all ports.
    pub struct IngressRule {
        pub from: Vec<PolicyPeer>,
        pub ports: Vec<PolicyPort>,
    }

    /// Pods of this namespace, unless it names other namespaces or addresses.
    pub struct PolicyPeer {
        pub pod_selector: Option<LabelSelector>,
        pub namespace_selector: Option<LabelSelector>,
        pub ip_block: Option<IpBlock>,
    }

    pub struct IpBlock {
        pub cidr: SharedText,
        pub except: Vec<SharedText>,
    }

    /// Labels; nothing in it selects everything.
    pub struct LabelSelector {
        pub match_labels: StringMap,
        pub match_expressions: Vec<LabelExpression>,
    }

    /// One of the expressions of a selector.
    pub struct LabelExpression {
        pub key: SharedText,
        pub operator: SharedText,
        pub values: Vec<SharedText>,
    }

    /// Whether pods may be scheduled on it.
    pub struct KubeNodeSpec {
        pub unschedulable: bool,
        pub taints: Vec<Taint>,
    }

    pub struct Taint {
        pub key: SharedText as name,
        pub value: SharedText as name,
        pub effect: SharedText as name,
        /// Written by the node controller for the taints that it puts on itself.
        pub time_added: Time,
    }

    pub struct KubeNodeStatus {
        pub conditions: Vec<Condition>,
        pub allocatable: Map<Quantity>,
        pub node_info: NodeInfo,
        pub addresses: Vec<NodeAddress>,
    }

    /// An address by which the node is reached, or its name.
    pub struct NodeAddress {
        pub kind: SharedText = "type",
        pub address: SharedText as name,
    }

    /// What the node runs.
    pub struct NodeInfo {
        pub kernel_version: SharedText,
        pub os_image: SharedText,
        pub kubelet_version: SharedText,
        /// As Go names it: `amd64`, `arm64`.
        pub architecture: SharedText,
        /// Of the host's /etc/machine-id: clones share it, and it outlives a change of the node's name.
        pub machine_id: SharedText as name = "machineID",
    }

    /// What a Service selects.
    pub struct ServiceSpec {
        pub selector: StringMap,
    }

    pub struct Endpoint {
        pub conditions: EndpointConditions,
        pub node_name: SharedText as name,
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
        pub name: SharedText as name,
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
        pub conditions: Vec<Condition>,
    }

    /// What a PodDisruptionBudget protects.
    pub struct PodDisruptionBudgetSpec {
        pub selector: LabelSelector,
    }

    /// Who holds a Lease since when.
    pub struct LeaseSpec {
        pub holder_identity: SharedText as name,
        pub lease_duration_seconds: Int,
        pub acquire_time: Time,
        pub renew_time: Time,
        /// How often another took it.
        pub lease_transitions: Int,
    }

    pub struct Webhook {
        pub name: SharedText as name,
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
        pub namespace: SharedText as name,
        pub name: SharedText as name,
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

impl KubeNode {
    /// True when the node's Ready condition is True.
    pub fn is_ready(&self) -> bool {
        super::meta::status(&self.status.conditions, "Ready") == super::ConditionStatus::True
    }

    /// True where its kubelet has not reported for so long that Kubernetes gave up on it.
    pub fn is_silent(&self) -> bool {
        super::meta::status(&self.status.conditions, "Ready") == super::ConditionStatus::Unknown
    }

    /// True for a node of the control plane.
    pub fn is_control_plane(&self) -> bool {
        let roles = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];
        roles.iter().any(|role| self.metadata.label(role).is_some())
    }

    /// True where it has no shell: what is done on it goes through `talosctl`.
    pub fn is_talos(&self) -> bool {
        self.status.node_info.os_image.starts_with("Talos")
    }

    /// The addresses by which the other nodes reach it.
    pub fn internal_addresses(&self) -> impl Iterator<Item = &str> {
        let internal = self.status.addresses.iter().filter(|address| address.kind == "InternalIP");
        internal.map(|address| address.address.as_str())
    }
}

impl CustomResourceDefinition {
    /// True for a kind of Longhorn.
    pub fn is_longhorn(&self) -> bool {
        self.spec.group == "longhorn.io"
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
        self.admits(|selector| selector.is_some())
    }

    /// True where it may let in the API server: by address, or by the namespace through whose pods it comes. Its own pods use the
    /// network of their node, which no selector of pods is about.
    pub fn admits_api_server(&self) -> bool {
        let name = ("kubernetes.io/metadata.name".into(), "kube-system".into());
        let labels: StringMap = [name].into_iter().collect();
        self.admits(|selector| selector.is_some_and(|selector| selector.selects(&labels)))
    }

    /// True where it may let in a node, whose network no selector is about: a kubelet that mounts NFS, the API server.
    pub fn admits_nodes(&self) -> bool {
        self.admits(|_| false)
    }

    /// True where it is of Longhorn's own chart or manifest.
    pub fn is_longhorns(&self) -> bool {
        self.metadata.label("app.kubernetes.io/name") == Some("longhorn")
    }

    /// True where it lets in pods of its namespace with these labels at every port.
    pub fn admits_pods(&self, labels: &StringMap) -> bool {
        let here = |peer: &PolicyPeer| peer.namespace_selector.is_none() && peer.ip_block.is_none();
        let selects = |peer: &PolicyPeer| peer.pod_selector.as_ref().is_none_or(|pods| pods.selects(labels));
        let admits = |peer: &PolicyPeer| here(peer) && selects(peer);
        let mut rules = self.spec.ingress.iter().filter(|rule| rule.ports.is_empty());
        rules.any(|rule| rule.from.is_empty() || rule.from.iter().any(admits))
    }

    /// True where it lets in some by their addresses, and no one else from anywhere.
    pub fn admits_by_address(&self) -> bool {
        let rules = &self.spec.ingress;
        let by_address = rules.iter().any(|rule| rule.from.iter().any(|peer| peer.ip_block.is_some()));
        by_address && rules.iter().all(|rule| !rule.from.is_empty())
    }

    /// True where it is about what pods with these labels reach.
    pub fn confines(&self, labels: &StringMap) -> bool {
        let types = &self.spec.policy_types;
        let of_egress = types.iter().any(|kind| kind == "Egress");
        (of_egress || types.is_empty() && !self.spec.egress.is_empty())
            && self.spec.pod_selector.selects(labels)
    }

    /// True where it may let pods out to one of these addresses: selectors are about pods, and the API server is none. Without addresses any
    /// block may hold the right one. A rule for DNS alone lets out nothing else.
    pub fn lets_out_to(&self, addresses: &[&str]) -> bool {
        let holds =
            |block: &IpBlock| addresses.is_empty() || addresses.iter().any(|address| block.holds(address));
        self.spec.egress.iter().any(|rule| {
            let of_dns = !rule.ports.is_empty() && rule.ports.iter().all(|one| one.port.0 == "53");
            let there =
                rule.to.is_empty() || rule.to.iter().filter_map(|peer| peer.ip_block.as_ref()).any(holds);
            !of_dns && there
        })
    }

    fn admits(&self, namespaces: impl Fn(Option<&LabelSelector>) -> bool) -> bool {
        let outside =
            |peer: &PolicyPeer| namespaces(peer.namespace_selector.as_ref()) || peer.ip_block.is_some();
        self.spec.ingress.iter().any(|rule| rule.from.is_empty() || rule.from.iter().any(outside))
    }
}

impl IpBlock {
    /// True where an address is in it; also where it cannot be read.
    fn holds(&self, address: &str) -> bool {
        let Ok(address) = address.parse() else { return true };
        within(&self.cidr, address).unwrap_or(true)
            && !self.except.iter().any(|cidr| within(cidr, address).unwrap_or(false))
    }
}

/// Whether an address is in a network: `10.0.0.0/8`.
fn within(cidr: &str, address: IpAddr) -> Option<bool> {
    let (network, length) = cidr.split_once('/')?;
    let length: u32 = length.parse().ok()?;
    let (network, address, bits) = match (network.parse().ok()?, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            (network.to_bits().into(), address.to_bits().into(), 32)
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => (network.to_bits(), address.to_bits(), 128),
        _ => return Some(false),
    };
    let differ: u128 = network ^ address;
    Some(differ.checked_shr(u32::checked_sub(bits, length)?).unwrap_or(0) == 0)
}

impl LabelSelector {
    /// Kubernetes' rule for label selectors; an operator that is unknown selects nothing.
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
