//! The rights are exactly what the source asks for.

use std::collections::BTreeMap;

use super::*;
use checks::CATALOGUE;

#[test]
fn every_watched_kind_may_be_listed_and_watched_and_nothing_else_is_granted() {
    let mut grants = BTreeMap::new();
    for right in rights(CATALOGUE.checks) {
        let place = right.metadata().namespace.unwrap_or("*".to_owned());
        for rule in right.rules {
            let (group, name) =
                (rule.api_groups.unwrap().concat(), rule.resource_names.unwrap_or_default().concat());
            for resource in rule.resources.unwrap() {
                let key = [place.clone(), group.clone(), resource, name.clone()];
                assert_eq!(
                    grants.insert(key.clone(), rule.verbs.join(" ")),
                    None,
                    "{key:?} is granted twice"
                );
            }
        }
    }
    let watched = TABLE.iter().map(|info| match info.scope {
        Scope::Namespaced => ([NAMESPACE, info.group, info.plural, ""], "list watch"),
        Scope::InNamespace { namespace, .. } => ([namespace, info.group, info.plural, ""], "list watch"),
        Scope::Cluster | Scope::ClusterLabelled(_) => (["*", info.group, info.plural, ""], "list watch"),
        Scope::ClusterNamed(name) => (["*", info.group, info.plural, name], "list watch"),
    });
    let rest = [
        ([NAMESPACE, "", "pods/log", ""], "get"),
        (["*", "authentication.k8s.io", "tokenreviews", ""], "create"),
        (["*", "authorization.k8s.io", "subjectaccessreviews", ""], "create"),
    ];
    let expected = watched.chain(rest).map(|(key, verbs)| (key.map(str::to_owned), verbs.to_owned()));
    assert_eq!(grants, expected.collect());
}

#[test]
fn a_role_says_which_checks_stop_without_it() {
    let check = |needs, uses| Check { id: "needing", needs, uses, ..Check::DEFAULT };
    let needing = check(&[Resource::KubeNodes], &[]);
    let using = Check { id: "other", ..check(&[], &[Resource::KubeNodes, Resource::PriorityClasses]) };
    let rights = rights(&[&needing, &using]);
    let without = |id: &str| rights.iter().find(|right| right.id == id).unwrap().without.as_str();
    let nodes = "These checks are unknown: needing. These checks know less: other. These conditions of plans are unknown: ";
    assert!(without("nodes").starts_with(nodes), "{}", without("nodes"));
    assert_eq!(without("priorityclasses"), "These checks know less: other.");
    assert_eq!(without("webhook-configurations"), "No check changes.");
}
