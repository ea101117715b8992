//! Whose data is hurt: the second line of every output.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::at_risk::{self, AtRisk};
use crate::check::{OfData, VolumeRef, counted};
use crate::cluster::{Cluster, Readability};
use crate::facts::{nodes, policies, volumes};
use crate::longhorn::{Resource, Volume, VolumeHealth, VolumeState};
use crate::word_enum::word_enum;

/// This many volumes of each state are listed in the report.
const MAX_LISTED: usize = 100;
/// The number of volumes that are named in a line.
const MAX_NAMED: usize = 5;

word_enum! {
    /// How the data of a volume is hurt, the worst first. A volume is in one of them.
    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Hurt {
        /// No usable replica: nothing can be read or written.
        Faulted = "faulted",
        /// Attached on, or attaching to, a node that is down: what uses it stands still.
        NodeDown = "node_down",
        /// The NFS server of an RWX volume is not there: every pod that uses it waits.
        NotServed = "not_served",
        /// Its file system is mounted read-only.
        ReadOnly = "read_only",
        /// One of several replicas is left: the next failure takes the data.
        LastCopy = "last_copy",
        /// Too few replicas, and one is being rebuilt.
        Rebuilding = "rebuilding",
        /// Too few replicas.
        Degraded = "degraded",
        /// Faulted for Longhorn, but no replica was ever in use: nothing was written, and nothing can be lost. Longhorn has the same word
        /// for a first attachment all of whose replicas failed (longhorn-manager v1.9.2 controller/volume_controller.go
        /// isAutoSalvageNeeded, isFirstAttachment).
        NeverUp = "never_up",
    }
}

impl Hurt {
    /// As people read it.
    pub fn words(self) -> &'static str {
        match self {
            Hurt::Faulted => "faulted",
            Hurt::NodeDown => "on a node that is down",
            Hurt::NotServed => "not served (RWX)",
            Hurt::ReadOnly => "read-only",
            Hurt::LastCopy => "on the last copy",
            Hurt::Rebuilding => "rebuilding",
            Hurt::Degraded => "degraded",
            Hurt::NeverUp => "never up (reported as faulted; nothing was ever written)",
        }
    }
}

/// Volumes whose data is at stake. The counts by robustness are under `cluster.volumes_by_robustness`.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Data {
    /// False where volumes cannot be read: nothing is known about data then.
    pub known: bool,
    /// The hurt volumes by how they are hurt, the worst first.
    pub hurt: Vec<HurtVolumes>,
    /// One sentence about all volumes, the hurt ones by claim.
    pub line: String,
    /// Volumes whose healthy copies are lost with one disk, node or zone, or are one; left out where that is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_risk: Option<Vec<AtRisk>>,
}

/// Volumes that are hurt alike.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HurtVolumes {
    /// How.
    pub how: Hurt,
    /// How many.
    pub count: usize,
    /// The first 100 of them.
    pub volumes: Vec<HurtVolume>,
}

/// One of them.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HurtVolume {
    /// The volume.
    #[serde(flatten)]
    pub volume: VolumeRef,
    /// Replicas that hold all data, of those that it should have; left out where that says no more than how it is hurt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies: Option<(usize, i64)>,
    /// How far the rebuild is that is nearest to its end, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuilt_percent: Option<i64>,
}

/// Volumes by how they are; every word is there, also with none.
pub type Counts = BTreeMap<&'static str, usize>;

/// How many volumes are how.
pub fn counts(cluster: &Cluster) -> Counts {
    let mut counts: Counts = VolumeHealth::ALL.map(|health| (health.as_str(), 0)).into();
    for volume in cluster.objects.volumes.iter() {
        *counts.entry(volume.status.health().as_str()).or_default() += 1;
    }
    counts
}

