//! Container logs.

use bytes::Bytes;
use futures::stream;
use http::StatusCode;
use serde_json::Value;

use crate::body::{self, Answer};
use crate::faults::Fault;
use crate::query::Query;
use crate::route::Target;
use crate::server::FakeApiServer;
use crate::state::State;
use crate::status::Failure;

/// Namespace, pod, container, and whether it is the log of the previous run.
pub(crate) type LogKey = (String, String, String, bool);

/// Container logs.
impl FakeApiServer {
    /// Sets the log of a container's present or previous run. The pod need not exist.
    pub fn set_log(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        previous: bool,
        text: impl Into<Bytes>,
    ) {
        let key = (namespace.to_owned(), pod.to_owned(), container.to_owned(), previous);
        self.change(|state| state.logs.insert(key, text.into()));
    }

    /// Removes a log; asking for it answers 400 if the pod exists and 404 if not.
    pub fn remove_log(&self, namespace: &str, pod: &str, container: &str, previous: bool) {
        let key = (namespace.to_owned(), pod.to_owned(), container.to_owned(), previous);
        self.change(|state| state.logs.remove(&key));
    }
}

/// Answers a request for a log: `previous`, `container`, `tailLines` and `limitBytes` are honoured, `follow` is not.
pub(crate) fn answer(state: &State, target: &Target, query: &Query, fault: Option<Fault>) -> Answer {
    match log(state, target, query) {
        Ok(log) => body::answer(StatusCode::OK, "text/plain", body::faulty(stream::iter([log]), fault)),
        Err(failure) => body::failure(&failure),
    }
}

fn log(state: &State, target: &Target, query: &Query) -> Result<Bytes, Failure> {
    let namespace = target.namespace.clone().unwrap_or_default();
    let pod = target.name.clone().unwrap_or_default();
    let previous = query.flag("previous");
    let object = state
        .store
        .collections
        .get(&(String::new(), "v1".to_owned(), "pods".to_owned()))
        .and_then(|pods| pods.get(&namespace, &pod))
        .map(|object| object.value());
    let container = match query.get("container") {
        Some(container) => container.to_owned(),
        None => only_container(state, &namespace, &pod, object.as_ref())?,
    };
    let key = (namespace, pod, container, previous);
    let mut log = match (state.logs.get(&key), object) {
        (Some(log), _) => log.clone(),
        (None, None) => return Err(Failure::not_found(target)),
        (None, Some(object)) => return missing(&key, &object),
    };
    if let Some(lines) = query.number("tailLines")? {
        log = tail(&log, lines);
    }
    if let Some(limit) = query.number("limitBytes")? {
        log.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    Ok(log)
}

fn container_names(pod: &Value) -> Vec<&str> {
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    containers.filter_map(|container| container["name"].as_str()).collect()
}

/// The container that is meant when none is named.
fn only_container(
    state: &State,
    namespace: &str,
    pod: &str,
    object: Option<&Value>,
) -> Result<String, Failure> {
    let names: Vec<&str> = match object {
        Some(object) => container_names(object),
        None => {
            let logs = state.logs.keys().filter(|(n, p, _, _)| n == namespace && p == pod);
            let mut names: Vec<&str> = logs.map(|(_, _, container, _)| container.as_str()).collect();
            names.dedup();
            names
        }
    };
    match names.as_slice() {
        [] => Ok(String::new()),
        [one] => Ok((*one).to_owned()),
        several => Err(Failure::bad_request(format!(
            "a container name must be specified for pod {pod}, choose one of: [{}]",
            several.join(" ")
        ))),
    }
}

/// What a pod without such a log answers.
fn missing((_, pod, container, previous): &LogKey, object: &Value) -> Result<Bytes, Failure> {
    let statuses = ["containerStatuses", "initContainerStatuses"];
    let has_status = statuses
        .iter()
        .flat_map(|list| object["status"][*list].as_array().into_iter().flatten())
        .any(|status| status["name"] == container.as_str());
    let known = has_status || container_names(object).contains(&container.as_str());
    if !known {
        return Err(Failure::bad_request(format!("container {container} is not valid for pod {pod}")));
    }
    if *previous {
        return Err(Failure::bad_request(format!(
            "previous terminated container \"{container}\" in pod \"{pod}\" not found"
        )));
    }
    Ok(Bytes::new())
}

/// The last lines of a log.
fn tail(log: &Bytes, lines: u64) -> Bytes {
    let lines = usize::try_from(lines).unwrap_or(usize::MAX);
    let ends: Vec<usize> =
        log.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(i, _)| i + 1).collect();
    // A last line without its newline is a line too.
    let unfinished = usize::from(ends.last().is_none_or(|end| *end != log.len()) && !log.is_empty());
    let total = ends.len() + unfinished;
    match total.saturating_sub(lines) {
        0 => log.clone(),
        skipped => log.slice(ends.get(skipped - 1).copied().unwrap_or(log.len())..),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_counts_unfinished_lines() {
        let log = Bytes::from_static(b"a\nb\nc");
        assert_eq!(tail(&log, 2), "b\nc");
        assert_eq!(tail(&log, 0), "");
        assert_eq!(tail(&log, 9), "a\nb\nc");
        assert_eq!(tail(&Bytes::from_static(b"a\nb\n"), 1), "b\n");
        assert_eq!(tail(&Bytes::new(), 1), "");
    }
}
