//! CSI sidecars that end every few hours, while others of them work: one that leads and cannot renew its Lease ends, so that another can
//! lead (kubernetes-csi/csi-lib-utils leaderelection/leader_election.go).

use std::collections::BTreeSet;

use jiff::SignedDuration;

use super::causes;
use super::controllers::{CONTROLLERS, SETTLED};
use crate::check::*;
use crate::facts::{looping, text};
use crate::longhorn::{Deployment, Pod, Terminated};

/// So often on average since the pod was created, and so often at least: a rollout of API servers ends a sidecar once or twice.
const A_DAY: i64 = 4;
const AT_LEAST: i64 = 6;
/// The last end is not older.
const RECENT: SignedDuration = SignedDuration::from_hours(2);
/// What the API server, client-go (tools/leaderelection leaderelection.go renew) and csi-lib-utils say of a lost Lease, in lower case.
const LOST: [&str; 5] = [
    "etcdserver: request timed out", "failed to renew lease", "stopped leading", "leaderelection lost",
    "lost leader election",
];

/// The line of a sidecar's log about its lost Lease, with its place among them: what tells most is first.
pub(super) fn lost_lease(log: &str) -> Option<(usize, &str)> {
    let said = log.lines().filter_map(|line| {
        let lower = line.to_ascii_lowercase();
        Some((LOST.iter().position(|part| lower.contains(part))?, line))
    });
    said.min_by_key(|(place, _)| *place)
}

pub(super) fn run(cluster: &Cluster, out: &mut Outcome) {
    let of = |(app, ..): (&'static str, &Cause, &str)| {
        cluster.pods_of(app).filter_map(move |pod| of_pod(cluster, app, pod))
    };
    let all: Vec<Restarts> = CONTROLLERS.into_iter().flat_map(of).collect();
    let together = together(&all);
    let all: Vec<Restarts> = all.into_iter().filter(|one| together || one.is_often).collect();
    let [first, _, ..] = all.as_slice() else { return };
    let logs = all.iter().flat_map(|one| cluster.history.logs_of(one.pod));
    let lost = logs.filter_map(|log| lost_lease(&log.text)).min_by_key(|(place, _)| *place);
    let lost = lost.map(|(_, line)| line);
    let server = restarting_server(cluster).filter(|_| together || lost.is_some());
    let (way, why) = match server {
        Some((node, _)) => {
            (Some(&causes::SERVER_RESTARTS), format!(": the control plane on {node} restarts repeatedly"))
        }
        None if together || lost.is_some() => {
            (Some(&causes::LOST_LEASES), format!(": {}", causes::LOST_LEASES.briefly))
        }
        None => (None, String::new()),
    };
    let message = format!("{} keep restarting{why}", counted(all.len(), "CSI sidecar"));
    out.report(
        Finding::about(&causes::SIDECARS_RESTARTING, cluster.object::<Deployment>(first.app), message)
            .way(way)
            .with(Name::Pod, first.pod.metadata.name.as_str())
            .with(Name::Node, server.map_or("", |(node, _)| node))
            .facts(server.map(|(node, times)| {
                EvidenceSource::Event.says(format!("the kubelet on {node} started {times} times within the last hour"))
            }))
            .impact("volumes cannot be attached, created or resized during each restart. Mounted volumes keep working.")
            .facts(text::first_ten(&all, "pod", Restarts::text))
            .facts(lost.map(|line| EvidenceSource::Log.says(format!("a sidecar's log says: {}", text::quoted(line))).quoting(line))),
    );
}

/// A node of the control plane whose kubelet, on K3s and RKE2 the server itself, started so often within the last hour.
fn restarting_server(cluster: &Cluster) -> Option<(&str, usize)> {
    const OFTEN: usize = 3;
    let hour = SignedDuration::from_hours(1);
    let nodes = cluster.objects.kube_nodes.iter().filter(|node| node.is_control_plane());
    let mut starts = nodes.map(|node| {
        let events = cluster.events_about_node(&node.metadata.name).filter(|event| event.is_kubelet_start());
        let recent = events.filter(|event| event.last_seen().is_some_and(|at| cluster.age(at) <= hour));
        (node.metadata.name.as_str(), recent.count())
    });
    starts.find(|(_, times)| *times >= OFTEN)
}

/// A sidecar that keeps restarting.
struct Restarts<'a> {
    app: &'static str,
    pod: &'a Pod,
    times: i64,
    /// More often than a rollout of API servers explains, since the pod was created.
    is_often: bool,
    end: &'a Terminated,
}

/// True where sidecars of several kinds ended with an error in the same five minutes: they have nothing in common but the API server.
fn together(all: &[Restarts]) -> bool {
    const AT_ONCE: SignedDuration = SignedDuration::from_mins(5);
    let ended: Vec<_> = all.iter().filter_map(|one| Some((one.app, one.end.finished_at.get()?))).collect();
    let last = ended.iter().map(|(_, at)| *at).max();
    let near = ended.iter().filter(|(_, at)| last.is_some_and(|last| last.duration_since(*at) <= AT_ONCE));
    near.map(|(app, _)| *app).collect::<BTreeSet<_>>().len() >= 3
}

impl Restarts<'_> {
    fn text(&self) -> String {
        let (name, times, code) =
            (&self.pod.metadata.name, counted(self.times, "restart"), self.end.exit_code);
        let life = looping::length(self.end).map(text::duration).unwrap_or_default();
        format!("pod {name}: {times}, and the last run ended with exit code {code} after {life}")
    }
}

fn of_pod<'a>(cluster: &Cluster, app: &'static str, pod: &'a Pod) -> Option<Restarts<'a>> {
    let status = pod.container_status(app)?;
    let (times, end) = (status.restart_count.0, looping::last_end(status)?);
    let days = cluster.age(pod.metadata.created()?).as_hours() / 24 + 1;
    let recent = cluster.age(end.finished_at.get()?) < RECENT;
    // what ends within seconds waits for the plugin's socket, and what was lost with its node ended with that
    let lived = looping::length(end)? >= SETTLED && end.reason != "Unknown";
    let is_often = times >= days.saturating_mul(A_DAY);
    (recent && lived && times >= AT_LEAST).then_some(Restarts { app, pod, times, is_often, end })
}
