//! Copies of backing images, their data sources and managers.

use super::*;
use crate::testing::instance_managers::manager_pod;

#[test]
fn copies_in_use_by_release() {
    let base = |release: &str, user: &str| {
        version(release)
            + &node("evictionRequested: true", "")
            + &image("uuid-1: {evictionRequested: true}", "uuid-1: {state: ready}")
            + &replica("r1", &format!("backingImage: img, {user}"))
    };
    let used = ["warning copy_in_use BackingImage img"];
    for (release, moving, staying) in [
        // removed under the replica, whether it moves or not
        ("v1.7.4", true, true),
        ("v1.8.1", true, true),
        ("v1.9.0", true, true),
        // kept while the replica is there: normal as long as the replica moves
        ("v1.8.2", false, true),
        ("v1.9.1", false, true),
        ("v1.10.0", false, true),
    ] {
        let moves = recorded(&base(release, "evictionRequested: true"));
        assert_eq!(moves == used, moving, "{release} {moves:?}");
        assert_eq!(recorded(&base(release, "")) == used, staying, "{release}");
        let failed = recorded(&base(release, &format!("evictionRequested: true, failedAt: '{OLD}'")));
        assert_eq!(failed, used, "{release}");
    }
    // in an upgrade the code of the managers decides what becomes of the copy, and the release of the
    // objects where the flag of the replica stands
    for (release, code, moving) in
        [("v1.8.1", "v1.8.2", false), ("v1.8.2", "v1.8.1", true), ("v1.10.0", "v1.9.0", true)]
    {
        let set = manager_daemon_set(&format!("image: 'longhorn-manager:{code}'"));
        let moves = recorded(&(base(release, "evictionRequested: true") + &set));
        assert_eq!(moves == used, moving, "{release} {code} {moves:?}");
    }
}

#[test]
fn failed_replicas_remain_where_the_copy_was_removed() {
    let base = |release: &str, failed: &str| {
        version(release)
            + &node("evictionRequested: true", "")
            + &image("uuid-2: {}", "uuid-2: {state: ready}")
            + &object("Node", "n2", "spec: {disks: {d2: {}}}\nstatus: {diskStatus: {d2: {diskUUID: uuid-2}}}")
            + &replica("r1", &format!("backingImage: img, evictionRequested: true, failedAt: '{failed}'"))
    };
    let remains = ["warning copy_in_use Replica r1"];
    for release in ["v1.7.4", "v1.8.1", "v1.9.0"] {
        assert_eq!(recorded(&base(release, OLD)), remains, "{release}");
        assert_eq!(recorded(&base(release, "2026-01-01T11:59:00Z")), NOTHING, "{release}");
        assert_eq!(recorded(&base(release, "")), NOTHING, "{release}");
    }
    for release in ["v1.8.2", "v1.9.1", "v1.10.0"] {
        assert_eq!(recorded(&base(release, OLD)), NOTHING, "{release}");
    }
}

#[test]
fn a_copy_that_does_not_start_and_its_twin() {
    let twins = |second: &str| {
        object(
            "Node",
            "n1",
            &format!(
                "spec: {{disks: {{d1: {{}}, d2: {{}}}}}}\nstatus: {{diskStatus: {{d1: {{diskUUID: abcd-1}}, d2: {{diskUUID: {second}}}}}}}"
            ),
        )
    };
    let transferred = object("BackingImageDataSource", "img", "spec: {fileTransferred: true}");
    let wanted = image("abcd-1: {}", "") + &transferred;
    for (release, second, named) in [
        ("v1.8.2", "abcd-2", true),
        ("v1.9.1", "abcd-2", true),
        ("v1.9.1", "abce-2", false),
        ("v1.9.2", "abcd-2", false),
        ("v1.12.1", "abcd-2", false),
    ] {
        let finding = only(&(version(release) + &twins(second) + &wanted));
        assert_eq!(finding.cause, "copy_not_starting", "{release}");
        assert_eq!(
            finding.evidence().iter().any(|fact| fact.text.contains("abcd-2")),
            named,
            "{release} {second}"
        );
    }
    // while the first file is prepared the others wait
    let preparing = object("BackingImageDataSource", "img", "spec: {fileTransferred: false}");
    let wanted = image("abcd-1: {}", "") + &preparing;
    assert_eq!(recorded(&(version("v1.12.1") + &twins("abce-2") + &wanted)), NOTHING);
}

