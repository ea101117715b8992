//! A text that many are answered with, and how much all of them may hold.

use std::io::Write;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::metrics::EncodeError;

/// The bytes that texts may hold together, for as long as anybody still reads them: clients that read
/// slowly or not at all must not fill the memory with what was true a while ago.
#[derive(Debug, Clone)]
pub struct Budget {
    free: Arc<Semaphore>,
    all: u32,
}

impl Budget {
    /// A budget of this many bytes.
    pub fn new(all: u32) -> Self {
        Budget { free: Arc::new(Semaphore::new(all as usize)), all }
    }

    /// These bytes, counted until the last who shares them lets go. A text larger than the whole budget
    /// takes all of it: one reader at a time, rather than none ever.
    fn hold(&self, bytes: Vec<u8>) -> Option<Bytes> {
        let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX).min(self.all);
        let permit = self.free.clone().try_acquire_many_owned(size).ok()?;
        Some(Bytes::from_owner(KeptPage { bytes, _permit: permit }))
    }
}

struct KeptPage {
    bytes: Vec<u8>,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for KeptPage {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Why there is no text.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// Samples that fit no page.
    #[error(transparent)]
    Metrics(#[from] EncodeError),
    /// A report that is no JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// What others have not read yet takes the whole budget.
    #[error("no memory is left for answers: other clients have not read theirs yet")]
    Full,
}

/// A text, compressed at most once for all who take it so. Sharing it copies nothing.
#[derive(Debug)]
pub struct Rendered {
    plain: Bytes,
    gzip: OnceLock<Option<Bytes>>,
    budget: Budget,
}

impl Rendered {
    /// This text, within the budget.
    pub fn new(text: String, budget: &Budget) -> Result<Self, RenderError> {
        let plain = budget.hold(text.into_bytes()).ok_or(RenderError::Full)?;
        Ok(Rendered { plain, gzip: OnceLock::new(), budget: budget.clone() })
    }

    /// The text.
    pub fn plain(&self) -> &Bytes {
        &self.plain
    }

    /// Whether somebody took it in gzip.
    pub fn is_zipped(&self) -> bool {
        self.gzip.get().is_some()
    }

    /// The text in gzip; `None` where the budget has no room for it beside the text.
    pub fn gzip(&self) -> Option<&Bytes> {
        let zipped = || {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&self.plain).ok()?;
            self.budget.hold(encoder.finish().ok()?)
        };
        self.gzip.get_or_init(zipped).as_ref()
    }
}

impl std::ops::Deref for Rendered {
    type Target = str;

    fn deref(&self) -> &str {
        // it was a String
        std::str::from_utf8(&self.plain).unwrap_or_default()
    }
}

impl std::fmt::Display for Rendered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self)
    }
}

impl PartialEq for Rendered {
    fn eq(&self, other: &Self) -> bool {
        self.plain == other.plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_compressed_once_and_shared() {
        let text = Rendered::new("longhorn ".repeat(1000), &Budget::new(10_000)).unwrap();
        let (first, second) = (text.gzip().unwrap(), text.gzip().unwrap());
        assert_eq!((first.as_ptr(), first.len()), (second.as_ptr(), second.len()));
        assert!(first.len() < 200);
        let mut read = String::new();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&first[..]), &mut read).unwrap();
        assert_eq!(read, *text);
    }

    #[test]
    fn the_budget_counts_what_anybody_still_holds() {
        let budget = Budget::new(1_000);
        let text = |size: usize| Rendered::new("x".repeat(size), &budget);
        let read_slowly = text(900).unwrap().plain().clone();
        assert!(matches!(text(200), Err(RenderError::Full)));
        assert!(text(100).unwrap().gzip().is_none(), "no room beside the text");
        drop(read_slowly);
        let huge = text(5_000).unwrap();
        assert!(matches!(text(1), Err(RenderError::Full)));
        drop(huge);
        text(1).unwrap();
    }
}
