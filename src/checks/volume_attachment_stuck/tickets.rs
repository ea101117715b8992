//! Tickets that wait, and tickets that hold a volume for no one.

use jiff::Timestamp;

use super::*;
use crate::cluster::Readability;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::known_issues::{self, once_failed};
use crate::facts::patience::ATTACH;
use crate::facts::releases::manager_release;
use crate::facts::{api, bursts, nodes, text, volumes};
use crate::longhorn::{
    DataLocality, Replica, Volume, VolumeAttachment, VolumeRobustness, VolumeState, condition,
};

/// A wish for the volume.
struct Ticket<'a> {
    id: &'a str,
    kind: &'a str,
    node: &'a str,
    /// Longhorn has looked at it.
    seen: bool,
    satisfied: bool,
    /// Kubernetes has an attachment of this name.
    attached: bool,
    /// What Longhorn says about it.
    said: String,
    since: Option<Timestamp>,
}

pub(super) fn look(cluster: &Cluster, out: &mut Outcome) {
    for attachment in cluster.objects.volume_attachments.iter() {
        // nearly all are satisfied, and cost nothing but this look
        if !tickets(cluster, attachment).any(|one| !one.satisfied || is_left_over(cluster, &one)) {
            continue;
        }
        let Some(volume) = cluster.objects.volumes.get(&attachment.metadata.name) else { continue };
        let status = &volume.status;
        // a workload gets a volume that is being restored when that is over
        let not_yet = status.robustness == VolumeRobustness::Faulted || status.restore_required;
        if volume.metadata.is_deleting() || not_yet {
            continue;
        }
        // the attachment of a shared volume is that of its share manager
        let shared = volume.is_shared();
        let tickets = tickets(cluster, attachment).filter(|ticket| !shared || ticket.kind != "csi-attacher");
        let tickets: Vec<Ticket> = tickets.collect();
        let left_over: Vec<&Ticket> = tickets.iter().filter(|ticket| is_left_over(cluster, ticket)).collect();
        let waits = tickets.iter().find(|ticket| {
            let own = left_over.iter().any(|other| other.id == ticket.id);
            !ticket.satisfied && !own && (waits(volume) || attaches_to_gone_node(cluster, volume))
        });
        let waiting = waits.filter(|ticket| lasting(cluster, out, "waits", volume, ticket));
        // then the other waits for nothing but this
        let mut is_held = false;
        for ticket in left_over {
            if lasting(cluster, out, "left_over", volume, ticket) {
                is_held |= volume.status.current_node_id == *ticket.node;
                find_left_over(cluster, out, volume, ticket, waits);
            }
        }
        match waiting {
            Some(_) if is_between_engines(cluster, volume) => {} // find_broken_migrations
            Some(ticket) if is_broken_migration(cluster, volume, &tickets) => {
                find(cluster, out, &MIGRATION_BROKE, volume, ticket, &tickets);
            }
            // held by a node that is down: a check of its own
            Some(ticket)
                if nodes::down(cluster, &volume.status.current_node_id).is_none()
                    && !attaches_to_gone_node(cluster, volume)
                    && !is_held =>
            {
                find(cluster, out, &TICKET_WAITS, volume, ticket, &tickets);
            }
            _ => {}
        }
    }
}

/// Tickets of workloads. Those of Longhorn's own work wait for their turn behind them.
fn tickets<'a>(cluster: &'a Cluster, attachment: &'a VolumeAttachment) -> impl Iterator<Item = Ticket<'a>> {
    const OF_WORKLOADS: [&str; 3] = ["csi-attacher", "longhorn-api", "share-manager-controller"];
    let tickets = attachment.spec.attachment_tickets.iter();
    tickets.filter(|(_, ticket)| OF_WORKLOADS.contains(&ticket.kind.as_str())).map(move |(id, ticket)| {
        let status = attachment.status.attachment_ticket_statuses.get(id);
        let said = status.and_then(|status| condition(&status.conditions, "Satisfied"));
        let csi = cluster.objects.csi_attachments.get(id);
        let since = said.and_then(|said| said.last_transition_time.get());
        Ticket {
            id,
            kind: &ticket.kind,
            node: &ticket.node_id,
            seen: status.is_some(),
            satisfied: status.is_some_and(|status| status.satisfied),
            attached: csi.is_some(),
            said: said.map(|said| said.message.trim().to_owned()).unwrap_or_default(),
            since: since.max(csi.and_then(|csi| csi.metadata.created())),
        }
    })
}

