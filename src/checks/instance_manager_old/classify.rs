//! Why an old instance manager is still there.

use super::causes;
use jiff::SignedDuration;

use crate::check::*;
use crate::cluster::Readability;
use crate::facts::instance_managers::{InstanceManagers, NamedInstance, Role};
use crate::facts::patience::{APART, NEXT_LOOK, RECONCILE};
use crate::facts::text::duration;
use crate::facts::{api, nodes};
use crate::longhorn::*;

/// Two resyncs of the node controller, which removes an idle instance manager at each
/// (longhorn-manager v1.12.1 controller/node_controller.go, 30 s).
const IDLE: SignedDuration = SignedDuration::from_secs(60);

/// An instance that holds an old instance manager.
pub struct Holder<'a> {
    pub name: &'a str,
    pub role: Role,
    pub volume: Option<&'a str>,
    pub why: &'static Cause,
    /// False for an orphan whose object is still on its way to another state.
    pub settled: bool,
    pub evidence: Evidence,
}

/// The judgement over one instance manager.
pub struct OldManager<'a> {
    pub why: &'static Cause,
    pub since: Option<jiff::Timestamp>,
    pub holders: Vec<Holder<'a>>,
    pub evidence: Vec<Evidence>,
}

impl<'a> OldManager<'a> {
    fn plain(why: &'static Cause, since: Option<jiff::Timestamp>, evidence: Vec<Evidence>) -> Self {
        OldManager { why, since, holders: Vec::new(), evidence }
    }
}

/// Judges an instance manager whose deletion is under way; `None` while it is young.
pub fn deletion<'a>(cluster: &Cluster, im: &InstanceManager) -> Option<OldManager<'a>> {
    let asked = im.metadata.deletion_timestamp.get()?;
    (cluster.age(asked) >= RECONCILE).then(|| {
        let text = format!("deletionTimestamp is {asked}, {} ago", duration(cluster.age(asked)));
        let pod = ending_pod(cluster, im)
            .map(|pod| api(format!("pod {} on {} is Terminating", pod.metadata.name, pod.spec.node_name)));
        let evidence = [api(text)].into_iter().chain(pod).collect();
        OldManager::plain(&causes::DELETION_STUCK, Some(asked), evidence)
    })
}

/// The pod that the deletion of an instance manager waits for: it has its name (longhorn-manager controller/instance_manager_controller.go).
pub fn ending_pod<'a>(cluster: &'a Cluster, im: &InstanceManager) -> Option<&'a Pod> {
    cluster.objects.pods.get(&im.metadata.name).filter(|pod| pod.metadata.is_deleting())
}

/// Judges an old instance manager that is not being deleted.
pub fn classify<'a>(
    cluster: &'a Cluster,
    fleet: &InstanceManagers<'a>,
    im: &'a InstanceManager,
    out: &mut Outcome,
) -> OldManager<'a> {
    let node = &im.spec.node_id;
    let state = im.status.current_state;
    match state {
        InstanceManagerState::Running => {
            let holders: Vec<_> =
                fleet.holders(im).into_iter().map(|held| holder(cluster, fleet, im, held, out)).collect();
            // the causes stand with the worst one first
            let mut causes = causes::ALL.iter().copied();
            match causes.find(|cause| holders.iter().any(|holder| holder.why == *cause)) {
                Some(why) => {
                    let since = out.first_seen(why.id, &im.metadata.name);
                    OldManager { why, since, holders, evidence: Vec::new() }
                }
                None => idle(cluster, fleet, im, IDLE, "idle", out),
            }
        }
        InstanceManagerState::Unknown => match nodes::down(cluster, node) {
            Some(down) => OldManager::plain(&causes::NODE_DOWN, None, vec![down]),
            None if keeps_unknown(fleet.code_on(node)) => {
                let text = format!("the state is unknown, so Longhorn keeps it until {node} answers again");
                OldManager::plain(&causes::NODE_DOWN, None, vec![api(text)])
            }
            None => idle(cluster, fleet, im, NEXT_LOOK, "not_running", out),
        },
        InstanceManagerState::Unrecognized => {
            out.unknown(format!(
                "instance manager {} is in a state that no known release writes",
                im.metadata.name
            ));
            OldManager::plain(
                &causes::CLEANUP_PENDING,
                None,
                vec![api("no known release writes the instance manager's state")],
            )
        }
        _ => match nodes::down(cluster, node) {
            Some(down) => OldManager::plain(&causes::NODE_DOWN, None, vec![down]),
            None => idle(cluster, fleet, im, NEXT_LOOK, "not_running", out),
        },
    }
}

