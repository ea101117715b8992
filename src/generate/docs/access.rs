//! Access rights for readers, from the same list as the roles: all of them in docs/access.md, what
//! they are for in the README.

use k8s_openapi::api::rbac::v1::PolicyRule;

use super::markdown::{Document, codes};
use crate::checks;
use crate::generate::deploy::rbac::{Right, rights};

pub fn page() -> String {
    let mut page = Document::new("Access rights");
    page.paragraph(
        "What the exporter may be granted, as the chart and `deploy/kustomize` do. Every right but `longhorn` can be \
         withheld: what is lost then stands in the [README](../README.md#access), and \
         [checks.md](checks.md) says which kinds each check needs.",
    );
    let rows = rights(checks::ALL)
        .into_iter()
        .map(|right| [format!("`{}`, {}", right.id, right.kind()), granted(&right)]);
    page.table(["right", "grants"], rows);
    page.finish()
}

/// The table of the README: what each right is for.
pub fn overview() -> String {
    let mut page = Document::part();
    let rows = rights(checks::ALL).into_iter().map(|right| {
        [format!("`{}`, {}", right.id, right.kind()), right.purpose.to_owned(), right.without.clone()]
    });
    page.table(["right", "for", "without it"], rows);
    page.finish()
}

fn granted(right: &Right) -> String {
    let rule = |rule: &PolicyRule| {
        let group = rule.api_groups.iter().flatten().find(|group| !group.is_empty());
        let suffix = group.map(|group| format!(".{group}")).unwrap_or_default();
        let kinds: Vec<String> =
            rule.resources.iter().flatten().map(|plural| format!("{plural}{suffix}")).collect();
        let only = rule.resource_names.as_deref().map(|names| format!(" named {}", codes(names)));
        format!("{} {}{}", rule.verbs.join(", "), codes(&kinds), only.unwrap_or_default())
    };
    let place = right.reach;
    format!("{} in {place}", right.rules.iter().map(rule).collect::<Vec<_>>().join("; "))
}
