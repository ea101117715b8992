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
                write!(f, "nothing of Longhorn in namespace {namespace}; give Longhorn's with --namespace")
            }
            Absence::Managers { deleting: 1.., .. } | Absence::RecordedManagers { deleting: 1.., .. } => f.write_str(
                "no longhorn-manager is there, and volumes are being deleted that wait for one: Longhorn was deleted without its uninstaller. \
                 Their data is still on the disks, and the next manager deletes it: where it is wanted, save the directories of the replicas \
                 first; where it is not, remove the finalizers of what is left (longhorn issue 5319)",
            ),
            Absence::Managers { namespace, wanted: None, .. } => write!(
                f,
                "no longhorn-manager in namespace {namespace}, neither pods nor a DaemonSet; install Longhorn, \
                 or give its namespace with --namespace"
            ),
            Absence::Managers { namespace, wanted: Some(wanted), .. } => write!(
                f,
                "no pod of longhorn-manager in namespace {namespace}, where its DaemonSet wants {wanted}; see \
                 kubectl -n {namespace} describe daemonset longhorn-manager"
            ),
            Absence::Recording => f.write_str("the recording has no Longhorn object"),
            Absence::RecordedManagers { pods: false, .. } => {
                f.write_str("the recording has no pods, so nothing is known of managers; record pods too")
            }
            Absence::RecordedManagers { pods: true, .. } => f.write_str(
                "the recording has no pod of longhorn-manager; record all pods of the namespace, or see why \
                 no manager runs",
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
        let undecodable = |kind| self.resources.get(&kind).map_or(0, |status| status.undecodable);
        let mut kinds = Resource::all().filter(|kind| kind.is_longhorn());
        kinds.any(|kind| self.objects.count(kind) + undecodable(kind) > 0)
    }
}

#[cfg(test)]
mod tests {
    use crate::cluster::{Cluster, Readability};
    use crate::longhorn::Resource;
    use crate::testing::{cluster, live_at, partial};

    const SETTING: &str = "apiVersion: longhorn.io/v1beta2\nkind: Setting\n\
        metadata: {name: current-longhorn-version, namespace: longhorn-system}\nvalue: v1.12.1\n---\n";
    const DAEMON_SET: &str = "apiVersion: apps/v1\nkind: DaemonSet\n\
        metadata: {name: longhorn-manager, namespace: longhorn-system}\n\
        status: {desiredNumberScheduled: 0}\n---\n";
    const MANAGER: &str = "apiVersion: v1\nkind: Pod\n\
        metadata: {name: longhorn-manager-1, namespace: longhorn-system, labels: {app: longhorn-manager}}\n---\n";
    const OTHER_POD: &str = "apiVersion: v1\nkind: Pod\n\
        metadata: {name: longhorn-ui-1, namespace: longhorn-system, labels: {app: longhorn-ui}}\n---\n";

    fn live(yaml: &[&str]) -> Cluster {
        live_at("2026-01-01T00:00:00Z", &yaml.concat())
    }

