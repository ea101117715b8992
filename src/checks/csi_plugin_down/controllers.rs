//! The four Deployments of which one working pod each is needed.

use jiff::{SignedDuration, Timestamp};

use super::restarts::lost_lease;
use super::{PLUGIN, causes, crashing};
use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::patience::NODE_AWAY;
use crate::facts::ways::CUT_OFF;
use crate::facts::{api, looping, nodes, not_started, pods, policies, removal, text};
use crate::longhorn::{ConditionStatus, CsiAttachment, Deployment, Pod, PodPhase, condition};

/// What ends within seconds of its start has done nothing before.
pub(super) const SETTLED: SignedDuration = SignedDuration::from_secs(60);

const ATTACHER: &str = "csi-attacher";

/// What stops with each, and how bad that is.
pub(super) const CONTROLLERS: [(&str, &Cause, &str); 4] = [
    (
        ATTACHER,
        &causes::CONTROLLER_DOWN,
        "no volume in the cluster can be attached or detached. Pods that move to another node are waiting",
    ),
    (
        "csi-provisioner",
        &causes::CONTROLLER_DOWN,
        "no volume can be created or deleted for a claim. New claims stay Pending",
    ),
    ("csi-resizer", &causes::SIDECAR_DOWN, "claims cannot be expanded"),
    (
        "csi-snapshotter",
        &causes::SIDECAR_DOWN,
        "VolumeSnapshots cannot be taken, and backup tools that use them fail",
    ),
];

/// Side-cars that stop together with a controller do so for the reason of that: they are reported with it, not as a second incident.
/// True where one is down.
pub(super) fn run(cluster: &Cluster, out: &mut Outcome) -> bool {
    let (mut controllers, mut sidecars) = (Vec::new(), Vec::new());
    for (name, cause, impact) in CONTROLLERS {
        let Some(deployment) = cluster.objects.deployments.get(name) else { continue };
        // deleted after its pods, as the uninstaller does
        if deployment.metadata.is_deleting() {
            continue;
        }
        let found = match deployment.spec.replicas {
            Some(0) => scaled_to_zero(cluster, deployment),
            _ => down(cluster, out, deployment, cause),
        };
        let Some(finding) = found else { continue };
        match cause == &causes::CONTROLLER_DOWN {
            true => controllers.push(finding.impact(impact)),
            false => sidecars.push((finding, impact)),
        }
    }
    if (!controllers.is_empty() || !sidecars.is_empty()) && removal::unmissed(cluster).is_some() {
        return true;
    }
    if controllers.is_empty() {
        let any = !sidecars.is_empty();
        sidecars.into_iter().for_each(|(finding, impact)| out.report(finding.impact(impact)));
        return any;
    }
    let also: Vec<String> =
        sidecars.iter().map(|(finding, impact)| format!("{}, so {impact}", finding.message)).collect();
    for finding in controllers {
        out.report(finding.facts(also.iter().map(|also| api(also.clone()))));
    }
    true
}

/// Scaled to nothing, which may be intent, while something waits for it.
fn scaled_to_zero(cluster: &Cluster, deployment: &Deployment) -> Option<Finding> {
    let asked = |csi: &CsiAttachment| {
        let waits = !csi.status.attached || csi.metadata.is_deleting();
        let since = csi.metadata.deletion_timestamp.get().or_else(|| csi.metadata.created());
        since.filter(|_| waits)
    };
    let asked = cluster.objects.csi_attachments.iter().filter_map(asked);
    let waiting: Vec<Timestamp> = asked.filter(|since| cluster.age(*since) >= NODE_AWAY).collect();
    let name = deployment.metadata.name.as_str();
    if waiting.is_empty() || name != ATTACHER {
        return None;
    }
    let message = format!("{name} is down: its Deployment is scaled to 0 replicas");
    let since = waiting.iter().min().copied();
    Some(
        Finding::about(&causes::CONTROLLER_DOWN, cluster.object::<Deployment>(name), message)
            .since(since)
            .way(&causes::SCALED_TO_ZERO)
            .fact(format!("Deployment {name}: spec.replicas is 0"))
            .fact(format!("{} in Kubernetes for csi-attacher", waits(waiting.len()))),
    )
}

fn waits(count: usize) -> String {
    let waits = if count == 1 { "is waiting" } else { "are waiting" };
    format!("{} {waits}", counted(count, "VolumeAttachment"))
}

/// What a sidecar wrote when it could not renew its Lease, as each of these pods did at its end.
fn lease_lost<'a>(cluster: &'a Cluster, pods: &[&Pod]) -> Option<&'a str> {
    let line = |pod: &&Pod| cluster.history.logs_of(pod).find_map(|log| Some(lost_lease(&log.text)?.1));
    let lines: Vec<&str> = pods.iter().filter_map(line).collect();
    lines.first().copied().filter(|_| lines.len() == pods.len())
}

