//! What is kept of the text of a log, live or recorded.

/// At most this much of the end of a log is kept, as from a live cluster.
pub(crate) const MAX_LOG_BYTES: usize = 32 * 1024;

/// True for what a kubelet answers in place of a log, with status 200, where the container is gone in that moment (played with 1.36.3).
pub(crate) fn is_gone(text: &str) -> bool {
    text.starts_with("unable to retrieve container logs for ")
}

/// The end of a log, from the beginning of a line.
pub(crate) fn tail(content: &[u8]) -> String {
    let start = content.len().saturating_sub(MAX_LOG_BYTES);
    let end = content.get(start..).unwrap_or(content);
    // what is cut off within a line is dropped
    let line_end = end.iter().position(|byte| *byte == b'\n').filter(|_| start > 0);
    let kept = line_end.and_then(|at| end.get(at + 1..)).unwrap_or(end);
    String::from_utf8_lossy(kept).into_owned()
}
