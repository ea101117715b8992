use super::{Complaint, Lacks, gave_up_on_full_etcd, newest, written_at};

/// As longhorn-manager v1.12.1 printed them against a kube-apiserver.
const NO_ROUTE: &str = r#"E1121 22:13:25.184589      12 leaderelection.go:461] "Error retrieving lease lock" err="Get \"https://10.99.0.2:36443/apis/coordination.k8s.io/v1/namespaces/longhorn-system/leases/longhorn-manager-webhook-lock\": dial tcp 10.99.0.2:36443: connect: no route to host" lock="longhorn-system/longhorn-manager-webhook-lock""#;
const NO_KIND: &str = r#"E1121 22:15:53.474521      12 reflector.go:227] "Failed to watch" err="failed to list *v1beta2.SystemRestore: the server could not find the requested resource (get systemrestores.longhorn.io)" logger="UnhandledError" reflector="pkg/client/informers/externalversions/factory.go:142" type="*v1beta2.SystemRestore""#;
const NO_RIGHT: &str = r#"E1121 22:15:23.734805      12 reflector.go:227] "Failed to watch" err="failed to list *v1.CSIDriver: csidrivers.storage.k8s.io is forbidden: User \"system:serviceaccount:longhorn-system:longhorn-service-account\" cannot list resource \"csidrivers\" in API group \"storage.k8s.io\" at the cluster scope" logger="UnhandledError" reflector="k8s.io/client-go/informers/factory.go:177" type="*v1.CSIDriver""#;
const NO_NODES: &str = r#"E1121 22:15:01.261733      12 reflector.go:227] "Failed to watch" err="failed to list *v1.Node: nodes is forbidden: User \"system:serviceaccount:longhorn-system:longhorn-service-account\" cannot list resource \"nodes\" in API group \"\" at the cluster scope" logger="UnhandledError" reflector="k8s.io/client-go/informers/factory.go:177" type="*v1.Node""#;
/// As longhorn-manager v1.9.2 did.
const NO_ROUTE_1_9: &str = r#"E1121 22:17:29.900140      12 leaderelection.go:436] error retrieving resource lock longhorn-system/longhorn-manager-webhook-lock: Get "https://10.99.0.2:36443/apis/coordination.k8s.io/v1/namespaces/longhorn-system/leases/longhorn-manager-webhook-lock": dial tcp 10.99.0.2:36443: connect: no route to host"#;
const NO_LEASES_1_9: &str = r#"E1121 22:19:08.400977      12 leaderelection.go:436] error retrieving resource lock longhorn-system/longhorn-manager-webhook-lock: leases.coordination.k8s.io "longhorn-manager-webhook-lock" is forbidden: User "system:serviceaccount:longhorn-system:longhorn-service-account" cannot get resource "leases" in API group "coordination.k8s.io" in the namespace "longhorn-system""#;
/// What goes its way.
const DEPRECATED: &str = r#"I1121 22:15:03.581060      12 warnings.go:107] "Warning: v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice""#;
const WEBHOOK: &str = r#"time="2026-11-21T22:12:20.1Z" level=warning msg="Failed to check endpoint https://longhorn-admission-webhook.longhorn-system.svc:9502/v1/healthz" func=webhook.isServiceAvailable file="webhook.go:118" error="Get \"https://longhorn-admission-webhook.longhorn-system.svc:9502/v1/healthz\": dial tcp: lookup longhorn-admission-webhook.longhorn-system.svc on 10.43.0.10:53: no such host""#;
const SETTING: &str = r#"time="2026-11-21T22:12:44.7Z" level=error msg="Failed to sync Longhorn setting" error="failed to sync setting for longhorn-system/csi-storage-capacity-tracking: csidrivers.storage.k8s.io \"driver.longhorn.io\" not found" node=node-1"#;
const RESPONDER: &str = r#"time="2026-11-21T22:11:21.9Z" level=warning msg="Failed to check for the latest and stable Longhorn versions" error="Post \"https://longhorn-upgrade-responder.rancher.io/v1/checkupgrade\": dial tcp: lookup longhorn-upgrade-responder.rancher.io on 10.99.0.1:53: no such host" node=node-1"#;
/// What 1.12.1 says of an engine that was detached, and of a backup store.
const ENGINE_GONE: &str = r#"E1126 15:21:02.104511       1 engine_controller.go:1009] "Unhandled Error" err="failed to update status for engine vx-e-0: proxyServer=10.78.1.7:8501 destination=10.78.1.7:10145: failed to list replicas for volume: rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing: dial tcp 10.78.1.7:10145: connect: connection refused\"" logger="UnhandledError""#;
const NO_PORT: &str = r#"time="2026-11-26T15:00:01Z" level=warning msg="Failed to get purge status for engine v1r-e-0" func="controller.(*SnapshotConcurrentLimiter).checkEnginePurging" error="proxyServer=10.78.1.7:8501 destination=:0: failed to get snapshot purge status: rpc error: code = Unavailable desc = failed to list replicas for volume :0: rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing: dial tcp [::1]:0: connect: connection refused\"" node=node-2"#;
const STORE: &str = r#"time="2026-11-26T15:00:01Z" level=error msg="Failed to sync backup target" error="failed to list system backups in s3://b@us-east-1/: failed to list objects with param: RequestError: send request failed caused by: Get \"https://10.0.0.9:9000/b?list-type=2\": dial tcp 10.0.0.9:9000: connect: connection refused" node=node-2"#;

