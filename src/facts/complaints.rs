//! What a longhorn-manager that hangs in its start complains about in the log of its present run.
//!
//! Leader election and informers retry forever, so neither an API server that does not answer nor a right or
//! a kind that is not there ends the process: it goes on waiting and repeats its complaint every few seconds,
//! at most every minute (longhorn-manager v1.9.2 and v1.12.1 app/daemon.go, util/client/client.go NewClients;
//! client-go tools/leaderelection/leaderelection.go, tools/cache/reflector.go).

use std::sync::LazyLock;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use regex::Regex;

/// What a manager that hangs lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lacks {
    /// An answer of the Kubernetes API server.
    Api,
    /// A right of its service account.
    Right,
    /// A kind that the API server does not serve.
    Kind,
}

/// The newest complaint of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint<'a> {
    pub lacks: Lacks,
    pub line: &'a str,
    /// What it is about, once each: rights as `list volumeattachments.storage.k8s.io`, kinds by their plural
    /// name, the API server by what its client met.
    pub about: Vec<String>,
}

/// Lines after the newest complaint that show that the manager got on. One that hangs writes little else.
const GOT_ON: usize = 20;
/// Lines before it that are asked for further rights and kinds.
const CONTEXT: usize = 80;
/// The number of those that are named.
const NAMED: usize = 10;

struct Patterns {
    /// The API server answered: the right is not there.
    right: Regex,
    /// The API server answered: it does not know the credentials.
    credentials: Regex,
    /// The API server answered: it does not serve the kind.
    kind: Regex,
    /// Words of client-go's leader election and informers, which name a Go type (`failed to list *v1.Node`: Longhorn says `failed to list
    /// replicas for volume` and `failed to list objects` of engines and backup stores), the path of an API request, or what only an API server says: a
    /// controller of Longhorn repeats that without path (`failed to sync node for …: etcdserver: …`).
    asked: Regex,
    /// There was no answer, or none that says anything.
    unreached: Regex,
    /// Any other failure to connect.
    unconnected: Regex,
    /// The API server answered: a warning in the header of an answer (client-go rest/warnings.go; 1.12.1 asks for Endpoints as soon as
    /// it gets through, on Kubernetes 1.33 and later), a Lease that was read, webhook configurations that were written.
    answered: Regex,
}

static PATTERNS: LazyLock<Option<Patterns>> = LazyLock::new(|| {
    Some(Patterns {
        right: Regex::new(
            r#"is forbidden: User "[^"]*" cannot ([a-z]+) resource "([^"]+)"(?: in API group "([^"]*)")?"#,
        )
        .ok()?,
        credentials: Regex::new(r#"[ "]Unauthorized\b|the server has asked for the client to provide credentials"#)
            .ok()?,
        kind: Regex::new(
            r#"the server could not find the requested resource(?: \([a-z]+ ([a-z0-9.-]+)\))?|no matches for kind "([A-Za-z]+)""#,
        )
        .ok()?,
        asked: Regex::new(
            r"(?i)https?://[^ /]+/(?:apis?|version)[/?\x22]|retrieving (?:resource|lease) lock|failed to (?:list|watch) \*[a-z0-9]+\.|leader election record|creating lease lock|failed to (?:update|renew) (?:lock|lease)|watch (?:of [^ ]+ )?ended with|etcdserver: ",
        )
        .ok()?,
        unreached: Regex::new(
            r"connection refused|no route to host|network is unreachable|host is down|i/o timeout|TLS handshake timeout|Client\.Timeout exceeded|context deadline exceeded|connection reset by peer|client connection lost|no such host|x509: [^,]+|unexpected EOF|: EOF\b|etcdserver: [a-z ]+|the server is currently unable to handle the request|the server was unable to return a response in the time allotted|Too many requests|service unavailable",
        )
        .ok()?,
        unconnected: Regex::new(r#"dial tcp [^"]+"#).ok()?,
        answered: Regex::new(
            r#"\bwarnings\.go:[0-9]+\] |successfully acquired lease|cert rotation leader changed: |Successfully applied webhook configurations"#,
        )
        .ok()?,
    })
});

/// The newest complaint, unless the manager went on after it.
pub fn newest(log: &str) -> Option<Complaint<'_>> {
    let patterns = PATTERNS.as_ref()?;
    let mut lines = log.lines().rev().filter(|line| !line.trim().is_empty());
    let mut answered = false;
    let newest = lines.by_ref().take(GOT_ON).find_map(|line| {
        answered |= patterns.answered.is_match(line);
        Some((line.trim(), patterns.read(line)?))
    });
    let (line, (lacks, about)) = newest?;
    let mut all = vec![about];
    for (also, about) in lines.take(CONTEXT).filter_map(|line| patterns.read(line)) {
        if also == lacks && lacks != Lacks::Api && all.len() < NAMED && !all.contains(&about) {
            all.push(about);
        }
    }
    all.sort();
    let complaint = Complaint { lacks, line, about: all };
    // an answer is no right and no kind, and an etcd without space still answers those who read
    (!answered || lacks != Lacks::Api || complaint.is_full()).then_some(complaint)
}

/// What the attempts of a renewal met that was given up: an etcd without space. A renewal begun while it was full is given up 30 s later,
/// also where writes are taken again by then (seen on 1.12.1: 9 s after the alarm was disarmed).
pub fn gave_up_on_full_etcd<'a>(
    log: &'a str,
    given_up: &Complaint<'_>,
    now: Timestamp,
) -> Option<Complaint<'a>> {
    const RENEWAL: SignedDuration = SignedDuration::from_secs(35);
    let gives_up = |line: &str| {
        line.contains("leaderelection.go:") && line.contains(r#"err="context deadline exceeded""#)
    };
    let patterns = PATTERNS.as_ref().filter(|_| gives_up(given_up.line))?;
    let at = written_at(given_up.line, now)?;
    let complaints = log.lines().rev().map(str::trim).filter(|line| !gives_up(line));
    let (line, (lacks, about)) = complaints
        .filter_map(|line| Some((line, patterns.read(line)?)))
        .find(|(line, _)| line.contains("leaderelection.go:"))?;
    let attempt = Complaint { lacks, line, about: vec![about] };
    let lasted = at.duration_since(written_at(line, now)?);
    (attempt.is_full() && lasted <= RENEWAL).then_some(attempt)
}

