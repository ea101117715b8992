//! Backup targets that do not answer.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::causes;
use super::jobs::{self, BackupJob};
use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::patience::{DEFINITE, RETRY};
use crate::facts::{api, text, unreached};
use crate::longhorn::{BackupTarget, ConditionStatus, CronJob, Volume, condition};

/// What a target says that has no URL (longhorn-manager v1.5.0 to v1.12.1 controller/backup_target_controller.go).
const NO_URL: &str = "backup target URL is empty";

/// Parts of the error, and the way that they show.
const REASONS: [(&[&str], &Way); 16] = [
    (&["secret…not found"], &causes::SECRET_MISSING),
    // these before the credentials: S3 answers them all with 403
    (CLOCKS, &causes::CLOCKS_DIFFER),
    (FULL, &causes::STORE_FULL),
    (LIMITED, &causes::REQUESTS_LIMITED),
    (BLOCKED, &causes::ACCOUNT_BLOCKED),
    (
        &["accessdenied", "invalidaccesskeyid", "signaturedoesnotmatch", "forbidden", "credential", "secret"],
        &causes::CREDENTIALS_REFUSED,
    ),
    (&["cannot find a running instance manager"], &causes::NO_INSTANCE_MANAGER),
    (&["unsupported protocol scheme"], &causes::NO_SCHEME),
    (&["nosuchbucket", "bucket does not exist"], &causes::NO_BUCKET),
    (&["no such host", "name resolution", "name or service not known"], &causes::TARGET_NAME_UNKNOWN),
    // Go's HostnameError: someone else answered (go1.23 crypto/x509/verify.go)
    (&["certificate is valid for ", "not valid for any names"], &causes::OTHER_SERVER_ANSWERS),
    (&["x509", "certificate"], &causes::CERTIFICATE_REFUSED),
    (&["connection timed out", "no route to host", "network is unreachable"], &causes::TARGET_SILENT),
    (&["protocol not supported"], &causes::NFS_VERSION_REFUSED),
    (&["mount", "nfs", "cifs"], &causes::SHARE_NOT_MOUNTED),
    (
        &["timeout", "deadline", "refused", "no route", "unreachable", "connection reset"],
        &causes::TARGET_SILENT,
    ),
];

/// What stores write of a request whose time is more than fifteen minutes off theirs: S3 and those like it, Azure.
const CLOCKS: &[&str] = &["requesttimetooskewed", "requestexpired", "request date header too old"];
/// Of a write without room: MinIO, Ceph, Backblaze B2; below a share's mount point.
const FULL: &[&str] = &[
    "storagefull", "insufficientstorage", "storage cap exceeded", "quotaexceeded", "volumes/…no space left",
    "volumes/…quota exceeded",
];
/// Of too many requests: S3 and those like it, Azure, Backblaze B2 (`AccessDenied Transaction cap exceeded`).
const LIMITED: &[&str] = &[
    "cap exceeded", "slowdown", "toomanyrequests", "too many requests", "requestlimitexceeded", "rate limit",
    "throttl", "serverbusy",
];
/// Of an account without rights for now: S3, Alibaba, Azure.
const BLOCKED: &[&str] = &[
    "accountproblem", "allaccessdisabled", "notsignedup", "userdisable", "accountisdisabled",
    "account suspended", "account has been suspended", "account is suspended", "payment required",
];

/// What the error of a backup shows, where its target answers others.
pub(super) fn way_of_backup(error: &str) -> Option<&'static Way> {
    let way = way(error)?;
    let clocks = (*way == causes::CLOCKS_DIFFER).then_some(&causes::CLOCK_WRONG);
    clocks.or(Some(way).filter(|way| causes::STORE.contains(way)))
}

/// An answer of the target, which the next question gets again.
const DEFINITE_WAYS: [&Way; 4] =
    [&causes::CREDENTIALS_REFUSED, &causes::NO_BUCKET, &causes::CLOCKS_DIFFER, &causes::NO_SCHEME];

fn way(message: &str) -> Option<&'static Way> {
    let lower = message.to_ascii_lowercase();
    // all words of a part stand in it
    let says = |part: &&str| part.split('…').all(|word| lower.contains(word));
    let known = || REASONS.iter().find(|(parts, _)| parts.iter().any(says));
    unreached::of_dns(message).or_else(|| known().map(|(_, way)| *way))
}

