//! The table of access rights in the README, from the same list as the roles.

use super::markdown::{Page, codes};
use crate::checks;
use crate::generate::deploy::rbac::{Reach, Right, rights};

/// The table.
pub fn overview() -> String {
    let mut page = Page::part();
    let rows = rights(checks::ALL).into_iter().map(|right| {
        let granted = granted(&right);
        [
            format!("`{}`, {}", right.id, right.kind()),
            granted,
            right.purpose.to_owned(),
            right.without.clone(),
        ]
    });
    page.table(["right", "grants", "for", "without it"], rows);
    page.finish()
}

fn granted(right: &Right) -> String {
    let rule = |rule: &crate::generate::deploy::rbac::Rule| {
        let kinds: Vec<String> = rule.resources.iter().map(|plural| full_name(plural, rule.group)).collect();
        let only = match rule.names.as_slice() {
            [] => String::new(),
            names => format!(" named {}", codes(names.iter().copied())),
        };
        format!("{} {}{only}", rule.verbs.join(", "), codes(kinds.iter().map(String::as_str)))
    };
    let place = match right.reach {
        Reach::Longhorn => "in Longhorn's namespace".to_owned(),
        Reach::Namespace(namespace) => format!("in namespace `{namespace}`"),
        Reach::Cluster => "in the whole cluster".to_owned(),
    };
    format!("{} {place}", right.rules.iter().map(rule).collect::<Vec<_>>().join("; "))
}

fn full_name(plural: &str, group: &str) -> String {
    if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") }
}
