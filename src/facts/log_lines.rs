//! What tools put in front of the lines of a log.

use jiff::Timestamp;

/// A line without what `kubectl logs --timestamps` (in any time zone) and `--prefix`, stern and the kubelet's own
/// log files (CRI) put in front of it.
pub fn bare(line: &str) -> &str {
    let mut rest = line.trim_end();
    // each tool puts its own head before that of the others
    while let Some(next) = without_time(rest).or_else(|| without_stream(rest)).or_else(|| without_pod(rest)) {
        rest = next;
    }
    rest
}

/// `2026-01-01T02:00:00.123456789+02:00 `
fn without_time(line: &str) -> Option<&str> {
    let (time, rest) = line.split_once(' ')?;
    let dated = time.starts_with(|first: char| first.is_ascii_digit()) && time.contains('T');
    (dated && time.parse::<Timestamp>().is_ok()).then_some(rest)
}

/// `stderr F `, which follows the time in a CRI file.
fn without_stream(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("stdout ").or_else(|| line.strip_prefix("stderr "))?;
    rest.strip_prefix("F ").or_else(|| rest.strip_prefix("P "))
}

/// `[pod/longhorn-manager-x/longhorn-manager] `, `[longhorn-manager-x longhorn-manager] ` or, as stern writes it,
/// `longhorn-manager-x longhorn-manager `.
fn without_pod(line: &str) -> Option<&str> {
    if let Some((head, rest)) = line.strip_prefix('[').and_then(|line| line.split_once("] ")) {
        let head = head.strip_prefix("pod/").unwrap_or(head);
        let (pod, container) = head.split_once(['/', ' '])?;
        return is_pod_of(pod, container).then_some(rest);
    }
    let (pod, rest) = line.split_once(' ')?;
    let (container, rest) = rest.split_once(' ')?;
    is_pod_of(pod, container).then_some(rest)
}

/// True for the name of a pod followed by that of its main container, which begins it.
fn is_pod_of(pod: &str, container: &str) -> bool {
    let name =
        |text: &str| text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b));
    let longhorn = pod.starts_with("longhorn-") || pod.starts_with("instance-manager-");
    longhorn && !container.is_empty() && name(pod) && name(container)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_every_tool_are_taken_off() {
        for line in [
            "panic: boom",
            "2026-01-01T00:00:00.123456789Z panic: boom",
            "2026-01-01T02:00:00.123456789+02:00 panic: boom",
            "2026-01-01T02:00:00-05:30 panic: boom\n",
            "2026-01-01T00:00:00.1Z stderr F panic: boom",
            "2026-01-01T00:00:00.1+02:00 stdout P panic: boom",
            "[pod/longhorn-manager-abc12/longhorn-manager] panic: boom",
            "[pod/longhorn-manager-abc12/longhorn-manager] 2026-01-01T02:00:00+02:00 panic: boom",
            "[longhorn-manager-abc12 longhorn-manager] panic: boom",
            "longhorn-manager-abc12 longhorn-manager panic: boom",
        ] {
            assert_eq!(bare(line), "panic: boom", "{line}");
        }
    }

    #[test]
    fn what_the_program_wrote_stays() {
        for line in [
            "[signal SIGSEGV: segmentation violation code=0x1 addr=0x18 pc=0x1]",
            "[longhorn-instance-manager] time=\"2026-01-01T00:00:00Z\" level=info",
            "20 s have passed",
            "2026-01-01 panic: boom",
            "stderr is closed",
            "longhorn-manager version v1.9.2",
            "",
        ] {
            assert_eq!(bare(line), line);
        }
    }
}
