//! What Longhorn left behind: orphans, engines and replicas without volume, replicas that pile up.
//!
//! Facts: a manager lists directories on its disks that no replica owns, and from 1.9 on processes that no engine or replica owns, as
//! Orphans (longhorn-manager v1.3.3 and v1.12.1 controller/node_controller.go, controller/instance_manager_controller.go). They are
//! deleted by hand, or by the setting orphan-auto-deletion, from 1.9 on orphan-resource-auto-deletion. Engines and replicas name
//! their volume in `spec.volumeName` and are deleted with it; a volume has as many replicas as wanted, and a few that failed. A deleted
//! volume keeps its finalizer until its engine, its replicas and its snapshots are gone (longhorn-manager v1.3.3 to v1.12.1
//! controller/volume_controller.go syncVolume; #4278).

mod backups;
mod rollback;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::patience::{APART, DELETION};
use crate::facts::{api, nodes, text, volumes};
use crate::longhorn::Resource::*;
use crate::longhorn::{CsiAttachment, LonghornNode, Meta, Orphan, OrphanType, Pod, Volume};

const TARGETS: &str = "kubectl -n <namespace> get backuptargets.longhorn.io";

causes! {
    REPLICAS_PILED_UP = warning "replicas_piled_up"
        "a volume has far too many replicas: new ones keep failing, and none is removed"
        fix "Read the newest replica's conditions and its instance manager's log: they show why new replicas fail. Do not delete replicas: \
             Longhorn removes failed ones once the volume is healthy." [
            read "kubectl -n <namespace> get replicas.longhorn.io -l longhornvolume=<volume> --sort-by=.metadata.creationTimestamp",
            read "kubectl -n <namespace> get volumes.longhorn.io <volume> -o jsonpath='{.status.conditions}'",
        ];
    WITHOUT_VOLUME = warning "without_volume"
        "engines or replicas refer to a volume that does not exist"
        fix "Check with the volume's owner whether the data is still needed: each replica's directory holds it. Find \
             out what deleted the volume. Do not delete anything until you know both." [
            read "kubectl -n <namespace> get engines.longhorn.io,replicas.longhorn.io -l longhornvolume=<object>",
            read "kubectl get persistentvolumes,persistentvolumeclaims -A | grep <object>",
        ];
    DELETION_STUCK = warning "deletion_stuck"
        "a volume, node or orphan was deleted over an hour ago but still exists"
        but "info while a replica of the volume is on a node that is down"
        fix "Check the longhorn-manager's log on <owner> for the engine, replica or snapshot that the volume is waiting for. Do not remove a \
             finalizer: the data would stay on disk." [
            read "kubectl -n <namespace> get engines.longhorn.io,replicas.longhorn.io,snapshots.longhorn.io -l longhornvolume=<volume>",
            read "kubectl -n <namespace> logs <manager> -c longhorn-manager --since=1h | grep <volume>",
        ]
        way OF_ANOTHER_KIND "the stuck object is a node or an orphan"
            fix "Read the managers' logs to find out why <object> still exists. Do not remove a finalizer until you know why." [
                read "kubectl -n <namespace> logs -l app=longhorn-manager --prefix --tail=-1 | grep <object>",
                read "kubectl -n <namespace> get nodes.longhorn.io,orphans.longhorn.io",
            ]
        way HALF_UNINSTALLED "Longhorn's own pods were deleted first"
            fix "Save the replica directories that you need: the next manager deletes them. Then apply the same release's manifest and remove \
                 Longhorn with its uninstaller." [
                read "kubectl -n <namespace> get daemonsets,deployments,pods",
                read "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
            ];
    DETACH_STUCK = warning "detach_stuck" "a volume is still attached an hour after Kubernetes detached it, because its attacher fails"
        fix "Read the attachment's detach error and fix its cause. csi-attacher retries automatically. Do not remove the finalizer while a pod uses the \
             volume." [
            read "kubectl describe volumeattachments.storage.k8s.io <attachment>",
            read "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>",
            read "kubectl -n <namespace> logs -l app=csi-attacher --tail=50",
        ]
        way PV_MISSING "its PersistentVolume is missing"
            fix "Create PersistentVolume <value> again (volumeHandle <volume>, reclaim policy Retain) once no pod on <node> uses it: csi-attacher then \
                 detaches the volume. Do not delete the Longhorn volume.";
    BACKUP_DELETION_STUCK = warning "backup_deletion_stuck" "backups were deleted over a day ago, but their store still has them"
        fix "Read the Backup's message and the managers' logs: usually the store's credentials lack permission to remove objects. Longhorn \
             retries. Do not remove finalizers: the data would stay."
            [read "kubectl -n <namespace> logs -l app=longhorn-manager --prefix --tail=-1 | grep -i 'delete.*backup'", read TARGETS]
        way RETAINED "the store's retention protects backups"
            fix "Compare the bucket's retention (object lock) with the recurring jobs' retain: the store rejects deletions before the retention \
                 ends. Shorten the retention, or raise retain. Do not remove finalizers." [read "kubectl -n <namespace> get \
                 recurringjobs.longhorn.io", read TARGETS];
    ROLLED_BACK = warning "rolled_back"
        "volumes are running, but their Longhorn objects are missing (typical after restoring an older etcd backup)"
        fix "Keep all Orphans and do not restart instance managers: only they hold the newest data. If etcd was restored, recover the \
             volume from its replica directories or its newest backup." [
            read "kubectl -n <namespace> get orphans.longhorn.io -o wide",
            read "kubectl -n <namespace> get settings.longhorn.io orphan-resource-auto-deletion",
            read "kubectl -n <namespace> get backups.longhorn.io -l backup-volume=<object>",
        ]
        way VANISHED "volumes are missing, but their data is in orphans"
            fix "Keep all Orphans: they hold the volume's newest data. Check whether etcd was rolled back. Then restore volume <object> from its newest \
                 backup, or recover it from a replica directory." proven "no object has its name, so nothing is overwritten, and all Orphans stay";
    ORPHANS = info "orphans"
        "a node has data or processes that belong to no Longhorn object" but "warning for a hundred orphans or more"
        fix "Check whether you need the data: the replicas were probably deleted while their disk was unavailable. If you do not need it, \
             delete the Orphan objects: that deletes the data." [
            read "kubectl -n <namespace> get orphans.longhorn.io -l longhornnode=<node> --sort-by=.metadata.creationTimestamp",
        ] proven "no object owns the data; the fix asks to check that it is not needed"
        way NEEDED "the Orphans' volume is in use"
            fix "Keep the Orphans: volume <value> is in use, but Longhorn no longer has it. The Orphans' directories may be its only copy. Do \
                 not enable orphan-resource-auto-deletion.";
}

