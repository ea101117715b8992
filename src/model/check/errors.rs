//! What an error asks for, no matter who met it: the words of kernels, of Go's network and TLS packages, of registries and object stores,
//! of the API server. It takes the place of a sentence behind `<known_error>` in advice, where the cause itself knows no more than the error.

use std::borrow::Cow;

use super::words::plain;

/// What an error says, and what to do about it; the first that fits. All parts of what it says, between `…`, stand in it in small letters.
/// `<before>` and `<after>` are the words around the last part, `<server>` whom the error says was asked.
const KNOWN: &[(&[&str], &str)] = &[
    // the API server and its webhooks
    (&["secret…\" not found"], "Create Secret <before> again, with its old content."),
    (&["configmap…\" not found"], "Create ConfigMap <before> again, with its old content."),
    (&["serviceaccount…\" not found"], "Create ServiceAccount <before> again."),
    (&["no priorityclass with name "], "Create PriorityClass <after> again, with its old value."),
    (
        &["admission webhook… denied the request"],
        "Exempt Longhorn's namespace from admission webhook <before> (Kyverno PolicyException, Gatekeeper excludedNamespaces).",
    ),
    (
        &["validatingadmissionpolicy…with binding…' denied request"],
        "Exempt Longhorn's namespace from admission policy <before> (Kyverno PolicyException, Gatekeeper excludedNamespaces).",
    ),
    (&["failed calling webhook "], "Restore webhook <after>: the API server cannot call it."),
    (&["failed quota"], "Remove the ResourceQuota in Longhorn's namespace: raising it does not help."),
    (&["exceeded quota"], "Raise or remove the ResourceQuota in Longhorn's namespace."),
    (&["forbidden: user… cannot "], "Restore the RBAC rule that the error names, for <before>."),
    (&["database space exceeded"], "Compact and defragment etcd: its database is full."),
    // certificates and clocks
    (
        &["certificate is valid for ", "certificate is not valid for ", "not valid for any names"],
        "Check the address and DNS of <server>: another server answers there.",
    ),
    (
        &["signed by unknown authority", "self-signed certificate"],
        "Give <server> a certificate of a known CA, or make its CA known.",
    ),
    (
        &["certificate has expired"],
        "Renew the certificate of <server>, or correct the client's clock if others accept it.",
    ),
    (
        &["requesttimetooskewed", "request time and the current time"],
        "Correct the client's clock (chrony, NTP).",
    ),
    (&["http response to https client"], "Use http:// for <server>, or enable TLS there."),
    // who is asked
    (
        &["proxyconnect", "proxy authentication", "bad gateway"],
        "Check the proxy (HTTP_PROXY, NO_PROXY) between the client and <server>.",
    ),
    (
        &["no such host", "server misbehaving", "name resolution", "name or service not known"],
        "Fix name resolution of <server>: check the name, CoreDNS and the nodes' resolv.conf.",
    ),
    (&["connection refused"], "Check what should listen at <server>: it refuses connections."),
    (
        &["toomanyrequests", "too many requests", "slowdown", "rate limit", "throttl"],
        "Wait, or make fewer requests: <server> limits them.",
    ),
    (&["access denied by server"], "Allow the node in the NFS export of <server>."),
    // Calico's CNI plugin, whose credentials its own pod renews (projectcalico/calico cni-plugin/pkg/install)
    (
        &["clusterinformation: connection is unauthorized"],
        "Restart the CNI's pod on the node: its credentials are rejected.",
    ),
    (
        &[
            "signaturedoesnotmatch", "invalidaccesskeyid", "invalid credentials", "authenticationfailed",
            "unauthorized", "authentication required",
        ],
        "Correct the credentials for <server>: it rejects them.",
    ),
    (
        &["accessdenied", "access denied", "403 forbidden"],
        "Allow the rejected request at <server>: check its permissions.",
    ),
    (
        &["nosuchbucket", "bucket does not exist"],
        "Create the missing bucket, or correct the bucket name in the URL.",
    ),
    (
        &["nosuchkey", "specified key does not exist"],
        "Find out what removed the object from the store, such as a lifecycle rule.",
    ),
    (&["404 not found", "status code 404"], "Correct the address: <server> has nothing there."),
    (
        &["serviceunavailable", "service unavailable", "internal server error"],
        "Check <server>: it answers with an error.",
    ),
    (
        &[
            "no route to host", "network is unreachable", "i/o timeout", "connection timed out",
            "tls handshake timeout", "client.timeout",
        ],
        "Check the network to <server>: routes, firewalls, NetworkPolicies.",
    ),
    // a node
    (
        &["already has an ip address different from"],
        "Delete the node's stale bridge (ip link delete cni0): the CNI recreates it.",
    ),
    (&["no space left on device", "disk quota exceeded"], "Free space on the file system that is full."),
    (&["too many open files"], "Raise the node's limits of open files and inotify instances."),
    (
        &["resource temporarily unavailable", "pthread_create failed", "newosproc"],
        "Raise the limit of processes of the pod or node.",
    ),
    (&["cannot allocate memory"], "Free memory on the node."),
    (
        &["structure needs cleaning", "bad superblock", "bad magic number"],
        "Back up the volume. Then repair its file system while nothing mounts it.",
    ),
    (
        &["read-only file system"],
        "Check the node's kernel log and disk: the file system has become read-only.",
    ),
    (&["input/output error"], "Check the node's kernel log and disk: it fails to read or write."),
    (&["stale file handle", "stale nfs file handle"], "Remount the share: its export has changed."),
    (
        &["unknown filesystem type", "wrong fs type"],
        "Install the file system's tools and kernel module on the node.",
    ),
    (&["no key available with this passphrase"], "Restore the old passphrase in the volume's Secret."),
    (&["address already in use"], "Stop what else uses the port on the node."),
    (&["exec format error"], "Provide an image for the node's CPU architecture."),
    (&[": executable file not found", ": command not found"], "Install <before> on the node."),
    (
        &["operation not permitted", "permission denied"],
        "Check permissions, SELinux and AppArmor on the node: the kernel denies access.",
    ),
];

