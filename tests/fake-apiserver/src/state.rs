//! Everything the server knows, behind one lock.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::watch;

use crate::faults::Faults;
use crate::logs::LogKey;
use crate::recorder::Recorder;
use crate::reviews::Reviews;
use crate::settings::Settings;
use crate::status::Failure;
use crate::store::Store;

/// Something sent to open watches that is no change of an object.
#[derive(Clone, Debug)]
pub(crate) enum Inject {
    Line(Bytes),
    Error(Failure),
    Bookmark,
    End,
    Reset,
}

pub(crate) struct State {
    pub store: Store,
    pub faults: Faults,
    pub settings: Settings,
    pub recorder: Recorder,
    pub logs: BTreeMap<LogKey, Bytes>,
    pub reviews: Reviews,
}

impl State {
    /// Lets the watches of a resource look again.
    pub fn wake_watches(&mut self, resource: &str) {
        for collection in self.store.find_all(resource) {
            collection.changed.send_replace(());
        }
    }
}

pub(crate) struct Shared {
    state: Mutex<State>,
    /// Ticks after every change that someone may wait for.
    pub activity: watch::Sender<()>,
}

impl Shared {
    pub fn new() -> Self {
        let state = State {
            store: Store::new(),
            faults: Faults::default(),
            settings: Settings::default(),
            recorder: Recorder::default(),
            logs: BTreeMap::new(),
            reviews: Reviews::default(),
        };
        Self { state: Mutex::new(state), activity: watch::Sender::new(()) }
    }

    /// A test that panicked while holding the lock has failed already; the others may go on.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes something and tells those who wait.
    pub fn change<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        let result = f(&mut self.lock());
        self.activity.send_replace(());
        result
    }
}
