use super::CHECK;
use crate::check::Finding;
use crate::facts::stale_copies::Exposure;
use crate::longhorn::{Release, Resource};
use crate::report::Status;
use crate::testing::release as version;
use crate::testing::*;

const NOW: &str = "2026-01-01T12:00:00Z";
const UNSAFE: &str = "longhorn_health_backing_image_eviction_unsafe_copies";
const PAIR: &str = "longhorn_health_backing_image_status_not_spec";

/// Node `n1` with disks `d1` (uuid-1) and `d2` (uuid-2).
fn node(node: bool, d1: bool, d2: bool) -> String {
    object(
        "Node",
        "n1",
        &format!(
            "spec:\n  evictionRequested: {node}\n  disks:\n    d1: {{evictionRequested: {d1}}}\n    d2: {{evictionRequested: {d2}}}\n\
             status: {{diskStatus: {{d1: {{diskUUID: uuid-1}}, d2: {{diskUUID: uuid-2}}}}}}"
        ),
    )
}

/// Backing image `img` with a copy on uuid-2 in both, and one on uuid-1 in the status only.
fn image(changed: &str) -> String {
    object(
        "BackingImage",
        "img",
        &format!(
            "spec: {{diskFileSpecMap: {{uuid-2: {{evictionRequested: false}}}}}}\n\
             status:\n  diskFileStatusMap:\n    uuid-1: {{state: ready, \
             lastStateTransitionTime: '{changed}'}}\n    uuid-2: {{state: ready}}"
        ),
    )
}

const OLD: &str = "2025-12-01T00:00:00Z";

/// The one finding of a recorded cluster.
fn only(yaml: &str) -> Finding {
    let mut findings = run(&CHECK, &cluster_at(NOW, yaml)).report.findings;
    assert_eq!(findings.len(), 1, "{findings:?}");
    findings.remove(0)
}

#[test]
fn exposure_by_release() {
    for (text, exposure) in [
        ("v1.6.4", Exposure::Never),
        ("v1.7.0", Exposure::AnyDisk),
        ("v1.7.3", Exposure::AnyDisk),
        ("v1.7.4", Exposure::Never),
        ("v1.8.0", Exposure::AnyDisk),
        ("v1.8.1", Exposure::EvictedDisk),
        ("v1.8.2", Exposure::Never),
        ("v1.9.0", Exposure::EvictedDisk),
        ("v1.9.0-hotfix-1", Exposure::EvictedDisk),
        ("v1.9.1", Exposure::Never),
        ("v1.10.0", Exposure::Never),
        ("v1.12.1", Exposure::Never),
        ("v1.13.0-dev", Exposure::Never),
    ] {
        assert_eq!(Exposure::of(Release::parse(text).unwrap()), exposure, "{text}");
    }
}

#[test]
fn what_is_evicted_decides_by_release() {
    let (whole, same, other, none) = (
        node(true, false, false),
        node(false, true, false),
        node(false, false, true),
        node(false, false, false),
    );
    let risk = "critical at_risk BackingImage img";
    let latent = "warning latent BackingImage img";
    for (release, on_whole, on_same, on_other, on_none) in [
        ("v1.7.3", risk, risk, risk, latent),
        ("v1.8.0", risk, risk, risk, latent),
        ("v1.8.1", risk, risk, latent, latent),
        ("v1.9.0", risk, risk, latent, latent),
    ] {
        for (nodes, expected) in [(&whole, on_whole), (&same, on_same), (&other, on_other), (&none, on_none)]
        {
            let cluster = cluster_at(NOW, &(version(release) + nodes + &image(OLD)));
            assert_eq!(found(&CHECK, &cluster), [expected], "{release} {nodes}");
            assert_eq!(sample(&run(&CHECK, &cluster), UNSAFE, &[]), Some(1.0), "{release}");
        }
    }
    for release in ["v1.6.4", "v1.7.4", "v1.8.2", "v1.9.1", "v1.10.0", "v1.12.1"] {
        for nodes in [&whole, &same, &other, &none] {
            let cluster = cluster_at(NOW, &(version(release) + nodes + &image(OLD)));
            assert!(found(&CHECK, &cluster).is_empty(), "{release}");
            assert_eq!(sample(&run(&CHECK, &cluster), UNSAFE, &[]), Some(0.0), "{release}");
        }
    }
}

