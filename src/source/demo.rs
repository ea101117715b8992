//! The embedded demo cluster: a recording in the binary whose clock is moved to now.

use std::collections::BTreeSet;
use std::sync::Mutex;

use jiff::{SignedDuration, Timestamp};
use regex::{Captures, Regex};

use super::Source;
use super::recording::{RecordedFile, Recording, RecordingError};
use crate::cluster::Cluster;
use crate::history::Observation;
use crate::longhorn::Resource;
use crate::sync::lock;

const NAMESPACE: &str = "longhorn-system";

/// The files of the recording.
const FILES: &[(&str, &str)] = &[
    ("demo/cluster.yaml", include_str!("demo/cluster.yaml")),
    (
        "demo/longhorn-manager-f1e65.longhorn-manager.previous.log",
        include_str!("demo/longhorn-manager-f1e65.longhorn-manager.previous.log"),
    ),
    (
        "demo/longhorn-manager-28d98.longhorn-manager.previous.log",
        include_str!("demo/longhorn-manager-28d98.longhorn-manager.previous.log"),
    ),
    (
        "demo/longhorn-manager-f3524.longhorn-manager.previous.log",
        include_str!("demo/longhorn-manager-f3524.longhorn-manager.previous.log"),
    ),
    (
        "demo/longhorn-manager-7a0dd.longhorn-manager.log",
        include_str!("demo/longhorn-manager-7a0dd.longhorn-manager.log"),
    ),
];

/// The demo cluster at `now`.
///
/// The recording is written as of a fixed moment; every time in it is moved by the same amount, so
/// that the demo is never old.
pub fn cluster(now: Timestamp) -> Result<Cluster, RecordingError> {
    let written = read(SignedDuration::ZERO)?.newest().unwrap_or(now);
    Ok(read(now.duration_since(written))?.into_cluster(NAMESPACE, Some(now)))
}

/// The demo as `serve` shows it: the same night however long it is looked at. Leases are renewed and
/// pods have crashed just now, as those of a real cluster; with times that stand still, a Lease would
/// lapse after ten minutes and the night would be another one.
#[derive(Debug)]
pub struct Demo {
    read: Mutex<Cluster>,
}

impl Demo {
    /// How old what was read may be.
    const KEPT: SignedDuration = SignedDuration::from_secs(30);

    /// Reads the recording as of `now`.
    pub fn new(now: Timestamp) -> Result<Self, RecordingError> {
        Ok(Demo { read: Mutex::new(cluster(now)?) })
    }
}

impl Source for Demo {
    fn snapshot(&self, now: Timestamp) -> Cluster {
        let mut held = lock(&self.read);
        if now.duration_since(held.now) >= Self::KEPT
            && let Ok(read) = cluster(now)
        {
            *held = read;
        }
        let Cluster { namespace, objects, history, resources, .. } = &*held;
        Cluster::new(namespace, now.max(held.now), objects.clone(), history.clone(), resources.clone())
    }

    fn generation(&self) -> u64 {
        0
    }