/// The names of the targets that do not answer.
pub(super) fn run<'a>(cluster: &'a Cluster, out: &mut Outcome) -> BTreeSet<&'a str> {
    let mut unavailable = BTreeSet::new();
    for target in cluster.objects.backup_targets.iter() {
        let wanted = !target.spec.backup_target_url.is_empty() && !target.metadata.is_deleting();
        let unheard = unheard(cluster, target);
        if !wanted || target.status.available != Some(false) && unheard.is_none() {
            continue;
        }
        let name = target.metadata.name.as_str();
        unavailable.insert(name);
        let said = condition(&target.status.conditions, "Unavailable")
            .filter(|said| said.status == ConditionStatus::True);
        let since = said.and_then(|said| said.last_transition_time.get()).or(unheard);
        let created = target.metadata.created();
        let begun = match since {
            // what it says is of the time before it had a URL, and the first question may be on its way
            _ if said.is_some_and(|said| said.message.contains(NO_URL)) => {
                let requested = target.spec.sync_requested_at.get();
                Begun::NotBefore(if cluster.is_watched() { created } else { requested.max(created) })
            }
            None => Begun::NotBefore(created),
            since => Begun::At(since),
        };
        let age = observe(cluster, out, "unavailable", name, begun);
        let message = said.map_or("", |said| said.message.trim());
        let way = way(message).or(unheard.map(|_| &causes::UNHEARD));
        let is_definite = way.is_some_and(|way| DEFINITE_WAYS.contains(&way));
        if age.at_least(if is_definite { DEFINITE } else { RETRY }, Unknown::Counts) {
            out.report(finding(cluster, target, message, way).since(age.since));
        }
    }
    unavailable
}

/// Since when a target that is called available is asked in vain: that Longhorn could not ask, only its log says (seen on 1.12.1).
fn unheard(cluster: &Cluster, target: &BackupTarget) -> Option<Timestamp> {
    let last = target.status.last_synced_at.get().filter(|_| target.status.available == Some(true))?;
    let interval = target.spec.interval().filter(|interval| interval.is_positive())?;
    let asked = target.spec.sync_requested_at.get()?;
    (asked.duration_since(last) >= interval && cluster.age(last) >= interval * 3).then_some(last)
}

/// The error code of an object store that answered, and refused: it can be reached (longhorn/backupstore s3/s3_service.go and the AWS SDK,
/// `AWS Error: CODE MESSAGE`; Azure's and others' in the middle of their message).
fn answer(message: &str) -> Option<&str> {
    const CODES: [&str; 9] = [
        "RequestTimeTooSkewed", "SignatureDoesNotMatch", "InvalidAccessKeyId", "AccessDenied",
        "NoSuchBucket", "AuthenticationFailed", "ServiceUnavailable", "SlowDown", "InvalidArgument",
    ];
    let code = message.split("AWS Error:").nth(1).and_then(|rest| rest.split_whitespace().next());
    let code = code.filter(|code| code.len() > 3 && code.chars().all(|c| c.is_ascii_alphanumeric()));
    // what the client itself has no way to ask, as of a missing endpoint, has no status of HTTP
    let is_status = |word: &str| word.len() == 3 && (word.starts_with('4') || word.starts_with('5'));
    let is_answer = message.split_whitespace().any(|word| is_status(word) && word.parse::<u16>().is_ok());
    CODES.into_iter().find(|known| message.contains(known)).or(code.filter(|_| is_answer))
}

