//! An upgrade that the tool which installs Longhorn cannot apply, or has rolled back: the old managers run on.
//!
//! Flux keeps Helm's words in condition Released, also after a rollback (fluxcd/helm-controller v1.6.3 internal/reconcile/upgrade.go,
//! release.go); Argo CD in `status.operationState`. The HelmChart of K3s and RKE2 says that its Job was created, or gave up, without a
//! time (k3s-io/helm-controller pkg/controllers/chart/chart.go OnChange): what failed stands in that Job's log, in a namespace whose
//! pods are not read. `serve` follows none of these kinds: they are looked at where a recording has them, or a person asks.

use jiff::SignedDuration;

use super::{PRE_UPGRADE, STORED_VERSIONS, UPGRADE_REFUSED};
use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::installation::NO_CONVERSION;
use crate::facts::patience::{DEFINITE, ROLLOUT};
use crate::facts::releases::manager_release;
use crate::facts::{api, text};
use crate::longhorn::Resource::{Applications, HelmCharts, HelmReleases};
use crate::longhorn::{Condition, ConditionStatus, Meta, Release, condition};

pub(super) fn run(cluster: &Cluster, out: &mut Outcome) {
    let (objects, running) = (&cluster.objects, manager_release(cluster));
    for one in objects.helm_releases.iter() {
        let Some(last) = is(&one.status.conditions, "Released", ConditionStatus::False) else { continue };
        let back = is(&one.status.conditions, "Remediated", ConditionStatus::True).is_some();
        let what =
            if back { "Flux rolled back the Longhorn upgrade" } else { "Flux cannot upgrade Longhorn" };
        let begun = Begun::At(last.last_transition_time.get());
        report(cluster, out, HelmReleases, &one.metadata, what, &last.message, (begun, DEFINITE));
    }
    for one in objects.applications.iter() {
        let last = &one.status.operation_state;
        if ["Failed", "Error"].contains(&last.phase.as_str()) && one.status.sync.status != "Synced" {
            let (what, begun) = ("Argo CD cannot apply Longhorn", Begun::At(last.finished_at.get()));
            report(cluster, out, Applications, &one.metadata, what, &last.message, (begun, DEFINITE));
        }
    }
    for one in objects.helm_charts.iter() {
        // the charts of other makers have versions of their own
        let wanted = Release::parse(&one.spec.version).filter(|wanted| wanted.major == 1);
        let Some(wanted) = wanted.filter(|wanted| running.is_some_and(|running| running < *wanted)) else {
            continue;
        };
        let conditions = &one.status.conditions;
        let created = is(conditions, "JobCreated", ConditionStatus::True);
        let failed = is(conditions, "Failed", ConditionStatus::True);
        let certain = failed.is_some() || wanted >= NO_CONVERSION && stored(cluster).next().is_some();
        let what = format!("HelmChart {} has not upgraded Longhorn to {wanted}", one.metadata.name);
        let said = failed.map_or("", |failed| failed.message.as_str());
        // a rollout that goes on looks the same
        let patience = if certain { DEFINITE } else { ROLLOUT };
        let begun = Begun::NotBefore(created.and_then(|one| one.last_transition_time.get()));
        report(cluster, out, HelmCharts, &one.metadata, &what, said, (begun, patience));
    }
}

fn is<'a>(conditions: &'a [Condition], kind: &str, status: ConditionStatus) -> Option<&'a Condition> {
    condition(conditions, kind).filter(|one| one.status == status)
}

/// Definitions that the API server takes no successor of, from 1.10 on.
fn stored(cluster: &Cluster) -> impl Iterator<Item = &str> {
    let definitions = cluster.objects.custom_resource_definitions.iter();
    let old = definitions.filter(|one| one.status.stored_versions.iter().any(|version| version == "v1beta1"));
    old.map(|one| one.metadata.name.as_str())
}

fn report(
    cluster: &Cluster,
    out: &mut Outcome,
    kind: Resource,
    of: &Meta,
    what: &str,
    said: &str,
    (begun, patience): (Begun, SignedDuration),
) {
    let name = of.name.as_str();
    let age = observe(cluster, out, "refused", name, begun);
    let unknown = if patience == DEFINITE { Unknown::Counts } else { Unknown::Waits };
    if !age.at_least(patience, unknown) {
        if age.is_unknown() {
            out.time_tells(&UPGRADE_REFUSED, name);
        }
        return;
    }
    let stored: Vec<&str> = stored(cluster).collect();
    let of_versions = said.contains("storedVersions") || kind == HelmCharts && !stored.is_empty();
    let way = match of_versions {
        true => Some(&STORED_VERSIONS),
        false => said.contains("pre-upgrade").then_some(&PRE_UPGRADE),
    };
    let why = way.map_or(String::new(), |way| format!(": {}", way.briefly));
    let runs = manager_release(cluster).map_or("the old release".to_owned(), |runs| runs.to_string());
    let object = ObjectRef { namespace: Some(of.namespace.to_string()), ..cluster.object_of(kind, name) };
    let says = format!("{} {name}: \"{}\"", object.kind, text::both_ends(said, 600));
    let kept = format!("v1beta1 is in status.storedVersions of {}", text::listed(&stored));
    out.report(
        Finding::about(&UPGRADE_REFUSED, object, format!("{what}{why}"))
            .since(age.since_or_later())
            .impact(format!("none yet: {runs} keeps running"))
            .way(way)
            .with(Name::From, runs)
            .with(Name::ChartNamespace, of.namespace.as_str())
            .named((kind == HelmCharts).then(|| (Name::Workload, format!("helm-install-{name}"))))
            .facts((!said.is_empty()).then(|| api(says).quoting(said)))
            .facts((of_versions && !stored.is_empty()).then_some(kept))
            .facts([age.evidence()]),
    );
}
