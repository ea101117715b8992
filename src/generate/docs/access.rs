//! Access rights for readers, from the same list as the roles: all of them in docs/access.md, what
//! they are for in the README.

use super::markdown::{Document, codes};
use crate::checks;
use crate::generate::deploy::rbac::{Grant, Reach, Right, rights};

/// The page: what each right grants.
pub fn page() -> String {
    let mut page = Document::new("Access rights");
    page.paragraph(
        "What the exporter may be granted, as the chart and `deploy/kustomize` do. Every right but `longhorn` can be \
         withheld: what is lost then stands in the [README](../README.md#access), and \
         [checks.md](checks.md) says which kinds each check needs.",
    );
    let rows = rights(checks::ALL).into_iter().map(|right| [name(&right), granted(&right)]);
    page.table(["right", "grants"], rows);
    page.finish()
}

/// The table of the README: what each right is for.
pub fn overview() -> String {
    let mut page = Document::part();
    let rows = rights(checks::ALL)
        .into_iter()
        .map(|right| [name(&right), right.purpose.to_owned(), right.without.clone()]);
    page.table(["right", "for", "without it"], rows);
    page.finish()
}

fn name(right: &Right) -> String {
    format!("`{}`, {}", right.id, right.kind())
}

fn granted(right: &Right) -> String {
    let rule = |rule: &Grant| {
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
