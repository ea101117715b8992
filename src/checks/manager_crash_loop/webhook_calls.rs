//! Why the API server cannot call Longhorn's webhook, as a log tells it.

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
    /// The way is free, and no one listens at its end.
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
                "Find the manager behind the address that refuses: it is listed as an endpoint and does not serve; its log says what it \
                 waits for (manager_start_stuck)."
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
}
