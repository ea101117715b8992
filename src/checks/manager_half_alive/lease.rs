//! The one sign of life of Ready managers that the API server keeps: the Lease [`ROTATION_LOCK`], of 1.11.3 and later.
//!
//! One manager holds it and renews it every 10 s, others take it after 60 s (longhorn-manager v1.11.3 and v1.12.1
//! webhook/cert/rotate.go RotateLoop). Measured on 1.11.3 and 1.12.1: a holder that lost the API server says so 40 s after its
//! last renewal; 60 to 90 s after that, or after etcd ran out of space, the Lease stands still or has passed to another. The
//! election is run once in the life of a manager: who failed to renew for 30 s never takes part again, so after some outages no
//! one may be left who renews it, and nothing is wrong but that
//! certificates are no longer rotated. What managers write later tells that from the outage.
//!
//! Earlier releases have no such Lease, it says nothing of those who do not hold it, and idle managers of any release write nothing for
//! minutes: there a running manager that lost the API server shows in its log alone, which the exporter reads in turn
//! (source/watch/crash_logs.rs). Measured on 1.12.1: every watch ends 44 s after the cut, and an attempt fails every 30 s from then on.

use jiff::{SignedDuration, Timestamp};

use super::{API_LOST, CHECK, ETCD_FULL, ISOLATED, ROTATION_STOPPED};
use crate::check::*;
use crate::facts::certificates;
use crate::facts::complaints::{self, Complaint, Lacks};
use crate::facts::policies;
use crate::facts::text::{duration, quoted};
use crate::facts::ways::CUT_OFF;
use crate::history::Observation;
use crate::longhorn::{Lease, Pod, ROTATION_LATE, ROTATION_LOCK};

const CONTAINER: &str = "longhorn-manager";
/// The fact that another manager took the Lease of one that complains.
const TAKEN: &str = "taken";
/// A Lease of 60 s that is renewed every 10 s, and what a late answer may take.
const STALE: SignedDuration = SignedDuration::from_secs(90);
/// After an outage of the API server itself all managers need a moment to renew or to take it.
const RECOVERY: SignedDuration = SignedDuration::from_secs(30);
/// A manager takes part soon after it is Ready, and waits for the duration of the Lease.
const TAKES_PART: SignedDuration = SignedDuration::from_mins(2);
/// A manager that lost the Lease says later than its successor took it that it is cut off, soon enough that no gap is reported: an
/// informer's next attempt is over within a minute, and the log is read again within another.
const SUCCESSION: SignedDuration = SignedDuration::from_mins(2);
/// What was begun before a manager stalled fails for so long after it is Ready again: a renewal of the Lease after 30 s, the
/// attempt of an informer within a minute (a process of 1.12.1 that was stopped for 200 s complained once, 24 s after it was Ready).
const AFTERMATH: SignedDuration = SignedDuration::from_mins(1);
/// For so long after another manager took the Lease the logs are read (source/wanted_logs.rs).
const TAKEN_LATELY: SignedDuration = SignedDuration::from_mins(10);
/// A renewal is due 10 s after the last one, and a connection that is cut then is lost 45 s later for every manager.
const ALONE: SignedDuration = SignedDuration::from_secs(60);
/// An attempt to connect fails after 30 s, so who is cut off complains again by then.
const ATTEMPTS_APART: SignedDuration = SignedDuration::from_secs(25);
/// An informer pauses for a minute at most and waits 30 s for a connection: who has not complained since gets answers again.
const ATTEMPTS_END: SignedDuration = SignedDuration::from_secs(100);
/// A log holds two minutes; what is still said later is repeated.
const REPEATED: SignedDuration = SignedDuration::from_secs(150);

/// What Ready managers say of the API server.
struct Look<'a> {
    cluster: &'a Cluster,
    /// Those that would have renewed or taken the Lease.
    ready: Vec<&'a Pod>,
    /// Those among them whose log says last that they get no answer.
    said: Vec<(&'a Pod, Complaint<'a>)>,
    /// Since when the API server answers this exporter.
    answers: Option<Timestamp>,
}

