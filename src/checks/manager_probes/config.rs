//! The probes that the live DaemonSet configures, judged.

use super::causes;
use super::gauges;
use super::model::{OwnWait, ProbeKind, Probes, Timing};
use crate::check::*;
use crate::cluster::Cluster;
use crate::facts::releases::manager_release;
use crate::longhorn::{Container, Release};

/// A probe that can kill needs at least this window: up to about 240 s for the start of one node
/// (two waits of 120 s) plus the time in the queue for the webhook Lease.
const SAFE_WINDOW: i64 = 300;
const DAEMON_SET: &str = "longhorn-manager";

/// Samples and findings about the configuration.
pub fn judge(cluster: &Cluster, out: &mut Outcome) {
    let release = manager_release(cluster);
    if let Some(limit) = release.and_then(Release::webhook_wait) {
        out.sample(&gauges::START_LIMIT, &[], limit as f64);
    }
    let Some(container) = cluster.manager_container() else { return };
    let probes = Probes::of(container);
    sample(container, out);
    if let Some(readiness) =
        probes.readiness.filter(|readiness| readiness.timeout <= 1 && is_https(container))
    {
        out.find(readiness_timeout_short(cluster, readiness));
    }
    if probes.startup.is_none() {
        out.find(startup_probe_missing(cluster, release));
    }
    if probes.liveness.is_none() {
        out.find(liveness_probe_missing(cluster));
    }
    if let Some((kind, window)) = probes.kills_at()
        && window < SAFE_WINDOW
    {
        out.find(startup_window_short(cluster, kind, window));
    }
}

fn sample(container: &Container, out: &mut Outcome) {
    for kind in ProbeKind::ALL {
        let Some(timing) = kind.of(container).map(Timing::of) else { continue };
        let probe = [kind.as_str()];
        out.sample(&gauges::PERIOD, &probe, timing.period as f64);
        out.sample(&gauges::TIMEOUT, &probe, timing.timeout as f64);
        out.sample(&gauges::THRESHOLD, &probe, timing.threshold as f64);
        out.sample(&gauges::TOLERANCE, &probe, timing.tolerance() as f64);
    }
}

/// Up to 1.4 readiness is a TCP connection, for which a second is ample; from 1.5 on it is a TLS
/// handshake and an HTTP answer (longhorn deploy/longhorn.yaml per release).
fn is_https(container: &Container) -> bool {
    container.readiness_probe.as_ref().and_then(|probe| probe.http_get.as_ref()).is_some()
}

fn about(cluster: &Cluster, cause: &'static Cause, message: impl Into<String>) -> Finding {
    Finding::new(cause, ObjectRef::new("DaemonSet", &cluster.namespace, DAEMON_SET), message)
}

/// The remedy that all configuration causes share: look, then patch if wanted.
fn remedy(cluster: &Cluster, text: &str, patch: Option<&str>) -> Remedy {
    let namespace = &cluster.namespace;
    let remedy = Remedy::new(text)
        .read(format!("kubectl -n {namespace} get daemonset {DAEMON_SET} -o yaml | grep -A8 Probe:"));
    match patch {
        Some(patch) => remedy.change(format!(
            "kubectl -n {namespace} patch daemonset {DAEMON_SET} -p \
             '{{\"spec\":{{\"template\":{{\"spec\":{{\"containers\":[{{\"name\":\"longhorn-manager\",{patch}}}]}}}}}}}}'"
        )),
        None => remedy,
    }
}

fn readiness_timeout_short(cluster: &Cluster, readiness: Timing) -> Finding {
    about(
        cluster,
        &causes::READINESS_TIMEOUT_SHORT,
        format!("readiness of longhorn-manager fails when an HTTPS answer takes longer than {} s", readiness.timeout),
    )
    .impact(
        "on a loaded node a manager that works leaves its Services (webhook, API) and comes back with the \
         next fast answer",
    )
    .because(
        EvidenceSource::Api,
        format!(
            "readinessProbe: timeout {} s, period {} s, failure threshold {}; every stock release is like this",
            readiness.timeout, readiness.period, readiness.threshold
        ),
    )
    .remedy(remedy(
        cluster,
        "Nothing needs doing while managers stay Ready. A time-out of 5 s bears slow answers of running managers; \
         the patch restarts all managers and the next upgrade of Longhorn takes it back. It does not lengthen the \
         manager's own waits while it starts.",
        Some("\"readinessProbe\":{\"timeoutSeconds\":5}"),
    ))
}

fn startup_probe_missing(cluster: &Cluster, release: Option<Release>) -> Finding {
    let wait = match release.map(|release| OwnWait::of(release).limit) {
        Some(Some(limit)) => {
            format!("a manager gives up by itself after {limit} s for each wait, with or without one")
        }
        Some(None) => "a manager waits for its webhook without limit in this release".to_owned(),
        None => "the release is not known, and with it how long a manager waits before it gives up by itself"
            .to_owned(),
    };
    about(cluster, &causes::STARTUP_PROBE_MISSING, "longhorn-manager has no startup probe")
        .impact("none by itself: a slow start delays readiness and kills nothing")
        .because(EvidenceSource::Api, "no stock release of Longhorn has a startup probe")
        .because(EvidenceSource::Api, wait)
        .remedy(remedy(
            cluster,
            "Nothing needs doing. Give it one, with a window of at least 300 s, only together with a liveness probe.",
            None,
        ))
}

fn liveness_probe_missing(cluster: &Cluster) -> Finding {
    about(cluster, &causes::LIVENESS_PROBE_MISSING, "longhorn-manager has no liveness probe")
        .impact("a manager that hangs is not restarted; it only leaves its Services")
        .because(
            EvidenceSource::Api,
            "no stock release of Longhorn has a liveness probe; a manager that exits by itself is restarted without one",
        )
        .remedy(remedy(
            cluster,
            "Watch for managers that run without being Ready (slow_start, probe_failing) instead, or add a liveness \
             probe together with a startup probe whose window is at least 300 s.",
            None,
        ))
}

fn startup_window_short(cluster: &Cluster, kind: ProbeKind, window: i64) -> Finding {
    let kind = kind.as_str();
    about(
        cluster,
        &causes::STARTUP_WINDOW_SHORT,
        format!("the {kind} probe kills a longhorn-manager that does not answer within {window} s of its start"),
    )
    .impact(
        "in a roll-out, managers that wait for their turn to start the webhook are killed and queue again, \
         so a large or slow cluster may not come up",
    )
    .because(
        EvidenceSource::Api,
        format!(
            "{kind} probe: window {window} s; one node may take up to about 240 s, and from 1.6.4, 1.7.3 and 1.8.0 on \
             the others wait for the Lease longhorn-manager-webhook-lock meanwhile"
        ),
    )
    .remedy(remedy(
        cluster,
        "Widen the window to 300 s or more, by a startup probe with failureThreshold 30 and periodSeconds 10.",
        None,
    ))
}
