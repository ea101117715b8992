//! The checks: one folder per way in which Longhorn fails.

use crate::check::Check;

pub mod danger_zone_pending;

/// Every check. The order is the order of everything generated.
pub const ALL: &[&Check] = &[&danger_zone_pending::CHECK];

/// A check by its id.
pub fn by_id(id: &str) -> Option<&'static Check> {
    ALL.iter().copied().find(|check| check.id == id)
}