fn down(
    cluster: &Cluster,
    out: &mut Outcome,
    deployment: &Deployment,
    cause: &'static Cause,
) -> Option<Finding> {
    let name = deployment.metadata.name.as_str();
    let all: Vec<&Pod> = cluster.pods_of(name).collect();
    let works = |pod: &&&Pod| {
        let alive = pod.is_ready() && !pod.metadata.is_deleting() && !is_looping(cluster, pod);
        alive && nodes::kube_ready(cluster, &pod.spec.node_name) != Some(false)
    };
    // a crash loop has shown itself already, unless what it waits for is exchanged; all others may be on their way
    let exchanged = exchanged(cluster, &all).is_some_and(|made| cluster.age(made) < NODE_AWAY);
    let looping = !exchanged && all.iter().any(|pod| crashing(cluster, pod).is_some());
    // pods may carry other labels than those that Longhorn gives them; where the two contradict each other, one is about to follow
    if all.iter().any(|pod| works(&pod)) || (!looping && deployment.status.ready_replicas.0 > 0) {
        return None;
    }
    let last = all.iter().filter_map(|pod| stopped(pod)).chain(fell(deployment)).max();
    let last = last.max(deployment.metadata.created());
    let age = observe(cluster, out, "down", name, Begun::At(last));
    if !looping && !age.at_least(NODE_AWAY, Unknown::Counts) {
        return None;
    }
    // the youngest is what the Deployment wants now
    let youngest = all.iter().copied().max_by_key(|pod| pod.metadata.created());
    let why = pods::brief(youngest);
    let waits = youngest.filter(|pod| pod.status.phase == PodPhase::Pending);
    let refused = waits.map(|pod| (pod, not_started::of_pod(cluster, pod, name)));
    let refused = refused.filter(|(_, why)| why.is_definite());
    // between two ends it runs, and has no probe that says more
    let ends = all.iter().filter(|pod| pod.is_ready()).find_map(|pod| crashing(cluster, pod));
    let code = ends.as_ref().and_then(|(_, found)| found.end).map(|end| end.exit_code);
    let cut = policies::cut_off(cluster, name).filter(|_| looping);
    let may_be_lost = looping && cause == &causes::CONTROLLER_DOWN;
    let lost = may_be_lost.then(|| lease_lost(cluster, &all)).flatten();
    let message = match ends {
        _ if cut.is_some() => format!("{name} is down: {}", CUT_OFF.briefly),
        _ if lost.is_some() => format!("{name} is down: {}", causes::LEASE_LOST.briefly),
        Some((container, found)) => {
            let restarts = counted(found.restarts, "restart");
            format!("{name} is down: container {container} keeps exiting ({restarts})")
        }
        None => match &refused {
            // a reason in brackets is what stands in `why`
            Some((_, found)) if !found.text.contains('(') => format!("{name} is down: {}", found.text),
            _ => format!("{name} is down{why}"),
        },
    };
    let mut finding = Finding::about(cause, cluster.object::<Deployment>(name), message).since(age.since);
    let (ready, wanted) = (deployment.status.ready_replicas.0, deployment.spec.replicas.unwrap_or(1));
    finding = finding.fact(format!("Deployment {name}: {ready} of {wanted} pods are Ready"));
    finding = finding.facts(code.map(|code| format!("the container's last exit code was {code}")));
    let troubles = all.iter().filter_map(|pod| {
        let trouble = format!("pod {}: {}", pod.metadata.name, pods::trouble(pod)?);
        Some(api(trouble).quoting(pods::said(pod)))
    });
    finding = finding.facts(troubles.take(3));
    if let Some(cut) = cut {
        return Some(cut.tell(cluster, finding));
    }
    if let Some(line) = lost {
        let fact =
            EvidenceSource::Log.says(format!("a pod's log says: {}", text::quoted(line))).quoting(line);
        return Some(finding.way(&causes::LEASE_LOST).facts([fact]));
    }
    Some(match refused {
        Some((pod, why)) => {
            finding.way(why.way).with(Name::Pod, pod.metadata.name.as_str()).node(&pod.spec.node_name)
        }
        None => finding,
    })
}

/// Since when a pod that does not work is as it is; one that is Ready was until it was asked to end.
fn stopped(pod: &Pod) -> Option<Timestamp> {
    pod.metadata.deletion_timestamp.get().filter(|_| pod.is_ready()).or_else(|| pods::since(pod))
}

/// When it had too few pods, which dates it where no pod is left. It may have been the first of three.
fn fell(deployment: &Deployment) -> Option<Timestamp> {
    let available = condition(&deployment.status.conditions, "Available")?;
    available.last_transition_time.get().filter(|_| available.status == ConditionStatus::False)
}

/// Two ends are no loop yet where it runs now: so it is where someone, or a node, ended it twice.
const ENDS: i64 = 3;

/// False where every container of it has run for twice as long as the last time, and for a minute: whatever ended it has let it go, sooner
/// than the kubelet's back-off tells.
fn is_looping(cluster: &Cluster, pod: &Pod) -> bool {
    pod.status.container_statuses.iter().any(|status| {
        let Some(found) = looping::looping(status, cluster.now) else { return false };
        if found.restarts < ENDS && status.state.running.is_some() {
            return false;
        }
        let last = found.run().and_then(|run| run.checked_mul(2)).unwrap_or(SignedDuration::MAX);
        status.running_since().is_none_or(|since| cluster.age(since) < last.max(SETTLED))
    })
}

/// When the youngest of these pods, or of the plugins on their nodes, was made: a sidecar ends for as long as no plugin listens
/// beside it, which in an upgrade takes seconds to a minute (seen from v1.11.3 to v1.12.1).
fn exchanged(cluster: &Cluster, all: &[&Pod]) -> Option<Timestamp> {
    let beside = |plugin: &&Pod| all.iter().any(|pod| pod.spec.node_name == plugin.spec.node_name);
    let plugins = cluster.pods_of(PLUGIN).filter(beside);
    all.iter().copied().chain(plugins).filter_map(|pod| pod.metadata.created()).max()
}
