//! What the last log of a crashed manager says.

use std::sync::LazyLock;

use regex::Regex;

use super::causes;
use crate::check::*;
use crate::longhorn::log_line::message as untimed;

/// A line by which a cause is known.
pub struct Signature {
    pub cause: &'static Cause,
    /// What the line contains, as a regular expression.
    pub pattern: &'static str,
    /// True when the line counts also at level error; otherwise only a fatal line does, because
    /// the manager goes on after the same words at a lower level.
    pub error_too: bool,
}

const fn fatal(cause: &'static Cause, pattern: &'static str) -> Signature {
    Signature { cause, pattern, error_too: false }
}

/// In the order in which they are tried on a line; the more particular ones come first.
///
/// Wordings were read from the format strings of longhorn-manager at v1.3.3, v1.4.4, v1.5.5,
/// v1.6.4, v1.8.2, v1.9.2 and v1.12.1: app/daemon.go, webhook/webhook.go, upgrade/upgrade.go,
/// upgrade/util/util.go, util/client/client.go, recovery_backend/recovery_backend.go.
pub const SIGNATURES: &[Signature] = &[
    Signature {
        cause: &causes::OPEN_ISCSI_MISSING,
        pattern: r"(?i)(failed environment check|failed to check environment|environment check failed)",
        error_too: true,
    },
    // what the API server passes on from a webhook may hold the words of every other cause
    fatal(&causes::WEBHOOK_CALL_FAILED, r"failed calling webhook"),
    fatal(
        &causes::WEBHOOK_CALL_FAILED,
        r"conversion webhook for longhorn\.io/[a-z0-9]+, Kind=[A-Za-z]+ failed",
    ),
    fatal(
        &causes::WEBHOOK_DENIED,
        r"admission webhook .{0,4}(validator|mutator)\.longhorn\.io.{0,4} denied the request",
    ),
    // up to 1.3.0 the manager itself refuses what the chart sets (longhorn-manager v1.3.0 datastore/longhorn.go
    // ValidateSetting), before 1.5 without a webhook
    fatal(&causes::WEBHOOK_DENIED, r"fail(ed)? to (set the|validate) setting [a-z0-9-]+ with invalid value"),
    fatal(
        &causes::WRITE_CONFLICT,
        r"Operation cannot be fulfilled on [a-z.]+ .+: the object has been modified|[a-z]+\.longhorn\.io .+ already exists",
    ),
    // in an upgrade the manager that is faster deletes settings of the release before, which this one had listed
    // (longhorn-manager v1.10.2 upgrade/upgrade.go, datastore/longhorn.go DeleteRemovedSettings)
    fatal(&causes::WRITE_CONFLICT, r#"settings\.longhorn\.io \\*"[a-z0-9-]+\\*" not found"#),
    fatal(&causes::POD_UPDATE_REFUSED, r"Forbidden: pod updates may not change fields other than"),
    fatal(&causes::MANIFEST_STALE, r"flag provided but not defined: -"),
    // what a start asks for itself; informers and leader election go on asking instead (`manager_start_stuck`)
    fatal(
        &causes::ACCESS_DENIED,
        r#"is forbidden: User \\*"system:serviceaccount:[^"]*" cannot [a-z]+ resource"#,
    ),
    fatal(
        &causes::WEBHOOK_UNSERVED,
        r"(admission|conversion) webhook service is not accessible( on cluster)? after [0-9]+m?[0-9]*s",
    ),
    fatal(
        &causes::WEBHOOK_NOT_READY,
        r"(admission|conversion) webhook is not ready( on localhost)? after [0-9]+m?[0-9]*s",
    ),
    // no release has version 0: another manager has just made the object, and a volume refers to it before the image is deployed
    // (longhorn-manager v1.12.1 upgrade/util/util.go checkEngineUpgradePath; the managers that were faster deploy it)
    fatal(&causes::WRITE_CONFLICT, r"failed checking Engine upgrade path: .*found version 0 is below"),
    fatal(&causes::ENGINE_INCOMPATIBLE, r"failed checking Engine upgrade path: "),
    fatal(&causes::UPGRADE_PATH, r"failed to upgrade since (upgrading|downgrading) "),
    fatal(&causes::UPGRADE_PATH, r"failed to skip the upgrade check for "),
    fatal(
        &causes::OLD_MANAGERS_LINGERING,
        r"timed out while waiting for old Longhorn manager pods to be fully removed",
    ),
    fatal(&causes::CRD_MISMATCH, r"strict decoding error: unknown field"),
    fatal(&causes::UPGRADE_PATH, r"unrecognized CRD API version|don't support upgrade from"),
    fatal(&causes::CACHE_SYNC_FAILED, r"datastore cache sync up failed"),
    fatal(
        &causes::PORT_IN_USE,
        r"Error (longhorn backend|recovery backend|admission webhook|conversion webhook|admission|conversion) (webhook )?server failed",
    ),
    fatal(
        &causes::MANIFEST_STALE,
        r"failed to detect the (node name|node IP|manager pod name|manager pod namespace)",
    ),
    fatal(&causes::MANIFEST_STALE, r"Error starting manager: require [a-z-]+"),
    fatal(&causes::WEBHOOK_NOT_READY, r"failed to bootstrap webhook secrets"),
    fatal(&causes::API_UNREACHABLE, r"(unable|failed) to get (client config|k8s client|clientset)"),
    // a call of its own, not one that the API server passes on
    fatal(&causes::API_CERTIFICATE, r#"https://[^ "]+/apis?/[^ ]+: (tls: [a-z ]+: )?x509: "#),
    // written by the shell or the runtime in place of the manager
    fatal(&causes::CONTAINER_CANNOT_START, r"exec format error"),
    // of the API server's own address, not of a backup store or of an instance manager
    fatal(
        &causes::API_UNREACHABLE,
        r#"etcdserver: |https://[^ "]+/(apis?|version|healthz)[^ ]*: .*(Client\.Timeout exceeded|TLS handshake timeout|dial tcp [^ ]+: (i/o timeout|connect: (connection refused|no route to host)))"#,
    ),
    // each kind in turn; what the API server or a webhook refuses is above (longhorn-manager v1.5.5 to v1.12.1 upgrade/upgrade.go)
    fatal(
        &causes::UPGRADE_OBJECT,
        r"upgrade resources failed: upgrade from [^ :]+ to [^ :]+: upgrade [A-Za-z ]+ failed: ",
    ),
];

static COMPILED: LazyLock<Vec<(&Signature, Regex)>> = LazyLock::new(|| {
    let compile = |signature: &'static Signature| Some((signature, Regex::new(signature.pattern).ok()?));
    SIGNATURES.iter().filter_map(compile).collect()
});

/// The last word of a crashed manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LastWord<'a> {
    /// A fatal line that names its cause.
    Known(&'static Cause, &'a str),
    /// A fatal line that no signature knows.
    Fatal(&'a str),
    /// A Go panic: its first line, and the text with the stack.
    Panic(&'a str, &'a str),
}

/// Looks for what ended the process, from the end of the log: the process ends with a fatal line
/// or with a panic, so the later of the two is the cause.
pub fn last_word(log: &str) -> Option<LastWord<'_>> {
    for (at, line) in lines(log).rev() {
        if is_panic(line) {
            return Some(LastWord::Panic(line.trim(), with_stack(log, at)));
        }
        let level = level(line);
        let known = COMPILED
            .iter()
            .find(|(signature, pattern)| level.may_be(signature.error_too) && pattern.is_match(line));
        if let Some((signature, _)) = known {
            return Some(LastWord::Known(signature.cause, line.trim()));
        }
        if level == Level::Fatal {
            return Some(LastWord::Fatal(line.trim()));
        }
    }
    None
}

/// A log from the line of its panic on. Where it was cut before the stack, from the panic that client-go noted just before: it
/// quotes the stack, and panics again with the same words (k8s.io/apimachinery pkg/util/runtime HandleCrash).
fn with_stack(log: &str, panic: usize) -> &str {
    let from_here = log.get(panic..).unwrap_or_default();
    if lines(from_here).any(|(_, line)| untimed(line).starts_with("goroutine ")) {
        return from_here;
    }
    let noted = log.get(..panic).and_then(|before| before.rfind("Observed a panic"));
    noted.and_then(|at| log.get(at..)).unwrap_or(from_here)
}

/// The part of a stack trace that is about the goroutine which panicked. After a fatal error of the run
/// time, such as concurrent map writes, all others follow, each controller's among them.
pub fn of_panicking_goroutine(stack: &str) -> &str {
    let headers = lines(stack).filter(|(_, line)| untimed(line).starts_with("goroutine "));
    match headers.map(|(at, _)| at).nth(1) {
        Some(next) => stack.get(..next).unwrap_or(stack),
        None => stack,
    }
}

/// The function in which a panic began: the first one of longhorn-manager or, where that calls none of its own,
/// of the package that it uses. Neither the run time nor the handler that passes panics on.
pub fn panicking_function(stack: &str) -> Option<&str> {
    const MODULE: &str = "github.com/longhorn/longhorn-manager/";
    const HANDLERS: [&str; 3] = ["panic(", "runtime.", "k8s.io/apimachinery/pkg/util/runtime."];
    let functions = || {
        stack.lines().skip_while(|line| !untimed(line).starts_with("goroutine ")).skip(1).filter_map(|line| {
            let line = untimed(line);
            // below each function stands its file
            let function = line.get(..line.rfind('(')?)?;
            (!line.starts_with(['\t', ' ']) && function.contains('.')).then_some(function)
        })
    };
    let own = functions().find_map(|function| function.strip_prefix(MODULE));
    let own = own.filter(|function| !function.starts_with("vendor/"));
    let used = || functions().find(|function| !HANDLERS.iter().any(|handler| function.starts_with(handler)));
    own.or_else(used).or_else(|| {
        // a log that was cut above the goroutine
        stack.lines().find_map(|line| {
            let rest = untimed(line).strip_prefix(MODULE)?;
            rest.get(..rest.rfind('(')?).filter(|function| !function.starts_with("vendor/"))
        })
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Fatal,
    Error,
    Lower,
    /// No level is written, as where a log was cut or shortened.
    None,
}

impl Level {
    fn may_be(self, error_too: bool) -> bool {
        match self {
            Level::Fatal | Level::None => true,
            Level::Error => error_too,
            Level::Lower => false,
        }
    }
}

/// The level of a line of logrus, as text or as JSON.
fn level(line: &str) -> Level {
    const TEXT: &str = "level=";
    const JSON: &str = "\"level\":\"";
    let after = |mark: &str| line.find(mark).and_then(|at| line.get(at + mark.len()..));
    let word = after(JSON).or_else(|| after(TEXT));
    match word {
        None => klog_level(untimed(line)),
        Some(word) if word.starts_with("fatal") || word.starts_with("panic") => Level::Fatal,
        Some(word) if word.starts_with("error") => Level::Error,
        Some(_) => Level::Lower,
    }
}

/// The level of a line of klog, which Kubernetes' client library writes: `E0601 02:14:33.415803`.
fn klog_level(line: &str) -> Level {
    let mut bytes = line.bytes();
    let letter = bytes.next();
    let dated = bytes.by_ref().take(4).filter(u8::is_ascii_digit).count() == 4 && bytes.next() == Some(b' ');
    match letter {
        Some(b'F') if dated => Level::Fatal,
        Some(b'E') if dated => Level::Error,
        Some(b'I' | b'W') if dated => Level::Lower,
        _ => Level::None,
    }
}

/// True for the line with which the Go run time begins a panic.
fn is_panic(line: &str) -> bool {
    let line = untimed(line);
    line.starts_with("panic: ") || line.starts_with("fatal error: ")
}

/// Lines with the offset at which each begins.
fn lines(text: &str) -> impl DoubleEndedIterator<Item = (usize, &str)> {
    let mut begins: Vec<(usize, &str)> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        begins.push((at, line));
        at += line.len();
    }
    begins.into_iter()
}

/// How many signatures compiled; a test holds it to the length of the table.
#[cfg(test)]
pub fn compiled() -> usize {
    COMPILED.len()
}