/// The ticket of Longhorn's own work that keeps the volume where it is, where no workload does: a deletion of a snapshot that does not
/// end, for example (longhorn-manager v1.10.1 controller/snapshot_controller.go; harvester issue 9714).
fn own_work<'a>(
    cluster: &'a Cluster,
    volume: &Volume,
    of_workloads: &[Ticket],
) -> Option<(&'a str, &'a str)> {
    let at = volume.status.current_node_id.as_str();
    if at.is_empty() || of_workloads.iter().any(|ticket| ticket.satisfied && ticket.node == at) {
        return None;
    }
    let attachment = cluster.objects.volume_attachments.get(&volume.metadata.name)?;
    let mut here = attachment.spec.attachment_tickets.iter().filter(|(_, ticket)| ticket.node_id == *at);
    here.find(|(id, _)| !of_workloads.iter().any(|ticket| ticket.id == id.as_str()))
        .map(|(id, ticket)| (id.as_str(), ticket.kind.as_str()))
}

/// True when the volume rests elsewhere, or otherwise, than the ticket wants it: it is not on its way. A migration is no
/// different: the ticket of its target is satisfied as soon as its engine runs there, before the virtual machine moves
/// (longhorn-manager v1.9.2 controller/volume_attachment_controller.go updateStatusForDesiredAttachingAttachmentTicket).
fn waits(volume: &Volume) -> bool {
    let status = &volume.status;
    match status.state {
        VolumeState::Attached => true,
        VolumeState::Detached => volume.spec.node_id.is_empty(),
        _ => false,
    }
}

/// True where a ticket sends the volume to a node that Kubernetes no longer has: it never gets there.
pub(super) fn attaches_to_gone_node(cluster: &Cluster, volume: &Volume) -> bool {
    if volume.status.state != VolumeState::Attaching || !nodes::is_gone(cluster, &volume.spec.node_id) {
        return false;
    }
    let attachment = cluster.objects.volume_attachments.get(&volume.metadata.name);
    let mut tickets =
        attachment.into_iter().flat_map(|attachment| attachment.spec.attachment_tickets.values());
    tickets.any(|ticket| ticket.node_id == volume.spec.node_id)
}

/// From 1.7.0 on Longhorn does not choose between the two (selectAttachmentTicketToAttach); before, the first has it.
fn is_broken_migration(cluster: &Cluster, volume: &Volume, tickets: &[Ticket]) -> bool {
    let csi = tickets.iter().filter(|ticket| ticket.kind == "csi-attacher").count();
    let refuses = cluster.release().is_none_or(|release| release.at_least(1, 7, 0));
    refuses && volume.spec.migratable && volume.status.state == VolumeState::Detached && csi > 1
}

/// True for a migratable volume whose migration is over, and that has kept both engines, while no ticket or one is left.
fn is_between_engines(cluster: &Cluster, volume: &Volume) -> bool {
    let name = volume.metadata.name.as_str();
    let attachment = cluster.objects.volume_attachments.get(name);
    volume.spec.migratable
        && volume.spec.migration_node_id.is_empty()
        && !volume.status.current_migration_node_id.is_empty()
        && volume.status.state != VolumeState::Attached
        && !volume.metadata.is_deleting()
        && cluster.engines_of(name).count() > 1
        && attachment.is_none_or(|attachment| attachment.spec.attachment_tickets.len() < 2)
}

