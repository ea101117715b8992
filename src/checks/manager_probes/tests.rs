//! The two tables of the "Longhorn resilience configuration" write-up, recomputed: what becomes of one
//! start of a manager, given its probes, its release and how long its webhook takes to answer.

use proptest::prelude::*;

use super::model::*;
use crate::longhorn::Release;

/// Seconds after which the manager's own requests to its webhook time out
/// (longhorn-manager v1.12.1 webhook/webhook.go), whatever the probes say.
const OWN_REQUEST_TIMEOUT: f64 = 1.0;
/// Longest pause of the kubelet between two starts of a crashing container.
const MAX_BACK_OFF: i64 = 300;
/// Starts that are followed before a loop is called endless.
const MAX_STARTS: u32 = 64;

impl Timing {
    /// The first probe at or after a moment.
    fn first_at(self, moment: i64) -> i64 {
        let waited = moment.saturating_sub(self.delay).max(0);
        let period = self.period.max(1);
        let steps = waited / period + i64::from(waited % period != 0);
        self.delay.saturating_add(steps.saturating_mul(period))
    }

    fn answered(self, latency: f64) -> bool {
        latency < self.timeout as f64
    }
}

/// How one start goes, seen from outside.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Start {
    /// Seconds in the queue for the webhook Lease.
    queued: i64,
    /// Seconds from there until the listener answers on localhost; `None` for never.
    listener: Option<i64>,
    /// Seconds until the pod's network works, so that kubelet and Service reach it.
    network: Option<i64>,
    /// Seconds that one answer takes.
    latency: f64,
    /// Whether another manager is Ready and answers through the Service.
    others_ready: bool,
}

/// What the manager was waiting for when it gave up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// Its own listener: "webhook is not ready on localhost".
    Listener,
    /// The Service: "webhook service is not accessible on cluster".
    Service,
}

/// What becomes of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It starts, and the pod is Ready from this second on.
    Ready(i64),
    /// The process ends itself.
    Exits(i64, Wait),
    /// The kubelet kills it.
    Killed(i64, ProbeKind),
    /// It runs but is never Ready.
    NeverReady,
}

/// What becomes of one start.
fn fate(probes: &Probes, wait: OwnWait, start: &Start) -> Fate {
    let listens = start.listener.map(|seconds| start.queued.saturating_add(seconds));
    let reachable = listens.zip(start.network).map(|(listens, network)| listens.max(network));
    let (ready, kill) = probed(probes, reachable, start.latency);
    let exit = gives_up(wait, start, listens, ready);
    match (kill, exit) {
        (Some((killed, by)), Some((exits, _))) if killed < exits => Fate::Killed(killed, by),
        (_, Some((exits, wait))) => Fate::Exits(exits, wait),
        (Some((killed, by)), None) => Fate::Killed(killed, by),
        (None, None) => ready.map_or(Fate::NeverReady, Fate::Ready),
    }
}

/// When the pod becomes Ready and when a probe kills it, if ever.
fn probed(probes: &Probes, reachable: Option<i64>, latency: f64) -> (Option<i64>, Option<(i64, ProbeKind)>) {
    let begun = match probes.startup {
        None => 0,
        Some(startup) => {
            let passed = reachable.filter(|_| startup.answered(latency)).map(|at| startup.first_at(at));
            match passed.filter(|at| *at < startup.window()) {
                Some(at) => at,
                None => return (None, Some((startup.window(), ProbeKind::Startup))),
            }
        }
    };
    // NotReady after `threshold` failures is no verdict for good: the kubelet goes on probing, and
    // the first answer makes the pod Ready
    let ready = match probes.readiness {
        None => Some(begun),
        Some(readiness) => reachable
            .filter(|_| readiness.answered(latency))
            .map(|reachable| readiness.first_at(reachable.max(begun))),
    };
    let kill = probes.liveness.and_then(|liveness| {
        let killed = begun.max(liveness.delay).saturating_add(liveness.tolerance());
        let lives = liveness.answered(latency) && reachable.is_some_and(|reachable| reachable < killed);
        (!lives).then_some((killed, ProbeKind::Liveness))
    });
    (ready, kill)
}