/// How the data of the cluster is, where this is what all findings say of it.
pub fn of(cluster: &Cluster, of_data: &[(OfData, Vec<String>)]) -> (Counts, Data) {
    let counts = counts(cluster);
    let mut hurt: BTreeMap<Hurt, HurtVolumes> = BTreeMap::new();
    let found = found(of_data);
    let none_ready = of_data.iter().any(|(what, _)| *what == OfData::Unwritten);
    // of the loss of all nodes the incident speaks
    let away = if none_ready { BTreeSet::new() } else { away(cluster) };
    for volume in cluster.objects.volumes.iter() {
        let health = volume.status.health();
        let stands = volumes::needed_on(volume).is_some_and(|node| away.contains(node));
        let of_finding = found.get(volume.metadata.name.as_str()).copied();
        // without its NFS server a shared volume stands still for pods of every node
        let known =
            if stands && of_finding != Some(Hurt::NotServed) { Some(Hurt::NodeDown) } else { of_finding };
        let Some(one) = look(cluster, volume, health, known) else { continue };
        let (how, one) = one;
        let alike = hurt.entry(how).or_insert_with(|| HurtVolumes { how, count: 0, volumes: Vec::new() });
        alike.count += 1;
        if alike.volumes.len() < MAX_LISTED {
            alike.volumes.push(one);
        }
    }
    let hurt: Vec<HurtVolumes> = hurt.into_values().collect();
    let absent = cluster.absence().is_some();
    // volumes that are still followed are not written once their managers are gone
    let unseen = cluster.has_lost(Resource::Pods);
    let known = cluster.can_read(Resource::Volumes) && !absent && !unseen;
    let cut = policies::cut_off(cluster, "longhorn-manager");
    let line = match known {
        // nothing is left that would write that a volume is hurt
        true if none_ready => {
            format!("{} (last recorded while a node was Ready)", line(cluster, &counts, &hurt))
        }
        true if let Some(cut) = cut => {
            let format = if cluster.age(cut.since()).as_hours() < 24 { "%H:%M" } else { "%Y-%m-%d %H:%M" };
            let at = cut.since().strftime(format);
            format!("{} (as written before {at}: no manager can write since)", line(cluster, &counts, &hurt))
        }
        true => line(cluster, &counts, &hurt),
        false if cluster.readability(Resource::Volumes) != Readability::Readable => NOT_KNOWN.to_owned(),
        false if !absent => {
            "unknown: cannot read whether a longhorn-manager still updates the volumes".to_owned()
        }
        false if cluster.objects.volumes.is_empty() => format!("no volumes in {}", cluster.namespace),
        false => "unknown: no longhorn-manager is running to update the volumes".to_owned(),
    };
    (counts, Data { known, hurt, line, at_risk: at_risk::of(cluster) })
}

/// The nodes that are down.
fn away(cluster: &Cluster) -> BTreeSet<&str> {
    let names = cluster.objects.longhorn_nodes.iter().map(|node| node.metadata.name.as_str());
    names.filter(|name| nodes::down(cluster, name).is_some()).collect()
}

/// What findings say of volumes that robustness does not; of several the worst.
fn found(of_data: &[(OfData, Vec<String>)]) -> BTreeMap<&str, Hurt> {
    let mut found: BTreeMap<&str, Hurt> = BTreeMap::new();
    for (what, volumes) in of_data {
        let how = match what {
            OfData::NotServed => Hurt::NotServed,
            OfData::ReadOnly => Hurt::ReadOnly,
            OfData::AsWritten | OfData::NeverUp | OfData::Unwritten => continue,
        };
        for volume in volumes {
            let worst = found.entry(volume).or_insert(how);
            *worst = how.min(*worst);
        }
    }
    found
}

