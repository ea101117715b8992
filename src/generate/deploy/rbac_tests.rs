//! The rights are exactly what the source asks for.

use std::collections::BTreeMap;

use super::*;
use crate::checks;

/// What may be done, by reach, group, resource and name.
type Grants = BTreeMap<(&'static str, &'static str, &'static str, &'static str), &'static [&'static str]>;

fn granted() -> Grants {
    let mut grants = Grants::new();
    for right in rights(checks::ALL) {
        for rule in &right.rules {
            let names = if rule.names.is_empty() { vec![""] } else { rule.names.clone() };
            for (resource, name) in rule.resources.iter().flat_map(|r| names.iter().map(move |n| (*r, *n))) {
                let key = (place(right.reach), rule.group, resource, name);
                assert_eq!(grants.insert(key, rule.verbs), None, "{key:?} is granted twice");
            }
        }
    }
    grants
}

fn place(reach: Reach) -> &'static str {
    match reach {
        Reach::Longhorn => NAMESPACE,
        Reach::Namespace(namespace) => namespace,
        Reach::Cluster => "*",
    }
}

#[test]
fn every_watched_kind_may_be_listed_and_watched_and_nothing_else_is_granted() {
    let mut grants = granted();
    for info in TABLE {
        let key = match info.scope {
            Scope::Namespaced => (NAMESPACE, info.group, info.plural, ""),
            Scope::InNamespace { namespace, .. } => (namespace, info.group, info.plural, ""),
            Scope::Cluster => ("*", info.group, info.plural, ""),
            Scope::ClusterNamed(name) => ("*", info.group, info.plural, name),
        };
        assert_eq!(grants.remove(&key), Some(WATCH), "{}", info.resource);
    }
    let rest: Grants = BTreeMap::from([
        ((NAMESPACE, "", "pods/log", ""), &["get"] as &[_]),
        (("*", "authentication.k8s.io", "tokenreviews", ""), &["create"]),
        (("*", "authorization.k8s.io", "subjectaccessreviews", ""), &["create"]),
    ]);
    assert_eq!(grants, rest);
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
