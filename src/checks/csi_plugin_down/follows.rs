//! What a CSI plugin that ends again and again follows from: at its start it asks the API of any manager, and exits without
//! an answer (longhorn-manager v1.3.3 to v1.12.1 csi/manager.go Run, NewRancherClient).

use crate::check::{Follows, Same};

/// Relations to other causes.
pub const FOLLOWS: &[Follows] = &[Follows::caused_by(
    &["plugin_crashing"],
    &["webhook_unavailable/deadlock", "webhook_unavailable/no_ready_endpoint"],
    Same::Cluster,
    "CSI plugin ends on",
)];
