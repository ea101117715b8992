//! What keeps an eviction from going on: the manager of the node does the work, and a contradiction in what it is
//! asked for stops it.

use crate::check::{Follows, Same};

/// Relations to other causes.
pub const FOLLOWS: &[Follows] = &[
    Follows::caused_by(
        &["no_progress"],
        &["backing_image_eviction_crash/at_risk", "manager_crash_loop/*"],
        Same::Node,
        "eviction stands still on",
    ),
    Follows::caused_by(
        &["no_progress"],
        &[
            "eviction_inconsistent/no_candidate_disk",
            "eviction_inconsistent/disk_not_ready_hides_replicas",
            "eviction_inconsistent/last_rw_replica",
            "eviction_inconsistent/copy_in_use",
            "eviction_inconsistent/no_usable_copy",
        ],
        Same::Node,
        "eviction stands still on",
    ),
    Follows::caused_by(
        &["pdb_blocks"],
        &[
            "backing_image_eviction_crash/at_risk",
            "manager_crash_loop/*",
            "node_unregistered/manager_missing",
        ],
        Same::Node,
        "drain blocked on",
    ),
];
