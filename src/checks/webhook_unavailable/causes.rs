//! Why a webhook does not answer as it should.

use crate::check::Cause;

/// Every cause, in the order of the reference.
pub const ALL: &[&Cause] = &[
    &NO_READY_ENDPOINT,
    &DEADLOCK,
    &LABEL_MISSING,
    &LOCK_STUCK,
    &CONFIGURATION_MISSING,
    &CONFIGURATION_FOREIGN,
    &ROLL_OUT,
];

pub const NO_READY_ENDPOINT: Cause = Cause::critical(
    "no_ready_endpoint",
    "a webhook has had no ready endpoint for longer than a rollout takes",
);
pub const DEADLOCK: Cause = Cause::critical(
    "deadlock",
    "a webhook has no ready endpoint while the pods behind it run or crash-loop and none becomes Ready: they wait for each other",
);
pub const LABEL_MISSING: Cause = Cause::warning(
    "label_missing",
    "a Ready manager lacks the label by which the admission Service selects (from 1.7 on)",
);
pub const LOCK_STUCK: Cause = Cause::warning(
    "lock_stuck",
    "a node has held the webhook start Lease for longer than a start takes (250 s; 490 s in 1.9.2 and 1.9.3), renews it, and has no manager pod that could",
);
pub const CONFIGURATION_MISSING: Cause = Cause::critical(
    "configuration_missing",
    "a webhook configuration of Longhorn does not exist or lists no webhook",
);
pub const CONFIGURATION_FOREIGN: Cause = Cause::critical(
    "configuration_foreign",
    "a webhook configuration of Longhorn sends the API server to a Service in another namespace",
);
pub const ROLL_OUT: Cause = Cause::info(
    "roll_out",
    "no ready endpoint, or no configuration, for less than three minutes: expected in a rollout",
);
