//! Locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The value behind a lock, also after a panic of another holder: a release build aborts at a panic, and
/// in tests the value is as good as ever.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