fn finding(cluster: &Cluster, target: &BackupTarget, message: &str, way: Option<&'static Way>) -> Finding {
    let (name, url) = (&target.metadata.name, &target.spec.backup_target_url);
    let users =
        cluster.objects.volumes.iter().filter(|volume| target_of(&volume.spec.backup_target_name) == name);
    let backed_up = users.filter(|volume| volume.status.last_backup_at.is_set()).count();
    let lost = format!("backups on target {name} cannot be taken, restored or deleted");
    Finding::about(
        &causes::TARGET_UNAVAILABLE,
        cluster.object::<BackupTarget>(name),
        match answer(message) {
            _ if way.is_some_and(|way| causes::STORE.contains(&way)) => {
                format!("backup target {name} rejects every request: {}", way.map_or("", |way| way.briefly))
            }
            Some(answer) => format!("backup target {name} rejects every request ({answer})"),
            None => {
                let why = way.map_or(String::new(), |way| format!(": {}", way.briefly));
                format!("Longhorn cannot reach backup target {name}{why}")
            }
        },
    )
    .way(way)
    .with(
        Name::Manager,
        cluster.manager_pods().find(|pod| pod.is_ready()).map_or("", |pod| pod.metadata.name.as_str()),
    )
    .impact(match backed_up {
        0 => lost,
        number => format!("{lost}. Those of {} are getting old", counted(number, "volume")),
    })
    .fact(match message {
        "" => api(format!("backup target {name} gives no message")),
        message => {
            api(format!("backup target {name}: \"{}\"", text::both_ends(message, 600))).quoting(message)
        }
    })
    .fact(match target.status.last_synced_at.get() {
        Some(last) => format!("backup target {name} last answered at {last}"),
        None => format!("backup target {name} has never answered"),
    })
    .fact(format!("backup target {name} has URL {url} and poll interval {}", target.spec.poll_interval))
    .with(Name::Key, target.spec.credential_secret.as_str())
}

/// Finds targets without a URL to which recurring jobs are to back up volumes: Longhorn takes such a target for not wanted, and no run makes
/// a backup (longhorn-manager v1.5.0 to v1.12.1 controller/backup_target_controller.go). Returns their names.
pub(super) fn without_url<'a>(
    cluster: &'a Cluster,
    out: &mut Outcome,
    jobs: &[BackupJob],
) -> BTreeSet<&'a str> {
    let runs = |cron: &CronJob| !cron.spec.suspend;
    let runs = |job: &&BackupJob| cluster.objects.cron_jobs.get(&job.job.metadata.name).is_some_and(runs);
    let jobs: Vec<&BackupJob> = jobs.iter().filter(runs).collect();
    // up to 1.7 the URL comes from a setting
    let by_setting = cluster.setting("backup-target").is_some_and(|setting| !setting.value.is_empty());
    let mut without = BTreeSet::new();
    for target in cluster.objects.backup_targets.iter() {
        let name = target.metadata.name.as_str();
        if by_setting || !target.spec.backup_target_url.is_empty() || target.metadata.is_deleting() {
            continue;
        }
        let here = |volume: &Volume| target_of(&volume.spec.backup_target_name) == name;
        let here = |volume: &&str| cluster.objects.volumes.get(volume).is_some_and(here);
        let of = |job: &BackupJob| -> Vec<&str> {
            jobs::volumes_of(cluster, job.job).into_iter().filter(here).collect()
        };
        let (users, jobs): (Vec<_>, Vec<_>) = jobs
            .iter()
            .map(|job| (of(job), &job.job.metadata))
            .filter(|(users, _)| !users.is_empty())
            .unzip();
        let since = jobs.iter().filter_map(|job| job.created()).max();
        let age = observe(cluster, out, "without_url", name, Begun::NotBefore(since));
        if users.is_empty() || !age.at_least(RETRY, Unknown::Counts) {
            continue;
        }
        without.insert(name);
        let users = cluster.volume_refs(users.into_iter().flatten());
        let jobs: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        let object = cluster.object::<BackupTarget>(name);
        let message = format!("backup target {name} has no URL, so recurring jobs back up nothing");
        out.report(
            Finding::about(&causes::TARGET_WITHOUT_URL, object, message)
                .since(age.since_or_later())
                .impact(format!("there is no backup of {}", text::users_of(&users)))
                .volumes(users)
                .fact(format!(
                    "backup target {name} has an empty spec.backupTargetURL, but recurring jobs use it: {}",
                    text::listed(&jobs)
                ))
                .fact(age.evidence()),
        );
    }
    without
}

/// Up to 1.7 there is one target.
pub(super) fn target_of(name: &str) -> &str {
    if name.is_empty() { "default" } else { name }
}
