//! The two tables of the "Longhorn resilience configuration" write-up, recomputed.

use proptest::prelude::*;

use super::model::*;
use crate::longhorn::Release;

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
    // the manager asks its own webhook with a time-out of 1 s: a longer probe time-out does not
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
    assert_eq!(CUSTOM.kills_at(), Some((ProbeKind::Startup, 300)));
    assert_eq!(liveness_alone.kills_at(), Some((ProbeKind::Liveness, 90)));
    assert_eq!(STOCK.kills_at(), None);
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
