//! Logs of crashed containers that lie beside the objects of a recording.

use super::RecordedFile;
use crate::history::{CrashLog, History};
use crate::longhorn::{Objects, log_line};

/// At most this much of the end of a log is kept, as from a live cluster.
pub(crate) const MAX_LOG_BYTES: usize = 32 * 1024;

/// Adds logs whose path names a pod of the recording: `<pod>.<container>.previous.log`,
/// `<pod>/<container>-previous.log`, or without `previous` where there is no previous one.
pub(super) fn add_to(history: &mut History, objects: &Objects, mut files: Vec<RecordedFile>) {
    // a previous log sorts last and so wins over a current one
    files.sort_by_key(|file| (file.name.contains("previous"), file.name.clone()));
    for file in files {
        let text = log_line::messages(&tail(&file.content));
        // `kubectl logs --previous` leaves an empty file where there is no previous container
        if text.trim().is_empty() {
            continue;
        }
        for pod in objects.pods.iter() {
            let Some(rest) = after(&file.name, &pod.metadata.name) else { continue };
            let containers = pod.spec.containers.iter().chain(&pod.spec.init_containers);
            // the longest container name that fits: one may be the beginning of another
            let container = containers
                .filter(|container| after(rest, &container.name).is_some())
                .max_by_key(|container| container.name.len())
                .or_else(|| pod.spec.containers.first().filter(|_| !rest.contains('/')));
            if let Some(container) = container {
                history.add_crash_log(CrashLog {
                    pod: pod.metadata.name.clone(),
                    container: container.name.clone(),
                    pod_uid: pod.metadata.uid.clone(),
                    text: text.clone(),
                });
            }
        }
    }
}

/// What follows `name` in `path` where it stands as a path component or up to a dot or dash.
fn after<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    if name.is_empty() {
        return None;
    }
    path.match_indices(name).find_map(|(at, _)| {
        let (before, rest) = (&path[..at], &path[at + name.len()..]);
        let starts = before.is_empty() || before.ends_with(['/', '.', '_']);
        (starts && rest.starts_with(['/', '.', '-', '_'])).then_some(rest)
    })
}

/// The end of a log, from the beginning of a line.
pub(crate) fn tail(content: &[u8]) -> String {
    let start = content.len().saturating_sub(MAX_LOG_BYTES);
    let end = content.get(start..).unwrap_or(content);
    // what is cut off within a line is dropped
    let line_end = end.iter().position(|byte| *byte == b'\n').filter(|_| start > 0);
    let kept = line_end.and_then(|at| end.get(at + 1..)).unwrap_or(end);
    String::from_utf8_lossy(kept).into_owned()
}
