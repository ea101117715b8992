//! What a machine itself said about why: the words of a log, an Event, a condition, cut down to what has room in a line.

use std::borrow::Cow;

use super::words::plain;
use crate::longhorn::log_line;

/// Characters of a quote on a screen.
const LONGEST: usize = 120;
/// A last clause that is shorter says nothing without the one before it: `EOF`.
const SHORTEST: usize = 30;

/// What was said, in at most 120 characters; `None` where it says nothing. Of what passed through many hands, the last clauses: each
/// hand puts its own words in front.
pub fn essence(text: &str) -> Option<String> {
    let message = of_log_line(text);
    let message = without_request(&message);
    if let Some(refusal) = of_admission(message) {
        return Some(refusal);
    }
    let of_sdk = of_sdk(message).or_else(|| of_sdk(text));
    let text = of_sdk.as_deref().unwrap_or_else(|| of_command(of_answer(message)));
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    // parameters of a request in braces, as an SDK prints them over several lines
    let line = if line.ends_with('{') { text } else { line };
    // why the scheduler finds no node stands before what preemption would change about it
    let line = line.split(" preemption: ").next().unwrap_or(line);
    let line = without_list(line);
    let line = &without_paths(&line);
    let words: Vec<&str> = line.split_whitespace().collect();
    let line = without_hashes(&plain(&words.join(" ")))
        .replace(" [recovered]", "")
        .replace(" [recovered, repanicked]", "");
    let line = line.split("rpc error: ").map(without_code).collect::<String>();
    let line = line.trim_matches(|c: char| c.is_whitespace() || ",;:".contains(c));
    let says_nothing = line.starts_with("back-off ")
        || line.starts_with("exit status ")
        || !line.contains(char::is_alphabetic);
    (!says_nothing).then(|| with_image(line, last_clauses(line)))
}

/// The image that is not there in front of why, where the reason leaves it out and there is room: whole, or without its registry
/// (`failed to pull and unpack image "…": failed to resolve reference "…": why`, containerd core/remotes/docker/resolver.go).
fn with_image(line: &str, why: String) -> String {
    let image = line.split_once(" image \"").and_then(|(_, rest)| rest.split_once("\": "));
    let image = image.map(|(image, _)| image).filter(|image| !image.contains(' '));
    let names = image.into_iter().flat_map(|image| [Some(image), image.rsplit('/').next()]).flatten();
    let told = |name: &str| why.contains(name.rsplit('/').next().unwrap_or(name));
    let with = names
        .filter(|name| !told(name))
        .map(|name| format!("{name}: {}", why.trim_start_matches(['…', ' '])));
    with.into_iter().find(|text| text.chars().count() <= LONGEST).unwrap_or(why)
}

/// What admission says of an object that it rejects: who does, and which of its policies or quotas, stands first, and what it asks for. What
/// Longhorn's own webhook says is told by its last clause.
fn of_admission(text: &str) -> Option<String> {
    const MARKS: [&str; 4] =
        ["admission webhook \"", "ValidatingAdmissionPolicy '", "failed quota: ", "exceeded quota: "];
    let said = MARKS.iter().find_map(|mark| text.get(text.find(mark)?..))?;
    let denies =
        said.contains("denied the request") || said.contains("denied request") || said.contains(" quota: ");
    if !denies || said.contains(".longhorn.io\"") {
        return None;
    }
    let line = plain(&said.split_whitespace().collect::<Vec<&str>>().join(" ")).into_owned();
    // as Kyverno repeats what was asked for
    let of_kyverno = line.split_once(" resource ").and_then(|(before, rest)| {
        Some(format!("{before} {}", rest.split_once(" due to the following policies ")?.1))
    });
    let line = of_kyverno.unwrap_or(line);
    let cut = line.char_indices().nth(LONGEST - 2).and_then(|(at, _)| line.get(..at));
    Some(
        cut.map_or(line.clone(), |cut| format!("{} …", cut.rsplit_once(' ').map_or(cut, |(whole, _)| whole))),
    )
}

