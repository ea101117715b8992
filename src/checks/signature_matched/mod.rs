//! What users' own signatures describe: failures that they know, and that no check of ours finds (yet).
//!
//! Names of causes are a contract and stand in labels of alerts, so that a file of a user cannot declare any: there is one cause for
//! each severity, and the signature has a label and a field of its own. What is found here follows from nothing else and nothing follows
//! from it: a signature must not hide what a check finds.

mod find;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::check::signatures::{Place, Signature};
use crate::check::*;
use crate::facts::releases;
use crate::longhorn::Resource;
use find::Match;

causes! {
    CRITICAL = critical "critical_signature" "one of your own signatures (severity critical) matches"
        fix "Follow the fix that the finding shows for your signature." [
            read "kubectl -n <namespace> describe <kind> <object>",
        ];
    WARNING = warning "warning_signature" "one of your own signatures (severity warning) matches a log, an Event, an object or the release"
        fix "Follow the fix that the finding shows for your signature." [
            read "kubectl -n <namespace> describe <kind> <object>",
        ];
    INFO = info "info_signature" "one of your own signatures (severity info) matches a log, an Event, an object or the release"
        fix "Follow the fix that the finding shows for your signature." [
            read "kubectl -n <namespace> describe <kind> <object>",
        ];
}

/// What is listed of one signature, and of all together; the rest is counted.
const MAX_OF_ONE: usize = 20;
const MAX_IN_ALL: usize = 100;

pub static CHECK: Check = check! {
    id: "signature_matched",
    title: "Your signatures",
    summary: "A signature from your own file (`--signatures`) matches a log line, an Event, an object or the installed release. Without such a file, \
              this check finds nothing.",
    causes: ALL,
    gauges: GAUGES,
    alerts: &[alert! { "LonghornSignatureMatched",
        when: When::Found(&[&CRITICAL, &WARNING]),
        severity: Severity::Critical,
        as_found: true,
        runbook_only: &[&INFO],
        for_: "5m",
        keep_firing_for: "5m",
        summary: "One of your own Longhorn signatures matches.",
        description: "A signature from your own file matches{{ with $labels.object }} {{ . }}{{ end }}{{ with $labels.node }} on node {{ . }}{{ end }}. Run \
                      the command below to find the signature and its fix.",
        why: "The alert waits 5 min to ignore brief matches after an exporter restart or two quick writes of an object.",
    }],
    panels: &[Panel {
        dashboard: Dashboard::Managers,
        title: "Your signatures",
        description: "Number of objects that each of your own signatures matches. Each match is a finding.",
        columns: &["signature", "severity"],
        no_data: "no signature matches, none is configured, or the exporter is not reporting",
        ..Panel::TABLE.of(&MATCHES)
    }],
    of_signatures: true,
};

gauges! {
    MATCHES = Gauge "longhorn_health_signature_matches" ["signature", "severity"]
        "Number of objects, logs and Events that one of your own signatures matches.",
        absent "it matches nothing",
        example "sum by (signature) (longhorn_health_signature_matches) > 0";
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    let signatures = out.signatures.clone();
    if let Some(why) = &signatures.unusable {
        out.unknown(why.clone());
    }
    let mut asked: BTreeMap<Resource, Vec<&str>> = BTreeMap::new();
    for signature in signatures.iter() {
        signature.kind().into_iter().for_each(|kind| asked.entry(kind).or_default().push(&signature.name));
    }
    for (kind, names) in &asked {
        let blind = cluster.blind_spots(&[*kind]).into_iter();
        blind.for_each(|blind| out.unknown(format!("{blind}; signatures look there: {}", names.join(", "))));
    }
    let can_read = |kind: &Resource| cluster.can_read(*kind);
    let read: Vec<Resource> = asked.into_keys().filter(can_read).collect();
    cluster.gaps(&read, &[]).into_iter().for_each(|gap| out.unknown(gap));
    let release = releases::manager_release(cluster);
    let (mut without_release, mut room) = (Vec::new(), MAX_IN_ALL);
    let mut all: Vec<&Signature> = signatures.iter().collect();
    all.retain(|signature| signature.kind().is_none_or(|kind| can_read(&kind)));
    // the worst are listed where there is no room for all
    all.sort_by_key(|signature| Reverse(signature.severity));
    for signature in all {
        if matches!(signature.place, Place::Log(_))
            && let Some(why) = cluster.history.crash_logs_denied()
        {
            out.unknown(format!("signature {}: logs are {why}", signature.name));
        }
        match (&signature.releases, release) {
            (Some(_), None) => {
                without_release.push(signature.name.as_str());
                continue;
            }
            (Some(releases), Some(release)) if !releases.contain(release) => continue,
            _ => {}
        }
        let found = find::all(cluster, &signature.place);
        if found.is_empty() {
            continue;
        }
        out.sample(&MATCHES, &[&signature.name, signature.severity.as_str()], found.len() as f64);
        let listed = room.min(MAX_OF_ONE).min(found.len());
        room -= listed;
        if found.len() > listed {
            let of = (CHECK.id, cause(signature.severity).id, signature.severity);
            *out.cut.entry(of).or_default() += found.len() - listed;
        }
        for one in found.into_iter().take(listed) {
            out.report(finding(cluster, signature, one));
        }
    }
    if !without_release.is_empty() {
        out.unknown(format!("signatures need the release, which is unknown: {}", without_release.join(", ")));
    }
}

fn cause(severity: Severity) -> &'static Cause {
    match severity {
        Severity::Critical => &CRITICAL,
        Severity::Warning => &WARNING,
        Severity::Info => &INFO,
    }
}

fn finding(cluster: &Cluster, signature: &Signature, one: Match) -> Finding {
    let Signature { name, title, severity, impact, link, .. } = signature;
    let kind = Resource::all().find(|kind| one.object.is(*kind)).map(Resource::label).unwrap_or_default();
    Finding::about(cause(*severity), one.object, format!("{title} (your signature {name})"))
        .node(&one.node)
        .volumes(cluster.volume_refs([one.volume.as_str()]))
        .impact(impact)
        .fact(one.fact)
        .facts(
            signature.releases.as_ref().map(|releases| format!("the installed release is one of {releases}")),
        )
        .facts(link.as_ref().map(|link| format!("more information: {link}")))
        .with(Name::Kind, kind)
        .by_signature(cluster, signature)
}
