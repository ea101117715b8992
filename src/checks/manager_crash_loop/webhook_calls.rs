//! Why a webhook does not answer, as a log tells it: either the API server cannot call Longhorn's webhook, or a
//! manager cannot reach its Service.

/// What stands between the API server and the webhook. A refused call reaches the manager through the API server, so
/// an address or a timeout in it says nothing about the way from the manager to the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallFailed {
    /// An HTTP proxy of the API server answers instead.
    Proxy,
    /// The control plane is outside of the pod network (EKS with a CNI of its own).
    OutsideOfPodNetwork,
    /// Packets get lost or are turned away.
    Network,
    /// The way is free, and nobody listens at its end.
    Refused,
    /// No manager is Ready.
    NobodyReady,
    /// The configuration names a Service that does not exist.
    NoService,
    /// The certificate is not that of the configuration.
    Certificate,
    /// The answer tells nothing that is known.
    Unknown,
}

impl CallFailed {
    /// Reads the words after `failed calling webhook`.
    pub fn read(line: &str) -> Self {
        // what a proxy says may hold words of the others
        const WORDS: &[(CallFailed, &[&str])] = &[
            (CallFailed::NobodyReady, &["no endpoints available"]),
            (CallFailed::OutsideOfPodNetwork, &["Address is not allowed"]),
            (CallFailed::Certificate, &["x509:", "tls: "]),
            (
                CallFailed::Proxy,
                &[
                    "Forbidden",
                    "Bad Gateway",
                    "No such domain",
                    "proxyconnect",
                    "Gateway Timeout",
                    "Service Unavailable",
                    ": EOF",
                ],
            ),
            (CallFailed::Refused, &["connection refused"]),
            (
                CallFailed::Network,
                &[
                    "context deadline exceeded",
                    "network is unreachable",
                    "no route to host",
                    "i/o timeout",
                    "Client.Timeout exceeded",
                    "no such host",
                    "connection reset by peer",
                    "TLS handshake timeout",
                ],
            ),
        ];
        let call = line.find("failed calling webhook").and_then(|at| line.get(at..)).unwrap_or(line);
        if call.contains("service ") && call.contains("not found") {
            return CallFailed::NoService;
        }
        let has = |words: &&str| call.contains(*words);
        let known = WORDS.iter().find(|(_, words)| words.iter().any(has));
        known.map_or(CallFailed::Unknown, |(why, _)| *why)
    }

    /// The reason as evidence.
    pub fn means(self) -> &'static str {
        match self {
            CallFailed::Proxy => {
                "what answered is not the webhook: an HTTP proxy of the API server stands in between (NO_PROXY lacks .svc and \
                 the service network)"
            }
            CallFailed::OutsideOfPodNetwork => {
                "the API server refuses pod addresses: the control plane is outside of the pod network, as on EKS with a CNI \
                 of its own"
            }
            CallFailed::Network => {
                "packets from the API server to port 9502 of the managers are lost: a firewall, the CNI or routes between \
                 control plane and pods"
            }
            CallFailed::Refused => "the API server reaches an address where nothing listens on port 9502",
            CallFailed::NobodyReady => "no manager is Ready behind the Service of the webhook",
            CallFailed::NoService => {
                "the webhook configuration names a Service that does not exist: it belongs to another installation or namespace"
            }
            CallFailed::Certificate => "the API server does not accept the certificate of the webhook",
            CallFailed::Unknown => "why the call failed does not show in the line",
        }
    }

    /// What to do about it.
    pub fn remedy(self) -> &'static str {
        match self {
            CallFailed::Proxy => {
                "Add .svc, .cluster.local, the service network and the pod network to NO_PROXY of the API server (on k3s and \
                 RKE2 in the environment file of the service) and restart it."
            }
            CallFailed::OutsideOfPodNetwork => {
                "Let managers use the host network (hostNetwork: true and dnsPolicy: ClusterFirstWithHostNet in the \
                 DaemonSet), or use a CNI whose pods the control plane can reach."
            }
            CallFailed::Network => {
                "Open TCP port 9502 from the control-plane nodes to the pod network (up to 1.9 also 9501), and check that the \
                 control-plane nodes have the CNI's routes and interface: curl the pod address from there."
            }
            CallFailed::Refused => {
                "Find the manager behind the address that refuses: it is listed as an endpoint and does not serve. See \
                 manager_start_stuck, and delete its pod."
            }
            CallFailed::NobodyReady => {
                "Bring one manager to Ready; see webhook_unavailable. The DaemonSet, the labels of its pods and the selector of \
                 the Service have to be of one release."
            }
            CallFailed::NoService => {
                "Delete the webhook configurations: managers create them again with their own namespace and certificate when \
                 they start."
            }
            CallFailed::Certificate => {
                "Delete the webhook configurations: managers create them again with the present certificate when they start. If \
                 it does not help, delete the secrets longhorn-webhook-ca and longhorn-webhook-tls too."
            }
            CallFailed::Unknown => {
                "Look at the way from the API server to the webhook: a proxy of the API server, a firewall to port 9502, the \
                 CNI, the certificates."
            }
        }
    }

    /// True where the configurations themselves are wrong.
    pub fn is_configuration(self) -> bool {
        matches!(self, CallFailed::NoService | CallFailed::Certificate)
    }
}