/// From 1.4.4, 1.5.2 and 1.6.0 on an old instance manager in state unknown is kept; 1.3.3, 1.4.0,
/// 1.5.0 and 1.5.1 remove it (longhorn-manager controller/node_controller.go syncInstanceManagers).
fn keeps_unknown(release: Option<Release>) -> bool {
    release.is_none_or(|release| release.has_fix(&[Release::new(1, 4, 4), Release::new(1, 5, 2)]))
}

/// Nothing holds it: the next node sync should remove it.
fn idle<'a>(
    cluster: &'a Cluster,
    fleet: &InstanceManagers<'a>,
    im: &'a InstanceManager,
    patience: SignedDuration,
    fact: &'static str,
    out: &mut Outcome,
) -> OldManager<'a> {
    let state = im.status.current_state.as_str();
    let since = out.first_seen(fact, &im.metadata.name);
    let mut evidence =
        vec![api(format!("the instance manager is {state} but holds no running or starting instance"))];
    let trouble = nodes::manager_trouble(cluster, &im.spec.node_id);
    let long = since.is_some_and(|since| cluster.age(since) >= patience);
    match since {
        Some(since) => evidence.push(
            EvidenceSource::History
                .says(format!("seen in this state since {since}, {} ago", duration(cluster.age(since)))),
        ),
        None => evidence.push(api("the start time is unknown (the object does not record it)")),
    }
    let why = if long || trouble.is_some() { &causes::CLEANUP_STUCK } else { &causes::CLEANUP_PENDING };
    evidence.extend(trouble);
    if !fleet.engine_is_enabled(im) {
        evidence.push(api(
            "the instance manager's data engine is disabled, so the setting controller removes it, not the node's sync",
        ));
    }
    OldManager::plain(why, since, evidence)
}

fn holder<'a>(
    cluster: &'a Cluster,
    fleet: &InstanceManagers<'a>,
    im: &'a InstanceManager,
    held: NamedInstance<'a>,
    out: &mut Outcome,
) -> Holder<'a> {
    let NamedInstance { name, role, state } = held;
    let volume = fleet.volume_of(role, name);
    let tie = tie(cluster, im, name, role, state);
    let settled = !matches!(tie, Tie::InTransition(_));
    let (why, text) = match tie {
        Tie::Here => regular(cluster, im, name, role, volume),
        Tie::Unseen => {
            out.unknown(format!("unknown whether {} {name} has an object: not all were read", role.as_str()));
            (by_role(role), "its object was not read".to_owned())
        }
        Tie::Elsewhere(text) => (&causes::ORPHAN_HELD, text),
        Tie::InTransition(text) => {
            let since = out.first_seen("in_transition", &format!("{}/{name}", im.metadata.name));
            let long = since.is_some_and(|since| cluster.age(since) >= APART);
            (if long { &causes::ORPHAN_HELD } else { &causes::CLEANUP_PENDING }, text)
        }
    };
    let of = volume.map(|volume| format!(" of volume {volume}")).unwrap_or_default();
    let evidence = api(format!("{} {name}{of} is {}: {text}", role.as_str(), state.as_str()));
    Holder { name, role, volume, why, settled, evidence }
}

fn by_role(role: Role) -> &'static Cause {
    if role == Role::Replica { &causes::REPLICA_HELD } else { &causes::REATTACH_PENDING }
}

