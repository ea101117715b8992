//! The rights are exactly what the source asks for.

use std::collections::BTreeMap;

use super::*;
use crate::checks;

/// What may be done, by place, group, resource and name.
fn granted() -> BTreeMap<[String; 4], Vec<String>> {
    let mut grants = BTreeMap::new();
    for right in rights(checks::ALL) {
        let place = right.metadata().namespace.unwrap_or("*".to_owned());
        for rule in right.rules {
            let (groups, resources) = (rule.api_groups.unwrap(), rule.resources.unwrap());
            for resource in resources {
                let name = rule.resource_names.clone().unwrap_or_default().concat();
                let key = [place.clone(), groups.concat(), resource, name];
                assert_eq!(grants.insert(key.clone(), rule.verbs.clone()), None, "{key:?} is granted twice");
            }
        }
    }
    grants
}

#[test]
fn every_watched_kind_may_be_listed_and_watched_and_nothing_else_is_granted() {
    let mut grants = granted();
    for info in TABLE {
        let (place, name) = match info.scope {
            Scope::Namespaced => (NAMESPACE, ""),
            Scope::InNamespace { namespace, .. } => (namespace, ""),
            Scope::Cluster => ("*", ""),
            Scope::ClusterNamed(name) => ("*", name),
        };
        let key = [place, info.group, info.plural, name].map(str::to_owned);
        assert_eq!(grants.remove(&key), Some(owned(&["list", "watch"])), "{}", info.resource);
    }
    let rest = [
        ([NAMESPACE, "", "pods/log", ""], "get"),
        (["*", "authentication.k8s.io", "tokenreviews", ""], "create"),
        (["*", "authorization.k8s.io", "subjectaccessreviews", ""], "create"),
    ];
    assert_eq!(grants, rest.map(|(key, verb)| (key.map(str::to_owned), owned(&[verb]))).into());
}

#[test]
fn a_role_says_which_checks_stop_without_it() {
    let check = |needs, uses| Check { id: "needing", needs, uses, ..Check::PLAIN };
    let needing = check(&[Resource::KubeNodes], &[]);
    let using = Check { id: "other", ..check(&[], &[Resource::KubeNodes, Resource::PriorityClasses]) };
    let rights = rights(&[&needing, &using]);
    let without = |id: &str| rights.iter().find(|right| right.id == id).unwrap().without.as_str();
    assert_eq!(without("nodes"), "These checks are unknown: needing. These checks know less: other.");
    assert_eq!(without("priorityclasses"), "These checks know less: other.");
    assert_eq!(without("webhook-configurations"), "No check changes.");
}
