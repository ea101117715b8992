//! Why a webhook is not reached, as the tail of an error tells it: by a manager that waits for its Service, or by the API server
//! that calls it.

use jiff::SignedDuration;

use super::looping::looping;
use super::starts::{START_GRACE, UnderWay};
use crate::check::Remedy;
use crate::cluster::Cluster;
use crate::longhorn::Pod;

const CONTAINER: &str = "longhorn-manager";

/// What stands between a caller and a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreached {
    /// A DNS server answers that there is no such name.
    NoSuchName,
    /// DNS does not answer, or not with an answer.
    Dns,
    /// No pod is Ready behind the Service, or nothing listens.
    Refused,
    /// Packets are rejected on their way.
    NoRoute,
    /// Packets are lost.
    Timeout,
    /// An HTTP proxy of the API server answers instead.
    Proxy,
    /// The control plane is outside of the pod network (EKS with a CNI of its own).
    OutsideOfPodNetwork,
    /// Packets of the API server are lost or turned away.
    ControlPlane,
    /// The way of the API server is free, and no one listens at its end.
    NoListener,
    /// No manager is Ready.
    NoneReady,
    /// The configuration names a Service that does not exist.
    NoService,
    /// The certificate is not that of the configuration.
    Certificate,
}

use Unreached::*;

type Words = (Unreached, &'static [&'static str]);

/// What a manager meets on the way to its Service; the first that fits.
const OF_MANAGERS: &[Words] = &[
    (NoSuchName, &["no such host"]),
    (Dns, &["server misbehaving", "Temporary failure in name resolution", "lookup "]),
    (Refused, &["connection refused"]),
    (NoRoute, &["no route to host", "network is unreachable"]),
    (Timeout, &["i/o timeout", "Client.Timeout", "context deadline exceeded", "unreachable"]),
];

/// What the API server says. What a proxy says may hold words of the others.
const OF_THE_API_SERVER: &[Words] = &[
    (NoneReady, &["no endpoints available"]),
    (OutsideOfPodNetwork, &["Address is not allowed"]),
    (Certificate, &["x509:", "tls: "]),
    (
        Proxy,
        &[
            "Forbidden", "Bad Gateway", "No such domain", "proxyconnect", "Gateway Timeout",
            "Service Unavailable", ": EOF",
        ],
    ),
    (ControlPlane, &["connection reset by peer", "TLS handshake timeout"]),
];

/// What is said about each: in a few words, as evidence, and what to do.
struct Texts {
    briefly: &'static str,
    means: &'static str,
    fix: &'static str,
}

impl Unreached {
    /// Reads the last failed attempt before the fatal line: a manager writes one every two seconds while it waits.
    pub fn read(log: &str) -> Option<Self> {
        let attempt = |line: &&str| line.contains(".svc:950") && line.contains("error=");
        Self::of(log.lines().rev().find(attempt)?, OF_MANAGERS)
    }

    /// Reads the words after `failed calling webhook`. A refused call reaches the manager through the API server, so an address or a
    /// timeout in it says nothing about the way from the manager to the API server.
    pub fn of_call(line: &str) -> Option<Self> {
        let call = line.find("failed calling webhook").and_then(|at| line.get(at..)).unwrap_or(line);
        if call.contains("service ") && call.contains("not found") {
            return Some(NoService);
        }
        let found = Self::of(call, OF_THE_API_SERVER).or_else(|| Self::of(call, OF_MANAGERS))?;
        Some(match found {
            NoSuchName | Dns | NoRoute | Timeout => ControlPlane,
            Refused => NoListener,
            other => other,
        })
    }

    fn of(text: &str, words: &[Words]) -> Option<Self> {
        let fits = |(_, words): &&Words| words.iter().any(|word| text.contains(word));
        words.iter().find(fits).map(|(why, _)| *why)
    }

    /// True where something stands between the manager and the Service, no matter what serves it.
    pub fn is_root(self) -> bool {
        matches!(self, NoSuchName | Dns | NoRoute | Timeout)
    }

