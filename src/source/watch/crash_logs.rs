//! The end of the log of each crashed manager container, read once per termination.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use http_body_util::{BodyExt, Limited};
use kube::Client;
use kube::api::{LogParams, Request};
use kube::client::Body;
use tokio::time::{Instant, timeout};

use super::CrashLogs;
use super::state::Shared;
use super::trouble::{describe, one_line, reason_of, reason_of_code};
use crate::history::{CrashLog, History};
use crate::longhorn::{Pod, Resource, Terminated};
use crate::source::ApiErrorReason;
use crate::source::recording::logs::tail;

const CONTAINER: &str = "longhorn-manager";
/// Lines asked for: a panic with its stack fits, and hours of ordinary log do not come along.
const LINES: i64 = 200;
/// Bytes asked for. More than is kept, because the server counts them from the first of the lines,
/// and the end is what matters.
const BYTES: i64 = 256 * 1024;
/// Logs read at once.
const AT_ONCE: usize = 2;
/// Time for one log.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often a log that could not be read is tried.
const ATTEMPTS: u32 = 3;
/// Pause before another attempt.
const RETRY: Duration = Duration::from_secs(20);

/// One termination of a container; the same in the back-off before the restart and after it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Termination {
    pod: String,
    uid: String,
    /// Time of the end, else the number of restarts.
    which: i64,
}

/// Attempts at the log of one termination.
#[derive(Debug, Default)]
struct Tried {
    attempts: u32,
    /// When the next one may be.
    due: Option<Instant>,
}

impl Tried {
    fn for_good() -> Self {
        Tried { attempts: ATTEMPTS, due: None }
    }

    fn again_at(&mut self, due: Instant) {
        self.attempts = self.attempts.saturating_add(1);
        self.due = Some(due);
    }

    fn is_due(&self, now: Instant) -> bool {
        self.attempts < ATTEMPTS && self.due.is_none_or(|due| now >= due)
    }
}

/// Reads logs for as long as the process lives.
pub(super) async fn follow(shared: Arc<Shared>, client: Client) {
    if shared.options.crash_logs == CrashLogs::Off {
        shared.history(|history| history.set_crash_logs_denied(Some("switched off")));
        shared.changed();
        shared.logs_read.send_replace(true);
        return std::future::pending().await;
    }
    let mut tried: HashMap<Termination, Tried> = HashMap::new();
    let mut refused_until: Option<Instant> = None;
    loop {
        let due =
            tried.values().filter(|tried| tried.attempts < ATTEMPTS).filter_map(|tried| tried.due).min();
        let again = refused_until.or(due).unwrap_or_else(|| Instant::now() + RETRY);
        tokio::select! {
            () = shared.pods_changed.notified() => {}
            () = tokio::time::sleep_until(again) => refused_until = None,
        }
        let pods_known = !shared.is_waiting_for(Resource::Pods);
        let terminations = terminations(&shared, &mut tried);
        // a pod that changes is no reason to ask before the pause is over
        let now = Instant::now();
        let due = |what: &Termination| tried.get(what).is_none_or(|tried| tried.is_due(now));
        let wanted: Vec<_> = terminations.into_iter().filter(due).collect();
        if refused_until.is_some() {
            forget(&shared, &wanted);
            continue;
        }
        let mut results = stream::iter(wanted.clone())
            .map(|what| async { (read(&shared, &client, &what).await, what) })
            .buffer_unordered(AT_ONCE);
        while let Some((result, what)) = results.next().await {
            match result {
                Ok(text) => {
                    keep(&shared, &what, text);
                    tried.insert(what, Tried::for_good());
                }
                Err(Unread { reason: ApiErrorReason::Forbidden, .. }) => {
                    refused_until = Some(Instant::now() + shared.options.crash_logs_again);
                    refuse(&shared);
                    let unread: Vec<_> =
                        wanted.into_iter().filter(|what| !tried.contains_key(what)).collect();
                    forget(&shared, &unread);
                    break;
                }
                Err(unread) => {
                    note(&shared, &what, &unread);
                    let tried = tried.entry(what.clone()).or_default();
                    match unread.reason {
                        // the log is gone, or the node cannot give it
                        ApiErrorReason::NotServed | ApiErrorReason::Other => *tried = Tried::for_good(),
                        _ => tried.again_at(Instant::now() + RETRY),
                    }
                    if tried.attempts >= ATTEMPTS {
                        forget(&shared, &[what]);
                    }
                }
            }
        }
        if pods_known {
            shared.logs_read.send_replace(true);
        }
    }
}

/// Terminations that show now. Forgets the logs of pods that are gone.
fn terminations(shared: &Shared, tried: &mut HashMap<Termination, Tried>) -> HashSet<Termination> {
    let pods = shared.pods();
    let managers = pods.iter().filter(|pod| pod.metadata.label("app") == Some("longhorn-manager"));
    let found: HashSet<_> = managers.filter_map(termination).collect();
    tried.retain(|what, _| found.contains(what));
    let lives = |pod: &str, uid: &str| pods.get(pod).is_some_and(|pod| pod.metadata.uid == uid);
    shared.history(|history| history.keep_crash_logs_of(lives));
    found
}

fn termination(pod: &Pod) -> Option<Termination> {
    let status = pod.container_status(CONTAINER)?;
    // `previous=true` gives the log of the last state, not that of a container just ended
    let ended: &Terminated = status.last_state.terminated.as_ref()?;
    let which = ended.finished_at.get().map_or(status.restart_count.0, |time| time.as_second());
    Some(Termination { pod: pod.metadata.name.clone(), uid: pod.metadata.uid.clone(), which })
}