/// The manager pod on `n1`, and what the DaemonSet would run there.
fn managers(pod: &str, template: &str) -> String {
    let image = |tag: &str| format!("longhornio/longhorn-manager:{tag}");
    let (pod, template) = (image(pod), image(template));
    longhorn_manager(
        "m1",
        "",
        &format!("spec: {{nodeName: n1, containers: [{{name: longhorn-manager, image: '{pod}'}}]}}"),
    ) + &manager_daemon_set(&format!("image: '{template}'"))
}

#[test]
fn in_an_upgrade_the_code_on_the_node_decides() {
    let (risk, latent) = ("critical at_risk BackingImage img", "warning latent BackingImage img");
    for (setting, pod, template, expected) in [
        // the setting follows when the upgrade is done
        ("v1.7.3", "v1.7.3", "v1.7.4", vec![risk]),
        ("v1.7.3", "v1.7.4", "v1.7.4", vec![]),
        ("v1.7.4", "v1.7.3", "v1.7.4", vec![risk]),
        ("v1.7.4", "v1.7.3", "v1.7.3", vec![risk]),
        // on another disk of the node 1.8.1 bears it, 1.8.0 does not
        ("v1.8.0", "v1.8.1", "v1.8.1", vec![latent]),
        ("v1.8.1", "v1.8.0", "v1.8.1", vec![risk]),
        // a tag that tells nothing
        ("v1.8.0", "latest", "latest", vec![risk]),
        ("v1.8.2", "latest", "latest", vec![]),
        ("v1.8.2", "latest", "v1.8.1", vec![latent]),
    ] {
        let yaml = version(setting) + &managers(pod, template) + &node(false, false, true) + &image(OLD);
        let cluster = cluster_at(NOW, &yaml);
        assert_eq!(found(&CHECK, &cluster), expected, "{setting} {pod} {template}");
        let unsafe_copies = sample(&run(&CHECK, &cluster), UNSAFE, &[]);
        assert_eq!(unsafe_copies, Some(expected.len() as f64), "{setting} {pod} {template}");
    }
    // without a manager there, what would run there decides, and the text names it
    let pod_elsewhere = managers("v1.9.1", "v1.9.0").replace("nodeName: n1", "nodeName: n2");
    let finding = only(&(version("v1.9.1") + &pod_elsewhere + &node(true, false, false) + &image(OLD)));
    assert!(finding.evidence().iter().any(|fact| fact.text.starts_with("longhorn-manager v1.9.0 panics")));
}

#[test]
fn copies_that_are_not_upgraded_yet_are_in_the_older_field() {
    let old = image(OLD)
        .replace("diskFileSpecMap: {uuid-2: {evictionRequested: false}}", "disks: {uuid-1: '', uuid-2: ''}");
    let yaml =
        |setting: &str| version(setting) + &managers("v1.7.3", "v1.7.3") + &node(true, false, false) + &old;
    assert!(found(&CHECK, &cluster_at(NOW, &yaml("v1.6.4"))).is_empty());
    assert_eq!(found(&CHECK, &cluster_at(NOW, &yaml("v1.7.3"))).len(), 2, "a leftover since the upgrade");
}

#[test]
fn the_raw_fact_is_shown_from_1_7_on() {
    for (release, value) in [("v1.6.4", None), ("v1.7.3", Some(1.0)), ("v1.12.1", Some(1.0))] {
        let cluster = cluster_at(NOW, &(version(release) + &node(false, false, false) + &image(OLD)));
        assert_eq!(sample(&run(&CHECK, &cluster), PAIR, &["img", "n1", "d1"]), value, "{release}");
        assert_eq!(sample(&run(&CHECK, &cluster), PAIR, &["img", "n1", "d2"]), None, "{release}");
    }
}