/// Without the parameters of a call between `[{` and `}]`: `failed to sync files [{FromFileName:… ActualSize:1}] from …`.
fn without_list(line: &str) -> Cow<'_, str> {
    let list = line.split_once(" [{").and_then(|(before, rest)| Some((before, rest.rsplit_once("}]")?.1)));
    list.map_or(Cow::Borrowed(line), |(before, after)| Cow::Owned([before, after].concat()))
}

/// Without the status and the ids of the request that an SDK writes below what the store answered (aws-sdk-go awserr requestError).
fn without_request(text: &str) -> &str {
    text.split_once("status code: ")
        .filter(|(_, rest)| rest.contains(", request id: "))
        .map_or(text, |(said, _)| said)
}

/// Without path and query of the address that a request went to: `Post "https://host:9502/v1/webhook?timeout=10s": EOF`.
fn without_paths(line: &str) -> String {
    let mut parts = line.split(" \"http");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |line, part| {
        let (address, rest) = part.split_once('"').unwrap_or((part, ""));
        let host = address.find("://").and_then(|at| Some(at + 3 + address.get(at + 3..)?.find('/')?));
        let (shown, end) = host.and_then(|at| address.get(..at)).map_or((address, ""), |host| (host, "/…"));
        format!("{line} \"http{shown}{end}\"{rest}")
    })
}