/// Judges the managers by their Lease.
pub(super) fn judge(cluster: &Cluster, out: &mut Outcome) {
    let ready: Vec<&Pod> = cluster.manager_pods().filter(|pod| takes_part(cluster, pod)).collect();
    let reads = cluster.resources.get(&Resource::Leases).is_none_or(|status| status.error.is_none());
    let answers = if reads { out.first_seen("answers", ROTATION_LOCK) } else { None };
    let said = ready.iter().filter_map(|pod| Some((*pod, complaint(cluster, pod)?))).collect();
    let look = Look { cluster, ready, said, answers };
    if let Some(cut) = policies::cut_off(cluster, CONTAINER) {
        for (pod, _) in &look.said {
            let (name, node) = (&pod.metadata.name, pod.spec.node_name.as_str());
            let message = format!("longhorn-manager on {node} is Ready, but {}", CUT_OFF.briefly);
            let finding =
                Finding::about(&ISOLATED, cluster.object::<Pod>(name), message).impact(stopped_work(node));
            let finding = finding.node(node).since(Some(cut.since())).with(Name::Manager, name.to_string());
            out.report(cut.tell(cluster, finding));
        }
        return;
    }
    let alone = look.cut_off_alone();
    let lease = cluster.objects.leases.get(ROTATION_LOCK).filter(|_| cluster.can_read(Resource::Leases));
    let renewed = lease.and_then(|lease| lease.spec.renew_time.get());
    let (Some((lease, renewed)), false) = (lease.zip(renewed), look.ready.is_empty()) else {
        for (pod, complaint) in
            look.said.iter().filter(|(pod, _)| alone.contains(&pod.metadata.name.as_str()))
        {
            out.report(cut_off(cluster, pod, None, complaint, false));
        }
        return;
    };
    let holder = lease.spec.holder_identity.as_str();
    // who gives it back leaves it without holder
    let stale = !holder.is_empty() && cluster.age(renewed) >= STALE && {
        let seen = out.first_seen("lease_stale", &format!("{holder} {renewed}"));
        // an exporter that gets no answer either sees it stalled, too
        let since = seen.zip(answers).map(|(seen, answers)| seen.max(answers));
        !cluster.is_watched() || since.is_some_and(|since| cluster.age(since) >= RECOVERY)
    };
    let mut taken = match cluster.is_watched() && answers.is_none() {
        // no one gets an answer now, and nothing new is learned of who got none before
        true => {
            let names = look.said.iter().map(|(pod, _)| pod.metadata.name.as_str());
            names.filter(was_taken_from(cluster)).collect()
        }
        false => look.taken_from(lease),
    };
    for pod in &taken {
        out.first_seen(TAKEN, pod);
    }
    taken.extend(look.holder_lost(out, lease));
    taken.extend(alone);
    taken.extend(look.lost_alone(lease, renewed));
    let complaining: Vec<&(&Pod, Complaint<'_>)> = look
        .said
        .iter()
        .filter(|(pod, complaint)| {
            // who renews the Lease gets answers
            if !complaint.is_full() && pod.spec.node_name == holder && cluster.age(renewed) < ROTATION_LATE {
                return false;
            }
            let since = out.first_seen("complains", &pod.metadata.name);
            let repeated = since.is_some_and(|since| cluster.age(since) >= REPEATED);
            stale || repeated || complaint.is_full() || taken.contains(&pod.metadata.name.as_str())
        })
        .collect();
    let all = complaining.len() == look.ready.len();
    for (pod, complaint) in &complaining {
        out.report(cut_off(cluster, pod, Some(lease), complaint, all));
    }
    if !stale || !complaining.is_empty() {
        return;
    }
    match policies::written(cluster, |at| at.duration_since(renewed) >= STALE) {
        Some(written) => out.report(stopped(cluster, lease, renewed, written)),
        None => out.report(silent(cluster, lease, renewed, &look.ready)),
    }
}

/// Ready for so long that it would have renewed or taken the Lease.
fn takes_part(cluster: &Cluster, pod: &Pod) -> bool {
    pod.ready_since().is_some_and(|since| cluster.age(since) >= TAKES_PART) && !pod.metadata.is_deleting()
}

/// That it gets no answer of the API server, as its log says last.
fn complaint<'a>(cluster: &'a Cluster, pod: &Pod) -> Option<Complaint<'a>> {
    let log = cluster.history.current_log(pod, CONTAINER)?;
    let complaint = complaints::newest(&log.text).filter(|complaint| complaint.lacks == Lacks::Api)?;
    let complaint = complaints::gave_up_on_full_etcd(&log.text, &complaint, cluster.now).unwrap_or(complaint);
    let written = complaints::written_at(complaint.line, cluster.now);
    // one write that is later shows that etcd takes them again, though nothing else says so in the log of an idle manager
    let later = |said: Timestamp| {
        let leases = cluster.objects.leases.iter().filter_map(|lease| lease.spec.renew_time.get());
        let events = cluster.objects.events.iter().filter_map(|event| event.last_seen());
        leases.chain(events).chain(cluster.last_write).any(|at| said < at)
    };
    if complaint.is_full() && written.is_some_and(later) {
        return None;
    }
    let written = written.zip(pod.ready_since());
    written.is_none_or(|(at, since)| at.duration_since(since) >= AFTERMATH).then_some(complaint)
}

