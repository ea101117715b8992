use super::*;
use crate::check::bytes;
use crate::testing::{NAMESPACE, cluster};

const GIB: i64 = 1 << 30;

fn node(name: &str, more_spec: &str, zone: &str, disk_spec: &str, status: [i64; 3]) -> String {
    let [maximum, available, scheduled] = status.map(|gib| gib * GIB);
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {{name: {name}, namespace: {NAMESPACE}}}\n\
         spec: {{allowScheduling: true, disks: {{d: {{allowScheduling: true, diskType: filesystem{disk_spec}}}}}{more_spec}}}\n\
         status:\n  zone: '{zone}'\n  conditions: [{{type: Ready, status: 'True'}}, {{type: Schedulable, status: 'True'}}]\n  \
         diskStatus: {{d: {{diskUUID: u-{name}, storageMaximum: {maximum}, storageAvailable: {available}, storageScheduled: {scheduled}, \
         conditions: [{{type: Schedulable, status: 'True'}}]}}}}\n---\n"
    )
}

fn judged(nodes: &str, spec: &str, replica_on: &str, settings: &str) -> Option<Vec<(Obstacle, String)>> {
    let volume = format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{name: v, namespace: {NAMESPACE}}}\n\
         spec: {{size: '{}', dataEngine: v1{spec}}}\nstatus: {{actualSize: {}}}\n---\n\
         apiVersion: longhorn.io/v1beta2\nkind: Replica\nmetadata: {{name: v-r-1, namespace: {NAMESPACE}}}\n\
         spec: {{volumeName: v, nodeID: {replica_on}, diskID: u-{replica_on}, active: true}}\n---\n",
        10 * GIB,
        4 * GIB
    );
    let cluster = cluster(&format!("{nodes}{volume}{settings}"));
    let volume = cluster.objects.volumes.get("v").unwrap();
    refusals(&cluster, volume).map(|all| all.into_iter().map(|r| (r.obstacle, r.text)).collect())
}

fn setting(name: &str, value: &str) -> String {
    format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Setting\nmetadata: {{name: {name}, namespace: {NAMESPACE}}}\nvalue: '{value}'\n---\n"
    )
}

fn obstacles(judged: Option<Vec<(Obstacle, String)>>) -> Option<Vec<Obstacle>> {
    judged.map(|all| all.into_iter().map(|(obstacle, _)| obstacle).collect())
}

#[test]
fn each_rule_refuses_a_disk_and_its_neighbour_does_not() {
    use Obstacle::*;
    let free = [100, 90, 20];
    let one = |spec: &str, zone: &str, disk: &str, status| node("one", spec, zone, disk, status);
    for (nodes, volume, on, settings, expected) in [
        (one("", "", "", free), "", "elsewhere", String::new(), None),
        (one("", "", "", free), "", "one", String::new(), Some(vec![AntiAffinity])),
        (one("", "", "", free), "", "one", setting("replica-soft-anti-affinity", "true"), None),
        (one("", "", "", free), ", replicaSoftAntiAffinity: enabled", "one", String::new(), None),
        (
            one("", "", "", free),
            ", replicaSoftAntiAffinity: ignored",
            "one",
            String::new(),
            Some(vec![AntiAffinity]),
        ),
        (one("", "", "", free), ", nodeSelector: [ssd]", "elsewhere", String::new(), Some(vec![Tags])),
        (one(", tags: [ssd]", "", "", free), ", nodeSelector: [ssd]", "elsewhere", String::new(), None),
        (one("", "", "", free), ", diskSelector: [nvme]", "elsewhere", String::new(), Some(vec![Tags])),
        (one("", "", ", tags: [a, nvme]", free), ", diskSelector: [nvme]", "elsewhere", String::new(), None),
        (
            one("", "", ", tags: [a]", free),
            "",
            "elsewhere",
            setting("allow-empty-disk-selector-volume", "false"),
            Some(vec![Tags]),
        ),
        (one("", "", ", evictionRequested: true", free), "", "elsewhere", String::new(), Some(vec![Disk])),
        // 29 free less 4 of data is 25: not more than 25 of 100
        (one("", "", "", [100, 29, 20]), "", "elsewhere", String::new(), Some(vec![Space])),
        (one("", "", "", [100, 30, 20]), "", "elsewhere", String::new(), None),
        (
            one("", "", "", [100, 29, 20]),
            "",
            "elsewhere",
            setting("storage-minimal-available-percentage", "24"),
            None,
        ),
        // 90 scheduled and 10 more are just what 100 allow
        (one("", "", "", [100, 90, 90]), "", "elsewhere", String::new(), None),
        (one("", "", "", [100, 90, 91]), "", "elsewhere", String::new(), Some(vec![Provisioning])),
        (
            one("", "", "", [100, 90, 91]),
            "",
            "elsewhere",
            setting("storage-over-provisioning-percentage", "{\"v1\":\"200\",\"v2\":\"100\"}"),
            None,
        ),
        (
            one("", "", ", storageReserved: 32212254720", [100, 90, 61]),
            "",
            "elsewhere",
            String::new(),
            Some(vec![Provisioning]),
        ),
        (one("", "", ", storageReserved: 32212254720", [100, 90, 60]), "", "elsewhere", String::new(), None),
    ] {
        let found = obstacles(judged(&nodes, volume, on, &settings));
        assert_eq!(found, expected, "{nodes}{volume} {on} {settings}");
    }
}

