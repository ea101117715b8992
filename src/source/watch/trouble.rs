//! What went wrong with a kind, in one word of a closed list and one line for a person.

use std::error::Error;

use kube::runtime::watcher;

use super::body::{Barren, Garbled};
use crate::ApiErrorReason;
use crate::plugin::NoCredentials;

/// Longest message that is kept; API servers repeat long URLs in theirs.
const MAX_MESSAGE: usize = 400;

/// A failure of a list or watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WatchTrouble {
    pub(super) reason: ApiErrorReason,
    /// What was said, in one line.
    pub(super) message: String,
    /// The watcher cannot go on from where it was: begin again with a list.
    pub(super) relist: bool,
    /// Came inside an HTTP answer that was fine as such, so that only its reader can count it.
    pub(super) in_band: bool,
}

impl WatchTrouble {
    /// A list has more objects than any cluster.
    pub(super) fn endless(most: usize) -> Self {
        let message = format!("list failed: it has more than {most} objects");
        WatchTrouble { reason: ApiErrorReason::Other, message, relist: false, in_band: true }
    }

    /// `listing` while the list under way is handed on as a watch.
    pub(super) fn of(error: &watcher::Error, listing: bool) -> Self {
        use watcher::Error::*;
        let (doing, reason, detail, in_band) = match error {
            InitialListFailed(error) => ("list", reason_of(error), describe(error), false),
            WatchStartFailed(error) => ("watch", reason_of(error), describe(error), false),
            WatchFailed(error) => {
                let in_band = matches!(error, kube::Error::Api(_));
                ("watch", reason_of(error), describe(error), in_band)
            }
            WatchError(status) => ("watch", reason_of_code(status.code), describe_status(status), true),
            NoResourceVersion => {
                ("watch", ApiErrorReason::Decode, "an answer without resource version".to_owned(), true)
            }
        };
        let doing = if listing { "list" } else { doing };
        let relist = match reason {
            // An ERROR event makes the watcher list on its own, a refused watch does not.
            ApiErrorReason::Expired => matches!(error, WatchStartFailed(_)),
            // The event that could not be read is lost.
            ApiErrorReason::Decode => true,
            // Right or kind may come back with other objects, and only a list says so.
            ApiErrorReason::Forbidden | ApiErrorReason::Unauthorized | ApiErrorReason::NotInstalled => true,
            _ => matches!(error, WatchStartFailed(error) if find::<Barren>(error).is_some()),
        };
        let in_band = in_band || reason == ApiErrorReason::Decode;
        WatchTrouble { reason, message: one_line(&format!("{doing} failed: {detail}")), relist, in_band }
    }
}

/// The reason behind an HTTP status or the code of a `Status` object.
pub(crate) fn reason_of_code(code: u16) -> ApiErrorReason {
    match code {
        401 => ApiErrorReason::Unauthorized,
        403 => ApiErrorReason::Forbidden,
        404 => ApiErrorReason::NotInstalled,
        410 => ApiErrorReason::Expired,
        429 => ApiErrorReason::Throttled,
        408 | 504 => ApiErrorReason::Timeout,
        500..=599 => ApiErrorReason::ServerError,
        _ => ApiErrorReason::Other,
    }
}

/// The reason behind a failed request.
pub(crate) fn reason_of(error: &kube::Error) -> ApiErrorReason {
    use kube::Error::*;
    match error {
        Api(status) => reason_of_code(status.code),
        SerdeError(_) | FromUtf8(_) | LinesCodecMaxLineLengthExceeded => ApiErrorReason::Decode,
        Auth(_) => ApiErrorReason::Unauthorized,
        _ if find::<Garbled>(error).is_some() => ApiErrorReason::Decode,
        _ if find::<NoCredentials>(error).is_some() => ApiErrorReason::Unauthorized,
        _ if find::<Barren>(error).is_some() => ApiErrorReason::Other,
        _ if timed_out(error) => ApiErrorReason::Timeout,
        HyperError(_) | Service(_) | ReadEvents(_) => ApiErrorReason::Connection,
        _ => ApiErrorReason::Other,
    }
}

fn timed_out(error: &(dyn Error + 'static)) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    if io.is_some_and(|error| error.kind() == std::io::ErrorKind::TimedOut) {
        return true;
    }
    // the source of an io::Error is the source of what it wraps, not what it wraps
    io.and_then(|error| error.get_ref()).is_some_and(|inner| timed_out(inner))
        || error.source().is_some_and(timed_out)
}

