//! Why an eviction or a drain does not advance.

use crate::check::causes;

causes! {
    NO_PROGRESS = warning "no_progress"
        "what remains on an evicted disk has not decreased for half an hour, and nothing is being rebuilt";
    PDB_BLOCKS = warning "pdb_blocks"
        "the PodDisruptionBudget of an instance manager holds up the drain of a cordoned node" but "info while nothing but the cordon asks for it, for the first quarter of an hour, or while replicas leave";
    NO_SCHEDULABLE_DISK = warning "no_schedulable_disk"
        "volumes on an evicted disk need a replica elsewhere, but no disk can take it";
}
