//! The newest time in a recording, which is when it was made unless it says so itself.

use jiff::{SignedDuration, Timestamp};

/// The newest times of two objects, and how many objects have one.
#[derive(Debug, Default, Clone)]
pub(super) struct Times {
    pub(super) newest: Option<(Timestamp, String)>,
    second: Option<Timestamp>,
    objects: usize,
}

/// Where this many objects agree about the time, one that is so much ahead of all others is wrong: a
/// running cluster renews Leases and heartbeats within minutes.
const AGREED: usize = 10;
const FAR_AHEAD: SignedDuration = SignedDuration::from_hours(6);

impl Times {
    pub(super) fn add(&mut self, time: Timestamp, object: String) {
        self.objects += 1;
        match &self.newest {
            Some((newest, _)) if time <= *newest => self.second = self.second.max(Some(time)),
            newest => {
                self.second = newest.as_ref().map(|(time, _)| *time);
                self.newest = Some((time, object));
            }
        }
    }

    /// The one object that is far ahead of all others, with its time and theirs.
    pub(super) fn far_ahead(&self) -> Option<(&str, Timestamp, Timestamp)> {
        let ((newest, object), second) = (self.newest.as_ref()?, self.second?);
        let far = self.objects > AGREED && newest.duration_since(second) > FAR_AHEAD;
        far.then_some((object.as_str(), *newest, second))
    }
}
