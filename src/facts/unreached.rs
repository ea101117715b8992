//! Why a Service is not reached, as the tail of an error tells it: by a manager that waits for its webhook, by the API server that
//! calls it, by anyone who asks DNS for a name.

use std::net::Ipv4Addr;

use jiff::SignedDuration;

use super::looping::looping;
use super::start::{START_GRACE, UnderWay};
use super::{nodes, start_causes as causes, ways};
use crate::check::Way;
use crate::cluster::Cluster;
use crate::longhorn::Pod;

const CONTAINER: &str = "longhorn-manager";

type Words = (&'static Way, &'static [&'static str]);

/// What a manager meets on the way to its Service; the first that fits.
const OF_MANAGERS: &[Words] = &[
    (&ways::NO_SUCH_NAME, &["no such host"]),
    (&ways::NO_DNS, &["server misbehaving", "Temporary failure in name resolution", "lookup "]),
    (&causes::REFUSED, &["connection refused"]),
    (&ways::NO_ROUTE, &["no route to host", "network is unreachable"]),
    (
        &ways::TIMEOUT,
        &["i/o timeout", "handshake timeout", "Client.Timeout", "context deadline exceeded", "unreachable"],
    ),
];

/// What the API server says. What a proxy says may hold words of the others.
const OF_THE_API_SERVER: &[Words] = &[
    (&causes::NONE_READY, &["no endpoints available"]),
    (&causes::OUTSIDE_OF_POD_NETWORK, &["Address is not allowed"]),
    (&causes::CERTIFICATE, &["x509:", "tls: "]),
    (
        &causes::PROXY,
        &[
            "Forbidden", "Bad Gateway", "No such domain", "proxyconnect", "Gateway Timeout",
            "Service Unavailable", ": EOF",
        ],
    ),
    (&causes::CONTROL_PLANE, &["connection reset by peer", "TLS handshake timeout"]),
];

/// Reads the last failed attempt before the fatal line: a manager writes one every two seconds while it waits.
pub fn read(log: &str) -> Option<&'static Way> {
    let mut attempts = log.lines().rev().filter(|line| line.contains(".svc:950") && line.contains("error="));
    let last = attempts.next()?;
    if is_outside(last) {
        return Some(&ways::OUTSIDE);
    }
    let way = of(last, OF_MANAGERS)?;
    // where packets to DNS and to the Service are lost in turn, DNS is only one of those that are not reached
    let both = of_dns(last) == Some(&ways::DNS_SILENT) && attempts.any(is_lost);
    Some(if both { &ways::TIMEOUT } else { way })
}

/// True for an attempt whose name was resolved, and that got no answer.
fn is_lost(attempt: &str) -> bool {
    !attempt.contains("lookup ") && of(attempt, OF_MANAGERS) == Some(&ways::TIMEOUT)
}

/// True where the address that was dialled is none that a Service has: those are of private networks.
fn is_outside(line: &str) -> bool {
    let dialled = line.rsplit_once("dial tcp ").and_then(|(_, rest)| rest.split(':').next());
    let address: Option<Ipv4Addr> = dialled.and_then(|address| address.parse().ok());
    address.is_some_and(|address| {
        let shared = address.octets()[0] == 100 && (64..128).contains(&address.octets()[1]);
        !address.is_private() && !address.is_loopback() && !address.is_link_local() && !shared
    })
}

/// Reads the words after `failed calling webhook`. A refused call reaches the manager through the API server, so an address or a
/// timeout in it says nothing about the way from the manager to the API server.
pub fn of_call(line: &str) -> Option<&'static Way> {
    let call = line.find("failed calling webhook").and_then(|at| line.get(at..)).unwrap_or(line);
    if call.contains("service ") && call.contains("not found") {
        return Some(&causes::NO_SERVICE);
    }
    of(call, OF_THE_API_SERVER).or_else(|| {
        let is_root = is_root(of(call, OF_MANAGERS)?);
        Some(if is_root { &causes::CONTROL_PLANE } else { &causes::NO_LISTENER })
    })
}

/// Why DNS did not answer, in an error of Go: `lookup NAME on SERVER:53: read udp FROM->SERVER:53: …` (go1.23 net/dnsclient_unix.go).
/// An address without endpoints refuses. A server of the node itself is none of the cluster, and an answer, as `no such host`, has a
/// reason of its own.
pub fn of_dns(said: &str) -> Option<&'static Way> {
    let (asked, error) = said.rsplit_once("lookup ")?.1.split_once(": ")?;
    let own = asked.contains(" on 127.") || asked.contains(" on [::1]");
    let words: &[Words] = &[(&ways::DNS_DOWN, &["refused"]), (&ways::DNS_SILENT, &["i/o timeout"])];
    of(error, words).filter(|_| !own)
}

fn of(text: &str, words: &[Words]) -> Option<&'static Way> {
    let fits = |(_, words): &&Words| words.iter().any(|word| text.contains(word));
    words.iter().find(fits).map(|(way, _)| *way)
}

