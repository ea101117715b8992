//! Whether Longhorn is there at all. Where it is installed there are managers, and soon objects of
//! Longhorn's; what lacks them says nothing about Longhorn's health, whatever the checks find or
//! do not find.

use std::fmt;

use super::{Cluster, Readability};
use crate::longhorn::Resource;

/// What is not there. Its text names the namespace and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Absence {
    /// Nothing of Longhorn in the namespace: a wrong `--namespace`, or Longhorn is not installed
    /// (or no longer).
    Longhorn {
        /// The namespace looked at.
        namespace: String,
    },
    /// No pod of longhorn-manager, so nothing keeps what Longhorn's objects say up to date.
    Managers {
        /// The namespace looked at.
        namespace: String,
        /// Pods that the DaemonSet wants, if there is a DaemonSet.
        wanted: Option<i64>,
        /// Volumes that wait for a manager to be gone.
        deleting: usize,
    },
    /// A recording without objects of Longhorn's and without managers.
    Recording,
    /// A recording without pods of longhorn-manager.
    RecordedManagers {
        /// True when it has other pods.
        pods: bool,
        /// Volumes that wait for a manager to be gone.
        deleting: usize,
    },
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Absence::Longhorn { namespace } => {
                write!(f, "no Longhorn object in namespace {namespace}; set Longhorn's namespace with --namespace")
            }
            Absence::Managers { deleting: 1.., .. } | Absence::RecordedManagers { deleting: 1.., .. } => f.write_str(
                "no longhorn-manager exists, and volumes are waiting for one to delete them: Longhorn was deleted without its uninstaller. \
                 The data is still on the disks, and the next manager deletes it. If you need the data, save the replicas' directories \
                 first. If not, remove the finalizers of the remaining objects (Longhorn issue 5319)",
            ),
            Absence::Managers { namespace, wanted: None, .. } => write!(
                f,
                "no longhorn-manager in namespace {namespace}, neither pods nor a DaemonSet; install Longhorn, \
                 or set its namespace with --namespace"
            ),
            Absence::Managers { namespace, wanted: Some(0), .. } => write!(
                f,
                "no longhorn-manager pod in namespace {namespace}: its DaemonSet selects no node; read \
                 kubectl -n {namespace} describe daemonset longhorn-manager"
            ),
            Absence::Managers { namespace, wanted: Some(wanted), .. } => write!(
                f,
                "no longhorn-manager pod in namespace {namespace}, although its DaemonSet wants {wanted}; read \
                 kubectl -n {namespace} describe daemonset longhorn-manager"
            ),
            Absence::Recording => f.write_str("the recording has no Longhorn object"),
            Absence::RecordedManagers { pods: false, .. } => {
                f.write_str("the recording has no pods, so the managers are unknown; record pods too")
            }
            Absence::RecordedManagers { pods: true, .. } => f.write_str(
                "the recording has no longhorn-manager pod; record all pods in the namespace, or find out why \
                 no manager is running",
            ),
        }
    }
}

impl Cluster {
    /// What of Longhorn is missing altogether, if something is. Kinds that cannot be read make
    /// their checks unknown themselves and are no sign of absence.
    pub fn absence(&self) -> Option<Absence> {
        // a fresh installation whose managers never came up has pods and no Longhorn object yet
        let any_manager = self.manager_pods().next().is_some();
        if any_manager && !self.managers_leave() {
            return None;
        }
        let set = self.manager_daemon_set();
        let uninstalled = set.is_none_or(|set| set.metadata.is_deleting());
        let volumes =
            self.objects.volumes.iter().filter(|volume| volume.metadata.is_deleting() && uninstalled);
        let deleting = volumes.count();
        // those that end are there still, and without volumes no one waits for them
        if any_manager && deleting == 0 {
            return None;
        }
        let none = self.objects.pods.is_empty();
        // of pods that were recorded, and of which there are none, as much is known as live
        let listed =
            self.readability(Resource::Pods) == Readability::Readable && self.decoded_all(Resource::Pods);
        if self.is_recorded() && !(none && listed && self.any_longhorn()) {
            return Some(match self.any_longhorn() {
                true => Absence::RecordedManagers { pods: !none, deleting: if none { 0 } else { deleting } },
                false => Absence::Recording,
            });
        }
        let namespace = self.namespace.clone();
        let mut asked = self.resources.keys().filter(|kind| kind.is_longhorn());
        let all_read = asked.all(|kind| self.can_read(*kind));
        if set.is_none() && all_read && !self.any_longhorn() {
            return Some(Absence::Longhorn { namespace });
        }
        // without a look at the pods, a DaemonSet may have some; not where all volumes go, and the right to look with them
        let withdrawn = self.has_lost(Resource::Pods) && self.has_lost(Resource::DaemonSets);
        let all_go = deleting > 0 && deleting == self.objects.volumes.len();
        let seen = self.can_read(Resource::Pods)
            || set.is_none() && self.can_read(Resource::DaemonSets)
            || withdrawn && all_go;
        let wanted = set.map(|set| set.status.desired_number_scheduled.0);
        seen.then_some(Absence::Managers { namespace, wanted, deleting })
    }

    /// True where every manager that is left is being deleted, and nothing makes another one.
    pub fn managers_leave(&self) -> bool {
        let sets_known = self.readability(Resource::DaemonSets) == Readability::Readable
            && self.decoded_all(Resource::DaemonSets);
        let mut pods = self.manager_pods().peekable();
        sets_known
            && self.manager_daemon_set().is_none()
            && pods.peek().is_some()
            && pods.all(|pod| pod.metadata.is_deleting())
    }

    /// Objects that do not decode are there all the same.
    pub(super) fn any_longhorn(&self) -> bool {
        self.longhorn_kind().is_some()
    }

    /// A kind of Longhorn's of which there is an object.
    pub(super) fn longhorn_kind(&self) -> Option<Resource> {
        let undecodable = |kind| self.resources.get(&kind).map_or(0, |status| status.undecodable);
        let mut kinds = Resource::all().filter(|kind| kind.is_longhorn());
        kinds.find(|kind| self.objects.count(*kind) + undecodable(*kind) > 0)
    }
}
