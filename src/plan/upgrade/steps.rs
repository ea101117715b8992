//! How the upgrade is done, in order, and the answer in a sentence.

use super::super::{Part, Step, Verdict};
use super::Rung;
use super::installed::{Installer, installer};
use crate::check::counted;
use crate::longhorn::Release;

/// The steps for one rung.
pub fn of(rung: &Rung<'_>, part: &Part) -> Vec<Step> {
    let (namespace, to) = (rung.cluster.namespace.as_str(), rung.to);
    let bare = to.to_string().trim_start_matches('v').to_owned();
    let mut steps = Vec::new();
    if part.verdict != Verdict::Go {
        steps.push(Step::said("See to the reasons above, and ask again."));
    }
    steps
        .push(Step::said("Take a backup of what you cannot lose: there is no way back to an older release."));
    steps.push(match installer(rung.cluster) {
        Some(Installer::Helm(name)) => Step::change(
            "Upgrade with Helm, with the values that you installed it with.",
            format!("helm repo update longhorn && helm upgrade {name} longhorn/longhorn --namespace {namespace} --version {bare} --values VALUES_FILE"),
        ),
        Some(Installer::HelmChart(of, name)) => Step::change(
            "Set the version of the HelmChart; its failurePolicy has to be abort.",
            format!("kubectl -n {of} patch helmchart {name} --type merge -p '{{\"spec\":{{\"version\":\"{bare}\"}}}}'"),
        ),
        Some(Installer::Argo(name)) => Step::said(format!(
            "Set targetRevision of the Argo CD application{} to {bare}, with preUpgradeChecker.jobEnabled false, and sync it. Argo CD runs \
             no check of Longhorn before: this plan stands for it.",
            name.map(|name| format!(" {name}")).unwrap_or_default()
        )),
        Some(Installer::Flux(kind, of, name)) => Step::said(format!(
            "Set the version of Longhorn in the Git repository of Flux {kind} {of}/{name} to {bare}, with crds: CreateReplace for a HelmRelease."
        )),
        Some(Installer::Manifest) => Step::change(
            "Apply the manifest of the target.",
            format!("kubectl apply -f https://raw.githubusercontent.com/longhorn/longhorn/{to}/deploy/longhorn.yaml"),
        ),
        None => Step::said(format!("Upgrade to {to} in the way in which Longhorn was installed.")),
    });
    steps.push(Step::read(
        "Wait until all managers are Ready.",
        format!("kubectl -n {namespace} rollout status daemonset/longhorn-manager --timeout 15m"),
    ));
    steps.push(Step::read(
        "Ask where it stands, and which engines are left.",
        format!("longhorn-health-exporter plan upgrade {to}"),
    ));
    steps
}

/// `not yet: 2 things stand against it`.
fn why(part: &Part) -> String {
    let heavy = part.reasons.iter().filter(|reason| reason.weight != super::super::Weight::Note);
    let mut heavy = heavy.map(|reason| reason.text.as_str());
    match (heavy.next(), heavy.count()) {
        (None, _) => "nothing that is known stands against it".to_owned(),
        (Some(first), 0) => first.to_owned(),
        (Some(first), more) => format!("{first}; {} more", counted(more, "reason")),
    }
}

pub fn one(part: &Part, to: Release) -> String {
    format!("{} to {to}: {}", part.verdict.said(), why(part))
}

pub fn ladder(parts: &[Part], refused: bool) -> String {
    let said = |part: &Part| format!("{} ({})", part.subject, part.verdict.said());
    let (front, rungs) = if refused { parts.split_at(parts.len().min(1)) } else { parts.split_at(0) };
    let steps: Vec<String> = rungs.iter().map(said).collect();
    match (front.first(), rungs.first()) {
        (Some(front), _) => {
            format!("{}: {}. The steps: {}", front.verdict.said(), why(front), steps.join(", then "))
        }
        (None, Some(next)) => format!("next step {}: {}", said(next), why(next)),
        (None, None) => "there is no step".to_owned(),
    }
}

pub fn after(part: &Part, installed: Release, newest: bool) -> String {
    let newest = if newest { " and nothing newer is known" } else { "" };
    match part.verdict {
        Verdict::Go => format!("{installed} is installed on every manager{newest}"),
        _ => format!("{}: {}", part.verdict.said(), why(part)),
    }
}
