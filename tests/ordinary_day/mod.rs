//! A day of ordinary life, minute by minute, in which nothing at warning may be found but what a person would
//! want to know: a rolling upgrade from 1.9 to 1.10, drain, reboot and uncordon of each node in turn, three volumes an
//! hour that come and go, and a rebuild of two hours.
//!
//! Objects change on an API server as Longhorn and Kubernetes change them, and reach the checks through the lists and
//! watches of the exporter. Only its clock is moved by the test: the sockets are real, and a runtime with paused time would
//! take each wait for them for idleness and let every timeout run out.

mod day;
mod drain;
mod rebuild;
mod upgrade;
mod volumes;

use std::collections::BTreeSet;

use day::{Day, NODES};
use longhorn_health_exporter::check::Severity;

/// Every warning of the day, and why it is right.
const RIGHT: &[(&str, &str)] = &[(
    "instance_manager_down/node_down",
    "for the two minutes of each reboot the node does not answer, and `check` must not say healthy; no alert fires",
)];

const UPGRADE: i64 = 361;
const ENGINES: i64 = 430;
const DRAINS: [i64; 3] = [600, 720, 840];
const REBUILD: i64 = 1080;

#[tokio::test]
async fn an_ordinary_day_warns_of_nothing_that_a_person_would_call_wrong() {
    let mut day = Day::begin().await;
    for minute in 0..24 * 60 {
        day.at(minute);
        day.disks_fill(None);
        day.volumes_come_and_go();
        day.upgrade();
        for (node, from) in NODES.iter().zip(DRAINS) {
            day.drain(node, minute - from);
        }
        day.rebuild(minute - REBUILD);
        day.look().await;
    }
    assert!(day.unknown.is_empty(), "{:#?}", day.unknown);
    let warnings = day.found.iter().filter(|(_, found)| found.severity >= Severity::Warning);
    let told: Vec<String> = warnings
        .clone()
        .map(|(cause, found)| format!("{cause} in minutes {:?}: {}", found.minutes, found.example))
        .collect();
    println!("{}", told.join("\n"));
    let found: BTreeSet<&str> = warnings.map(|(cause, _)| cause.as_str()).collect();
    let right: BTreeSet<&str> = RIGHT.iter().map(|(warning, _)| *warning).collect();
    assert_eq!(found, right, "{told:#?}");
    assert!(day.minutes_degraded > 240, "the day has its rebuilds: {}", day.minutes_degraded);
}

/// What no recording can show: the disks of one node report the same for an hour.
#[tokio::test]
async fn a_manager_that_stops_measuring_its_disks_is_told_after_an_hour() {
    const HANGS: i64 = 30;
    let mut day = Day::begin().await;
    for minute in 0..HANGS + 70 {
        day.at(minute);
        day.disks_fill((minute > HANGS).then_some("worker-2"));
        day.look().await;
    }
    let still = &day.found["manager_half_alive/node_status_still"];
    assert_eq!((still.severity, still.minutes[0]), (Severity::Info, HANGS + 60), "{}", still.example);
    assert!(still.example.contains("nodes.longhorn.io worker-2"), "{}", still.example);
    assert!(!day.found.contains_key("manager_half_alive/work_undone"));
}
