//! Replicas for which no disk is found, with the arithmetic of each disk.
//!
//! Facts: condition Scheduled of a volume (`scheduled` in 1.3) is False while a replica has no node, while fewer or more
//! replicas exist than `spec.numberOfReplicas`, or while one more is needed (longhorn-manager v1.3.3 to v1.12.1
//! controller/volume_controller.go reconcileVolumeCondition). That does not depend on robustness: a healthy volume that is
//! asked for one replica more, is evicted or balanced, says healthy all the while. With
//! allow-volume-creation-with-degraded-availability the condition of a detached volume is True again as soon as one replica
//! has a disk. From 1.7 on a message about a failed precheck stays in the condition until it is True, so the figures here are
//! computed from the disks as they are now. The scheduler's rules are in facts/placement.rs.

mod tags;

use std::cell::OnceCell;

use jiff::Timestamp;

use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::patience::{MAINTENANCE, PLACED};
use crate::facts::placement::{self, Obstacle, PlacementRefusal};
use crate::facts::ways::{PROMISED, WITHHELD};
use crate::facts::{nodes, text, volumes, ways};
use crate::longhorn::Resource::*;
use crate::longhorn::{
    Condition, ConditionStatus, DataEngine, DataLocality, Volume, VolumeRobustness, condition,
};

const NODES: &str = "kubectl -n <namespace> get nodes.longhorn.io";
const TAGS: &str = "kubectl -n <namespace> get nodes.longhorn.io -o custom-columns='NODE:.metadata.name,TAGS:.spec.tags,DISK TAGS:.spec.disks.*.tags'";
const PERCENTAGE: &str = "storage-over-provisioning-percentage";
const VOLUME: &str = "kubectl -n <namespace> describe volumes.longhorn.io <object>";

