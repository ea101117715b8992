//! Who does not attach or detach: tickets get their status, and volumes their state, from the manager that owns the volume alone
//! (longhorn-manager v1.5.5 to v1.12.1 controller/volume_attachment_controller.go isResponsibleFor).

use crate::check::{Follows, Same};

/// Relations to other causes.
pub const FOLLOWS: &[Follows] = &[Follows::caused_by(
    &["attaching", "detaching", "ticket_waits"],
    &["manager_half_alive/work_undone"],
    Same::Volume,
    "volume not attached",
)];