#[test]
fn hard_zones_refuse_the_zone_of_a_replica_and_the_lack_of_zones() {
    let hard = setting("replica-zone-soft-anti-affinity", "false");
    let free = [100, 90, 0];
    let zones = |a: &str, b: &str| node("a", "", a, "", free) + &node("b", "", b, "", free);
    assert_eq!(judged(&zones("z1", "z2"), "", "a", &hard), None);
    assert_eq!(judged(&zones("z1", "z1"), "", "a", "").map(|all| all.len()), None);
    let refused = judged(&zones("z1", "z1"), "", "a", &hard).unwrap();
    assert_eq!(refused[1].1, "b: zone z1 already has a replica of the volume");
    let refused = judged(&zones("", ""), "", "a", &hard).unwrap();
    assert!(refused[1].1.contains("nodes without a zone count as one zone"), "{refused:?}");
}

#[test]
fn the_figures_of_the_scheduler_are_shown() {
    let refused = judged(&node("one", "", "", "", [100, 90, 95]), "", "elsewhere", "").unwrap();
    assert_eq!(
        refused[0].1,
        "one, disk d: 95 GiB allocated plus 10 GiB for this replica exceeds the limit of 100 GiB (100 % of 100 GiB, \
         storage-over-provisioning-percentage)"
    );
    assert_eq!(
        [bytes(0), bytes(1536), bytes(GIB * 401 / 4), bytes(GIB * 1500)],
        ["0 B", "1.5 KiB", "100 GiB", "1.5 TiB"]
    );
}

/// Longhorn issue 12653: a replica counts on every disk of its node, until a release that fixed it.
#[test]
fn a_replica_counts_on_the_other_disks_of_its_node_in_releases_that_do_so() {
    let disk = |name: &str, scheduled: i64| {
        format!(
            "{name}: {{diskUUID: u-{name}, storageMaximum: {}, storageAvailable: {}, storageScheduled: {}, conditions: [{{type: Schedulable, status: 'True'}}]}}",
            16 * GIB,
            15 * GIB,
            scheduled * GIB
        )
    };
    let spec = "{allowScheduling: true, diskType: filesystem}";
    let node = format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {{name: one, namespace: {NAMESPACE}}}\n\
         spec: {{allowScheduling: true, disks: {{one: {spec}, two: {spec}}}}}\n\
         status:\n  conditions: [{{type: Ready, status: 'True'}}, {{type: Schedulable, status: 'True'}}]\n  \
         diskStatus: {{{}, {}}}\n---\n",
        disk("one", 10),
        disk("two", 0)
    );
    let soft =
        setting("replica-soft-anti-affinity", "true") + &setting("replica-disk-soft-anti-affinity", "false");
    for (release, counts) in
        [("v1.8.2", true), ("v1.9.4", true), ("v1.9.5", false), ("v1.10.2", true), ("v1.10.3", false)]
            .into_iter()
            .chain([("v1.11.0", true), ("v1.11.1", false), ("v1.12.1", false)])
    {
        let settings = format!("{soft}{}", setting("current-longhorn-version", release));
        let judged = judged(&node, "", "one", &settings);
        assert_eq!(judged.is_some(), counts, "{release}");
        if let Some(refusals) = judged {
            assert_eq!(refusals.last().unwrap().0, Obstacle::Provisioning);
            assert!(refusals.last().unwrap().1.contains("issue 12653"), "{refusals:?}");
        }
    }
}