pub static CHECK: Check = check! {
    id: "left_behind",
    title: "Orphans and leftovers",
    summary: "Data, processes, engines or replicas have no owner, or a volume's replicas are piling up.",
    needs: &[Volumes, Engines, Replicas, Orphans],
    uses: &[
        Settings, Pods, LonghornNodes, KubeNodes, DaemonSets, CsiAttachments, Backups, BackupTargets,
        InstanceManagers,
    ],
    causes: ALL,
    ways: &[WAYS],
    gauges: GAUGES,
    alerts: &[alert! { "LonghornLeftBehind",
        when: When::Found(&[
            &REPLICAS_PILED_UP, &WITHOUT_VOLUME, &DELETION_STUCK, &DETACH_STUCK, &BACKUP_DELETION_STUCK,
            &ROLLED_BACK, &ORPHANS,
        ]),
        only: Some(Severity::Warning),
        for_: "30m",
        summary: "Longhorn has left replicas, engines or orphans behind.",
        description: "Longhorn has left objects behind: {{ $labels.object }}. They take space and slow down every manager. Find out where they come \
                      from before you delete any.",
        why: "Leftovers are normal for a few seconds after a volume is deleted or a replica is rebuilt. The alert waits 30 min to ignore them.",
    }],
    panels: &[Panel {
        dashboard: Dashboard::Storage,
        title: "Orphans",
        description: "Data and processes that no Longhorn object owns, by node.",
        no_data: "there are no orphans, or the exporter is not reporting",
        ..Panel::TABLE.of(&ORPHAN_COUNT)
    }],
};

