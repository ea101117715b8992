//! Logs of containers that lie beside the objects of a recording.

use std::path::Path;

use super::RecordedFile;
use super::anonymize::Kept;
use crate::history::{CrashLog, History};
use crate::log_text::{is_gone, tail};
use crate::longhorn::{Objects, log_line};

/// True for a log, by its name; support bundles have `CONTAINER.log.1` for the one before.
pub(super) fn is_log(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase();
    name.ends_with(".log") || name.ends_with(".log.1")
}

/// Previous logs are read last and so win over current ones.
pub(super) fn order(name: &str) -> (bool, String) {
    (name.contains("previous") || name.ends_with(".log.1"), name.to_owned())
}

/// The end of a log, as far as it is kept.
pub(super) struct LogFile {
    name: String,
    text: String,
}

impl From<RecordedFile> for LogFile {
    fn from(file: RecordedFile) -> Self {
        let text = log_line::messages(&String::from_utf8_lossy(&file.content));
        LogFile { name: file.name, text: tail(text.as_bytes()) }
    }
}

impl LogFile {
    pub fn order(&self) -> (bool, String) {
        order(&self.name)
    }

    /// Whether its path names a pod.
    pub fn is_of_a_pod(&self, objects: &Objects) -> bool {
        objects.pods.iter().any(|pod| after(&self.name, &pod.metadata.name).is_some())
    }

    /// Adds a log whose path names a pod of the recording: `<pod>.<container>.previous.log`,
    /// `<pod>/<container>-previous.log` or `<pod>/<container>.log.1` of the last run, the same without `previous`
    /// of the present one. Where nothing of the last run was recorded, the latter stands in for it: `kubectl logs` of
    /// a container in its back-off gives just that.
    pub fn add_to(self, history: &mut History, objects: &Objects, kept: Option<&mut Kept>) {
        // `kubectl logs --previous` leaves an empty file where there is no previous container
        if self.text.trim().is_empty() || is_gone(&self.text) {
            return;
        }
        let mut kept = kept;
        for pod in objects.pods.iter() {
            let Some(rest) = after(&self.name, &pod.metadata.name) else { continue };
            let containers = pod.spec.containers.iter().chain(&pod.spec.init_containers);
            // the longest container name that fits: one may be the beginning of another
            let container = containers
                .filter(|container| after(rest, &container.name).is_some())
                .max_by_key(|container| container.name.len())
                .or_else(|| pod.spec.containers.first().filter(|_| !rest.contains('/')));
            if let Some(container) = container {
                let log = CrashLog {
                    exit_code: None,
                    pod: pod.metadata.name.to_string(),
                    container: container.name.to_string(),
                    pod_uid: pod.metadata.uid.to_string(),
                    text: self.text.clone(),
                };
                let is_previous = order(&self.name).0;
                if let Some(kept) = &mut kept {
                    kept.log(&log.pod, &log.container, is_previous, &log.text);
                }
                if !is_previous {
                    history.add_current_log(log.clone());
                }
                history.add_crash_log(log);
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
