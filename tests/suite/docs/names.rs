//! Names of series and kinds that texts mention.

use std::collections::BTreeSet;

use longhorn_health_exporter::cli::DECLARED;
use longhorn_health_exporter::longhorn::CSI_DRIVER;
use longhorn_health_exporter::longhorn::resource::TABLE;
use longhorn_health_exporter::longhorn_series::NAMES;
use regex::Regex;

use super::{files, pages, text};

/// What begins like a series and is something else: the plugin and the crate, keys of report and configuration, a module.
const NO_SERIES: [&str; 5] = [
    "longhorn_health", "longhorn_health_exporter", "longhorn_version", "longhorn_release", "longhorn_metrics",
];

/// Words that begin like one of Longhorn's series or ours.
fn series(text: &str) -> BTreeSet<String> {
    let name = Regex::new(r"\blonghorn_[a-z_]*[a-z]\b").unwrap();
    let mut text = text.to_owned();
    // a series lends its name to what is recorded of it
    for record in DECLARED.areas().flat_map(|area| area.records) {
        text = text.replace(record.name, "");
    }
    name.find_iter(&text).map(|found| found.as_str().to_owned()).collect()
}

#[test]
fn series_that_texts_dashboards_and_rules_name_exist() {
    let declared: BTreeSet<&str> =
        DECLARED.areas().flat_map(|area| area.gauges).map(|gauge| gauge.name).collect();
    let known = |name: &str| {
        declared.contains(name) || NAMES.iter().any(|known| known == name) || NO_SERIES.contains(&name)
    };
    let mut wrong = Vec::new();
    let generated = [files("rules", &[".yaml"]), files("dashboards", &[".json"])].concat();
    // the changelog names those of before, too
    let pages = pages().into_iter().filter(|path| !path.ends_with("CHANGELOG.md"));
    for path in pages.chain(generated) {
        let unknown = series(&text(&path)).into_iter().filter(|name| !known(name));
        wrong.extend(unknown.map(|name| format!("{}: {name}", path.display())));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(
        series("a longhorn_health_x{} longhorn_ longhorn_volume_state"),
        ["longhorn_health_x", "longhorn_volume_state"].map(str::to_owned).into()
    );
}

/// Kinds that texts name although no check reads them.
const UNREAD: [&str; 23] = [
    "job", "resourcequota", "limitranges", "snapshots.longhorn.io", "persistentvolumeclaims",
    "supportbundles.longhorn.io", "secrets", "configmap", "crd", "crds", "roles", "rolebindings",
    "clusterrole", "clusterroles", "clusterrolebinding", "clusterrolebindings", "jobs", "namespace",
    "namespaces", "persistentvolumes", "replicasets", "secret", "statefulsets",
];

/// What ends like the name of a kind of Longhorn and is none: the CSI driver, and the label of the pods of a recurring
/// job.
const NO_KIND: [&str; 3] = [CSI_DRIVER, "node.longhorn.io", "recurring-job.longhorn.io"];

/// Kinds on which the commands in a text work.
fn kinds(text: &str) -> Vec<String> {
    let command = Regex::new(
        r"kubectl[^\n`|;]*?\s(?:get|describe|patch|delete|edit|label|annotate|wait)\s+([a-z][a-z0-9.,]*)",
    )
    .unwrap();
    let kinds = command
        .captures_iter(text)
        .flat_map(|found| found[1].split(',').map(str::to_owned).collect::<Vec<_>>());
    kinds.collect()
}

fn is_known(kind: &str) -> bool {
    let full = |plural: &str, group: &str| format!("{plural}.{group}");
    let read = TABLE.iter().any(|info| match info.group {
        // without its group a kind of Longhorn may be taken for another: volumes, nodes, settings
        "longhorn.io" => kind == full(info.plural, info.group),
        group => {
            let name = kind.strip_suffix(&format!(".{group}")).unwrap_or(kind);
            [info.plural, &info.kind.to_lowercase()].contains(&name)
        }
    });
    read || UNREAD.contains(&kind)
}

#[test]
fn commands_name_kinds_that_exist() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for path in pages() {
        for kind in kinds(&text(&path)) {
            seen += 1;
            if !is_known(&kind) {
                wrong.push(format!("{}: {kind}", path.display()));
            }
        }
    }
    let plural = Regex::new(r"[a-z-]+\.longhorn\.io\b").unwrap();
    for path in pages() {
        for found in plural.find_iter(&text(&path)) {
            if !is_known(found.as_str()) && !NO_KIND.contains(&found.as_str()) {
                wrong.push(format!("{}: {}", path.display(), found.as_str()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen > 80, "only {seen} commands were looked at");
    let made_up = "kubectl -n longhorn-system get volumes\nkubectl get node.longhorn.io,pods x";
    assert_eq!(kinds(made_up), ["volumes", "node.longhorn.io", "pods"]);
    assert_eq!(kinds(made_up).iter().map(|kind| is_known(kind)).collect::<Vec<_>>(), [false, false, true]);
}