/// What was said as it can be quoted: the message of a log line, in one line.
pub fn one_line(text: &str) -> String {
    let message = of_log_line(text);
    message.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// `code = Unknown desc = ` in front of what a gRPC server said.
fn without_code(text: &str) -> &str {
    let desc = text.strip_prefix("code = ").and_then(|rest| rest.split_once(" desc = "));
    desc.map_or(text, |(_, said)| said.strip_prefix("= ").unwrap_or(said))
}

/// The message of a line as logrus (`level=fatal msg="…" error="…"`) and klog (`E0301 … file.go:1] …`) write it.
fn of_log_line(text: &str) -> String {
    let text = log_line::message(text);
    if let Some(message) = value(text, " msg=").filter(|_| text.contains("level=")) {
        // a manager repeats the lines of engines and replicas whole
        let message = if message.contains(" level=") { of_log_line(&message) } else { message };
        return match value(text, " error=") {
            Some(error) => format!("{message}: {error}"),
            None => message,
        };
    }
    let is_klog = text.starts_with(['E', 'F', 'W', 'I']) && text.get(1..5).is_some_and(is_number);
    match text.split_once("] ").filter(|_| is_klog) {
        Some((_, said)) => value(said, " err=").unwrap_or_else(|| said.to_owned()),
        None => text.to_owned(),
    }
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The value of a key of a log line, without the quotes around it. It may be cut off.
fn value(line: &str, key: &str) -> Option<String> {
    let (_, rest) = line.split_once(key)?;
    let Some(quoted) = rest.strip_prefix('"') else { return rest.split(' ').next().map(str::to_owned) };
    let (mut value, mut escaped) = (String::new(), false);
    for c in quoted.chars() {
        match (escaped, c) {
            (true, 'n' | 't') => value.push(' '),
            (true, c) => value.push(c),
            (false, '"') => break,
            (false, '\\') => {}
            (false, c) => value.push(c),
        }
        escaped = !escaped && c == '\\';
    }
    Some(value)
}

/// What longhorn-backend answered, where its client repeats all of it: `Bad response statusCode […]. … Body: [code=…, detail=, message=…]
/// from […]`, with its keys in any order (rancher/go-rancher client/common.go).
fn of_answer(text: &str) -> &str {
    let body = text
        .split_once("Body: [")
        .map(|(_, body)| body.rsplit_once("] from [").map_or(body, |(body, _)| body));
    let Some((_, said)) = body.and_then(|body| body.split_once("message=")) else { return text };
    let ends = [", code=", ", detail="].iter().filter_map(|key| said.find(key)).min();
    said.get(..ends.unwrap_or(said.len())).unwrap_or(said)
}

/// What an object store answered, as the SDKs for S3 print it: `AWS Error:  CODE MESSAGE <nil>` with the status of HTTP on the next line
/// (longhorn/backupstore s3/s3_service.go parseAwsError), or `api error CODE: MESSAGE` (smithy-go errors.go). What comes behind, as the log of a
/// command, says less. A request that got no answer has no such code, but an error of its own.
fn of_sdk(text: &str) -> Option<String> {
    let said =
        ["AWS Error:", "api error "].iter().find_map(|mark| Some(text.rsplit_once(mark)?.1.trim_start()))?;
    let ends = ["\n", "\\n", " <nil>", ", stderr "].iter().filter_map(|end| said.find(end)).min();
    let said = without_status(said.get(..ends.unwrap_or(said.len()))?);
    let (code, said) = said.split_once(' ')?;
    let code = code.trim_end_matches(':');
    let is_code = code.len() > 3 && code.chars().all(|c| c.is_ascii_alphanumeric()) && code != "RequestError";
    (is_code && said.contains(char::is_alphabetic)).then(|| format!("{code}: {}", said.trim()))
}

/// What a command wrote, where a message repeats command, output and errors: `…, output X, stderr Y: exit status 1`.
fn of_command(text: &str) -> &str {
    let said = ["stderr ", "stderr: ", "Output: ", "output: ", "output "].iter().find_map(|mark| {
        let (_, said) = text.rsplit_once(mark)?;
        let ends = [", stderr", ", error "].iter().filter_map(|end| said.find(end)).min();
        let said = without_status(said.get(..ends.unwrap_or(said.len()))?);
        said.contains(char::is_alphabetic).then_some(said)
    });
    said.unwrap_or(without_status(text))
}

fn without_status(said: &str) -> &str {
    let status = said.trim().rsplit_once(": exit status ").filter(|(_, code)| is_number(code));
    status.map_or(said, |(said, _)| said).trim()
}

fn last_clauses(line: &str) -> String {
    let long = |text: &str| text.chars().count() > LONGEST;
    if !long(line) {
        return line.to_owned();
    }
    // an address at the end is where to read more, not what happened
    let address = line.rsplit_once(": http").filter(|(_, address)| !address.contains(' '));
    let line = address.map_or(line, |(said, _)| said);
    if !long(line) {
        return line.to_owned();
    }
    let starts = line.match_indices(": ").map(|(at, mark)| at + mark.len());
    let rests: Vec<&str> = starts.filter_map(|at| line.get(at..)).collect();
    let whole = rests.iter().find(|rest| !long(rest) && is_sentence(rest));
    if let Some(rest) = whole.filter(|rest| rest.chars().count() >= SHORTEST) {
        return (*rest).to_owned();
    }
    // what its last sentence is about stands in front of the details
    let last = rests.iter().rev().find(|rest| rest.chars().count() >= SHORTEST && is_sentence(rest));
    if let Some(rest) = last.filter(|rest| rest.split(": ").next().is_some_and(|first| !long(first))) {
        return if long(rest) { both_ends(rest) } else { (*rest).to_owned() };
    }
    let skipped = line.chars().count().saturating_sub(LONGEST - 2);
    let end: String = line.chars().skip(skipped).collect();
    let whole = end.split_once(' ').map(|(_, whole)| whole).filter(|whole| whole.len() > LONGEST / 2);
    format!("…{}", whole.map_or(end.clone(), |whole| format!(" {whole}")))
}

/// A sentence that is too long, by its beginning and by its end, which has what came of it.
fn both_ends(rest: &str) -> String {
    const END: usize = 45;
    let chars: Vec<char> = rest.chars().collect();
    let head: String = chars.iter().take(LONGEST - END - 3).collect();
    let tail: String = chars.iter().skip(chars.len().saturating_sub(END)).collect();
    let head = head.rsplit_once(' ').map_or(head.as_str(), |(whole, _)| whole);
    let tail = tail.split_once(' ').map_or(tail.as_str(), |(_, whole)| whole);
    format!("{head} … {tail}")
}

/// Whether a clause begins with words, and not with an address, a number or a list.
fn is_sentence(rest: &str) -> bool {
    let first = rest.split(": ").next().unwrap_or(rest);
    let is_word =
        |word: &&str| word.len() > 1 && word.chars().all(|c| c.is_alphabetic() || "'-,.;".contains(c));
    first.split(' ').filter(is_word).count() >= 2
}

/// Digits of a hash or an id, of which the first tell it from others.
fn without_hashes(line: &str) -> Cow<'_, str> {
    const KEPT: usize = 8;
    let is_hash = |word: &&str| word.len() >= 4 * KEPT && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words = line.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(is_hash).fold(Cow::Borrowed(line), |line, hash| {
        let kept = format!("{}…", hash.get(..KEPT).unwrap_or(hash));
        Cow::Owned(line.replacen(hash, &kept, 1))
    })
}

/// Words that every message has, and that tell none from another.
const COMMON: [&str; 18] = [
    "error", "failed", "from", "with", "that", "this", "longhorn", "volume", "node", "code", "desc",
    "starting", "could", "cannot", "unable", "container", "system", "server",
];

/// Whether a text says already what was said: most of its words stand there.
pub fn is_told(told: &str, said: &str) -> bool {
    let told = told.to_lowercase();
    let said = said.to_lowercase();
    if told.contains(said.trim_matches('…').trim()) {
        return true;
    }
    let words = said.split(|c: char| !c.is_alphanumeric() && !"-._/".contains(c));
    let words = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let telling: Vec<&str> =
        words.filter(|word| word.chars().count() > 3 && !COMMON.contains(word)).collect();
    let known = telling.iter().filter(|word| told.contains(**word)).count();
    known * 4 >= telling.len() * 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_clause_of_what_many_hands_passed_on() {
        for (text, said) in [
            ("", None),
            (
                "Error creating job: admission webhook \"validate.kyverno.svc-fail\" denied the request: \n\nresource Job/longhorn-system/b-29931960 was \
                 blocked due to the following policies \n\nrequire-limits:\n  validate-resources: 'validation error: limits are required for containers'",
                Some(
                    "admission webhook \"validate.kyverno.svc-fail\" denied the request: require-limits: validate-resources: 'validation …",
                ),
            ),
            (
                "pods \"m-9cs76\" is forbidden: failed quota: default-quota: must specify limits.cpu for: longhorn-manager; limits.memory for: longhorn-manager",
                Some(
                    "failed quota: default-quota: must specify limits.cpu for: longhorn-manager; limits.memory for: longhorn-manager",
                ),
            ),
            (
                "admission webhook \"validator.longhorn.io\" denied the request: cannot do this: the volume is attached",
                Some(
                    "admission webhook \"validator.longhorn.io\" denied the request: cannot do this: the volume is attached",
                ),
            ),
            ("back-off 5m0s restarting failed container=csi-attacher pod=x", None),
            ("{ }", None),
            (
                "failed to pull and unpack image \"reg.lan/lh/m:v1\": failed to resolve reference \"reg.lan/lh/m:v1\": unexpected status from HEAD request to \
                 https://reg.lan/v2/lh/m/manifests/v1: 503 Service Unavailable",
                Some(
                    "reg.lan/lh/m:v1: unexpected status from HEAD request to https://reg.lan/v2/lh/m/manifests/v1: 503 Service Unavailable",
                ),
            ),
            (
                "failed to resolve image \"reg.lan/lh/m:v1\": reg.lan/lh/m:v1: not found",
                Some("failed to resolve image \"reg.lan/lh/m:v1\": reg.lan/lh/m:v1: not found"),
            ),
            (
                "failed to execute: longhorn [backup ls], output failed to list objects error: unsupported protocol scheme \"\" , stderr : exit status 1",
                Some("failed to list objects error: unsupported protocol scheme \"\""),
            ),
            (
                "time=\"2026-03-01T11:59:30Z\" level=fatal msg=\"Error starting manager: setting \\\"a-b\\\" is not supported\" func=main.main file=\"daemon.go:111\"",
                Some("Error starting manager: setting \"a-b\" is not supported"),
            ),
            (
                "2026-03-01T11:59:30Z time=\"x\" level=error msg=\"Failed to sync\" controller=c error=\"no such host\"",
                Some("Failed to sync: no such host"),
            ),
            (
                "rpc error: code = Internal desc = Bad response statusCode [500]. Status [500 Internal Server Error]. Body: [code=Server Error, \
                 detail=, message=unable to attach volume w to node-2: calling webhook: EOF] from [http://longhorn-backend:9500/v1/volumes/w?action=attach]",
                Some("unable to attach volume w to node-2: calling webhook: EOF"),
            ),
            (
                "Body: [message=failed to verify data source: size of target volume (10737418240 bytes) is different, code=x, detail=] from [http://l]",
                Some("failed to verify data source: size of target volume (10737418240 bytes) is different"),
            ),
            (
                "E0301 11:59:49.020101       1 leaderelection.go:330] error retrieving resource lock: Unauthorized",
                Some("error retrieving resource lock: Unauthorized"),
            ),
            (
                "E0301 11:59:41.6 1 leaderelection.go:461] \"Error retrieving lease lock\" err=\"Get \\\"https://10.0.0.1\\\": dial tcp\"",
                Some("Get \"https://10.0.0.1\": dial tcp"),
            ),
            (
                "rpc error: code = Unknown desc = failed to pull image \"docker.io/longhornio/csi-node-driver-registrar:v2.12.0\": failed to copy: \
                 429 Too Many Requests - Server message: toomanyrequests: You have reached your unauthenticated pull rate limit.",
                Some(
                    "429 Too Many Requests - Server message: toomanyrequests: You have reached your unauthenticated pull rate limit.",
                ),
            ),
            (
                "failed to copy: httpReadSeeker: failed open: unexpected status code 429 Too Many Requests - Server message: toomanyrequests: You \
                 have reached your pull rate limit. You may increase the limit by authenticating and upgrading: https://www.docker.com/x/y-rate-limit",
                Some(
                    "You have reached your pull rate limit. You may increase the limit by authenticating and upgrading",
                ),
            ),
            (
                "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox \"67b3\": plugin type=\"multus\" \
                 failed (add): error adding container to network \"storage\": error at storage engine: Could not allocate IP in range: ip: \
                 192.168.205.1 / - 192.168.205.254 / range: 192.168.205.0/24 / excludeRanges: [192.168.205.1/24 192.168.205.2/24]",
                Some(
                    "Could not allocate IP in range: ip: 192.168.205.1 / - 192.168.205.254 / … [192.168.205.1/24 192.168.205.2/24]",
                ),
            ),
            (
                "checksum 9aa54ed9ffed35996a9ea6aa069d2f2b18980d467b50420959fc3aa7726e9496 is not that of the file",
                Some("checksum 9aa54ed9… is not that of the file"),
            ),
            (
                "Error: failed to execute: nsenter [--mount=/host iscsiadm --version], output , stderr nsenter: failed to execute iscsiadm: No such file: exit status 127",
                Some("nsenter: failed to execute iscsiadm: No such file"),
            ),
            (
                "failed to execute: longhorn [backup ls], output Cannot mount nfs 10.0.0.1: access denied, stderr , error exit status 1",
                Some("Cannot mount nfs 10.0.0.1: access denied"),
            ),
            (
                "failed to add replica tcp://10.1.1.1:10000 for volume: failed to sync files [{FromFileName:a ToFileName:a ActualSize:92470000000}] from \
                 tcp://10.1.1.2:10000: rpc error: code = DeadlineExceeded desc = context deadline exceeded",
                Some("failed to sync files from tcp://10.1.1.2:10000: context deadline exceeded"),
            ),
            (
                &format!(
                    "failed to process sync file: the expected checksum {} doesn't match the file actual checksum {}",
                    "ab".repeat(64),
                    "cd".repeat(64)
                ),
                Some(
                    "failed to process sync file: the expected checksum abababab… doesn't match the file actual checksum cdcdcdcd…",
                ),
            ),
            (
                "failed to execute: longhorn [system-backup list s3://b@eu/], output failed to list objects with param: {\n  Bucket: \"b\",\n} error: \
                 AWS Error:  AccessDenied Transaction cap exceeded, see the Caps & Alerts page. <nil>\n403 b1c4 , stderr time=\"2026-11-28T11:59:51Z\" \
                 level=error msg=\"Failed to list s3\" func=List pkg=s3\n, : exit status 1",
                Some("AccessDenied: Transaction cap exceeded, see the Caps & Alerts page."),
            ),
            (
                "operation error S3: ListObjectsV2, https response error StatusCode: 503, RequestID: 1, HostID: x, api error SlowDown: Please reduce your \
                 request rate.",
                Some("SlowDown: Please reduce your request rate."),
            ),
            (
                "failed to put object: AWS Error:  RequestError send request failed dial tcp: lookup minio: no such host",
                Some(
                    "failed to put object: AWS Error: RequestError send request failed dial tcp: lookup minio: no such host",
                ),
            ),
            (
                "failed calling webhook \"mutator.longhorn.io\": failed to call webhook: Post \
                 \"https://longhorn-admission-webhook.longhorn-system.svc:9502/v1/webhook/mutation?timeout=10s\": context deadline exceeded",
                Some(
                    "failed to call webhook: Post \"https://longhorn-admission-webhook.longhorn-system.svc:9502/…\": context deadline exceeded",
                ),
            ),
            (
                "time=\"2026-11-28T11:56:03Z\" level=warning msg=\"pvc-1-e-0: time=\\\"2026-11-28T11:56:03Z\\\" level=error msg=\\\"failed to init \
                 frontend: exit status 7\\\" func=cmd.startController file=\\\"controller.go:218\\\"\" func=x",
                Some("failed to init frontend"),
            ),
            (
                "failed to execute: longhorn [backup ls], output cannot mount nfs 10.0.0.1:/x, options [retry=2]: nfsvers=4.2: mount failed: exit status \
                 32\nMounting arguments: mount\nOutput: mount.nfs4: No route to host\n\n: cannot mount using NFSv4, stderr, error exit status 1",
                Some("mount.nfs4: No route to host"),
            ),
            (
                "failed to put object x: RequestTimeTooSkewed: The difference between the request time and the current time is too large.\n\tstatus code: \
                 403, request id: B4AE0F3B41D839BD, host id: 6818ff9d",
                Some(
                    "failed to put object x: RequestTimeTooSkewed: The difference between the request time and the current time is too large.",
                ),
            ),
            (
                "mount failed: exit status 32\nMounting command: mount\nOutput: mount: /x: wrong fs type\ndmesg may have more",
                Some("mount: /x: wrong fs type"),
            ),
        ] {
            assert_eq!(essence(text).as_deref(), said, "{text}");
        }
        let long = essence(&format!("{}: EOF", "a long way ".repeat(30).trim())).unwrap();
        assert!(
            long.chars().count() <= LONGEST && long.starts_with('…') && long.ends_with("way: EOF"),
            "{long}"
        );
        assert!(essence(&"x".repeat(500)).unwrap().chars().count() <= LONGEST);
    }

    #[test]
    fn what_a_headline_repeats_is_told_already() {
        let said =
            "failed to upgrade since upgrading from v1.8.0 to v1.10.1 for minor version is not supported";
        assert!(is_told(
            "Longhorn does not support upgrading from v1.8.0 to the minor version v1.10.1: not supported",
            said
        ));
        assert!(!is_told("longhorn-manager on node-1 crash-loops (12 restarts): cause unknown", said));
        assert!(is_told(
            "port 9502: listen tcp :9502: bind: address already in use",
            "address already in use"
        ));
        assert!(!is_told("Node node-1 is down", "429 Too Many Requests"));
    }
}