fn look(
    cluster: &Cluster,
    volume: &Volume,
    health: VolumeHealth,
    found: Option<Hurt>,
) -> Option<(Hurt, HurtVolume)> {
    let name = &volume.metadata.name;
    let degraded = health == VolumeHealth::Degraded;
    let last_copy = volumes::last_copy(cluster, volume);
    let engine = degraded.then(|| volumes::current_engine(cluster, volume)).flatten();
    let rebuild = engine.and_then(volumes::rebuild);
    let how = match (health, found) {
        (VolumeHealth::Faulted, _)
            if cluster.can_read(Resource::Replicas) && volumes::was_never_up(cluster, volume) =>
        {
            Hurt::NeverUp
        }
        (VolumeHealth::Faulted, _) => Hurt::Faulted,
        (_, Some(found)) => found,
        _ if !degraded => return None,
        _ if last_copy.is_some() => Hurt::LastCopy,
        _ if rebuild.is_some() => Hurt::Rebuilding,
        _ => Hurt::Degraded,
    };
    let copies = last_copy.filter(|_| how == Hurt::LastCopy);
    let rebuilt_percent = rebuild.and_then(|rebuild| rebuild.progress.into_iter().max());
    Some((how, HurtVolume { volume: cluster.volume_ref(name), copies, rebuilt_percent }))
}

const NOT_KNOWN: &str = "unknown: volumes could not be read";

fn line(cluster: &Cluster, counts: &Counts, hurt: &[HurtVolumes]) -> String {
    let mut parts = Vec::new();
    for alike in hurt {
        let what = if parts.is_empty() { counted(alike.count, "volume") } else { alike.count.to_string() };
        parts.push(format!("{what} {}: {}", alike.how.words(), named(alike)));
    }
    if !parts.is_empty() {
        return parts.join(" · ");
    }
    let count = |health: VolumeHealth| counts.get(health.as_str()).copied().unwrap_or_default();
    let rest = [VolumeHealth::Healthy, VolumeHealth::Detached].map(|health| (health.as_str(), count(health)));
    // of one on its way Longhorn writes the robustness once it is there
    let unknown = cluster.objects.volumes.iter().filter(|one| one.status.health() == VolumeHealth::Unknown);
    let mut on_the_way: BTreeMap<&str, usize> = BTreeMap::new();
    for volume in unknown {
        let state = volume.status.state;
        let moves = [VolumeState::Attaching, VolumeState::Detaching, VolumeState::Deleting].contains(&state);
        *on_the_way
            .entry(if moves { state.as_str() } else { VolumeHealth::Unknown.as_str() })
            .or_default() += 1;
    }
    for (word, number) in rest.into_iter().chain(on_the_way).filter(|(_, number)| *number > 0) {
        let what = if parts.is_empty() { counted(number, "volume") } else { number.to_string() };
        parts.push(format!("{what} {word}"));
    }
    if parts.is_empty() { "no volumes".to_owned() } else { parts.join(", ") }
}

fn named(alike: &HurtVolumes) -> String {
    let mut sorted: Vec<&HurtVolume> = alike.volumes.iter().collect();
    sorted.sort_unstable_by_key(|one| one.volume.called());
    let mut names: Vec<String> = sorted.into_iter().take(MAX_NAMED).map(called).collect();
    let more = alike.count.saturating_sub(names.len());
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    names.join(", ").replace(", and ", " and ")
}

