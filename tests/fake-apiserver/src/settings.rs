//! Behaviour in which real servers differ, chosen by the test.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::server::FakeApiServer;

/// How a watch from a version that was compacted away is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expired {
    /// 200 and an ERROR event of code 410: what the watch cache of a real server does.
    #[default]
    Event,
    /// HTTP 410: what a server without a watch cache for the resource does.
    Http,
}

/// How `sendInitialEvents=true` (streaming lists) is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamingLists {
    /// The objects come as ADDED events, then a bookmark with the annotation `k8s.io/initial-events-end`.
    #[default]
    Serve,
    /// 422, as by servers without the `WatchList` feature.
    Reject,
}

/// What the path of a resource no one serves answers; 404 in either case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unserved {
    /// The text `404 page not found`: what a real server sends when a CRD is not installed.
    #[default]
    Text,
    /// A `Status` "the server could not find the requested resource".
    Status,
}

/// What the header `Date` of answers says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Date {
    /// The time.
    #[default]
    Right,
    /// This text.
    Fixed(String),
    /// There is none, on connections that begin from now on.
    Missing,
}

pub(crate) struct Settings {
    pub date: Date,
    pub expired: Expired,
    pub streaming_lists: StreamingLists,
    pub unserved: Unserved,
    pub bookmark_interval: Duration,
    pub user: String,
    pub tokens: Option<BTreeSet<String>>,
    pub git_version: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            date: Date::default(),
            expired: Expired::default(),
            streaming_lists: StreamingLists::default(),
            unserved: Unserved::default(),
            bookmark_interval: Duration::from_secs(60),
            user: "system:serviceaccount:default:test".to_owned(),
            tokens: None,
            git_version: "v1.34.1".to_owned(),
        }
    }
}

/// Settings.
impl FakeApiServer {
    /// What the header `Date` says.
    pub fn set_date(&self, date: Date) {
        self.change(|state| state.settings.date = date);
    }

    /// How watches from compacted versions are refused.
    pub fn set_expired(&self, expired: Expired) {
        self.change(|state| state.settings.expired = expired);
    }

    /// How streaming lists are answered.
    pub fn set_streaming_lists(&self, streaming_lists: StreamingLists) {
        self.change(|state| state.settings.streaming_lists = streaming_lists);
    }

    /// How resources no one serves are answered.
    pub fn set_unserved(&self, unserved: Unserved) {
        self.change(|state| state.settings.unserved = unserved);
    }

    /// How often watches that start from now on get bookmarks; 60 s unless set.
    pub fn set_bookmark_interval(&self, interval: Duration) {
        self.change(|state| state.settings.bookmark_interval = interval);
    }

    /// The user that 403 messages name.
    pub fn set_user(&self, user: &str) {
        self.change(|state| state.settings.user = user.to_owned());
    }

    /// The `gitVersion` of `/version`, for example `v1.34.1+k3s1`.
    pub fn set_git_version(&self, version: &str) {
        self.change(|state| state.settings.git_version = version.to_owned());
    }

    /// From now on only these bearer tokens are accepted, others get 401. `/version` and the health paths stay open.
    /// Watches that are open stay open.
    pub fn require_tokens<'a>(&self, tokens: impl IntoIterator<Item = &'a str>) {
        let tokens = tokens.into_iter().map(str::to_owned).collect();
        self.change(|state| state.settings.tokens = Some(tokens));
    }
}
