//! The probes that the live DaemonSet configures, judged.

use serde_json::json;

use super::causes;
use super::gauges;
use super::model::{OwnWait, ProbeKind, Probes, Timing};
use crate::check::*;
use crate::facts::installation;
use crate::facts::releases::manager_release;
use crate::longhorn::{Container, DaemonSet, Release};

/// A probe that can kill needs at least this window: up to about 240 s for the start of one node
/// (two waits of 120 s) plus the time in the queue for the webhook Lease.
const SAFE_WINDOW: i64 = 300;
/// Seconds of failing readiness that every stock release bears: Kubernetes' 10 s three times.
const STOCK_TOLERANCE: i64 = 30;
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
        // every stock release from 1.5 on has this timeout; fewer failures in a row make it worse
        if readiness.tolerance() < STOCK_TOLERANCE {
            out.report(readiness_timeout_short(cluster, readiness));
        } else {
            state_readiness(cluster, readiness, out);
        }
    }
    if probes.startup.is_none() && probes.liveness.is_none() {
        state_missing(cluster, release, out);
    }
    if let Some((kind, timing)) = probes.kills().filter(|(_, timing)| timing.window() < SAFE_WINDOW) {
        out.report(startup_window_short(cluster, kind, timing));
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

fn daemon_set(cluster: &Cluster) -> ObjectRef {
    cluster.object::<DaemonSet>(DAEMON_SET)
}

fn about(cluster: &Cluster, cause: &'static Cause, message: impl Into<String>) -> Finding {
    Finding::about(cause, daemon_set(cluster), message)
}

fn readiness_timeout_short(cluster: &Cluster, readiness: Timing) -> Finding {
    about(
        cluster,
        &causes::READINESS_TIMEOUT_SHORT,
        format!(
            "longhorn-manager turns NotReady after {} s of slow answers (stock: {STOCK_TOLERANCE} s)",
            readiness.tolerance()
        ),
    )
    .impact(
        "none yet. On a loaded node, working managers drop out of the webhook and API Services until they answer faster.",
    )
    .fact(format!(
            "readinessProbe: timeout {} s, period {} s, failure threshold {} (stock: 1 s, 10 s and 3)",
            readiness.timeout, readiness.period, readiness.threshold
        ),
    )
}

fn state_readiness(cluster: &Cluster, readiness: Timing, out: &mut Outcome) {
    out.state(
        "readiness_timeout",
        daemon_set(cluster),
        format!(
            "longhorn-manager's readiness fails if an HTTPS answer takes longer than {} s, as in every stock release from 1.5 on",
            readiness.timeout
        ),
        "Do nothing while managers stay Ready. On a loaded node, a working manager can turn NotReady briefly. A readiness timeout of 5 s avoids that, \
         but an upgrade resets it.",
    );
}

fn state_missing(cluster: &Cluster, release: Option<Release>, out: &mut Outcome) {
    let wait = match release.map(|release| OwnWait::of(release).limit) {
        Some(Some(limit)) => {
            format!("a starting manager gives up after {limit} s for each of two waits")
        }
        Some(None) => "this release's managers wait for the webhook without limit".to_owned(),
        None => "how long a starting manager waits is unknown, as the release is unknown".to_owned(),
    };
    out.state(
        "startup_and_liveness_probe",
        daemon_set(cluster),
        format!("longhorn-manager has no startup or liveness probe, as in every stock release ({wait})"),
        "Do nothing: the exporter reports a hanging manager, though nothing restarts it. If you add a liveness probe, \
         add a startup probe with a window of at least 300 s.",
    );
}

/// The smallest change of a probe that gives managers the time.
fn widened(cluster: &Cluster, kind: ProbeKind, timing: Timing) -> Remedy {
    let (field, value) = match kind {
        ProbeKind::Startup => {
            let period = timing.period.max(1);
            ("failureThreshold", (SAFE_WINDOW - timing.delay).saturating_add(period - 1) / period)
        }
        _ => ("initialDelaySeconds", SAFE_WINDOW - timing.tolerance()),
    };
    let fix = format!(
        "Set {field} of the {} probe to {value}: managers then have {SAFE_WINDOW} s to start. All managers restart.",
        kind.as_str()
    );
    installation::change_managers(
        cluster,
        &fix,
        &json!({ format!("{}Probe", kind.as_str()): { field: value } }),
    )
}

fn startup_window_short(cluster: &Cluster, probe: ProbeKind, timing: Timing) -> Finding {
    let (kind, window) = (probe.as_str(), timing.window());
    about(
        cluster,
        &causes::STARTUP_WINDOW_SHORT,
        format!("the {kind} probe kills managers that need over {window} s to start"),
    )
    .impact(
        "none yet. On a large cluster, a rollout may never finish: the probe kills managers waiting for their turn.",
    )
    .fact(format!(
            "the {kind} probe allows {window} s, but one node's startup can take 240 s. From 1.6.4, 1.7.3 and 1.8.0 on, the others \
             wait for Lease longhorn-manager-webhook-lock meanwhile"
        ),
    )
    .remedy(widened(cluster, probe, timing))
}
