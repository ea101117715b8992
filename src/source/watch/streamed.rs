//! A whole list from the API server's memory, handed on object by object as it arrives.
//!
//! A list in pages is read from etcd: each page is decoded again, and 15,000 replicas cost a
//! kube-apiserver six times the CPU of the list that it keeps for `resourceVersion=0`, which client-go's
//! informers ask for too (kubernetes v1.36 staging/src/k8s.io/apiserver/pkg/storage/cacher/delegator).
//! That list has no pages, and held as a whole it would be the largest thing in this process.
//!
//! kube's watcher can take a list as a stream of events (`InitialListStrategy::StreamingList`), but that
//! stream costs a kube-apiserver 1.36 a third more CPU than the whole list (docs/performance.md), and few
//! clusters offer it: it needs etcd 3.4.31 or 3.5.13 and Kubernetes 1.32 or 1.34. So what the watcher asks
//! for is sent as a list, and the list comes back to it as the events that it expects.
//!
//! Delete this file when no Kubernetes below 1.34 is supported any longer: from 1.34 on, with one of these etcds, pages come from memory too (feature ListFromCacheSnapshot) and cost
//! the API server no more than the whole list (docs/performance.md). kube's watcher then lists in pages on its own
//! (`InitialListStrategy::ListWatch`), as it does today after a list that failed, and [`super::traffic`] sends them on.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::Uri;
use http_body::Frame;
use tower::BoxError;

use super::body::{Garbled, Watched};
use super::split::{LONGEST_ENVELOPE, Split};

/// Whether the watcher asks for a list as a stream of events.
pub(super) fn is_asked_for(uri: &Uri) -> bool {
    uri.query().is_some_and(|query| query.split('&').any(|parameter| parameter == "sendInitialEvents=true"))
}

/// The same as a list: only what selects objects is kept. The first one may be as old as the API server likes; after
/// that one of several that lags (kubernetes#59848) must not lead back behind what was `seen`. It then answers that
/// the version is too large, and pages follow, which etcd answers for.
pub(super) fn as_list(uri: &Uri, seen: Option<&str>) -> Option<Uri> {
    let selects =
        |parameter: &&str| parameter.starts_with("fieldSelector=") || parameter.starts_with("labelSelector=");
    let selectors = uri.query()?.split('&').filter(selects).map(|parameter| format!("&{parameter}"));
    let version = match seen {
        Some(seen) => format!("resourceVersion={seen}&resourceVersionMatch=NotOlderThan"),
        None => "resourceVersion=0".to_owned(),
    };
    let path = format!("{}?{version}{}", uri.path(), selectors.collect::<String>());
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(path.parse().ok()?);
    Uri::from_parts(parts).ok()
}

/// The body of a list as lines of a watch: its objects as additions, then the bookmark after them.
pub(super) struct Streamed {
    list: Watched,
    split: Split,
    ended: bool,
}

impl Streamed {
    pub(super) fn new(list: Watched, keeps_writes: bool) -> Self {
        Streamed { list, split: Split::keeping(keeps_writes), ended: false }
    }
}

impl http_body::Body for Streamed {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        while !this.ended {
            let lines = match ready!(Pin::new(&mut this.list).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => match this.split.feed(&bytes) {
                        Ok(_) if !this.list.may_hold(this.split.part()) => Err(Garbled::Long),
                        lines if this.split.envelope().len() <= LONGEST_ENVELOPE => lines,
                        _ => Err(Garbled::Long),
                    },
                    Err(_trailers) => continue,
                },
                Some(Err(error)) => {
                    this.ended = true;
                    return Poll::Ready(Some(Err(broken_off(error))));
                }
                None => {
                    this.ended = true;
                    this.split.end()
                }
            };
            match lines {
                Ok(lines) if lines.is_empty() => {}
                Ok(lines) => return Poll::Ready(Some(Ok(Frame::data(lines.into())))),
                Err(garbled) => {
                    this.ended = true;
                    return Poll::Ready(Some(Err(garbled.into())));
                }
            }
        }
        Poll::Ready(None)
    }
}

/// The connection ended within a list.
#[derive(Debug, thiserror::Error)]
#[error("the connection ended within the list")]
struct BrokenOff;

/// kube takes the end of a connection within a watch for the end of the watch (kube-client 5.0
/// client/mod.rs request_events). Within a list it must be seen, so it goes by another name.
fn broken_off(error: BoxError) -> BoxError {
    let silent = error.downcast_ref::<std::io::Error>();
    let silent = silent.is_some_and(|error| error.kind() == std::io::ErrorKind::TimedOut);
    if silent { error } else { BrokenOff.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_kept_and_nothing_else() {
        let asked: Uri = "https://api:6443/api/v1/namespaces/default/events?&watch=true&timeoutSeconds=45\
                          &fieldSelector=involvedObject.kind%3DNode&allowWatchBookmarks=true\
                          &sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=0"
            .parse()
            .unwrap();
        assert!(is_asked_for(&asked));
        let list = "https://api:6443/api/v1/namespaces/default/events?resourceVersion=0\
                    &fieldSelector=involvedObject.kind%3DNode";
        assert_eq!(as_list(&asked, None).unwrap(), list);
        assert!(!is_asked_for(&as_list(&asked, None).unwrap()));
        let later = list.replace("=0", "=7&resourceVersionMatch=NotOlderThan");
        assert_eq!(as_list(&asked, Some("7")).unwrap(), later.as_str());
    }
}