fn was_taken_from(cluster: &Cluster) -> impl Fn(&&str) -> bool {
    |pod| {
        let key = Observation { check: CHECK.id, fact: TAKEN, object: (*pod).into() };
        cluster.history.first_seen(&key).is_some()
    }
}

impl<'a> Look<'a> {
    /// Those who complain later than another manager took the Lease, while at least one does not: the API server answered that one.
    /// Where all complain, what they say may be left of an outage that is over: an attempt to connect lasts up to 30 s.
    fn taken_from(&self, lease: &Lease) -> Vec<&'a str> {
        let Some(taken) =
            lease.spec.acquire_time.get().filter(|taken| self.cluster.age(*taken) < TAKEN_LATELY)
        else {
            return Vec::new();
        };
        // after an outage of all, the first that gets on takes it while others make their last attempts
        let over =
            self.answers.filter(|_| self.cluster.is_watched()).and_then(|at| at.checked_add(AFTERMATH).ok());
        let later = self.complaining_since(over.map_or(taken, |over| over.max(taken)));
        let well = self.is_any_well(&later);
        let lost = later.iter().filter(|pod| well && pod.spec.node_name != lease.spec.holder_identity);
        lost.map(|pod| pod.metadata.name.as_str()).collect()
    }

    /// Those whose attempts keep failing while the API server has answered this exporter for all that time, and another manager says nothing
    /// of the kind. One burst is a connection that was lost and made again.
    fn cut_off_alone(&self) -> Vec<&'a str> {
        let since =
            self.answers.filter(|_| self.cluster.is_watched()).and_then(|at| at.checked_add(AFTERMATH).ok());
        let Some(since) = since else { return Vec::new() };
        let complaining = self.complaining_since(since);
        if !self.is_any_well(&complaining) {
            return Vec::new();
        }
        let lasts = |pod: &&Pod| {
            let log = self.cluster.history.current_log(pod, CONTAINER)?;
            let (complaint, text) = (complaints::newest(&log.text)?, log.text.as_str());
            let newest = complaints::written_at(complaint.line, self.cluster.now)?;
            let lasts = complaints::unanswered_for(text, self.cluster.now)?;
            Some(lasts >= ATTEMPTS_APART && self.cluster.age(newest) < ATTEMPTS_END)
        };
        let lost = complaining.into_iter().filter(|pod| lasts(pod) == Some(true));
        lost.map(|pod| pod.metadata.name.as_str()).collect()
    }

    fn complaining_since(&self, since: Timestamp) -> Vec<&'a Pod> {
        let later = |complaint: &Complaint<'_>| {
            complaints::written_at(complaint.line, self.cluster.now).is_some_and(|at| at > since)
        };
        self.said.iter().filter(|(_, complaint)| later(complaint)).map(|(pod, _)| *pod).collect()
    }

    /// True where the log of a Ready manager was read that is none of those.
    fn is_any_well(&self, complaining: &[&Pod]) -> bool {
        self.ready.iter().any(|pod| {
            let complains = complaining.iter().any(|one| one.metadata.name == pod.metadata.name);
            !complains && self.cluster.history.current_log(pod, CONTAINER).is_some()
        })
    }

    /// The holder that did not renew the Lease and complains of the API server, which has answered this exporter for all that time, and
    /// another manager: so no outage of all is over. Only a watch can tell. It is remembered until its successor has the Lease and
    /// what it says itself tells it.
    fn holder_lost(&self, out: &mut Outcome, lease: &Lease) -> Vec<&'a str> {
        let (Some(answers), Some(renewed)) = (self.answers, lease.spec.renew_time.get()) else {
            return Vec::new();
        };
        let is_late = !lease.spec.holder_identity.is_empty() && self.cluster.age(renewed) >= ROTATION_LATE;
        let lately = lease.spec.acquire_time.get().is_some_and(|taken| self.cluster.age(taken) < SUCCESSION);
        let mut lost = Vec::new();
        let since = if is_late { renewed.max(answers) } else { answers };
        let complaining = self.complaining_since(since);
        let well = self.is_any_well(&complaining);
        for pod in complaining {
            let name = pod.metadata.name.as_str();
            let holds = pod.spec.node_name == lease.spec.holder_identity;
            let found = well && is_late && holds;
            if (found || lately && !holds) && out.ever("cut_off", name, found) {
                lost.push(name);
            }
        }
        lost
    }

    /// The same by one look: it did not renew for a minute and complains, and another manager that would have lost its watches by then, too, has
    /// said nothing of the kind. Where an outage of all is over, those who got on have said so in that minute.
    fn lost_alone(&self, lease: &Lease, renewed: Timestamp) -> Option<&'a str> {
        if self.cluster.is_watched() || self.cluster.age(renewed) < ALONE {
            return None;
        }
        let holder = self
            .complaining_since(renewed)
            .into_iter()
            .find(|pod| pod.spec.node_name == lease.spec.holder_identity)?;
        let well = |pod: &&&Pod| {
            let log = self
                .cluster
                .history
                .current_log(pod, CONTAINER)
                .filter(|_| pod.metadata.name != holder.metadata.name);
            log.is_some_and(|log| !complaints::has_complained(&log.text, renewed, self.cluster.now))
        };
        self.ready.iter().find(well).map(|_| holder.metadata.name.as_str())
    }
}