#[test]
fn a_recent_change_speaks_for_a_transient_copy_unless_eviction_is_requested() {
    let recent = image("2026-01-01T11:59:30Z");
    let quiet = cluster_at(NOW, &(version("v1.8.0") + &node(false, false, false) + &recent));
    assert_eq!(found(&CHECK, &quiet), ["info transient BackingImage img"]);
    let evicting = cluster_at(NOW, &(version("v1.8.0") + &node(false, false, true) + &recent));
    assert_eq!(found(&CHECK, &evicting), ["critical at_risk BackingImage img"]);
}

#[test]
fn a_watched_copy_is_transient_for_three_minutes() {
    let yaml = version("v1.8.0") + &node(false, false, false) + &image(OLD);
    let cluster = live_at(NOW, &yaml);
    assert_eq!(found(&CHECK, &cluster), ["info transient BackingImage img"]);
    let cluster = later(cluster, 179);
    assert_eq!(found(&CHECK, &cluster), ["info transient BackingImage img"]);
    let cluster = later(cluster, 1);
    assert_eq!(found(&CHECK, &cluster), ["warning latent BackingImage img"]);
    assert_eq!(run(&CHECK, &cluster).report.findings[0].since, Some(time(NOW)));
}

#[test]
fn an_exporter_that_just_started_says_nothing_that_it_takes_back() {
    let mut cluster = live_at(NOW, &(version("v1.8.0") + &node(false, false, false) + &image(OLD)));
    cluster.history.started = Some(time(NOW));
    for _ in 0..18 {
        assert_eq!(found(&CHECK, &cluster), ["info transient BackingImage img"]);
        cluster = later(cluster, 10);
    }
    assert_eq!(found(&CHECK, &cluster), ["warning latent BackingImage img"]);
}

#[test]
fn a_single_look_does_not_call_an_old_copy_young() {
    let cluster = one_look_at(NOW, &(version("v1.8.0") + &node(false, false, false) + &image(OLD)));
    assert_eq!(found(&CHECK, &cluster), ["warning latent BackingImage img"]);
}

#[test]
fn automatic_eviction_of_a_cordoned_node_does_not_crash() {
    let yaml = version("v1.8.0")
        + &node(false, false, false)
        + &image(OLD)
        + "apiVersion: longhorn.io/v1beta2\nkind: Setting\nmetadata: {name: node-drain-policy, namespace: longhorn-system}\n\
           value: block-for-eviction\n---\n\
           apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nspec: {unschedulable: true}\n---\n";
    assert_eq!(found(&CHECK, &cluster_at(NOW, &yaml)), ["warning latent BackingImage img"]);
}

#[test]
fn a_copy_on_a_disk_of_no_node_cannot_crash() {
    let yaml = version("v1.8.0") + &node(true, true, true) + &image(OLD).replace("uuid-1", "uuid-gone");
    let cluster = cluster_at(NOW, &yaml);
    assert!(found(&CHECK, &cluster).is_empty());
    assert_eq!(sample(&run(&CHECK, &cluster), UNSAFE, &[]), Some(0.0));
}

