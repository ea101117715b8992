//! Managers that hang in their start: they run, never become Ready or never give the start Lease back,
//! and never exit.
//!
//! Leader election and the informers of a manager retry forever, so what they lack (an answer of the API
//! server, a right, a kind) shows in no crash and no exit code, only in the log of the present run
//! (longhorn-manager v1.9.2 and v1.12.1 app/daemon.go startWebhooksByLeaderElection, util/client/client.go
//! NewClients). While such a manager holds the Lease `longhorn-manager-webhook-lock`, those of all other nodes
//! wait for it. Up to 1.9 it may even be Ready: readiness asks the conversion webhook, which is served before
//! the caches are filled; with the admission label of an earlier run on its pod it then takes its share of the
//! admission calls and answers none.
//!
//! A manager that will give up is one, too, where it is known that it waits in vain: its readiness probe asks a port
//! that its release does not serve, or the Service of its webhook cannot be reached for lack of DNS or network. Up to
//! four minutes pass before such a start has failed twice and is a crash loop.
//!
//! A manager that gives up on its own is a case of `manager_crash_loop`, one that was Ready before of
//! `manager_probes`.

mod causes;
mod finding;

use crate::check::*;
use crate::facts::complaints::{Complaint, Lacks};
use crate::facts::releases::release_of;
use crate::facts::start::{self, Hang, Outlook, START_GRACE, UnderWay, marks};
use crate::facts::text::quoted;
use crate::facts::ways::CUT_OFF;
use crate::facts::{api, certificates, nodes, policies, start_causes};
use crate::longhorn::Resource::*;

/// The container that is judged.
const CONTAINER: &str = "longhorn-manager";

pub static CHECK: Check = check! {
    id: "manager_start_stuck",
    title: "Managers stuck during startup",
    summary: "A longhorn-manager is running but stuck during startup: it is not Ready, or its node still holds the start Lease. \
              The cause comes from the current run's log.",
    needs: &[Pods],
    uses: &[Leases, Settings, DaemonSets, KubeNodes, EndpointSlices, LonghornNodes, Events],
    glances: &[NetworkPolicies],
    causes: causes::ALL,
    ways: &[start_causes::WAYS, causes::WAYS],
    alerts: &[alert! { "LonghornManagerStartStuck",
        when: When::Found(causes::STUCK),
        without: &["cause"],
        runbook_only: &[&causes::QUEUEING],
        for_: "3m",
        keep_firing_for: "5m",
        as_found: true,
        summary: "A Longhorn manager is stuck during startup.",
        description: "Manager pod {{ $labels.object }}{{ with $labels.node }} on node {{ . }}{{ end }} is stuck during startup. This manager's \
                      volumes cannot attach, detach or rebuild, and other nodes' managers may be waiting for it. Read its current log, not the \
                      previous one.",
        why: "The check reports a stuck startup after 1 min if the log names the cause, otherwise at the release's startup limit. The alert waits 3 min more, \
            in case an API server is restarting.",
    }],
    panels: &[Panel {
        dashboard: Dashboard::Managers,
        title: "Managers stuck during startup",
        description: "Managers stuck during startup, with the cause. Their volumes cannot attach, detach or rebuild. If the cause is queueing, check the \
                      Lease's holder.",
        no_data: "no manager is stuck during startup, or the exporter is not reporting",
        ..Panel::TABLE.of_findings("manager_start_stuck")
    }],
};

fn run(cluster: &Cluster, out: &mut Outcome) {
    let starts = start::observe(cluster);
    if !cluster.can_read(Resource::Leases) && !starts.under_way.is_empty() {
        out.unknown("leases cannot be read, so whether managers wait for their turn is unknown");
    }
    let mut queueing = Vec::new();
    for start in &starts.under_way {
        let run = format!("{} {}", start.pod.metadata.name, start.started);
        // what it complained about before it got the Lease is over, and its log may be read a moment later
        let went_on =
            out.ever("had_the_lease", &run, start.holds) && !start.holds && start.own(cluster) < START_GRACE;
        if went_on {
            continue;
        }
        match start.outlook(cluster, &starts) {
            Outlook::Hangs(hang) => out.report(finding::stuck(cluster, start, stuck(cluster, start, hang))),
            Outlook::Queueing => queueing.push(start),
            Outlook::Open => {}
        }
    }
    if !queueing.is_empty() {
        out.report(finding::queueing(cluster, &queueing));
    }
}

/// Why a manager hangs.
struct Stuck {
    cause: &'static Cause,
    /// Behind the colon of the headline.
    what: String,
    evidence: Vec<Evidence>,
    way: Option<&'static Way>,
    values: Vec<(Name, String)>,
    remedy: Remedy,
}

impl Stuck {
    fn of(cause: &'static Cause, what: impl Into<String>, evidence: Vec<Evidence>) -> Self {
        let (values, remedy) = (Vec::new(), Remedy::default());
        Stuck { cause, what: what.into(), evidence, way: None, values, remedy }
    }
}