fn cut_off(
    cluster: &Cluster,
    pod: &Pod,
    lease: Option<&Lease>,
    complaint: &Complaint<'_>,
    all: bool,
) -> Finding {
    let (name, node) = (&pod.metadata.name, pod.spec.node_name.as_str());
    let refused = certificates::refused(complaint.line);
    // what is looked at first is the certificate, where that is what it refuses
    let asked = refused.as_ref().and_then(|_| certificates::asked(complaint.line));
    let what = match refused {
        Some(_) => "rejects the API server's certificate",
        None if complaint.is_full() => "cannot write: etcd is full",
        None => "cannot reach the API server",
    };
    let also = if all && !complaint.is_full() { ", like all others" } else { "" };
    let message = format!("longhorn-manager on {node} is Ready but {what}{also}");
    let found = Finding::about(&API_LOST, cluster.object::<Pod>(name), message)
        .node(node)
        .impact(stopped_work(node))
        .fact(
            EvidenceSource::Log
                .says(format!("the manager's log: {}", quoted(complaint.line)))
                .quoting(complaint.line),
        )
        .facts(lease.map(|lease| held(cluster, lease)));
    found
        .with(Name::Manager, name.to_string())
        .with(Name::Value, asked.unwrap_or_default())
        .way(complaint.is_full().then_some(&ETCD_FULL))
}

fn stopped_work(node: &str) -> String {
    format!("volumes owned by {node}'s manager cannot attach, detach or rebuild. Running I/O continues.")
}

/// Nothing says which manager it is.
fn silent(cluster: &Cluster, lease: &Lease, renewed: Timestamp, ready: &[&Pod]) -> Finding {
    let node = lease.spec.holder_identity.as_str();
    let name = cluster.manager_pod_on(node).or(ready.first().copied()).map_or("", |pod| &pod.metadata.name);
    let message = format!(
        "longhorn-manager on {node}, or every manager, has written nothing for {}",
        duration(cluster.age(renewed))
    );
    Finding::about(&API_LOST, cluster.object::<Lease>(ROTATION_LOCK), message)
        .node(node)
        .since(Some(renewed))
        .impact(
            "volumes whose manager cannot write to the API server cannot attach, detach or rebuild. Running I/O \
             continues.",
        )
        .fact(held(cluster, lease))
        .fact("no other object written by managers is newer")
        .with(Name::Manager, name.to_string())
}

fn stopped(cluster: &Cluster, lease: &Lease, renewed: Timestamp, written: String) -> Finding {
    let message = format!(
        "webhook certificates are not being rotated: their Lease has not been renewed for {}",
        duration(cluster.age(renewed))
    );
    Finding::about(&ROTATION_STOPPED, cluster.object::<Lease>(ROTATION_LOCK), message)
        .since(Some(renewed))
        .impact("none until a certificate expires: managers keep working")
        .fact(held(cluster, lease))
        .fact(format!("managers have written other objects since then: {written}"))
}

fn held(cluster: &Cluster, lease: &Lease) -> String {
    let renewed = lease.spec.renew_time.get();
    let age = renewed.map_or_else(String::new, |at| format!(", renewed {} ago", duration(cluster.age(at))));
    format!(
        "Lease {ROTATION_LOCK} is held by {}{age} (normally renewed every 10 s)",
        lease.spec.holder_identity
    )
}