#[test]
fn the_finding_names_volumes_crash_and_commands() {
    let yaml = version("v1.8.1")
        + &node(true, false, false)
        + &image(OLD)
        + "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {name: vol-1, namespace: longhorn-system}\n\
           status: {ownerID: n1, kubernetesStatus: {pvcName: data, namespace: shop}}\n---\n\
           apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {name: vol-2, namespace: longhorn-system}\n\
           status: {ownerID: n2}\n---\n\
           apiVersion: v1\nkind: Pod\n\
           metadata: {name: longhorn-manager-x, namespace: longhorn-system, labels: {app: longhorn-manager}}\n\
           spec: {nodeName: n1}\n\
           status: {containerStatuses: [{name: longhorn-manager, restartCount: 7, lastState: {terminated: {exitCode: 2}}}]}\n---\n";
    let finding = only(&yaml);
    assert_eq!((finding.node.as_deref(), finding.disk.as_deref()), (Some("n1"), Some("d1")));
    assert_eq!(finding.volumes.iter().map(|v| v.name.as_str()).collect::<Vec<_>>(), ["vol-1"]);
    assert!(finding.impact.contains("1 volume (claims shop/data)"), "{}", finding.impact);
    assert_eq!(finding.runbook, Some("LonghornBackingImageEvictionCrashRisk"));
    let facts: Vec<_> = finding.evidence().iter().map(|fact| fact.text.as_str()).collect();
    for part in [
        "disk uuid-1 is in status.diskFileStatusMap (state ready) but not in spec",
        "1.8.1 (announced as fixed)",
        "evictionRequested is true on node n1",
        "exit code 2 after 7 restarts",
        "(safe at 0)",
    ] {
        assert!(facts.iter().any(|fact| fact.contains(part)), "{part}: {facts:?}");
    }
    let changes: Vec<_> =
        finding.remedy.commands.iter().filter(|c| c.changes).map(|c| c.run.as_str()).collect();
    assert_eq!(
        changes,
        [
            "kubectl -n longhorn-system patch nodes.longhorn.io n1 --type merge -p '{\"spec\":{\"evictionRequested\":false}}'",
            "kubectl -n longhorn-system patch nodes.longhorn.io n1 --type merge -p '{\"spec\":{\"evictionRequested\":true}}'",
        ]
    );
}

#[test]
fn on_older_releases_every_request_of_the_node_is_withdrawn() {
    let finding = only(&(version("v1.7.3") + &node(false, false, true) + &image(OLD)));
    let change = finding.remedy.commands.iter().find(|command| command.changes).unwrap();
    assert!(
        change.run.ends_with("-p '{\"spec\":{\"disks\":{\"d2\":{\"evictionRequested\":false}}}}'"),
        "{}",
        change.run
    );
}

#[test]
fn an_unknown_release_is_unknown_only_where_it_matters() {
    let image = image(OLD);
    let node = node(true, false, false) + MANAGER;
    let verdict = |image: &str| run(&CHECK, &live_at(NOW, &(node.clone() + image))).report.status;
    assert_eq!(verdict(&image), Status::Unknown);
    assert_eq!(verdict(""), Status::Healthy);
    // a release before 1.7 keeps the copies in spec.disks
    let old = image
        .replace("diskFileSpecMap: {uuid-2: {evictionRequested: false}}", "disks: {uuid-1: '', uuid-2: ''}");
    assert_eq!(verdict(&old), Status::Healthy);
}

#[test]
fn unreadable_kinds_are_unknown() {
    for kind in [Resource::LonghornNodes, Resource::BackingImages] {
        let mut cluster = live_at(NOW, &(version("v1.8.0") + &node(true, false, false) + &image(OLD)));
        cluster.resources.entry(kind).or_default().readability = crate::cluster::Readability::Forbidden;
        let evaluation = run(&CHECK, &cluster);
        assert_eq!(evaluation.report.status, Status::Unknown);
        assert_eq!(sample(&evaluation, UNSAFE, &[]), None);
    }
}

#[test]
fn odd_objects_do_not_matter() {
    let yaml = version("v1.8.0")
        + "apiVersion: longhorn.io/v1beta2\nkind: BackingImage\nmetadata: {name: empty, namespace: longhorn-system}\n---\n\
           apiVersion: longhorn.io/v1beta2\nkind: BackingImage\nmetadata: {name: odd, namespace: longhorn-system}\n\
           spec: {diskFileSpecMap: null}\nstatus: {diskFileStatusMap: {uuid-1: {state: novel, lastStateTransitionTime: ''}}}\n---\n\
           apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {name: bare, namespace: longhorn-system}\n---\n"
        + &node(true, false, false);
    assert_eq!(found(&CHECK, &cluster_at(NOW, &yaml)), ["critical at_risk BackingImage odd"]);
}