causes! {
    SPACE_SHORT = warning "space_short"
        "the disks that could take the replica have too little free space (storage-minimal-available-percentage)",
        changed_by: BY_MINIMUM
        fix "Free space on a disk (delete unneeded snapshots and volumes, trim file systems), or add a disk. Lowering \
             storage-minimal-available-percentage risks full disks, which stop every replica on them."
            [read NODES, read VOLUME]
            proven "the fix asks for what is not needed";
    OVER_PROVISIONED = warning "over_provisioned"
        "the disks that could take the replica are already fully allocated to other replicas \
         (storage-over-provisioning-percentage)",
        changed_by: BY_PERCENTAGE
        fix PROMISED
            [read "kubectl -n <namespace> get settings.longhorn.io storage-over-provisioning-percentage", read NODES, read VOLUME]
            proven "the replica has failed and still counts on the disk that the next one needs, and the volume has a healthy one"
        way FAILED_COUNTS "its failed replica still counts against the disk"
            fix "Delete the failed replica <replica>: its size still counts against the disk. The volume has a healthy replica, and Longhorn replaces the \
                 deleted one." [
                read "kubectl -n <namespace> get replicas.longhorn.io -l longhornvolume=<object> -o wide",
                change "kubectl -n <namespace> delete replicas.longhorn.io <replica>",
            ]
        way COUNTED_TWICE "this release counts each replica on every disk of its node"
            fix "Upgrade to 1.11.1 or later: this release counts each replica on every disk (issue 12653). Until then, add a disk on another node, or raise \
                 storage-over-provisioning-percentage if disks have room."
        way TOO_LARGE "the volume is too large"
            fix "Create the volume again with at most <value> (the most a disk can hold), or add a larger disk. Raising \
                 storage-over-provisioning-percentage helps only if the volume stays mostly empty."
        ways WITHHELD;
    ANTI_AFFINITY = warning "anti_affinity"
        "every node, zone or disk that could take the replica already has another replica of the volume"
        fix "Add a node, or lower numberOfReplicas (now <value>) to the number of nodes. If replicas must be in different zones, add a zone." [
            read "kubectl -n <namespace> get settings.longhorn.io replica-soft-anti-affinity replica-zone-soft-anti-affinity",
            read NODES,
            read VOLUME,
        ]
        way ZONES "each zone has a replica"
            fix "Add a node in another zone: replica-zone-soft-anti-affinity is false, and every zone already has a replica. If you set it \
                 to true, losing one zone can cost several replicas." [
                read "kubectl get nodes -L topology.kubernetes.io/zone",
                read "kubectl -n <namespace> get settings.longhorn.io replica-zone-soft-anti-affinity",
                read VOLUME,
            ];
    TAGS_UNMET = warning "tags_unmet" "no available node or disk has the tags that the volume selects"
        fix "Add the missing tag (<value>) to a node or disk that has room for the replica. Or add a node or disk with this tag." [read TAGS, read VOLUME]
        way SELECTS_NONE "the volume selects no tag"
            fix "Set allow-empty-node-selector-volume and allow-empty-disk-selector-volume to true, or add a node or disk without tags."
                [read TAGS, read VOLUME]
        way TAG_LOST "a node or disk has lost its tag"
            fix "Restore <value> on <node> (Harvester's Host page): a replica there needs it. Keep the failed replica: Longhorn reuses \
                 it. Do not remove the volume's selectors."
            [read TAGS, read VOLUME];
    NODES_UNAVAILABLE = warning "nodes_unavailable"
        "the nodes or disks for the replica are down, cordoned, being evicted or unschedulable"
        but "info during the first hour of a cordon"
        fix "Bring the unavailable nodes back, uncordon them, or enable scheduling on them and their disks. Longhorn then places the \
             replica." [read NODES, read VOLUME]
        way NO_DISK "no node has a disk"
            fix "Add a disk to a node. If create-default-disk-labeled-nodes is true, label the nodes instead \
                 (node.longhorn.io/create-default-disk=true): Longhorn then adds the default disk." [
                read "kubectl -n <namespace> get settings.longhorn.io create-default-disk-labeled-nodes",
                read "kubectl get nodes -L node.longhorn.io/create-default-disk",
                read "kubectl -n <namespace> get nodes.longhorn.io -o yaml | grep -A3 'disks:'",
            ]
        way FILE_SYSTEM "ext4 allows only 16 TiB"
            fix "Create the claim again with less than 16 TiB, or add XFS disks. ext4 limits each replica file to 16 TiB."
        way CORDONED "other nodes are cordoned"
            fix "Uncordon <node> if its maintenance is over: Longhorn then places the replica."
            [read "kubectl get nodes", change "kubectl uncordon <node>"];
    LOCAL_ONLY = warning "local_only"
        "data locality requires the replica on one node, which cannot take it" but "info with best-effort if the volume has all its replicas"
        fix "Free space on <node>, or move the workload to a node that has room. If dataLocality is strict-local, detach the volume before you change it."
            [read NODES, read VOLUME];
    UNEXPLAINED = warning "unexplained"
        "Longhorn finds no disk for the replica, although a disk has enough space for it"
        fix "Check that an instance manager and the engine image are ready on the disk's node. Then read the log of the longhorn-manager that owns \
             the volume." [
            read "kubectl -n <namespace> get instancemanagers.longhorn.io",
            read "kubectl -n <namespace> get engineimages.longhorn.io",
            read NODES,
            read VOLUME,
        ];
}

pub static CHECK: Check = check! {
    id: "replica_unschedulable",
    title: "Replicas without a disk",
    summary: "Longhorn finds no disk for a replica, even if it reports the volume as healthy. The finding shows each disk's figures, tags, zones and \
        anti-affinity.",
    needs: &[Volumes, Replicas, LonghornNodes, Settings],
    uses: &[Engines, KubeNodes],
    causes: ALL,
    ways: &[WAYS],
    gauges: GAUGES,
    alerts: &[alert! { "LonghornReplicaUnschedulable",
        when: When::Found(ALL),
        only: Some(Severity::Warning),
        for_: "10m",
        keep_firing_for: "10m",
        summary: "Longhorn finds no disk for a volume's replica.",
        description: "Longhorn finds no disk for a replica of volume {{ $labels.object }}. The volume lacks a copy, even if Longhorn reports it as \
        healthy. Run the command below to find out what each disk lacks.",
        why: "The check waits 10 min, enough for a node to reboot. The alert waits 10 min more for someone to finish adding a disk.",
    }],
    panels: &[Panel {
        dashboard: Dashboard::Volumes,
        title: "Replicas without a disk",
        description: "Volumes with a replica that Longhorn cannot place on any disk. The finding shows why each disk was rejected.",
        no_data: "every replica has a disk, or the exporter is not reporting",
        ..Panel::TABLE.of(&WITHOUT_DISK)
    }],
};

