//! How long what looks like trouble is normal, by situation: one table, so that checks begin to worry at the same time.
//!
//! | situation | normal for | rests on |
//! |---|---|---|
//! | a node is away, as in a reboot, and no volume is attached there; where one is, its workloads stand still, and that is told after 20 s | 5 min | recorded: 90 s to 3 min with mounts; Kubernetes moves pods after 5 min (tolerationSeconds 300) |
//! | what runs on a node is away with it: a disk, a CSI pod | 5 min | the same, and a rollout that takes node after node |
//! | a CSI sidecar ends because no plugin listens beside it, and one of the two is new | 5 min | the same; seen: ten seconds to a minute |
//! | what an object refuses by name: a pull, credentials, a bucket, the file of a backing image; a disk with nothing free | 1 min | a pull is tried again after 10 to 40 s; a target and its secret are applied one after the other; disks are measured every 30 s |
//! | a volume attaches, detaches, is mounted, or waits for its turn | 10 min | seconds to minutes: a slow start of an engine, a device that comes late, an NFS server on its way |
//! | a node is cordoned, and a replica waits for it | 1 h | maintenance of a node takes as long |
//! | an instance manager, or an NFS server, has no pod | 3 min | longhorn-manager v1.12.1 controller/utils.go: a back-off of 2 min at most; a failover of NFS takes one to two |
//! | a rollout of managers, an upgrade of engines, or managers of an old image after it | 30 min | a minute or two a node, one after the other |
//! | what managers create from their own image after an upgrade | 1 h | longhorn-manager v1.12.1 csi/deployment.go: the deployer waits for the managers |
//! | a percent of a copy (backup, restore, clone, purge) | 1 h, of more than 720 GB longer: as at 2 MB/s | one percent of ten terabytes at 60 MB/s takes half of it; a line of 16 megabits |
//! | the same where nothing but its age tells | 12 h a percent, of something small less, 10 min at least | one percent of ten terabytes at 2 MB/s; 250 kB/s, a line of two megabits |
//! | an expansion or the preparation of a backing image without any progress | 30 min | engines grow in seconds, pods start in minutes |
//! | Longhorn's next try after an error | 10 min | longhorn-manager v1.12.1 controller/engine_controller.go: a back-off of 5 min at most |

use jiff::SignedDuration;

/// A node is away, as in a reboot, and what runs on it.
pub const NODE_AWAY: SignedDuration = SignedDuration::from_mins(5);
/// An object names what it refuses, which time alone does not change.
pub const DEFINITE: SignedDuration = SignedDuration::from_mins(1);
/// A volume is on its way to or from a node, or into a pod.
pub const ATTACH: SignedDuration = SignedDuration::from_mins(10);
/// A node is cordoned for maintenance.
pub const MAINTENANCE: SignedDuration = SignedDuration::from_hours(1);
/// An instance manager, or an NFS server, has no pod.
pub const NEXT_POD: SignedDuration = SignedDuration::from_mins(3);
/// A rollout of managers, or an upgrade of engines.
pub const ROLLOUT: SignedDuration = SignedDuration::from_mins(30);
/// What managers create from their own image after an upgrade.
pub const AFTER_ROLLOUT: SignedDuration = SignedDuration::from_hours(1);
/// A percent of a copy.
pub const PERCENT: SignedDuration = SignedDuration::from_hours(1);
/// The same where nothing but its age tells.
pub const SLOWEST_PERCENT: SignedDuration = SignedDuration::from_hours(12);
/// A percent of what is small, for what comes before and after the copy.
pub const QUICKEST_PERCENT: SignedDuration = SignedDuration::from_mins(10);
/// What a copy moves by a slow line, in bytes a second.
pub const SLOW_RATE: i64 = 2_000_000;
/// What a copy moves at the slowest, in bytes a second.
pub const SLOWEST_RATE: i64 = 250_000;
/// An expansion, or the preparation of a backing image.
pub const FIRST_SIGN: SignedDuration = SignedDuration::from_mins(30);
/// Longhorn's next try after an error.
pub const RETRY: SignedDuration = SignedDuration::from_mins(10);