/// A volume with a replica on node one, in the only zone; hard anti-affinity of nodes, as is the default.
fn refused_on_its_node(replica: &str, volume: &str, settings: &[(&str, &str)]) -> bool {
    let node = node("one", "", "", "", [100, 90, 0]);
    let settings: String = settings.iter().map(|(name, value)| setting(name, value)).collect();
    let objects = format!(
        "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{name: v, namespace: {NAMESPACE}}}\n\
         spec: {{size: '{GIB}', dataEngine: v1}}\nstatus: {{{volume}}}\n---\n\
         apiVersion: longhorn.io/v1beta2\nkind: Replica\nmetadata: {{name: v-r-1, namespace: {NAMESPACE}}}\n\
         spec: {{volumeName: v, nodeID: one, diskID: u-one, active: true{replica}}}\n---\n\
         apiVersion: v1\nkind: Pod\nmetadata: {{name: longhorn-manager-1, namespace: {NAMESPACE}, creationTimestamp: 2026-01-01T12:00:00Z}}\n---\n"
    );
    let cluster = cluster(&format!("{node}{objects}{settings}"));
    let volume = cluster.objects.volumes.get("v").unwrap();
    refusals(&cluster, volume).is_some()
}

#[test]
fn a_node_is_not_in_the_way_once_all_its_replicas_are_being_evicted() {
    for (replica, zones, refused) in [
        ("", "true", true),
        (", evictionRequested: true", "true", false),
        (", evictionRequested: true", "false", false),
    ] {
        let settings = [("replica-zone-soft-anti-affinity", zones)];
        assert_eq!(refused_on_its_node(replica, "", &settings), refused, "{replica} {zones}");
    }
}

#[test]
fn a_failed_replica_keeps_its_node_while_longhorn_waits_to_use_it_again() {
    let failed = ", failedAt: 2026-01-01T11:59:00Z";
    let degraded = |since: &str| format!("robustness: degraded, lastDegradedAt: 2026-01-01T{since}Z");
    for (release, replica, volume, refused) in [
        ("v1.12.1", failed.to_owned(), degraded("11:59:00"), true),
        ("v1.12.1", failed.to_owned(), degraded("11:00:00"), false),
        ("v1.12.1", format!("{failed}, rebuildRetryCount: 5"), degraded("11:59:00"), false),
        ("v1.6.1", failed.to_owned(), degraded("11:59:00"), true),
        ("v1.6.0", failed.to_owned(), degraded("11:59:00"), false),
        ("v1.5.5", failed.to_owned(), degraded("11:59:00"), true),
    ] {
        let settings = [("current-longhorn-version", release)];
        assert_eq!(
            refused_on_its_node(&replica, &volume, &settings),
            refused,
            "{release} {replica} {volume}"
        );
    }
}

/// Longhorn issue 11189: until v1.10.2 best-effort auto-balance let every node with a replica take another one.
#[test]
fn best_effort_auto_balance_opens_nodes_with_a_replica() {
    for (release, pressure, refused) in
        [("v1.6.4", "90", true), ("v1.7.0", "90", false), ("v1.10.1", "90", false), ("v1.10.2", "90", true)]
            .into_iter()
            .chain([("v1.12.1", "5", false), ("v1.12.1", "0", true)])
    {
        let settings = [
            ("current-longhorn-version", release),
            ("replica-auto-balance", "best-effort"),
            ("replica-auto-balance-disk-pressure-percentage", pressure),
        ];
        assert_eq!(refused_on_its_node("", "", &settings), refused, "{release} {pressure}");
    }
}
