//! A text that many are answered with.

use std::io::Write;
use std::sync::OnceLock;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

/// A text, compressed at most once for all who take it so. Sharing it copies nothing.
#[derive(Debug)]
pub struct Rendered {
    plain: Bytes,
    gzip: OnceLock<Option<Bytes>>,
}

impl Rendered {
    /// This text.
    pub fn new(text: String) -> Self {
        Rendered { plain: text.into(), gzip: OnceLock::new() }
    }

    /// The text.
    pub fn plain(&self) -> &Bytes {
        &self.plain
    }

    /// The text in gzip.
    pub fn gzip(&self) -> Option<&Bytes> {
        let zipped = || {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&self.plain).ok()?;
            encoder.finish().ok().map(Bytes::from)
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
        let text = Rendered::new("longhorn ".repeat(1000));
        let (first, second) = (text.gzip().unwrap(), text.gzip().unwrap());
        assert_eq!((first.as_ptr(), first.len()), (second.as_ptr(), second.len()));
        assert!(first.len() < 200);
        let mut read = String::new();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&first[..]), &mut read).unwrap();
        assert_eq!(read, *text);
    }
}
