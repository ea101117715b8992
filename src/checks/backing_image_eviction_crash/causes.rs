//! Why a copy of a backing image endangers the manager of its node.

use crate::check::Cause;

/// Every cause, in the order of the reference.
pub const ALL: &[&Cause] = &[&AT_RISK, &LATENT, &TRANSIENT];

pub const AT_RISK: Cause = Cause::critical(
    "at_risk",
    "eviction is requested where a copy is in the status but no longer in the spec: the manager of the node panics",
);
pub const LATENT: Cause = Cause::warning(
    "latent",
    "a copy has been in the status only for minutes: a request for eviction would make the manager panic",
);
pub const TRANSIENT: Cause = Cause::info(
    "transient",
    "a copy has been in the status only for seconds, as it is after every removal of a copy",
);