    fn text(cluster: &Cluster) -> String {
        cluster.absence().map(|absence| absence.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_namespace_without_longhorn_is_told_from_one_without_managers() {
        let nothing = "nothing of Longhorn in namespace longhorn-system; give Longhorn's with --namespace";
        assert_eq!(text(&live(&[])), nothing);
        assert_eq!(text(&live(&[OTHER_POD])), nothing);
        for yaml in [&[SETTING][..], &[SETTING, OTHER_POD]] {
            let text = text(&live(yaml));
            assert!(text.starts_with("no longhorn-manager in namespace longhorn-system, neither"), "{text}");
        }
        for yaml in [&[DAEMON_SET][..], &[SETTING, DAEMON_SET]] {
            let text = text(&live(yaml));
            assert!(text.contains("where its DaemonSet wants 0; see kubectl"), "{text}");
        }
    }

    #[test]
    fn volumes_that_wait_for_a_manager_tell_of_an_uninstallation_that_was_none() {
        let volume = "apiVersion: longhorn.io/v1beta2\nkind: Volume\n\
            metadata: {name: v, namespace: longhorn-system, deletionTimestamp: '2025-12-31T23:00:00Z'}\n---\n";
        let told = |cluster: &Cluster| text(cluster).contains("deleted without its uninstaller");
        assert!(told(&live(&[SETTING, volume])));
        assert!(told(&cluster(&[SETTING, OTHER_POD, volume].concat())));
        // managers that are only away, and pods that were not recorded
        assert!(!told(&live(&[SETTING, volume, DAEMON_SET])));
        assert!(!told(&partial(&[SETTING, volume].concat())));
    }

    /// The ServiceAccount and Roles of an exporter in Longhorn's namespace go with it; volumes are followed for seconds more.
    #[test]
    fn volumes_that_all_go_tell_the_same_once_the_right_to_see_managers_is_withdrawn() {
        let volume = |name: &str, metadata: &str| {
            format!(
                "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{{metadata}name: {name}, namespace: longhorn-system}}\n---\n"
            )
        };
        let going = "deletionTimestamp: '2025-12-31T23:59:00Z', ";
        let told = |yaml: &[&str], withdrawn: bool| {
            let mut cluster = live(yaml);
            for kind in [Resource::Pods, Resource::DaemonSets] {
                let status = cluster.resources.get_mut(&kind).unwrap();
                status.readability = Readability::Forbidden;
                status.last_success = withdrawn.then_some(cluster.now);
            }
            text(&cluster).contains("deleted without its uninstaller")
        };
        let (gone, kept) = (volume("a", going), volume("b", ""));
        assert!(told(&[&gone], true));
        assert!(!told(&[&gone], false), "no one was to see them");
        assert!(!told(&[&gone, &kept], true), "one is deleted");
    }

    #[test]
    fn managers_that_end_and_come_no_more_are_none_to_volumes_that_wait() {
        let going = "deletionTimestamp: '2025-12-31T23:59:00Z', ";
        let volume = format!(
            "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{{going}name: v, namespace: longhorn-system}}\n---\n"
        );
        let ends = MANAGER.replace("metadata: {", &format!("metadata: {{{going}"));
        assert!(text(&live(&[&ends, &volume])).contains("deleted without its uninstaller"));
        assert_eq!(text(&live(&[&ends])), "", "no volume waits");
        assert_eq!(text(&live(&[&ends, DAEMON_SET, &volume])), "", "they come again");
        assert_eq!(text(&live(&[MANAGER, &volume])), "", "one runs");
    }

    #[test]
    fn managers_are_enough() {
        for yaml in [&[MANAGER][..], &[SETTING, MANAGER], &[SETTING, MANAGER, DAEMON_SET]] {
            assert_eq!(live(yaml).absence(), None);
        }
    }

    #[test]
    fn what_cannot_be_read_is_no_sign_of_absence() {
        let without = |kinds: &[Resource], yaml: &[&str]| {
            let mut cluster = live(yaml);
            for kind in kinds {
                cluster.resources.get_mut(kind).unwrap().readability = Readability::Forbidden;
            }
            text(&cluster)
        };
        let all: Vec<_> = Resource::all().collect();
        assert_eq!(without(&all, &[]), "");
        assert_eq!(without(&[Resource::Pods, Resource::DaemonSets], &[SETTING]), "");
        assert_eq!(without(&[Resource::Pods], &[SETTING, DAEMON_SET]), "");
        assert!(without(&[Resource::Pods], &[SETTING]).starts_with("no longhorn-manager"));
        assert!(without(&[Resource::DaemonSets], &[SETTING]).starts_with("no longhorn-manager"));
        assert!(without(&[Resource::Volumes], &[]).starts_with("no longhorn-manager"));
    }

    #[test]
    fn an_object_that_does_not_decode_is_there() {
        let mut cluster = live(&[]);
        cluster.resources.get_mut(&Resource::Volumes).unwrap().undecodable = 1;
        assert!(text(&cluster).starts_with("no longhorn-manager"));
    }

    #[test]
    fn a_recording_needs_objects_and_pods() {
        assert!(text(&cluster("")).contains("no Longhorn object"));
        assert!(text(&cluster(OTHER_POD)).contains("no Longhorn object"));
        assert!(text(&partial(SETTING)).contains("no pods"));
        assert_eq!(text(&cluster(MANAGER)), "");
        assert!(text(&cluster(&[SETTING, OTHER_POD].concat())).contains("no pod of longhorn-manager"));
    }

    #[test]
    fn of_pods_that_were_recorded_and_are_none_as_much_is_known_as_live() {
        let none = "apiVersion: v1\nkind: PodList\nitems: []\n---\n";
        let set = DAEMON_SET.replace("Scheduled: 0", "Scheduled: 3");
        for yaml in [&[SETTING, none][..], &[SETTING, none, &set]] {
            assert_eq!(text(&cluster(&yaml.concat())), text(&live(yaml)));
        }
        let volume = "apiVersion: longhorn.io/v1beta2\nkind: Volume\n\
            metadata: {name: v, namespace: longhorn-system, deletionTimestamp: '2025-12-31T23:00:00Z'}\n---\n";
        assert!(text(&cluster(&[none, volume].concat())).contains("deleted without its uninstaller"));
    }
}