    /// In a few words, behind "it does not reach Service X: ".
    pub fn briefly(self) -> &'static str {
        self.texts().briefly
    }

    /// The reason as evidence.
    pub fn means(self) -> &'static str {
        self.texts().means
    }

    /// What to do about it, where to look first. Deleting the manager's pod changes none of it.
    pub fn remedy(self, cluster: &Cluster, webhook: &str, node: &str) -> Remedy {
        let namespace = &cluster.namespace;
        let dns = "kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide".to_owned();
        let service = format!("kubectl -n {namespace} get service longhorn-{webhook}-webhook -o wide");
        let slices = format!(
            "kubectl -n {namespace} get endpointslices -l kubernetes.io/service-name=longhorn-{webhook}-webhook -o yaml"
        );
        let on_node = format!("kubectl get pods -A -o wide --field-selector spec.nodeName={node}");
        let whom = "kubectl get validatingwebhookconfigurations longhorn-webhook-validator \
                    -o jsonpath='{.webhooks[*].clientConfig.service}'"
            .to_owned();
        let managers = format!("kubectl -n {namespace} get pods -l app=longhorn-manager -o wide");
        let steps = match self {
            NoSuchName => [service, dns],
            Dns => [dns, on_node],
            Refused => [slices, on_node],
            NoRoute | Timeout => [on_node, slices],
            NoListener | NoneReady => [managers, slices],
            Proxy | OutsideOfPodNetwork | ControlPlane | NoService | Certificate => [whom, slices],
        };
        let remedy = steps.into_iter().fold(Remedy::new(self.texts().fix), Remedy::read);
        match self {
            // the configurations themselves are wrong
            NoService | Certificate => remedy.change(
                "kubectl delete validatingwebhookconfigurations/longhorn-webhook-validator \
                 mutatingwebhookconfigurations/longhorn-webhook-mutator",
            ),
            _ => remedy,
        }
    }

    fn texts(self) -> Texts {
        let (briefly, means, fix) = match self {
            NoSuchName => (
                "cluster DNS says that there is no such name",
                "its last attempt failed in DNS: the name of the Service does not resolve in this pod, a server answers that there is none",
                "Find the DNS server that says that the Service does not exist: one of the node instead of the cluster's (resolv.conf, a \
                 search domain for which a server outside answers), another cluster domain in the kubelet's configuration, or a Service \
                 that was deleted.",
            ),
            Dns => (
                "cluster DNS does not answer for its name",
                "its last attempt failed in DNS: no server answers for the name of the Service in this pod",
                "Bring cluster DNS back for this node: the CoreDNS pods, and UDP and TCP port 53 from this node to them.",
            ),
            Refused => (
                "nothing answers behind it",
                "its last attempt was refused: the Service has no Ready endpoint, or nothing listens behind it",
                "Bring a manager to Ready: see webhook_unavailable for the endpoints, and Unhealthy events of the manager pods \
                 for their readiness probe.",
            ),
            NoRoute => (
                "a firewall rejects the packets, or there is no route",
                "its last attempt was rejected on the way (no route to host): by a firewall, or there is no way between the nodes",
                "Open the nodes' firewall for the pod network (firewalld rejects it, and nm-cloud-setup of RHEL takes its routes \
                 away), then look at the CNI and at the routes between the nodes.",
            ),
            Timeout => (
                "packets are lost on the way",
                "its last attempt timed out: packets to the Service or to the pod behind it are lost",
                "Look at the pod network of this node: firewall, kube-proxy, the CNI, and hairpin traffic where the only endpoint \
                 is on the same node.",
            ),
            Proxy => (
                "a proxy of the API server answers in its place",
                "what answered is not the webhook: an HTTP proxy of the API server stands in between (NO_PROXY lacks .svc and \
                 the service network)",
                "Add .svc, .cluster.local, the service network and the pod network to NO_PROXY of the API server (on k3s and \
                 RKE2 in the environment file of the service) and restart it.",
            ),
            OutsideOfPodNetwork => (
                "the control plane is outside of the pod network",
                "the API server refuses pod addresses: the control plane is outside of the pod network, as on EKS with a CNI \
                 of its own",
                "Let managers use the host network (hostNetwork: true and dnsPolicy: ClusterFirstWithHostNet in the \
                 DaemonSet), or use a CNI whose pods the control plane can reach.",
            ),
            ControlPlane => (
                "packets from the API server to the managers are lost",
                "packets from the API server to port 9502 of the managers are lost: a firewall, the CNI or routes between \
                 control plane and pods",
                "Open TCP port 9502 from the control-plane nodes to the pod network (up to 1.9 also 9501), and check that the \
                 control-plane nodes have the CNI's routes and interface: curl the pod address from there.",
            ),
            NoListener => (
                "nothing listens at its endpoint",
                "the API server reaches an address where nothing listens on port 9502",
                "Find the manager behind the address that refuses: it is listed as an endpoint and does not serve; its log says what it \
                 waits for (manager_start_stuck).",
            ),
            NoneReady => (
                "no manager is Ready behind its Service",
                "no manager is Ready behind the Service of the webhook",
                "Bring one manager to Ready; see webhook_unavailable. The DaemonSet, the labels of its pods and the selector of \
                 the Service have to be of one release.",
            ),
            NoService => (
                "its configuration names a Service that does not exist",
                "the webhook configuration names a Service that does not exist: it belongs to another installation or namespace",
                "Delete the webhook configurations, unless another Longhorn is in the namespace that they name: managers create them again \
                 with their own namespace and certificate when they start.",
            ),
            Certificate => (
                "the API server does not accept its certificate",
                "the API server does not accept the certificate of the webhook",
                "Delete the webhook configurations: managers create them again with the present certificate when they start. If \
                 it does not help, delete the secrets longhorn-webhook-ca and longhorn-webhook-tls too.",
            ),
        };
        Texts { briefly, means, fix }
    }
}