/// What stands in front of whom an error says was asked.
const ASKED: [&str; 5] = ["https://", "http://", "lookup ", "dial tcp ", "while mounting "];

/// What to do about an error, in a sentence; `None` where no one knows better than the error itself.
pub(super) fn fix(error: &str) -> Option<Cow<'static, str>> {
    let small = error.to_ascii_lowercase();
    let place = |says: &&str| {
        let found = says.split('…').try_fold(0..0, |last, part| {
            let at = last.end + small.get(last.end..)?.find(part)?;
            Some(at..at + part.len())
        });
        found.map(|place| (place.start, place.end))
    };
    let (place, fix) = KNOWN.iter().find_map(|(says, fix)| Some((says.iter().find_map(place)?, *fix)))?;
    let Some((before, (name, after))) =
        fix.split_once('<').and_then(|(before, named)| Some((before, named.split_once('>')?)))
    else {
        return Some(Cow::Borrowed(fix));
    };
    let word = match name {
        "before" => error.get(..place.0).and_then(|text| text.split_whitespace().last()),
        "after" => error.get(place.1..).and_then(|text| text.split_whitespace().next()),
        _ => Some(server(error)),
    };
    let word = word.map_or("", |word| word.trim_matches(|c: char| "\"'\\,:;".contains(c)));
    Some(Cow::Owned(format!("{before}{}{after}", plain(word))))
}

/// Whom the error says was asked last.
fn server(error: &str) -> &str {
    let last = ASKED.iter().filter_map(|mark| Some(error.rfind(mark)? + mark.len())).max();
    let named = last.and_then(|at| error.get(at..)?.split(['/', '"', '?', ' ', '\\']).next());
    let at_store = ["AWS Error", "backup: access denied"].iter().any(|says| error.contains(says));
    let unnamed = if at_store { "the backup store" } else { "the remote server" };
    named.map(|name| name.trim_end_matches(':')).filter(|name| !name.is_empty()).unwrap_or(unnamed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_asks_for_what_it_says() {
        for (error, wanted) in [
            (
                r#"Get "https://images.corp.example/rhel.qcow2": tls: failed to verify certificate: x509: certificate signed by unknown authority"#,
                "Give images.corp.example a certificate of a known CA, or make its CA known.",
            ),
            (
                "dial tcp: lookup minio.backup.svc on 10.43.0.10:53: no such host",
                "Fix name resolution of minio.backup.svc: check the name, CoreDNS and the nodes' resolv.conf.",
            ),
            (
                "dial tcp 10.0.0.5:2049: connect: no route to host",
                "Check the network to 10.0.0.5:2049: routes, firewalls, NetworkPolicies.",
            ),
            (
                "x509: certificate has expired or is not yet valid",
                "Renew the certificate of the remote server, or correct the client's clock if others accept it.",
            ),
            (
                r#"secrets "longhorn-crypto" not found"#,
                "Create Secret longhorn-crypto again, with its old content.",
            ),
            (
                "admission webhook \"validation.gatekeeper.sh\" denied the request: [repos] not allowed",
                "Exempt Longhorn's namespace from admission webhook validation.gatekeeper.sh (Kyverno PolicyException, Gatekeeper excludedNamespaces).",
            ),
            (
                "fork/exec /usr/local/bin/longhorn: resource temporarily unavailable",
                "Raise the limit of processes of the pod or node.",
            ),
        ] {
            assert_eq!(fix(error).as_deref(), Some(wanted), "{error}");
        }
        assert_eq!(fix("the engine is in state error"), None);
    }

    #[test]
    fn advice_fits_a_screen() {
        for (says, fix) in KNOWN {
            assert!(fix.split_whitespace().count() <= 14 && fix.ends_with('.'), "{says:?}: {fix}");
        }
    }
}