    fn keep_observed(&self, _holding: Vec<Observation>, _blind: &BTreeSet<&'static str>, _now: Timestamp) {}

    fn waiting_for(&self) -> Vec<Resource> {
        Vec::new()
    }
}

fn read(moved_by: SignedDuration) -> Result<Recording, RecordingError> {
    let file = |(name, content): &(&str, &str)| RecordedFile {
        name: (*name).to_owned(),
        content: move_times(content, moved_by).into_bytes(),
    };
    Recording::from_files(FILES.iter().map(file), NAMESPACE, Timestamp::MAX)
}

/// The year of the recording, which the times of klog leave out.
const YEAR: &str = "2026";

/// Moves every RFC 3339 time in a text, and every one that klog wrote (`E0301 11:59:52.004416`).
fn move_times(text: &str, by: SignedDuration) -> String {
    let times = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\\.[0-9]+)?Z";
    let klog = "(?m)^(?P<level>[IWEF])(?P<month>[0-9]{2})(?P<day>[0-9]{2}) (?P<time>[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}) ";
    let (Ok(times), Ok(klog)) = (Regex::new(times), Regex::new(klog)) else {
        return text.to_owned(); // never: the patterns are constants, and the tests below use them
    };
    let moved = |text: &str, format: &str| {
        let time: Timestamp = text.parse().ok()?;
        Some(time.checked_add(by).unwrap_or(time).strftime(format).to_string())
    };
    let text = times.replace_all(text, |found: &Captures<'_>| {
        moved(&found[0], "%Y-%m-%dT%H:%M:%SZ").unwrap_or_else(|| found[0].to_owned())
    });
    let of_klog = |found: &Captures<'_>| {
        let written = format!("{YEAR}-{}-{}T{}Z", &found["month"], &found["day"], &found["time"]);
        let moved = moved(&written, "%m%d %H:%M:%S.%6f");
        moved.map_or_else(|| found[0].to_owned(), |moved| format!("{}{moved} ", &found["level"]))
    };
    klog.replace_all(&text, of_klog).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_move_and_nothing_else_does() {
        let text = "a: 20\nb: \"2026-01-01T00:00:00Z\"\nc: v1.20\nd: 2026-01-01T00:00:00.000000Z";
        let moved = "a: 20\nb: \"2026-01-01T00:01:01Z\"\nc: v1.20\nd: 2026-01-01T00:01:01Z";
        assert_eq!(move_times(text, SignedDuration::from_secs(61)), moved);
    }

    #[test]
    fn what_klog_wrote_moves_with_the_rest() {
        let by = SignedDuration::from_hours(24) + SignedDuration::from_secs(61);
        let text = "E0228 11:59:52.004416       1 reflector.go:200] \"x\"\nfee E0228 11:59:52.004416\nI1 x";
        let moved = "E0301 12:00:53.004416       1 reflector.go:200] \"x\"\nfee E0228 11:59:52.004416\nI1 x";
        assert_eq!(move_times(text, by), moved);
    }

    #[test]
    fn the_demo_is_whole_and_of_now() {
        let now = "2030-05-06T07:08:09Z".parse().unwrap();
        let cluster = cluster(now).unwrap();
        assert_eq!(cluster.objects.kube_nodes.len(), 5);
        assert_eq!(cluster.objects.unrecognized().len(), 0);
        let newest = cluster.objects.leases.iter().filter_map(|lease| lease.spec.renew_time.get()).max();
        assert_eq!(newest, Some(now));
        assert!(cluster.history.crash_log("longhorn-manager-f1e65", "longhorn-manager").is_some());
    }

    #[test]
    fn the_night_is_the_same_however_long_it_is_served() {
        let start: Timestamp = "2030-05-06T07:08:09Z".parse().unwrap();
        let demo = Demo::new(start).unwrap();
        let told = |now: Timestamp| -> Vec<String> {
            let report = crate::testing::evaluate(&demo.snapshot(now)).report;
            report
                .findings
                .iter()
                .map(|found| format!("{} {} {}", found.check, found.cause, found.object.name))
                .collect()
        };
        let first = told(start);
        for later in
            [SignedDuration::from_secs(29), SignedDuration::from_mins(11), SignedDuration::from_hours(30)]
        {
            assert_eq!(told(start + later), first, "after {later}");
        }
    }

    #[test]
    fn every_check_has_something_to_show_and_none_is_unknown() {
        let cluster = cluster("2030-05-06T07:08:09Z".parse().unwrap()).unwrap();
        let evaluation = crate::testing::evaluate(&cluster);
        let found: Vec<&str> = evaluation.report.findings.iter().map(|finding| finding.check).collect();
        // a night has its limits: with every manager down no single one is half alive, no node is dead, and an
        // engine image that is too old is found before an upgrade
        let of_other_nights = [
            "volume_attachment_stuck", "attachment_on_dead_node", "volume_read_only",
            "replica_unschedulable", "manager_half_alive", "engine_image_unavailable", "left_behind",
            "operation_stalled", "snapshot_chain_long", "version_skew",
            // finds what a file of users says
            "signature_matched",
        ];
        for check in
            crate::checks::CATALOGUE.checks.iter().filter(|check| !of_other_nights.contains(&check.id))
        {
            assert!(found.contains(&check.id), "the demo has no finding of {}", check.id);
        }
        assert!(evaluation.report.unknown.is_empty(), "{:?}", evaluation.report.unknown);
    }
}
