//! docs/access.md: the access rights for readers, from the same list as the roles.

use k8s_openapi::api::rbac::v1::PolicyRule;

use super::markdown::{Document, codes};
use crate::generate::catalogue::Declared;
use crate::generate::deploy::rbac::{Right, rights};

pub fn page(declared: &Declared) -> String {
    let mut page = Document::new("Access rights");
    page.paragraph(
        "The exporter needs `list` and `watch`, and `get` on logs (managers, driver deployer, UI, CSI plugin). The chart and `deploy/kustomize` grant these \
         rights. It needs no Secrets and changes nothing in the cluster. You can deny every right except `longhorn`. \
         [checks.md](checks.md) lists the kinds that each check needs.",
    );
    let rights = rights(declared.catalogue.checks);
    let name = |right: &Right| format!("`{}`, {}", right.id, right.kind());
    let rows = rights.iter().map(|right| [name(right), right.purpose.clone(), right.without.clone()]);
    page.table(["right", "for", "without it"], rows);
    page.heading(2, "Rules of each right");
    let rows = rights.iter().map(|right| [name(right), granted(right)]);
    page.table(["right", "grants"], rows);
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