/// When the manager itself gives up, if ever.
fn gives_up(wait: OwnWait, start: &Start, listens: Option<i64>, ready: Option<i64>) -> Option<(i64, Wait)> {
    let limit = wait.limit?;
    let deadline = start.queued.saturating_add(limit);
    let heard = listens.filter(|at| *at <= deadline && start.latency < OWN_REQUEST_TIMEOUT);
    let Some(heard) = heard else { return Some((deadline, Wait::Listener)) };
    if !wait.service {
        return None;
    }
    let deadline = heard.saturating_add(limit);
    let someone_ready = if start.others_ready { Some(heard) } else { ready };
    let served = someone_ready.zip(start.network).map(|(ready, network)| ready.max(network));
    served.is_none_or(|at| at > deadline).then_some((deadline, Wait::Service))
}

/// How a pod gets on over several starts of its container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Course {
    restarts: u32,
    /// Seconds after the pod's first start at which it is Ready for good; `None` for an endless loop.
    ready_at: Option<i64>,
}

/// Follows a pod through the kubelet's back-off. The network comes up once for the pod, however
/// often the container starts; a slow listener is slow at every start.
fn course(probes: &Probes, wait: OwnWait, first: &Start) -> Course {
    let (mut began, mut back_off) = (0_i64, 10);
    for restarts in 0..MAX_STARTS {
        let network = first.network.map(|seconds| seconds.saturating_sub(began).max(0));
        let queued = if restarts == 0 { first.queued } else { 0 };
        let ended = match fate(probes, wait, &Start { network, queued, ..*first }) {
            Fate::Ready(at) => return Course { restarts, ready_at: Some(began.saturating_add(at)) },
            Fate::NeverReady => return Course { restarts, ready_at: None },
            Fate::Exits(at, _) | Fate::Killed(at, _) => at,
        };
        began = began.saturating_add(ended).saturating_add(back_off);
        back_off = (back_off * 2).min(MAX_BACK_OFF);
    }
    Course { restarts: MAX_STARTS, ready_at: None }
}

/// How a manager that is past its start bears slow answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bearing {
    /// Seconds until it leaves its Services; it comes back with the first fast answer.
    not_ready_after: Option<i64>,
    /// Seconds until the kubelet kills it.
    killed_after: Option<i64>,
}

/// How a running manager bears answers that take `latency` seconds.
fn bearing(probes: &Probes, latency: f64) -> Bearing {
    let failing =
        |timing: Option<Timing>| timing.filter(|timing| !timing.answered(latency)).map(Timing::tolerance);
    Bearing { not_ready_after: failing(probes.readiness), killed_after: failing(probes.liveness) }
}

const READINESS: Timing = Timing { delay: 0, period: 10, timeout: 1, threshold: 3 };
const STOCK: Probes = Probes { startup: None, liveness: None, readiness: Some(READINESS) };
/// The probes that the write-up recommends.
const CUSTOM: Probes = Probes {
    startup: Some(Timing { delay: 0, period: 10, timeout: 5, threshold: 30 }),
    liveness: Some(Timing { delay: 0, period: 30, timeout: 5, threshold: 3 }),
    readiness: Some(Timing { timeout: 5, ..READINESS }),
};
const QUICK: Start =
    Start { queued: 0, listener: Some(5), network: Some(0), latency: 0.05, others_ready: false };

fn wait(release: &str) -> OwnWait {
    OwnWait::of(Release::parse(release).unwrap())
}

/// A pod whose network needs so long, alone in its cluster: the write-up's case.
fn network(seconds: i64) -> Start {
    Start { network: Some(seconds), ..QUICK }
}

/// A pod whose listener itself needs so long.
fn listener(seconds: i64) -> Start {
    Start { listener: Some(seconds), ..QUICK }
}

