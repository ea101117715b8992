//! What happens to one manager container, given its probes, what its release waits for, and how
//! long its webhook takes to answer. Pure arithmetic on seconds since the container started.
//!
//! Three clocks run at once and must not be mixed up:
//!
//! - the probes, whose only subject from 1.5 on is the pod's own listener;
//! - the manager's own wait of 60 or 120 s, first for that listener on localhost and then, through
//!   the Service, for any Ready manager. No probe lengthens it;
//! - the queue for the Lease `longhorn-manager-webhook-lock`, during which the listener is not
//!   started but the probes already run.
//!
//! The first probe is taken to run at the initial delay and then once a period; a real kubelet may
//! be up to one period later, which changes no verdict here.

use crate::longhorn::{Container, Probe, Release};

/// Seconds after which the manager's own requests to its webhook time out
/// (longhorn-manager v1.12.1 webhook/webhook.go), whatever the probes say.
const OWN_REQUEST_TIMEOUT: f64 = 1.0;
/// Longest pause of the kubelet between two starts of a crashing container.
const MAX_BACK_OFF: i64 = 300;
/// Starts that are followed before a loop is called endless.
const MAX_STARTS: u32 = 64;

/// Kind of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProbeKind {
    /// Holds back the others until it succeeds once; kills.
    Startup,
    /// Kills.
    Liveness,
    /// Takes the pod out of its Services.
    Readiness,
}

impl ProbeKind {
    /// Every kind.
    pub const ALL: [ProbeKind; 3] = [ProbeKind::Startup, ProbeKind::Liveness, ProbeKind::Readiness];

    /// As in labels.
    pub fn as_str(self) -> &'static str {
        match self {
            ProbeKind::Startup => "startup",
            ProbeKind::Liveness => "liveness",
            ProbeKind::Readiness => "readiness",
        }
    }

    /// The probe of this kind.
    pub fn of(self, container: &Container) -> Option<&Probe> {
        match self {
            ProbeKind::Startup => container.startup_probe.as_ref(),
            ProbeKind::Liveness => container.liveness_probe.as_ref(),
            ProbeKind::Readiness => container.readiness_probe.as_ref(),
        }
    }
}

/// A probe in seconds, defaults filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Before the first probe.
    pub delay: i64,
    /// Between two probes.
    pub period: i64,
    /// Until a probe counts as failed.
    pub timeout: i64,
    /// Failures in a row that count.
    pub threshold: i64,
}

impl Timing {
    /// The timing of a probe.
    pub fn of(probe: &Probe) -> Self {
        Timing {
            delay: probe.initial_delay(),
            period: probe.period(),
            timeout: probe.timeout(),
            threshold: probe.threshold(),
        }
    }

    /// Seconds of failure that are borne: period × threshold.
    pub fn tolerance(self) -> i64 {
        self.period.saturating_mul(self.threshold)
    }

    /// Seconds after the container's start at which failing all along has its consequence.
    pub fn window(self) -> i64 {
        self.delay.saturating_add(self.tolerance())
    }

    /// The first probe at or after a moment.
    fn first_at(self, moment: i64) -> i64 {
        let waited = moment.saturating_sub(self.delay).max(0);
        let period = self.period.max(1);
        let steps = waited / period + i64::from(waited % period != 0);
        self.delay.saturating_add(steps.saturating_mul(period))
    }

    fn answered(self, latency: f64) -> bool {
        latency < self.timeout as f64
    }
}

/// The probes of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probes {
    /// None in any stock release.
    pub startup: Option<Timing>,
    /// None in any stock release.
    pub liveness: Option<Timing>,
    /// Kubernetes' defaults in every stock release.
    pub readiness: Option<Timing>,
}

impl Probes {
    /// The probes of a container.
    pub fn of(container: &Container) -> Self {
        let timing = |kind: ProbeKind| kind.of(container).map(Timing::of);
        Probes {
            startup: timing(ProbeKind::Startup),
            liveness: timing(ProbeKind::Liveness),
            readiness: timing(ProbeKind::Readiness),
        }
    }

    /// The first probe that can kill a container which does not answer, and when.
    pub fn kills_at(&self) -> Option<(ProbeKind, i64)> {
        match (self.startup, self.liveness) {
            (Some(startup), _) => Some((ProbeKind::Startup, startup.window())),
            (None, Some(liveness)) => Some((ProbeKind::Liveness, liveness.window())),
            (None, None) => None,
        }
    }
}

/// What a release waits for while it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnWait {
    /// Seconds for each of the two waits; none up to 1.4.
    pub limit: Option<i64>,
    /// Whether it waits for the Service too.
    pub service: bool,
}

impl OwnWait {
    /// The wait of a release.
    pub fn of(release: Release) -> Self {
        OwnWait { limit: release.webhook_wait(), service: release.waits_for_webhook_service() }
    }
}

/// How one start goes, seen from outside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Start {
    /// Seconds in the queue for the webhook Lease.
    pub queued: i64,
    /// Seconds from there until the listener answers on localhost; `None` for never.
    pub listener: Option<i64>,
    /// Seconds until the pod's network works, so that kubelet and Service reach it.
    pub network: Option<i64>,
    /// Seconds that one answer takes.
    pub latency: f64,
    /// Whether another manager is Ready and answers through the Service.
    pub others_ready: bool,
}

