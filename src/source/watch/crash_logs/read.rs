//! Reads the end of one log.

use std::time::Duration;

use kube::Client;
use tokio::time::timeout;

use crate::ApiErrorReason;
use crate::log_text::{is_gone, tail};
use crate::wanted_logs::Run;
use crate::watch::state::SharedState;
use crate::watch::trouble::{describe, one_line, reason_of, reason_of_code};

/// Lines asked for: a panic with its stack fits, and hours of ordinary log do not come along.
const LINES: i64 = 200;
/// Bytes asked for. More than is kept, because the server counts them from the first of the lines,
/// and the end is what matters.
const BYTES: i64 = 256 * 1024;
/// Time for one log.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);

/// A log that could not be read.
pub(super) struct Unread {
    pub(super) reason: ApiErrorReason,
    pub(super) message: String,
}

impl From<kube::Error> for Unread {
    fn from(error: kube::Error) -> Self {
        Unread { reason: reason_of(&error), message: describe(&error) }
    }
}

/// The end of one log.
pub(super) async fn read(shared: &SharedState, client: &Client, run: &Run) -> Result<String, Unread> {
    match timeout(ANSWER_TIMEOUT, get(client, &shared.options.namespace, run)).await {
        Ok(result) => match tail(&result?) {
            text if is_gone(&text) => Err(Unread { reason: ApiErrorReason::Other, message: one_line(&text) }),
            text => Ok(text),
        },
        Err(_elapsed) => {
            let message = format!("no answer within {ANSWER_TIMEOUT:?}");
            Err(Unread { reason: ApiErrorReason::Timeout, message })
        }
    }
}

async fn get(client: &Client, namespace: &str, run: &Run) -> Result<Vec<u8>, Unread> {
    let (status, body) = run.log(client, namespace, LINES, BYTES).await?;
    if !status.is_success() {
        return Err(Unread {
            reason: reason_of_code(status.as_u16()),
            message: complaint(status.as_u16(), &body.unwrap_or_default()),
        });
    }
    let broken = |error: String| Unread { reason: ApiErrorReason::Connection, message: one_line(&error) };
    Ok(body.map_err(broken)?.to_vec())
}

/// What the API server, or the kubelet behind it, has to say.
fn complaint(code: u16, body: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct ApiStatus {
        message: String,
    }
    let said = serde_json::from_slice::<ApiStatus>(body).map(|status| status.message);
    match said.map(|message| one_line(&message)) {
        Ok(message) if !message.is_empty() => format!("the API server answers {code}: {message}"),
        _ => format!("the API server answers {code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_those_of_the_server() {
        let status = br#"{"kind":"Status","message":"no preferred addresses found\nknown","code":500}"#;
        assert_eq!(complaint(500, status), "the API server answers 500: no preferred addresses found known");
        assert_eq!(complaint(502, b"<html>"), "the API server answers 502");
    }
}
