//! What stands before the words of a log line, depending on how the log was read: the time of
//! `kubectl logs --timestamps`, the pod of `--prefix` or stern, the container runtime's own head.

/// The words of a line: without byte-order mark, time (RFC 3339 with any offset), runtime's head
/// (`… stderr F `), names of pod and container, and white space at the end.
pub fn message(line: &str) -> &str {
    let line = line.trim_end().trim_start_matches('\u{feff}');
    let named = prefix(line).or_else(|| stern(line)).unwrap_or(line);
    match time(named) {
        None => named,
        // kubectl's time may stand before the runtime's own
        Some(rest) => {
            let rest = time(rest).unwrap_or(rest);
            tagged(rest).map_or(rest, |(_, words)| words)
        }
    }
}

/// A whole log with each line reduced to its [`message`]; a line that the container runtime split is
/// one again. The words are then the same, however the log was read.
pub fn messages(log: &str) -> String {
    let mut text = String::with_capacity(log.len());
    for line in log.lines() {
        text.push_str(message(line));
        if !is_partial(line) {
            text.push('\n');
        }
    }
    text
}

/// True for a line of the container runtime that goes on in the next one: `… stderr P `
/// (kubernetes/cri-api: the tags of the CRI log format).
fn is_partial(line: &str) -> bool {
    let at = time(line.trim_start_matches('\u{feff}'));
    at.and_then(tagged).is_some_and(|(tags, _)| tags.split(':').any(|tag| tag == "P"))
}

/// `[pod/NAME/CONTAINER] ` of `kubectl logs --prefix`, or `[NAME CONTAINER] ` as templates of stern write it.
fn prefix(line: &str) -> Option<&str> {
    let (names, rest) = line.strip_prefix('[')?.split_once("] ")?;
    let is_pod = match names.strip_prefix("pod/") {
        Some(names) => !names.contains(' '),
        None => stern(&format!("{names} ")).is_some_and(str::is_empty),
    };
    is_pod.then_some(rest)
}

/// `POD CONTAINER ` of stern, where the pod is named after the container, as Longhorn's are.
fn stern(line: &str) -> Option<&str> {
    let (pod, rest) = line.split_once(' ')?;
    let (container, rest) = rest.split_once(' ')?;
    let named_after = pod.strip_prefix(container)?.starts_with('-');
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (named_after && pod.bytes().all(is_name)).then_some(rest)
}

/// `2026-01-01T00:00:00.123+01:00 `.
fn time(line: &str) -> Option<&str> {
    let (time, rest) = line.split_once(' ').unwrap_or((line, ""));
    // cheap before exact: most lines begin with something else
    let dated = time.len() >= 20 && time.as_bytes().get(10) == Some(&b'T');
    (dated && time.parse::<jiff::Timestamp>().is_ok()).then_some(rest)
}

/// Tags and words after `stderr F `, which only follows a time.
fn tagged(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("stdout ").or_else(|| line.strip_prefix("stderr "))?;
    let (tags, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let known = |tag: &str| matches!(tag, "F" | "P");
    tags.split(':').next().is_some_and(known).then_some((tags, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = "time=\"2026-03-01T02:00:01Z\" level=fatal msg=\"Error starting manager: a b\"";

    #[test]
    fn heads_are_taken_off_and_words_are_not() {
        for head in [
            "",
            "\u{feff}",
            "2026-03-01T02:00:01Z ",
            "2026-03-01T02:00:01.123456789Z ",
            "2026-03-01T03:00:01.5+01:00 ",
            "2026-02-28T20:30:01-05:30 ",
            "2026-03-01T02:00:01.1Z stderr F ",
            "2026-03-01T03:00:01.1+01:00 stdout F ",
            "2026-03-01T02:00:01Z 2026-03-01T02:00:01Z ",
            "[pod/longhorn-manager-x7x2k/longhorn-manager] ",
            "[pod/longhorn-manager-x7x2k/longhorn-manager] 2026-03-01T02:00:01Z ",
            "[longhorn-manager-x7x2k longhorn-manager] ",
            "longhorn-manager-x7x2k longhorn-manager ",
            "longhorn-driver-deployer-5d-ab longhorn-driver-deployer 2026-03-01T02:00:01+02:00 ",
        ] {
            for end in ["", "\r", " \r\n"] {
                assert_eq!(message(&format!("{head}{WORDS}{end}")), WORDS, "{head:?}");
            }
        }
        for words in [
            "E0601 02:14:33.415803       1 leaderelection.go:330] error",
            "panic: runtime error",
            "goroutine 1 [running]:",
            "\t/go/src/app/daemon.go:1 +0x1",
            "[pod names] were read",
            "stderr F is what the runtime writes",
            "manager-1 failed to start",
            "2026-03-01 is a date",
            "20xx-notatimeT00:00:00Z a",
            "",
        ] {
            assert_eq!(message(words), words);
        }
        assert_eq!(message("2026-03-01T02:00:01Z"), "", "an empty line with its time");
        assert_eq!(message("2026-03-01T02:00:01Z stderr F"), "");
    }

    #[test]
    fn a_line_that_the_runtime_split_is_one_again() {
        let log = "2026-03-01T02:00:01Z stderr P pan\r\n2026-03-01T02:00:01Z stderr F ic: x\n\
            2026-03-01T02:00:01Z stderr F \n2026-03-01T02:00:02Z stderr F goroutine 1 [running]:";
        assert_eq!(messages(log), "panic: x\n\ngoroutine 1 [running]:\n");
    }
}
