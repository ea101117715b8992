//! The probes of a manager container and what its release waits for, in seconds since the container
//! started. `tests/starts.rs` plays whole starts with them.
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
use crate::word_enum::word_enum;

word_enum! {
    /// Kind of a probe.
    pub enum ProbeKind {
        /// Holds back the others until it succeeds once; kills.
        Startup = "startup",
        /// Kills.
        Liveness = "liveness",
        /// Takes the pod out of its Services.
        Readiness = "readiness",
    }
}

impl ProbeKind {
    /// The probe of this kind.
    pub fn of(self, container: &Container) -> Option<&Probe> {
        match self {
            ProbeKind::Startup => container.startup_probe.as_deref(),
            ProbeKind::Liveness => container.liveness_probe.as_deref(),
            ProbeKind::Readiness => container.readiness_probe.as_deref(),
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

    /// The first probe that can kill a container which does not answer.
    pub fn kills(&self) -> Option<(ProbeKind, Timing)> {
        let startup = self.startup.map(|timing| (ProbeKind::Startup, timing));
        startup.or(self.liveness.map(|timing| (ProbeKind::Liveness, timing)))
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
