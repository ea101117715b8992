//! Why a webhook does not answer as it should.

use crate::check::causes;

causes! {
    NO_READY_ENDPOINT = critical "no_ready_endpoint"
        "a webhook has had no ready endpoint for longer than a rollout takes";
    DEADLOCK = critical "deadlock"
        "several managers run or crash-loop, none becomes Ready, and nothing names another reason: each waits for the webhook of another";
    SELECTOR_WRONG = critical "selector_wrong"
        "the Service of a webhook selects no manager although managers are Ready: its selector is not that of the release";
    LABEL_MISSING = warning "label_missing"
        "a Ready manager lacks the label by which the admission Service selects (from 1.7 on)";
    LOCK_STUCK = warning "lock_stuck"
        "a node has held the webhook start Lease for longer than a start takes (250 s; 490 s in 1.9.2 and 1.9.3), renews it, and has no manager pod that could";
    CONFIGURATION_MISSING = critical "configuration_missing"
        "a webhook configuration of Longhorn does not exist or lists no webhook";
    CONFIGURATION_FOREIGN = critical "configuration_foreign"
        "a webhook configuration of Longhorn sends the API server to a Service in another namespace";
    ROLL_OUT = info "roll_out"
        "no ready endpoint, or no configuration, for less than three minutes: expected in a rollout";
}