/// For how long a log repeats that there is no answer of the API server, from the first such line of this outage to the newest.
pub fn unanswered_for(log: &str, now: Timestamp) -> Option<SignedDuration> {
    let patterns = PATTERNS.as_ref()?;
    let at = |line: &str| written_at(line.trim(), now);
    let mut all = log
        .lines()
        .rev()
        .take_while(|line| !patterns.answered.is_match(line))
        .filter(|line| patterns.read(line).is_some_and(|(lacks, _)| lacks == Lacks::Api));
    let newest = at(all.next()?)?;
    let first = all.filter_map(at).min().unwrap_or(newest);
    Some(newest.duration_since(first))
}

/// True where a log says at a moment or later that there was no answer of the API server, also where it got on since.
pub fn has_complained(log: &str, since: Timestamp, now: Timestamp) -> bool {
    let Some(patterns) = PATTERNS.as_ref() else { return false };
    let said = |line: &str| patterns.read(line).is_some_and(|(lacks, _)| lacks == Lacks::Api);
    log.lines().any(|line| written_at(line.trim(), now).is_some_and(|at| at >= since) && said(line))
}

/// When a line was written: by logrus (`time="2026-…"`), or by klog (`E1123 08:02:21.896237`), which leaves out the year and the
/// zone; the clock of a container is taken for UTC, as that of Longhorn's images is.
pub fn written_at(line: &str, now: Timestamp) -> Option<Timestamp> {
    if let Some((_, rest)) = line.split_once("time=\"") {
        return rest.split('"').next()?.parse().ok();
    }
    let mut words = line.split_whitespace();
    let (date, time) = (words.next()?, words.next()?);
    let (month, day) = (date.get(1..3)?, date.get(3..5).filter(|_| date.len() == 5)?);
    let of = |year: i16| format!("{year}-{month}-{day}T{time}Z").parse::<Timestamp>().ok();
    let year = now.to_zoned(TimeZone::UTC).year();
    let at = of(year)?;
    // written before a new year began
    if at.duration_since(now) > SignedDuration::from_hours(24) { of(year.checked_sub(1)?) } else { Some(at) }
}

impl Complaint<'_> {
    /// True where the API server answers and refuses every write: its etcd has no space left, which does not end on its own
    /// (etcd's alarm NOSPACE stands until it is disarmed).
    pub fn is_full(&self) -> bool {
        self.lacks == Lacks::Api && self.line.contains("database space exceeded")
    }
}

impl Patterns {
    /// What one line complains about, if it does.
    fn read(&self, line: &str) -> Option<(Lacks, String)> {
        // klog escapes quotes within err="…", and once more within JSON
        let line = line.replace('\\', "");
        // Longhorn's own webhook is no API server
        if line.contains("Failed to check endpoint") || line.contains("failed calling webhook") {
            return None;
        }
        let part = |found: &regex::Captures<'_>, index| found.get(index).map(|part| part.as_str().to_owned());
        // an API server that has just started knows no roles, not even those of Kubernetes, and refuses everybody for a moment
        if line.contains(r#"clusterrole.rbac.authorization.k8s.io "system:"#) {
            return None;
        }
        if let Some(found) = self.right.captures(&line) {
            let (verb, plural) = (part(&found, 1)?, part(&found, 2)?);
            let group = part(&found, 3).filter(|group| !group.is_empty());
            let group = group.map(|group| format!(".{group}")).unwrap_or_default();
            return Some((Lacks::Right, format!("{verb} {plural}{group}")));
        }
        if !self.asked.is_match(&line) {
            return None;
        }
        if self.credentials.is_match(&line) {
            return Some((Lacks::Right, "authenticate to the API server".to_owned()));
        }
        if let Some(found) = self.kind.captures(&line) {
            return Some((Lacks::Kind, part(&found, 1).or(part(&found, 2)).unwrap_or_default()));
        }
        let found = self.unreached.find(&line).or_else(|| self.unconnected.find(&line))?;
        Some((Lacks::Api, found.as_str().trim_start_matches([':', ' ']).to_owned()))
    }
}

#[cfg(test)]
mod tests;
