//! The pods of the managers.

use super::*;

pub(super) fn managers(case: &Case) -> String {
    let mut yaml = String::new();
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
                let started = before(age - 5);
                (
                    format!("restartCount: 0, ready: true, state: {{running: {{startedAt: '{started}'}}}}"),
                    "True",
                    before(age - 60),
                )
            }
        };
        write!(
            yaml,
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: longhorn-manager-{number}, {NS}, uid: m-{number}, \
             creationTimestamp: '{created}', labels: {{app: longhorn-manager{labels}}}}}\n\
             spec: {{nodeName: {node}, containers: [{container}]}}\n\
             status: {{phase: Running, startTime: '{created}', conditions: [{{type: Ready, status: '{ready}', \
             lastTransitionTime: '{changed}'}}], containerStatuses: [{{name: longhorn-manager, {status}}}]}}\n---\n",
            number = index + 1,
            created = before(age),
            labels = labels(case, reached),
            container = container(case),
        )
        .unwrap();
    }
    yaml
}

fn labels(case: &Case, reached: Reached) -> String {
    let minor = minor(&case.release);
    if minor < 7 {
        return String::new();
    }
    let mut labels = String::new();
    if reached >= Reached::Listener && minor < 10 {
        labels += ", longhorn.io/conversion-webhook: longhorn-conversion-webhook";
    }
    if reached >= Reached::Listener && minor >= 10 || reached >= Reached::Service {
        labels += ", longhorn.io/admission-webhook: longhorn-admission-webhook";
    }
    if reached >= Reached::Service {
        labels += ", longhorn.io/recovery-backend: longhorn-recovery-backend";
    }
    labels
}

/// Container status, and the pod's Ready with its last change.
fn crashing(manager: &Manager, age: i64) -> (String, &'static str, String) {
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    if manager.waiting.as_deref().is_some_and(|reason| reason != "CrashLoopBackOff") {
        let reason = manager.waiting.as_deref().unwrap();
        let status = format!(
            "restartCount: {}, ready: false, state: {{waiting: {{reason: {reason}, message: {}}}}}",
            manager.restarts,
            quoted(&manager.message)
        );
        return (status, "False", before(age));
    }
    if let Some(minutes) = manager.hangs {
        let started = before(minutes * 60);
        let status = format!(
            "restartCount: {}, ready: false, state: {{running: {{startedAt: '{started}'}}}}",
            manager.restarts
        );
        return (status, "False", started);
    }
    let (end, start) = (before(30), before(30 + manager.ran));
    if let Some(minutes) = manager.runs {
        let started = before(minutes * 60);
        let (end, start) = (before(minutes * 60 + 20), before(minutes * 60 + 20 + manager.ran));
        let status = format!(
            "restartCount: {}, ready: true, state: {{running: {{startedAt: '{started}'}}}}, lastState: {{terminated: {{exitCode: {}, \
             reason: {}, startedAt: '{start}', finishedAt: '{end}'}}}}",
            manager.restarts,
            manager.exit,
            manager.reason.as_deref().unwrap_or("Error"),
        );
        return (status, "True", started);
    }
    let status = format!(
        "restartCount: {}, ready: false, state: {{waiting: {{reason: CrashLoopBackOff}}}}, lastState: {{terminated: \
         {{exitCode: {}, reason: {}, message: {}, startedAt: '{start}', finishedAt: '{end}'}}}}",
        manager.restarts,
        manager.exit,
        manager.reason.as_deref().unwrap_or("Error"),
        quoted(&manager.message),
    );
    (status, "False", if manager.was_ready { end } else { before(age) })
}
