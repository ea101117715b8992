//! The embedded demo cluster: a recording in the binary whose clock is moved to now.

use jiff::Timestamp;

use super::recording::{RecordedFile, Recording, RecordingError};
use crate::cluster::Cluster;

const NAMESPACE: &str = "longhorn-system";
const OBJECTS: &str = include_str!("demo/cluster.yaml");

/// The demo cluster at `now`.
///
/// The recording is written as of a fixed moment; every time in it is moved by the same amount, so
/// that the demo is never old.
pub fn cluster(now: Timestamp) -> Result<Cluster, RecordingError> {
    let written: Timestamp =
        Recording::from_files(files(OBJECTS.to_owned()), NAMESPACE, Timestamp::MAX)?.newest().unwrap_or(now);
    let moved = move_times(OBJECTS, now.duration_since(written));
    Ok(Recording::from_files(files(moved), NAMESPACE, Timestamp::MAX)?.into_cluster(NAMESPACE, Some(now)))
}

fn files(objects: String) -> Vec<RecordedFile> {
    vec![RecordedFile { name: "demo/cluster.yaml".to_owned(), content: objects.into_bytes() }]
}

/// Moves every RFC 3339 time in a text.
fn move_times(text: &str, by: jiff::SignedDuration) -> String {
    const LENGTH: usize = "2026-01-01T00:00:00Z".len();
    let mut moved = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("20") {
        let (before, tail) = rest.split_at(at);
        moved.push_str(before);
        match tail.get(..LENGTH).and_then(|time| time.parse::<Timestamp>().ok()) {
            Some(time) => {
                let time = time.checked_add(by).unwrap_or(time);
                moved.push_str(&time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
                rest = &tail[LENGTH..];
            }
            None => {
                moved.push_str("20");
                rest = &tail[2..];
            }
        }
    }
    moved.push_str(rest);
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_move_and_nothing_else_does() {
        let moved =
            move_times("a: 20\nb: \"2026-01-01T00:00:00Z\"\nc: v1.20", jiff::SignedDuration::from_secs(61));
        assert_eq!(moved, "a: 20\nb: \"2026-01-01T00:01:01Z\"\nc: v1.20");
    }
}