#[test]
fn disks_that_are_gone() {
    let gone = image("uuid-x: {}", "uuid-x: {state: unknown}, uuid-1: {state: ready}");
    let base = |release: &str| {
        version(release)
            + &node("", "")
            + &gone.replace("spec: {diskFileSpecMap: {", "spec: {diskFileSpecMap: {uuid-1: {}, ")
    };
    let missing = ["warning missing_disk BackingImage img"];
    for release in ["v1.8.2", "v1.9.1"] {
        assert_eq!(recorded(&base(release)), missing, "{release}");
    }
    // these give the copy up on their own: it counts only once it is known to be old
    for release in ["v1.9.2", "v1.10.0", "v1.12.1"] {
        assert_eq!(recorded(&base(release)), NOTHING, "{release}");
        let cluster = later(live_at(NOW, &base(release)), 1799);
        assert_eq!(found(&CHECK, &cluster), NOTHING, "{release}");
        assert_eq!(found(&CHECK, &later(cluster, 1)), missing, "{release}");
    }
    let lost = base("v1.9.2")
        .replace("state: unknown", "state: unknown, lastStateTransitionTime: '2026-01-01T11:00:00Z'");
    assert_eq!(recorded(&lost), missing, "Longhorn wrote when it lost sight of it");
    assert_eq!(only(&base("v1.9.1")).disk.as_deref(), Some("uuid-x"));
    // a copy is asked to leave only beside one that is known to be good
    let asks = |yaml: &str| only(yaml).remedy.commands.iter().any(|command| command.changes);
    assert!(asks(&base("v1.9.1")));
    assert!(!asks(&base("v1.9.1").replace("uuid-1: {state: ready}", "uuid-1: {state: in-progress}")));
    // a recording without nodes says nothing about disks
    assert_eq!(recorded(&(version("v1.8.2") + &image("uuid-x: {}", "uuid-x: {state: ready}"))), NOTHING);
}

#[test]
fn no_copy_is_usable() {
    let base = |copies: &str| {
        version("v1.12.1")
            + &object(
                "Node",
                "n1",
                "spec: {disks: {d1: {}, d2: {}}}\nstatus: {diskStatus: {d1: {diskUUID: uuid-1}, d2: {diskUUID: uuid-2}}}",
            )
            + &image("uuid-1: {}, uuid-2: {}", copies)
            + &object("Volume", "vol", "spec: {backingImage: img}")
    };
    let finding = only(&base("uuid-1: {state: failed}, uuid-2: {state: unknown}"));
    assert_eq!(finding.cause, "no_usable_copy");
    assert_eq!(finding.volumes.iter().map(|volume| volume.name.as_str()).collect::<Vec<_>>(), ["vol"]);
    assert!(!finding.remedy.fix.contains("Nothing is lost"), "{}", finding.remedy.fix);
    let other = base("uuid-1: {state: unknown, message: unexpected EOF}")
        .replace("backingImage: img", "backingImage: other");
    let unused = only(&other);
    assert_eq!(unused.message, "backing image img has no usable copy");
    assert!(unused.remedy.fix.contains("Nothing is lost"), "{}", unused.remedy.fix);
    // operation_stalled says why they failed
    assert_eq!(recorded(&base("uuid-1: {state: failed}, uuid-2: {state: failed}")), NOTHING);
    assert_eq!(recorded(&base("uuid-1: {state: failed}, uuid-2: {state: ready}")), NOTHING);
    assert_eq!(recorded(&base("uuid-1: {state: failed}, uuid-2: {state: in-progress}")), NOTHING);
    assert_eq!(recorded(&base("uuid-1: {state: failed}, uuid-2: {state: novel}")), NOTHING);
    let young =
        "uuid-1: {state: unknown, lastStateTransitionTime: '2026-01-01T11:58:00Z'}, uuid-2: {state: unknown}";
    assert_eq!(recorded(&base(young)), NOTHING);
}

