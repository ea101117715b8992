//! How the upgrade is done, in order, and the answer in a sentence.

use super::super::{Part, Step, Verdict};
use super::Rung;
use crate::facts::installation::{self, Installer, NO_CONVERSION};
use crate::longhorn::Release;

/// The steps for one rung.
pub fn of(rung: &Rung<'_>, part: &Part) -> Vec<Step> {
    let (namespace, to) = (rung.cluster.namespace.as_str(), rung.to);
    let mut steps = Vec::new();
    if part.verdict != Verdict::Go {
        steps.push(Step::said("Fix what is listed above. Then run this plan again."));
    }
    steps.push(Step::said("Back up the data you cannot lose: Longhorn rejects downgrades."));
    steps.extend(before(&installation::installer(rung.cluster)).map(Step::said));
    let how = installation::commands(rung.cluster, Some(to));
    let (mut change, read): (Vec<_>, Vec<_>) = how.commands.into_iter().partition(|command| command.changes);
    let published = installation::published(rung.cluster, Some(to)).is_some();
    if published {
        steps.extend(read.into_iter().map(|command| {
            Step::read("Read the diff: it shows what the upgrade would change.", command.run)
        }));
    }
    steps.extend(unconverted(rung));
    steps.push(match change.pop() {
        Some(command) if published => Step::change(
            "Apply the release's whole manifest: it includes default settings and a StorageClass.",
            command.run,
        ),
        Some(command) => Step::change(how.fix, command.run),
        None => Step::said(how.fix),
    });
    steps.push(Step::read(
        "Wait until all managers are Ready.",
        format!("kubectl -n {namespace} rollout status daemonset/longhorn-manager --timeout 15m"),
    ));
    steps.push(Step::read(
        "Check that the upgrade is complete, and which engines still use the old image.",
        format!("longhorn-health-exporter plan upgrade {to}"),
    ));
    steps
}

/// What tools that apply on the server stumble over on the way to 1.10, or later where a downgrade was tried in between. Helm takes
/// the whole field away.
fn unconverted(rung: &Rung<'_>) -> Option<Step> {
    let on_server = installation::applies_on_server(rung.cluster);
    let converted = installation::converted(rung.cluster, Some(rung.from));
    (on_server && rung.to >= NO_CONVERSION && !converted.is_empty()).then(|| {
        Step::change(
            "Remove spec.conversion from these CustomResourceDefinitions right before the next step. Server-side apply would keep part of it, and the \
             API server rejects that. Longhorn no longer needs it.",
            installation::unconverted(&converted),
        )
    })
}

/// What a tool does not do on its own.
fn before(installer: &Installer<'_>) -> Option<&'static str> {
    match installer {
        Installer::Argo(_) => Some(
            "Set preUpgradeChecker.jobEnabled to false in the Helm values: Argo CD cannot run Longhorn's pre-upgrade check, which this plan replaces.",
        ),
        _ => None,
    }
}

pub fn one(part: &Part) -> String {
    match part.verdict {
        Verdict::Go => format!("Longhorn can be upgraded from {}: {}", part.subject, part.why()),
        _ => part.why(),
    }
}

pub fn ladder(parts: &[Part], refused: bool) -> String {
    let said = |part: &Part| format!("{} ({})", part.subject, part.verdict.said());
    let (front, rungs) = if refused { parts.split_at(parts.len().min(1)) } else { parts.split_at(0) };
    let steps: Vec<String> = rungs.iter().map(said).collect();
    match (front.first(), rungs.first()) {
        (Some(front), _) => {
            format!("{}. Upgrade in these steps: {}", front.why(), steps.join(", then "))
        }
        (None, Some(next)) => one(next),
        (None, None) => "no later release is known".to_owned(),
    }
}

pub fn after(part: &Part, installed: Release, newest: bool) -> String {
    let newest = if newest { ", and no newer release is known" } else { "" };
    match part.verdict {
        Verdict::Go => format!("every manager is running {installed}{newest}"),
        _ => part.why(),
    }
}