gauges! {
    WITHOUT_DISK = Gauge "longhorn_health_volume_replicas_without_disk" ["volume", "pvc_namespace", "pvc"]
        "Number of a volume's replicas that Longhorn cannot place on any disk.",
        absent "all are placed",
        example "max without (instance, pod) (longhorn_health_volume_replicas_without_disk)";
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    let most = OnceCell::new();
    for volume in cluster.objects.volumes.iter() {
        let scheduled = condition(&volume.status.conditions, "Scheduled");
        let Some(scheduled) = scheduled.filter(|scheduled| scheduled.status == ConditionStatus::False) else {
            continue;
        };
        // a faulted volume has other worries, and evicted disks have a check of their own
        let evicted =
            || cluster.replicas_of(&volume.metadata.name).any(|replica| replica.eviction_requested());
        let faulted = volume.status.robustness == VolumeRobustness::Faulted
            && !volumes::waits_for_disks(cluster, volume);
        if volume.metadata.is_deleting() || faulted || evicted() {
            continue;
        }
        if is_complete(cluster, volume) {
            continue;
        }
        // it may be of another replica, placed long since, while this one has just been lost
        let lost = volume.status.last_degraded_at.get();
        let lost = lost.filter(|_| volume.status.robustness == VolumeRobustness::Degraded);
        let begun =
            Begun::At(scheduled.last_transition_time.get().map(|since| lost.unwrap_or(since).max(since)));
        let age = observe(cluster, out, "unscheduled", &volume.metadata.name, begun);
        if !age.at_least(PLACED, Unknown::Counts) {
            continue;
        }
        let without =
            cluster.replicas_of(&volume.metadata.name).filter(|replica| replica.spec.node_id.is_empty());
        out.sample(&WITHOUT_DISK, &volumes::labels(volume), without.count().max(1) as f64);
        out.report(finding(cluster, volume, scheduled, age.since, &most));
    }
}

/// True for a volume that has all its replicas and waits for none: Longhorn sets the condition to True only when it places one
/// (longhorn-manager v1.12.1 controller/volume_controller.go; seen: an eviction that had no room was taken back, and the condition
/// stayed as it was beside three healthy replicas of two).
fn is_complete(cluster: &Cluster, volume: &Volume) -> bool {
    let replicas = || cluster.replicas_of(&volume.metadata.name);
    let placed = replicas().filter(|replica| volumes::is_healthy(replica)).count();
    i64::try_from(placed).is_ok_and(|placed| placed >= volume.spec.number_of_replicas.0)
        && !matches!(volume.spec.data_locality, DataLocality::BestEffort | DataLocality::StrictLocal)
        && !replicas().any(|replica| replica.spec.node_id.is_empty())
}

/// `most` is what a disk may hold, computed once for all volumes.
fn finding(
    cluster: &Cluster,
    volume: &Volume,
    scheduled: &Condition,
    since: Option<Timestamp>,
    most: &OnceCell<i64>,
) -> Finding {
    let name = &volume.metadata.name;
    let only = placement::only_node(cluster, volume);
    // what another node would take does not count where it has to be this one
    let refusals =
        placement::refusals_or_taker(cluster, volume, |node| only.is_some_and(|only| only != node));
    let taking = refusals.as_ref().err().copied();
    let refusals = refusals.ok();
    let (cause, why) = cause(refusals.as_deref(), only, taking);
    let refusals = refusals.unwrap_or_default();
    let most = *most.get_or_init(|| placement::most_of_a_disk(cluster));
    let placed = cluster.replicas_of(name).filter(|replica| volumes::is_healthy(replica)).count();
    let failed = counted_failure(cluster, volume, placed);
    let lost = tags::lost(cluster, &refusals).filter(|_| cause == &TAGS_UNMET);
    let way = way(cluster, volume, cause, &refusals, most, failed).or(lost.as_ref().map(|_| &TAG_LOST));
    let why = match &lost {
        Some(lost) => lost.briefly(),
        None => way.filter(|way| !WAYS_OF_SPACE.contains(way)).map_or(why, |way| way.briefly.to_owned()),
    };
    let users = vec![cluster.volume_ref(name)];
    let whose = text::claims_of(&users);
    let wanted = volume.spec.number_of_replicas.0;
    let shown: Vec<&PlacementRefusal> =
        refusals.iter().filter(|refusal| only.is_none_or(|node| node == refusal.node)).collect();
    let place = place(cause, &refusals);
    let node = (cordoned(cluster, &refusals).filter(|_| way == Some(&CORDONED)))
        .or(only)
        .or(taking)
        .or(place.map(|place| place.node.as_str()))
        .or(lost.as_ref().map(|lost| lost.refusal.node.as_str()));
    let (size, too_large) = (volume.spec.size.0, way == Some(&TOO_LARGE));
    let value = match &lost {
        Some(lost) => lost.tag(),
        None if too_large => bytes(most),
        None if cause == &TAGS_UNMET => tags::why(&refusals).1,
        None => wanted.to_string(),
    };
    let says = format!("condition Scheduled is False ({})", scheduled.reason);
    let headline = format!("no disk can take a replica of {whose}: {why}");
    let finding = Finding::about(cause, volumes::object(cluster, volume), headline)
        .volumes(users)
        .since(since)
        .way(way)
        .fact(text::with_quote(says, &scheduled.message))
        .impact(impact(&whose, placed, wanted, volume.status.robustness.as_str()))
        .facts(text::first_ten(&shown, "disk", |refusal| refusal.text.clone()))
        .facts(too_large.then(|| {
            format!("the volume is {} large, but a disk can hold at most {}", bytes(size), bytes(most))
        }))
        .facts(lost.as_ref().map(tags::Lost::evidence))
        .with(Name::Value, value)
        .with(Name::Replica, failed.unwrap_or_default());
    let finding = place.into_iter().fold(finding, |finding, place| finding.disk(&place.disk));
    let finding = node.into_iter().fold(finding, Finding::node);
    let planned = cause == &NODES_UNAVAILABLE && is_planned(cluster, since, &shown);
    match planned || cause == &LOCAL_ONLY && is_one_more(volume, placed) {
        true => finding.severity(Severity::Info),
        false => finding,
    }
}