gauges! {
    ORPHAN_COUNT = Gauge "longhorn_health_orphans" ["node", "orphan_type"]
        "Orphans by node and type: replica is data on a disk, others are processes.",
        absent "there is none",
        example "longhorn_health_orphans > 0";
}

/// So many on a node are no accident.
const WARN_AT: usize = 100;
/// Replicas that failed are kept beside those that are wanted; so many times more are not.
const TIMES: i64 = 5;
const SPARE: i64 = 10;

fn run(cluster: &Cluster, out: &mut Outcome) {
    piled_up(cluster, out);
    without_volume(cluster, out);
    deletions(cluster, out);
    backups::run(cluster, out);
    let rolled_back = rollback::volumes(cluster);
    rollback::run(cluster, out, &rolled_back);
    let lost = volumes::lost(cluster);
    let vanished = rollback::vanished(cluster, &lost);
    rollback::find_vanished(cluster, out, &vanished);
    let missing: Vec<&str> = lost.keys().chain(rolled_back.keys()).chain(vanished.keys()).copied().collect();
    orphans(cluster, out, &missing);
}

fn piled_up(cluster: &Cluster, out: &mut Outcome) {
    for volume in cluster.objects.volumes.iter().filter(|volume| !volume.metadata.is_deleting()) {
        let wanted = volume.spec.number_of_replicas.0.max(1);
        let of = &volume.metadata.name;
        let kept = || cluster.replicas_of(of).filter(|replica| !replica.metadata.is_deleting());
        let many = usize::try_from(wanted.saturating_mul(TIMES).saturating_add(SPARE)).unwrap_or(usize::MAX);
        if kept().count() < many {
            continue;
        }
        let of_volume: Vec<_> = kept().collect();
        let users = vec![cluster.volume_ref(&volume.metadata.name)];
        let healthy = of_volume.iter().filter(|replica| volumes::is_healthy(replica)).count();
        let failed = of_volume.iter().filter(|replica| replica.spec.failed_at.is_set()).count();
        let message =
            format!("{} has {} replicas instead of {wanted}", text::claims_of(&users), of_volume.len());
        let mut finding = Finding::about(&REPLICAS_PILED_UP, volumes::object(cluster, volume), message)
            .volumes(users)
            .impact(
                "none for volumes. Every manager gets slower, and each leftover replica may take disk space.",
            )
            .fact(format!("the replicas include {healthy} healthy and {failed} failed ones"));
        let ages = of_volume.iter().filter_map(|replica| replica.metadata.created());
        if let (Some(first), Some(last)) = (ages.clone().min(), ages.max()) {
            finding =
                finding.since(Some(first)).fact(format!("first replica created at {first}, last at {last}"));
        }
        out.report(finding);
    }
}