/// What the manager was waiting for when it gave up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Its own listener: "webhook is not ready on localhost".
    Listener,
    /// The Service: "webhook service is not accessible on cluster".
    Service,
}

/// What becomes of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It starts, and the pod is Ready from this second on.
    Ready(i64),
    /// The process ends itself.
    Exits(i64, Wait),
    /// The kubelet kills it.
    Killed(i64, ProbeKind),
    /// It runs but is never Ready.
    NeverReady,
}

/// What becomes of one start.
pub fn fate(probes: &Probes, wait: OwnWait, start: &Start) -> Fate {
    let listens = start.listener.map(|seconds| start.queued.saturating_add(seconds));
    let reachable = listens.zip(start.network).map(|(listens, network)| listens.max(network));
    let (ready, kill) = probed(probes, reachable, start.latency);
    let exit = gives_up(wait, start, listens, ready);
    match (kill, exit) {
        (Some((killed, by)), Some((exits, _))) if killed < exits => Fate::Killed(killed, by),
        (_, Some((exits, wait))) => Fate::Exits(exits, wait),
        (Some((killed, by)), None) => Fate::Killed(killed, by),
        (None, None) => ready.map_or(Fate::NeverReady, Fate::Ready),
    }
}

/// When the pod becomes Ready and when a probe kills it, if ever.
fn probed(probes: &Probes, reachable: Option<i64>, latency: f64) -> (Option<i64>, Option<(i64, ProbeKind)>) {
    let begun = match probes.startup {
        None => 0,
        Some(startup) => {
            let passed = reachable.filter(|_| startup.answered(latency)).map(|at| startup.first_at(at));
            match passed.filter(|at| *at < startup.window()) {
                Some(at) => at,
                None => return (None, Some((startup.window(), ProbeKind::Startup))),
            }
        }
    };
    // NotReady after `threshold` failures is no verdict for good: the kubelet goes on probing, and
    // the first answer makes the pod Ready
    let ready = match probes.readiness {
        None => Some(begun),
        Some(readiness) => reachable
            .filter(|_| readiness.answered(latency))
            .map(|reachable| readiness.first_at(reachable.max(begun))),
    };
    let kill = probes.liveness.and_then(|liveness| {
        let killed = begun.max(liveness.delay).saturating_add(liveness.tolerance());
        let lives = liveness.answered(latency) && reachable.is_some_and(|reachable| reachable < killed);
        (!lives).then_some((killed, ProbeKind::Liveness))
    });
    (ready, kill)
}

/// When the manager itself gives up, if ever.
fn gives_up(wait: OwnWait, start: &Start, listens: Option<i64>, ready: Option<i64>) -> Option<(i64, Wait)> {
    let limit = wait.limit?;
    let deadline = start.queued.saturating_add(limit);
    let heard = listens.filter(|at| *at <= deadline && start.latency < OWN_REQUEST_TIMEOUT);
    let Some(heard) = heard else { return Some((deadline, Wait::Listener)) };
    if !wait.service {
        return None;
    }
    let deadline = heard.saturating_add(limit);
    let someone_ready = if start.others_ready { Some(heard) } else { ready };
    let served = someone_ready.zip(start.network).map(|(ready, network)| ready.max(network));
    served.is_none_or(|at| at > deadline).then_some((deadline, Wait::Service))
}

/// How a pod gets on over several starts of its container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Course {
    /// Restarts until then.
    pub restarts: u32,
    /// Seconds after the pod's first start at which it is Ready for good; `None` for an endless loop.
    pub ready_at: Option<i64>,
}

/// Follows a pod through the kubelet's back-off. The network comes up once for the pod, however
/// often the container starts; a slow listener is slow at every start.
pub fn course(probes: &Probes, wait: OwnWait, first: &Start) -> Course {
    let (mut began, mut back_off) = (0_i64, 10);
    for restarts in 0..MAX_STARTS {
        let network = first.network.map(|seconds| seconds.saturating_sub(began).max(0));
        let queued = if restarts == 0 { first.queued } else { 0 };
        let ended = match fate(probes, wait, &Start { network, queued, ..*first }) {
            Fate::Ready(at) => return Course { restarts, ready_at: Some(began.saturating_add(at)) },
            Fate::NeverReady => return Course { restarts, ready_at: None },
            Fate::Exits(at, _) | Fate::Killed(at, _) => at,
        };
        began = began.saturating_add(ended).saturating_add(back_off);
        back_off = (back_off * 2).min(MAX_BACK_OFF);
    }
    Course { restarts: MAX_STARTS, ready_at: None }
}

/// How a manager that is past its start bears slow answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bearing {
    /// Seconds until it leaves its Services; it comes back with the first fast answer.
    pub not_ready_after: Option<i64>,
    /// Seconds until the kubelet kills it.
    pub killed_after: Option<i64>,
}

/// How a running manager bears answers that take `latency` seconds.
pub fn bearing(probes: &Probes, latency: f64) -> Bearing {
    let failing =
        |timing: Option<Timing>| timing.filter(|timing| !timing.answered(latency)).map(Timing::tolerance);
    Bearing { not_ready_after: failing(probes.readiness), killed_after: failing(probes.liveness) }
}