/// A start that waits for a Service of its own without any answer of DNS or of the network.
#[derive(Debug, Clone, Copy)]
pub struct WaitingManager<'a> {
    /// `conversion` or `admission`.
    pub webhook: &'static str,
    /// Why it is not reached.
    pub why: Unreached,
    /// The last attempt.
    pub line: &'a str,
}

/// The manager whose log names what keeps it from the Service of a webhook: DNS, a firewall, packets that are lost. That no one
/// answers behind the Service is none of these, for so it looks from each of several that wait for one another.
pub fn named(cluster: &Cluster) -> Option<(&Pod, Unreached)> {
    cluster.manager_pods().filter(|pod| !pod.metadata.is_deleting()).find_map(|pod| {
        let history = &cluster.history;
        let present = history.current_log(pod, CONTAINER).map(|log| log.text.as_str());
        let last = || Some(history.crash_log(&pod.metadata.name, CONTAINER)?.text.as_str());
        let looping = pod.container_status(CONTAINER).is_some_and(|one| looping(one, cluster.now).is_some());
        let read = |log: &str| Unreached::read(log).filter(|why| why.is_root());
        let unready = looping || !pod.is_ready();
        let why = present.and_then(read).or_else(|| last().and_then(read)).filter(|_| unready)?;
        Some((pod, why))
    })
}

/// What the last run waited for holds for the present one if it ended so lately.
const RECENT: SignedDuration = SignedDuration::from_mins(3);

/// What a start waits for, where its log shows that it waits in vain: a refused attempt may be its turn to become Ready,
/// a name that does not resolve and packets that are lost are none. Until the log of the present run is read, that of
/// the last one counts.
pub fn waiting<'a>(cluster: &'a Cluster, start: &UnderWay) -> Option<WaitingManager<'a>> {
    const LINES: usize = 5;
    let (history, pod) = (&cluster.history, start.pod);
    let present = history.current_log(pod, CONTAINER).map(|log| log.text.as_str());
    let status = pod.container_status(CONTAINER)?;
    let ended = status.last_state.terminated.as_ref().and_then(|ended| ended.finished_at.get());
    let lately = ended.is_some_and(|ended| cluster.age(ended) <= RECENT);
    let last = || {
        let log = history.crash_log(&pod.metadata.name, CONTAINER).filter(|_| lately)?;
        Some(log.text.as_str())
    };
    let age = pod.status.start_time.get().map_or(SignedDuration::ZERO, |started| cluster.age(started));
    let log = present.or_else(last).filter(|_| age >= START_GRACE)?;
    let lines = log.lines().rev().filter(|line| !line.trim().is_empty()).take(LINES);
    let line = lines.into_iter().find(|line| line.contains(".svc:950") && line.contains("error="))?;
    let why = Unreached::of(line, OF_MANAGERS).filter(|why| why.is_root())?;
    let webhook = ["conversion", "admission"]
        .into_iter()
        .find(|name| line.contains(&format!("longhorn-{name}-webhook")))?;
    Some(WaitingManager { webhook, why, line: line.trim() })
}

