//! HTTP requests that were answered, by status code.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::sync::lock;

/// Codes whose series start at 0: of answers, and of what an operator has to know of.
const FROM_ZERO: [u16; 5] = [200, 401, 403, 500, 503];

/// Counts since the start. Only codes that this program answers with become keys.
#[derive(Debug)]
pub struct Requests(Mutex<BTreeMap<u16, u64>>);

impl Default for Requests {
    fn default() -> Self {
        Requests(Mutex::new(FROM_ZERO.map(|code| (code, 0)).into()))
    }
}

impl Requests {
    /// Counts an answer with this status code.
    pub fn count(&self, code: u16) {
        *lock(&self.0).entry(code).or_default() += 1;
    }

    /// The counts until now.
    pub fn counts(&self) -> BTreeMap<u16, u64> {
        lock(&self.0).clone()
    }
}