fn read(log: &str) -> Option<(Lacks, String)> {
    newest(log).map(|complaint| (complaint.lacks, complaint.about.join(", ")))
}

fn all(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn what_an_api_server_refuses_before_it_has_read_the_roles_is_no_missing_right() {
    // written by 1.12.1 in the second in which its API server was back
    let none_known = NO_RIGHT.replace(
        "at the cluster scope",
        r#"at the cluster scope: RBAC: [clusterrole.rbac.authorization.k8s.io \"system:service-account-issuer-discovery\" not found, clusterrole.rbac.authorization.k8s.io \"longhorn-role\" not found]"#,
    );
    let role_gone = NO_RIGHT.replace(
        "at the cluster scope",
        r#"at the cluster scope: RBAC: clusterrole.rbac.authorization.k8s.io \"longhorn-role\" not found"#,
    );
    assert!(newest(&none_known).is_none());
    assert_eq!(newest(&role_gone).map(|complaint| complaint.lacks), Some(Lacks::Right));
}

#[test]
fn real_lines() {
    for (line, lacks, about) in [
        (NO_ROUTE, Lacks::Api, "no route to host"),
        (NO_KIND, Lacks::Kind, "systemrestores.longhorn.io"),
        (NO_RIGHT, Lacks::Right, "list csidrivers.storage.k8s.io"),
        (NO_NODES, Lacks::Right, "list nodes"),
        (NO_ROUTE_1_9, Lacks::Api, "no route to host"),
        (NO_LEASES_1_9, Lacks::Right, "get leases.coordination.k8s.io"),
    ] {
        assert_eq!(read(line), Some((lacks, about.to_owned())), "{line}");
        // as a collector of logs in JSON keeps it
        let json = serde_json::json!({"log": line, "stream": "stderr"}).to_string();
        assert_eq!(read(&json), Some((lacks, about.to_owned())), "{json}");
    }
    for line in
        [DEPRECATED, WEBHOOK, SETTING, RESPONDER, ENGINE_GONE, NO_PORT, STORE, "", "panic: runtime error"]
    {
        assert_eq!(newest(line), None, "{line}");
    }
}

#[test]
fn the_api_server_is_not_reached_in_many_ways() {
    for met in [
        "dial tcp 10.43.0.1:443: i/o timeout",
        "dial tcp 10.43.0.1:443: connect: connection refused",
        "dial tcp 10.43.0.1:443: connect: invalid argument",
        "net/http: TLS handshake timeout",
        "context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
        "tls: failed to verify certificate: x509: certificate signed by unknown authority",
        "EOF",
    ] {
        let line = NO_ROUTE.replace("dial tcp 10.99.0.2:36443: connect: no route to host", met);
        assert_eq!(newest(&line).map(|complaint| complaint.lacks), Some(Lacks::Api), "{met}");
    }
    let unauthorized = r#"E1121 22:15:01.0      12 leaderelection.go:461] "Error retrieving lease lock" err="Unauthorized" lock="longhorn-system/longhorn-manager-webhook-lock""#;
    assert_eq!(read(unauthorized).map(|(lacks, _)| lacks), Some(Lacks::Right));
}

#[test]
fn everything_that_is_lacking_is_named_once() {
    let log = all(&[DEPRECATED, NO_RIGHT, NO_NODES, NO_RIGHT, NO_ROUTE, NO_NODES]);
    let expected = Complaint {
        lacks: Lacks::Right,
        line: NO_NODES,
        about: vec!["list csidrivers.storage.k8s.io".to_owned(), "list nodes".to_owned()],
    };
    assert_eq!(newest(&log), Some(expected));
}

#[test]
fn a_manager_that_got_on_complains_no_more() {
    let on = |lines: usize| all(&[NO_KIND]) + &all(&vec![WEBHOOK; lines]);
    assert!(newest(&on(19)).is_some());
    assert_eq!(newest(&on(20)), None);
    assert_eq!(newest(&all(&[NO_ROUTE, NO_KIND])).map(|complaint| complaint.lacks), Some(Lacks::Kind));
}

#[test]
fn when_a_line_was_written() {
    let now = "2026-01-01T00:10:00Z".parse().unwrap();
    for (line, expected) in [
        (
            r#"time="2026-11-23T08:02:30.384408858Z" level=error msg="x""#,
            Some("2026-11-23T08:02:30.384408858Z"),
        ),
        ("E0101 00:02:21.896237       1 leaderelection.go:323] x", Some("2026-01-01T00:02:21.896237Z")),
        ("I1231 23:59:21.896237       1 leaderelection.go:323] x", Some("2025-12-31T23:59:21.896237Z")),
        ("E1341 08:02:21.896237       1 x", None),
        ("E11é3 08:02:21.896237 x", None),
        ("panic: runtime error", None),
        ("", None),
    ] {
        assert_eq!(written_at(line, now), expected.map(|at| at.parse().unwrap()), "{line}");
    }
}

/// As 1.12.1 wrote within a second after its way to the API server was open again.
#[test]
fn an_answer_of_the_api_server_ends_what_was_said_of_it() {
    const FULL: &str = r#"E1121 22:15:01.2      12 leaderelection.go:461] "Failed to update lease" err="etcdserver: mvcc: database space exceeded""#;
    for (line, over) in
        [(NO_ROUTE, true), (NO_ROUTE_1_9, true), (NO_RIGHT, false), (NO_KIND, false), (FULL, false)]
    {
        assert_eq!(newest(&all(&[line, DEPRECATED])).is_none(), over, "{line}");
        assert!(newest(&all(&[DEPRECATED, line])).is_some(), "{line}");
    }
}

/// The attempts of a renewal end at most 35 s before it is given up; an older refusal is of another renewal.
#[test]
fn a_renewal_is_given_up_for_a_full_etcd_only_if_its_own_attempts_met_it() {
    let now = "2026-11-21T22:16:00Z".parse().unwrap();
    let full = r#"E1121 22:15:01.000000      12 leaderelection.go:461] "Failed to update lease" err="etcdserver: mvcc: database space exceeded""#;
    for (at, own) in [("36.000000", true), ("36.000001", false)] {
        let given_up = format!(
            r#"E1121 22:15:{at}      12 leaderelection.go:441] Failed to update lock optimistically: err="context deadline exceeded""#
        );
        let complaint = Complaint { lacks: Lacks::Api, line: &given_up, about: Vec::new() };
        let log = format!("{full}\n{given_up}\n");
        assert_eq!(gave_up_on_full_etcd(&log, &complaint, now).is_some(), own, "{at}");
    }
}