fn called(one: &HurtVolume) -> String {
    let copies = one.copies.map(|(healthy, wanted)| format!("{healthy} of {wanted}"));
    let rebuilt = one.rebuilt_percent.map(|percent| format!("{percent} %"));
    let more: Vec<String> = copies.into_iter().chain(rebuilt).collect();
    let name = one.volume.called();
    if more.is_empty() { name.to_owned() } else { format!("{name} ({})", more.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MANAGER, cluster};

    fn volume(name: &str, claim: &str, state: &str, robustness: &str) -> String {
        format!(
            "apiVersion: longhorn.io/v1beta2\nkind: Volume\nmetadata: {{name: {name}, namespace: longhorn-system}}\n\
             status: {{state: {state}, robustness: {robustness}, kubernetesStatus: {{namespace: db, pvcName: {claim}}}}}\n---\n"
        )
    }

    fn line_of(volumes: &[String]) -> String {
        of(&cluster(&(MANAGER.to_owned() + &volumes.concat())), &[]).1.line
    }

    #[test]
    fn hurt_claims_are_named_and_the_faulted_ones_come_first() {
        let hurt = [
            volume("a", "wal", "attached", "degraded"),
            volume("b", "data", "detached", "faulted"),
            volume("c", "logs", "attached", "healthy"),
        ];
        assert_eq!(line_of(&hurt), "1 volume faulted: db/data · 1 degraded: db/wal");
    }

    #[test]
    fn without_managers_it_says_whether_volumes_are_there_at_all() {
        let line = |cluster: &Cluster| of(cluster, &[]).1.line;
        let now = "2026-01-01T00:00:00Z";
        // as an uninstallation leaves it
        assert_eq!(line(&crate::testing::live_at(now, "")), "no volumes in longhorn-system");
        let one = crate::testing::live_at(now, &volume("a", "x", "detached", "unknown"));
        assert_eq!(line(&one), "unknown: no longhorn-manager is running to update the volumes");
        let mut blind = one;
        for readability in [Readability::Forbidden, Readability::NotInstalled, Readability::Stale] {
            blind.resources.entry(Resource::Volumes).or_default().readability = readability;
            assert_eq!(line(&blind), NOT_KNOWN, "{readability:?}");
        }
        assert_eq!(line(&crate::testing::partial("")), NOT_KNOWN);
    }

    /// Seen with an exporter whose ServiceAccount went with Longhorn's namespace: 403 and 401 for all, and volumes were followed on.
    #[test]
    fn what_no_one_may_write_any_more_is_not_known() {
        let objects = MANAGER.to_owned() + &volume("a", "x", "detached", "unknown");
        let of_rights = |answered: bool| {
            let mut live = crate::testing::live_at("2026-01-01T00:00:00Z", &objects);
            let status = live.resources.get_mut(&Resource::Pods).unwrap();
            status.readability = Readability::Forbidden;
            status.last_success = answered.then_some(live.now);
            let data = of(&live, &[]).1;
            (data.known, data.line)
        };
        let lost = "unknown: cannot read whether a longhorn-manager still updates the volumes";
        assert_eq!(of_rights(true), (false, lost.to_owned()));
        assert_eq!(of_rights(false), (true, "1 volume detached".to_owned()), "a right that was never given");
    }

    #[test]
    fn a_volume_that_was_never_up_is_not_told_as_lost_data() {
        let replica = |name: &str, healthy: &str| {
            format!(
                "apiVersion: longhorn.io/v1beta2\nkind: Replica\nmetadata: {{name: {name}-r, namespace: longhorn-system}}\n\
                 spec: {{volumeName: {name}{healthy}}}\n---\n"
            )
        };
        let objects = [
            volume("a", "new", "detached", "faulted"),
            replica("a", ""),
            volume("b", "data", "detached", "faulted"),
            replica("b", ", healthyAt: '2026-01-01T00:00:00Z', failedAt: '2026-02-01T00:00:00Z'"),
        ];
        assert_eq!(
            line_of(&objects),
            "1 volume faulted: db/data · 1 never up (reported as faulted; nothing was ever written): db/new"
        );
        // without its replicas nothing tells that it was never up
        assert_eq!(line_of(&objects[..1]), "1 volume faulted: db/new");
    }

    #[test]
    fn a_detached_volume_is_called_detached() {
        let quiet = [volume("a", "x", "attached", "healthy"), volume("b", "z", "detached", "unknown")];
        assert_eq!(line_of(&quiet), "1 volume healthy, 1 detached");
        assert_eq!(line_of(&[]), "no volumes");
    }

    #[test]
    fn what_is_attached_on_a_node_that_is_down_stands_still() {
        let node = |name: &str, ready: &str| {
            format!(
                "apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {{name: {name}, namespace: longhorn-system}}\n\
                 status: {{conditions: [{{type: Ready, status: '{ready}', reason: KubernetesNodeNotReady}}]}}\n---\n\
                 apiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\n\
                 status: {{conditions: [{{type: Ready, status: '{}'}}]}}\n---\n",
                if ready == "True" { "True" } else { "Unknown" }
            )
        };
        let on = |volume: String, node: &str| {
            volume.replace("status: {", &format!("status: {{currentNodeID: {node}, "))
        };
        let objects = [
            node("gone", "False"),
            node("here", "True"),
            on(volume("a", "shop", "attached", "unknown"), "gone"),
            on(volume("b", "wal", "attached", "degraded"), "here"),
            on(volume("c", "logs", "detached", "unknown"), "gone"),
            on(volume("d", "data", "attached", "faulted"), "gone"),
        ];
        assert_eq!(
            line_of(&objects),
            "1 volume faulted: db/data · 1 on a node that is down: db/shop · 1 degraded: db/wal"
        );
    }

    #[test]
    fn what_was_written_before_all_nodes_went_is_not_called_the_present() {
        let cluster = cluster(&(MANAGER.to_owned() + &volume("a", "x", "attached", "healthy")));
        let none = [(OfData::Unwritten, Vec::new())];
        assert_eq!(of(&cluster, &none).1.line, "1 volume healthy (last recorded while a node was Ready)");
    }

    #[test]
    fn many_are_counted() {
        let many: Vec<_> = (0..8)
            .map(|number| volume(&format!("v{number}"), &format!("c{number}"), "attached", "degraded"))
            .collect();
        assert_eq!(line_of(&many), "8 volumes degraded: db/c0, db/c1, db/c2, db/c3, db/c4 and 3 more");
    }

    #[test]
    fn volumes_that_cannot_be_read_are_not_known() {
        let (_, data) = of(&cluster(""), &[]);
        assert!(!data.known);
        assert_eq!(data.line, NOT_KNOWN);
    }

    #[test]
    fn redundancy_and_rebuilds_are_told() {
        let volume = |name: &str| {
            volume(name, name, "attached", "degraded")
                .replace("status:", "spec: {numberOfReplicas: 3}\nstatus:")
        };
        let replica = |name: &str, of: &str, healthy: bool| {
            let healthy = if healthy { ", healthyAt: '2026-01-01T00:00:00Z'" } else { "" };
            format!(
                "apiVersion: longhorn.io/v1beta2\nkind: Replica\nmetadata: {{name: {name}, namespace: longhorn-system}}\n\
                 spec: {{volumeName: {of}, active: true{healthy}}}\n---\n"
            )
        };
        let engine = "apiVersion: longhorn.io/v1beta2\nkind: Engine\nmetadata: {name: b-e, namespace: longhorn-system}\n\
             spec: {volumeName: b, active: true}\nstatus: {replicaModeMap: {b-1: RW, b-2: RW, b-3: WO}, \
             rebuildStatus: {'tcp://10.0.0.1:10000': {isRebuilding: true, progress: 62}}}\n---\n";
        let objects = [
            volume("a"),
            replica("a-1", "a", true),
            replica("a-2", "a", false),
            volume("b"),
            replica("b-1", "b", true),
            replica("b-2", "b", true),
            engine.to_owned(),
            volume("c"),
            replica("c-1", "c", true),
            replica("c-2", "c", true),
        ];
        assert_eq!(
            line_of(&objects),
            "1 volume on the last copy: db/a (1 of 3) · 1 rebuilding: db/b (62 %) · 1 degraded: db/c"
        );
    }

    #[test]
    fn a_volume_is_told_by_the_worst_that_is_known_of_it() {
        let objects = [volume("a", "a", "attached", "healthy"), volume("b", "b", "attached", "degraded")];
        let cluster = cluster(&(MANAGER.to_owned() + &objects.concat()));
        let read_only = |name: &str| (OfData::ReadOnly, vec![name.to_owned()]);
        let not_served = (OfData::NotServed, vec!["a".to_owned()]);
        let (_, data) = of(&cluster, &[read_only("a"), not_served, read_only("b")]);
        assert_eq!(data.line, "1 volume not served (RWX): db/a · 1 read-only: db/b");
    }
}