/// True where something stands between the manager and the Service, no matter what serves it.
pub fn is_root(way: &Way) -> bool {
    ways::UNREACHED.contains(&way)
}

/// A start that waits for a Service of its own without any answer of DNS or of the network.
#[derive(Debug, Clone, Copy)]
pub struct WaitingManager<'a> {
    /// `conversion` or `admission`.
    pub webhook: &'static str,
    /// Why it is not reached.
    pub why: &'static Way,
    pub line: &'a str,
}

/// The manager whose log names what keeps it from the Service of a webhook: DNS, a firewall, packets that are lost. That no one
/// answers behind the Service is none of these, for so it looks from each of several that wait for one another.
pub fn named(cluster: &Cluster) -> Option<(&Pod, &'static Way)> {
    cluster.manager_pods().filter(|pod| !pod.metadata.is_deleting()).find_map(|pod| {
        let history = &cluster.history;
        let present = history.current_log(pod, CONTAINER).map(|log| log.text.as_str());
        let last = || Some(history.crash_log(&pod.metadata.name, CONTAINER)?.text.as_str());
        let looping = pod.container_status(CONTAINER).is_some_and(|one| looping(one, cluster.now).is_some());
        let read = |log: &str| read(log).filter(|why| is_root(why));
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
    // a node that comes back has its old pods, and no network for some seconds
    let began = pod.status.start_time.get().max(nodes::ready_since(cluster, &pod.spec.node_name));
    let age = began.map_or(SignedDuration::ZERO, |began| cluster.age(began));
    let log = present.or_else(last).filter(|_| age >= START_GRACE)?;
    let lines = log.lines().rev().filter(|line| !line.trim().is_empty()).take(LINES);
    let line = lines.into_iter().find(|line| line.contains(".svc:950") && line.contains("error="))?;
    let why = of(line, OF_MANAGERS).filter(|why| is_root(why))?;
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
        assert_eq!(read(&(refused.clone() + &dns)), Some(&ways::NO_SUCH_NAME));
        let silent = attempt("dial tcp: lookup longhorn-conversion-webhook.longhorn-system.svc: i/o timeout");
        assert_eq!(read(&silent), Some(&ways::NO_DNS));
        assert_eq!(read(&(dns + &refused)), Some(&causes::REFUSED));
        assert_eq!(read(&slow), Some(&ways::TIMEOUT));
        let lost = attempt(
            "dial tcp: lookup x.svc on 10.96.0.10:53: read udp 10.2.3.4:3->10.96.0.10:53: i/o timeout",
        );
        assert_eq!(read(&lost), Some(&ways::NO_DNS));
        assert_eq!(read(&(slow.clone() + &lost)), Some(&ways::TIMEOUT));
        let rejected = attempt("dial tcp 10.43.1.1:9501: connect: no route to host");
        assert_eq!(read(&rejected), Some(&ways::NO_ROUTE));
        assert_eq!(read("level=fatal msg=\"admission webhook service is not accessible after 1m0s\""), None);
        assert_eq!(webhook_in("conversion webhook service is not accessible"), Some("conversion"));
    }

    #[test]
    fn the_tail_of_a_failed_call_tells_why() {
        let call = "failed calling webhook \\\"validator.longhorn.io\\\": failed to call webhook: Post \
                    \\\"https://longhorn-admission-webhook.longhorn-system.svc:9502/v1/webhook/validation?timeout=10s\\\": ";
        for (tail, why) in [
            ("Forbidden", Some(&causes::PROXY)),
            ("Bad Gateway", Some(&causes::PROXY)),
            ("No such domain", Some(&causes::PROXY)),
            ("EOF", Some(&causes::PROXY)),
            ("Address is not allowed", Some(&causes::OUTSIDE_OF_POD_NETWORK)),
            ("context deadline exceeded", Some(&causes::CONTROL_PLANE)),
            ("dial tcp 10.42.1.7:9502: connect: no route to host", Some(&causes::CONTROL_PLANE)),
            ("dial tcp 10.42.1.7:9502: connect: network is unreachable", Some(&causes::CONTROL_PLANE)),
            ("dial tcp 10.42.1.7:9502: i/o timeout", Some(&causes::CONTROL_PLANE)),
            ("dial tcp 10.42.1.7:9502: connect: connection refused", Some(&causes::NO_LISTENER)),
            (
                "no endpoints available for service \\\"longhorn-admission-webhook\\\"",
                Some(&causes::NONE_READY),
            ),
            ("service \\\"longhorn-admission-webhook\\\" not found", Some(&causes::NO_SERVICE)),
            ("x509: certificate signed by unknown authority", Some(&causes::CERTIFICATE)),
            ("the moon is full", None),
        ] {
            assert_eq!(of_call(&format!("{call}{tail}")), why, "{tail}");
        }
    }
}
