//! Why a manager does not reach the Service of a webhook for which it waits, as its log tells it.

use jiff::SignedDuration;

use super::looping::looping;
use super::starts::{PATIENCE, UnderWay};
use crate::check::Remedy;
use crate::cluster::Cluster;
use crate::longhorn::Pod;

const CONTAINER: &str = "longhorn-manager";

/// Why a manager does not reach the Service of a webhook.
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
}

impl Unreached {
    /// Reads the last failed attempt before the fatal line: a manager writes one every two seconds while it waits.
    pub fn read(log: &str) -> Option<Self> {
        let attempt = |line: &&str| line.contains(".svc:950") && line.contains("error=");
        Self::of(log.lines().rev().find(attempt)?)
    }

    fn of(line: &str) -> Option<Self> {
        let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
        if has(&["no such host"]) {
            Some(Unreached::NoSuchName)
        } else if has(&["server misbehaving", "Temporary failure in name resolution", "lookup "]) {
            Some(Unreached::Dns)
        } else if has(&["connection refused"]) {
            Some(Unreached::Refused)
        } else if has(&["no route to host", "network is unreachable"]) {
            Some(Unreached::NoRoute)
        } else if has(&["i/o timeout", "Client.Timeout", "context deadline exceeded", "unreachable"]) {
            Some(Unreached::Timeout)
        } else {
            None
        }
    }

    /// True where something stands between the manager and the Service, whoever serves it.
    pub fn is_root(self) -> bool {
        self != Unreached::Refused
    }

    /// In a few words, behind "it does not reach Service X: ".
    pub fn briefly(self) -> &'static str {
        match self {
            Unreached::NoSuchName => "cluster DNS says that there is no such name",
            Unreached::Dns => "cluster DNS does not answer for its name",
            Unreached::Refused => "nothing answers behind it",
            Unreached::NoRoute => "a firewall rejects the packets, or there is no route",
            Unreached::Timeout => "packets are lost on the way",
        }
    }

    /// The reason as evidence.
    pub fn means(self) -> &'static str {
        match self {
            Unreached::NoSuchName => {
                "its last attempt failed in DNS: the name of the Service does not resolve in this pod, a server answers that there is none"
            }
            Unreached::Dns => {
                "its last attempt failed in DNS: no server answers for the name of the Service in this pod"
            }
            Unreached::Refused => {
                "its last attempt was refused: the Service has no Ready endpoint, or nothing listens behind it"
            }
            Unreached::NoRoute => {
                "its last attempt was rejected on the way (no route to host): by a firewall, or there is no way between the nodes"
            }
            Unreached::Timeout => {
                "its last attempt timed out: packets to the Service or to the pod behind it are lost"
            }
        }
    }

    /// What to do about it.
    pub fn remedy(self) -> &'static str {
        match self {
            Unreached::NoSuchName => {
                "Find the DNS server that says that the Service does not exist: one of the node instead of the cluster's (resolv.conf, a \
                 search domain for which a server outside answers), another cluster domain in the kubelet's configuration, or a Service \
                 that was deleted."
            }
            Unreached::Dns => {
                "Bring cluster DNS back for this node: the CoreDNS pods, and UDP and TCP port 53 from this node to them."
            }
            Unreached::Refused => {
                "Bring a manager to Ready: see webhook_unavailable for the endpoints, and Unhealthy events of the manager pods \
                 for their readiness probe."
            }
            Unreached::NoRoute => {
                "Open the nodes' firewall for the pod network (firewalld rejects it, and nm-cloud-setup of RHEL takes its routes \
                 away), then look at the CNI and at the routes between the nodes."
            }
            Unreached::Timeout => {
                "Look at the pod network of this node: firewall, kube-proxy, the CNI, and hairpin traffic where the only endpoint \
                 is on the same node."
            }
        }
    }
}

impl Unreached {
    /// What to do about it on a node, and where to look first. Deleting the manager's pod changes none of it.
    pub fn mend(self, cluster: &Cluster, webhook: &str, node: &str) -> Remedy {
        let namespace = &cluster.namespace;
        let dns = "kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide".to_owned();
        let service = format!("kubectl -n {namespace} get service longhorn-{webhook}-webhook -o wide");
        let slices = format!(
            "kubectl -n {namespace} get endpointslices -l kubernetes.io/service-name=longhorn-{webhook}-webhook -o yaml"
        );
        let on_node = format!("kubectl get pods -A -o wide --field-selector spec.nodeName={node}");
        let steps = match self {
            Unreached::NoSuchName => [service, dns],
            Unreached::Dns => [dns, on_node],
            Unreached::Refused => [slices, on_node],
            Unreached::NoRoute | Unreached::Timeout => [on_node, slices],
        };
        steps.into_iter().fold(Remedy::new(self.remedy()), Remedy::read)
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
const LATELY: SignedDuration = SignedDuration::from_mins(3);

/// What a start waits for, where its log shows that it waits in vain: a refused attempt may be its turn to become Ready,
/// a name that does not resolve and packets that are lost are none. Until the log of the present run is read, that of
/// the last one counts.
pub fn waiting<'a>(cluster: &'a Cluster, start: &UnderWay) -> Option<WaitingManager<'a>> {
    const LINES: usize = 5;
    let (history, pod) = (&cluster.history, start.pod);
    let present = history.current_log(pod, CONTAINER).map(|log| log.text.as_str());
    let status = pod.container_status(CONTAINER)?;
    let ended = status.last_state.terminated.as_ref().and_then(|ended| ended.finished_at.get());
    let lately = ended.is_some_and(|ended| cluster.age(ended) <= LATELY);
    let last = || {
        let log = history.crash_log(&pod.metadata.name, CONTAINER).filter(|_| lately)?;
        Some(log.text.as_str())
    };
    let age = pod.status.start_time.get().map_or(SignedDuration::ZERO, |started| cluster.age(started));
    let log = present.or_else(last).filter(|_| age >= PATIENCE)?;
    let lines = log.lines().rev().filter(|line| !line.trim().is_empty()).take(LINES);
    let line = lines.into_iter().find(|line| line.contains(".svc:950") && line.contains("error="))?;
    let why = Unreached::of(line).filter(|why| why.is_root())?;
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
}