#[test]
fn initialisation_time_by_probes_where_the_network_is_slow() {
    // The write-up says that 45 s and 90 s end in CrashLoopBackOff with stock probes and that the
    // startup probe saves them. With 1.9.2 and later neither is so: both become Ready at the next
    // probe. With 5 minutes the manager's own wait ends first, whatever the probes are.
    use Fate::*;
    for (seconds, stock, custom) in [
        (10, Ready(10), Ready(10)),
        (25, Ready(30), Ready(30)),
        (45, Ready(50), Ready(50)),
        (90, Ready(90), Ready(90)),
        (300, Exits(125, Wait::Service), Exits(125, Wait::Service)),
    ] {
        assert_eq!(fate(&STOCK, wait("v1.10.0"), &network(seconds)), stock, "stock {seconds}");
        assert_eq!(fate(&CUSTOM, wait("v1.10.0"), &network(seconds)), custom, "custom {seconds}");
    }
    // 1.5.4 to 1.9.1 wait 60 s
    for (seconds, both) in [(10, Ready(10)), (25, Ready(30)), (45, Ready(50)), (90, Exits(65, Wait::Service))]
    {
        assert_eq!(fate(&STOCK, wait("v1.9.1"), &network(seconds)), both, "stock {seconds}");
        assert_eq!(fate(&CUSTOM, wait("v1.9.1"), &network(seconds)), both, "custom {seconds}");
    }
    // 1.5.0 to 1.5.3 do not look at the Service: no loop, however late the network
    assert_eq!(fate(&STOCK, wait("v1.5.3"), &network(300)), Ready(300));
    // with another manager Ready, the Service answers as soon as the network does
    let helped = Start { others_ready: true, ..network(100) };
    assert_eq!(fate(&STOCK, wait("v1.10.0"), &helped), Ready(100));
}

#[test]
fn initialisation_time_by_probes_where_the_listener_is_slow() {
    use Fate::*;
    for (seconds, limit_60, limit_120) in [
        (10, Ready(10), Ready(10)),
        (25, Ready(30), Ready(30)),
        (45, Ready(50), Ready(50)),
        (90, Exits(60, Wait::Listener), Ready(90)),
        (300, Exits(60, Wait::Listener), Exits(120, Wait::Listener)),
    ] {
        for probes in [STOCK, CUSTOM] {
            assert_eq!(fate(&probes, wait("v1.9.1"), &listener(seconds)), limit_60, "{seconds}");
            assert_eq!(fate(&probes, wait("v1.9.2"), &listener(seconds)), limit_120, "{seconds}");
        }
    }
}

#[test]
fn a_slow_network_heals_by_itself_and_a_slow_listener_does_not() {
    // 300 s of network: two exits, then Ready, with either set of probes
    for probes in [STOCK, CUSTOM] {
        let healed = course(&probes, wait("v1.10.0"), &network(300));
        assert_eq!(healed, Course { restarts: 2, ready_at: Some(300) });
        let endless = course(&probes, wait("v1.10.0"), &listener(300));
        assert_eq!(endless.ready_at, None);
    }
    // up to 1.4 nothing gives up; but the recommended startup probe would kill at 300 s
    let old = OwnWait { limit: None, service: false };
    assert_eq!(course(&STOCK, old, &listener(301)), Course { restarts: 0, ready_at: Some(310) });
    assert_eq!(fate(&CUSTOM, old, &listener(301)), Fate::Killed(300, ProbeKind::Startup));
}

#[test]
fn latency_by_timeout_of_a_running_manager() {
    for (latency, stock, custom, killed) in [
        (0.05, None, None, None),
        (0.5, None, None, None),
        (1.5, Some(30), None, None),
        (3.0, Some(30), None, None),
        (6.0, Some(30), Some(30), Some(90)),
    ] {
        assert_eq!(
            bearing(&STOCK, latency),
            Bearing { not_ready_after: stock, killed_after: None },
            "stock {latency}"
        );
        assert_eq!(
            bearing(&CUSTOM, latency),
            Bearing { not_ready_after: custom, killed_after: killed },
            "custom {latency}"
        );
    }
}

#[test]
fn latency_by_timeout_of_a_starting_manager() {
    // the manager asks its own webhook with a timeout of 1 s: a longer probe timeout does not
    // help a start
    for latency in [1.5, 3.0, 6.0] {
        let slow = Start { latency, ..QUICK };
        for probes in [STOCK, CUSTOM] {
            assert_eq!(fate(&probes, wait("v1.10.0"), &slow), Fate::Exits(120, Wait::Listener), "{latency}");
        }
        assert_eq!(fate(&STOCK, wait("v1.4.4"), &slow), Fate::NeverReady);
    }
}