/// Migratable volumes whose migration no one asks for any more, which still have its engine, and are attached nowhere: up to 1.9 Longhorn
/// cannot choose between the two engines (longhorn-manager v1.9.2 controller/volume_controller.go processMigration; Longhorn's knowledge base,
/// troubleshooting-migratable-rwx-volume-stuck-in-detaching-loop). One that is taken back is attached meanwhile.
pub(super) fn find_broken_migrations(cluster: &Cluster, out: &mut Outcome) {
    for volume in cluster.objects.volumes.iter().filter(|volume| is_between_engines(cluster, volume)) {
        let (name, status) = (volume.metadata.name.as_str(), &volume.status);
        let attachment = cluster.objects.volume_attachments.get(name);
        let waits = attachment.and_then(|attachment| tickets(cluster, attachment).next());
        let failures = cluster.events_about(name).filter(|event| event.reason == "MigrationFailed");
        let failures = bursts::times(failures);
        // it says so at each round
        let unknown = if failures >= 3 { Unknown::Counts } else { Unknown::Waits };
        let begun = Begun::At(waits.as_ref().and_then(|ticket| ticket.since));
        let age = observe(cluster, out, "migration_over", name, begun);
        if !age.at_least(ATTACH, unknown) {
            continue;
        }
        let users = vec![cluster.volume_ref(name)];
        let whose = text::claims_of(&users);
        let finding = Finding::about(
            &MIGRATION_BROKE,
            volumes::object(cluster, volume),
            format!("{whose} is {} with two engines left by an aborted migration", status.state.as_str()),
        )
        .since(age.since)
        .impact(format!("{whose} cannot attach to any node"))
        .volumes(users)
        .way(&DETACHING_LOOP)
        .fact(format!(
            "spec.migrationNodeID is empty, status.currentMigrationNodeID is {}, and the volume has {}",
            status.current_migration_node_id,
            waits.map_or("no attachment ticket".into(), |one| format!(
                "an attachment ticket for {}",
                one.node
            ))
        ))
        .facts((failures > 0).then(|| {
            EvidenceSource::Event
                .says(format!("Event MigrationFailed occurred {} for the volume", counted(failures, "time")))
        }));
        sample(out, volume, &MIGRATION_BROKE);
        out.report(finding);
    }
}

/// Only a list that was read tells that something is missing; in a recording also one that has any.
fn csi_is_known(cluster: &Cluster) -> bool {
    let recorded = cluster.is_recorded() && !cluster.objects.csi_attachments.is_empty();
    cluster.readability(Resource::CsiAttachments) == Readability::Readable || recorded
}

/// True for a ticket of CSI without its attachment in Kubernetes, and for one of a node that is gone.
fn is_left_over(cluster: &Cluster, ticket: &Ticket) -> bool {
    let orphan = ticket.kind == "csi-attacher"
        && csi_is_known(cluster)
        && cluster.decoded_all(Resource::CsiAttachments)
        && !ticket.attached;
    orphan
        || nodes::is_gone(cluster, ticket.node)
        || ticket.id == "longhorn-ui" && ticket.seen && !ticket.satisfied
}

fn lasting(
    cluster: &Cluster,
    out: &mut Outcome,
    fact: &'static str,
    volume: &Volume,
    ticket: &Ticket,
) -> bool {
    let object = format!("{} {}", volume.metadata.name, ticket.id);
    // an old ticket may have come to wait, or lost its attachment, just now
    let age = observe(cluster, out, fact, &object, Begun::NotBefore(ticket.since));
    age.at_least(ATTACH, Unknown::Counts)
}

fn find_left_over(
    cluster: &Cluster,
    out: &mut Outcome,
    volume: &Volume,
    ticket: &Ticket,
    waits: Option<&Ticket>,
) {
    let users = vec![cluster.volume_ref(&volume.metadata.name)];
    let (whose, node) = (text::claims_of(&users), ticket.node);
    let (lacks, uses) = match nodes::is_gone(cluster, node) {
        true => ("and its node is deleted", "which no longer exists"),
        false => ("and has no VolumeAttachment in Kubernetes", "although nothing requests it"),
    };
    let impact = match waits {
        Some(other) => format!("the workload on {} cannot start: it is waiting for {whose}", other.node),
        None if volume.status.current_node_id == node => {
            format!("{whose} is still attached to {node}, {uses}")
        }
        None => format!("Longhorn keeps trying to attach {whose} to {node}, {uses}"),
    };
    let message = format!("a leftover attachment ticket reserves {whose} for {node}");
    let finding = Finding::about(&TICKET_LEFT_OVER, volumes::object(cluster, volume), message)
        .node(node)
        .volumes(users)
        .impact(impact)
        .fact(format!("{} {lacks}", ticket_text(ticket)))
        .with(Name::Attachment, ticket.id);
    match waits {
        Some(_) => {
            sample(out, volume, &TICKET_LEFT_OVER);
            out.report(finding);
        }
        None => out.report(finding.severity(Severity::Info)),
    }
}

