//! Which changes can bring a cause about.

/// A change that can bring a cause about, as Longhorn's code shows: an incident names one of its object that was made shortly before it
/// began. Declared at the cause (`changed_by: BY_ROLLOUT`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangedBy {
    /// The value of the setting of this name.
    Setting(&'static str),
    /// The value of the setting that the finding is about.
    OwnSetting,
    /// The manifest of longhorn-manager.
    Rollout,
    /// The backup target that the finding is about.
    OwnTarget,
    /// A cordon of the finding's node.
    Cordon,
    /// The NetworkPolicy that the finding names.
    Policy,
}

/// See [`ChangedBy::OwnSetting`].
pub const BY_ITS_VALUE: &[ChangedBy] = &[ChangedBy::OwnSetting];
/// See [`ChangedBy::Rollout`].
pub const BY_ROLLOUT: &[ChangedBy] = &[ChangedBy::Rollout];
/// See [`ChangedBy::OwnTarget`].
pub const BY_ITS_TARGET: &[ChangedBy] = &[ChangedBy::OwnTarget];
/// See [`ChangedBy::Cordon`].
pub const BY_CORDON: &[ChangedBy] = &[ChangedBy::Cordon];
/// See [`ChangedBy::Policy`].
pub const BY_POLICY: &[ChangedBy] = &[ChangedBy::Policy];
/// See [`ChangedBy::Setting`]: how much of a disk stays free.
pub const BY_MINIMUM: &[ChangedBy] = &[ChangedBy::Setting("storage-minimal-available-percentage")];
/// How much of a disk may be allocated.
pub const BY_PERCENTAGE: &[ChangedBy] = &[ChangedBy::Setting("storage-over-provisioning-percentage")];
/// How many replicas a node rebuilds at once.
pub const BY_LIMIT: &[ChangedBy] = &[ChangedBy::Setting("concurrent-replica-rebuild-per-node-limit")];
