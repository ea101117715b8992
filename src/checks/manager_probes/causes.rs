//! Why probes and starts of managers are in trouble.

use crate::check::Cause;

/// Every cause, in the order of the reference.
pub const ALL: &[&Cause] = &[&READINESS_TIMEOUT_SHORT, &STARTUP_WINDOW_SHORT, &SLOW_START, &PROBE_FAILING];

pub const READINESS_TIMEOUT_SHORT: Cause = Cause::info(
    "readiness_timeout_short",
    "the readiness probe, an HTTPS request, gives up sooner than that of every stock release",
);
pub const STARTUP_WINDOW_SHORT: Cause = Cause::info(
    "startup_window_short",
    "a startup or liveness probe kills managers that wait for their turn to start the webhook",
);
pub const SLOW_START: Cause = Cause::info(
    "slow_start",
    "a start that is over took longer than the release waits for its webhook: a warning for the next one",
);
pub const PROBE_FAILING: Cause =
    Cause::warning("probe_failing", "a probe of a manager fails after its start");