fn keep(shared: &Shared, what: &Termination, text: String) {
    shared.history(|history| {
        history.set_crash_logs_denied(None);
        history.add_crash_log(CrashLog {
            pod: what.pod.clone(),
            container: CONTAINER.to_owned(),
            pod_uid: what.uid.clone(),
            text,
        });
    });
    shared.changed();
}

/// Drops what is held of pods whose last log cannot be read: it is of an earlier termination, which
/// may have had another cause.
fn forget(shared: &Shared, unread: &[Termination]) {
    let forgot =
        |history: &mut History| unread.iter().filter(|what| history.forget_crash_log(&what.pod)).count();
    if shared.history(forgot) > 0 {
        shared.changed();
    }
}

fn refuse(shared: &Shared) {
    let known = shared.history(|history| {
        let known = history.crash_logs_denied().is_some();
        history.set_crash_logs_denied(Some("forbidden"));
        known
    });
    if !known {
        let namespace = &shared.options.namespace;
        tracing::warn!(%namespace, "no right to get pods/log; causes of crashes come from fingerprints only");
        shared.changed();
    }
}

/// Says why a log could not be read, so that nobody waits for it.
fn note(shared: &Shared, what: &Termination, unread: &Unread) {
    tracing::debug!(pod = %what.pod, reason = unread.reason.as_str(), unread.message, "crash log not read");
    if shared.history(|history| history.crash_log_unread(&what.pod, &what.uid, &unread.message)) {
        shared.changed();
    }
}

/// A log that could not be read.
struct Unread {
    reason: ApiErrorReason,
    message: String,
}

impl From<kube::Error> for Unread {
    fn from(error: kube::Error) -> Self {
        Unread { reason: reason_of(&error), message: describe(&error) }
    }
}

/// The end of one log.
async fn read(shared: &Shared, client: &Client, what: &Termination) -> Result<String, Unread> {
    match timeout(PATIENCE, get(client, &shared.options.namespace, &what.pod)).await {
        Ok(result) => result.map(|bytes| tail(&bytes)),
        Err(_elapsed) => {
            let message = format!("no answer within {PATIENCE:?}");
            Err(Unread { reason: ApiErrorReason::Timeout, message })
        }
    }
}

async fn get(client: &Client, namespace: &str, pod: &str) -> Result<Vec<u8>, Unread> {
    let params = LogParams {
        container: Some(CONTAINER.to_owned()),
        previous: true,
        tail_lines: Some(LINES),
        limit_bytes: Some(BYTES),
        ..LogParams::default()
    };
    let request = Request::new(format!("/api/v1/namespaces/{namespace}/pods")).logs(pod, &params);
    let unusable = |error: kube::core::request::Error| Unread {
        reason: ApiErrorReason::Other,
        message: error.to_string(),
    };
    let response = client.send(request.map_err(unusable)?.map(Body::from)).await?;
    let status = response.status();
    let limit = usize::try_from(BYTES).unwrap_or(usize::MAX).saturating_mul(2);
    let body = Limited::new(response.into_body(), limit).collect().await;
    if !status.is_success() {
        let body = body.map(|body| body.to_bytes()).unwrap_or_default();
        return Err(Unread {
            reason: reason_of_code(status.as_u16()),
            message: complaint(status.as_u16(), &body),
        });
    }
    let broken =
        |error| Unread { reason: ApiErrorReason::Connection, message: one_line(&format!("{error}")) };
    Ok(body.map_err(broken)?.to_bytes().to_vec())
}

/// What the API server, or the kubelet behind it, has to say.
fn complaint(code: u16, body: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct Status {
        message: String,
    }
    let said = serde_json::from_slice::<Status>(body).map(|status| status.message);
    match said.map(|message| one_line(&message)) {
        Ok(message) if !message.is_empty() => format!("the API server answers {code}: {message}"),
        _ => format!("the API server answers {code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(status: &str) -> Pod {
        let json = format!(
            r#"{{"metadata":{{"name":"p","uid":"u"}},"status":{{"containerStatuses":[{{"name":"longhorn-manager",{status}}}]}}}}"#
        );
        serde_json::from_str(&json).unwrap()
    }

    #[test]
    fn back_off_and_restart_are_the_same_termination() {
        let last = r#""lastState":{"terminated":{"exitCode":1,"finishedAt":"2026-01-01T00:00:00Z"}}"#;
        let waiting = pod(&format!(r#""restartCount":4,"state":{{"waiting":{{}}}},{last}"#));
        let running = pod(&format!(r#""restartCount":5,"state":{{"running":{{}}}},{last}"#));
        assert!(termination(&waiting).is_some());
        assert_eq!(termination(&waiting), termination(&running));
        assert_ne!(termination(&running), termination(&pod(&last.replace("00:00Z", "09:00Z"))));
    }

    #[test]
    fn a_container_that_just_ended_has_no_previous_log_yet() {
        assert_eq!(termination(&pod(r#""restartCount":0,"state":{"terminated":{"exitCode":1}}"#)), None);
        assert_eq!(termination(&pod(r#""restartCount":0,"state":{"running":{}}"#)), None);
    }

    #[test]
    fn complaints_are_those_of_the_server() {
        let status = br#"{"kind":"Status","message":"no preferred addresses found\nknown","code":500}"#;
        assert_eq!(complaint(500, status), "the API server answers 500: no preferred addresses found known");
        assert_eq!(complaint(502, b"<html>"), "the API server answers 502");
    }

    #[test]
    fn without_times_restarts_tell_terminations_apart() {
        let ended = |count: u32| pod(&format!(r#""restartCount":{count},"lastState":{{"terminated":{{}}}}"#));
        assert_ne!(termination(&ended(1)), termination(&ended(2)));
    }
}
