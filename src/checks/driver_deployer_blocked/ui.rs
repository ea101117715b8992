//! Longhorn's UI: nginx in Deployment longhorn-ui. It exits during startup if it cannot resolve Service longhorn-backend, and in v1.10.0 if
//! the node has no IPv6 (longhorn-ui v1.3.3 to v1.11.3 nginx.conf.template; #3169, #11875). Nothing in Longhorn depends on it.

use super::{causes, held};
use crate::check::*;
use crate::facts::patience::STARTED;
use crate::facts::{age, api, looping, pods, text};
use crate::longhorn::{Deployment, Pod, PodPhase};

/// The Deployment, the label `app` of its pods and their container.
const UI: &str = "longhorn-ui";
/// What nginx says last, and the way that it shows.
const SAID: [(&str, &Way); 2] = [
    ("host not found in upstream", &causes::UI_WITHOUT_BACKEND),
    ("Address family not supported", &causes::UI_WITHOUT_IPV6),
];

/// Why a pod of it serves no one.
struct Down<'a> {
    pod: &'a Pod,
    text: String,
    way: Option<&'static Way>,
    evidence: Vec<Evidence>,
}

pub(super) fn run(cluster: &Cluster, out: &mut Outcome) {
    let is_wanted = |pod: &&Pod| !pod.metadata.is_deleting() && pod.status.phase != PodPhase::Failed;
    let all = || cluster.pods_of(UI).filter(is_wanted);
    let settled = |pod: &&Pod| pod.metadata.created().is_none_or(|made| cluster.age(made) >= STARTED);
    let down: Vec<Down> = all().filter(settled).filter_map(|pod| of_pod(cluster, pod)).collect();
    let Some(first) = down.first() else { return };
    let all = all().count();
    let (who, impact) = match all == down.len() {
        true => (
            UI.to_owned(),
            "Longhorn's UI is unavailable. Volumes and their data are not affected, and kubectl still works",
        ),
        false => (format!("{} of {all} {UI} pods", down.len()), "none: another pod serves Longhorn's UI"),
    };
    let crash = first.pod.container_status(UI).and_then(|status| looping::looping(status, cluster.now));
    let since = match crash {
        Some(crash) => age::loop_since(cluster, out, &first.pod.metadata.name, &crash),
        None => pods::since(first.pod),
    };
    out.report(
        Finding::about(
            &causes::UI_DOWN,
            cluster.object::<Deployment>(UI),
            format!("{who} is down: {}", first.text),
        )
        .way(first.way)
        .with(Name::Pod, first.pod.metadata.name.as_str())
        .node(&first.pod.spec.node_name)
        .since(since)
        .impact(impact)
        .facts(text::first_ten(&down, "pod", |one| format!("pod {}: {}", one.pod.metadata.name, one.text)))
        .facts(first.evidence.clone()),
    );
}

fn of_pod<'a>(cluster: &'a Cluster, pod: &'a Pod) -> Option<Down<'a>> {
    let Some(crash) = looping::looping(pod.container_status(UI)?, cluster.now) else {
        let found = held(cluster, pod, UI)?;
        let (text, way) = (found.text.clone(), Some(found.way));
        return Some(Down { pod, text, way, evidence: found.beyond("") });
    };
    let text = format!("its container keeps exiting ({})", counted(crash.restarts, "restart"));
    let log = cluster.history.crash_log(&pod.metadata.name, UI);
    let said = log.and_then(|log| log.text.lines().rev().find(|line| line.contains("[emerg]")));
    let way = said.and_then(|line| SAID.iter().find(|(part, _)| line.contains(part))).map(|(_, way)| *way);
    let code = crash.end.map(|end| api(format!("the last run ended with exit code {}", end.exit_code)));
    let quote = said.map(|line| {
        EvidenceSource::Log
            .says(format!("the last run's log ends with: {}", text::quoted(line)))
            .quoting(line)
    });
    Some(Down { pod, text, way, evidence: code.into_iter().chain(quote).collect() })
}
