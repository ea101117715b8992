//! Why probes and starts of managers are in trouble.

use crate::check::causes;

causes! {
    READINESS_TIMEOUT_SHORT = info "readiness_timeout_short"
        "the readiness probe, an HTTPS request, gives up sooner than that of every stock release";
    STARTUP_WINDOW_SHORT = info "startup_window_short"
        "a startup or liveness probe kills managers that wait for their turn to start the webhook";
    SLOW_START = info "slow_start"
        "a start that is over took longer than the release waits for its webhook: a warning for the next one";
    PROBE_FAILING = warning "probe_failing" "a probe of a manager fails after its start";
}