fn find(
    cluster: &Cluster,
    out: &mut Outcome,
    cause: &'static Cause,
    volume: &Volume,
    ticket: &Ticket,
    all: &[Ticket],
) {
    let users = vec![cluster.volume_ref(&volume.metadata.name)];
    let whose = text::claims_of(&users);
    let waits = Waits::of(cluster, cause == &MIGRATION_BROKE, volume, ticket, all);
    let headline = super::states::headline(&whose, &waits.why(ticket));
    let inherits = |replica: &Replica| {
        let name = &replica.metadata.name;
        format!("replica {name}: spec.lastFailedAt is set, which its copy for the migration inherits")
    };
    let replica = waits.obstacle.as_ref().and_then(|obstacle| obstacle.replica);
    let holds = |(id, kind)| api(format!("ticket {id} of {kind} holds the volume on {}", waits.at));
    let finding = Finding::about(cause, volumes::object(cluster, volume), headline)
        .node(ticket.node)
        .since(ticket.since)
        .impact(format!("the pod that uses {whose} cannot start on {}", ticket.node))
        .volumes(users)
        .way(waits.way())
        .facts(waits.inherited.map(inherits))
        .named(waits.refused.then(|| (Name::Attachment, ticket.id.to_owned())))
        .named(replica.map(|name| (Name::Replica, name.to_owned())))
        .named(waits.own.map(|(id, _)| (Name::Attachment, id.to_owned())))
        .named(waits.own.map(|(_, kind)| (Name::Kind, kind.to_owned())))
        .facts(waits.own.map(holds))
        .facts(waits.obstacle.map(|obstacle| api(obstacle.fact)))
        .facts(said::by_others(cluster, volume))
        .facts(all.iter().take(5).map(|ticket| api(ticket_text(ticket))));
    sample(out, volume, cause);
    out.report(finding);
}

/// What a ticket of a workload waits for.
struct Waits<'a> {
    /// The node where the volume is attached; empty if nowhere.
    at: &'a str,
    broke: bool,
    migrates: bool,
    /// Longhorn rejects the request.
    refused: bool,
    /// Someone attached it in the UI or through the API (longhorn-manager v1.5.5 to v1.12.1 manager/volume.go Attach).
    by_hand: bool,
    /// The replica whose old failure a migration inherits (longhorn issue 12311).
    inherited: Option<&'a Replica>,
    /// The ticket and kind of Longhorn's own work that holds the volume.
    own: Option<(&'a str, &'a str)>,
    obstacle: Option<Obstacle<'a>>,
}

impl<'a> Waits<'a> {
    fn of(
        cluster: &'a Cluster,
        broke: bool,
        volume: &'a Volume,
        ticket: &Ticket,
        all: &[Ticket<'a>],
    ) -> Waits<'a> {
        let at = volume.status.current_node_id.as_str();
        let migrates = volume.status.current_migration_node_id == ticket.node && !at.is_empty();
        let obstacle = obstacle(cluster, volume);
        let bug = || known_issues::ALL.iter().find(|issue| issue.number == 12311);
        let has_bug =
            manager_release(cluster).is_some_and(|release| bug().is_some_and(|bug| bug.affects(release)));
        Waits {
            at,
            broke,
            migrates,
            refused: obstacle.is_none() && !broke && at.is_empty() && said::is_refused(cluster, volume),
            by_hand: all.iter().any(|one| one.satisfied && one.kind == "longhorn-api" && one.node == at),
            inherited: once_failed(cluster, volume).filter(|_| migrates && has_bug),
            own: own_work(cluster, volume, all).filter(|_| !broke && !migrates),
            obstacle,
        }
    }

