//! Why an eviction or a drain does not advance.

use crate::check::Cause;

/// Every cause, in the order of the reference.
pub const ALL: &[&Cause] = &[&NO_PROGRESS, &PDB_BLOCKS, &NO_SCHEDULABLE_DISK];

pub const NO_PROGRESS: Cause = Cause::warning(
    "no_progress",
    "what remains on an evicted disk has not decreased for half an hour, and nothing is being rebuilt",
);
pub const PDB_BLOCKS: Cause = Cause::warning(
    "pdb_blocks",
    "the PodDisruptionBudget of an instance manager holds up the drain of a cordoned node; info while \
                      nothing but the cordon asks for it, or for the first quarter of an hour",
);
pub const NO_SCHEDULABLE_DISK: Cause = Cause::warning(
    "no_schedulable_disk",
    "volumes on an evicted disk need a replica elsewhere, but no disk can take it",
);
