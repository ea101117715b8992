//! The managers: their DaemonSet and pods.

use super::*;

/// Container `longhorn-manager` as the published manifest of the release has it.
fn container(case: &Case) -> Value {
    let minor = minor(&case.release);
    let usual = [
        ("--engine-image", 0),
        ("--instance-manager-image", 0),
        ("--share-manager-image", 0),
        ("--backing-image-manager-image", 0),
        ("--manager-image", 0),
        ("--service-account", 0),
        ("--support-bundle-manager-image", 4),
        ("--upgrade-version-check", 6),
    ];
    let usual =
        || usual.iter().filter(|(_, since)| minor >= *since).map(|(flag, _)| (*flag).to_owned()).collect();
    let flags: Vec<String> = case.cluster.flags.clone().unwrap_or_else(usual);
    let mut command = vec!["longhorn-manager".to_owned(), "-d".to_owned(), "daemon".to_owned()];
    for flag in flags {
        let value = match flag.as_str() {
            "--upgrade-version-check" => None,
            "--instance-manager-image" => {
                Some(format!("longhornio/longhorn-instance-manager:{}", case.release))
            }
            _ => Some("x".to_owned()),
        };
        command.push(flag);
        command.extend(value);
    }
    let all = ["POD_NAME", "POD_NAMESPACE", "POD_IP", "NODE_NAME"].map(str::to_owned).to_vec();
    let variables = case.cluster.variables.clone().unwrap_or(all);
    let port = case.cluster.probe_port.unwrap_or(if minor >= 10 { 9502 } else { 9501 });
    let probe = match minor {
        ..=4 => json!({"tcpSocket": {"port": 9500}}),
        _ => json!({"httpGet": {"path": "/v1/healthz", "port": port, "scheme": "HTTPS"}}),
    };
    let registry = if minor >= 10 { "docker.io/" } else { "" };
    json!({
        "image": format!("{registry}longhornio/longhorn-manager:{}", case.release), "command": command,
        "env": variables.iter().map(|name| json!({ "name": name })).collect::<Vec<_>>(), "readinessProbe": probe,
    })
}

pub(super) fn manager_set(case: &Case, cluster: &mut Fixture) {
    let mut container = container(case);
    container["name"] = "longhorn-manager".into();
    let nodes = nodes_of(case);
    let ready = nodes.iter().filter(|node| !is_bad(case, node)).count();
    let set = json!({"desired": nodes.len(), "ready": ready, "spec.template.spec.containers": [container]});
    cluster.with("DaemonSet longhorn-manager", set);
}

pub(super) fn managers(case: &Case, cluster: &mut Fixture) {
    for (index, node) in nodes_of(case).iter().enumerate() {
        let bad = case.cluster.manager.as_ref().filter(|_| is_bad(case, node));
        if bad.is_some_and(|manager| manager.absent) {
            continue;
        }
        let reached = bad.map_or(Reached::Upgrade, |manager| manager.reached);
        let age = bad.and_then(|manager| manager.age).unwrap_or(60) * 60;
        // who holds the Lease has been starting for as long
        let holds = case.cluster.manager.as_ref().filter(|manager| manager.holder.as_deref() == Some(*node));
        let holds = holds.and_then(|manager| manager.hangs).map(|minutes| minutes * 60 + 10);
        // where another release counts as installed an upgrade goes on
        let usual = if case.cluster.installed.is_some() { 300 } else { 86_400 };
        let age = if bad.is_some() { age } else { holds.unwrap_or(usual) };
        let (status, ready, changed) = match bad {
            Some(manager) => crashing(manager, age),
            None => {
                let running =
                    json!({"restartCount": 0, "state": {"running": {"startedAt": before(age - 5)}}});
                (running, true, before(age - 60))
            }
        };
        let mut status = status;
        status["ready"] = ready.into();
        let pod = json!({
            "made": before(age), "node": node, "ready": changed, "metadata.labels": labels(case, reached),
            "spec.containers": {"longhorn-manager": container(case)},
            "status": {"conditions": {"Ready": {"status": if ready { "True" } else { "False" }}}, "containerStatuses": {"longhorn-manager": status}},
        });
        cluster.with(&format!("Pod longhorn-manager-{}", index + 1), pod);
    }
}

fn labels(case: &Case, reached: Reached) -> Value {
    let minor = minor(&case.release);
    let label = |name: &str, has: bool| (minor >= 7 && has).then(|| format!("longhorn-{name}"));
    json!({
        "longhorn.io/conversion-webhook": label("conversion-webhook", reached >= Reached::Listener && minor < 10),
        "longhorn.io/admission-webhook":
            label("admission-webhook", reached >= Reached::Listener && minor >= 10 || reached >= Reached::Service),
        "longhorn.io/recovery-backend": label("recovery-backend", reached >= Reached::Service),
    })
}

/// Container status, whether the pod is Ready, and since when.
fn crashing(manager: &Manager, age: i64) -> (Value, bool, String) {
    let restarts = manager.restarts;
    if let Some(reason) = manager.waiting.as_deref().filter(|reason| *reason != "CrashLoopBackOff") {
        let waiting = json!({"waiting": {"reason": reason, "message": manager.message}});
        return (json!({"restartCount": restarts, "state": waiting}), false, before(age));
    }
    if let Some(minutes) = manager.hangs {
        let started = before(minutes * 60);
        let running = json!({"running": {"startedAt": started}});
        return (json!({"restartCount": restarts, "state": running}), false, started);
    }
    let ended = |seconds: i64| {
        json!({"terminated": {
            "exitCode": manager.exit, "reason": manager.reason.as_deref().unwrap_or("Error"), "message": manager.message,
            "startedAt": before(seconds + manager.ran), "finishedAt": before(seconds),
        }})
    };
    if let Some(minutes) = manager.runs {
        let started = before(minutes * 60);
        let running = json!({"running": {"startedAt": started}});
        let last = ended(minutes * 60 + 20);
        return (json!({"restartCount": restarts, "state": running, "lastState": last}), true, started);
    }
    let status = json!({
        "restartCount": restarts, "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": ended(30),
    });
    (status, false, before(if manager.was_ready { 30 } else { age }))
}
