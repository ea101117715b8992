//! Releases with a known bug, and whether this cluster meets what triggers it.
//!
//! The table is in [`crate::facts::known_issues`]. A warning means that the trigger can be read
//! from the API and is met now. That the release has a bug whose trigger comes and goes, or does not
//! show, is a fact of the release and no finding, as is when its support ends. What needs something that is not there (a v2
//! volume, an RWX volume, a backing image) is not reported at all.

#[cfg(test)]
mod tests;

use jiff::tz::TimeZone;

use crate::check::*;
use crate::facts::known_issues::{self, KnownIssue, Trigger};
use crate::facts::releases::{self, Line};
use crate::longhorn::Resource::*;
use crate::longhorn::{DaemonSet, Release};

/// Causes of the check, one an issue.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which checks the bounds")]
static CAUSES: [Cause; known_issues::ALL.len()] = {
    let mut causes = [const { Cause::info("", "") }; known_issues::ALL.len()];
    let mut at = 0;
    while at < causes.len() {
        let issue = &known_issues::ALL[at];
        causes[at] =
            Cause { fix: issue.fix, steps: issue.steps, ..Cause::warning(issue.cause, issue.effect) };
        at += 1;
    }
    causes
};

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which checks the bounds")]
static LIST: [&Cause; CAUSES.len()] = {
    let mut list = [&CAUSES[0]; CAUSES.len()];
    let mut at = 0;
    while at < list.len() {
        list[at] = &CAUSES[at];
        at += 1;
    }
    list
};

pub static CHECK: Check = check! {
    id: "known_bad_release",
    title: "Known bad releases",
    summary: "The installed Longhorn release has a known bug, and this cluster has its trigger. Label cause is the issue's number. Bugs whose trigger \
              the API cannot show are listed as facts about the release.",
    needs: &[DaemonSets, Settings],
    uses: &[
        BackingImages, LonghornNodes, InstanceManagers, Volumes, RecurringJobs, KubeNodes, EngineImages, Pods,
    ],
    causes: &LIST,
    gauges: GAUGES,
    alerts: &[alert! { "LonghornKnownBadRelease",
        when: When::Found(&LIST),
        only: Some(Severity::Warning),
        side_by_side: true,
        for_: "1h",
        summary: "This Longhorn release has a known bug that this cluster can trigger.",
        description: "This cluster can trigger a known bug of its Longhorn release: {{ reReplaceAll \"issue_\" \
                      \"https://github.com/longhorn/longhorn/issues/\" $labels.cause }}. Upgrade to the release that \
                      the finding names. Until then, use the finding's workaround.",
        why: "The alert waits 1 h to ignore triggers that come and go, because upgrades need planning. Bugs with an immediate impact have their own alerts.",
    }],
    panels: &[Panel {
        dashboard: Dashboard::Managers,
        title: "Known issues of this release",
        description: "Bugs of the installed release that this cluster can trigger. Upgrade to fix them. The report also lists bugs whose \
                      trigger cannot be checked.",
        columns: &["cause"],
        no_data: "this cluster can trigger no known bug, or the exporter is not reporting",
        ..Panel::TABLE.of_findings("known_bad_release")
    }],
    of_the_release: true,
};

gauges! {
    RELEASE = Gauge "longhorn_health_release_info" ["version", "installed"]
        "Always 1. Labels: version (the managers' image tag), installed (setting current-longhorn-version).",
        absent "neither names a release",
        example "longhorn_health_release_info{version=~\"v1[.]7[.].*\"}";
}

fn run(cluster: &Cluster, out: &mut Outcome) {
    let Some(release) = releases::manager_release(cluster) else {
        if cluster.manager_daemon_set().is_some() {
            out.unknown(
                "neither the manager image's tag nor setting current-longhorn-version names a release",
            );
        }
        return;
    };
    let installed = cluster.setting("current-longhorn-version").map(|setting| setting.value.as_str());
    out.sample(&RELEASE, &[&release.to_string(), installed.unwrap_or_default()], 1.0);
    let issues = known_issues::ALL.iter().zip(&CAUSES);
    for (issue, cause) in issues.filter(|(issue, _)| issue.concerns(cluster, release)) {
        match issue.trigger(cluster) {
            Trigger::Met(fact) => out.report(finding(cluster, cause, issue, release, fact)),
            Trigger::Possible(why) => out.state(
                issue.cause,
                daemon_set(cluster),
                headline(issue, release),
                issue.advice(cluster, release, why),
            ),
            Trigger::Absent => {}
        }
    }
    support(cluster, release, out);
}

/// When Longhorn's support of the release ends. A fact, not a finding: it would stand on the screen of every cluster of an old release.
fn support(cluster: &Cluster, release: Release, out: &mut Outcome) {
    let Some(line) = Line::of(release) else { return };
    let (minor, ends) = (line.minor, line.support_ends);
    let is_over = cluster.now.to_zoned(TimeZone::UTC).date() > ends;
    let text = match is_over {
        true => format!("support for Longhorn 1.{minor} ended on {ends}"),
        false => format!("support for Longhorn 1.{minor} ends on {ends}"),
    };
    let advice = match releases::next_step(cluster, release) {
        Some(next) if is_over => format!("Upgrade to {next} next: this release gets no more fixes"),
        Some(next) => format!("Upgrade to {next} before that day"),
        None => "No later release is known to this build".to_owned(),
    };
    out.state("support", daemon_set(cluster), text, advice);
}

fn daemon_set(cluster: &Cluster) -> ObjectRef {
    cluster.object::<DaemonSet>("longhorn-manager")
}

fn headline(issue: &KnownIssue, release: Release) -> String {
    let KnownIssue { number, effect, .. } = issue;
    match issue.affects(release) {
        true => format!("Longhorn {release} has bug {number}: {effect}"),
        false => format!("Longhorn {release} still has bug {number}: {effect}"),
    }
}

fn finding(
    cluster: &Cluster,
    cause: &'static Cause,
    issue: &KnownIssue,
    release: Release,
    fact: String,
) -> Finding {
    let impact = match issue.ends_the_manager() {
        true => "managers can crash-loop, and volumes of a crashed manager cannot attach, detach or rebuild",
        false => issue.effect,
    };
    Finding::about(cause, daemon_set(cluster), headline(issue, release))
        .impact(impact)
        .fact(format!("the managers run {release}"))
        .fact(fact)
        .fix(issue.advice(cluster, release, ""))
}
