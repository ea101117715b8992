//! Why a copy of a backing image endangers the manager of its node.

use crate::check::causes;

causes! {
    AT_RISK = critical "at_risk"
        "eviction is requested where a copy is in the status but no longer in the spec: the manager of the node panics";
    LATENT = warning "latent"
        "a copy has been in the status only for minutes: a request for eviction would make the manager panic";
    TRANSIENT = info "transient"
        "a copy has been in the status only for seconds, as it is after every removal of a copy";
}