/// An instance that belongs here: what the operator has to do about its volume.
fn regular(
    cluster: &Cluster,
    im: &InstanceManager,
    name: &str,
    role: Role,
    volume: Option<&str>,
) -> (&'static Cause, String) {
    if role == Role::Replica {
        let text = match im.spec.data_engine {
            DataEngine::V2 => "it moves to another instance manager when its volume attaches again",
            _ => "it moves to another instance manager once its volume is upgraded or attached again",
        };
        return (&causes::REPLICA_HELD, text.into());
    }
    // v2 has no live upgrade, so its engine images are not compared
    if role == Role::Engine && im.spec.data_engine.or_v1() == DataEngine::V1 {
        let default = cluster.setting_value("default-engine-image", DataEngine::V1);
        let current = volume
            .and_then(|volume| cluster.objects.volumes.get(volume))
            .map(|volume| volume.status.current_image.as_str())
            .filter(|image| !image.is_empty())
            .or_else(|| cluster.objects.engines.get(name).map(|engine| engine.status.current_image.as_str()))
            .unwrap_or_default();
        let upgrading = cluster
            .objects
            .engines
            .get(name)
            .is_some_and(|engine| !engine.spec.upgraded_replica_address_map.is_empty());
        if upgrading {
            return (&causes::ENGINE_UPGRADE_PENDING, "its live upgrade has not finished".into());
        }
        if !default.is_empty() && !current.is_empty() && current != default {
            return (
                &causes::ENGINE_UPGRADE_PENDING,
                format!("the volume's engine image is {current}, not the default {default}"),
            );
        }
    }
    (&causes::REATTACH_PENDING, "it stays in this instance manager until its volume is detached".into())
}

/// Whether an instance and its object agree on where it runs.
enum Tie {
    Here,
    Elsewhere(String),
    InTransition(String),
    Unseen,
}

/// What the object of an instance says.
struct Claim<'a> {
    meta: &'a Meta,
    owner: &'a str,
    manager: &'a str,
    current: InstanceState,
    desired: InstanceState,
    node: &'a str,
    /// An engine without node is detached, which is no transition.
    may_lack_node: bool,
}

/// The guards are those under which Longhorn itself holds back from calling an instance orphaned
/// (longhorn-manager v1.12.1 controller/instance_manager_controller.go isEngineOrphaned,
/// isReplicaOrphaned, isEngineInTransitionState, isReplicaInTransitionState).
fn tie(cluster: &Cluster, im: &InstanceManager, name: &str, role: Role, state: InstanceState) -> Tie {
    let Some(claim) = claim(cluster, role, name) else {
        return match (all_read(cluster, role), state) {
            (false, _) => Tie::Unseen,
            (true, InstanceState::Starting) => Tie::InTransition("it has no object yet".into()),
            (true, _) => Tie::Elsewhere("no object of this name exists".into()),
        };
    };
    if claim.manager == im.metadata.name {
        return Tie::Here;
    }
    let moving = claim.meta.is_deleting()
        || claim.owner.is_empty()
        || claim.current == InstanceState::Unset
        || claim.current != claim.desired
        || (claim.node != claim.owner && !(claim.may_lack_node && claim.node.is_empty()))
        || state == InstanceState::Starting;
    let text = match (claim.current, claim.manager) {
        (InstanceState::Running, "") => "its object names no instance manager".to_owned(),
        (InstanceState::Running, other) => format!("its object names instance manager {other}"),
        (current, _) => format!("its object is in state {}", current.as_str()),
    };
    match claim.current {
        InstanceState::Running | InstanceState::Stopped if !moving => Tie::Elsewhere(text),
        _ => Tie::InTransition(text),
    }
}

fn claim<'a>(cluster: &'a Cluster, role: Role, name: &str) -> Option<Claim<'a>> {
    let objects = &cluster.objects;
    macro_rules! claim {
        ($object:expr, $may_lack_node:expr) => {{
            let object = $object?;
            Some(Claim {
                meta: &object.metadata,
                owner: &object.status.owner_id,
                manager: &object.status.instance_manager_name,
                current: object.status.current_state,
                desired: object.spec.desire_state,
                node: &object.spec.node_id,
                may_lack_node: $may_lack_node,
            })
        }};
    }
    match role {
        Role::Engine => claim!(objects.engines.get(name), true),
        Role::Replica => claim!(objects.replicas.get(name), false),
        Role::EngineFrontend => claim!(objects.engine_frontends.get(name), true),
    }
}

/// True when an object that is not there really is not there.
fn all_read(cluster: &Cluster, role: Role) -> bool {
    let resource = match role {
        Role::Engine => Resource::Engines,
        Role::Replica => Resource::Replicas,
        Role::EngineFrontend => Resource::EngineFrontends,
    };
    let status = cluster.resources.get(&resource);
    status.is_some_and(|status| status.readability == Readability::Readable && status.undecodable == 0)
}