fn without_volume(cluster: &Cluster, out: &mut Outcome) {
    // an object that did not decode may be the volume
    if !cluster.decoded_all(Volumes) {
        return;
    }
    let engines =
        cluster.objects.engines.iter().map(|one| ("Engine", &one.metadata, one.spec.volume_name.as_str()));
    let replicas =
        cluster.objects.replicas.iter().map(|one| ("Replica", &one.metadata, one.spec.volume_name.as_str()));
    let mut left: BTreeMap<&str, Vec<(&str, &Meta)>> = BTreeMap::new();
    for (kind, meta, volume) in engines.chain(replicas) {
        let is_left =
            !volume.is_empty() && cluster.objects.volumes.get(volume).is_none() && !meta.is_deleting();
        if is_left {
            left.entry(volume).or_default().push((kind, meta));
        }
    }
    for (volume, objects) in left {
        let newest = objects.iter().filter_map(|(_, meta)| meta.created()).max();
        let age = observe(cluster, out, "without_volume", volume, Begun::NotBefore(newest));
        if !age.at_least(APART, Unknown::Counts) {
            continue;
        }
        let names: Vec<String> = objects.iter().map(|(kind, meta)| format!("{kind} {}", meta.name)).collect();
        out.report(
            Finding::about(
                &WITHOUT_VOLUME,
                cluster.object::<Volume>(volume),
                format!("{} of missing volume {volume} still exist", counted(objects.len(), "object")),
            )
            .since(age.since)
            .impact("none for other volumes. The objects take space, and any replicas still hold the volume's data.")
            .facts([api(format!("these objects still exist: {}", text::listed(&names))), age.evidence()]),
        );
    }
}

fn deletions(cluster: &Cluster, out: &mut Outcome) {
    let set = cluster.manager_daemon_set();
    let dismantled = cluster.knows_all(DaemonSets)
        && set.is_none_or(|set| set.metadata.is_deleting())
        && cluster.manager_pods().all(|pod| pod.metadata.is_deleting());
    // nothing goes while no manager works, which others say
    if !dismantled && !cluster.manager_pods().any(Pod::is_ready) {
        return;
    }
    for volume in cluster.objects.volumes.iter().filter(|volume| volume.metadata.is_deleting()) {
        let name = volume.metadata.name.as_str();
        let begun = Begun::At(volume.metadata.deletion_timestamp.get());
        let age = observe(cluster, out, "deletion", name, begun);
        if !age.at_least(DELETION, Unknown::Counts) {
            continue;
        }
        let engines = cluster.engines_of(name).map(|engine| format!("engine {}", engine.metadata.name));
        let replicas = cluster.replicas_of(name);
        let replicas = replicas.map(|one| format!("replica {} on {}", one.metadata.name, one.spec.node_id));
        let left: Vec<String> = engines.chain(replicas).collect();
        let left = match left.is_empty() {
            true => "the engine and replicas have been deleted, so a snapshot is probably stuck".to_owned(),
            false => format!("these objects still exist: {}", text::listed(&left)),
        };
        let away = cluster.replicas_of(name).find_map(|one| nodes::down(cluster, &one.spec.node_id));
        let users = vec![cluster.volume_ref(name)];
        let message = format!("{} was deleted but still exists", text::claims_of(&users));
        let mut finding = Finding::about(&DELETION_STUCK, volumes::object(cluster, volume), message)
            .since(age.since)
            .volumes(users)
            .impact("the volume's space is not reclaimed, and no volume of that name can be created")
            .with(Name::Owner, volume.status.owner_id.as_str())
            .fact(left);
        if away.is_some() {
            finding = finding.severity(Severity::Info);
        }
        if dismantled {
            finding = finding.way(&HALF_UNINSTALLED);
        }
        out.report(finding.facts(away));
    }
    attachments(cluster, out);
    let nodes = cluster.objects.longhorn_nodes.iter().map(|one| (&one.metadata, true));
    let orphans = cluster.objects.orphans.iter().map(|one| (&one.metadata, false));
    for (meta, is_node) in nodes.chain(orphans).filter(|(meta, _)| meta.is_deleting()) {
        let object = match is_node {
            true => cluster.object::<LonghornNode>(&meta.name),
            false => cluster.object::<Orphan>(&meta.name),
        };
        let age = observe(cluster, out, "deletion", &meta.name, Begun::At(meta.deletion_timestamp.get()));
        if age.at_least(DELETION, Unknown::Counts) {
            let message = format!("{object} was deleted but still exists");
            let finding = Finding::about(&DELETION_STUCK, object, message).since(age.since);
            let way = if dismantled { &HALF_UNINSTALLED } else { &OF_ANOTHER_KIND };
            out.report(finding.way(way).impact("none for volumes"));
        }
    }
}