/// What is said of a start that hangs.
fn stuck(cluster: &Cluster, start: &UnderWay, hang: Hang<'_>) -> Stuck {
    match hang {
        Hang::Says(complaint) => by_log(cluster, start, &complaint),
        Hang::Misprobed(probe) => {
            let reason = "Image and manifest are from different releases.";
            let what = crate::facts::probes::WRONG_PORT;
            let remedy = start_causes::to_one_release(cluster, start.pod, false, reason);
            Stuck { remedy, ..Stuck::of(&causes::MANIFEST_STALE, what, vec![api(probe.to_string())]) }
        }
        Hang::Unreached(waiting) => {
            let text = format!("{}, the log says: {}", waiting.why.means, quoted(waiting.line));
            let service = format!("longhorn-{}-webhook", waiting.webhook);
            Stuck {
                way: Some(waiting.why),
                values: vec![(Name::Service, service), (Name::Manager, start.pod.metadata.name.to_string())],
                ..Stuck::of(
                    &causes::WEBHOOK_SERVICE_UNREACHABLE,
                    waiting.why.briefly,
                    vec![EvidenceSource::Log.says(text).quoting(waiting.line)],
                )
            }
        }
        Hang::Overtaken(evidence) => {
            let what = "the API server is probably not answering";
            Stuck::of(&causes::API_UNREACHABLE, what, evidence)
        }
        Hang::LeavesLease | Hang::Overdue => by_api(cluster, start),
    }
}

/// What the log of the present run complains about.
fn by_log(cluster: &Cluster, start: &UnderWay, complaint: &Complaint<'_>) -> Stuck {
    let line = format!("the manager's log: {}", quoted(complaint.line));
    let line = EvidenceSource::Log.says(line).quoting(complaint.line);
    let about = match complaint.about.as_slice() {
        [one] => one.clone(),
        [one, more @ ..] => format!("{one} and {} more", more.len()),
        [] => String::new(),
    };
    match (complaint.lacks, certificates::refused(complaint.line)) {
        (Lacks::Api, Some(refused)) => {
            let asked = certificates::asked(complaint.line).map(|address| (Name::Value, address.to_owned()));
            Stuck {
                values: asked.into_iter().collect(),
                ..Stuck::of(
                    &causes::API_CERTIFICATE,
                    start_causes::briefly(&causes::API_CERTIFICATE),
                    vec![line, EvidenceSource::Log.says(refused)],
                )
            }
        }
        (Lacks::Api, None) => match policies::cut_off(cluster, "longhorn-manager") {
            Some(cut) => Stuck {
                way: Some(&CUT_OFF),
                values: cut.values().into(),
                ..Stuck::of(&causes::API_UNREACHABLE, CUT_OFF.briefly, cut.evidence(cluster).into())
            },
            None => Stuck::of(&causes::API_UNREACHABLE, "the API server is not answering", vec![line]),
        },
        (Lacks::Right, _) => {
            let values = start_causes::lacking(cluster, start.pod, &complaint.about);
            Stuck { values, ..Stuck::of(&causes::ACCESS_DENIED, format!("it cannot {about}"), vec![line]) }
        }
        (Lacks::Kind, _) => not_served(cluster, start, &about, line),
    }
}

fn not_served(cluster: &Cluster, start: &UnderWay, kinds: &str, evidence: Evidence) -> Stuck {
    let remedy = start_causes::to_one_release(
        cluster,
        start.pod,
        false,
        "If a CRD was deleted, restore its objects from a backup of the cluster.",
    );
    let what = format!("the API server does not serve {kinds}");
    Stuck { remedy, ..Stuck::of(&causes::CRD_MISMATCH, what, vec![evidence]) }
}

/// Without a word in the log: a kind that we do not find either, or nothing.
fn by_api(cluster: &Cluster, start: &UnderWay) -> Stuck {
    if let Some(kind) = marks::kind_not_served(cluster, release_of(cluster, start.pod)) {
        let plural = format!("{}.{}", kind.info().plural, kind.info().group);
        let text =
            format!("the API server does not serve {plural}, which every manager lists during startup");
        return not_served(cluster, start, &plural, api(text));
    }
    let log = finding::why_log_says_nothing(cluster, start);
    if !start.free {
        let what = match log.said() {
            Some(_) => causes::LAST_LINE.briefly.to_owned(),
            None => String::new(),
        };
        let way = log.said().map(|_| &causes::LAST_LINE);
        return Stuck { way, ..Stuck::of(&causes::UNKNOWN, what, vec![log]) };
    }
    let way = &causes::LEASE_NOT_TAKEN;
    let unseen = nodes::unseen_by_managers(cluster);
    let evidence = [api(way.means)].into_iter().chain(unseen).chain([log]).collect();
    Stuck { way: Some(way), ..Stuck::of(&causes::UNKNOWN, way.briefly, evidence) }
}