/// Name of the webhook that a fatal line is about.
pub fn webhook_in(line: &str) -> Option<&'static str> {
    ["conversion", "admission"].into_iter().find(|name| line.contains(&format!("{name} webhook")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_attempt_tells_why_the_service_is_not_reached() {
        let attempt = |error: &str| {
            format!(
                "level=warning msg=\"Failed to check endpoint https://longhorn-conversion-webhook.longhorn-system.svc:9501/v1/healthz\" \
                 error=\"Get \\\"https://x\\\": {error}\"\n"
            )
        };
        let refused = attempt("dial tcp 10.43.1.1:9501: connect: connection refused");
        let dns = attempt(
            "dial tcp: lookup longhorn-conversion-webhook.longhorn-system.svc on 10.43.0.10:53: no such host",
        );
        let slow = attempt("context deadline exceeded (Client.Timeout exceeded while awaiting headers)");
        assert_eq!(Unreached::read(&(refused.clone() + &dns)), Some(Unreached::NoSuchName));
        let silent = attempt("dial tcp: lookup longhorn-conversion-webhook.longhorn-system.svc: i/o timeout");
        assert_eq!(Unreached::read(&silent), Some(Unreached::Dns));
        assert_eq!(Unreached::read(&(dns + &refused)), Some(Unreached::Refused));
        assert_eq!(Unreached::read(&slow), Some(Unreached::Timeout));
        let rejected = attempt("dial tcp 10.43.1.1:9501: connect: no route to host");
        assert_eq!(Unreached::read(&rejected), Some(Unreached::NoRoute));
        assert_eq!(
            Unreached::read("level=fatal msg=\"admission webhook service is not accessible after 1m0s\""),
            None
        );
        assert_eq!(webhook_in("conversion webhook service is not accessible"), Some("conversion"));
    }

    #[test]
    fn the_tail_of_a_failed_call_tells_why() {
        let call = "failed calling webhook \\\"validator.longhorn.io\\\": failed to call webhook: Post \
                    \\\"https://longhorn-admission-webhook.longhorn-system.svc:9502/v1/webhook/validation?timeout=10s\\\": ";
        for (tail, why) in [
            ("Forbidden", Some(Proxy)),
            ("Bad Gateway", Some(Proxy)),
            ("No such domain", Some(Proxy)),
            ("EOF", Some(Proxy)),
            ("Address is not allowed", Some(OutsideOfPodNetwork)),
            ("context deadline exceeded", Some(ControlPlane)),
            ("dial tcp 10.42.1.7:9502: connect: no route to host", Some(ControlPlane)),
            ("dial tcp 10.42.1.7:9502: connect: network is unreachable", Some(ControlPlane)),
            ("dial tcp 10.42.1.7:9502: i/o timeout", Some(ControlPlane)),
            ("dial tcp 10.42.1.7:9502: connect: connection refused", Some(NoListener)),
            ("no endpoints available for service \\\"longhorn-admission-webhook\\\"", Some(NoneReady)),
            ("service \\\"longhorn-admission-webhook\\\" not found", Some(NoService)),
            ("x509: certificate signed by unknown authority", Some(Certificate)),
            ("the moon is full", None),
        ] {
            assert_eq!(Unreached::of_call(&format!("{call}{tail}")), why, "{tail}");
        }
    }
}