/// Attachments that csi-attacher does not let go on a node that is Ready: it looks for the PersistentVolume (external-attacher v4.10.0
/// pkg/controller/csi_handler.go csiDetach).
fn attachments(cluster: &Cluster, out: &mut Outcome) {
    for csi in cluster.objects.csi_attachments.iter().filter(|csi| csi.metadata.is_deleting()) {
        let (name, node) = (csi.metadata.name.as_str(), csi.spec.node_name.as_str());
        let begun = Begun::At(csi.metadata.deletion_timestamp.get());
        let said = csi.status.detach_error.message.as_str();
        let stuck = observe(cluster, out, "detach", name, begun).at_least(DELETION, Unknown::Counts);
        if !stuck || said.is_empty() || nodes::kube_ready(cluster, node) != Some(true) {
            continue;
        }
        let users = cluster.volume_refs([volumes::of_attachment(cluster, csi)]);
        let lost = said.to_ascii_lowercase().contains("persistentvolume") && said.contains("not found");
        let why = if lost { ": its PersistentVolume is missing" } else { "" };
        let message = format!("{} cannot detach from {node}{why}", text::claims_of(&users));
        out.report(
            Finding::about(&DETACH_STUCK, cluster.object::<CsiAttachment>(name), message)
                .way(lost.then_some(&PV_MISSING))
                .with(Name::Attachment, name)
                .with(Name::Value, csi.spec.source.persistent_volume_name.as_str())
                .node(node)
                .volumes(users)
                .since(csi.metadata.deletion_timestamp.get())
                .impact("the volume cannot attach elsewhere, and holds up a drain of its node")
                .fact(api(format!("detach error: {}", text::quoted(said))).quoting(said)),
        );
    }
}

/// `missing` are the volumes that something still waits for, or that may be restored.
fn orphans(cluster: &Cluster, out: &mut Outcome, missing: &[&str]) {
    let mut on: BTreeMap<&str, BTreeMap<OrphanType, Vec<&Orphan>>> = BTreeMap::new();
    for orphan in cluster.objects.orphans.iter().filter(|orphan| !orphan.metadata.is_deleting()) {
        on.entry(&orphan.spec.node_id).or_default().entry(orphan.spec.orphan_type).or_default().push(orphan);
    }
    for (node, types) in on {
        let needed =
            missing.iter().find(|volume| types.values().flatten().any(|one| volumes::is_of(one, volume)));
        let all: usize = types.values().map(Vec::len).sum();
        let oldest: Option<Timestamp> =
            types.values().flatten().filter_map(|orphan| orphan.metadata.created()).min();
        let severity = if all >= WARN_AT { Severity::Warning } else { Severity::Info };
        let mut finding = Finding::about(
            &ORPHANS,
            cluster.object::<LonghornNode>(node),
            format!("{node} has {}", counted(all, "orphan")),
        )
        .severity(severity)
        .node(node)
        .since(oldest)
        .impact("none for volumes. Orphans take disk space, or memory in instance managers.")
        .way(needed.map(|_| &NEEDED))
        .named(needed.map(|volume| (Name::Value, (*volume).to_owned())));
        for (orphan_type, orphans) in types {
            out.sample(&ORPHAN_COUNT, &[node, orphan_type.as_str()], orphans.len() as f64);
            let first = orphans.iter().min_by_key(|orphan| orphan.metadata.created());
            let of = |key| first.and_then(|orphan| orphan.spec.parameters.get(key)).map(|text| text.as_str());
            let named = of("DataName").or(of("InstanceName")).unwrap_or_default();
            finding = finding.fact(format!(
                "the node has {} of type {} (the oldest is {named})",
                counted(orphans.len(), "orphan"),
                orphan_type.as_str()
            ));
        }
        out.report(finding);
    }
}
