//! The version, and which groups, versions and resources there are.

use std::collections::{BTreeMap, BTreeSet};

use http::StatusCode;
use serde_json::{Value, json};

use crate::body::{self, Answer};
use crate::resource::ResourceDef;
use crate::route::Route;
use crate::serve::unserved;
use crate::state::State;

/// `/version`.
pub(crate) fn version(state: &State) -> Answer {
    let git_version = &state.settings.git_version;
    let mut parts = git_version.trim_start_matches('v').split('.');
    let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let version = json!({
        "major": major, "minor": minor, "gitVersion": git_version,
        "gitCommit": "0000000000000000000000000000000000000000", "gitTreeState": "clean",
        "buildDate": "2025-09-01T00:00:00Z", "goVersion": "go1.24.6", "compiler": "gc", "platform": "linux/amd64",
    });
    body::json(StatusCode::OK, &version)
}

/// The discovery documents.
pub(crate) fn answer(state: &State, route: &Route) -> Answer {
    let defs = || state.store.collections.values().map(|collection| &collection.def);
    let document = match route {
        Route::Groups { core: true } => Some(json!({"kind": "APIVersions", "versions": ["v1"]})),
        Route::Groups { core: false } => {
            let groups: Vec<Value> =
                groups(defs()).iter().map(|(name, versions)| group(name, versions)).collect();
            Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
        }
        Route::Group(name) => groups(defs()).get(name.as_str()).map(|versions| {
            let mut group = group(name, versions);
            group["kind"] = json!("APIGroup");
            group["apiVersion"] = json!("v1");
            group
        }),
        Route::GroupVersion(group, version) => resources(defs(), group, version),
        _ => None,
    };
    match document {
        Some(document) => body::json(StatusCode::OK, &document),
        None => unserved(state),
    }
}

/// The groups but the core one, and their versions.
fn groups<'a>(defs: impl Iterator<Item = &'a ResourceDef>) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut groups = BTreeMap::<_, BTreeSet<_>>::new();
    for def in defs.filter(|def| !def.group.is_empty()) {
        groups.entry(def.group.as_str()).or_default().insert(def.version.as_str());
    }
    groups
}

/// A group; the version that sorts last is preferred, which is right for `v1beta1` and `v1beta2`.
fn group(name: &str, versions: &BTreeSet<&str>) -> Value {
    let entry = |version: &&str| json!({"groupVersion": format!("{name}/{version}"), "version": version});
    let newest_first: Vec<Value> = versions.iter().rev().map(entry).collect();
    json!({"name": name, "versions": newest_first, "preferredVersion": newest_first.first()})
}

fn resources<'a>(defs: impl Iterator<Item = &'a ResourceDef>, group: &str, version: &str) -> Option<Value> {
    let served = defs.filter(|def| def.group == group && def.version == version);
    let resources: Vec<(String, Value)> = served
        .map(|def| {
            let resource = json!({
                "name": def.plural, "singularName": def.kind.to_lowercase(), "namespaced": def.namespaced,
                "kind": def.kind, "verbs": ["get", "list", "watch"],
            });
            (def.api_version(), resource)
        })
        .collect();
    let group_version = resources.first()?.0.clone();
    let resources: Vec<Value> = resources.into_iter().map(|(_, resource)| resource).collect();
    Some(json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources,
    }))
}
