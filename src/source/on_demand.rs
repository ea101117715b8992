//! What only a plan of an upgrade reads: listed when someone asks for that plan, and not followed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use tokio::sync::Mutex;

use super::connect::Connection;
use super::watch::{CrashLogs, Live, LiveOptions};
use crate::cluster::Cluster;
use crate::longhorn::Resource;

/// How long an answer is handed out: a person reads the plan, sees to one thing and asks again.
const GOOD_FOR: SignedDuration = SignedDuration::from_secs(30);
/// What has not answered by then is unknown.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Looks once for all who ask at the same time.
pub struct OnDemand {
    connection: Connection,
    options: LiveOptions,
    last: Mutex<Option<Arc<Cluster>>>,
}

impl OnDemand {
    /// Looks in the namespace of these options, by their clock, at the kinds that they do not follow.
    pub fn new(connection: Connection, options: LiveOptions) -> Self {
        let options =
            LiveOptions { kinds: beside(&options.kinds).collect(), crash_logs: CrashLogs::Off, ..options };
        OnDemand { connection, options, last: Mutex::default() }
    }

    /// What there is, or was less than half a minute ago. Never fails: what did not answer says so itself.
    pub async fn look(&self) -> Arc<Cluster> {
        let mut last = self.last.lock().await;
        let now = (self.options.clock)();
        let fresh =
            |seen: &&Arc<Cluster>| (SignedDuration::ZERO..GOOD_FOR).contains(&now.duration_since(seen.now));
        if let Some(seen) = last.as_ref().filter(fresh) {
            return seen.clone();
        }
        let listed = Live::look(self.connection.client(), self.options.clone(), ANSWER_TIMEOUT);
        let (mut seen, api_server) = tokio::join!(listed, self.connection.api_server(ANSWER_TIMEOUT));
        seen.api_server = api_server;
        last.insert(Arc::new(seen)).clone()
    }
}

/// The kinds that are not followed.
pub fn beside(followed: &BTreeSet<Resource>) -> impl Iterator<Item = Resource> {
    Resource::all().filter(|kind| !followed.contains(kind))
}
