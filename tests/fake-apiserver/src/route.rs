//! From a request path to what it addresses.

use serde_json::{Value, json};

use crate::query::percent_decode;
use crate::resource::{Gvr, group_resource};

/// A collection, an object or a subresource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    pub group: String,
    pub version: String,
    pub plural: String,
    pub namespace: Option<String>,
    pub name: Option<String>,
    pub subresource: Option<String>,
}

impl Target {
    pub fn gvr(&self) -> Gvr {
        (self.group.clone(), self.version.clone(), self.plural.clone())
    }

    /// `pods`, `volumes.longhorn.io`: how error messages name the resource.
    pub fn group_resource(&self) -> String {
        group_resource(&self.plural, &self.group)
    }

    /// `pods`, `pods/log`: how RBAC rules name it, within its group.
    pub fn rbac_resource(&self) -> String {
        match &self.subresource {
            Some(subresource) => format!("{}/{subresource}", self.plural),
            None => self.plural.clone(),
        }
    }

    /// `pods/log`, `volumes.longhorn.io`: how faults and counters name it.
    pub fn fault_key(&self) -> String {
        match &self.subresource {
            Some(subresource) => format!("{}/{subresource}", self.group_resource()),
            None => self.group_resource(),
        }
    }

    /// `details` of a `Status`; its `kind` holds the plural, as on the real server.
    pub fn details(&self) -> Value {
        let mut details = json!({"kind": self.plural});
        if let Some(name) = &self.name {
            details["name"] = json!(name);
        }
        if !self.group.is_empty() {
            details["group"] = json!(self.group);
        }
        details
    }
}

/// What a path asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// `/version`
    Version,
    /// `/livez`, `/readyz`, `/healthz`
    Health,
    /// `/api` and `/apis`: which groups there are; the flag tells the core group's listing.
    Groups { core: bool },
    /// `/apis/{group}`
    Group(String),
    /// `/api/v1`, `/apis/{group}/{version}`
    GroupVersion(String, String),
    /// Objects.
    Resource(Target),
    /// Nothing a Kubernetes API server has.
    Unknown,
}

/// Takes a path apart.
pub(crate) fn parse(path: &str) -> Route {
    let segments: Vec<String> = path.split('/').filter(|s| !s.is_empty()).map(percent_decode).collect();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match segments.as_slice() {
        ["version"] => Route::Version,
        ["livez" | "readyz" | "healthz", ..] => Route::Health,
        ["api"] => Route::Groups { core: true },
        ["apis"] => Route::Groups { core: false },
        ["apis", group] => Route::Group((*group).to_owned()),
        ["api", version] => Route::GroupVersion(String::new(), (*version).to_owned()),
        ["apis", group, version] => Route::GroupVersion((*group).to_owned(), (*version).to_owned()),
        ["api", version, rest @ ..] => resource("", version, rest),
        ["apis", group, version, rest @ ..] => resource(group, version, rest),
        _ => Route::Unknown,
    }
}

fn resource(group: &str, version: &str, rest: &[&str]) -> Route {
    let (namespace, rest) = match rest {
        // `namespaces/{name}` alone addresses the Namespace object.
        ["namespaces", namespace, plural, ..] if !matches!(*plural, "status" | "finalize") => {
            (Some((*namespace).to_owned()), &rest[2..])
        }
        _ => (None, rest),
    };
    let (plural, name, subresource) = match rest {
        [plural] => (plural, None, None),
        [plural, name] => (plural, Some(name), None),
        [plural, name, subresource] => (plural, Some(name), Some(subresource)),
        _ => return Route::Unknown,
    };
    Route::Resource(Target {
        group: group.to_owned(),
        version: version.to_owned(),
        plural: (*plural).to_owned(),
        namespace,
        name: name.map(|s| (*s).to_owned()),
        subresource: subresource.map(|s| (*s).to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(path: &str) -> Target {
        match parse(path) {
            Route::Resource(target) => target,
            other => panic!("{path} is {other:?}"),
        }
    }

    #[test]
    fn core_and_group_paths() {
        assert_eq!(target("/api/v1/pods").fault_key(), "pods");
        let log = target("/api/v1/namespaces/ns/pods/p/log");
        assert_eq!((log.namespace.as_deref(), log.name.as_deref()), (Some("ns"), Some("p")));
        assert_eq!(log.fault_key(), "pods/log");
        let namespace = target("/api/v1/namespaces/ns");
        assert_eq!((namespace.plural.as_str(), namespace.name.as_deref()), ("namespaces", Some("ns")));
        let volumes = target("/apis/longhorn.io/v1beta2/namespaces/ns/volumes");
        assert_eq!(volumes.fault_key(), "volumes.longhorn.io");
        assert_eq!(parse("/metrics"), Route::Unknown);
        assert_eq!(parse("/apis/longhorn.io"), Route::Group("longhorn.io".into()));
    }
}