/// A failed request in one line, down to the cause.
pub(crate) fn describe(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => describe_status(status),
        kube::Error::SerdeError(error) => format!("the answer does not decode: {error}"),
        _ => match find::<NoCredentials>(error) {
            Some(error) => one_line(&error.to_string()),
            None => one_line(&chain(error)),
        },
    }
}

/// True when the certificate of the server is not accepted.
pub(crate) fn is_untrusted(error: &kube::Error) -> bool {
    matches!(find::<rustls::Error>(error), Some(rustls::Error::InvalidCertificate(_)))
}

/// True when what answers speaks no TLS.
pub(crate) fn speaks_no_tls(error: &kube::Error) -> bool {
    matches!(
        find::<rustls::Error>(error),
        Some(rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType))
    )
}

/// An error of this type in the chain.
fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    // the source of an io::Error is the source of what it wraps, not what it wraps
    let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    error
        .downcast_ref()
        .or_else(|| wrapped.and_then(|error| find(error)))
        .or_else(|| error.source().and_then(find))
}

fn chain(error: &dyn Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        next = error.source();
        // names of layers, which say nothing that their cause does not say better
        let layer =
            next.is_some() && (text.starts_with("ServiceError: ") || text.starts_with("client error ("));
        // most errors already print their cause
        let said = parts.iter().any(|part| part.contains(&text));
        if !said && !layer {
            parts.push(text);
        }
    }
    parts.join(": ")
}

fn describe_status(status: &kube::core::Status) -> String {
    one_line(&format!("{}: {}", status.code, status.message))
}

pub(super) fn one_line(text: &str) -> String {
    let mut line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() > MAX_MESSAGE {
        let end = (0..=MAX_MESSAGE).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
        line.truncate(end);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;

    fn api(code: u16) -> kube::Error {
        kube::Error::Api(Status::failure("no\nreason", "Why").with_code(code).boxed())
    }

    #[test]
    fn only_what_the_watcher_cannot_mend_asks_for_a_new_list() {
        use ApiErrorReason::*;
        let table = [
            (watcher::Error::WatchStartFailed(api(410)), Expired, true, false),
            (
                watcher::Error::WatchError(Status::failure("old", "Expired").with_code(410).boxed()),
                Expired,
                false,
                true,
            ),
            (watcher::Error::InitialListFailed(api(403)), Forbidden, true, false),
            (watcher::Error::WatchStartFailed(api(401)), Unauthorized, true, false),
            (watcher::Error::InitialListFailed(api(404)), NotInstalled, true, false),
            (watcher::Error::WatchStartFailed(api(429)), Throttled, false, false),
            (watcher::Error::WatchStartFailed(api(503)), ServerError, false, false),
            (watcher::Error::WatchFailed(api(500)), ServerError, false, true),
            (watcher::Error::NoResourceVersion, Decode, true, true),
        ];
        for (error, reason, relist, in_band) in table {
            let trouble = WatchTrouble::of(&error, false);
            assert_eq!(
                (trouble.reason, trouble.relist, trouble.in_band),
                (reason, relist, in_band),
                "{error}"
            );
            assert!(!trouble.message.contains('\n'));
        }
    }

    #[test]
    fn a_timeout_is_found_below_other_errors() {
        let timeout = std::io::Error::new(std::io::ErrorKind::TimedOut, "silent");
        let error = kube::Error::ReadEvents(std::io::Error::other(timeout));
        assert_eq!(reason_of(&error), ApiErrorReason::Timeout);
        let broken = kube::Error::ReadEvents(std::io::Error::other("reset"));
        assert_eq!(reason_of(&broken), ApiErrorReason::Connection);
    }

    #[test]
    fn layers_are_not_named() {
        let inner = std::io::Error::other("refused");
        let error = kube::Error::Service(Box::new(kube::Error::ReadEvents(inner)));
        assert_eq!(describe(&error), "Error reading events stream: refused");
    }

    #[test]
    fn a_certificate_that_is_not_accepted_is_told_from_a_broken_connection() {
        let certificate = rustls::Error::InvalidCertificate(rustls::CertificateError::Expired);
        let wrapped = |error| kube::Error::Service(Box::new(std::io::Error::other(error)));
        assert!(is_untrusted(&wrapped(certificate)));
        assert!(!is_untrusted(&wrapped(rustls::Error::DecryptError)));
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let line = one_line(&"ä".repeat(1000));
        assert!(line.len() <= MAX_MESSAGE + '…'.len_utf8());
    }
}