#[test]
fn a_data_source_away_from_its_pod() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: backing-image-ds-img, namespace: longhorn-system}\nspec: {nodeName: n1}\n---\n";
    let source = |node: &str, done: bool| {
        object("BackingImageDataSource", "img", &format!("spec: {{nodeID: {node}, fileTransferred: {done}}}"))
    };
    for (release, stuck) in [
        ("v1.8.2", true),
        ("v1.9.2", true),
        ("v1.9.3", false),
        ("v1.10.0", true),
        ("v1.10.1", false),
        ("v1.11.0", false),
    ] {
        let lines = recorded(&(version(release) + pod + &source("n2", false)));
        assert_eq!(lines == ["warning data_source_moved BackingImageDataSource img"], stuck, "{release}");
    }
    assert_eq!(recorded(&(version("v1.9.2") + pod + &source("n1", false))), NOTHING);
    assert_eq!(recorded(&(version("v1.9.2") + pod + &source("n2", true))), NOTHING);
}

#[test]
fn stale_backing_image_managers() {
    let current = setting("default-backing-image-manager-image", "bim:new");
    let manager = |image: &str, disk: &str| {
        object(
            "BackingImageManager",
            "bim-1",
            &format!("spec: {{image: '{image}', diskUUID: {disk}, nodeID: n1}}"),
        )
    };
    let stale = ["warning manager_stale BackingImageManager bim-1"];
    let base = version("v1.8.2") + &node("", "") + &current;
    assert_eq!(recorded(&(base.clone() + &manager("bim:new", "uuid-1"))), NOTHING);
    assert_eq!(recorded(&(base.clone() + &manager("bim:old", "uuid-1"))), stale);
    assert_eq!(recorded(&(base.clone() + &manager("bim:new", "uuid-x"))), stale);
    // an upgrade under way
    let rolling = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: longhorn-manager, namespace: longhorn-system}\n\
                   status: {desiredNumberScheduled: 3, updatedNumberScheduled: 1}\n---\n";
    assert_eq!(recorded(&(base.clone() + rolling + &manager("bim:old", "uuid-1"))), NOTHING);
    let done = rolling.replace("updatedNumberScheduled: 1", "updatedNumberScheduled: 3");
    assert_eq!(recorded(&(base.clone() + &done + &manager("bim:old", "uuid-1"))), stale);
    // managers that are Ready replace them one by one
    let made = |at: &str| {
        manager_pod(true, "m:v1.8.2")
            .replace("metadata: {", &format!("metadata: {{creationTimestamp: '{at}', "))
    };
    let after = |at: &str| recorded(&(base.clone() + &made(at) + &manager("bim:old", "uuid-1")));
    assert_eq!(after("2026-01-01T11:30:01Z"), NOTHING);
    assert_eq!(after("2026-01-01T11:30:00Z"), stale);
    let cluster = later(live_at(NOW, &(base + &manager("bim:old", "uuid-1"))), 1799);
    assert_eq!(found(&CHECK, &cluster), NOTHING);
    assert_eq!(found(&CHECK, &later(cluster, 1)), stale);
}

#[test]
fn an_image_in_preparation_is_not_called_stuck_where_its_source_was_not_recorded() {
    let two = object(
        "Node",
        "n1",
        "spec: {disks: {d1: {}, d2: {}}}\nstatus: {diskStatus: {d1: {diskUUID: aaaa-1}, d2: {diskUUID: bbbb-2}}}",
    );
    let base = version("v1.12.1") + &two;
    assert_eq!(
        recorded(&(base.clone() + &image("aaaa-1: {}, bbbb-2: {}", "aaaa-1: {state: in-progress}"))),
        NOTHING
    );
    assert_eq!(
        recorded(&(base + &image("aaaa-1: {}, bbbb-2: {}", "aaaa-1: {state: ready}"))),
        ["warning copy_not_starting BackingImage img"]
    );
}