#[test]
fn a_probe_that_kills_ends_the_queue_for_the_lease() {
    let queued = Start { queued: 400, others_ready: true, ..QUICK };
    assert_eq!(fate(&STOCK, wait("v1.10.0"), &queued), Fate::Ready(410));
    assert_eq!(fate(&CUSTOM, wait("v1.10.0"), &queued), Fate::Killed(300, ProbeKind::Startup));
    let liveness_alone = Probes { startup: None, ..CUSTOM };
    assert_eq!(fate(&liveness_alone, wait("v1.10.0"), &queued), Fate::Killed(90, ProbeKind::Liveness));
    let kills_at = |probes: Probes| probes.kills().map(|(kind, timing)| (kind, timing.window()));
    assert_eq!(kills_at(CUSTOM), Some((ProbeKind::Startup, 300)));
    assert_eq!(kills_at(liveness_alone), Some((ProbeKind::Liveness, 90)));
    assert_eq!(kills_at(STOCK), None);
}

#[test]
fn the_full_deadlock_needs_all_managers_not_ready() {
    let never = Start { network: None, ..QUICK };
    assert_eq!(fate(&STOCK, wait("v1.10.0"), &never), Fate::Exits(125, Wait::Service));
    // a manager that its own readiness probe admits too late: alone it gives up, with another
    // manager Ready it starts
    let late = Probes { readiness: Some(Timing { delay: 300, ..READINESS }), ..STOCK };
    assert_eq!(fate(&late, wait("v1.10.0"), &QUICK), Fate::Exits(125, Wait::Service));
    let helped = Start { others_ready: true, ..QUICK };
    assert_eq!(fate(&late, wait("v1.10.0"), &helped), Fate::Ready(300));
}

fn timing() -> impl Strategy<Value = Timing> {
    (0..400_i64, 1..120_i64, 1..10_i64, 1..40_i64).prop_map(|(delay, period, timeout, threshold)| Timing {
        delay,
        period,
        timeout,
        threshold,
    })
}

fn start() -> impl Strategy<Value = Start> {
    let maybe = || proptest::option::weighted(0.9, 0..700_i64);
    (0..700_i64, maybe(), maybe(), 0.0..8.0_f64, any::<bool>()).prop_map(
        |(queued, listener, network, latency, others_ready)| Start {
            queued,
            listener,
            network,
            latency,
            others_ready,
        },
    )
}

proptest! {
    /// Adding startup and liveness probes never makes a start succeed that fails without them.
    #[test]
    fn probes_that_kill_save_no_start(
        start in start(), readiness in timing(), startup in timing(), liveness in timing(),
        release in prop::sample::select(vec!["v1.4.4", "v1.5.2", "v1.7.0", "v1.10.0"]),
    ) {
        let plain = Probes { startup: None, liveness: None, readiness: Some(readiness) };
        let more = Probes { startup: Some(startup), liveness: Some(liveness), ..plain };
        if let Fate::Ready(at) = fate(&more, wait(release), &start) {
            match fate(&plain, wait(release), &start) {
                Fate::Ready(plain_at) => prop_assert!(plain_at <= at),
                other => prop_assert!(false, "plain probes: {other:?}"),
            }
        }
    }

    /// The manager's own wait bounds every start from 1.5 on.
    #[test]
    fn nothing_outlives_the_own_wait(start in start(), readiness in timing()) {
        let plain = Probes { startup: None, liveness: None, readiness: Some(readiness) };
        let alone = Start { others_ready: false, ..start };
        if let Fate::Ready(at) = fate(&plain, wait("v1.10.0"), &alone) {
            prop_assert!(at <= alone.queued + 240);
        }
    }

    #[test]
    fn extreme_numbers_do_not_overflow(delay in any::<i64>(), period in 1..i64::MAX, threshold in 1..i64::MAX) {
        let timing = Timing { delay: delay.saturating_abs(), period, timeout: 1, threshold };
        let probes = Probes { startup: Some(timing), liveness: Some(timing), readiness: Some(timing) };
        fate(&probes, wait("v1.10.0"), &QUICK);
        course(&probes, wait("v1.10.0"), &network(i64::MAX));
    }
}