    fn why(&self, ticket: &Ticket) -> String {
        match (self.broke, self.at) {
            (_, at) if self.migrates => {
                let bug = self.inherited.map_or("", |_| ": Longhorn bug 12311");
                format!("it is stuck migrating from {at} to {}{bug}", ticket.node)
            }
            (true, _) => "it cannot attach: its aborted migration left two tickets".to_owned(),
            (_, "") if self.refused => {
                format!("it cannot attach to {}: Longhorn rejects the attach request", ticket.node)
            }
            (_, "") => format!("it is still detached although a pod on {} needs it", ticket.node),
            (_, at) if at == ticket.node => format!("it is attached to {at} (attachment ticket unsatisfied)"),
            (_, at) if self.by_hand => {
                format!("it is needed on {}, but attached by hand to {at}", ticket.node)
            }
            (_, at) => format!("it is needed on {} but attached to {at}", ticket.node),
        }
    }

    fn way(&self) -> Option<&'static Way> {
        match &self.obstacle {
            _ if self.broke => None,
            _ if self.migrates && self.inherited.is_some() => Some(&INHERITS_FAILURE),
            _ if self.migrates => Some(&MIGRATES),
            Some(obstacle) => Some(obstacle.way),
            None if self.refused => Some(&LONGHORN_REFUSES),
            None if self.at.is_empty() => Some(&UNHELD),
            None if self.by_hand => Some(&BY_HAND),
            None => self.own.map(|_| &OWN_WORK),
        }
    }
}

/// What in the objects of a volume keeps Longhorn from attaching it, and the way out.
struct Obstacle<'a> {
    fact: String,
    way: &'static Way,
    /// The replica that is in the way.
    replica: Option<&'a str>,
}

fn obstacle<'a>(cluster: &'a Cluster, volume: &Volume) -> Option<Obstacle<'a>> {
    if let Some(replica) = surplus_replica(cluster, volume) {
        let fact =
            format!("the volume is strict-local but has an extra replica, {replica}, which holds no data");
        return Some(Obstacle { fact, way: &SURPLUS_REPLICA, replica: Some(replica) });
    }
    let pending = &volume.status.pending_node_id;
    if !pending.is_empty() {
        let fact = format!(
            "the volume's status.pendingNodeID is {pending}, a leftover from 1.4 that no release from 1.5 on clears"
        );
        return Some(Obstacle { fact, way: &PENDING_NODE, replica: None });
    }
    let active = cluster.engines_of(&volume.metadata.name).filter(|engine| engine.spec.active);
    let active: Vec<&str> = active.map(|engine| engine.metadata.name.as_str()).collect();
    (active.len() > 1).then(|| {
        let fact = format!("engines {} are active at the same time", text::listed(&active));
        Obstacle { fact, way: &TWO_ENGINES, replica: None }
    })
}

/// The replica without data of a strict-local volume that has two, which an automatic salvage can leave (longhorn issue 12319;
/// longhorn-manager v1.9.2 webhook/resources/volume/validator.go).
fn surplus_replica<'a>(cluster: &'a Cluster, volume: &Volume) -> Option<&'a str> {
    let replicas = || cluster.replicas_of(&volume.metadata.name);
    let doubled = volume.spec.data_locality == DataLocality::StrictLocal && replicas().count() > 1;
    let kept = replicas().any(|replica| replica.spec.healthy_at.is_set());
    let empty = replicas().find(|replica| !replica.spec.healthy_at.is_set())?;
    (doubled && kept).then_some(empty.metadata.name.as_str())
}

fn ticket_text(ticket: &Ticket) -> String {
    let state = if ticket.satisfied { "satisfied" } else { "not satisfied" };
    let said =
        if ticket.said.is_empty() { String::new() } else { format!(": {}", text::quoted(&ticket.said)) };
    format!("ticket {} of {} for {} is {state}{said}", ticket.id, ticket.kind, ticket.node)
}

fn sample(out: &mut Outcome, volume: &Volume, cause: &Cause) {
    let [name, namespace, claim] = volumes::labels(volume);
    out.sample(&STUCK, &[name, namespace, claim, cause.id, cause.severity.as_str()], 1.0);
}
