//! When nothing of Longhorn, or no manager of it, is there.

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
    let nothing =
        "no Longhorn object in namespace longhorn-system; set Longhorn's namespace with --namespace";
    assert_eq!(text(&live(&[])), nothing);
    assert_eq!(text(&live(&[OTHER_POD])), nothing);
    for yaml in [&[SETTING][..], &[SETTING, OTHER_POD]] {
        let text = text(&live(yaml));
        assert!(text.starts_with("no longhorn-manager in namespace longhorn-system, neither"), "{text}");
    }
    for yaml in [&[DAEMON_SET][..], &[SETTING, DAEMON_SET]] {
        let text = text(&live(yaml));
        assert!(text.contains("its DaemonSet selects no node; read kubectl"), "{text}");
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
    assert!(text(&cluster(&[SETTING, OTHER_POD].concat())).contains("no longhorn-manager pod"));
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
