//! Why an instance manager is likely to be killed or replaced.

use crate::check::causes;

causes! {
    PROBE_WINDOW_SHORT = info "probe_window_short"
        "the liveness probe gives up in less than 30 seconds, and sooner than in the stock release";
    CPU_REQUEST_LOW = info "cpu_request_low"
        "the pod requests less CPU than the settings ask for, or none is asked for";
    PRIORITY_CLASS_MISMATCH = warning "priority_class_mismatch"
        "the pod's PriorityClass never matches the setting, so Longhorn replaces idle pods again and again";
}