/// Ways of a cause whose headline says more of it.
const WAYS_OF_SPACE: [&Way; 2] = [&FAILED_COUNTS, &COUNTED_TWICE];

/// The way in which the cause came about, where it is one of several.
fn way(
    cluster: &Cluster,
    volume: &Volume,
    cause: &Cause,
    refusals: &[PlacementRefusal],
    most: i64,
    failed: Option<&str>,
) -> Option<&'static Way> {
    let no_disk = || !refusals.is_empty() && refusals.iter().all(PlacementRefusal::is_for_want_of_disks);
    match *cause {
        NODES_UNAVAILABLE if no_disk() => Some(&NO_DISK),
        // where another disk only lacks space, that comes nearer
        NODES_UNAVAILABLE if refusals.iter().any(PlacementRefusal::is_of_file_system) => Some(&FILE_SYSTEM),
        NODES_UNAVAILABLE => cordoned(cluster, refusals).map(|_| &CORDONED),
        ANTI_AFFINITY if is_of_zones(refusals) => Some(&ZONES),
        TAGS_UNMET if tags::why(refusals).1.is_empty() => Some(&SELECTS_NONE),
        OVER_PROVISIONED if cluster.setting_value(PERCENTAGE, DataEngine::V1) == "0" => {
            Some(&ways::PROMISES_NOTHING)
        }
        OVER_PROVISIONED if 0 < most && most < volume.spec.size.0 => Some(&TOO_LARGE),
        OVER_PROVISIONED if failed.is_some() => Some(&FAILED_COUNTS),
        OVER_PROVISIONED if placement::is_counted_twice(refusals) => Some(&COUNTED_TWICE),
        _ => None,
    }
}

/// The failed replica that is in the way of the next: the validator lets nothing be deleted that is the last healthy one, so one must be there.
fn counted_failure<'a>(cluster: &'a Cluster, volume: &Volume, placed: usize) -> Option<&'a str> {
    let degraded = volume.status.robustness == VolumeRobustness::Degraded && placed > 0;
    placement::in_its_own_way(cluster, volume).filter(|_| degraded)
}

fn impact(whose: &str, placed: usize, wanted: i64, robustness: &str) -> String {
    match placed {
        0 => {
            format!("{whose} cannot be used: it has no healthy replica (Longhorn reports it as {robustness})")
        }
        1 if wanted <= 1 => {
            format!(
                "{whose} has a single replica. If its disk or node fails, the data is unavailable or lost."
            )
        }
        1 => format!("{whose} has 1 of {wanted} replicas. One more disk or node failure can lose its data."),
        _ => format!("none yet: {whose} has its data on {placed} of {wanted} replicas"),
    }
}

