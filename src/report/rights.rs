//! Rights that are missing, in one sentence for all kinds and checks.

use super::Report;
use crate::check::counted;
use crate::cluster::Readability;
use crate::longhorn::Resource;
use crate::longhorn::resource::Scope;

/// With more kinds than this, only their number is reported.
const NAMED: usize = 4;

/// What may not be listed, where, and what to apply so that it may; none if nothing is refused.
pub fn missing(report: &Report) -> Option<String> {
    let forbidden = Readability::Forbidden.as_str();
    let is_refused = |resource: &Resource| {
        let label = resource.label();
        report.resources.iter().any(|one| one.resource == label && one.state == forbidden)
    };
    let mut places: Vec<(RightPlace, Vec<String>)> = Vec::new();
    for resource in Resource::all().filter(is_refused) {
        let place = match resource.info().scope {
            Scope::Namespaced => RightPlace::Namespace(report.cluster.namespace.clone()),
            Scope::InNamespace { namespace, .. } => RightPlace::Namespace(namespace.to_owned()),
            Scope::Cluster | Scope::ClusterNamed(_) | Scope::ClusterLabelled(_) => RightPlace::Cluster,
        };
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, kinds)) => kinds.push(resource.label()),
            None => places.push((place, vec![resource.label()])),
        }
    }
    let refused: Vec<String> = places.iter().map(|(place, kinds)| place.refused(kinds)).collect();
    let roles: Vec<String> = places.iter().map(|(place, _)| place.role()).collect();
    (!places.is_empty()).then(|| {
        let (refused, roles) = (and(&refused), and(&roles));
        format!("no permission to list {refused}: apply {roles} (docs/access.md)")
    })
}

/// `a, b and c`.
fn and(parts: &[String]) -> String {
    match parts {
        [front @ .., last] if !front.is_empty() => format!("{} and {last}", front.join(", ")),
        parts => parts.concat(),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum RightPlace {
    Namespace(String),
    Cluster,
}

impl RightPlace {
    fn refused(&self, kinds: &[String]) -> String {
        let kinds = match kinds.len() {
            0..=NAMED => kinds.join(", "),
            number => counted(number, "kind"),
        };
        match self {
            RightPlace::Namespace(name) => format!("{kinds} in namespace {name}"),
            RightPlace::Cluster => format!("{kinds} of the cluster"),
        }
    }

    fn role(&self) -> String {
        match self {
            RightPlace::Namespace(name) => format!("the Role in {name}"),
            RightPlace::Cluster => "the ClusterRoles".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cluster;

    #[test]
    fn all_kinds_that_are_refused_are_one_sentence_with_what_to_grant() {
        let mut cluster = cluster("");
        let told =
            |cluster: &crate::cluster::Cluster| missing(&crate::evaluate(&checks::CATALOGUE, cluster).report);
        assert_eq!(told(&cluster), None);
        let refuse = |cluster: &mut crate::cluster::Cluster, kind| {
            cluster.resources.get_mut(&kind).unwrap().readability = Readability::Forbidden;
        };
        refuse(&mut cluster, Resource::KubeNodes);
        assert_eq!(
            told(&cluster).unwrap(),
            "no permission to list nodes of the cluster: apply the ClusterRoles (docs/access.md)"
        );
        Resource::all().for_each(|kind| refuse(&mut cluster, kind));
        let all = told(&cluster).unwrap();
        assert!(
            all.contains(" kinds in namespace longhorn-system, node-events in namespace default and "),
            "{all}"
        );
        assert!(
            all.contains("apply the Role in longhorn-system, the Role in default and the ClusterRoles"),
            "{all}"
        );
        let report = crate::evaluate(&checks::CATALOGUE, &cluster).report;
        assert!(report.unknown.iter().filter(|one| one.check != crate::EVERY_CHECK).all(|one| one.forbidden));
    }
}