/// Why a manager does not reach the Service of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreached {
    /// The name does not resolve.
    Dns,
    /// Nobody is Ready behind the Service, or nobody listens.
    Refused,
    /// Packets are lost.
    Timeout,
}

impl Unreached {
    /// Reads the last failed attempt before the fatal line: a manager writes one every two seconds while it waits.
    pub fn read(log: &str) -> Option<Self> {
        let attempt = |line: &&str| line.contains(".svc:950") && line.contains("error=");
        let line = log.lines().rev().find(attempt)?;
        let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
        if has(&["no such host", "server misbehaving", "Temporary failure in name resolution"])
            || line.contains("lookup ")
        {
            Some(Unreached::Dns)
        } else if has(&["connection refused"]) {
            Some(Unreached::Refused)
        } else if has(&[
            "i/o timeout",
            "Client.Timeout",
            "context deadline exceeded",
            "no route to host",
            "unreachable",
        ]) {
            Some(Unreached::Timeout)
        } else {
            None
        }
    }

    /// The reason as evidence.
    pub fn means(self) -> &'static str {
        match self {
            Unreached::Dns => {
                "its last attempt failed in DNS: the name of the Service does not resolve in this pod"
            }
            Unreached::Refused => {
                "its last attempt was refused: the Service has no Ready endpoint, or nothing listens behind it"
            }
            Unreached::Timeout => {
                "its last attempt timed out: packets to the Service or to the pod behind it are lost"
            }
        }
    }

    /// What to do about it.
    pub fn remedy(self) -> &'static str {
        match self {
            Unreached::Dns => {
                "Bring cluster DNS back for this node: look at the CoreDNS pods, at UDP and TCP port 53 from this node, and at a \
                 DNS server that answers for every name of a search domain."
            }
            Unreached::Refused => {
                "Bring a manager to Ready: see webhook_unavailable for the endpoints, and Unhealthy events of the manager pods \
                 for their readiness probe."
            }
            Unreached::Timeout => {
                "Look at the pod network of this node: firewall, kube-proxy, the CNI, and hairpin traffic where the only endpoint \
                 is on the same node."
            }
        }
    }
}

/// Name of the webhook that a fatal line is about.
pub fn webhook_in(line: &str) -> Option<&'static str> {
    ["conversion", "admission"].into_iter().find(|name| line.contains(&format!("{name} webhook")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_a_failed_call_tells_why() {
        let call = "failed calling webhook \\\"validator.longhorn.io\\\": failed to call webhook: Post \
                    \\\"https://longhorn-admission-webhook.longhorn-system.svc:9502/v1/webhook/validation?timeout=10s\\\": ";
        for (tail, why) in [
            ("Forbidden", CallFailed::Proxy),
            ("Bad Gateway", CallFailed::Proxy),
            ("No such domain", CallFailed::Proxy),
            ("EOF", CallFailed::Proxy),
            ("Address is not allowed", CallFailed::OutsideOfPodNetwork),
            ("context deadline exceeded", CallFailed::Network),
            ("dial tcp 10.42.1.7:9502: connect: no route to host", CallFailed::Network),
            ("dial tcp 10.42.1.7:9502: connect: network is unreachable", CallFailed::Network),
            ("dial tcp 10.42.1.7:9502: i/o timeout", CallFailed::Network),
            ("dial tcp 10.42.1.7:9502: connect: connection refused", CallFailed::Refused),
            (
                "no endpoints available for service \\\"longhorn-admission-webhook\\\"",
                CallFailed::NobodyReady,
            ),
            ("service \\\"longhorn-admission-webhook\\\" not found", CallFailed::NoService),
            ("x509: certificate signed by unknown authority", CallFailed::Certificate),
            ("the moon is full", CallFailed::Unknown),
        ] {
            assert_eq!(CallFailed::read(&format!("{call}{tail}")), why, "{tail}");
        }
    }

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
        assert_eq!(Unreached::read(&(refused.clone() + &dns)), Some(Unreached::Dns));
        assert_eq!(Unreached::read(&(dns + &refused)), Some(Unreached::Refused));
        assert_eq!(Unreached::read(&slow), Some(Unreached::Timeout));
        assert_eq!(
            Unreached::read("level=fatal msg=\"admission webhook service is not accessible after 1m0s\""),
            None
        );
        assert_eq!(webhook_in("conversion webhook service is not accessible"), Some("conversion"));
    }
}