fn cause(
    refusals: Option<&[PlacementRefusal]>,
    only: Option<&str>,
    taking: Option<&str>,
) -> (&'static Cause, String) {
    if let Some(node) = only {
        return (&LOCAL_ONLY, format!("data locality requires {node}"));
    }
    let Some(refusals) = refusals else {
        let room = taking.map_or(String::new(), |node| format!(" ({node} has room)"));
        return (&UNEXPLAINED, format!("cause unknown{room}"));
    };
    match placement::nearest(refusals) {
        None => (&NODES_UNAVAILABLE, "Longhorn knows no node".to_owned()),
        Some(Obstacle::Space) => (&SPACE_SHORT, "too little free space".to_owned()),
        Some(Obstacle::Provisioning) => (&OVER_PROVISIONED, "all are fully allocated".to_owned()),
        Some(Obstacle::Tags) => (&TAGS_UNMET, tags::why(refusals).0),
        Some(Obstacle::AntiAffinity) if is_of_zones(refusals) => (&ANTI_AFFINITY, ZONES.briefly.to_owned()),
        Some(Obstacle::AntiAffinity) => (&ANTI_AFFINITY, "all have one".to_owned()),
        Some(Obstacle::Node | Obstacle::Disk) => (&NODES_UNAVAILABLE, unavailable(refusals)),
    }
}

/// True where a node without a replica is refused for its zone alone.
fn is_of_zones(refusals: &[PlacementRefusal]) -> bool {
    refusals.iter().any(|one| one.obstacle == Obstacle::AntiAffinity && one.reason.starts_with("zone "))
}

/// What the disks without a replica have in common: the node, the reason, or both.
fn unavailable(refusals: &[PlacementRefusal]) -> String {
    let mut near = refusals.iter().filter(|one| one.obstacle != Obstacle::AntiAffinity);
    let first = near.next().map_or(("", ""), |first| (first.node.as_str(), first.reason.as_str()));
    let (node, reason) = near.fold(first, |(node, reason), one| {
        (if node == one.node { node } else { "" }, if reason == one.reason { reason } else { "" })
    });
    // the evidence has Longhorn's own word for it
    let reason = reason.split(" (").next().unwrap_or_default();
    let (of_node, of_disk) = (reason.strip_prefix("the node "), reason.strip_prefix("it "));
    match (node, of_node, of_disk) {
        ("", None, None) if !reason.is_empty() => reason.to_owned(),
        ("", ..) => "disks without one are unavailable".to_owned(),
        (node, Some(is), _) => format!("{node} {is}"),
        (node, None, Some(is)) => format!("{node}'s disk {is}"),
        (node, None, None) if reason.is_empty() => format!("{node}'s disks are unavailable"),
        (node, None, None) => format!("{reason} on {node}"),
    }
}

/// A node that could take the replica, where all of those are cordoned.
fn cordoned<'a>(cluster: &Cluster, refusals: &'a [PlacementRefusal]) -> Option<&'a str> {
    let near = || refusals.iter().filter(|one| one.obstacle != Obstacle::AntiAffinity);
    let all = near().all(|one| nodes::is_cordoned(cluster, &one.node));
    near().next().filter(|_| all).map(|one| one.node.as_str())
}

/// The only node that comes into question, with its first disk.
fn place<'a>(cause: &'static Cause, refusals: &'a [PlacementRefusal]) -> Option<&'a PlacementRefusal> {
    if ![&SPACE_SHORT, &OVER_PROVISIONED, &NODES_UNAVAILABLE].contains(&cause) {
        return None;
    }
    let nearest = placement::nearest(refusals);
    let mut places = refusals.iter().filter(|refusal| Some(refusal.obstacle) == nearest);
    let first = places.next()?;
    places.all(|other| other.node == first.node).then_some(first)
}

/// True for a volume that has all its replicas and wants one more where its workload runs. Longhorn creates it with a
/// hardNodeAffinity and keeps trying as long as the workload runs there (longhorn-manager v1.6.4 and v1.12.1
/// controller/volume_controller.go replenishReplicas).
fn is_one_more(volume: &Volume, placed: usize) -> bool {
    let complete = i64::try_from(placed).is_ok_and(|placed| placed >= volume.spec.number_of_replicas.0);
    complete && volume.spec.data_locality != DataLocality::StrictLocal
}

/// True while a node is cordoned that could take the replica, during the first hour of waiting.
fn is_planned(cluster: &Cluster, since: Option<Timestamp>, refusals: &[&PlacementRefusal]) -> bool {
    since.is_some_and(|since| cluster.age(since) < MAINTENANCE)
        && refusals.iter().any(|refusal| nodes::is_cordoned(cluster, &refusal.node))
}
